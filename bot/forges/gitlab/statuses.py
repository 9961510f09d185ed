"""Our checks as commit statuses, read back with who put them; and what a project requires.

A status changes by GitLab's state machine: one that is not finished goes on, a finished one of the
same name is followed by a new one. Its text and address change only with its state, so what waits
for longer with another text is sent through another state first.

Whoever may push can put a status of any name, which then hides ours: who put it is read with it,
and the next look puts ours again.

Source: https://docs.gitlab.com/api/commits/#commit-status
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

from bot.forges.gitlab import pipelines
from bot.forges.gitlab.access import ForgeCredentials
from bot.forges.gitlab.fields import is_us, time
from bot.forges.gitlab.http import Clients, GitLabAnswer, JSONObject, failure
from bot.forges.gitlab.services import SERVICES, ServiceChecks
from bot.forges.marks import fragment, read_fragment, spelled
from bot.forges.port import (
    UNREAD,
    BotIdentity,
    Context,
    ForgeBusyError,
    Repository,
    RequiredCheck,
)
from fnrunner import urls
from lifecycle.actions import SetCheck
from lifecycle.facts.checks import OURS, PUBLISH, THREADS, CheckRun, CheckState, Conclusion, Status
from lifecycle.names import Sha

LINE = 255
"""Characters of a status's description."""

MOST_STATUSES = 1_000
"""Statuses that are read of one commit."""

PIPELINE, RESOLVED = "pipeline", THREADS
"""What stands for what a project requires, beside our own check: everything else in the pipeline,
and that no thread is open."""

_TRIES = 3
"""How often a status is sent that GitLab refuses because another one is being put."""

_WAITING = ("pending", "running")
"""States of what waits: the first that GitLab takes; where it takes none, it begins anew."""

_SPELLED = {
    Conclusion.SUCCESS: "success",
    Conclusion.NEUTRAL: "success",
    Conclusion.FAILURE: "failed",
}
_CONCLUSIONS = {"success": Conclusion.SUCCESS, "failed": Conclusion.FAILURE}

_WANTED = "put a commit status"


