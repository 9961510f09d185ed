"""What the bot proposes to a repository that has packages and no `.porchbot.yaml`. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from lifecycle import names
from lifecycle.policy import Policy

BRANCH: Final = "porchbot/configure"
"""The branch that it is proposed from; a pull request of it that is there, open or closed, is the
only one there will ever be."""

MOST_ROOTS = 5
"""Folders named in `packages`; where packages lie in more, the whole repository is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundContent:
    """What was found in a repository.

    Attributes:
        default_ref: The default branch.
        packages: Folders with a Kptfile, sorted; "" for the top.
        revisions: Package to its newest number, of those with release tags.
        foreign: Tags that are no release tags of packages.
        codeowners: Path of the CODEOWNERS file; "" for none.
    """

    default_ref: str
    packages: tuple[str, ...]
    revisions: dict[str, int]
    foreign: int
    codeowners: str

    @property
    def roots(self) -> tuple[str, ...]:
        """Folders that hold all packages; "" for the whole repository."""
        tops = sorted({package.partition("/")[0] for package in self.packages})
        loose = any("/" not in package for package in self.packages)
        return ("",) if loose or not tops or len(tops) > MOST_ROOTS else tuple(tops)


def found(
    default_ref: str, packages: Iterable[str], tags: Sequence[str], codeowners: str
) -> FoundContent:
    """Put together what a repository holds.

    Args:
        default_ref: The default branch.
        packages: All folders with a Kptfile.
        tags: Refs of its tags, in full.
        codeowners: Path of its CODEOWNERS file; "" for none.
    """
    units = names.units(packages, Policy(), default_ref, default_ref, tags)
    revisions: dict[str, int] = {}
    for tag in tags:
        if parsed := names.parse_tag(tag):
            revisions[parsed[0]] = max(parsed[1], revisions.get(parsed[0], 0))
    return FoundContent(
        default_ref=default_ref,
        packages=tuple(sorted(units)),
        revisions={package: revisions[package] for package in units if package in revisions},
        foreign=sum(names.parse_tag(tag) is None for tag in tags),
        codeowners=codeowners,
    )
