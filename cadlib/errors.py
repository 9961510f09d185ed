"""Locations in a package, and the error for a package that is wrong."""

from dataclasses import dataclass

MOST_NAME = 200
"""Characters of a name that an error quotes: keys and anchors may have megabytes."""


MOST_TEXT = 8_000
"""Characters of a sentence of an error, whatever the package holds that it quotes."""

MOST_PATH = 4096
"""Characters of a path or field that an error names."""


def quoted(name: str) -> str:
    """Return a name from a package as an error quotes it: the beginning of one that is long."""
    return name if len(name) <= MOST_NAME else f"{name[:MOST_NAME]}…"


@dataclass(frozen=True, slots=True)
class Place:
    """A location in a package: file, line and field, as far as known.

    `str()` gives "net/policy.yaml:12, metadata.name" and leaves out what is
    unknown; "the package" when nothing is known.

    Attributes:
        path: File, relative to the folder it was read from, with "/" between
            its parts; "" when no single file is meant.
        line: Line in that file, from 1; only a line feed ends one. None when unknown.
        field: Field of the resource, such as "spec.containers[0].image"; "" when
            no field is meant.
    """

    path: str = ""
    line: int | None = None
    field: str = ""

    def __str__(self) -> str:
        where = self.path
        if where and self.line is not None:
            where = f"{where}:{self.line}"
        return ", ".join(part for part in (where, self.field) if part) or "the package"


class PackageError(Exception):
    """A package breaks the format, and its author can repair it.

    Each part is cut where it is too long: what a package says is quoted in it.

    Attributes:
        place: Where it is.
        problem: What is wrong: a clause without a full stop at its end.
        fix: What to do about it: a sentence without a full stop at its end.
    """

    def __init__(self, place: Place, problem: str, fix: str) -> None:
        place = Place(_cut(place.path, MOST_PATH), place.line, _cut(place.field, MOST_PATH))
        problem, fix = _cut(problem, MOST_TEXT), _cut(fix, MOST_TEXT)
        super().__init__(f"{place}: {problem}. {fix}.")
        self.place = place
        self.problem = problem
        self.fix = fix


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
