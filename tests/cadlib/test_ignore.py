"""Which files `.krmignore` excludes."""

from cadlib.ignore import Ignored
from cadlib.package import SYMLINK, Entry, find


def _ignored(**patterns: str) -> Ignored:
    files = {"Kptfile": Entry(b""), "sub/Kptfile": Entry(b""), "sub/deep/Kptfile": Entry(b"")}
    for folder, text in patterns.items():
        path = ".krmignore" if folder == "root" else f"{folder.replace('_', '/')}/.krmignore"
        files[path] = Entry(text.encode())
    return Ignored(files, find(files))


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


def test_a_reader_of_the_whole_leaves_out_a_subpackage_with_all_below() -> None:
    """The short-cut: asking only the package that the file belongs to."""
    ignored = _ignored(root="sub\n")
    assert "sub/a.yaml" not in ignored
    assert ignored.skips("sub/a.yaml")
    assert ignored.skips("sub/Kptfile")
    assert ignored.skips("sub/deep/a.yaml")
    assert not _ignored(root="sub/*.yaml\n").skips("sub/a.yaml")
    assert not _ignored().skips("sub/a.yaml")


def test_patterns_are_those_of_git() -> None:
    ignored = _ignored(root="# none\nout/\n!out\n/top.yaml\nx/**/y.yaml\n")
    assert "out/a.yaml" not in ignored
    assert "top.yaml" in ignored
    assert "in/top.yaml" not in ignored
    assert "x/1/2/y.yaml" in ignored


def test_what_cannot_be_read_is_said_and_excludes_nothing() -> None:
    files = {"Kptfile": Entry(b""), ".krmignore": Entry(b"\xff")}
    ignored = Ignored(files, [""])
    assert [finding.place.path for finding in ignored.findings] == [".krmignore"]
    assert "a.yaml" not in ignored
    assert "a" not in Ignored({".krmignore": Entry(b"a", SYMLINK)}, [""])


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
