"""Boxes of the dashboard issue: each gives the command beside it, in the name of whoever ticks it.

Whoever may edit the issue may also write a box into it. That gives them nothing: the command is
judged as if they had commented it, and by `access.bulk` as well.
"""

import re

WORDS = ("upgrade",)
"""Commands that a box gives: they are about the repository, and approve nothing."""

MOST_TICKED = 100
"""Boxes that one edit ticks; of more the first ones count."""

_BOX = re.compile(
    rf"^[-*] \[[xX]\] `(?:/|@[\w.-]+ )(?P<command>(?:{'|'.join(WORDS)}) [^`\r\n]{{1,300}})`",
    re.MULTILINE | re.ASCII,
)


def fits(command: str) -> bool:
    """Tell whether a command can be read back from the text beside its box."""
    return _BOX.fullmatch(f"- [x] `/{command}`") is not None


def ticked(text: str) -> tuple[str, ...]:
    """Return the commands whose boxes are ticked in a text, each once, in its order."""
    return tuple(dict.fromkeys(found["command"] for found in _BOX.finditer(text)))


def newly_ticked(before: str, after: str) -> tuple[str, ...]:
    """Return the commands whose boxes an edit ticked."""
    known = frozenset(ticked(before))
    return tuple(each for each in ticked(after) if each not in known)[:MOST_TICKED]
