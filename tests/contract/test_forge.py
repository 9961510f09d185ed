"""What every forge does for the bot, whatever it is: each method of `Forges` and `Forge`.

Longer than 400 lines: a test for each method of the port.

An implementation is held to these by its name in `KINDS`; what it lacks, and why, stands in a table
beside it (`LACKING`), whose entries the tests name that need them.
"""

import ast
import inspect
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.forges.port import (
    UNREAD,
    Forge,
    ForgeBusyError,
    ForgeMissingError,
    ForgeRefusedError,
    Forges,
    MergeQueue,
    MergeResult,
    MergeWay,
    TagOutcome,
    UnsignedCommit,
)
from bot.keys import ProposalKey
from cadlib.diff.patch import Suggestion
from cadlib.errors import Place as Spot
from cadlib.findings import Finding, Severity
from cadlib.package.files import Entry
from lifecycle.access import Role
from lifecycle.actions import OpenProposal, Reaction, SetCheck, Suggest
from lifecycle.boxes import shown
from lifecycle.events import EVER
from lifecycle.facts.checks import PUBLISH, RENDER, CheckState, Conclusion, Status
from lifecycle.facts.conversation import ReviewState
from lifecycle.facts.merging import MergeObstacle
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha
from lifecycle.policy import MergeMethod
from tests.contract import forges
from tests.contract.forges import Place, tag
from tests.contract.gitlab_place import LACKED, gitlab_in_process

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
NONE = Sha("0" * 40)


