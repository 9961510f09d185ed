"""Boxes of the dashboard: which commands they give, and what is told of them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lifecycle import box_waves, boxes, dashboard, memory, records, replay
from lifecycle.access import Person
from lifecycle.actions import Keep, Reply, Restore
from lifecycle.events import CommentAnswered
from lifecycle.facts.boxes import BegunBox, BoxWaves
from lifecycle.facts.conversation import Comment, Discussion
from lifecycle.facts.drafts import DraftKind, DraftRequest, DraftState, token
from lifecycle.facts.head import Facts
from lifecycle.facts.whole import Whole
from lifecycle.ledger import ProposedState
from lifecycle.messages import boxes as texts
from lifecycle.policy import Policy
from lifecycle.records import JSON
from lifecycle.upstreams.graph import Graph, Package, Upstream
from tests.ids import on_github
from tests.lifecycle.samples import APPROVER, BASE, NOW, OUTSIDER, PROPOSAL, changed, facts, said

TICKED: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "one that was free": (
        "- [ ] `/upgrade net/core v3`: x",
        "- [x] `/upgrade net/core v3`: x",
        ("upgrade net/core v3",),
    ),
    "in GitLab's words, with a capital and a star": (
        "* [ ] `@porchbot upgrade net/core v3`: x",
        "* [X] `@porchbot upgrade net/core v3`: x",
        ("upgrade net/core v3",),
    ),
    "one that was ticked before": ("- [x] `/upgrade a v3`", "- [x] `/upgrade a v3`", ()),
    "one that is freed": ("- [x] `/upgrade a v3`", "- [ ] `/upgrade a v3`", ()),
    "one that somebody writes into it": ("", "- [x] `/upgrade a v3`", ("upgrade a v3",)),
    "another command": ("", "- [x] `/delete a@v3`", ()),
    "an approval of whatever is there": ("", "- [x] `/approve`", ()),
    "an approval of a part of a commit": ("", "- [x] `/approve abcdef0` in [#7](x)", ()),
    "an approval of nothing that is named": ("", f"- [x] `/approve {'a' * 40}`", ()),
    "an approval of what was shown": (
        "",
        f"- [x] `/approve {'a' * 40}` in [#7](../pull/7) t",
        (f"approve {'a' * 40} #7",),
    ),
    "a proposal at GitLab": (
        "",
        f"- [x] `@porchbot propose {'a' * 64}` in [!12](x) t",
        (f"propose {'a' * 64} #12",),
    ),
    "to go on": ("", "- [x] `/continue`: x", ("continue",)),
    "a rollback with its reason": (
        "",
        "- [x] `/rollback net/core@v2 its upstream net/base@v3 is withdrawn`: x",
        ("rollback net/core@v2 its upstream net/base@v3 is withdrawn",),
    ),
    "one inside another list": ("", "  - [x] `/upgrade a v3`", ()),
    "one in a quote": ("", "> - [x] `/upgrade a v3`", ()),
    "two, one of them twice": (
        "",
        "- [x] `/upgrade b v1`\n- [x] `/upgrade a v1`\r\n- [x] `/upgrade b v1`",
        ("upgrade b v1", "upgrade a v1"),
    ),
}


@pytest.mark.parametrize(("before", "after", "commands"), TICKED.values(), ids=TICKED)
def test_what_an_edit_ticks(before: str, after: str, commands: tuple[str, ...]) -> None:
    """Short-cuts refused: any box of the text; any command beside one."""
    found = boxes.newly_ticked(3, before, after)

    assert tuple(each.command for each in found) == commands
    assert {each.issue for each in found} <= {3}
    assert tuple(boxes.Tick.of(str(each)) for each in found) == found
    at = datetime(2026, 11, 28, 12, 0, 3, tzinfo=UTC)
    timed = boxes.newly_ticked(3, before, after, at)
    assert {each.at for each in timed} <= {at}
    assert tuple(boxes.Tick.of(str(each)) for each in timed) == timed


HERE = on_github(1)


def test_a_name_that_would_break_out_of_its_box_has_none() -> None:
    assert boxes.fits("upgrade net/core v3")
    assert not boxes.fits("upgrade a`b v3")
    assert not boxes.fits("upgrade a\n- [x] b v3")


def issue(*pressed: Comment, answers: tuple[Comment, ...] = ()) -> Facts:
    """The dashboard issue, on which boxes were ticked."""
    made = changed(PROPOSAL, head="", issue=True, closed=True)
    talk = Discussion(pressed=pressed, answers=answers)
    whole = Whole(policy=Policy(), packages=frozenset())
    return facts(changed(made, talk=talk, whole=whole))


def tick(number: int, person: Person, command: str) -> Comment:
    at = PROPOSAL.times.looked_at or PROPOSAL.times.installed_at
    return Comment(id=-number, author=person, body=f"/{command}", at=at, button=True)


NOBODY = Person(0, "", bot=False)


def test_where_nobody_can_tell_who_ticked_nothing_happens_and_it_is_said() -> None:
    """The short-cut takes the bot's own rights, or stays silent."""
    reply, keep = dashboard.decide(issue(tick(5, NOBODY, "upgrade net/core v3")))
    assert isinstance(reply, Reply)
    assert isinstance(keep, Keep)
    assert reply.body == (
        "What became of the boxes that were ticked above, the newest first:\n\n"
        "- `/upgrade net/core v3`: nothing was done, because GitHub does not say who ticked the"
        " box. Tick it again, or comment the command."
    )


