"""Which projects are in which group, as GitLab said a short time ago.

Rules:

1. A path is known for ten minutes, which serves a "yes": a group's webhook tells of every push.
2. Before a "no" both paths are asked for again: a group may have been renamed, or a project moved.
   A path that is less than a minute old is not: refused deliveries, however many, cost one request
   a minute for each group and each project.
3. That GitLab shows one of them not is known for a minute as well.
"""

import asyncio
from datetime import datetime, timedelta
from typing import Final

from bot.forges.exchange import understood
from bot.forges.gitlab.http import Clients, call
from bot.forges.port import ForgeMissingError
from lifecycle.identity import RepositoryId

KNOWN: Final = timedelta(minutes=10)
"""How old a path may be for a "yes"."""

DOUBTED: Final = timedelta(minutes=1)
"""How old a path may be for a "no"."""

MOST: Final = 10_000
"""Projects and groups whose paths are known at a time."""


class GroupPaths:
    """The paths of groups and projects.

    Args:
        clients: What GitLab is asked with.
    """

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._known: dict[str, tuple[str, datetime]] = {}
        self._asking = asyncio.Lock()

    async def covers(self, group: int, repository: RepositoryId) -> bool:
        """Return whether a project is in a group, or in one below it.

        Returns:
            False too where GitLab does not show one of them to us.

        Raises:
            ForgeBusyError: GitLab does not say.
            ForgeRefusedError: It refuses to.
        """
        async with self._asking:  # many at once are about the same
            for age in (KNOWN, DOUBTED):
                above = await self._path(f"/groups/{group}", "full_path", age)
                path = await self._path(
                    f"/projects/{repository.number}", "path_with_namespace", age
                )
                if above and path.startswith(f"{above}/"):
                    return True
        return False

    async def _path(self, at: str, field: str, age: timedelta) -> str:
        """The path of one; "" where GitLab does not show it."""
        now = self._clients.time.now()
        known = self._known.get(at)
        if known is not None and now - known[1] <= (age if known[0] else DOUBTED):
            return known[0]
        wanted = "read which group a project is in"
        try:
            told = await call(self._clients, wanted, "GET", at, query={"with_projects": False})
            with understood(wanted):
                path = str(told.data[field])
        except ForgeMissingError:
            path = ""
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[at] = (path, now)
        return path
