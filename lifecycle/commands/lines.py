"""The lines of a comment that may be commands, by its Markdown and HTML as a forge shows them.

One rule: a command counts only where a reader sees it as plain text at the start of a line, in a
paragraph that stands in nothing else. What is shown quoted, folded, struck out or as code is talk.
Where HTML, hidden characters or differences between Markdown parsers could make the forge show
something else than we read, the line is doubtful: it is not obeyed, and its writer is told.

Time is linear in the length of the text: the rules of the Markdown parser that are not (tables,
link definitions, inline text) are switched off or bounded.

Source: CommonMark 0.31 and GFM 0.29; for GitLab `quotes`
"""

import re
from bisect import bisect
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import accumulate

from markdown_it import MarkdownIt
from markdown_it.token import Token

from lifecycle.commands.html import Display, Html, Segment
from lifecycle.commands.quotes import shown_otherwise

MOST_PARAGRAPH = 2_000
"""Characters of a paragraph that holds a command: brackets and stars take the square of it."""

MOST_BRACKETS = 20
"""In such a paragraph: for each that opens, the text is searched to its end."""

MOST_MARKED = 4_000
"""Characters of all such paragraphs of one comment that have more than text in them; the commands
in the rest are not read, or one comment would take as long as it is long."""

_NESTING = 40
"""Depth of quotes and lists that is read; the Markdown parser skips what stands deeper."""