def test_a_box_that_somebody_changed_gives_nothing_and_says_why() -> None:
    """The short-cut does what stands beside the box, in the name of whoever ticked it."""
    changed_box = replace(tick(5, APPROVER, "upgrade net/core v3"), altered=True)
    unreadable = replace(tick(6, APPROVER, ""), altered=True)

    reply, keep = dashboard.decide(issue(changed_box, unreadable))

    assert isinstance(keep, Keep)
    assert isinstance(reply, Reply)
    assert "- `/upgrade net/core v3`: nothing was done, because the text of the issue" in reply.body
    assert "- a box: nothing was done, because the text of the issue" in reply.body


def test_what_was_pushed_for_a_box_is_known_whatever_was_said_since() -> None:
    """The short-cut takes the newest comment's number for the box's: once another box has its
    answer, a draft that people closed before its own was noted is opened again."""
    wanted = DraftRequest(kind=DraftKind.UPGRADE, package="a", revision=2, asker=APPROVER)
    done = frozenset({token(-5, wanted)})
    branch = ProposedState(branch="drafts/a/upgrade", tip="b" * 40, ended=7, done=done)
    state = DraftState(request=wanted, base_ref="main", there=branch, start=BASE, version="v2")
    state = replace(state, pushed=True)
    box, other = tick(5, APPROVER, "upgrade a v2"), replace(tick(-9, APPROVER, "x"), button=False)

    (p,) = issue(box, answers=(other,)).proposals
    found = dashboard.decide(facts(changed(p, drafts={wanted: state})))

    assert [type(each) for each in found] == [Reply, Keep]
    assert isinstance(found[0], Reply)
    assert "`/upgrade a v2`, ticked by `approver`: #7: Upgrade a to v2." in found[0].body


def test_of_many_boxes_the_newest_stay() -> None:
    """The short-cut sorts them by their numbers, which are digests: any of them goes."""
    first = issue(*(tick(n, NOBODY, f"upgrade p{n} v3") for n in range(1, 101)))
    reply, _ = dashboard.decide(first)
    assert isinstance(reply, Reply)
    at = PROPOSAL.times.installed_at
    there = Comment(
        id=9, author=APPROVER, body=reply.body, at=at, ours=True, records=(reply.record,)
    )

    edited, _ = dashboard.decide(issue(tick(500, NOBODY, "upgrade a v3"), answers=(there,)))
    last, _ = dashboard.decide(issue(tick(7_000, NOBODY, "upgrade b v3"), answers=(there,)))

    for each, number in ((edited, -500), (last, -7_000)):
        assert isinstance(each, Restore)
        assert CommentAnswered(comment=number) in memory.events_of(each.record)
        assert len(memory.events_of(each.record)) == 100


def test_that_boxes_go_on_is_kept_before_it_is_said() -> None:
    """The short-cut answers first: after a crash between the two nobody reads `/continue` again,
    and boxes that "will begin" never do."""
    record: dict[str, JSON] = {"kind": boxes.RECORD, "begun": box_waves.remembered([CLOSED])}
    there = Comment(
        id=9,
        author=APPROVER,
        body="boxes",
        at=NOW,
        ours=True,
        records=({**record, "newest": [], **replay.pack([])},),
    )
    waves = waves_of("upgrade x v2", begun=[CLOSED])
    asked = Discussion(
        comments=(said(APPROVER, "/continue", minutes=1),), answers=(there,), boxes=waves
    )
    found = issue()
    (made,) = found.proposals

    kept, answer, *_ = dashboard.decide(replace(found, proposals=(replace(made, talk=asked),)))

    assert isinstance(kept, Restore)
    assert [each.left for each in box_waves.read(kept.record)] == [True]
    assert isinstance(answer, Reply)


