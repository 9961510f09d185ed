"""Asks GitHub what guards a repository, and makes the changes that an owner's token allows."""

import asyncio
import base64
from urllib.parse import quote

from github.Auth import Token

from bot import config
from bot.forges.github.calls import PLAN
from bot.forges.github.forge import GitHub
from bot.forges.github.guarding import DRAFT, Guarded, lacking
from bot.forges.github.http import Clients, JSONObject, call, pages
from bot.forges.github.named import named, without_access
from bot.forges.port import Drift, ForgeMissingError, ForgeRefusedError, Forges, Mend, Repository
from lifecycle.access import Role
from lifecycle.policy import Policy

_WANTED = "read the rules of the repository"
_SIGNED, _CHECKED, _PULLED = "required_signatures", "required_status_checks", "pull_request"


class Guards:
    """What guards the repositories that the bot serves.

    Args:
        forges: All that is served.
        api_url: Where GitHub's REST API answers.
        token: An owner's token; "" to ask as the bot, which is not told who bypasses rules.
    """

    def __init__(self, forges: Forges, api_url: str, token: str = "") -> None:
        self._forges = forges
        self._owner = Clients(api_url, lambda: Token(token)) if token else None

    def close(self) -> None:
        """Close the owner's connections."""
        if self._owner is not None:
            self._owner.close()

    async def drift(self, repository: Repository) -> tuple[Drift, ...]:
        """What a repository's rules leave open."""
        forge = self._forges.of(repository)
        if not isinstance(forge, GitHub):
            raise TypeError("rules are read of repositories on GitHub only")
        pool = self._owner or forge.pool
        place = f"/repositories/{repository.id.number}"
        about = (await call(pool, _WANTED, "GET", place)).data
        policy = await self._policy(pool, place, str(about["default_branch"]))
        if policy is not None and policy.observe:
            return ()
        found = {str(about["default_branch"]), *(policy.branches if policy else ())}
        required: dict[str, object] = {}
        signed, direct = set[str](), set[str]()
        classic: dict[str, JSONObject] = {}
        for branch in sorted(found):
            try:
                required[branch] = await forge.required_checks(branch)
                kinds = await self._kinds(pool, place, branch)
                signed |= {branch} if _SIGNED in kinds else set()
                direct |= {branch} if _CHECKED in kinds and _PULLED not in kinds else set()
                classic[branch] = await self._classic(place, branch)
            except ForgeRefusedError as error:
                if PLAN not in error.reason.lower():
                    raise
                required[branch] = None
        signed |= {DRAFT} if _SIGNED in await self._kinds(pool, place, DRAFT) else set()
        plain = any(each is None for each in required.values())
        given = Guarded(
            repository=about,
            app=await forge.access.number(),
            login=(await forge.access.identity()).login,
            instance=forge.access.instance,
            required=required,  # type: ignore[arg-type] # as read above
            signed=frozenset(signed),
            direct=frozenset(direct),
            classic=classic,
            rulesets=() if plain else await self._tag_rules(pool, place),
            runs_told=await _reads_runs(forge, f"{place}/commits/{about['default_branch']}"),
        )
        people = await self._people(forge, pool, str(about["full_name"]), policy)
        return (*lacking(given), *people)

    async def _people(
        self, forge: GitHub, pool: Clients, name: str, policy: Policy | None
    ) -> tuple[Drift, ...]:
        """Whom the rules name, and who of them cannot write."""
        if policy is None:
            return ()
        asked = named(policy)

        async def role(login: str) -> tuple[str, Role | None]:
            try:
                return login, await forge.role(login, 0)
            except ForgeRefusedError:
                return login, None

        async def has_access(slug: str) -> tuple[str, bool | None]:
            owner = name.partition("/")[0]
            try:
                path = f"/orgs/{owner}/teams/{quote(slug, safe='')}/repos/{name}"
                await call(pool, "read the access of a team", "GET", path)
            except ForgeMissingError:
                return slug, False
            except ForgeRefusedError:
                return slug, None
            return slug, True

        roles = await asyncio.gather(*map(role, asked.users))
        teams = await asyncio.gather(*map(has_access, asked.teams))
        return tuple(without_access(name, roles, teams, asked.left))

    async def mend(self, change: Mend) -> None:
        """Make a change with the owner's token.

        Raises:
            ForgeRefusedError: The token does not allow it, or there is none.
        """
        if self._owner is None:
            raise ForgeRefusedError("change a rule", "no owner's token was given")
        await call(self._owner, "change a rule", change.verb, change.path, body=change.body)

    async def _policy(self, pool: Clients, place: str, branch: str) -> Policy | None:
        try:
            path = f"{place}/contents/{config.CONFIG}"
            data = (await call(pool, _WANTED, "GET", path, query={"ref": branch})).data
        except ForgeMissingError:
            return None
        found = config.read(base64.b64decode(str(data["content"])))
        return found if isinstance(found, Policy) else None

    async def _classic(self, place: str, branch: str) -> JSONObject:
        """The classic protection of a branch, which administrators alone are told; {} for none."""
        if self._owner is None:
            return {}
        try:
            path = f"{place}/branches/{quote(branch, safe='')}/protection"
            found: JSONObject = (await call(self._owner, _WANTED, "GET", path)).data
        except ForgeRefusedError:  # there is none, or the token is no administrator's
            return {}
        return found

    async def _kinds(self, pool: Clients, place: str, branch: str) -> frozenset[str]:
        """Which kinds of rules a branch has by rulesets."""
        path = f"{place}/rules/branches/{quote(branch, safe='')}"
        return frozenset([str(rule["type"]) async for rule in pages(pool, _WANTED, path)])

    async def _tag_rules(self, pool: Clients, place: str) -> list[JSONObject]:
        listed = [
            each
            async for each in pages(pool, _WANTED, f"{place}/rulesets", targets="tag")
            if each["target"] == "tag"
        ]
        details = (call(pool, _WANTED, "GET", f"{place}/rulesets/{each['id']}") for each in listed)
        return [answer.data for answer in await asyncio.gather(*details)]


async def _reads_runs(forge: GitHub, commit: str) -> bool:
    """Whether the bot itself may read the check runs of a commit."""
    try:
        path, query = f"{commit}/check-runs", {"per_page": 1}
        await call(forge.pool, "read the check runs", "GET", path, query=query)
    except ForgeRefusedError as error:
        return not error.reason.startswith("403")  # where there is no commit yet, nothing is hidden
    return True
