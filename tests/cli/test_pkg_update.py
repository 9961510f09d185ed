"""`porchbot pkg get`, `update` and `merge` with real repositories and folders.

Longer than 400 lines: a story for each command, and for each way in which one ends.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bot.cli.disk.folder import read
from bot.cli.root import main
from cadlib.kptfile.reader import read as read_kptfile
from cadlib.package.files import EXECUTABLE, SYMLINK, Entry
from tests.cadlib.upstreams import config_map, kptfile
from tests.cases.git_repos import Made


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of its own, with a cache of its own."""
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "repos").mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("KPT_CACHE_DIR", str(tmp_path / "cache"))


def _repo(tmp_path: Path, *trees: Mapping[str, Any], name: str = "up") -> Made:
    """Make a repository with one commit a tree, tagged v1, v2 and so on."""
    commits = [
        {"branch": "main", "tree": tree, "tag": f"v{number}"}
        for number, tree in enumerate(trees, 1)
    ]
    made = Made(tmp_path / "repos", {name: {"initial_branch": "main", "commits": commits}})
    made.add()
    return made


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["pkg", *arguments])


def _lock(folder: str = "up") -> tuple[str, str]:
    lock = read_kptfile(Path(folder, "Kptfile").read_bytes()).upstream_lock
    assert lock is not None
    return lock.ref, lock.commit


# --- get ---------------------------------------------------------------------------------


def test_get_makes_a_package_that_is_upstreams_file_by_file(tmp_path: Path) -> None:
    """The short-cut: encode the files anew, or leave out what is no plain file."""
    theirs = "# Ours\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: theirs # name\n"
    tree = {
        "pkg/Kptfile": theirs,
        "pkg/a.yaml": config_map("a", x="1 # one"),
        "pkg/link.yaml": {"symlink": "a.yaml"},
        "pkg/out": {"symlink": "../README"},
        "README": "no part of it",
    }
    made = _repo(tmp_path, tree)
    done = _run("get", f"{made.names['repo:up']}.git/pkg@v1")
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    assert "[Warn] Ignoring symlink 'out'" in done.stderr
    assert "Fetched 1 package(s)." in done.stderr
    files = read(Path("pkg"))
    assert files.keys() == {"Kptfile", "a.yaml", "link.yaml"}
    assert files["a.yaml"].data.decode() == tree["pkg/a.yaml"]
    assert files["link.yaml"] == Entry(b"a.yaml", SYMLINK)
    assert files["Kptfile"].data.decode().replace('"', "") == (
        "# Ours\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg # name\n"
        f"upstream:\n  type: git\n  git:\n    repo: {made.names['repo:up']}\n    directory: /pkg\n"
        "    ref: v1\n  updateStrategy: resource-merge\n"
        f"upstreamLock:\n  type: git\n  git:\n    repo: {made.names['repo:up']}\n"
        "    directory: /pkg\n    ref: v1\n"
        f"    commit: {made.names['commit:up:0']}\n"
    )


