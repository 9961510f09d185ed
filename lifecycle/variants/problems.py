"""What is wrong with a file of variants: where, in Porch's words, and what to do."""

from dataclasses import dataclass
from typing import Final

from cadlib.errors import Place

MOST: Final = 50
"""Problems of a file that are told; the rest are counted."""

MOST_CHARACTERS: Final = 4000
"""Of a text or a field: names that a file chooses stand in them, and may have megabytes."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        path: The file; "" where it is about no file.
        line: Its line, from 1; 0 where it is about the whole file.
        column: Its column, from 1, in characters; 0 where it is about the whole line.
        field: The field, such as "spec.targets[0].template"; "" for none.
        text: What is wrong, in Porch's words where Porch has some.
        fix: What to do, a sentence without its full stop; "" where `text` says so.
    """

    path: str
    line: int
    column: int
    field: str
    text: str
    fix: str = ""

    def __post_init__(self) -> None:
        for name in ("field", "text"):
            said = getattr(self, name)
            if len(said) > MOST_CHARACTERS:
                object.__setattr__(self, name, f"{said[:MOST_CHARACTERS]}…")

    @property
    def place(self) -> Place:
        """Where it is, as findings have it."""
        return Place(self.path, self.line or None, self.field)

    def __str__(self) -> str:
        at = self.path + (f":{self.line}" if self.line else "")
        at += f":{self.column}" if self.line and self.column else ""
        said = f"{at}: {self.text}" if at else self.text
        return f"{said}. {self.fix}." if self.fix else said
