"""How a project at GitLab merges is its setting, and what Premium and Ultimate ask of a merge.

Only GitLab has these: a merge commit always, only onto what is newest, or none at all.
"""

from collections.abc import Callable

import pytest

from bot.sandbox.records.gitlab import PREMIUM, ULTIMATE
from tests.stories.gitlab_people import GitLabPerson
from tests.stories.people import wait_for
from tests.stories.test_boxes import offers, ticks
from tests.stories.test_races import extra
from tests.stories.test_upstreams import publishes
from tests.stories.test_variants import RULES, SHOP, variant
from tests.stories.world import World, minutes_pass, package, seconds_pass

pytestmark = pytest.mark.parametrize("forge", ["gitlab"], indirect=True)

MORE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"
SEMI_LINEAR, FAST_FORWARD = "rebase_merge", "ff"


def _owner(play: World) -> GitLabPerson:
    assert isinstance(play.owner, GitLabPerson)
    return play.owner


def _set(play: World, **settings: object) -> None:
    _owner(play).client().projects.update(play.repository.id, settings)


@pytest.mark.parametrize("method", ["merge", SEMI_LINEAR, FAST_FORWARD])
def test_each_way_of_merging_publishes_what_was_approved(play: World, method: str) -> None:
    """Short-cuts refused: a merge that is refused for ever where the branch is behind; a rebase
    that asks everybody again; a tag at the merge request's commit where it is no other."""
    author, approver = play.author, play.approver
    _set(play, merge_method=method)
    first = play.proposes("drafts/net/a/x", package("net/a"))
    second = play.proposes("drafts/net/b/x", package("net/b"))
    approver.says(first, "/approve")
    approver.approves(second)
    tags = [author.waits_for_tag(f"net/{name}/v1") for name in "ab"]
    play.rests()

    tags.sort(key=lambda tag: tag == author.branches()["main"])
    assert author.branches()["main"] == tags[1]
    for name in "ab":
        assert author.reads(f"net/{name}/Kptfile", ref=tags[1])
    assert all(author.pull(number).merged for number in (first, second))
    parents = [len(author.commit(tag).parents) for tag in tags]
    assert parents == ([1, 1] if method == FAST_FORWARD else [2, 2])
    if method != "merge":
        assert author.commit(tags[1]).parents[0] == tags[0]
    assert play.failing() == []


def test_a_project_that_squashes_every_merge_has_what_was_approved_squashed(play: World) -> None:
    """The short-cut asks for no squash, which such a project refuses for ever."""
    author, approver = play.author, play.approver
    _set(play, squash_option="always")
    number = play.proposes("drafts/net/a/x", package("net/a"))
    author.pushes("drafts/net/a/x", {"net/a/more.yaml": MORE})
    author.waits_for_summary(number, "approv")
    play.rests()
    approver.says(number, "/approve")
    tag = author.waits_for_tag("net/a/v1")
    play.rests()

    assert author.pull(number).merged
    squashed = author.commit(tag).parents[1]
    assert len(author.commit(squashed).parents) == 1
    assert author.reads("net/a/more.yaml", ref=tag)
    assert play.failing() == []


@pytest.mark.parametrize("method", [SEMI_LINEAR, FAST_FORWARD])
def test_one_package_twice_goes_on_once_it_holds_what_came_between(
    play: World, method: str
) -> None:
    """Short-cuts refused: what only a rebase would bring up to date is published as it is; or it
    is never taken, since what brings both together is no rebase."""
    author, approver = play.author, play.approver
    _set(play, merge_method=method)
    first = play.proposes("drafts/net/a/x", package("net/a"))
    second = play.proposes("drafts/net/a/y", {**package("net/a"), "net/a/more.yaml": MORE})
    approver.says(first, "/approve")
    published = author.waits_for_tag("net/a/v1")
    approver.says(second, "/approve")
    author.waits_for_summary(second, "`net/a` changed in `main` since")
    play.rests()
    assert not author.pull(second).merged

    author.says(second, "/rebase")
    author.waits_for_answer(second, "into this branch")
    play.rests()
    approver.says(second, "/approve")
    tag = author.waits_for_tag("net/a/v2")
    assert author.commit(tag).parents[0 if method == SEMI_LINEAR else 1] == published
    assert author.reads("net/a/more.yaml", ref=tag)
    assert author.branches()["main"] == tag
    assert play.failing() == []


