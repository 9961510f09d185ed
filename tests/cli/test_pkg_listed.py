"""`porchbot pkg get` and `update` warn of versions that the ledger of their upstream lists."""

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli.root import main
from tests.cadlib.upstreams import config_map, kptfile
from tests.cases.git_repos import Made

LEDGER = """\
version: 1
revisions:
  v1: {state: withdrawn, reason: it opens a port}
  v2: {state: deprecated, reason: "use v3\\e[2J."}
  v3: {state: held, reason: rolled back}
"""


@pytest.fixture
def upstream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Revisions 2 to 4 of net/core, and a ledger on main alone: 1 is gone with its tag."""
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "repos").mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("KPT_CACHE_DIR", str(tmp_path / "cache"))
    package = {"net/core/Kptfile": kptfile("core"), "net/core/a.yaml": config_map("a", size="1")}
    commits = [
        {"branch": "main", "tree": package | {"n": str(number)}, "tag": f"net/core/v{number}"}
        for number in (2, 3, 4)
    ]
    ledger = package | {".porchbot/ledger/net/core.yaml": LEDGER}
    commits.append({"branch": "main", "tree": ledger})
    made = Made(tmp_path / "repos", {"up": {"initial_branch": "main", "commits": commits}})
    made.add()
    return made.names["repo:up"]


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["pkg", *arguments])


WARNED = {
    "v2": "warning: net/core@v2 is deprecated: use v3<U+001B>[2J. Use another version.\n",
    "v3": "",
    "v4": "",
    "main": "",
}


@pytest.mark.parametrize(("version", "expected"), WARNED.items(), ids=WARNED)
def test_get_warns_of_a_deprecated_version(upstream: str, version: str, expected: str) -> None:
    """Fails when the ledger of the tag's own commit is read: what came later stands on the branch.

    A reason is another's text: it gives no orders to a terminal.
    """
    done = _run("get", f"{upstream}.git/net/core@{version}")

    assert done.exit_code == 0, done.output
    assert Path("core", "Kptfile").is_file()
    assert (
        "".join(
            line for line in done.stderr.splitlines(keepends=True) if line.startswith("warning")
        )
        == expected
    )


def test_get_says_that_a_version_was_withdrawn_and_why(upstream: str) -> None:
    """Fails when git's own "unknown revision" is all that people get."""
    done = _run("get", f"{upstream}.git/net/core@v1")

    assert done.exit_code == 1
    assert "net/core@v1 was withdrawn: it opens a port. Use another version." in done.stderr
    assert not Path("core").exists()


def test_update_warns_of_what_it_updates_to(upstream: str) -> None:
    assert _run("get", f"{upstream}.git/net/core@v4").exit_code == 0

    done = _run("update", "core@v2")

    assert done.exit_code == 0, done.output
    assert "warning: net/core@v2 is deprecated" in done.stderr
    gone = _run("update", "core@v1")
    assert gone.exit_code == 1
    assert "net/core@v1 was withdrawn: it opens a port" in gone.stderr


def test_a_ledger_that_cannot_be_read_keeps_nobody_from_a_version(upstream: str) -> None:
    """Fails when a broken file of the upstream breaks the command, or goes unsaid."""
    folder = Path("clone")
    subprocess.run(["git", "clone", "--quiet", str(upstream), str(folder)], check=True)
    (folder / ".porchbot/ledger/net/core.yaml").write_text("revisions: no\n")
    for arguments in (
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-am", "broken"],
        ["push", "--quiet"],
    ):
        subprocess.run(["git", "-C", str(folder), *arguments], check=True)

    done = _run("get", f"{upstream}.git/net/core@v4")

    assert done.exit_code == 0
    assert "warning: whether net/core@v4 is deprecated or withdrawn could not be read: " in (
        done.stderr
    )
