"""Which files `.krmignore` excludes."""

from collections.abc import Callable, Generator, Mapping
from typing import TypeVar

import pytest

from cadlib.kptfile.reader import GitRef, PipelineFunction
from cadlib.limits import DEFAULT
from cadlib.package import tree as pkgtree
from cadlib.package.files import SYMLINK, Entry, Files
from cadlib.package.ignore import Ignored, find
from cadlib.package.source import ParsedPackage
from cadlib.render.evaluate import Evaluated, evaluate
from cadlib.render.pipeline import CallOutcome, FunctionCall, Rendered, render
from cadlib.stream import cat as pkgcat
from cadlib.update.get import get
from cadlib.update.packages import update
from cadlib.update.upstream import Fetched, ProgressMessage, Step

S = TypeVar("S")
A = TypeVar("A")
R = TypeVar("R")


def _ignored(**patterns: str) -> Ignored:
    files = {"Kptfile": Entry(b""), "sub/Kptfile": Entry(b""), "sub/deep/Kptfile": Entry(b"")}
    for folder, text in patterns.items():
        path = ".krmignore" if folder == "root" else f"{folder.replace('_', '/')}/.krmignore"
        files[path] = Entry(text.encode())
    return Ignored(files)


def test_only_the_nearest_file_counts() -> None:
    """The short-cut: collecting the rules of all folders above, as git does."""
    ignored = _ignored(root="*.yaml\n", sub="b.yaml\n")
    assert "a.yaml" in ignored
    assert "x/a.yaml" in ignored
    assert "sub/a.yaml" not in ignored
    assert "sub/b.yaml" in ignored
    assert "sub/deep/b.yaml" not in ignored


def test_one_in_a_folder_that_is_no_package_counts_for_nothing() -> None:
    assert "x/a.yaml" not in _ignored(x="*.yaml\n")


def test_a_kptfile_is_never_excluded() -> None:
    assert "Kptfile" not in _ignored(root="*\n")


def test_an_excluded_folder_is_left_out_with_the_packages_in_it() -> None:
    """The short-cut: asking only the package that the file belongs to."""
    for pattern in ("sub", "sub/", "/sub", "s*", "[s]ub", "sub\n!sub/deep", "sub\n!sub/Kptfile"):
        ignored = _ignored(root=f"{pattern}\n", sub="!*\n")
        assert ignored.packages == {""}, pattern
        assert "sub/a.yaml" in ignored
        assert "sub/Kptfile" in ignored
        assert "sub/deep/a.yaml" in ignored
    kept = _ignored(root="sub/*.yaml\nsub/deep\n!sub\n")
    assert kept.packages == {"", "sub", "sub/deep"}
    assert "sub/a.yaml" not in kept


def test_a_folder_between_two_packages_is_excluded_too() -> None:
    """The short-cut: matching the folder of the subpackage alone, not those on the way to it."""
    files = {"Kptfile": Entry(b""), "a/b/c/Kptfile": Entry(b""), ".krmignore": Entry(b"b\n!c\n")}
    assert find(files) == ("",)
    assert "a/b/c/x.yaml" in Ignored(files)


def test_patterns_are_those_of_git() -> None:
    ignored = _ignored(root="# none\nout/\n!out\n/top.yaml\nx/**/y.yaml\n")
    assert "out/a.yaml" not in ignored
    assert "top.yaml" in ignored
    assert "in/top.yaml" not in ignored
    assert "x/1/2/y.yaml" in ignored


def test_only_a_newline_ends_a_pattern() -> None:
    """The short-cut: Python's idea of a line, by which what git reads as a comment excludes all."""
    for end in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029":
        assert "a.yaml" not in _ignored(root=f"# a comment{end}*\n")
    assert "a.yaml" in _ignored(root="# a comment\r\n*.yaml\r\n")


def test_what_cannot_be_read_is_said_and_excludes_nothing() -> None:
    files = {"Kptfile": Entry(b""), ".krmignore": Entry(b"\xff")}
    ignored = Ignored(files)
    assert [finding.place.path for finding in ignored.findings] == [".krmignore"]
    assert "a.yaml" not in ignored
    assert "a" not in Ignored({".krmignore": Entry(b"a", SYMLINK)}, plain=True)


