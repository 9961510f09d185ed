"""Who made commits and pushed them, and what people may do, on GitLab."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date

from bot.forges.coauthors import coauthors, is_forge
from bot.forges.exchange import listed
from bot.forges.gitlab.access import ForgeCredentials
from bot.forges.gitlab.calls import Calls, place, quoted
from bot.forges.gitlab.fields import is_token, time
from bot.forges.gitlab.http import ASK_OPERATOR, Clients, JSONObject, call
from bot.forges.gitlab.levels import DEVELOPER, of_member
from bot.forges.gitlab.pages import pages
from bot.forges.port import ForgeMissingError, ForgeRefusedError, Repository
from lifecycle.access import Role
from lifecycle.facts.commits import MadeBy
from lifecycle.merges import Move
from lifecycle.names import Sha

_ROLES: Sequence[tuple[int, Role]] = (
    (50, Role.ADMIN),
    (40, Role.MAINTAIN),
    (30, Role.WRITE),
    (20, Role.READ),
)
"""Access levels, from the highest; less than Reporter reads no code of a private project.

Source: https://docs.gitlab.com/api/access_requests/#valid-access-levels"""

_ZEROS = "0" * 40
_UNTOLD = Sha("?")
"""Stands for a commit that an event does not name."""

_MOST_EVENTS = 100
_HELD = frozenset({"public", "internal"})
_GRAPHQL = """
query($project: ID!, $iid: String!) {
  project(fullPath: $project) {
    mergeRequest(iid: $iid) { commits(first: 100) { nodes { sha author { id username } } } }
  }
}
"""

_MAKERS = ("author", "committer")
_FORGE = ""

Accounts = dict[str, tuple[str, int]]