def test_a_long_refusal_is_not_cut_inside_of_its_code() -> None:
    """Short-cut: the first 300 characters; what comes after them stands in the code that they open,
    and what is code there stands outside.
    """
    begun: dict[str, BegunBox] = {}
    refusal = f"refused: `{'x' * 500} @acme/all` is not there"
    dashboard._begin(begun, tick(5, APPROVER, "upgrade a v3"), refusal, failed=True)
    assert begun["upgrade a v3"].failed == texts.LONG_REASON
    (line,) = texts.going_on(
        replace(waves_of("upgrade b v3", begun=[*begun.values()]), waiting=("upgrade b v3",))
    )
    assert line.count("`") % 2 == 0


def test_all_boxes_are_told_of_in_one_comment() -> None:
    """The short-cut answers each box, and the issue becomes a list of answers."""
    first = tick(5, NOBODY, "upgrade a v3")
    reply, _ = dashboard.decide(issue(first))
    assert isinstance(reply, Reply)
    there = Comment(
        id=9, author=APPROVER, body=reply.body, at=first.at, ours=True, records=(reply.record,)
    )

    edited, keep = dashboard.decide(issue(first, tick(6, NOBODY, "upgrade b v3"), answers=(there,)))

    assert isinstance(edited, Restore)
    assert isinstance(keep, Keep)
    assert edited.comment == 9
    assert [line.split("`")[1] for line in edited.body.split("\n")[2:]] == [
        "/upgrade b v3",
        "/upgrade a v3",
    ]
    assert records.sign(edited.record, b"k")


def waves_of(*ticked: str, begun: Sequence[BegunBox] = ()) -> BoxWaves:
    """What is begun of some boxes; b is made from a, and c from b."""
    made = {"b": "a", "c": "b"}
    home = {Package("h", p): Upstream(Package("h", q), f"{q}/v1") for p, q in made.items()}
    return box_waves.next_wave(ticked, begun, Graph(home), "h")