def test_get_writes_no_password_of_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: the address as it was written goes into the Kptfile, into an error or a
    message; it is cleaned there, and git asks with it all the same, so that it works today only."""
    made = _repo(tmp_path, {"pkg/a.yaml": config_map("a", x="1")})
    home = tmp_path / "home"
    home.mkdir()
    here = f'[url "{made.names["repo:up"]}"]\n\tinsteadOf = https://git.example/acme/up\n'
    (home / ".gitconfig").write_text(here)
    monkeypatch.setenv("HOME", str(home))
    for number, user in enumerate(("ann:S3CRET", "S3CRET", "a@b:S3CRET", ":S3CRET")):
        done = _run("get", f"https://{user}@git.example/acme/up.git/pkg@v1", f"new{number}")
        assert done.exit_code == 0, done.output
        assert "[Warn] The user or password in the address is not used" in done.stderr
        kptfile = Path(f"new{number}", "Kptfile").read_text()
        assert kptfile.count("repo: https://git.example/acme/up\n") == 2
        assert "S3CRET" not in kptfile + done.output
    done = _run("get", "https://S3CRET@github.com/acme", "new")
    assert done.exit_code == 1
    assert "S3CRET" not in done.output


def test_get_prefers_the_tag_of_the_package_and_names_the_commit(tmp_path: Path) -> None:
    """The short-cut: take the tag as it is written, and the id that the tag has."""
    made = _repo(tmp_path, {"a/b/x.txt": "1"}, {"a/b/x.txt": "2"}, {"a/b/x.txt": "3"})
    repo = made.names["repo:up"]
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=n@example.com", "tag", "-a", "-m", "x",
         "a/v1", made.names["commit:up:2"]],
        cwd=repo, check=True,
    )  # fmt: skip
    done = _run("get", f"{repo}.git/a/b@v1", "new")
    assert done.exit_code == 0, done.output
    assert Path("new/x.txt").read_text() == "3"
    assert _lock("new") == ("a/v1", made.names["commit:up:2"])
    # A lock as kpt writes it, with the id of the tag, is understood.
    tag = subprocess.run(
        ["git", "rev-parse", "a/v1"], cwd=repo, check=True, capture_output=True, text=True
    ).stdout.strip()
    kptfile_path = Path("new/Kptfile")
    kptfile_path.write_text(kptfile_path.read_text().replace(made.names["commit:up:2"], tag))
    assert _run("update", "new").exit_code == 0
    assert _lock("new") == ("a/v1", made.names["commit:up:2"])


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("REPO.git/pkg@nope", 'Unknown ref "nope"'),
        ("REPO.git/nope@v1", 'path "/nope" does not exist in repo'),
        ("REPO.git/pkg@-x", "must not begin with '-'"),
        ("REPO-not-there.git/pkg@v1", "does not appear to be a git repository"),
        ("somewhere", "ambiguous repo/dir@version specify '.git' in argument"),
    ],
)
def test_get_that_fails_leaves_nothing(tmp_path: Path, address: str, said: str) -> None:
    """The short-cut: make the folder first, and leave it."""
    made = _repo(tmp_path, {"pkg/a.yaml": config_map("a", x="1")})
    done = _run("get", address.replace("REPO", made.names["repo:up"]), "new")
    assert done.exit_code == 1
    assert said in done.stderr
    assert list(Path().iterdir()) == []


def test_get_does_not_touch_a_folder_with_something_in_it(tmp_path: Path) -> None:
    """The short-cut: copy over what is there."""
    made = _repo(tmp_path, {"pkg/a.yaml": config_map("a", x="1")})
    Path("pkg").mkdir()
    Path("pkg/mine").write_text("mine")
    done = _run("get", f"{made.names['repo:up']}.git/pkg@v1")
    assert done.exit_code == 1
    assert 'destination directory "pkg" already exists' in done.stderr
    assert [path.name for path in Path("pkg").iterdir()] == ["mine"]


def test_get_for_deployment_writes_the_context(tmp_path: Path) -> None:
    """The short-cut: take the flag and do nothing."""
    made = _repo(tmp_path, {"pkg/Kptfile": kptfile("theirs")})
    done = _run("get", f"{made.names['repo:up']}.git/pkg", "mine", "--for-deployment")
    assert done.exit_code == 0, done.output
    assert "name: mine" in Path("mine/package-context.yaml").read_text()
    assert _lock("mine")[0] == "main"


# --- update ------------------------------------------------------------------------------


def test_update_merges_and_reports_conflicts(tmp_path: Path) -> None:
    """The short-cut: report that something was merged, without what and where."""
    made = _repo(
        tmp_path,
        {"a.yaml": config_map("a", x="1", y="1")},
        {"a.yaml": config_map("a", x="2", y="2")},
    )
    _run("get", f"{made.names['repo:up']}.git@v1")
    Path("up/a.yaml").write_text(config_map("a", x="mine", y="1"))
    done = _run("update", "up@v2", "--conflicts", "found.json")
    assert done.exit_code == 0, done.output
    assert "Updated 1 package(s)." in done.stderr
    assert "a.yaml:6: v1/ConfigMap/a: data.x" in done.stderr
    assert Path("up/a.yaml").read_text() == config_map("a", x="2", y="2")
    (conflict,) = json.loads(Path("found.json").read_text())
    assert conflict["file"] == "a.yaml"
    assert conflict["line"] == 6
    assert conflict["field"] == "data.x"
    assert [conflict[side] for side in ("base", "ours", "theirs")] == [1, "mine", 2]
    assert conflict["chosen"] == "upstream"


def test_update_that_shall_fail_on_conflicts_changes_nothing(tmp_path: Path) -> None:
    """The short-cut: fail after writing."""
    made = _repo(tmp_path, {"a.txt": "1", "b.txt": "1"}, {"a.txt": "2", "b.txt": "2"})
    _run("get", f"{made.names['repo:up']}.git@v1")
    Path("up/a.txt").write_text("mine")
    before = read(Path("up"))
    done = _run("update", "up@v2", "--on-conflict", "fail", "--conflicts", "found.json")
    assert done.exit_code == 1
    assert "1 conflict(s), as --on-conflict upstream would end them:\n  a.txt: " in done.stderr
    assert "Updated" not in done.stderr
    assert read(Path("up")) == before
    assert len(json.loads(Path("found.json").read_text())) == 1


@pytest.mark.parametrize("ref", ["nope", "-x"])
def test_update_that_fails_does_not_touch_the_kptfile(tmp_path: Path, ref: str) -> None:
    """The short-cut: write the new ref first, as kpt does."""
    made = _repo(tmp_path, {"a.txt": "1"})
    _run("get", f"{made.names['repo:up']}.git@v1")
    before = read(Path("up"))
    done = _run("update", f"up@{ref}")
    assert done.exit_code == 1
    assert read(Path("up")) == before


def test_update_from_a_commit_that_is_gone_goes_on_by_the_strategy_that_is_named(
    tmp_path: Path,
) -> None:
    """Short-cut refused: kpt's, which asks for the commit whatever the strategy."""
    tree = {"pkg/Kptfile": kptfile("pkg"), "pkg/a.yaml": config_map("a", x="1")}
    made = _repo(tmp_path, tree)
    assert _run("get", f"{made.names['repo:up']}.git/pkg@v1", "mine").exit_code == 0
    path = Path("mine/Kptfile")
    path.write_text(re.sub("commit: .*", f"commit: {'1' * 40}", path.read_text()))
    Path("mine/own.yaml").write_text(config_map("own", y="1"))

    refused = _run("update", "mine@v1")
    assert refused.exit_code == 1
    assert "--strategy copy-merge" in refused.stderr
    assert _lock("mine")[1] == "1" * 40

    done = _run("update", "mine@v1", "--strategy", "copy-merge")
    assert done.exit_code == 0, done.output
    assert _lock("mine")[1] != "1" * 40
    assert Path("mine/own.yaml").exists()


