"""HTML in a comment: which elements are open at a place, as a browser and a forge see it.

Only HTML that every parser reads alike is followed: known elements, closed in their order, inside
the quote or list item they were opened in. Anything else makes all that follows doubtful, for good.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from markdown_it.common.html_re import HTML_TAG_RE


class Display(Enum):
    """How a forge shows a text: as plain text, as a quotation or code, or nobody can tell."""

    PLAIN = "plain"
    TALK = "quoted, folded, struck out, or as code"
    DOUBT = "nobody can tell"


@dataclass(frozen=True, slots=True)
class Segment:
    """A text between tags and code spans.

    Attributes:
        begin: Offset of its first character.
        end: Offset behind its last.
        shown: How.
        opens_line: A reader sees it begin a line.
    """

    begin: int
    end: int
    shown: Display
    opens_line: bool


# fmt: off
_TALK = frozenset({
    "blockquote", "code", "del", "details", "kbd", "pre", "q", "s", "samp", "strike", "tt",
})
_OPEN = "-open"
"""Added to the name of `<details open>`, which hides nothing."""
_VOID = frozenset({"br", "hr", "img", "wbr"})
_FORMATTING = frozenset({
    "a", "b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u",
})
"""A browser opens these again in the next paragraph when they were not closed."""
_INLINE = _FORMATTING | {
    "abbr", "bdi", "bdo", "cite", "data", "del", "dfn", "img", "ins", "kbd", "mark", "q", "samp",
    "span", "sub", "sup", "time", "var", "wbr",
}
_BLOCKS = frozenset({
    "article", "aside", "blockquote", "center", "dd", "details", "div", "dl", "dt", "figcaption",
    "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "li", "main", "nav", "ol",
    "p", "pre", "section", "summary", "ul",
})
"""These outlive the paragraph they are opened in."""
_UNREADABLE = frozenset({
    "applet", "base", "basefont", "body", "button", "caption", "col", "colgroup", "dialog", "form",
    "frame", "frameset", "head", "html", "iframe", "image", "input", "keygen", "link", "listing",
    "marquee", "math", "meta", "nobr", "noembed", "noframes", "noscript", "object", "optgroup",
    "option", "param", "plaintext", "rb", "rp", "rt", "rtc", "ruby", "script", "select", "source",
    "style", "svg", "table", "tbody", "td", "template", "textarea", "tfoot", "th", "thead", "title",
    "tr", "track", "xmp",
})
"""What stands in these is moved elsewhere, left out, or read by rules of its own."""
# fmt: on

_DEEPEST = 50
"""Elements in one another; browsers cut at a depth of their own."""

_ATTRIBUTE = r"""\s+[a-zA-Z_:][\w:.-]*(?:\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'=<>`]+))?"""
_MARKUP = re.compile(
    r"(?P<comment><!--(?!-?>)[^-]*(?:-(?!->|-!>)[^-]*)*-->)"
    r"|<(?P<end>/?)(?P<name>[a-zA-Z][a-zA-Z0-9-]*)"
    rf"(?P<attributes>(?:{_ATTRIBUTE})*)\s*/?>",
    re.ASCII,
)
_AUTOLINK = re.compile(r"<(?:[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]*|[\w.+-]+@[\w.-]+)>", re.ASCII)
_INLINE_STOP = re.compile(r"\\[!-/:-@\[-`{-~]|`+|<(?=[a-zA-Z/!?])")
_BLOCK_STOP = re.compile("<(?=[a-zA-Z/!?])")
_TICKS = re.compile("`+")


class Html:
    """The HTML of one comment, read from its beginning to its end.

    Attributes:
        odd: Something was not read as every parser would: what follows may be shown anyhow.
        escaped: HTML ends a quote or list of Markdown, so that not even what is in one is quoted.
    """

    def __init__(self) -> None:
        self.odd = False
        self.escaped = False
        self._open: list[str] = []
        self._floors: list[int] = [0]
        self._paragraph = 0

    @property
    def shown(self) -> Display:
        """How a text at this place is shown."""
        if self.escaped:
            return Display.DOUBT
        if len(self._floors) > 1:
            return Display.TALK
        if not self.odd and not _TALK.isdisjoint(self._open):
            return Display.TALK
        return Display.DOUBT if self.odd or self._open else Display.PLAIN

    def enter(self) -> None:
        """Enter a quote or list item of Markdown."""
        self._floors.append(len(self._open))
        self._paragraph = len(self._open)

    def leave(self) -> None:
        """Leave it, closing what was opened in it, but for what browsers open again."""
        floor = self._floors.pop()
        self.odd |= not _FORMATTING.isdisjoint(self._open[floor:])
        del self._open[floor:]
        self._paragraph = len(self._open)

    def end_paragraph(self) -> None:
        """End a paragraph: blocks opened in it stay open, plain inline elements end with it."""
        while len(self._open) > self._paragraph and self._ends_with_paragraph(self._open[-1]):
            self._open.pop()
        self.odd |= any(name not in _BLOCKS for name in self._open[self._paragraph :])
        self._paragraph = len(self._open)

    @staticmethod
    def _ends_with_paragraph(name: str) -> bool:
        return name not in _BLOCKS and name not in _FORMATTING

    def pieces(self, content: str, *, inline: bool) -> Iterator[Segment]:
        """Read on, yielding the texts between tags, comments and code spans.

        Args:
            content: An HTML block, or the text of a paragraph, heading or cell.
            inline: The latter: code spans, escapes and autolinks count.
        """
        stop = _INLINE_STOP if inline else _BLOCK_STOP
        ticks = _runs(content) if inline else {}
        begin = at = 0
        opens = True
        while found := stop.search(content, at):
            at, shown = found.end(), self.shown
            span = self._span(content, found, ticks, inline=inline)
            if span is None:
                continue
            yield Segment(begin, found.start(), shown, opens)
            end, breaks = span
            opens = (
                _still_opens(content[begin : found.start()], opens) if breaks is None else breaks
            )
            begin = at = end
        yield Segment(begin, len(content), self.shown, opens)

    def _span(
        self,
        content: str,
        found: re.Match[str],
        ticks: Mapping[int, Sequence[int]],
        *,
        inline: bool,
    ) -> tuple[int, bool | None] | None:
        """Read a code span, an autolink or markup.

        Returns:
            Its end, and whether what follows opens a line (None: if it itself would have); None for
            what is text.
        """
        if found[0][0] == "`":
            closing = _closing(ticks, found)
            return None if closing is None else (closing, False)
        if found[0] != "<" or self.odd:
            return None
        markup = _MARKUP.match(content, found.start())
        if markup is not None:
            return markup.end(), self._follow(markup, inline=inline)
        if inline and (link := _AUTOLINK.match(content, found.start())):
            return link.end(), False
        if not inline and content.startswith("<!--", found.start()):
            # All parsers hide what follows in this block, if nothing ends the comment.
            self.odd = True
            return None if "--!>" in content[found.end() :] else (len(content), None)
        known_as_text = inline and content[found.end()] not in "!?"
        if not known_as_text or HTML_TAG_RE.match(content, found.start()) is not None:
            self.odd = True
        return None

    def _follow(self, markup: re.Match[str], *, inline: bool) -> bool | None:
        """Open or close an element; returns whether what follows opens a line."""
        if markup["comment"]:
            self.odd |= inline and "--" in markup["comment"][4:-3]  # no comment for GFM
            return None
        name, ends = markup["name"].lower(), bool(markup["end"])
        if name in _UNREADABLE or (ends and markup["attributes"]):
            self.odd = True
        elif ends:
            self._close(name)
        elif name == "details" and re.search(r"\sopen\b", markup["attributes"], re.IGNORECASE):
            self._open.append(name + _OPEN)
        elif name not in _VOID:
            self._open.append(name)
        self.odd |= len(self._open) > _DEEPEST
        return None if name in _INLINE else True

    def _close(self, name: str) -> None:
        here = len(self._open) > self._floors[-1]
        if here and self._open[-1].removesuffix(_OPEN) == name:
            self._open.pop()
            self._paragraph = min(self._paragraph, len(self._open))
        else:
            self.odd = True
            ends_outer = name in {"blockquote", "li", "ol", "ul", *self._open}
            self.escaped |= ends_outer and len(self._floors) > 1


def _still_opens(text: str, opened: bool) -> bool:
    """Whether nothing that can be seen stands between the begin of a line and the end of a text."""
    _, newline, last = text.rpartition("\n")
    return not last.strip() and (bool(newline) or opened)


def _runs(content: str) -> Mapping[int, Sequence[int]]:
    """Length of a run of backticks to where such runs begin."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for run in _TICKS.finditer(content):
        found[len(run[0])].append(run.start())
    return found


def _closing(ticks: Mapping[int, Sequence[int]], opening: re.Match[str]) -> int | None:
    """End of the code span that a run of backticks opens; None when it opens none."""
    length = len(opening[0])
    starts = ticks.get(length, ())
    place = bisect_left(starts, opening.end())
    return starts[place] + length if place < len(starts) else None
