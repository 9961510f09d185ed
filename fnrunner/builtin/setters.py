"""Setters: comments `# kpt-set: nginx:${tag}` that name parts of a field's value.

Rules:
- A comment begins exactly so; behind it stands a pattern, with a setter's name in each `${}`.
- What a setter's value is now follows from laying the pattern over the field's text. Each name
  takes as much as it can, the pattern may begin and end anywhere in the text; where one name
  would take nothing, nothing is known.

Source: the catalog's functions/go/apply-setters.
"""

import re
from functools import lru_cache
from typing import Any, Final

import re2

from cadlib.errors import PackageError
from cadlib.yaml import Document, read

PREFIX: Final = "# kpt-set: "
_NAME: Final = re.compile(r"\$\{([^}]*)\}")


def pattern(comment: str) -> str:
    """Return the pattern of a line comment with its "#"; "" where it is about no setter."""
    return comment.removeprefix(PREFIX).strip() if comment.startswith(PREFIX) else ""


def names(text: str) -> tuple[str, ...]:
    """Return the names of the setters in a pattern, in its order; one may stand there twice."""
    return tuple(_NAME.findall(text))


def filled(text: str, values: dict[str, str]) -> str:
    """Return a pattern with values in the place of names, all in one pass.

    A value that itself holds `${}` is put as it is; names without a value stay.
    """
    return _NAME.sub(lambda found: values.get(found[1], found[0]), text)


def derived(text: str, value: str) -> dict[str, str]:
    """Return the values of a pattern's setters, derived from a field's text.

    Args:
        text: The pattern.
        value: The field's text.

    Returns:
        Values by name; none where the pattern does not fit. Of a name that stands there
        twice, the second place counts.
    """
    compiled = _compiled(text)
    found = compiled.search(value) if compiled else None
    values = found.groups() if found else ()
    return dict(zip(names(text), values, strict=False)) if all(values) else {}


@lru_cache(maxsize=1024)  # the resources of a package have the same few
def _compiled(text: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    literals = _NAME.split(text)[::2]
    try:
        return re2.compile("(.*)".join(map(re2.escape, literals)), options)
    except re2.error:  # longer than the engine takes: nothing is known then
        return None


def parsed(value: str) -> Document | None:
    """Return the value of a setter as YAML, its first document; None where it is none."""
    try:
        documents = read(value.encode()).documents
    except (PackageError, UnicodeEncodeError):
        return None
    return next((each for each in documents if not each.empty and not each.template), None)
