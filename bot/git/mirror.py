"""Mirrors: what the bot has of repositories on disk, how they follow the forge, and pushes.

Longer than 400 lines: fetching, pushing and repacking share the state of one mirror.

A look fetches the branches it is about and the tags of its packages: the forge is asked for names
that begin so (protocol 2), and what this takes does not grow with the repository. The refs that a
fetch saw are kept with it; git's own are there so that git knows what it has, and go when there are
many, since git looks at all of them at each fetch (ADR 0018).

Refs of the forge move all or none, each from where it was seen, an exact compare-and-swap on every
forge (docs/design.md, "Mirrors and pushes"). Tokens reach git through its
environment alone: never an argument, never a URL.
"""

import fcntl
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import structlog

from bot.clock import SYSTEM, Clock
from bot.git import packs, upkeep
from bot.git import refs as git_refs
from bot.git.apart import LeftOut, SlowRefsError
from bot.git.caches import MirrorCaches
from bot.git.first import FirstFetch, give_back
from bot.git.history import DiskHistory
from bot.git.port import (
    EVERYTHING,
    GitBusyError,
    GitRefusedError,
    MissingObjectError,
    ObjectTooLargeError,
    Pushed,
    Refs,
    RefUpdate,
    Scope,
)
from bot.git.process import (
    MOST_MEMORY,
    ONE_AT_A_TIME,
    GitSlowError,
    authorised,
    environment,
    locked,
    reason,
    refusal,
    run,
    took_too_much_memory,
)
from bot.git.pushing import NOWHERE, RemotePush
from bot.git.remote import RemoteRefs
from bot.git.seen import SeenRefs
from lifecycle.identity import RepositoryId
from lifecycle.messages.checks import large_head, large_push
from lifecycle.names import HEADS, TAGS, Ref, Sha, parse_tag

log = structlog.get_logger()

NETWORK_TIMEOUT = 120
"""Seconds for one fetch or push: every network call has an end (docs/design.md, "Forge calls")."""

MOST_HEAD_BYTES = 1024 * 1024 * 1024
"""Of what one fetch of a proposal from a fork brings: anybody can propose gigabytes, and every
replica has a disk of some size."""

LARGE_MEMORY = 2 * 1024**3
"""Bytes of data of a git that fetches the repository's own branches, one in a process at a time,
where `MOST_MEMORY` is too little: so much take some 20 million objects, or a file of a gigabyte."""

REBUILD = 3600.0
"""Seconds between two times that a mirror is fetched anew: if once did not help, more will not."""

MOST_TAGS = 2_000
"""Tags that a mirror holds as refs before they go; what looks need is fetched again."""


