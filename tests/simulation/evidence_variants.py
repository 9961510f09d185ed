"""What the oracle knows of variants: rules as they stand in a commit, and who brought what in.

As all of the oracle it reads git's objects and the diary for itself, and imports nothing of the
bot's.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from tests.simulation.beyond import ZONE, ZONES
from tests.simulation.catalog import FAR, MADE, Stood
from tests.simulation.diary import Entry
from tests.simulation.evidence import LEDGER, ZERO, Evidence, login_of
from tests.simulation.setting import BOT, CONFIG, MAIN, STAMP, STAMPER
from tests.simulation.variants import (
    CONTEXT,
    FOLDER,
    OBJECTS,
    OLD,
    OWNER,
    REGION,
    SHOP,
    SITES,
    UPSTREAM,
    Wanted,
    wanted,
)

if TYPE_CHECKING:
    from tests.simulation.oracle_beyond import BeyondOracle

DRAFT = "refs/heads/drafts/"
BRANCH = "/packagevariant-"
FILES = tuple(f"{FOLDER}/{name}.yaml" for name in (SHOP, OLD, "edges", FAR))


def package_of(ref: str) -> str:
    """The package that a variant's draft is of; "" for any other ref."""
    before, found, _ = ref.removeprefix(DRAFT).rpartition(BRANCH)
    return before if found and ref.startswith(DRAFT) else ""


def is_rule(name: str) -> bool:
    """Whether a file says what is published, or what is made of others."""
    return name == CONFIG or name.startswith((f"{FOLDER}/", f"{OBJECTS}/"))


@dataclass(frozen=True, slots=True)
class Lock:
    """What a package says that it was made of.

    Attributes:
        number: Of the upstream's revision; 0 for none.
        commit: Of that.
    """

    number: int = 0
    commit: str = ""


