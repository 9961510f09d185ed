"""Reads what stands at a path in a commit, and writes trees with one path changed."""

from __future__ import annotations

from bot.sandbox.git.objects import TreeEntry
from bot.sandbox.git.protocol import Git


def entry_at(git: Git, commit: str, path: str) -> TreeEntry | None:
    """What stands at a path in a commit; the root tree for "". None where nothing does."""
    entry = TreeEntry(mode="40000", name="", sha=git.commit(commit).tree)
    for part in [p for p in path.split("/") if p]:
        if entry.kind != "tree":
            return None
        found = next((e for e in git.tree(entry.sha) if e.name == part), None)
        if found is None:
            return None
        entry = found
    return entry


def put(git: Git, tree: str | None, path: str, entry: tuple[str, str] | None) -> str | None:
    """A new tree with one path set to (mode, object) or, for None, taken out.

    Returns:
        The tree's id; None when nothing is left in it.
    """
    name, _, rest = path.partition("/")
    entries = {e.name: e for e in git.tree(tree)} if tree else {}
    if rest:
        below = entries.get(name)
        inner = below.sha if below and below.kind == "tree" else None
        made = put(git, inner, rest, entry)
        entry = ("40000", made) if made else None
    if entry is None:
        entries.pop(name, None)
    else:
        entries[name] = TreeEntry(mode=entry[0], name=name, sha=entry[1])
    return git.write_tree(entries.values()) if entries else None
