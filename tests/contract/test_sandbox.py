"""The sandbox forge, asked everything it knows, keeps to GitHub's descriptions.

Longer than 400 lines: a request for each operation that there is.
"""

from __future__ import annotations

import base64
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from bot.sandbox.records.accounts import App, Role
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.context import FileChange
from bot.sandbox.serve import SandboxForge
from tests import app_key
from tests.contract.descriptions import Validator
from tests.contract.watch import Watch, session_validator

REPO = "/repos/owner/packages"
PERMISSIONS = ("checks", "contents", "issues", "pull_requests", "statuses")
EVENTS = (
    "push",
    "create",
    "delete",
    "pull_request",
    "pull_request_review",
    "issue_comment",
    "issues",
    "repository",
    "check_run",
    "check_suite",
    "status",
)
HEAD = "drafts/net/core/one"


class Walk:
    """A forge with a repository, an App and people, and a client for each of them."""

    def __init__(self, forge: SandboxForge, validator: Validator) -> None:
        self.forge = forge
        self.watch = Watch(validator)
        self.watch.attach(forge)
        state = forge.state
        for login in ("author", "approver", "outsider", "owner"):
            state.add_user(login)
        self.repo: Repository = state.add_repository("owner", "packages")
        state.add_member(self.repo, "author", "write")
        state.add_member(self.repo, "approver", "maintain")
        self.app: App = state.register_app(
            "porchbot",
            app_key.keys()[1],
            owner="owner",
            webhook_url="http://127.0.0.1:9/",  # nobody listens: the payloads are looked at here
            webhook_secret="secret",
            permissions=dict.fromkeys(PERMISSIONS, "write")
            | {"administration": "read", "members": "read"},
            events=EVENTS,
        )
        state.install(self.app, self.repo)
        self._clients: dict[str, httpx.Client] = {}
        self.people = {
            login: self.client(f"token {state.token(login)}")
            for login in ("author", "approver", "outsider", "owner")
        }

    def client(self, authorization: str = "") -> httpx.Client:
        """A client that says who it is; closed with the walk."""
        if authorization not in self._clients:
            headers = {"User-Agent": "contract"}
            if authorization:
                headers["Authorization"] = authorization
            self._clients[authorization] = httpx.Client(
                base_url=self.forge.api_url, headers=headers, timeout=30, verify=False
            )
        return self._clients[authorization]

    def as_app(self) -> httpx.Client:
        """The App by its JWT."""
        now = int(time.time())
        claims = {"iat": now - 30, "exp": now + 300, "iss": str(self.app.id)}
        return self.client(f"Bearer {jwt.encode(claims, app_key.made(), algorithm='RS256')}")

    def as_bot(self) -> httpx.Client:
        """The App by a token of its installation."""
        found = self.ask(self.as_app(), "GET", f"{REPO}/installation")
        token = self.ask(
            self.as_app(), "POST", f"/app/installations/{found['id']}/access_tokens", 201
        )
        return self.client(f"token {token['token']}")

    def ask(
        self, client: httpx.Client, method: str, path: str, expected: int = 200, /, **body: Any
    ) -> Any:
        """Send a request, and expect a status."""
        answer = client.request(method, path, json=body or None)
        assert answer.status_code == expected, (
            f"{method} {path}: {answer.status_code} {answer.text}"
        )
        return answer.json() if answer.content else None

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


@pytest.fixture
def walk(tmp_path: Path) -> Iterator[Walk]:
    with SandboxForge(tmp_path) as forge:
        made = Walk(forge, session_validator())
        owner = forge.state.user("owner")
        with forge.state.lock:
            for path in ("README.md", "net/core/Kptfile", "net/core/service.yaml"):
                change = FileChange(path=path, content=f"# {path}\n".encode())
                forge.state.commit_files(made.repo, "main", [change], f"Add {path}", actor=owner)
        yield made
        made.close()