def test_update_says_what_kpt_says_where_there_is_no_package() -> None:
    """The short-cut: a traceback."""
    assert "no such file or directory" in _run("update", "nowhere").stderr
    assert "No Kptfile found at" in _run("update").stderr
    assert "at most 1 version permitted" in _run("update", "a@b@c").stderr
    refused = _run("update", "--strategy", "foo").stderr
    assert refused.startswith("error: unrecognized update strategy foo. Must be one of: resource-")


def test_update_keeps_executables_and_links_and_updates_gitignore(tmp_path: Path) -> None:
    """The short-cut: write every file as a plain one, and pass over paths with ".git"."""
    old = {".gitignore": "a", "run.sh": "1", "a.yaml": config_map("a", x="1")}
    made = _repo(tmp_path, old, {**old, ".gitignore": "b", "run.sh": "2"})
    _run("get", f"{made.names['repo:up']}.git@v1")
    Path("up/run.sh").chmod(0o755)
    Path("up/mine").symlink_to("a.yaml")
    assert _run("update", "up@v2").exit_code == 0
    files = read(Path("up"))
    assert files[".gitignore"].data == b"b"
    assert files["run.sh"] == Entry(b"2", EXECUTABLE)
    assert files["mine"] == Entry(b"a.yaml", SYMLINK)


