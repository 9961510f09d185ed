"""Packages read from git repositories: which version, which files, and what is refused."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bot.cli.disk.git_source import RemoteRepositories, cache_folder, local_repository
from bot.upstream.bounded import written
from cadlib.errors import PackageError
from cadlib.limits import PackageLimits
from cadlib.package.files import EXECUTABLE, SYMLINK, Entry
from cadlib.update.upstream import Fetch
from tests.cases.git_repos import Made


def _git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=n", "-c", "user.email=n@example.com")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with a branch, tags of two packages, and files of all kinds."""
    where = tmp_path / "repo"
    _git(tmp_path, "init", "--quiet", "--initial-branch=trunk", "repo")
    (where / "a/b").mkdir(parents=True)
    (where / "a/b/run.sh").write_text("1")
    (where / "a/b/run.sh").chmod(0o755)
    (where / "a/b/link").symlink_to("run.sh")
    _git(where, "add", ".")
    _git(where, "commit", "--quiet", "-m", "one")
    _git(where, "tag", "v1")
    (where / "a/b/run.sh").write_text("2")
    _git(where, "commit", "--quiet", "-am", "two")
    _git(where, "tag", "-a", "-m", "x", "a/v1")
    (where / "a/b/run.sh").write_text("3")
    _git(where, "commit", "--quiet", "-am", "three")
    return where


@pytest.fixture(params=["here", "fetched"])
def address(request: pytest.FixtureRequest, repo: Path) -> str:
    """The address of the repository: read where it is, and through the cache."""
    return str(repo) if request.param == "here" else f"file://localhost{repo}"


def _file(tmp_path: Path, address: str, directory: str, ref: str) -> tuple[str, str]:
    with RemoteRepositories(tmp_path / "cache") as repositories:
        found = repositories.fetch(Fetch(address, directory, ref))
    return found.ref, next(e.data.decode() for p, e in found.files.items() if p.endswith(".sh"))


def test_tags_of_the_package_come_first(tmp_path: Path, address: str) -> None:
    """The short-cut: ask git for the ref as it is written."""
    assert _file(tmp_path, address, "/a/b", "v1") == ("a/v1", "2")
    assert _file(tmp_path, address, "a", "v1") == ("a/v1", "2")
    assert _file(tmp_path, address, "/", "v1") == ("v1", "1")
    assert _file(tmp_path, address, "/", "a/v1") == ("a/v1", "2")
    assert _file(tmp_path, address, "/a/b", "refs/tags/v1") == ("refs/tags/v1", "1")
    assert _file(tmp_path, address, "/a/b", "trunk") == ("trunk", "3")
    assert _file(tmp_path, address, "/a/b", "HEAD") == ("HEAD", "3")


def test_a_tag_counts_as_its_commit_and_commits_may_be_short(
    tmp_path: Path, address: str, repo: Path
) -> None:
    """The short-cut: write down the id that the tag has."""
    commit, tag = _git(repo, "rev-parse", "a/v1^{commit}"), _git(repo, "rev-parse", "a/v1")
    assert commit != tag
    for ref in ("v1", commit, commit[:9], tag):
        with RemoteRepositories(tmp_path / "cache") as repositories:
            assert repositories.fetch(Fetch(address, "/a", ref)).commit == commit


def test_files_keep_their_kind(tmp_path: Path, address: str) -> None:
    """The short-cut: everything is a plain file."""
    with RemoteRepositories(tmp_path / "cache") as repositories:
        files = repositories.fetch(Fetch(address, "/a/b", "trunk")).files
    assert files == {"link": Entry(b"run.sh", SYMLINK), "run.sh": Entry(b"3", EXECUTABLE)}


@pytest.mark.parametrize(
    ("directory", "ref", "said"),
    [
        ("/", "nope", "unknown revision or path not in the working tree"),
        ("/", "v1\nHEAD", "unknown revision"),
        ("/", "v1^{tree}", "unknown revision"),
        ("/", "trunk~1", "unknown revision"),
        ("/", "deadbeef", "unknown revision"),
        ("/", "--upload-pack=x", "must not begin with '-'"),
        ("/nope", "trunk", 'path "/nope" does not exist'),
        ("/a/b/run.sh", "trunk", "does not exist"),
    ],
)
def test_what_is_not_there_is_refused(
    tmp_path: Path, address: str, directory: str, ref: str, said: str
) -> None:
    """The short-cut: hand the text to git."""
    with (
        RemoteRepositories(tmp_path / "cache") as repositories,
        pytest.raises(PackageError, match=said.replace("(", r"\(")),
    ):
        repositories.fetch(Fetch(address, directory, ref))