@pytest.mark.simulated_time("minutes pass")
@pytest.mark.parametrize("why", ["rule", "box"])
def test_whom_a_commit_of_the_bots_names_does_not_approve_what_gitlab_made_anew(
    stage: World, why: str
) -> None:
    """The short-cut believes the marks in the bot's commits alone, which a rebase breaks: then who
    wrote the rule, or ticked the box, by which a draft was made approves it."""
    play = stage
    _set(play, merge_method=FAST_FORWARD)
    if why == "rule":
        play.start_bot()
        publishes(play, "net/base", package("net/base"), 1)
        play.owner.pushes("main", {".porchbot.yaml": RULES, **variant()})
        play.rests()
        seconds_pass(play.forge, 1)
        play.approver.pushes("main", variant(more="  labels: {tier: edge}\n"))
        number = play.author.pull_of(f"{SHOP}-1").number
    else:
        offers(play, "net/a")
        ticks(play, play.approver, "net/a")
        number = play.author.pull_of("drafts/net/a/upgrade").number
    play.rests()
    play.author.says(number, "/propose")
    play.owner.pushes("main", package("net/other"))
    play.rests()
    project = _owner(play).client().projects.get(play.repository.id)
    project.mergerequests.get(number).rebase()
    play.rests()
    head = play.author.pull(number).head
    assert "Porchbot-" in play.author.commit(head).message

    play.approver.says(number, "/approve")
    play.author.waits_for_summary(number, "0 of 1")
    play.rests()
    assert not play.author.pull(number).merged


def test_a_merge_waits_for_the_services_and_the_rules_of_paid_tiers(play: World) -> None:
    """Short-cuts refused: the bot leaves its own service unanswered, so that nobody can merge; it
    tries to merge against the rule and the other service, and says nothing of them."""
    author, approver, state = play.author, play.approver, play.forge.state
    state.data.gitlab.tier = ULTIMATE
    _set(play, only_allow_merge_if_all_status_checks_passed=True)
    owner, place = _owner(play).client(), f"/projects/{play.repository.id}"
    services = {}
    for name in ("porchbot/publish", "scanner"):
        wish = {"name": name, "external_url": "https://service.example/"}
        made = owner.http_post(f"{place}/external_status_checks", post_data=wish)
        assert isinstance(made, dict)
        services[name] = made["id"]
    number = play.proposes("drafts/net/a/x", package("net/a"))
    approver.says(number, "/approve")
    said = author.waits_for_summary(number, "external status checks")
    play.rests()

    def states() -> dict[str, str]:
        listed = owner.http_list(f"{place}/merge_requests/{number}/status_checks")
        return {each["name"]: each["status"] for each in listed}

    assert states()["scanner"] == "pending"
    assert states()["porchbot/publish"] != "passed"
    assert "**Who:** whatever reports `external status checks`" in said
    told = {"sha": author.pull(number).head, "external_status_check_id": services["scanner"]}
    path = f"{place}/merge_requests/{number}/status_check_responses"
    owner.http_post(path, post_data=told | {"status": "passed"})
    play.sweep()
    author.waits_for_tag("net/a/v1")
    assert states() == {"porchbot/publish": "passed", "scanner": "passed"}


def test_a_merge_train_merges_what_was_approved_and_nothing_that_is_held(play: World) -> None:
    """Short-cuts refused: the bot merges past the train; it waits for a status of its own on what
    the train makes; what is held since stays on the train, and is merged by it."""
    author, approver = play.author, play.approver
    play.forge.state.data.gitlab.tier = PREMIUM
    _set(play, merge_trains_enabled=True, merge_pipelines_enabled=True)
    numbers = [play.proposes(f"drafts/net/{each}/x", package(f"net/{each}")) for each in "abc"]
    for number in numbers:
        approver.says(number, "/approve")
        wait_for("it to be on the train", lambda n=number: n in _cars(play) or None)  # type: ignore[misc]
    play.rests()
    assert list(_cars(play)) == numbers
    assert not author.tags()

    first, held, last = numbers
    approver.says(held, "/hold")
    wait_for("it to leave the train", lambda: list(_cars(play)) == [first, last] or None)
    for number in (first, last):
        play.owner.reports(_cars(play)[number], "ci")
    for name in "ac":
        author.waits_for_tag(f"net/{name}/v1")
    play.rests()

    assert [author.pull(number).merged for number in numbers] == [True, False, True]
    assert sorted(author.tags()) == ["net/a/v1", "net/c/v1"]
    assert play.failing() == []


def _cars(play: World) -> dict[int, str]:
    """Number of each merge request on the train to what its merge would make."""
    place = f"/projects/{play.repository.id}/merge_trains/main"
    query = {"scope": "active", "sort": "asc"}
    listed = _owner(play).client().http_list(place, query, get_all=True)
    return {each["merge_request"]["iid"]: each["pipeline"]["sha"] for each in listed}


