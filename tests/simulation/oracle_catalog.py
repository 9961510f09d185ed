"""Judges what the bot makes here of another repository's text, and by its rules.

- "consent": nothing of the catalog's text comes here that was not here yet, but while it says so or
  while everybody may read it;
- "let in": nothing is asked for here by the catalog's rules, but while they are let in here.
"""

from collections.abc import Iterator

from tests.simulation.catalog import CAST, MARKED, Stood
from tests.simulation.diary import Entry
from tests.simulation.evidence import ZERO, Evidence
from tests.simulation.evidence_variants import package_of
from tests.simulation.setting import LETS_IN


class CatalogOracle:
    """Judges one history with a second repository.

    Args:
        catalog: The second repository.
        evidence: What happened in the first one.
        stale: Changes by which a forge's answers may be behind, and one more.
    """

    def __init__(self, catalog: Stood, evidence: Evidence, stale: int) -> None:
        self._catalog = catalog
        self._evidence = evidence
        self._history = evidence.history
        self._stale = stale
        self._seen: set[str] = set()

    def judge(self, entry: Entry) -> Iterator[tuple[str, str]]:
        """Judge something that the bot did."""
        came, where = self._brought(entry)
        if (new := came - self._seen) and not self.may_come(entry.place):
            yield "consent", f"{', '.join(sorted(new))} came into {where} without consent"
        self._seen |= came
        if entry.what == "pull opened" and package_of(entry.text) == CAST:
            yield from self._asked(entry)

    def may_come(self, place: int) -> bool:
        """Whether the catalog's text might be used for what was done at a place."""
        first = self._evidence.window(place, self._stale)
        return any(standing.open for standing in self._catalog.within(first, place))

    def rested(self, first: int, last: int) -> bool:
        """Whether nothing of the catalog changed between two places."""
        return self._catalog.rested(first, last)

    def _brought(self, entry: Entry) -> tuple[frozenset[str], str]:
        """The marks of the catalog's text in what was written, and where that is."""
        if entry.what != "push" or entry.after == ZERO:
            return frozenset(MARKED.findall(entry.text)), f"a text on #{entry.pull}"
        if not entry.text.startswith("refs/heads/"):
            return frozenset(), ""
        files = self._history.files(self._history.commit(entry.after).tree)
        marks = (MARKED.findall(data.decode(errors="replace")) for _, data in files)
        return frozenset[str]().union(*marks), entry.text

    def _asked(self, entry: Entry) -> Iterator[tuple[str, str]]:
        if not self._history.package(entry.head, CAST):
            return  # it goes with its rule
        first = self._evidence.window(entry.place, self._stale)
        rules = self._evidence.main_rules(first, entry.place)
        if rules and not any(each.reach == LETS_IN for each in rules):
            yield "let in", f"#{entry.pull} for {CAST}, and the catalog's rules are not let in"
        elif not any(standing.reaches for standing in self._catalog.within(first, entry.place)):
            yield "let in", f"#{entry.pull} for {CAST}, which no rule wants"
