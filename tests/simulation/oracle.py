"""The oracle: judges what a bot did by the forge, git and the diary alone.

Longer than 400 lines: its checks are read as one list, as the page of the simulation tells them.

It shares no code with the bot (a test holds it to that): who approved which tree is worked out anew
from what people did. Facts change while a bot decides; so it asks that what was done rest on what
was so at some moment of the time that the bot may have read in, and never on what was not.

After each step:

- "rendered and valid": what is tagged is its own rendering, and no guardrail finds anything, under
  the rules of the base branch before the merge;
- "approved": as many people as those rules ask for approved exactly that tree, knowing that base;
- "once": a package is tagged once for one merge, and one number is given once;
- "next number": numbers rise by one;
- "a merge": what is tagged is the result of a merged proposal that changes that package;
- "no objection": nothing is merged or tagged against a request for changes or a hold;
- "nothing lost": the bot moves no branch over a commit of others, and no tag at all; it deletes
  only what a merge has withdrawn that was approved;
- "in time": nothing is merged or tagged while its rules, or somebody's freeze, keep it shut.
What it says is judged by `tests.simulation.words`.
"""

from collections.abc import Callable, Iterator

from tests.simulation.diary import Entry
from tests.simulation.evidence import LEDGER, ZERO, Evidence
from tests.simulation.evidence_variants import package_of
from tests.simulation.oracle_boxes import boxed, is_approval
from tests.simulation.oracle_variants import VariantsOracle
from tests.simulation.setting import BOT, MAIN, RELEASE, RulesText, may
from tests.simulation.shut import Shut
from tests.simulation.words import Violation, Words, answered_by

LISTING = ("refs/heads/deletionProposed/", "refs/heads/porchbot/deprecate/")
"""Where the bot proposes what the ledger is to say."""

STALE = 5
"""Changes by which a forge's answers may be behind, and one more."""


