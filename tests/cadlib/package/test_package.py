"""Packages in a tree: found by their Kptfile, and refused where they cannot be one."""

import pytest

from cadlib.errors import Place
from cadlib.findings import Finding, Severity
from cadlib.limits import PackageLimits
from cadlib.package.files import Entry, Files, find, owner_of, problems, refused, subpackages

TREE = (
    "README.md",
    "net/core/Kptfile",
    "net/core/db/Kptfile",
    "net/core/db/a.yaml",
    "net/core/db/deep/down/Kptfile",
    "net/core-extra/Kptfile",
    "apps/Kptfile.yaml",
    "apps/notKptfile",
    "x/.git/Kptfile",
)


def test_packages_are_the_folders_with_a_kptfile() -> None:
    """The short-cut is to look for paths that end in "Kptfile"."""
    assert find(TREE) == ("net/core", "net/core-extra", "net/core/db", "net/core/db/deep/down")
    assert find(["Kptfile"]) == ("",)


def test_a_file_belongs_to_the_innermost_package() -> None:
    packages = find(TREE)

    owned = {
        path: owner_of(path, packages)
        for path in (
            "net/core/db/a.yaml",
            "net/core/dbx.yaml",
            "net/core/db/deep/down/x/y",
            "net/core",
            "README.md",
        )
    }

    assert owned == {
        "net/core/db/a.yaml": "net/core/db",
        "net/core/dbx.yaml": "net/core",
        "net/core/db/deep/down/x/y": "net/core/db/deep/down",
        "net/core": "net/core",
        "README.md": None,
    }


def test_subpackages_are_the_direct_ones() -> None:
    packages = ("", "a", "a/b/c", "a/b/c/d", "b", "ab")

    assert subpackages(["a", "b"]) == {"a": (), "b": ()}
    assert subpackages(packages) == {
        "": ("a", "ab", "b"),
        "a": ("a/b/c",),
        "a/b/c": ("a/b/c/d",),
        "a/b/c/d": (),
        "ab": (),
        "b": (),
    }


def test_a_folder_named_like_a_revision_is_refused() -> None:
    assert [str(finding) for finding in refused(["apps/v5", "v1x", "v2/apps", "v07"])] == [
        "apps/v5/Kptfile: a folder named like a revision, 'v5', cannot be a package."
        " Rename the folder: release tags of this form belong to the folder above it.",
        "v07/Kptfile: a folder named like a revision, 'v07', cannot be a package."
        " Rename the folder: release tags of this form belong to the folder above it.",
    ]


def link(target: str) -> Entry:
    """Make a symlink."""
    return Entry(target.encode(), "120000")


def test_following_symlinks_ends() -> None:
    """The short-cut is a limit for each symlink alone: 20,000 long ones take minutes."""
    long = "/".join(["a", ".."] * 800) + "/"
    files = {f"l{n}": link(long + f"l{n + 1}") for n in range(2_000)} | {"a/f": FILE}

    found = {finding.message for finding in problems(files)}

    assert "the symlinks of this package form a loop" in found


FILE = Entry(b"")
LINKS: dict[str, tuple[Files, str]] = {
    "inside": ({"a/l": link("../b/c.yaml")}, ""),
    "to the root itself": ({"a/l": link("..")}, ""),
    "with needless parts": ({"l": link("./a//b/")}, ""),
    "to nothing": ({"l": link("gone")}, ""),
    "above the root": ({"a/l": link("../../x")}, "outside the package, at '../../x'"),
    "absolute": ({"l": link("/etc/passwd")}, "outside the package, at '/etc/passwd'"),
    "out by way of another link": (
        {"a/b/c": link("../.."), "l": link("a/b/c/../x"), "a/b/f": FILE},
        "outside the package, at 'a/b/c/../x'",
    ),
    "a very long target": ({"l": link("x" * 5000)}, "the symlink has more than 4096 bytes"),
    "in a circle": ({"a": link("b"), "b": link("a")}, "the symlink leads back to itself"),
    "out and in again": ({"a/l": link("../../pkg/x")}, "outside the package, at '../../pkg/x'"),
}


@pytest.mark.parametrize(("files", "problem"), LINKS.values(), ids=LINKS)
def test_symlinks(files: Files, problem: str) -> None:
    """The short-cut is to normalise the target, which misses links among its folders."""
    found = [str(finding) for finding in problems(files)]

    if problem:
        assert any(problem in text for text in found)
        assert all(
            "Replace the symlink with the file it should point to." in text for text in found
        )
    else:
        assert found == []


