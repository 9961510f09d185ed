"""Repositories with many packages, release tags and proposals, made quickly for measurements.

Commits go in by one stream for `git fast-import`, tags as one pack with packed refs, as on a forge
that was there for years. The tags are ours: they carry our record, and the index knows them.
"""

import hashlib
import struct
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import psycopg

from bot.sandbox.git.bare import environment
from bot.sandbox.records.refs import Refs
from lifecycle import names, records
from tests.app_key import keys
from tests.ids import on_github
from tests.stories.real import RealWorld
from tests.stories.world import CONFIG, package, resized

_WHO = "owner <owner@users.example> 1700000000 +0000"


def name(number: int) -> str:
    """The path of a package: fifty areas, each with its share."""
    return f"area-{number % 50:02}/package-{number:05}"


def fill(made: RealWorld, packages: int, tags: int, proposals: int) -> None:
    """Give a repository its packages and tags, and open pull requests; the bot does not run yet.

    Each commit of `main` releases every package once, so that there are as many as revisions of
    one package.

    Args:
        made: The world; what its repository held is replaced.
        packages: How many.
        tags: How many in all; each package has the same share.
        proposals: Open pull requests, each of a package of its own, in draft state.
    """
    state, repository = made.forge.state, made.repository
    folder = made.forge.store.path(repository.id)
    rounds = max(1, tags // packages)
    _fast_import(folder, _commits(packages, rounds, proposals))
    _write_tags(folder, repository.id, packages, rounds)
    # As forges keep them: chains of differences as long as those of fast-import are slow to read.
    _git(folder, "repack", "-a", "-d", "-f", "-q", "--depth=10")
    with state.lock:
        git = state.git(repository)
        repository.refs, repository.default_branch = Refs(git.refs()), "main"
        author = state.user("author")
        for number in range(proposals):
            branch = f"drafts/{name(number)}/w"
            title = f"Change {name(number)}"
            state.pulls.open(repository, author, title=title, head=branch, base="main", draft=True)


def index(made: RealWorld) -> None:
    """Let the index of the bot know every revision, as after years."""
    repository = made.repository
    folder = made.forge.store.path(repository.id)
    fields = "%(refname)%00%(objectname)%00%(*objectname)"
    listed = _git(folder, "for-each-ref", f"--format={fields}", "refs/tags")
    with (
        psycopg.connect(made.environment["DATABASE_URL"]) as database,
        database.cursor() as cursor,
        cursor.copy("COPY revision (repository, package, number, target, tag) FROM STDIN") as copy,
    ):
        for line in listed.splitlines():
            ref, tag, target = line.split("\0")
            parsed = names.parse_tag(ref)
            if parsed is not None:
                copy.write_row((repository.id, *parsed, target, tag))
    with psycopg.connect(made.environment["DATABASE_URL"], autocommit=True) as database:
        database.execute("ANALYZE")


def _commits(packages: int, rounds: int, proposals: int) -> Iterator[str]:
    yield f"reset refs/heads/main\n{_commit('main', 1, 'Begin')}"
    yield "deleteall\n" + _file(".porchbot.yaml", CONFIG)
    for number in range(packages):
        yield from (_file(path, text) for path, text in package(name(number)).items())
    for turn in range(2, rounds + 1):
        yield f"{_commit('main', turn, f'Release {turn}')}from :{turn - 1}\n"
        for number in range(packages):
            yield from (_file(path, text) for path, text in resized(name(number), turn).items())
    for number in range(proposals):
        branch = f"drafts/{name(number)}/w"
        yield f"{_commit(branch, rounds + 1 + number, 'Change')}from :{rounds}\n"
        yield from (_file(path, text) for path, text in resized(name(number), "0").items())


def _write_tags(folder: Path, repository: int, packages: int, rounds: int) -> None:
    """Tag objects as one pack, and packed refs that name them: git would write a file for each."""
    line = _git(folder, "rev-list", "--reverse", "--first-parent", "main").split()
    refs: list[tuple[str, str, str]] = []
    pack = [b"PACK" + struct.pack(">II", 2, packages * rounds)]
    for turn, commit in enumerate(line, 1):
        listed = _git(folder, "ls-tree", "-r", "-d", "--format=%(path) %(objectname)", commit)
        trees = dict(row.split(" ") for row in listed.splitlines())
        for path in map(name, range(packages)):
            tag = _tag(repository, path, turn, commit, trees[path])
            sha = hashlib.sha1(b"tag %d\0%s" % (len(tag), tag), usedforsecurity=False).hexdigest()
            refs.append((f"refs/tags/{names.spelled(path, turn)}", sha, commit))
            # An object in a pack begins with its kind, 4 for a tag, and its size, low bits first.
            size = len(tag)
            pack.append(bytes([0xC0 | size & 15, size >> 4]) + zlib.compress(tag, 1))
    whole = b"".join(pack)
    trailer = hashlib.sha1(whole, usedforsecurity=False).digest()
    subprocess.run(
        ["git", "index-pack", "--stdin"],
        cwd=folder,
        env=environment(folder.parent),
        input=whole + trailer,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    lines = ["# pack-refs with: peeled fully-peeled sorted "]
    lines += [f"{sha} {ref}\n^{commit}" for ref, sha, commit in sorted(refs)]
    (folder / "packed-refs").write_text("\n".join([*lines, ""]))


def _tag(repository: int, path: str, turn: int, commit: str, tree: str) -> bytes:
    text = records.mark_tag(
        f"{names.spelled(path, turn)}\n",
        records.derive_key(keys()[0].encode()),
        repository_id=on_github(repository),
        package=path,
        revision=turn,
        commit=commit,
        tree=tree,
    )
    head = f"object {commit}\ntype commit\ntag {names.spelled(path, turn)}\ntagger {_WHO}\n\n"
    return (head + text).encode()


def _commit(branch: str, mark: int, subject: str) -> str:
    return f"commit refs/heads/{branch}\nmark :{mark}\ncommitter {_WHO}\n{_data(subject)}"


def _file(path: str, text: str) -> str:
    return f"M 100644 inline {path}\n{_data(text)}"


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}\n"


def _fast_import(folder: Path, stream: Iterator[str]) -> None:
    command = ["git", "fast-import", "--quiet", "--force"]
    with subprocess.Popen(
        command, cwd=folder, env=environment(folder.parent), stdin=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        process.stdin.writelines(stream)
        process.stdin.close()
        if process.wait():
            raise RuntimeError("git fast-import failed")


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=environment(folder.parent),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