@dataclass(frozen=True, slots=True)
class _Read:
    """Statuses of a commit, and when they were read, in seconds."""

    at: float
    found: tuple[JSONObject, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a commit's statuses came to: its newest pipelines, and whether there are more."""

    pipelines: Mapping[str, pipelines.NewestPipeline]
    more: bool


MOST_SEEN = 1_000
"""Heads of which is kept what their statuses came to: looks of several proposals take turns."""

FRESH = 2.0
"""Seconds within which one reading of statuses answers two questions of the same look."""


class StatusChecks(ServiceChecks):
    """Checks of one project, ours as statuses."""

    _read_last: tuple[Sha, _Read] | None = None

    def __init__(self, access: ForgeCredentials, repository: Repository, pool: Clients) -> None:
        super().__init__(access, repository, pool)
        self._in_forks: dict[int, CheckState] = {}
        self._seen: dict[Sha, _Seen] = {}
        self._turns: WeakValueDictionary[tuple[Sha, str], asyncio.Lock] = WeakValueDictionary()

    async def checks(self, head: Sha) -> tuple[CheckRun, ...]:
        """The newest status of each of our names, whoever put it."""
        me = await self._access.identity()
        read = await self._read_statuses(head)
        await self._read_services(head)
        newest = pipelines.newest(read.found)
        return tuple(
            self._check(newest[name], me, read.found, head)
            for name in sorted(newest.keys() & self._names.keys())
        )

    async def statuses(self, head: Sha) -> dict[Context, CheckState]:
        """Those of others; what is asked of each merge request alone tells `standing`."""
        read = await self._read_statuses(head, again=False)
        for shown in self._at_head(head):
            if shown.fork:
                pipeline = (await self._one(shown.number)).get("head_pipeline") or {}
                self._in_forks[shown.number] = pipelines.state(pipeline)
        newest = pipelines.newest(read.found)
        return {n: pipelines.state(d) for n, d in newest.items() if n not in self._names}

    def standing(self, number: int) -> dict[Context, CheckState]:
        """What stands for the rest of its pipeline, its threads and services, as read last.

        A fork's pipeline is the fork's, unless somebody here ran one for the merge request. What
        was not read is nothing that passed.
        """
        shown = self._shown.get(number)
        if shown is None:
            return {}
        seen = self._seen.get(shown.head)
        known = seen.pipelines if seen else {}
        mine = known.get(pipelines.placed(known, shown)[0].ref, pipelines.NewestPipeline())
        whole = mine.whole if seen else CheckState.PENDING
        if shown.fork and not mine.others:
            whole = self._in_forks.get(number, CheckState.PENDING)
        if seen and seen.more:
            whole = pipelines.worst_of((whole, CheckState.UNKNOWN))
        resolved = CheckState.SUCCESS if shown.resolved else CheckState.PENDING
        return {PIPELINE: whole, RESOLVED: resolved, **self._of_services(shown)}

    async def statuses_by(self, head: Sha) -> dict[tuple[Context, Context], CheckState]:
        """As the port has it, by the login of who put each: GitLab has no Apps.

        A status takes the place of one of its name whoever put that: of somebody else's nothing is
        read any more, which counts as missing where one of theirs is wanted.
        """
        read = await self._read_statuses(head)
        found = {
            (str(data["name"]), _author(data)): pipelines.state(data)
            for data in sorted(read.found, key=lambda data: int(data["id"]))
        }
        return found | ({(UNREAD, UNREAD): CheckState.UNKNOWN} if read.more else {})

    async def set_check(self, check: SetCheck) -> None:
        """Show findings at their lines and answer as a service, then put the status.

        Its digest says that all of it stands.

        It is put into the pipeline of each merge request that has this head. What a finished one
        said of threads is taken back before they change: whatever fails then is done again.

        Looks at merge requests of one head take turns: each transition is from the state that the
        one before left. What another put meanwhile is not put again.

        Raises:
            ForgeBusyError: Another replica puts the same status.
        """
        turn = self._turns.setdefault((check.head, check.name), asyncio.Lock())
        waits = turn.locked()
        async with turn:
            if self._at_head(check.head) and (waits or check.head not in self._seen):
                await self._read_statuses(check.head)
            seen = self._seen.get(check.head)
            known = seen.pipelines if seen else {}
            places = {place.where: place for place in self._placed(known, check.head)}
            there = tuple(places.values()) or (None,)
            if not waits or not await self._stands(check, there):
                await self._carry_out(check, there)

    async def _carry_out(
        self, check: SetCheck, there: tuple[pipelines.StatusPipeline | None, ...]
    ) -> None:
        if check.run is None and check.after and self.may_change_threads(check):
            for place in there:
                begun = await self._put(check, "running", place, passing=True)
                if not begun.ok and not _no_transition(begun):
                    raise failure(_WANTED, begun)
        await self.show_findings(check)
        await self._tell_services(check)
        for place in there:
            await self._set(check, place)

    def _places(self, found: tuple[JSONObject, ...], head: Sha) -> list[pipelines.StatusPipeline]:
        """The pipelines of all merge requests with this head."""
        return self._placed(pipelines.by_ref(found, ()), head)

    def _placed(
        self, known: Mapping[str, pipelines.NewestPipeline], head: Sha
    ) -> list[pipelines.StatusPipeline]:
        every = (pipelines.placed(known, shown) for shown in self._at_head(head))
        return [place for places in every for place in places]

    async def _set(self, check: SetCheck, place: pipelines.StatusPipeline | None) -> None:
        if check.status is Status.COMPLETED and check.conclusion is not None:
            answer = await self._finish(check, _SPELLED[check.conclusion], place)
        else:
            answer = await self._wait(check, place)
        if answer.ok or await self._came_about(check, answer, place):
            return
        if _no_transition(answer):
            raise ForgeBusyError(_WANTED, answer.reason)  # another replica has moved it
        raise failure(_WANTED, answer)

    async def _finish(
        self, check: SetCheck, state: str, place: pipelines.StatusPipeline | None
    ) -> GitLabAnswer:
        """Put what has come to an end; where that is no transition, it begins anew before."""
        answer = await self._put(check, state, place)
        if not _no_transition(answer) or await self._came_about(check, answer, place):
            return answer
        begun = await self._put(check, "running", place, passing=True)
        return await self._put(check, state, place) if begun.ok else begun

    async def _wait(self, check: SetCheck, place: pipelines.StatusPipeline | None) -> GitLabAnswer:
        """Put what waits: with another text than before, that takes another state."""
        for state in _WAITING:
            answer = await self._put(check, state, place)
            if not _no_transition(answer) or await self._came_about(check, answer, place):
                return answer
        ended = await self._put(check, "canceled", place, passing=True)
        return await self._put(check, _WAITING[0], place) if ended.ok else ended

    async def _put(
        self,
        check: SetCheck,
        state: str,
        place: pipelines.StatusPipeline | None,
        *,
        passing: bool = False,
    ) -> GitLabAnswer:
        """Put a status; one in passing says no digest, so that it is never taken for the last."""
        digest = "" if passing else check.digest
        body: JSONObject = {
            "state": state,
            "name": spelled(check.name, self._access.instance),
            "description": check.title[:LINE],
            "target_url": self._address(check, place, digest),
        }
        if place is not None:
            body["ref"] = place.ref
            body |= {"pipeline_id": place.pipeline} if place.pipeline else {}
        path = f"/statuses/{check.head}"
        for _ in range(_TRIES):
            answer = await self._ask(_WANTED, "POST", path, body)
            self._forget_statuses(check.head)
            if answer.status == 404 and "pipeline_id" in body:
                del body["pipeline_id"]  # deleted since
            elif answer.status != 409:
                return answer
        if answer.status == 409:
            raise ForgeBusyError(_WANTED, answer.reason)
        return answer

    async def _came_about(
        self, check: SetCheck, answer: GitLabAnswer, place: pipelines.StatusPipeline | None
    ) -> bool:
        """Whether a transition that there is not was one that is done already."""
        return _no_transition(answer) and await self._stands(check, (place,))

    async def _stands(
        self, check: SetCheck, there: Iterable[pipelines.StatusPipeline | None]
    ) -> bool:
        """Whether a status shows what it is to show in all of these pipelines."""
        me = await self._access.identity()
        read = await self._read_statuses(check.head, again=False)
        name = spelled(check.name, self._access.instance)
        mine = (read.found if place is None else place.statuses(read.found) for place in there)
        shown = [pipelines.newest(every).get(name) for every in mine]
        return all(data and self._digest(data, me) == check.digest for data in shown)

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
        if self._binds:
            found.append(RequiredCheck(SERVICES, None, False))
        return tuple(sorted(found))

    @property
    def _names(self) -> dict[str, str]:
        """Names of this bot's statuses to those of its checks."""
        return {spelled(name, self._access.instance): name for name in OURS}

    def _address(self, check: SetCheck, at: pipelines.StatusPipeline | None, digest: str) -> str:
        """The merge request, where the summary is; and what is shown, as a digest."""
        clone = urls.parts(self._repository.clone_url)
        place = f"{clone.scheme}://{clone.netloc}{clone.path.removesuffix('.git')}/-"
        page = f"merge_requests/{at.number}" if at else f"commit/{check.head}"
        mark = fragment(digest, self._access.instance, check.conclusion)
        return f"{place}/{page}#{mark}"

    async def _read_statuses(self, head: Sha, *, again: bool = True) -> _Read:
        """The statuses of a commit that no newer ones replaced.

        Of very many the oldest alone are read, and ours, which are asked for by their names.
        """
        last, now = self._read_last, self._pool.clock.monotonic()
        if not again and last and last[0] == head and now - last[1].at <= FRESH:
            return last[1]
        wanted, path = "read the commit statuses", f"/repository/commits/{head}/statuses"
        found = await self._first(self._list(wanted, path))
        more = len(found) >= MOST_STATUSES
        for name in sorted(self._names) if more else ():
            found += await self._first(self._list(wanted, path, {"name": name}))
        told = {int(each["id"]): each for each in found}
        read = _Read(now, tuple(told.values()), more)
        self._read_last = head, read
        self._seen.pop(head, None)
        self._seen[head] = _Seen(pipelines.by_ref(read.found, self._names), more)
        while len(self._seen) > MOST_SEEN:
            del self._seen[next(iter(self._seen))]
        return read

    @staticmethod
    async def _first(listed: AsyncIterator[JSONObject]) -> list[JSONObject]:
        """As many as are read."""
        found: list[JSONObject] = []
        async for each in listed:
            found.append(each)
            if len(found) >= MOST_STATUSES:
                break
        return found

    def _forget_statuses(self, head: Sha) -> None:
        """Read them again for whoever asks, but keep in which pipelines they are."""
        if self._read_last is not None and self._read_last[0] == head:
            self._read_last = head, replace(self._read_last[1], at=float("-inf"))

    def _check(
        self, data: JSONObject, me: BotIdentity, every: tuple[JSONObject, ...], head: Sha
    ) -> CheckRun:
        state, ended = str(data["status"]), data.get("finished_at") or data.get("created_at")
        _, digest, conclusion = read_fragment(
            str(data.get("target_url") or ""), _CONCLUSIONS.get(state)
        )
        # Where it is not in the pipeline that counts it holds nothing back: it is put again.
        name, places = str(data["name"]), self._places(every, head)
        shown = [pipelines.newest(place.statuses(every)).get(name) for place in places]
        stands = all(each and self._digest(each, me) == digest for each in (*shown, data))
        if self._names[name] == PUBLISH:
            stands = stands and self._services_agree(head, conclusion)
        return CheckRun(
            id=int(data["id"]),
            name=self._names[name],
            status=Status.COMPLETED if conclusion else Status.IN_PROGRESS,
            conclusion=conclusion,
            digest=digest,
            completed_at=time(ended) if conclusion and ended else None,
            ours=stands,
        )

    def _digest(self, data: JSONObject, me: BotIdentity) -> str | None:
        """What a status of ours shows, as a digest; None for one that is not ours."""
        named, digest, _ = read_fragment(str(data.get("target_url") or ""), None)
        return digest if is_us(data.get("author"), me) and named == self._access.instance else None


def _no_transition(answer: GitLabAnswer) -> bool:
    """Whether a status cannot change so. After any other failure it may have: nobody knows."""
    return answer.status == 400 and "transition" in answer.reason.lower()


def _author(data: JSONObject) -> str:
    return str((data.get("author") or {}).get("username") or "").lower()
