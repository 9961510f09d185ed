"""Packages fetched in memory: what is taken along, and what is fetched for it."""

import pytest

from cadlib.errors import PackageError
from cadlib.kptfile.reader import GitRef
from cadlib.kptfile.reader import read as read_kptfile
from cadlib.limits import PackageLimits
from cadlib.update.get import get
from tests.cadlib.upstreams import Served, Versions, commit, config_map, kptfile, texts

UP = GitRef(repo="up", directory="/", ref="v1")


def _get(versions: Versions) -> tuple[dict[str, str], Served]:
    served = Served(versions)
    return texts(served.run(get(UP, name="mine")).files), served


def test_the_kptfile_keeps_upstreams_text_but_not_its_address_and_status() -> None:
    """The short-cut: write a new Kptfile, or keep upstream's."""
    status = "status:\n  conditions:\n    - type: Rendered\n      status: 'True'\n"
    info = "info: # about\n    description:   theirs\n"
    theirs = kptfile("theirs", upstream="far@v9", lock="far@v9", more=status + info)
    theirs = theirs.replace("  name: theirs\n", "  name: theirs\n  namespace: ns\n")
    files, _ = _get({("up", "v1"): {"Kptfile": theirs}})
    read = read_kptfile(files["Kptfile"].encode())
    assert info in files["Kptfile"]
    assert (read.name, read.namespace, read.conditions) == ("mine", "", ())
    assert read.upstream == UP
    assert read.upstream_lock == GitRef(repo="up", directory="/", ref="v1", commit=commit("v1"))


def test_a_package_without_a_kptfile_gets_one() -> None:
    """The short-cut: fail where there is none."""
    files, _ = _get({("up", "v1"): {"a.yaml": config_map("a", x="1")}})
    assert read_kptfile(files["Kptfile"].encode()).name == "mine"
    assert files["a.yaml"] == config_map("a", x="1")


def test_packages_that_are_only_an_address_are_fetched_wherever_they_are() -> None:
    """The short-cut: fetch those directly below the root."""
    versions: Versions = {
        ("up", "v1"): {
            "plain/Kptfile": kptfile("plain"),
            "plain/far/Kptfile": kptfile("far", upstream="far@v1"),
            "had/Kptfile": kptfile("had", upstream="far@v1", lock="far@v1"),
        },
        ("far", "v1"): {
            "Kptfile": kptfile("theirs", more="info:\n  description: theirs\n"),
            "x.txt": "far",
            "deep/Kptfile": kptfile("deep", upstream="deep@v1"),
        },
        ("deep", "v1"): {"y.txt": "deep"},
    }
    files, served = _get(versions)
    assert files["plain/far/x.txt"] == "far"
    assert files["plain/far/deep/y.txt"] == "deep"
    assert "had/x.txt" not in files
    assert "description: theirs" in files["plain/far/Kptfile"]
    assert read_kptfile(files["plain/far/Kptfile"].encode()).name == "far"
    assert [each.repo for each in served.asked] == ["up", "far", "deep"]
    assert served.said[-1] == "\nFetched 3 package(s)."


def test_a_package_that_holds_itself_ends() -> None:
    """The short-cut: fetch until the disk is full."""
    with pytest.raises(PackageError, match="which itself contains this package"):
        _get({("up", "v1"): {"in/Kptfile": kptfile("in", upstream="up@v1")}})


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", ".git/hooks/x", "a/.GIT/x"])
def test_paths_that_lead_elsewhere_are_refused(path: str) -> None:
    """The short-cut: trust the repository, and write where it says."""
    with pytest.raises(PackageError):
        _get({("up", "v1"): {path: "1"}})


def test_too_much_is_refused() -> None:
    """The short-cut: check limits when a package is rendered, long after it was written."""
    versions: Versions = {("up", "v1"): {"a": "1", "b": "1"}}
    with pytest.raises(PackageError, match="2 files, more than 1"):
        Served(versions).run(get(UP, name="mine", limits=PackageLimits(files=1)))


@pytest.mark.parametrize(
    ("upstream", "name", "said"),
    [
        (GitRef(), "mine", "must specify git repo information"),
        (GitRef(directory="/", ref="v1"), "mine", "must specify repo"),
        (GitRef(repo="up", directory="/"), "mine", "must specify ref"),
        (GitRef(repo="up", ref="v1"), "mine", "must specify directory"),
        (UP, "", "must specify destination"),
    ],
)
def test_what_is_missing_is_said_in_kpts_words(upstream: GitRef, name: str, said: str) -> None:
    """The short-cut: ask git, which says something else."""
    with pytest.raises(PackageError, match=said):
        Served({}).run(get(upstream, name=name))
