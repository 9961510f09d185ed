"""Classic protection and rulesets: told apart, obeyed together, in GitHub's words."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from github import GithubException

from bot.sandbox.records.accounts import Role
from bot.sandbox.records.repository import Pull
from bot.sandbox.rules.protection import pattern_of
from tests.bot.sandbox.world import World

Api = Callable[..., httpx.Response]
REPO = "/repos/owner/catalog"
RULES = f"{REPO}/rules/branches/main"


def types(api: Api, path: str = RULES) -> list[str]:
    return [rule["type"] for rule in api("GET", path).json()]


def test_each_door_tells_its_own_rules_only(world: World, api: Api) -> None:
    """Short-cut: one list of rules behind both, which hides that a client reads one alone."""
    state, repo = world.state, world.repo
    state.protect(repo, "main", [("classic", None), ("porchbot/publish", world.app.id)])
    assert types(api) == []
    branch = api("GET", f"{REPO}/branches/main", world.installation_token()).json()
    assert branch["protected"] is True
    assert branch["protection"]["required_status_checks"] == {
        "enforcement_level": "everyone",
        "contexts": ["classic", "porchbot/publish"],
        "checks": [
            {"context": "classic", "app_id": None},
            {"context": "porchbot/publish", "app_id": world.app.id},
        ],
    }
    del repo.protections["main"]
    state.rules.add(
        repo, required_checks=[("modern", None), ("mine", world.app.id)], required_reviews=2
    )
    assert sorted(types(api)) == ["pull_request", "required_status_checks"]
    rules = {rule["type"]: rule for rule in api("GET", RULES).json()}
    assert rules["required_status_checks"]["parameters"]["required_status_checks"] == [
        {"context": "modern"},
        {"context": "mine", "integration_id": world.app.id},
    ]
    branch = api("GET", f"{REPO}/branches/main").json()
    assert branch["protected"] is False
    assert branch["protection"]["required_status_checks"]["contexts"] == []
    assert types(api, f"{REPO}/rules/branches/other") == []


def test_a_merge_obeys_both(world: World, pull: Pull) -> None:
    state, repo = world.state, world.repo
    state.protect(repo, "main", [("classic", None)])
    state.rules.add(repo, required_checks=[("mine", world.app.id)])
    seen = world.repository("approver")
    commit = seen.get_commit(pull.head_sha)
    texts = []
    for context in ("classic", "mine"):
        with pytest.raises(GithubException) as refused:
            seen.get_pull(1).merge()
        assert refused.value.status == 405
        texts.append(refused.value.data["message"])
        commit.create_status("success", context=context)
    assert texts == [
        'Required status check "classic" is expected.',
        'Repository rule violations found\n\nRequired status check "mine" is expected.\n\n',
    ]
    with pytest.raises(GithubException):  # anybody may post a status; the check is the App's
        seen.get_pull(1).merge()
    world.bot().create_check_run("mine", pull.head_sha, conclusion="success")
    assert seen.get_pull(1).merge().merged


def test_an_unsigned_commit_is_refused_with_its_number(world: World) -> None:
    """Short-cut: refuse every push, or look at the tip alone."""
    world.state.rules.add(world.repo, ["drafts/**"], required_signatures=True)
    git = world.clone("author")
    git.run("push", "--quiet", "origin", "HEAD:drafts/net/core/empty")
    first = git.write("a", "1")
    signed = git.run("cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN SSH SIGNATURE-----\n x\n -----END SSH SIGNATURE-----\n\n", 1
    )
    (git.folder / ".git" / "signed").write_text(signed.replace("tree", "tree", 1))
    tip = git.run("hash-object", "-t", "commit", "-w", ".git/signed").strip()
    git.run("push", "--quiet", "origin", f"{tip}:refs/heads/drafts/net/core/signed")
    words = git.run(
        "push", "origin", "HEAD:drafts/net/core/one", "HEAD:refs/heads/free", check=False
    )
    lines = [line.removeprefix("remote: ").rstrip() for line in words.splitlines()]
    ref = "refs/heads/drafts/net/core/one"
    assert f"error: GH013: Repository rule violations found for {ref}." in lines
    assert "- Commits must have verified signatures." in lines
    at = lines.index("  Found 1 violation:")
    assert lines[at + 2].strip() == first
    assert "(push declined due to repository rule violations)" in words
    assert world.repo.branch("drafts/net/core/one") is None
    assert world.repo.branch("free") == first


def test_only_who_bypasses_writes_restricted_refs(world: World, api: Api) -> None:
    state, repo = world.state, world.repo
    everything: dict[str, Any] = dict.fromkeys(("creation", "update", "deletion"), True)
    state.rules.add(repo, ["drafts/**"], bypass=[world.app], **everything)
    state.rules.add(repo, ["v*"], target="tag", bypass=[Role.ADMIN], **everything)
    author, owner = world.clone("author"), world.clone("owner")
    bot = world.clone("x-access-token", world.installation_token())
    for git, ref, goes in (
        (author, "refs/heads/drafts/net/core/one", False),
        (author, "refs/heads/other", True),
        (owner, "refs/heads/drafts/x", False),
        (bot, "refs/heads/drafts/net/core/one", True),
        (bot, "refs/tags/v1", False),
        (owner, "refs/tags/v1", True),
        (author, "refs/tags/net/core/v1", True),
    ):
        words = git.run("push", "origin", f"HEAD:{ref}", check=False)
        assert (ref in repo.refs) is goes, (git.login, words)
        assert ("Cannot create ref due to creations being restricted." in words) is not goes
    author.write("a", "1")
    words = author.run("push", "origin", "HEAD:refs/heads/drafts/net/core/one", check=False)
    assert "Cannot update this protected ref." in words
    words = author.run("push", "origin", ":refs/heads/drafts/net/core/one", check=False)
    assert "Cannot delete this branch" in words
    sha = repo.branch("main")
    asked = {"ref": "refs/heads/drafts/x", "sha": sha}
    refused = api("POST", f"{REPO}/git/refs", world.token("author"), json=asked)
    assert (refused.status_code, refused.json()["message"]) == (
        422,
        "Repository rule violations found\n\n"
        "Cannot create ref due to creations being restricted.\n\n",
    )
    made = api("POST", f"{REPO}/git/refs", world.installation_token(), json=asked)
    assert made.status_code == 201


def test_changes_through_pull_requests_only(world: World, api: Api, pull: Pull) -> None:
    state, repo = world.state, world.repo
    state.rules.add(repo, pull_request=True, non_fast_forward=True)
    git = world.clone("owner")
    git.write("a", "1")
    words = git.run("push", "origin", "HEAD:main", check=False)
    assert "- Changes must be made through a pull request." in words
    asked = {"message": "m", "content": base64.b64encode(b"x").decode()}
    put = api("PUT", f"{REPO}/contents/x", world.token("author"), json=asked)
    assert (put.status_code, put.json()["message"]) == (
        409,
        "Repository rule violations found\n\nChanges must be made through a pull request.\n\n",
    )
    assert world.repository("approver").get_pull(1).merge().merged


def test_classic_protection_says_so(world: World) -> None:
    world.state.protect(world.repo, "main")
    git = world.clone("author")
    git.write("a", "1")
    words = git.run("push", "--atomic", "origin", "HEAD:main", "HEAD:x", check=False)
    assert "(protected branch hook declined)" in words
    assert world.repo.branch("x") is None
    with pytest.raises(GithubException) as refused:
        world.repository("author").get_git_ref("heads/main").edit(world.repo.branch("main"), True)
    assert refused.value.status == 422


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("drafts/*", "drafts/a", True),
        ("drafts/*", "drafts/a/b", False),
        ("drafts/**", "drafts/a/b", True),
        ("drafts/**/*", "drafts/a/b/c", True),
        ("drafts/**/*", "drafts/a", True),
        ("v?", "v1", True),
        ("v?", "v10", False),
        ("a.b", "axb", False),
    ],
)
def test_patterns(pattern: str, name: str, fits: bool) -> None:
    assert bool(pattern_of(pattern).fullmatch(name)) is fits


WORKFLOW = ".github/workflows/ci.yml"
REFUSED = (
    "refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml`"
    " without `workflows` permission"
)


def test_an_app_without_the_permission_changes_no_workflow(world: World, api: Api) -> None:
    """Short-cut: look at what a push adds; a tag on an old commit brings old workflows back."""
    old = world.repo.branch("main")
    bot = world.clone("x-access-token", world.installation_token())
    bot.write(WORKFLOW, "on: push\n")
    words = bot.run("push", "origin", "HEAD:refs/heads/ci", check=False)
    assert f"({REFUSED})" in words
    assert world.repo.branch("ci") is None
    asked = {"message": "m", "content": base64.b64encode(b"x").decode(), "branch": "main"}
    put = api("PUT", f"{REPO}/contents/{WORKFLOW}", world.installation_token(), json=asked)
    assert (put.status_code, put.json()["message"]) == (403, REFUSED)
    author = world.clone("author")
    author.write(WORKFLOW, "on: push\n")
    author.run("push", "--quiet", "origin", "HEAD:drafts/ci")
    world.repository("author").create_pull("main", "drafts/ci", title="CI")
    merge = api("PUT", f"{REPO}/pulls/1/merge", world.installation_token(), json={})
    assert (merge.status_code, merge.json()["message"]) == (403, REFUSED)
    assert world.repository("approver").get_pull(1).merge().merged
    tag: dict[str, Any] = {"ref": "refs/tags/old", "sha": old}
    made = api("POST", f"{REPO}/git/refs", world.installation_token(), json=tag)
    assert (made.status_code, made.json()["message"]) == (
        403,
        "Resource not accessible by integration",
    )
    strong = next(iter(world.state.data.installations.values()))
    strong.permissions["workflows"] = "write"
    made = api("POST", f"{REPO}/git/refs", world.installation_token(), json=tag)
    assert made.status_code == 201
