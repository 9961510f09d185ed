"""Every open proposal of a commit is seen: a check is green for all of them, or for none."""

import pytest

from tests.stories.calls import PROPOSAL
from tests.stories.people import wait_for
from tests.stories.test_races import extra
from tests.stories.world import World


def publish_runs(stage: World, sha: str) -> list[str | None]:
    """The conclusions of `porchbot/publish` at a commit, newest first."""
    runs = stage.author.every_check(sha)
    return [run.conclusion for run in runs if run.name == "porchbot/publish"]


def opens_crowd(stage: World, count: int) -> tuple[list[str], str]:
    """Propose one commit from so many branches; their names, and the commit."""
    author, twins = stage.author, [f"twin{n}" for n in range(count)]
    sha = author.pushes(twins[0], extra("net/edge", "a"))
    for twin in twins[1:]:
        author.points(twin, sha)
    for twin in twins:
        author.opens(twin, twin, base="release")
    return twins, sha


@pytest.mark.both_forges
def test_two_head_branches_at_one_commit_are_judged_together(two_bases: World) -> None:
    """Fails when proposals are found by their branch: the second branch hides beside the first."""
    author, approver = two_bases.author, two_bases.approver
    sha = author.pushes("topic", extra("net/edge", "a"))
    author.points("twin", sha)
    one = author.opens("topic", "one").number
    two = author.opens("twin", "two", base="release").number
    author.waits_for_summary(two, "is proposed")
    two_bases.rests()

    approver.says(one, "/approve")
    author.waits_for_summary(one, f"the same commit is proposed in #{two}")
    two_bases.rests()

    assert publish_runs(two_bases, sha)[0] is None
    assert not author.pull(one).merged

    author.closes(two)
    author.waits_for_tag("net/edge/v1")
    assert author.pull(one).merged


def test_a_proposal_that_the_index_has_lost_is_asked_for_before_a_merge(two_bases: World) -> None:
    """Fails when the database alone says who shares a commit."""
    author, approver = two_bases.author, two_bases.approver
    author.points("twin", author.pushes("topic", extra("net/edge", "a")))
    two = author.opens("twin", "two", base="release").number
    author.waits_for_summary(two, "is proposed")
    two_bases.rests()
    one = author.opens("topic", "one").number
    author.waits_for_summary(one, "is proposed")
    two_bases.rests()
    two_bases.loses_open_proposals()

    approver.says(one, "/approve")
    author.waits_for_answer(one, "approved")
    two_bases.rests()

    assert not author.pull(one).merged


def test_thirty_closed_ones_hide_no_open_one(two_bases: World) -> None:
    """Fails when open and closed ones are one list of which one page is read."""
    author, approver = two_bases.author, two_bases.approver
    two_bases.stop_bot()
    sha = author.pushes("topic", extra("net/edge", "a"))
    two = author.opens("topic", "two", base="release").number
    for _ in range(31):
        pull = author.opens("topic", "more")
        author.closes(pull.number)
    one = author.opens("topic", "one").number
    two_bases.start_bot()
    author.waits_for_summary(one, "is proposed")
    author.waits_for_summary(two, "is proposed")
    two_bases.rests()

    approver.says(one, "/approve")
    author.waits_for_summary(one, f"#{two}")
    two_bases.rests()

    assert publish_runs(two_bases, sha)[0] is None
    assert not author.pull(one).merged


def test_who_shares_a_commit_ceases_to_when_the_branch_moves(two_bases: World) -> None:
    """Fails when nobody tells the other branch: it would wait for the next sweep."""
    author, approver = two_bases.author, two_bases.approver
    author.points("twin", author.pushes("topic", extra("net/edge", "a")))
    one = author.opens("topic", "one").number
    two = author.opens("twin", "two", base="release").number
    author.waits_for_summary(two, "is proposed")
    two_bases.rests()
    approver.says(one, "/approve")
    author.waits_for_summary(one, f"#{two}")
    two_bases.rests()

    author.pushes("twin", {"words.md": "More.\n"})

    author.waits_for_tag("net/edge/v1")
    wait_for("the merge", lambda: author.pull(one).merged or None)


