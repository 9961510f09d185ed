"""Contents, refs, tags, commits, branches and rules, through PyGithub."""

from __future__ import annotations

import base64
from collections.abc import Callable

import httpx
import pytest
from github import GithubException, InputGitAuthor, UnknownObjectException

from bot.sandbox.records.repository import Pull
from tests.bot.sandbox.world import World

Api = Callable[..., httpx.Response]
REPO = "/repos/owner/catalog"


def test_a_file_is_replaced_only_by_who_knows_it(world: World, api: Api) -> None:
    """Fails on a forge that writes over what another wrote meanwhile."""
    seen = world.repository("author")
    made = seen.create_file("docs/a.txt", "Add", "one\n", branch="main")
    assert made["commit"].author.name == "Author"
    url = f"{REPO}/contents/docs/a.txt"
    asked = {"message": "m", "content": base64.b64encode(b"two").decode()}
    assert api("PUT", url, world.token("author"), json=asked).status_code == 422
    watching = list(world.forge.observers)
    world.forge.observers.clear()  # its 409 is "one of" two schemas that any error fits
    wrong = api("PUT", url, world.token("author"), json=asked | {"sha": "1" * 40})
    world.forge.observers.extend(watching)
    assert (wrong.status_code, wrong.json()["message"]) == (
        409,
        f"docs/a.txt does not match {'1' * 40}",
    )
    file = seen.get_contents("docs/a.txt")
    changed = seen.update_file("docs/a.txt", "Change", "two\n", file.sha)
    assert seen.get_contents("docs/a.txt").decoded_content == b"two\n"
    commit = seen.get_commit(changed["commit"].sha)
    assert (commit.author.login, [f.filename for f in commit.files]) == ("author", ["docs/a.txt"])
    seen.delete_file("docs/a.txt", "Remove", seen.get_contents("docs/a.txt").sha)
    with pytest.raises(UnknownObjectException):
        seen.get_contents("docs")
    gone = api("DELETE", url, world.token("author"), json={"message": "m", "sha": file.sha})
    assert gone.status_code == 404


def test_a_commit_can_have_another_author(world: World) -> None:
    seen = world.repository("author")
    who = InputGitAuthor("Someone", "approver@else.example")
    seen.create_git_ref("refs/heads/new", world.repo.refs["refs/heads/main"])
    done = seen.create_file("b", "Add", "x", branch="new", author=who)
    commit = seen.get_commit(done["commit"].sha)
    assert (commit.author.login, commit.commit.author.name) == ("approver", "Someone")
    assert world.repo.activity[-1].actor.login == "author"


def test_folders_links_and_raw_files(world: World, api: Api) -> None:
    git = world.clone("author")
    (git.folder / "net" / "link").symlink_to("values.yaml")
    git.write("net/bytes.bin", b"\x00\x01")
    git.run("push", "--quiet", "origin", "HEAD:main")
    listed = api("GET", f"{REPO}/contents/net").json()
    assert {e["name"]: e["type"] for e in listed} == {
        "values.yaml": "file",
        "link": "symlink",
        "bytes.bin": "file",
    }
    assert [e["name"] for e in api("GET", f"{REPO}/contents").json()] == ["net"]
    assert api("GET", f"{REPO}/contents/net/link").json()["target"] == "values.yaml"
    raw = api(
        "GET", f"{REPO}/contents/net/bytes.bin", headers={"Accept": "application/vnd.github.raw"}
    )
    assert raw.content == b"\x00\x01"
    assert api("GET", f"{REPO}/contents/net", params={"ref": "nowhere"}).status_code == 404
    assert api("GET", f"{REPO}/contents/net/none").status_code == 404
    assert api("GET", f"{REPO}/contents/net/values.yaml/deeper").status_code == 404


def test_refs(world: World, api: Api) -> None:
    seen, main = world.bot(), world.repo.refs["refs/heads/main"]
    made = seen.create_git_ref("refs/heads/new", main)
    assert (made.ref, made.object.type, made.object.sha) == ("refs/heads/new", "commit", main)

    def refused(ref: str, sha: str = main) -> str:
        answer = api(
            "POST",
            f"{REPO}/git/refs",
            world.installation_token(),
            json={"ref": ref, "sha": sha},
        )
        assert answer.status_code == 422
        message: str = answer.json()["message"]
        return message

    assert refused("refs/heads/new") == "Reference already exists"
    assert refused("refs/heads/new/below") == "Reference already exists"
    assert refused("refs/heads/other", "1" * 40) == "Object does not exist"
    assert refused("heads/x").startswith("Reference name must start with 'refs/'")
    assert refused("refs/heads/a..b") == "Validation Failed"
    later = world.commit("main", {"x": "1"}).sha
    aside = world.commit("aside", {"y": "1"}).sha
    made.edit(later)
    assert world.repo.branch("new") == later
    world.commit("new", {"z": "1"})
    with pytest.raises(GithubException) as caught:
        made.edit(aside)
    assert caught.value.data["message"] == "Update is not a fast forward"
    made.edit(aside, force=True)
    assert world.repo.branch("new") == aside
    made.delete()
    gone = api("DELETE", f"{REPO}/git/refs/heads/new", world.installation_token())
    assert (gone.status_code, gone.json()["message"]) == (422, "Reference does not exist")
    assert api("GET", f"{REPO}/git/ref/heads/new").status_code == 404
    assert [r.ref for r in seen.get_git_matching_refs("heads/a")] == ["refs/heads/aside"]
    assert list(seen.get_git_matching_refs("tags/none")) == []


