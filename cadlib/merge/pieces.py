"""The documents of a file as pieces of its text, to be moved, replaced and put together.

Rules:
- All pieces of a file, one after the other, are its text.
- A document's comments are the lines after its "---", up to the next one. What stands
  before the first "---" of a file belongs to its first document.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cadlib.yaml import Stream

_MARK = re.compile(r"^---(?:[ \t]+#[^\r\n]*)?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of one document.

    Attributes:
        mark: All up to and with its "---" and a comment behind that; "" for a first
            document without one.
        body: The rest.
        empty: It holds comments at most.
    """

    mark: str
    body: str
    empty: bool = False

    def like(self, other: "Piece") -> bool:
        """Tell whether two documents have the same text, blank lines around it aside."""
        return self.unix().strip() == other.unix().strip()

    def unix(self) -> str:
        """Return the body with line feeds alone at the ends of its lines."""
        return self.body.replace("\r\n", "\n")

    def holding(self, other: "Piece") -> "Piece":
        """Return a piece in this one's place, with the text of the other."""
        if self.mark:
            body = other.body if other.mark else f"\n{other.body}"
        else:
            body = other.body.removeprefix("\r").removeprefix("\n")
        return replace(self, body=body, empty=other.empty)


def pieces(stream: Stream) -> list[Piece]:
    """Return the pieces of a file, one for each of its documents."""
    text = stream.source.text
    documents = stream.documents
    starts = [0, *(document.start for document in documents[1:]), len(text)]
    found = []
    for index, document in enumerate(documents):
        start, end = starts[index], starts[index + 1]
        match = _MARK.search(text, document.start, end) if document.explicit else None
        middle = match.end() if match else start
        found.append(Piece(text[start:middle], text[middle:end], document.empty))
    return found


def joined(parts: Sequence[Piece], added: Iterable[Piece], whole: Stream) -> bytes:
    """Put a file together.

    Args:
        parts: What is left of the file's pieces, in order.
        added: Pieces of other files, to follow them.
        whole: The file as it was; its line ends and byte order mark are kept.
    """
    ends = "\r\n" if "\r\n" in whole.source.text else "\n"
    found = list(parts)
    if found and found[0].mark == "---" and whole.documents and not whole.documents[0].explicit:
        found[0] = Piece("", "").holding(found[0])  # it was the second, and needs no mark now
    for each in added:
        mark = each.mark if each.mark.startswith("---") else "---"
        found.append(Piece(mark if found else "", "").holding(each))
    text = ""
    for each in found:
        if text and not text.endswith("\n"):
            text += ends
        text += each.mark + each.unix().replace("\n", ends)
    return (("\ufeff" if whole.source.bom else "") + text).encode()
