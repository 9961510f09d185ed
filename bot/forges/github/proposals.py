"""Pull requests on GitHub: listed, read, opened, turned into drafts and back."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from urllib.parse import quote

from bot.forges.exchange import listed
from bot.forges.github import merging, people
from bot.forges.github.access import ForgeCredentials
from bot.forges.github.calls import Calls
from bot.forges.github.fields import person, time
from bot.forges.github.http import Clients, JSONObject, call_unless, graphql, pages
from bot.forges.github.limits import Cost
from bot.forges.port import (
    BotIdentity,
    ForgeMissingError,
    ForgeRefusedError,
    ListedProposal,
    MergeQueue,
    MergeResult,
    NewestChange,
    Repository,
)
from lifecycle.actions import OpenProposal
from lifecycle.facts.commits import MadeBy
from lifecycle.names import Ref, Sha

_PAGE = 30
"""How many pull requests of a branch are asked for; one has more than a few very seldom."""

MOST_NODES = 10_000
"""Ids for GraphQL that are kept for one repository; an older one is asked for again."""


DRAFT, NO_DRAFTS = "Draft: ", "draft pull requests are not supported"
"""How a title says it, and how GitHub says that a private repository's plan has no drafts."""


class PullRequests(Calls):
    """Pull requests of one repository."""

    def __init__(self, app: ForgeCredentials, repository: Repository, pool: Clients) -> None:
        super().__init__(app, repository, pool)
        self._nodes: dict[int, str] = {}
        self._titles: dict[int, str] = {}

    async def open_proposals_of(self, head_ref: str) -> tuple[ListedProposal, ...]:
        """Every open pull request of one head branch, newest first.

        A bare branch name is ignored by GitHub and returns every pull request (trap 2);
        what came back is checked by whoever asked.
        """
        wanted = "list the open pull requests of a branch"
        path, head = f"{self._path}/pulls", f"{self._repository.owner}:{head_ref}"
        listed = pages(self._pool, wanted, path, head=head, state="open")
        return tuple([self._pull(data) async for data in listed])

    async def proposals_of(self, head_ref: str) -> tuple[ListedProposal, ...]:
        """Open pull requests of one head branch, and the newest closed ones, in one request.

        Only where a page is full may older ones be open: they are asked for apart.
        """
        head = f"{self._repository.owner}:{head_ref}"
        wanted, query = "list the pull requests of a branch", {"state": "all", "per_page": _PAGE}
        data = await self._get(wanted, "/pulls", head=head, **query)
        found = tuple(self._pull(each) for each in data)
        if len(found) < _PAGE:
            return found
        closed = tuple(pull for pull in found if not pull.open)
        return await self.open_proposals_of(head_ref) + closed

    async def unproposed(self, head_refs: Collection[str]) -> frozenset[str]:
        """Those that no pull request was ever opened from: REST tells it of one branch alone."""
        wanted, branches = "find branches without pull requests", sorted(head_refs)
        if not branches:
            return frozenset()
        heads = {f"h{at}": branch for at, branch in enumerate(branches)}
        given = "".join(f", ${name}: String!" for name in heads)
        each = " ".join(
            f"{name}: pullRequests(headRefName: ${name}, first: 1) {{ totalCount }}"
            for name in heads
        )
        query = (
            f"query Unproposed($owner: String!, $name: String!{given}) {{"
            f" repository(owner: $owner, name: $name) {{ databaseId {each} }} }}"
        )
        owner, _, name = self._repository.full_name.partition("/")
        asked: JSONObject = {"owner": owner, "name": name, **heads}
        data = await self._pool.run(Cost.QUERY, wanted, graphql, wanted, query, asked)
        found = data["repository"] or {}
        if found.get("databaseId") != self._repository.id.number:
            return frozenset()  # the name is another's by now
        return frozenset(b for alias, b in heads.items() if found[alias]["totalCount"] == 0)

    async def proposals_at(self, head: Sha) -> tuple[ListedProposal, ...]:
        """Every pull request whose head is this commit: the open ones, and what it came in by."""
        path = f"{self._path}/commits/{head}/pulls"
        listed = pages(self._pool, "list the pull requests of a commit", path)
        found = [self._pull(data) async for data in listed]
        return tuple(p for p in found if p.head == head and (p.open or p.merged))

    async def proposal(self, number: int) -> ListedProposal:
        """One pull request."""
        return self._pull(await self._get("read a pull request", f"/pulls/{number}"))

    async def open_proposals(self) -> tuple[ListedProposal, ...]:
        """Every open pull request."""
        path = f"{self._path}/pulls"
        listed = pages(self._pool, "list open pull requests", path, state="open")
        return tuple([self._pull(data) async for data in listed])

    async def newest_change(self, shown: str = "", validator: str = "") -> NewestChange:
        """The pull request that changed last; while none has, the question counts for nothing."""
        wanted, path = "find the newest change", f"{self._path}/pulls"
        order = {"state": "all", "sort": "updated", "direction": "desc", "per_page": 1}
        answer = await call_unless(self._pool, wanted, path, validator, query=order)
        if answer is None:
            return NewestChange(shown, _moment(shown), validator)
        etag = answer.headers.get("etag", "")
        for data in listed(wanted, answer.data):
            number, at = int(data["number"]), time(data["updated_at"])
            return NewestChange(f"{number} {at.isoformat()}", at, etag)
        return NewestChange(validator=etag)

    async def highest_number(self) -> int:
        """Number of the newest pull request; 0 when there is none."""
        wanted, newest = "find the newest pull request", {"sort": "created", "direction": "desc"}
        found = await self._get(wanted, "/pulls", state="all", per_page=1, **newest)
        return max((int(data["number"]) for data in found), default=0)

    async def merged_proposals(self, base_ref: str, since: datetime) -> tuple[ListedProposal, ...]:
        """Merged pull requests of a base branch, last changed first, page by page."""
        closed = await self._closed("list merged pull requests", since, base=base_ref)
        return tuple(pull for pull in closed if pull.merged)

    async def closed_proposals(self, since: datetime) -> tuple[ListedProposal, ...]:
        """Pull requests that are not open, last changed first, page by page."""
        return tuple(await self._closed("list closed pull requests", since))

    async def _closed(self, wanted: str, since: datetime, **query: str) -> list[ListedProposal]:
        found: list[ListedProposal] = []
        order = {"state": "closed", "sort": "updated", "direction": "desc", **query}
        async for data in pages(self._pool, wanted, f"{self._path}/pulls", **order):
            pull = self._pull(data)
            if pull.updated_at < since:
                break
            found.append(pull)
        return found

    async def commits(self, number: int) -> tuple[MadeBy, ...]:
        """The commits of a pull request with who made them."""
        path = f"{self._path}/pulls/{number}/commits"
        listed = pages(self._pool, "read the commits", path)
        return people.made_by([data async for data in listed])

    async def open_proposal(self, wanted: OpenProposal) -> int:
        """Open a pull request and assign it; one that is there already is taken."""
        request = {
            "head": wanted.head_ref,
            "base": wanted.base_ref,
            "title": wanted.title,
            "body": wanted.body,
            "draft": wanted.draft,
        }
        try:
            said = "open a pull request"
            data = await self._create(said, request)
        except ForgeRefusedError:
            for pull in await self.open_proposals_of(wanted.head_ref):
                if pull.head_ref == wanted.head_ref:
                    return pull.number
            raise
        number = int(data["number"])
        if wanted.assignee:
            # Its text names them already; who cannot be assigned here need not be.
            with suppress(ForgeRefusedError):
                assigned: JSONObject = {"assignees": [wanted.assignee]}
                await self._send("assign a pull request", "PATCH", f"/issues/{number}", assigned)
        return number

    async def _create(self, wanted: str, request: JSONObject) -> JSONObject:
        """Open it as a draft; where the plan has none, the title says so."""
        try:
            made: JSONObject = await self._send(wanted, "POST", "/pulls", request, Cost.CREATE)
        except ForgeRefusedError as error:
            if NO_DRAFTS not in error.reason.lower():
                raise
            titled = {**request, "draft": False, "title": f"{DRAFT}{request['title']}"}
            made = await self._send(wanted, "POST", "/pulls", titled, Cost.CREATE)
        return made

    async def set_draft(self, number: int, *, draft: bool) -> None:
        """REST cannot change it (docs/design.md, "GitHub: pull requests and merging").

        Where the plan has no drafts, the title says it.
        """
        titled = self._titles.get(number)
        if titled is not None and not draft:
            await self._retitle(number, titled.removeprefix(DRAFT))
            return
        try:
            await self._mark(number, draft=draft)
        except ForgeRefusedError as error:
            if not draft or NO_DRAFTS not in error.reason.lower():
                raise
            await self._retitle(number, DRAFT + (await self.proposal(number)).title)

    async def close_proposal(self, number: int) -> None:
        """Close it; on one that is closed or merged nothing changes."""
        wanted = "close a pull request"
        await self._send(wanted, "PATCH", f"/pulls/{number}", {"state": "closed"})

    async def set_title(self, number: int, title: str) -> None:
        """Change it; where the plan has no drafts, the title says that as well, and goes on to."""
        await self._retitle(number, f"{DRAFT if number in self._titles else ''}{title}")

    async def _retitle(self, number: int, title: str) -> None:
        wanted = "change the draft state"
        await self._send(wanted, "PATCH", f"/pulls/{number}", {"title": title})

    async def _mark(self, number: int, *, draft: bool) -> None:
        mutation = "convertPullRequestToDraft" if draft else "markPullRequestReadyForReview"
        kind = f"{mutation[0].upper()}{mutation[1:]}Input!"
        query = (
            f"mutation Mutation($input: {kind}) {{ {mutation}(input: $input)"
            " { clientMutationId pullRequest { isDraft } } }"
        )
        wanted = {"input": {"pullRequestId": await self._node(number)}}
        said = "change the draft state"
        await self._pool.run(Cost.MUTATION, said, graphql, said, query, wanted)

    async def set_labels(
        self, number: int, *, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> None:
        """Put on what is wanted, then take off what is not; GitHub makes labels that are missing.

        Never all of them at once: that would take off what somebody puts on at the same time.
        """
        path = f"/issues/{number}/labels"
        if add:
            await self._send("put labels on", "POST", path, {"labels": list(add)})
        for label in remove:
            with suppress(ForgeMissingError):
                await self._send(
                    "take a label off", "DELETE", f"{path}/{quote(label, safe='')}", None
                )

    async def enqueue(self, number: int, head: Sha) -> MergeResult:
        """REST has no merge queue."""
        node, said = await self._node(number), "put into the merge queue"
        return await self._pool.run(Cost.MUTATION, said, merging.enqueue, node, head)

    async def merge_queue(self, base_ref: str) -> MergeQueue | None:
        """REST has no merge queue."""
        said, there = "read the merge queue", self._repository
        return await self._pool.run(Cost.QUERY, said, merging.read_queue, there, base_ref)

    async def dequeue(self, number: int) -> None:
        """REST has no merge queue."""
        node, said = await self._node(number), "take out of the merge queue"
        await self._pool.run(Cost.MUTATION, said, merging.dequeue, node)

    def proposal_ref(self, number: int) -> Ref:
        """The ref that GitHub keeps of each pull request's head."""
        return Ref(f"refs/pull/{number}/head")

    def _pull(self, data: JSONObject) -> ListedProposal:
        """A pull request as REST shows it; its id for GraphQL, which never changes, is kept."""
        self._repository.named("read a pull request", str(data["base"]["repo"]["full_name"]))
        number = int(data["number"])
        self._nodes.pop(number, None)
        self._nodes[number] = str(data["node_id"])
        if len(self._nodes) > MOST_NODES:
            del self._nodes[next(iter(self._nodes))]
        self._titles.pop(number, None)
        if _titled(data):
            self._titles[number] = str(data["title"])
        return _pull(data, self._app.machine)

    async def _node(self, number: int) -> str:
        """Its id in GraphQL."""
        if number not in self._nodes:
            await self.proposal(number)
        return self._nodes[number]


def _moment(shown: str) -> datetime | None:
    return datetime.fromisoformat(shown.partition(" ")[2]) if shown else None


def _titled(data: JSONObject) -> bool:
    """Whether its title makes it a draft: of private repositories, whose plan may have none."""
    return bool(data["base"]["repo"]["private"]) and str(data["title"]).startswith(DRAFT)


def _pull(data: JSONObject, me: BotIdentity | None) -> ListedProposal:
    merged_at = data["merged_at"]
    return ListedProposal(
        number=int(data["number"]),
        title=str(data["title"]),
        author=person(data["user"], me),
        draft=bool(data["draft"]) or _titled(data),
        open=data["state"] == "open",
        head=Sha(data["head"]["sha"]),
        head_ref=str(data["head"]["ref"]),
        head_repository=int(data["head"]["repo"]["id"]) if data["head"]["repo"] else None,
        base_ref=str(data["base"]["ref"]),
        # Before a merge this field names a test merge, which nobody may tag
        # (docs/design.md, "GitHub: pull requests and merging").
        merge_commit=Sha(data["merge_commit_sha"]) if merged_at else None,
        merged_at=time(merged_at) if merged_at else None,
        updated_at=time(data["updated_at"]),
        assigned=tuple(sorted(str(user["login"]) for user in data["assignees"] or ())),
        labels=frozenset(str(label["name"]) for label in data.get("labels") or ()),
        locked=bool(data.get("locked")),
    )
