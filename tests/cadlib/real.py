"""The real packages beside this checkout, as files; tests skip where they are missing."""

import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from cadlib.package import files as package
from cadlib.package.files import Entry, Files

SHARED = (Path(__file__).resolve().parents[2] / "../shared").resolve()
BUNDLE = SHARED / "packages/nephio-catalog.bundle"
FOLDER = SHARED / "packages/kpt-examples"


LARGE = 80_000
"""Bytes of a file. Twenty are larger, by 6.6 of 8.5 MB: schemas, written by the tools that wrote
the smaller ones. `python -m tests.roundtrip` reads these too."""


@cache
def packages() -> dict[str, Files]:
    """Return every outermost package of both collections, by its name, without what is large."""
    return {
        name: {path: entry for path, entry in files.items() if len(entry.data) <= LARGE}
        for name, files in whole_packages().items()
    }


@cache
def whole_packages() -> dict[str, Files]:
    """Return every outermost package of both collections, by its name."""
    if not BUNDLE.exists() or not FOLDER.exists():
        pytest.skip(f"{SHARED}/packages is missing: it is not beside this checkout")
    found = dict(_split("kpt", dict(_folder(FOLDER))))
    found |= _split("nephio", dict(_bundle(BUNDLE)))
    return found


def _split(origin: str, files: Files) -> Iterator[tuple[str, Files]]:
    every = frozenset(package.find(files))
    for each in sorted(every):
        if package.owner_of(each, every - {each}) is not None:
            continue
        prefix = f"{each}/" if each else ""
        inside = {
            path.removeprefix(prefix): entry
            for path, entry in files.items()
            if path.startswith(prefix)
        }
        yield f"{origin}/{each}", inside


def _folder(folder: Path) -> Iterator[tuple[str, Entry]]:
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            yield (
                path.relative_to(folder).as_posix(),
                Entry(str(path.readlink()).encode(), "120000"),
            )
        elif path.is_file():
            yield path.relative_to(folder).as_posix(), Entry(path.read_bytes())


def _bundle(bundle: Path) -> Iterator[tuple[str, Entry]]:
    """Read the bundle's HEAD with git itself, without a checkout."""
    with tempfile.TemporaryDirectory() as folder:
        _git(folder, "clone", "--quiet", "--bare", str(bundle), ".")
        listed = _git(folder, "ls-tree", "-r", "-z", "HEAD").split(b"\0")
        rows = [row.split(b"\t", 1) for row in listed if row]
        ids = [meta.split()[2] for meta, _ in rows]
        data = _git(folder, "cat-file", "--batch", stdin=b"\n".join(ids) + b"\n")
        at = 0
        for meta, path in rows:
            header, _, _ = data[at : at + 200].partition(b"\n")
            start = at + len(header) + 1
            end = start + int(header.split()[2])
            yield path.decode(), Entry(data[start:end], meta.split()[0].decode())
            at = end + 1


def _git(folder: str, *arguments: str, stdin: bytes = b"") -> bytes:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, input=stdin, capture_output=True, check=True
    )
    return done.stdout
