"""Answers of a forge that are no answer, or too much of one: what is said of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bot.forges.port import ForgeBusyError, ForgeRefusedError

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
    reason = f"its answer cannot be read ({type(error).__name__}: {str(error)[:100]})"
    return ForgeBusyError(wanted, reason)
