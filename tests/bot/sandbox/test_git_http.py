"""Git over HTTP: who may read and push, how a push may look, and what follows from it."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from bot.sandbox.git.bare import BareGit
from bot.sandbox.records.refs import ZERO
from tests.bot.sandbox.world import World


def test_a_push_in_chunks_arrives_whole(world: World) -> None:
    """Fails on a door that reads `Content-Length`, or answers before the body has come."""
    git = world.clone("author")
    git.run("config", "http.postBuffer", "65536")  # a larger push is sent chunked
    git.run("checkout", "--quiet", "-b", "drafts/big")
    sha = git.write("big.bin", os.urandom(3_000_000))
    git.run("push", "--quiet", "origin", "drafts/big")
    assert world.repo.branch("drafts/big") == sha
    fresh = world.clone("approver")
    assert fresh.run("rev-parse", "origin/drafts/big").strip() == sha


def test_what_was_pushed_is_there_when_the_push_ends(world: World) -> None:
    """Fails on a forge that takes notice of a push after it has answered."""
    git, seen = world.clone("author"), world.repository("author")
    for number in range(3):
        sha = git.write("n", str(number))
        git.run("push", "--quiet", "origin", f"HEAD:refs/heads/drafts/{number}")
        assert seen.get_branch(f"drafts/{number}").commit.sha == sha


def test_an_atomic_push_is_all_or_nothing(world: World) -> None:
    git = world.clone("author")
    git.write("a", "1")
    git.run("push", "--quiet", "origin", "HEAD:refs/heads/one")
    git.run("commit", "--quiet", "--amend", "-m", "other")
    words = git.run("push", "--atomic", "origin", "HEAD:one", "HEAD:two", check=False)
    assert "rejected" in words
    assert world.repo.branch("two") is None


def test_a_push_with_a_lease_sees_that_the_branch_moved(world: World) -> None:
    git = world.clone("author")
    git.write("a", "1")
    git.run("push", "--quiet", "origin", "HEAD:refs/heads/one")
    known = git.run("rev-parse", "HEAD").strip()
    world.commit("one", {"b": "2"})
    git.run("commit", "--quiet", "--amend", "-m", "other")
    words = git.run("push", f"--force-with-lease=one:{known}", "origin", "HEAD:one", check=False)
    assert "stale info" in words


def test_a_gzipped_request_is_read(world: World) -> None:
    """Fetching with many haves, git compresses what it asks; an older protocol does so too."""
    git = world.clone("author")
    for number in range(60):
        git.write("n", str(number))
    world.commit("main", {"later": "1"})
    git.run("-c", "protocol.version=0", "fetch", "--quiet", "origin")
    assert git.run("rev-parse", "origin/main").strip() == world.repo.branch("main")
    body = gzip.compress(b"0000")
    answer = httpx.post(
        f"{world.forge.web_url}/owner/catalog.git/git-upload-pack",
        content=body,
        headers={
            "Content-Type": "application/x-git-upload-pack-request",
            "Content-Encoding": "gzip",
        },
        timeout=60,
    )
    assert answer.status_code == 200


def test_the_second_protocol_is_spoken(world: World) -> None:
    git = world.clone("author")
    words = git.run("ls-remote", "origin", env={"GIT_TRACE_PACKET": "1"})
    assert "version 2" in words


def test_without_an_account_git_is_asked_for_one(world: World) -> None:
    place = f"{world.forge.web_url}/owner/catalog.git/info/refs"
    answer = httpx.get(place, params={"service": "git-receive-pack"}, timeout=60)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Basic realm="GitHub"'
    assert httpx.get(place, params={"service": "git-upload-pack"}, timeout=60).status_code == 200


def test_a_private_repository_is_not_there_for_others(world: World) -> None:
    world.state.add_repository("owner", "secret", private=True)
    place = f"{world.forge.web_url}/owner/secret.git/info/refs?service=git-upload-pack"
    assert httpx.get(place, timeout=60).status_code == 401
    outsider = httpx.BasicAuth("outsider", world.token("outsider"))
    assert httpx.get(place, auth=outsider, timeout=60).status_code == 404
    owner = httpx.BasicAuth("owner", world.token("owner"))
    assert httpx.get(place, auth=owner, timeout=60).status_code == 200


def test_a_token_counts_and_not_the_name_beside_it(world: World) -> None:
    """Fails on a door that compares the name with the token's owner: GitHub never asks for it."""
    world.state.add_repository("owner", "secret", private=True)
    place = f"{world.forge.web_url}/owner/secret.git/info/refs?service=git-receive-pack"
    token, other = world.token("owner"), world.token("outsider")
    given = [("x", token), ("outsider", token), ("oauth2", token), (token, "x-oauth-basic")]
    given += [(token, ""), ("owner", other), ("owner", "secret"), (other, ""), ("", "")]
    came = [httpx.get(place, auth=pair, timeout=60).status_code for pair in given]
    assert came == [200, 200, 200, 200, 200, 404, 401, 404, 401]


def test_readers_may_not_push(world: World) -> None:
    git = world.clone("outsider")
    git.write("a", "1")
    words = git.run("push", "origin", "HEAD:refs/heads/mine", check=False)
    assert "denied to outsider" in words


