"""Packages in repositories that are served, and what a ref means of one."""

from dataclasses import dataclass

from bot.forges.port import Repository
from bot.git.port import History
from lifecycle import names

MOST_TIPS = 100
"""Branches and releases that are asked whether they hold a commit; each starts git once."""


@dataclass(frozen=True, slots=True)
class ServedPackage:
    """A package in a repository that is served.

    Attributes:
        repository: Which.
        package: Its path there.
    """

    repository: Repository
    package: str

    def __str__(self) -> str:
        return f"{self.repository.full_name}//{self.package}".removesuffix("//")


def holds(git: History, place: ServedPackage, commit: str) -> bool:
    """Whether a branch or a release of the package holds a commit.

    A mirror has commits of proposals from forks as well, which anybody can make.
    """
    if not git.has(commit):
        return False
    package = place.package
    tips = git.refs(names.HEADS, names.tag_ref(package) if package else names.TAGS)
    if any(commit in known for known in tips.values()):
        return True
    default = git.ref(names.branch_ref(place.repository.default_branch))
    others = dict.fromkeys(tip for _, tip in tips.values() if tip != default)
    return any(git.contains(tip, commit) for tip in (default, *[*others][:MOST_TIPS]) if tip)


def scoped(package: str, ref: str) -> str:
    """The tag of a package that a ref means: "v3" is "net/core/v3" there."""
    if names.is_tag(ref) or (package and ref.startswith(f"{package}/")):
        return names.tag_ref(names.tag_name(ref))
    return names.tag_ref(f"{package}/{ref}".lstrip("/"))


def revision(package: str, ref: str) -> int | None:
    """The number of the package's revision that a ref is, or reads like; None for none.

    Args:
        package: Its path.
        ref: A tag in full, or a ref's own name: "v3", and "net/core/v3", of net/core.
    """
    found = names.parse_tag(ref if names.is_tag(ref) else scoped(package, ref))
    return found[1] if found and found[0] == package else None
