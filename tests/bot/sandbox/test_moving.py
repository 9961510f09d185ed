"""Repositories that move: renamed, transferred, archived, gone; accounts and installations too."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from bot.sandbox.records.repository import Pull
from tests.bot.sandbox.world import World

Api = Callable[..., httpx.Response]
OLD = "/repos/owner/catalog"


@pytest.fixture
def heard(world: World) -> Callable[[], list[str]]:
    """What the App was told, with all events that there are."""
    world.app.events = (*world.app.events, "repository")
    for installation in world.state.data.installations.values():
        installation.events = world.app.events
    start = len(world.hooks())
    return lambda: [hook.name for hook in world.hooks()[start:]]


def test_an_old_name_leads_to_the_number(
    world: World, api: Api, pull: Pull, heard: Callable[[], list[str]]
) -> None:
    """Short-cut: answer under both names; a client that never follows works here only."""
    world.state.admin.rename(world.repo, "packages")
    number = f"{world.forge.api_url}/repositories/{world.repo.id}"
    token = world.token("author")
    found = api("GET", f"{OLD}/pulls?state=all", token)
    assert found.status_code == 301
    assert found.headers["location"] == found.json()["url"] == f"{number}/pulls?state=all"
    assert found.json()["message"] == "Moved Permanently"
    asked = {"body": "hello"}
    posted = api("POST", f"{OLD}/issues/1/comments", token, json=asked)
    assert (posted.status_code, posted.json()["url"]) == (307, f"{number}/issues/1/comments")
    assert pull.comments == []
    assert api("POST", posted.json()["url"], token, json=asked).status_code == 201
    assert api("PATCH", f"{number}/pulls/1", token, json={"title": "New"}).status_code == 200
    assert heard()[0] == "repository.renamed"
    listed = api("GET", f"{number}/commits?per_page=1", token)
    assert "link" not in listed.headers or number in listed.headers["link"]
    world.repo.private = True
    assert api("GET", OLD, world.token("outsider")).status_code == 404
    world.state.add_repository("owner", "catalog")
    assert api("GET", OLD, token).json()["id"] != world.repo.id


def test_git_follows_to_the_new_name(world: World, pull: Pull) -> None:
    git = world.clone("author")
    world.state.admin.rename(world.repo, "packages")
    git.write("a", "1")
    git.run("push", "--quiet", "origin", "HEAD:topic")
    assert world.repo.branch("topic") is not None
    git.run("fetch", "--quiet", "origin")
    again = world.clone("owner")
    assert again.run("rev-parse", "origin/topic").strip() == world.repo.branch("topic")
    outsider = world.forge.clone_url("owner", "catalog", "outsider", world.token("outsider"))
    world.repo.private = True
    assert "not found" in again.run("ls-remote", outsider, check=False)


def test_a_transfer_takes_the_repository_out_of_the_installation(
    world: World, api: Api, heard: Callable[[], list[str]]
) -> None:
    token = world.installation_token()
    world.state.admin.transfer(world.repo, "approver")
    assert heard() == ["repository.transferred", "installation_repositories.removed"]
    transferred = next(h for h in world.hooks() if h.name == "repository.transferred").payload
    assert transferred["changes"]["owner"]["from"]["user"]["login"] == "owner"
    assert transferred["repository"]["full_name"] == "approver/catalog"
    listed = api("GET", "/installation/repositories", token).json()
    assert listed["total_count"] == 0
    assert api("GET", OLD, world.token("author")).status_code == 301


def test_an_archived_repository_is_read_only(
    world: World, api: Api, pull: Pull, heard: Callable[[], list[str]]
) -> None:
    git = world.clone("author")
    world.state.admin.archive(world.repo)
    token = world.token("author")
    refused = api("POST", f"{OLD}/issues/1/comments", token, json={"body": "x"})
    assert (refused.status_code, refused.json()["message"]) == (
        403,
        "Repository was archived so is read-only.",
    )
    assert api("GET", f"{OLD}/pulls/1", token).json()["base"]["repo"]["archived"] is True
    words = git.run("push", "origin", "HEAD:topic", check=False)
    assert "archived" in words or "403" in words
    world.state.admin.archive(world.repo, archived=False)
    git.run("push", "--quiet", "origin", "HEAD:topic")
    assert heard()[:2] == ["repository.archived", "repository.unarchived"]


def test_everything_that_happens_to_a_repository_is_told(
    world: World, heard: Callable[[], list[str]]
) -> None:
    admin, (installation,) = world.state.admin, world.state.data.installations.values()
    world.commit("release", {"r": "1"})
    start = len(heard())
    admin.set_private(world.repo, True)
    admin.set_private(world.repo, False)
    admin.edit(world.repo, description="Packages", default_branch="release")
    admin.edit(world.repo, description="Packages")
    admin.rename_account(world.state.user("owner"), "keeper")
    admin.accept_permissions(installation, {"contents": "read"})
    admin.remove_from(installation, world.repo)
    world.state.install(world.app, world.repo)
    world.state.delete_repository(world.repo)
    assert heard()[start:] == [
        "repository.privatized",
        "repository.publicized",
        "repository.edited",
        "installation_target.renamed",
        "installation.new_permissions_accepted",
        "installation_repositories.removed",
        "installation_repositories.added",
        "repository.deleted",
    ]
    told = {hook.name: hook.payload for hook in world.hooks()}
    assert told["repository.edited"]["changes"] == {
        "description": {"from": None},
        "default_branch": {"from": "main"},
    }
    assert told["installation_target.renamed"]["changes"] == {"login": {"from": "owner"}}
