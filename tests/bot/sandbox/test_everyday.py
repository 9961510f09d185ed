"""What PyGithub's users do every day: objects of git, remarks, releases, hooks, forks, teams."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from github import InputGitTreeElement

from bot.sandbox.records.accounts import Role
from bot.sandbox.records.repository import Pull
from tests.bot.sandbox.world import World, refused, wait_until

Api = Callable[..., httpx.Response]


def test_a_commit_is_made_by_hand(world: World) -> None:
    seen = world.repository("author")
    base = seen.get_git_ref("heads/main").object.sha
    parent = seen.get_git_commit(base)
    blob = seen.create_git_blob("aGVsbG8K", "base64")
    elements = [
        InputGitTreeElement("docs/hello", "100755", "blob", sha=blob.sha),
        InputGitTreeElement("net/values.yaml", "100644", "blob", sha=None),
    ]
    tree = seen.create_git_tree(elements, parent.tree)
    commit = seen.create_git_commit("By hand", tree, [parent])
    seen.create_git_ref("refs/heads/topic", commit.sha)
    listed = seen.get_git_tree("topic", recursive=True)
    assert [(e.path, e.mode, e.type) for e in listed.tree] == [
        ("docs", "040000", "tree"),
        ("docs/hello", "100755", "blob"),
    ]
    git = world.clone("owner")
    git.run("checkout", "--quiet", "topic")
    git.run("fsck", "--strict")
    assert (git.folder / "docs" / "hello").read_text() == "hello\n"
    bad = [InputGitTreeElement("../x", "100644", "blob", content="x")]
    assert refused(lambda: seen.create_git_tree(bad, parent.tree)) == (
        422,
        "tree.path contains a malformed path component",
    )
    assert seen.merge("main", "topic").sha == seen.get_branch("main").commit.sha
    assert seen.merge("main", "topic") is None
    assert refused(lambda: seen.merge("main", "nowhere")) == (404, "Head does not exist")


def test_remarks_at_lines(world: World, pull: Pull) -> None:
    seen = world.repository("approver").get_pull(1)
    head = world.repository("approver").get_commit(pull.head_sha)
    made = seen.create_review_comment("why 9?", head, "net/values.yaml", line=2)
    answer = world.repository("author").get_pull(1).create_review_comment_reply(made.id, "because")
    assert answer.in_reply_to_id == made.id
    assert [c.body for c in seen.get_review_comments()] == ["why 9?", "because"]
    assert "+b: 9" in made.diff_hunk
    made.edit("why so many?")
    assert seen.get_review_comment(made.id).body == "why so many?"
    assert refused(lambda: world.repository("outsider").get_pull(1).get_review_comment(
        made.id
    ).edit("x"))[0] == 403  # fmt: skip
    made.delete()
    assert seen.get_review_comments().totalCount == 1


def test_a_release_makes_its_tag(world: World) -> None:
    seen = world.repository("author")
    draft = seen.create_git_release("net/v1", "One", "text", draft=True)
    assert "refs/tags/net/v1" not in world.repo.refs
    assert world.repository("outsider").get_releases().totalCount == 0
    draft.update_release("One", "text", draft=False)
    assert world.repo.refs["refs/tags/net/v1"] == world.repo.branch("main")
    assert world.repository("outsider").get_latest_release().tag_name == "net/v1"
    assert refused(lambda: seen.create_git_release("net/v1", "Again", ""))[0] == 422
    seen.get_release("net/v1").delete_release()
    assert "refs/tags/net/v1" in world.repo.refs


def test_the_latest_release_is_what_was_made_that(world: World, api: Api) -> None:
    """Short-cuts refused: the newest is the latest; any value of the field is taken."""
    main, at = f"/repos/{world.repo.full_name}", world.repo.branch("main")
    seen = world.repository("author")
    seen.create_git_ref("refs/tags/v1", at)

    def made(tag: str, **fields: object) -> int:
        token = world.token("author")
        answer = api("POST", f"{main}/releases", token, json={"tag_name": tag, **fields})
        return int(answer.json()["id"]) if answer.status_code == 201 else answer.status_code

    def latest() -> str:
        return str(seen.get_latest_release().tag_name)

    assert made("v1", make_latest="false") > 422
    assert latest() == "v1"  # where none was chosen, the newest is
    assert made("v2") > 422
    assert made("net/v3", make_latest="false") > 422
    assert latest() == "v2"
    assert made("v4", make_latest="true", prerelease=True) > 422
    assert latest() == "v2"
    assert made("v5", make_latest=False) == made("v5", make_latest="no") == 422
    seen.get_release("v1").update_release("One", "text", make_latest="true")
    assert latest() == "v1"
    seen.get_release("v1").update_release("One", "text", make_latest="false")
    assert latest() == "net/v3"


def test_a_missed_webhook_is_found_and_sent_again(world: World, pull: Pull, api: Api) -> None:
    """Short-cut: answer an empty list; a bot that looks for what it missed finds nothing."""
    before = world.hooks()
    listed = api("GET", "/app/hook/deliveries?per_page=2", world.jwt())
    following = api("GET", listed.links["next"]["url"], world.jwt())
    assert "cursor=" in listed.links["next"]["url"]
    ids = [one["id"] for one in (*listed.json(), *following.json())]
    assert ids == sorted(set(ids), reverse=True)
    newest = listed.json()[0]
    assert (newest["guid"], newest["status_code"]) == (before[-1].headers["X-GitHub-Delivery"], 202)
    again = api("POST", f"/app/hook/deliveries/{newest['id']}/attempts", world.jwt())
    assert again.status_code == 202
    wait_until(lambda: len(world.hooks()) == len(before) + 1)
    assert world.hooks()[-1].body == before[-1].body
    assert world.hooks()[-1].headers["X-GitHub-Delivery"] == newest["guid"]
    assert api("GET", "/app/hook/deliveries", world.jwt()).json()[0]["redelivery"] is True
    assert api("GET", "/app/hook/deliveries", world.token("owner")).status_code == 401


def test_a_repository_has_webhooks_of_its_own(world: World) -> None:
    owner = world.repository("owner")
    config = {"url": f"{world.received.url}/own", "content_type": "json", "secret": "s"}
    hook = owner.create_hook("web", config, ["push"], active=True)
    start = len(world.hooks())
    world.commit("main", {"n": "1"})
    own = [h for h in world.hooks()[start:] if h.headers["X-GitHub-Hook-ID"] == str(hook.id)]
    assert [h.name for h in own] == ["push"]
    assert "installation" not in own[0].payload
    world.forge.observers.clear()  # PyGithub sends a name that GitHub does not describe here
    hook.edit("web", config, events=["push"], active=False)
    start = len(world.hooks())
    world.commit("main", {"n": "2"})
    assert not any(h.headers["X-GitHub-Hook-ID"] == str(hook.id) for h in world.hooks()[start:])
    hook.delete()
    assert refused(lambda: owner.get_hook(hook.id))[0] == 404


def test_a_fork_is_made_and_follows(world: World, api: Api) -> None:
    token = world.token("outsider")
    made = api("POST", "/repos/owner/catalog/forks", token, json={})
    assert (made.status_code, made.json()["full_name"]) == (202, "outsider/catalog")
    assert api("POST", "/repos/owner/catalog/forks", token).json()["id"] == made.json()["id"]
    world.commit("main", {"n": "1"})
    for kind in ("fast-forward", "none"):
        asked = {"branch": "main"}
        answer = api("POST", "/repos/outsider/catalog/merge-upstream", token, json=asked)
        assert answer.json()["merge_type"] == kind
    fork = world.state.repository("outsider", "catalog")
    assert fork.branch("main") == world.repo.branch("main")
    listed = api("GET", "/repos/owner/catalog/forks", token).json()
    assert [one["full_name"] for one in listed] == ["outsider/catalog"]


@pytest.mark.parametrize(
    ("login", "role"),
    [("owner", "admin"), ("author", "write"), ("approver", "read"), ("outsider", "none")],
)
def test_an_organization_gives_roles_by_membership_and_team(
    world: World, login: str, role: str
) -> None:
    state = world.state
    state.organizations.add("acme", admins=("owner",), members=("author", "approver"))
    repo = state.add_repository("acme", "packages", private=True)
    team = state.organizations.add_team("acme", "Net", ("author",))
    state.organizations.grant(team, repo, Role.WRITE)
    assert state.role(repo, state.user(login)).word == role
    installation = state.install(world.app, repo)
    assert installation.account.kind == "Organization"
    with state.lock:
        state.organizations.find("acme").members.pop("approver")
    assert state.role(repo, state.user("approver")) is Role.NONE
