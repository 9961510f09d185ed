"""How errors look on the wire as gRPC statuses, and what a status says back.

Rules
- Each error has a code, a message, and the detail google.rpc.ErrorInfo, out of which our client
  makes the same error again. Other clients go by the code; "come again" is google.rpc.RetryInfo.
- A status without such a detail is another server's, and is read by its code: Porch's servers
  send words only.

Source: docs/design.md, "Porch: the function runner".
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote, unquote

import grpc
import grpc.aio
from google.rpc.error_details_pb2 import (  # type: ignore[import-untyped] # it comes without types
    ErrorInfo,
    RetryInfo,
)

from fnrunner.contract.errors import (
    FunctionFailedError,
    FunctionNotFoundError,
    FunctionRefusedError,
    FunctionStoppedError,
    FunctionTimeoutError,
    FunctionUnavailableError,
    MessageTooLargeError,
    ResourcesRefusedError,
    RunnerBrokenError,
    RunnerBusyError,
)
from fnrunner.wire import shared as wire

DOMAIN: Final = "porchbot"  # whose reasons those in ErrorInfo are

_LONGEST_MESSAGE: Final = 1024  # bytes of a status message, which is a header as well
_LONGEST_NAME: Final = 1024  # bytes of what is not free text in a detail
_WRAPPING: Final = 512  # bytes around the texts in a status: names of types and fields, lengths
_PLAIN: Final = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")
_HALF: Final = re.compile("%[0-9A-F]?$")
_RETRY_AFTER: Final = 1.0  # seconds; where a runner that is busy does not say


@dataclass(frozen=True, slots=True)
class _Form:
    """How one error travels: its code, its name in ErrorInfo, and attributes with their types."""

    code: grpc.StatusCode
    reason: str
    fields: Mapping[str, type]


_CODE = grpc.StatusCode
# By class, subclasses too; what is not here is a bug, and so is RunnerBrokenError.
_FORMS: Final[Mapping[type[Exception], _Form]] = MappingProxyType(
    {
        FunctionNotFoundError: _Form(
            _CODE.NOT_FOUND, "FUNCTION_NOT_FOUND", {"image": str, "there": list}
        ),
        FunctionRefusedError: _Form(
            _CODE.PERMISSION_DENIED,
            "FUNCTION_REFUSED",
            {"image": str, "reason": str, "fix": str},
        ),
        FunctionUnavailableError: _Form(
            _CODE.FAILED_PRECONDITION,  # UNAVAILABLE where it passes
            "FUNCTION_UNAVAILABLE",
            {"image": str, "reason": str, "fix": str, "passing": bool},
        ),
        FunctionTimeoutError: _Form(
            _CODE.DEADLINE_EXCEEDED,
            "FUNCTION_TIMEOUT",
            {"image": str, "seconds": float, "taken": str},
        ),
        FunctionStoppedError: _Form(
            _CODE.ABORTED,
            "FUNCTION_STOPPED",
            {"image": str, "limit": str, "allowed": str, "taken": str},
        ),
        FunctionFailedError: _Form(_CODE.INTERNAL, "FUNCTION_FAILED", {"image": str, "log": str}),
        MessageTooLargeError: _Form(
            _CODE.RESOURCE_EXHAUSTED,
            "MESSAGE_TOO_LARGE",
            {"image": str, "size_bytes": int, "limit_bytes": int},
        ),
        ResourcesRefusedError: _Form(
            _CODE.INVALID_ARGUMENT, "RESOURCES_REFUSED", {"image": str, "reason": str}
        ),
        RunnerBusyError: _Form(
            _CODE.RESOURCE_EXHAUSTED,
            "RUNNER_BUSY",
            {"where": str, "reason": str, "retry_after": float},
        ),
        RunnerBrokenError: _Form(_CODE.INTERNAL, "RUNNER_BROKEN", {"where": str, "reason": str}),
    }
)
_KINDS: Final = MappingProxyType({form.reason: kind for kind, form in _FORMS.items()})


@dataclass(frozen=True, slots=True)
class ErrorStatus:
    """How a call ends that has no answer.

    Attributes:
        code: Its code.
        message: Its message, at most 1024 bytes.
        details: A google.rpc.Status, serialized, with the same code and message.
    """

    code: grpc.StatusCode
    message: str
    details: bytes


def knows(error: Exception) -> bool:
    """Tell whether an error is one of those that travel; any other is a bug."""
    return isinstance(error, tuple(_FORMS))


def refusal(error: Exception, limit: int, code: grpc.StatusCode | None = None) -> ErrorStatus:
    """Return how an error looks on the wire.

    Args:
        error: One that `knows` is true of.
        limit: How large the details may get, in bytes; at least 1024.
        code: Another code than its usual one.
    """
    kind = next(each for each in type(error).__mro__ if each in _FORMS)
    form = _FORMS[kind]
    code = code or _code(error, form)
    text = message(_words(error), limit)
    room = limit - _WRAPPING - len(text.encode())
    info = ErrorInfo(reason=form.reason, domain=DOMAIN, metadata=_texts(error, form, room))
    details: list[Any] = [info]
    if isinstance(error, RunnerBusyError):
        details.append(_retry(error.retry_after))
    return ErrorStatus(code, text, wire.status(code.value[0], text, *details))


def _code(error: Exception, form: _Form) -> grpc.StatusCode:
    if isinstance(error, FunctionUnavailableError) and error.passing:
        return grpc.StatusCode.UNAVAILABLE
    return form.code


def _words(error: Exception) -> str:
    """The error in words; in Porch's where Porch has the same."""
    match error:
        case FunctionNotFoundError():
            return f"function {quoted(error.image)} not found"
        case FunctionFailedError() if _is_porchs(error.log):
            return error.log.strip()
        case FunctionFailedError():
            said = error.log.strip() or "no reason given"
            return f"Failed to execute function {quoted(error.image)}: {said}"
    return str(error)


