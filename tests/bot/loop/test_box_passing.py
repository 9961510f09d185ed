"""Which boxes of the dashboard are passed on to the proposals that they are about."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from bot.forges.port import IssueEdit
from bot.loop.box_passing import FRESH, PATIENCE, passed_on
from bot.store.hints import Press
from bot.store.port import Claims
from lifecycle import boxes
from lifecycle.boxes import Tick
from tests.ids import on_github
from tests.memory.store import MemoryStore

KEY, HERE, AT = b"key", on_github(1), datetime(2026, 11, 28, 12, 0, 3, tzinfo=UTC)
APPROVE, PROPOSE = f"approve {'a' * 40} #7", f"propose {'a' * 40} #8"


def tick(command: str, *, key: bytes = KEY, at: datetime | None = AT) -> Tick:
    """A box of the issue, sealed."""
    digest = "d" * 32
    page = "e" * 32
    return Tick(3, boxes.seal_of(key, HERE, command, page), digest, command, at, page=page)


class Around:
    """What passing on asks, and what it wakes."""

    def __init__(self, *edits: IssueEdit, now: datetime = AT) -> None:
        self.edits, self.now, self.woken = edits, now, list[str]()
        self.claims: Claims = MemoryStore().claims
        self.at, self.asked = set[datetime | None](), 0

    async def issue_edits(self, number: int, since: datetime) -> tuple[IssueEdit, ...]:
        """As a forge has it."""
        assert number == 3
        self.asked += 1
        return tuple(each for each in self.edits if each.at >= since)

    async def wake(self, key: Any, hint: Any) -> None:
        """As a queue has it."""
        assert hint.by == {"box"}
        self.at |= {Tick.of(Press.of(each).button).at for each in hint.pressed}
        self.woken += [f"{key.number} {Press.of(each).person}" for each in hint.pressed]

    async def passes(
        self, *ticks: Tick, person: int = 5, of: str = "d"
    ) -> tuple[list[str], list[str], bool]:
        """Commands that are answered, those of them of nobody, and whether some are left."""
        looker = SimpleNamespace(keys=[KEY])
        clock = SimpleNamespace(now=lambda: self.now)
        served: Any = SimpleNamespace(id=HERE, looker=looker, forge=self, clock=clock)
        queue: Any = self
        presses = [Press(of, person, "ann", str(each)) for each in ticks]
        found, left = await passed_on(served, queue, self.claims, presses)
        answered = [Tick.of(each.button).command for each in found.presses]
        unknown = [p for p in found.presses if p.number in found.unconfirmed]
        return answered, [Tick.of(each.button).command for each in unknown], left


EDIT = IssueEdit(5, AT)
CASES: dict[str, tuple[Around, Tick, list[str], int, bool]] = {
    "an approval that the forge confirms": (Around(EDIT), tick(APPROVE), ["7 5"], 0, False),
    "a second later by its clock": (
        Around(replace(EDIT, at=AT + timedelta(seconds=2))),
        tick(APPROVE),
        ["7 5"],
        0,
        False,
    ),
    "an edit of somebody else": (Around(IssueEdit(6, AT)), tick(APPROVE), [], 0, True),
    "an edit that ticked it, as the forge tells": (
        Around(replace(EDIT, ticked="5" * 32)),
        replace(tick(APPROVE), shown="5" * 32),
        ["7 5"],
        0,
        False,
    ),
    "an edit by that person at that time that ticked another box": (
        Around(replace(EDIT, ticked="6" * 32)),
        replace(tick(APPROVE), shown="5" * 32),
        [],
        0,
        True,
    ),
    "an edit that ticked a box, and nobody noted which one was told": (
        Around(replace(EDIT, ticked="5" * 32)),
        tick(APPROVE),
        [],
        0,
        True,
    ),
    "an edit of a while ago": (
        Around(replace(EDIT, at=AT - timedelta(seconds=9))),
        tick(APPROVE),
        [],
        0,
        True,
    ),
    "nobody confirms it for a minute": (
        Around(now=AT + PATIENCE + timedelta(seconds=1)),
        tick(APPROVE),
        [],
        1,
        False,
    ),
    "a time that nobody told": (Around(EDIT), tick(APPROVE, at=None), [], 1, False),
    "to propose, as the forge confirms": (Around(EDIT), tick(PROPOSE), ["8 5"], 0, False),
    "to propose, in a delivery alone": (
        Around(now=AT + PATIENCE + timedelta(seconds=1)),
        tick(PROPOSE),
        [],
        1,
        False,
    ),
    "an edit of long ago, told of again": (
        Around(EDIT, now=AT + FRESH + timedelta(seconds=1)),
        tick(APPROVE),
        [],
        1,
        False,
    ),
    "a time that is yet to come": (
        Around(now=AT - PATIENCE - timedelta(seconds=1)),
        tick(APPROVE),
        [],
        1,
        False,
    ),
    "a box that somebody made": (Around(EDIT), tick(APPROVE, key=b"theirs"), [], 0, False),
    "a box about a package": (Around(EDIT), tick("upgrade a v2"), [], 0, False),
    "a draft, in a delivery alone": (Around(), tick("rollback a v2"), [], 0, True),
    "a draft that nobody confirms for a minute": (
        Around(IssueEdit(6, AT), now=AT + PATIENCE + timedelta(seconds=1)),
        tick("resume a"),
        [],
        1,
        False,
    ),
    "to go on, that nobody confirms": (
        Around(now=AT + PATIENCE + timedelta(seconds=1)),
        tick("continue"),
        [],
        1,
        False,
    ),
    "a draft at a time that nobody told": (
        Around(EDIT),
        tick("upgrade a v2", at=None),
        [],
        1,
        False,
    ),
}


@pytest.mark.parametrize(("around", "box", "woken", "unknown", "left"), CASES.values(), ids=CASES)
async def test_which_boxes_go_to_their_proposals(
    around: Around, box: Tick, woken: list[str], unknown: int, left: bool
) -> None:
    """Short-cuts refused: the delivery is believed; whoever edited it last; whatever has a box."""
    answered, nobody, later = await around.passes(box)

    assert (around.woken, len(nobody), later) == (woken, unknown, left)
    assert answered == ([] if left else [box.command])


async def test_a_few_are_passed_on_at_a_time_and_nobodys_are_not() -> None:
    """Short-cuts refused: five hundred looks at once; a sender that is no person."""
    ticks = [tick(f"propose {'a' * 40} #{number}") for number in range(1, 8)]
    around = Around(EDIT)
    answered, _, left = await around.passes(*ticks)
    assert (len(answered), len(around.woken), left, around.asked) == (5, 5, True, 1)

    nobodys = Around()
    answered, _, left = await nobodys.passes(*ticks, person=0)
    assert (len(answered), nobodys.woken, left) == (7, [], False)


async def test_an_edit_speaks_for_one_delivery_and_at_its_own_time() -> None:
    """Short-cuts refused: what was confirmed once confirms whatever is sent later; the moment that
    the delivery names, which may be after a push that nobody saw."""
    later = AT + timedelta(seconds=4)
    around = Around(EDIT, now=AT + timedelta(minutes=5))
    answered, nobody, _ = await around.passes(
        tick(APPROVE, at=later), tick(f"approve {'b' * 40} #9", at=later), of="one"
    )
    assert (len(answered), nobody, around.at) == (2, [], {AT})

    again = await around.passes(tick(APPROVE, at=later), of="one")
    assert (again[0], again[1]) == ([APPROVE], [])

    _, nobody, _ = await around.passes(tick(f"approve {'c' * 40} #7"), of="another")
    assert (len(nobody), len(around.woken)) == (1, 3)


async def test_edits_of_one_second_speak_for_as_many_deliveries() -> None:
    """Short-cuts refused: one of them speaks for all of its second, so that of three boxes that are
    ticked quickly two are nobody's; or the second confirms whatever is sent of it."""
    around = Around(EDIT, EDIT, EDIT, now=AT + timedelta(minutes=5))
    said = []
    for number in range(4):
        box = tick(f"approve {'abcd'[number] * 40} #{number + 1}")
        said.append(await around.passes(box, of=f"delivery-{number}"))
    assert [len(nobody) for _, nobody, _ in said] == [0, 0, 0, 1]
    assert around.woken == ["1 5", "2 5", "3 5"]

    again = await around.passes(tick(f"approve {'b' * 40} #2"), of="delivery-1")
    assert again[1] == []


