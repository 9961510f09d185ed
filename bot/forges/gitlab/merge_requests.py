"""Merge requests on GitLab: listed, read, opened, turned into drafts and back, labelled."""

import re
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.forges.gitlab.access import ForgeCredentials
from bot.forges.gitlab.calls import Calls, Query
from bot.forges.gitlab.fields import is_us, person, time
from bot.forges.gitlab.http import ASK_OPERATOR, Clients, JSONObject, call
from bot.forges.port import (
    BotIdentity,
    ForgeMissingError,
    ForgeRefusedError,
    ListedProposal,
    NewestChange,
    Repository,
)
from lifecycle.actions import OpenProposal
from lifecycle.names import Ref, Sha

DRAFT = "Draft: "
_DRAFT = re.compile(r"\A(?:\s*(?:\[draft\]|\(draft\)|draft:|draft\s-\s))+\s*", re.IGNORECASE)
"""How titles say that a merge request is a draft.

Source: https://docs.gitlab.com/user/project/merge_requests/drafts/"""

_OPEN = frozenset({"opened", "locked"})
"""States of one that is not merged and not closed; locked, while it is being merged."""

_PAGE = 30
"""How many merge requests of a branch are asked for; one has more than a few very seldom."""

MOST_SHOWN = 10_000
"""Merge requests of which is kept what a list has shown."""

_NEWEST: Query = {"order_by": "updated_at", "sort": "desc"}


@dataclass(frozen=True, slots=True)
class Shown:
    """What a list, or itself, has shown of a merge request when it was read last.

    Attributes:
        number: Its number.
        head: Its head; "" until GitLab has prepared it.
        head_ref: Its branch.
        fork: The branch is another project's.
        open: It is open.
        opened_at: When it was opened.
        reviewed: Somebody was asked for a review, or gave one.
        resolved: No thread that blocks is open.
        queued: It is merged when its pipeline, or its merge train, is through.
        queued_by_us: That was asked for by us.
        draft: It is a draft.
    """

    number: int
    head: Sha
    head_ref: str
    fork: bool
    open: bool
    opened_at: datetime
    reviewed: bool
    resolved: bool
    queued: bool
    queued_by_us: bool
    draft: bool


