"""Requests about one repository on GitHub."""

from typing import Any

from bot.forges.github.app import AppClients
from bot.forges.github.http import Clients, call
from bot.forges.github.limits import Cost
from bot.forges.port import Repository


class Calls:
    """Sends requests about one repository.

    Args:
        app: The App, for who we are.
        repository: Which repository.
        pool: Clients with the token of its installation.
    """

    def __init__(self, app: AppClients, repository: Repository, pool: Clients) -> None:
        self._app = app
        self._pool = pool
        self._repository = repository
        # By number: a name may have changed hands since, and a redirect loses what was asked.
        self._path = f"/repositories/{repository.id.number}"

    async def _get(self, wanted: str, path: str, **query: object) -> Any:
        answer = await call(self._pool, wanted, "GET", self._path + path, query=query)
        return answer.data

    async def _send(
        self, wanted: str, verb: str, path: str, body: object, cost: Cost | None = None
    ) -> Any:
        answer = await call(self._pool, wanted, verb, self._path + path, body=body, cost=cost)
        return answer.data
