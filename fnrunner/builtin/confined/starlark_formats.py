"""CSV and YAML for Starlark scripts, read and written as the catalog's library does.

Rules:
    - Numbers, True and None in a record are written as Go prints them.
    - In YAML a time stays the text it is; a text over lines is written as a block, one that reads
      as something else in double quotes.

Source: starlib 0.5.0, encoding/csv and encoding/yaml; gopkg.in/yaml.v2.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, Final

import yaml

from fnrunner.builtin.confined.go_text import float_text


def read_all(
    source: str,
    comma: str = "",
    comment: str = "",
    lazy_quotes: bool = False,
    trim_leading_space: bool = False,
    fields_per_record: int = 0,
    skip: int = 0,
) -> list[list[str]]:
    """Return the records of a text, `skip` of them left out.

    Args:
        source: The text.
        comma: What stands between fields; "" for a comma.
        comment: With what lines begin that are none; "" for nothing.
        lazy_quotes: Quotes may stand anywhere.
        trim_leading_space: Blanks in front of fields go.
        fields_per_record: How many there must be; 0 for as many as in the first record, less
            for any number.
        skip: How many records are left out.

    Raises:
        ValueError: A record has another number of fields, or an argument is wrong.
        csv.Error: A quote is where none may be.
    """
    read = csv.reader(
        _records(source, _one_character("comment", comment)),
        delimiter=_one_character("comma", comma) or ",",
        strict=not lazy_quotes,
        skipinitialspace=trim_leading_space,
    )
    rows = [row for row in read if row]
    wanted = fields_per_record or (len(rows[0]) if rows else 0)
    for number, row in enumerate(rows, 1):
        if fields_per_record >= 0 and len(row) != wanted:
            raise ValueError(f"record on line {number}: wrong number of fields")
    return rows[skip:]


def _one_character(name: str, text: str) -> str:
    if len(text) > 1:
        raise ValueError(f"expected {name} param to be a single-character string")
    return text


def _records(source: str, comment: str) -> Iterator[str]:
    """Yield the lines of records, without those that are comments."""
    quotes = 0  # so far in the record; within a quoted field their number is odd
    for line in io.StringIO(source):
        if quotes % 2 == 0 and comment and line.startswith(comment):
            continue
        quotes += line.count('"')
        yield line


def write_all(source: list[list[Any]], comma: str = "") -> str:
    """Return records as text, with a comma or another character between fields."""
    between = _one_character("comma", comma) or ","
    lines = (between.join(_csv_field(_go_text(each), between) for each in row) for row in source)
    return "".join(f"{line}\n" for line in lines)


def _csv_field(text: str, comma: str) -> str:
    special = any(each in text for each in (comma, '"', "\r", "\n"))
    if special or text == r"\." or text[:1].isspace():
        return '"' + text.replace('"', '""') + '"'
    return text


def _go_text(value: Any) -> str:
    """Return a value as Go prints it."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and isfinite(value):
        return float_text(value, exponent_from=21)
    return str(value)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
    """Reads times as text, as the catalog's library does."""


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]  # it has no types
    """Writes texts as the catalog's library does: over lines as a block, else in few quotes."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        tag = "tag:yaml.org,2002:str"
        style = None
        if "\n" in text:
            style = "|"
        elif text in _ALSO_BOOLEAN or self.resolve(yaml.ScalarNode, text, (True, False)) != tag:
            style = '"'
        return self.represent_scalar(tag, text, style=style)

    def represent_number(self, number: float) -> yaml.ScalarNode:
        if not isfinite(number):
            return self.represent_float(number)
        text = float_text(number, exponent_from=6)
        return self.represent_scalar(self.resolve(yaml.ScalarNode, text, (True, False)), text)


_STYLE: Final = {"default_flow_style": False, "allow_unicode": True}
_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"
_ALSO_BOOLEAN: Final = frozenset({"y", "Y", "n", "N"})
_FLOAT: Final = "tag:yaml.org,2002:float"
# As Go has it, with no need for a dot in front of an exponent.
_GO_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+\Z")
_Loader.yaml_implicit_resolvers = {
    first: [each for each in resolvers if each[0] != _TIMESTAMP]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _class in (_Loader, _Dumper):
    _class.add_implicit_resolver(_FLOAT, _GO_FLOAT, list("-+0123456789."))
_Dumper.add_representer(str, _Dumper.represent_text)
_Dumper.add_representer(float, _Dumper.represent_number)


def loads(source: str) -> Any:
    """Return what the first document of a text says.

    Raises:
        ValueError: It is not YAML.
    """
    try:
        return next(yaml.load_all(source, _Loader), None)
    except yaml.YAMLError as error:
        raise ValueError(f"yaml: {error}") from error


def dumps(*values: Any) -> str:
    """Return values as YAML, each a document."""
    texts = (yaml.dump(plain(value), Dumper=_Dumper, **_STYLE) for value in values)
    return "---\n".join(text.removesuffix("...\n") for text in texts)


def plain(value: Any) -> Any:
    """Return a value with lists in place of tuples and sets."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, set):
        return sorted((plain(each) for each in value), key=repr)
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value
