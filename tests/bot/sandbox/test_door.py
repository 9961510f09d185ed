"""What every answer of the API has in common."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from bot.sandbox.errors import RefusedError
from bot.sandbox.records.refs import RefChange
from bot.sandbox.records.repository import Pull
from tests.bot.sandbox.conftest import Clock
from tests.bot.sandbox.world import World

Api = Callable[..., httpx.Response]
REPO = "/repos/owner/catalog"


def test_links_between_pages_name_the_repository_by_its_number(world: World, api: Api) -> None:
    """Fails on a forge that routes `/repos/…` only, or links every list."""
    for number in range(5):
        world.commit(f"b{number}", {"a": str(number)})
    first = api("GET", f"{REPO}/branches", params={"per_page": 2, "protected": "false"})
    base = f"{world.forge.api_url}/repositories/{world.repo.id}/branches"
    query = "per_page=2&protected=false"
    assert first.headers["link"] == (
        f'<{base}?{query}&page=3>; rel="last", <{base}?{query}&page=2>; rel="next"'
    )
    second = httpx.get(f"{base}?{query}&page=2", headers={"User-Agent": "tests"}, timeout=60)
    assert [b["name"] for b in second.json()] == ["b2", "b3"]
    assert {'rel="prev"', 'rel="first"', 'rel="next"', 'rel="last"'} <= set(
        second.headers["link"].replace(",", ";").replace("; ", ";").split(";")
    )
    # A link that is followed gives links of the same form, so that the third page is found too.
    assert f'<{base}?{query}&page=3>; rel="next"' in second.headers["link"]
    assert "link" not in api("GET", f"{REPO}/branches").headers
    assert len(api("GET", f"{REPO}/branches", params={"per_page": 1000}).json()) == 6
    assert [b.name for b in world.repository("author").get_branches()][-1] == "main"
    assert api("GET", "/repositories/1/branches").status_code == 404


def test_what_did_not_change_has_no_body(world: World, api: Api, clock: Clock) -> None:
    token = world.token("author")
    clock.move(seconds=3600 - clock().timestamp() % 3600)  # what is counted is counted by the hour
    first = api("GET", f"{REPO}/branches", token)
    tag = first.headers["etag"]
    assert tag.startswith('W/"')
    again = api("GET", f"{REPO}/branches", token, headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["x-ratelimit-remaining"] == first.headers["x-ratelimit-remaining"]
    world.commit("new", {"a": "1"})
    changed = api("GET", f"{REPO}/branches", token, headers={"If-None-Match": tag})
    assert changed.status_code == 200


def test_every_answer_carries_githubs_headers(world: World, api: Api) -> None:
    while time.time() % 3600 > 3540:  # what is counted is counted by the hour
        time.sleep(1)
    token = world.installation_token()
    answer = api("GET", REPO, token)
    assert answer.headers["x-github-media-type"] == "github.v3; format=json"
    assert answer.headers["x-github-api-version-selected"] == "2022-11-28"
    assert len(answer.headers["x-github-request-id"]) == 16
    assert answer.headers["x-ratelimit-resource"] == "core"
    assert int(answer.headers["x-ratelimit-reset"]) > time.time()
    assert answer.headers["github-authentication-token-expiration"].endswith(" UTC")
    used = int(answer.headers["x-ratelimit-used"])
    assert int(api("GET", REPO, token).headers["x-ratelimit-used"]) == used + 1
    limits = api("GET", "/rate_limit", token).json()["rate"]
    assert limits["used"] == used + 1
    assert "127.0.0.1/32" in api("GET", "/meta").json()["hooks"]


def test_what_is_not_asked_well(world: World, api: Api) -> None:
    token = world.token("author")
    nameless = api("GET", REPO, headers={"User-Agent": ""})
    assert nameless.status_code == 403
    assert "Missing or invalid User Agent string" in nameless.text
    assert nameless.headers["content-type"] == "application/octet-stream"
    assert api("GET", f"{REPO}/").status_code == 404
    assert api("GET", "/nothing").status_code == 404
    assert api("GET", REPO, headers={"X-GitHub-Api-Version": "1999-01-01"}).status_code == 400
    world.forge.observers.clear()  # no such body is described
    url = f"{REPO}/git/refs"
    assert api("POST", url, token, content=b"{").json()["message"] == "Problems parsing JSON"
    assert api("POST", url, token, json=[1]).json()["message"] == "Body should be a JSON object"
    lacking = api("POST", url, token, json={"ref": "refs/heads/x"})
    assert lacking.json()["message"] == 'Invalid request.\n\n"sha" wasn\'t supplied.'
    assert "errors" not in lacking.json()


def test_a_slash_inside_a_parameter_is_quoted_unless_it_is_greedy(
    world: World, api: Api, pull: Pull
) -> None:
    assert api("GET", f"{REPO}/git/ref/heads/{pull.head_ref}").status_code == 200
    assert api("GET", f"{REPO}/git/ref/heads%2Fdrafts%2Fnet").status_code == 200
    assert api("GET", f"{REPO}/branches/{pull.head_ref}").json()["name"] == pull.head_ref
    token = world.token("author")
    api("POST", f"{REPO}/labels", token, json={"name": "a/b", "color": "ff0000"})
    assert api("GET", f"{REPO}/labels/a%2Fb").json()["name"] == "a/b"
    assert api("GET", f"{REPO}/labels/a/b").status_code == 404


def test_many_at_once_do_not_get_in_each_others_way(world: World, api: Api, pull: Pull) -> None:
    """Fails on a forge that reads and writes its memory without one lock."""
    token = world.token("approver")

    def comment(number: int) -> int:
        body = {"body": str(number)}
        return api("POST", f"{REPO}/issues/1/comments", token, json=body).status_code

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(comment, range(40))) == [201] * 40
    assert sorted(int(c.body) for c in pull.comments) == list(range(40))
    assert len({c.id for c in pull.comments}) == 40


def test_of_two_merges_at_once_one_is_refused(world: World, api: Api, pull: Pull) -> None:
    token, sha = world.token("approver"), pull.head_sha

    def merge(_: int) -> int:
        url = f"{REPO}/pulls/{pull.number}/merge"
        return api("PUT", url, token, json={"sha": sha}).status_code

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(merge, range(2))) == [200, 405]
    assert [e.kind for e in pull.events].count("merged") == 1


def test_a_push_at_the_time_of_a_merge_loses_or_wins_whole(world: World, pull: Pull) -> None:
    """Fails on a merge that believes the forge's memory of the base, not git's own ref."""
    seen: list[int] = []

    def merge() -> None:
        with world.state.lock, pytest.raises(RefusedError) as refused:
            world.state.pulls.merge(pull, world.state.user("approver"))
        seen.append(refused.value.status)

    git = world.clone("owner")
    sha = git.write("x", "1")
    disk = world.state.git(world.repo)
    before = world.repo.refs["refs/heads/main"]
    git.run("push", "--quiet", "origin", "HEAD:refs/heads/carrier")
    assert disk.move([RefChange(ref="refs/heads/main", before=before, after=sha)])
    merge()
    assert seen == [405]
    assert pull.state == "open"
    with world.state.lock:
        world.state.sync_refs(world.repo, world.state.user("owner"))
        world.state.pulls.merge(pull, world.state.user("approver"))
    assert pull.merged
