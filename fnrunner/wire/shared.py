"""The pieces of gRPC that client and server share: sizes, metadata keys, generated code.

The generated code has no types of its own; what is used of it gets them here.
"""

import hashlib
from collections.abc import Iterable
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote

import grpc.aio
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import DecodeError, Message
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped] # it comes without types
from grpc_health.v1 import health_pb2_grpc

from fnrunner.contract.run import CallLimits
from fnrunner.wire.proto import evaluator_pb2_grpc
from fnrunner.wire.proto.evaluator_pb2 import EvaluateFunctionRequest, EvaluateFunctionResponse

# Request metadata: how many bytes of status details the caller can take.
DETAILS_LIMIT_KEY: Final = "porchbot-details-limit"
# Request metadata: how many seconds the function may take; the call itself has a little longer,
# so that the runner can say that time is up.
SECONDS_KEY: Final = "porchbot-seconds"
# Request metadata: whom the call is for, as `called_by`; calls of different ones share fairly.
CALLER_KEY: Final = "porchbot-caller"
LONGEST_CALLER: Final = 256
# Request metadata: run nothing, and say only what would run now (DIGEST_KEY).
IDENTIFY_KEY: Final = "porchbot-identify"
# Request metadata: the caller's span, as W3C's Trace Context has it.
TRACE_KEY: Final = "traceparent"
# Trailing metadata in which gRPC carries a google.rpc.Status.
DETAILS_KEY: Final = "grpc-status-details-bin"
# Trailing metadata: what ran, as `Outcome.digest`, percent-encoded.
DIGEST_KEY: Final = "porchbot-function-digest"
# Request metadata: the caller keeps the list that it sends, which need not come back. Trailing
# metadata: how many bytes at the front of the answer are that list, and were left out.
SAME_KEY: Final = "porchbot-same"
# Request metadata: what the list is called from now on. Trailing metadata: it is kept by this name,
# and what was sent of it was understood (`fnrunner.wire.lists`).
LIST_KEY: Final = "porchbot-list"
# Request metadata: the message has only a part of the list. Name of the list that the rest is of,
# and how many bytes of its beginning and of its end.
FROM_KEY: Final = "porchbot-list-from"
# Trailing metadata of a function that failed: `Outcome.exit_code`.
EXIT_CODE_KEY: Final = "porchbot-function-exit-code"

_ENVELOPE: Final = 4096  # bytes beside the ResourceList in a message: image name, framing
_METHOD: Final = "/evaluator.FunctionEvaluator/EvaluateFunction"

M = TypeVar("M", bound=Message)
Evaluate = grpc.aio.UnaryUnaryMultiCallable[EvaluateFunctionRequest, EvaluateFunctionResponse]


def called_by(caller: str) -> tuple[tuple[str, str]]:
    """Return the metadata that tells callers apart: percent-encoded, or the digest of a long name.

    gRPC refuses a call whose metadata is long, from 8 KiB on at random.
    """
    said = quote(caller, errors="replace")
    if len(said) > LONGEST_CALLER:
        said = hashlib.sha256(said.encode()).hexdigest()
    return ((CALLER_KEY, said),)


def traced(traceparent: str) -> tuple[tuple[str, str], ...]:
    """Return the metadata that names the caller's span; empty for none."""
    return ((TRACE_KEY, traceparent),) if traceparent else ()


def sizes(limits: CallLimits) -> tuple[tuple[str, int], ...]:
    """Return the channel or server options that limit a message both ways."""
    size = limits.message_bytes + _ENVELOPE
    return ("grpc.max_send_message_length", size), ("grpc.max_receive_message_length", size)


def evaluator(channel: grpc.aio.Channel) -> Evaluate:
    """Return the call `EvaluateFunction` on a channel."""
    call = channel.unary_unary(
        _METHOD,
        request_serializer=EvaluateFunctionRequest.SerializeToString,
        response_deserializer=EvaluateFunctionResponse.FromString,
    )
    return cast("Evaluate", call)


def serve(
    server: grpc.aio.Server,
    evaluator: evaluator_pb2_grpc.FunctionEvaluatorServicer,
    health: Any,  # a HealthServicer, whose module comes without types
) -> None:
    """Put both services on a server."""
    add: Any = evaluator_pb2_grpc.add_FunctionEvaluatorServicer_to_server
    add(evaluator, server)
    health_pb2_grpc.add_HealthServicer_to_server(health, server)


def status(code: int, message: str, *details: Message) -> bytes:
    """Return a google.rpc.Status with its details."""
    packed = []
    for each in details:
        packed.append(AnyMessage())
        packed[-1].Pack(each)
    return bytes(Status(code=code, message=message, details=packed).SerializeToString())


def detail(metadata: Iterable[Any] | None, kind: type[M]) -> M | None:
    """Return the first detail of a kind in a status's trailing metadata (pairs), or None.

    Details that are broken or about something else count as none.
    """
    found = dict(metadata or ()).get(DETAILS_KEY)
    message = kind()
    try:
        packed = Status.FromString(found).details if isinstance(found, bytes) else ()
        return message if any(one.Unpack(message) for one in packed) else None
    except DecodeError:
        return None


def text(metadata: Iterable[Any] | None, key: str) -> str:
    """Return a text in metadata (pairs); "" if there is none."""
    found = dict(metadata or ()).get(key, "")
    return found if isinstance(found, str) else ""
