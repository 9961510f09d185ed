"""Runs functions on a runner that is reached over gRPC: ours, or Porch's."""

import asyncio
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import unquote

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from cadlib.errors import PackageError
from cadlib.stream import resourcelist
from fnrunner.contract.errors import (
    CertificateError,
    MessageTooLargeError,
    RunnerBusyError,
    not_connected,
)
from fnrunner.contract.results import Result
from fnrunner.contract.run import CallLimits, FunctionOutcome, current_call
from fnrunner.wire import shared as wire
from fnrunner.wire import statuses
from fnrunner.wire.lists import SentList, SentLists
from fnrunner.wire.proto.evaluator_pb2 import EvaluateFunctionRequest, EvaluateFunctionResponse
from fnrunner.wire.tls import ClientTls, Stamps

_log = logging.getLogger(__name__)

_DETAILS: Final = 1024 * 1024  # bytes of results that a failed function may leave
_GRACE: Final = 1.0  # seconds that the runner has to say itself that time is up
_FIRST_PAUSE: Final = 0.05  # seconds between tries to reach the runner, doubled each time
_LAST_PAUSE: Final = 1.0
_HANDSHAKE: Final = 5.0  # seconds that one try may take
_EXIT_CODE: Final = re.compile("[0-9]{1,9}")
_UNREACHABLE: Final = grpc.StatusCode.UNAVAILABLE
# Nobody may have answered.
_NOT_SAID: Final = frozenset(
    {_UNREACHABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED}
)


class _NotUnderstoodError(Exception):
    """A part of a list was taken for a list, or what it is a part of is not kept there."""


@dataclass(frozen=True, slots=True)
class _Link:
    """A connection, and the certificates it was made with."""

    channel: grpc.aio.Channel
    evaluate: wire.Evaluate
    stamps: Stamps


