"""What each dialect's pages call things, and where they are found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Words and addresses of one dialect.

    Attributes:
        name: `github` or `gitlab`.
        pulls: What proposals are called, at the head of pages.
        pulls_at: Where they are listed, below a repository.
        issues_at: Where issues are listed.
        repositories: What the first page lists.
    """

    name: str
    pulls: str
    pulls_at: str
    issues_at: str
    repositories: str


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
)
