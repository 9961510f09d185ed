"""Refs of a repository by name and by commit, changes of refs, and the log of them."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from bot.sandbox import refnames
from bot.sandbox.records.accounts import User
from bot.sandbox.records.view import View

ZERO = "0" * 40
"""How git and GitHub write "no object" in a change of a ref."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefChange:
    """A ref that moved: full name, old and new object id (ZERO for none)."""

    ref: str
    before: str
    after: str

    @property
    def creates(self) -> bool:
        """Whether the change made the ref."""
        return self.before == ZERO

    @property
    def deletes(self) -> bool:
        """Whether the change took the ref away."""
        return self.after == ZERO


class PushVerdict:
    """Whether a pushed ref is refused: the lines that people see, and git's short reason."""

    def __init__(self, lines: list[str] | None = None, reason: str = "") -> None:
        self.lines = lines or []
        self.reason = reason

    @property
    def refused(self) -> bool:
        """Whether the ref does not move."""
        return bool(self.reason)


class ActivityKind(StrEnum):
    """How a ref came to change, in GitHub's words."""

    PUSH = "push"
    FORCE_PUSH = "force_push"
    BRANCH_DELETION = "branch_deletion"
    BRANCH_CREATION = "branch_creation"
    PR_MERGE = "pr_merge"
    MERGE_QUEUE_MERGE = "merge_queue_merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One change of a ref: who, when, from what to what."""

    id: int
    before: str
    after: str
    ref: str
    timestamp: datetime
    kind: ActivityKind
    actor: User


class Refs(Mapping[str, str]):
    """Full name to object id (a tag object's own id for annotated tags), indexed.

    A name, the names below a prefix and the branches at a commit are found without reading the
    other refs.
    """

    def __init__(self, refs: Mapping[str, str] | None = None) -> None:
        self._by_name = dict(refs or {})
        self._sorted = sorted(self._by_name)
        self._branches: dict[str, dict[str, None]] = {}
        for name, sha in self._by_name.items():
            self._remember(name, sha)

    def __getitem__(self, name: str) -> str:
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        yield from iter(self._sorted)

    def __len__(self) -> int:
        return len(self._by_name)

    def move(self, name: str, sha: str) -> None:
        """Point a ref at an object; ZERO takes the ref away."""
        before = self._by_name.get(name)
        if before is not None:
            self._forget(name, before)
        if sha != ZERO:
            self._by_name[name] = sha
            self._remember(name, sha)
        if before is None and sha != ZERO:
            insort(self._sorted, name)
        elif before is not None and sha == ZERO:
            del self._by_name[name]
            del self._sorted[bisect_left(self._sorted, name)]

    def below(self, prefix: str) -> View[str]:
        """Full names that begin with a text, sorted."""
        start = bisect_left(self._sorted, prefix)
        # No name holds the greatest character: the names that begin with the prefix end before it.
        return View(self._sorted, range(start, bisect_left(self._sorted, prefix + "\U0010ffff")))

    def branches_at(self, sha: str) -> list[str]:
        """Names of the branches whose tip is a commit."""
        return list(self._branches.get(sha, ()))

    def _remember(self, name: str, sha: str) -> None:
        if refnames.is_branch(name):
            self._branches.setdefault(sha, {})[refnames.branch_name(name)] = None

    def _forget(self, name: str, sha: str) -> None:
        if refnames.is_branch(name):
            del self._branches[sha][refnames.branch_name(name)]
            if not self._branches[sha]:
                del self._branches[sha]
