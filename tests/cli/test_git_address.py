"""How people name a package in a repository."""

import subprocess
from pathlib import Path

import pytest

from bot.cli.pkg.git_address import github_address, parse, without_credentials
from cadlib.errors import PackageError


@pytest.mark.parametrize(
    ("text", "repo", "directory", "ref"),
    [
        ("https://x.org/y.git", "https://x.org/y", "/", ""),
        ("https://x.org/y.git@v1", "https://x.org/y", "/", "v1"),
        ("https://x.org/y.git/@v1", "https://x.org/y", "/", "v1"),
        ("https://x.org/y.git/a/b@feature/x", "https://x.org/y", "/a/b", "feature/x"),
        ("https://x.org/y.git/a//b/../c/", "https://x.org/y", "/a/c", ""),
        ("git@x.org:o/y.git/a@v1", "git@x.org:o/y", "/a", "v1"),
        ("file:///x/y.git/a@v1/", "file:///x/y", "/a", "v1"),
        ("/x/y/.git/a@v1", "/x/y/", "/a", "v1"),
        ("https://github.com/o/r/a/b@v1", "https://github.com/o/r", "/a/b", "v1"),
        ("https://github.com/o/r@v1", "https://github.com/o/r", "/", "v1"),
        ("https://github.com/o/r/tree/v1/a", "https://github.com/o/r", "/a", "v1"),
        ("https://github.com/o/r.git/a@v1", "https://github.com/o/r", "/a", "v1"),
    ],
)
def test_an_address_has_a_repository_a_folder_and_a_version(
    text: str, repo: str, directory: str, ref: str
) -> None:
    """The short-cut: split at the first "@", where ssh has its user."""
    found = parse(text, lambda _: ["main"])
    assert (found.repo, found.directory, found.ref) == (repo, directory, ref)


def test_a_folder_of_a_repository_on_this_disk_is_an_address(tmp_path: Path) -> None:
    """The short-cut: want ".git" in the middle of a path that has none there."""
    subprocess.run(["git", "init", "--quiet", tmp_path / "r"], check=True)
    (tmp_path / "r/a/b").mkdir(parents=True)
    found = parse(f"{tmp_path}/r/a/b@v1", lambda _: [])
    assert (found.repo, found.directory, found.ref) == (str(tmp_path / "r"), "/a/b", "v1")


@pytest.mark.parametrize("text", ["foo", "https://x.org/y/a@v1", "/not/there"])
def test_what_cannot_be_told_apart_is_refused(text: str) -> None:
    """The short-cut: guess."""
    with pytest.raises(PackageError, match=r"ambiguous repo/dir@version specify '\.git'"):
        parse(text, lambda _: [])


def test_a_branch_with_a_slash_makes_an_address_ambiguous() -> None:
    """The short-cut: take the first part behind "tree" for the branch."""
    text = "https://github.com/owner/repo/tree/main/foo/bar"
    assert (
        github_address(text, lambda _: ["main"]) == "https://github.com/owner/repo.git/foo/bar@main"
    )
    with pytest.raises(PackageError, match="ambiguous"):
        github_address(text, lambda _: ["main", "main/foo"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("https://github.com/owner", "invalid GitHub pkg url"),
        ("github.com/owner", "invalid GitHub url"),
        ("https://foo.com/bar?github.com", "invalid GitHub url"),
    ],
)
def test_what_is_no_repository_at_github_is_refused(text: str, said: str) -> None:
    """The short-cut: ask the forge."""
    with pytest.raises(PackageError, match=said):
        parse(text, lambda _: [])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("https://ann:t@git.example/a.git/p@v1", "https://git.example/a.git/p@v1"),
        ("HTTPS://t@git.example/a.git", "HTTPS://git.example/a.git"),
        ("https://a@b:t@git.example/a.git", "https://git.example/a.git"),
        ("https://git.example/a.git/p@v1", "https://git.example/a.git/p@v1"),
        ("ssh://git@git.example/a.git/p@v1", "ssh://git@git.example/a.git/p@v1"),
        ("ssh://git:t@git.example:22/a.git", "ssh://git@git.example:22/a.git"),
        ("ssh://git.example:22/a.git/p@v1", "ssh://git.example:22/a.git/p@v1"),
        ("git@git.example:a.git/p@v1", "git@git.example:a.git/p@v1"),
        ("/here/a.git/p@v1", "/here/a.git/p@v1"),
    ],
)
def test_an_address_without_its_user_and_password(text: str, left: str) -> None:
    """Short-cuts refused: everything up to an "@", which versions have as well; a user of ssh is
    taken away, without which nobody gets in."""
    assert without_credentials(text) == left
