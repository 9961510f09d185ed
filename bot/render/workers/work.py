"""What a worker process does: renders one package after the other, until the bot goes away.

It has no token, no database and no file of its own, and asks the bot to have functions run.
"""

import os
import socket
import traceback

from bot.render import encoded, merging, rendering
from bot.render.judging import Judging
from bot.render.kept import CachingReader
from bot.render.workers import frames, requests
from bot.render.workers.frames import OUT_OF_MEMORY, Frame, FrameKind
from bot.render.workers.requests import DraftWork, RenderRequest
from cadlib.diff.changes import changes
from cadlib.diff.values import Change
from cadlib.errors import PackageError
from cadlib.render.calls import CallOutcome, FunctionCall
from cadlib.update.upstream import Fetch
from cadlib.yaml.bulk import Bulk
from lifecycle.drafting.make import DraftSteps, make
from lifecycle.messages.making import not_run


def serve(connection: socket.socket) -> None:
    """Answer requests until the other end is closed."""
    bulk = CachingReader()
    while (frame := frames.receive(connection)) is not None:
        try:
            answer = _answer(connection, frame, bulk)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)  # anything else would take memory
        except ConnectionError:
            return
        except Exception:
            answer = Frame(FrameKind.BROKEN, b"", traceback.format_exc().encode(errors="replace"))
        frames.send(connection, answer)
        del frame, answer


def _answer(connection: socket.socket, frame: Frame, bulk: Bulk) -> Frame:
    if frame.kind is FrameKind.DROP:  # it crossed the answer
        return Frame(FrameKind.DROPPED)
    if frame.kind is FrameKind.DRAFT:
        return _drafted(connection, DraftWork.of(frame))
    request = RenderRequest.of(frame)
    del frame
    if request.theirs is not None and not isinstance(request.before, PackageError):
        sides = request.before, request.files, request.theirs
        return Frame(FrameKind.MERGED, b"", merging.write(merging.merge(request.package, *sides)))
    if request.rules is None:
        return Frame(FrameKind.CHANGES, b"", encoded.write_changes(_changes(request, bulk)))
    return _rendered(connection, request, request.rules, bulk)


def _changes(request: RenderRequest, bulk: Bulk) -> tuple[Change, ...]:
    if isinstance(request.before, PackageError):
        return ()
    return changes(request.before, request.files, request.limits, bulk)


def _rendered(
    connection: socket.socket, request: RenderRequest, rules: Judging, bulk: Bulk
) -> Frame:
    steps = rendering.steps(
        request.package, request.files, request.before, rules, request.limits, bulk
    )
    came: CallOutcome | rendering.NotRun | None = None
    while True:
        try:
            call = next(steps) if came is None else steps.send(came)
        except StopIteration as done:
            return requests.verdict(done.value)
        frames.send(connection, requests.call(call))
        frame = frames.receive(connection)
        if frame is None:
            raise ConnectionResetError
        if frame.kind is FrameKind.DROP:
            steps.close()
            return Frame(FrameKind.DROPPED)
        came = requests.read_outcome(frame, call.resources)


def _drafted(connection: socket.socket, work: DraftWork) -> Frame:
    """Make a draft; the bot fetches what it needs, and has functions run."""
    steps = make(work.request, work.inputs)
    try:
        need = next(steps)
        while True:
            asks = requests.fetch(need) if isinstance(need, Fetch) else requests.call(need)
            frames.send(connection, asks)
            frame = frames.receive(connection)
            if frame is None:
                raise ConnectionResetError
            if frame.kind is FrameKind.DROP:
                steps.close()
                return Frame(FrameKind.DROPPED)
            need = _answered(steps, need, frame)
    except StopIteration as done:
        return Frame(FrameKind.MERGED, b"", merging.write(done.value))


def _answered(steps: DraftSteps, need: Fetch | FunctionCall, frame: Frame) -> Fetch | FunctionCall:
    if isinstance(need, Fetch):
        fetched = requests.read_fetched(frame)
        return steps.throw(fetched) if isinstance(fetched, PackageError) else steps.send(fetched)
    came = requests.read_outcome(frame, need.resources)
    if isinstance(came, rendering.NotRun):
        return steps.throw(not_run(came.reason))
    return steps.send(came)