@pytest.mark.parametrize("inside", [False, True])
def test_a_file_for_its_owner_alone_stays_so(tmp_path: Path, inside: bool) -> None:
    """The short-cut: a new file with the usual mode."""
    made = _repo(tmp_path, {"a.yaml": config_map("a", x="1")}, {"a.yaml": config_map("a", x="2")})
    _run("get", f"{made.names['repo:up']}.git@v1")
    Path("up/a.yaml").chmod(0o600)
    if inside:
        os.chdir("up")
    assert _run("update", "@v2" if inside else "up@v2").exit_code == 0
    file = Path("a.yaml" if inside else "up/a.yaml")
    assert file.read_text() == config_map("a", x="2")
    assert file.stat().st_mode & 0o777 == 0o600


def test_update_from_a_repository_that_must_be_fetched(tmp_path: Path) -> None:
    """The short-cut: read repositories on this disk only."""
    made = _repo(tmp_path, {"a.txt": "1"}, {"a.txt": "2"})
    address = f"file://localhost{made.names['repo:up']}.git"
    done = _run("get", f"{address}@v1", "new")
    assert done.exit_code == 0, done.output
    assert _run("update", "new@v2").exit_code == 0
    assert Path("new/a.txt").read_text() == "2"
    assert list((tmp_path / "cache").rglob("*.git"))
    Path(made.names["repo:up"]).rename(tmp_path / "gone")
    done = _run("update", "new@v1")
    assert done.exit_code == 1
    assert "Failed to execute git command" in done.stderr
    assert done.stderr.endswith("exists. Check the address and whether you may read it.\n")


def test_an_update_that_is_killed_leaves_the_package_old_or_new(tmp_path: Path) -> None:
    """The short-cut: write one file after the other into the package."""
    old = {f"d{n}/f.txt": "1" for n in range(40)}
    made = _repo(tmp_path, old, dict.fromkeys(old, "2"))
    _run("get", f"{made.names['repo:up']}.git@v1")
    before = read(Path("up"))
    with _killed() as killed_after:
        for writes in (0, 1, 20, 41):
            killed_after(writes)
            assert read(Path("up")) == before
    assert _run("update", "up@v2").exit_code == 0
    assert {entry.data for path, entry in read(Path("up")).items() if path != "Kptfile"} == {b"2"}
    assert [path.name for path in Path().iterdir()] == ["up"]


def test_an_update_killed_in_the_current_folder_is_finished_by_the_next(tmp_path: Path) -> None:
    """The short-cut: note the new version before everything of it is there."""
    old = {f"d{n}/a.yaml": config_map("a", x="1", y="1") for n in range(40)} | {"gone.txt": "1"}
    new = {path: config_map("a", x="2", y="1") for path in old if path != "gone.txt"}
    made = _repo(tmp_path, old, new)
    _run("get", f"{made.names['repo:up']}.git@v1")
    Path("up/d7/a.yaml").write_text(config_map("a", x="1", y="mine"))
    os.chdir("up")
    before = read(Path())
    with _killed("@v2") as killed_after:
        killed_after(20)
    assert read(Path())["Kptfile"] == before["Kptfile"]
    assert read(Path()) != before
    assert _run("update", "@v2").exit_code == 0
    files = read(Path())
    assert files.keys() == {"Kptfile", *new}
    assert files["d7/a.yaml"].data.decode() == config_map("a", x="2", y="mine")
    assert files["d8/a.yaml"].data.decode() == config_map("a", x="2", y="1")
    assert _lock(".")[0] == "v2"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_package_stays_as_it_is(tmp_path: Path) -> None:
    """The short-cut: fail, and leave a copy beside it that is as hard to remove."""
    made = _repo(tmp_path, {"d/a.txt": "1"}, {"d/a.txt": "2"})
    _run("get", f"{made.names['repo:up']}.git@v1")
    before = read(Path("up"))
    Path("up/d").chmod(0o555)
    done = _run("update", "up@v2")
    Path("up/d").chmod(0o755)
    assert done.exit_code == 1
    assert read(Path("up")) == before
    assert [path.name for path in Path().iterdir()] == ["up"]


