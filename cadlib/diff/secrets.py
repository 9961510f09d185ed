"""Finds the values of Secrets and redacts them in texts.

Functions say what they found in their own words, values included. What is shown to people goes
through `redacted` with every value that a Secret had on the way: as it stands in `data`, decoded,
as in `stringData`, encoded, line by line, and as JSON would write it.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

from cadlib.diff.fields import secret_fields
from cadlib.errors import PackageError
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.yaml import FieldPath, Value
from cadlib.yaml import read as read_yaml

HIDDEN = "[secret value]"
"""Stands where a value of a Secret stood."""

_SHORTEST = 3
# A shorter value is no secret, and would be found in every other word.
_LONG = 8
# From here on a value is taken out of the middle of words, too.


_MAY_HOLD = re.compile(rb"\bSecret(List)?\b|\\")
# An escape can spell the word as well.


def values(resources: bytes, limits: PackageLimits = DEFAULT) -> frozenset[str]:
    """Collect the values of all Secrets in a ResourceList, or any YAML, UTF-8.

    Text that cannot be read holds nothing that a function could have told apart either.
    """
    found_word = b"Secret" in resources or b"\\" in resources  # what is quick to find
    if not found_word or not _MAY_HOLD.search(resources):
        return frozenset()
    try:
        documents = read_yaml(resources, limits=limits).documents
    except PackageError:
        return frozenset()
    found = (text for document in documents for text in _secret(document.value))
    return frozenset(each for text in found for each in _spellings(text) if len(each) >= _SHORTEST)


def added(resources: bytes, given: bytes, limits: PackageLimits = DEFAULT) -> frozenset[str]:
    """Collect the values of Secrets in a ResourceList that were not in the one sent.

    Args:
        resources: What came back from a function.
        given: What it was sent, as `resourcelist.encode` makes it.
        limits: How much is read.
    """
    rest = resources.removeprefix(given)
    # Lines that go on with the last item are none by themselves.
    apart = not rest or rest.startswith(b"results:")
    return values(rest if apart else resources, limits)


def redacted(text: str, secret: Iterable[str]) -> str:
    """Return a text with all these secret values replaced by a placeholder, the longest first."""
    for value in sorted(secret, key=lambda each: (-len(each), each)):
        if value not in text:
            continue
        exact = re.escape(value)
        pattern = exact if len(value) >= _LONG else rf"(?<!\w){exact}(?!\w)"
        text = re.sub(pattern, HIDDEN, text)
    return text


def holds(resource: Value, field: FieldPath) -> bool:
    """Tell whether a field is among the values of a Secret, also of one that lies in a list.

    Any element of a list is followed: a position is that of one version among several.
    """
    if any(step in secret_fields(None) for step in field):  # whatever stands around it
        return True
    around = [resource]
    for step in field:
        maps = [each for each in around if isinstance(each, dict)]
        if any(step in secret_fields(each.get("kind")) for each in maps):
            return True
        around = (
            [each[step] for each in maps if step in each]
            if isinstance(step, str)
            else [each for inner in around if isinstance(inner, list) for each in inner]
        )
    return False


def _secret(value: object) -> Iterator[str]:
    """The texts in Secrets, however deep they lie: in lists, and in copies of resources."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            kind, items = each.get("kind"), each.get("items")
            if kind == "Secret":
                for field in secret_fields(kind):
                    yield from _texts(each.get(field))
            if kind == "SecretList" and isinstance(items, list):
                pending += [{**item, "kind": "Secret"} for item in items if isinstance(item, dict)]
            pending += each.values()
        elif isinstance(each, list):
            pending += each
        elif isinstance(each, str) and each.startswith("{") and "Secret" in each:
            with suppress(ValueError):  # what kubectl applied last, as JSON
                pending.append(json.loads(each))


def _texts(value: object) -> Iterator[str]:
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            pending += each.values()
        elif isinstance(each, list):
            pending += each
        elif each is not None and not isinstance(each, bool):
            yield str(each)


def _spellings(text: str) -> Iterator[str]:
    plain = [text]
    try:
        plain.append(base64.b64decode("".join(text.split()), validate=True).decode())
    except (binascii.Error, ValueError):
        plain.append(base64.b64encode(text.encode("utf-8", "replace")).decode())
    for each in plain:
        yield each
        yield each.strip()
        yield json.dumps(each)[1:-1]
        yield json.dumps(each, ensure_ascii=False)[1:-1]
        yield " ".join(each.split())
        if "\n" in each:
            yield from (line.strip() for line in each.split("\n"))
