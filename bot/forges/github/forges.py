"""GitHub as a forge that the bot serves: installations of its App, and their repositories."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from bot.forges.exchange import MOST_PAGES, listed
from bot.forges.github.app import AppClients
from bot.forges.github.deliveries import read_verified
from bot.forges.github.fields import time
from bot.forges.github.forge import GitHub
from bot.forges.github.http import JSONObject, call, call_unless, pages
from bot.forges.github.log import DeliveryLog
from bot.forges.github.registration import PATH, drift
from bot.forges.port import (
    BotIdentity,
    Drift,
    FailedDeliveries,
    ForgeMissingError,
    Installation,
    LoggedDelivery,
    Repository,
)
from bot.forges.unreadable import reading
from bot.forges.webhooks import WebhookError
from bot.keys import Key
from bot.store.hints import Hint
from lifecycle.identity import GITHUB, RepositoryId

NEWEST = 10
"""Deliveries that are looked at to see whether webhooks come in."""


@dataclass(frozen=True, slots=True)
class _Page:
    """A page of the repositories of an installation, and the `ETag` that it came with."""

    repositories: tuple[Repository, ...]
    more: bool
    etag: str


@reading
class GitHubForges:
    """All that the App is installed on; implements `bot.forges.port.Forges`.

    Args:
        app: The App.
        hook: Where below its address the bot hears of this GitHub.
    """

    def __init__(self, app: AppClients, hook: str = PATH) -> None:
        self.name = app.forge
        self.most_parts = 2
        self._app = app
        self._hook = hook
        self._log = DeliveryLog(app)
        self._pages: dict[tuple[int, int], _Page] = {}

    async def identity(self) -> BotIdentity:
        """The login that the App's comments carry, and the address of its commits."""
        return await self._app.identity()

    async def check(self) -> None:
        """Ask for the App, which counts towards no installation's limit."""
        await self._app.check()

    async def installations(self) -> Sequence[Installation]:
        """Every installation, suspended ones too."""
        listed = pages(self._app.clients, "list the installations", "/app/installations")
        return [Installation(int(i["id"]), bool(i.get("suspended_at"))) async for i in listed]

    async def installation(self, number: int) -> Installation | None:
        """One installation; None when there is none of this number."""
        with suppress(ForgeMissingError):
            found = await self._about(number)
            return Installation(int(found["id"]), bool(found.get("suspended_at")))
        return None

    async def is_installed(self, repository: RepositoryId | str) -> bool:
        """Whether any installation has a repository; its own page is readable if it is public."""
        with suppress(ForgeMissingError):
            path = f"{path_of(repository)}/installation"
            await call(self._app.clients, "find its installation", "GET", path)
            return True
        return False

    async def repositories_of(self, installation: int) -> Sequence[Repository]:
        """Every repository of one installation."""
        since = time((await self._about(installation))["created_at"])
        found: dict[RepositoryId, Repository] = {}
        for number in range(1, MOST_PAGES + 1):
            page = await self._page(installation, number, since)
            before = len(found)
            found |= {each.id: each for each in page.repositories}
            if not page.more or len(found) == before:
                break
        return list(found.values())

    async def _page(self, installation: int, number: int, since: datetime) -> "_Page":
        """A page of that list; where it has not changed, it is not sent again and not counted."""
        known = self._pages.get((installation, number))
        query = {"per_page": 100} | ({"page": number} if number > 1 else {})
        wanted, path = "list the repositories of an installation", "/installation/repositories"
        etag = known.etag if known else ""
        answer = await call_unless(self._app.of(installation), wanted, path, etag, query=query)
        if answer is None:
            return self._pages[installation, number]
        page = _Page(
            tuple(
                repository_of(data, installation, since, self.name)
                for data in listed(wanted, answer.data["repositories"])
            ),
            more='rel="next"' in answer.headers.get("link", ""),
            etag=answer.headers.get("etag", ""),
        )
        self._pages[installation, number] = page
        return page

    async def repository_by_id(self, repository_id: RepositoryId, installation: int) -> Repository:
        """One repository, as it is named now."""
        path = f"/repositories/{repository_id.number}"
        answer, about = await asyncio.gather(
            call(self._app.of(installation), "read it", "GET", path), self._about(installation)
        )
        return repository_of(answer.data, installation, time(about["created_at"]), self.name)

    def of(self, repository: Repository) -> "GitHub":
        """The forge for one repository."""
        return GitHub(self._app, repository, self._app.of(repository.installation))

    def wakes_of(self, headers: Mapping[str, str], body: bytes) -> Mapping[Key, Hint]:
        """What a stored delivery asks to look at again; empty for one that cannot be read."""
        with suppress(WebhookError):
            return read_verified(headers, body, forge=self.name).wakes
        return {}

    async def drift(self, url: str = "") -> Sequence[Drift]:
        """What of the App's registration and installations is not as the bot needs it."""
        app, wanted = self._app.clients, "read the App's registration"
        about = (await call(app, wanted, "GET", "/app")).data
        hook = (await call(app, wanted, "GET", "/app/hook/config")).data
        query = {"per_page": NEWEST}
        tried = (await call(app, wanted, "GET", "/app/hook/deliveries", query=query)).data
        installed = [each async for each in pages(app, wanted, "/app/installations")]
        return drift(about, hook, installed, tried, url, self._hook)

    async def failed_deliveries(self, page: str = "") -> FailedDeliveries:
        """A page of the App's log of deliveries that were not accepted, newest first."""
        return await self._log.failed(page)

    async def delivery(self, guid: str) -> LoggedDelivery | None:
        """One of the newest of that log, accepted or not; None for one that is not among them."""
        return await self._log.find(guid)

    async def logged_delivery(self, number: int) -> LoggedDelivery | None:
        """One try out of the App's log; None for what cannot be read."""
        return await self._log.read(number)

    async def _about(self, installation: int) -> Any:
        path = f"/app/installations/{installation}"
        return (await call(self._app.clients, "read the installation", "GET", path)).data


def path_of(repository: RepositoryId | str) -> str:
    """Return the path of a repository in the API, by its identity or a full name."""
    if isinstance(repository, str):
        return f"/repos/{quote(repository)}"
    return f"/repositories/{repository.number}"


def repository_of(
    data: JSONObject, installation: int, installed_at: datetime, forge: str = GITHUB
) -> Repository:
    """A repository as REST shows it."""
    return Repository(
        id=RepositoryId(forge, int(data["id"])),
        full_name=str(data["full_name"]),
        default_branch=str(data["default_branch"]),
        clone_url=str(data["clone_url"]),
        installation=installation,
        installed_at=installed_at,
        changed=f"{data.get('pushed_at')} {data.get('updated_at')}",
        has_issues=bool(data.get("has_issues", True)),
        archived=bool(data.get("archived")),
        public=data.get("private") is False and data.get("visibility", "public") == "public",
        topics=tuple(map(str, data.get("topics") or ())),
    )
