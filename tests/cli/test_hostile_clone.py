"""A clone of somebody's repository in which a folder looks like a repository itself."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli.root import main
from bot.git.process import users_environment
from tests.cli.test_check import check, git

KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: evil}\n"


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the program writes that a folder of a clone names; the clone is the current folder."""
    ran, theirs, clone = tmp_path / "ran", tmp_path / "theirs", tmp_path / "clone"
    evil = theirs / "net/evil"
    evil.mkdir(parents=True)
    for each in (theirs, evil):
        git(each, "init", "--quiet", "--initial-branch=main", *(["--bare"] if each == evil else []))
    (evil / "Kptfile").write_text(KPTFILE)
    git(evil, "--work-tree=.", "add", "Kptfile")
    git(evil, "--work-tree=.", "commit", "--quiet", "--message", "x")
    program = f'fsmonitor = "echo >> {ran}; false"'
    kind = "repositoryformatversion = 0\nbare = false\nworktree = ."
    (evil / "config").write_text(f"[core]\n{kind}\n{program}\n")
    git(theirs, "add", "--all")
    git(theirs, "commit", "--quiet", "--message", "x")
    git(tmp_path, "clone", "--quiet", str(theirs), str(clone))
    assert (clone / "net/evil/config").exists()
    monkeypatch.chdir(clone)
    return ran


@pytest.mark.parametrize("inside", [False, True])
def test_a_folder_that_looks_like_a_repository_runs_nothing(
    ran: Path, monkeypatch: pytest.MonkeyPatch, inside: bool
) -> None:
    """The short-cut runs git there, which reads its configuration: a program of whoever wrote the
    package runs as whoever checks it."""
    if inside:
        monkeypatch.chdir("net/evil")
    folder = "." if inside else "net/evil"

    result = check(folder)

    assert result.stderr.startswith(f"error: {folder} is in a bare repository. Name a folder")
    assert CliRunner().invoke(main, ["rpkg", "get", "--repo", folder]).exit_code == 1
    assert not ran.exists()


@pytest.mark.parametrize("command", ["update", "diff"])
def test_an_upstream_inside_a_clone_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """The short-cut reads such a repository as any other: what is missing in it git fetches with
    the program that its configuration names."""
    ran, upstream, package = tmp_path / "ran", tmp_path / "up", tmp_path / "pkg"
    upstream.mkdir()
    git(upstream, "init", "--quiet", "--initial-branch=main", "--bare")
    (upstream / "Kptfile").write_text(KPTFILE)
    git(upstream, "--work-tree=.", "add", "Kptfile")
    git(upstream, "--work-tree=.", "commit", "--quiet", "--message", "x")
    blob = git(upstream, "rev-parse", "main:Kptfile")
    (upstream / "objects" / blob[:2] / blob[2:]).unlink()
    program = f'url = {tmp_path}\npromisor = true\nuploadpack = "echo >> {ran}; false"'
    (upstream / "config").write_text(
        "[core]\nrepositoryformatversion = 1\nbare = true\n"
        f'[extensions]\npartialClone = origin\n[remote "origin"]\n{program}\n'
    )
    package.mkdir()
    source = "type: git, git: {repo: up, directory: /, ref: main}"
    lock = source.replace("ref: main", f"ref: main, commit: {git(upstream, 'rev-parse', 'main')}")
    (package / "Kptfile").write_text(f"{KPTFILE}upstream: {{{source}}}\nupstreamLock: {{{lock}}}\n")
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(main, ["pkg", command, "pkg"])

    assert f"{blob} is missing" in result.stderr
    assert not ran.exists()


def test_what_the_user_configures_for_one_command_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut takes the place of the first of them."""
    given = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    found = users_environment()
    assert found["GIT_CONFIG_COUNT"] == "2"
    assert (found["GIT_CONFIG_KEY_0"], found["GIT_CONFIG_VALUE_0"]) == ("a.b", "c")
    assert found["GIT_CONFIG_KEY_1"] == "safe.bareRepository"
