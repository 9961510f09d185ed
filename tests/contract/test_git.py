"""What the bot may rely on in mirrors of git and in their history, asked of each that there is.

Longer than 400 lines: a test for each method of the port.

Objects are made once, in memory, and given to both: that they are git's own, with the ids that git
gives, is asked of git itself.
"""

import ast
import random
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.git.mirror import DiskMirrors
from bot.git.port import (
    BRANCHES,
    MOST_TEXT,
    Difference,
    GitBusyError,
    GitIdentity,
    GitRefusedError,
    History,
    Mirror,
    Mirrors,
    MissingObjectError,
    Pushed,
    RefUpdate,
    Scope,
    TrialMerge,
)
from cadlib.errors import PackageError
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.package.files import Entry
from lifecycle.names import Ref
from tests.bot.git.server import TOKEN, Remote, serve
from tests.ids import on_github
from tests.memory.clock import ManualClock
from tests.memory.git import MemoryMirrors, MemoryRemote
from tests.memory.git_objects import MemoryObjects

MAIN, DRAFT = Ref("refs/heads/main"), Ref("refs/heads/drafts/net/core/v1")
V1 = Ref("refs/tags/net/core/v1")
WHO = GitIdentity("porchbot[bot]", "porchbot[bot]@users.noreply.github.com")
WHEN = datetime(2026, 11, 21, 12, tzinfo=UTC)
NOWHERE = "1" * 40
LINES = b"".join(b"line %d\n" % n for n in range(9))
FILES: Mapping[str, bytes | str] = {
    "README.md": b"read me\n",
    "net/core/Kptfile": b"kind: Kptfile\n",
    "net/core/a.yaml": LINES,
    "net/Core/Kptfile": b"kind: Kptfile\n",
    "net/core/sub/Kptfile": b"kind: Kptfile\n",
    "net/other.yaml": b"b: 2\n",
}
MINE = Scope(frozenset({"main"}), frozenset({"net/core"}))

GIT_COMMIT, GIT_TAG = (
    "73bfb308aa42e0b2318a6612bd46a88c59f4f7a9",
    "d5c04c489ff21acf48c15a99b3fc107ae479cdd2",
)
"""What `git hash-object` says of the commit and the tag that are written below."""


@dataclass
class Forge:
    """A repository of a forge, and the mirrors that follow it.

    Attributes:
        mirrors: What is asked.
        url: Its address.
        clock: Of the mirrors.
        memory: Its objects; all of it for mirrors in memory.
        disk: The same for mirrors on disk; None for others.
    """

    mirrors: Mirrors
    url: str
    clock: ManualClock
    memory: MemoryRemote
    disk: Remote | None = None
    written: set[str] = field(default_factory=set)

    @property
    def mirror(self) -> Mirror:
        self.clock.seconds += 1
        return self.mirrors.of(on_github(1), self.url)

    @property
    def made(self) -> MemoryObjects:
        return self.memory.objects

    def move(self, ref: str, sha: str) -> None:
        """Move a ref there as people would; "" deletes it."""
        if self.disk is None:
            self.memory.refs.pop(ref, None)
            self.memory.refs |= {ref: sha} if sha else {}
            return
        self.write(self.disk.folder)
        path = self.disk.folder / ref
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{sha}\n") if sha else path.unlink()

    def write(self, folder: Path) -> None:
        """Write new objects into a repository on disk, as git does."""
        for sha, (kind, data) in self.made.known.items():
            if sha not in self.written:
                path = folder / "objects" / sha[:2] / sha[2:]
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(zlib.compress(f"{kind} {len(data)}\0".encode() + data, 1))
                self.written.add(sha)

    def refs(self) -> dict[str, str]:
        return dict(self.memory.refs) if self.disk is None else self.disk.refs()

    def fail(self) -> None:
        self.memory.failing = True
        if self.disk is not None:
            self.disk.failing = 502

    def forbid(self, rule: str) -> None:
        self.memory.rule = rule
        if self.disk is not None:
            self.disk.hook(f"echo '{rule}' >&2; exit 1")

    def commit(self, files: Mapping[str, bytes | str], *parents: str, at: int = 1) -> str:
        return self.made.commit(files, *parents, at=at)

    def opened(self, *tips: str) -> History:
        """A history with these commits in it."""
        for number, tip in enumerate(tips):
            self.move(f"refs/heads/tip-{number}", tip)
        self.mirror.fetch(TOKEN)
        return self.mirror.open()