class People(Calls):
    """Roles, teams and authors of one project."""

    def __init__(self, access: ForgeCredentials, repository: Repository, pool: Clients) -> None:
        super().__init__(access, repository, pool)
        self._machines: dict[int, bool] = {}

    async def role(self, login: str, account: int) -> Role:
        """A person's role, those of the groups above counted; none for a machine.

        Source: https://docs.gitlab.com/api/project_members/
        """
        number = account or await self._number_of(login)
        me = await self._access.identity()
        if not number or number == me.account or await self._is_machine(number):
            return Role.NONE
        try:
            found = await self._get("read a person's role", f"/members/all/{number}")
        except ForgeMissingError:
            found = await self._user(number)
        if str(found["username"]).lower() != login.lower():
            return Role.NONE
        if str(found.get("state", "active")) != "active":
            return Role.NONE
        level = of_member(found, self._today())
        role = next((role for least, role in _ROLES if level >= least), Role.NONE)
        return role or await self._of_strangers()

    def _today(self) -> date:
        return self._pool.time.now().date()

    async def _is_machine(self, number: int) -> bool:
        """Whether an account is a token's or a service's; it is asked once, and stays what it is.

        One that is not there is nobody's.
        """
        if number not in self._machines:
            try:
                self._machines[number] = bool((await self._user(number)).get("bot"))
            except ForgeMissingError:
                return True
        return self._machines[number]

    async def _of_strangers(self) -> Role:
        """What anybody may do who is no member."""
        project = await self._get("read the project", "")
        open_to_all = project.get("repository_access_level", "enabled") == "enabled"
        return Role.READ if project.get("visibility") in _HELD and open_to_all else Role.NONE

    async def _user(self, number: int) -> JSONObject:
        path = f"/users/{number}"
        found: JSONObject = (await call(self._pool, "read an account", "GET", path)).data
        return found

    async def _number_of(self, login: str) -> int:
        query = {"username": login}
        found = (await call(self._pool, "find an account", "GET", "/users", query=query)).data
        same = (each for each in found if str(each["username"]).lower() == login.lower())
        return next((int(each["id"]) for each in same), 0)

    async def team(self, slug: str) -> frozenset[str]:
        """Active members of a group itself, from Developer on, as GitLab counts code owners.

        Whoever is a member of a group above it is none of it: the group was named to tell these
        few from all others. Nor is whoever is in a group that was invited.
        Its name alone says which group is meant, and never what else is there: `_group`.

        Source: https://docs.gitlab.com/api/group_members/,
        https://docs.gitlab.com/user/project/codeowners/advanced/#group-inheritance-and-eligibility
        """
        wanted, path = "read who is in a group", _group(slug, self._repository.owner)
        found = set[str]()
        try:
            async for each in pages(self._pool, wanted, f"/groups/{quoted(path)}/members"):
                active = each.get("state", "active") == "active"
                if active and of_member(each, self._today()) >= DEVELOPER:
                    found.add(str(each["username"]).lower())
        except ForgeMissingError:
            raise ForgeMissingError(wanted, f"there is no group {path}", ASK_OPERATOR) from None
        return frozenset(found)

    async def commits(self, number: int) -> tuple[MadeBy, ...]:
        """The commits of a merge request with who made them, oldest first.

        REST tells addresses only. GraphQL tells whose they are, hidden ones too; where it is not
        there, addresses that people show are found. The address of another's access token is
        nobody's: who used that, nobody can tell.

        Source: https://docs.gitlab.com/api/graphql/reference/#commit
        """
        listed = self._list("read the commits", f"{place(number)}/commits")
        found = [data async for data in listed][:250]
        accounts = await self._accounts(number, found)
        return tuple(_made_by(data, accounts) for data in reversed(found))

    async def _accounts(self, number: int, found: Sequence[JSONObject]) -> Accounts:
        told, me = await self._told(number), await self._access.identity()
        accounts: Accounts = {me.address.lower(): (me.login, me.account)}
        for data in found:
            if data["id"] in told:
                accounts[str(data["author_email"]).lower()] = told[data["id"]]
        roles = ("author_email", "committer_email")
        for address in sorted({str(data[r]).lower() for data in found for r in roles}):
            if address not in accounts and address:
                who = await self._shown_address(address)
                accounts |= {address: who} if who else {}
        return {
            address: who
            for address, who in accounts.items()
            if who[1] == me.account or not is_token(who[0])
        }

    async def _told(self, number: int) -> dict[str, tuple[str, int]]:
        """Commits to the accounts of their authors, as far as GraphQL tells."""
        wanted = "read the authors"
        path = self._repository.full_name
        body = {"query": _GRAPHQL, "variables": {"project": path, "iid": str(number)}}
        address = f"{self._pool.url}/api/graphql"
        try:
            data = (await call(self._pool, wanted, "POST", address, body=body)).data["data"]
            nodes = data["project"]["mergeRequest"]["commits"]["nodes"]
        except (ForgeRefusedError, KeyError, TypeError):
            return {}  # not there, or not for us: addresses have to do
        return {
            str(node["sha"]): (
                str(node["author"]["username"]),
                int(str(node["author"]["id"]).rpartition("/")[2]),
            )
            for node in nodes
            if node and node.get("author")
        }

    async def _shown_address(self, address: str) -> tuple[str, int] | None:
        """The account that shows an address; a name that only reads like one is none.

        Source: https://docs.gitlab.com/api/users/#list-all-users
        """
        query = {"search": address}
        found = (await call(self._pool, "find an account", "GET", "/users", query=query)).data
        shown = ("public_email", "email", "commit_email")
        for each in found:
            if address in {str(each.get(name) or "").lower() for name in shown}:
                return str(each["username"]), int(each["id"])
        return None

    async def pushes(self, head_ref: str, repository_id: int) -> tuple[Move, ...]:
        """Pushes to a branch of this project or a fork, among the newest hundred there.

        A push of many branches at once is told without their names: since this one was made, it
        may be of it as well. Where a hundred pushes do not reach back to when the branch was made,
        the last one is nobody's: there may be others.

        Source: https://docs.gitlab.com/api/events/#list-all-visible-events-for-a-project
        """
        query = {"action": "pushed", "per_page": _MOST_EVENTS}
        path = f"/projects/{repository_id}/events"
        wanted = "read who pushed"
        data = (await call(self._pool, wanted, "GET", path, query=query)).data
        return tuple(moves_of(listed(wanted, data), head_ref))


