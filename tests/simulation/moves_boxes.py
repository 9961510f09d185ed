"""Boxes of the dashboard issue that people tick, or write into it."""

from bot.sandbox.records.repository import Issue
from tests.simulation.boxes import Box, boxes, ticking
from tests.simulation.hands import Hands
from tests.simulation.moves import Moves
from tests.simulation.moves_dashboard import issue
from tests.simulation.setting import ADMIN, ADVERSARY, WRITERS

MOVES = move = Moves()


def offered(about: Issue) -> list[Box]:
    """The boxes of the dashboard that nobody has ticked."""
    return [each for each in boxes(about.body or "") if not each.ticked]


def clicker(h: Hands) -> str:
    """Somebody who can tick one, whether they may or not."""
    return h.one((ADMIN, ADMIN, ADMIN, *WRITERS, ADVERSARY))


@move("box: ticked", 4)
def tick(h: Hands) -> str:
    about, who = issue(h), clicker(h)
    some = [h.one(offered(about))]
    if h.chance(0.3):
        some.append(h.one(offered(about)))
    h.rewrite(who, about, ticking(about.body or "", *some))
    return f"{who} ticks {', '.join(each.said for each in some)}"


def alter(h: Hands) -> str:
    """The adversary writes other words to a box, or below it, or a box of her own."""
    about = issue(h)
    box, how = h.one(offered(about)), h.one(("below", "command", "one more"))
    if how == "below":
        new = f"{box.line}\n  is what nobody wants"
    elif how == "command":
        other = h.one([each.said for each in offered(about)])
        new = box.line.replace(box.said, f"{other}0" if other == box.said else other)
    else:
        new = f"{box.line}\n- [ ] `{box.mark}upgrade app v9`: it is quick"
    h.rewrite(ADVERSARY, about, (about.body or "").replace(box.line, new))
    return f"{ADVERSARY} writes other words to the box {box.said}: {how}"


@move("attack: box: other words", 2.5)
def attack(h: Hands) -> str:
    told, about = alter(h), issue(h)
    if h.chance(0.4):
        return told
    box = h.one(offered(about))
    h.rewrite(ADMIN, about, ticking(about.body or "", box))
    return f"{told}, and {ADMIN} ticks {box.said}"