@pytest.fixture(params=["disk", "memory"])
def forge(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Forge]:
    clock = ManualClock()
    if request.param == "memory":
        remote = MemoryRemote(TOKEN)
        yield Forge(MemoryMirrors({"there": remote}, clock, most=1), "there", clock, remote)
        return
    with serve(tmp_path / "remote" / "blueprints.git") as served:
        mirrors = DiskMirrors(tmp_path / "mirrors", most_bytes=1, clock=clock)
        yield Forge(mirrors, served.url, clock, MemoryRemote(), served)


# --- mirrors --------------------------------------------------------------------------------------


def test_a_fetch_brings_what_it_asks_for_and_loses_what_is_gone(forge: Forge) -> None:
    """The short-cut brings all of the forge: a simulation then never sees a ref too few."""
    one = forge.commit(FILES)
    tag = forge.made.tag("net/core/v1", one)
    for ref, sha in {MAIN: one, DRAFT: one, V1: tag, "refs/tags/other/v1": one}.items():
        forge.move(ref, sha)

    forge.mirror.fetch(TOKEN, None, MINE)
    with forge.mirror.open() as git:
        assert dict(git.refs()) == {MAIN: (one, one), V1: (tag, one)}
        assert dict(git.refs("refs/tags/net")) == {V1: (tag, one)}
        assert (git.ref(MAIN), git.ref(V1), git.ref(DRAFT), git.ref("main")) == (
            one, one, None, None,
        )  # fmt: skip
    forge.move(V1, "")
    forge.mirror.fetch(TOKEN, None, MINE | BRANCHES)
    with forge.mirror.open() as git:
        assert set(git.refs()) == {MAIN, DRAFT}
    assert forge.mirror.tags(TOKEN) == {"refs/tags/other/v1": one}


def test_which_of_some_names_are_tags_is_told_at_once(forge: Forge) -> None:
    """Short-cuts refused: what begins like a name counts; a folder of tags is taken for a tag."""
    one = forge.commit(FILES)
    for ref in (MAIN, "refs/tags/edge/p1", "refs/tags/edge/p22/v1", "refs/tags/edge/p3/v1"):
        forge.move(ref, one)
    forge.mirror.fetch(TOKEN, None, BRANCHES)

    wanted = ["edge/p1", "edge/p2", "edge/p3", "edge/p4"]
    assert forge.mirror.tagged(TOKEN, wanted) == frozenset({"edge/p1"})
    with forge.mirror.open() as git:
        assert set(git.refs()) == {MAIN}, "nothing else is fetched"


def test_looks_that_find_nothing_new_hide_nothing(forge: Forge) -> None:
    """The short-cut compares the branch that was asked for: what happens to its tags stays unseen.

    Each change comes after looks that found none; a mirror may take those for its last word.
    """
    one = forge.commit(FILES)
    two = forge.commit({**FILES, "x": b"1"}, one)
    tag, again = forge.made.tag("net/core/v1", one), forge.made.tag("net/core/v1", two)
    below, beside = "refs/tags/net/core/sub/v1", "refs/tags/net/core2/v1"
    scope = Scope(frozenset({"main", "drafts/a"}), frozenset({"net/core"}))
    changes = [
        (MAIN, one), (V1, tag), (below, one), (V1, again), (V1, ""), (below, ""), (beside, one),
        ("refs/heads/drafts/a", two), ("refs/heads/drafts/a", ""), ("refs/heads/drafts/a/b", two),
        (MAIN, two), (MAIN, one),
    ]  # fmt: skip
    forge.mirror.fetch(TOKEN, None, scope)
    for ref, sha in changes:
        forge.move(ref, sha)
        for _ in range(2):
            forge.mirror.fetch(TOKEN, None, scope)
            with forge.mirror.open() as git:
                places = [MAIN, "refs/heads/drafts/a", "refs/tags/net/core"]
                seen = {name: named for name, (named, _) in git.refs(*places).items()}
                peeled = {name: commit for name, (_, commit) in git.refs(*places).items()}
            there = {
                name: at
                for name, at in forge.refs().items()
                if name in places or name.startswith(tuple(f"{place}/" for place in places))
            }
            assert seen == there, f"after {ref} moved to {sha[:7]}"
            assert set(peeled.values()) <= {one, two}


