"""Which projects are in which group, as GitLab said a short time ago.

Rules:

1. A path is known for ten minutes, which serves a "yes": a group's webhook tells of every push.
2. Before a "no" both paths are asked for again: a group may have been renamed, or a project moved.
   A path that is less than a minute old is not: refused deliveries, however many, cost one request
   a minute for each group and each project.
3. That GitLab shows one of them not is known for a minute as well.
4. Whoever owns a group chooses which projects its webhook names. Each group waits for its own
   questions alone, and once it named many that are not in it, no further one is asked for.
"""

import asyncio
from collections import defaultdict
from datetime import datetime, timedelta
from typing import Final

from bot.forges.gitlab.http import Clients, call
from bot.forges.port import ForgeBusyError, ForgeMissingError
from bot.forges.unreadable import understood
from lifecycle.identity import RepositoryId

KNOWN: Final = timedelta(minutes=10)
"""How old a path may be for a "yes"."""

DOUBTED: Final = timedelta(minutes=1)
"""How old a path may be for a "no"."""

WANTED: Final = "read which group a project is in"

MOST: Final = 10_000
"""Projects and groups whose paths are known at a time."""

MOST_OTHERS: Final = 20
"""Projects outside of it that a group's webhook may name in a minute, before GitLab is asked for
none but those that are known."""


class GroupPaths:
    """The paths of groups and projects.

    Args:
        clients: What GitLab is asked with.
    """

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._known: dict[str, tuple[str, datetime]] = {}
        self._asking = defaultdict[int, asyncio.Lock](asyncio.Lock)
        self._others = defaultdict[int, dict[int, datetime]](dict)

    async def covers(self, group: int, repository: RepositoryId) -> bool:
        """Return whether a project is in a group, or in one below it.

        Returns:
            False too where GitLab does not show one of them to us.

        Raises:
            ForgeBusyError: GitLab does not say, or is not asked: this group named too many others.
            ForgeRefusedError: It refuses to.
        """
        async with self._asking[group]:  # many at once are about the same
            for age in (KNOWN, DOUBTED):
                above = await self._path(f"/groups/{group}", "full_path", age)
                at = f"/projects/{repository.number}"
                self._bound(group, at, age)
                path = await self._path(at, "path_with_namespace", age)
                if above and path.startswith(f"{above}/"):
                    return True
            self._others[group][repository.number] = self._clients.time.now()
        return False

    def _bound(self, group: int, at: str, age: timedelta) -> None:
        """Refuse to ask for one more project of a group that named many others.

        Raises:
            ForgeBusyError: It did, and what is known of this one is too old.
        """
        now = self._clients.time.now()
        others = {each: told for each, told in self._others[group].items() if now - told < DOUBTED}
        self._others[group] = others
        if len(others) >= MOST_OTHERS and self._fresh(at, age) is None:
            raise ForgeBusyError(
                WANTED,
                f"the webhook of group {group} named {len(others)} projects that are not in it",
            )

    def _fresh(self, at: str, age: timedelta) -> str | None:
        """What is known of a path that is not too old; None where it has to be asked for."""
        path, told = self._known.get(at, ("", None))
        if told is None or self._clients.time.now() - told > (age if path else DOUBTED):
            return None
        return path

    async def _path(self, at: str, field: str, age: timedelta) -> str:
        """The path of one; "" where GitLab does not show it."""
        known = self._fresh(at, age)
        if known is not None:
            return known
        now = self._clients.time.now()
        try:
            told = await call(self._clients, WANTED, "GET", at, query={"with_projects": False})
            with understood(WANTED):
                path = str(told.data[field])
        except ForgeMissingError:
            path = ""
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[at] = (path, now)
        return path