def test_an_annotated_tag_is_an_object_and_then_a_ref(world: World, api: Api) -> None:
    """Fails on a forge that says `commit` of a ref which holds a tag object."""
    bot, main = world.bot(), world.repo.refs["refs/heads/main"]
    tag = bot.create_git_tag("net/v1", "net v1\n", main, "commit")
    bot.create_git_ref("refs/tags/net/v1", tag.sha)
    ref = bot.get_git_ref("tags/net/v1")
    assert (ref.object.type, ref.object.sha) == ("tag", tag.sha)
    read = bot.get_git_tag(tag.sha)
    assert (read.tag, read.object.sha, read.tagger.name) == ("net/v1", main, "porchbot[bot]")
    assert read.message == "net v1\n"
    assert [(t.name, t.commit.sha) for t in bot.get_tags()] == [("net/v1", main)]
    git = world.clone("author")
    assert git.run("cat-file", "-t", "net/v1").strip() == "tag"
    assert git.run("rev-parse", "net/v1^{commit}").strip() == main
    token = world.installation_token()
    wrong = {"tag": "x", "message": "x", "object": "1" * 40, "type": "commit"}
    assert api("POST", f"{REPO}/git/tags", token, json=wrong).status_code == 422
    assert api("GET", f"{REPO}/git/tags/{main}", token).status_code == 404
    assert bot.get_git_commit(main).message == "Begin"


def test_history_and_comparison(world: World, api: Api) -> None:
    first = world.repo.refs["refs/heads/main"]
    second = world.commit("main", {"other/a": "1"}).sha
    third = world.commit("side", {"net/values.yaml": "a: 2\n"}).sha
    fourth = world.commit("main", {"other/a": "2"}, login="owner").sha
    seen = world.repository("author")
    assert [c.sha for c in seen.get_commits()] == [fourth, second, first]
    assert [c.sha for c in seen.get_commits(sha="side", path="net")] == [third, first]
    assert [c.sha for c in seen.get_commits(author="owner")] == [fourth, first]
    compared = seen.compare("main", "side")
    assert (compared.status, compared.ahead_by, compared.behind_by) == ("diverged", 1, 1)
    assert compared.merge_base_commit.sha == second
    assert [f.filename for f in compared.files] == ["net/values.yaml"]
    assert seen.compare(first, second).status == "ahead"
    assert seen.compare(second, first).status == "behind"
    assert seen.compare("main", "main").status == "identical"
    assert seen.get_commit("side").sha == third
    assert api("GET", f"{REPO}/commits/nowhere").status_code == 422
    assert api("GET", f"{REPO}/compare/main...nowhere").status_code == 404
    patch = seen.get_commit(third).files[0].patch
    assert patch.startswith("@@ -1,3 +1 @@\n-a: 1\n")


def test_activity_goes_on_by_cursor(world: World, api: Api) -> None:
    for number in range(5):
        world.commit("main", {"n": str(number)}, login="author" if number % 2 else "approver")
    token = world.installation_token()
    url = f"{REPO}/activity"
    first = api("GET", url, token, params={"per_page": 4, "ref": "main"})
    assert 'rel="next"' in first.headers["link"]
    following = first.headers["link"].partition("<")[2].partition(">")[0]
    rest = httpx.get(following, headers={"Authorization": f"token {token}"}, timeout=60)
    assert len(first.json()) + len(rest.json()) == 6
    assert rest.links.keys() == {"prev"}
    by_author = api("GET", url, token, params={"actor": "author"}).json()
    assert [a["activity_type"] for a in by_author] == ["push", "push"]
    oldest = api("GET", url, token, params={"direction": "asc", "activity_type": "push"}).json()
    assert [a["actor"]["login"] for a in oldest][:2] == ["approver", "author"]


def test_a_merge_is_told_as_such(world: World, api: Api, pull: Pull) -> None:
    world.repository("approver").get_pull(pull.number).merge()
    listed = api("GET", f"{REPO}/activity", params={"activity_type": "pr_merge"}).json()
    assert [(a["ref"], a["actor"]["login"]) for a in listed] == [("refs/heads/main", "approver")]


def test_an_empty_repository(world: World, api: Api) -> None:
    world.state.add_repository("owner", "empty")
    token = world.token("owner")
    assert api("GET", "/repos/owner/empty/commits", token).status_code == 409
    assert api("GET", "/repos/owner/empty/branches", token).json() == []
    asked = {"ref": "refs/heads/x", "sha": "1" * 40}
    made = api("POST", "/repos/owner/empty/git/refs", token, json=asked)
    assert (made.status_code, made.json()["message"]) == (409, "Git Repository is empty.")
    first = {"message": "First", "content": "eA=="}
    assert api("PUT", "/repos/owner/empty/contents/a", token, json=first).status_code == 201
    assert api("GET", "/repos/owner/empty/branches", token).json()[0]["name"] == "main"


def test_what_a_role_shows_of_a_repository(world: World) -> None:
    rights = world.repository("outsider").permissions
    assert (rights.pull, rights.push, rights.admin) == (True, False, False)
    rights = world.repository("approver").permissions
    assert (rights.maintain, rights.admin) == (True, False)
