"""Document.scalar: how a field is written."""

import pytest

from cadlib.yaml import FieldPath, read

TEXT = b"""\
plain: 1.10
quoted: "80"
block: |
  80
nothing:
list:
- &one first
- {inner: 'second'}
again: *one
"""


WRITTEN: dict[str, tuple[FieldPath, tuple[str, str] | None]] = {
    "a number keeps its digits": (("plain",), ("1.10", "")),
    "quotes are told": (("quoted",), ("80", '"')),
    "a block is told": (("block",), ("80\n", "|")),
    "a value that is not there has no text": (("nothing",), ("", "")),
    "an element": (("list", 0), ("first", "")),
    "a value in brackets": (("list", 1, "inner"), ("second", "'")),
    "an alias is what it stands for": (("again",), ("first", "")),
    "a list is no scalar": (("list",), None),
    "what is not there": (("list", 7), None),
    "a key of a scalar": (("plain", "x"), None),
}


@pytest.mark.parametrize(("field", "written"), WRITTEN.values(), ids=WRITTEN)
def test_a_field_as_it_is_written(field: FieldPath, written: tuple[str, str] | None) -> None:
    """Short-cut: write the value anew, so that 1.10 becomes 1.1 and quotes are lost."""
    found = read(TEXT).documents[0].scalar(field)

    assert (found and (found.raw, found.style)) == written


@pytest.mark.parametrize("text", [b"---\n# nothing\n---\na: 1\n", b"a: {{ .Values.x }}\n"])
def test_documents_without_a_value_have_no_scalars(text: bytes) -> None:
    assert read(text).documents[0].scalar(("a",)) is None
