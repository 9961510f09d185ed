"""Our checks as commit statuses, read back with who put them; and what a project requires.

A status changes by GitLab's state machine: one that is not finished goes on, a finished one of the
same name is followed by a new one. Its text and address change only with its state, so what waits
for longer with another text is sent through another state first.

Whoever may push can put a status of any name, which then hides ours: who put it is read with it,
and the next look puts ours again.

Source: https://docs.gitlab.com/api/commits/#commit-status
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bot.forges.gitlab.fields import is_us, time
from bot.forges.gitlab.http import GitLabAnswer, JSONObject, failure
from bot.forges.gitlab.merge_requests import Shown
from bot.forges.gitlab.threads import Threads
from bot.forges.marks import fragment, read_fragment, spelled
from bot.forges.port import (
    UNREAD,
    BotIdentity,
    ForgeBusyError,
    RequiredCheck,
)
from lifecycle.actions import SetCheck
from lifecycle.facts.checks import OURS, PUBLISH, CheckRun, CheckState, Conclusion, Status
from lifecycle.names import Sha

LINE = 255
"""Characters of a status's description."""

MOST_STATUSES = 1_000
"""Statuses that are read of one commit."""

PIPELINE, RESOLVED = "pipeline", "threads resolved"
"""What stands for what a project requires, beside our own check: everything else in the pipeline,
and that no thread is open."""

_TRIES = 3
"""How often a status is sent that GitLab refuses because another one is being put."""

_WAITING = ("pending", "running", "canceled")
"""States of what waits: the first that GitLab takes; what was canceled begins anew."""

_SPELLED = {
    Conclusion.SUCCESS: "success",
    Conclusion.NEUTRAL: "success",
    Conclusion.FAILURE: "failed",
}
_STATES = {
    "success": CheckState.SUCCESS,
    "skipped": CheckState.SUCCESS,
    "failed": CheckState.FAILURE,
    "canceled": CheckState.FAILURE,
}
_CONCLUSIONS = {"success": Conclusion.SUCCESS, "failed": Conclusion.FAILURE}
_WORST = (CheckState.FAILURE, CheckState.PENDING, CheckState.SUCCESS)

_WANTED = "put a commit status"


@dataclass(frozen=True, slots=True)
class _Read:
    """Statuses of a commit, and when they were read, in seconds."""

    at: float
    found: tuple[JSONObject, ...]
    more: bool


FRESH = 2.0
"""Seconds within which one reading of statuses answers two questions of the same look."""


