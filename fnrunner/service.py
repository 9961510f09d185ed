"""The gRPC service: Porch's `FunctionEvaluator` over a runner, and gRPC health.

It owns how errors and failed functions look on the wire
(docs/adr/0004-failed-functions-on-the-wire.md).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from uuid import uuid4

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from fnrunner import results, wire
from fnrunner.errors import (
    FunctionFailedError,
    FunctionNotFoundError,
    FunctionTimeoutError,
    MessageTooLargeError,
    ResourcesRefusedError,
    RunnerBusyError,
)
from fnrunner.proto import evaluator_pb2, evaluator_pb2_grpc
from fnrunner.results import Result
from fnrunner.run import Outcome, Runner

_log = logging.getLogger(__name__)

STATUS: Final[Mapping[type[Exception], grpc.StatusCode]] = MappingProxyType(
    {
        FunctionNotFoundError: grpc.StatusCode.NOT_FOUND,
        FunctionTimeoutError: grpc.StatusCode.DEADLINE_EXCEEDED,
        FunctionFailedError: grpc.StatusCode.INTERNAL,
        MessageTooLargeError: grpc.StatusCode.RESOURCE_EXHAUSTED,
        ResourcesRefusedError: grpc.StatusCode.INVALID_ARGUMENT,
        RunnerBusyError: grpc.StatusCode.UNAVAILABLE,
    }
)

# gRPC's C core refuses headers from 8 KiB on unless told otherwise; this leaves room for the rest.
_USUAL_DETAILS: Final = 6 * 1024
_WRAPPING: Final = 128  # bytes around the response in a status: its type's name, field lengths
_LONGEST_MESSAGE: Final = 1024  # bytes of a status message, which is a header as well


class Evaluator(evaluator_pb2_grpc.FunctionEvaluatorServicer):
    """Answers calls with what a runner makes of them."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    async def EvaluateFunction(  # noqa: N802 - the name on the wire
        self,
        request: evaluator_pb2.EvaluateFunctionRequest,
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> evaluator_pb2.EvaluateFunctionResponse:
        """Run one function; end the call with a status if that cannot be done."""
        try:
            outcome = await self._runner.run(request.image, request.resource_list)
        except Exception as error:
            code, text = _status(request.image, error)
            await context.abort(code, text)
        if outcome.failed:
            message, details = failure(request.image, outcome, _limit(context))
            await context.abort(grpc.StatusCode.INTERNAL, message, ((wire.DETAILS_KEY, details),))
        return evaluator_pb2.EvaluateFunctionResponse(
            resource_list=outcome.resources, log=outcome.log.encode()
        )


def _status(image: str, error: Exception) -> tuple[grpc.StatusCode, str]:
    if isinstance(error, FunctionNotFoundError):
        return STATUS[FunctionNotFoundError], f'function "{image}" not found'  # Porch's words
    code = STATUS.get(type(error))
    if code is not None:
        return code, _cut(str(error), _LONGEST_MESSAGE)
    name = uuid4().hex[:12]
    _log.error("function %r: bug %s in the runner", image, name, exc_info=error)
    return grpc.StatusCode.INTERNAL, f'function "{image}": the runner has a bug, id {name}'


def _limit(context: grpc.aio.ServicerContext[Any, Any]) -> int:
    for key, value in context.invocation_metadata() or ():
        if key == wire.DETAILS_LIMIT_KEY and isinstance(value, str) and value.isdecimal():
            return int(value)
    return _USUAL_DETAILS


def failure(image: str, outcome: Outcome, limit: int) -> tuple[str, bytes]:
    """Return how a function that ran and failed looks on the wire.

    Args:
        image: The function, as it was asked for.
        outcome: What it left.
        limit: How large the status may get, in bytes; at least 1024.

    Returns:
        The message, and a google.rpc.Status INTERNAL whose one detail is the
        EvaluateFunctionResponse: whole if it fits, else with results only, else with
        as many of them as fit and one that says how many are missing.
    """
    message = f'Failed to execute function "{image}": {_summary(outcome)}'
    message = _cut(message, min(_LONGEST_MESSAGE, limit // 4))
    response = _fitting(outcome, limit - len(message.encode()) - _WRAPPING)
    return message, wire.status(grpc.StatusCode.INTERNAL.value[0], message, response)


def _summary(outcome: Outcome) -> str:
    texts = [str(result.get("message", "")) for result in outcome.results]
    said = "; ".join(text for text in texts if text) or outcome.log.strip() or "no reason given"
    return f"exit status 1 ({said})"


def _fitting(outcome: Outcome, room: int) -> evaluator_pb2.EvaluateFunctionResponse:
    whole = evaluator_pb2.EvaluateFunctionResponse(
        resource_list=outcome.resources, log=outcome.log.encode()
    )
    if whole.ByteSize() <= room:
        return whole
    log = _cut(outcome.log, room // 4).encode()
    return evaluator_pb2.EvaluateFunctionResponse(
        resource_list=_results_within(outcome.results, room - len(log)), log=log
    )


def _results_within(found: Sequence[Result], room: int) -> bytes:
    """Return a ResourceList of as many results as fit into `room` bytes."""
    whole = results.resource_list(found)
    if len(whole) <= room:
        return whole
    room -= len(results.resource_list([_missing(len(found))]))
    kept = 0
    for result in found:
        room -= results.size(result)
        if room < 0:
            break
        kept += 1
    return results.resource_list([*found[:kept], _missing(len(found) - kept)])


def _missing(count: int) -> Result:
    return {"message": f"{count} more results do not fit into the answer", "severity": "error"}


def _cut(text: str, size: int) -> str:
    data = text.encode()
    if len(data) <= size:
        return text
    return f"{data[: max(0, size - 3)].decode(errors='ignore')}..."


class Health(health_pb2_grpc.HealthServicer):  # type: ignore[misc] # its module has no types
    """gRPC health: every service name is served from start to end, as Porch's runner answers."""

    def __init__(self) -> None:
        self._ended = asyncio.Event()

    def end(self) -> None:
        """Tell all watchers that the runner goes away."""
        self._ended.set()

    async def Check(  # noqa: N802 - the name on the wire
        self,
        request: health_pb2.HealthCheckRequest,  # noqa: ARG002 - any name
        context: object,  # noqa: ARG002 - not needed
    ) -> health_pb2.HealthCheckResponse:
        """Answer at once."""
        return health_pb2.HealthCheckResponse(status=self._status())

    async def Watch(  # noqa: N802 - the name on the wire
        self,
        request: health_pb2.HealthCheckRequest,  # noqa: ARG002 - any name
        context: object,  # noqa: ARG002 - not needed
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        """Answer now and when it changes."""
        yield health_pb2.HealthCheckResponse(status=self._status())
        await self._ended.wait()
        yield health_pb2.HealthCheckResponse(status=self._status())

    def _status(self) -> int:
        response = health_pb2.HealthCheckResponse
        return int(response.NOT_SERVING if self._ended.is_set() else response.SERVING)
