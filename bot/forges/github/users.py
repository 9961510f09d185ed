"""GitHub as a forge that the bot serves as a machine user: what its token reaches.

Such an account is let in nowhere by an installation: it is a collaborator, or in a team. So there
is one place, the account itself, with the repositories that it may write to.

Source: https://docs.github.com/rest/repos/repos#list-repositories-for-the-authenticated-user
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import structlog

from bot.forges.account import OneAccount
from bot.forges.github.deliveries import read_verified
from bot.forges.github.fields import time
from bot.forges.github.forge import GitHubByUser
from bot.forges.github.forges import path_of, repository_of
from bot.forges.github.http import JSONObject, call, pages
from bot.forges.github.user import TokenAbout, UserClients
from bot.forges.port import (
    Drift,
    FailedDeliveries,
    ForgeMissingError,
    LoggedDelivery,
    Repository,
)
from bot.forges.unreadable import reading
from bot.forges.webhooks import WebhookError
from bot.keys import Key
from bot.store.hints import Hint
from lifecycle.identity import RepositoryId

log = structlog.get_logger()

SCOPES: Mapping[str, str] = {
    "repo": "the bot cannot read private repositories, or write anything",
    "read:org": "team members are unknown, so rules that name teams wait",
}
"""Scopes of a classic token, and what is missing without each."""

_INCLUDE: Mapping[str, frozenset[str]] = {
    "repo": frozenset({"repo"}),
    "read:org": frozenset({"read:org", "write:org", "admin:org"}),
}
"""Scopes that hold each of them."""


@reading
class UserForges(OneAccount[UserClients]):
    """All that a machine user may write to; implements `bot.forges.port.Forges`.

    Args:
        user: The account.
        names: Repositories to serve, by their full names; none for all that it may write to.
    """

    def __init__(self, user: UserClients, names: Sequence[str] = ()) -> None:
        super().__init__(user)
        self.name = user.forge
        self.most_parts = 2
        self._names = tuple(names)

    async def is_installed(self, repository: RepositoryId | str) -> bool:
        """Whether it may write to a repository, and that is to be served."""
        with suppress(ForgeMissingError):
            return self._serves(await self._read(path_of(repository)))
        return False

    async def repositories_of(self, installation: int) -> Sequence[Repository]:
        """The repositories that are named, or all that it may write to."""
        await self.identity()
        found = [data for data in await self._listed() if self._serves(data)]
        return [self._repository(data, installation) for data in found]

    async def repository_by_id(self, repository_id: RepositoryId, installation: int) -> Repository:
        """One repository, as it is named now."""
        await self.identity()
        data = await self._read(f"/repositories/{repository_id.number}")
        return self._repository(data, installation)

    def of(self, repository: Repository) -> GitHubByUser:
        """The forge for one repository."""
        return GitHubByUser(self._user, repository, self._user.clients)

    def wakes_of(self, headers: Mapping[str, str], body: bytes) -> Mapping[Key, Hint]:
        """What a stored delivery asks to look at again; empty for one that cannot be read."""
        with suppress(WebhookError):
            return read_verified(headers, body, presses=False, forge=self.name).wakes
        return {}

    async def drift(self, url: str = "") -> Sequence[Drift]:
        """What an App would have, and what the token lacks."""
        del url  # each repository has a webhook of its own
        return tuple(lacking(await self._user.about()))

    async def failed_deliveries(self, page: str = "") -> FailedDeliveries:
        """None: only who administers a repository reads the log of its webhook; sweeps find it."""
        del page
        return FailedDeliveries(())

    async def delivery(self, guid: str) -> LoggedDelivery | None:
        """None: statuses have no buttons."""
        del guid
        return None

    async def logged_delivery(self, number: int) -> LoggedDelivery | None:
        """None, likewise."""
        del number
        return None

    async def _listed(self) -> list[JSONObject]:
        wanted = "list the repositories of the machine user"
        if not self._names:
            mine = pages(self._user.clients, wanted, "/user/repos")
            return [data async for data in mine]
        found: list[JSONObject] = []
        for name in self._names:
            try:
                found.append(await self._read(f"/repos/{name}"))
            except ForgeMissingError as error:
                log.warning(
                    "the token does not reach a repository", repository=name, why=str(error)
                )
        return found

    async def _read(self, path: str) -> JSONObject:
        data: JSONObject = (await call(self._user.clients, "read it", "GET", path)).data
        return data

    def _serves(self, data: JSONObject) -> bool:
        named = str(data["full_name"]).lower() in {name.lower() for name in self._names}
        return (named or not self._names) and bool((data.get("permissions") or {}).get("push"))

    def _repository(self, data: JSONObject, installation: int) -> Repository:
        # Nobody tells when an account was let in. Not before either of them was made; and what was
        # there when the bot came first is told by its number (`Adoption`).
        since = max(self._user.since, time(data["created_at"]))
        return repository_of(data, installation, since, self.name)


def lacking(about: TokenAbout) -> Iterator[Drift]:
    """What a machine user lacks beside an App, and what its token lacks. Pure."""
    yield Drift(
        place=f"The account {about.login}",
        found="a machine user with a token",
        wanted="an App (`porchbot setup` makes one) for check runs with annotations, buttons and"
        " Re-run, rules that name only the bot, and one webhook for all repositories",
        fix="Without an App, checks are commit statuses, which anyone with write access can set,"
        " so the bot sets its own again; what does not fit into them is in the summary comment",
        harmful=False,
    )
    if about.scopes is not None:
        for scope, without in SCOPES.items():
            if not _INCLUDE[scope] & about.scopes:
                yield Drift(
                    place=f"The scope {scope} of the token",
                    found="missing",
                    wanted="granted",
                    fix=f"Grant it to the token, or create another token; until then {without}",
                    harmful=scope == "repo",
                )
    if about.ends:
        yield Drift(
            place="The token",
            found=f"expires at {about.ends}",
            wanted="a new token before then",
            fix="Create another one by then, and restart the bot with it; records stay readable",
            harmful=False,
        )