class Client:
    """A runner on the other end of a socket.

    It connects when first used and again after the runner went away. A call that the
    runner cannot take is tried again for a while: functions have no side effects.
    """

    def __init__(
        self,
        address: str,
        limits: CallLimits = CallLimits(),  # noqa: B008 - frozen
        *,
        patience: float = 5.0,
        tls: ClientTls | None = None,
    ) -> None:
        """Make a client; nothing is connected yet.

        Args:
            address: "unix:/PATH" or "HOST:PORT".
            limits: Time of a call and size of a message.
            patience: How long to try to reach the runner and to wait for a busy one, in
                seconds; a call that has less time waits less.
            tls: Certificates, read again when their files change; None calls in plain.

        Raises:
            CertificateError: A certificate cannot be used.
        """
        self._address = address
        self._where = f"runner {address}"
        self._limits = limits
        self._patience = patience
        self._tls = tls
        self._closed = False
        self._lists = SentLists()
        self._leaving: set[asyncio.Task[None]] = set()
        self._link = self._linked()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Drop the connection; calls that run end with RunnerBusyError."""
        self._closed = True
        for task in self._leaving:
            task.cancel()
        await asyncio.gather(*self._leaving, return_exceptions=True)
        await self._link.channel.close(None)

    async def is_ready(self, seconds: float = 1.0, service: str = "") -> bool:
        """Whether the runner says within `seconds` that it serves, or that a service does."""
        health = health_pb2_grpc.HealthStub(self._connected().channel)
        try:
            answer = await health.Check(
                health_pb2.HealthCheckRequest(service=service), timeout=seconds, wait_for_ready=True
            )
        except grpc.aio.AioRpcError:
            return False
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        """Run it there; see `Runner.run`."""
        if len(resources) > self._limits.message_bytes:
            raise MessageTooLargeError(image, len(resources), self._limits.message_bytes)
        seconds = self._limits.seconds if seconds is None else seconds
        clock = asyncio.get_running_loop().time
        began, pause = clock(), _FIRST_PAUSE
        while True:
            left = max(0.0, seconds - (clock() - began))
            try:
                return await self._call(image, resources, left)
            except grpc.aio.AioRpcError as status:
                error = statuses.error(status, image, seconds=seconds, where=self._where)
                if not isinstance(error, RunnerBusyError) or self._closed:
                    raise error from status
                # One that says that it is busy says how long; one that cannot be reached may be
                # back at any moment.
                told = 0.0 if status.code() is _UNREACHABLE else error.retry_after
                if clock() + max(pause, told) > began + min(self._patience, seconds):
                    raise self._explained(error) from status
            await asyncio.sleep(max(pause, told))
            pause = min(pause * 2, _LAST_PAUSE)

    async def identity(self, image: str) -> str:
        """Return what would run there now, as in `FunctionOutcome.digest`.

        Nothing runs. "" where the runner does not say, or its answer may be another the next time.

        Raises:
            FunctionError: As `run`.
            RunnerBusyError: As `run`; it is asked once.
            RunnerBrokenError: As `run`.
        """
        call = self._connected().evaluate(
            EvaluateFunctionRequest(image=image),
            timeout=self._patience,
            metadata=((wire.IDENTIFY_KEY, "1"),),
        )
        try:
            await call
            return unquote(wire.text(await call.trailing_metadata(), wire.DIGEST_KEY))
        except grpc.aio.AioRpcError as status:
            raise statuses.error(
                status, image, seconds=self._patience, where=self._where
            ) from status

    def _explained(self, error: RunnerBusyError) -> RunnerBusyError:
        """Return an error with what may be behind it, where that is TLS."""
        why = not_connected(
            error.reason,
            tls=self._tls is not None,
            shown=self._tls is not None and self._tls.certificate is not None,
        )
        return RunnerBusyError(error.where, error.reason + why, error.retry_after)

    async def _call(self, image: str, resources: bytes, seconds: float) -> FunctionOutcome:
        """Call once; what a failed function left is an outcome, too."""
        caller = current_call().caller
        sent = self._lists.of(caller, resources)
        try:
            return await self._told(image, resources, sent, seconds)
        except _NotUnderstoodError:  # at once, so that the time is still there
            self._lists.forget(caller)
        return await self._told(image, resources, SentList(resources), seconds)

    async def _told(
        self, image: str, resources: bytes, sent: SentList, seconds: float
    ) -> FunctionOutcome:
        """Call once with a list that is sent in this way.

        Raises:
            _NotUnderstoodError: Only a part of the list was sent, and not taken as one.
        """
        call = self._connected().evaluate(
            EvaluateFunctionRequest(image=image, resource_list=sent.data),
            timeout=seconds + _GRACE,
            metadata=(
                (wire.DETAILS_LIMIT_KEY, str(_DETAILS)),
                (wire.SECONDS_KEY, f"{seconds:.3f}"),
                (wire.SAME_KEY, "1"),
                *wire.called_by(current_call().caller),
                *sent.metadata,
                *wire.traced(current_call().traceparent),
            ),
        )
        try:
            answer = await call
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # gRPC says the same when it is the connection that was closed.
            raise RunnerBusyError(self._where, "the connection was closed", _LAST_PAUSE) from error
        except grpc.aio.AioRpcError as status:
            if status.code() not in _NOT_SAID:
                self._understood(sent, resources, status.trailing_metadata())
            left = wire.detail(status.trailing_metadata(), EvaluateFunctionResponse)
            if left is None:
                raise
            # In a thread: a megabyte of results may take a second to read.
            found = await asyncio.to_thread(_results, left, status)
            return _outcome(left, status.trailing_metadata(), found)
        trailing = await call.trailing_metadata()
        self._understood(sent, resources, trailing)
        return _outcome(answer, trailing, sent=resources)

    def _understood(self, sent: SentList, resources: bytes, trailing: Iterable[Any] | None) -> None:
        """Take down that the runner keeps a list."""
        if sent.name and wire.text(trailing, wire.LIST_KEY) == sent.name:
            self._lists.told(current_call().caller, sent, resources)
        elif sent.part:
            raise _NotUnderstoodError

    def _connected(self) -> _Link:
        """The connection; another one when the certificates have changed."""
        if self._tls is not None and self._tls.stamps != self._link.stamps:
            try:
                new = self._linked()
            except CertificateError as error:
                _log.warning("the certificates from before stay in use: %s", error)
                self._link = replace(self._link, stamps=self._tls.stamps)
            else:
                # Calls that run may end where they are.
                closing = asyncio.ensure_future(
                    self._link.channel.close(self._limits.seconds + 2 * _GRACE)
                )
                self._leaving.add(closing)
                closing.add_done_callback(self._leaving.discard)
                self._link = new
        return self._link

    def _linked(self) -> _Link:
        options = _options(self._limits)
        if self._tls is None:
            channel = grpc.aio.insecure_channel(self._address, options=options)
            return _Link(channel, wire.evaluator(channel), ())
        stamps = self._tls.stamps
        channel = grpc.aio.secure_channel(
            self._address, self._tls.credentials(), options=(*options, *self._tls.options)
        )
        return _Link(channel, wire.evaluator(channel), stamps)


def _options(limits: CallLimits) -> tuple[tuple[str, int], ...]:
    return (
        *wire.sizes(limits),
        ("grpc.max_metadata_size", 2 * _DETAILS),
        ("grpc.absolute_max_metadata_size", 4 * _DETAILS),
        # gRPC waits up to two minutes before it connects anew; a runner is back in a second.
        ("grpc.initial_reconnect_backoff_ms", int(_FIRST_PAUSE * 1000)),
        # What it calls so is how long one try to connect may take; a busy machine needs a second.
        ("grpc.min_reconnect_backoff_ms", int(_HANDSHAKE * 1000)),
        ("grpc.max_reconnect_backoff_ms", int(_LAST_PAUSE * 1000)),
    )


def _outcome(
    answer: EvaluateFunctionResponse,
    metadata: Iterable[Any] | None,
    results: tuple[Result, ...] | None = None,
    *,
    sent: bytes = b"",
) -> FunctionOutcome:
    resources = answer.resource_list
    if sent and wire.text(metadata, wire.SAME_KEY) == str(len(sent)):
        resources = sent + resources if resources else sent
    return FunctionOutcome(
        resources=resources,
        log=answer.log.decode(errors="replace"),
        failed=results is not None,
        results=results or (),
        digest=unquote(wire.text(metadata, wire.DIGEST_KEY)),
        exit_code=0 if results is None else _exit_code(metadata),
    )


def _exit_code(metadata: Iterable[Any] | None) -> int:
    said = wire.text(metadata, wire.EXIT_CODE_KEY)
    return int(said) if _EXIT_CODE.fullmatch(said) else 1


def _results(answer: EvaluateFunctionResponse, status: grpc.aio.AioRpcError) -> tuple[Result, ...]:
    if not answer.resource_list:
        return ()
    try:
        return tuple(resourcelist.decode(answer.resource_list).results)
    except PackageError:
        # The failure stands, whatever its list looks like; its message has the reason.
        return ({"message": status.details() or "no reason given", "severity": "error"},)