def _group(slug: str, owner: str) -> str:
    """The full path of a group.

    A name without a slash is that of the project's top-level group, or of one right below it. Were
    it looked for in each group above the project, whoever may make a subgroup in one could put it
    in the place of another.
    """
    name, top = slug.strip("/").lower(), owner.lower().partition("/")[0]
    return name if "/" in name or name == top else f"{top}/{name}"


def of_branch(event: Mapping[str, object], ref: str) -> bool:
    """One push to this branch; of several at once GitLab tells no commits."""
    push = event.get("push_data")
    return isinstance(push, Mapping) and (push.get("ref_type"), push.get("ref")) == ("branch", ref)


def moves_of(events: Sequence[JSONObject], ref: str) -> Iterator[Move]:
    """The moves of a branch among events of pushes, newest first, and what may be one as well."""
    begun = False
    for event in events:
        if of_branch(event, ref):
            yield move_of(event)
            begun = begun or event["push_data"].get("action") == "created"
        elif not begun and of_many(event):
            yield replace(move_of(event), after=_UNTOLD)
    if not begun and len(events) >= _MOST_EVENTS:
        last = move_of(events[-1])
        yield replace(last, before=Sha(_ZEROS), after=_UNTOLD, actor="", account=0, forced=False)


def of_many(event: Mapping[str, object]) -> bool:
    """A push of many branches at once, which names none."""
    push = event.get("push_data")
    return isinstance(push, Mapping) and push.get("ref") is None and push.get("ref_type") != "tag"


def joined(events: Iterable[JSONObject], ref: str, tip: Sha | None) -> Iterator[Move]:
    """The moves of a branch, newest first, without a gap.

    A push of many branches at once is told without their names. Where what is logged does not join,
    it moved the branch; at the latest then, and by nobody knows whom where there were several.

    Args:
        events: Pushes to the branch, and those of many, newest first.
        ref: The branch.
        tip: What it is; None where that was not asked.
    """
    to, many = tip, list[Move]()
    newer: Move | None = None
    for event in events:
        move = move_of(event)
        if not of_branch(event, ref):
            many.append(move)
            continue
        if to is not None and move.after != to:
            yield _untold(move.after, to, many, newer or move)
        yield move
        to, many, newer = move.before, [], move
    if many and to not in (None, _ZEROS):
        yield _untold(Sha(_ZEROS), Sha(str(to)), many, many[0])


def _untold(before: Sha, after: Sha, many: Sequence[Move], newer: Move) -> Move:
    at = many[0].at if many else newer.at
    moved = Move(before=before, after=after, actor="", at=at)
    one = many[0] if len(many) == 1 else moved
    return replace(moved, actor=one.actor, account=one.account, anybodys=one.anybodys)


def move_of(event: JSONObject) -> Move:
    """Read a push event. GitLab does not tell that a push was forced, unless it made the branch."""
    push, author = event["push_data"], event.get("author") or {}
    actor = str(author.get("username") or event.get("author_username") or "")
    return Move(
        before=Sha(push.get("commit_from") or _ZEROS),
        after=Sha(push.get("commit_to") or _ZEROS),
        actor=actor,
        account=int(author.get("id") or event.get("author_id") or 0),
        at=time(event["created_at"]),
        forced=push.get("action") in {"created", "removed"},
        anybodys=is_token(actor),
    )


def _made_by(data: JSONObject, accounts: Mapping[str, tuple[str, int]]) -> MadeBy:
    made = {role: accounts.get(str(data[f"{role}_email"]).lower()) for role in _MAKERS}
    others = coauthors(str(data["message"]), accounts)
    author, committer = made["author"], made["committer"]
    address = str(data["committer_email"])
    people = {*others, *(who for who in made.values() if who)}
    return MadeBy(
        sha=Sha(data["id"]),
        author=author[0] if author else None,
        committer=committer[0] if committer else _FORGE if is_forge(address) else None,
        coauthors=frozenset(login for login, _ in others),
        accounts=frozenset(number for _, number in people if number),
    )
