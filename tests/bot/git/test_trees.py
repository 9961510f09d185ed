"""Objects and trees as the bot and the command line read them, through one process of git."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cli.disk.git_objects import RepositoryTrees
from bot.git.objects import ObjectReader, parse_tree
from bot.git.process import users_environment
from cadlib.errors import PackageError
from cadlib.limits import DEFAULT, PackageLimits
from tests.bot.git.server import Remote

TEXTS = {f"f{n}": f"{n} ".encode() * 2_000 for n in range(200)}


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "1.git")


@pytest.fixture
def objects(remote: Remote) -> Iterator[ObjectReader]:
    opened = ObjectReader(remote.folder, users_environment(named=True))
    yield opened
    opened.close()


def test_answers_that_nobody_read_are_not_the_next_ones(
    remote: Remote, objects: ObjectReader
) -> None:
    """The short-cut stops reading at a limit: what git wrote by then answers the next question."""
    shas = [remote.git("hash-object", "-w", "--stdin", data=TEXTS[name]) for name in ("f1", "f2")]

    def refuse(_sha: str, size: int) -> None:
        raise ValueError(size)

    with pytest.raises(ValueError, match="4000"):
        list(objects.stream(shas, allow=refuse))
    first = objects.stream(shas)
    assert (found := next(first)) is not None
    assert found.data == TEXTS["f1"]
    first.close()

    for most in (None, 3):
        read = [objects.read(sha, most) for sha in shas]
        assert [r and r.data for r in read] == [TEXTS["f1"][:most], TEXTS["f2"][:most]]
        assert [r and r.size for r in read] == [4_000, 4_000]


def test_a_name_is_one_question(remote: Remote, objects: ObjectReader) -> None:
    """The short-cut writes it as it is: each answer is then that to the question before."""
    one = remote.commit({"a": b"1"}, ref="refs/heads/main")

    assert objects.read(f"nothing\n{one}") is None
    assert (found := objects.read("refs/heads/main^{tree}")) is not None
    assert found.kind == "tree"


@pytest.mark.parametrize("name", ["a b 5 c", "0" * 40 + " blob 5", "x\u2028blob\u20285\u2028"])
def test_a_name_of_several_words_is_no_answer(
    remote: Remote, objects: ObjectReader, name: str
) -> None:
    """The short-cut takes the words of "NAME missing" for an object of that many bytes: these are
    of the next answer, and where there is none it waits for ever."""
    one = remote.commit({"a": b"1"}, ref="refs/heads/main")

    first, second = objects.stream([name, one])

    assert first is None
    assert second is not None
    assert second.kind == "commit"


def test_a_package_is_refused_before_it_is_read(remote: Remote) -> None:
    """The short-cut adds up what it has read: memory is full by then."""
    by_path: dict[str, bytes | str] = {**TEXTS, "again": TEXTS["f7"]}
    head = remote.commit(by_path, ref="refs/heads/main")
    total = sum(len(data) for data in [*TEXTS.values(), TEXTS["f7"]])
    trees = RepositoryTrees(remote.folder, users_environment(named=True))

    with pytest.raises(PackageError, match=r"holds more than 1\.\d MiB\."):
        trees.files(trees.tree(head, ""), PackageLimits(package_bytes=total - 1))
    files = trees.files(trees.tree("main", ""), PackageLimits(package_bytes=total))
    trees.close()

    assert {path: entry.data for path, entry in files.items()} == by_path


def test_a_file_that_is_most_of_what_is_too_much_is_named(remote: Remote) -> None:
    """Short-cuts refused: bytes that nobody can read, and no word of which file it is."""
    head = remote.commit({"a": b"1", "b/huge.bin": b"0" * 3_000_000}, ref="refs/heads/main")
    trees = RepositoryTrees(remote.folder, users_environment(named=True))

    with pytest.raises(PackageError) as refused:
        trees.files(trees.tree(head, ""), PackageLimits(package_bytes=2 * 1024**2))
    trees.close()

    assert refused.value.problem == (
        "the package holds more than 2.0 MiB; b/huge.bin alone has 2.9 MiB"
    )


def test_files_that_a_group_may_write_are_regular(remote: Remote) -> None:
    """The short-cut gives the mode as it is: packages know no such one."""
    blob = remote.git("hash-object", "-w", "--stdin", data=b"x")
    data = b"100664 old\0" + bytes.fromhex(blob)
    tree = remote.git("hash-object", "--literally", "-t", "tree", "-w", "--stdin", data=data)
    trees = RepositoryTrees(remote.folder, users_environment(named=True))

    assert trees.files(tree, DEFAULT)["old"].mode == "100644"
    trees.close()


def test_names_and_ids_are_shared_among_trees() -> None:
    """The short-cut makes each text anew: a thousand packages have the same names, and a tree of
    them differs from the one before in one id."""
    entry = b"100644 settings.yaml\0" + bytes(range(20))
    ((one, mode, name),), ((same, _, again),) = parse_tree(entry), parse_tree(entry)
    assert (one, mode, name) == (bytes(range(20)).hex(), 0o100644, "settings.yaml")
    assert one is same
    assert name is again
