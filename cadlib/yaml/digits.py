"""Numbers that keep the digits they are written with: 1.10 is a version, and 0644 a mode.

As values they are 1.1 and 420, and compare so; written they are what the file has. Functions
whose configuration is to be text (a setter's value, an annotation) see these texts.

Source: kpt hands a configuration on as the text it is; go-yaml reads a number that is to be a
string as its text.
"""

import re
from functools import lru_cache
from typing import Final

from cadlib.yaml.fields import FieldPath
from cadlib.yaml.scalars import inline, resolve
from cadlib.yaml.tree import Document, Node, Scalar, Value, same

# What may be a number in other digits than those of a whole decimal number.
_ODD: Final = re.compile(
    r"(?<![^\s\[{,:])(?!-?(?:0|[1-9][0-9]*)(?![\w.+-]))[-+]?\.?[0-9][\w.+-]*(?=[\s,\]}]|\Z)"
)


class Int(int):
    """A whole number that is written as a text has it: 0644."""

    text: str

    def __new__(cls, value: int, text: str) -> "Int":
        """Return a number with the text that means it."""
        self = super().__new__(cls, value)
        self.text = text
        return self

    def __repr__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[type["Int"], tuple[int, str]]:
        return type(self), (int(self), self.text)


class Float(float):
    """A number that is written as a text has it: 1.10, of which 1.1 would lose a digit."""

    text: str

    def __new__(cls, value: float, text: str) -> "Float":
        """Return a number with the text that means it."""
        self = super().__new__(cls, value)
        self.text = text
        return self

    def __repr__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[type["Float"], tuple[float, str]]:
        return type(self), (float(self), self.text)


def resolved(text: str) -> Value:
    """Return the value of a plain scalar; "" is a string here."""
    value = resolve(text) if text else text
    if isinstance(value, str | bool | None) or inline(value) == text:
        return value
    return Float(value, text) if isinstance(value, float) else Int(value, text)


def differ(value: Value, document: Document, path: FieldPath = ()) -> bool:
    """Tell whether a number's digits differ from those in the document.

    A number in the digits that it is usually written with was not: whoever reads 1.10 as a number
    writes 1.1, and means no change.

    Args:
        value: What became of the value at the path.
        document: The document.
        path: Where in the document the value stands.
    """
    if isinstance(value, dict):
        return any(differ(each, document, (*path, key)) for key, each in value.items())
    if isinstance(value, list):
        return any(differ(each, document, (*path, i)) for i, each in enumerate(value))
    return isinstance(value, Int | Float) and put(document.scalar(path), value)


def put(node: Node | None, value: Value) -> bool:
    """Tell whether a number's digits differ from those of the scalar."""
    if not isinstance(value, Int | Float) or not isinstance(node, Scalar):
        return False
    return node.style == "" and node.raw != value.text


@lru_cache(maxsize=2)  # texts that all documents of a file share
def may_lose(text: str) -> bool:
    """Tell whether a file may have numbers in a form that does not round-trip."""
    return any(resolved(found[0]).__class__ in (Int, Float) for found in _ODD.finditer(text))


def written(value: Value, document: Document | None, path: FieldPath = ()) -> Value:
    """Return a value with the digits that its numbers have in a document.

    Args:
        value: What stands in the document, or what became of it; a number that is another
            one by now stays as it is.
        document: The document; None where there is none.
        path: Where in the document the value stands.

    Returns:
        The very object where no digits would be lost.
    """
    if document is None or isinstance(value, str | bool | None):
        return value
    if isinstance(value, dict):
        fields = {key: written(each, document, (*path, key)) for key, each in value.items()}
        return fields if any(fields[key] is not value[key] for key in value) else value
    if isinstance(value, list):
        listed = [written(each, document, (*path, i)) for i, each in enumerate(value)]
        return listed if any(a is not b for a, b in zip(listed, value, strict=True)) else value
    node = document.scalar(path)
    if node is None or node.style or not same(node.value, value) or node.raw == inline(value):
        return value
    return resolved(node.raw)
