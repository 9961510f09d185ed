"""Who changed a rule for variants last: whoever did counts as an author of what it makes.

As far as that can be known: a rule of long ago, or one whose push the forge tells nothing of, has
no author, and neither has what it makes.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from bot.forges.port import ForgeMissingError, ListedProposal
from bot.loop.recent import Recent
from bot.loop.repository import ServedRepository
from bot.loop.variant_books import Ruling
from lifecycle import authors, merges
from lifecycle.access import Person
from lifecycle.names import Sha

log = structlog.get_logger()

MOST_WALKED: Final = 500
"""Commits of the default branch that are looked back over."""

MARGIN: Final = timedelta(minutes=10)
"""How much later than its commits a push may be told; commits may be older by any time."""

LONGEST: Final = timedelta(days=30)
"""How long ago a change is whose pull request is looked for among those that were merged since."""

MOST_KNOWN: Final = 1_000
"""Rules whose authors are remembered."""


class RuleWriters:
    """Finds out who changed rules."""

    def __init__(self) -> None:
        self._known: Recent[tuple[str, str, Sha], tuple[str, ...]] = Recent(MOST_KNOWN)

    async def of(self, file: str, rulings: Mapping[str, Ruling]) -> tuple[str, ...]:
        """Return who changed a file with rules last, as `authors.spelled` has them, sorted.

        Args:
            file: Full name of its repository, a colon, and its path there.
            rulings: The repositories whose rules count, by full name.
        """
        name, _, path = file.partition(":")
        ruling = rulings.get(name)
        if ruling is None or not path:
            return ()
        changed = await ruling.served.offload(_last_change, ruling, path)
        if changed is None:
            return ()
        key = (name, path, changed)
        known = self._known.get(key)
        if known is None:
            known = await _writers(ruling, path, changed)
            self._known.put(key, known)
        return known


async def _writers(ruling: Ruling, path: str, changed: Sha) -> tuple[str, ...]:
    served = ruling.served
    parents, made = await served.offload(_read, served, changed)
    branch, us = served.repository.default_branch, served.looker.people.login
    try:
        moves = await served.forge.base_moves(branch, made - MARGIN)
    except ForgeMissingError:  # an older forge without this log
        return ()
    move = await served.offload(_entry, served, moves, changed)
    if move is None:
        log.info("who changed a rule is not told", repository=served.repository.full_name)
        return ()
    found: set[str] = set()
    pulls = await _pulls(served, changed, parents, made)
    whole = bool(pulls) and await served.offload(_came_whole, served, path, changed, parents)
    if move.actor and move.actor != us and not whole:
        found.add(authors.spelled(Person(move.account, move.actor, bot=False)))
    for pull in pulls:
        found.add(authors.spelled(pull.author))
        for each in await served.forge.commits(pull.number):
            found |= {login for login in (each.author, each.committer, *each.coauthors) if login}
    return tuple(sorted(found - {us, authors.spelled(Person(0, us, bot=False))}))


async def _pulls(
    served: ServedRepository,
    changed: Sha,
    parents: tuple[Sha, ...],
    made: datetime,
) -> list[ListedProposal]:
    """The pull requests that a change came by."""
    found = [
        pull
        for parent in parents[1:]
        for pull in await served.forge.proposals_at(parent)
        if pull.merged and pull.merge_commit == changed
    ]
    if not found and served.clock.now() - made < LONGEST:
        branch = served.repository.default_branch
        merged = await served.forge.merged_proposals(branch, made - MARGIN)
        found = [pull for pull in merged if pull.merge_commit == changed]
    return found


def _came_whole(
    served: ServedRepository, path: str, changed: Sha, parents: tuple[Sha, ...]
) -> bool:
    """Whether the merge of a pull request has a file as it was there: then who merged wrote none.

    What has one parent the forge has made itself: a commit that somebody pushes is no pull
    request's result. A merge may be pushed, with a file of its own.
    """
    with served.mirror.open() as git:
        now = git.entry(changed, path)
        return len(parents) < 2 or any(git.entry(each, path) == now for each in parents[1:])


def _last_change(ruling: Ruling, path: str) -> Sha | None:
    """The newest commit of the default branch that changed a file; None for none that is near."""
    with ruling.served.mirror.open() as git:
        line = git.first_parents(ruling.tip, "", MOST_WALKED)
        now = git.entry(ruling.tip, path)
        for commit in reversed(line):
            before = git.entry(commit.parents[0], path) if commit.parents else ""
            if before != now:
                return commit.sha
    return None


def _read(served: ServedRepository, sha: Sha) -> tuple[tuple[Sha, ...], datetime]:
    with served.mirror.open() as git:
        commit = git.commit(sha)
        return commit.parents, datetime.fromtimestamp(commit.committed, UTC)


def _entry(
    served: ServedRepository, moves: tuple[merges.Move, ...], changed: Sha
) -> merges.Move | None:
    with served.mirror.open() as git:
        reader = served.looker.reader(git, served.adoption)
        landing = merges.entry(moves, changed, reader.line)
    if landing is None:
        return None
    there = (m for m in reversed(moves) if not m.forced and m.before == landing.before)
    return next(there, None)
