"""Judges what the bot does for variants, by git, the diary and the rules as people wrote them.

- "opened once": no second pull request is opened for a package while the first one stands;
- "stays closed": what a person closed is asked for again only once something else is asked for;
- "wanted": nothing is made that no rule wants, of another revision than it says, or over a package
  that it may not adopt; nothing is removed that a rule wants, or that was to stay;
- "held": nothing newer is made while a package is held;
- "people's": what people committed stays, and what they changed is still so afterwards;
- "no secrets": no value of a Secret gets anywhere by the bot.

`by_rule` tells why what was published without people is not just what its rule asked for.
"""

from collections.abc import Iterator, Sequence

from tests.simulation.beyond import ZONE
from tests.simulation.catalog import CAST, MADE
from tests.simulation.diary import Entry
from tests.simulation.evidence import ZERO
from tests.simulation.evidence_variants import Variants, is_rule, package_of
from tests.simulation.judges import Judge
from tests.simulation.oracle_catalog import CatalogOracle
from tests.simulation.setting import BOT, MAIN, RulesText
from tests.simulation.variants import HIDDEN, OBJECTS, SITE, Wanted

FILES = ("a.yaml", "b.yaml")
"""Files of the upstream that people change."""


class VariantsOracle:
    """Judges one history with variants.

    Args:
        variants: What is known.
        stale: Changes by which a forge's answers may be behind, and one more.
        catalog: Judges what is made of a second repository; None where there is none.
        also: Judge what is done beside.
    """

    def __init__(
        self,
        variants: Variants,
        stale: int,
        catalog: CatalogOracle | None = None,
        also: Sequence[Judge] = (),
    ) -> None:
        self._v = variants
        self._catalog = catalog
        self._also = also
        self._stale = stale
        self._history = variants.history
        self._diary = variants.diary

    def judge(self, entry: Entry) -> Iterator[tuple[str, str]]:
        """Judge something that the bot did."""
        if HIDDEN in entry.text:
            yield "no secrets", f"a Secret's value stands in what it wrote on #{entry.pull}"
        for each in (self._catalog, *self._also):
            if each is not None:
                yield from each.judge(entry)
        if entry.what == "pull opened" and package_of(entry.text):
            yield from self._opened(entry, package_of(entry.text))
        elif entry.what == "push" and entry.text.startswith("refs/heads/"):
            yield from self._pushed(entry, package_of(entry.text))

    def _first(self, place: int) -> int:
        return self._v.evidence.window(place, self._stale)

    def _tips(self, first: int, last: int) -> list[str]:
        return [tip for tip in self._v.evidence.tips(MAIN, first, last) if tip]

    # --- what it opens --------------------------------------------------------------------------

    def _opened(self, entry: Entry, package: str) -> Iterator[tuple[str, str]]:
        first, what = self._first(entry.place), f"#{entry.pull} for {package}"
        tips = self._tips(first, entry.place)
        removes = not self._history.package(entry.head, package)
        rules = [self._v.wants(tip) for tip in tips]
        known = [each for each in rules if each is not None]
        if package in (CAST, ZONE):
            pass  # another repository has a part in that, and it is judged with it
        elif removes:
            yield from self._removal(package, tips, what)
        elif len(known) == len(rules) and not any(package in each for each in known):
            yield "wanted", f"{what}, which no rule wants"
        if not removes and tips and all("held" in self._v.state(tip, package) for tip in tips):
            yield "held", f"{what}, which is held"
        yield from self._foreign(package, tips, entry.head, what)
        for pull in self._others(entry, package):
            if self._stands(pull, first, entry):
                yield "opened once", f"{what}, while #{pull} is open"
            elif self._refused(pull, package, entry, removes=removes):
                yield "stays closed", f"{what}, though a person closed #{pull}"

    def _others(self, entry: Entry, package: str) -> list[int]:
        """Pull requests of its own for a package, by the same rule, that were opened before."""
        owner = self._owner(entry.head, package)
        return [
            e.pull
            for e in self._diary.entries[: entry.place]
            if e.what == "pull opened"
            and e.who == BOT
            and package_of(e.text) == package
            and self._owner(e.head, package) == owner
        ]

    def _owner(self, head: str, package: str) -> str:
        """Whose a head is; of what removes a package, whose it was."""
        found = self._v.owner(head, package)
        if found or self._history.package(head, package):
            return found
        return next((self._v.owner(p, package) for p in self._history.parents(head)), "")

    def _state(self, pull: int, last: int) -> Entry | None:
        """What was done to a pull request last before a place, as far as it is open or not."""
        words = ("pull opened", "pull reopened", "pull closed", "pull merged")
        found = [e for e in self._diary.of_pull[pull] if e.what in words and e.place < last]
        return found[-1] if found else None

    def _stands(self, pull: int, first: int, entry: Entry) -> bool:
        """Whether one was open all the time, made by the bot alone, and not about to end."""
        then, now = self._state(pull, first), self._state(pull, entry.place)
        if then is None or then is not now or now.what not in ("pull opened", "pull reopened"):
            return False
        head = self._head(pull, entry.place)
        alone = self._v.by_bot(self._v.added(head, entry.place))
        return alone and not self._v.is_mark(head) and not self._moved(pull, first, entry.place)

    def _moved(self, pull: int, first: int, last: int) -> bool:
        """Whether its branch or its base changed hands meanwhile."""
        ref = self._ref(pull)
        moves = any(first <= e.place < last for e in self._diary.of_ref[ref])
        edits = any(e.what == "pull edited" for e in self._diary.of_pull[pull])
        return moves or edits

    def _ref(self, pull: int) -> str:
        return next(e.text for e in self._diary.of_pull[pull] if e.what == "pull opened")

    def _head(self, pull: int, last: int) -> str:
        return next(e.head for e in reversed(self._diary.of_pull[pull]) if e.place < last)

    def _refused(self, pull: int, package: str, entry: Entry, *, removes: bool) -> bool:
        """Whether a person closed just what is asked for again."""
        closing = self._state(pull, entry.place)
        if closing is None or closing.what != "pull closed" or closing.who == BOT:
            return False
        if closing.place >= self._first(entry.place):
            return False
        moves = [e for e in self._diary.of_ref[self._ref(pull)] if e.after == closing.head]
        if (
            not moves
            or moves[0].who != BOT
            or not self._v.by_bot(self._v.added(closing.head, entry.place))
        ):
            return False
        if self._v.is_mark(closing.head) or removes != (
            not self._history.package(closing.head, package)
        ):
            return False
        since = self._first(moves[0].place)
        tips = self._tips(since, entry.place)
        asked = {self._v.asks(tip, package) for tip in tips}
        trees = {self._history.at(tip, package) for tip in tips} if removes else {""}
        if not self._v.rested(package, since, entry.place):
            return False
        same = len(self._v.places(since, entry.place)) == 2 and not self._v.tag_moved(entry.place)
        return len(asked) == 1 and len(trees) == 1 and same

    def _removal(self, package: str, tips: list[str], what: str) -> Iterator[tuple[str, str]]:
        reasons = {self._v.kept(tip, package) for tip in tips}
        if tips and "" not in reasons:
            yield "wanted", f"{what} removes it: {', '.join(sorted(reasons))}"

    def _foreign(
        self, package: str, tips: list[str], head: str, what: str
    ) -> Iterator[tuple[str, str]]:
        """A package of people is taken over by a rule that adopts alone."""
        owner = self._v.owner(head, package)
        adopts = any(
            some is None or package not in some or some[package].adopts
            for some in map(self._v.wants, tips)
        )
        theirs = [
            bool(self._history.at(tip, package)) and self._v.owner(tip, package) != owner
            for tip in tips
        ]
        if owner and theirs and all(theirs) and not adopts:
            yield "wanted", f"{what}, which is another's, and the rule does not adopt it"

    # --- what it pushes -------------------------------------------------------------------------

    def _pushed(self, entry: Entry, package: str) -> Iterator[tuple[str, str]]:
        if entry.after == ZERO:
            return
        for name, data in self._history.files(self._history.commit(entry.after).tree):
            if HIDDEN.encode() in data and not name.startswith(f"{OBJECTS}/"):
                yield "no secrets", f"{entry.text} holds a Secret's value in {name}"
        if not package or self._v.is_mark(entry.after):
            return
        lock = self._v.lock(entry.after, package)
        kept = entry.before != ZERO and (
            entry.before in self._history.ancestry(entry.after)
            or self._history.wanted_anew(entry.before, entry.after)
        )
        was = self._v.lock(entry.before, package) if kept else None
        if not lock.number or lock == was:
            return
        first = self._first(entry.place)
        tips = self._tips(first, entry.place)
        if tips and all("held" in self._v.state(tip, package) for tip in tips):
            yield "held", f"{entry.text} is made of v{lock.number} while it is held"
        exact = self._exact(package, tips)
        if exact and lock.number not in exact:
            said = ", ".join(f"v{number}" for number in sorted(exact))
            yield "wanted", f"{entry.text} is made of v{lock.number}, and the rule says {said}"
        given = [r for tip in tips if (r := (self._v.wants(tip) or {}).get(package)) is not None]
        lacking = {self._lacks(rule, package, entry.after) for rule in given}
        if (
            lacking
            and "" not in lacking
            and self._v.by_bot(self._v.added(entry.after, entry.place))
        ):
            yield "wanted", f"{entry.text}: {', '.join(sorted(lacking))}"
        if was is not None:
            yield from self._keeps(entry, package, was.commit, lock.commit)

    def _exact(self, package: str, tips: list[str]) -> set[int]:
        """The revisions that rules name at some commits; none where one may mean any.

        Where no rule wants the package nothing is made by that commit, so that it excuses nothing.
        """
        wants = [self._v.wants(tip) for tip in tips]
        rules = [some[package] for some in wants if some is not None and package in some]
        if None in wants or any(rule.follow or not rule.revision for rule in rules):
            return set()
        return {rule.revision for rule in rules}

    def _keeps(self, entry: Entry, package: str, old: str, new: str) -> Iterator[tuple[str, str]]:
        """What people changed in a draft, and the upstream did not, is as they left it."""
        for name in FILES:
            wanted = self._v.merge(package, name, entry.before, old, new)
            if wanted is not None and self._v.content(entry.after, package, name) != wanted:
                yield "people's", f"{entry.text} has lost what {package}/{name} was"

    def lost(self, entry: Entry) -> str:
        """Which commits of people a move of a variant's branch leaves behind; "" for none."""
        if entry.after == ZERO and any(
            e.what == "pull merged" and e.head == entry.before
            for e in self._diary.entries[: entry.place]
        ):
            return ""  # it came in, squashed or not
        kept = self._history.ancestry(entry.after) if entry.after != ZERO else frozenset()
        left = self._v.added(entry.before, entry.place) - kept
        people = {self._v.pushed_first(sha) for sha in left} - {BOT}
        return ", ".join(sorted(people))

    # --- what is published by a rule ------------------------------------------------------------

    def by_rule(self, entry: Entry, merge: Entry, rules: RulesText, touched: dict[str, str]) -> str:
        """Why what was merged is not what a rule alone asked for; "" where it is."""
        if not rules.automatic:
            return "no rule approves by itself"
        said = [e for e in self._diary.of_pull[merge.pull] if e.place < entry.place]
        opened = next((e for e in said if e.what == "pull opened"), None)
        package = package_of(opened.text) if opened is not None else ""
        if opened is None or opened.who != BOT or not package:
            return "the bot did not open it for a variant"
        if [*touched] != [package] or not touched[package]:
            return f"it publishes {', '.join(touched)}"
        if any(e.what == "pull edited" and e.before for e in said) or merge.base != MAIN:
            return "its base was changed"
        before = self._v.evidence.before_merge(merge)
        left = self._history.left(before, merge.head)
        if not left or self._beside(left, merge.head, package):
            return "it changes more than the package"
        if any(map(is_rule, self._between(before, merge.merged))):
            return "its merge changes rules"
        fresh = self._history.ancestry(merge.head) - self._history.ancestry(before)
        if not self._v.by_bot(fresh):
            return "others pushed some of it"
        if package in MADE and self._catalog is not None:
            may = self._catalog.may_come(merge.place)
            return "" if may else "its upstream's text may not be used"
        first = min(self._first(entry.place), self._first(merge.place))
        beyond = self._v.beyond
        why = beyond.by_rule(merge, before, package, first, entry.place) if beyond else ""
        if why or package == ZONE:
            return why
        tips = [before, *self._tips(first, entry.place)]
        reasons = {self._asked(package, tip, before, merge, first, entry.place) for tip in tips}
        return "" if "" in reasons else "; ".join(sorted(reasons))

    def _beside(self, left: str, head: str, package: str) -> bool:
        return any(not name.startswith(f"{package}/") for name in self._between(left, head))

    def _between(self, one: str, other: str) -> list[str]:
        """The files that two commits have otherwise."""
        files = [dict(self._history.files(self._history.commit(c).tree)) for c in (one, other)]
        return [n for n in {**files[0], **files[1]} if files[0].get(n) != files[1].get(n)]

    def _asked(
        self, package: str, tip: str, before: str, merge: Entry, first: int, last: int
    ) -> str:
        """Why the rule at a commit does not ask for what was merged; "" where it does."""
        rule = (self._v.wants(tip) or {}).get(package)
        if rule is None:
            return "no rule wants it"
        if "held" in self._v.state(tip, package):
            return "it is held"
        head, lock = merge.head, self._v.lock(merge.head, package)
        if self._v.owner(head, package) != rule.owner:
            return "it is another rule's"
        if lacks := self._lacks(rule, package, head):
            return lacks
        local = before if self._history.package(before, package) else ""
        old = self._v.lock(before, package).commit if local else ""
        places = self._v.places(first, last)
        unlocked = local and not lock.number and not self._v.lock(before, package).number
        chosen = any(self._is_chosen(rule, lock.number, lock.commit, at) for at in places)
        if not chosen and not unlocked:
            return f"v{lock.number} is not the revision that the rule means"
        for name in FILES:
            wanted = self._v.merge(package, name, local, old, lock.commit)
            if unlocked:
                wanted = self._v.content(before, package, name)
            if wanted is None and old != lock.commit:
                return f"{name} was changed here and upstream"
            if wanted is not None and self._v.content(head, package, name) != wanted:
                return f"{name} is not what the rule makes"
        if not self._injected(rule, package, head, first, last):
            return f"{SITE} is not what the rule injects"
        return ""

    def _lacks(self, rule: Wanted, package: str, head: str) -> str:
        """What a package has not of what a rule gives it; "" for nothing."""
        if rule.label and self._v.label(head, package) != rule.label:
            return f"it has not the label {rule.label}"
        if rule.context and self._v.context(head, package) != rule.context:
            return f"its context has not {rule.context}"
        if rule.function and not self._v.stamps(head, package):
            return "it has not the function of the rule"
        return ""

    def _is_chosen(self, rule: Wanted, number: int, commit: str, at: int) -> bool:
        """Whether a rule may mean a revision that the bot published, at some place."""
        there = [(n, target, who) for n, target, who in self._v.standing(at)]
        if (number, commit, BOT) not in there:
            return False
        if rule.revision and not rule.follow:
            return number == rule.revision
        tip = self._v.evidence.tip(MAIN, at)
        if not rule.follow or not tip:
            return True
        spoilt = {"withdrawn", "deprecated", "held"}
        newer = [
            n
            for n, _, who in there
            if n > number and who == BOT and not spoilt & self._v.state(tip, "base", n)
        ]
        return not newer

    def _injected(self, rule: Wanted, package: str, head: str, first: int, last: int) -> bool:
        text = self._v.content(head, package, SITE)
        if not text or not rule.injects or rule.afar:
            return True
        places = {b"nowhere"}
        for tip in self._tips(first, last):
            blob = self._history.at(tip, f"{OBJECTS}/site.yaml")
            if blob:
                places.add(self._history.blob(blob).rpartition(b"where: ")[2].strip(b" }\n"))
        return any(b"where: " + place in text for place in places)

    def writers(self, merge: Entry) -> set[str]:
        """Who changed the rule last by which the bot alone made what was merged.

        Nobody where that changed while it was made: then either may be known.
        """
        ref = next((e.text for e in self._diary.of_pull[merge.pull] if e.what == "pull opened"), "")
        package = package_of(ref)
        moves = [e for e in self._diary.of_ref[ref] if e.after == merge.head and e.who == BOT]
        before = self._history.ancestry(self._v.evidence.before_merge(merge))
        if not package or not moves or len(self._history.ancestry(merge.head) - before) != 1:
            return set()
        first = self._first(moves[0].place)
        rules = {(self._v.wants(t) or {}).get(package) for t in self._tips(first, moves[0].place)}
        rule = rules.pop() if len(rules) == 1 else None
        if rule is None:
            return set()
        people, place = self._v.writers(rule.file, moves[0].place)
        return people if 0 <= place < first else set()