async def test_where_the_forge_tells_which_box_was_ticked_no_other_counts() -> None:
    """Short-cuts refused: what confirmed one box of a delivery confirms its others; the edit that
    ticked one is used up by somebody's delivery about another."""
    ticked = [replace(EDIT, ticked=each * 32) for each in "56"]
    around = Around(*ticked, now=AT + timedelta(minutes=5))
    six = tick(f"approve {'b' * 40} #9")
    both = [replace(tick(APPROVE), shown="5" * 32), replace(six, shown="6" * 32)]

    _, nobody, _ = await around.passes(both[0], replace(six, shown="7" * 32), of="made-up")
    assert (nobody, around.woken) == ([six.command], ["7 5"])
    _, nobody, _ = await around.passes(both[1], of="one")
    assert (nobody, around.woken) == ([], ["7 5", "9 5"])


def board(text: str) -> str:
    """An issue of ours with a box."""
    return boxes.sealed(text, partial(boxes.seal_of, KEY, HERE))


OURS = f"# Drafts\n\n- [ ] `/approve {'a' * 40}` in [#7](x) t{boxes.UNSEALED}\n\nEnd."


async def test_an_edit_of_a_text_that_was_altered_confirms_nothing_later() -> None:
    """Short-cuts refused: the forge's note of a box tells nothing of the lines around it, and is
    believed; it is waited for another edit until the bot has written the issue again, and the same
    one is taken then."""
    edit = replace(EDIT, ticked="5" * 32, now=board(OURS).replace("[ ]", "[x]"))
    box = replace(tick(APPROVE), shown="5" * 32)
    first = Around(
        replace(edit, now=board(OURS).replace("-->\n", "-->\n  is what I do not want\n"))
    )
    await first.passes(box, of="one")

    second = Around(edit)
    second.claims = first.claims
    await second.passes(box, of="one")
    assert (first.woken, second.woken) == ([], [])

    unaltered = Around(edit)
    await unaltered.passes(box, of="one")
    assert unaltered.woken == ["7 5"]


