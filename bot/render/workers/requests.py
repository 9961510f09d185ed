"""What a worker is asked, and what it answers, as frames."""

import json
import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from bot.render import encoded
from bot.render.judging import Judging, SentRules
from bot.render.rendering import FreshVerdict, NotRun
from bot.render.verdicts import Before
from bot.render.workers.frames import Frame, FrameKind
from cadlib.errors import PackageError
from cadlib.limits import PackageLimits
from cadlib.package.files import Entry, Files
from cadlib.render.calls import CallOutcome, FunctionCall
from cadlib.update.upstream import Fetch, Fetched, GoneError
from lifecycle.drafting.make import DraftInputs
from lifecycle.facts.drafts import DraftRequest

_PART: Final = 1024 * 1024  # bytes sent at once


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """A package to render; or, without rules, one to compare with what it was, or to merge.

    Attributes:
        package: Its path in the repository.
        files: As they are.
        before: As they were.
        rules: Those of the base branch; None to compare only.
        limits: For packages.
        theirs: As they are on another branch, to merge them; None to do something else.
    """

    package: str
    files: Files
    before: Before
    rules: Judging | None
    limits: PackageLimits
    theirs: Files | None = None

    def frame(self) -> tuple[FrameKind, bytes, int, Iterator[bytes]]:
        """Its kind, its values, and how many bytes follow in parts."""
        blobs: dict[bytes, int] = {}
        before: object
        if isinstance(self.before, PackageError):
            before = (self.before.place, self.before.problem, self.before.fix)
        else:
            before = _listed(self.before, blobs)
        files = _listed(self.files, blobs)
        theirs = None if self.theirs is None else _listed(self.theirs, blobs)
        sizes = [len(blob) for blob in blobs]
        rules = None if self.rules is None else SentRules.of(self.rules)
        values = (self.package, files, before, rules, self.limits, theirs, sizes)
        kind = FrameKind.COMPARE if rules is None else FrameKind.RENDER
        kind = kind if theirs is None else FrameKind.MERGE
        return kind, pickle.dumps(values), sum(sizes), _parts(blobs)

    @classmethod
    def of(cls, frame: Frame) -> "RenderRequest":
        """Read it, in the worker: the bot is trusted."""
        values = pickle.loads(frame.values)  # noqa: S301
        package, files, before, rules, limits, theirs, sizes = values
        blobs = _blobs(frame, sizes)
        was: Before = (
            PackageError(*before) if isinstance(before, tuple) else _unlisted(before, blobs)
        )
        other = None if theirs is None else _unlisted(theirs, blobs)
        return cls(package, _unlisted(files, blobs), was, rules, limits, other)


@dataclass(frozen=True, slots=True)
class DraftWork:
    """A draft to make.

    Attributes:
        request: What is asked for.
        inputs: What it is made from.
    """

    request: DraftRequest
    inputs: DraftInputs

    def frame(self) -> tuple[FrameKind, bytes, int, Iterator[bytes]]:
        """Its kind, its values, and how many bytes follow in parts."""
        blobs: dict[bytes, int] = {}
        sides = [_listed(files, blobs) for files in (self.inputs.here, self.inputs.revision)]
        sizes = [len(blob) for blob in blobs]
        bare = replace(self.inputs, here={}, revision={})
        values = pickle.dumps((self.request, bare, sides, sizes))
        return FrameKind.DRAFT, values, sum(sizes), _parts(blobs)

    @classmethod
    def of(cls, frame: Frame) -> "DraftWork":
        """Read it, in the worker: the bot is trusted."""
        request, bare, sides, sizes = pickle.loads(frame.values)  # noqa: S301
        blobs = _blobs(frame, sizes)
        here, revision = (_unlisted(listed, blobs) for listed in sides)
        return cls(request, replace(bare, here=here, revision=revision))


def fetch(wanted: Fetch) -> Frame:
    """A package to fetch."""
    told = json.dumps([wanted.repo, wanted.directory, wanted.ref])
    return Frame(FrameKind.FETCH, told.encode())


def read_fetch(frame: Frame) -> Fetch:
    """Read which package is to be fetched.

    Raises:
        ValueError: It is none.
    """
    found: Any = json.loads(frame.values)
    if not isinstance(found, list) or [type(each) for each in found] != [str, str, str]:
        raise ValueError("what is to be fetched is no text")
    return Fetch(*found)


