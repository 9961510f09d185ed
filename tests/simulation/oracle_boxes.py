"""Judges what came of boxes of the dashboard issue, by who ticked them, in which text.

- "boxes": no box is answered that nobody ticked, nor twice; no draft of an upgrade is made but for
  whoever ticked its box and may, and no two for one; no draft is proposed that nobody asked for;
- a box that approves is an approval of its commit, where the text is the bot's and whoever ticked
  it may tick boxes (`boxed`).
"""

from collections import Counter
from collections.abc import Callable, Iterator

from tests.simulation.boxes import TOLD
from tests.simulation.diary import Entry
from tests.simulation.evidence import Evidence
from tests.simulation.evidence_variants import package_of
from tests.simulation.setting import BOT, RulesText

TICKED = "box ticked"
UPGRADE = "/upgrade"


def is_approval(word: Entry) -> bool:
    """Whether somebody ticked a box that approves."""
    return word.what == TICKED and word.text.startswith("approve ")


def boxed(word: Entry, levels: set[str], rules: RulesText) -> str:
    """Why an approval by a box does not count; "" where it does, and for any other word.

    Args:
        word: The approval.
        levels: The roles that its writer had meanwhile.
        rules: Those that judge it.
    """
    if word.what != TICKED:
        return ""
    if not any(map(rules.may_bulk, levels)):
        return f"may not tick boxes ({', '.join(sorted(levels))})"
    named = word.text.partition(" ")[2]
    return "" if named == word.head else f"ticked a box of {named[:7]}"


class BoxesOracle:
    """Judges one history.

    Args:
        evidence: What happened.
        stale: Changes by which a forge's answers may be behind, and one more.
        excused: Whether an answer of the forge or a database was lost, so that what was told may be
            told again.
    """

    def __init__(self, evidence: Evidence, stale: int, excused: Callable[[], bool]) -> None:
        self._evidence = evidence
        self._diary = evidence.diary
        self._stale = stale
        self._excused = excused

    def judge(self, entry: Entry) -> Iterator[tuple[str, str]]:
        """Judge something that the bot did."""
        if entry.what in ("issue comment created", "issue comment edited"):
            yield from self._told(entry)
        elif entry.what == "pull opened" and entry.text.endswith(UPGRADE):
            yield from self._upgraded(entry)
        elif entry.what == "pull ready_for_review":
            yield from self._proposed(entry)

    def may(self, tick: Entry, last: int) -> bool:
        """Whether whoever ticked a box might do so at any time that the bot may have read in."""
        first = self._evidence.window(tick.place, self._stale)
        levels = self._evidence.roles_within(tick.who, first, last)
        rules = self._evidence.main_rules(first, last)
        return not rules or any(each.may_bulk(level) for each in rules for level in levels)

    def _told(self, entry: Entry) -> Iterator[tuple[str, str]]:
        told = Counter((f["said"], f["who"]) for f in TOLD.finditer(entry.text))
        given = Counter(
            (e.text, e.who) for e in self._diary.entries[: entry.place] if e.what == TICKED
        )
        for (said, who), times in told.items():
            if not given[said, who]:
                yield "boxes", f"{said} is told to be ticked by {who}, who did not"
            elif times > given[said, who] and not self._excused():
                yield "boxes", f"{said}, ticked by {who}, is told {times} times"

    def _upgraded(self, entry: Entry) -> Iterator[tuple[str, str]]:
        package = entry.text.removeprefix("refs/heads/drafts/").removesuffix(UPGRADE)
        before = self._diary.entries[: entry.place]
        word = f"upgrade {package} v"
        ticks = [e for e in before if e.what == TICKED and e.text.startswith(word)]
        may = [e for e in ticks if self.may(e, entry.place)]
        made = [e for e in before if e.what == entry.what and e.text == entry.text and e.who == BOT]
        if len(may) <= len(made):
            told = f"{len(may)} of {len(ticks)} boxes were ticked by who may"
            yield "boxes", f"#{entry.pull} upgrades {package} once more, and {told}"

    def _proposed(self, entry: Entry) -> Iterator[tuple[str, str]]:
        about = self._diary.of_pull[entry.pull]
        said = any("propose" in self._diary.meant.get(e.number, ()) for e in about)
        ticks = [e for e in about if e.what == TICKED and e.text.startswith("propose ")]
        by_box = any(self.may(e, entry.place) for e in ticks)
        # What rules for variants say may be reason enough.
        if not (said or by_box or package_of(entry.text)):
            yield "boxes", f"#{entry.pull} is proposed, and nobody who may asked for that"
