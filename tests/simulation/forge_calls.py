"""One request to the simulated forge: where others may come between, and where it may go wrong.

A method of the port makes one request or several; each is a `ForgeCall`. Before it is carried out
the other tasks run, and `faults` is asked what befalls it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bot.forges.github.http import GitHubAnswer, failure
from bot.forges.port import ForgeBusyError
from bot.sandbox.errors import RefusedError


@dataclass(frozen=True, slots=True)
class ForgeCall:
    """A request.

    Attributes:
        replica: Which bot makes it.
        name: The method of the port; "git fetch", "git list" or "git push".
        step: Which of the method's requests it is, from 0.
        writes: It changes something.
        about: What the method was given that names its object: a number, a commit, a branch.
        operation: The operation of GitHub's API, or of git over HTTP, that it stands for.
    """

    replica: str
    name: str
    step: int
    writes: bool
    about: object = None
    operation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What befalls one request. Without a fault an answer is right, prompt and of now.

    Attributes:
        fails: It ends in an error.
        status: The HTTP status of that; 0 when no answer comes, or half of one.
        message: What the forge says, or how the connection ends.
        headers: Of that answer; names in lower case.
        done: What was asked for is done all the same, and only the answer is lost.
        stale: A read is answered with what was so many changes of the forge ago.
        late: Seconds until the request is carried out.
        lacking: A list that may lack one for once does.
    """

    fails: bool = True
    status: int = 502
    message: str = "Server Error"
    headers: Mapping[str, str] = field(default_factory=dict)
    done: bool = False
    stale: int = 0
    late: float = 0.0
    lacking: bool = False

    def answer(self, at: datetime) -> GitHubAnswer:
        """What GitHub's adapter would have to read."""
        return GitHubAnswer(self.status, self.headers, {"message": self.message}, at)

    def error(self, wanted: str, at: datetime) -> Exception:
        """What the adapter would make of it."""
        if self.status == 0:
            return ForgeBusyError(wanted, self.message)
        return failure(wanted, self.answer(at))


AWAY = Fault()
"""502 before anything is done."""

LOST = Fault(done=True)
"""502 after it was done."""

BROKEN = Fault(status=500)
TIMED_OUT = Fault(status=0, message="ReadTimeout")
TIMED_OUT_DONE = Fault(status=0, message="ReadTimeout", done=True)
CUT = Fault(status=0, message="200 with a body that is no JSON", done=True)
"""The answer breaks off."""

UNKNOWN_TOKEN = Fault(status=401, message="Bad credentials")
NOT_ALLOWED = Fault(status=403, message="Resource not accessible by integration")
NOT_THERE = Fault(status=404, message="Not Found")
CONFLICT = Fault(status=409, message="Conflict")
INVALID = Fault(status=422, message="Validation Failed")
LACKING = Fault(fails=False, lacking=True)


def limited(seconds: float) -> Fault:
    """The secondary limit: 403 with `Retry-After`."""
    words = "You have exceeded a secondary rate limit."
    return Fault(status=403, message=words, headers={"retry-after": f"{seconds:.0f}"})


def exhausted(until: datetime) -> Fault:
    """The hour's calls are used up: 403 with the moment of the reset."""
    reset = f"{until.timestamp():.0f}"
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
    return Fault(status=403, message="API rate limit exceeded", headers=headers)


def stale(changes: int) -> Fault:
    """A read is answered from so many changes ago."""
    return Fault(fails=False, stale=changes)


def slow(seconds: float) -> Fault:
    """The request is carried out so much later."""
    return Fault(fails=False, late=seconds)


Faults = Callable[[ForgeCall], Fault | None]
"""Asked once for each request, in the order of the requests."""


def none(_: ForgeCall) -> None:
    """Nothing goes wrong."""


Answered = Callable[[ForgeCall, int], None]
"""Told of each request and the HTTP status of its answer."""


def untold(_: ForgeCall, _status: int) -> None:
    """Nobody wants to know."""


def answer_of(refused: RefusedError, at: datetime) -> GitHubAnswer:
    """A refusal of the forge's rules, as GitHub's adapter reads it from HTTP."""
    data: dict[str, Any] = {"message": refused.message}
    if refused.errors is not None:
        data["errors"] = refused.errors
    headers = {name.lower(): value for name, value in refused.headers.items()}
    return GitHubAnswer(refused.status, headers, data, at)
