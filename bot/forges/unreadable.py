"""Answers of a forge that are no answer, or too much of one: what is said of them."""

import functools
import inspect
import traceback
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import structlog

from bot.forges.port import ForgeBusyError, ForgeRefusedError, ForgeUnreadableError

log = structlog.get_logger()

C = TypeVar("C")

MOST_REASON: Final = 10_000
"""Characters of a forge's words about what is wrong: they are shown, and logged at each try."""

UNREADABLE: Final = (
    LookupError,
    TypeError,
    AttributeError,
    ValueError,
    ArithmeticError,
    RecursionError,
)
"""What comes of taking apart an answer that may be anything."""

UNREADABLE_HEADERS: Final = (ValueError, ArithmeticError)
"""What comes of headers that may hold anything, inside the libraries that read them."""


class TooLargeError(ForgeRefusedError):
    """There is more of what was asked for than is read: whoever wrote it can make it less."""

    def __init__(self, wanted: str, reason: str, fix: str = "Make it shorter") -> None:
        super().__init__(wanted, reason, fix)
        self.args = (f"There is too much to {wanted}: {reason}. {fix}.",)


@contextmanager
def understood(wanted: str) -> Iterator[None]:
    """Inside the block an answer is taken apart that may be anything: a proxy's, a broken forge's.

    Raises:
        ForgeBusyError: It is not what the forge documents.
    """
    try:
        yield
    except UNREADABLE as error:
        raise unreadable(wanted, error) from error


def unreadable(wanted: str, error: Exception) -> ForgeBusyError:
    """The error that an answer stands for which cannot be taken apart."""
    return ForgeBusyError(wanted, _reason(error))


def _reason(error: Exception) -> str:
    return f"its answer cannot be read ({type(error).__name__}: {str(error)[:100]})"


def reading(made: type[C]) -> type[C]:
    """Decorate a class that speaks to a forge: what it cannot read in an answer is that forge's.

    Each of its public methods that waits raises `ForgeUnreadableError` for it. Where the answer was
    taken apart is in the log: a forge that answers otherwise for good takes a change of ours.
    """
    for name, method in inspect.getmembers(made, inspect.iscoroutinefunction):
        if not name.startswith("_"):
            setattr(made, name, _reading(name, method))
    return made


def _reading(name: str, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(method)
    async def read(*args: Any, **named: Any) -> Any:
        try:
            return await method(*args, **named)
        except UNREADABLE as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            at = f"{where.filename}:{where.lineno}"
            log.warning("an answer of the forge cannot be read", asked=name, at=at)
            wanted = f"answer a question ({name})"
            raise ForgeUnreadableError(wanted, _reason(error)) from error

    return read
