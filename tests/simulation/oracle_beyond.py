"""Judges what is made by topics, in several repositories and by another one's objects.

- "wanted": the set's package is asked for only where the set wants it and is let in, and nothing
  else is in the other repository; what topics or objects chose stays when these go;
- "consent": no object of the other repository is injected here, but while it may be used here.

`by_rule` tells why what another repository has a part in is approved by no rule.
"""

from collections.abc import Iterator

from tests.simulation.beyond import (
    BY_KIND,
    BY_NAMES,
    BY_OBJECTS,
    KEPT,
    MARKED,
    ZONE,
    ZONES,
    Standing,
    Stood,
    Zones,
    zones,
)
from tests.simulation.diary import Entry
from tests.simulation.evidence import ZERO, Evidence, History
from tests.simulation.evidence_variants import package_of
from tests.simulation.setting import MAIN, RulesText


class BeyondOracle:
    """Judges one history with another repository.

    Args:
        stood: How it stood with the other repository.
        evidence: What happened in this one.
        there: Git of the other one.
        stale: Changes by which a forge's answers may be behind, and one more.
    """

    def __init__(self, stood: Stood, evidence: Evidence, there: History, stale: int) -> None:
        self._stood = stood
        self._evidence = evidence
        self._here = evidence.history
        self._there = there
        self._stale = stale
        self._seen: set[str] = set()

    def judge(self, entry: Entry) -> Iterator[tuple[str, str]]:
        """Judge something that the bot did."""
        if entry.what == "there opened":
            yield from self._opened(entry, self._stood.name, self._there)
        elif entry.what == "pull opened" and package_of(entry.text) == ZONE:
            yield from self._opened(entry, "here", self._here)
        yield from self._brought(entry)

    def rules(self, first: int, last: int) -> list[Zones | None]:
        """The set at any time between two places, as far as rules here were known; None for none.

        Of what nobody wrote nothing is told.
        """
        found = list[Zones | None]()
        for tip in self._evidence.tips(MAIN, first, last):
            rules = self._here.rules(tip) if tip else None
            if rules is not None and not rules.broken:
                found.append(self._zones(tip, rules))
        return found

    def _zones(self, tip: str, rules: RulesText) -> Zones | None:
        blob = self._here.at(tip, ZONES) if rules.variants else ""
        return zones(self._here.blob(blob)) if blob else None

    def _opened(self, entry: Entry, name: str, git: History) -> Iterator[tuple[str, str]]:
        package = package_of(entry.text)
        what = f"#{entry.pull or entry.number} for {package} in {name}"
        first = self._evidence.window(entry.place, self._stale)
        rules = self.rules(first, entry.place)
        if package != ZONE:
            yield "wanted", f"{what}, which no rule wants there"
            return
        if not rules:
            return
        if not git.package(entry.head, ZONE):
            yield from self._removed(entry, name, what)
            return
        stood = list(self._stood.within(first, entry.place, KEPT))
        if not any(rule.wants(name, each) for rule in rules if rule for each in stood):
            yield "wanted", f"{what}, where the set does not want it"
        elif name != "here" and not any(each.lets_in for each in stood):
            yield "wanted", f"{what}, which lets no rules of this one in"

    def _removed(self, entry: Entry, name: str, what: str) -> Iterator[tuple[str, str]]:
        first = self._evidence.window(entry.place, self._stale)
        stood = list(self._stood.within(first, entry.place, KEPT))
        tips = [tip for tip in self._evidence.tips(MAIN, first, entry.place) if tip]
        reasons = {self._stays(tip, name, stood) for tip in tips}
        if tips and "" not in reasons:
            yield "wanted", f"{what} removes it: {', '.join(sorted(reasons))}"

    def _stays(self, tip: str, name: str, stood: list[Standing]) -> str:
        """Why the package stays at a commit; "" where it was to go with its rule.

        What topics and objects chose stays when they go: history does not tell of them.
        """
        rules = self._here.rules(tip)
        if rules is None or rules.broken:
            return "nobody can tell what rules want"
        now = self._zones(tip, rules)
        if now is not None and all(now.wants(name, each) for each in stood):
            return "the set wants it"
        last, at = None, tip
        for _ in range(500):
            blob = self._here.at(at, ZONES)
            rule = zones(self._here.blob(blob)) if blob else None
            if rule is not None and rule.by in (BY_KIND, BY_NAMES) and rule.wants(name, stood[0]):
                last = rule
                break
            at = next(iter(self._here.parents(at)), "")
            if not at:
                break
        if last is None:
            return "but topics or objects nothing ever chose it"
        return "it was to stay" if last.orphans else ""

    # --- what it injects ------------------------------------------------------------------------

    def _brought(self, entry: Entry) -> Iterator[tuple[str, str]]:
        """What another repository's objects hold comes here by its consent."""
        if entry.what.startswith("there ") or entry.after == ZERO:
            return
        came = self._marks(entry)
        first = self._evidence.window(entry.place, self._stale)
        stood = self._stood.within(first, entry.place, KEPT)
        if (new := came - self._seen) and not any(each.open for each in stood):
            yield "consent", f"{', '.join(sorted(new))} was injected without consent"
        self._seen |= came

    def _marks(self, entry: Entry) -> frozenset[str]:
        if entry.what != "push" or not entry.text.startswith("refs/heads/"):
            return frozenset(MARKED.findall(entry.text))
        return self.marks(entry.after)

    def marks(self, commit: str, package: str = "") -> frozenset[str]:
        """What of objects of the other repository stands in a commit, or in one package of it."""
        tree = self._here.package(commit, package) if package else self._here.commit(commit).tree
        files = self._here.files(tree) if tree else ()
        return frozenset(
            m for _, data in files for m in MARKED.findall(data.decode("utf-8", "replace"))
        )

    def by_rule(self, merge: Entry, before: str, package: str, first: int, last: int) -> str:
        """Why no rule may approve what was merged; "" where another repository has no part in it.

        Args:
            merge: How it was merged.
            before: The base before.
            package: Its package.
            first: The earliest place that this may rest on.
            last: Where it was tagged or merged.
        """
        if self.marks(merge.head, package) - self.marks(before, package):
            return "another repository's object is injected"
        rules = self.rules(first, last)
        if package == ZONE and rules and all(r and r.by == BY_OBJECTS for r in rules):
            return "another repository's object chose it"
        return ""

    # --- at the end -----------------------------------------------------------------------------

    def unmade(self, opened: bool) -> Iterator[str]:
        """Where the set's package is neither there nor asked for, where nothing went wrong.

        Args:
            opened: Whether it is asked for here, or people closed that.
        """
        entries, now = self._evidence.diary.entries, self._stood.now
        tip = self._evidence.tip(MAIN, len(entries))
        rules = self._here.rules(tip) if tip else None
        if rules is None or rules.broken or not rules.wide or not now.there:
            return
        rule = self._zones(tip, rules)
        if rule is None:
            return
        if rule.wants("here", now) and not opened and not self._here.at(tip, ZONE):
            yield f"{ZONE} is wanted here, and nothing asks for it"
        asked = any(e.what == "there opened" and package_of(e.text) == ZONE for e in entries)
        if rule.wants(self._stood.name, now) and now.lets_in and not asked:
            yield f"{ZONE} is wanted in {self._stood.name}, and nothing asks for it"

    def stale_in(self, head: str, package: str) -> str:
        """What a draft holds of the object that is injected, where that is not what it is now."""
        now, held = self._stood.now, self.marks(head, package)
        right = {now.value} if now.value else set[str]()
        return ", ".join(held) if now.open and now.there and held - right else ""

    @property
    def stood(self) -> Stood:
        """How it stood with the other repository."""
        return self._stood
