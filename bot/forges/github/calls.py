"""Requests about one repository on GitHub."""

from typing import Any
from urllib.parse import quote

from bot.forges.github.access import ForgeCredentials
from bot.forges.github.http import Clients, JSONObject, call, pages
from bot.forges.github.limits import Cost
from bot.forges.port import ForgeRefusedError, Repository

PLAN = "upgrade to github"
"""How GitHub says that a private repository's plan has no rules (`porchbot doctor` warns)."""


class Calls:
    """Sends requests about one repository.

    Args:
        app: Who we are.
        repository: Which repository.
        pool: Clients with the token of its installation.
    """

    def __init__(self, app: ForgeCredentials, repository: Repository, pool: Clients) -> None:
        self._app = app
        self._pool = pool
        self._repository = repository
        # By number: a name may have changed hands since, and a redirect loses what was asked.
        self._path = f"/repositories/{repository.id.number}"

    @property
    def access(self) -> ForgeCredentials:
        """Who asks."""
        return self._app

    @property
    def pool(self) -> Clients:
        """What it asks with."""
        return self._pool

    async def _branch_rules(self, branch: str) -> list[JSONObject]:
        """What rulesets say about a branch; nothing where the plan has none."""
        path = f"{self._path}/rules/branches/{quote(branch, safe='')}"
        try:
            return [rule async for rule in pages(self._pool, "read the branch rules", path)]
        except ForgeRefusedError as error:
            if PLAN in error.reason.lower():
                return []
            raise

    async def _get(self, wanted: str, path: str, **query: object) -> Any:
        answer = await call(self._pool, wanted, "GET", self._path + path, query=query)
        return answer.data

    async def _send(
        self, wanted: str, verb: str, path: str, body: object, cost: Cost | None = None
    ) -> Any:
        answer = await call(self._pool, wanted, verb, self._path + path, body=body, cost=cost)
        return answer.data
