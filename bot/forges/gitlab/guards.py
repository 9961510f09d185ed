"""Asks GitLab what guards a project, and makes the changes that a Maintainer's token allows."""

from contextlib import suppress
from urllib.parse import quote

from bot.forges.gitlab.calls import quoted
from bot.forges.gitlab.guarding import Guarded, lacking, of_many
from bot.forges.gitlab.hooks import OurHooks
from bot.forges.gitlab.http import Clients, JSONObject, call
from bot.forges.gitlab.levels import level_of
from bot.forges.gitlab.pages import pages
from bot.forges.gitlab.user import GitLabUser
from bot.forges.port import Drift, ForgeRefusedError, Mend, Repository
from lifecycle.identity import RepositoryId

_WANTED = "read what guards a project"


class Guards:
    """What guards the projects that the bot serves.

    Args:
        user: Who we are.
        ours: Our webhooks; None where nobody said where they go.
        owner: Clients with a Maintainer's token; None to ask as the bot.
    """

    def __init__(
        self, user: GitLabUser, ours: OurHooks | None = None, owner: Clients | None = None
    ) -> None:
        self._user = user
        self._ours = ours
        self._owner = owner
        self._told: dict[str, RepositoryId] = {}

    def close(self) -> None:
        """Close the owner's connections."""
        if self._owner is not None:
            self._owner.close()

    async def drift(self, repository: Repository) -> tuple[Drift, ...]:
        """What a project leaves open."""
        path = f"/projects/{repository.id.number}"
        about = (await call(self._user.clients, _WANTED, "GET", path)).data
        given = Guarded(
            about=about,
            level=level_of(about),
            ours=self._ours,
            hooks=await self._listed(f"{path}/hooks"),
            branches=await self._listed(f"{path}/protected_branches"),
            tags=await self._listed(f"{path}/protected_tags"),
            keys=await self._listed(f"{path}/deploy_keys"),
            may_push=await self._may_push(path, about),
        )
        return (*lacking(given), *await self._above(repository))

    async def _above(self, repository: Repository) -> list[Drift]:
        """What is wrong with webhooks of the groups that a project is in, and of the instance.

        Each is told once, with the first project that it is about; those that the token is not
        shown are not known.
        """
        parts, found = repository.full_name.split("/")[:-1], list[Drift]()
        for name in ("", *("/".join(parts[: n + 1]) for n in range(len(parts)))):
            if self._told.setdefault(name, repository.id) != repository.id:
                continue
            path = f"/groups/{quote(name, safe='')}/hooks" if name else "/hooks"
            hooks = await self._listed(path)
            found += of_many(name, path, hooks or (), self._ours)
        return found

    async def mend(self, change: Mend) -> None:
        """Make a change with the owner's token, else with the bot's.

        Raises:
            ForgeRefusedError: The token does not allow it.
        """
        pool = self._owner or self._user.clients
        await call(pool, "change what guards it", change.verb, change.path, body=change.body)

    async def _may_push(self, path: str, about: JSONObject) -> bool | None:
        """Whether GitLab lets the bot into the default branch; None where there is none."""
        if not (branch := about.get("default_branch")):
            return None
        at = f"{path}/repository/branches/{quoted(str(branch))}"
        with suppress(ForgeRefusedError):
            return bool((await call(self._user.clients, _WANTED, "GET", at)).data["can_push"])
        return None

    async def _listed(self, path: str) -> list[JSONObject] | None:
        """A list; None where only Maintainers are told."""
        try:
            return [each async for each in pages(self._owner or self._user.clients, _WANTED, path)]
        except ForgeRefusedError:
            return None
