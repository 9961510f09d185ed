"""What a proposal publishes, in words: packages with their revisions, changes of the ledger.

Beside `markdown`, which processes that render import: facts of proposals would be a quarter of
their start.
"""

from collections.abc import Iterable

from lifecycle.facts.packages import Touched
from lifecycle.facts.proposal import Proposal
from lifecycle.ledger import LedgerChange, ListedState
from lifecycle.messages.markdown import name, number, one_line

DEPRECATED = "deprecated"


def every(touched: Iterable[Touched], most: int) -> str:
    """The names of packages with their revisions, in Markdown.

    Args:
        touched: The packages.
        most: Characters; what has no room is counted.
    """
    every = list(touched)
    shown: list[str] = []
    room = most
    for t in every:  # the others are not written out: there may be thousands
        each = f"{name(t.package)} {'removed' if t.removed else f'v{t.revision}'}"
        room -= len(each) + 2
        if room < 0:
            break
        shown.append(each)
    more = len(every) - len(shown)
    return ", ".join(shown) + (
        f", and {number(more, 'package')} that did not fit here" if more else ""
    )


def revisions(proposal: Proposal) -> str:
    """What a proposal publishes, such as "net/core v5, net/edge v2"; plain text."""
    touched, ledger = proposal.content.touched[:3], proposal.content.ledger
    shown = [
        f"{one_line(t.package) or 'root package'} " + ("removed" if t.removed else f"v{t.revision}")
        for t in touched
    ]
    shown += map(_change_of, ledger[: 3 - len(shown)])
    left = len(proposal.content.touched) + len(ledger) - len(shown)
    more = f" and {left} more" if left else ""
    rules = "a change of the rules" if proposal.content.configures else "nothing"
    return ", ".join(shown) + more or rules


def plural(proposal: Proposal) -> bool:
    """Whether `revisions` names several: they "are" proposed, one "is"."""
    return len(proposal.content.touched) + len(proposal.content.ledger) > 1


def _change_of(change: LedgerChange) -> str:
    """A change of the ledger, as what is proposed, waited for or done."""
    package = one_line(change.package) or "root package"
    revision = f"{package} v{change.revision}"
    if change.holds:
        return f"hold of {package} at v{change.revision}"
    if change.resumes and change.after is None:
        return f"end of the hold of {package}"
    if change.restores:
        return f"end of the deprecation of {revision}"
    if listed(change) == DEPRECATED:
        return f"deprecation of {revision}"
    return f"{revision} {listed(change)}"


def listed(change: LedgerChange) -> str:
    """What becomes of a revision by a change of the ledger, in a word."""
    if change.withdraws:
        return "withdrawn"
    if change.holds:
        return "held: nothing newer is taken from the upstream"
    if change.resumes and change.after is None:
        return "no longer held"
    if change.restores:
        return "no longer deprecated"
    deprecates = change.after is not None and change.after.state is ListedState.DEPRECATED
    return DEPRECATED if deprecates and not change.frees else "its entry in the ledger changed"
