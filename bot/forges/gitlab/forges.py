"""GitLab as a forge that the bot serves: one instance, and the projects that its token reaches.

There is one place, the account itself, with the projects of which it is a member with Developer
access or more, by itself or by a group, as far as the operator has them served.

Source: https://docs.gitlab.com/api/projects/#list-all-projects
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from urllib.parse import quote

from bot.forges.account import OneAccount
from bot.forges.exchange import listed
from bot.forges.gitlab import capabilities, token
from bot.forges.gitlab.deliveries import read_verified, stored_speaker
from bot.forges.gitlab.groups import GroupPaths
from bot.forges.gitlab.hooks import OurHooks
from bot.forges.gitlab.http import ASK_OPERATOR, Clients, JSONObject, call
from bot.forges.gitlab.levels import DEVELOPER, level_of
from bot.forges.gitlab.log import DeliveryLog
from bot.forges.gitlab.pages import pages
from bot.forges.gitlab.serving import SETTING, Served
from bot.forges.gitlab.user import GitLabUser
from bot.forges.port import (
    Drift,
    FailedDeliveries,
    Forge,
    ForgeMissingError,
    LoggedDelivery,
    Repository,
)
from bot.forges.unreadable import reading
from bot.forges.webhooks import WebhookError
from bot.keys import Key
from bot.store.hints import Hint
from lifecycle.identity import RepositoryId

COARSE = timedelta(hours=1, minutes=5)
"""GitLab writes down an activity only where the last one is an hour old: until then, and a little
longer, nobody can tell by it that nothing happened (`Event#reset_project_activity`)."""

_LISTED: Mapping[str, object] = {
    "membership": True,
    "min_access_level": DEVELOPER,
    "pagination": "keyset",
    "order_by": "id",
    "sort": "asc",
}

_NEWEST: Mapping[str, object] = {
    "membership": True,
    "min_access_level": DEVELOPER,
    "order_by": "id",
    "sort": "desc",
    "per_page": 1,
}


@reading
class GitLabForges(OneAccount[GitLabUser]):
    """All that the token reaches; implements `bot.forges.port.Forges`.

    Args:
        user: Who we are.
        hooks: Our webhooks: the logs of others are not ours to read. None for any, as they are.
        serves: Projects and groups that are served; see `Served`.
        project: Makes the forge for one project.
    """

    def __init__(
        self,
        user: GitLabUser,
        hooks: OurHooks | None = None,
        serves: Sequence[str] = (),
        *,
        project: Callable[[GitLabUser, Repository, Clients], Forge],
    ) -> None:
        super().__init__(user)
        self._project = project
        self._serves = Served(serves)
        self.hooks = hooks
        self._log = DeliveryLog(user, hooks)
        self._groups = GroupPaths(user.clients)

    @property
    def user(self) -> GitLabUser:
        """Who we are."""
        return self._user

    @property
    def name(self) -> str:
        """The instance's."""
        return self._user.name

    @property
    def most_parts(self) -> int:
        """Twenty groups, and the project."""
        return 21

    async def is_installed(self, repository: RepositoryId | str) -> bool:
        """Whether we may push to a project, and are to."""
        with suppress(ForgeMissingError):
            data = await self._read(repository)
            return level_of(data) >= DEVELOPER and self._serves.has(_path(data))
        return False

    async def repositories_of(self, installation: int) -> Sequence[Repository]:
        """Every project that is served, a hundred a request; those without code left out."""
        if await self.installation(installation) is None:
            raise ForgeMissingError(
                "list projects", f"no account {installation} is ours", ASK_OPERATOR
            )
        now = self._user.clients.time.now()
        return [
            self._repository(data, installation, now)
            async for data in self._reached()
            if self._serves.has(_path(data))
        ]

    async def newest(self) -> RepositoryId | None:
        """The project made last of those that we may push to; None if it is not to be served."""
        wanted, query = "look for a new project", {**_NEWEST, "simple": True}
        answer = await call(self._user.clients, wanted, "GET", "/projects", query=query)
        for data in listed(wanted, answer.data):
            if self._serves.has(_path(data)):
                return RepositoryId(self.name, int(data["id"]))
        return None

    def _reached(self) -> AsyncIterator[JSONObject]:
        """Every project that we may push to."""
        wanted = "list the projects that its token reaches"
        return pages(self._user.clients, wanted, "/projects", _LISTED)

    async def repository_by_id(self, repository_id: RepositoryId, installation: int) -> Repository:
        """One project, as it is named now.

        Raises:
            ForgeMissingError: It is not there, or not one that is served.
        """
        await self.identity()
        now, data = self._user.clients.time.now(), await self._read(repository_id)
        if not self._serves.has(_path(data)):
            raise ForgeMissingError(
                "serve a project",
                f"{_path(data)} is not among those that {SETTING} names",
                f"Add it there, or remove {self._user.login} from it",
            )
        return self._repository(data, installation, now)

    async def repository_at(self, full_name: str) -> Repository:
        """One project, by its full path."""
        me, now = await self.identity(), self._user.clients.time.now()
        path = f"/projects/{quote(full_name, safe='')}"
        data = (await call(self._user.clients, f"read {full_name}", "GET", path)).data
        return self._repository(data, me.account, now)

    def of(self, repository: Repository) -> Forge:
        """The forge for one project."""
        return self._project(self._user, repository, self._user.clients)

    def wakes_of(self, headers: Mapping[str, str], body: bytes) -> Mapping[Key, Hint]:
        """What a stored delivery asks to look at again; empty for one that cannot be read."""
        with suppress(WebhookError):
            return read_verified(self.name, headers, body, None, stored_speaker(headers)).wakes
        return {}

    async def drift(self, url: str = "") -> Sequence[Drift]:
        """What the token lacks, and what the instance can do; projects have webhooks each."""
        del url
        today = self._user.clients.time.now().date()
        found = list(token.lacking(self.name, await self._user.about(), today))
        first = await self._first()
        if first is None:
            found.append(_nothing(self.name, (await self.identity()).login))
        found += self._serves.drift(self.name, [_path(data) async for data in self._reached()])
        if self.hooks is not None and not self.hooks.url:
            found.append(_unaddressed(self.name))
        can = await capabilities.ask(self._user.clients, first)
        return [*found, *capabilities.shown(self.name, can)]

    async def failed_deliveries(self, page: str = "") -> FailedDeliveries:
        """What the webhooks of all projects could not bring, newest first."""
        every = await self.repositories_of((await self.identity()).account)
        return await self._log.failed([each for each in every if not each.archived], page)

    async def covers(self, group: int, repository: RepositoryId) -> bool:
        """Return whether a project is in a group, or in one below it; see `GroupPaths`."""
        return await self._groups.covers(group, repository)

    async def delivery(self, guid: str) -> LoggedDelivery | None:
        """None: statuses have no buttons."""
        del guid
        return None

    async def logged_delivery(self, number: int) -> LoggedDelivery | None:
        """One try of those that were listed last; None for what cannot be read."""
        return await self._log.read(number)

    async def _read(self, repository: RepositoryId | str) -> JSONObject:
        named = quote(repository, safe="") if isinstance(repository, str) else repository.number
        path = f"/projects/{named}"
        data: JSONObject = (await call(self._user.clients, "read a project", "GET", path)).data
        return data

    async def _first(self) -> int | None:
        """Number of one project that the token reaches; None where it reaches none."""
        wanted = "read what its token reaches"
        query = {**_LISTED, "per_page": 1}
        answer = await call(self._user.clients, wanted, "GET", "/projects", query=query)
        return int(answer.data[0]["id"]) if answer.data else None

    def _repository(self, data: JSONObject, installation: int, now: datetime) -> Repository:
        # Nobody tells when an account was let in: not before either of them was made.
        since = max(self._user.since, datetime.fromisoformat(data["created_at"]))
        return Repository(
            id=RepositoryId(self.name, int(data["id"])),
            full_name=_path(data),
            default_branch=str(data.get("default_branch") or "main"),
            # At the address that we know: what an instance says of itself gets no token.
            clone_url=f"{self._user.clients.url}/{quote(_path(data))}.git",
            installation=installation,
            installed_at=since,
            changed=_changed(data, now),
            has_issues=data.get("issues_access_level", "enabled") != "disabled",
            archived=bool(data.get("archived")),
            public=data.get("visibility") == "public",
            topics=tuple(map(str, data.get("topics") or ())),
        )


def _path(data: JSONObject) -> str:
    return str(data["path_with_namespace"])


def _changed(data: JSONObject, now: datetime) -> str:
    """Another text after each change; "" while the last activity is too new to tell."""
    last = data.get("last_activity_at")
    if not last or now - datetime.fromisoformat(last) < COARSE:
        return ""
    return f"{last} {data.get('updated_at', '')}"


def _nothing(name: str, login: str) -> Drift:
    return Drift(
        place=f"What the token for {name} reaches",
        found="no project",
        wanted="Developer access or more to each project that the bot serves",
        fix=f"Invite {login} into the projects, or into their group",
    )


def _unaddressed(name: str) -> Drift:
    return Drift(
        place=f"The webhooks at {name}",
        found="not known, so the bot gives them no secrets of their own",
        wanted="their address",
        fix="Set PORCHBOT_GITLAB_WEBHOOK_URL, or the variable with the name of the instance, to"
        " where they go",
    )
