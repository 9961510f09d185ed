"""`extends:` the defaults of an organisation, in a repository of the owner at a pinned commit.

Rules:

1. A reference names repository, commit in full, and file. It is read from `<owner>/.porchbot` or
   `<owner>/.github` only, where owners are groups within groups of one above too, and only at a
   commit that its default branch holds: forges show commits of forks under the name of what they
   were forked from.
2. Mappings are united key by key, the own file first; lists and single values replace. `version`,
   `packages` and `mode` are each repository's own.
3. Each file is judged alone by the rules of `.porchbot.yaml`, and then the union. What cannot be
   read or used makes the whole unusable, in words; nothing of the other file's values is shown.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lifecycle.policy import BrokenPolicy

KEY: Final = "extends"

OWN: Final = frozenset({"version", "packages", "mode", KEY})
"""Keys that no defaults give."""

REPOSITORIES: Final = (".porchbot", ".github")
"""Names of repositories that an owner's defaults are read from."""

MOST_FILES: Final = 3
"""Files that extend one another."""

MOST_BYTES: Final = 256 * 1024

PATTERN: Final = (
    r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}(?:/[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}){0,20}"
    r"/\.[a-z]{1,20}@[0-9a-f]{40}"
    r":[A-Za-z0-9_][A-Za-z0-9_./-]{0,200}"
)
_REFERENCE = re.compile(r"([^@:]+)/([^/@:]+)@([0-9a-f]{40}):(.+)")


@dataclass(frozen=True, slots=True)
class FileReference:
    """A file at a commit of a repository.

    Attributes:
        owner: Whose repository; of GitLab a group, with those above it.
        name: Which of theirs.
        commit: 40 hexadecimal digits.
        path: From its top.
    """

    owner: str
    name: str
    commit: str
    path: str

    def __str__(self) -> str:
        return f"{self.repository}@{self.commit}:{self.path}"

    def may_be_used_by(self, owner: str) -> bool:
        """Whether it is of this owner, or of a group above it, whose owners are this one's as well.

        Args:
            owner: Of the repository that uses it.
        """
        return f"{owner}/".lower().startswith(f"{self.owner}/".lower())

    @property
    def repository(self) -> str:
        """Its full name."""
        return f"{self.owner}/{self.name}"

    @property
    def shown(self) -> str:
        """As messages name it."""
        return f"{self.repository}@{self.commit[:12]}:{self.path}"


Defaults = Callable[[FileReference], bytes | BrokenPolicy]
"""Gives the file of a reference, or why there is none."""


class DefaultsNeededError(Exception):
    """Rules extend a file that was not fetched yet.

    Attributes:
        reference: Which.
    """

    def __init__(self, reference: FileReference) -> None:
        super().__init__(f"{reference} was not fetched yet")
        self.reference = reference


def parse(text: str) -> FileReference | None:
    """Read a reference; None for what is none."""
    found = _REFERENCE.fullmatch(text)
    if not re.fullmatch(PATTERN, text) or found is None or found[2] not in REPOSITORIES:
        return None
    parts = found[4].split("/")
    if "" in parts or not {".", ".."}.isdisjoint(parts):
        return None
    return FileReference(*found.groups())


def united(own: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a file with those of its defaults that it does not give itself."""
    given = {key: value for key, value in defaults.items() if key not in OWN}
    return _over(own, given)


def _over(own: Mapping[str, Any], below: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in own.items():
        under = below.get(key)
        both = isinstance(value, dict) and isinstance(under, dict)
        merged[key] = _over(value, under) if both else value  # type: ignore[arg-type] # a mapping
    return merged
