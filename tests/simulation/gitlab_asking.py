"""Requests of one bot to the simulated GitLab, and what befalls them: by the API, in process.

The bot's adapter sends what it sends in operation. Before a request is carried out the other tasks
run (`offload`), then `faults` is asked; what is late is begun anew once its time has come.
"""

import json
import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import requests

from bot.clock import Offload
from tests.simulation.forge_calls import Fault, ForgeCall

if TYPE_CHECKING:
    from tests.simulation.gitlab_forge import SimulatedGitLab

P = ParamSpec("P")
T = TypeVar("T")

Answered = tuple[int, list[tuple[str, str]], bytes]
"""Status, headers and body."""

NAMES = (
    ("PUT", r".*/merge_requests/\d+/merge", "merge"),
    ("PUT", r".*/merge_requests/\d+/rebase", "rebase"),
    ("POST", r".*/notes", "comment"),
    ("PUT", r".*/notes/\d+", "edit_comment"),
    ("DELETE", r".*/notes/\d+", "delete_comment"),
    ("POST", r".*/award_emoji", "react"),
    ("POST", r".*/statuses/\w+", "set_check"),
    ("POST", r".*/merge_requests", "open_proposal"),
    ("PUT", r".*/merge_requests/\d+", "edit_proposal"),
    ("POST", r".*/releases", "make_release"),
)
"""Verb, path, and what the bot's port calls it."""

LISTS = re.compile(r".*/(projects|merge_requests)")
"""What may lack one for once."""

_DRAWN = re.compile(r"(?<=/discussions/)\w+")
"""Names that are drawn by chance, even where all else is said by the seed."""

MOST_KEPT = 6


class Shown:
    """What was answered before, by what was asked: each with the moment at which it was so."""

    def __init__(self) -> None:
        self._kept: dict[str, deque[tuple[int, Answered]]] = {}

    def keep(self, path: str, moment: int, answer: Answered) -> None:
        """This was answered at a moment."""
        kept = self._kept.setdefault(path, deque(maxlen=MOST_KEPT))
        if not kept or kept[-1][0] != moment:
            kept.append((moment, answer))

    def since(self, path: str, moment: int) -> Answered | None:
        """The oldest answer that was given at a moment or later; None for none."""
        return next((answer for at, answer in self._kept.get(path, ()) if at >= moment), None)


class LateError(BaseException):
    """A request is on its way for so many seconds; nothing on its way may catch this."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class Asking:
    """The way from one bot to the API.

    Args:
        forge: Whose API it is.
        replica: Whose requests these are.
        offload: Where the bot waits for answers.
    """

    def __init__(self, forge: "SimulatedGitLab", replica: str, offload: Offload) -> None:
        self._forge = forge
        self._replica = replica
        self._offload = offload
        self._arrives = False

    async def offload(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Implements `bot.clock.Offload`: carry out what makes one request, however late."""
        try:
            return await self._offload(work, *args, **kwargs)
        except LateError as late:
            seconds = late.seconds
        await self._forge.clock.sleep(seconds)
        self._arrives = True
        try:
            return await self._at_once(work, *args, **kwargs)
        finally:
            self._arrives = False

    async def _at_once(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return work(*args, **kwargs)

    def answer(self, verb: str, path: str, headers: Mapping[str, str], body: bytes) -> Answered:
        """Answer a request, as far as nothing befalls it."""
        call, forge = self._call(verb, path), self._forge
        fault = None if self._arrives else forge.faults(call)
        if fault is not None and fault.late:
            raise LateError(fault.late)
        answer = self._befallen(fault, verb, path, lambda: forge.asked(verb, path, headers, body))
        forge.answered(call, answer[0])
        return answer

    def _befallen(
        self, fault: Fault | None, verb: str, path: str, ask: Callable[[], Answered]
    ) -> Answered:
        forge = self._forge
        if fault is None:
            answer = ask()
            if verb == "GET":
                forge.shown.keep(path, forge.past.now, answer)
            return answer
        if fault.fails:
            if fault.done:
                ask()
            return _failed(fault)
        if fault.stale and verb == "GET":
            before = forge.shown.since(path, forge.past.now - fault.stale)
            return ask() if before is None else before
        answer = ask()
        if fault.lacking and verb == "GET" and LISTS.fullmatch(path.partition("?")[0]):
            return answer[0], answer[1], json.dumps(json.loads(answer[2])[:-1]).encode()
        return answer

    def _call(self, verb: str, path: str) -> ForgeCall:
        plain = _DRAWN.sub("…", path.partition("?")[0])
        found = (name for v, form, name in NAMES if v == verb and re.fullmatch(form, plain))
        writes = verb != "GET" and not plain.endswith("/graphql")
        name = next(found, verb)
        return ForgeCall(self._replica, name, 0, writes, plain, f"{verb} {plain}")


def _failed(fault: Fault) -> Answered:
    """What a request comes to that fails.

    Raises:
        requests.ReadTimeout: No answer comes.
    """
    if fault.status == 0 and fault.message.startswith("200"):
        return 200, [("Content-Type", "application/json")], b'{"id": '
    if fault.status == 0:
        raise requests.ReadTimeout(fault.message)
    told = {
        name.replace("x-ratelimit", "ratelimit"): value for name, value in fault.headers.items()
    }
    status = 429 if told else fault.status  # what says when to come again is a limit
    body = json.dumps({"message": f"{status} {fault.message}"}).encode()
    return status, [*told.items(), ("Content-Type", "application/json")], body
