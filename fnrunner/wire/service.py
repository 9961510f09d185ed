"""The gRPC service: Porch's `FunctionEvaluator` over a runner, and gRPC health.

It owns how outcomes and bugs look on the wire; errors are in `statuses`
(docs/adr/0004-failed-functions-on-the-wire.md).
"""

import asyncio
import logging
import math
import re
from collections.abc import AsyncIterator, Callable
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from fnrunner.contract import results
from fnrunner.contract.errors import RunnerBrokenError, RunnerBusyError
from fnrunner.contract.run import CALL, CallContext, FunctionOutcome, Means, Runner
from fnrunner.wire import metrics, statuses
from fnrunner.wire import shared as wire
from fnrunner.wire.lists import KeptLists
from fnrunner.wire.proto import evaluator_pb2, evaluator_pb2_grpc
from fnrunner.wire.statuses import ErrorStatus, cut

_log = logging.getLogger(__name__)

# Clients refuse headers from 8 KiB on unless told otherwise. Some count what is on the wire, where
# details are base64 (a third more) and the message stands beside them; this leaves room for both.
_USUAL_DETAILS: Final = 4608
_LEAST_DETAILS: Final = 1024  # bytes; less says nothing
_MOST_DETAILS: Final = 1024 * 1024  # bytes; what porchbot's own client takes
_WRAPPING: Final = 128  # bytes around the response in a status: its type's name, field lengths
_SAYING: Final = 0.1  # seconds kept of the caller's deadline to say that time is up
_ROUNDING: Final = 0.02  # gRPC's C core sends deadlines up to a hundredth later than they are
_PART: Final = "the list that this is a part of is not kept here: send all of it"
_RETRY_AFTER: Final = 1.0  # seconds; another runner is there by then, or this one again
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_DECIMAL: Final = re.compile("[0-9]{1,9}")
_SECONDS: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


