"""Git's object formats: commits, trees and tags as values, and how they are written as bytes."""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""Object id of the tree without entries; git knows it without being told."""

_PERSON = re.compile(rb"(.*?) ?<([^>]*)> (-?\d+) ([+-]\d{4})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Ident:
    """Author, committer or tagger, with the time and its zone."""

    name: str
    email: str
    when: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit as stored. `message` is the whole text, with its final newline if it has one."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Ident
    committer: Ident
    message: str
    signed: bool = False

    @property
    def subject(self) -> str:
        """First line of the message."""
        return self.message.split("\n", 1)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class TagObject:
    """An annotated tag object; `kind` is what it points at."""

    name: str
    target: str
    kind: str
    tagger: Ident
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """A name in a tree; `mode` in git's octal digits: 100644, 100755, 120000, 40000, 160000."""

    mode: str
    name: str
    sha: str

    @property
    def kind(self) -> str:
        """`blob`, `tree` or `commit` (a submodule)."""
        return {"40000": "tree", "160000": "commit"}.get(self.mode, "blob")


def read_commit(sha: str, content: bytes) -> Commit:
    """Parse a commit object."""
    headers, message = _split(content)
    return Commit(
        sha=sha,
        tree=_one(headers, b"tree"),
        parents=tuple(value.decode() for key, value in headers if key == b"parent"),
        author=_person(headers, b"author"),
        committer=_person(headers, b"committer"),
        message=message,
        signed=any(key == b"gpgsig" for key, _ in headers),
    )


def read_tag(content: bytes) -> TagObject:
    """Parse a tag object; a tag without tagger (very old ones) gets an empty one."""
    headers, message = _split(content)
    return TagObject(
        name=_one(headers, b"tag"),
        target=_one(headers, b"object"),
        kind=_one(headers, b"type"),
        tagger=_person(headers, b"tagger"),
        message=message,
    )


def read_tree(content: bytes) -> tuple[TreeEntry, ...]:
    """Parse a tree object."""
    entries, at = [], 0
    while at < len(content):
        end = content.index(b"\0", at)
        mode, _, name = content[at:end].partition(b" ")
        sha = content[end + 1 : end + 21].hex()
        entries.append(TreeEntry(mode=mode.decode(), name=os.fsdecode(name), sha=sha))
        at = end + 21
    return tuple(entries)


def tree_bytes(entries: Iterable[TreeEntry]) -> bytes:
    """A tree object's content, entries in git's order (a folder sorts as if it ended in `/`)."""

    def order(entry: TreeEntry) -> bytes:
        return os.fsencode(entry.name) + (b"/" if entry.kind == "tree" else b"")

    return b"".join(
        f"{e.mode} ".encode() + os.fsencode(e.name) + b"\0" + bytes.fromhex(e.sha)
        for e in sorted(entries, key=order)
    )


def commit_bytes(
    tree: str, parents: Iterable[str], message: str, *, author: Ident, committer: Ident
) -> bytes:
    """A commit object's content."""
    lines = [f"tree {tree}", *(f"parent {p}" for p in parents)]
    lines += [f"author {_written(author)}", f"committer {_written(committer)}"]
    return ("\n".join(lines) + "\n\n" + message).encode()


def tag_bytes(tag: TagObject) -> bytes:
    """A tag object's content."""
    lines = [f"object {tag.target}", f"type {tag.kind}", f"tag {tag.name}"]
    text = tag.message if tag.message.endswith("\n") else tag.message + "\n"
    return ("\n".join([*lines, f"tagger {_written(tag.tagger)}"]) + "\n\n" + text).encode()


def write_loose(repository: Path, kind: str, content: bytes) -> str:
    """Store an object the way git does, unless it is there; returns its id."""
    whole = f"{kind} {len(content)}\0".encode() + content
    sha = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    path = repository / "objects" / sha[:2] / sha[2:]
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        fresh = path.with_name(f"tmp_{sha[2:]}_{os.getpid()}")
        fresh.write_bytes(zlib.compress(whole, 1))
        fresh.replace(path)
    return sha


def _split(content: bytes) -> tuple[list[tuple[bytes, bytes]], str]:
    head, _, message = content.partition(b"\n\n")
    headers: list[tuple[bytes, bytes]] = []
    for line in head.split(b"\n"):
        if line.startswith(b" ") and headers:  # a signature goes on over several lines
            key, value = headers[-1]
            headers[-1] = (key, value + b"\n" + line[1:])
        else:
            key, _, value = line.partition(b" ")
            headers.append((key, value))
    return headers, message.decode(errors="replace")


def _one(headers: list[tuple[bytes, bytes]], key: bytes) -> str:
    return next((value.decode(errors="replace") for k, value in headers if k == key), "")


def _person(headers: list[tuple[bytes, bytes]], key: bytes) -> Ident:
    value = next((value for k, value in headers if k == key), b"")
    match = _PERSON.match(value)
    if match is None:
        return Ident("", "", datetime.fromtimestamp(0, UTC))
    name, email, seconds, zone = match.groups()
    minutes = int(zone[1:3]) * 60 + int(zone[3:5])
    offset = timezone(timedelta(minutes=-minutes if zone[:1] == b"-" else minutes))
    when = datetime.fromtimestamp(int(seconds), offset)
    return Ident(name.decode(errors="replace"), email.decode(errors="replace"), when)


def _written(person: Ident) -> str:
    name, email = (re.sub(r"[<>\n\0]", "", text).strip() for text in (person.name, person.email))
    return (
        f"{name} <{email}> {int(person.when.timestamp())} {person.when.strftime('%z') or '+0000'}"
    )
