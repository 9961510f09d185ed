"""What a thaw lifts, when it is looked at late; and what one comment may freeze."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lifecycle.actions import KeepFreezes, Reply
from lifecycle.decide import decide
from lifecycle.events import Frozen, Thawed
from tests.lifecycle.samples import APPROVER, NOW, PROPOSAL, changed, facts, said

HOUR = timedelta(hours=1)


def frozen(path: str = "", *, number: int = 40) -> Frozen:
    return Frozen(person="owner", at=NOW - HOUR, comment=number, path=path, reason="fire")


LATE: dict[str, tuple[str, Frozen, bool]] = {
    "before it": ("/thaw", frozen("net"), True),
    "in its second, before it": ("/thaw", replace(frozen("net", number=99), at=NOW), True),
    "in its second, after it": ("/thaw", replace(frozen("net", number=101), at=NOW), False),
    "after it": ("/thaw", replace(frozen("net", number=101), at=NOW + HOUR), False),
    "after it, of everything": ("/thaw", replace(frozen(number=101), at=NOW + HOUR), False),
    "after it, the folder that it names": (
        "/thaw net/", replace(frozen("net", number=101), at=NOW + HOUR), False
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "freeze", "lifted"), LATE.values(), ids=LATE)
def test_a_thaw_lifts_nothing_that_was_frozen_after_it(
    words: str, freeze: Frozen, lifted: bool
) -> None:
    """Short-cut refused: whatever stands at the look, which may be hours after the comment."""
    proposal = changed(PROPOSAL, comments=(said(APPROVER, words),), looked_at=NOW + 2 * HOUR)

    actions = decide(facts(proposal, freezes=frozenset({freeze})))

    kept = [e for a in actions if isinstance(a, KeepFreezes) for e in a.log]
    assert [e.lifts for e in kept if isinstance(e, Thawed)] == ([(freeze.name,)] if lifted else [])


def test_who_thaws_and_freezes_in_one_comment_is_frozen_however_often_it_is_read() -> None:
    """Short-cut refused: the second look, after a reply that failed, lifts what the first froze."""
    said_now = said(APPROVER, "/thaw\n/freeze net/ fire")
    own = Frozen(person="approver", at=said_now.at, comment=100, path="net", reason="fire")
    proposal = changed(PROPOSAL, comments=(said_now,))

    actions = decide(facts(proposal, freezes=frozenset({own})))

    assert not [a for a in actions if isinstance(a, KeepFreezes)]


@pytest.mark.parametrize("first", [frozenset[Frozen](), None], ids=["first look", "second look"])
def test_a_folder_is_frozen_once_by_one_comment(first: frozenset[Frozen] | None) -> None:
    """Short-cut refused: both are answered with "frozen", and one of them is lost."""
    comment = said(APPROVER, "/freeze net/ for 2h fire\n/freeze net/ an incident\n/freeze flood")
    ours = {"person": "approver", "at": NOW, "comment": 100}
    net = Frozen(**ours, path="net", until=NOW + 2 * HOUR, reason="fire")  # type: ignore[arg-type]
    known = frozenset({net}) if first is None else first
    proposal = changed(PROPOSAL, comments=(comment,))

    actions = decide(facts(proposal, freezes=known))

    kept = {e for a in actions if isinstance(a, KeepFreezes) for e in a.log}
    everything = Frozen(**ours, reason="flood")  # type: ignore[arg-type]
    assert kept | known == {net, everything}
    (reply,) = (a for a in actions if isinstance(a, Reply))
    assert "`/freeze` refused: this comment freezes `net` already" in reply.body
