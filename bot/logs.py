"""Structured logging to standard error, one line an event, as text or JSON; secrets redacted.

What is registered as a secret, and what looks like one, is replaced before a line is written
(threat 20). Values are written as a person or JSON spells them, never as Python does. Other people
choose much of what stands in them (names, paths, errors), so each is cut before anything else.
"""

import json
import logging
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum, StrEnum
from math import isfinite
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger

from lifecycle import spelling

_LOOKS_SECRET = re.compile(
    r"gh[a-z]_[A-Za-z0-9_.\-]{8,}|github_pat_\w+|glpat-[\w-]+"
    r"|(?:project|group|system)-\d+-(?:[0-9a-f]{64}|[0-9a-f]{8,}(?=…))|whsec_[A-Za-z0-9+/=]{8,}"
    r"|(?i:bearer|basic)\s+[A-Za-z0-9+/=_.\-]{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
"""Tokens of the forges in every form, those of webhooks, headers that carry one, private keys.

A key that is cut off ends with the text: so each text is looked through once, however many begin.
"""

GONE = "[secret]"

MOST_VALUE = 2_000
"""Characters of one value in a log line; what is cut ends with `…` and the length of all of it."""

MOST_TRACEBACK = 20_000
"""The same of a traceback."""

_processors: list[structlog.types.Processor] = []
"""What each line goes through: one list for good, since a logger keeps the one that it began with,
and is to know of secrets that are registered later too."""


class Form(StrEnum):
    """The format of log lines."""

    TEXT = "text"
    JSON = "json"


def configure(secrets: Iterable[str] = (), form: Form = Form.TEXT) -> None:
    """Configure logging for a process.

    Args:
        secrets: Texts that must never be written.
        form: How lines are written.
    """
    global _redactor
    redact = _redactor = Redactor(secrets)
    render = _json if form is Form.JSON else _text
    handler = logging.StreamHandler(sys.stderr)
    # At the handler: a filter of the root logger does not see what other loggers pass up to it.
    handler.setFormatter(_Formatter(redact, render))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    # It tells of every try; what is missing, and when it is back, we say ourselves.
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    # It warns of each request that is none, and of each connection too many: anybody can make some.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    _processors[:] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        redact,
        lambda _, __, event: render(event),
    ]
    structlog.configure(
        processors=_processors,
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )


def set_aside() -> None:
    """Keep lines of the log out of what a command prints, where logging is not configured yet."""
    if not structlog.is_configured():
        configure()


class Seldom:
    """Keeps a line that would come again and again from filling the log.

    Args:
        seconds: From one line to the next, at least.
    """

    def __init__(self, seconds: float = 30.0) -> None:
        self._seconds = seconds
        self._next = float("-inf")
        self._kept_back = 0

    def times(self) -> int | None:
        """Of how many times to tell now, this one included; None: keep this one back, too."""
        self._kept_back += 1
        now = time.monotonic()
        if now < self._next:
            return None
        self._next = now + self._seconds
        times, self._kept_back = self._kept_back, 0
        return times


Plain = str | int | float | bool | None


def plain(value: object) -> "Plain | list[Any] | dict[str, Any]":
    """Convert a value to JSON types; what JSON lacks becomes its text."""
    match value:
        case Enum():
            return plain(value.value)
        case None | bool() | int() | str():
            return value
        case float():
            return value if isfinite(value) else str(value)
        case bytes():
            return value.decode(errors="replace")
        case datetime():
            return value.isoformat()
        case Mapping():
            return {str(plain(name)): plain(each) for name, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(each) for each in value]
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
        case _:
            return str(value)


_FIRST = ("timestamp", "level", "event")


def _json(event: Mapping[str, Any]) -> str:
    ordered = {name: event[name] for name in _FIRST if name in event} | dict(event)
    return printable(json.dumps(plain(ordered), ensure_ascii=False))


def _text(event: Mapping[str, Any]) -> str:
    """Time, level, what happened, then the rest as name=value; nothing is nothing."""
    first = f"{event.get('timestamp', '')} {str(event.get('level', '')).upper():<7} "
    rest = [
        f"{name}={_word(plain(value))}"
        for name, value in event.items()
        if name not in _FIRST and value is not None
    ]
    return printable(first + " ".join([str(event.get("event", "")), *rest]))