class Unclear(Enum):
    """Reason why a line that begins like a command is not obeyed."""

    SHOWN = "the forge may show it otherwise than it is written"
    LONG = "its paragraph takes too long to be read, or those before it did"


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A line that begins like a command.

    Attributes:
        text: From its command on, without blanks around it.
        doubt: Why it is not obeyed; None for a plain one.
    """

    text: str
    doubt: Unclear | None = None


@dataclass(frozen=True, slots=True)
class Beginnings:
    """Patterns for the beginnings of lines with commands.

    Attributes:
        plain: Matches a line that begins like a command, up to it.
        hidden: The same at the start of a text, whatever cannot be seen before it; its group `rest`
            is the command without its slash, or with its `@`.
    """

    plain: re.Pattern[str]
    hidden: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class _Spot:
    """A command in a text: where, and which; `index` of its line where it begins one plainly."""

    offset: int
    text: str
    index: int | None = None


def lines(text: str, beginnings: Beginnings) -> Iterator[CommandLine]:
    """Find the lines that a reader may take for commands, in their order.

    Args:
        text: The comment; its lines end in newlines only.
        beginnings: What to look for.
    """
    html = Html()
    links = "]:" in text
    otherwise = shown_otherwise(text)
    before = ""
    left = MOST_MARKED
    for token in _blocks().parse(text):
        if token.type in _CONTAINERS and token.nesting:
            html.enter() if token.nesting > 0 else html.leave()
        html.odd |= token.level >= _NESTING - 2
        if token.type == "html_block":
            yield from _in_html(html, token.content, beginnings)
        elif token.type == "inline":
            top = token.level == 1 and before == "paragraph_open"
            content = token.content
            found = _in_paragraph(html, content, beginnings, left, top=top, links=links)
            begins = token.map[0] if token.map else 0
            doubt = any(begins in each for each in otherwise)
            left -= yield from _doubted(found) if doubt else found
        before = token.type


def _doubted(lines: Generator[CommandLine, None, int]) -> Generator[CommandLine, None, int]:
    """The same lines, of which none is obeyed."""
    while True:
        try:
            line = next(lines)
        except StopIteration as end:
            return int(end.value)
        yield CommandLine(line.text, line.doubt or Unclear.SHOWN)


_CONTAINERS = frozenset(
    {"blockquote_open", "blockquote_close", "list_item_open", "list_item_close"}
)


@cache
def _blocks() -> MarkdownIt:
    """Blocks alone; the text inside is parsed only where it may hold a command."""
    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable("strikethrough")
    parser.disable(["inline", "reference"])
    # Compiled here and not at first use, which another thread would find half done.
    for ruler in (parser.core.ruler, parser.block.ruler, parser.inline.ruler, parser.inline.ruler2):
        ruler.getRules("")
    return parser


def _in_html(html: Html, content: str, beginnings: Beginnings) -> Iterator[CommandLine]:
    """Lines between tags are shown like any other, so their writer takes them for commands."""
    for piece in html.pieces(content, inline=False):
        parts = _BREAKS.split(content[piece.begin : piece.end])
        for number, part in enumerate(parts):
            found = beginnings.hidden.match(part) if number or piece.opens_line else None
            if found and piece.shown is not Display.TALK:
                yield CommandLine(_command(found), Unclear.SHOWN)


def _in_paragraph(
    html: Html, content: str, beginnings: Beginnings, left: int, *, top: bool, links: bool
) -> Generator[CommandLine, None, int]:
    """Lines of a paragraph, heading or list item's text; `top` for a plain paragraph.

    Returns how many of the characters that are `left` were parsed.
    """
    taken = 0
    spots = _spots(content, beginnings) if top or html.escaped or "<" in content else []
    if spots or "<" in content:
        pieces = list(html.pieces(content, inline=True))
        shown = {spot: _shown_at(pieces, spot.offset) for spot in spots}
        for piece in pieces[1:]:
            found = beginnings.hidden.match(content[piece.begin : piece.end].partition("\n")[0])
            if found and piece.opens_line:
                shown[_Spot(piece.begin, _command(found))] = piece.shown
        read = _Paragraph(content, spots, left, links=links) if top else None
        taken = read.taken if read else 0
        for spot in sorted(shown, key=lambda each: each.offset):
            if read is None:
                if html.escaped and shown[spot] is Display.DOUBT:
                    yield CommandLine(spot.text, Unclear.SHOWN)
            elif (line := read.line(spot, shown[spot])) is not None:
                yield line
    html.end_paragraph()
    return taken


def _spots(content: str, beginnings: Beginnings) -> list[_Spot]:
    """Commands that begin a line, or what may be shown as a line."""
    found, offset = [], 0
    for index, line in enumerate(content.split("\n")):
        if plain := beginnings.plain.match(line):
            found.append(_Spot(offset + plain.end(), line.strip(" \t"), index))
        else:
            inner = offset
            for part in _BREAKS.split(line):
                hidden = beginnings.hidden.match(part)
                # More than three blanks are how people keep a line from being read.
                if hidden and (inner > offset or not part.startswith((" ", "\t"))):
                    found.append(_Spot(inner, _command(hidden)))
                inner += len(part) + 1
        offset += len(line) + 1
    return found


def _command(found: re.Match[str]) -> str:
    """A command without what stands hidden before it."""
    text = found.string[found.start("rest") :]
    return (text if found["rest"].startswith("@") else f"/{text}").strip(" \t")


def _shown_at(pieces: Sequence[Segment], offset: int) -> Display:
    """How the text at an offset is shown; what is in no piece is code, a comment or a tag."""
    place = bisect(pieces, offset, key=lambda piece: piece.begin) - 1
    piece = pieces[max(place, 0)]
    return piece.shown if piece.begin <= offset < piece.end else Display.TALK


class _Paragraph:
    """The text of a plain paragraph, parsed only where it is short enough.

    Attributes:
        taken: How many characters were parsed.
    """

    def __init__(self, content: str, spots: Sequence[_Spot], left: int, *, links: bool) -> None:
        self._lines = content.split("\n")
        simple = _INLINE.search(content) is None
        most = min(MOST_PARAGRAPH, left)
        long = len(content) > most or content.count("[") > MOST_BRACKETS
        self._long = long and not simple
        likely = {spot.index for spot in spots if spot.index is not None}
        parsed = bool(likely) and not (simple or self._long)
        self.taken = len(content) if parsed else 0
        self._plain = frozenset(_plain(self._lines, likely) if parsed else likely)
        self._shown = _Differences(self._lines, links=links)

    def line(self, spot: _Spot, shown: Display) -> CommandLine | None:
        """Return the line of a command; None for text that only mentions one."""
        if shown is Display.TALK:
            return None
        if self._long:
            return CommandLine(spot.text, Unclear.LONG)
        if spot.index is None:
            return CommandLine(spot.text, Unclear.SHOWN)
        if spot.index not in self._plain:
            return None
        settled = self._shown.at(spot.index)
        if settled is Display.TALK:
            return None
        doubtful = Display.DOUBT in {shown, settled}
        return CommandLine(spot.text, Unclear.SHOWN if doubtful else None)


class _Differences:
    """What GitHub reads in a paragraph and our Markdown parser does not.

    Each of it is looked for once, however many commands ask.
    """

    def __init__(self, lines: Sequence[str], *, links: bool) -> None:
        self._lines = lines
        self._defines = bool(_DEFINITION.match(lines[0]))
        none = len(lines)
        notes = (index for index, line in enumerate(lines) if _FOOTNOTE.match(line))
        self._note = next(notes, none)
        rows = (i for i, row in enumerate(lines) if i and _DELIMITERS.fullmatch(row.strip(" \t")))
        self._table = next(rows, none)
        self._pairs = [_span(lines, sign) for sign in "$~"]
        self._open = [*accumulate(line.count("[") - line.count("]") for line in lines)]
        self._closed = _span(lines, "]")[1] if links else -1

    def at(self, index: int) -> Display:
        """How a line is shown by it."""
        lines = self._lines
        if self._defines and index:
            return Display.TALK if lines[index - 1].rstrip().endswith("]:") else Display.DOUBT
        if self._note < index:
            return Display.DOUBT
        if self._table < index:
            same = _cells(lines[self._table - 1]) == _cells(lines[self._table])
            return Display.TALK if same else Display.DOUBT
        # Mathematics, what is struck out by one sign, and the text of a link.
        if any(first < index < last for first, last in self._pairs):
            return Display.DOUBT
        if index < self._closed and index and self._open[index - 1] > 0:
            return Display.DOUBT
        return Display.PLAIN


def _span(lines: Sequence[str], sign: str) -> tuple[int, int]:
    """The first and the last line with a sign; the last is -1 where there is none."""
    found = [index for index, line in enumerate(lines) if sign in line]
    return (found[0], found[-1]) if found else (0, -1)


def _cells(row: str) -> int:
    """Cells of a table's row."""
    text = row.strip(" \t").removeprefix("|")
    parts = _PIPE.split(text)
    return len(parts) - (len(parts) > 1 and not parts[-1].strip(" \t"))


