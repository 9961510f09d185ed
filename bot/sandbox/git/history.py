"""Questions about history: ancestors, merge bases, the commits between two.

Walks are cut short by generation (a commit's is greater than each of its parents'), so that what
is asked of two commits near each other costs the commits around them, not the whole history.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence

from bot.sandbox.git.protocol import Git

_OURS, _THEIRS, _STALE = 1, 2, 4


def ancestors(git: Git, tip: str, stop: Collection[str] = frozenset()) -> Iterator[str]:
    """Commits reachable from `tip`, itself first, newest date first; not those in `stop`."""
    seen: set[str] = set()
    waiting = [(_age(git, tip), 0, tip)]
    while waiting:
        _, count, sha = heapq.heappop(waiting)
        if sha in seen or sha in stop:
            continue
        seen.add(sha)
        yield sha
        for parent in git.commit(sha).parents:
            count += 1
            heapq.heappush(waiting, (_age(git, parent), len(seen) + count, parent))


def reachable(git: Git, *tips: str) -> frozenset[str]:
    """All commits reachable from any of some tips, themselves included."""
    seen: set[str] = set()
    waiting = list(tips)
    while waiting:
        sha = waiting.pop()
        if sha not in seen:
            seen.add(sha)
            waiting += git.commit(sha).parents
    return frozenset(seen)


def contains(git: Git, tip: str, sha: str) -> bool:
    """Whether `sha` is `tip` or an ancestor of it."""
    if tip == sha:
        return True
    if git.kind(sha) != "commit":
        return False
    floor, seen, waiting = git.generation(sha), {tip}, [tip]
    while waiting:
        found = waiting.pop()
        if found == sha:
            return True
        if git.generation(found) > floor:
            fresh = [p for p in git.commit(found).parents if p not in seen]
            seen.update(fresh)
            waiting += fresh
    return False


def merge_base(git: Git, one: str, other: str) -> str | None:
    """Newest of the best common ancestors of two commits; None for unrelated histories."""
    best = [sha for sha, marks in _painted(git, one, other) if marks == _OURS | _THEIRS]
    return min(best, key=lambda sha: _age(git, sha), default=None)


def commits_between(git: Git, base: str, head: str) -> list[str]:
    """Commits that `head` has and `base` has not, oldest first (parents before children)."""
    fresh = {sha for sha, marks in _painted(git, head, base) if marks == _OURS}
    stop = {p for sha in fresh for p in git.commit(sha).parents if p not in fresh}
    listed = list(ancestors(git, head, stop)) if fresh else []
    return _parents_first(git, listed)


def _painted(git: Git, ours: str, theirs: str) -> Iterator[tuple[str, int]]:
    """Commits with the sides that hold them, children first, until all left are of both sides.

    What lies behind a commit of both sides is marked as stale too.
    """
    marks = {ours: _OURS}
    marks[theirs] = marks.get(theirs, 0) | _THEIRS
    waiting = [(-git.generation(sha), sha) for sha in marks]
    heapq.heapify(waiting)
    telling = len(waiting)  # commits that wait and are not stale
    while telling:
        _, sha = heapq.heappop(waiting)
        mark = marks[sha]
        telling -= not mark & _STALE
        yield sha, mark
        passed = mark | _STALE if mark & _OURS and mark & _THEIRS else mark
        for parent in git.commit(sha).parents:
            before = marks.get(parent)
            marks[parent] = after = (before or 0) | passed
            if before is None:
                heapq.heappush(waiting, (-git.generation(parent), parent))
                telling += not after & _STALE
            else:
                telling += (not after & _STALE) - (not before & _STALE)


def _age(git: Git, sha: str) -> float:
    return -git.commit(sha).committer.when.timestamp()


def _parents_first(git: Git, shas: Sequence[str]) -> list[str]:
    wanted, done, order = set(shas), set[str](), list[str]()
    for start in reversed(shas):
        stack = [start]
        while stack:
            sha = stack[-1]
            open_parents = [p for p in git.commit(sha).parents if p in wanted and p not in done]
            if sha in done or not open_parents:
                stack.pop()
                if sha not in done:
                    done.add(sha)
                    order.append(sha)
            else:
                stack += open_parents
    return order