def test_a_crowd_at_one_commit_waits_until_it_is_gone(two_bases: World) -> None:
    """Fails when each look reads all others, which strangers can open, or some pass unseen."""
    author, approver = two_bases.author, two_bases.approver
    two_bases.stop_bot()
    sha = author.pushes("topic", extra("net/edge", "a"))
    twins = [f"twin{n}" for n in range(6)]
    for twin in twins:
        author.points(twin, sha)
    one = author.opens("topic", "one").number
    others = [author.opens(twin, twin, base="release").number for twin in twins]
    two_bases.start_bot()
    author.waits_for_summary(one, "More than 5 other proposals share this commit")
    approver.says(one, "/approve")
    author.waits_for_answer(one, "approved")
    two_bases.rests()

    assert publish_runs(two_bases, sha)[0] is None
    assert not author.pull(one).merged

    for number in others:
        author.closes(number)
    author.waits_for_tag("net/edge/v1")
    assert author.pull(one).merged


def test_a_crowd_has_its_checks_written_a_few_times_for_each(two_bases: World) -> None:
    """Fails when each of a crowd writes the checks of their commit anew for each other one."""
    count = 12
    two_bases.stop_bot()
    _, sha = opens_crowd(two_bases, count)
    before = two_bases.forge.faults.mark()
    two_bases.start_bot()
    two_bases.rests()

    calls = two_bases.forge.faults.calls(two_bases.caller, since=before)
    written = [c for c in calls if c.method in {"POST", "PATCH"} and "/check-runs" in c.template]
    assert publish_runs(two_bases, sha)[0] is None
    assert written
    assert len(written) <= 8 * count


@pytest.mark.only_github("buttons of checks")
def test_re_run_at_a_commit_of_several_writes_its_checks_a_few_times(two_bases: World) -> None:
    """Fails when each takes the checks that another wrote for old ones: one press, and they write
    them by turns, with thousands of requests."""
    author, count = two_bases.author, 4
    sha = author.pushes("twin0", extra("net/edge", "a"))
    for n in range(1, count):
        author.points(f"twin{n}", sha)
    for n in range(count):
        author.opens(f"twin{n}", f"twin{n}", base="release")
    two_bases.rests()
    before = two_bases.forge.faults.mark()

    press_rerun(two_bases, sha)
    wait_for("new runs", lambda: len(publish_writes(two_bases, before)) > 2 or None)
    two_bases.rests()

    assert len(publish_writes(two_bases, before)) <= 6


PUSHED = {"github": 5.5, "gitlab": 6}
"""How many times what one proposal costs the push of a commit of four may; at GitLab each of them
has a pipeline of its own to put checks into."""


@pytest.mark.both_forges
def test_a_commit_of_several_costs_in_proportion_to_them(two_bases: World, forge: str) -> None:
    """Fails when a look at one reads all others, each time, and each writes the checks of all:
    836 requests for a click where one proposal takes 14, and whoever may propose can have it so.
    And when a pipeline of GitLab passes before all checks stand: its end causes two looks each."""
    one, four, crowd = (_costs(two_bases, forge, count) for count in (1, 4, 8))
    print("\nRequests by what happened:", one, four, crowd)

    for what in one.keys() - {"push"}:
        assert four[what] <= 5.5 * one[what], what
        assert crowd[what] <= 11 * one[what], what
    assert four["push"] <= PUSHED[forge] * one["push"]
    assert crowd["push"] <= 11 * one["push"]