def test_only_what_was_fetched_is_there(forge: Forge) -> None:
    """The short-cut reads the forge's objects: a commit that nobody fetched is there."""
    one = forge.commit({"a": b"1"})
    forge.move(MAIN, one)
    hidden = forge.commit({"a": b"2"}, one)
    forge.move("refs/pull/7/head", hidden)

    forge.mirror.fetch(TOKEN)
    with forge.mirror.open() as git:
        assert (git.has(one), git.has(hidden), git.has(MAIN)) == (True, False, False)
        assert not git.has(git.commit(one).tree)
        for ask in (git.commit, git.package, git.difference, git.merged, git.merge_base):
            with pytest.raises(MissingObjectError):
                ask(*[hidden, one][: 1 if ask == git.commit else 2])
        assert not git.contains(hidden, one)
        assert not git.contains(one, hidden)
        for read in (git.cut_within, lambda a, b: git.changed_within(a, b, ["a"])):
            with pytest.raises(MissingObjectError):
                read(one, hidden)
    forge.mirror.fetch_proposal(TOKEN, Ref("refs/pull/7/head"))
    forge.mirror.fetch(TOKEN)
    with forge.mirror.open() as git:
        assert git.has(hidden)
    with pytest.raises(GitBusyError):
        forge.mirror.fetch_proposal(TOKEN, Ref("refs/pull/8/head"))


def test_a_fetch_serves_who_asked_before_it_began(forge: Forge) -> None:
    """The short-cut remembers that it fetched and not what: a wider look sees no tags."""
    one = forge.commit(FILES)
    forge.move(MAIN, one)
    before = forge.clock.monotonic()
    forge.mirror.fetch(TOKEN, None, Scope(frozenset({"main"})))
    after = forge.clock.monotonic() + 0.5
    forge.move(MAIN, two := forge.commit({"a": b""}, one))
    forge.move(V1, one)

    forge.mirror.fetch(TOKEN, before, Scope(frozenset({"main"})))
    with forge.mirror.open() as git:
        assert git.ref(MAIN) == one
    with forge.mirror.open(TOKEN, before) as git:
        assert set(git.refs("refs/tags/net/core")) == {V1}  # nobody had looked there
        forge.move(V1, "")
        assert set(git.refs("refs/tags/net/core")) == {V1}  # while it is open always the same
    forge.mirror.fetch(TOKEN, after, Scope(frozenset({"main"})))
    with forge.mirror.open() as git:
        assert git.ref(MAIN) == two


def test_a_forge_that_is_away_is_busy(forge: Forge) -> None:
    """The short-cut lets the client's own error through."""
    one = forge.commit(FILES)
    forge.move(MAIN, one)
    forge.mirror.fetch(TOKEN)
    nothing = Scope(packages=frozenset({"net/none"}))
    for _ in range(2):
        forge.mirror.fetch(TOKEN, None, nothing)
    with pytest.raises(GitBusyError):
        forge.mirror.fetch("wrong")
    forge.fail()
    for ask in (forge.mirror.fetch, forge.mirror.tags):
        with pytest.raises(GitBusyError):
            ask(TOKEN)
    with pytest.raises(GitBusyError):  # an error is no empty list, though nothing was there before
        forge.mirror.fetch(TOKEN, None, nothing)
    with pytest.raises(GitBusyError):
        forge.mirror.push(TOKEN, [RefUpdate(MAIN, one, "")])
    with forge.mirror.open() as git:
        assert git.ref(MAIN) == one