PATHS: dict[str, tuple[str, str]] = {
    "two dots": ("a/../b.yaml", "a/../b.yaml: the path has a part '.' or '..'"),
    "two dots at the start": ("../b.yaml", "../b.yaml: the path has a part '.' or '..'"),
    "absolute": ("/b.yaml", "/b.yaml: the path is absolute"),
    "empty part": ("a//b.yaml", "a//b.yaml: the path has an empty part"),
    "git's own folder": ("a/.GIT/hooks/x", "a/.GIT/hooks/x: the path has a part '.git'"),
    "a line feed": ("a\nb.yaml", "a?b.yaml: the path has a control character"),
    "not UTF-8": ("a\udcff.yaml", "a\\udcff.yaml: the name of the file is not UTF-8"),
    "too long": ("x" * 256, "x: a part of the path is longer than 255 bytes"),
    "too deep": (
        "/".join("x" * 101),
        "...: the path has 101 parts, 201 bytes; more than 100 parts",
    ),
    "too long as a whole": ("/".join(["x" * 250] * 17), "more than 100 parts or 4096 bytes are"),
    "too long in bytes": ("ä" * 128, "ä: a part of the path is longer than 255 bytes"),
}


@pytest.mark.parametrize(("path", "problem"), PATHS.values(), ids=PATHS)
def test_paths(path: str, problem: str) -> None:
    found = problems({"Kptfile": FILE, path: FILE})

    assert [finding.severity for finding in found] == [Severity.ERROR]
    assert problem in str(found[0])
    assert found[0].fix


def test_three_dots_and_two_in_a_name_are_no_way_up() -> None:
    assert problems({"a/.../b": FILE, "a..b/..c": FILE, "x" * 255: FILE}) == ()


def test_too_many_files_is_one_finding() -> None:
    """The short-cut is to look at each file first and say 20,001 things."""
    files = {f"../{number}": FILE for number in range(20_001)}

    assert problems(files) == (
        Finding(
            message="the package holds 20001 files, more than 20000",
            severity=Severity.ERROR,
            place=Place("Kptfile"),
            fix="Split it into smaller packages, or move what is not configuration elsewhere",
        ),
    )
    assert problems({f"{number}": FILE for number in range(20_000)}) == ()


def test_sizes() -> None:
    limits = PackageLimits(file_bytes=2 * 1024 * 1024, package_bytes=4 * 1024 * 1024)
    big = Entry(b"x" * (3 * 1024 * 1024))

    assert [str(finding) for finding in problems({"a.yaml": big, "b.png": FILE}, limits)] == [
        "a.yaml: the file has 3.0 MiB, more than 2.0 MiB. Split it into several files."
    ]
    assert problems({"picture.png": big}, limits) == ()
    assert [str(finding) for finding in problems({"a": big, "b": big}, limits)] == [
        "Kptfile: the files of the package have 6.0 MiB, more than 4.0 MiB."
        " Split it into smaller packages, or move what is not configuration elsewhere."
    ]


def test_a_submodule_is_refused() -> None:
    assert [str(finding) for finding in problems({"lib": Entry(b"", "160000")})] == [
        "lib: this is a submodule: its files are not part of this repository."
        " Copy its files into the package and remove the submodule."
    ]


def test_a_mode_that_git_does_not_have() -> None:
    assert [str(finding) for finding in problems({"a": Entry(b"", "040000")})] == [
        "a: git mode '040000' is not a file, symlink or submodule. Remove it."
    ]


def test_names_that_differ_in_capital_letters_only_are_pointed_out() -> None:
    found = problems({"README.md": FILE, "readme.md": FILE})

    assert [(finding.place.path, finding.severity) for finding in found] == [
        ("readme.md", Severity.WARNING)
    ]


def test_a_file_cannot_be_a_folder() -> None:
    assert [str(finding) for finding in problems({"a": FILE, "a/b": FILE})] == [
        "a/b: 'a' is a file and a folder at once. Rename one of the two."
    ]


def test_a_subpackage_named_like_a_revision() -> None:
    assert [finding.place.path for finding in problems({"Kptfile": FILE, "v5/Kptfile": FILE})] == [
        "v5/Kptfile"
    ]
