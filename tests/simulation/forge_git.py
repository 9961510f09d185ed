"""The sandbox forge's git in memory, and its remotes: where people and the bot fetch and push.

Objects and refs are those of `tests.memory.git`; a mirror of the bot that fetches takes them over.
What git itself would refuse is refused here, what the forge refuses is asked of its own rules.
Files that were renamed are not followed.
"""

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from bot.git.port import RefUpdate
from bot.sandbox.errors import GitError
from bot.sandbox.git import history
from bot.sandbox.git.diffs import FileDiff
from bot.sandbox.git.objects import TreeEntry
from bot.sandbox.git.protocol import Git
from bot.sandbox.git.stored import StoredObjects
from bot.sandbox.records.refs import ZERO, RefChange
from lifecycle.names import Ref
from tests.memory.git import MemoryRemote
from tests.memory.git_history import MemoryHistory
from tests.memory.git_merge import merge
from tests.memory.git_objects import MemoryObjects

_SHOWN = ("refs/heads/", "refs/tags/")


class MemoryGit(StoredObjects):
    """One repository in memory; implements `bot.sandbox.git.protocol.Git`.

    Args:
        default_branch: What HEAD names.
        objects: Those to begin with.
        refs: Those to begin with.
    """

    def __init__(
        self,
        default_branch: str = "main",
        objects: MemoryObjects | None = None,
        refs: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.place = MemoryRemote()
        self.place.objects = objects or MemoryObjects()
        self.place.refs = dict(refs or {})
        self._default_branch = default_branch
        self._merges: dict[tuple[str, str], str | None] = {}
        self._diffs: dict[tuple[str, str], tuple[FileDiff, ...]] = {}

    @property
    def objects(self) -> MemoryObjects:
        """Everything that was written or pushed."""
        return self.place.objects

    def beside(self, objects: MemoryObjects) -> "MemoryGit":
        """The same repository with more objects than it has, for one look at them."""
        both = MemoryObjects(ChainMap({}, objects.known, self.objects.known))
        return MemoryGit(self._default_branch, both, self.place.refs)

    def refs(self) -> dict[str, str]:
        return {ref: sha for ref, sha in self.place.refs.items() if ref.startswith(_SHOWN)}

    def changes(
        self, known: Mapping[str, str], moved: Iterable[str] | None = None
    ) -> list[RefChange]:
        now = self.refs()
        looked = {*known, *now} if moved is None else {*moved}
        return [
            RefChange(ref=ref, before=known.get(ref, ZERO), after=now.get(ref, ZERO))
            for ref in sorted(looked)
            if known.get(ref, ZERO) != now.get(ref, ZERO)
        ]

    def default_branch(self) -> str:
        return self._default_branch

    def move(self, changes: Sequence[RefChange]) -> bool:
        for change in changes:
            kind = self.kind(change.after)
            if not change.deletes and (kind is None or _wrong(change.ref, kind)):
                return False
        return self.place.move(
            [
                RefUpdate(Ref(c.ref), "" if c.creates else c.before, "" if c.deletes else c.after)
                for c in changes
            ]
        )

    def point(self, ref: str, sha: str) -> None:
        self.place.refs = {**self.place.refs, ref: sha}  # what was shown before must not change

    def merge_tree(self, ours: str, theirs: str) -> str | None:
        key = (ours, theirs)
        if key not in self._merges:
            self._merges[key] = self._merge(ours, theirs)
        return self._merges[key]

    def _merge(self, ours: str, theirs: str) -> str | None:
        base = history.merge_base(self, ours, theirs)
        if base is None:
            raise GitError("fatal: refusing to merge unrelated histories")
        if base in (ours, theirs):
            return self.commit(theirs if base == ours else ours).tree
        try:
            tree, conflicts = merge(MemoryHistory(self.objects, lambda _: {}), ours, theirs)
        except NotImplementedError:
            return None  # a forge may find a conflict in what git would merge by following renames
        return None if conflicts else tree

    def diff(self, old: str | None, new: str) -> tuple[FileDiff, ...]:
        before = self.commit(old).tree if old else ""
        key = (before, self.commit(new).tree)
        if key not in self._diffs:
            self._diffs[key] = tuple(self._differing(*key, ""))
        return self._diffs[key]

    def _differing(self, before: str, after: str, under: str) -> Iterator[FileDiff]:
        if before == after:
            return
        old = {entry.name: entry for entry in self.tree(before)} if before else {}
        new = {entry.name: entry for entry in self.tree(after)} if after else {}
        for name in sorted(old.keys() | new.keys()):
            was, now = old.get(name), new.get(name)
            if was == now:
                continue
            folders = [e.sha if e is not None and e.kind == "tree" else "" for e in (was, now)]
            if any(folders):
                yield from self._differing(folders[0], folders[1], f"{under}{name}/")
            was, now = (None if e is None or e.kind == "tree" else e for e in (was, now))
            if was != now:
                path = f"{under}{name}".encode("utf-8", "surrogateescape").decode(errors="replace")
                yield self._file(path, was, now)

    def _file(self, path: str, was: TreeEntry | None, now: TreeEntry | None) -> FileDiff:
        old, new = self._text(was), self._text(now)
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        same = sum(block.size for block in matcher.get_matching_blocks())
        there = now or was
        return FileDiff(
            path=path,
            old_path=None,
            status="added" if was is None else "removed" if now is None else "modified",
            sha=there.sha if there else "",
            additions=len(new) - same,
            deletions=len(old) - same,
            patch="\n".join(_hunk(group, old, new) for group in matcher.get_grouped_opcodes()),
        )

    def _text(self, entry: TreeEntry | None) -> list[bytes]:
        if entry is None or entry.kind != "blob":
            return []
        return self.blob(entry.sha).splitlines()

    def fetch(self, other: Git, sha: str) -> None:
        if not isinstance(other, MemoryGit):
            raise GitError("only a repository in memory can be fetched from")
        self.objects.take(other.objects, sha)

    def _read(self, sha: str) -> tuple[str, bytes] | None:
        return self.objects.known.get(sha)

    def _write(self, kind: str, content: bytes) -> str:
        return self.objects.store(kind, content)


def _wrong(ref: str, kind: str) -> bool:
    """Whether git does not let a ref name an object of a kind."""
    return ref.startswith("refs/heads/") and kind != "commit"


class MemoryStore:
    """Repositories in memory; implements `bot.sandbox.git.protocol.GitStore`."""

    def __init__(self) -> None:
        self._made: dict[int, MemoryGit] = {}

    def create(self, repo_id: int, source: Path | None, default_branch: str | None) -> MemoryGit:
        if source is not None:
            raise GitError("a repository in memory begins empty")
        made = self._made[repo_id] = MemoryGit(default_branch or "main")
        return made

    def fork(self, repo_id: int, parent_id: int) -> MemoryGit:
        parent = self._made[parent_id]
        objects = MemoryObjects(dict(parent.objects.known))
        made = self._made[repo_id] = MemoryGit(parent.default_branch(), objects, parent.refs())
        return made

    def open(self, repo_id: int) -> MemoryGit:
        return self._made[repo_id]

    def delete(self, repo_id: int) -> None:
        del self._made[repo_id]


def _hunk(
    group: Sequence[tuple[str, int, int, int, int]], old: Sequence[bytes], new: Sequence[bytes]
) -> str:
    """One part of a patch, as git writes it."""
    (_, i, _, j, _), (_, _, until, _, to) = group[0], group[-1]
    spans = [f"{first + bool(count)},{count}" for first, count in ((i, until - i), (j, to - j))]
    lines = [f"@@ -{spans[0]} +{spans[1]} @@".encode()]
    for kind, i1, i2, j1, j2 in group:
        if kind == "equal":
            lines += [b" " + line for line in old[i1:i2]]
            continue
        lines += [b"-" + line for line in old[i1:i2]] + [b"+" + line for line in new[j1:j2]]
    return b"\n".join(lines).decode(errors="replace")