class MergeRequests(Calls):
    """Merge requests of one project."""

    def __init__(self, access: ForgeCredentials, repository: Repository, pool: Clients) -> None:
        super().__init__(access, repository, pool)
        self._shown: dict[int, Shown] = {}
        self._of_head: dict[Sha, set[int]] = {}

    async def open_proposals_of(self, head_ref: str) -> tuple[ListedProposal, ...]:
        """Every open merge request of one branch, newest first; those of forks among them."""
        return await self._found("list the open merge requests of a branch", "opened", head_ref)

    async def proposals_of(self, head_ref: str) -> tuple[ListedProposal, ...]:
        """Open merge requests of one branch, and the newest closed ones, in one request.

        Only where a page is full may older ones be open: they are asked for apart.
        """
        wanted, path = "list the merge requests of a branch", "/merge_requests"
        query = {"source_branch": head_ref, "state": "all", "per_page": _PAGE}
        data = await self._get_list(
            wanted, path, query | {"order_by": "created_at", "sort": "desc"}
        )
        found = await self._read(data)
        if len(found) < _PAGE:
            return found
        closed = tuple(each for each in found if not each.open)
        return await self.open_proposals_of(head_ref) + closed

    async def unproposed(self, head_refs: Collection[str]) -> frozenset[str]:
        """Nothing is told: REST lists merge requests of one branch alone, or of all."""
        del head_refs
        return frozenset()

    async def proposals_at(self, head: Sha) -> tuple[ListedProposal, ...]:
        """Every merge request whose head is this commit: the open ones, and what it came in by."""
        path = f"/repository/commits/{head}/merge_requests"
        listed = self._list("list the merge requests of a commit", path)
        found = await self._read_all(listed)
        return tuple(p for p in found if p.head == head and (p.open or p.merged))

    async def proposal(self, number: int) -> ListedProposal:
        """One merge request."""
        return (await self._read([await self._one(number)]))[0]

    async def open_proposals(self) -> tuple[ListedProposal, ...]:
        """Every open merge request."""
        return await self._found("list the open merge requests", "opened")

    async def newest_change(self, shown: str = "", validator: str = "") -> NewestChange:
        """The merge request that changed last; GitLab counts each question, changed or not."""
        del shown, validator
        query = {"state": "all", "per_page": 1, **_NEWEST}
        for data in await self._get_list("find the newest change", "/merge_requests", query):
            at = time(data["updated_at"])
            return NewestChange(f"{int(data['iid'])} {at.isoformat()}", at)
        return NewestChange()

    async def highest_number(self) -> int:
        """Number of the newest merge request; 0 when there is none."""
        query = {"state": "all", "per_page": 1, "order_by": "created_at", "sort": "desc"}
        found = await self._get_list("find the newest merge request", "/merge_requests", query)
        return max((int(data["iid"]) for data in found), default=0)

    async def merged_proposals(self, base_ref: str, since: datetime) -> tuple[ListedProposal, ...]:
        """Merged merge requests of a base branch, last changed first."""
        wanted, more = "list merged merge requests", {"target_branch": base_ref}
        return await self._found(wanted, "merged", since=since, more=more)

    async def closed_proposals(self, since: datetime) -> tuple[ListedProposal, ...]:
        """Merge requests that are not open, last changed first; GitLab lists both kinds apart."""
        wanted = "list closed merge requests"
        found = [
            *await self._found(wanted, "merged", since=since),
            *await self._found(wanted, "closed", since=since),
        ]
        return tuple(sorted(found, key=lambda p: (p.updated_at, p.number), reverse=True))

    async def _found(
        self,
        wanted: str,
        state: str,
        head_ref: str = "",
        *,
        since: datetime | None = None,
        more: Query | None = None,
    ) -> tuple[ListedProposal, ...]:
        query: dict[str, object] = {"state": state, **(more or {})}
        query |= {"source_branch": head_ref} if head_ref else {}
        query |= {**_NEWEST, "updated_after": since.isoformat()} if since else {}
        listed = self._list(wanted, "/merge_requests", query)
        found = await self._read_all(listed)
        return tuple(p for p in found if since is None or p.updated_at >= since)

    async def open_proposal(self, wanted: OpenProposal) -> int:
        """Open a merge request and assign it; one that is there already is taken."""
        request: JSONObject = {
            "source_branch": wanted.head_ref,
            "target_branch": wanted.base_ref,
            "title": f"{DRAFT}{wanted.title}" if wanted.draft else wanted.title,
            "description": wanted.body,
            "remove_source_branch": False,
        }
        number = await self._account_of(wanted.assignee) if wanted.assignee else 0
        if number:
            request["assignee_id"] = number
        try:
            made = await self._send("open a merge request", "POST", "/merge_requests", request)
        except ForgeRefusedError:
            for found in await self.open_proposals_of(wanted.head_ref):
                ours = found.head_repository == self._repository.id.number
                if ours and found.head_ref == wanted.head_ref:
                    return found.number
            raise
        return int(made["iid"])

    async def _account_of(self, login: str) -> int:
        """Number of the account of this login; 0 where there is none."""
        wanted, query = "find an account", {"username": login}
        found = (await call(self._pool, wanted, "GET", "/users", query=query)).data
        same = (each for each in found if str(each["username"]).lower() == login.lower())
        return next((int(each["id"]) for each in same), 0)

    async def set_draft(self, number: int, *, draft: bool) -> None:
        """By the title, which is all that there is of it."""
        data = await self._one(number)
        if bool(data["draft"]) == draft:
            return
        title = str(data["title"])
        body = {"title": f"{DRAFT}{title}" if draft else without_draft(title)}
        await self._send("change the draft state", "PUT", f"/merge_requests/{number}", body)

    async def close_proposal(self, number: int) -> None:
        """Close it; to one that is closed or merged already GitLab would say no."""
        if (await self._one(number))["state"] == "opened":
            body = {"state_event": "close"}
            await self._send("close a merge request", "PUT", f"/merge_requests/{number}", body)

    async def set_title(self, number: int, title: str) -> None:
        """Change it, but for the *Draft:* in front of it."""
        body = {"title": f"{DRAFT}{title}" if (await self._one(number))["draft"] else title}
        await self._send("change the title", "PUT", f"/merge_requests/{number}", body)

    async def set_labels(
        self, number: int, *, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> None:
        """Put labels on and take others off at once; GitLab makes those that are missing.

        One with a comma cannot be: GitLab would take it for two.

        Source: https://docs.gitlab.com/api/merge_requests/#update-mr
        """
        if commas := [name for name in (*add, *remove) if "," in name]:
            fix = "Name it without a comma under `labels` in `.porchbot.yaml`"
            raise ForgeRefusedError("change labels", f"{commas[0]!r} holds a comma", fix)
        body = {"add_labels": ",".join(add), "remove_labels": ",".join(remove)}
        given = {name: value for name, value in body.items() if value}
        if given:
            await self._send("change labels", "PUT", f"/merge_requests/{number}", given)

    def proposal_ref(self, number: int) -> Ref:
        """The ref that GitLab keeps of each merge request's head."""
        return Ref(f"refs/merge-requests/{number}/head")

    async def _one(self, number: int) -> JSONObject:
        wanted = "read a merge request"
        if number <= 0:
            raise ForgeMissingError(wanted, f"{number} is no merge request", ASK_OPERATOR)
        data: JSONObject = await self._get(wanted, f"/merge_requests/{number}")
        return data

    async def _read(self, listed: Sequence[JSONObject]) -> tuple[ListedProposal, ...]:
        me = await self._access.identity()
        return tuple(self._keep(data, me) for data in listed)

    async def _read_all(self, listed: AsyncIterator[JSONObject]) -> tuple[ListedProposal, ...]:
        """Read a list while it comes: descriptions have a million characters each."""
        me = await self._access.identity()
        return tuple([self._keep(data, me) async for data in listed])

    def _keep(self, data: JSONObject, me: BotIdentity) -> ListedProposal:
        called = str(data["references"]["full"]).rpartition("!")[0]
        self._repository.named("read a merge request", called)
        found = listed(data, me)
        queued = bool(data.get("merge_when_pipeline_succeeds"))
        self._shown.pop(found.number, None)
        self._shown[found.number] = Shown(
            number=found.number,
            head=found.head,
            head_ref=found.head_ref,
            fork=found.head_repository != self._repository.id.number,
            open=found.open,
            opened_at=time(data["created_at"]),
            reviewed=bool(data.get("reviewers")),
            resolved=bool(data["blocking_discussions_resolved"]),
            queued=queued,
            queued_by_us=queued and is_us(data.get("merge_user"), me),
            draft=found.draft,
        )
        if found.open and found.head:
            self._of_head.setdefault(found.head, set()).add(found.number)
        for kept in (self._shown, self._of_head):
            if len(kept) > MOST_SHOWN:
                kept.pop(next(iter(kept)))  # type: ignore[call-overload] # a key of its own
        return found

    async def _last_shown(self, number: int) -> Shown:
        """What was shown of one, asked for where nothing was."""
        if number not in self._shown:
            await self.proposal(number)
        return self._shown[number]

    def _at_head(self, head: Sha) -> tuple[Shown, ...]:
        """The open merge requests with this head, as they were shown last, the oldest first.

        A commit may be the head of several: statuses are the commit's, in the pipeline of each;
        threads, and what is required of it, are each one's own.
        """
        known = (self._shown.get(number) for number in sorted(self._of_head.get(head, ())))
        return tuple(each for each in known if each and each.open and each.head == head)


def listed(data: JSONObject, me: BotIdentity) -> ListedProposal:
    """A merge request as GitLab shows it, in lists and alone."""
    merged = data["state"] == "merged"
    source = data.get("source_project_id")
    at = data.get("merged_at") or data["updated_at"]
    return ListedProposal(
        number=int(data["iid"]),
        title=without_draft(str(data["title"])),
        author=person(data["author"], me),
        draft=bool(data.get("draft", data.get("work_in_progress"))),
        open=data["state"] in _OPEN,
        head=Sha(data["sha"] or ""),
        head_ref=str(data["source_branch"]),
        head_repository=int(source) if source else None,
        base_ref=str(data["target_branch"]),
        merge_commit=merge_result(data) if merged else None,
        merged_at=time(at) if merged else None,
        updated_at=time(data["updated_at"]),
        assigned=tuple(sorted(str(user["username"]) for user in data.get("assignees") or ())),
        labels=frozenset(map(_label, data.get("labels") or ())),
    )


def without_draft(title: str) -> str:
    """A title without the words that make a draft; one that says nothing else stays."""
    return _DRAFT.sub("", title) or title


def _label(data: JSONObject | str) -> str:
    return str(data["name"]) if isinstance(data, dict) else data


def merge_result(data: JSONObject) -> Sha:
    """The commit of the base branch that a merge made, or that it was moved to.

    A merge commit stands there also where the changes were squashed below it; of a fast-forward it
    is the squashed commit, or the head.

    Source: https://docs.gitlab.com/user/project/merge_requests/methods/
    """
    head = (data.get("diff_refs") or {}).get("head_sha") or data["sha"]
    return Sha(data.get("merge_commit_sha") or data.get("squash_commit_sha") or head)
