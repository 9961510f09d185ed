r"""Span edits on the text of one file, collected and then applied at once.

Rules:
- An edit replaces a span of the original text; edits never overlap.
- A line that is put in ends as the line before it does ("\n" or "\r\n"); a missing
  final newline stays missing.
"""

from cadlib.yaml.tree import SourceText


class Patch:
    """The edits of one file; positions are those of the original text.

    Attributes:
        edits: Start, end, number and text of each edit so far.
        text: The original text, with a final newline even where the file has none.
    """

    __slots__ = ("_completed", "edits", "text")

    def __init__(self, source: SourceText) -> None:
        newline = "\r\n" if "\r\n" in source.text else "\n"
        self._completed = bool(source.text) and not source.text.endswith("\n")
        self.text = source.text + newline if self._completed else source.text
        self.edits: list[tuple[int, int, int, str]] = []

    def fork(self) -> "Patch":
        """Return other edits of the same text, for a part of it that moves."""
        other = Patch.__new__(Patch)
        other.text, other._completed, other.edits = self.text, self._completed, []
        return other

    def replace(self, start: int, end: int, text: str) -> None:
        r"""Replace a span; its line ends become "\r\n" where the place has them."""
        if "\n" in text and self._newline_at(start) == "\r\n":
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        self.edits.append((start, end, len(self.edits), text))

    def delete(self, start: int, end: int) -> None:
        """Take a span out."""
        self.replace(start, end, "")

    def insert_lines(self, position: int, lines: list[str]) -> None:
        """Put whole lines in at the beginning of a line.

        Lines put in at one place stand in the order of the calls.
        """
        self.replace(position, position, "".join(line + "\n" for line in lines))

    def _newline_at(self, position: int) -> str:
        """Return how the line before the beginning of a line ends, or the line there."""
        text = self.text
        if position > 0 and text[position - 1] == "\n":
            return "\r\n" if text[max(0, position - 2) : position] == "\r\n" else "\n"
        found = text.find("\n", position)
        return "\r\n" if found > 0 and text[found - 1] == "\r" else "\n"

    def line_start(self, position: int) -> int:
        """Return where the line of a position begins."""
        return self.text.rfind("\n", 0, position) + 1

    def line_end(self, position: int) -> int:
        """Return where the line of a position ends, before its line end."""
        found = self.text.find("\n", position)
        found = len(self.text) if found < 0 else found
        return found - 1 if found > position and self.text[found - 1] == "\r" else found

    def after(self, position: int) -> int:
        """Return where the line after a node's end begins."""
        if position > 0 and self.text[position - 1] == "\n":
            return position
        found = self.text.find("\n", position)
        return len(self.text) if found < 0 else found + 1

    def column(self, position: int) -> int:
        """Return the column of a position, from 0."""
        return position - self.line_start(position)

    def apply(self, *, complete: bool = False) -> str:
        """Return the edited text.

        Args:
            complete: End it with a newline even if the file did not: a block scalar
                at its end may need one.

        Raises:
            ValueError: Two edits overlap.
        """
        edited = self.span(0, len(self.text))
        return _without_final_newline(edited) if self._completed and not complete else edited

    def span(self, begin: int, end: int) -> str:
        """Return the edited text of a span that holds every edit.

        Raises:
            ValueError: Two edits overlap, or one reaches beyond the span.
        """
        parts: list[str] = []
        done = begin
        for start, stop, _, text in sorted(self.edits):
            if start < done:
                raise ValueError("two edits of one file overlap")
            parts += (self.text[done:start], text)
            done = stop
        if done > end:
            raise ValueError("an edit reaches beyond the lines that move")
        return "".join((*parts, self.text[done:end]))


def _without_final_newline(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def head(patch: Patch, start: int, floor: int = 0) -> int:
    """Return where the comment lines right above a line begin, in the same column.

    Args:
        patch: The text.
        start: Where the line begins.
        floor: Where to stop: lines before belong to something else.
    """
    text = patch.text
    margin = _margin(text[start : patch.line_end(start)])
    while start > floor:
        above = patch.line_start(start - 1)
        line = text[above:start]
        if above < floor or _margin(line) != margin or line[margin : margin + 1] != "#":
            break
        start = above
    return start


def foot(patch: Patch, position: int, column: int) -> int:
    """Return where the comment lines below an entry end that are indented deeper than it.

    Args:
        patch: The text.
        position: Where the line behind the entry begins.
        column: The entry's column.
    """
    text = patch.text
    end = position
    while position < len(text):
        after = text.index("\n", position) + 1
        line = text[position:after]
        if line.strip():
            margin = _margin(line)
            if margin <= column or line[margin] != "#":
                break
            end = after
        position = after
    return end


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
