"""A few updates beside the `kpt` binary; `-m tests.differential --kind hard` runs more."""

from pathlib import Path
from random import Random

import pytest

from cadlib.kptfile.reader import read as read_kptfile
from tests.cases.git_repos import Made
from tests.differential import hard, published
from tests.differential.tools import KPT, kpt, porchbot

pytestmark = pytest.mark.skipif(KPT is None, reason="the kpt binary is not installed")


@pytest.mark.skipif(not published.BUNDLE.exists(), reason="the published packages are not here")
def test_published_packages_are_updated_as_by_kpt(tmp_path: Path) -> None:
    """The short-cut is tried on packages that were made for the test alone."""
    assert published.published(Random(3), tmp_path) == ""


@pytest.mark.parametrize(
    ("name", "strategy"),
    [
        ("a subpackage moves that is changed here", "resource-merge"),
        ("another file is changed on both sides", "resource-merge"),
        ("a function gets another version", "fast-forward"),
    ],
)
def test_hard_cases_are_updated_as_by_kpt(name: str, strategy: str, tmp_path: Path) -> None:
    """Short-cuts refused: kpt's own cases alone; a deviation that nobody has written down."""
    assert hard.updated(name, strategy, tmp_path) == ""


def test_of_both_kpt_alone_writes_the_password_of_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut: the deviation is taken from kpt's documentation, and nobody has run it."""
    commits = [{"branch": "main", "tree": {"pkg/a.txt": "1"}, "tag": "v1"}]
    (tmp_path / "repos").mkdir()
    made = Made(tmp_path / "repos", {"up": {"initial_branch": "main", "commits": commits}})
    made.add()
    bare = "https://git.example/acme/up"
    address = bare.replace("//", "//ann:S3CRET@")
    (tmp_path / ".gitconfig").write_text(
        f'[url "{made.names["repo:up"]}"]\n\tinsteadOf = {address}\n\tinsteadOf = {bare}\n'
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, tool, written in (("theirs", kpt, address), ("ours", porchbot, bare)):
        done = tool(tmp_path, "pkg", "get", f"{address}.git/pkg@v1", name)
        assert done.code == 0, done.err
        kptfile = read_kptfile((tmp_path / name / "Kptfile").read_bytes())
        assert kptfile.upstream is not None
        assert kptfile.upstream_lock is not None
        assert [kptfile.upstream.repo, kptfile.upstream_lock.repo] == [written] * 2
