"""The activity log: one entry for each move of a branch, read by cursors, late where ordered."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from bot.sandbox.records.repository import Pull
from tests.bot.sandbox.conftest import Clock
from tests.bot.sandbox.world import World

Api = Callable[..., httpx.Response]
URL = "/repos/owner/catalog/activity"


def entries(world: World, api: Api, **query: Any) -> list[Any]:
    answer = api("GET", URL, world.installation_token(), params=query)
    assert answer.status_code == 200, answer.text
    found: list[Any] = answer.json()
    return found


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_a_merge_is_one_entry_with_the_tips_of_its_base(
    world: World, api: Api, pull: Pull, method: str
) -> None:
    """Short-cut: `base.sha` of the pull request, which stands where the base was long ago."""
    for number in range(2):
        world.commit("drafts/net", {"net/more.yaml": str(number)})
    world.commit("main", {"other": "1"}, login="owner")
    before = world.repo.branch("main")
    assert before != pull.base_sha
    world.repository("approver").get_pull(1).merge(merge_method=method)
    (merge,) = entries(world, api, activity_type="pr_merge")
    assert (merge["before"], merge["after"]) == (before, world.repo.branch("main"))
    assert (merge["ref"], merge["actor"]["login"]) == ("refs/heads/main", "approver")
    assert entries(world, api, ref="main")[0]["id"] == merge["id"]


def test_a_push_and_a_queue_with_several_merges_are_one_entry_each(
    world: World, api: Api, pull: Pull
) -> None:
    world.commit("drafts/app", {"app/values.yaml": "1"})
    with world.state.lock:
        author = world.state.user("author")
        other = world.state.pulls.open(
            world.repo, author, title="App", head="drafts/app", base="main"
        )
    before = world.repo.branch("main")
    git = world.clone("owner")
    for branch in ("drafts/net", "drafts/app"):
        git.run("merge", "--quiet", "--no-ff", "-m", f"Merge {branch}", f"origin/{branch}")
    git.run("push", "--quiet", "origin", "HEAD:main")
    assert pull.merged
    assert other.merged
    (newest, *_) = entries(world, api, ref="refs/heads/main")
    assert (newest["activity_type"], newest["before"]) == ("push", before)
    for name in ("x", "y"):
        world.commit(f"drafts/{name}", {f"{name}.yaml": name})
    with world.state.lock:
        queued = [
            world.state.pulls.open(
                world.repo, author, title=name, head=f"drafts/{name}", base="main"
            )
            for name in ("x", "y")
        ]
        before = world.repo.branch("main")
        after = world.state.pulls.merge_queue(queued, world.state.user("owner"))
    (entry,) = entries(world, api, activity_type="merge_queue_merge")
    assert (entry["before"], entry["after"]) == (before, after)
    assert [p.merged for p in queued] == [True, True]


def test_branches_and_pushes_have_their_kinds(world: World, api: Api, pull: Pull) -> None:
    git = world.clone("author")
    git.run("checkout", "--quiet", "-b", "topic", "origin/drafts/net")
    git.run("push", "--quiet", "origin", "topic")
    git.write("a", "1")
    git.run("push", "--quiet", "origin", "topic")
    git.run("push", "--quiet", "--force", "origin", "HEAD~1:topic")
    git.run("push", "--quiet", "origin", ":topic")
    found = entries(world, api, ref="topic", direction="asc")
    assert [entry["activity_type"] for entry in found] == [
        "branch_creation",
        "push",
        "force_push",
        "branch_deletion",
    ]
    ends = [(entry["before"], entry["after"]) for entry in found]
    assert all(one[1] == other[0] for one, other in itertools.pairwise(ends))
    assert ends[0][0] == ends[-1][1] == "0" * 40


def test_cursors_go_both_ways_while_entries_come(world: World, api: Api) -> None:
    """Short-cut: count pages; a push between two readings shows an entry twice."""
    for number in range(5):
        world.commit("main", {"n": str(number)})
    token = world.installation_token()
    first = api("GET", URL, token, params={"per_page": 2})
    world.commit("main", {"n": "more"})
    second = api("GET", first.links["next"]["url"], token)
    ids = [entry["id"] for entry in (*first.json(), *second.json())]
    assert len(set(ids)) == 4
    assert ids == sorted(ids, reverse=True)
    assert "/repositories/" in first.links["next"]["url"]
    back = api("GET", second.links["prev"]["url"], token)
    assert [entry["id"] for entry in back.json()] == ids[:2]
    assert back.links.keys() == {"next", "prev"}


def test_time_periods_are_counted_and_odd_filters_refused(
    world: World, api: Api, clock: Clock
) -> None:
    clock.move(days=3)
    world.commit("main", {"n": "1"})
    assert len(entries(world, api, time_period="day")) == 1
    assert len(entries(world, api, time_period="week")) == 2
    world.forge.observers.clear()  # what is asked here GitHub does not describe
    for query in ({"activity_type": "merge"}, {"time_period": "hour"}, {"after": "nonsense"}):
        answer = api("GET", URL, world.installation_token(), params=query)
        assert answer.status_code == 422, query


def test_entries_can_be_late(world: World, api: Api, clock: Clock) -> None:
    """Short-cut: let the whole log stand still, with entries that were shown before."""
    faults = world.forge.faults
    known = entries(world, api)
    faults.late_activity(30)
    world.commit("main", {"n": "1"})
    assert entries(world, api) == known
    clock.move(seconds=31)
    assert len(entries(world, api)) == len(known) + 1
    faults.late_activity(reads=2)
    world.commit("main", {"n": "2"})
    assert [len(entries(world, api)) - len(known) for _ in range(3)] == [1, 1, 2]
    faults.hold_activity()
    world.commit("main", {"n": "3"})
    assert len(entries(world, api)) == len(known) + 2
    faults.release_activity()
    assert len(entries(world, api)) == len(known) + 3
