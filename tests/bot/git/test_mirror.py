"""What a look makes the forge tell: the refs it is about, however many there are."""

import time
import tracemalloc
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.git import mirror as mirrors
from bot.git import refs as git_refs
from bot.git.mirror import DiskMirror
from bot.git.port import BRANCHES, GitBusyError, RefUpdate, Scope
from bot.git.process import run
from lifecycle.names import Ref
from tests.bot.git.server import TOKEN, Remote, serve

MAIN = Ref("refs/heads/main")
FILES: dict[str, bytes | str] = {"a": b"1"}
MINE = Scope(frozenset({"main", "drafts/net/core/w"}), frozenset({"net/core"}))


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    with serve(tmp_path / "remote" / "blueprints.git") as served:
        yield served


@pytest.fixture
def mirror(remote: Remote, tmp_path: Path) -> DiskMirror:
    return DiskMirror(tmp_path / "mirrors" / "1.git", remote.url)


def refs(mirror: DiskMirror, *places: str) -> dict[str, str]:
    with mirror.open() as git:
        return {ref: sha for ref, (_, sha) in git.refs(*places).items()}


def on_disk(mirror: DiskMirror, place: str) -> list[str]:
    return run(mirror.folder, ["for-each-ref", "--format=%(refname)", place]).stdout.split()


def many(remote: Remote, sha: str, folders: int) -> None:
    """Tags of so many other packages, and a branch beside each."""
    names = [f"refs/tags/net/other-{i}/v1" for i in range(folders)]
    names += [f"refs/heads/drafts/net/other-{i}/w" for i in range(folders)]
    script = "".join(f"create {name} {sha}\n" for name in names)
    remote.git("update-ref", "--stdin", data=script.encode())


def test_a_look_is_told_of_its_own_refs_only(remote: Remote, mirror: DiskMirror) -> None:
    """The short-cut asks for everything and chooses then: what is told grows with the others."""
    sha = remote.commit(FILES, ref=MAIN)
    wanted = {
        "refs/heads/main": sha,
        "refs/heads/drafts/net/core/w": sha,
        "refs/tags/net/core/v1": sha,
        "refs/tags/net/core/sub/v7": sha,
    }
    for ref in wanted:
        remote.git("update-ref", ref, sha)
    many(remote, sha, 300)

    mirror.fetch(TOKEN, None, MINE)
    assert refs(mirror, *git_refs.places(MINE)) == wanted
    assert sorted(remote.told) == sorted(wanted)
    remote.told.clear()
    mirror.fetch(TOKEN, None, MINE)
    assert sorted(remote.told) == sorted(wanted)
    assert sorted([*on_disk(mirror, "refs/heads"), *on_disk(mirror, "refs/tags")]) == sorted(wanted)


