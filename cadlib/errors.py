"""Locations in a package, and the error for a package that is wrong."""

from dataclasses import dataclass

MOST_NAME = 200
"""Characters of a name that an error quotes: keys and anchors may have megabytes."""


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

    Attributes:
        place: Where it is.
        problem: What is wrong: a clause without a full stop at its end.
        fix: What to do about it: a sentence without a full stop at its end.
    """

    def __init__(self, place: Place, problem: str, fix: str) -> None:
        super().__init__(f"{place}: {problem}. {fix}.")
        self.place = place
        self.problem = problem
        self.fix = fix
