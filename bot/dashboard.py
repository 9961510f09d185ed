"""The dashboard issue of a repository: found again, made once, and written only when it changes.

It is ours when the bot opened it and our signed record stands in it: a marker that somebody copies
into an issue of his own makes it nobody's dashboard. Its number is a shortcut in the database.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial

from bot.forges.port import Forge, ForgeMissingError, Issue, Repository
from bot.store.port import Claims, DashboardNumbers
from lifecycle import boxes, limits, records, replay
from lifecycle.boxes import Tick
from lifecycle.events import EVER, Log
from lifecycle.kinds import Write
from lifecycle.messages import boxes as box_texts

_CLAIM = Write(("dashboard",), makes_after=0).claim


class Dashboard:
    """The dashboard issue of one repository.

    Args:
        repository: Which one.
        forge: Its forge.
        known: Where its number is kept.
        claims: So that two replicas make one.
        record_keys: For its record, newest first.
        instance: Name of this bot: another bot's dashboard is not ours.
    """

    def __init__(
        self,
        repository: Repository,
        forge: Forge,
        known: DashboardNumbers,
        claims: Claims,
        record_keys: Sequence[bytes],
        instance: str,
    ) -> None:
        self._repository = repository
        self._forge = forge
        self._known = known
        self._claims = claims
        self._keys = record_keys
        self._record: records.Record = {
            "kind": "dashboard",
            "repository": repository.id.spelled,
            "instance": instance,
        }
        self._freezing: records.Record = {**self._record, "kind": "freezes"}

    async def find(self) -> Issue | None:
        """Find it: by its number, else among our issues; None where there is none, or no issues.

        The oldest counts where an answer that was lost left two. One that somebody closed is found
        too.

        Raises:
            ForgeMissingError: The forge does not show the issues, as for a moment to a fresh token.
        """
        if not self._repository.has_issues:
            return None
        me = self._repository.id
        with suppress(ForgeMissingError):  # deleted, transferred, or issues were turned off
            number = await self._known.dashboard(me)
            issue = await self._forge.issue(number) if number else None
            if issue is not None and issue.ours:
                return issue
        for issue in await self._forge.own_issues():
            if self._record in [dict(found) for found in records.read(issue.body, self._keys)]:
                await self._known.keep_dashboard(me, issue.number)
                return issue
        return None

    async def freezes(self) -> Log:
        """Return what was frozen and thawed, as it was written there.

        Raises:
            ForgeMissingError: As `find`: what was frozen is not known then.
        """
        return self._written(await self.find())

    def _written(self, issue: Issue | None) -> Log:
        found = records.read(issue.body, self._keys) if issue is not None else ()
        return frozenset(
            event
            for record in found
            if self._freezing.items() <= record.items()
            for event in replay.unpack(record)
        )

    def room(self, frozen: Log, at: datetime) -> int:
        """Return how many characters its text may have beside the records."""
        return max(0, limits.OWN_COMMENT - sum(map(records.length, self._records(frozen, at))))

    async def write(
        self,
        title: str,
        text: str,
        frozen: Log = frozenset(),
        at: datetime = EVER,
        heard: Collection[Tick] = (),
    ) -> Issue | None:
        """Make it, or edit it in place where its text differs; one that was closed is left alone.

        Where something was frozen, one that was closed is written as well: it is no news for
        people, but what tells of it when the database is lost. What its record tells already stays
        there, whatever the database lacks.

        Args:
            title: Of one that is made; people may rename it.
            text: Markdown, without the record; what goes beyond `room` is cut off.
            frozen: What was frozen and thawed, to be remembered there.
            at: The present moment: what ended before is not remembered.
            heard: Boxes that deliveries told of: at others that are ticked there it says so.

        Returns:
            The issue; None where there are no issues, or somebody else is making it now.
        """
        if not self._repository.has_issues:
            return None
        try:
            issue = await self.find()
        except ForgeMissingError:  # issues were turned off, and nobody told us
            return None
        frozen |= self._written(issue)
        if issue is not None and (lost := boxes.lost(issue.number, issue.body, heard)):
            text = boxes.noted(text, lost, box_texts.LOST)
        body = self._signed(text, frozen, at)
        if issue is None:
            return await self._make(title, body)
        if (issue.open or frozen) and issue.body.replace("\r\n", "\n") != body:
            await self._forge.edit_issue(issue.number, body)
        return issue

    async def _make(self, title: str, body: str) -> Issue | None:
        if not await self._claims.take(self._repository.id, _CLAIM):
            return None  # it shows until the claim ends, also where the answer was lost
        try:
            number = await self._forge.open_issue(title, body)
        except ForgeMissingError:  # issues were turned off, and nobody told us
            return None
        await self._known.keep_dashboard(self._repository.id, number)
        return Issue(number=number, title=title, body=body, ours=True, open=True)

    def _signed(self, text: str, frozen: Log, at: datetime) -> str:
        signed = (records.sign(each, self._keys[0]) for each in self._records(frozen, at))
        whole = "\n\n".join([text[: self.room(frozen, at)], *signed])
        return boxes.sealed(whole, partial(boxes.seal_of, self._keys[0], self._repository.id))

    def _records(self, frozen: Log, at: datetime) -> Sequence[records.Record]:
        lasting = replay.frozen_since(frozen, at)
        return (
            [self._record, {**self._freezing, **replay.pack(lasting)}]
            if lasting
            else [self._record]
        )