KINDS = (*forges.KINDS, "gitlab")
LACKING = {"gitlab": LACKED}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Hold each implementation to a test that has what the test needs."""
    needed = {mark.args[0] for mark in metafunc.definition.iter_markers("needs")}
    if "place" in metafunc.fixturenames:
        kinds = [kind for kind in KINDS if not needed & LACKING.get(kind, {}).keys()]
        metafunc.parametrize("place", kinds, indirect=True)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "gitlab":
        with gitlab_in_process(tmp_path) as project:
            yield project
    else:
        with forges.opened(request.param, tmp_path) as given:
            yield given


def test_what_a_forge_lacks_is_needed_by_a_test() -> None:
    """Short-cut: an entry that excuses nothing any more, or a test that needs what nobody names."""
    marks = (mark for test in globals().values() for mark in getattr(test, "pytestmark", ()))
    needed = {mark.args[0] for mark in marks if mark.name == "needs"}

    assert {name for lacks in LACKING.values() for name in lacks} == needed


def _methods(*protocols: type) -> list[str]:
    return sorted(
        name for each in protocols for name, _ in inspect.getmembers(each) if name[0] != "_"
    )


def test_each_method_of_the_protocols_is_held_to_something() -> None:
    """A method that is added without a test here is one that the next forge gets wrong."""
    tree = ast.parse(Path(__file__).read_text())
    tests = [n for n in tree.body if getattr(n, "name", "").startswith("test_")]
    asked = {n.attr for test in tests for n in ast.walk(test) if isinstance(n, ast.Attribute)}

    assert [name for name in _methods(Forges, Forge) if name not in asked] == []
    assert [name for name in _methods(Forge) if name not in CALLS and name not in PURE] == []


# --- the forge as a whole ---


async def test_the_bot_knows_who_it_is(place: Place) -> None:
    me = await place.forges.identity()
    place.commit("a")
    number = place.propose("a")
    await place.forge.comment(number, "Here.")
    (comment,) = (await place.forge.conversation(number)).comments

    assert comment.author.login == me.login
    assert "@" in me.address
    assert place.repository.id.forge == place.forges.name


async def test_what_the_bot_was_let_into(place: Place) -> None:
    """The short-cut takes its own list for all: a repository of another place would be served."""
    number, here = place.repository.installation, place.repository.id
    (one,) = await place.forges.installations()

    assert (one.number, one.suspended) == (number, False)
    assert await place.forges.installation(number) == one
    assert await place.forges.installation(number + 1) is None
    found = await place.forges.repositories_of(number)
    assert {each.id for each in found} == {here, *place.others}
    assert await place.forges.repository_by_id(here, number) in found
    assert await place.forges.is_installed(here)
    assert await place.forges.is_installed(place.repository.full_name)
    assert not await place.forges.is_installed("nobody/nothing")
    assert len(place.repository.full_name.split("/")) <= place.forges.most_parts
    unknown = RepositoryId(here.forge, here.number + 100_000)
    assert not await place.forges.is_installed(unknown)
    with pytest.raises(ForgeMissingError):
        await place.forges.repository_by_id(unknown, number)
    with pytest.raises(ForgeMissingError):
        await place.forges.repositories_of(number + 1)
    assert ":" in await place.forges.of(found[0]).git_credentials()


@pytest.mark.needs("suspension")
async def test_an_installation_that_rests_is_told_and_refuses(place: Place) -> None:
    place.suspend()

    (one,) = await place.forges.installations()
    assert one.suspended
    with pytest.raises(ForgeRefusedError):
        await place.forges.repositories_of(one.number)


async def test_a_stored_delivery_is_read_again(place: Place) -> None:
    """The short-cut raises at one from an older version: adopting then never ends."""
    headers, body = place.delivery("drafts/a/w")
    here = place.repository.id

    wakes = place.forges.wakes_of(headers, body)
    assert list(wakes) == [ProposalKey(here, here.number, "drafts/a/w")]
    assert place.forges.wakes_of(headers, b"no more") == {}


async def test_what_an_operator_has_to_change_is_asked_of_the_forge(place: Place) -> None:
    """The short-cut answers from memory: what people change later is never seen."""
    told = await place.forges.drift("https://bot.example/webhooks")
    place.fails("busy")
    with pytest.raises(ForgeBusyError):
        await place.forges.drift("https://bot.example/webhooks")

    assert all(str(each).endswith(".") and each.found != each.wanted for each in told)


async def test_what_changed_last_is_told(place: Place) -> None:
    """Short-cuts refused: open ones only, or commits only; news behind an old validator."""
    seen = await place.forge.newest_change()
    assert (seen.shown, seen.at) == ("", None)
    place.commit("drafts/a/w")
    number = place.propose("drafts/a/w")
    changes: Sequence[Callable[[], object]] = (
        lambda: None,
        lambda: place.say(number, "a word"),
        lambda: place.review(number, "fine", approves=True),
        lambda: place.merge(number),
        lambda: place.say(number, "thanks"),
    )
    for change in changes:
        place.passes(1)
        change()
        after = await place.forge.newest_change(seen.shown, seen.validator)
        assert after.shown not in ("", seen.shown)
        assert after.at is not None
        again = await place.forge.newest_change(after.shown, after.validator)
        assert (again.shown, again.at) == (after.shown, after.at)
        seen = after


async def test_a_push_shows_in_the_list_of_repositories(place: Place) -> None:
    """The short-cut takes any change for one of ours: each of them would be swept each time."""
    number = place.repository.installation
    place.passes(place.settles)
    before = {r.id: r.changed for r in await place.forges.repositories_of(number)}
    assert {r.id: r.changed for r in await place.forges.repositories_of(number)} == before
    place.passes(1)
    place.commit("drafts/a/w")

    after = {r.id: r.changed for r in await place.forges.repositories_of(number)}

    assert [each for each in after if after[each] != before[each]] == [place.repository.id]


async def test_what_could_not_be_delivered_is_read_from_the_log(place: Place) -> None:
    """The short-cut lists what was accepted as well, or the oldest first: the log has no end."""
    assert (await place.forges.failed_deliveries()).tries == ()
    place.not_delivered(60)  # each is told more than once, and a page has 100

    page = await place.forges.failed_deliveries()
    tries = list(page.tries)
    here, woken = place.repository.id, set()
    for each in tries[:3]:  # as a sweep does, before it turns the page
        read = await place.forges.logged_delivery(each.number)
        assert read is not None
        assert (read.delivered.guid, read.delivered.repository) == (each.guid, here)
        assert place.forges.wakes_of(read.delivered.headers, read.delivered.body) == read.wakes
        woken |= set(read.wakes)
    pages = 1
    while page.older:
        page = await place.forges.failed_deliveries(page.older)
        pages, tries = pages + 1, [*tries, *page.tries]

    numbers = [each.number for each in tries]
    assert pages == 2
    assert len({each.guid for each in tries if each.heard}) >= 60
    assert numbers == sorted(numbers, reverse=True)
    assert ProposalKey(here, here.number, "lost-59") in woken
    with pytest.raises(ForgeMissingError):
        await place.forges.logged_delivery(numbers[0] + 100_000)


async def test_the_check_asks_each_time(place: Place) -> None:
    """The short-cut answers from memory: a forge that is away would count as there."""
    await place.forges.check()
    place.fails("busy")

    with pytest.raises(ForgeBusyError):
        await place.forges.check()
    with pytest.raises(ForgeBusyError):
        await place.forges.installations()


# --- what is asked of each method: busy, refused, missing ---

HEAD = Sha("c" * 40)
OPEN = OpenProposal(head_ref="a", base_ref="main", title="T", body="", assignee="")
CHECK = SetCheck(
    head=HEAD,
    name=RENDER,
    status=Status.COMPLETED,
    conclusion=Conclusion.SUCCESS,
    title="T",
    summary="S",
    annotations=(),
    digest="d",
    run=None,
)
SUGGEST = Suggest(
    number=1, head=HEAD, body="T", suggestions=(Suggestion("a.yaml", 1, 1, "a: 2\n"),)
)
COMMIT = UnsignedCommit(
    head_ref="a", parents=(HEAD,), base_tree=HEAD, tree=HEAD, files={}, message="m"
)
PURE = {
    "proposal_ref",
    "asks_to_sign",
    "checks_hold_text",
    "owners",
    "standing",
    "tells_objections",
    "terms",
}
"""Methods that ask nothing."""


def _calls(issue: int) -> dict[str, Callable[[Forge], Awaitable[object]]]:
    """A call of each method that asks something, of the first issue where it is about one."""
    return {
        "git_credentials": lambda f: f.git_credentials(),
        "open_proposals_of": lambda f: f.open_proposals_of("a"),
        "proposals_of": lambda f: f.proposals_of("a"),
        "unproposed": lambda f: f.unproposed(["a"]),
        "proposals_at": lambda f: f.proposals_at(HEAD),
        "proposal": lambda f: f.proposal(1),
        "open_proposals": lambda f: f.open_proposals(),
        "newest_change": lambda f: f.newest_change(),
        "highest_number": lambda f: f.highest_number(),
        "closed_proposals": lambda f: f.closed_proposals(LONG_AGO),
        "merged_proposals": lambda f: f.merged_proposals("main", LONG_AGO),
        "conversation": lambda f: f.conversation(1),
        "checks": lambda f: f.checks(HEAD),
        "statuses": lambda f: f.statuses(HEAD),
        "statuses_by": lambda f: f.statuses_by(HEAD),
        "required_checks": lambda f: f.required_checks("main"),
        "required_reviews": lambda f: f.required_reviews("main"),
        "rules": lambda f: f.rules("main"),
        "role": lambda f: f.role("author", 0),
        "team": lambda f: f.team("network"),
        "commits": lambda f: f.commits(1),
        "pushes": lambda f: f.pushes("a", 1),
        "base_moves": lambda f: f.base_moves("main", LONG_AGO),
        "has_tag": lambda f: f.has_tag("a/v1"),
        "pinned_file": lambda f: f.pinned_file("acme/blueprints", HEAD, "a.yaml", 100),
        "has_release": lambda f: f.has_release("a/v1"),
        "is_marked": lambda f: f.is_marked("a/v1", "deprecated"),
        "mark_release": lambda f: f.mark_release("a/v1", "deprecated", "N"),
        "make_release": lambda f: f.make_release("a/v1", "T", "B"),
        "make_tag": lambda f: f.make_tag(tag("a/v1", HEAD)),
        "open_proposal": lambda f: f.open_proposal(OPEN),
        "set_draft": lambda f: f.set_draft(1, draft=True),
        "close_proposal": lambda f: f.close_proposal(1),
        "set_title": lambda f: f.set_title(1, "T"),
        "set_labels": lambda f: f.set_labels(1, add=["porchbot: draft"]),
        "set_check": lambda f: f.set_check(CHECK),
        "comment": lambda f: f.comment(1, "text"),
        "edit_comment": lambda f: f.edit_comment(1, 1, "text"),
        "delete_comment": lambda f: f.delete_comment(1, 1),
        "react": lambda f: f.react(1, 1, Reaction.DONE),
        "issue": lambda f: f.issue(issue),
        "own_issues": lambda f: f.own_issues(),
        "open_issue": lambda f: f.open_issue("T", "B"),
        "edit_issue": lambda f: f.edit_issue(issue, "B"),
        "issue_comments": lambda f: f.issue_comments(issue),
        "issue_edits": lambda f: f.issue_edits(issue, EVER),
        "commit": lambda f: f.commit(COMMIT),
        "merge_way": lambda f: f.merge_way(1, "main"),
        "enqueue": lambda f: f.enqueue(1, HEAD),
        "dequeue": lambda f: f.dequeue(1),
        "merge_queue": lambda f: f.merge_queue("main"),
        "suggest": lambda f: f.suggest(SUGGEST),
        "merge": lambda f: f.merge(1, HEAD, MergeMethod.MERGE, "T", "M"),
    }


CALLS = _calls(1)


async def test_nothing_stands_for_a_proposal_alone_that_was_not_read(place: Place) -> None:
    """The short-cut answers for any proposal what the last one that was read has."""
    place.commit("a")
    number = place.propose("a")
    await place.forge.conversation(number)

    assert dict(place.forge.standing(number + 1)) == {}


async def test_rules_of_a_branch_have_another_digest_when_one_changes(place: Place) -> None:
    """The short-cut digests what is required of checks: who waits for another rule is not woken."""
    place.commit("main")
    before = [await place.forge.rules("main") for _ in range(2)]

    place.require("scan", "anybody")

    assert before[0] == before[1] != await place.forge.rules("main")


async def test_who_must_act_is_told_by_the_kind_of_error(place: Place) -> None:
    """The short-cut takes what it does not know for "nothing there": silence becomes a fact."""
    wrong, tolerated = [], {("refused", name) for name in place.tolerates}
    for how, kind in (("refused", ForgeRefusedError), ("limited", ForgeBusyError)):
        place.fails(how)
        for name, call in _calls(place.issue_number(1)).items():
            try:
                said = await call(place.forge)
            except (ForgeBusyError, ForgeRefusedError) as error:
                if name in place.asks_nothing:
                    continue
                after = getattr(error, "after", 0)
                if type(error) is not kind or (how == "limited" and after != 7):
                    wrong.append(f"{name} {how}: {error!r}")
            else:
                if name not in place.asks_nothing and (how, name) not in tolerated:
                    wrong.append(f"{name} {how}: {said!r}")
        place.works_again()

    assert wrong == []


async def test_a_forge_that_is_away_is_busy(place: Place) -> None:
    """The short-cut gives up where the forge only restarts: an operator is called at night."""
    await place.forge.git_credentials()
    place.fails("busy")
    silent = {"git_credentials", *place.asks_nothing}
    every = _calls(place.issue_number(1))
    calls = {name: call for name, call in every.items() if name not in silent}

    for call in calls.values():
        with pytest.raises(ForgeBusyError):
            await call(place.forge)


MISSING = (
    *(
        "proposal",
        "conversation",
        "commits",
        "set_draft",
        "close_proposal",
        "set_title",
        "comment",
        "edit_comment",
        "react",
        "suggest",
    ),
    "set_labels",
    *("issue", "edit_issue", "issue_comments", "issue_edits"),
)


async def test_what_is_not_there_is_missing(place: Place) -> None:
    """The short-cut answers nothing: what vanished would be written to for ever."""
    calls = _calls(place.issue_number(1))
    for name in (each for each in MISSING if each not in place.asks_nothing):
        with pytest.raises(ForgeMissingError):
            await calls[name](place.forge)
    assert await place.forge.role("nobody-of-this-name", 0) is Role.NONE
    assert not await place.forge.has_tag("a/v1")
    assert not await place.forge.has_release("a/v1")
    assert await place.forge.required_checks("no-such-branch") == ()


# --- issues ---


@pytest.mark.needs("permissions")
async def test_without_the_permission_no_issue_is_the_bots(place: Place) -> None:
    """Short-cut refused: what was refused cannot be read, so that freezes are never known."""
    made = await place.forge.open_issue("Dashboard", "text")
    assert [issue.number for issue in await place.forge.own_issues()] == [made]

    place.forbid("issues")

    assert await place.forge.own_issues() == ()


@pytest.mark.needs("permissions")
async def test_without_the_permission_no_status_is_seen_and_none_is_known(place: Place) -> None:
    """Short-cuts refused: the look fails, and with it every proposal; what nobody read passed."""
    head = place.commit("a")
    assert dict(await place.forge.statuses(head)) == {}

    place.forbid("statuses")

    assert await place.forge.statuses(head) == {UNREAD: CheckState.UNKNOWN}
    assert await place.forge.statuses_by(head) == {(UNREAD, UNREAD): CheckState.UNKNOWN}


async def test_issues_of_the_bot_are_told_from_those_of_people(place: Place) -> None:
    """Short-cuts refused: pull requests listed as issues, closed ones left out, anybody's."""
    assert await place.forge.own_issues() == ()
    place.commit("a")
    pull = place.propose("a")
    theirs = place.open_issue("Dashboard", "ours, they say")
    made = await place.forge.open_issue("Dashboard", "text")
    assert len({pull, theirs, made}) == 3
    await place.forge.edit_issue(made, "other")
    place.close_issue(made)

    (found,) = await place.forge.own_issues()
    other = await place.forge.issue(theirs)

    assert (found.number, found.title, found.body) == (made, "Dashboard", "other")
    assert (found.ours, found.open) == (True, False)
    assert await place.forge.issue(made) == found
    assert (other.ours, other.open, other.body) == (False, True, "ours, they say")
    with pytest.raises(ForgeMissingError):
        await place.forge.issue(pull)