def test_a_push_moves_all_or_none_from_where_they_are_expected(forge: Forge) -> None:
    """The short-cut moves one after the other: half of a release is tagged."""
    one = forge.commit(FILES)
    forge.move(DRAFT, one)
    forge.mirror.fetch(TOKEN)
    began = forge.clock.monotonic()
    with forge.mirror.open() as git:
        new = git.write_commit(one, {"x": b"1"}, WHO, WHEN, lambda tree: f"Add\n\ntree {tree}\n")
        tag = git.write_tag("net/core/v1", new, WHO, WHEN, "text\n")
    both = [RefUpdate(DRAFT, one, new), RefUpdate(V1, "", tag)]

    forge.move(V1, one)
    assert forge.mirror.push(TOKEN, both) is Pushed.MOVED
    assert forge.refs() == {DRAFT: one, V1: one}
    forge.move(V1, "")
    assert forge.mirror.push(TOKEN, both) is Pushed.DONE
    assert forge.refs() == {DRAFT: new, V1: tag}

    with forge.mirror.open(TOKEN, began) as git:  # what was pushed needs no fetch
        assert (git.ref(DRAFT), git.ref(V1)) == (new, new)
    assert forge.mirror.push(TOKEN, [RefUpdate(DRAFT, one, "")]) is Pushed.MOVED
    assert forge.mirror.push(TOKEN, [RefUpdate(DRAFT, new, "")]) is Pushed.DONE
    below = RefUpdate(Ref("refs/tags/net/core"), "", tag)
    assert forge.mirror.push(TOKEN, [below]) is Pushed.MOVED  # a folder of tags has that name
    assert forge.refs() == {V1: tag}


def test_a_rule_of_the_forge_refuses(forge: Forge) -> None:
    """The short-cut tries again for ever."""
    forge.move(MAIN, one := forge.commit(FILES))
    forge.mirror.fetch(TOKEN)
    forge.forbid("GH013: Repository rule violations found")
    with pytest.raises(GitRefusedError, match="rule violations"):
        forge.mirror.push(TOKEN, [RefUpdate(DRAFT, "", one)])
    assert forge.refs() == {MAIN: one}


def test_what_was_made_elsewhere_is_taken_over(forge: Forge) -> None:
    """The short-cut moves refs from wherever they are: what a person pushed is hidden."""
    one = forge.commit(FILES)
    forge.move(MAIN, one)
    forge.mirror.fetch(TOKEN)
    began = forge.clock.monotonic()
    with forge.mirror.open() as git:
        tag = git.write_tag("net/core/v1", one, WHO, WHEN, "text\n")
    forge.mirror.take_over([RefUpdate(V1, "", tag)])
    with forge.mirror.open() as git:
        assert git.refs(V1)[V1] == (tag, one)
    two = forge.commit({"a": b""}, one)
    forge.move(MAIN, two)
    forge.mirror.take_over([RefUpdate(MAIN, NOWHERE, one)])
    forge.mirror.fetch(TOKEN, began)  # it is not known any more where the refs are
    with forge.mirror.open() as git:
        assert (git.ref(MAIN), git.ref(V1)) == (two, None)


def test_mirrors_that_were_not_used_are_freed_and_come_back(forge: Forge) -> None:
    """The short-cut hands out another mirror each time, and forgets what it fetched."""
    forge.move(MAIN, one := forge.commit(FILES))
    mirror = forge.mirror
    assert forge.mirrors.of(on_github(1), forge.url) is mirror
    for number in (1, 2):
        forge.mirrors.of(on_github(number), forge.url).fetch(TOKEN)
        forge.clock.seconds += 1

    assert forge.mirrors.trim()[0] == "1"
    mirror.fetch(TOKEN)
    with mirror.open() as git:
        assert git.ref(MAIN) == one


# --- history --------------------------------------------------------------------------------------


def test_its_name_is_the_mirrors_own(forge: Forge) -> None:
    """Fails when two mirrors share turns, or one has another name each time it is opened."""
    forge.mirror.fetch(TOKEN)
    other = forge.mirrors.of(on_github(2), forge.url)
    other.fetch(TOKEN)

    with forge.mirror.open() as one, forge.mirror.open() as again, other.open() as another:
        assert one.name == again.name != another.name


