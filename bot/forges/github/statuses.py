"""Our checks as commit statuses: only an App can make check runs.

A status is a state and a line of text. What a check has more is told by the summary comment, which
is a click away. Whoever can write to the repository can put a status of any name: so who put it is
read with it, and one of others in our place is none of ours, which the next look puts right.

Source: https://docs.github.com/rest/commits/statuses
"""

import asyncio
from dataclasses import replace

from bot.forges.github.checks import MOST_STATUSES, CheckRuns, state_of
from bot.forges.github.fields import is_us, time
from bot.forges.github.http import JSONObject, pages
from bot.forges.marks import fragment, read_fragment, spelled
from bot.forges.port import UNREAD, BotIdentity, CheckFullError, Context, ForgeRefusedError
from fnrunner import urls
from lifecycle.actions import SetCheck
from lifecycle.facts.checks import OURS, CheckRun, CheckState, Conclusion, Status
from lifecycle.names import Sha

FULL = "maximum number of statuses"
"""How GitHub says that it takes no more of a context on a commit: a thousand, of all who put it."""

LINE = 140
"""Characters of a status's description."""

_SPELLED = {
    None: "pending",
    Conclusion.SUCCESS: "success",
    Conclusion.NEUTRAL: "success",
    Conclusion.FAILURE: "failure",
}
_CONCLUSIONS = {
    CheckState.SUCCESS: Conclusion.SUCCESS,
    CheckState.FAILURE: Conclusion.FAILURE,
}


class StatusChecks(CheckRuns):
    """Checks of one repository, ours as statuses."""

    checks_hold_text = False

    async def checks(self, head: Sha) -> tuple[CheckRun, ...]:
        """Check runs of others, and the newest status of each of our names, whoever put it."""
        me = await self._app.identity()
        runs, statuses = await asyncio.gather(self._of_apps(head), self._ours(head, me))
        return (*(replace(run, ours=False) for run in runs or ()), *statuses)

    async def statuses(self, head: Sha) -> dict[Context, CheckState]:
        """Those of others: ours are checks."""
        found = await super().statuses(head)
        return {name: state for name, state in found.items() if name not in self._names}

    async def statuses_by(self, head: Sha) -> dict[tuple[Context, Context], CheckState]:
        """As the port has it; where check runs cannot be read, one of them may have failed."""
        found, runs = await asyncio.gather(super().statuses_by(head), self._of_apps(head))
        return found if runs is not None else found | {(UNREAD, UNREAD): CheckState.UNKNOWN}

    async def set_check(self, check: SetCheck) -> None:
        """Put a status; it takes the place of the one before, whoever put that."""
        conclusion = check.conclusion if check.status is Status.COMPLETED else None
        body = {
            "state": _SPELLED[conclusion],
            "context": spelled(check.name, self._app.instance),
            "description": check.title[:LINE],
            "target_url": self._address(check),
        }
        wanted = "put a commit status"
        try:
            await self._send(wanted, "POST", f"/statuses/{check.head}", body)
        except ForgeRefusedError as error:
            if FULL in error.reason.lower():
                raise CheckFullError(wanted, error.reason) from error
            raise

    @property
    def _names(self) -> dict[str, str]:
        """Contexts of this bot's statuses to the names of its checks."""
        return {spelled(name, self._app.instance): name for name in OURS}

    def _address(self, check: SetCheck) -> str:
        """The pull requests of the commit, where the summary is; and what is shown, as a digest."""
        clone = urls.parts(self._repository.clone_url)
        place = f"{clone.scheme}://{clone.netloc}/{self._repository.full_name}"
        mark = fragment(check.digest, self._app.instance, check.conclusion)
        return f"{place}/pulls?q={check.head}#{mark}"

    async def _of_apps(self, head: Sha) -> tuple[CheckRun, ...] | None:
        """Check runs of Apps; None where the token may not read them."""
        try:
            return await super().checks(head)
        except ForgeRefusedError:
            return None

    async def _ours(self, head: Sha, me: BotIdentity) -> tuple[CheckRun, ...]:
        path = f"{self._path}/commits/{head}/statuses"
        newest: dict[str, JSONObject] = {}
        count = 0  # one of ours below a flood is put again
        async for each in pages(self._pool, "read who put the commit statuses", path):
            newest.setdefault(str(each["context"]), each)
            count += 1
            if count >= MOST_STATUSES or newest.keys() >= self._names.keys():
                break
        return tuple(self._read(newest[name], me) for name in sorted(newest.keys() & self._names))

    def _read(self, data: JSONObject, me: BotIdentity) -> CheckRun:
        named, digest, conclusion = read_fragment(
            str(data["target_url"] or ""), _CONCLUSIONS.get(state_of(data))
        )
        return CheckRun(
            id=int(data["id"]),
            name=self._names[str(data["context"])],
            status=Status.COMPLETED if conclusion else Status.IN_PROGRESS,
            conclusion=conclusion,
            digest=digest,
            completed_at=time(data["updated_at"]) if conclusion else None,
            ours=is_us(data["creator"], me) and named == self._app.instance,
        )