async def test_what_is_said_on_an_issue_is_read_to_its_end(place: Place) -> None:
    """Short-cuts refused: one page of thirty; the bot's own taken for anybody's."""
    made = await place.forge.open_issue("Dashboard", "text")
    assert await place.forge.issue_comments(made) == ()
    ours = await place.forge.comment(made, "ours")
    place.passes(1)
    await place.forge.edit_comment(made, ours, "ours, edited")
    for at in range(101):
        place.say_on_issue(made, f"comment {at}")

    first, *others = await place.forge.issue_comments(made)

    assert (first.id, first.body, first.ours, first.edited) == (ours, "ours, edited", True, True)
    assert [c.body for c in others] == [f"comment {at}" for at in range(101)]
    assert {(c.author.login, c.ours, c.edited) for c in others} == {("author", False, False)}


async def test_edits_of_one_second_are_each_told(place: Place) -> None:
    """Short-cut refused: what is alike is told once."""
    made = await place.forge.open_issue("Dashboard", "- [ ] one\n- [ ] two")
    author = place.rewrite_issue(made, "- [x] one\n- [ ] two")
    place.rewrite_issue(made, "- [x] one\n- [x] two")

    found = await place.forge.issue_edits(made, EVER)

    assert len([each for each in found if each.person == author]) == 2


