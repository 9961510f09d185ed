"""What Kptfiles say of their upstreams, read as far as they changed."""

from collections.abc import Mapping

import pytest

from bot.git.port import Difference, History
from bot.look import locks
from bot.store.values import UpstreamUse
from tests.memory.git_history import MemoryHistory
from tests.memory.git_objects import MemoryObjects

HEAD = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: x\n"


def kptfile(repo: str, directory: str, ref: str, commit: str = "") -> bytes:
    said = f"    repo: {repo}\n    directory: {directory}\n    ref: {ref}\n"
    lock = f"upstreamLock:\n  type: git\n  git:\n{said}    commit: {commit}\n" if commit else ""
    return f"{HEAD}upstream:\n  type: git\n  git:\n{said}{lock}".encode()


CORE = kptfile("https://GitHub.com/acme/Blueprints.git", "/net/core", "net/core/v3", "c" * 40)


class Repository:
    """A repository in memory, whose blobs are counted when they are read."""

    def __init__(self) -> None:
        self.objects = MemoryObjects()
        self.read: list[str] = []

    def commit(self, files: Mapping[str, bytes]) -> str:
        return self.objects.commit(dict(files))

    def open(self) -> History:
        read = self.read

        class Counting(MemoryHistory):
            def blob(self, commit: str, path: str, most: int) -> bytes | None:
                read.append(path)
                return super().blob(commit, path, most)

        return Counting(self.objects, lambda _: {})


def use(package: str, *, locked: bool) -> UpstreamUse:
    return UpstreamUse(
        package=package,
        place="github.com/acme/blueprints",
        directory="net/core",
        ref="net/core/v3",
        commit="c" * 40 if locked else "",
        locked=locked,
    )


def test_every_lock_in_the_tree_is_found() -> None:
    """Short-cut refused: only the outermost packages, or addresses letter by letter."""
    at = Repository()
    files = {"a/Kptfile": CORE, "a/sub/Kptfile": CORE, "b/Kptfile": HEAD.encode(), "Kptfile": CORE}

    found = locks.changed(at.open(), "", at.commit(files))

    both = {name: (use(name, locked=False), use(name, locked=True)) for name in ("", "a", "a/sub")}
    assert found == {**both, "b": ()}


def test_only_what_changed_is_read() -> None:
    """Short-cut refused: 5,000 Kptfiles at each push."""
    at = Repository()
    files = {f"p{n}/Kptfile": CORE for n in range(50)} | {"p1/a.yaml": b"a: 1\n"}
    first = at.commit(files)
    files |= {"p1/a.yaml": b"a: 2\n", "p2/Kptfile": HEAD.encode()}
    del files["p3/Kptfile"]
    second = at.commit(files)

    found = locks.changed(at.open(), first, second)

    assert found == {"p2": (), "p3": ()}
    assert at.read == ["p2/Kptfile"]


@pytest.mark.parametrize(
    "data",
    [
        b"upstream: [",
        b"upstream\xff",
        kptfile("/srv/git/x", "/net", "v1"),
        kptfile("https://git.corp/x", "/net", "v" * 2000),
        CORE + b"# " + b"x" * locks.MOST_BYTES,
    ],
    ids=["no YAML", "no text", "on a disk", "too long", "too large"],
)
def test_what_names_nothing_is_passed_over(data: bytes) -> None:
    """Short-cut refused: one odd Kptfile keeps a repository from being read."""
    at = Repository()

    assert locks.changed(at.open(), "", at.commit({"a/Kptfile": data, "b/Kptfile": CORE})) == {
        "a": (),
        "b": (use("b", locked=False), use("b", locked=True)),
    }


@pytest.mark.parametrize(
    "ref", [r'"a\0b"', r'"\0"', r'"net/core/v3\0"'], ids=["inside", "alone", "behind"]
)
def test_what_no_database_keeps_is_not_read(ref: str) -> None:
    """Short-cut refused: it is kept as another text, which may be what another package says."""
    at = Repository()
    commit = at.commit({"a/Kptfile": kptfile("https://git.corp/x", "/a", ref), "b/Kptfile": CORE})

    assert locks.changed(at.open(), "", commit) == {
        "a": (),
        "b": (use("b", locked=False), use("b", locked=True)),
    }


def test_a_folder_whose_name_is_no_text_is_left_out() -> None:
    """Short-cut refused: git's names are bytes, and two of them are kept as one package."""

    class Trees:
        def difference(self, *_: str) -> Difference:
            return Difference({"caf\udce9/Kptfile": "100644"}, {})

        def blob(self, *_: object) -> bytes:
            return CORE

    assert locks.changed(Trees(), "", "c") == {}
