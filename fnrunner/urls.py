"""Addresses taken apart and joined, whatever stands there: `urllib` raises for some that are none.

Everything that reads an address goes through here, in the bot too: addresses come from settings and
flags, and from whoever answers or writes comments.
"""

import re
from typing import Final
from urllib.parse import SplitResult, urljoin, urlsplit

NONE: Final = SplitResult("", "", "", "", "")
"""The parts of what is no address."""


_PASSED_OVER: Final = re.compile(r"\A[\x00-\x20]|[\t\r\n]")
_IN_NO_HOST: Final = re.compile(r"[\x00-\x20\x7f\\]")
"""`urlsplit` passes over the ones, and reads the others as a part of a host or a user. Who connects
by the same text may not: in "https://10.0.0.1\\@host/" the host is 10.0.0.1 for `urllib3`."""


def parts(address: str) -> SplitResult:
    """Return the parts of an address; `NONE` where it is none, such as "http://[" or "//host:x".

    Neither is what others could read otherwise than this.
    """
    try:
        found = urlsplit(address)
        _ = found.port  # read, and refused, only now
    except ValueError:
        return NONE
    return NONE if _PASSED_OVER.search(address) or _IN_NO_HOST.search(found.netloc) else found


def joined(base: str, to: str) -> str:
    """Return where an address leads to from another one; "" where it is none."""
    try:
        return urljoin(base, to)
    except ValueError:
        return ""
