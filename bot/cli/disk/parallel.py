"""Reads and edits the files of a large package on two cores.

A forked child takes half of the files. It sends back what their documents say as plain values
and keeps the nodes they were read from; when the functions are done it is sent the wanted values
and answers with the new text. What only the nodes can tell (a line number, a comment) is read
again here, for the few files where somebody asks.

Rules
- Only a process of one thread may be forked, and only on the command line is there one.
- The child does no output, holds no file open for writing, and ends when this process does.
"""

import marshal
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, BinaryIO, NoReturn, TypeAlias

from bot.cli import halves, progress
from cadlib.errors import PackageError, Place
from cadlib.limits import PackageLimits
from cadlib.yaml import (
    DELETED,
    Deleted,
    EditError,
    FieldPath,
    Stream,
    TemplatedFileError,
    Value,
    read,
)
from cadlib.yaml.bulk import Bulk, Edit, Serial, edit_one, read_one
from cadlib.yaml.tree import Document, Extent, SourceText

LEAST = 150_000
"""Bytes of files from which a child pays: forking and talking take about 10 ms, reading 15 MB/s
half of it saves."""


@contextmanager
def bulk() -> Iterator[Bulk]:
    """Give what reads and edits files fastest here."""
    if not halves.pays():
        yield Serial()
        return
    both = Parallel()
    try:
        yield both
    finally:
        both.close()


class Parallel:
    """Two processes, this one and a child, each with half of the files."""

    def __init__(self) -> None:
        self._child: _Child | None = None
        self._theirs: set[int] = set()  # ids of the streams whose nodes the child has

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.close()

    def read(
        self, files: Mapping[str, bytes], limits: PackageLimits
    ) -> Sequence[Stream | PackageError]:
        """Read each file; what is wrong with one stands in its place."""
        progress.at(f"reading {len(files)} files")
        if self._child is not None or sum(map(len, files.values())) < LEAST:
            return Serial().read(files, limits)
        theirs = dict(_half(files))
        self._child = _Child(theirs, limits)
        found = {
            path: read_one(path, data, limits) for path, data in files.items() if path not in theirs
        }
        told = self._child.told()
        if told is None:  # it was killed: whoever did that did not mean us
            found |= {path: read_one(path, data, limits) for path, data in theirs.items()}
        else:
            far = {
                path: _arrived(each, path, theirs[path], limits)
                for path, each in zip(theirs, told, strict=True)
            }
            self._theirs = {id(stream) for stream in far.values()}
            found |= far
        return [found[path] for path in files]

    def edit(self, edits: Sequence[Edit]) -> Sequence[bytes]:
        """Return the new text of each file, or raise the PackageError of one."""
        progress.at(f"changing {len(edits)} files")
        # What the child is told of a value does not tell the order of its keys.
        theirs = [each for each in edits if id(each.stream) in self._theirs and not each.reorder]
        if self._child is None or not theirs:
            return Serial().edit(edits)
        self._child.ask([_asked(each) for each in theirs])
        asked = set(map(id, theirs))
        done = {id(each): edit_one(each) for each in edits if id(each) not in asked}
        told = self._child.told()
        for position, each in enumerate(theirs):
            done[id(each)] = edit_one(each) if told is None else _text(told[position])
        return [done[id(each)] for each in edits]


def _half(files: Mapping[str, bytes]) -> Iterable[tuple[str, bytes]]:
    """Yield files that hold a little less than half of the bytes, large and small ones mixed.

    The child takes longer for as many: it also tells what it found, and is told what to do.
    """
    ours = theirs = 0
    for path, data in files.items():
        if theirs * 10 < ours * 9:
            theirs += len(data)
            yield path, data
        else:
            ours += len(data)


class _Child:
    """The other process, and how to talk to it: messages of `marshal`, each behind its length.

    Args:
        files: What it reads, at once and in order.
        limits: As for `yaml.read`.
    """

    def __init__(self, files: Mapping[str, bytes], limits: PackageLimits) -> None:
        down, up = os.pipe(), os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(down[1])
            os.close(up[0])
            _serve(os.fdopen(down[0], "rb"), os.fdopen(up[1], "wb"), files, limits)
        os.close(down[0])
        os.close(up[1])
        self._to, self._from = os.fdopen(down[1], "wb"), os.fdopen(up[0], "rb")

    def close(self) -> None:
        """End it: it reads to the end of what it is sent."""
        with suppress(BrokenPipeError):  # it was killed, and what it was sent last is still here
            self._to.close()
        self._from.close()
        os.waitpid(self._pid, 0)

    def ask(self, what: Sequence[object]) -> None:
        """Send it work; `told` brings the answer. One that is gone tells nothing."""
        try:
            _send(self._to, what)
        except BrokenPipeError:
            return

    def told(self) -> Sequence[Any] | None:
        """Return what it says next; None if it is gone."""
        return _receive(self._from)


