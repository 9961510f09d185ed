"""Makers of commits as their texts name them: co-authors, and the forge itself."""

import re
from collections.abc import Mapping

_COAUTHOR = re.compile(
    r"^[ \t]*co-authored-by[ \t]*:[^<\n]*<([^<>\n]+)>[ \t\r]*$", re.IGNORECASE | re.MULTILINE
)
_NOREPLY = re.compile(
    r"(?:([0-9]{1,18})\+)?([A-Za-z0-9][A-Za-z0-9_.-]*(?:\[bot\])?)@users\.noreply\..+"
)

MOST_COAUTHORS = 100
"""Trailers of one commit that are read; a message can hold thousands."""


def coauthors(message: str, accounts: Mapping[str, tuple[str, int]]) -> frozenset[tuple[str, int]]:
    """Read the co-authors of a commit that have an account: logins, and the forge's numbers.

    Args:
        message: The commit's.
        accounts: Address in lower case to login and number, as far as the forge told.
    """
    found: set[tuple[str, int]] = set()
    for match in list(_COAUTHOR.finditer(message))[:MOST_COAUTHORS]:
        address = match[1].strip()
        private = _NOREPLY.fullmatch(address)
        if address.lower() in accounts:
            found.add(accounts[address.lower()])
        elif private:
            found.add((private[2], int(private[1] or 0)))
    return frozenset(found)


def is_forge(address: str) -> bool:
    """Whether an address without an account is the forge's own, `noreply@` its host."""
    return address.partition("@")[0].lower() == "noreply"