class Variants:
    """Questions about variants to git and the diary.

    Args:
        evidence: Both.
        catalog: A second repository; None where there is none.
        beyond: Judges what topics and objects of another repository have a part in; None where
            there is none.
    """

    def __init__(
        self,
        evidence: Evidence,
        catalog: Stood | None = None,
        beyond: "BeyondOracle | None" = None,
    ) -> None:
        self.evidence = evidence
        self.catalog = catalog
        self.beyond = beyond
        self.history = evidence.history
        self.diary = evidence.diary
        self._came: dict[str, str] = {}
        self._heard = 0
        self._said: dict[str, Any] = {}
        self._wants: dict[str, dict[str, Wanted] | None] = {}

    # --- what stands in a commit ----------------------------------------------------------------

    def wants(self, commit: str) -> dict[str, Wanted] | None:
        """What rules want at a commit, by package; None where nobody here can tell."""
        if commit not in self._wants:
            self._wants[commit] = self._wanted(commit)
        return self._wants[commit]

    def _wanted(self, commit: str) -> dict[str, Wanted] | None:
        rules, found = self.history.rules(commit), dict[str, Wanted]()
        if rules is None or rules.broken:
            return None
        listed = self.history.at(commit, SITES)
        objects = self.history.blob(listed) if listed else b""
        for path in FILES if rules.variants else ():
            blob = self.history.at(commit, path)
            some = wanted(path, self.history.blob(blob), objects) if blob else {}
            if some is None:
                return None
            found |= some
        return found

    def asks(self, commit: str, package: str) -> tuple[object, ...]:
        """All that decides about a package at a commit: the rule, and what it injects."""
        some = self.wants(commit)
        rule = None if some is None else some.get(package)
        injected = self.history.at(commit, "objects") if rule is not None and rule.injects else ""
        zones = self.history.at(commit, ZONES) if package == ZONE else ""
        return rule, injected, some is None, zones

    def rested(self, package: str, first: int, last: int) -> bool:
        """Whether what another repository lends for a package was the same between two places."""
        if package in MADE and self.catalog is not None:
            return self.catalog.rested(first, last)
        if self.beyond is None or self.beyond.stood.rested(first, last):
            return True
        tips = (tip for tip in self.evidence.tips(MAIN, first, last) if tip)
        rules = [(self.wants(tip) or {}).get(package) for tip in tips]
        return package != ZONE and not any(rule is not None and rule.afar for rule in rules)

    def kept(self, tip: str, package: str) -> str:
        """Why a package stays at a commit; "" where it was to go with its rule."""
        now = self.wants(tip)
        if now is None:
            return "nobody can tell what rules want"
        if package in now:
            return "a rule wants it"
        line, at = list[str](), tip
        while at and len(line) < 500:
            line.append(at)
            at = next(iter(self.history.parents(at)), "")
        for commit in line[1:]:
            rule = (self.wants(commit) or {}).get(package)
            if rule is not None:
                return "it was to stay" if rule.orphans else ""
        return "no rule ever wanted it"

    def kptfile(self, commit: str, package: str) -> Any:
        """The Kptfile of a package; {} for none."""
        return self._read(self.history.at(commit, f"{package}/Kptfile"))

    def _read(self, blob: str) -> Any:
        """What a file of YAML says, read once; {} for none, and for one that cannot be read."""
        if blob not in self._said:
            try:
                self._said[blob] = (yaml.safe_load(self.history.blob(blob)) if blob else None) or {}
            except yaml.YAMLError:
                self._said[blob] = {}
        return self._said[blob]

    def owner(self, commit: str, package: str) -> str:
        """The variant that a package says it is kept by; "" for none."""
        metadata = self.kptfile(commit, package).get("metadata") or {}
        return str((metadata.get("annotations") or {}).get(OWNER, ""))

    def label(self, commit: str, package: str) -> str:
        """The label that rules may give it; "" for none."""
        metadata = self.kptfile(commit, package).get("metadata") or {}
        return str((metadata.get("labels") or {}).get("tier", ""))

    def context(self, commit: str, package: str) -> str:
        """What rules may put into its context; "" for nothing."""
        found = self._read(self.history.at(commit, f"{package}/{CONTEXT}"))
        return str((found.get("data") or {}).get(REGION, ""))

    def stamps(self, commit: str, package: str) -> bool:
        """Whether a function of its own stamps its files."""
        pipeline = self.kptfile(commit, package).get("pipeline") or {}
        return any(each.get("image") == STAMPER for each in pipeline.get("mutators") or ())

    def lock(self, commit: str, package: str) -> Lock:
        """What a package was made of."""
        locked = (self.kptfile(commit, package).get("upstreamLock") or {}).get("git") or {}
        name, _, number = str(locked.get("ref", "")).rpartition("/v")
        if name != UPSTREAM or not number.isdecimal():
            return Lock()
        return Lock(int(number), str(locked.get("commit", "")))

    def state(self, commit: str, package: str, number: int = 0) -> set[str]:
        """What the ledger says of a package's revision, or of all of them."""
        listed = self._read(self.history.at(commit, f"{LEDGER}/{package}.yaml"))
        revisions = listed.get("revisions") or {}
        return {
            str((entry or {}).get("state"))
            for key, entry in revisions.items()
            if number in (0, int(key))
        }

    def content(self, commit: str, package: str, name: str) -> bytes:
        """A file of a package without its stamp; b"" for none."""
        blob = self.history.at(commit, f"{package}/{name}") if commit else ""
        data: bytes = self.history.blob(blob) if blob else b""
        return data.removeprefix(f"{STAMP}\n".encode())

    # --- who brought it in ----------------------------------------------------------------------

    def pushed_first(self, sha: str) -> str:
        """Who first pushed a commit; "" where it was there at the beginning."""
        entries = self.diary.entries
        for entry in entries[self._heard :]:
            if entry.what == "push" and entry.after != ZERO:
                self._note(entry)
        self._heard = len(entries)
        return self._came.get(sha, "")

    def _note(self, entry: Entry) -> None:
        tag = self.history.tag(entry.after)
        waiting = [entry.after if tag is None else tag.target]
        if entry.before != ZERO and self.history.tag(entry.before) is None:
            self._came.setdefault(entry.before, "")
        while waiting:
            each = waiting.pop()
            if each not in self._came and self.history.kind(each) == "commit":
                self._came[each] = entry.who
                waiting += self.history.parents(each)

    def added(self, head: str, place: int) -> set[str]:
        """The commits of a head that the main branch had not had before a place."""
        tips = self.evidence.tips(MAIN, 0, place - 1)
        old: frozenset[str] = frozenset().union(*(self.history.ancestry(tip) for tip in tips))
        return set(self.history.ancestry(head) - old)

    def by_bot(self, commits: Iterable[str]) -> bool:
        """Whether the bot pushed all of these before anybody else did."""
        return all(self.pushed_first(sha) == BOT for sha in commits)

    def is_mark(self, commit: str) -> bool:
        """Whether a commit changes nothing: so the bot says that it closes a draft."""
        parents = self.history.parents(commit)
        tree = self.history.commit(commit).tree
        return len(parents) == 1 and tree == self.history.commit(parents[0]).tree

    def writers(self, file: str, before: int) -> tuple[set[str], int]:
        """Who changed a file on the main branch last, and where in the diary that is."""
        for move in reversed(self.diary.of_ref[f"refs/heads/{MAIN}"]):
            if move.place >= before or self.history.at(move.after, file) == self.history.at(
                move.before, file
            ):
                continue
            merges = [
                e
                for e in self.diary.entries  # GitLab tells of a merge before its push
                if e.what == "pull merged"
                and e.base == MAIN
                and e.merged in self.history.ancestry(move.after)
                and e.merged not in self.history.ancestry(move.before)
            ]
            if not merges:
                return {move.who}, move.place
            people = set[str]()
            for e in merges:
                people |= self.evidence.authors(move.before, e.head, e.pull, e.text)
            return people, move.place
        return set(), -1

    def every_writer(self) -> set[str]:
        """Everybody who may have changed a rule at any time, and whoever brought that in."""
        found = set[str]()
        for move in self.diary.of_ref[f"refs/heads/{MAIN}"]:
            if any(
                self.history.at(move.after, f) != self.history.at(move.before, f)
                for f in (*FILES, ZONES)
            ):
                found.add(move.who)
                fresh = self.history.ancestry(move.after) - self.history.ancestry(move.before)
                found |= {login_of(self.history.commit(sha).author.email) for sha in fresh}
        return found

    # --- revisions of the upstream --------------------------------------------------------------

    def standing(self, place: int) -> Iterator[tuple[int, str, str]]:
        """The upstream's tags at a place: number, the commit of each, and who put it there."""
        for ref, moves in self.diary.of_ref.items():
            if not ref.startswith(f"refs/tags/{UPSTREAM}/v"):
                continue
            before = [e for e in moves if e.place < place]
            if not before or before[-1].after == ZERO:
                continue
            tag = self.history.tag(before[-1].after)
            target = before[-1].after if tag is None else tag.target
            yield int(ref.rpartition("/v")[2]), target, before[-1].who

    def places(self, first: int, last: int) -> list[int]:
        """The places between two at which a tag of the upstream moved, and both of them."""
        moves = [
            e.place + 1
            for ref, some in self.diary.of_ref.items()
            if ref.startswith(f"refs/tags/{UPSTREAM}/v")
            for e in some
            if first <= e.place <= last
        ]
        return [first, *moves, last]

    def tag_moved(self, last: int) -> bool:
        """Whether a tag of the upstream was moved before a place: each bot goes by its own mirror
        until that is fetched anew, which nobody here can tell."""
        return any(
            len([e for e in moves if e.place < last]) > 1
            for ref, moves in self.diary.of_ref.items()
            if ref.startswith(f"refs/tags/{UPSTREAM}/v")
        )

    def merge(self, package: str, name: str, local: str, old: str, new: str) -> bytes | None:
        """What a file of a package has to be, made of three commits; None for any.

        Args:
            package: The package.
            name: Of the file.
            local: The commit whose package it is made of; "" for none.
            old: The upstream's that this was made of; "" for none.
            new: The upstream's that it is to be made of.
        """
        theirs = self.content(new, UPSTREAM, name)
        if not local or not self.history.package(local, package):
            return theirs
        if not old:
            return None
        ours, base = self.content(local, package, name), self.content(old, UPSTREAM, name)
        if ours == base:
            return theirs
        return ours if theirs in (base, ours) else None
