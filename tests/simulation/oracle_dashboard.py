"""Judges what the bot answers on the dashboard issue, by git.

- "told": what `/diff` says of a package is so, and where `/rebase` says that a draft contains its
  base, it does.
"""

import re
from collections.abc import Iterator

import yaml

from tests.simulation.diary import Entry
from tests.simulation.evidence import ZERO, Evidence
from tests.simulation.setting import MAIN

FILES = ("a.yaml", "b.yaml")
"""Files of a package whose fields are compared."""

DIFF = re.compile(
    r"`(?P<package>[a-z/]+)` (?:in [#!](?P<pull>\d+)(?: \(also open: [^)]*\))?|on `main`): "
    r"(?P<what>no resources or fields changed|\d+ changes?) (?:since v(?P<since>\d+)|against)"
)
REBASED = re.compile(
    r"[#!](\d+)(?:: merged `main` into `| is up to date: it contains all of `main`)"
)


class DashboardOracle:
    """Judges one history.

    Args:
        evidence: What happened.
        stale: Changes by which a forge's answers may be behind, and one more.
    """

    def __init__(self, evidence: Evidence, stale: int) -> None:
        self._evidence = evidence
        self._history = evidence.history
        self._diary = evidence.diary
        self._stale = stale

    def judge(self, entry: Entry) -> Iterator[tuple[str, str]]:
        """Judge something that the bot did."""
        if entry.what != "issue comment created":
            return
        first = self._evidence.window(entry.place, self._stale)
        bases = [tip for tip in self._evidence.tips(MAIN, first, entry.place) if tip]
        if said := DIFF.search(entry.text):
            yield from self._compared(entry, said, bases, first)
        if said := REBASED.search(entry.text):
            heads = self._heads(int(said[1]), first, entry.place)
            above = [self._history.ancestry(head) for head in heads]
            if heads and not any(base in each for each in above for base in bases):
                yield "told", f"#{said[1]} has not all of {MAIN}: {said[0]}"

    def _heads(self, pull: int, first: int, last: int) -> list[str]:
        """What a pull request's branch was between two places."""
        ref = next((e.text for e in self._diary.of_pull[pull] if e.what == "pull opened"), "")
        branch = ref.removeprefix("refs/heads/")
        return [tip for tip in self._evidence.tips(branch, first, last) if tip.strip("0")]

    def _compared(
        self, entry: Entry, said: re.Match[str], bases: list[str], first: int
    ) -> Iterator[tuple[str, str]]:
        package, none = said["package"], said["what"].startswith("no ")
        heads = self._heads(int(said["pull"]), first, entry.place) if said["pull"] else bases
        if said["since"]:
            old = self._tagged(f"refs/tags/{package}/v{said['since']}", first, entry.place)
            pairs = {(one, head) for one in old for head in heads}
        else:
            pairs = {(self._history.left(base, head), head) for base in bases for head in heads}
        found = {self._differs(package, *pair) if all(pair) else None for pair in pairs}
        if found == {none}:
            yield "told", f"{package}: {said[0]!r}, and that is not so"

    def _tagged(self, ref: str, first: int, last: int) -> set[str]:
        """The commits that a tag named at any time between two places."""
        moves = [e for e in self._diary.of_ref[ref] if e.place <= last]
        since = [e.after for e in moves if e.place >= first]
        before = [e.after for e in moves if e.place < first][-1:]
        tags = {sha: self._history.tag(sha) for sha in (*before, *since) if sha != ZERO}
        return {sha if tag is None else tag.target for sha, tag in tags.items()}

    def _differs(self, package: str, old: str, new: str) -> bool | None:
        """Whether a package has another field at another commit; None where it cannot be told."""
        if self._history.package(old, package) == self._history.package(new, package):
            return False
        some = [[self._read(commit, package, name) for name in FILES] for commit in (old, new)]
        return True if None not in (*some[0], *some[1]) and some[0] != some[1] else None

    def _read(self, commit: str, package: str, name: str) -> object:
        blob = self._history.at(commit, f"{package}/{name}")
        try:
            return yaml.safe_load(self._history.blob(blob)) if blob else None
        except yaml.YAMLError:
            return None
