"""GitHub as a forge: builds requests, sends them with PyGithub, turns answers and errors into ours.

Longer than 400 lines: one class answers one protocol, with a method for each of its operations.

Only fields in use are read. How requests are sent, and what their errors mean, is
`bot.forges.github.http`'s.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import jwt
from github.Auth import AppAuth, Token

from bot.forges.github import people, talk
from bot.forges.github.events import WebhookError, read_verified
from bot.forges.github.http import Answer, Clients, JSONObject, ask, failure, graphql, pages, send
from bot.forges.port import (
    AnnotatedTag,
    Conversation,
    ForgeBusyError,
    ForgeMissingError,
    ForgeRefusedError,
    Identity,
    Installation,
    Merged,
    MergeOutcome,
    PullRequest,
    Repository,
    RequiredCheck,
    Tagged,
    TagOutcome,
)
from bot.keys import Key
from bot.store.values import Hint
from lifecycle.access import Person, Role
from lifecycle.actions import OpenProposal, SetCheck
from lifecycle.authors import MadeBy
from lifecycle.facts import CheckRun, Status
from lifecycle.identity import GITHUB, RepositoryId
from lifecycle.merges import Move
from lifecycle.messages.findings import annotation
from lifecycle.messages.markdown import CUT
from lifecycle.names import Sha
from lifecycle.policy import MergeMethod

MOST_MOVES = 2_000
"""Moves of a base branch that are read to find one: twenty pages, for a bot that was long away."""

ANNOTATIONS = 50
"""Annotations that one request may carry (docs/design.md, "GitHub: checks and statuses")."""

SUMMARY_BYTES, MESSAGE_BYTES, TITLE_BYTES = 65_535, 64 * 1024, 255
"""Bytes, not characters, of a check's summary, an annotation's message and a title
(docs/design.md, "GitHub: checks and statuses")."""

RENEW_BEFORE = timedelta(minutes=2)
"""A token is renewed this long before it ends, so that a push begun with it can finish."""

_LEVEL = {"error": "failure", "warning": "warning", "info": "notice"}


@cache
def _signer(private_key: str) -> Callable[[dict[str, Any]], str]:
    """What signs the claims of a JWT; reading the key from PEM takes a hundred times as long."""
    key = jwt.get_algorithm_by_name("RS256").prepare_key(private_key)
    return lambda claims: jwt.encode(claims, key, algorithm="RS256")


class GitHubApp:
    """The App: its installations, their repositories and tokens; implements `Forges` of the port.

    Args:
        api_url: Where GitHub's REST API answers.
        app_id: The App's number or client id.
        private_key: The App's, in PEM.
    """

    name = GITHUB

    def __init__(self, api_url: str, app_id: str, private_key: str) -> None:
        self._api_url = api_url
        self._app = Clients(api_url, lambda: AppAuth(app_id, sign_func=_signer(private_key)))
        self._tokens: dict[int, tuple[str, datetime]] = {}
        self._lock = threading.Lock()
        self._pools: dict[int, Clients] = {}
        self._about: JSONObject = {}

    async def identity(self) -> Identity:
        """The login that an App's comments carry, and the address of its commits."""
        login = f"{(await self.about())['slug']}[bot]"
        return Identity(login, f"{login}@users.noreply.github.com")

    async def number(self) -> int:
        """The App's number, by which its checks are known."""
        return int((await self.about())["id"])

    async def about(self) -> JSONObject:
        """What GitHub says of the App, asked once."""
        if not self._about:
            self._about = await self._call(self._app, "read the App", "GET", "/app")
        return self._about

    async def check(self) -> None:
        """Ask the forge for the App, which counts towards no installation's limit."""
        await self._call(self._app, "read the App", "GET", "/app")

    async def installations(self) -> Sequence[Installation]:
        """Every installation, suspended ones too."""
        listed = pages(self._app, "list the installations", "/app/installations")
        return [Installation(int(i["id"]), bool(i.get("suspended_at"))) async for i in listed]

    async def installation(self, number: int) -> Installation | None:
        """One installation; None when there is none of this number."""
        with suppress(ForgeMissingError):
            path = f"/app/installations/{number}"
            found = await self._call(self._app, "read the installation", "GET", path)
            return Installation(int(found["id"]), bool(found.get("suspended_at")))
        return None

    async def is_installed(self, repository_id: RepositoryId) -> bool:
        """Whether any installation has a repository; its own page is readable if it is public."""
        with suppress(ForgeMissingError):
            path = f"/repositories/{repository_id.number}/installation"
            await self._call(self._app, "find the installation of a repository", "GET", path)
            return True
        return False

    async def repositories_of(self, installation: int) -> Sequence[Repository]:
        """Every repository of one installation."""
        path = f"/app/installations/{installation}"
        about = await self._call(self._app, "read the installation", "GET", path)
        since = _time(about["created_at"])
        listed = pages(
            self._installation(installation),
            "list the repositories of an installation",
            "/installation/repositories",
            key="repositories",
        )
        return [_repository(data, installation, since) async for data in listed]

    async def repository_by_id(self, repository_id: RepositoryId, installation: int) -> Repository:
        """One repository, as it is named now."""
        pool = self._installation(installation)
        data = await self._call(pool, "read it", "GET", f"/repositories/{repository_id.number}")
        path = f"/app/installations/{installation}"
        about = await self._call(self._app, "read the installation", "GET", path)
        return _repository(data, installation, _time(about["created_at"]))

    def of(self, repository: Repository) -> "GitHub":
        """The forge for one repository."""
        return GitHub(self, repository, self._installation(repository.installation))

    def wakes_of(self, headers: Mapping[str, str], body: bytes) -> Mapping[Key, Hint]:
        """What a stored delivery asks to look at again; empty for one that cannot be read."""
        with suppress(WebhookError):
            return read_verified(headers, body).wakes
        return {}

    def installation_token(self, installation: int) -> str:
        """A token of an installation, renewed before it ends; for threads."""
        with self._lock:
            token, ends = self._tokens.get(installation, ("", datetime.min.replace(tzinfo=UTC)))
            if ends > datetime.now(UTC) + RENEW_BEFORE:
                return token
            path = f"/app/installations/{installation}/access_tokens"
            data = send(self._app, "mint a token", "POST", path, body={}).data
            self._tokens[installation] = (str(data["token"]), _time(data["expires_at"]))
            return str(data["token"])

    def close(self) -> None:
        """Close all connections."""
        self._app.close()
        for pool in self._pools.values():
            pool.close()

    def _installation(self, number: int) -> Clients:
        if number not in self._pools:
            self._pools[number] = Clients(
                self._api_url, lambda: Token(self.installation_token(number))
            )
        return self._pools[number]

    async def _call(
        self, pool: Clients, wanted: str, verb: str, path: str, body: object = None
    ) -> Any:
        answer = await asyncio.to_thread(send, pool, wanted, verb, path, body=body)
        return answer.data


