r"""Span edits on the text of one file, collected and then applied at once.

Rules:
- An edit replaces a span of the original text; edits never overlap.
- A line that is put in ends as the line before it does ("\n" or "\r\n"); a missing
  final newline stays missing.
"""

from cadlib.yaml.tree import Text


class Patch:
    """The edits of one file; positions are those of the original text.

    Attributes:
        edits: Start, end, number and text of each edit so far.
        text: The original text, with a final newline even where the file has none.
    """

    __slots__ = ("_completed", "edits", "text")

    def __init__(self, source: Text) -> None:
        newline = "\r\n" if "\r\n" in source.text else "\n"
        self._completed = bool(source.text) and not source.text.endswith("\n")
        self.text = source.text + newline if self._completed else source.text
        self.edits: list[tuple[int, int, int, str]] = []

    def replace(self, start: int, end: int, text: str) -> None:
        """Replace a span; its line ends become those of the place."""
        if "\n" in text and self._newline_at(start) == "\r\n":
            text = text.replace("\n", "\r\n")
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
        parts: list[str] = []
        done = 0
        for start, end, _, text in sorted(self.edits):
            if start < done:
                raise ValueError("two edits of one file overlap")
            parts += (self.text[done:start], text)
            done = end
        edited = "".join((*parts, self.text[done:]))
        return _without_final_newline(edited) if self._completed and not complete else edited


def _without_final_newline(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def head(patch: Patch, start: int) -> int:
    """Return where the comment lines right above a line begin, in the same column."""
    text = patch.text
    margin = _margin(text[start : patch.line_end(start)])
    while start > 0:
        above = patch.line_start(start - 1)
        line = text[above:start]
        if _margin(line) != margin or line[margin : margin + 1] != "#":
            break
        start = above
    return start


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