@contextmanager
def _killed(package: str = "up@v2") -> Iterator[Callable[[int], None]]:
    """Runs the update in processes that are killed when they have put so many files in place.

    They are forked from one that has imported what takes longest.
    """
    code = f"""
import os, signal, sys
import bot.cli.disk.swap, bot.cli.pkg.update
from bot.cli.root import main
from bot.cli.disk import folder
replace = folder._replace
def counted(*file):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    replace(*file)
folder._replace = counted
for line in sys.stdin:
    left = int(line)
    pid = os.fork()
    if pid == 0:
        if left > 40:
            bot.cli.disk.swap._rename = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)
        main(["pkg", "update", "{package}"])
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def killed_after(writes: int) -> None:
            assert process.stdin is not None
            assert process.stdout is not None
            print(writes, file=process.stdin, flush=True)
            assert process.stdout.readline() == f"{-signal.SIGKILL}\n"

        yield killed_after


def test_an_update_in_the_current_folder_leaves_one_standing_in_it(tmp_path: Path) -> None:
    """The short-cut: put another folder in the place of the one somebody stands in."""
    made = _repo(tmp_path, {"a.txt": "1"}, {"a.txt": "2"})
    _run("get", f"{made.names['repo:up']}.git@v1")
    os.chdir("up")
    here = Path.cwd().stat().st_ino
    assert _run("update", "@v2").exit_code == 0
    assert Path("a.txt").read_text() == "2"
    assert Path().stat().st_ino == Path.cwd().stat().st_ino == here


# --- merge -------------------------------------------------------------------------------


def test_merge_makes_one_folder_of_three() -> None:
    """The short-cut: need a repository, or a lock."""
    for side, value in (("old", "1"), ("new", "2")):
        Path(side).mkdir()
        Path(side, "a.yaml").write_text(config_map("a", x=value, y="1"))
    Path("mine").mkdir()
    Path("mine/a.yaml").write_text(config_map("a", x="1", y="mine # why"))
    sides = ("--original", "old", "--updated", "new", "--local", "mine")
    done = _run("merge", *sides, "--output", "out")
    assert done.exit_code == 0, done.output
    assert Path("out/a.yaml").read_text() == config_map("a", x="2", y="mine # why")
    assert Path("mine/a.yaml").read_text() == config_map("a", x="1", y="mine # why")
    refused = _run("merge", *sides, "--output", "old")
    assert refused.exit_code == 1
    assert "holds files already" in refused.stderr
    assert _run("merge", *sides, "--output", "mine").exit_code == 0
    assert Path("mine/a.yaml").read_text() == Path("out/a.yaml").read_text()


def test_merge_takes_a_folder_that_is_not_there_as_empty() -> None:
    """The short-cut: an error, though git keeps no empty folders."""
    Path("mine").mkdir()
    Path("mine/a.txt").write_text("mine")
    sides = ("--original", "no", "--updated", "nothing", "--local", "mine")
    assert _run("merge", *sides, "--output", "out").exit_code == 0
    assert Path("out/a.txt").read_text() == "mine"


def test_help_names_every_strategy() -> None:
    """The short-cut: a help that says nothing of its values."""
    for command in ("get", "update", "merge"):
        text = re.sub(r"\s+", "", _run(command, "--help").stdout)
        assert "resource-merge,fast-forward,force-delete-replace,copy-merge" in text
