"""Commits: who made them, which pushes of ours were refused, how many proposals share one."""

from dataclasses import dataclass

from lifecycle.names import Sha

MOST_SHARED = 5
"""Other proposals of one commit that a look reads; anybody who can read can open many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeBy:
    """The author, committer and co-authors of one commit, as the forge tells them.

    Attributes:
        sha: The commit.
        author: Login; None where the forge knows no account.
        committer: Login; None where the forge knows no account, "" for the forge itself.
        coauthors: Logins that its trailers name; addresses without an account are left out.
        accounts: The forge's numbers of all of these, as far as it tells.
    """

    sha: Sha
    author: str | None
    committer: str | None
    coauthors: frozenset[str] = frozenset()
    accounts: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class PushRefusal:
    """A push of ours to the head branch that a rule of the forge forbade.

    Attributes:
        reason: The forge's own words.
        asked: Number of the newest comment that had asked for it; 0 when nobody had.
    """

    reason: str
    asked: int = 0