class Evaluator(evaluator_pb2_grpc.FunctionEvaluatorServicer):
    """Answers calls with what a runner makes of them."""

    def __init__(
        self, runner: Runner, means: Means | None = None, lists: KeptLists | None = None
    ) -> None:
        self._runner = runner
        self._lists = lists or KeptLists(0, 0)
        self._means = means
        self._now = 0
        self._ending = False
        self._idle = asyncio.Event()
        self._idle.set()

    async def EvaluateFunction(  # noqa: N802 - the name on the wire
        self,
        request: evaluator_pb2.EvaluateFunctionRequest,
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> evaluator_pb2.EvaluateFunctionResponse:
        """Run one function; end the call with a status if that cannot be done."""
        self._now += 1
        self._idle.clear()
        try:
            return await self._evaluate(request, context)
        finally:
            self._now -= 1
            if self._now == 0:
                self._idle.set()

    async def end(self, grace: float) -> None:
        """Take no more calls, and wait until those that run have ended.

        Args:
            grace: How long to wait for them at most, in seconds.
        """
        self._ending = True
        try:
            async with asyncio.timeout(grace):
                await self._idle.wait()
        except TimeoutError:
            _log.warning("%d calls did not end within %g seconds: stopped", self._now, grace)

    async def _evaluate(
        self,
        request: evaluator_pb2.EvaluateFunctionRequest,
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> evaluator_pb2.EvaluateFunctionResponse:
        image, limit, said = request.image, _limit(context), context.invocation_metadata()
        CALL.set(CallContext(_caller(context), traceparent=_traceparent(context)))
        if self._ending:
            busy = RunnerBusyError("the runner", "it is being stopped", _RETRY_AFTER)
            await _refuse(context, statuses.refusal(busy, limit, grpc.StatusCode.UNAVAILABLE))
        if wire.text(said, wire.IDENTIFY_KEY):
            return await self._identified(image, context, limit)
        given = self._lists.whole(request.resource_list, said)
        if given is None:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, _PART)
        kept = self._lists.keep(given, said)
        with metrics.call(image) as call:
            try:
                outcome = await self._runner.run(image, given, seconds=_seconds(context))
            except Exception as error:
                told = _told(image, error)
                call.outcome = statuses.reason(told).lower()
                await _refuse(context, statuses.refusal(told, limit), *kept)
            call.outcome = metrics.FAILED if outcome.failed else metrics.OK
        if outcome.failed:
            ended = (wire.EXIT_CODE_KEY, str(outcome.exit_code))
            await _refuse(
                context, failure(image, outcome, limit), ended, *_trailing(outcome.digest), *kept
            )
        resources, trailing = outcome.resources, (*_trailing(outcome.digest), *kept)
        if wire.text(said, wire.SAME_KEY) and resources.startswith(given):
            resources = resources[len(given) :]
            trailing = (*trailing, (wire.SAME_KEY, str(len(given))))
        context.set_trailing_metadata(trailing)
        return evaluator_pb2.EvaluateFunctionResponse(
            resource_list=resources, log=_encoded(outcome.log)
        )

    async def _identified(
        self, image: str, context: grpc.aio.ServicerContext[Any, Any], limit: int
    ) -> evaluator_pb2.EvaluateFunctionResponse:
        """Say what would run now, and run nothing."""
        try:
            digest = await self._means(image) if self._means is not None else ""
        except Exception as error:
            await _refuse(context, statuses.refusal(_told(image, error), limit))
        context.set_trailing_metadata(_trailing(digest))
        return evaluator_pb2.EvaluateFunctionResponse()


async def _refuse(
    context: grpc.aio.ServicerContext[Any, Any], refusal: ErrorStatus, *more: tuple[str, str]
) -> None:
    details: tuple[str, str | bytes] = (wire.DETAILS_KEY, refusal.details)
    await context.abort(refusal.code, refusal.message, (details, *more))


def _trailing(digest: str) -> tuple[tuple[str, str], ...]:
    if not digest:
        return ()
    return ((wire.DIGEST_KEY, quote(digest, safe=":/@+=,~")),)


def _told(image: str, error: Exception) -> Exception:
    """Return what the caller is told: the error, or that there is a bug, whose log entry has it."""
    if statuses.knows(error):
        return error
    name = uuid4().hex[:12]
    _log.error("function %r: bug %s in the runner", image, name, exc_info=error)
    where = f"function {statuses.quoted(image)}"
    return RunnerBrokenError(where, f"the runner has a bug, id {name}")


def _caller(context: grpc.aio.ServicerContext[Any, Any]) -> str:
    """Whom a call is for: its connection, and what the other side says of it."""
    said = wire.text(context.invocation_metadata(), wire.CALLER_KEY)
    return f"{context.peer()} {said[: wire.LONGEST_CALLER]}"


def _traceparent(context: grpc.aio.ServicerContext[Any, Any]) -> str:
    """The caller's span; "" where it names none, or writes it as nobody does."""
    said = wire.text(context.invocation_metadata(), wire.TRACE_KEY)
    return said if _TRACEPARENT.fullmatch(said) else ""


def _limit(context: grpc.aio.ServicerContext[Any, Any]) -> int:
    """How many bytes of details the caller can take."""
    said = wire.text(context.invocation_metadata(), wire.DETAILS_LIMIT_KEY)
    if not _DECIMAL.fullmatch(said):
        return _USUAL_DETAILS
    return min(max(int(said), _LEAST_DETAILS), _MOST_DETAILS)


def _seconds(context: grpc.aio.ServicerContext[Any, Any]) -> float | None:
    """How long the function may take for its caller; None if the caller waits for ever."""
    said = wire.text(context.invocation_metadata(), wire.SECONDS_KEY)
    asked = float(said) if _SECONDS.fullmatch(said) else math.inf
    left = context.time_remaining()
    if left is not None:
        left = max(0.0, left)
        kept = max(min(_SAYING, left / 10), left * _ROUNDING)
        # Hundredths, so that the same deadline reads the same in the error.
        asked = min(asked, math.floor((left - kept) * 100) / 100)
    return asked if math.isfinite(asked) else None


def failure(image: str, outcome: FunctionOutcome, limit: int) -> ErrorStatus:
    """Return how a function that ran and failed looks on the wire.

    Args:
        image: The function, as it was asked for.
        outcome: What it left.
        limit: How large the status may get, in bytes; at least 1024.

    Returns:
        INTERNAL, the message, and details whose one is the EvaluateFunctionResponse:
        whole if it fits, else with results only, else with as many of them as fit and
        one that says how many are missing.
    """
    text = f"Failed to execute function {statuses.quoted(image)}: {_summary(outcome)}"
    message = statuses.message(text, limit)
    response = _fitting(outcome, limit - len(message.encode()) - _WRAPPING)
    code = grpc.StatusCode.INTERNAL
    return ErrorStatus(code, message, wire.status(code.value[0], message, response))


def _summary(outcome: FunctionOutcome) -> str:
    texts = [str(result.get("message", "")) for result in outcome.results]
    said = "; ".join(text for text in texts if text) or outcome.log.strip() or "no reason given"
    return f"exit status {outcome.exit_code} ({said})"


def _fitting(outcome: FunctionOutcome, room: int) -> evaluator_pb2.EvaluateFunctionResponse:
    whole = evaluator_pb2.EvaluateFunctionResponse(
        resource_list=outcome.resources, log=_encoded(outcome.log)
    )
    if whole.ByteSize() <= room:
        return whole
    log = _encoded(cut(outcome.log, room // 4))
    return evaluator_pb2.EvaluateFunctionResponse(
        resource_list=results.resource_list(results.within(outcome.results, room - len(log))),
        log=log,
    )


def _encoded(log: str) -> bytes:
    return log.encode(errors="replace")  # a function may write anything, also halves of characters


class Health(health_pb2_grpc.HealthServicer):  # type: ignore[misc] # its module has no types
    """gRPC health: every service name is served from start to end, as Porch's runner answers."""

    def __init__(self, asked: Callable[[str], None] | None = None) -> None:
        """Make one.

        Args:
            asked: Told the name of each service whose health is checked.
        """
        self._ended = asyncio.Event()
        self._asked = asked

    def end(self) -> None:
        """Tell all who watch, and all who ask from now on, that the runner goes away."""
        self._ended.set()

    async def Check(  # noqa: N802 - the name on the wire
        self,
        request: health_pb2.HealthCheckRequest,
        context: object,  # noqa: ARG002 - not needed
    ) -> health_pb2.HealthCheckResponse:
        """Answer at once."""
        if self._asked is not None:
            self._asked(request.service)
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
