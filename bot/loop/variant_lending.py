"""Which repositories lend their resources to which: consents that many looks ask for.

A push has all repositories looked at that its rules reach, and each asks for the same consents.
What was found out is kept for some minutes, and only while nothing was pushed to the one that
lends, and neither was seen to have another name or to be public no more.
"""

from dataclasses import dataclass

from bot.forges.port import ForgeMissingError
from bot.git.port import Scope
from bot.loop.repository import ServedRepository
from bot.loop.serving import NotServedError, Serving
from bot.recent import Recent
from lifecycle import names
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha

LENT_KEPT = 300.0
"""Seconds: whether a repository is public, and what it is called, changes without a push, and the
forge's word of that may be lost."""

MOST_LENT = 10_000
"""Pairs of repositories of which it is remembered."""


@dataclass(frozen=True, slots=True)
class _Lent:
    """What was found out.

    Attributes:
        at: When, in monotonic seconds.
        into: The repository that it may lend to, as it was.
        other: The repository that may lend.
        tip: Its default branch, as its mirror had it.
        may: It may be read.
    """

    at: float
    into: ServedRepository
    other: ServedRepository
    tip: Sha | None
    may: bool


class Lending:
    """Tells which repositories may be read in which.

    Args:
        serving: Finds repositories.
    """

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._known: Recent[tuple[RepositoryId, str], _Lent] = Recent(MOST_LENT)

    async def to(self, into: ServedRepository, name: str) -> ServedRepository | None:
        """Return a repository that another one may read, fetched; None where there is none.

        Args:
            into: The other one.
            name: Full name of the repository, in small letters.

        Raises:
            ForgeBusyError, GitBusyError: It cannot be told now.
        """
        key, now = (into.id, name), into.clock.monotonic()
        known, around = self._known.get(key), self._serving.around
        fresh = known is not None and now < known.at + LENT_KEPT and known.into is into
        if (
            known
            and fresh
            and await self._is_served(known.other)
            and known.tip == await into.offload(_tip, known.other)
        ):
            return known.other if known.may else None
        for found in await around.named(into.id.forge, [name]):
            try:
                other = await self._serving.of(found.id, found.full_name, found.default_branch)
            except (ForgeMissingError, NotServedError):
                continue  # lost meanwhile, as discovery will find
            # The tip first: what is pushed while it is asked ends what was found out.
            await other.looker.fetcher.fetch(Scope(frozenset({found.default_branch})), now)
            tip = await into.offload(_tip, other)
            may = await around.may_read(found, into.repository, None)
            self._known.put(key, _Lent(now, into, other, tip, may))
            return other if may else None
        return None

    async def _is_served(self, other: ServedRepository) -> bool:
        """Whether a repository is as it was: one that changed is served anew."""
        try:
            return await self._serving.of(other.id) is other
        except (ForgeMissingError, NotServedError):
            return False


def _tip(other: ServedRepository) -> Sha | None:
    with other.mirror.open() as git:
        return git.ref(names.branch_ref(other.repository.default_branch))