async def test_an_edit_that_was_used_is_used_for_every_replica() -> None:
    """The short-cut remembers it in one process: after a restart, or at another replica, whoever
    knows the secret has the same edit confirm a delivery of theirs."""
    first = Around(EDIT)
    await first.passes(tick(APPROVE), of="one")

    second = Around(EDIT, now=AT + FRESH - timedelta(minutes=1))
    second.claims = first.claims
    _, nobody, _ = await second.passes(tick(f"approve {'b' * 40} #9"), of="two")
    assert (len(nobody), second.woken) == (1, [])
    again, _, _ = await second.passes(tick(APPROVE), of="one")
    assert (again, second.woken) == ([APPROVE], ["7 5"])


async def test_a_delivery_takes_one_edit_wherever_the_forge_lists_another_later() -> None:
    """The short-cut takes the nearest that is listed by then: the second box of the delivery takes
    the edit of another delivery, whose boxes are of nobody then."""
    before = replace(EDIT, at=AT - timedelta(seconds=3))
    around = Around(before)
    await around.passes(tick(APPROVE), of="one")
    around.edits = (before, EDIT)
    await around.passes(tick(PROPOSE), of="one")
    assert around.at == {before.at}

    answered, nobody, _ = await around.passes(tick(APPROVE, at=before.at), of="two")
    assert (answered, nobody) == ([APPROVE], [])
    assert around.at == {before.at, AT}


async def test_an_edit_that_a_look_took_before_it_ended_is_taken_again() -> None:
    """The short-cut begins anew: a look that was cut short leaves a delivery with two edits."""
    before = replace(EDIT, at=AT - timedelta(seconds=3))
    around = Around(before, EDIT)
    place = f"edit of issue 3 by 5 at {before.at.isoformat()}"
    assert await around.claims.have(HERE, place, "one")

    await around.passes(tick(APPROVE), of="one")

    assert around.at == {before.at}


async def test_boxes_of_drafts_that_were_confirmed_may_wait_for_long() -> None:
    """Short-cuts refused: the forge is asked again at each look; after half an hour, for which an
    edit is good, nobody ticked what waits for its wave."""
    around, waits = Around(EDIT), [tick("upgrade a v2"), tick("upgrade b v2")]
    for hours in range(9):
        around.now = AT + timedelta(hours=hours)
        answered, nobody, left = await around.passes(*waits)
        assert (len(answered), nobody, left) == (2, [], False)
    assert around.asked == 1


async def test_boxes_that_wait_for_the_forge_take_no_place() -> None:
    """The short-cut counts what waits among those that are passed on: five deliveries that somebody
    made up keep everybody's boxes from counting."""
    around = Around(EDIT)
    made_up = [tick(APPROVE, at=AT + timedelta(seconds=30 + n)) for n in range(6)]
    answered, _, left = await around.passes(*made_up, tick(PROPOSE))
    assert (answered, around.woken, left) == ([PROPOSE], ["8 5"], True)
