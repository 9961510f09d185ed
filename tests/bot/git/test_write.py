"""Trees as git writes them: what stands where something else stood."""

from itertools import permutations

import pytest

from bot.git import write
from bot.git.difference import TREE
from bot.git.objects import Entries, parse_tree


class Kept:
    """Objects in memory, named by their numbers."""

    def __init__(self) -> None:
        self._data = list[bytes]()

    def store(self, _kind: str, data: bytes) -> str:
        self._data.append(data)
        return f"{len(self._data) - 1:040x}"

    def entries(self, tree: str) -> Entries:
        return parse_tree(self._data[int(tree, 16)])

    def files(self, tree: str, under: str = "") -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for sha, mode, name in self.entries(tree):
            path = f"{under}{name}"
            found |= self.files(sha, f"{path}/") if mode == TREE else {path: self._of(sha)}
        return found

    def _of(self, sha: str) -> bytes:
        return self._data[int(sha, 16)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            {"x/a": b"1", "y": b"0"}, {"x": b"2", "y": b"0"}, id="a folder becomes a file"
        ),
        pytest.param({"x": b"1"}, {"x/a/b": b"2", "x/c": b"3"}, id="a file becomes a folder"),
        pytest.param({"x/a": b"1", "y": b"0"}, {"y": b"0"}, id="a folder goes"),
    ],
)
def test_a_file_takes_the_place_of_a_folder_and_a_folder_that_of_a_file(
    before: dict[str, bytes], after: dict[str, bytes]
) -> None:
    """Short-cuts refused: an error, or a file that is lost, by the order in which they are told."""
    kept = Kept()
    base = write.tree(kept.entries, kept.store, "", before)
    paths = [path for path in {*before, *after} if before.get(path) != after.get(path)]
    for order in permutations(paths):
        changes = {path: after.get(path) for path in order}
        assert kept.files(write.tree(kept.entries, kept.store, base, changes)) == after


@pytest.mark.parametrize("paths", [("x", "x/a"), ("x/a", "x")])
def test_a_file_and_a_folder_of_one_name_are_refused(paths: tuple[str, str]) -> None:
    """The short-cut takes the last one told, and loses the other."""
    kept = Kept()
    with pytest.raises(ValueError, match="x is a file and a folder in one change"):
        write.tree(kept.entries, kept.store, "", dict.fromkeys(paths, b"1"))