async def test_who_edited_an_issue_is_told(place: Place) -> None:
    """Short-cuts refused: the last edit alone, which is ours by then; what is older than asked; a
    forge that tells which box was ticked is asked for the person alone."""
    made = await place.forge.open_issue("Dashboard", "- [ ] `one` is *a*\n- [ ] two")
    author = place.rewrite_issue(made, "- [x] `one` is *a*\n- [ ] two")
    place.passes(100)
    place.rewrite_issue(made, "- [x] `one` is *a*\n- [x] two")
    place.passes(1)
    await place.forge.edit_issue(made, "ours")

    every = [e for e in await place.forge.issue_edits(made, EVER) if e.person == author]
    newest = max(e.at for e in every)
    since = newest - timedelta(seconds=50)
    later = [e.at for e in await place.forge.issue_edits(made, since) if e.person == author]

    assert len(every) == 2
    assert later == [newest]
    told = [e.ticked for e in sorted(every, key=lambda edit: edit.at)]
    assert told in ([None, None], [shown("`one` is *a*"), shown("two")])


async def test_an_issue_is_read_from_a_moment_on(place: Place) -> None:
    """Short-cuts refused: the moment is passed over; what was edited since is left out."""
    made = await place.forge.open_issue("Dashboard", "text")
    ours = await place.forge.comment(made, "ours")
    place.say_on_issue(made, "long ago")
    place.passes(200)
    place.say_on_issue(made, "now")
    newest = (await place.forge.issue_comments(made))[-1]
    since = newest.at - timedelta(seconds=100)

    later = await place.forge.issue_comments(made, since)
    await place.forge.edit_comment(made, ours, "ours, edited")
    edited = await place.forge.issue_comments(made, since)

    assert [c.body for c in later] == ["now"]
    assert [c.body for c in edited] == ["ours, edited", "now"]


async def test_a_repository_without_issues_says_so(place: Place) -> None:
    """The short-cut takes it for an empty list: an issue is opened again and again."""
    made = await place.forge.open_issue("Dashboard", "text")
    number = place.repository.installation
    assert (await place.forges.repository_by_id(place.repository.id, number)).has_issues
    place.turn_issues_off()

    assert not (await place.forges.repository_by_id(place.repository.id, number)).has_issues
    assert await place.forge.own_issues() == ()
    assert made == place.issue_number(1)
    for call in (
        place.forge.issue(made),
        place.forge.open_issue("T", "B"),
        place.forge.edit_issue(made, "B"),
        place.forge.issue_comments(made),
    ):
        with pytest.raises(ForgeMissingError):
            await call
    place.commit("a")
    pull = place.propose("a")
    await place.forge.comment(pull, "Pull requests stay.")
    assert place.bodies(pull) == ["Pull requests stay."]


# --- proposals ---


async def test_proposals_are_found_by_branch_commit_and_number(place: Place) -> None:
    """The short-cut takes the first page, or closed ones for open."""
    assert await place.forge.highest_number() == 0
    head = place.commit("drafts/a/w")
    closed = place.propose("drafts/a/w")
    place.close(closed)
    number = place.propose("drafts/a/w", draft=True)
    fork = place.fork("drafts/a/w")

    one = await place.forge.proposal(number)
    assert (one.number, one.title) == (number, "Propose drafts/a/w")
    assert (one.draft, one.open, one.merged) == (True, True, False)
    assert (one.head, one.head_ref, one.base_ref) == (head, "drafts/a/w", "main")
    assert (one.author.login, one.author.bot) == ("author", False)
    assert one.head_repository == place.repository.id.number
    assert number in {p.number for p in await place.forge.open_proposals_of("drafts/a/w")}
    assert closed not in {p.number for p in await place.forge.open_proposals_of("drafts/a/w")}
    assert {closed, number} <= {p.number for p in await place.forge.proposals_of("drafts/a/w")}
    told = await place.forge.unproposed(["drafts/a/w", "drafts/a", "drafts/a/x"])
    nothing = "unproposed" in place.asks_nothing
    assert told == (set() if nothing else {"drafts/a", "drafts/a/x"})
    assert {p.number for p in await place.forge.open_proposals()} == {number, fork}
    assert {p.number for p in await place.forge.proposals_at(head)} == {number}
    assert await place.forge.highest_number() == fork
    strange = await place.forge.proposal(fork)
    assert strange.head_repository not in (None, place.repository.id.number)
    assert str(place.forge.proposal_ref(fork)).startswith("refs/")
    assert place.forge.proposal_ref(fork) != place.forge.proposal_ref(number)


