"""What fetches saw of a repository's refs, by place.

Each is replaced and never changed, so that looks read it without a lock. What stands on disk is to
be the same, for who asks for more than was seen: a mark in the mirror says whose memory that is, so
that a fetch that broke off, another process or a mirror that was deleted is noticed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from bot.git import refs as git_refs
from bot.git.port import Refs

MOST_PLACES = 5_000
"""Places whose refs are remembered: a look is about some three, and one that is not known costs a
fetch. Of a draft or of a package it is a kilobyte at most."""


@dataclass(frozen=True, slots=True)
class _Fetched:
    """What a fetch saw at one place.

    Attributes:
        begun: When it began, on the clock.
        refs: The refs there.
    """

    begun: float
    refs: Refs


class SeenRefs:
    """The refs of one mirror that fetches saw.

    Args:
        folder: The mirror.
    """

    def __init__(self, folder: Path) -> None:
        self._fetched: Mapping[str, _Fetched] = {}  # replaced, never changed
        self._mark = folder / "porchbot-seen"
        self._mine = uuid4().hex

    def clear(self) -> None:
        """Forget everything."""
        self._fetched = {}

    def at(self, place: str) -> Refs | None:
        """The refs at a place when they were fetched last; None when that was not, or long ago."""
        return self.at_each([place])[place]

    def at_each(self, places: Collection[str]) -> dict[str, Refs | None]:
        """As `at`, of each of some places."""
        fetched, known = self._fetched, dict[str, list[str]]()
        for place in places:
            there = [p for p in git_refs.around(place) if p in fetched]
            if there:
                known.setdefault(max(there, key=lambda p: fetched[p].begun), []).append(place)
        found: dict[str, Refs | None] = dict.fromkeys(places)
        for around, inside in known.items():
            found |= git_refs.by_place(fetched[around].refs, inside)
        return found

    def asked(self, place: str) -> bool:
        """Whether this very place was fetched, and not only one around it."""
        return place in self._fetched

    def has_all(self, places: Iterable[str], since: float) -> bool:
        """Whether places were fetched by what began after a time."""
        fetched = self._fetched
        return all(
            any(p in fetched and fetched[p].begun >= since for p in git_refs.around(place))
            for place in places
        )

    def keep(self, begun: float, places: Sequence[str], refs: Refs) -> None:
        """Remember the newest; what lies inside of a place that was fetched is older now.

        Args:
            begun: When the fetch began.
            places: Those that it asked for.
            refs: Those that it saw there.
        """
        there = git_refs.by_place(refs, places)
        fetched = {place: _Fetched(begun, found) for place, found in there.items()}
        inside = tuple(f"{place}/" for place in there)
        rest = {p: each for p, each in self._fetched.items() if not p.startswith(inside)}
        newest = sorted({**rest, **fetched}.items(), key=lambda each: each[1].begun)
        self._fetched = dict(newest[-max(MOST_PLACES, len(fetched)) :])

    def moved(self, names: set[str], now: Refs) -> None:
        """Remember where refs are that we moved; when they were fetched stays as it is.

        Args:
            names: Full names of those that moved.
            now: Where they are; without those that are gone.
        """
        changed = {}
        for place in {p for name in names for p in git_refs.around(name)}:
            if (fetched := self._fetched.get(place)) is not None:
                rest = {ref: at for ref, at in fetched.refs.items() if ref not in names}
                changed[place] = _Fetched(fetched.begun, rest | git_refs.at(now, [place]))
        self._fetched = {**self._fetched, **changed}

    @property
    def agrees(self) -> bool:
        """Whether the refs on disk are as this left them; under the lock."""
        try:
            return self._mark.read_text() == self._mine
        except OSError:
            return False

    def disagree(self) -> None:
        """Note that the refs on disk are others now; under the lock."""
        self._mark.unlink(missing_ok=True)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change the refs on disk; under the lock. What breaks off leaves no mark."""
        agreed = self.agrees
        self.disagree()
        yield
        if not agreed:
            self.clear()
        self._mark.write_text(self._mine)