def _drafts(play: World, number: int) -> None:
    play.author.rewrites(number, title="Draft: not yet", body="")


def _holds(play: World, number: int) -> None:
    play.approver.says(number, "/hold")


def _takes_back(play: World, number: int) -> None:
    play.approver.says(number, "/unapprove")


@pytest.mark.parametrize("change", [_drafts, _holds, _takes_back])
def test_what_is_not_to_be_merged_any_more_leaves_the_train_however_long_it_was_there(
    play: World, change: Callable[[World, int], None]
) -> None:
    """Short-cuts refused: a draft is left to GitLab, which drops it once it would merge it; what
    the bot put on the train is no more its own once what stood before it is merged."""
    author, approver = play.author, play.approver
    play.forge.state.data.gitlab.tier = PREMIUM
    _set(play, merge_trains_enabled=True, merge_pipelines_enabled=True)
    numbers = [play.proposes(f"drafts/net/{each}/x", package(f"net/{each}")) for each in "ab"]
    for number in numbers:
        approver.says(number, "/approve")
        wait_for("it to be on the train", lambda n=number: n in _cars(play) or None)  # type: ignore[misc]
    first, second = numbers
    minutes_pass(play, 2)
    play.owner.reports(_cars(play)[first], "ci")
    author.waits_for_tag("net/a/v1")
    play.rests()
    assert list(_cars(play)) == [second]

    change(play, second)
    wait_for("it to leave the train", lambda: not _cars(play) or None)
    play.rests()
    assert not _cars(play)
    assert not author.pull(second).merged
    assert sorted(author.tags()) == ["net/a/v1"]
    if change is _drafts:
        author.makes_ready(second)
    else:
        approver.says(second, "/unhold" if change is _holds else "/approve")
    wait_for("it to be on the train again", lambda: second in _cars(play) or None)
    play.rests()
    play.owner.reports(_cars(play)[second], "ci")
    author.waits_for_tag("net/b/v1")
    assert play.failing() == []


@pytest.mark.parametrize("count", [1, 2])
def test_an_automatic_merge_is_not_made_before_all_checks_hold(
    two_bases: World, count: int
) -> None:
    """Fails when a check that passes goes out with one that waits, or before it: in between it is
    alone in the pipeline, which passes, and GitLab merges what nobody approved."""
    author, owner = two_bases.author, _owner(two_bases)
    _set(two_bases, only_allow_merge_if_pipeline_succeeds=True)
    two_bases.rests()
    two_bases.stop_bot()
    sha = author.pushes("topic", extra("net/edge", "a"))
    numbers = [author.opens("topic", "topic").number]
    if count > 1:
        author.points("twin", sha)
        numbers.append(author.opens("twin", "twin", base="release").number)
    for number in numbers:
        path = f"/projects/{two_bases.repository.id}/merge_requests/{number}/merge"
        owner.client().http_put(path, post_data={"auto_merge": True, "sha": sha})
    two_bases.start_bot()
    two_bases.rests()

    assert not any(author.pull(number).merged for number in numbers)
    two_bases.approver.says(numbers[0], "/approve")
    two_bases.rests()
    assert author.pull(numbers[0]).merged is (count == 1)


@pytest.mark.parametrize("change", [_drafts, _holds, _takes_back])
def test_an_automatic_merge_waits_for_what_changed_since_it_was_set(
    play: World, change: Callable[[World, int], None]
) -> None:
    """Fails where a status that passed stays, or is "canceled" when the pipeline ends: what merges
    by itself would be merged."""
    author, approver, owner = play.author, play.approver, _owner(play)
    _set(play, only_allow_merge_if_pipeline_succeeds=True)
    number = play.proposes("drafts/net/a/x", package("net/a"))
    head = author.pull(number).head
    owner.reports(head, "ci", "pending")
    approver.says(number, "/approve")
    play.rests()
    path = f"/projects/{play.repository.id}/merge_requests/{number}/merge"
    owner.client().http_put(path, post_data={"auto_merge": True, "sha": head})
    play.rests()
    assert not author.pull(number).merged

    change(play, number)
    play.rests()
    for word in ("/hold", "/unhold", "/hold", "/unhold"):  # each with another text of the status
        approver.says(number, f"{word} {word}" if word == "/hold" else word)
        play.rests()
    if change is _holds:
        approver.says(number, "/hold")
        play.rests()
    put = [s for p in play.repository.gitlab.pipelines.values() for s in p.statuses]
    assert "canceled" in {status.state for status in put}
    owner.reports(head, "ci")
    play.rests()
    assert not author.pull(number).merged
    assert not author.tags()
    assert play.failing() == []