class Oracle:
    """Judges one history.

    Args:
        evidence: Git and the diary.
        words: Judges what the bot says.
        came: Place in the diary at which the bot came last: commands from before are not for it.
        punctual: Whether the bots' clocks were right so far.
        variants: Judges what is done for variants; None where there are none.
    """

    def __init__(
        self,
        evidence: Evidence,
        words: Words,
        came: Callable[[], int],
        punctual: Callable[[], bool] = lambda: True,
        variants: VariantsOracle | None = None,
    ) -> None:
        self._variants = variants
        self._came = came
        self._shut = Shut(evidence, words, came, punctual)
        self._evidence = evidence
        self._history = evidence.history
        self._diary = evidence.diary
        self._words = words
        self._read = 0
        self._given: dict[str, int] = {}

    def judge(self) -> list[Violation]:
        """Judge what was done since the last time."""
        found: list[Violation] = []
        fresh = self._diary.entries[self._read :]
        self._read = len(self._diary.entries)
        for entry in fresh:
            if entry.who == BOT:
                said = (why for check in self._checks(entry) for why in check)
                found += [Violation(check, why, entry.place) for check, why in said]
        return found

    def _checks(self, entry: Entry) -> Iterator[Iterator[tuple[str, str]]]:
        if entry.what == "push" and entry.text.startswith("refs/tags/"):
            yield self._tagged(entry)
        elif entry.what == "push":
            yield self._moved(entry)
        elif entry.what == "pull merged":
            yield self._merged(entry)
        elif entry.what in ("comment created", "comment edited", "issue comment created"):
            yield self._words.judge(entry)
        elif entry.what == "pull converted_to_draft":
            yield self._words.sent_back(entry)
        if self._variants is not None:
            yield self._variants.judge(entry)

    # --- tags ---------------------------------------------------------------------------------

    def _tagged(self, entry: Entry) -> Iterator[tuple[str, str]]:
        package, _, version = entry.text.removeprefix("refs/tags/").rpartition("/v")
        number = int(version)
        if entry.after == ZERO:
            yield from self._withdrawn(entry, package, number)
            return
        if entry.before != ZERO:
            yield "nothing lost", f"{entry.text} was moved by the bot"
            return
        yield from self._numbered(entry, package, number)
        tag = self._history.tag(entry.after)
        if tag is None:
            yield "a merge", f"{entry.text} is no annotated tag"
            return
        merges = [
            e
            for e in self._diary.entries[: entry.place]
            if e.what == "pull merged" and e.merged == tag.target
        ]
        if not merges:
            yield "a merge", f"{entry.text} is at {tag.target[:7]}, which no proposal was merged as"
            return
        reasons = [list(self._published(entry, merge, package)) for merge in merges]
        if all(reasons):
            yield from reasons[0]

    def _withdrawn(self, entry: Entry, package: str, number: int) -> Iterator[tuple[str, str]]:
        """A tag goes that the bot made, and people approved by a merge of the ledger."""
        if entry.text not in self._given or entry.before != self._made(entry.text):
            yield "nothing lost", f"{entry.text} was deleted by the bot, and it is not the bot's"
            return
        first, why = self._evidence.window(entry.place, STALE), list[str]()
        for merge in self._diary.entries[: entry.place]:
            if merge.what != "pull merged":
                continue
            before, listed = self._evidence.before_merge(merge), self._history.withdraws
            if not listed(merge.merged, package, number) or listed(before, package, number):
                continue
            rules = [r for r in self._rules(merge, before, first, entry.place) if not r.broken]
            reasons = [self._deletable(entry, merge, package, r, first) for r in rules]
            if not any(reasons):
                what = f"{entry.text} deleted for #{merge.pull}"
                yield from self._shut.kept_out(entry, merge, [package], what, first)
                return
            why += [f"#{merge.pull}: {reason}" for reason in reasons if reason]
        yield "nothing lost", f"{entry.text} was deleted: {'; '.join(why) or 'no merge says so'}"

    def _made(self, ref: str) -> str:
        return self._diary.entries[self._given[ref]].after

    def _deletable(
        self, entry: Entry, merge: Entry, package: str, rules: RulesText, first: int
    ) -> str:
        """Why a withdrawal was not approved; "" when it was: as much as a package asks for."""
        path = f"{LEDGER}/{package}.yaml"
        shown = {path: self._history.at(merge.merged, path)}
        return self._approved(entry, merge, shown, rules.of_a_withdrawal, first)

    def _numbered(self, entry: Entry, package: str, number: int) -> Iterator[tuple[str, str]]:
        if entry.text in self._given:
            yield "once", f"{entry.text} was made twice by the bot"
        self._given[entry.text] = entry.place
        ever, now, listed = {0}, set[int](), set[int]()
        for ref, moves in self._diary.of_ref.items():
            if not ref.startswith(f"refs/tags/{package}/v"):
                continue
            before = [e for e in moves if e.place < entry.place]
            found = int(ref.rpartition("/v")[2])
            if before:
                ever.add(found)
                if before[-1].after != ZERO:
                    now.add(found)
        if number in now:
            yield "once", f"{entry.text} was there already"
        # A number that the ledger lists stays used, also where nobody approved the entry.
        merged = [e for e in self._diary.entries[: entry.place] if e.what == "pull merged"]
        for base in {MAIN, *(e.base for e in merged)}:
            moves = self._diary.of_ref.get(f"refs/heads/{base}", [])
            tips = {e.after for e in moves if e.place < entry.place} - {ZERO}
            listed |= {n for tip in tips for n in self._history.listed(tip, package)}
        if number > max(ever | listed) + 1:
            yield "next number", f"{entry.text}, but the highest so far is v{max(ever)}"
        ours = [n for n in ever if f"refs/tags/{package}/v{n}" in self._given and n != number]
        if ours and number <= max(ours):
            yield "next number", f"{entry.text}, though v{max(ours)} was given before"

    def _published(self, entry: Entry, merge: Entry, package: str) -> Iterator[tuple[str, str]]:
        before = self._evidence.before_merge(merge)
        touched = self._touched(before, merge)
        what = f"{entry.text} of #{merge.pull}"
        if not touched.get(package):
            yield "a merge", f"{what}: that merge changes no {package}"
            return
        for ref, place in self._given.items():
            if place < entry.place and ref.rpartition("/v")[0] == f"refs/tags/{package}":
                other = self._history.tag(self._diary.entries[place].after)
                if other is not None and other.target == merge.merged:
                    yield "once", f"{what}: the same merge has {ref}"
        first = self._evidence.window(entry.place, STALE)
        rules = self._rules(merge, before, first, entry.place)
        if not rules:
            return
        if any(r.broken for r in rules):
            yield "rendered and valid", f"{what}: the rules could not be read"
            return
        if not all(self._history.is_sound(touched[package], r) for r in rules):
            yield "rendered and valid", f"{what} is not its own rendering, or not valid"
        reasons = [self._approved(entry, merge, touched, r, first) for r in rules]
        yield from (("approved", f"{what}: {why}") for why in reasons if why)
        yield from self._unopposed(entry, merge.pull, what, first)
        yield from self._shut.kept_out(entry, merge, [package], what, first)

    def _touched(self, before: str, merge: Entry) -> dict[str, str]:
        """The packages that a merge changes, and those that people were shown that it does.

        What the base branch has got otherwise meanwhile, and nobody has published, is published
        with the proposal that shows it.
        """
        left = self._history.left(before, merge.head) if before else ""
        shown = self._history.touched(left, merge.head) if left else {}
        there = {p: self._history.package(merge.merged, p) for p in shown}
        return there | self._history.touched(before, merge.merged)

    def _rules(self, merge: Entry, before: str, first: int, last: int) -> list[RulesText]:
        """The rules that judge a merge; those of the default branch as well, for another one."""
        own = self._history.rules(before)
        if merge.base == MAIN:
            return [own] if own is not None else []
        if merge.base != RELEASE or own is None:
            return []
        mains = self._evidence.main_rules(first, last)
        return [own, *mains] if len(mains) == 1 else [own]

    # --- approvals ------------------------------------------------------------------------------

    def _approved(
        self, entry: Entry, merge: Entry, touched: dict[str, str], rules: RulesText, first: int
    ) -> str:
        """Why what is tagged was not approved; "" when it was."""
        if rules.require == 0:
            return ""
        alone = ""
        if self._variants is not None and merge.base == MAIN:
            alone = self._variants.by_rule(entry, merge, rules, touched)
            if not alone:
                return ""
        said = [e for e in self._diary.of_pull[merge.pull] if e.place < entry.place]
        before = self._evidence.before_merge(merge)
        ref = next((e.text for e in said if e.what == "pull opened"), "")
        authors = self._evidence.authors(before, merge.head, merge.pull, ref)
        authors |= self._askers(merge.pull)
        authors |= self._variants.writers(merge) if self._variants is not None else set()
        why = dict[str, str]()
        people = set[str]()
        for word in said:
            if not self._is_approval(word):
                continue
            reason = self._void(word, merge, touched, rules, first, entry.place)
            if not reason and word.who in authors and not rules.alone:
                reason = "is an author"
            if reason:
                why[word.who] = f"{word.who} {reason}"
            else:
                people.add(word.who)
        if len(people) >= rules.require:
            return ""
        told = "; ".join(text for who, text in why.items() if who not in people) or "nobody did"
        if rules.automatic:
            told = f"{told}; by itself: {alone}"
        return f"{len(people)} of {rules.require} approved it: {told}"

    def _askers(self, pull: int) -> set[str]:
        """Who asked for a proposal that the bot opened to withdraw something.

        Whoever asks for it again once it is there adds nothing to it, and may approve it.
        """
        said = (f"#{pull} withdraws ", f"!{pull} withdraws ")
        told = [e.text for e in self._diary.entries if any(words in e.text for words in said)]
        asked = {number for text in told for number in answered_by(text)}
        opened = [e.place for e in self._diary.of_pull[pull] if e.what == "pull opened"]
        before = [e for e in self._diary.entries if opened and e.place < opened[0]]
        return {e.who for e in before if e.number in asked and e.who != BOT}

    def _is_approval(self, word: Entry) -> bool:
        if word.what == "comment created":
            return "approve" in self._diary.meant.get(word.number, ())
        return word.what == "review approved" or is_approval(word)

    def _void(
        self,
        word: Entry,
        merge: Entry,
        touched: dict[str, str],
        rules: RulesText,
        first: int,
        last: int,
    ) -> str:
        """Why one approval does not count for a merge; "" when it does."""
        levels = self._evidence.roles_within(word.who, first, last)
        if not any(may(level, word.who, rules) for level in levels):
            return f"may not approve ({', '.join(sorted(levels))})"
        if why := boxed(word, levels, rules):
            return why
        if word.base != merge.base:
            return f"approved it for {word.base}"
        later = [e for e in self._diary.of_pull[merge.pull] if word.place < e.place < first]
        if any(e.what == "pull edited" and e.before for e in later):
            return "approved it before its base was changed"
        shown = word.merged or word.head
        for package, tree in touched.items():
            look = self._history.at if package.startswith(LEDGER) else self._history.package
            if look(shown, package) != tree:
                return f"approved another {package}"
        if not word.merged:
            then = self._history.rules(word.tip)
            if then is not None and any(package.startswith(LEDGER) for package in touched):
                then = then.of_a_withdrawal
            if then is not None and merge.base == MAIN and then.judging != rules.judging:
                return "approved it under other rules"
        return self._taken_back(word, later)

    def _taken_back(self, word: Entry, later: list[Entry]) -> str:
        for e in later:
            if e.number == word.number and e.what in ("comment edited", "review dismissed"):
                return "had that edited or dismissed"
            if e.who != word.who:
                continue
            if "unapprove" in self._diary.meant.get(e.number, ()):
                return "took it back"
            if e.what == "review changes_requested" and word.what == "review approved":
                return "asked for changes later"
        return ""

    def _unopposed(
        self, entry: Entry, pull: int, what: str, first: int
    ) -> Iterator[tuple[str, str]]:
        """Nobody with the right to had asked for changes, or held it, before anything was read.

        What came later may have been read: it lifts what was said before, and adds nothing.
        """
        stands: dict[str, Entry] = {}
        holds: dict[str, Entry] = {}
        for e in self._diary.of_pull[pull]:
            if e.place >= entry.place:
                break
            if e.what.startswith("review ") and e.what != "review commented":
                stands = {w: s for w, s in stands.items() if s.number != e.number and w != e.who}
                if e.what == "review changes_requested" and e.place < first:
                    stands[e.who] = e
            if e.what == "comment created":
                meant = self._diary.meant.get(e.number, ())
                if "hold" in meant and self._came() <= e.place < first:
                    holds[e.who] = e
                if "unhold" in meant:
                    holds = {}
            if e.what in ("comment edited", "comment deleted") and not self._words.stays(e):
                holds = {w: h for w, h in holds.items() if h.number != e.number}
        for who in stands:
            levels = self._evidence.roles_within(who, first, entry.place)
            if levels <= {"write", "maintain", "admin"}:
                yield "no objection", f"{what}, though {who} requested changes"
        for who, word in holds.items():
            levels = self._evidence.roles_within(who, word.place, entry.place)
            if levels <= {"write", "maintain", "admin"}:
                yield "no objection", f"{what}, though {who} holds it"

    # --- branches, merges -------------------------------------------------------------------

    def _merged(self, entry: Entry) -> Iterator[tuple[str, str]]:
        if any(
            each.what == "pull merged" and each.merged == entry.merged and each.head != entry.head
            for each in self._diary.entries[: entry.place]
        ):
            return  # its commits are among those of another, whose merge that is
        first = self._evidence.window(entry.place, STALE)
        what = f"merge of #{entry.pull}"
        yield from self._unopposed(entry, entry.pull, what, first)
        before = self._evidence.before_merge(entry)
        touched = {p: t for p, t in self._history.touched(before, entry.merged).items() if t}
        rules = self._rules(entry, before, first, entry.place) if before else []
        if not rules or not touched or any(self._changed_since(entry, first)):
            return
        yield from self._shut.kept_out(entry, entry, touched, what, first)
        for r in rules:
            why = self._approved(entry, entry, touched, r, first)
            if why:
                yield "approved", f"{what}: {why}"
            if not all(self._history.is_sound(tree, r) for tree in touched.values()):
                yield "rendered and valid", f"{what}: not its own rendering, or not valid"

    def _changed_since(self, merge: Entry, first: int) -> Iterator[bool]:
        """Whether the base moved, or was exchanged, while the bot decided.

        A forge's merge has a precondition on the head, and none on the base or its name; that is
        why the publish invariant is kept at the tag, and judged there.
        """
        for e in self._diary.of_ref.get(f"refs/heads/{merge.base}", ()):
            yield first <= e.place < merge.place
        for e in self._diary.of_pull[merge.pull]:
            yield first <= e.place < merge.place and e.what == "pull edited" and bool(e.before)

    def _moved(self, entry: Entry) -> Iterator[tuple[str, str]]:
        old, new, ref = entry.before, entry.after, entry.text
        if old == ZERO or ref.startswith("refs/pull/"):
            return
        made = package_of(ref) or (ref.startswith("refs/heads/drafts/") and new != ZERO)
        if self._variants is not None and made:
            anew = self._history.wanted_anew(old, new)
            if not anew and (lost := self._variants.lost(entry)):
                yield "people's", f"the bot moved {ref} over what {lost} had committed"
            return
        if new != ZERO:
            gone = old not in self._history.ancestry(new)
            if gone and not self._own(entry) and not self._history.wanted_anew(old, new):
                yield "nothing lost", f"the bot moved {ref} over {old[:7]}"
            return
        merged = [e for e in self._diary.entries[: entry.place] if e.what == "pull merged"]
        draft = ref.startswith(("refs/heads/drafts/", *LISTING))
        if not draft or not any(e.head == old for e in merged):
            yield "nothing lost", f"the bot deleted {ref} at {old[:7]}"

    def _own(self, entry: Entry) -> bool:
        """Whether the bot moves a branch for the ledger that it made, and nobody else moved."""
        moves = [e for e in self._diary.of_ref[entry.text] if e.place < entry.place]
        return entry.text.startswith(LISTING) and all(e.who == BOT for e in moves)
