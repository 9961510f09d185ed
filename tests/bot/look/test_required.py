"""Required checks of others: which they are, how each stands, and what counts as news."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.forges.port import UNREAD, Context, NativeReview, RequiredCheck
from bot.look import required
from lifecycle.access import Person
from lifecycle.events import Approval, CommentAnswered
from lifecycle.facts.checks import CheckRun, CheckState, Conclusion, Required, Status
from lifecycle.facts.conversation import ReviewState
from lifecycle.names import Sha
from lifecycle.policy import OutsideCheck

US, CI = 1, 2
Makers = dict[tuple[Context, Context], CheckState]
AT = datetime(2026, 1, 1, tzinfo=UTC)


def required_of(name: str, app: int | None) -> RequiredCheck:
    return RequiredCheck(name, app, app in (None, US))


def run(name: str, conclusion: str = "", *, app: int = CI, number: int = 1) -> CheckRun:
    return CheckRun(
        id=number,
        name=name,
        status=Status.COMPLETED if conclusion else Status.IN_PROGRESS,
        conclusion=Conclusion(conclusion) if conclusion else None,
        ours=app == US,
        source=app,
    )


STANDS: dict[str, tuple[int | None, list[CheckRun], dict[Context, CheckState], CheckState]] = {
    "nobody reported": (None, [], {}, CheckState.MISSING),
    "a run of anybody's": (None, [run("scan", "success")], {}, CheckState.SUCCESS),
    "a run that is not done": (None, [run("scan")], {}, CheckState.PENDING),
    "a status of anybody's": (None, [], {"scan": CheckState.SUCCESS}, CheckState.SUCCESS),
    "another App's run than the pinned": (
        CI,
        [run("scan", "success", app=3)],
        {},
        CheckState.MISSING,
    ),
    "a status where an App is pinned": (CI, [], {"scan": CheckState.SUCCESS}, CheckState.MISSING),
    "the pinned App's run": (CI, [run("scan", "success")], {}, CheckState.SUCCESS),
    "the worst of several Apps": (
        None,
        [run("scan", "success"), run("scan", "failure", app=3)],
        {},
        CheckState.FAILURE,
    ),
    "a status beside a run": (
        None,
        [run("scan", "success")],
        {"scan": CheckState.PENDING},
        CheckState.PENDING,
    ),
}


@pytest.mark.parametrize(("app", "runs", "statuses", "state"), STANDS.values(), ids=STANDS)
def test_how_a_required_check_stands(
    app: int | None, runs: list[CheckRun], statuses: dict[Context, CheckState], state: CheckState
) -> None:
    """Fails when names alone are matched: anybody could then report another App's check."""
    assert required.check_states([required_of("scan", app)], runs, statuses) == (
        Required("scan", state),
    )


def test_one_of_our_names_that_another_app_must_report_is_not_ours() -> None:
    """Fails when our names are left out whoever must report them: it is waited for, in words."""
    checks = [
        required_of("porchbot/publish", None),
        required_of("porchbot/publish", US),
        required_of("porchbot/publish", CI),
        required_of("scan", None),
    ]

    assert required.of_others(checks) == (checks[2], checks[3])


def test_merges_are_bound_only_where_our_own_verdict_is_required() -> None:
    """Fails when names alone are matched: another App's green check would then do."""
    name = "porchbot/publish"

    assert required.enforces([required_of(name, US)])
    assert required.enforces([required_of("scan", None), required_of(name, None)])
    assert not required.enforces([required_of(name, CI)])
    assert not required.enforces([required_of("porchbot/validate", US)])


def test_statuses_are_asked_for_only_where_they_could_answer() -> None:
    pinned, anybody = required_of("scan", CI), required_of("lint", None)

    assert not required.needs_statuses([pinned, anybody], [run("lint", "failure")])
    assert not required.needs_statuses([pinned, anybody], [run("lint")])
    assert not required.needs_statuses([pinned], [])
    assert required.needs_statuses([pinned, anybody], [run("lint", "success")])
    assert required.needs_statuses([pinned, anybody], [run("scan", "success")])


def test_what_was_not_read_may_have_failed() -> None:
    """The short-cut has a run that passed answer for the status beside it that nobody may read."""
    pinned, anybody = required_of("scan", CI), required_of("lint", None)
    runs = [run("scan", "success", app=CI), run("lint", "success", app=CI)]
    unread: dict[Context, CheckState] = {UNREAD: CheckState.UNKNOWN}

    assert required.check_states([pinned, anybody], runs, unread) == (
        Required("scan", CheckState.SUCCESS),
        Required("lint", CheckState.UNKNOWN),
    )
    assert required.check_states([anybody], [], unread) == (Required("lint", CheckState.UNKNOWN),)
    failed = required.check_states([anybody], [run("lint", "failure")], unread)
    assert failed == (Required("lint", CheckState.FAILURE),)


@pytest.mark.parametrize("context", ["*", "Unread.WHOLE", "UNREAD", ""])
def test_no_name_of_a_status_stands_for_others(context: str) -> None:
    """The short-cut marks what was not read by a text: whoever may push calls a status so, which
    then answers for each check that nobody reported.
    """
    answered = required.check_states([required_of("lint", None)], [], {context: CheckState.SUCCESS})
    assert answered == (Required("lint", CheckState.MISSING),)

    makers: Makers = {(context, context): CheckState.SUCCESS}
    (found,) = required.outside([OutsideCheck("scan")], [], makers)
    assert found.state is CheckState.MISSING


