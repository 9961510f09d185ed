"""Apps whose place another one has taken: what they wrote is ours as well, and nothing else is.

A slug that was given up with its App can be taken by anybody. So an App is known by the number of
its account; where nobody wrote that down, by its own key, as long as GitHub answers to it.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import structlog

from bot.forges.port import ForgeBusyError, ForgeMissingError, ForgeRefusedError

log = structlog.get_logger()

Asked = Callable[[], Awaitable[str]]
"""Asks GitHub by an App's own key for the login that its comments carry."""


@dataclass(slots=True)
class FormerApp:
    """One App that was replaced.

    Attributes:
        login: That its comments carry.
        account: Number of that account; 0 where it is not known.
        asked: Proves the login where the number is not known.
    """

    login: str
    account: int
    asked: Asked | None = None
    _proved: bool | None = field(default=None, repr=False)

    async def counts(self) -> bool:
        """Whether what this login wrote is ours."""
        if self.account or self._proved is not None or self.asked is None:
            return bool(self.account or self._proved)
        try:
            self._proved = await self.asked() == self.login
        except ForgeBusyError:
            return False  # asked again
        except (ForgeMissingError, ForgeRefusedError) as error:
            self._proved = False
            log.warning("what this App wrote does not count", app=self.login, why=str(error))
        return bool(self._proved)


async def counting(apps: Sequence[FormerApp]) -> frozenset[tuple[str, int]]:
    """Return login and number of the accounts whose words are ours; 0 for any of that login."""
    return frozenset([(each.login, each.account) for each in apps if await each.counts()])
