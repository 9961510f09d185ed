"""Logs: one line an event, as key=value, to standard error; secrets never.

What is registered as a secret, and what looks like one, is replaced before a line is written
(bots.md 4, row 20).
"""

import logging
import re
import sys
from collections.abc import Iterable
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger

_LOOKS_SECRET = re.compile(
    r"gh[a-z]_[A-Za-z0-9_.\-]{8,}|github_pat_\w+|glpat-[\w-]+"
    r"|(?i:bearer|basic)\s+[A-Za-z0-9+/=_.\-]{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----",
    re.DOTALL,
)
"""Tokens of the forges in every form, headers that carry one, private keys."""

GONE = "[secret]"


def configure(secrets: Iterable[str] = ()) -> None:
    """Set logging up for a process.

    Args:
        secrets: Texts that must never be written.
    """
    redact = Redactor(secrets)
    handler = logging.StreamHandler(sys.stderr)
    # At the handler: a filter of the root logger does not see what other loggers pass up to it.
    handler.setFormatter(_Formatter(redact))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            redact,
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )


class Redactor:
    """Takes secrets out of what is logged."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # Very short texts would tear ordinary words apart.
        self._secrets = sorted((s for s in secrets if len(s) >= 6), key=len, reverse=True)

    def __call__(self, logger: WrappedLogger, name: str, event: EventDict) -> EventDict:  # noqa: ARG002 (structlog's shape)
        """Clean every value of an event; newlines would start a line of their own."""
        return {key: self._clean(value) for key, value in event.items()}

    def text(self, text: str) -> str:
        """The text without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, GONE)
        return _LOOKS_SECRET.sub(GONE, text)

    def _clean(self, value: Any) -> Any:
        if isinstance(value, int | float | bool) or value is None:
            return value
        return self.text(str(value)).replace("\n", "\\n")


class _Formatter(logging.Formatter):
    """Lines of libraries, tracebacks included, without secrets."""

    def __init__(self, redact: Redactor) -> None:
        super().__init__("%(levelname)s %(name)s %(message)s")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return self._redact.text(super().format(record)).replace("\n", "\\n")
