"""What is known of boxes: whose word about what failed counts, and which record."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from lifecycle import box_waves, boxes, dashboard, replay
from lifecycle.actions import Keep, Reply, Restore
from lifecycle.facts.boxes import BegunBox
from lifecycle.facts.conversation import Comment, Discussion, Written
from lifecycle.records import JSON
from tests.lifecycle.samples import APPROVER, NOW, said
from tests.lifecycle.test_boxes import issue, tick, waves_of

LATER = NOW + timedelta(minutes=5)


def test_what_failed_later_is_not_left_by_who_went_on_before() -> None:
    """Short-cuts: all that failed by the look that reads `/continue`; or what is refused in the
    very same look.
    """
    seen = BegunBox(command="upgrade a v2", failed="closed", since=NOW)
    later = BegunBox(command="upgrade b v2", failed="closed", since=LATER)

    def answered(*failed: BegunBox, minutes: int) -> list[str]:
        waves = waves_of("upgrade x v2", begun=failed)
        asked = said(APPROVER, "/continue", minutes=minutes)
        there = progress(failed, turn=1)
        talk = Discussion(comments=(asked,), answers=(there,), boxes=waves)
        found = issue()
        (made,) = found.proposals
        done = dashboard.decide(replace(found, proposals=(replace(made, talk=talk),)))
        return [each.body for each in done if isinstance(each, Reply)]

    (early,) = answered(seen, later, minutes=1)
    assert "something failed after you commented" in early
    assert "`/upgrade b v2`: closed" in early
    (late,) = answered(seen, later, minutes=6)
    assert "Skipped: `/upgrade a v2`, `/upgrade b v2`" in late
    assert box_waves.went_on([seen, later], [seen]) == (replace(seen, left=True), later)
    noted = box_waves.noted([replace(seen, since=None), later, BegunBox(command="c")], NOW)
    assert [each.since for each in noted] == [NOW, LATER, None]


def test_an_older_record_that_somebody_put_back_counts_for_nothing() -> None:
    """Short-cuts: what the comment says now, which whoever may edit comments wrote: an older record
    of ours has a valid seal; or the newest comment, where there are two.
    """
    failed = BegunBox(command="upgrade a v2", failed="closed", since=NOW)
    older, newer = progress([], turn=1), progress([failed], turn=2)
    kept = Written("a line", newer.records[0])

    assert box_waves.latest([*older.records, kept.record]) == newer.records[0]
    assert box_waves.latest([*newer.records, *older.records]) == newer.records[0]
    waves = waves_of("upgrade x v2", begun=[failed])
    talk = Discussion(answers=(older,), written={older.id: kept}, boxes=waves)
    found = issue()
    (made,) = found.proposals
    mended, keep = dashboard.decide(replace(found, proposals=(replace(made, talk=talk),)))
    assert isinstance(mended, Restore)
    assert box_waves.read(mended.record) == (failed,)
    assert box_waves.turn_of(mended.record) > 1
    assert isinstance(keep, Keep)
    assert keep.written[older.id].record == mended.record


def test_a_box_to_go_on_that_says_something_else_does_nothing() -> None:
    """The short-cut takes it for what failed by now, which its reader did not see."""
    failed = BegunBox(command="upgrade a v2", failed="closed", since=NOW)
    waves = waves_of("upgrade x v2", begun=[failed])
    found = issue(tick(5, APPROVER, "continue"), answers=(progress([failed], turn=1),))
    (made,) = found.proposals
    talk = replace(made.talk, boxes=replace(waves, unseen=frozenset({-5})))

    mended, _ = dashboard.decide(replace(found, proposals=(replace(made, talk=talk),)))

    assert isinstance(mended, Restore)
    assert "what failed is not what the box said" in mended.body
    assert [each.left for each in box_waves.read(mended.record)] == [False]


def progress(begun: Sequence[BegunBox], *, turn: int) -> Comment:
    """Our comment about boxes."""
    record: dict[str, JSON] = {
        "kind": boxes.RECORD,
        "begun": box_waves.remembered(begun),
        "turn": turn,
        "newest": [],
        **replay.pack([]),
    }
    return Comment(id=9, author=APPROVER, body="boxes", at=NOW, ours=True, records=(record,))