@pytest.mark.parametrize("repo_name", ["--upload-pack=touch x", "ext::touch x", "/not/there"])
def test_what_is_no_repository_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repo_name: str
) -> None:
    """The short-cut: let a Kptfile name a program to run."""
    monkeypatch.chdir(tmp_path)
    with RemoteRepositories(tmp_path / "cache") as repositories, pytest.raises(PackageError):
        repositories.fetch(Fetch(repo_name, "/", "main"))
    assert not Path("x").exists()


def test_a_folder_inside_of_a_repository_is_none(tmp_path: Path, repo: Path) -> None:
    """The short-cut: let git look in the folders above."""
    assert local_repository(str(repo / "a")) is None
    (repo / "a/objects").mkdir()
    with (
        RemoteRepositories(tmp_path / "cache") as repositories,
        pytest.raises(PackageError, match="git cannot read the repository"),
    ):
        repositories.fetch(Fetch(str(repo / "a"), "/", "trunk"))


def test_the_environment_does_not_lead_elsewhere(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut: run git in the environment as it is, in a hook for example."""
    _git(tmp_path, "init", "--quiet", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other/.git"))
    assert _file(tmp_path, address, "/a/b", "trunk") == ("trunk", "3")


def test_a_server_that_gives_no_single_commits_is_asked_for_all(tmp_path: Path, repo: Path) -> None:
    """The short-cut: fail where a shallow fetch is refused."""
    old = _git(repo, "rev-parse", "v1")
    _git(repo, "config", "uploadpack.allowAnySHA1InWant", "false")
    _git(repo, "tag", "-d", "v1")
    address = f"file://localhost{repo}"
    assert _file(tmp_path, address, "/a/b", "trunk") == ("trunk", "3")  # now the cache is shallow
    assert _file(tmp_path, address, "/a/b", old) == (old, "1")


def test_what_is_in_the_cache_needs_no_repository(tmp_path: Path, repo: Path) -> None:
    """The short-cut: fetch each time."""
    commit = _git(repo, "rev-parse", "trunk")
    address = f"file://localhost{repo}"
    assert _file(tmp_path, address, "/a/b", commit) == (commit, "3")
    repo.rename(tmp_path / "gone")
    assert _file(tmp_path, address, "/a/b", commit) == (commit, "3")


def test_two_at_once_share_the_cache(tmp_path: Path, repo: Path) -> None:
    """The short-cut: a cache for one process."""
    address = f"file://localhost{repo}"
    with ThreadPoolExecutor(4) as threads:
        jobs = [
            threads.submit(_file, tmp_path, address, "/a/b", ref)
            for ref in ("trunk", "v1", "refs/tags/v1", "trunk")
        ]
    assert [job.result()[1] for job in jobs] == ["3", "2", "1", "3"]


def test_more_files_than_a_pipe_takes(tmp_path: Path) -> None:
    """The short-cut: write all questions before reading an answer, and wait for ever."""
    tree = {f"d{n % 7}/f{n}.txt": f"{n} {'x' * 200}" for n in range(3000)}
    (tmp_path / "repos").mkdir()
    commits = [{"branch": "main", "tree": tree}]
    made = Made(tmp_path / "repos", {"up": {"initial_branch": "main", "commits": commits}})
    made.add()
    wanted = Fetch(made.names["repo:up"], "/", "main")
    with RemoteRepositories(tmp_path / "cache") as repositories:
        files = repositories.fetch(wanted).files
    assert {path: entry.data.decode() for path, entry in files.items()} == tree
    for limits in (PackageLimits(files=100), PackageLimits(package_bytes=1000)):
        with (
            RemoteRepositories(tmp_path / "cache", limits) as repositories,
            pytest.raises(PackageError, match="the package holds more than"),
        ):
            repositories.fetch(wanted)


def test_the_default_branch_is_the_repositorys_own(tmp_path: Path, repo: Path) -> None:
    """The short-cut: main."""
    with RemoteRepositories(tmp_path / "cache") as repositories:
        assert repositories.default_branch(str(repo)) == "trunk"
        assert repositories.branches(f"file://localhost{repo}") == ["trunk"]
        _git(tmp_path, "init", "--quiet", "empty")
        with pytest.raises(PackageError, match="no branch yet"):
            repositories.default_branch(str(tmp_path / "empty"))


def test_the_cache_is_where_the_user_wants_it() -> None:
    """The short-cut: a folder of our own in the home folder."""
    assert cache_folder({"HOME": "/h"}) == Path("/h/.cache/porchbot/git")
    assert cache_folder({"HOME": "/h", "XDG_CACHE_HOME": "/c"}) == Path("/c/porchbot/git")
    assert cache_folder({"HOME": "/h", "KPT_CACHE_DIR": "/k"}) == Path("/k/porchbot")


def test_a_longer_name_does_not_pass_for_a_shorter_one(tmp_path: Path, repo: Path) -> None:
    """The short-cut cuts git's list at U+2028: what is left of a name is another one."""
    _git(repo, "update-ref", "refs/heads/a\u2028b/refs/heads/trunk", "HEAD")
    _git(repo, "update-ref", "refs/tags/refs/heads/x", "HEAD")
    with RemoteRepositories(tmp_path / "cache") as repositories:
        assert set(repositories.branches(str(repo))) == {
            "a\u2028b/refs/heads/trunk",
            "trunk",
        }


# --- the same bounds as for the bot ---------------------------------------------------------------


@pytest.fixture
def large(repo: Path) -> Path:
    """The repository, with two megabytes beside the package."""
    _git(repo, "config", "uploadpack.allowFilter", "true")
    _git(repo, "config", "uploadpack.allowAnySHA1InWant", "true")
    (repo / "beside.bin").write_bytes(os.urandom(2_000_000))
    _git(repo, "add", ".")
    _git(repo, "commit", "--quiet", "-m", "large")
    return repo


def test_files_beside_the_package_do_not_come(tmp_path: Path, large: Path) -> None:
    """The short-cut fetches the whole commit: it has no place within the bounds."""
    cache = tmp_path / "cache"
    assert _file(tmp_path, f"file://localhost{large}", "/a/b", "trunk") == ("trunk", "3")
    assert written(cache) < 500_000
    with RemoteRepositories(cache) as repositories:  # what is not here is not asked for by git
        git, commit = repositories.published(f"file://localhost{large}", ["a/b/run.sh"])
        assert git.blob(commit, "a/b/run.sh", 9) == b"3"
    assert written(cache) < 500_000


def test_git_asks_nobody_for_what_is_not_here(tmp_path: Path, large: Path) -> None:
    """The short-cut leaves git the address: it fetches each file that is read, without bounds."""
    address = f"file://localhost{large}"
    _file(tmp_path, address, "/a/b", "trunk")
    with RemoteRepositories(tmp_path / "cache") as repositories:
        git, commit = repositories.published(address, [])
        with pytest.raises(PackageError, match="is missing"):
            git.blob(commit, "beside.bin", 9)


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ({"most_fetched": 1024**2}, "sent more than 1 MiB"),
        ({"seconds": -1.0}, "took too long"),
    ],
)
def test_no_more_and_no_longer_than_may_be(
    tmp_path: Path, large: Path, bounds: dict[str, Any], said: str
) -> None:
    """The short-cut takes what comes: a repository of terabytes fills the disk of whoever asks."""
    with (
        RemoteRepositories(tmp_path / "cache", **bounds) as repositories,
        pytest.raises(PackageError, match=said),
    ):
        repositories.fetch(Fetch(f"file://localhost{large}", "/", "trunk"))


def test_the_cache_is_trimmed(tmp_path: Path, repo: Path) -> None:
    """Short-cuts refused: it grows for ever; what another command reads now is taken from it."""
    cache = tmp_path / "cache"

    def fetches(address: str) -> list[Path]:
        with RemoteRepositories(cache, most_kept=0) as repositories:
            repositories.fetch(Fetch(address, "/", "trunk"))
        return list(cache.glob("*.git"))

    (first,) = fetches(f"file://localhost{repo}")
    os.utime(first, (1, 1))
    (second,) = fetches(f"file://localhost/{repo}")
    assert first != second
    assert len(fetches(f"file://localhost//{repo}")) == 2
