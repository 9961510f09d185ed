"""Text of scalars, for functions that work on text instead of values.

Rules:
- The text of a scalar is what stands in the file: `1.10` is "1.10", `~` is "~". Of a resource
  whose text is not at hand (it came over the wire), it is what the value would be written as.
- Text that is put where no quotes stand is read as YAML reads it: "80" is a number then. In
  quotes it stays text. Where the file is not at hand, only a value that needs quotes has them.
- A number keeps the digits that it is put with: other setters may be read from them.
- Fields come in the catalog's order: the lists of a mapping before anything inside it.

Source: the catalog's functions set the value of a node of go-yaml and clear its tag
(functions/go/apply-setters and search-replace).
"""

import re
from collections.abc import Iterator
from typing import Final

from cadlib.stream.resourcelist import Item
from cadlib.yaml import FieldPath, Value, digits, field_text, same
from cadlib.yaml.scalars import inline, resolve
from cadlib.yaml.tree import Scalar
from fnrunner.builtin import verdict
from fnrunner.contract.results import Result

_ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
_TAG: Final = re.compile(r"(?:&\S+\s+)?!")
_NOTES: Final = "internal.config.kubernetes.io/"
_PLACES: Final = ("config.kubernetes.io/path", "config.kubernetes.io/index", "config.k8s.io/id")


def fields(value: Value, path: FieldPath = ()) -> Iterator[tuple[FieldPath, Value]]:
    """Yield every list that stands behind a key, and every scalar, each with its path.

    What kpt notes about a resource in its annotations is none of its fields.
    """
    if isinstance(value, dict):
        inner = [(key, each) for key, each in value.items() if not _is_note((*path, key))]
        yield from (((*path, key), each) for key, each in inner if isinstance(each, list))
        for key, each in inner:
            yield from fields(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from fields(each, (*path, index))
    else:
        yield path, value


def _is_note(path: FieldPath) -> bool:
    if path[:-1] != ("metadata", "annotations"):
        return False
    key = str(path[-1])
    return key.startswith(_NOTES) or key in _PLACES


def dotted(path: FieldPath) -> str:
    """Return a path as the catalog writes and matches it; dots in keys are not told apart."""
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(parts).removeprefix(".")


def result(item: Item, message: str, path: FieldPath) -> Result:
    """Return an entry of `results` as these functions make them: no more than field and file."""
    entry: dict[str, object] = {"message": message, "field": {"path": field_text(path)}}
    if item.path:
        entry["file"] = verdict.file(item.path, item.index)
    return entry


def text(item: Item, path: FieldPath, value: Value) -> str:
    """Return the text of a scalar.

    Args:
        item: The resource it stands in.
        path: Its place in the resource as it was read.
        value: Its value now; "" is returned for what is no scalar.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return ""
    node = _node(item, path)
    return node.raw if node and same(node.value, value) else inline(value)


def shown(item: Item, path: FieldPath, value: Value) -> str:
    """Return a scalar as it would be written: in quotes where it stands in some or needs them.

    Text that stands in a block, or has lines and stands in no quotes, is one of several lines.
    """
    if not isinstance(value, str):
        return text(item, path, value)
    node = _node(item, path)
    style = node.style if node else ""
    if style in ("'", '"'):
        return inline(value, style=style)
    if (style or "\n" in value) and _fits_block(value):
        return _block(value, style or "|").strip()
    return inline(value)


def _fits_block(value: str) -> bool:
    if not value or value[-1] == " " or " \n" in value:
        return False
    return value.replace("\n", "").replace("\t", "").isprintable()


def _block(value: str, style: str) -> str:
    """Return text as a block scalar with its header, as go-yaml writes it."""
    hint = "2" if value[0] in " \n" else ""
    ended = len(value) - len(value.rstrip("\n"))
    chomp = "-" if not ended else "+" if ended > 1 or value == "\n" else ""
    # The line breaks between two lines of text, of which a folded block has one more.
    parts = re.split("(\n+)", value)
    if style == ">":
        for i in range(1, len(parts), 2):
            before, after = parts[i - 1], parts[i + 1]
            if before and after and before[0] not in " \t" and after[0] not in " \t":
                parts[i] += "\n"
    lines = "".join(parts).split("\n")
    return "\n".join([f"{style}{hint}{chomp}", *(f"  {line}" if line else "" for line in lines)])


def put(item: Item, path: FieldPath, old: Value, new: str) -> Value:
    """Return the value that a text has where it is put.

    Args:
        item: The resource.
        path: The place of the scalar that it takes the place of.
        old: That scalar's value.
        new: The text; "" is always a string.
    """
    value = digits.resolved(new)
    if isinstance(value, str) or (isinstance(old, str) and _in_quotes(item, path, old)):
        return new
    return value


def resolved(text: str) -> Value:
    """Return the value of a plain scalar; a number keeps its digits."""
    return digits.resolved(text)


def written(item: Item) -> Value:
    """Return a resource's value with numbers that keep the digits they have in the file."""
    return digits.written(item.value, item.document)


def _in_quotes(item: Item, path: FieldPath, value: str) -> bool:
    """Tell whether a string is one whatever it says: by its quotes, or by a tag."""
    node = _node(item, path)
    if node is not None and item.document is not None:
        return bool(node.style) or _TAG.match(item.document.source.text, node.start) is not None
    return not same(resolve(value), value)


def _node(item: Item, path: FieldPath) -> Scalar | None:
    return item.document.scalar(path) if item.document is not None else None


def of_config(value: Value) -> dict[str, str] | None:
    """Return the texts in a value that is to hold texts by name, as a ConfigMap's `data`.

    Returns:
        None where it is no mapping of names to scalars; empty texts stand for nulls.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        return None
    if any(isinstance(each, dict | list) for each in value.values()):
        return None
    return {key: "" if each is None else _as_text(each) for key, each in value.items()}


def _as_text(value: Value) -> str:
    assert not isinstance(value, dict | list)  # noqa: S101 - `of_config` has looked
    return value if isinstance(value, str) else inline(value)


def quoted(value: str) -> str:
    """Return a text in quotes as the catalog's messages have it (Go's %q)."""
    return '"' + "".join(map(_escaped, value)) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    number = ord(character)
    if number < 0x80:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
