"""Judges whether something was merged or tagged while a window or a freeze kept it shut."""

from collections.abc import Callable, Iterable, Iterator

from tests.simulation.diary import Entry
from tests.simulation.evidence import Evidence
from tests.simulation.setting import BOT, MAIN, is_closed
from tests.simulation.words import Words, answered_by

FROZEN = "is frozen"
"""What the answer to `/freeze` says where it was obeyed."""


class Shut:
    """Windows of the rules, and freezes.

    Args:
        evidence: Git and the diary.
        words: Tells what the bot still knows of what it said.
        came: Place in the diary at which the bot came last.
        punctual: Whether the bots' clocks were right so far.
    """

    def __init__(
        self,
        evidence: Evidence,
        words: Words,
        came: Callable[[], int],
        punctual: Callable[[], bool],
    ) -> None:
        self._evidence = evidence
        self._diary = evidence.diary
        self._words = words
        self._came = came
        self._punctual = punctual

    def kept_out(
        self, entry: Entry, merge: Entry, packages: Iterable[str], what: str, first: int
    ) -> Iterator[tuple[str, str]]:
        """Why something had to wait.

        Args:
            entry: A merge or a tag of the bot's.
            merge: The merge that it is, or that it is of.
            packages: What is published.
            what: For people.
            first: Place in the diary from which on it may rest on what was so.
        """
        began = self._evidence.began(entry.place)
        if merge.base == MAIN and self._punctual() and is_closed(began, entry.at):
            rules = self._evidence.main_rules(first, entry.place)
            own = self._evidence.history.rules(self._evidence.before_merge(merge))
            if rules and own is not None and all(r.windows for r in (own, *rules)):
                yield (
                    "in time",
                    f"{what}: its window was closed from {began:.1f} to {entry.at:.1f} s",
                )
        for package in packages:
            for e in self._freezes(entry, package, first):
                yield "in time", f"{what}: {e.who} had frozen it by comment {e.number}"

    def _freezes(self, entry: Entry, package: str, first: int) -> list[Entry]:
        """Freezes that were obeyed before anything was read, and lifted by nobody since."""
        if not self._words.knows:
            return []
        stand: dict[int, Entry] = {}
        asked: dict[int, Entry] = {}
        for e in self._diary.entries[self._came() : entry.place]:
            if e.what == "comment created":
                meant = self._diary.meant.get(e.number, ())
                if any(_covers(word, package) for word in meant):
                    asked[e.number] = e
                if "thaw" in meant:
                    stand, asked = {}, {}  # answers may come later, in the order of what was said
                if e.who == BOT and e.place < first and FROZEN in e.text:
                    stand |= {n: asked[n] for n in answered_by(e.text) if n in asked}
        return list(stand.values())


def _covers(word: str, package: str) -> bool:
    """Whether a command freezes a package: everything, or a folder that it is in."""
    kind, _, folder = word.partition(" ")
    return kind == "freeze" and (not folder or package.startswith(folder))