def test_a_path_is_no_pattern(forge: Forge) -> None:
    """The short-cut gives git the name of a file, which it takes for a pattern of others."""
    root = forge.commit({"a": b"0"}, at=10)
    one = forge.commit({"a": b"0", ":(top,glob)**": b"1", "[b]": b"1"}, root, at=20)
    two = forge.commit({"a": b"2", ":(top,glob)**": b"1", "[b]": b"1", "b": b"2"}, one, at=30)
    names = ":(top,glob)**", "[b]"

    with forge.opened(two) as git:
        assert [git.last_change(two, each) for each in (*names, "a")] == [one, one, two]
        assert not git.changed_within(one, two, names)


def test_commits(forge: Forge) -> None:
    root = forge.commit({"a": b"0"}, at=10)
    one, side = forge.commit({"a": b"1"}, root, at=20), forge.commit({"b": b"2"}, root, at=30)
    both = forge.commit({"a": b"1", "b": b"2"}, one, side, at=40)
    alien = forge.commit({"z": b""}, at=50)
    long = forge.made.commit({"z": b""}, alien, message="x" * (MOST_TEXT + 1))
    joined = forge.commit({"a": b"1", "z": b""}, one, long, at=60)
    git = forge.opened(both, alien, long, joined)

    found = git.commit(both)
    assert (found.sha, found.parents, found.message) == (both, (one, side), "change")
    assert (found.author, found.committed) == ("author <author@forge.example> 40 +0000", 40)
    assert (found.cut, git.commit(long).cut) == (False, True)
    assert len(git.commit(long).message) < MOST_TEXT
    assert [git.contains(both, each) for each in (root, side, both, alien)] == [True] * 3 + [False]
    assert (git.merge_base(one, side), git.merge_base(both, one)) == (root, one)
    assert git.merge_base(one, alien) is None
    assert [c.sha for c in git.first_parents(both, "")] == [root, one, both]
    assert [c.sha for c in git.first_parents(both, one, limit=5)] == [both]
    assert [git.on_line(both, each) for each in (both, one, root, side)] == [True] * 3 + [False]
    assert [git.last_change(both, each) for each in ("a", "b", "c")] == [one, both, None]
    assert git.last_change(one, "b") is None  # of its own line alone
    assert git.cut_within(alien, long)
    assert not git.cut_within(root, both)
    assert git.cut_within(one, joined)  # what a merge brings counts, beside its own line
    assert git.changed_within(root, side, ["b"])
    assert not git.changed_within(root, side, ["c", "b/c"])
    back = forge.commit({"a": b"1"}, forge.commit({"a": b"1", "c/d": b""}, one, at=70), at=80)
    with forge.opened(back) as there:
        assert there.changed_within(one, back, ["c"])  # what was taken back was changed
        assert not there.changed_within(one, back, ["a"])
    assert not git.changed_within(side, both, ["b"])  # merges do not count
    git.close()
    git.close()