async def test_thirty_closed_ones_hide_no_open_one(place: Place) -> None:
    """The short-cut reads one page of what is open and closed together."""
    place.commit("release")
    place.commit("many")
    oldest = place.propose("many", base="release")
    for _ in range(31):
        last = place.propose("many")
        place.close(last)

    found = {p.number: p.open for p in await place.forge.proposals_of("many")}

    assert (found[oldest], found[last]) == (True, False)


async def test_a_list_goes_on_to_its_end(place: Place) -> None:
    """The short-cut reads one page of a hundred."""
    head = place.commit("many")
    number = place.propose("many")
    for at in range(101):
        place.say(number, f"comment {at}")
        place.report(head, f"ci/{at}", passed=True)

    talk = await place.forge.conversation(number)
    assert [c.body for c in talk.comments] == [f"comment {at}" for at in range(101)]
    found = await place.forge.statuses(head)
    assert len([name for name in found if str(name).startswith("ci/")]) == 101


async def test_labels_are_made_put_on_and_taken_off(place: Place) -> None:
    """Short-cuts refused: what others put on is taken off; a label that is not on is missing."""
    place.commit("a")
    number = place.propose("a")
    assert (await place.forge.proposal(number)).labels == frozenset()
    await place.forge.set_labels(number, add=["theirs", "porchbot: draft"])

    await place.forge.set_labels(number, add=["porchbot: a/b"], remove=["porchbot: draft", "none"])

    assert (await place.forge.proposal(number)).labels == {"theirs", "porchbot: a/b"}
    (listed,) = await place.forge.open_proposals()
    assert listed.labels == {"theirs", "porchbot: a/b"}
    await place.forge.set_labels(number, remove=["porchbot: a/b"])
    assert (await place.forge.proposal(number)).labels == {"theirs"}


async def test_a_release_is_marked_once(place: Place) -> None:
    """Short-cuts refused: a second note; an error where there is no release; notes are lost; what
    is marked, or no more, becomes the latest of the repository.
    """
    place.tag("net/core/v1", place.tip("main"))
    assert await place.forge.is_marked("net/core/v1", "deprecated") is None
    await place.forge.mark_release("net/core/v1", "deprecated", "Use v2.")
    await place.forge.make_release("net/core/v1", "net/core v1", "notes")
    assert await place.forge.is_marked("net/core/v1", "deprecated") is False

    for _ in range(2):
        await place.forge.mark_release("net/core/v1", "deprecated", "Use v2.")

    assert await place.forge.is_marked("net/core/v1", "deprecated")
    assert not await place.forge.is_marked("net/core/v1", "withdrawn")
    assert place.releases() == [("net/core/v1", "net/core v1 (deprecated)", "Use v2.\n\nnotes")]

    for _ in range(2):
        await place.forge.mark_release("net/core/v1", "deprecated", "Use v2.", off=True)

    assert await place.forge.is_marked("net/core/v1", "deprecated") is False
    assert place.releases() == [("net/core/v1", "net/core v1", "notes")]
    assert place.latest_release() is None


async def test_a_release_is_made_once_and_left_as_people_write_it(place: Place) -> None:
    """Short-cuts refused: an error the second time; notes that somebody wrote are written over."""
    place.tag("net/core/v1", place.tip("main"))
    assert not await place.forge.has_release("net/core/v1")

    await place.forge.make_release("net/core/v1", "net/core v1", "notes")
    await place.forge.make_release("net/core/v1", "net/core v1", "other notes")

    assert await place.forge.has_release("net/core/v1")
    assert not await place.forge.has_release("core/v1")
    assert place.releases() == [("net/core/v1", "net/core v1", "notes")]


async def test_a_proposal_is_opened_once(place: Place) -> None:
    """The short-cut fails the second time: a lost answer would block the draft for ever."""
    place.commit("a")
    wanted = OpenProposal(head_ref="a", base_ref="main", title="T", body="B", assignee="author")

    number = await place.forge.open_proposal(wanted)

    assert await place.forge.open_proposal(wanted) == number
    made = await place.forge.proposal(number)
    assert (made.draft, made.title, made.assigned) == (True, "T", ("author",))
    for draft in (False, False, True, True):
        await place.forge.set_draft(number, draft=draft)
        assert (await place.forge.proposal(number)).draft is draft


@pytest.mark.parametrize("draft", [True, False])
async def test_another_title_leaves_a_draft_a_draft(place: Place, draft: bool) -> None:
    """Short-cut refused: where the title says that it is a draft, it is proposed with the next."""
    place.commit("a")
    wanted = OpenProposal(head_ref="a", base_ref="main", title="T", body="B", draft=draft)
    number = await place.forge.open_proposal(wanted)

    await place.forge.set_title(number, "Another")

    made = await place.forge.proposal(number)
    assert (made.title, made.draft) == ("Another", draft)


async def test_a_proposal_is_closed_and_stays_so(place: Place) -> None:
    """The short-cut fails the second time: what was half done when the bot died is never ended."""
    place.commit("a")
    number = place.propose("a")

    for _ in range(2):
        await place.forge.close_proposal(number)

    closed = await place.forge.proposal(number)
    assert (closed.open, closed.merged) == (False, False)


async def _merged(place: Place, number: int, *how: Any) -> MergeResult:
    """What a merge comes to, once the forge has worked out whether it can be made."""
    for _ in range(5):
        found = await place.forge.merge(number, *how)
        if found.obstacle is not MergeObstacle.UNDER_WAY:
            break
    return found