def quoted(image: str) -> str:
    """Return the name of a function as Porch's messages have it."""
    return json.dumps(image, ensure_ascii=False)


def _is_porchs(text: str) -> bool:
    """Tell whether a text says already that a function failed: it came from another runner."""
    start = text.lstrip()[:256].lower()
    return any(
        words in start
        for words in (
            "failed to execute function ",
            "failed to evaluate function ",
            "failed to parse the output of function ",
        )
    )


def _texts(error: Exception, form: _Form, room: int) -> dict[str, str]:
    """The attributes as texts, which together take at most `room` bytes; free texts are cut."""
    texts = {}
    for name, kind in form.fields.items():
        value = getattr(error, name)
        text = value if kind is str else json.dumps(value)
        if kind is str or len(text) < min(room, _LONGEST_NAME):
            texts[name] = cut(text, min(room, _LONGEST_NAME) if name == "image" else room)
            room = max(0, room - len(texts[name].encode()))
    return texts


def _retry(seconds: float) -> Any:
    info = RetryInfo()
    info.retry_delay.FromNanoseconds(int(seconds * 1e9))
    return info


def message(text: str, limit: int) -> str:
    """Return the message of a status, cut if need be.

    Args:
        text: What it should say.
        limit: How large the details may get, in bytes, which have the message once more.
    """
    size = min(_LONGEST_MESSAGE, limit // 4)
    # As it stands in the header, where no character gets shorter.
    encoded = quote(text[: size + 1], safe=_PLAIN, errors="replace")
    if len(encoded) <= size:
        return unquote(encoded)
    start = _HALF.sub("", encoded[: size - 3])
    return f"{unquote(start, errors='ignore')}..."


def cut(text: str, size: int) -> str:
    """Return a text that takes at most `size` bytes as UTF-8, and that can be written as such."""
    data = text.encode(errors="replace")
    if len(data) <= size:
        return data.decode()
    return f"{data[: max(0, size - 3)].decode(errors='ignore')}..."[: max(0, size)]


def error(status: grpc.aio.AioRpcError, image: str, *, seconds: float, where: str) -> Exception:
    """Return what kept a function from running.

    Args:
        status: How the call ended.
        image: The function, as it was asked for.
        seconds: How long it had.
        where: Which runner it is.
    """
    metadata = status.trailing_metadata()
    told = wire.detail(metadata, ErrorInfo)
    found = _rebuilt(told) if told is not None and told.domain == DOMAIN else None
    if found is not None:
        return found
    text = status.details() or "no reason given"
    retry = wire.detail(metadata, RetryInfo)
    if retry is not None:
        return RunnerBusyError(where, text, retry.retry_delay.ToNanoseconds() / 1e9)
    return _by_code(status.code(), image, text, seconds, where)


def _rebuilt(info: Any) -> Exception | None:
    """The error that a detail stands for; None if this version knows no such error."""
    kind = _KINDS.get(info.reason)
    if kind is None:
        return None
    try:
        fields = {
            name: _read(info.metadata[name], wanted)
            for name, wanted in _FORMS[kind].fields.items()
            if name in info.metadata
        }
        return kind(**fields)
    except (
        TypeError,
        ValueError,
        OverflowError,
        RecursionError,
    ):  # a field is missing, or not what it should be
        return None


def _read(text: str, wanted: type) -> Any:
    if wanted is str:
        return text
    value = json.loads(text)
    if wanted is list:
        return [str(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(text)
    return value if value is None or wanted is bool else wanted(value)


def _by_code(code: grpc.StatusCode, image: str, text: str, seconds: float, where: str) -> Exception:
    """What a status means that has words only."""
    ask = "Ask an operator of the runner"
    match code:
        case grpc.StatusCode.NOT_FOUND:
            return FunctionNotFoundError(image)
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return FunctionTimeoutError(image, seconds)
        case grpc.StatusCode.RESOURCE_EXHAUSTED:
            return MessageTooLargeError(image, None, None)
        case grpc.StatusCode.INVALID_ARGUMENT:
            return ResourcesRefusedError(image, text)
        case grpc.StatusCode.PERMISSION_DENIED | grpc.StatusCode.UNAUTHENTICATED:
            return FunctionRefusedError(image, text, ask)
        case grpc.StatusCode.FAILED_PRECONDITION:
            return FunctionUnavailableError(image, text, ask)
        case grpc.StatusCode.UNAVAILABLE | grpc.StatusCode.CANCELLED:
            return RunnerBusyError(where, text, _RETRY_AFTER)
        case grpc.StatusCode.UNKNOWN if "grpc client to the pod for" in text:
            # Porch could not start a pod of the image, most often because it cannot be pulled.
            return FunctionUnavailableError(image, text, ask, passing=True)
        case grpc.StatusCode.INTERNAL | grpc.StatusCode.ABORTED if not _of_transport(text):
            return FunctionFailedError(image, text)
    return RunnerBrokenError(where, text)


def _of_transport(text: str) -> bool:
    """Tell whether gRPC itself says so, not a server: its stream was reset."""
    return "RST_STREAM" in text


def reason(error: Exception) -> str:
    """Return the name of an error as ErrorInfo has it; a bug is "RUNNER_BROKEN"."""
    kind = next((each for each in type(error).__mro__ if each in _FORMS), RunnerBrokenError)
    return _FORMS[kind].reason
