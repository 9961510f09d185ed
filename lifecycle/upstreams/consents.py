"""What a repository lists of others that it trusts: names, patterns of them, and numbers.

Rules:

1. A name means the repository that had it when it was first let in. Another one that has the name
   by now, because the first was renamed, transferred or deleted, is let in by its number:
   `acme/clusters#9`.
2. A pattern, such as `acme/net/*`, means whatever fits by what it is called now, and so does a name
   without a slash, which can only be a group's. Any other name is a repository's: a group that is
   made in its place later is not meant.
3. The forge says what a repository is called now; no name that was remembered counts.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Final

from lifecycle.identity import RepositoryId

_NUMBER: Final = "#"


class Consent(Enum):
    """What a list comes to for one repository.

    Attributes:
        NONE: It is not listed.
        NAMED: Its name is: it counts where the name means it.
        GIVEN: It is let in.
    """

    NONE = 0
    NAMED = 1
    GIVEN = 2


def name_of(entry: str) -> str:
    """The full name or the pattern in an entry, in small letters."""
    return entry.partition(_NUMBER)[0].lower()


def consent(entries: Iterable[str], full_name: str, repository_id: RepositoryId) -> Consent:
    """Tell whether a list lets a repository in.

    Args:
        entries: As a configuration has them, such as "acme/clusters", "acme/*", "acme/net#9".
        full_name: What the forge calls the repository now.
        repository_id: Which it is.
    """
    name, found = full_name.lower(), Consent.NONE
    for entry in entries:
        listed, _, number = entry.partition(_NUMBER)
        listed = listed.lower()
        if listed.endswith("*") or "/" not in listed:
            below = listed.rstrip("*") if listed.endswith("*") else f"{listed}/"
            fits = Consent.GIVEN if name.startswith(below) and not number else Consent.NONE
        elif name != listed:
            fits = Consent.NONE
        elif number:
            fits = Consent.GIVEN if number == str(repository_id.number) else Consent.NONE
        else:
            fits = Consent.NAMED
        found = max(found, fits, key=lambda each: each.value)
    return found
