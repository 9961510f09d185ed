"""Addresses taken apart and joined, whatever stands there: `urllib` raises for some that are none.

Everything that reads an address goes through here, in the bot too: addresses come from settings and
flags, and from whoever answers or writes comments.
"""

from typing import Final
from urllib.parse import SplitResult, urljoin, urlsplit

NONE: Final = SplitResult("", "", "", "", "")
"""The parts of what is no address."""


def parts(address: str) -> SplitResult:
    """Return the parts of an address; `NONE` where it is none, such as "http://[" or "//host:x"."""
    try:
        found = urlsplit(address)
        _ = found.port  # read, and refused, only now
    except ValueError:
        return NONE
    return found


def joined(base: str, to: str) -> str:
    """Return where an address leads to from another one; "" where it is none."""
    try:
        return urljoin(base, to)
    except ValueError:
        return ""