def test_brackets_in_brackets_are_brackets() -> None:
    """The short-cut: let through what Python's regular expressions warn of."""
    ignored = _ignored(root="[[]a.yaml\n")
    assert "[a.yaml" in ignored
    assert "a.yaml" not in ignored


def test_a_range_that_goes_backwards_is_told_at_its_file() -> None:
    """The short-cut: expect of a pattern that it is bytes or an error of values."""
    (finding,) = _ignored(root="[z-a]\n").findings
    assert "bad character range" in finding.message
    assert finding.place is not None
    assert finding.place.path == ".krmignore"


KPTFILE = b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\n"
CONFIG = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n"
ELSEWHERE = KPTFILE + b"upstream:\n  type: git\n  git: {repo: r, directory: d, ref: v1}\n"
PACKAGE: Files = {
    "Kptfile": Entry(KPTFILE),
    ".krmignore": Entry(b"out\n"),
    "a.yaml": Entry(CONFIG % b"seen"),
    "out/Kptfile": Entry(b"broken: {{ kptfile\n"),
    "out/b.yaml": Entry(CONFIG % b"hidden"),
    "out/v5/Kptfile": Entry(ELSEWHERE),  # a name that no package may have, and never fetched
    "out/v5/c.yaml": Entry(CONFIG % b"hidden"),
}
FUNCTION = PipelineFunction(image="no-op")


def _ended(steps: Generator[S, A, R], answer: Callable[[S], A]) -> R:
    """Drive a generator to its end, and return what it returns."""
    try:
        step = next(steps)
        while True:
            step = steps.send(answer(step))
    except StopIteration as end:
        result: R = end.value
        return result


def _called(steps: Generator[FunctionCall, CallOutcome, Rendered | Evaluated]) -> str:
    """Return what functions are given, and what is found."""
    seen: list[str] = []

    def call(step: FunctionCall) -> CallOutcome:
        seen.append(step.resources.decode())
        return CallOutcome(resources=step.resources)

    ended = _ended(steps, call)
    assert not ended.failed
    return "".join([*seen, *map(str, ended.findings)])


def _got(files: Files) -> int:
    steps = get(GitRef(repo="https://example.com/r", directory="/", ref="v1"), name="pkg")
    came = Fetched(files, "c" * 40, "v1")
    got = _ended(steps, lambda step: None if isinstance(step, ProgressMessage) else came)
    assert got.files.keys() >= files.keys()
    return got.packages


def _updated(files: Files) -> int:
    upstream = b"upstream:\n  type: git\n  git: {repo: r, directory: /, ref: v1}\n"
    lock = upstream.replace(b"upstream", b"upstreamLock").replace(b"v1", b"v1, commit: c")
    local = {**files, "Kptfile": Entry(KPTFILE + upstream + lock)}
    newer = {**files, "out/b.yaml": Entry(CONFIG % b"newer")}

    def fetch(step: Step) -> Fetched | None:
        if isinstance(step, ProgressMessage):
            return None
        return Fetched(files if step.ref == "c" else newer, "c" * 40, "v2")

    updated = _ended(update(local, name="pkg", ref="v2"), fetch)
    assert updated.changes["out/b.yaml"] == newer["out/b.yaml"]
    assert not updated.conflicts
    return updated.packages


READERS: Mapping[str, Callable[[Files], str]] = {
    "render": lambda files: _called(render(files, mutators=[FUNCTION])),
    "eval": lambda files: _called(evaluate(files, FUNCTION, None)),
    "source": lambda files: "".join(
        each.data.decode() for each in ParsedPackage(files, DEFAULT, plain=True).streams.values()
    ),
    "tree": lambda files: pkgtree.shown(files, "pkg")[0],
    "cat": lambda files: pkgcat.shown(files, pkgcat.CatOptions())[0].decode(),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_no_reader_sees_an_excluded_folder(reader: Callable[[Files], str]) -> None:
    """The short-cut: leaving out its files, and stumbling over its packages or listing them."""
    shown = reader(PACKAGE)
    assert "seen" in shown
    assert "hidden" not in shown
    assert "out" not in shown


@pytest.mark.parametrize("way", [_got, _updated])
def test_packages_in_an_excluded_folder_are_files_to_get_and_update(
    way: Callable[[Files], int],
) -> None:
    """The short-cut: fetching what they name, and failing at a Kptfile that nobody reads."""
    assert way(PACKAGE) == 1
