"""The identity of a repository: which forge, and its number there.

Names change hands, and two forges count from one each: project 42 on GitLab is not repository 42 on
GitHub. What was written before there was a second forge has the number alone, which means GitHub,
and what belongs to GitHub is still written so: older replicas and records go on being understood.
"""

import re
from dataclasses import dataclass

GITHUB = "github"
"""The forge that a bare number means."""

NAME = r"[a-z][a-z0-9-]{0,30}"
"""How forges are named. An instance of one has the name that the operator's settings give it; which
of them are served is for the adapters to say."""

MOST = 2**63
"""Numbers are below: the database holds no more, and no forge counts so far."""


_NAME = re.compile(NAME, re.ASCII)
_SPELLED = re.compile(rf"({NAME}):(0|[1-9][0-9]{{0,18}})", re.ASCII)


def is_forge(name: str) -> bool:
    """Whether a forge may be named so."""
    return _NAME.fullmatch(name) is not None


@dataclass(frozen=True, slots=True, order=True)
class RepositoryId:
    """A repository at a forge.

    Attributes:
        forge: Its name; see `is_forge`.
        number: The forge's number, which stays through renames.
    """

    forge: str
    number: int

    def __str__(self) -> str:
        return f"{self.forge}:{self.number}"

    @property
    def spelled(self) -> int | str:
        """The spelling in records, MACs and folders: the bare number for GitHub."""
        return self.number if self.forge == GITHUB else str(self)


def read(spelled: object) -> RepositoryId | None:
    """Parse the spelling of a record, the inverse of `spelled`; None for anything else.

    "github:42" is read as well as 42.
    """
    if type(spelled) is int:
        return RepositoryId(GITHUB, spelled)
    found = _SPELLED.fullmatch(spelled) if isinstance(spelled, str) else None
    if found is None or int(found[2]) >= MOST:
        return None
    return RepositoryId(found[1], int(found[2]))