class GitHub:
    """One repository on GitHub; implements `bot.forges.port.Forge`."""

    def __init__(self, app: GitHubApp, repository: Repository, pool: Clients) -> None:
        self._app = app
        self._pool = pool
        self._repository = repository
        # By number: a name may have changed hands since, and a redirect loses what was asked.
        self._path = f"/repositories/{repository.id.number}"

    async def token(self) -> str:
        """A token for git over HTTP."""
        return await asyncio.to_thread(self._app.installation_token, self._repository.installation)

    async def open_proposals_of(self, owner: str, head_ref: str) -> tuple[PullRequest, ...]:
        """Every open pull request of one head branch, newest first.

        A bare branch name is ignored by GitHub and returns every pull request (trap 2);
        what came back is checked by whoever asked.
        """
        wanted = "list the open pull requests of a branch"
        path, head = f"{self._path}/pulls", f"{owner}:{head_ref}"
        listed = pages(self._pool, wanted, path, head=head, state="open")
        return tuple([_pull(data) async for data in listed])

    async def closed_proposals_of(self, owner: str, head_ref: str) -> tuple[PullRequest, ...]:
        """Closed pull requests of one head branch, newest first."""
        found = await self._get(
            "list the closed pull requests of a branch",
            "/pulls",
            head=f"{owner}:{head_ref}",
            state="closed",
            per_page=30,
        )
        return tuple(_pull(data) for data in found)

    async def open_proposals_at(self, head: Sha) -> tuple[PullRequest, ...]:
        """Every open pull request whose head is this commit."""
        path = f"{self._path}/commits/{head}/pulls"
        listed = pages(self._pool, "list the pull requests of a commit", path)
        found = [_pull(data) async for data in listed]
        return tuple(p for p in found if p.state == "open" and p.head == head)

    async def proposal(self, number: int) -> PullRequest:
        """One pull request."""
        return _pull(await self._get("read a pull request", f"/pulls/{number}"))

    async def open_proposals(self) -> tuple[PullRequest, ...]:
        """Every open pull request."""
        path = f"{self._path}/pulls"
        listed = pages(self._pool, "list open pull requests", path, state="open")
        return tuple([_pull(data) async for data in listed])

    async def highest_number(self) -> int:
        """Number of the newest pull request; 0 when there is none."""
        wanted, newest = "find the newest pull request", {"sort": "created", "direction": "desc"}
        found = await self._get(wanted, "/pulls", state="all", per_page=1, **newest)
        return max((int(data["number"]) for data in found), default=0)

    async def merged_proposals(self, base_ref: str, since: datetime) -> tuple[PullRequest, ...]:
        """Merged pull requests of a base branch, last changed first, page by page."""
        found: list[PullRequest] = []
        order = {"base": base_ref, "state": "closed", "sort": "updated", "direction": "desc"}
        wanted, path = "list merged pull requests", f"{self._path}/pulls"
        async for pull in (_pull(data) async for data in pages(self._pool, wanted, path, **order)):
            if pull.updated_at < since:
                break
            if pull.merged:
                found.append(pull)
        return tuple(found)

    async def conversation(self, node: str) -> Conversation:
        """Comments, reviews and changes of the branches."""
        me = await self._app.identity()
        return await asyncio.to_thread(talk.read, self._pool, node, me.login)

    async def checks(self, head: Sha) -> tuple[CheckRun, ...]:
        """The newest check run of each name and App."""
        app_id = await self._app.number()
        path = f"{self._path}/commits/{head}/check-runs"
        listed = pages(self._pool, "read the check runs", path, key="check_runs", filter="latest")
        return tuple([_check(data, app_id) async for data in listed])

    async def statuses(self, head: Sha) -> dict[str, str]:
        """Commit statuses by context."""
        path = f"{self._path}/commits/{head}/status"
        listed = pages(self._pool, "read the commit statuses", path, key="statuses")
        return {
            str(s["context"]): "failure" if s["state"] == "error" else str(s["state"])
            async for s in listed
        }

    async def required_checks(self, branch: str) -> tuple[RequiredCheck, ...]:
        """What a branch requires: rulesets and classic protection are told apart, and each alone.

        Both answers are readable with what every App may read
        (docs/design.md, "GitHub: checks and statuses").
        """
        app_id, by_rules, by_protection = await asyncio.gather(
            self._app.number(),
            self._required_by_rules(branch),
            self._required_by_protection(branch),
        )
        # Rulesets write -1, or nothing, where it may come from any App.
        found = {(name, app if app and app > 0 else None) for name, app in by_rules | by_protection}
        checks = [RequiredCheck(name, app, app in (None, app_id)) for name, app in found]
        return tuple(sorted(checks, key=lambda check: (check.name, check.source or 0)))

    async def _required_by_rules(self, branch: str) -> set[tuple[str, int | None]]:
        path = f"{self._path}/rules/branches/{quote(branch, safe='')}"
        found: set[tuple[str, int | None]] = set()
        async for rule in pages(self._pool, "read the branch rules", path):
            if rule["type"] == "required_status_checks":
                found |= {
                    (str(check["context"]), check.get("integration_id"))
                    for check in rule["parameters"]["required_status_checks"]
                }
        return found

    async def _required_by_protection(self, branch: str) -> set[tuple[str, int | None]]:
        try:
            data = await self._get("read the base branch", f"/branches/{quote(branch, safe='')}")
        except ForgeMissingError:
            return set()  # a base branch that is gone protects nothing
        required = (data.get("protection") or {}).get("required_status_checks") or {}
        if required.get("enforcement_level") == "off":
            return set()
        checks = required.get("checks") or []
        named = {str(check["context"]) for check in checks}
        # Older servers tell `contexts` only.
        more = {str(context) for context in required.get("contexts") or []} - named
        return {(context, None) for context in more} | {
            (str(check["context"]), check.get("app_id")) for check in checks
        }

    async def role(self, login: str, account: int) -> Role:
        """A person's role; nobody's when the forge knows no such collaborator."""
        path = f"/collaborators/{quote(login, safe='')}/permission"
        try:
            data = await self._get("read a person's role", path)
        except ForgeMissingError:
            return Role.NONE
        return people.role_of(data, account)

    async def commits(self, number: int) -> tuple[MadeBy, ...]:
        """The commits of a pull request with who made them."""
        path = f"{self._path}/pulls/{number}/commits"
        listed = pages(self._pool, "read the commits", path)
        return people.made_by([data async for data in listed])

    async def pushes(self, head_ref: str, repository_id: int) -> tuple[Move, ...]:
        """Moves of a branch, newest first."""
        path, ref = f"/repositories/{repository_id}/activity", f"refs/heads/{head_ref}"
        query = {"ref": ref, "per_page": 100}
        answer = await asyncio.to_thread(
            send, self._pool, "read who pushed", "GET", path, query=query
        )
        # The filter is not relied on (trap 2): others' moves would tell of other commits.
        return tuple(_move(data) for data in answer.data if data["ref"] == ref)

    async def base_moves(self, base_ref: str, since: datetime) -> tuple[Move, ...]:
        """What moved a base branch, newest first; only a cursor leads on."""
        path, after = f"/repositories/{self._repository.id.number}/activity", ""
        ref = f"refs/heads/{base_ref}"
        found: list[Move] = []
        for _ in range(MOST_MOVES // 100):
            query = {"ref": ref, "per_page": 100}
            answer = await asyncio.to_thread(
                send,
                self._pool,
                "read what moved the base branch",
                "GET",
                path,
                query=query | ({"after": after} if after else {}),
            )
            for data in answer.data:
                move = _move(data)
                if data["ref"] == ref:  # the filter is not relied on (trap 2)
                    found.append(move)
                if move.at < since:
                    return tuple(found)
            after = _cursor(answer.headers.get("link", ""))
            if not after:
                break
        return tuple(found)

    async def has_tag(self, name: str) -> bool:
        """Whether there is a tag of exactly this name."""
        try:
            found = await self._get("look for a tag", f"/git/ref/tags/{quote(name)}")
        except ForgeMissingError:
            return False
        return bool(found["ref"] == f"refs/tags/{name}")

    async def make_tag(self, tag: AnnotatedTag) -> Tagged:
        """Write a tag's object, then make the ref that names it; the latter is the condition.

        Source: https://docs.github.com/rest/git/tags
        """
        name, email = tag.tagger
        body = {
            "tag": tag.name,
            "message": tag.message,
            "object": tag.target,
            "type": "commit",
            "tagger": {"name": name, "email": email, "date": f"{tag.at:%Y-%m-%dT%H:%M:%SZ}"},
        }
        made = await self._send("write a tag", "POST", "/git/tags", body)
        if made["sha"] != tag.object:
            return Tagged(TagOutcome.OTHERWISE, f"the object is {made['sha']}")
        ref = {"ref": f"refs/tags/{tag.name}", "sha": tag.object}
        return await asyncio.to_thread(_make_ref, self._pool, f"{self._path}/git/refs", ref)

    async def open_proposal(self, wanted: OpenProposal) -> int:
        """Open a draft pull request and assign it; one that is there already is taken."""
        request = {
            "head": wanted.head_ref,
            "base": wanted.base_ref,
            "title": wanted.title,
            "body": wanted.body,
            "draft": True,
        }
        try:
            data = await self._send("open a pull request", "POST", "/pulls", request)
        except ForgeRefusedError:
            for pull in await self.open_proposals_of(self._repository.owner, wanted.head_ref):
                if pull.head_ref == wanted.head_ref:
                    return pull.number
            raise
        number = int(data["number"])
        if wanted.assignee:
            # Its text names them already; who cannot be assigned here need not be.
            with suppress(ForgeRefusedError):
                people: JSONObject = {"assignees": [wanted.assignee]}
                await self._send("assign a pull request", "PATCH", f"/issues/{number}", people)
        return number

    async def set_draft(self, node: str, *, draft: bool) -> None:
        """REST cannot change it (docs/design.md, "GitHub: pull requests and merging")."""
        mutation = "convertPullRequestToDraft" if draft else "markPullRequestReadyForReview"
        kind = f"{mutation[0].upper()}{mutation[1:]}Input!"
        query = (
            f"mutation Mutation($input: {kind}) {{ {mutation}(input: $input)"
            " { clientMutationId pullRequest { isDraft } } }"
        )
        wanted = {"input": {"pullRequestId": node}}
        await asyncio.to_thread(graphql, self._pool, "change the draft state", query, wanted)

    async def set_check(self, check: SetCheck) -> None:
        """Make or update a check run; annotations beyond 50 follow in requests of their own."""
        batches = [
            [_annotation(f) for f in check.annotations[at : at + ANNOTATIONS]]
            for at in range(0, max(1, len(check.annotations)), ANNOTATIONS)
        ]
        body: JSONObject = {
            "name": check.name,
            "status": check.status.value,
            "external_id": check.external_id,
            "output": _output(check, batches[0]),
        }
        if check.status is Status.COMPLETED and check.conclusion:
            body["conclusion"] = check.conclusion.value
        if check.run is None:
            body["head_sha"] = check.head
            made = await self._send("make a check run", "POST", "/check-runs", body)
            run = int(made["id"])
        else:
            run = check.run
            await self._send("update a check run", "PATCH", f"/check-runs/{run}", body)
        for batch in batches[1:]:
            more = {"output": _output(check, batch)}
            await self._send("add annotations", "PATCH", f"/check-runs/{run}", more)

    async def comment(self, number: int, body: str) -> int:
        """Write a comment."""
        data = await self._send("comment", "POST", f"/issues/{number}/comments", {"body": body})
        return int(data["id"])

    async def edit_comment(self, comment: int, body: str) -> None:
        """Replace one of our comments."""
        path = f"/issues/comments/{comment}"
        await self._send("edit its comment", "PATCH", path, {"body": body})

    async def react(self, comment: int, reaction: str) -> None:
        """React to a comment."""
        path = f"/issues/comments/{comment}/reactions"
        await self._send("react", "POST", path, {"content": reaction})

    async def merge(
        self, number: int, head: Sha, method: MergeMethod, title: str, message: str
    ) -> Merged:
        """Merge only while the head is `head`; failures are sorted by who must act."""
        body = {
            "sha": head,
            "merge_method": method.value,
            "commit_title": title,
            "commit_message": message,
        }
        return await asyncio.to_thread(
            _merge, self._pool, f"{self._path}/pulls/{number}/merge", body
        )

    async def _get(self, wanted: str, path: str, **query: object) -> Any:
        answer = await asyncio.to_thread(
            send, self._pool, wanted, "GET", self._path + path, query=query
        )
        return answer.data

    async def _send(self, wanted: str, verb: str, path: str, body: object) -> Any:
        answer = await asyncio.to_thread(
            send, self._pool, wanted, verb, self._path + path, body=body
        )
        return answer.data


def _merge(pool: Clients, path: str, body: JSONObject) -> Merged:
    answer = ask(pool, "merge", "PUT", path, body=body)
    if answer.ok and isinstance(answer.data, dict) and answer.data.get("merged") is True:
        return Merged(MergeOutcome.MERGED)
    if answer.ok:
        raise ForgeBusyError("merge", f"{answer.status} that does not say it was merged")
    refused = _merge_failure(answer)
    if refused is None:
        raise failure("merge", answer)
    return refused


def _make_ref(pool: Clients, path: str, body: JSONObject) -> Tagged:
    answer = ask(pool, "make a tag", "POST", path, body=body)
    if answer.ok:
        return Tagged(TagOutcome.MADE)
    said = answer.reason.lower()
    if answer.status == 422 and "object does not exist" in said:
        raise ForgeBusyError("make a tag", "it does not show the tag's object yet")
    if answer.status == 409 or (answer.status == 422 and "already exists" in said):
        return Tagged(TagOutcome.TAKEN, answer.reason)
    if answer.status == 422:
        return Tagged(TagOutcome.REFUSED, answer.reason)
    raise failure("make a tag", answer)


def _merge_failure(answer: Answer) -> Merged | None:
    """Sort a refused merge by who must act; None for what is no answer to it."""
    reason = answer.reason
    if answer.status == 409:
        return Merged(MergeOutcome.HEAD_MOVED, reason)
    if answer.status == 405 and "base branch was modified" in reason.lower():
        return Merged(MergeOutcome.BUSY, reason)
    if answer.status in {405, 422}:
        return Merged(MergeOutcome.REFUSED, reason)
    return None


def _time(text: object) -> datetime:
    return datetime.fromisoformat(str(text).replace("Z", "+00:00"))


def _person(data: JSONObject | None) -> Person:
    """An account; "ghost" stands for one that was deleted, as on the forge."""
    if not data:
        return Person(0, "ghost", False)
    return Person(int(data["id"]), str(data["login"]), data["type"] != "User")


def _repository(data: JSONObject, installation: int, installed_at: datetime) -> Repository:
    return Repository(
        id=RepositoryId(GITHUB, int(data["id"])),
        full_name=str(data["full_name"]),
        default_branch=str(data["default_branch"]),
        clone_url=str(data["clone_url"]),
        installation=installation,
        installed_at=installed_at,
    )


def _pull(data: JSONObject) -> PullRequest:
    merged_at = data["merged_at"]
    return PullRequest(
        number=int(data["number"]),
        node=str(data["node_id"]),
        title=str(data["title"]),
        author=_person(data["user"]),
        draft=bool(data["draft"]),
        state=str(data["state"]),
        head=Sha(data["head"]["sha"]),
        head_ref=str(data["head"]["ref"]),
        head_repository=int(data["head"]["repo"]["id"]) if data["head"]["repo"] else None,
        base_ref=str(data["base"]["ref"]),
        # Before a merge this field names a test merge, which nobody may tag
        # (docs/design.md, "GitHub: pull requests and merging").
        merge_commit=Sha(data["merge_commit_sha"]) if merged_at else None,
        merged_at=_time(merged_at) if merged_at else None,
        updated_at=_time(data["updated_at"]),
        assigned=tuple(sorted(str(user["login"]) for user in data["assignees"] or ())),
    )


def _move(data: JSONObject) -> Move:
    return Move(
        before=Sha(data["before"]),
        after=Sha(data["after"]),
        actor=str((data["actor"] or {}).get("login", "")),
        account=int((data["actor"] or {}).get("id") or 0),
        at=_time(data["timestamp"]),
        kind=str(data["activity_type"]),
    )


def _cursor(link: str) -> str:
    """The cursor of the next page in a Link header; "" on the last page."""
    for part in link.split(","):
        address, _, relation = part.partition(";")
        if 'rel="next"' in relation:
            query = urlsplit(address.strip().strip("<>")).query
            return parse_qs(query).get("after", [""])[0]
    return ""


def _check(data: JSONObject, app_id: int) -> CheckRun:
    made_by = int((data["app"] or {}).get("id", 0))
    return CheckRun(
        id=int(data["id"]),
        name=str(data["name"]),
        status=str(data["status"]),
        conclusion=str(data["conclusion"] or ""),
        external_id=str(data["external_id"] or ""),
        completed_at=_time(data["completed_at"]) if data["completed_at"] else None,
        ours=made_by == app_id,
        source=made_by,
    )


def _output(check: SetCheck, annotations: list[JSONObject]) -> JSONObject:
    return {
        "title": _cut(check.title, TITLE_BYTES),
        "summary": _cut(check.summary, SUMMARY_BYTES),
        "annotations": annotations,
    }


def _annotation(finding: Any) -> JSONObject:
    line = finding.place.line or 1
    return {
        "path": finding.place.path,
        "start_line": line,
        "end_line": line,
        "annotation_level": _LEVEL[finding.severity.value],
        "message": _cut(annotation(finding), MESSAGE_BYTES),
        "title": _cut(finding.function or "porchbot", TITLE_BYTES),
    }


def _cut(text: str, most: int) -> str:
    """At most so many bytes of UTF-8, with a note where something was left out."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return data.decode()
    kept = data[: most - len(CUT.encode())].decode("utf-8", "ignore")
    return kept + CUT