def _serve(
    asked: BinaryIO, answers: BinaryIO, files: Mapping[str, bytes], limits: PackageLimits
) -> NoReturn:
    """Be the child: tell what the files hold, then edit until nobody asks any more."""
    try:
        streams = {path: read_one(path, data, limits) for path, data in files.items()}
        _send(answers, [_told(stream) for stream in streams.values()])
        while (edits := _receive(asked)) is not None:
            _send(answers, [_edited(streams, *each) for each in edits])
    finally:  # never return into the code of the parent, nor flush what it has buffered
        os._exit(0)


def _send(to: BinaryIO, message: Any) -> None:
    data = marshal.dumps(message)
    to.write(len(data).to_bytes(8, "big"))
    to.write(data)
    to.flush()


def _receive(source: BinaryIO) -> Any | None:
    size = source.read(8)
    if len(size) < 8:
        return None
    data = source.read(int.from_bytes(size, "big"))
    return marshal.loads(data) if len(data) == int.from_bytes(size, "big") else None  # noqa: S302 - our own child wrote it


# What is said of a file: a tuple for each document, or what is wrong with it.

_ERRORS: dict[str, type[PackageError]] = {
    kind.__name__: kind for kind in (PackageError, TemplatedFileError, EditError)
}


def _told(stream: Stream | PackageError) -> object:
    if isinstance(stream, PackageError):
        return _failure(stream)
    return [(each.value, each.empty, each.template, each.index) for each in stream.documents]


def _failure(error: PackageError) -> dict[str, object]:
    place = error.place
    return {
        "kind": type(error).__name__,
        "place": (place.path, place.line, place.field),
        "problem": error.problem,
        "fix": error.fix,
    }


def _error(told: Mapping[str, Any]) -> PackageError:
    return _ERRORS[told["kind"]](Place(*told["place"]), told["problem"], told["fix"])


def _arrived(told: Any, path: str, data: bytes, limits: PackageLimits) -> Stream | PackageError:
    """Return a stream whose nodes are read when somebody asks for them."""
    if isinstance(told, dict):
        return _error(told)

    @lru_cache(maxsize=1)
    def near() -> Stream:
        return read(data, path=path, limits=limits)

    def extent(position: int) -> Callable[[], Extent]:
        return lambda: near().documents[position].near

    source = SourceText.of(path, data)
    documents = tuple(
        Document(value, empty, template, index, source, extent(position))
        for position, (value, empty, template, index) in enumerate(told)
    )
    return Stream(data, source, documents)


_Wanted = tuple[int, "_Change | None"]  # position, and what changes; None: the document goes
_Comments = dict[int, dict[FieldPath, str]]

# What becomes of a value: () if nothing, (new,) if another stands in its place, a mapping of what
# becomes of its keys, a list of what becomes of its items. Most of a resource stays, and what is
# not sent need not be compared on the other side either.
_Change: TypeAlias = "tuple[()] | tuple[Value] | dict[str, _Change] | list[_Change]"


def _asked(each: Edit) -> tuple[str, list[_Wanted], _Comments]:
    documents = each.stream.documents
    wanted: list[_Wanted] = [
        (position, None if isinstance(now, Deleted) else _change(documents[position].value, now))
        for position, now in each.wanted.items()
    ]
    comments = {position: dict(found) for position, found in each.comments.items()}
    return each.stream.source.path, wanted, comments


def _change(was: Value, now: Value) -> _Change:
    if now is was:
        return ()
    if isinstance(now, dict) and isinstance(was, dict):
        return {
            key: _change(was[key], value) if key in was else (value,) for key, value in now.items()
        }
    if isinstance(now, list) and isinstance(was, list) and len(now) == len(was):
        return list(map(_change, was, now))
    return (now,)


def _changed(was: Value, change: _Change) -> Value:
    if isinstance(change, tuple):
        return change[0] if change else was
    if isinstance(change, dict):
        old = was if isinstance(was, dict) else {}
        return {key: _changed(old.get(key), each) for key, each in change.items()}
    items = was if isinstance(was, list) else []
    return list(map(_changed, items, change))


def _edited(
    streams: Mapping[str, Stream | PackageError],
    path: str,
    wanted: list[_Wanted],
    comments: _Comments,
) -> object:
    stream = streams[path]
    try:
        if isinstance(stream, PackageError):
            raise stream
        values = {
            position: DELETED
            if change is None
            else _changed(stream.documents[position].value, change)
            for position, change in wanted
        }
        return edit_one(Edit(stream, values, comments))
    except PackageError as error:
        return _failure(error)


def _text(told: Any) -> bytes:
    if isinstance(told, dict):
        raise _error(told)
    return bytes(told)
