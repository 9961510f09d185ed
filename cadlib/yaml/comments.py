"""Line comments set, changed and removed, as functions that keep their settings there do.

Rules:
- A comment that differs from the wanted one, apart from blanks at its end, is replaced from
  its "#" on, or removed with the blanks before it.
- A new one stands one blank behind what it follows: a scalar, the key of a block, a closing
  bracket and its comma, the header of a block scalar. It is refused where the rest of the
  line would become part of it.
"""

import re
from collections.abc import Mapping

from cadlib.errors import Place
from cadlib.yaml.fields import FieldPath, field_text
from cadlib.yaml.patch import Patch
from cadlib.yaml.tree import Document, comment_places
from cadlib.yaml.walk import EditError

Comments = Mapping[FieldPath, str]

# What stands between a place of `comment_places` and its comment: the key's colon with an
# anchor and a tag, a block scalar's header, or a comma.
_BEFORE = re.compile(r"[ \t]*:(?:[ \t]+[&!]\S*)*|[|>][0-9+-]*|[ \t]*,|")


def agree(found: Comments, wanted: Comments) -> bool:
    """Say whether two sets of comments are the same, apart from blanks at their ends."""
    return found.keys() == wanted.keys() and all(
        text.rstrip() == wanted[field].rstrip() for field, text in found.items()
    )


def set_comments(document: Document, wanted: Comments, patch: Patch) -> None:
    """Bring all line comments of a document to the wanted ones.

    Args:
        document: The document, its values as they shall be.
        wanted: Every comment with its "#", by field.
        patch: Takes the edits.

    Raises:
        EditError: A comment is no line comment, or its field has no place for one.
    """
    text = document.source.text
    left = dict(wanted)
    seen: set[FieldPath] = set()
    for field, position, pattern in comment_places(document.root, (), text, flow=False):
        match = pattern.match(text, position)
        if field in seen:
            continue
        comment = left.pop(field, None)
        if match:
            seen.add(field)
            if comment is None:
                patch.delete(position + len(text[position : match.start(1)].rstrip()), match.end(1))
            elif comment.rstrip() != match[1].rstrip():
                patch.replace(match.start(1), match.end(1), _line(document, field, comment))
        elif comment is not None:
            place = _BEFORE.match(text, position)
            end = place.end() if place else position
            if text[end : patch.line_end(end)].strip(" \t"):
                raise _refuse(document, field, "the comment would swallow the rest of its line")
            patch.replace(end, patch.line_end(end), " " + _line(document, field, comment))
    for field in left:
        raise _refuse(document, field, "there is no place for a line comment")


def _line(document: Document, field: FieldPath, comment: str) -> str:
    if not comment.startswith("#") or "\n" in comment or "\r" in comment:
        raise _refuse(document, field, f"{comment!r} is no line comment")
    return comment.rstrip()


def _refuse(document: Document, field: FieldPath, problem: str) -> EditError:
    place = Place(document.source.path, document.line(field), field_text(field))
    return EditError(place, problem, "Write the comment on a line of its own")
