"""Turns text that people and packages wrote into safe HTML: Markdown, and diffs line by line.

Nothing of a package reaches a page as markup: raw HTML is shown as text, HTML comments (where bots
keep their records) are hidden, and images become links, because a page loads nothing from outside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup, escape

MOST_TEXT = 200_000
"""Characters of one text that are rendered; GitHub accepts 65,536."""

MOST_PATCH = 400_000
"""Characters of one file's patch that are shown; a longer one is not shown at all."""

_COMMENT = re.compile(r"<!--.*?(-->|\Z)", re.DOTALL)
_HARMLESS = re.compile(r"</?(details|summary|br|code|sub|sup)\s*/?>", re.IGNORECASE)
_MENTION = re.compile(r"(?<![\w@/.])@([A-Za-z0-9](?:[A-Za-z0-9-]{0,38}))(?![\w@-])")
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")


def _html(text: str) -> str:
    """Return raw HTML as text, without comments, but for a few tags that carry no attribute."""
    out, position = [], 0
    bare = _COMMENT.sub("", text)
    for tag in _HARMLESS.finditer(bare):
        out += [str(escape(bare[position : tag.start()])), tag[0].lower()]
        position = tag.end()
    return "".join([*out, str(escape(bare[position:]))])


class _Renderer(RendererHTML):
    """markdown-it's renderer with raw HTML shown as text and nothing loaded."""

    def html_block(
        self,
        tokens: Sequence[Token],
        idx: int,
        _options: OptionsDict,
        _env: MutableMapping[str, Any],
    ) -> str:
        """Show raw HTML as text."""
        return _html(tokens[idx].content)

    def html_inline(
        self,
        tokens: Sequence[Token],
        idx: int,
        _options: OptionsDict,
        _env: MutableMapping[str, Any],
    ) -> str:
        """Show raw HTML as text."""
        return _html(tokens[idx].content)

    def image(
        self,
        tokens: Sequence[Token],
        idx: int,
        _options: OptionsDict,
        _env: MutableMapping[str, Any],
    ) -> str:
        """Show an image as a link."""
        token = tokens[idx]
        source = escape(str(token.attrs.get("src", "")))
        return f'<a href="{source}" rel="nofollow noopener">{escape(token.content or "image")}</a>'

    def link_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        """Tell search engines and the other side nothing."""
        tokens[idx].attrs["rel"] = "nofollow noopener"
        return self.renderToken(tokens, idx, options, env)

    def text(
        self,
        tokens: Sequence[Token],
        idx: int,
        _options: OptionsDict,
        _env: MutableMapping[str, Any],
    ) -> str:
        """Mark what mentions a person."""
        return _MENTION.sub(r'<span class="mention">@\1</span>', str(escape(tokens[idx].content)))


_MARKDOWN = MarkdownIt("commonmark", {"html": True}, renderer_cls=_Renderer).enable(
    ["table", "strikethrough"]
)


def markdown(text: str) -> Markup:
    """Render what somebody wrote as HTML that can do no harm.

    Args:
        text: Markdown; only the first `MOST_TEXT` characters are rendered.
    """
    return Markup(_MARKDOWN.render(text[:MOST_TEXT]))  # noqa: S704 - escaped by the rules above


class Side(StrEnum):
    """What a line of a diff is."""

    HUNK = "hunk"
    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckAnnotation:
    """One annotation of a check run.

    Attributes:
        check: Name of the check run.
        path: The file.
        line: Last line it speaks of; at least 1.
        level: `notice`, `warning` or `failure`.
        message: Plain text.
        title: Plain text; may be empty.
    """

    check: str
    path: str
    line: int
    level: str
    message: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """One line of a diff.

    Attributes:
        side: What it is.
        old: Line number before, or None.
        new: Line number after, or None.
        text: The line without its sign.
        notes: Annotations that end at this line.
    """

    side: Side
    old: int | None = None
    new: int | None = None
    text: str = ""
    notes: tuple[CheckAnnotation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownDiff:
    """The diff of one file.

    Attributes:
        path: Path after the change.
        old_path: Path before, if it was renamed.
        status: `added`, `removed`, `modified` or `renamed`.
        lines: The lines; empty for a binary or very large file.
        elsewhere: Annotations at lines that the diff does not show.
    """

    path: str
    old_path: str | None = None
    status: str = "modified"
    lines: tuple[DiffLine, ...] = ()
    elsewhere: tuple[CheckAnnotation, ...] = field(default=())

    @property
    def added(self) -> int:
        """Number of lines added."""
        return sum(line.side is Side.ADDED for line in self.lines)

    @property
    def removed(self) -> int:
        """Number of lines removed."""
        return sum(line.side is Side.REMOVED for line in self.lines)

    @property
    def notes(self) -> int:
        """Number of annotations."""
        return sum(len(line.notes) for line in self.lines) + len(self.elsewhere)


def shown_diff(
    path: str,
    patch: str | None,
    notes: Iterable[CheckAnnotation] = (),
    *,
    status: str = "modified",
    old_path: str | None = None,
) -> ShownDiff:
    """Read a unified patch and put annotations at their lines.

    Args:
        path: Path after the change.
        patch: Hunks as forges give them (`@@ -1,2 +1,3 @@` and lines); None for a binary file.
        notes: Annotations; those of other files are passed over.
        status: What happened to the file.
        old_path: Path before, if it was renamed.
    """
    here: dict[int, list[CheckAnnotation]] = {}
    for note in notes:
        if note.path == path:
            here.setdefault(note.line, []).append(note)
    lines = []
    for line in _lines(patch if patch is not None and len(patch) <= MOST_PATCH else ""):
        found = here.pop(line.new, []) if line.new is not None else []
        lines.append(
            DiffLine(side=line.side, old=line.old, new=line.new, text=line.text, notes=tuple(found))
        )
    return ShownDiff(
        path=path,
        old_path=old_path,
        status=status,
        lines=tuple(lines),
        elsewhere=tuple(note for _, found in sorted(here.items()) for note in found),
    )


def _lines(patch: str) -> Iterator[DiffLine]:
    """Yield the lines of a unified patch with their numbers."""
    old = new = 0
    for line in patch.split("\n"):
        hunk = _HUNK.match(line)
        if hunk:
            old, new = int(hunk[1]), int(hunk[2])
            yield DiffLine(side=Side.HUNK, text=line)
        elif line.startswith("+"):
            yield DiffLine(side=Side.ADDED, new=new, text=line[1:])
            new += 1
        elif line.startswith("-"):
            yield DiffLine(side=Side.REMOVED, old=old, text=line[1:])
            old += 1
        elif line.startswith(" "):
            yield DiffLine(side=Side.SAME, old=old, new=new, text=line[1:])
            old, new = old + 1, new + 1
        elif line.startswith("\\"):
            yield DiffLine(side=Side.HUNK, text=line[2:])
