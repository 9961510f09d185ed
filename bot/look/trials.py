"""When the default branch last said that the bot is to do more than observe.

What people said before that was said in a trial, and does not count after it: they could not see
what it would have done. Check runs at the head cannot tell: a push takes them away.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from bot import config
from bot.clock import Offload
from bot.config import CONFIG
from bot.forges.port import Forge, ForgeMissingError
from bot.look.reader import MirrorReader
from lifecycle import names
from lifecycle.merges import Move
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy

MOST_CHANGES = 50
"""Changes of the configuration that are looked back over for the end of a trial."""

MOST_KEPT = 1000
"""Answers that are kept; a comment is asked about until it is answered."""


class Trials:
    """Tells when trials of one repository ended.

    Args:
        forge: Its forge; its log of moves is asked where there was a trial, and only there.
        offload: Where git is read.
        observed_until: When the bot ceased to only observe everywhere (`bot.loop.observed`); None
            where it never did.
    """

    def __init__(
        self, forge: Forge, offload: Offload, observed_until: datetime | None = None
    ) -> None:
        self._forge = forge
        self._everywhere = observed_until
        self._offload = offload
        self._ends: dict[Sha, Sha | None] = {}
        self._seen: dict[tuple[Sha, datetime | None], datetime] = {}
        self._tip: Sha | None = None
        self._observing = False
        self._known: dict[datetime, datetime | None] = {}

    async def ended(self, reader: MirrorReader, since: datetime, now: datetime) -> datetime | None:
        """Return when the last trial ended, here or everywhere; None where none did since a time.

        Where the forge's log does not show the end yet, that is now: what cannot be told apart from
        what was said in the trial does not count. Where it has no log, the commit's time counts.
        Then it is never later than when this process first saw that the trial is over: a log that
        never shows the end, or a commit of next year, takes nobody's words away for good. A trial
        that the log shows to begin, or that this process saw, is another one than those before it,
        also where it ends at the same commit.

        Args:
            reader: What git says.
            since: When the oldest of what was said was said.
            now: When that was read.
        """
        ends = (await self._here(reader, since, now), self._everywhere)
        return max((end for end in ends if end is not None and end >= since), default=None)

    async def _here(self, reader: MirrorReader, since: datetime, now: datetime) -> datetime | None:
        tip = reader.git.ref(names.branch_ref(reader.default_branch))
        if tip is None:
            return None
        if tip != self._tip:  # it may come back to where it was, by way of another trial
            observing = await self._offload(_observes, reader, tip)
            self._tip, self._known, self._observing = tip, {}, observing
        if self._observing:
            self._seen.clear()  # what ends after it is another trial
        if since in self._known:
            return self._known[since]
        end = await self._offload(self._end, reader, tip)
        told, logged, begun = (None, True, None)
        if end is not None:
            told, logged, begun = await self._told(reader, tip, end, since, now)
        found = told
        if end is not None and told is not None and not logged and not self._observing:
            if len(self._seen) >= MOST_KEPT:
                self._seen.clear()
            found = min(told, self._seen.setdefault((end, begun), now))
        if len(self._known) >= MOST_KEPT:
            self._known.clear()
        if told != now:
            self._known[since] = found
        return found

    def _end(self, reader: MirrorReader, tip: Sha) -> Sha | None:
        """The commit of the default branch that ended its last trial."""
        newest = reader.git.last_change(tip, CONFIG)
        if newest is None or newest in self._ends:
            return self._ends.get(newest) if newest else None
        at, found = newest, None
        for _ in range(MOST_CHANGES):
            parents = reader.git.commit(at).parents
            if not parents:
                break
            if _observes(reader, parents[0]) and not _observes(reader, at):
                found = at
                break
            before = reader.git.last_change(parents[0], CONFIG)
            if before is None:
                break
            at = before
        self._ends = {newest: found}
        return found

    async def _told(
        self, reader: MirrorReader, tip: Sha, end: Sha, since: datetime, now: datetime
    ) -> tuple[datetime | None, bool, datetime | None]:
        """As `_logged`; the commit's time where the forge has no log."""
        try:
            moves = await self._forge.base_moves(reader.default_branch, since)
        except ForgeMissingError:
            moves = ()  # an older forge without this log
        if not moves:
            commit = await self._offload(reader.git.commit, end)
            at = datetime.fromtimestamp(commit.committed, UTC)
            return at if at >= since else None, False, None
        return await self._offload(_logged, reader, moves, tip, since, now)


def _logged(
    reader: MirrorReader, moves: Sequence[Move], tip: Sha, since: datetime, now: datetime
) -> tuple[datetime | None, bool, datetime | None]:
    """The newest move that ended a trial, whether the log shows it, and when it began if it does.

    Moves that are newer than what was read of git count as well: of a branch that was put back to
    where it was, nobody can tell whether the log or git is late.
    """
    if _observes(reader, moves[0].after) and not _observes(reader, tip):
        return now, False, moves[0].at
    for move in moves:
        if move.at < since:
            break
        if _observes(reader, move.before) and not _observes(reader, move.after):
            return move.at, True, None
    return None, True, None


def _observes(reader: MirrorReader, at: Sha) -> bool:
    """Whether the file says so at a commit, by itself: defaults have no say in it."""
    if not reader.git.has(at):
        return False  # the branch was made then, or what it was is gone
    data = config.fetch(reader.git.blob, at, CONFIG)
    return not isinstance(data, BrokenPolicy) and config.read(data, defaults=lambda _: b"").observe