def test_trees(forge: Forge) -> None:
    head = forge.commit(FILES)
    after = forge.commit({**FILES, "net/core/a.yaml": b"a: 2\n", "new/Kptfile": b"x"}, head)
    with forge.opened(after) as git:
        tree = git.tree(head, "net/core")
        assert git.tree(head, "") == git.commit(head).tree
        assert [git.tree(head, p) for p in ("no", "README.md", "net/core/a.yaml/x")] == [""] * 3
        assert (git.package(head, "net/core"), git.package(head, "net")) == (tree, "")
        assert git.package("", "net/core") == ""
        assert git.entry(head, "net/core") == f"40000 {tree}"
        assert (git.entry(head, "README.md")[:7], git.entry(head, "no")) == ("100644 ", "")
        assert git.blob(head, "net/core/a.yaml", 3) == LINES[:3]
        assert git.blob(head, "net/core/a.yaml", 999) == LINES
        assert git.blob(head, "net/core/a.yaml", 3) == LINES[:3]
        assert [git.blob(head, p, 9) for p in ("net/core", "no")] == [None, None]
        assert {p: e.data for p, e in git.files(tree, DEFAULT).items()} == {
            p.removeprefix("net/core/"): d for p, d in FILES.items() if p.startswith("net/core/")
        }
        assert (git.count(tree), git.count(git.tree(head, ""))) == (3, len(FILES))
        for limits in (
            PackageLimits(files=2),
            PackageLimits(package_bytes=20),
            PackageLimits(file_bytes=20),
        ):
            with pytest.raises(PackageError):
                git.files(tree, limits)
        assert git.alike(head, ["net/core", "x"]) == {
            "net/core": frozenset({"net/Core"}), "x": frozenset(),
        }  # fmt: skip
        assert git.alike("", ["net/core"]) == {"net/core": frozenset()}
        assert git.difference(head, after) == Difference(
            {p: git.entry(after, p) for p in ("net/core/a.yaml", "new/Kptfile")},
            {
                "net/core": (tree, git.tree(after, "net/core")),
                "new": ("", git.tree(after, "new")),
            },
        )
        assert set(git.difference("", head).packages) == {
            "net/core", "net/Core", "net/core/sub",
        }  # fmt: skip


def test_what_is_written_is_gits_own(forge: Forge) -> None:
    """The short-cut sorts folders by their names, or counts on an id of its own."""
    head = forge.commit({**FILES, "tool": f"100755 {forge.made.store('blob', b'1')}"})
    changes: dict[str, bytes | None] = {
        "net/core/sub/Kptfile": None, "net/core.yaml": b"1", "tool": b"2", "a/b/c": b"",
    }  # fmt: skip
    with forge.opened(head) as git:
        new = git.write_commit(head, changes, WHO, WHEN, lambda tree: f"Render\n\n{tree}\n")
        tag = git.write_tag("net/core/v1", new, WHO, WHEN, "text\n")
        assert (git.tag_message(tag, new), git.tag_message(tag, head)) == ("text\n", None)
        assert git.tag_message(new, new) is None
        assert git.entry(new, "tool").startswith("100755 ")
        assert git.commit(new).message == f"Render\n\n{git.commit(new).tree}\n"
        with pytest.raises(ValueError, match="git holds no such path"):
            git.write_commit(head, {"../x": b""}, WHO, WHEN, lambda _: "m")
    assert (new, tag) == (GIT_COMMIT, GIT_TAG)


def test_files_that_differ_between_trees_are_told_with_their_modes(forge: Forge) -> None:
    """Short-cuts refused: a folder that became a file, or a mode that changed, is no difference."""
    one: dict[str, bytes | str] = {
        "a": b"1",
        "gone/x": b"2",
        "now/file": b"3",
        "same/z": b"4",
        "file": b"5",
    }
    tool = forge.made.store("blob", b"1")
    other: dict[str, bytes | str] = {
        "a": f"100755 {tool}", "now": b"6", "same/z": b"4", "file/y": b"7",
    }  # fmt: skip
    before, after = forge.commit(one), forge.commit(other)
    with forge.opened(before, after) as git:
        trees = [git.tree(sha, "") for sha in (before, after)]
        wanted = {
            "a": Entry(b"1", "100755"),
            "file": None,
            "file/y": Entry(b"7"),
            "gone/x": None,
            "now": Entry(b"6"),
            "now/file": None,
        }
        assert git.changed(trees[0], trees[1]) == wanted
        assert [*git.changed(*trees)].index("file") < [*git.changed(*trees)].index("file/y")
        assert git.changed(trees[0], trees[0]) == {}
        assert git.changed("", trees[0]) == {
            path: Entry(data) for path, data in one.items() if isinstance(data, bytes)
        }


