"""Label selectors as text, such as `app=web,tier in (a, b),!legacy`.

Source: Kubernetes, labels and selectors (apimachinery `pkg/labels`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_KEY: Final = r"(?P<key>(?:[A-Za-z0-9.-]+/)?[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
_VALUE: Final = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
_TERM: Final = re.compile(
    rf"""\s*(?:
    (?P<no>!)\s*{_KEY} |
    {_KEY.replace("key", "named")}\s*(?:
      (?P<op>==|=|!=|<|>)\s*(?P<value>{_VALUE}) |
      \s(?P<set>in|notin)\s*\((?P<values>[^()]*)\)
    )?
    )\s*(?:,|$)""",
    re.VERBOSE,
)
_LONGEST: Final = 1000  # the expression takes the square of it
_WHOLE_VALUE: Final = re.compile(_VALUE)


class LabelSelectorError(Exception):
    """A text is no label selector; the text of the error says so."""


@dataclass(frozen=True, slots=True)
class _Term:
    key: str
    op: str  # "in", "notin", "exists", "!", "<" or ">"
    values: frozenset[str] = frozenset()

    def holds(self, labels: Mapping[str, str]) -> bool:
        found = labels.get(self.key)
        if self.op in ("!", "exists"):
            return (found is None) == (self.op == "!")
        if self.op == "notin":
            return found is None or found not in self.values
        if found is None or self.op == "in":
            return found is not None and found in self.values
        return self._compares(found)

    def _compares(self, found: str) -> bool:
        (bound,) = self.values
        try:
            return int(found) < int(bound) if self.op == "<" else int(found) > int(bound)
        except ValueError:  # a label that is no number is neither more nor less
            return False


def selects(selector: str, labels: Mapping[str, str]) -> bool:
    """Tell whether a selector selects what has these labels; the empty one selects everything.

    Raises:
        LabelSelectorError: It is none.
    """
    return all(term.holds(labels) for term in _terms(selector))


@lru_cache(maxsize=64)
def _terms(selector: str) -> tuple[_Term, ...]:
    if len(selector) > _LONGEST:
        raise LabelSelectorError(
            f"the label selector has {len(selector)} characters, more than {_LONGEST}"
        )
    terms, position = [], 0
    while position < len(selector.rstrip()):
        match = _TERM.match(selector, position)
        if match is None or match.end() == position:
            raise _refused(selector, position)
        terms.append(_term(match, selector))
        position = match.end()
    if selector.rstrip().endswith(","):
        raise _refused(selector, len(selector.rstrip()))
    return tuple(terms)


def _term(match: re.Match[str], selector: str) -> _Term:
    if match["no"]:
        return _Term(match["key"], "!")
    key, op = match["named"], match["op"] or match["set"]
    if op is None:
        return _Term(key, "exists")
    if match["set"]:
        values = frozenset(value.strip() for value in match["values"].split(","))
        if not all(map(_WHOLE_VALUE.fullmatch, values)):
            raise _refused(selector, match.start("values"))
        return _Term(key, op, values)
    value = frozenset((match["value"],))
    if op in "<>" and not match["value"].isdigit():
        raise _refused(selector, match.start("value"))
    return _Term(key, {"=": "in", "==": "in", "!=": "notin"}.get(op, op), value)


def _refused(selector: str, position: int) -> LabelSelectorError:
    rest = selector[position:].strip() or "its end"
    return LabelSelectorError(
        f"`{selector}` is no label selector: it cannot be read from `{rest}` on"
    )
