"""Line comments set, changed and removed, as functions that keep their settings there do.

Rules:
- A comment that differs from the wanted one, apart from blanks at its end, is replaced from
  its "#" on, or removed with the blanks before it.
- A new one stands one blank behind what it follows: a scalar, the key of a block, a closing
  bracket and its comma, the header of a block scalar.
- Where the rest of the line would become part of it, inside `[a, b]`, the brackets are first
  replaced by lines of their own, as functions that set such comments expect; elsewhere it is
  refused. A comment behind brackets that stand behind a dash goes on a line above them then.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from cadlib.errors import Place
from cadlib.yaml.fields import FieldPath, field_text
from cadlib.yaml.layout import Neighbours, children, column
from cadlib.yaml.patch import Patch
from cadlib.yaml.tree import Alias, Document, Map, Node, Scalar, Seq, comment_places
from cadlib.yaml.walk import EditError

Comments = Mapping[FieldPath, str]

# What stands between a place of `comment_places` and its comment: the key's colon with an
# anchor and a tag, a block scalar's header, or a comma.
_BEFORE = re.compile(r"[ \t]*:(?:[ \t]+[&!]\S*)*|[|>][0-9+-]*|[ \t]*,|")


def agree(found: Comments, wanted: Comments) -> bool:
    """Tell whether two sets of comments are equal, trailing blanks aside."""
    return found.keys() == wanted.keys() and all(
        text.rstrip() == wanted[field].rstrip() for field, text in found.items()
    )


def make_room(document: Document, wanted: Comments, patch: Patch) -> set[FieldPath]:
    """Put entries of flow collections on lines of their own where comments shall follow them.

    Of collections in each other only the outermost is replaced; the inner ones are its entries
    then, and may need room themselves.

    Args:
        document: The document, its values as they shall be.
        wanted: Every comment with its "#", by field.
        patch: Takes the edits; none if there is room for every comment, or none to be had.

    Returns:
        Fields whose wanted comments are on lines of their own now.
    """
    opened: set[FieldPath] = set()
    moved: set[FieldPath] = set()
    for place in _places(document, wanted):
        if place.match is None and place.wanted is not None and _rest(patch, place.end):
            found = _outermost_flow(document.root, place.field)
            if found and found.field not in opened:
                opened.add(found.field)
                if _open(document, found, patch) and found.after is None:
                    _move(found, wanted.get(found.field), patch)
                    moved.add(found.field)
    return moved


def set_comments(document: Document, wanted: Comments, patch: Patch) -> None:
    """Bring all line comments of a document to the wanted ones.

    Args:
        document: The document, its values as they shall be.
        wanted: Every comment with its "#", by field.
        patch: Takes the edits.

    Raises:
        EditError: A comment is no line comment, or its field has no place for one.
    """
    left = set(wanted)
    for place in _places(document, wanted):
        left.discard(place.field)
        match place:
            case _Place(match=None, wanted=None):
                pass
            case _Place(match=None, wanted=str(comment)):
                if _rest(patch, place.end):
                    problem = "the comment would swallow the rest of its line"
                    raise _refuse(document, place.field, problem)
                text = " " + _line(document, place.field, comment)
                patch.replace(place.end, patch.line_end(place.end), text)
            case _Place(match=re.Match() as found, wanted=None):
                patch.delete(place.end, found.end(1))
            case _Place(match=re.Match() as found, wanted=str(comment)):
                if comment.rstrip() != found[1].rstrip():
                    text = _line(document, place.field, comment)
                    patch.replace(found.start(1), found.end(1), text)
    for field in sorted(left, key=field_text):
        raise _refuse(document, field, "there is no place for a line comment")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a line comment stands or may stand.

    Attributes:
        field: What it follows.
        end: Where that ends, with its colon, header or comma.
        match: The comment that is there.
        wanted: The comment that shall be there.
    """

    field: FieldPath
    end: int
    match: re.Match[str] | None
    wanted: str | None


def _places(document: Document, wanted: Comments) -> Iterator[_Place]:
    text = document.source.text
    for field, position, pattern in comment_places(document.root, (), text, flow=False):
        before = _BEFORE.match(text, position)
        end = before.end() if before else position
        yield _Place(field, end, pattern.match(text, position), wanted.get(field))


def _rest(patch: Patch, position: int) -> str:
    return patch.text[position : patch.line_end(position)].strip(" \t")


class _Flow(NamedTuple):
    """A flow collection in a block: its field, what it stands in, and where its key ends."""

    field: FieldPath
    parent: Map | Seq
    node: Map | Seq
    after: int | None


def _outermost_flow(root: Node, field: FieldPath) -> _Flow | None:
    """Return the flow collection around a field."""
    node = root
    for depth, step in enumerate(field):
        key: Scalar | Alias | None = None
        if isinstance(node, Map) and isinstance(step, str):
            key, inner = node.at(step) or (None, node)
        elif isinstance(node, Seq) and isinstance(step, int):
            inner = node.items[step]
        else:
            return None
        if isinstance(inner, Map | Seq) and inner.flow and not node.flow:
            return _Flow(field[: depth + 1], node, inner, key.end if key else None)
        node = inner
    return None


def _open(document: Document, found: _Flow, patch: Patch) -> bool:
    """Replace brackets by lines, one for each entry, with the text it has, if they can be."""
    text, node, after = document.source.text, found.node, found.after
    if "\n" in text[node.start : node.end] or node.anchor is not None or not children(node):
        return False
    keys = node.keys if isinstance(node, Map) else node.items
    spans = [text[k.start : max(k.end, v.end)] for k, v in zip(keys, children(node), strict=True)]
    dash = "- " if isinstance(node, Seq) else ""
    at = column(document.source, found.parent)
    if after is None:  # behind a dash
        patch.replace(
            node.start, node.end, f"\n{' ' * (at + 2)}{dash}".join([dash + spans[0], *spans[1:]])
        )
        return True
    style = Neighbours(document).style(found.parent, node.value)
    margin = " " * (at if dash and style.compact else at + style.step)
    colon = text.index(":", after) + 1
    patch.delete(colon, node.end)
    patch.insert_lines(patch.after(node.end), [margin + dash + each for each in spans])
    return True


def _move(found: _Flow, wanted: str | None, patch: Patch) -> None:
    """Take away what follows brackets behind a dash, and write what is wanted above them."""
    patch.delete(found.node.end, patch.line_end(found.node.end))
    if wanted is not None:
        start = patch.line_start(found.node.start)
        line = patch.text[start : found.node.start]
        margin = line[: len(line) - len(line.lstrip(" "))]
        patch.insert_lines(start, [margin + wanted.rstrip()])


def _line(document: Document, field: FieldPath, comment: str) -> str:
    if not comment.startswith("#") or "\n" in comment or "\r" in comment:
        raise _refuse(document, field, f"{comment!r} is no line comment")
    return comment.rstrip()


def _refuse(document: Document, field: FieldPath, problem: str) -> EditError:
    place = Place(document.source.path, document.line(field), field_text(field))
    return EditError(place, problem, "Write the comment on a line of its own")
