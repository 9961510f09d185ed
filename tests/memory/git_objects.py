"""Git's objects in memory, with the ids that git itself gives."""

import hashlib
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field

from bot.git import write
from bot.git.difference import TREE
from bot.git.objects import parse_tree


@dataclass
class MemoryObjects:
    """Objects by id: kind and data."""

    known: MutableMapping[str, tuple[str, bytes]] = field(default_factory=dict)

    def store(self, kind: str, data: bytes) -> str:
        """Keep an object; its id is the SHA-1 of its kind, size and data (git's object format)."""
        head = f"{kind} {len(data)}\0".encode()
        sha = hashlib.sha1(head + data, usedforsecurity=False).hexdigest()
        self.known[sha] = kind, data
        return sha

    def commit(
        self, files: Mapping[str, bytes | str], *parents: str, message: str = "change", at: int = 1
    ) -> str:
        """Write a commit with exactly these files.

        Args:
            files: Path to bytes; a text is the mode and id of an entry, such as a submodule's.
            parents: Of the commit.
            message: Of the commit.
            at: When, in seconds.
        """
        entries = {
            path: data if isinstance(data, str) else f"100644 {self.store('blob', data)}"
            for path, data in files.items()
        }
        who = f"author <author@forge.example> {at} +0000"
        lines = [f"tree {tree_of(self.store, entries)}", *(f"parent {p}" for p in parents)]
        text = "\n".join([*lines, f"author {who}", f"committer {who}", "", message])
        return self.store("commit", text.encode())

    def tag(self, name: str, target: str, text: str = "tag\n", at: int = 1) -> str:
        """Write an annotated tag of a commit."""
        head = f"object {target}\ntype commit\ntag {name}\n"
        who = f"tagger author <author@forge.example> {at} +0000"
        return self.store("tag", f"{head}{who}\n\n{text}".encode())

    def take(self, other: "MemoryObjects", sha: str) -> None:
        """Take over an object from elsewhere with all that it names; submodules stay away."""
        left = [sha]
        while left:
            each = left.pop()
            if each in self.known:
                continue
            kind, data = self.known[each] = other.known[each]
            left += named(kind, data)


def tree_of(store: Callable[[str, bytes], str], files: Mapping[str, str]) -> str:
    """Write the tree of files: path to mode and id."""
    below: dict[str, dict[str, str]] = {}
    entries: list[tuple[str, int, str]] = []
    for path, each in files.items():
        folder, slash, rest = path.partition("/")
        if slash:
            below.setdefault(folder, {})[rest] = each
        else:
            mode, sha = each.split()
            entries.append((sha, int(mode, 8), path))
    entries += [(tree_of(store, inner), TREE, name) for name, inner in below.items()]
    return store("tree", write.tree_data(tuple(entries)))


def named(kind: str, data: bytes) -> list[str]:
    """Ids of what an object names."""
    if kind == "tree":
        return [sha for sha, mode, _ in parse_tree(data) if mode != 0o160000]
    if kind == "blob":
        return []
    head = data.partition(b"\n\n")[0].decode("utf-8", "replace").split("\n")
    return [line.split()[1] for line in head if line.startswith(("tree ", "parent ", "object "))]