def test_an_app_pushes_with_its_token_if_it_may_write_contents(world: World) -> None:
    """Fails on a door that looks at the token's owner only, not at its permissions."""
    reader = world.clone("x-access-token", world.installation_token(contents="read"))
    reader.write("a", "1")
    words = reader.run("push", "origin", "HEAD:refs/heads/bot", check=False)
    assert "Write access to repository not granted" in words
    writer = world.clone("x-access-token", world.installation_token())
    sha = writer.write("a", "1")
    writer.run("push", "--quiet", "origin", "HEAD:refs/heads/bot")
    assert world.repo.branch("bot") == sha
    assert world.repo.activity[-1].actor.login == "porchbot[bot]"


def test_a_protected_branch_takes_no_push(world: World) -> None:
    world.state.protect(world.repo, "main")
    git = world.clone("author")
    git.write("a", "1")
    words = git.run("push", "origin", "HEAD:main", "HEAD:refs/heads/other", check=False)
    assert "GH006: Protected branch update failed for refs/heads/main" in words
    assert world.repo.branch("other") is not None


@pytest.mark.usefixtures("pull")
def test_the_refs_of_pull_requests_are_read_and_not_written(world: World) -> None:
    git = world.clone("author")
    git.run("fetch", "--quiet", "origin", "refs/pull/1/head")
    assert git.run("rev-parse", "FETCH_HEAD").strip() == world.repo.pulls[1].head_sha
    words = git.run("push", "origin", "HEAD:refs/pull/1/head", check=False)
    assert "deny updating a hidden ref" in words


def test_a_push_is_told_and_remembered(world: World, api: Callable[..., httpx.Response]) -> None:
    git = world.clone("author")
    before = world.repo.branch("main")
    first = git.write("net/values.yaml", "a: 2\n", "First")
    git.run("push", "--quiet", "origin", "HEAD:refs/heads/drafts/a")
    git.run("commit", "--quiet", "--amend", "-m", "Again")
    second = git.run("rev-parse", "HEAD").strip()
    git.run("push", "--quiet", "--force", "origin", "HEAD:refs/heads/drafts/a")
    git.run("push", "--quiet", "origin", ":refs/heads/drafts/a")
    hooks = world.hooks()
    pushes = [h.payload for h in hooks if h.name == "push" and "drafts/a" in h.payload["ref"]]
    told = [(p["before"], p["after"], p["created"], p["forced"], p["deleted"]) for p in pushes]
    assert told == [
        (ZERO, first, True, False, False),
        (first, second, False, True, False),
        (second, ZERO, False, False, True),
    ]
    assert [c["modified"] for c in pushes[0]["commits"]] == [["net/values.yaml"]]
    assert {h.name for h in hooks} >= {"create", "delete", "check_suite.requested"}
    listed = api(
        "GET",
        "/repos/owner/catalog/activity",
        world.token("author"),
        params={"ref": "refs/heads/drafts/a"},
    ).json()
    assert [(a["activity_type"], a["actor"]["login"]) for a in listed] == [
        ("branch_deletion", "author"),
        ("force_push", "author"),
        ("branch_creation", "author"),
    ]
    assert before == world.repo.branch("main")


def test_more_than_three_tags_at_once_are_not_told(world: World) -> None:
    git = world.clone("author")
    for number in range(4):
        git.run("tag", f"t{number}")
    git.run("push", "--quiet", "--tags", "origin")
    assert len([r for r in world.repo.refs if r.startswith("refs/tags/")]) == 4
    assert not [h for h in world.hooks() if h.payload.get("ref_type") == "tag"]
    git.run("tag", "-a", "-m", "One", "t9")
    git.run("push", "--quiet", "origin", "t9")
    made = [h for h in world.hooks() if h.payload.get("ref_type") == "tag"]
    assert [h.payload["ref"] for h in made] == ["t9"]


REFUSED = {
    b"refs/heads/main": "GH002: Sorry, branch or tag names starting with 'refs/'",
    b"0123456789abcdef" * 2 + b"01234567": "GH002: Sorry, branch or tag names consisting of 40 hex",
    b"drafts/\xff/w": "GH002",
}


def test_names_that_the_forge_refuses(world: World) -> None:
    """The short-cut takes what git takes: one branch then has the full name of another."""
    git = world.clone("author")
    for name, text in REFUSED.items():
        words = git.run("push", "origin", f"HEAD:refs/heads/{os.fsdecode(name)}", check=False)
        assert text in words
        assert "(pre-receive hook declined)" in words
    assert set(world.repo.refs) == {"refs/heads/main"}


def _bare(world: World) -> Path:
    opened = world.state.git(world.repo)
    assert isinstance(opened, BareGit)
    return opened.path


def test_a_name_with_every_line_end_but_a_newline(world: World) -> None:
    """The short-cut cuts git's output where Python sees a line's end: no push works any more."""
    git = world.clone("author")
    name = "drafts/a\u2028b\x85c\u2029d/w"
    git.run("push", "--quiet", "origin", f"HEAD:refs/heads/{name}")
    git.run("pack-refs", "--all", cwd=_bare(world))
    git.run("push", "--quiet", "origin", "HEAD:refs/heads/other")
    assert set(world.repo.refs) == {f"refs/heads/{n}" for n in ("main", "other", name)}