def content(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def open_pull(walk: Walk, branch: str = HEAD, text: str = "one\n", **more: Any) -> dict[str, Any]:
    """Push a draft through the API and open its pull request."""
    author = walk.people["author"]
    main = walk.ask(author, "GET", f"{REPO}/git/ref/heads/main")["object"]["sha"]
    walk.ask(author, "POST", f"{REPO}/git/refs", 201, ref=f"refs/heads/{branch}", sha=main)
    file = walk.ask(author, "GET", f"{REPO}/contents/net/core/service.yaml?ref={branch}")
    walk.ask(
        author,
        "PUT",
        f"{REPO}/contents/net/core/service.yaml",
        message="Change",
        content=content(text),
        branch=branch,
        sha=file["sha"],
    )
    fields = {"title": "Change", "head": branch, "base": "main", "body": "why"} | more
    pull: dict[str, Any] = walk.ask(author, "POST", f"{REPO}/pulls", 201, **fields)
    return pull


def read_repository(walk: Walk) -> None:
    """Everything that reads the repository and its commits."""
    owner, anybody = walk.people["owner"], walk.client()
    head = walk.ask(owner, "GET", f"{REPO}/git/ref/heads/main")["object"]["sha"]
    for path in (
        "",
        "/activity",
        "/branches",
        "/branches/main",
        "/collaborators",
        "/collaborators/author/permission",
        "/collaborators/outsider/permission",
        "/commits",
        f"/commits/{head}",
        f"/commits/{head}/pulls",
        "/commits/main/check-runs",
        "/commits/main/check-suites",
        "/commits/main/status",
        "/commits/main/statuses",
        f"/compare/{head}...main",
        "/contents/",
        "/contents/net",
        "/contents/net/core/Kptfile",
        f"/git/commits/{head}",
        "/git/matching-refs/heads",
        "/git/matching-refs/nothing",
        "/rules/branches/main",
        "/tags",
        "/labels",
    ):
        walk.ask(owner, "GET", f"{REPO}{path}")
    walk.ask(owner, "GET", f"{REPO}/collaborators/author", 204)
    walk.ask(owner, "GET", f"{REPO}/branches/main/protection", 404)
    walk.ask(owner, "GET", f"/repositories/{walk.repo.id}/commits")
    walk.ask(walk.client(), "POST", "/app-manifests/unknown/conversions", 404)
    for path in ("/user", "/users/author", "/users/porchbot[bot]", "/rate_limit", "/meta"):
        walk.ask(owner, "GET", path)
    walk.ask(anybody, "GET", f"{REPO}/contents/README.md")
    raw = anybody.get(
        f"{REPO}/contents/README.md", headers={"Accept": "application/vnd.github.raw+json"}
    )
    assert raw.text == "# README.md\n"
    again = anybody.get(REPO, headers={"If-None-Match": anybody.get(REPO).headers["etag"]})
    assert again.status_code == 304


def write_refs(walk: Walk) -> None:
    """Branches, tags and files through the API."""
    author = walk.people["author"]
    head = walk.ask(author, "GET", f"{REPO}/git/ref/heads/main")["object"]["sha"]
    first = walk.ask(author, "GET", f"{REPO}/commits?sha=main")[-1]["sha"]
    walk.ask(author, "POST", f"{REPO}/git/refs", 201, ref="refs/heads/topic", sha=first)
    walk.ask(author, "PATCH", f"{REPO}/git/refs/heads/topic", sha=head)
    walk.ask(author, "PATCH", f"{REPO}/git/refs/heads/topic", 422, sha=first)
    walk.ask(author, "PATCH", f"{REPO}/git/refs/heads/topic", sha=first, force=True)
    file = walk.ask(
        author,
        "PUT",
        f"{REPO}/contents/new.txt",
        201,
        message="New",
        content=content("new\n"),
        branch="topic",
    )["content"]
    walk.ask(
        author,
        "DELETE",
        f"{REPO}/contents/new.txt",
        message="Gone",
        sha=file["sha"],
        branch="topic",
    )
    walk.ask(author, "GET", f"{REPO}/compare/main...topic")
    walk.ask(author, "DELETE", f"{REPO}/git/refs/heads/topic", 204)
    walk.ask(author, "DELETE", f"{REPO}/git/refs/heads/topic", 422)
    tag = walk.ask(
        author,
        "POST",
        f"{REPO}/git/tags",
        201,
        tag="net/core/v1",
        message="net/core v1\n",
        object=head,
        type="commit",
    )
    walk.ask(author, "GET", f"{REPO}/git/tags/{tag['sha']}")
    ref = {"ref": "refs/tags/net/core/v1", "sha": tag["sha"]}
    walk.ask(author, "POST", f"{REPO}/git/refs", 201, **ref)
    walk.ask(author, "POST", f"{REPO}/git/refs", 422, **ref)
    walk.ask(author, "GET", f"{REPO}/tags")
    walk.ask(author, "POST", f"{REPO}/statuses/{head}", 201, state="success", context="ci")
    walk.ask(author, "GET", f"{REPO}/commits/{head}/status")
    walk.ask(author, "GET", f"{REPO}/commits/{head}/statuses")


def talk(walk: Walk, number: int) -> None:
    """Comments, reactions and labels of a pull request."""
    author, bot = walk.people["author"], walk.as_bot()
    issue = f"{REPO}/issues/{number}"
    made = walk.ask(author, "POST", f"{issue}/comments", 201, body="/propose")
    comment = f"{REPO}/issues/comments/{made['id']}"
    walk.ask(author, "POST", f"{issue}/comments", 422, body="")
    for path in (issue, f"{issue}/comments", f"{REPO}/issues/comments", comment):
        walk.ask(bot, "GET", path)
    walk.ask(bot, "GET", f"{issue}/comments?since=2020-01-01T00:00:00Z&per_page=1")
    walk.ask(author, "PATCH", comment, body="/propose please")
    reaction = walk.ask(bot, "POST", f"{comment}/reactions", 201, content="eyes")
    walk.ask(bot, "POST", f"{comment}/reactions", 200, content="eyes")
    walk.ask(bot, "GET", f"{comment}/reactions")
    walk.ask(bot, "DELETE", f"{comment}/reactions/{reaction['id']}", 204)
    walk.ask(author, "POST", f"{issue}/reactions", 201, content="rocket")
    walk.ask(author, "GET", f"{issue}/reactions")
    walk.ask(author, "DELETE", comment, 204)
    walk.ask(author, "GET", comment, 404)
    walk.ask(bot, "POST", f"{REPO}/labels", 201, name="held", color="ff0000", description="x")
    walk.ask(bot, "POST", f"{REPO}/labels", 422, name="held", color="ff0000")
    walk.ask(bot, "GET", f"{REPO}/labels/held")
    walk.ask(bot, "POST", f"{issue}/labels", labels=["held", "draft"])
    walk.ask(bot, "GET", f"{issue}/labels")
    walk.ask(bot, "DELETE", f"{issue}/labels/held")
    walk.ask(bot, "PUT", f"{issue}/labels", labels=["proposed"])
    walk.ask(bot, "GET", f"{REPO}/pulls/{number}")
    walk.ask(bot, "DELETE", f"{issue}/labels", 204)
    walk.ask(author, "PATCH", issue, title="Better title")
    walk.ask(author, "GET", f"{issue}/timeline")


def write_objects(walk: Walk) -> None:
    """Blobs, trees, commits, and a merge of branches."""
    author, git = walk.people["author"], f"{REPO}/git"
    walk.repo.protections.clear()
    head = walk.ask(author, "GET", f"{git}/ref/heads/main")["object"]["sha"]
    blob = walk.ask(author, "POST", f"{git}/blobs", 201, content="x\n", encoding="utf-8")
    walk.ask(author, "GET", f"{git}/blobs/{blob['sha']}")
    entry = {"path": "a/b", "mode": "100644", "type": "blob"}
    entries = [entry | {"sha": blob["sha"]}, entry | {"path": "c", "content": "y"}]
    base = walk.ask(author, "GET", f"{git}/trees/main?recursive=1")["sha"]
    tree = walk.ask(author, "POST", f"{git}/trees", 201, base_tree=base, tree=entries)
    fields = {"message": "By hand", "tree": tree["sha"], "parents": [head]}
    commit = walk.ask(author, "POST", f"{git}/commits", 201, **fields)
    walk.ask(author, "POST", f"{git}/commits", 422, **fields | {"tree": "0" * 40})
    walk.ask(author, "POST", f"{git}/refs", 201, ref="refs/heads/by-hand", sha=commit["sha"])
    base = walk.ask(author, "GET", f"{REPO}/contents/c?ref=by-hand")["sha"]
    assert base
    walk.ask(author, "POST", f"{REPO}/merges", 201, base="main", head="by-hand")
    walk.ask(author, "POST", f"{REPO}/merges", 204, base="main", head="by-hand")
    walk.ask(author, "POST", f"{REPO}/merges", 404, base="main", head="nowhere")


def ask_organizations(walk: Walk) -> None:
    """An organization with a team, and the App on it."""
    state, app, admin = walk.forge.state, walk.as_app(), walk.people["approver"]
    orgs = state.organizations
    orgs.add("acme", admins=("approver",), members=("author",))
    team = orgs.add_team("acme", "Net reviewers", ("author",))
    repo = state.add_repository("acme", "packages", private=True)
    orgs.grant(team, repo, Role.WRITE)
    orgs.add_team("acme", "DNS", ("owner",), parent=team)
    state.install(walk.app, repo)
    walk.ask(app, "GET", "/orgs/acme/installation")
    walk.ask(app, "GET", "/users/owner/installation")
    walk.ask(admin, "GET", "/orgs/acme/members/author", 204)
    walk.ask(admin, "GET", "/orgs/acme/members/outsider", 404)
    walk.ask(admin, "GET", "/orgs/acme/memberships/approver")
    for path in ("", "/members", "/memberships/author", "/memberships/owner"):
        walk.ask(admin, "GET", f"/orgs/acme/teams/net-reviewers{path}")
    walk.ask(admin, "GET", "/orgs/acme/teams/dns")
    walk.ask(admin, "GET", "/orgs/acme/teams/dns/memberships/author", 404)
    walk.ask(admin, "GET", "/orgs/acme/teams/net-reviewers/repos/acme/packages", 204)
    walk.ask(admin, "GET", "/orgs/acme/teams/none", 404)
    for path in ("", "/teams", "/collaborators/author/permission"):
        walk.ask(admin, "GET", f"/repos/acme/packages{path}")
    walk.ask(walk.people["author"], "GET", "/repos/acme/packages/commits", 409)
    walk.ask(walk.people["outsider"], "GET", "/repos/acme/packages", 404)
    with state.lock:
        made = FileChange(path="a", content=b"a")
        state.commit_files(repo, "main", [made], "A", actor=state.user("author"))


def keep_hooks(walk: Walk) -> None:
    """The App's webhook and a repository's, with their deliveries."""
    app, owner = walk.as_app(), walk.people["owner"]
    walk.ask(app, "GET", "/app/hook/config")
    walk.ask(app, "PATCH", "/app/hook/config", secret="other")
    assert walk.forge.hooks.idle()
    first = walk.ask(app, "GET", "/app/hook/deliveries?per_page=2")[0]
    address = f"/app/hook/deliveries/{first['id']}"
    assert walk.ask(app, "GET", address)["guid"] == first["guid"]
    walk.ask(app, "POST", f"{address}/attempts", 202)
    walk.ask(app, "GET", "/app/hook/deliveries/x", 422)
    config = {"url": "http://127.0.0.1:9/own", "content_type": "json", "secret": "s"}
    fields = {"name": "web", "config": config, "events": ["push", "issues"]}
    hook = walk.ask(owner, "POST", f"{REPO}/hooks", 201, **fields)
    walk.ask(owner, "POST", f"{REPO}/hooks", 422, **fields)
    own = f"{REPO}/hooks/{hook['id']}"
    walk.ask(owner, "PATCH", own, add_events=["create"], remove_events=["issues"], active=True)
    walk.ask(owner, "POST", f"{own}/pings", 204)
    assert walk.forge.hooks.idle()
    listed = walk.ask(owner, "GET", f"{own}/deliveries")
    assert [one["event"] for one in listed] == ["ping", "ping"]
    walk.ask(owner, "GET", f"{own}/deliveries/{listed[0]['id']}")
    walk.ask(owner, "POST", f"{own}/deliveries/{listed[0]['id']}/attempts", 202)
    for path in (own, f"{REPO}/hooks"):
        walk.ask(owner, "GET", path)
    walk.ask(owner, "DELETE", own, 204)


def release_and_remark(walk: Walk) -> None:
    """Releases, and remarks at lines of a pull request."""
    author = walk.people["author"]
    fields = {"tag_name": "net/core/v7", "name": "Seven", "body": "text", "draft": True}
    draft = walk.ask(author, "POST", f"{REPO}/releases", 201, **fields)
    walk.ask(author, "GET", f"{REPO}/releases/latest", 404)
    walk.ask(author, "PATCH", f"{REPO}/releases/{draft['id']}", draft=False)
    walk.ask(author, "POST", f"{REPO}/releases", 422, **fields)
    for path in ("", "/latest", "/tags/net/core/v7", f"/{draft['id']}"):
        walk.ask(author, "GET", f"{REPO}/releases{path}")
    pull = open_pull(walk, "drafts/net/core/remarks", "other\n")
    address = f"{REPO}/pulls/{pull['number']}/comments"
    at = {"path": "net/core/service.yaml", "commit_id": pull["head"]["sha"], "body": "why?"}
    made = walk.ask(author, "POST", address, 201, **at, line=1)
    walk.ask(author, "POST", address, 422, **at | {"path": "nowhere"}, line=1)
    walk.ask(author, "POST", address, 201, **at, in_reply_to=made["id"])
    walk.ask(author, "GET", address)
    walk.ask(author, "PATCH", f"{REPO}/pulls/{pull['number']}", state="closed")


def keep_issues(walk: Walk) -> None:
    """Issues, people and labels on them, and reviewers of a pull request."""
    author, owner = walk.people["author"], walk.people["owner"]
    fields = {"title": "Odd", "body": "why", "labels": ["bug"], "assignees": ["author"]}
    made = walk.ask(author, "POST", f"{REPO}/issues", 201, **fields)
    issue = f"{REPO}/issues/{made['number']}"
    walk.ask(author, "GET", f"{REPO}/issues?state=all&labels=bug&sort=updated&direction=asc")
    walk.ask(owner, "POST", f"{issue}/assignees", 201, assignees=["approver", "nobody"])
    walk.ask(author, "POST", f"{issue}/comments", 201, body="here")
    walk.ask(owner, "PATCH", issue, title="Odder", assignees=["owner"], labels=[])
    walk.ask(owner, "PATCH", issue, state="closed", state_reason="not_planned")
    walk.ask(owner, "PATCH", issue, state="open")
    walk.ask(owner, "GET", f"{issue}/timeline")
    for method in ("PUT", "DELETE"):
        walk.ask(owner, method, f"{issue}/lock", 204)
    walk.ask(author, "PATCH", f"{REPO}/labels/bug", new_name="defect", color="00ff00")
    walk.ask(author, "DELETE", f"{REPO}/labels/defect", 204)
    pull = open_pull(walk, "drafts/net/core/people")
    number = pull["number"]
    walk.ask(owner, "POST", f"{REPO}/issues/{number}/assignees", 201, assignees=["author"])
    owner.request("DELETE", f"{REPO}/issues/{number}/assignees", json={"assignees": ["author"]})
    reviewers = f"{REPO}/pulls/{number}/requested_reviewers"
    walk.ask(owner, "POST", reviewers, 422, reviewers=["nobody"])
    walk.ask(owner, "POST", reviewers, 201, reviewers=["approver", "owner"])
    walk.ask(author, "GET", reviewers)
    walk.ask(owner, "DELETE", reviewers, reviewers=["owner"])
    for method in ("PUT", "DELETE"):
        walk.ask(owner, method, f"{REPO}/issues/{number}/lock", 204)
    walk.ask(author, "PATCH", f"{REPO}/pulls/{number}", state="closed")


def check(walk: Walk, sha: str) -> None:
    """Check suites and check runs of the App."""
    bot = walk.as_bot()
    walk.ask(bot, "POST", f"{REPO}/check-suites", 200, head_sha=sha)
    note = {
        "path": "net/core/service.yaml",
        "start_line": 1,
        "end_line": 1,
        "annotation_level": "failure",
        "message": "wrong",
    }
    run = walk.ask(
        bot,
        "POST",
        f"{REPO}/check-runs",
        201,
        name="porchbot/validate",
        head_sha=sha,
        status="in_progress",
        external_id="x",
        output={"title": "t", "summary": "s", "annotations": [note]},
    )
    address = f"{REPO}/check-runs/{run['id']}"
    many = {"title": "t", "summary": "s", "annotations": [note] * 51}
    walk.ask(bot, "PATCH", address, 422, output=many)
    walk.ask(bot, "PATCH", address, status="completed", conclusion="failure")
    walk.ask(bot, "PATCH", address, 422, status="in_progress")
    walk.ask(bot, "GET", address)
    walk.ask(bot, "GET", f"{address}/annotations")
    walk.ask(bot, "GET", f"{REPO}/commits/{sha}/check-runs?check_name=porchbot/validate")
    suites = walk.ask(bot, "GET", f"{REPO}/commits/{sha}/check-suites")["check_suites"]
    suite = f"{REPO}/check-suites/{suites[0]['id']}"
    walk.ask(bot, "GET", suite)
    walk.ask(bot, "GET", f"{suite}/check-runs")
    walk.ask(bot, "POST", f"{suite}/rerequest", 201)
    walk.ask(bot, "POST", f"{address}/rerequest", 201)


def live(walk: Walk, pull: dict[str, Any]) -> None:
    """A pull request from draft to merge, with reviews, and one that is closed."""
    author, approver, number = walk.people["author"], walk.people["approver"], pull["number"]
    address = f"{REPO}/pulls/{number}"
    for name in ("markPullRequestReadyForReview", "convertPullRequestToDraft") * 2:
        kind = f"{name[0].upper()}{name[1:]}Input"
        asked = f"{name}(input: $input) {{ pullRequest {{ isDraft }} }}"
        query = f"mutation M($input: {kind}!) {{ {asked} }}"
        answer = author.post(
            f"{walk.forge.web_url}/api/graphql",
            json={"query": query, "variables": {"input": {"pullRequestId": pull["node_id"]}}},
        )
        assert answer.json()["data"][name]["pullRequest"]["isDraft"] is name.startswith("convert")
    walk.ask(approver, "PUT", f"{address}/merge", 405)
    with walk.forge.state.lock:
        walk.forge.state.pulls.set_draft(
            walk.repo.pulls[number], walk.forge.state.user("author"), False
        )
    for path in ("", "", "/files", "/commits"):
        walk.ask(author, "GET", f"{address}{path}")
    walk.ask(author, "PATCH", address, body="because")
    walk.ask(author, "GET", f"{REPO}/pulls?state=all&head=owner:{HEAD}&base=main&sort=updated")
    walk.ask(author, "GET", f"{address}/merge", 404)
    walk.ask(author, "POST", f"{address}/reviews", 422, event="APPROVE")
    review = walk.ask(approver, "POST", f"{address}/reviews", event="REQUEST_CHANGES", body="no")
    walk.ask(approver, "GET", f"{address}/reviews/{review['id']}")
    walk.ask(approver, "PUT", f"{address}/reviews/{review['id']}/dismissals", message="mended")
    walk.ask(approver, "POST", f"{address}/reviews", event="APPROVE", body="")
    walk.ask(approver, "GET", f"{address}/reviews")
    other = FileChange(path="other.txt", content=b"other\n")
    with walk.forge.state.lock:
        state = walk.forge.state
        state.commit_files(walk.repo, "main", [other], "Other", actor=state.user("owner"))
    walk.ask(author, "PUT", f"{address}/update-branch", 202)
    walk.ask(approver, "PUT", f"{address}/merge", 409, sha="0" * 40)
    walk.ask(walk.people["outsider"], "PUT", f"{address}/merge", 403)
    walk.forge.state.protect(walk.repo, "main", [("ci", None)], required_reviews=1)
    walk.ask(approver, "GET", address)
    walk.ask(approver, "GET", address)
    walk.ask(walk.people["owner"], "GET", f"{REPO}/branches/main/protection")
    walk.ask(walk.people["owner"], "GET", f"{REPO}/branches/main/protection/required_status_checks")
    state = walk.forge.state
    rules: dict[str, Any] = dict.fromkeys(
        ("creation", "deletion", "non_fast_forward", "update"), True
    )
    checks = [("ci", None), ("porchbot/publish", walk.app.id)]
    ruleset = state.rules.add(
        walk.repo, bypass=[walk.app, state.user("approver")], required_checks=checks, **rules
    )
    walk.ask(author, "GET", f"{REPO}/rules/branches/main")
    for path in (f"{REPO}/rulesets", f"{REPO}/rulesets/{ruleset.id}"):
        walk.ask(walk.people["owner"], "GET", path)
    walk.ask(author, "GET", f"{REPO}/rulesets/{ruleset.id}")
    state.rules.remove(walk.repo, ruleset)
    walk.ask(author, "GET", f"{REPO}/branches/main")
    walk.ask(author, "GET", f"{REPO}/branches")
    walk.ask(approver, "PUT", f"{address}/merge", 405)
    walk.forge.state.protect(walk.repo, "main")
    head = walk.ask(approver, "GET", address)["head"]["sha"]
    walk.ask(approver, "PUT", f"{address}/merge", sha=head, merge_method="merge")
    walk.ask(approver, "GET", f"{address}/merge", 204)
    walk.ask(approver, "GET", address)
    walk.ask(author, "DELETE", f"{REPO}/git/refs/heads/{HEAD}", 204)
    walk.ask(author, "GET", address)
    walk.ask(author, "GET", f"{REPO}/issues/{number}/timeline")


def close_and_fork(walk: Walk) -> None:
    """A pull request that is closed and opened again, and one from a fork that goes away."""
    author, state = walk.people["author"], walk.forge.state
    pull = open_pull(walk, "drafts/net/core/two", "two\n", draft=True)
    for word in ("closed", "open", "closed"):
        walk.ask(author, "PATCH", f"{REPO}/pulls/{pull['number']}", state=word)
    fork = state.fork(walk.repo, "outsider")
    with state.lock:
        change = FileChange(path="fork.txt", content=b"fork\n")
        state.commit_files(fork, "topic", [change], "Fork", actor=state.user("outsider"))
    fields = {"title": "Fork", "head": "outsider:topic", "base": "main"}
    made = walk.ask(walk.people["outsider"], "POST", f"{REPO}/pulls", 201, **fields)
    for path in ("", "/files", "/commits"):
        walk.ask(author, "GET", f"{REPO}/pulls/{made['number']}{path}")
    walk.ask(author, "GET", "/repos/outsider/packages")


def be_an_app(walk: Walk) -> None:
    """What only the App itself and its tokens may do, and the refusals at the door."""
    app, bot = walk.as_app(), walk.as_bot()
    found = walk.ask(app, "GET", "/app/installations")
    for path in ("/app", f"/app/installations/{found[0]['id']}", f"{REPO}/installation"):
        walk.ask(app, "GET", path)
    walk.ask(walk.people["owner"], "GET", "/apps/porchbot")
    tokens = f"/app/installations/{found[0]['id']}/access_tokens"
    walk.ask(app, "POST", tokens, 201, permissions={"contents": "read"}, repositories=["packages"])
    walk.ask(app, "POST", tokens, 422, permissions={"deployments": "write"})
    walk.ask(bot, "GET", "/installation/repositories")
    walk.ask(walk.client("token ghp_wrong"), "GET", REPO, 401)
    walk.ask(walk.client("Bearer not.a.token"), "GET", "/app", 401)
    walk.ask(walk.people["author"], "POST", f"{REPO}/check-runs", 403, name="x", head_sha="0" * 40)
    walk.ask(bot, "GET", "/nothing/here", 404)
    walk.ask(bot, "GET", f"{REPO}/pulls/99", 404)
    assert bot.post(f"{REPO}/labels", content=b"{").status_code == 400
    assert bot.get(REPO, headers={"User-Agent": ""}).status_code == 403
    other = walk.forge.state.add_repository("owner", "other")
    installation = walk.forge.state.install(walk.app, other)
    for suspended in (True, False):
        walk.forge.state.suspend(installation, suspended)
    walk.ask(bot, "DELETE", "/installation/token", 204)
    walk.ask(bot, "GET", REPO, 401)


def test_every_operation_and_webhook_keeps_to_the_description(walk: Walk) -> None:
    """Short-cut: validate what the stories happen to ask; the rest drifts unseen."""
    validator = session_validator()
    before = Counter(validator.answers)
    for part in (read_repository, write_refs, be_an_app):
        part(walk)
    pull = open_pull(walk, draft=True)
    talk(walk, pull["number"])
    check(walk, walk.ask(walk.people["author"], "GET", f"{REPO}/pulls/1")["head"]["sha"])
    live(walk, pull)
    close_and_fork(walk)
    keep_issues(walk)
    keep_hooks(walk)
    release_and_remark(walk)
    write_objects(walk)
    ask_organizations(walk)
    walk.watch.verify()
    seen = {(method, template) for method, template, _ in validator.answers - before}
    assert not set(validator.operations) - seen
