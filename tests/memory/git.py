"""Git in memory: repositories and their mirrors.

Objects, history and merges stand in `git_objects`, `git_history` and `git_merge` beside this.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from bot.clock import SYSTEM, Clock
from bot.git import refs as git_refs
from bot.git.port import (
    EVERYTHING,
    GitBusyError,
    GitRefusedError,
    History,
    Pushed,
    RefUpdate,
    Scope,
)
from lifecycle.identity import RepositoryId
from lifecycle.names import TAGS, Ref, Sha
from tests.memory.git_history import MemoryHistory
from tests.memory.git_objects import MemoryObjects


class Remote(Protocol):
    """A repository of the forge, as mirrors in memory fetch from it and push to it."""

    @property
    def objects(self) -> MemoryObjects:
        """All that was ever pushed."""

    def shown(self, credentials: str, places: Sequence[str] = ()) -> Mapping[str, str]:
        """Answer with all refs, full name to object; see `MemoryRemote`."""

    def receive(
        self, credentials: str, objects: MemoryObjects, updates: Sequence[RefUpdate]
    ) -> Pushed:
        """Take a push; see `MemoryRemote`."""


class MemoryRemote:
    """A repository of the forge; all mirrors of its address share it.

    Attributes:
        objects: All that was ever pushed.
        refs: Full name to the object it names.
        credentials: What it lets in.
        failing: It answers nothing.
        rule: Why it refuses pushes; "" while it takes them.
        fetches: The places that were asked for, each time.
    """

    def __init__(self, credentials: str = "") -> None:
        self.objects = MemoryObjects()
        self.refs: dict[str, str] = {}
        self.credentials = credentials
        self.failing = False
        self.rule = ""
        self.fetches: list[tuple[str, ...]] = []

    def shown(self, credentials: str, places: Sequence[str] = ()) -> Mapping[str, str]:
        """Answer with all refs, or not at all.

        Args:
            credentials: For the forge.
            places: Those that are fetched; none where refs are only listed.

        Raises:
            GitBusyError: It answers nothing.
        """
        if self.failing or credentials != self.credentials:
            raise GitBusyError("the fetch failed: fatal: the forge does not answer")
        if places:
            self.fetches.append(tuple(places))
        return self.refs

    def receive(
        self, credentials: str, objects: "MemoryObjects", updates: Sequence[RefUpdate]
    ) -> Pushed:
        """Take a push of some of these objects: all the refs move, or none.

        Raises:
            GitBusyError: It answers nothing.
            GitRefusedError: Its rule forbids it.
        """
        self.shown(credentials)
        if self.rule:
            raise GitRefusedError(self.rule)
        for update in updates:
            if update.wanted:
                self.objects.take(objects, update.wanted)
        return Pushed.DONE if self.move(updates) else Pushed.MOVED

    def move(self, updates: Sequence[RefUpdate]) -> bool:
        """Move all these refs from where they are expected, or none.

        One that is where it is wanted already is passed over, as git does.
        """
        updates = [u for u in updates if not u.wanted or self.refs.get(u.ref) != u.wanted]
        if any(self.refs.get(u.ref, "") != u.expected for u in updates):
            return False
        after = {**self.refs, **{str(u.ref): u.wanted for u in updates}}
        after = {ref: sha for ref, sha in after.items() if sha}
        made = [str(u.ref) for u in updates if u.wanted and not u.expected]
        folders = {ref[:at] for ref in made for at in range(len(ref)) if ref[at] == "/"}
        if folders & after.keys():
            return False
        if any(ref.startswith(f"{each}/") for each in made for ref in after):
            return False
        self.refs = after
        return True


class MemoryMirrors:
    """Implements `Mirrors`.

    Args:
        remotes: By address.
        clock: For when a fetch began.
        most: Mirrors that are kept when they are trimmed.
    """

    def __init__(
        self, remotes: Mapping[str, Remote], clock: Clock = SYSTEM, most: int = 1_000
    ) -> None:
        self._remotes = remotes
        self._clock = clock
        self._most = most
        self._mirrors: dict[RepositoryId, MemoryMirror] = {}

    def of(self, repository_id: RepositoryId, url: str) -> "MemoryMirror":
        """The mirror of one repository; one that moved keeps what it has."""
        mirror = self._mirrors.get(repository_id)
        if mirror is None:
            mirror = MemoryMirror(self._remotes, url, self._clock)
            self._mirrors[repository_id] = mirror
        mirror.url = url
        return mirror

    def trim(self) -> Sequence[str]:
        """Empty the least recently used mirrors over the bound; returns which."""
        used = [(m.used, id_, m) for id_, m in self._mirrors.items() if m.used is not None]
        over = sorted(used, key=lambda each: each[0])[: max(0, len(used) - self._most)]
        for _, _, mirror in over:
            mirror.empty()
        return [str(id_.spelled).replace(":", "-") for _, id_, _ in over]


class MemoryMirror:
    """Implements `Mirror`."""

    def __init__(self, remotes: Mapping[str, Remote], url: str, clock: Clock) -> None:
        self.url = url
        self._remotes = remotes
        self._clock = clock
        self.empty()

    def empty(self) -> None:
        """Forget all that was fetched."""
        self.objects = MemoryObjects()
        self.used: float | None = None
        self._refs: dict[str, str] = {}
        self._begun: dict[str, float] = {}

    @property
    def _remote(self) -> Remote:
        if self.url not in self._remotes:
            raise GitBusyError(f"the fetch failed: fatal: there is no {self.url}")
        return self._remotes[self.url]

    def fetch(
        self,
        credentials: str,
        since: float | None = None,
        scope: Scope = EVERYTHING,
        heads: Collection[str] = (),
    ) -> None:
        """As `Mirror` has it."""
        since = self._clock.monotonic() if since is None else since
        self.bring(credentials, git_refs.places(scope), since)

    def bring(self, credentials: str, places: Sequence[str], since: float) -> None:
        """Fetch places, unless that was done since a time."""
        fresh = [place for place, begun in self._begun.items() if begun >= since]
        if all(any(git_refs.inside(p, known) for known in fresh) for p in places):
            return
        remote = self._remote
        shown = remote.shown(credentials, places)
        below = tuple([f"{place}/" for place in places])
        there = {r: sha for r, sha in shown.items() if r in places or r.startswith(below)}
        for sha in there.values():
            if sha not in self.objects.known:
                self.objects.take(remote.objects, sha)
        kept = {
            r: sha for r, sha in self._refs.items() if r not in places and not r.startswith(below)
        }
        self._refs = kept | there
        self.used = self._clock.monotonic()
        self._begun |= dict.fromkeys(places, self.used)

    def fetch_proposal(self, credentials: str, ref: Ref) -> None:
        """As `Mirror` has it."""
        remote = self._remote
        shown = remote.shown(credentials)
        if ref not in shown:
            raise GitBusyError(f"the fetch failed: fatal: couldn't find remote ref {ref}")
        self.objects.take(remote.objects, shown[ref])

    def tags(self, credentials: str) -> Mapping[str, Sha]:
        """As `Mirror` has it."""
        return {r: Sha(sha) for r, sha in self._remote.shown(credentials).items() if _at(r, TAGS)}

    def tagged(self, credentials: str, names: Collection[str]) -> frozenset[str] | None:
        """As `Mirror` has it."""
        there = self._remote.shown(credentials)
        return frozenset(name for name in names if f"{TAGS}/{name}" in there)

    def open(self, credentials: str = "", since: float | None = None) -> History:
        """As `Mirror` has it."""

        def at(place: str) -> dict[str, str]:
            if since is not None:
                self.bring(credentials, [place], since)
            below = f"{place}/"
            return {r: sha for r, sha in self._refs.items() if r == place or r.startswith(below)}

        return MemoryHistory(self.objects, at)

    def push(self, credentials: str, updates: Sequence[RefUpdate]) -> Pushed:
        """As `Mirror` has it."""
        if any(u.wanted and u.wanted not in self.objects.known for u in updates):
            raise GitBusyError("the push failed: error: src refspec does not match any")
        done = self._remote.receive(credentials, self.objects, updates)
        if done is Pushed.DONE:
            self.take_over(updates)
        return done

    def take_over(self, updates: Sequence[RefUpdate]) -> None:
        """As `Mirror` has it."""
        known = self.objects.known
        if any(
            self._refs.get(u.ref, "") != u.expected or (u.wanted and u.wanted not in known)
            for u in updates
        ):
            self._begun = {}
            return
        moved = self._refs | {str(u.ref): u.wanted for u in updates}
        self._refs = {ref: sha for ref, sha in moved.items() if sha}


def _at(ref: str, place: str) -> bool:
    return git_refs.inside(ref, place)
