"""Selectors as people write them: Kubernetes' grammar, over the keys of `marks`.

    selector    := requirement ("," requirement)*
    requirement := key | "!" key | key ("=" | "==" | "!=") value
                 | key ("in" | "notin") "(" value ("," value)* ")"

A key that is missing is in no list and equals nothing, so `!=` and `notin` choose what has none.
"""

import re

from lifecycle.messages import selectors as texts
from lifecycle.selectors.labels import ABSENT, EXISTS, IN, NOT_IN, Requirement
from lifecycle.selectors.marks import PREFIXES, MarkField, PackageSelector

MOST_CHARACTERS, MOST_REQUIREMENTS, MOST_VALUES = 1000, 50, 100
"""Of one selector, in it, and of one requirement."""

_KEY = r"(?P<key>[A-Za-z0-9](?:[\w./:-]{0,251}[A-Za-z0-9])?)"
_VALUE = r"[\w./:@*-]{0,500}"
_ONE = re.compile(
    rf"\s*(?:(?P<not>!)\s*)?{_KEY}\s*"
    rf"(?:(?P<equals>==|=|!=)\s*(?P<value>{_VALUE})"
    rf"|(?<=\s)(?P<list>in|notin)\s*\((?P<values>[^()]{{0,1000}})\))?\s*(?P<end>,|$)",
    re.ASCII,
)


class SelectorError(ValueError):
    """A text that is no selector: what is wrong, and what to write, as one text."""


def parse(text: str) -> PackageSelector:
    """Read a selector.

    Args:
        text: As somebody wrote it; blank for one that chooses everything.

    Raises:
        SelectorError: It is none.
    """
    if len(text) > MOST_CHARACTERS:
        raise SelectorError(texts.too_long(MOST_CHARACTERS))
    if not text.strip():
        return PackageSelector()
    found: list[Requirement] = []
    at, more = 0, True
    while more:
        one = _ONE.match(text, at)
        if one is None or len(found) == MOST_REQUIREMENTS:
            raise SelectorError(texts.unreadable(text[at:].strip()))
        found.append(_requirement(one))
        at, more = one.end(), one["end"] == ","
    return PackageSelector(tuple(found))


def _requirement(one: re.Match[str]) -> Requirement:
    key = _key(one["key"])
    if one["not"]:
        if one["equals"] or one["list"]:
            raise SelectorError(texts.unreadable(one[0].strip(" ,")))
        return Requirement(key, ABSENT)
    if one["equals"]:
        return Requirement(key, NOT_IN if one["equals"] == "!=" else IN, (one["value"],))
    if one["list"]:
        values = tuple(each.strip() for each in one["values"].split(","))
        wrong = any(re.fullmatch(_VALUE, each, re.ASCII) is None for each in values)
        if wrong or len(values) > MOST_VALUES or not any(values):
            raise SelectorError(texts.unreadable(one[0].strip(" ,")))
        return Requirement(key, IN if one["list"] == "in" else NOT_IN, values)
    return Requirement(key, EXISTS)


def _key(key: str) -> str:
    """Check a key: a colon stands behind a prefix that is known, and nowhere else."""
    prefix, colon, rest = key.partition(":")
    if colon and (f"{prefix}:" not in PREFIXES or not rest or ":" in rest):
        raise SelectorError(texts.unknown_key(key, PREFIXES, tuple(map(str, MarkField))))
    return key