def _plain(lines: Sequence[str], likely: Collection[int]) -> Iterator[int]:
    """Those of the likely lines that begin outside code, links, emphasis and HTML.

    Each gets its number between sentinels before it; where that comes out as plain text right at a
    line's start, so does the command.
    """
    marked = [
        f"{SENTINEL}{index}{SENTINEL}{line.lstrip()}" if index in likely else line.lstrip(" \t")
        for index, line in enumerate(lines)
    ]
    parser = _blocks()
    tokens: list[Token] = []
    if likely:
        parser.inline.parse("\n".join(marked), parser, {}, tokens)
    before = "softbreak"
    for token in tokens:
        plain = token.type == "text" and token.level == 0 and before in {"softbreak", "hardbreak"}
        if plain and (found := _NUMBERED.match(token.content)):
            yield int(found[1])
        before = token.type


SENTINEL = "\ue000"
"""Never in a text that is read here: whoever calls has replaced it."""

_INLINE = re.compile(r"[`*_~\[<\\$&]")
"""What text inside a line that is more than text has in it."""

_NUMBERED = re.compile(f"{SENTINEL}([0-9]+){SENTINEL}")
BREAKS = r"\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
"""What may be shown as the end of a line, as a set of a regular expression."""

_BREAKS = re.compile(f"[{BREAKS}]")
_DEFINITION = re.compile(r" {0,3}\[(?:[^\[\]\\]|\\.)+(?:\]:|$)")
_FOOTNOTE = re.compile(r"[ \t]*\[\^[^\]]+\]:")
_DELIMITERS = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?")
_PIPE = re.compile(r"(?<!\\)\|")