def test_what_was_not_read_is_news_once_it_is() -> None:
    """The short-cut says of it what it says of a status that is called so."""
    names: list[Context] = [UNREAD, str(UNREAD)]
    told = [required.said((), frozenset(), [], {name: CheckState.UNKNOWN}) for name in names]
    assert len({*told, said()}) == 3


def said(*runs: CheckRun, **statuses: CheckState) -> str:
    found: dict[Context, CheckState] = dict(statuses.items())
    return required.said((), frozenset(), runs, found)


def test_only_what_ended_is_news() -> None:
    """Fails when everything shown is: a bot that reports progress would bring a merge each time."""
    before = said(run("scan"), lint=CheckState.PENDING)

    assert before == said()
    assert before == said(run("porchbot/publish", "success", app=US))
    assert before != said(run("scan", "failure"))
    assert before != said(lint=CheckState.FAILURE)
    assert said(run("scan", "failure")) != said(run("scan", "failure", number=2))


def test_reviews_and_approvals_are_news() -> None:
    """Fails when only checks are: a review that the branch's rules require brings no other try."""
    review = NativeReview(
        id=1,
        author=Person(5, "approver", bot=False),
        state=ReviewState.APPROVED,
        head=Sha("a" * 40),
        at=AT,
    )
    approval = Approval(
        person="approver", head=Sha("a" * 40), trees="", digest="", base_ref="main", at=AT
    )
    found = {
        said(),
        required.said((review,), frozenset(), (), {}),
        required.said((replace(review, state=ReviewState.DISMISSED),), frozenset(), (), {}),
        required.said((), frozenset({approval}), (), {}),
        required.said((), frozenset({replace(approval, comment=7)}), (), {}),
    }

    assert len(found) == 5
    assert required.said((), frozenset({CommentAnswered(comment=1)}), (), {}) == said()


SCAN, ANY = OutsideCheck("scan", "my-scanner"), OutsideCheck("scan")
OUTSIDE: dict[str, tuple[OutsideCheck, dict[str, str], dict[Context, str], CheckState]] = {
    # check, App to the conclusion of its run, App to the state of its status
    "nobody reported": (SCAN, {}, {}, CheckState.MISSING),
    "the App's run": (SCAN, {"my-scanner": "success"}, {}, CheckState.SUCCESS),
    "the App's run, in other letters": (SCAN, {"My-Scanner": "success"}, {}, CheckState.SUCCESS),
    "the App's run that is not done": (SCAN, {"my-scanner": ""}, {}, CheckState.PENDING),
    "another App's run": (SCAN, {"evil": "success"}, {}, CheckState.MISSING),
    "another App's run that fails": (
        SCAN, {"evil": "failure", "my-scanner": "success"}, {}, CheckState.SUCCESS
    ),
    "the App's status": (SCAN, {}, {"my-scanner": "success"}, CheckState.SUCCESS),
    "a person's status": (SCAN, {}, {"": "success"}, CheckState.MISSING),
    "the App's status fails beside its run": (
        SCAN, {"my-scanner": "success"}, {"my-scanner": "failure"}, CheckState.FAILURE
    ),
    "anybody's run": (ANY, {"evil": "success"}, {}, CheckState.SUCCESS),
    "anybody's status": (ANY, {}, {"": "success"}, CheckState.SUCCESS),
    "the App's may be among those that were not read": (
        SCAN, {"my-scanner": "success"}, {UNREAD: "unknown"}, CheckState.UNKNOWN
    ),
    "the App's newest was read": (
        SCAN, {}, {"my-scanner": "success", UNREAD: "unknown"}, CheckState.SUCCESS
    ),
    "the App's newest was read, and fails": (
        SCAN, {}, {"my-scanner": "failure", UNREAD: "unknown"}, CheckState.FAILURE
    ),
    "anybody's may be among those that were not read": (
        ANY, {}, {"a": "success", UNREAD: "unknown"}, CheckState.UNKNOWN
    ),
    "the worst of anybody's": (ANY, {"a": "success", "b": "failure"}, {}, CheckState.FAILURE),
}  # fmt: skip


@pytest.mark.parametrize(("check", "runs", "makers", "expected"), OUTSIDE.values(), ids=OUTSIDE)
def test_what_the_configuration_waits_for(
    check: OutsideCheck, runs: dict[str, str], makers: dict[Context, str], expected: CheckState
) -> None:
    """Short-cut refused: the name alone; any App, and anybody who can write, could report it."""
    reported = [replace(run("scan", end), app=app) for app, end in runs.items()]
    statuses: Makers = {("scan", app): CheckState(state) for app, state in makers.items()}

    (found,) = required.outside([check], [*reported, run("other", "failure")], statuses)

    assert (found.name, found.app, found.state) == ("scan", check.app, expected)


def test_where_not_even_the_contexts_were_read_nothing_is_known() -> None:
    """Short-cut refused: a context that is not listed has no status."""
    unread: Makers = {(UNREAD, UNREAD): CheckState.UNKNOWN}

    (found,) = required.outside([SCAN], [replace(run("scan", "success"), app="my-scanner")], unread)

    assert found.state is CheckState.UNKNOWN
