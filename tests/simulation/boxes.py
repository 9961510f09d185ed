"""Boxes of the dashboard issue, as people see them: read by the text alone.

Written down apart from the bot's own reading, so that the oracle can judge by this.
"""

import re
from dataclasses import dataclass

LINE = re.compile(
    r"^- \[(?P<box>[ xX])\] `(?P<mark>/|@porchbot )(?P<said>[^`]+)`"
    r"(?: in \[[#!](?P<pull>[0-9]+)\]\()?.*$",
    re.MULTILINE,
)
TOLD = re.compile(
    r"^- `(?:/|@porchbot )(?P<said>[^`]+)`(?: in [#!](?P<pull>[0-9]+))?, ticked by"
    r" `(?P<who>[^`]+)`: (?P<what>.*)$",
    re.MULTILINE,
)
"""What the bot's comment about boxes says of one."""

FREE, TICKED = "- [ ] ", "- [x] "
ALTERED = "is not as the bot wrote it"
WAITING = re.compile(r"box waits|boxes wait")


@dataclass(frozen=True, slots=True)
class Box:
    """A box.

    Attributes:
        mark: What commands begin with here.
        said: The command beside it, without that.
        pull: Number of the proposal that it is about; 0 for none.
        line: The whole line.
        ticked: It is ticked.
    """

    mark: str
    said: str
    pull: int
    line: str
    ticked: bool

    @property
    def word(self) -> str:
        """The word of its command."""
        return self.said.partition(" ")[0]


def boxes(text: str) -> list[Box]:
    """The boxes of a text, in order."""
    return [
        Box(found["mark"], found["said"], int(found["pull"] or 0), found[0], found["box"] != " ")
        for found in LINE.finditer(text)
    ]


def ticking(text: str, *some: Box) -> str:
    """A text with some of its boxes ticked, as the page writes it."""
    for each in some:
        text = text.replace(each.line, each.line.replace(FREE, TICKED, 1))
    return text


def free(text: str) -> str:
    """A text with no box ticked: what it was before anybody did."""
    return re.sub(r"^- \[[xX]\] ", FREE, text, flags=re.MULTILINE)


def newly(before: str, after: str) -> list[Box]:
    """The boxes that an edit ticked."""
    known = {each.line for each in boxes(before) if each.ticked}
    return [each for each in boxes(after) if each.ticked and each.line not in known]
