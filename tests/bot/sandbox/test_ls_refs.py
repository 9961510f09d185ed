"""Lists of refs that the sandbox makes without git, held against git's own, byte for byte."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from bot.sandbox.git.bare import BareGit, environment
from bot.sandbox.git.ls_refs import HEADERS, RefList, read
from tests.bot.sandbox.world import World


def packets(*lines: str | None) -> bytes:
    """Packets of these lines, None for the delimiter, and a flush."""
    raw = [os.fsencode(line) if line is not None else None for line in lines]
    return b"".join(
        b"0001" if line is None else b"%04x%s\n" % (len(line) + 5, line) for line in raw
    ) + b"0000"  # fmt: skip


def asking(*prefixes: str, more: tuple[str, ...] = ("peel", "symrefs", "unborn")) -> bytes:
    said = ("command=ls-refs", "agent=git/2.39.5", "object-format=sha1", None)
    return packets(*said, *more, *(f"ref-prefix {prefix}" for prefix in prefixes))


@dataclass
class Bare:
    """A bare repository, its list of refs, and git's own."""

    path: Path
    git: BareGit
    refs: RefList

    def run(self, *arguments: str, given: bytes = b"", version: str = "") -> bytes:
        env = environment(self.path) | {
            "GIT_CONFIG_GLOBAL": os.devnull, "GIT_PROTOCOL": version, "GIT_DIR": str(self.path),
            "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
        }  # fmt: skip
        done = subprocess.run(
            ["git", *arguments], input=given, env=env, capture_output=True, check=True
        )
        return done.stdout

    def said(self, question: bytes) -> bytes:
        """Git's own answer."""
        asked = ("upload-pack", "--stateless-rpc", str(self.path))
        return self.run(*asked, given=question, version="version=2")

    def answer(self, question: bytes) -> bytes | None:
        asked = read(question)
        return None if asked is None else self.refs.answer(asked)

    def ref(self, name: str, sha: str) -> None:
        self.run("update-ref", "--no-deref", name, sha)


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Bare]:
    path = tmp_path / "1.git"
    git = BareGit(path, environment(tmp_path))
    made = Bare(path, git, RefList(path, git.peeled))
    path.mkdir()
    made.run("init", "--quiet", "--bare", "--initial-branch=main", str(path))
    yield made
    git.close()


def fill(bare: Bare) -> str:
    """Branches and tags of all kinds, some packed, some packed and moved since; gives a commit."""
    tree = bare.run("mktree").decode().strip()
    one, two = (bare.run("commit-tree", "-m", m, tree).decode().strip() for m in ("1", "2"))
    names = ["heads/main", "heads/main2", "heads/drafts/a", "heads/drafts/a-b", "heads/drafts/ab/c",
             "tags/net/core/v1", "tags/net/core-x/v1", "heads/drafts/x\u2028y/\udcff"]  # fmt: skip
    for name in names:
        bare.ref(f"refs/{name}", one)
    bare.run("tag", "--annotate", "-m", "t", "net/core/v2", one)
    bare.run("tag", "--annotate", "-m", "t", "net/core/v3", "net/core/v2")
    bare.run("tag", "--annotate", "-m", "t", "net/core/tree", tree)
    bare.run("pack-refs", "--all")
    bare.ref("refs/heads/main", two)
    bare.run("update-ref", "-d", "refs/heads/drafts/a-b")
    bare.run("tag", "--annotate", "-m", "t", "net/core/sub/v1", one)
    bare.ref("refs/heads/drafts/late/w", two)
    bare.ref("refs/pull/7/head", two)
    return one


QUESTIONS = [
    ("refs/heads/main", "refs/tags/net/core/"),
    ("refs/heads/", "refs/tags/"),
    ("refs/tags/", "refs/heads/", "refs/heads/main"),
    ("refs/heads/drafts/a",),
    ("refs/heads/drafts/a/",),
    ("refs/heads/drafts/a/b", "refs/tags/none/"),
    ("refs/heads/drafts/x\u2028y/",),
]


@pytest.mark.parametrize("prefixes", QUESTIONS, ids=" ".join)
@pytest.mark.parametrize("more", [(), ("peel",), ("peel", "symrefs", "unborn")], ids=" ".join)
def test_a_list_is_gits_own(bare: Bare, prefixes: tuple[str, ...], more: tuple[str, ...]) -> None:
    """The short-cut peels once, sorts by folders, or shows what was packed before it moved."""
    question = asking(*prefixes, more=more)
    assert bare.answer(question) == bare.said(question) == b"0000"  # nothing is there yet
    fill(bare)
    answer = bare.answer(question)
    assert answer == bare.said(question)
    bare.run("pack-refs", "--all")
    assert bare.answer(question) == answer


def test_what_changes_is_seen(bare: Bare) -> None:
    """The short-cut keeps the refs that were packed."""
    question = asking("refs/heads/", "refs/tags/")
    one = fill(bare)
    changes = [
        ("update-ref", "refs/heads/main", one),
        ("pack-refs", "--all"),
        ("update-ref", "-d", "refs/heads/drafts/a"),
        ("update-ref", "refs/heads/drafts/a/b", one),
        ("tag", "--delete", "net/core/v2"),
    ]
    for change in changes:
        bare.run(*change)
        assert bare.answer(question) == bare.said(question)
    bare.ref("refs/tags/net/core/gone", one)
    (bare.path / "refs/tags/net/core/gone").write_text("1" * 40 + "\n")
    assert bare.answer(question) == bare.said(question)


def test_what_only_git_tells_is_left_to_it(bare: Bare) -> None:
    """The short-cut passes over what it does not know: HEAD, unborn ones, symbolic refs."""
    fill(bare)
    for question in (
        asking(),
        asking("HEAD", "refs/heads/"),
        asking("refs/pull/7/head"),
        asking("refs/heads/", "refs/"),
        asking("refs/heads/../pull/"),
        asking("refs/tags//"),
        asking("refs/heads/", more=("peel", "other")),
        packets("command=fetch", None, "done"),
        packets("command=ls-refs", "server-option=x", None, "ref-prefix refs/heads/"),
        asking("refs/heads/") + b"0000",
        asking("refs/heads/")[:-4],
        b"",
    ):
        assert read(question) is None
    bare.run("symbolic-ref", "refs/heads/other", "refs/heads/main")
    asked = read(asking("refs/heads/"))
    assert asked is not None
    assert bare.refs.answer(asked) is None


def test_over_http_it_comes_as_gits_own(world: World) -> None:
    """The short-cut answers without looking at who asks, or with headers of its own."""
    place = f"{world.forge.web_url}/owner/catalog.git/git-upload-pack"
    sent = {"Content-Type": "application/x-git-upload-pack-request", "Git-Protocol": "version=2"}
    ours = httpx.post(place, content=asking("refs/heads/"), headers=sent)
    gits = httpx.post(place, content=asking("HEAD", "refs/heads/"), headers=sent)
    for name, value in HEADERS:
        assert ours.headers[name.decode()] == gits.headers[name.decode()] == value.decode()
    assert str(world.repo.branch("main")) in ours.text
    assert ours.content in gits.content
    git = world.clone("author")
    sha = git.write("a", "1")
    git.run("push", "--quiet", "origin", "HEAD:refs/heads/drafts/a")
    assert sha in httpx.post(place, content=asking("refs/heads/drafts/a"), headers=sent).text
    world.state.add_repository("owner", "secret", private=True)
    assert httpx.post(place.replace("catalog", "secret"), headers=sent).status_code == 401
