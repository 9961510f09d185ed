"""Members of the teams that rules name, kept for a moment: many looks ask for the same teams.

What cannot be read is kept as well: a file may name any number of teams that are not there.
"""

from collections.abc import Collection

from bot.clock import Clock
from bot.forges.port import Forge, ForgeMissingError, ForgeRefusedError
from lifecycle.access import Team, TriState, Unreadable

KEPT = 60.0
"""Seconds: who may do what is never older (docs/design.md, "Who may do what")."""


class Teams:
    """Reads the teams of the organization that owns one repository.

    Args:
        forge: The repository's.
        clock: Seconds that they are kept for.
    """

    def __init__(self, forge: Forge, clock: Clock) -> None:
        self._forge = forge
        self._clock = clock
        self._kept: dict[str, tuple[float, Team]] = {}

    async def read(self, slug: str, asks: Collection[str] = ()) -> Team:
        """Return a team as it was at most `KEPT` seconds ago.

        Args:
            slug: Its name in addresses.
            asks: Logins of people who said something that is not answered yet. Whoever of them is
                not in what is kept may have joined since, and would be refused for being quick.
        """
        now = self._clock.monotonic()
        known = self._kept.get(slug)
        fresh = known is not None and now - known[0] < KEPT
        if known and fresh and not any(known[1].has(who) is TriState.NO for who in asks):
            return known[1]
        try:
            found = Team(await self._forge.team(slug))
        except ForgeMissingError:
            found = Team(None, Unreadable.MISSING)
        except ForgeRefusedError:
            found = Team(None, Unreadable.PERMISSION)
        self._kept[slug] = now, found
        return found
