"""Merges are worked out as the forge makes them, and nothing of a repository decides how."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from bot.git import process as git_process
from bot.git.caches import MirrorCaches
from bot.git.difference import differ
from bot.git.history import DiskHistory
from bot.git.mirror import DiskMirror
from bot.git.objects import Entries
from bot.git.port import Difference, MissingObjectError
from tests.bot.git.server import Remote

Files = dict[str, bytes | str]

EDGE: Files = {"net/edge/Kptfile": b"kind: Kptfile\n", "net/edge/a.yaml": b"a: 1\n"}
CORE: Files = {"net/core/Kptfile": b"kind: Kptfile\n", "net/core/a.yaml": b"a: 1\n"}
NEWER: Files = {"net/edge/a.yaml": b"a: 2\n"}


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "1.git")


@pytest.fixture
def mirror(remote: Remote) -> DiskMirror:
    """The repository itself as its own mirror."""
    return DiskMirror(remote.folder, "")


def criss_cross(remote: Remote) -> tuple[str, str, str]:
    """Base, head, and the merge base that diffs are made against.

    Both sides merged one another; the head's merge left out what the base had done to net/edge,
    which a diff against the chosen merge base, older than that, cannot show.
    """
    root = remote.commit(EDGE, at=1)
    main = remote.commit({**EDGE, **NEWER}, root, at=2)
    topic = remote.commit({**EDGE, **CORE}, root, at=3)
    base = remote.commit({**EDGE, **NEWER, **CORE}, main, topic, at=4, ref="refs/heads/main")
    taken_back = remote.commit({**EDGE, **CORE}, topic, main, at=4)
    head = remote.commit({**EDGE, **CORE, "net/core/a.yaml": b"a: 3\n"}, taken_back, at=5)
    return base, head, topic


def test_a_merge_shows_what_a_diff_against_one_merge_base_hides(
    remote: Remote, mirror: DiskMirror
) -> None:
    """The short-cut compares the head with one merge base: net/edge is taken back unseen."""
    base, head, chosen = criss_cross(remote)

    with mirror.open() as git:
        assert git.merge_base(head, base) == chosen
        assert set(git.difference(chosen, head).packages) == {"net/core"}
        found = git.merged(base, head)
        after = git.tree(head, "net/edge")

        assert found.several
        assert set(found.difference.packages) == {"net/core", "net/edge"}
        assert found.difference.packages["net/edge"] == (git.tree(base, "net/edge"), after)
        assert set(found.difference.files) == {"net/core/a.yaml", "net/edge/a.yaml"}


def test_a_merge_without_a_conflict(remote: Remote, mirror: DiskMirror) -> None:
    root = remote.commit({**EDGE, **CORE})
    base = remote.commit({**EDGE, **CORE, **NEWER}, root)
    head = remote.commit({**EDGE, **CORE, "net/core/a.yaml": b"a: 3\n"}, root)
    ahead = remote.commit(CORE, base)
    before = sum(1 for _ in remote.folder.glob("objects/??/*"))

    with mirror.open() as git:
        found = git.merged(base, head)
        assert (found.conflicts, found.several, found.unrelated) == ((), False, False)
        assert set(found.difference.packages) == {"net/core"}
        assert git.merged(base, ahead).difference == git.difference(base, ahead)
        assert git.merged(base, ahead).tree == git.commit(ahead).tree

    # Whatever merges are worked out, the mirror does not grow by them.
    assert sum(1 for _ in remote.folder.glob("objects/??/*")) == before


def test_a_merge_with_conflicts_names_them(remote: Remote, mirror: DiskMirror) -> None:
    """The short-cut reads the first line of the answer: it is a tree, with markers in its files."""
    root = remote.commit({**EDGE, **CORE})
    base = remote.commit({**EDGE, **CORE, **NEWER}, root)
    head = remote.commit({**CORE, **EDGE, "net/edge/a.yaml": b"a: 3\n"}, root)
    alien = remote.commit({"z": b""})

    with mirror.open() as git:
        found = git.merged(base, head)
        assert (found.tree, found.conflicts) == ("", ("net/edge/a.yaml",))
        assert found.difference == Difference()
        assert git.merged(base, alien).unrelated
        with pytest.raises(MissingObjectError):
            git.merged(base, "0" * 39 + "1")


def test_a_repository_does_not_choose_how_its_files_are_merged(
    remote: Remote, mirror: DiskMirror
) -> None:
    """The short-cut lets git read attributes where it finds them: union merges never conflict."""
    rule: Files = {".gitattributes": b"* merge=union\n"}
    root = remote.commit({**EDGE, **rule})
    base = remote.commit({**EDGE, **NEWER, **rule}, root, ref="refs/heads/main")
    head = remote.commit({**EDGE, **rule, "net/edge/a.yaml": b"a: 3\n"}, root)
    remote.git("symbolic-ref", "HEAD", "refs/heads/main")
    remote.git("config", "attr.tree", "HEAD")
    (remote.folder / ".config" / "git").mkdir(parents=True)
    (remote.folder / ".config" / "git" / "attributes").write_text("* merge=union\n")

    with mirror.open() as git:
        assert git.merged(base, head).conflicts == ("net/edge/a.yaml",)


TREES: dict[str, tuple[dict[str, Entries], set[str], set[str]]] = {
    "nothing differs": ({"1": (), "2": ()}, set(), set()),
    "a file changes": (
        {"1": (("a", 0o100644, "f"),), "2": (("b", 0o100644, "f"),)},
        {"f"},
        set(),
    ),
    "a mode changes": (
        {"1": (("a", 0o100644, "f"),), "2": (("a", 0o100755, "f"),)},
        {"f"},
        set(),
    ),
    "a file becomes a folder": (
        {"1": (("a", 0o100644, "p"),), "2": (("p", 0o040000, "p"),)},
        {"p", "p/Kptfile"},
        {"p"},
    ),
    "a package goes": ({"1": (("p", 0o040000, "p"),), "2": ()}, {"p/Kptfile"}, {"p"}),
    "the root is a package": (
        {"1": (("a", 0o100644, "Kptfile"),), "2": (("b", 0o100644, "Kptfile"),)},
        {"Kptfile"},
        {""},
    ),
    "a Kptfile that is a folder makes no package": (
        {"1": (), "2": (("q", 0o040000, "q"),)},
        {"q/Kptfile/x"},
        set(),
    ),
    "a submodule moves": (
        {"1": (("a", 0o160000, "s"),), "2": (("b", 0o160000, "s"),)},
        {"s"},
        set(),
    ),
}
BELOW: dict[str, Entries] = {
    "p": (("k", 0o100644, "Kptfile"),),
    "q": (("r", 0o040000, "Kptfile"),),
    "r": (("x", 0o100644, "x"),),
}


@pytest.mark.parametrize(("trees", "files", "packages"), TREES.values(), ids=TREES)
def test_trees_are_compared(trees: dict[str, Entries], files: set[str], packages: set[str]) -> None:
    found = differ({**trees, **BELOW}.__getitem__, "1", "2")

    assert (set(found.files), set(found.packages)) == (files, packages)


def test_equal_trees_are_passed_over() -> None:
    """The short-cut reads every package on both sides: 5,000 of them, for one that differs."""
    asked: list[str] = []

    def entries(tree: str) -> Entries:
        asked.append(tree)
        if tree in {"one", "other"}:
            return tuple(
                (f"{n}{tree if n == 7 else ''}", 0o040000, f"p{n:04}") for n in range(5000)
            )
        return ((f"k{tree}", 0o100644, "Kptfile"),)

    found = differ(entries, "one", "other")

    assert set(found.packages) == {"p0007"}
    assert asked == ["one", "other", "7one", "7other"]


VERSIONS: dict[str, tuple[str, bool]] = {
    "new enough": ("git version 2.38.0", True),
    "newer": ("git version 2.51.2", True),
    "of another build": ("git version 2.39.5 (Apple Git-154)", True),
    "a later first number": ("git version 3.0.1", True),
    "too old": ("git version 2.37.9", False),
    "much too old": ("git version 1.8.3.1", False),
    "no git at all": ("command not found", False),
}


@pytest.mark.parametrize(("said", "good"), VERSIONS.values(), ids=VERSIONS)
def test_versions(said: str, good: bool) -> None:
    """The short-cut compares texts: "2.9" is no newer than "2.38"."""
    problem = git_process.version_problem(said)

    assert (problem == "") == good
    assert good or problem.endswith("Install git 2.38 or newer.")


def test_a_merge_that_takes_too_long_is_not_tried_again(remote: Remote, mirror: DiskMirror) -> None:
    """The short-cut tries at each look: a worker and a core are busy with it for good.

    Nor does it help to wait until somebody moves the base; merging the base in does.
    """
    root = remote.commit({**EDGE, **CORE})
    base = remote.commit({**EDGE, **CORE, **NEWER}, root)
    moved = remote.commit({**EDGE, **CORE, **NEWER, "z": b"1"}, base)
    head = remote.commit({**EDGE, **CORE, "net/core/a.yaml": b"a: 3\n"}, root)
    mended = remote.commit({**EDGE, **CORE, **NEWER, "z": b"2"}, head, moved)
    kept = MirrorCaches()

    with DiskHistory(mirror.folder, kept, lambda: None, lambda _: None, merge_seconds=0) as git:
        found = git.merged(base, head)
        assert (found.too_slow, found.tree) == (True, "")

    with DiskHistory(mirror.folder, kept, lambda: None, lambda _: None) as git:
        assert git.merged(base, head).too_slow
        assert git.merged(moved, head).too_slow
        assert git.merged(moved, mended).tree == git.commit(mended).tree


@pytest.mark.parametrize(("count", "followed"), [(3, True), (51, False)])
def test_only_a_few_changed_files_are_followed_where_they_went(
    remote: Remote, mirror: DiskMirror, count: int, followed: bool
) -> None:
    """The short-cut leaves a limit of 1,000: a million pairs of files are compared for minutes."""
    texts = ["".join(f"{n} {line}\n" for line in range(30)) for n in range(count)]
    old = _blobs(remote, texts)
    appended = _blobs(remote, [f"{text}end\n" for text in texts])
    begun = _blobs(remote, [f"begin\n{text}" for text in texts])
    root = remote.commit({f"old/{n}": blob for n, blob in enumerate(old)})
    base = remote.commit({f"old/{n}": blob for n, blob in enumerate(appended)}, root)
    head = remote.commit({f"new/file-{n}": blob for n, blob in enumerate(begun)}, root)

    with mirror.open() as git:
        assert (git.merged(base, head).conflicts == ()) is followed


def _blobs(remote: Remote, texts: Iterable[str]) -> list[str]:
    """Store files in one go; gives entries of trees."""
    paths = []
    for number, text in enumerate(texts):
        (path := remote.folder / f"{number}.txt").write_text(text)
        paths.append(path.name)
    return [f"100644 {sha}" for sha in remote.git("hash-object", "-w", *paths).split()]