def fetched(came: Fetched | PackageError) -> tuple[FrameKind, bytes, int, Iterator[bytes]]:
    """What was fetched, or why nothing was: kind, values, and how many bytes follow in parts."""
    if isinstance(came, PackageError):
        told = pickle.dumps((isinstance(came, GoneError), came.place, came.problem, came.fix))
        return FrameKind.NOT_FETCHED, told, 0, iter(())
    blobs: dict[bytes, int] = {}
    files = _listed(came.files, blobs)
    sizes = [len(blob) for blob in blobs]
    values = pickle.dumps((came.commit, came.ref, files, sizes))
    return FrameKind.FETCHED, values, sum(sizes), _parts(blobs)


def read_fetched(frame: Frame) -> Fetched | PackageError:
    """Read what was fetched, in the worker: the bot is trusted."""
    values = pickle.loads(frame.values)  # noqa: S301
    if frame.kind is FrameKind.NOT_FETCHED:
        gone, *told = values
        return GoneError(*told) if gone else PackageError(*told)
    commit, ref, files, sizes = values
    return Fetched(_unlisted(files, _blobs(frame, sizes)), commit, ref)


_Listed = list[tuple[str, str, int]]


def _listed(files: Files, blobs: dict[bytes, int]) -> _Listed:
    """Path, mode, and which of the blobs; equal ones are sent once."""
    return [
        (path, entry.mode, blobs.setdefault(entry.data, len(blobs)))
        for path, entry in files.items()
    ]


def _unlisted(listed: _Listed, blobs: list[bytes]) -> Files:
    return {path: Entry(blobs[number], mode) for path, mode, number in listed}


def _blobs(frame: Frame, sizes: Iterable[int]) -> list[bytes]:
    """The blobs of a frame."""
    found, begin = list[bytes](), 0
    for size in sizes:
        found.append(bytes(frame.data[begin : begin + size]))
        begin += size
    return found


def _parts(blobs: Mapping[bytes, int]) -> Iterator[bytes]:
    """The blobs, small ones together."""
    part, size = list[bytes](), 0
    for blob in blobs:
        part.append(blob)
        size += len(blob)
        if size >= _PART:
            yield b"".join(part)
            part, size = [], 0
    if part:
        yield b"".join(part)


def outcome(came: CallOutcome | NotRun, sent: bytes) -> Frame:
    """What came of a call; of a list that begins with what was sent, the rest is sent back."""
    if isinstance(came, NotRun):
        return Frame(FrameKind.NOT_RUN, pickle.dumps(came.reason))
    same = came.resources is not None and came.resources.startswith(sent)
    values = (
        *(list(map(dict, came.results)), came.error, came.log),
        *(came.digest, came.fix, same, came.resources is None),
    )
    data = came.resources or b""
    return Frame(FrameKind.OUTCOME, pickle.dumps(values), data[len(sent) :] if same else data)


def read_outcome(frame: Frame, sent: bytes) -> CallOutcome | NotRun:
    """Read what came of a call, in the worker."""
    values = pickle.loads(frame.values)  # noqa: S301 - the bot is trusted
    if frame.kind is FrameKind.NOT_RUN:
        return NotRun(values)
    results, error, log, digest, fix, same, nothing = values
    rest = bytes(frame.data)
    resources = None if nothing else rest if not same else sent + rest if rest else sent
    return CallOutcome(
        resources=resources, results=results, error=error, log=log, digest=digest, fix=fix
    )


def call(made: FunctionCall) -> Frame:
    """A function to run."""
    return Frame(FrameKind.CALL, json.dumps(made.image).encode(), made.resources)


def read_call(frame: Frame) -> tuple[str, bytes]:
    """Image and list of resources of a call.

    Raises:
        ValueError: It is none.
    """
    image: Any = json.loads(frame.values)
    if not isinstance(image, str):
        raise ValueError("the image is no text")
    return image, bytes(frame.data)


def verdict(made: FreshVerdict) -> Frame:
    """A verdict, and whether it may leave memory."""
    data = made.encoded or encoded.write(made.verdict)
    return Frame(FrameKind.VERDICT, json.dumps(made.private).encode(), data)


def read_verdict(frame: Frame) -> FreshVerdict:
    """Read a verdict.

    Raises:
        ValueError: It is none.
    """
    data = bytes(frame.data)
    return FreshVerdict(encoded.read(data), data, private=json.loads(frame.values) is not False)