def test_a_look_at_very_many_packages_has_their_refs_only(
    remote: Remote, mirror: DiskMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut takes what git was asked for, so as not to name each, for what was wanted; or
    leaves an old memory of what was brought up to date beside it.
    """
    monkeypatch.setattr(git_refs, "MOST_NAMED", 3)
    sha = remote.commit(FILES, ref=MAIN)
    many(remote, sha, 6)
    beside = Scope(packages=frozenset({"net/other-5"}))
    mirror.fetch(TOKEN, None, beside)
    remote.git("update-ref", "-d", "refs/tags/net/other-5/v1")
    five = Scope(frozenset({"main"}), frozenset(f"net/other-{i}" for i in range(5)))

    wanted = {"refs/heads/main", *(f"refs/tags/net/other-{i}/v1" for i in range(5))}
    for _ in range(2):
        mirror.fetch(TOKEN, None, five)
        assert refs(mirror, *git_refs.places(five)).keys() == wanted
    assert refs(mirror, "refs/tags/net/other-5") == {}


def test_what_vanished_is_seen_without_asking_for_everything(
    remote: Remote, mirror: DiskMirror
) -> None:
    """The short-cut asks for exact names: one that is gone fails the fetch, or stays for ever."""
    sha = remote.commit(FILES, ref=MAIN)
    for ref in ("refs/heads/drafts/net/core/w", "refs/tags/net/core/v1", "refs/tags/net/core/v2"):
        remote.git("update-ref", ref, sha)
    mirror.fetch(TOKEN, None, MINE)
    many(remote, sha, 50)

    remote.git("update-ref", "-d", "refs/heads/drafts/net/core/w")
    remote.git("tag", "--delete", "net/core/v1")
    remote.told.clear()
    mirror.fetch(TOKEN, None, MINE)

    left = {"refs/heads/main": sha, "refs/tags/net/core/v2": sha}
    assert refs(mirror, *git_refs.places(MINE)) == left
    assert sorted(remote.told) == sorted([*left] * 2)  # when it was asked, and when it was fetched


@pytest.mark.parametrize(
    ("before", "after", "scope"),
    [
        ("refs/heads/drafts/a", "refs/heads/drafts/a/b", Scope(frozenset({"drafts/a/b"}))),
        ("refs/heads/drafts/a/b/c", "refs/heads/drafts/a/b", Scope(frozenset({"drafts/a/b"}))),
        ("refs/heads/drafts/a/x", "refs/heads/drafts/a", Scope(frozenset({"drafts/a"}))),
        ("refs/tags/net", "refs/tags/net/core/v1", Scope(packages=frozenset({"net/core"}))),
        ("refs/tags/net/v1/v2", "refs/tags/net/v1", Scope(packages=frozenset({"net"}))),
    ],
)
def test_a_name_becomes_a_folder_or_the_other_way(
    remote: Remote, mirror: DiskMirror, before: str, after: str, scope: Scope
) -> None:
    """The short-cut leaves what nobody asked for alone: git can then hold the new ref never."""
    sha = remote.commit(FILES, ref=MAIN)
    remote.git("update-ref", before, sha)
    mirror.fetch(TOKEN)
    remote.git("update-ref", "-d", before)
    remote.git("update-ref", after, sha)

    mirror.fetch(TOKEN, None, scope)

    assert refs(mirror, *git_refs.places(scope)) == {after: sha}


def test_what_was_pushed_is_fetched_and_not_asked_for(remote: Remote, mirror: DiskMirror) -> None:
    """The short-cut asks which refs there are before each fetch: a push costs a request more. Or it
    believes who said so, and takes for fetched what is not there."""
    first = remote.commit(FILES, ref=MAIN)
    scope = Scope(frozenset({"main"}))
    mirror.fetch(TOKEN, None, scope)
    mirror.fetch(TOKEN, None, scope)  # from now on it is known what the remote can do
    second = remote.commit({**FILES, "net/core/b.yaml": b"b: 1\n"}, ref=MAIN)
    remote.requests.clear()
    mirror.fetch(TOKEN, None, scope)
    asked_first = len(remote.requests)
    third = remote.commit({**FILES, "net/core/c.yaml": b"c: 1\n"}, ref=MAIN)
    remote.requests.clear()

    mirror.fetch(TOKEN, None, scope, {third})

    assert len(remote.requests) == asked_first - 1
    assert refs(mirror, MAIN) == {MAIN: third}
    for said in ("0" * 40, first, second, third):
        mirror.fetch(TOKEN, None, scope, {said})
        assert refs(mirror, MAIN) == {MAIN: third}


def test_a_fetch_serves_later_looks_where_it_saw_what_they_ask(
    remote: Remote, mirror: DiskMirror
) -> None:
    """The short-cut notes when it fetched and not what: a wider look then sees no tags at all."""
    sha = remote.commit(FILES, ref=MAIN)
    remote.git("update-ref", "refs/tags/net/core/v1", sha)
    began = time.monotonic()
    mirror.fetch(TOKEN, began, Scope(frozenset({"main"})))
    remote.requests.clear()
    mirror.fetch(TOKEN, began, Scope(frozenset({"main"})))
    assert remote.requests == []

    wider = Scope(frozenset({"main"}), frozenset({"net/core"}))
    mirror.fetch(TOKEN, began, wider)
    assert refs(mirror, *git_refs.places(wider)) == {MAIN: sha, "refs/tags/net/core/v1": sha}
    remote.requests.clear()
    mirror.fetch(TOKEN, began, Scope(packages=frozenset({"net/core/sub"})))
    assert remote.requests == []  # it lies inside of what was fetched
    mirror.fetch(TOKEN, time.monotonic(), wider)
    assert remote.requests != []


def test_a_sweep_learns_all_tags_and_keeps_none(
    remote: Remote, mirror: DiskMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut fetches them: git then looks at every one of them at each later fetch."""
    sha = remote.commit(FILES, ref=MAIN)
    remote.git("tag", "--annotate", "--message", "one", "net/core/v1", sha)
    many(remote, sha, 5)
    mirror.fetch(TOKEN, None, BRANCHES)
    tagged = {ref: at for ref, at in remote.refs().items() if ref.startswith("refs/tags/")}

    assert mirror.tags(TOKEN) == tagged
    assert on_disk(mirror, "refs/tags") == []

    # What looks fetched goes when it is much; what they saw they still see.
    mirror.fetch(TOKEN, None, MINE)
    monkeypatch.setattr(mirrors, "MOST_TAGS", 0)
    assert mirror.tags(TOKEN) == tagged
    assert on_disk(mirror, "refs/tags") == []
    assert refs(mirror, "refs/tags/net/core") == {"refs/tags/net/core/v1": sha}
    mirror.fetch(TOKEN, None, MINE)
    assert on_disk(mirror, "refs/tags") == ["refs/tags/net/core/v1"]


def test_what_we_made_is_known_beside_what_was_fetched(remote: Remote, mirror: DiskMirror) -> None:
    """The short-cut reads what is made from disk alone: the tags that a sweep dropped are gone."""
    sha = remote.commit(FILES, ref=MAIN)
    remote.git("update-ref", "refs/tags/net/core/v1", sha)
    began = time.monotonic()
    mirror.fetch(TOKEN, began, MINE)
    run(mirror.folder, ["update-ref", "-d", "refs/tags/net/core/v1"])
    mirror.push(TOKEN, [RefUpdate(Ref("refs/tags/net/core/v2"), "", sha)])

    mirror.fetch(TOKEN, began, MINE)
    assert refs(mirror, "refs/tags/net/core") == dict.fromkeys(
        ["refs/tags/net/core/v1", "refs/tags/net/core/v2"], sha
    )


def test_refs_that_cannot_be_listed_are_not_none(mirror: DiskMirror) -> None:
    """The short-cut takes an empty answer for an empty repository: the next number is 1 again."""
    mirror.folder.mkdir(parents=True)
    with pytest.raises(GitBusyError):
        git_refs.listed(mirror.folder, ["refs/tags"])


@pytest.mark.parametrize(
    ("scope", "places"),
    [
        (Scope(), ()),
        (Scope(frozenset({""})), ("refs/heads",)),
        (Scope(frozenset({"", "main"}), frozenset({"a", "a/b", "ab"})),
         ("refs/heads", "refs/tags/a", "refs/tags/ab")),
        (Scope(packages=frozenset({"", "a/b"})), ("refs/tags",)),
        (Scope(frozenset({"x*", "y"}), frozenset({"a", "b c", "b*", "b/.c", "c."})),
         ("refs/heads/y", "refs/tags/a", "refs/tags/c.")),
    ],
)  # fmt: skip
def test_places_of_a_scope(scope: Scope, places: tuple[str, ...]) -> None:
    assert git_refs.places(scope) == places


@pytest.mark.parametrize(
    "package",
    ["net/my app", "net/a*b", "net/[a]", "net/a?", "net/a:b", "net/a..b", "net/.a", "net/a.lock"],
)
def test_a_package_whose_name_no_tag_can_have_keeps_nothing_else_back(
    remote: Remote, mirror: DiskMirror, package: str
) -> None:
    """The short-cut asks git for its tags as well: git refuses all, whoever else waits for it."""
    scope = MINE | Scope(packages=frozenset({package}))
    mirror.fetch(TOKEN, None, scope)

    sha = remote.commit({f"{package}/Kptfile": b"1"}, ref=MAIN)
    mirror.fetch(TOKEN, None, scope)

    assert refs(mirror, "refs/heads/main", f"refs/tags/{package}") == {MAIN: sha}


@pytest.mark.parametrize("place", ["refs/tags/net/c^", "refs/heads/a [", "refs/heads/a\n"])
def test_a_look_that_asks_for_what_no_ref_can_be_called_keeps_nothing_back(
    remote: Remote, mirror: DiskMirror, place: str
) -> None:
    """The short-cut leaves such names out of a scope alone: a package that somebody proposes, or a
    branch that a template of a webhook names, fails the look, and each that fetches with it."""
    with mirror.open(TOKEN, time.monotonic()) as git:
        assert git.refs(place) == {}
        sha = remote.commit({"net/c^/Kptfile": b"1"}, ref=MAIN)
        assert git.refs(MAIN) == {MAIN: (sha, sha)}


def test_a_look_takes_nothing_for_absent_that_it_did_not_fetch(
    remote: Remote, mirror: DiskMirror
) -> None:
    """The short-cut answers from disk: tags that nobody fetched are none, and v1 is free again."""
    sha = remote.commit(FILES, ref=MAIN)
    remote.git("update-ref", "refs/tags/net/core/v1", sha)
    began = time.monotonic()
    mirror.fetch(TOKEN, began, Scope(frozenset({"main"})))

    with mirror.open(TOKEN, began) as git:
        assert git.ref("refs/heads/main") == sha
        assert list(git.refs("refs/tags/net/core")) == ["refs/tags/net/core/v1"]
        remote.git("update-ref", "-d", "refs/tags/net/core/v1")
        assert list(git.refs("refs/tags/net/core")) == ["refs/tags/net/core/v1"]  # as before
    with mirror.open(TOKEN, time.monotonic()) as git:
        assert list(git.refs("refs/tags/net/core")) == []


def test_a_list_of_very_many_refs_is_read_line_by_line() -> None:
    """The short-cut splits it: 100,000 lines beside the text, for the bot of a large repository."""
    text = "".join(f"{number:040x}\trefs/tags/net/v{number}\n" for number in range(10_000))
    tracemalloc.start()
    try:
        last = deque(git_refs.advertised(text), maxlen=1)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert last.pop() == (f"{9_999:040x}", "refs/tags/net/v9999")
    assert most < len(text) / 10