def test_a_merge_is_gits_but_for_the_files_that_are_given(forge: Forge) -> None:
    """The short-cut takes one side's tree, loses a mode, or keeps git's marks of a conflict."""
    start = forge.commit({"a": b"1\n", "b": b"1\n", "gone": b"1\n"})
    head = forge.commit({"a": b"2\n", "b": b"1\n", "gone": b"2\n"}, start)
    base = forge.commit({"a": b"3\n", "b": b"3\n", "gone": b"3\n", "new": b"1\n"}, start)
    files = {"a": Entry(b"23\n", "100755"), "gone": None}
    with forge.opened(head, base) as git:
        new = git.write_merge(head, base, files, WHO, WHEN, lambda tree: f"Merge\n\n{tree}\n")
        assert git.commit(new).parents == (head, base)
        assert git.commit(new).message == f"Merge\n\n{git.commit(new).tree}\n"
        said = {path: git.blob(new, path, 99) for path in ("a", "b", "gone", "new")}
        assert said == {"a": b"23\n", "b": b"3\n", "gone": None, "new": b"1\n"}
        assert git.entry(new, "a").startswith("100755 ")
        with pytest.raises(ValueError, match="gone conflicts"):
            git.write_merge(head, base, {"a": None}, WHO, WHEN, lambda _: "m")


# --- merges ---------------------------------------------------------------------------------------


def _line(number: int, text: bytes) -> bytes:
    lines = LINES.splitlines(keepends=True)
    lines[number : number + 1] = [text] if text else []
    return b"".join(lines)


MERGES: dict[str, tuple[dict[str, bytes | None], dict[str, bytes | None], tuple[str, ...]]] = {
    "other files": ({"README.md": b"1"}, {"net/other.yaml": b"2"}, ()),
    "other lines of a file": (
        {"net/core/a.yaml": _line(1, b"one\n")}, {"net/core/a.yaml": _line(7, b"")}, (),
    ),
    "the same change": ({"README.md": b"1"}, {"README.md": b"1"}, ()),
    "the same line": (
        {"net/core/a.yaml": _line(4, b"one\n")},
        {"net/core/a.yaml": _line(4, b"other\n")},
        ("net/core/a.yaml",),
    ),
    "lines beside one another": (
        {"net/core/a.yaml": _line(4, b"one\n")},
        {"net/core/a.yaml": _line(5, b"other\n")},
        ("net/core/a.yaml",),
    ),
    "added twice": ({"new": b"1"}, {"new": b"2"}, ("new",)),
    "deleted and changed": ({"README.md": None}, {"README.md": b"1"}, ("README.md",)),
    "deleted on one side": ({"net/core/sub/Kptfile": None}, {"README.md": b"1"}, ()),
    "no text": ({"README.md": b"1\0"}, {"README.md": b"2\0"}, ("README.md",)),
}  # fmt: skip


@pytest.mark.parametrize(("mine", "yours", "conflicts"), MERGES.values(), ids=MERGES)
def test_merges(
    forge: Forge,
    mine: dict[str, bytes | None],
    yours: dict[str, bytes | None],
    conflicts: tuple[str, ...],
) -> None:
    """The short-cut takes one side: what the other one did is published unseen."""
    root = forge.commit(FILES, at=1)
    base, head = (forge.commit(_with(FILES, side), root, at=2) for side in (mine, yours))
    with forge.opened(base, head) as git:
        found = git.merged(base, head)
        assert found.conflicts == conflicts
        assert (found.tree == "") == bool(conflicts)
        if "net/core/a.yaml" not in yours and not conflicts:
            both = forge.commit(_with(_with(FILES, mine), yours))
            assert found.tree == git_tree(forge, both)


def test_merges_without_work(forge: Forge) -> None:
    root = forge.commit(FILES, at=1)
    head = forge.commit({**FILES, "x": b""}, root, at=2)
    alien = forge.commit({"z": b""}, at=3)
    with forge.opened(head, alien) as git:
        assert git.merged(root, head) == TrialMerge(
            git.commit(head).tree, git.difference(root, head)
        )
        assert git.merged(head, root) == TrialMerge(git.commit(head).tree)
        assert git.merged(root, alien) == TrialMerge("", unrelated=True)


