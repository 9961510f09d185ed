"""Finds packages with confusable paths, on the way down to a package."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from bot.git.difference import TREE, is_package
from bot.git.objects import Entries
from lifecycle import spelling

MOST = 20
"""Of one folder's likes that are looked into: anybody can make them without end."""


def packages(
    entries: Callable[[str], Entries], tree: str, paths: Iterable[str]
) -> dict[str, frozenset[str]]:
    """Find the packages of a tree that look like these, each without itself.

    Args:
        entries: Gives the entries of a tree by its id.
        tree: The root tree; "" for nothing at all.
        paths: Of packages, there or not; no other looks like the root.
    """
    known: dict[str, Mapping[str, list[tuple[str, str]]]] = {}

    def folders(sha: str) -> Mapping[str, list[tuple[str, str]]]:
        if sha not in known:
            found = defaultdict(list)
            for below, mode, name in entries(sha):
                if mode == TREE:
                    found[spelling.folded(name)].append((name, below))
            known[sha] = found
        return known[sha]

    def like(package: str) -> frozenset[str]:
        found = [("", tree)] if tree and package else []
        for part in package.split("/"):
            wanted = spelling.folded(part)
            found = [
                (f"{above}{name}/", below)
                for above, sha in found
                for name, below in folders(sha).get(wanted, ())
            ][:MOST]
        there = {path.removesuffix("/") for path, sha in found if is_package(entries(sha))}
        return frozenset(there - {package})

    return {package: like(package) for package in paths}
