"""Trees, commits and tags as git writes them."""

from collections.abc import Callable, Sequence
from datetime import datetime
from stat import S_ISREG

from bot.git.difference import TREE
from bot.git.objects import Entries
from bot.git.port import Changes, GitIdentity
from cadlib.package.files import Entry

Store = Callable[[str, bytes], str]
"""Stores an object of a kind; gives its id."""

_Changes = dict[str, "bytes | Entry | _Changes | None"]

_NOT_NAMES = frozenset({"", ".", "..", ".git"})
"""What no part of a path may be; checked where packages are read, and here once more."""


def tree(entries: Callable[[str], Entries], store: Store, base: str, changes: Changes) -> str:
    """Write a tree with changes made to another one; modes are kept where none is given.

    Args:
        entries: Gives the entries of a tree by its id.
        store: For new objects.
        base: The tree that is changed.
        changes: Path to new bytes, or to bytes with a mode; None to delete.

    Raises:
        ValueError: Git holds no such path.
    """
    return _tree(entries, store, base, _nested(changes)) or store("tree", b"")


def commit(
    tree: str, parents: Sequence[str], who: GitIdentity, when: datetime, message: str
) -> bytes:
    """A commit on top of others: the data of its object."""
    at = who.at(when)
    above = "".join(f"parent {parent}\n" for parent in parents)
    text = f"tree {tree}\n{above}author {at}\ncommitter {at}\n\n{message}"
    return text.encode()


def tag(name: str, target: str, who: GitIdentity, when: datetime, text: str) -> bytes:
    """An annotated tag of a commit: the data of its object."""
    head = f"object {target}\ntype commit\ntag {name}\ntagger {who.at(when)}\n\n"
    return f"{head}{text}".encode()


def tree_data(entries: Entries) -> bytes:
    """The data of a tree object.

    Sorted by bytes, folders as if their names ended in a slash; names need not be UTF-8.
    """
    named = ((n.encode("utf-8", "surrogateescape"), sha, mode) for sha, mode, n in entries)
    ordered = sorted(named, key=lambda e: e[0] + (b"/" if e[2] == TREE else b""))
    return b"".join(b"%o %s\0%s" % (mode, n, bytes.fromhex(sha)) for n, sha, mode in ordered)


def _tree(entries: Callable[[str], Entries], store: Store, base: str, changes: _Changes) -> str:
    found = {name: (sha, mode) for sha, mode, name in (entries(base) if base else ())}
    for name, change in changes.items():
        old_sha, old_mode = found.get(name, ("", 0))
        if isinstance(change, dict):
            sub = _tree(entries, store, old_sha if old_mode == TREE else "", change)
            if sub:
                found[name] = (sub, TREE)
            else:
                found.pop(name, None)
        elif change is None:
            found.pop(name, None)
        elif isinstance(change, Entry):
            found[name] = (store("blob", change.data), int(change.mode, 8))
        else:
            mode = old_mode if S_ISREG(old_mode) else 0o100644
            found[name] = (store("blob", change), mode)
    if not found:
        return ""
    return store("tree", tree_data(tuple((sha, mode, n) for n, (sha, mode) in found.items())))


def _nested(changes: Changes) -> _Changes:
    nested: _Changes = {}
    # What goes stands first: a file takes the place of a folder, and a folder that of a file.
    ordered = sorted(changes.items(), key=lambda each: (each[1] is not None, each[0]))
    for path, data in ordered:
        *folders, name = path.split("/")
        if any(part.lower() in _NOT_NAMES for part in (*folders, name)):
            raise ValueError(f"{path!r}: git holds no such path")
        here = nested
        for folder in folders:
            below = here.get(folder)
            if below is None:
                below = here[folder] = {}
            if not isinstance(below, dict):
                raise ValueError(f"{path}: {folder} is a file and a folder in one change")
            here = below
        here[name] = data
    return nested