SEVEN = tuple(f"upgrade p{n} v2" for n in range(7))
OPEN = tuple(BegunBox(command=each, number=n + 1) for n, each in enumerate(SEVEN[:4]))
CLOSED = BegunBox(command="upgrade a v2", number=9, failed="#9 was closed")
WAVES: dict[str, tuple[BoxWaves, tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "five at a time": (waves_of(*SEVEN), SEVEN[:5], SEVEN[5:], ()),
    "as many as there is room for": (waves_of(*SEVEN[4:], begun=OPEN), SEVEN[4:5], SEVEN[5:], ()),
    "what was made from another comes after it": (
        waves_of("upgrade c v2", "upgrade b v2", "rollback x@v1 r"),
        ("upgrade b v2", "rollback x@v1 r"),
        ("upgrade c v2",),
        (),
    ),
    "what fails stops all": (waves_of(*SEVEN[:2], begun=[CLOSED]), (), SEVEN[:2], ()),
    "what failed may be asked for again": (
        waves_of("upgrade a v2", "upgrade x v2", begun=[CLOSED]),
        ("upgrade a v2",),
        ("upgrade x v2",),
        (),
    ),
    "once it is left, what was made from it is left out": (
        waves_of("upgrade c v2", "upgrade x v2", begun=[replace(CLOSED, left=True)]),
        ("upgrade x v2",),
        (),
        ("upgrade c v2",),
    ),
}


@pytest.mark.parametrize(("waves", "start", "waiting", "left"), WAVES.values(), ids=WAVES)
def test_which_boxes_are_begun(
    waves: BoxWaves, start: tuple[str, ...], waiting: tuple[str, ...], left: tuple[str, ...]
) -> None:
    """Short-cuts refused: all at once; in any order; on and on although one failed."""
    assert (waves.start, waves.waiting, waves.left_out) == (start, waiting, left)


def test_what_was_begun_is_read_back_from_its_record() -> None:
    """The short-cut keeps it in memory: a bot that starts anew opens five more."""
    begun = (OPEN[0], CLOSED, replace(CLOSED, command="resume b", left=True))
    assert box_waves.read({"begun": box_waves.remembered(begun)}) == begun
    assert box_waves.read({"kind": "boxes"}) == ()


def test_how_far_boxes_are_is_said() -> None:
    """Short-cuts refused: silence while boxes wait; a reason without what to do."""
    waves = waves_of(*SEVEN[4:], begun=OPEN)
    assert texts.waves(waves) == (
        "**2 boxes wait.** At most 5 drafts that boxes began are open at a time, and a package"
        " comes after those that it is made from. Open: #1, #2, #3, #4. The next one begins"
        " whenever one is merged."
    )
    assert texts.waves(waves_of(begun=OPEN)) == ""
    stopped = waves_of(*SEVEN[:2], begun=[CLOSED])
    assert texts.waves(stopped) == (
        "**Stopped: 2 boxes wait.** `/upgrade a v2`: #9 was closed. Fix that, or comment"
        " `/continue` to skip it and the packages made from it, and begin the others."
    )
    assert list(texts.going_on(stopped)) == [
        f"[ ] `/continue`: boxes wait, because `/upgrade a v2`: #9 was closed{boxes.UNSEALED}"
    ]
    assert list(texts.going_on(waves)) == []


def test_a_box_about_a_proposal_is_passed_on_and_said_to_be() -> None:
    """The short-cut answers it here, where the proposal's rules are not known."""
    boxed = replace(tick(5, APPROVER, f"approve {'a' * 40} #7"), boxed=True)
    unknown = replace(boxed, id=-6, author=NOBODY)

    reply, keep = dashboard.decide(issue(boxed, unknown))

    assert isinstance(reply, Reply)
    assert isinstance(keep, Keep)
    assert keep.log == {CommentAnswered(comment=-5), CommentAnswered(comment=-6)}
    assert reply.body.split("\n")[2:] == [
        f"- `/approve {'a' * 40}` in #7, ticked by `approver`: passed on to the pull request.",
        f"- `/approve {'a' * 40}` in #7: nothing was done, because GitHub does not say who ticked"
        " the box. Tick it again, or comment the command.",
    ]


def test_a_stranger_stops_nothing() -> None:
    """The short-cut takes any refusal for a failure: whoever may edit the issue stops others."""
    waits = waves_of("upgrade a v2", "upgrade b v2")
    asked = tick(5, OUTSIDER, "upgrade a v2")
    there = issue(asked)
    (only,) = there.proposals
    there = replace(there, proposals=(replace(only, talk=replace(only.talk, boxes=waits)),))

    reply, *_ = dashboard.decide(there)

    assert isinstance(reply, Reply)
    assert "ticked by `outsider`: `/upgrade` refused" in reply.body
    assert box_waves.read(reply.record) == ()


@pytest.mark.parametrize(("seconds", "proves"), [(-1, True), (0, False), (1, False)])
def test_of_a_box_the_time_alone_tells(seconds: int, proves: bool) -> None:
    """The short-cut compares numbers: that of a box is below all, or above all."""
    proposal = changed(PROPOSAL, head_mark="m", head_at=None)
    ours = replace(
        said(APPROVER, "x"),
        ours=True,
        at=NOW + timedelta(seconds=seconds),
        records=(memory.answer_record(1, proposal, HERE),),
    )
    proposal = replace(proposal, talk=Discussion(answers=(ours,)))
    box = replace(tick(5, APPROVER, "approve"), at=NOW, boxed=True)

    assert memory.shown_head_before(proposal, box, memory.read(proposal)) is proves


@pytest.mark.parametrize(
    ("command", "failed", "why"),
    [
        ("upgrade a v2", "no", "`/upgrade a v2`: no"),
        ("upgrade a v2", "no " * 900, "`/upgrade a v2` failed"),
        ("upgrade " + "a" * 2_500, "no", "others failed"),
    ],
)
def test_the_box_to_go_on_has_room(command: str, failed: str, why: str) -> None:
    """Fails if whole refusals make a line longer than one that is read: nobody could go on."""
    begun = (BegunBox(command=command, failed=failed),)
    (line,) = texts.going_on(BoxWaves(begun=begun, waiting=("upgrade b v2",)))
    assert line == f"[ ] `/continue`: boxes wait, because {why}{boxes.UNSEALED}"
    (tick,) = boxes.ticked(3, "- [x]" + line.removeprefix("[ ]"))
    assert tick.command == "continue"


@pytest.mark.parametrize(
    ("command", "package"),
    [
        ("resume net/@acme/x", "net/@acme/x"),
        ("rollback net/core@v3", "net/core"),
        ("upgrade net/@acme/x@v12", "net/@acme/x"),
        ("upgrade net/core@latest", "net/core"),
        ("resume .", ""),
        ("rollback @v2", ""),
        ("upgrade net/core v3", "net/core"),
        ("continue", ""),
    ],
)
def test_the_package_of_a_box_is_that_of_its_command(command: str, package: str) -> None:
    """The short-cut cuts at the first "@": a package below such a folder counts as another one, and
    neither the order of waves nor circles hold for it."""
    assert box_waves.package_of(command) == package