def _costs(stage: World, forge: str, count: int) -> dict[str, int]:
    """Requests by what happened, where so many branches are proposed at one commit."""
    author, twins = stage.author, [f"twin{n}" for n in range(count)]
    first = author.pushes(twins[0], extra("net/edge", f"a{count}"))
    for twin in twins[1:]:
        author.points(twin, first)
    proposed = {pull.head_ref for pull in author.pulls()}
    for twin in twins:
        if twin not in proposed:
            author.opens(twin, twin, base="release")
    stage.rests()
    costs = {}

    def costed(what: str, before: int) -> None:
        stage.rests()
        costs[what] = len(stage.forge.faults.calls(stage.caller, since=before))

    before = stage.forge.faults.mark()
    if forge == "github":
        press_rerun(stage, first)
        costed("re-run", before)
    before = stage.forge.faults.mark()
    second = author.pushes(twins[0], extra("net/edge", f"b{count}"))
    for twin in twins[1:]:
        author.points(twin, second)
    costed("push", before)
    before = stage.forge.faults.mark()
    stage.wake(f"{stage.name}:{stage.repository.id}:repository")
    costed("sweep", before)
    assert costs["sweep"] > 5 * count  # for what changed a moment ago is looked at once more
    return costs


def press_rerun(stage: World, sha: str) -> None:
    """Press Re-run of all checks: it is a button of the pages, no call of the API."""
    state = stage.forge.state
    with state.lock:
        runs = state.checks.runs_on(stage.repository, sha)
        suite = next(run.suite for run in runs if run.name == "porchbot/validate")
        state.checks.rerequest_suite(suite, state.user("author"))


def test_a_crowd_that_is_pushed_together_is_known_as_one(two_bases: World) -> None:
    """Fails when who comes first is told of the crowd at the new commit, and nobody keeps it: the
    next round finds it alone there, and its checks say so."""
    author, count = two_bases.author, 12
    twins, sha = opens_crowd(two_bases, count)
    two_bases.rests()
    before = two_bases.forge.faults.mark()

    sha = author.pushes(twins[0], extra("net/edge", "b"))
    for twin in twins[1:]:
        author.points(twin, sha)
    two_bases.rests()

    assert len(publish_writes(two_bases, before)) == 3
    assert {run.conclusion for run in author.every_check(sha)} == {None}


@pytest.mark.both_forges
def test_who_is_left_behind_by_a_crowd_is_told(two_bases: World) -> None:
    """Fails when the first of a crowd that moves on writes down where the others are by now: their
    own looks find nothing new, and who stays waits for nobody until the next sweep."""
    author, approver, count = two_bases.author, two_bases.approver, 7
    sha = author.pushes("topic", extra("net/edge", "a"))
    twins = [f"twin{n}" for n in range(count)]
    for twin in twins:
        author.points(twin, sha)
    one = author.opens("topic", "one").number
    for twin in twins:
        author.opens(twin, twin, base="release")
    two_bases.rests()
    approver.says(one, "/approve")
    author.waits_for_answer(one, "approved")
    two_bases.rests()
    assert not author.pull(one).merged

    sha = author.pushes(twins[0], extra("net/edge", "b"))
    for twin in twins[1:]:
        author.points(twin, sha)
    two_bases.rests()

    assert author.pull(one).merged


def publish_writes(stage: World, before: int) -> list[str]:
    """What was written of checks since a moment."""
    calls = stage.forge.faults.calls(stage.caller, since=before)
    return [
        c.template for c in calls if c.method in {"POST", "PATCH"} and "/check-runs" in c.template
    ]


@pytest.mark.parametrize("forge", ["gitlab"], indirect=True)
def test_who_is_left_behind_is_told_by_a_look_that_fails(two_bases: World) -> None:
    """Fails when a look that fails halfway has the index know where it is by then, and tells
    nobody: done again it finds nothing new, and who was left behind waits for nobody."""
    author, approver = two_bases.author, two_bases.approver
    first = author.pushes("topic", extra("net/edge", "a"))
    author.points("twin", first)
    second = author.pushes("third", extra("net/edge", "b"))
    one = author.opens("topic", "one").number
    author.opens("twin", "two", base="release")
    three = author.opens("third", "three", base="release").number
    two_bases.rests()
    approver.says(one, "/approve")
    author.waits_for_answer(one, "approved")
    two_bases.rests()
    assert not author.pull(one).merged

    reads = two_bases.call(PROPOSAL).format(three)
    two_bases.forge.faults.fail(reads, 502, caller=two_bases.caller)
    author.points("twin", second, force=True)

    author.waits_for_tag("net/edge/v1")
    assert author.pull(one).merged
