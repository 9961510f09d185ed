"""What each dialect's pages call things, and where they are found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Words and addresses of one dialect.

    Attributes:
        name: `github` or `gitlab`.
        pulls: What proposals are called, at the head of pages.
        pulls_at: Where they are listed, below a repository.
        issues_at: Where issues are listed.
        repositories: What the first page lists.
        below: Stands before the address of whatever is below a repository.
        tags_at: Where one tag is found.
        releases_at: Where one release is found.
        roles: What roles are called; those that are left out have their own names.
    """

    name: str
    pulls: str
    pulls_at: str
    issues_at: str
    repositories: str
    below: str = ""
    tags_at: str = "releases/tag"
    releases_at: str = "releases/tag"
    roles: Mapping[str, str] = field(default_factory=dict)


GITHUB = Words(
    name="github",
    pulls="Pull requests",
    pulls_at="pulls",
    issues_at="issues",
    repositories="Repositories",
)
GITLAB = Words(
    name="gitlab",
    pulls="Merge requests",
    pulls_at="-/merge_requests",
    issues_at="-/issues",
    repositories="Projects",
    below="-/",
    tags_at="-/tags",
    releases_at="-/releases",
    roles={
        "none": "not a member",
        "read": "Reporter",
        "triage": "Reporter",
        "write": "Developer",
        "maintain": "Maintainer",
        "admin": "Owner",
    },
)