async def test_a_merge_is_made_of_the_head_that_was_named(place: Place) -> None:
    """The short-cut merges whatever the head is by now: nobody has approved that."""
    old = place.commit("a")
    number = place.propose("a")
    head = place.commit("a", "b.yaml")
    args = (MergeMethod.MERGE, "Title", "Message")

    moved = await _merged(place, number, old, *args)
    assert moved.obstacle is MergeObstacle.HEAD_MOVED
    assert not (await place.forge.proposal(number)).merged
    made = await _merged(place, number, head, *args)
    assert (made.obstacle, made.commit) == (None, place.tip("main"))
    again = await place.forge.merge(number, head, *args)
    assert again.obstacle in {None, MergeObstacle.UNKNOWN}

    merged = await place.forge.proposal(number)
    assert (merged.merged, merged.merge_commit) == (True, place.tip("main"))
    listed = await place.forge.merged_proposals("main", LONG_AGO)
    assert [p.number for p in listed] == [number]
    assert await place.forge.merged_proposals("main", merged.updated_at + timedelta(days=1)) == ()
    assert await place.forge.merged_proposals("other", LONG_AGO) == ()
    assert await place.forge.closed_proposals(LONG_AGO) == tuple(listed)
    assert await place.forge.closed_proposals(merged.updated_at + timedelta(days=1)) == ()


async def test_a_merge_that_a_rule_forbids_says_so(place: Place) -> None:
    head = place.commit("a")
    number = place.propose("a")
    place.require("scan", "anybody")

    refused = await _merged(place, number, head, MergeMethod.SQUASH, "T", "M")
    assert refused.obstacle is MergeObstacle.CHECK
    assert refused.reason


async def test_what_goes_elsewhere_by_now_is_told_before_it_is_merged(place: Place) -> None:
    """Short-cuts: the base of when it was read last is taken, or the head stands for it; whoever
    opened it exchanges its base in between, and it is merged where nobody approved it."""
    place.commit("release")
    place.commit("a")
    number = place.propose("a")
    assert (await place.forge.proposal(number)).base_ref == "main"
    assert await place.forge.merge_way(number, "main") == MergeWay()

    place.retarget(number, "release")

    assert await place.forge.merge_way(number, "main") == MergeWay(elsewhere=True)
    assert await place.forge.merge_way(number, "release") == MergeWay()


@pytest.mark.needs("queues")
async def test_what_a_queue_merges_is_put_into_it_and_taken_out(place: Place) -> None:
    """Short-cuts refused: a head that moved is queued; a second asking is an error."""
    old = place.commit("a")
    number = place.propose("a")
    assert await place.forge.merge_way(number, "main") == MergeWay()
    head = place.commit("a", "b.yaml")
    place.queues()
    place.report(head, "queue", passed=True)
    await place.forge.dequeue(number)

    assert await place.forge.merge_way(number, "main") == MergeWay(queue=True)
    assert await place.forge.merge_queue("main") == MergeQueue(place.tip("main"), ())
    assert await place.forge.merge_queue("a") is None
    refused = await place.forge.merge(number, head, MergeMethod.MERGE, "T", "M")
    assert refused.obstacle is MergeObstacle.QUEUE
    assert (await place.forge.enqueue(number, old)).obstacle is MergeObstacle.HEAD_MOVED
    for _ in range(2):
        assert await place.forge.enqueue(number, head) == MergeResult(queued=True)
        assert (await place.forge.conversation(number)).in_queue
        told = await place.forge.merge_queue("main")
        assert told is not None
        (entry,) = told.entries
        assert (entry.number, entry.open, entry.base_ref) == (number, True, "main")
        assert (entry.head, told.base) == (head, place.tip("main"))
        assert entry.merge == place.tip(f"gh-readonly-queue/main/pr-{number}-{told.base}")
    for _ in range(2):
        await place.forge.dequeue(number)
        assert not (await place.forge.conversation(number)).in_queue
    assert not (await place.forge.proposal(number)).merged

    place.report(head, "queue", passed=False)
    assert (await place.forge.enqueue(number, head)).obstacle is MergeObstacle.CHECK


@pytest.mark.needs("bypasses")
async def test_what_we_may_bypass_and_does_not_hold_is_told(place: Place) -> None:
    """The short-cut merges: who may bypass a rule bypasses it, and nobody is asked."""
    place.commit("a")
    number = place.propose("a")
    place.bypasses("four eyes")

    async def way() -> MergeWay:
        with suppress(ForgeBusyError):  # it works it out first
            return await place.forge.merge_way(number, "main")
        return await place.forge.merge_way(number, "main")

    assert await way() == MergeWay(bypassed="four eyes")
    place.review(number, "fine", approves=True)
    assert await way() == MergeWay()


@pytest.mark.needs("signed commits")
async def test_a_commit_of_ours_is_signed_by_the_forge_and_goes_over_no_other(
    place: Place,
) -> None:
    """Short-cuts refused: a branch that moved is moved back; modes are lost, or a parent."""
    other, head = place.commit("b", "b.yaml"), place.commit("a")
    script = Entry(b"exit\n", "100755")
    wanted = UnsignedCommit(
        head_ref="a",
        parents=(head, other),
        base_tree=place.tree_with(head, {}),
        tree=place.tree_with(head, {"run.sh": script}),
        files={"run.sh": script},
        message="Render\n",
    )
    made = await place.forge.commit(wanted)

    assert made == place.tip("a")
    assert place.made(made) == (wanted.parents, wanted.tree, True)
    newer = place.commit("a", "more.yaml")
    assert await place.forge.commit(wanted) is None
    assert place.tip("a") == newer
    files: dict[str, Entry | None] = {"run.sh": None, "more.yaml": None}
    left = replace(
        wanted,
        parents=(newer,),
        base_tree=place.tree_with(newer, {}),
        tree=place.tree_with(newer, files),
        files=files,
    )
    assert await place.forge.commit(left) == place.tip("a")
    assert place.made(place.tip("a"))[1] == wanted.base_tree
    assert place.forge.asks_to_sign("GH013: - Commits must have verified signatures.")
    assert not place.forge.asks_to_sign("GH013: - Cannot update this protected ref.")


# --- conversations ---