def large_memory(limit: int | None) -> int:
    """What one large fetch may take: half of what there is, and no less than others may.

    Args:
        limit: Bytes that all processes of the bot may have together; None where nobody says.
    """
    return LARGE_MEMORY if limit is None else max(MOST_MEMORY, limit // 2)


_ONE_LARGE = threading.Lock()
"""Held by the fetch that may take `LARGE_MEMORY`."""


class DiskMirror:
    """The bare mirror of one repository.

    Args:
        folder: Where it stands; made when missing.
        url: For git over HTTP, without credentials.
        clock: For when a fetch began.
        most_head_bytes: See `MOST_HEAD_BYTES`.
        large_memory: See `LARGE_MEMORY`.
        patience: Seconds that a look waits for a fetch.
        first: Of the mirror that had the folder before, if any.

    Attributes:
        first: See there.
    """

    def __init__(
        self,
        folder: Path,
        url: str,
        clock: Clock = SYSTEM,
        *,
        most_head_bytes: int = MOST_HEAD_BYTES,
        large_memory: int = LARGE_MEMORY,
        patience: float = NETWORK_TIMEOUT,
        first: FirstFetch | None = None,
    ) -> None:
        self.folder = folder
        self._large_memory = large_memory
        self._most_head_bytes = most_head_bytes
        self.url = url
        self._clock = clock
        self._lock = threading.Lock()
        self._remote = RemoteRefs(url, clock)
        self._pushing = RemotePush(url, clock)
        self._seen = SeenRefs(folder)
        self._wanted: set[str] = set()
        self._broken = False
        self._rebuilt = -REBUILD
        self._kept = MirrorCaches()
        self._patience = patience
        self.first = first or FirstFetch(folder, clock, patience)
        self._is_large = False
        self._left_out = LeftOut(clock, patience)

    def fetch(
        self,
        credentials: str,
        since: float | None = None,
        scope: Scope = EVERYTHING,
        heads: Collection[str] = (),
    ) -> None:
        """Bring refs up to date.

        A fetch that began after this one was asked for serves it too. A mirror that git calls
        broken is deleted and fetched anew.

        Args:
            credentials: As `Forge.git_credentials` gives them; "" for none.
            since: Time of the clock after which a fetch that began serves too; now when None.
            scope: Which refs.
            heads: Commits that somebody said were pushed: git fetches one that is news, and is not
                asked for refs before.

        Raises:
            GitBusyError: The forge could not be reached.
        """
        since = self._clock.monotonic() if since is None else since
        self._bring(credentials, git_refs.places(scope), since, heads)

    def _bring(
        self, credentials: str, asked: Sequence[str], since: float, heads: Collection[str] = ()
    ) -> None:
        if self._seen.has_all(asked, since):
            return
        self._wanted |= set(asked)
        with self._locked():
            if self._seen.has_all(asked, since):
                return
            begun = self._clock.monotonic()
            wanted, self._wanted = self._wanted, set()
            # What others wait for is fetched with it: one fetch for all that ask at once.
            places: Sequence[str] = git_refs.outermost({*wanted, *asked})
            if self._broken and begun - self._rebuilt > REBUILD:
                self._rebuilt = begun
                self._remove()
            refs = None if self._news(heads, places) else self._unchanged(credentials, places)
            if refs is None:
                refs, places = self._fetch_and_list(credentials, places, asked)
            left = git_refs.at(self._left_out.at(places), [HEADS])
            if left:  # a look at one of them asks for it anew, and is told
                self._seen.clear()
                places = [p for p in places if not git_refs.at(left, [p])]
            self._seen.keep(begun, places, refs)
            os.utime(self.folder)  # last used now, for `DiskMirrors.trim`

    def _news(self, heads: Collection[str], places: Sequence[str]) -> bool:
        """Whether one of these commits is none of the refs at places, as they are here."""
        seen = self._seen.at_each(places).values()
        known = {sha for refs in seen for sha, _ in (refs or {}).values()}
        return not known.issuperset(heads)

    def _unchanged(self, credentials: str, places: Sequence[str]) -> Refs | None:
        """The refs at places where the forge has them as they are here; None to fetch."""
        if self._broken or not self._seen.agrees:
            return None
        known = self._seen.at_each(places)
        # A branch that was not there when all were fetched was most likely pushed since.
        new = (p for p, refs in known.items() if not refs and not git_refs.inside(p, TAGS))
        if not all(map(self._seen.asked, new)):
            return None
        there = self._remote.at(credentials, places)
        if there is None:
            return None
        unknown = [place for place, refs in known.items() if refs is None]
        here = git_refs.listed(self.folder, unknown) if unknown else {}
        for refs in known.values():
            here |= refs or {}
        left = self._left_out.at(places)
        same = {ref: sha for ref, (sha, _) in here.items()} | left == there
        tips = (sha for ref, sha in there.items() if ref not in left)
        return here | self._untold(places) if same and upkeep.has_tips(self.folder, tips) else None

    def _untold(self, places: Sequence[str]) -> dict[str, tuple[Sha, Sha]]:
        """Tags that were left out: that they are there counts, and nobody knows what is behind."""
        left = git_refs.at(self._left_out.at(places), [TAGS])
        return {ref: (sha, Sha("")) for ref, sha in left.items()}

    def _listed(self, places: Sequence[str]) -> Refs:
        return git_refs.listed(self.folder, places) | self._untold(places)

    def _fetch_by_name(
        self, credentials: str, places: Sequence[str], tried: ObjectTooLargeError | None
    ) -> None:
        """Fetch places, without what is only called alike, and what is left out.

        Args:
            credentials: As `fetch` has them.
            places: Which.
            tried: How all that is new there failed just now.

        Raises:
            ObjectTooLargeError: A branch that was asked for, a release, or every branch, is.
        """

        def needed(ref: str) -> bool:
            return parse_tag(ref) is not None or (ref in places and git_refs.inside(ref, HEADS))

        self._make()
        there = self._listed_there(credentials, places)
        self._left_out.forget(places, there)
        with self._seen.changing():
            here = self._pruned(there, places)
            new = dict(there.items() - here.items())
            self._left_out.fetch(
                new, needed, lambda refs: self._fetch_named(credentials, refs), tried
            )
        if HEADS in places:
            self._left_out.came()
            branches = git_refs.at(there, [HEADS])
            if branches and branches.keys() <= self._left_out.at([HEADS]).keys():
                raise ObjectTooLargeError(large_push(self._large_memory))

    def _fetch_named(self, credentials: str, refs: Sequence[str]) -> None:
        """Fetch refs by their whole names.

        Git brings none where one of them is gone by then, or what is gone has the name of a folder.
        """
        few = git_refs.MOST_NAMED
        try:
            for some in (refs[first : first + few] for first in range(0, len(refs), few)):
                self._fetch(credentials, ["--", self.url, *(f"+{ref}:{ref}" for ref in some)])
        except GitSlowError:
            raise
        except GitBusyError:
            kinds = sorted({HEADS if git_refs.inside(ref, HEADS) else TAGS for ref in refs})
            there = self._listed_there(credentials, kinds)
            self._seen.clear()
            left = [ref for ref in refs if ref in there]
            if self._pruned(there, kinds).keys() <= there.keys() and len(left) == len(refs):
                raise
            self._fetch_named(credentials, left)

    def _pruned(self, there: Mapping[str, Sha], places: Sequence[str]) -> dict[str, Sha]:
        """Remove the refs at places that are not there any more; those that were here."""
        listed = git_refs.listed(self.folder, places).items()
        # A tag called like a folder of tags is at none of the places that are asked for.
        tags = {place for place in places if git_refs.inside(place, TAGS)}
        here = {ref: sha for ref, (sha, _) in listed if ref not in tags}
        gone = "".join(f"delete {ref}\n" for ref in here.keys() - there.keys())
        run(self.folder, ["update-ref", "--no-deref", "--stdin"], text=gone)
        return here

    def _fetch_and_list(
        self, credentials: str, places: Sequence[str], asked: Sequence[str]
    ) -> tuple[Refs, Sequence[str]]:
        """Fetch places, or those alone that were asked for, where something is too large."""
        tried = None
        if not self._left_out.by_name:
            try:
                self._fetch_healthy(lambda: self._fetch_refs(credentials, places))
                return self._listed(places), places
            except ObjectTooLargeError as error:
                self._left_out.failed()
                # Others may have asked for it, or it is only called like a branch.
                tried = error if HEADS in asked and set(asked) == set(places) else None
        mine = git_refs.outermost(asked)  # others ask for theirs by themselves
        self._fetch_healthy(lambda: self._fetch_by_name(credentials, mine, tried))
        return self._listed(mine), mine

    def _fetch_healthy(self, fetch: Callable[[], None]) -> None:
        """Fetch into a mirror that is made anew where git calls it broken."""
        try:
            fetch()
        except GitBusyError:
            if self._healthy():
                raise
            self._remove()
            fetch()

    def fetch_proposal(self, credentials: str, ref: Ref) -> None:
        """Fetch the head of a proposal from a fork, or of a branch that is gone.

        Raises:
            GitBusyError: The forge could not be reached, or has no such ref.
            ObjectTooLargeError: It brings more than a proposal may.
        """
        with self._locked():
            self._fetch(credentials, ["--", self.url, f"+{ref}:{ref}"], self._most_head_bytes)

    def tags(self, credentials: str) -> dict[str, Sha]:
        """Ask the forge for all its tags, full name to object; nothing of them is fetched.

        For a sweep: it takes the longer the more there are.

        Raises:
            GitBusyError: The forge could not be reached.
        """
        with self._locked():
            self._make()
            there = self._listed_there(credentials, [TAGS])
            self._left_out.forget([TAGS], there)
            many = len(git_refs.listed(self.folder, [TAGS])) > MOST_TAGS
            # By whole names it would take long to fetch them again.
            if many and not self._left_out.at([TAGS]):
                self._drop_tags()
                self._seen.disagree()
        return there

    def tagged(self, credentials: str, names: Collection[str]) -> frozenset[str] | None:
        """As `Mirror` has it."""
        there = self._remote.named(credentials, [f"{TAGS}/{name}" for name in names])
        return None if there is None else frozenset(n for n in names if f"{TAGS}/{n}" in there)

    def _listed_there(self, credentials: str, places: Sequence[str]) -> dict[str, Sha]:
        """The refs of the forge at places; git asks for them where we cannot."""
        there = self._remote.at(credentials, places)
        if there is not None:
            return there
        kinds = sorted({"--heads" if git_refs.inside(p, HEADS) else "--tags" for p in places})
        done = run(
            self.folder,
            ["ls-remote", "--quiet", *kinds, "--refs", "--", self.url],
            env=authorised(self.url, credentials),
            timeout=NETWORK_TIMEOUT,
        )
        if done.returncode:
            what = "tags" if kinds == ["--tags"] else "branches"
            raise GitBusyError(f"the {what} cannot be listed: {reason(done.stderr)}")
        found = {ref: Sha(sha) for sha, ref in git_refs.advertised(done.stdout)}
        return git_refs.at(found, places)

    def open(self, credentials: str = "", since: float | None = None) -> DiskHistory:
        """Open the mirror for reading; close it after use.

        Args:
            credentials: As `Forge.git_credentials` gives them; "" for none.
            since: Time of the clock; refs that nobody fetched after that are fetched when they are
                asked for, so that nothing is taken for absent that was only not looked at. None:
                they are told as they are here.
        """

        def fresh(place: str) -> Refs | None:
            if not git_refs.may_hold(place):
                return {}
            if since is not None:
                self._bring(credentials, [place], since)
            found = self._seen.at(place)
            return self._listed([place]) if found is None and self._left_out.by_name else found

        return DiskHistory(self.folder, self._kept, self._found_broken, fresh)

    def push(self, credentials: str, updates: Sequence[RefUpdate]) -> Pushed:
        """Move all these refs, or none; git does where one request of ours is not enough.

        Raises:
            GitBusyError: The forge could not be reached, or failed.
            GitRefusedError: A rule of the forge forbids it.
        """
        if self._pushed(credentials, updates):
            self.take_over(updates)
            return Pushed.DONE
        leases = [f"--force-with-lease={u.ref}:{u.expected}" for u in updates]
        moves = [f"{u.wanted}:{u.ref}" for u in updates]
        done = run(
            self.folder,
            ["push", "--atomic", "--porcelain", "--no-verify", *leases, "--", self.url, *moves],
            env=authorised(self.url, credentials),
            timeout=NETWORK_TIMEOUT,
        )
        if done.returncode == 0:
            self.take_over(updates)
            return Pushed.DONE
        text = f"{done.stdout}\n{done.stderr}"
        if any(sign in text for sign in _MOVED):
            return Pushed.MOVED
        if "[remote rejected]" in text:
            raise GitRefusedError(refusal(text))
        raise GitBusyError(f"the push failed: {reason(text)}")

    def _pushed(self, credentials: str, updates: Sequence[RefUpdate]) -> bool:
        """Whether a ref moved without git, which does what is large, of several refs or refused."""
        if len(updates) != 1 or not updates[0].wanted:
            return False
        (update,) = updates

        def is_new(sha: str) -> bool:
            return sha != update.expected and self._kept.written.get(sha) is not None

        try:
            with self.open() as git:
                new = packs.new(git, [update.wanted], is_new)
        except (packs.LargePackError, MissingObjectError, ObjectTooLargeError):
            return False
        return self._pushing.push(credentials, update, packs.pack(new))

    def take_over(self, updates: Sequence[RefUpdate]) -> None:
        """Move our own refs as the forge has moved its: what we pushed needs no fetch.

        A ref that is not at what was expected was fetched meanwhile; then the next look fetches.
        """
        moves = (f"update {u.ref} {u.wanted or NOWHERE} {u.expected or NOWHERE}\n" for u in updates)
        with self._locked(), self._seen.changing():
            moved = run(self.folder, ["update-ref", "--no-deref", "--stdin"], text="".join(moves))
            if moved.returncode:
                self._seen.clear()
                return
            names = {str(u.ref) for u in updates}
            # A branch names its commit itself; what is behind a tag is read.
            there = {str(u.ref): (Sha(u.wanted), Sha(u.wanted)) for u in updates if u.wanted}
            tags = sorted(ref for ref in there if git_refs.inside(ref, TAGS))
            self._seen.moved(names, there | (git_refs.listed(self.folder, tags) if tags else {}))

    def _found_broken(self) -> None:
        """What a commit in the mirror is made of cannot be read: the next fetch begins anew."""
        self._broken = True
        self._kept = MirrorCaches()
        self._seen.clear()

    def _remove(self) -> None:
        self.first.end()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._broken, self._kept = False, MirrorCaches()
        self._seen.clear()

    def _fetch_refs(self, credentials: str, places: Sequence[str]) -> None:
        """Fetch places, without what is there no more; all branches where names are in the way.

        A name cannot stand where a folder of names does. One of the two is old, and may lie where
        nobody asked.
        """
        prune = ["--prune", "--", self.url]
        with self._seen.changing():
            try:
                named = git_refs.named(places)
                if named is not places:
                    self._seen.clear()  # more is brought up to date than is listed then
                self._fetch(credentials, [*prune, *map(git_refs.refspec, named)])
            except GitBusyError as error:
                if "cannot lock ref" not in str(error):
                    raise
                self._drop_tags()
                self._seen.clear()
                wide = {HEADS, *(p for p in places if git_refs.inside(p, TAGS))}
                self._fetch(credentials, [*prune, *map(git_refs.refspec, sorted(wide))])

    def _drop_tags(self) -> None:
        """Forget the tags on disk; their objects stay, and what looks have seen of them."""
        there = git_refs.listed(self.folder, [TAGS])
        gone = "".join(f"delete {ref}\n" for ref in there)
        run(self.folder, ["update-ref", "--no-deref", "--stdin"], text=gone)

    def _make(self) -> None:
        if not (self.folder / "HEAD").exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            made = run(self.folder, ["init", "--quiet", "--bare", "."])
            if made.returncode:
                raise GitBusyError(f"cannot make a mirror in {self.folder}: {made.stderr.strip()}")

    def _fetch(
        self, credentials: str, arguments: Sequence[str], most_bytes: int | None = None
    ) -> None:
        went_on = self.first.ended()
        if went_on is not None and went_on.returncode:
            upkeep.clear(self.folder)
            if took_too_much_memory(went_on.stderr):
                if self._is_large:
                    self._is_large = False
                    raise ObjectTooLargeError(large_push(self._large_memory))
                self._is_large = True
        self._make()
        if most_bytes is None:
            done = self._fetch_own(credentials, arguments)
        else:
            # What comes as a pack is one file, of whatever size; loose objects would be many.
            packed = {"fetch.unpackLimit": "1", **ONE_AT_A_TIME}
            done = self._run_fetch(credentials, arguments, packed, MOST_MEMORY, most_bytes)
        if done.returncode:
            # Git tells too little of why: what it had to end with is as large as it may be.
            left = upkeep.clear(self.folder)
            large = most_bytes is not None and left >= most_bytes
            if most_bytes is not None and (large or took_too_much_memory(done.stderr)):
                raise ObjectTooLargeError(large_head(most_bytes))
            raise GitBusyError(f"the fetch failed: {reason(done.stderr)}")

    def _fetch_own(
        self, credentials: str, arguments: Sequence[str]
    ) -> subprocess.CompletedProcess[str]:
        """Fetch the repository's own branches, with more memory where that is needed."""
        if not self._is_large:
            done = self._run_fetch(credentials, arguments, {}, MOST_MEMORY, None)
            if not done.returncode or not took_too_much_memory(done.stderr):
                return done
            upkeep.clear(self.folder)
        give_back(self._clock.monotonic())
        if not _ONE_LARGE.acquire(timeout=self._patience):
            raise GitBusyError("another large fetch goes on")
        memory = self._large_memory
        try:
            done = self._run_fetch(credentials, arguments, ONE_AT_A_TIME, memory, None)
        finally:
            self.first.lasts(_ONE_LARGE.release)
        self._is_large = False
        if done.returncode and took_too_much_memory(done.stderr):
            upkeep.clear(self.folder)
            raise ObjectTooLargeError(large_push(memory))
        return done

    def _run_fetch(
        self,
        credentials: str,
        arguments: Sequence[str],
        more: Mapping[str, str],
        memory: int,
        file_bytes: int | None,
    ) -> subprocess.CompletedProcess[str]:
        words = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--force", *arguments]
        env = {**authorised(self.url, credentials), **more}
        if file_bytes is None and not self._has_something():
            return self.first.run(words, environment(self.folder, env), memory)
        try:
            return run(
                self.folder,
                words,
                env=env,
                timeout=self._patience,
                file_bytes=file_bytes,
                memory_bytes=memory,
            )
        except GitSlowError as error:
            upkeep.clear(self.folder)
            if file_bytes is not None:
                raise
            self._left_out.failed()
            raise SlowRefsError(str(error)) from error

    def _has_something(self) -> bool:
        """Whether anything was ever fetched; what is small came without a pack."""
        packs = (self.folder / "objects").glob("pack/*.pack")
        return any(packs) or any(p.is_file() for p in (self.folder / "refs").rglob("*"))

    def _healthy(self) -> bool:
        if not (self.folder / "HEAD").exists():
            return True
        looked = run(self.folder, ["rev-parse", "--is-bare-repository"])
        listed = run(self.folder, ["for-each-ref", "--format=%(objecttype)"])
        return looked.returncode == 0 and listed.returncode == 0

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One fetch at a time, in this process and among processes."""
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._lock, locked(self.folder.with_suffix(".lock")):
            yield


_MOVED = (
    "stale info",
    "(fetch first)",
    "(non-fast-forward)",
    "already exists",
    "remote ref does not exist",
    "cannot lock ref",
    "reference already exists",
    "incorrect old value",
    "couldn't set",
)
"""What git and its remote end say when a ref is not where the lease says, or another push is at it
or at a name that git cannot hold beside it."""


@contextmanager
def own_folder(wanted: Path) -> Iterator[Path]:
    """A folder for mirrors that no other process uses: `wanted`, or `wanted-2`, `wanted-3` ….

    What a mirror remembers of its refs is right only while nobody else fetches into it. The lock
    goes with the process, however that ends; the next one takes over folder and mirrors.
    """
    wanted.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number in count(1):
        folder = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        with folder.with_suffix(".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield folder
            return


class DiskMirrors:
    """All mirrors, in one folder with a size bound.

    Args:
        folder: Where they stand, one each: `42.git` for a repository of GitHub, `gitlab-42.git` for
            one of another forge.
        most_bytes: The least recently used ones are removed over this.
        clock: For when a fetch began.
        large_memory: See `LARGE_MEMORY`.
    """

    def __init__(
        self,
        folder: Path,
        most_bytes: int = 20 * 1024**3,
        clock: Clock = SYSTEM,
        *,
        large_memory: int = LARGE_MEMORY,
    ) -> None:
        self._folder = folder
        self._large_memory = large_memory
        self._clock = clock
        self._most = most_bytes
        self._mirrors: dict[RepositoryId, DiskMirror] = {}

    def of(self, repository_id: RepositoryId, url: str) -> DiskMirror:
        """The mirror of one repository."""
        mirror = self._mirrors.get(repository_id)
        if mirror is None or mirror.url != url:
            folder = self._folder / f"{_name(repository_id)}.git"
            first = mirror.first if mirror else None
            mirror = DiskMirror(
                folder, url, self._clock, large_memory=self._large_memory, first=first
            )
            self._mirrors[repository_id] = mirror
        return mirror

    def trim(self) -> list[str]:
        """Remove the least recently used mirrors over the bound, and keep the others in shape.

        Those that are fetched into at this moment are left alone. Returns which were removed.
        """
        sizes = []
        for folder in self._folder.glob("*.git"):
            size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
            sizes.append((folder.stat().st_mtime, size, folder))
        total = sum(size for _, size, _ in sizes)
        removed: list[str] = []
        for _, size, folder in sorted(sizes):
            over = total > self._most
            if not over and not upkeep.needed(folder):
                continue
            with folder.with_suffix(".lock").open("w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue  # being fetched: in use after all
                if over:
                    shutil.rmtree(folder, ignore_errors=True)
                    removed.append(folder.stem)
                    total -= size
                elif not upkeep.tidy(folder):
                    log.warning("mirror_out_of_shape", mirror=folder.name)
        return removed


@contextmanager
def own_mirrors(wanted: Path, limit: int | None) -> Iterator[DiskMirrors]:
    """Mirrors in a folder that no other process uses; see `own_folder` and `large_memory`."""
    with own_folder(wanted) as folder:
        yield DiskMirrors(folder, large_memory=large_memory(limit))


def _name(repository_id: RepositoryId) -> str:
    """No colon: git takes one for the end of a path in lists of folders."""
    return str(repository_id.spelled).replace(":", "-")
