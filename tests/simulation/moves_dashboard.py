"""What people ask for on the dashboard issue, which half of the histories with variants have."""

from bot.sandbox.records.repository import Issue
from tests.simulation.hands import Hands
from tests.simulation.moves import Moves, writer
from tests.simulation.setting import HONEST, READER
from tests.simulation.variants import UPSTREAM

MOVES = move = Moves()


def issue(h: Hands) -> Issue:
    """The dashboard issue."""
    there = [each for each in h.repo.threads if isinstance(each, Issue) and h.is_bot(each.user)]
    return h.one([each for each in there if each.state == "open"])


def drafted(h: Hands) -> list[str]:
    """The packages that have open drafts."""
    heads = [p.head_ref for p in h.repo.open_pulls.values()]
    return [ref[len("drafts/") :].rpartition("/")[0] for ref in heads if ref.startswith("drafts/")]


@move("dashboard: /diff", 2.5)
def diff(h: Hands) -> str:
    about, who = issue(h), h.one((*HONEST, READER))
    package = h.one([*h.packages, *drafted(h)])
    text = f"/diff {package}{h.one(('', '', ' v1', ' v2'))}"
    h.say(who, about, text, "diff")
    return f"{who} says {text} on the dashboard issue"


@move("dashboard: /rebase", 2.5)
def rebase(h: Hands) -> str:
    about, who, drafts = issue(h), writer(h), drafted(h)
    package = h.one(drafts if drafts and h.chance(0.8) else list(h.packages))
    onto = f" onto {UPSTREAM}@v{h.one((1, 2))}" if h.chance(0.15) else ""
    h.say(who, about, f"/rebase {package}{onto}", "rebase")
    return f"{who} says /rebase {package}{onto} on the dashboard issue"