async def test_a_conversation_is_read_as_one(place: Place) -> None:
    head = place.commit("a")
    number = place.propose("a")
    theirs = place.say(number, "/check")
    ours = await place.forge.comment(number, "Seen.")
    approval = place.review(number, "", approves=True)
    for text in ("Done.", "Done."):
        await place.forge.edit_comment(number, ours, text)

    talk = await place.forge.conversation(number)
    assert talk.head == head
    assert [(c.id, c.body, c.ours) for c in talk.comments] == [
        (theirs, "/check", False),
        (ours, "Done.", True),
    ]
    assert not talk.comments[1].altered  # we did it ourselves
    assert [(r.state, r.author.login) for r in talk.reviews] == [(ReviewState.APPROVED, "approver")]
    assert approval in (talk.reviews[0].id, None)
    assert talk.reviews[0].head in (head, "")
    assert place.bodies(number) == ["/check", "Done."]


@pytest.mark.needs("texts of reviews")
async def test_what_a_review_says_is_told_apart_from_comments(place: Place) -> None:
    """The short-cut takes what a review says for a comment, or for a verdict."""
    place.commit("a")
    number = place.propose("a")
    comment = place.review(number, "Looks fine.", approves=False)

    talk = await place.forge.conversation(number)

    assert [(t.id, t.body) for t in talk.review_texts] == [(comment, "Looks fine.")]
    assert not talk.comments
    assert not talk.reviews


async def test_a_comment_of_ours_is_deleted_once(place: Place) -> None:
    """The short-cut asks that it is there: of two bots the second would fail for ever."""
    place.commit("a")
    number = place.propose("a")
    kept, double = (
        await place.forge.comment(number, "One."),
        await place.forge.comment(number, "1."),
    )
    for _ in range(2):
        await place.forge.delete_comment(number, double)

    assert [c.id for c in (await place.forge.conversation(number)).comments] == [kept]


async def test_a_comment_is_acknowledged_once(place: Place) -> None:
    place.commit("a")
    number = place.propose("a")
    comment = place.say(number, "What of it?")

    for reaction in (Reaction.DONE, *Reaction):
        await place.forge.react(number, comment, reaction)

    assert sorted(place.reactions(number)) == sorted(Reaction)


# --- reviews of ours ---


@pytest.mark.parametrize("line", [1, 400], ids=["a line that is shown", "one that is not"])
async def test_changes_are_suggested_once_at_a_commit(place: Place, line: int) -> None:
    """The short-cut breaks the look where a line is none of the difference, or suggests what our
    messages make of the lines: their marks would stand in the file of whoever applies it."""
    head = place.commit("a")
    number = place.propose("a")
    assert (await place.forge.conversation(number)).suggested == frozenset()
    text = "a: 2 # GitHub #1\n"
    found = (Suggestion("a.yaml", line, line, text),)

    await place.forge.suggest(Suggest(number=number, head=head, body="T", suggestions=found))

    shown = [body for body in place.bodies(number) if "a: 2" in body]
    assert [text in body for body in shown] == [True] * (line == 1)

    said = await place.forge.conversation(number)
    assert said.suggested == {head}
    assert not said.reviews
    assert not said.comments


# --- checks ---


def _check(head: Sha, run: int | None, findings: int) -> SetCheck:
    spot = Spot("a.yaml", 1)
    found = tuple(
        Finding(message=f"finding {n}", severity=Severity.ERROR, place=spot)
        for n in range(findings)
    )
    return SetCheck(
        head=head,
        name=RENDER,
        status=Status.COMPLETED if findings else Status.IN_PROGRESS,
        conclusion=Conclusion.FAILURE if findings else None,
        title="T",
        summary="S",
        annotations=found,
        digest=f"digest {findings}",
        run=run,
    )


async def test_a_check_that_goes_on_ends_and_is_ours(place: Place) -> None:
    """The short-cut makes another one each time, or cannot tell what it showed."""
    head = place.commit("a")
    place.propose("a")
    await place.forge.open_proposals()
    for findings, wanted in ((0, (Status.IN_PROGRESS, None)), (2, (Status.COMPLETED, "failure"))):
        (*known,) = await place.forge.checks(head)
        await place.forge.set_check(_check(head, known[0].id if known else None, findings))
        (run,) = await place.forge.checks(head)
        assert (run.name, run.status, run.conclusion) == (RENDER, *wanted)
        assert (run.ours, run.digest) == (True, f"digest {findings}")
        assert (run.completed_at is None) is (run.conclusion is None)


@pytest.mark.needs("texts of checks")
async def test_a_check_is_shown_and_read_back(place: Place) -> None:
    """The short-cuts send fifty findings and drop the rest, or cannot tell whose check it is."""
    head = place.commit("a")
    assert await place.forge.checks(head) == ()

    await place.forge.set_check(_check(head, None, 0))
    (run,) = await place.forge.checks(head)
    assert (run.name, run.status, run.conclusion) == (RENDER, Status.IN_PROGRESS, None)
    assert (run.ours, run.digest, run.completed_at) == (True, "digest 0", None)
    await place.forge.set_check(_check(head, run.id, 101))
    place.check_of_others(head, "scan")

    ours, others = sorted(await place.forge.checks(head), key=lambda r: r.name)
    assert (ours.id, ours.status, ours.conclusion) == (
        run.id,
        Status.COMPLETED,
        Conclusion.FAILURE,
    )
    assert (ours.digest, ours.completed_at is None) == ("digest 101", False)
    assert place.forge.checks_hold_text
    assert place.forge.tells_objections
    assert place.forge.owners.places[0] == ".github/CODEOWNERS"
    assert place.forge.terms.sigil == "#"
    assert place.findings(head, RENDER) == [101]
    assert (others.ours, others.conclusion) == (False, Conclusion.SUCCESS)
    assert others.source != ours.source


async def test_what_others_report_is_told_with_who_reported_it(place: Place) -> None:
    """The short-cut takes what goes on for what is over, or one that failed for one that passed."""
    head = place.commit("a")
    place.propose("a")
    for name, passed in (("good", True), ("bad", False), ("slow", None)):
        place.report(head, name, passed=passed)

    wanted = {"good": "success", "bad": "failure", "slow": "pending"}
    assert wanted.items() <= (await place.forge.statuses(head)).items()
    by = await place.forge.statuses_by(head)
    assert {name: state for (name, _), state in by.items()} == wanted
    assert await place.forge.required_checks("main") == ()
    assert await place.forge.required_reviews("main") == 0


