"""YAML without loss: read values, write differences back into the same text."""

from cadlib.yaml.edit import DELETED, Deleted, append, edit
from cadlib.yaml.emit import Style, emit
from cadlib.yaml.fields import FieldPath, field_text, parse_field
from cadlib.yaml.parse import Stream, read
from cadlib.yaml.tree import Document, TemplatedFileError, Value, same
from cadlib.yaml.walk import EditError

__all__ = [
    "DELETED",
    "Deleted",
    "Document",
    "EditError",
    "FieldPath",
    "Stream",
    "Style",
    "TemplatedFileError",
    "Value",
    "append",
    "edit",
    "emit",
    "field_text",
    "parse_field",
    "read",
    "same",
]
