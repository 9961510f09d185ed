"""Three trees merged with the packages in them; what cannot be merged is refused."""

import pytest

from cadlib.errors import PackageError
from cadlib.kptfile.reader import read as read_kptfile
from cadlib.merge.policy import ConflictPolicy
from cadlib.package.files import Entry, Files
from cadlib.update.merge import MergedTrees, merge_trees
from cadlib.update.strategies import ThreeWayFiles
from tests.cadlib.upstreams import config_map, kptfile


def _merge(local: dict[str, str], updated: dict[str, str]) -> MergedTrees:
    head = {"Kptfile": kptfile("app")}
    trees: list[Files] = [
        {path: Entry(text.encode()) for path, text in {**head, **files}.items()}
        for files in ({}, local, updated)
    ]
    return merge_trees(ThreeWayFiles(*trees), name="app", policy=ConflictPolicy.UPSTREAM)


def _sub(upstream: str, strategy: str) -> str:
    text = kptfile("sub", upstream=upstream, lock=upstream)
    return text.replace("resource-merge", strategy)


def test_copy_merge_takes_a_subpackage_that_both_sides_added() -> None:
    """The short-cut: refuse it as the strategies do that would have to merge it."""
    mine = {"sub/a.yaml": config_map("a", x="mine"), "sub/own.yaml": config_map("b", x="1")}
    theirs = {"sub/a.yaml": config_map("a", x="theirs")}

    merged = _merge(
        {"sub/Kptfile": _sub("one@v1", "copy-merge"), **mine},
        {"sub/Kptfile": _sub("two@v2", "copy-merge"), **theirs},
    ).merged

    upstream = read_kptfile(merged.files["sub/Kptfile"].data).upstream
    assert upstream is not None
    assert (upstream.repo, upstream.ref) == ("two", "v2")
    assert merged.files["sub/a.yaml"].data.decode() == theirs["sub/a.yaml"]
    assert merged.files["sub/own.yaml"].data.decode() == mine["sub/own.yaml"]
    assert "sub/a.yaml" in {each.path for each in merged.conflicts}


def test_what_copies_is_said_by_the_subpackage_at_hand() -> None:
    """The short-cut: ask upstream's Kptfile, which may overwrite what somebody made here."""
    local = {"sub/Kptfile": _sub("one@v1", "resource-merge")}
    with pytest.raises(PackageError, match='subpackage "sub" added in both upstream and local'):
        _merge(local, {"sub/Kptfile": _sub("two@v2", "copy-merge")})