@pytest.mark.needs("texts of checks")
@pytest.mark.needs("named checks")
async def test_what_others_report_and_a_branch_requires(place: Place) -> None:
    """The short-cut matches names alone: anybody could then report another's check."""
    head = place.commit("a")
    for name, passed in (("good", True), ("bad", False), ("slow", None)):
        place.report(head, name, passed=passed)
    place.check_of_others(head, "scan")
    (theirs,) = await place.forge.checks(head)
    for name, of in (("lint", "anybody"), (PUBLISH, "us"), ("scan", "another")):
        place.require(name, of)

    wanted = {"good": "success", "bad": "failure", "slow": "pending"}
    assert await place.forge.statuses(head) == wanted
    by_people = {(name, ""): state for name, state in wanted.items()}
    assert await place.forge.statuses_by(head) == by_people
    assert theirs.app
    required = {c.name: c for c in await place.forge.required_checks("main")}
    assert {name: c.ours for name, c in required.items()} == {
        "lint": True,
        PUBLISH: True,
        "scan": False,
    }
    assert (required["lint"].source, required["scan"].source) == (None, theirs.source)
    assert await place.forge.required_reviews("main") == 0


@pytest.mark.needs("bypasses")
async def test_reviews_that_rules_ask_for_are_counted(place: Place) -> None:
    """The short-cut says none where a rule asks for some, so that nobody knows what is missing."""
    place.bypasses("reviewed")

    assert await place.forge.required_reviews("main") == 1
    assert await place.forge.required_reviews("other") == 0


# --- people, branches, tags ---


async def test_roles_are_of_people_and_not_of_names(place: Place) -> None:
    place.commit("a")
    author = (await place.forge.proposal(place.propose("a"))).author

    assert await place.forge.role("author", 0) is Role.WRITE
    assert await place.forge.role("author", author.id) is Role.WRITE
    assert await place.forge.role("approver", 0) is Role.MAINTAIN
    assert await place.forge.role("owner", 0) is Role.ADMIN
    assert await place.forge.role("author", author.id + 1) is Role.NONE


async def test_who_made_and_pushed_it(place: Place) -> None:
    first = place.commit("a")
    second = place.commit("a", "b.yaml", by="owner")
    number = place.propose("a")
    before = place.tip("main")

    made = await place.forge.commits(number)
    assert [(c.sha, c.author) for c in made] == [(first, "author"), (second, "owner")]
    pushed = await place.forge.pushes("a", place.repository.id.number)
    assert [(m.after, m.actor) for m in pushed] == [(second, "owner"), (first, "author")]
    assert [m.forced for m in pushed] == [False, True]  # the first made the branch
    assert await place.forge.pushes("none", place.repository.id.number) == ()
    after = place.merge(number)
    newest = (await place.forge.base_moves("main", LONG_AGO))[0]
    assert (newest.before, newest.after, newest.forced) == (before, after, False)


async def test_a_file_is_read_at_a_commit_that_its_branch_holds(place: Place) -> None:
    """The short-cut reads any commit: those of forks are shown under the same name (trap 12)."""
    name = place.repository.full_name
    topic = place.commit("a", "rules.yaml")
    held = place.merge(place.propose("a"))
    stray = place.commit("b")

    for commit in (topic, held):
        found = await place.forge.pinned_file(name, commit, "rules.yaml", 100)
        assert (found.default_branch, bool(found.data)) == ("main", True)
    assert (await place.forge.pinned_file(name, stray, "rules.yaml", 100)).data is None
    for commit, path in ((held, "missing.yaml"), (NONE, "rules.yaml")):
        with pytest.raises(ForgeMissingError):
            await place.forge.pinned_file(name, commit, path, 100)
    with pytest.raises(ForgeRefusedError):
        await place.forge.pinned_file(name, held, "rules.yaml", 0)


async def test_a_tag_is_looked_for_by_its_whole_name(place: Place) -> None:
    """The short-cut finds what only begins or ends so: a number would never be given."""
    place.tag("net/core/v1", place.tip("main"))

    assert await place.forge.has_tag("net/core/v1")
    assert not await place.forge.has_tag("net/core/v")
    assert not await place.forge.has_tag("core/v1")


@pytest.mark.needs("tags by the API")
async def test_a_tag_is_made_once(place: Place) -> None:
    """The short-cut moves a tag that is there: the number would name two states."""
    target = place.commit("a")
    other = place.commit("a", "b.yaml")

    assert (await place.forge.make_tag(tag("net/core/v1", target))).outcome is TagOutcome.MADE
    for again in (target, other):
        taken = await place.forge.make_tag(tag("net/core/v1", again))
        assert taken.outcome is TagOutcome.TAKEN
    assert await place.forge.has_tag("net/core/v1")


@pytest.mark.needs("teams below")
async def test_a_team_has_the_people_of_the_teams_below_it(place: Place) -> None:
    """Short-cut refused: the members that were added to the team itself."""
    place.team("Network", "author")
    place.team("DNS", "approver", above="network")

    assert await place.forge.team("network") == {"author", "approver"}
    assert await place.forge.team("dns") == {"approver"}


async def test_a_team_has_nobody_who_is_only_in_a_team_above_it(place: Place) -> None:
    """The short-cut asks for all members of a group, as GitLab inherits them: a rule that names a
    few people lets in everybody of the groups above them."""
    above = place.team("Network", "author")
    below = place.team("DNS", "approver", above=above)

    found = await place.forge.team(below)

    assert "approver" in found
    assert "author" not in found


@pytest.mark.needs("permissions")
async def test_a_team_that_cannot_be_read_is_not_empty(place: Place) -> None:
    """Short-cut refused: nobody is in a team that the App may not see."""
    with pytest.raises(ForgeMissingError):
        await place.forge.team("nobodys")
    place.team("Network", "author")
    place.forbid("members")

    with pytest.raises(ForgeRefusedError) as caught:
        await place.forge.team("network")
    assert not isinstance(caught.value, ForgeMissingError)