_BARE = re.compile(r"[^\s\"=]+")
UNPRINTABLE = re.compile(rf"[\t\n\r]|{spelling.UNSEEN.pattern}")
"""What would end a line, tell a terminal something, or stand there unseen."""


def printable(line: str) -> str:
    """A line for a terminal: what has no shape, or acts on the rest, is spelled out as in JSON."""
    return UNPRINTABLE.sub(_escaped, line)


def _word(value: object) -> str:
    """A value as one word of a line; quoted where it would be several."""
    if isinstance(value, str) and _BARE.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _escaped(control: re.Match[str]) -> str:
    return json.dumps(control[0])[1:-1].replace("\x7f", "\\u007f")


class Redactor:
    """Replaces secrets in log entries."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # Very short texts would tear ordinary words apart.
        self._secrets = sorted((s for s in secrets if len(s) >= 6), key=len, reverse=True)

    def add(self, secret: str) -> None:
        """Replace one more from now on."""
        if len(secret) >= 6 and secret not in self._secrets:
            self._secrets = sorted([*self._secrets, secret], key=len, reverse=True)

    def __call__(self, logger: WrappedLogger, name: str, event: EventDict) -> EventDict:  # noqa: ARG002 (structlog's shape)
        """Cut and clean every value of an event."""
        return {key: self.clean(self._cut(key, value)) for key, value in event.items()}

    def _cut(self, key: str, value: object) -> Any:
        return self._within(plain(value), [MOST_TRACEBACK if key == "exception" else MOST_VALUE])

    def _within(self, value: object, left: list[int]) -> Any:
        """As much of a value as has room, at any depth of it; takes the room that it needs."""
        match value:
            case str() as text:
                return self._start(text, left)
            case list() as values:
                room = (each for each in values if left[0] > 0)
                kept = [self._within(each, left) for each in room]
                more = len(values) - len(kept)
                return [*kept, f"… ({more} more)"] if more else kept
            case dict() as named:
                pairs = ((name, each) for name, each in named.items() if left[0] > 0)
                held = {self._start(name, left): self._within(each, left) for name, each in pairs}
                more = len(named) - len(held)
                return {**held, "…": f"{more} more"} if more else held
            case other:
                left[0] -= 1
                return other

    def _start(self, text: str, left: list[int]) -> str:
        """A text as far as there is room; where that is amid a secret, without all of it."""
        end = max(0, left[0])
        left[0] -= len(text) + 1
        if len(text) <= end:
            return text
        for secret in self._secrets:
            at = text.find(secret, max(0, end - len(secret) + 1), end + len(secret) - 1)
            end = at if at >= 0 else end
        return f"{text[:end]}… ({len(text)} characters)"

    def text(self, text: str) -> str:
        """The text without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, GONE)
        return _LOOKS_SECRET.sub(GONE, text)

    def clean(self, value: object) -> Any:
        """A value without secrets, at any depth of it."""
        match plain(value):
            case str() as text:
                return self.text(text)
            case list() as values:
                return [self.clean(each) for each in values]
            case dict() as named:
                return {self.text(name): self.clean(each) for name, each in named.items()}
            case other:
                return other


_redactor = Redactor()
"""Of this process, as `configure` made it."""


def hide(secret: str) -> None:
    """Have one more text never written: a secret that came after `configure`."""
    _redactor.add(secret)


def redacted(value: object) -> Any:
    """The value as JSON types, without secrets at any depth, for what is kept or shown."""
    return _redactor.clean(value)


class _Formatter(logging.Formatter):
    """Lines of libraries, tracebacks included, as ours, without secrets."""

    def __init__(self, redact: Redactor, render: Callable[[Mapping[str, Any]], str]) -> None:
        super().__init__()
        self._redact = redact
        self._render = render

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z")
        event: dict[str, Any] = {
            "timestamp": at,
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "logger": record.name,
            "exception": self.formatException(record.exc_info) if record.exc_info else None,
        }
        return self._render(self._redact(None, "", event))