def _with(
    files: Mapping[str, bytes | str], changes: Mapping[str, bytes | None]
) -> dict[str, bytes | str]:
    after = {**files, **{path: data for path, data in changes.items() if data is not None}}
    return {path: data for path, data in after.items() if changes.get(path, b"") is not None}


def git_tree(forge: Forge, commit: str) -> str:
    return forge.made.known[commit][1][5:45].decode()


# --- both at once ---------------------------------------------------------------------------------


def test_histories_drawn_at_random_read_the_same(tmp_path: Path) -> None:
    """The short-cut agrees on the cases above: what nobody thought of reads differently.

    All objects are handed to git, which checks them.
    """
    remote = MemoryRemote()
    tips = [_drawn(remote.objects, random.Random(seed)) for seed in range(30)]
    disk = Remote(tmp_path / "1.git")
    Forge(MemoryMirrors({}), "", ManualClock(), remote, disk).write(disk.folder)
    for number, line in enumerate(tips):
        remote.refs |= {f"refs/heads/{number}-{n}": sha for n, sha in enumerate(line)}
    script = "".join(f"create {ref} {sha}\n" for ref, sha in remote.refs.items())
    disk.git("update-ref", "--stdin", data=script.encode())
    disk.git("fsck", "--strict", "--no-dangling")
    memory = MemoryMirrors({"there": remote}).of(on_github(1), "there")
    memory.fetch("")
    on_disk = DiskMirrors(tmp_path).of(on_github(1), "")

    with on_disk.open() as real, memory.open() as model:
        assert dict(real.refs()) == dict(model.refs())
        for line in tips:
            assert _read(real, line) == _read(model, line)


def _drawn(objects: MemoryObjects, drawn: random.Random) -> list[str]:
    """A few commits, of which the last ones are tips; merges take one side's files."""
    files: dict[str, dict[str, bytes | str]] = {}
    line: list[str] = []
    for at in range(drawn.randint(4, 7)):
        parents = drawn.sample(line, min(len(line), drawn.choice([1, 1, 2])))
        mine = dict(files[parents[0]]) if parents else dict(FILES)
        path = drawn.choice([*FILES, "new/Kptfile", "net/core/b.yaml"])
        lines = [b"%d\n" % n for n in range(12)]
        lines[drawn.randrange(12)] = b"changed %d\n" % at
        mine[path] = b"".join(lines)
        sha = objects.commit(mine, *parents, at=at + 1, message=f"{at}")
        files[sha] = mine
        line.append(sha)
    return line


def _read(git: History, line: list[str]) -> list[object]:
    one, other = line[-1], line[-2]
    paths = [*FILES, "net/core", "new", ""]
    return [
        [git.commit(sha) for sha in line],
        [git.first_parents(sha, "") for sha in (one, other)],
        [git.on_line(one, sha) for sha in line],
        [git.contains(one, sha) for sha in line],
        git.merge_base(one, other) if not _several(git, one, other) else "several",
        git.difference(one, other),
        [(git.entry(one, path), git.package(one, path)) for path in paths if path],
        [git.tree(one, path) for path in paths],
        git.changed_within(other, one, ["net/core", "README.md"]),
        git.cut_within(other, one),
        git.files(git.tree(one, ""), DEFAULT),
        git.merged(other, one) if not _several(git, one, other) else "several",
    ]


def _several(git: History, one: str, other: str) -> bool:
    """Whether they have several merge bases: which one is the best is git's affair then."""
    above = [set(_all(git, tip)) for tip in (one, other)]
    common = above[0] & above[1]
    return len(common - {p for sha in common for p in git.commit(sha).parents}) > 1


def _all(git: History, tip: str) -> Iterator[str]:
    yield tip
    for parent in git.commit(tip).parents:
        yield from _all(git, parent)


def test_every_method_has_a_test() -> None:
    """Fails when one is added to a protocol, and nobody says here what it does."""
    called = {
        n.attr
        for n in ast.walk(ast.parse(Path(__file__).read_text()))
        if isinstance(n, ast.Attribute)
    }
    for protocol in (Mirrors, Mirror, History):
        methods = {name for name in vars(protocol) if not name.startswith("_")}
        assert methods <= called, methods - called
