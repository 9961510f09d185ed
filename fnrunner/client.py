"""Runs functions on a runner that is reached over gRPC: ours, or Porch's."""

import asyncio
from types import TracebackType
from typing import Final, NoReturn, Self

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from cadlib import resourcelist
from cadlib.errors import PackageError
from fnrunner import wire
from fnrunner.errors import (
    FunctionFailedError,
    FunctionNotFoundError,
    FunctionTimeoutError,
    MessageTooLargeError,
    ResourcesRefusedError,
    RunnerBrokenError,
    RunnerBusyError,
)
from fnrunner.proto import evaluator_pb2
from fnrunner.results import Result
from fnrunner.run import Limits, Outcome

_DETAILS: Final = 1024 * 1024  # bytes of results that a failed function may leave
_GRACE: Final = 1.0  # seconds that the runner has to say itself that time is up
_FIRST_PAUSE: Final = 0.05  # seconds between tries to reach the runner, doubled each time
_LAST_PAUSE: Final = 1.0


class Client:
    """A runner on the other end of a socket.

    It connects when first used and again after the runner went away. A call that the
    runner cannot take is tried again for a while: functions have no side effects.
    """

    def __init__(self, address: str, limits: Limits = Limits(), *, patience: float = 5.0) -> None:  # noqa: B008 - frozen
        """Make a client; nothing is connected yet.

        Args:
            address: "unix:/PATH" or "HOST:PORT".
            limits: Time of a call and size of a message.
            patience: How long to try to reach the runner, in seconds.
        """
        self._address = address
        self._limits = limits
        self._patience = patience
        self._channel = grpc.aio.insecure_channel(address, options=_options(limits))
        self._evaluate = wire.evaluator(self._channel)
        self._health = health_pb2_grpc.HealthStub(self._channel)

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
        await self._channel.close(None)

    async def is_ready(self, seconds: float = 1.0) -> bool:
        """Whether the runner says within `seconds` that it serves."""
        try:
            answer = await self._health.Check(
                health_pb2.HealthCheckRequest(), timeout=seconds, wait_for_ready=True
            )
        except grpc.aio.AioRpcError:
            return False
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

    async def run(self, image: str, resources: bytes, *, seconds: float | None = None) -> Outcome:
        """Run it there; see `Runner.run`."""
        if len(resources) > self._limits.message_bytes:
            raise MessageTooLargeError(image, len(resources), self._limits.message_bytes)
        request = evaluator_pb2.EvaluateFunctionRequest(image=image, resource_list=resources)
        try:
            answer = await self._call(request, self._limits.seconds if seconds is None else seconds)
        except grpc.aio.AioRpcError as error:
            return self._failed(image, error)
        return Outcome(resources=answer.resource_list, log=answer.log.decode(errors="replace"))

    async def _call(
        self, request: evaluator_pb2.EvaluateFunctionRequest, seconds: float
    ) -> evaluator_pb2.EvaluateFunctionResponse:
        """Call, and call again while the runner cannot be reached and patience lasts."""
        clock = asyncio.get_running_loop().time
        end, pause = clock() + self._patience, _FIRST_PAUSE
        while True:
            try:
                return await self._evaluate(
                    request,
                    timeout=seconds + _GRACE,
                    metadata=((wire.DETAILS_LIMIT_KEY, str(_DETAILS)),),
                )
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.UNAVAILABLE or clock() + pause > end:
                    raise
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LAST_PAUSE)

    def _failed(self, image: str, error: grpc.aio.AioRpcError) -> Outcome:
        """Return what a failed function left, or raise what kept it from running."""
        details = wire.detail(error.trailing_metadata())
        if details is None:
            self._raise(image, error)
        log = details.log.decode(errors="replace")
        return Outcome(
            resources=details.resource_list, log=log, failed=True, results=_results(details, error)
        )

    def _raise(self, image: str, error: grpc.aio.AioRpcError) -> NoReturn:
        text = error.details() or "no reason given"
        match error.code():
            case grpc.StatusCode.NOT_FOUND:
                raise FunctionNotFoundError(image) from error
            case grpc.StatusCode.DEADLINE_EXCEEDED:
                raise FunctionTimeoutError(image, self._limits.seconds) from error
            case grpc.StatusCode.RESOURCE_EXHAUSTED:
                raise MessageTooLargeError(image, None, None) from error
            case grpc.StatusCode.INVALID_ARGUMENT:
                raise ResourcesRefusedError(image, text) from error
            case grpc.StatusCode.UNAVAILABLE:
                raise RunnerBusyError(f"runner {self._address}", text, _LAST_PAUSE) from error
            case grpc.StatusCode.INTERNAL if "the runner has a bug" not in text:
                raise FunctionFailedError(image, text) from error
        raise RunnerBrokenError(f"runner {self._address}", text) from error


def _options(limits: Limits) -> tuple[tuple[str, int], ...]:
    return (
        *wire.sizes(limits),
        ("grpc.max_metadata_size", 2 * _DETAILS),
        ("grpc.absolute_max_metadata_size", 4 * _DETAILS),
        # gRPC waits up to two minutes before it connects anew; a runner is back in a second.
        ("grpc.initial_reconnect_backoff_ms", int(_FIRST_PAUSE * 1000)),
        ("grpc.min_reconnect_backoff_ms", int(_FIRST_PAUSE * 1000)),
        ("grpc.max_reconnect_backoff_ms", int(_LAST_PAUSE * 1000)),
    )


def _results(
    details: evaluator_pb2.EvaluateFunctionResponse, error: grpc.aio.AioRpcError
) -> tuple[Result, ...]:
    try:
        return tuple(resourcelist.decode(details.resource_list).results)
    except PackageError:
        # The failure stands, whatever its list looks like; its message has the reason.
        return ({"message": error.details() or "no reason given", "severity": "error"},)
