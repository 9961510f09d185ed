"""Requests about one project on GitLab."""

from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import quote

from bot.forges.exchange import listed
from bot.forges.gitlab import speech
from bot.forges.gitlab.access import ForgeCredentials
from bot.forges.gitlab.http import Clients, GitLabAnswer, ask, call
from bot.forges.gitlab.limits import Cost
from bot.forges.gitlab.pages import pages
from bot.forges.port import Repository
from lifecycle.messages.forges import gitlab
from lifecycle.terms import Terms

Query = Mapping[str, object]

NOTES = frozenset({"notes", "discussions"})
"""Last parts of addresses where a comment is made, of which GitLab allows fewer a minute."""


class Calls:
    """Sends requests about one project; every text that goes out passes `speech`.

    Args:
        access: Who we are.
        repository: Which project.
        pool: Clients with our token.
    """

    checks_hold_text = False
    """A commit status is a line: the rest stands in the summary, and at the lines it is about."""

    def __init__(self, access: ForgeCredentials, repository: Repository, pool: Clients) -> None:
        self._access = access
        self._pool = pool
        self._repository = repository
        # By number: a name may have changed hands since.
        self._path = f"/projects/{repository.id.number}"

    @property
    def terms(self) -> Terms:
        """GitLab's words, with commands to our login, which is known once there is a project."""
        proposals = f"{self._pool.url}/{self._repository.full_name}/-/merge_requests"
        return gitlab(self._access.login, proposals)

    async def _get(self, wanted: str, path: str, query: Query | None = None) -> Any:
        return (await call(self._pool, wanted, "GET", self._path + path, query=query)).data

    async def _get_list(self, wanted: str, path: str, query: Query | None = None) -> list[Any]:
        """A list that one page holds, or the part of it that is wanted."""
        return listed(wanted, await self._get(wanted, path, query))

    def _list(self, wanted: str, path: str, query: Query | None = None) -> AsyncIterator[Any]:
        return pages(self._pool, wanted, self._path + path, query)

    async def _send(self, wanted: str, verb: str, path: str, body: object = None) -> Any:
        place, said, cost = self._path + path, speech.sent(body), _cost(verb, path)
        return (await call(self._pool, wanted, verb, place, body=said, cost=cost)).data

    async def _ask(self, wanted: str, verb: str, path: str, body: object = None) -> GitLabAnswer:
        """Send it and return the answer, whatever its status."""
        place, said, cost = self._path + path, speech.sent(body), _cost(verb, path)
        return await self._pool.run(cost, wanted, ask, wanted, verb, place, body=said)


def quoted(text: str) -> str:
    """A part of an address: a slash in it is none between parts."""
    return quote(text, safe="")


def place(number: int) -> str:
    """Where a proposal is, or an issue: GitLab counts these apart, the bot's are below zero."""
    return f"/merge_requests/{number}" if number > 0 else f"/issues/{-number}"


def _cost(verb: str, path: str) -> Cost:
    return Cost.NOTE if verb == "POST" and path.rpartition("/")[2] in NOTES else Cost.REQUEST