class StatusChecks(Threads):
    """Checks of one project, ours as statuses."""

    _read_last: tuple[Sha, _Read] | None = None

    async def checks(self, head: Sha) -> tuple[CheckRun, ...]:
        """The newest status of each of our names, whoever put it."""
        me = await self._access.identity()
        read = await self._read_statuses(head)
        newest = _newest(read.found)
        return tuple(
            self._check(newest[name], me, read.found, head)
            for name in sorted(newest.keys() & self._names.keys())
        )

    async def statuses(self, head: Sha) -> dict[str, CheckState]:
        """Those of others, and what stands for the rest of the pipeline and for threads."""
        read = await self._read_statuses(head, again=False)
        newest = _newest(read.found)
        others = {n: d for n, d in newest.items() if n not in self._names}
        found = {name: _state(data) for name, data in others.items()}
        binding = {_state(data) for data in others.values() if not data.get("allow_failure")}
        whole = next((state for state in _WORST if state in binding), CheckState.SUCCESS)
        shown = self._at_head(head)
        resolved = shown is None or shown.resolved
        return {
            **found,
            PIPELINE: whole,
            RESOLVED: CheckState.SUCCESS if resolved else CheckState.PENDING,
        }

    async def statuses_by(self, head: Sha) -> dict[tuple[str, str], CheckState]:
        """As the port has it: GitLab has no Apps, so all are of people."""
        read = await self._read_statuses(head)
        found = {(name, ""): _state(data) for name, data in _newest(read.found).items()}
        return found | ({(UNREAD, UNREAD): CheckState.UNKNOWN} if read.more else {})

    async def set_check(self, check: SetCheck) -> None:
        """Show findings at their lines, then put the status: its digest says that all stands."""
        await self.show_findings(check)
        done = check.status is Status.COMPLETED and check.conclusion is not None
        if done and check.conclusion is not None:
            state = _SPELLED[check.conclusion]
            answer = await self._put(check, state)
            if not answer.ok and not await self._stands(check, answer):
                await self._put(check, "running")
                answer = await self._put(check, state)
        else:
            answer = await self._wait(check)
        if not answer.ok and not await self._stands(check, answer):
            raise failure(_WANTED, answer)

    async def _wait(self, check: SetCheck) -> GitLabAnswer:
        """Put what waits: with another text than before, that takes another state."""
        for state in _WAITING:
            answer = await self._put(check, state)
            if answer.ok and state == "canceled":
                return await self._put(check, _WAITING[0])
            if answer.ok or await self._stands(check, answer):
                break
        return answer

    async def _put(self, check: SetCheck, state: str) -> GitLabAnswer:
        shown = self._at_head(check.head)
        body: JSONObject = {
            "state": state,
            "name": spelled(check.name, self._access.instance),
            "description": check.title[:LINE],
            "target_url": self._address(check, shown),
        }
        if shown is not None:
            body["ref"] = shown.head_ref
            pipeline = self._pipeline(check.head, shown)
            body |= {"pipeline_id": pipeline} if pipeline else {}
        path = f"/statuses/{check.head}"
        for _ in range(_TRIES):
            answer = await self._ask(_WANTED, "POST", path, body)
            self._read_last = None
            if answer.status == 404 and "pipeline_id" in body:
                del body["pipeline_id"]  # deleted since
            elif answer.status != 409:
                return answer
        if answer.status == 409:
            raise ForgeBusyError(_WANTED, answer.reason)
        return answer

    async def _stands(self, check: SetCheck, answer: GitLabAnswer) -> bool:
        """Whether a transition that there is not was one that is done already."""
        if answer.status != 400 or "transition" not in answer.reason.lower():
            return False
        runs = await self.checks(check.head)
        return any(r.ours and r.name == check.name and r.digest == check.digest for r in runs)

    async def required_checks(self, branch: str) -> tuple[RequiredCheck, ...]:
        """What a project requires of every merge request: GitLab has no names of checks for it.

        Source: https://docs.gitlab.com/user/project/merge_requests/auto_merge/#require-a-successful-pipeline-for-merge
        """
        del branch
        project = await self._project()
        found = []
        if project.get("only_allow_merge_if_pipeline_succeeds"):
            found += [RequiredCheck(PIPELINE, None, False), RequiredCheck(PUBLISH, None, True)]
        if project.get("only_allow_merge_if_all_discussions_are_resolved"):
            found.append(RequiredCheck(RESOLVED, None, False))
        return tuple(sorted(found))

    async def _project(self) -> JSONObject:
        found: JSONObject = await self._get("read the project", "")
        self._trains = bool(found.get("merge_trains_enabled"))
        return found

    @property
    def _names(self) -> dict[str, str]:
        """Names of this bot's statuses to those of its checks."""
        return {spelled(name, self._access.instance): name for name in OURS}

    def _address(self, check: SetCheck, shown: Shown | None) -> str:
        """The merge request, where the summary is; and what is shown, as a digest."""
        clone = urlsplit(self._repository.clone_url)
        place = f"{clone.scheme}://{clone.netloc}{clone.path.removesuffix('.git')}/-"
        page = f"merge_requests/{shown.number}" if shown else f"commit/{check.head}"
        mark = fragment(check.digest, self._access.instance, check.conclusion)
        return f"{place}/{page}#{mark}"

    async def _read_statuses(self, head: Sha, *, again: bool = True) -> _Read:
        """The statuses of a commit that no newer ones replaced."""
        last, now = self._read_last, self._pool.clock.monotonic()
        if not again and last and last[0] == head and now - last[1].at <= FRESH:
            return last[1]
        wanted, path = "read the commit statuses", f"/repository/commits/{head}/statuses"
        found: list[Any] = []
        async for each in self._list(wanted, path):
            found.append(each)
            if len(found) >= MOST_STATUSES:
                break
        read = _Read(now, tuple(found), len(found) >= MOST_STATUSES)
        self._read_last = head, read
        return read

    def _pipeline(self, head: Sha, shown: Shown) -> int:
        """The newest pipeline of a merge request, in which ours count; 0 where none is known."""
        last = self._read_last
        return _pipeline_of(last[1].found, shown) if last and last[0] == head else 0

    def _check(
        self, data: JSONObject, me: BotIdentity, every: tuple[JSONObject, ...], head: Sha
    ) -> CheckRun:
        state, ended = str(data["status"]), data.get("finished_at") or data.get("created_at")
        named, digest, conclusion = read_fragment(
            str(data.get("target_url") or ""), _CONCLUSIONS.get(state)
        )
        shown = self._at_head(head)
        # In an older pipeline than the one that counts it holds nothing back: it is put again.
        counts = shown is None or int(data.get("pipeline_id") or 0) >= _pipeline_of(every, shown)
        return CheckRun(
            id=int(data["id"]),
            name=self._names[str(data["name"])],
            status=Status.COMPLETED if conclusion else Status.IN_PROGRESS,
            conclusion=conclusion,
            digest=digest,
            completed_at=time(ended) if conclusion and ended else None,
            ours=is_us(data.get("author"), me) and named == self._access.instance and counts,
        )


def _newest(found: tuple[JSONObject, ...]) -> dict[str, JSONObject]:
    """The newest status of each name, of all pipelines of a commit."""
    newest: dict[str, JSONObject] = {}
    for each in sorted(found, key=lambda data: int(data["id"])):
        newest[str(each["name"])] = each
    return newest


def _pipeline_of(found: tuple[JSONObject, ...], shown: Shown) -> int:
    """The newest pipeline of a merge request's branch, or of itself, among statuses."""
    refs = {shown.head_ref} | {
        f"refs/merge-requests/{shown.number}/{kind}" for kind in ("head", "merge", "train")
    }
    numbers = (int(d.get("pipeline_id") or 0) for d in found if d.get("ref") in refs)
    return max(numbers, default=0)


def _state(data: JSONObject) -> CheckState:
    status = str(data["status"])
    if status == "manual" and data.get("allow_failure"):
        return CheckState.SUCCESS
    return _STATES.get(status, CheckState.PENDING)
