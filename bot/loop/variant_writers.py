"""Who changed a rule for variants last: whoever did counts as an author of what it makes.

However long ago that was. Where the forge does not tell by
which move of the branch a change came, or whose that was, nobody knows who may not approve.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from bot.forges.port import ForgeMissingError, ListedProposal
from bot.git.port import GitBusyError
from bot.loop.repository import ServedRepository
from bot.loop.variant_books import Ruling
from bot.recent import Recent
from lifecycle import authors, merges
from lifecycle.names import Sha

log = structlog.get_logger()

MARGIN: Final = timedelta(minutes=10)
"""How much earlier than the move that brought it in a pull request may have changed last."""

SPANS: Final = (timedelta(days=1), timedelta(days=30))
"""How far back the log of the branch is read at first; then as far as it goes."""

MOST_KNOWN: Final = 1_000
"""Rules whose authors are remembered."""

MOST_LOGS: Final = 64
"""Repositories of which it is remembered what moved their branch, and what was merged there."""

MOST_MOVES: Final = 4_000
"""Moves of one branch that are remembered."""

UNSURE: Final = 300.0
"""Seconds after which it is asked anew what the forge did not tell: its log may have been late."""


@dataclass(frozen=True, slots=True)
class _Found:
    """Who changed a rule, and when that was asked, by the monotonic clock."""

    writers: tuple[str, ...]
    at: float


@dataclass(frozen=True, slots=True)
class _Merged:
    """What was merged into a branch between two moments, by its merge result."""

    since: datetime
    until: datetime
    pulls: Mapping[Sha | None, ListedProposal]


class RuleWriters:
    """Finds out who changed rules."""

    def __init__(self) -> None:
        self._known: Recent[tuple[str, str, Sha], _Found] = Recent(MOST_KNOWN)
        self._moves: Recent[str, tuple[merges.Move, ...]] = Recent(MOST_LOGS)
        self._merged: Recent[str, _Merged] = Recent(MOST_LOGS)

    async def of(self, file: str, rulings: Mapping[str, Ruling]) -> tuple[str, ...]:
        """Return who changed a file with rules last, as `authors.listed` has them.

        Args:
            file: Full name of its repository, a colon, and its path there.
            rulings: The repositories whose rules count, by full name.
        """
        name, _, path = file.partition(":")
        ruling = rulings.get(name)
        if ruling is None or not path:
            return ()
        served = ruling.served
        changed = await served.offload(_last_change, ruling, path)
        if changed is None:
            return (authors.UNKNOWN,)
        key = (name, path, changed)
        known, now = self._known.get(key), served.clock.monotonic()
        if known and (authors.UNKNOWN not in known.writers or now - known.at < UNSURE):
            return known.writers
        writers = authors.listed(await self._writers(served, path, changed))
        if authors.UNKNOWN in writers:
            log.info("who changed a rule is not told", repository=name, file=path)
        self._known.put(key, _Found(writers, now))
        return writers

    async def _writers(self, served: ServedRepository, path: str, changed: Sha) -> authors.Authors:
        """Who wrote and pushed the pull request by which a change came, and who moved the branch.

        Not who moved it where the file is as it was in the pull request: they merged.
        """
        people = served.looker.people
        found = await self._brought(served, changed)
        if found is None:
            return authors.Authors(frozenset(), known=False)
        move, pull = found.move, await self._pull(served, found)
        if pull is None:
            wrote = authors.Authors(frozenset(), known=move.actor != people.login)
        else:
            with served.mirror.open() as git:
                reader = served.looker.reader(git, served.adoption)
                wrote = await people.wrote(reader, pull)
            if await served.offload(_came_whole, served, path, changed, pull):
                return wrote
        if move.actor == people.login:
            return wrote
        return authors.Authors(
            wrote.logins | {move.actor} - {""},
            wrote.known and bool(move.actor) and not move.anybodys,
            wrote.accounts | {move.account} - {0},
        )

    async def _brought(self, served: ServedRepository, changed: Sha) -> merges.Brought | None:
        """The move by which a change came; the dates of commits are anybody's and say nothing."""
        name, branch = served.repository.full_name, served.repository.default_branch
        known = self._moves.get(name) or ()
        found = await served.offload(_brought, served, known, changed)
        now = served.clock.now()
        for since in (*(now - span for span in SPANS), datetime.fromtimestamp(0, UTC)):
            if found is not None:
                break
            try:
                moves = await served.forge.base_moves(branch, since)
            except ForgeMissingError:  # an older forge without this log
                return None
            known = tuple(dict.fromkeys((*moves, *known)))[:MOST_MOVES]
            self._moves.put(name, known)
            found = await served.offload(_brought, served, moves, changed)
        return found

    async def _pull(self, served: ServedRepository, found: merges.Brought) -> ListedProposal | None:
        """The pull request that a change came by: the first whose result is that or came later."""
        parents = await served.offload(_parents, served, found.line[0])
        for parent in parents[1:]:
            for pull in await served.forge.proposals_at(parent):
                if pull.merged and pull.merge_commit == found.line[0]:
                    return pull
        merged = await self._merged_since(served, found.move.at)
        return next((merged.pulls[sha] for sha in found.line if sha in merged.pulls), None)

    async def _merged_since(self, served: ServedRepository, at: datetime) -> _Merged:
        """What was merged since a moment, asked once for all changes that are older than that."""
        name, since, now = served.repository.full_name, at - MARGIN, served.clock.now()
        known = self._merged.get(name) or _Merged(now, now, {})
        if known.since > since or known.until < at + MARGIN:
            if known.since > since:
                known = _Merged(since, since, {})
            branch = served.repository.default_branch
            pulls = await served.forge.merged_proposals(branch, known.until - MARGIN)
            merged = {**known.pulls, **{pull.merge_commit: pull for pull in pulls}}
            known = _Merged(known.since, now, merged)
            self._merged.put(name, known)
        return known


def _came_whole(served: ServedRepository, path: str, changed: Sha, pull: ListedProposal) -> bool:
    """Whether a file is as it was in a pull request, or the forge alone has put it together.

    A commit with one parent that is a pull request's result and does not hold its head the forge
    has made itself. Everything else may be pushed, with a file of its own.
    """
    with served.mirror.open() as git:
        here = git.has(pull.head)
        if here and git.entry(pull.head, path) == git.entry(changed, path):
            return True
        squashed = changed == pull.merge_commit and len(git.commit(changed).parents) == 1
        return squashed and not (here and git.contains(changed, pull.head))


def _last_change(ruling: Ruling, path: str) -> Sha | None:
    """The newest commit of the default branch that changed a file; None where nobody can tell."""
    with ruling.served.mirror.open() as git:
        try:
            return git.last_change(ruling.tip, path)
        except GitBusyError as error:
            log.warning("history of a rule not read", file=path, reason=str(error))
            return None


def _parents(served: ServedRepository, sha: Sha) -> tuple[Sha, ...]:
    with served.mirror.open() as git:
        return git.commit(sha).parents


def _brought(
    served: ServedRepository, moves: tuple[merges.Move, ...], changed: Sha
) -> merges.Brought | None:
    with served.mirror.open() as git:
        reader = served.looker.reader(git, served.adoption)

        def gained(before: Sha, after: Sha, sha: Sha) -> bool:
            there = git.has(before) and git.contains(after, sha)
            return there and not git.contains(before, sha)

        return merges.brought(moves, changed, reader.line, gained)
