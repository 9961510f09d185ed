"""Merges: the base before one, and its changes beside those that were proposed.

Rules (docs/design.md, "What judges a merge"):

1. What the base was before a merge is `before` of the move of the base that brought the merge
   result in. Authors, dates and texts of commits say nothing about it: anybody can write them.
2. A forced move says nothing either: what came with it did not stand on what it replaced.
3. Where one move holds several merges, each is compared with the first parent in the line, and the
   rules at `before` judge all of them; a change of rules among them publishes none.
4. A merge that changes what its proposal does not show is refused: with several merge bases a diff
   against one of them does not show everything.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lifecycle.names import Sha

_NONE = "0" * 40  # how forges write that a branch was not there


class UnknownRules(StrEnum):
    """Reason why the rules at the time of a merge are unknown: its result needs an approval."""

    BASE = "base"
    RULES = "rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One move of a branch, as the forge logged it.

    Attributes:
        before: Where it was; zeros when it was made.
        after: Where it is since; zeros when it was deleted.
        actor: Login of whoever moved it; "" when the forge does not know.
        at: When.
        forced: It did not only add commits: the branch was made, deleted, or pushed by force.
        account: The forge's number of whoever moved it; 0 when it does not know.
        anybodys: That account pushes for whoever can write a workflow: who it was, nobody can tell.
    """

    before: Sha
    after: Sha
    actor: str
    at: datetime
    forced: bool = False
    account: int = 0
    anybodys: bool = False


@dataclass(frozen=True, slots=True)
class LandingMove:
    """The move that brought a merge result in.

    Attributes:
        before: Where the base was.
        line: First-parent commits that came with it, oldest first.
    """

    before: Sha
    line: tuple[Sha, ...]


@dataclass(frozen=True, slots=True)
class Arrival:
    """How a merge result came into its base.

    Attributes:
        before: What the base was: its rules judge.
        parent: What the merge result is compared with.
        line: First-parent commits that came with it where they are several merges; empty where it
            came alone.
    """

    before: Sha
    parent: Sha
    line: tuple[Sha, ...] = ()


Line = Callable[[Sha, Sha], tuple[Sha, ...] | None]
"""Gives the first-parent line from the second commit (left out) to the first, oldest first; None
where the second is not on it."""


def entry(moves: Sequence[Move], merge: Sha, line: Line) -> LandingMove | None:
    """Find the move that brought a merge result in.

    Args:
        moves: Of the base branch, newest first.
        merge: The merge result.
        line: Asks git.

    Returns:
        None when no move shows it.
    """
    for move in reversed(moves):
        if move.forced or _NONE in (move.before, move.after):
            continue
        commits = line(move.after, move.before)
        if commits and merge in commits:
            return LandingMove(move.before, commits)
        if commits is None and move.after == merge:
            return LandingMove(move.before, (merge,))  # the base was merged into what was pushed
    return None


@dataclass(frozen=True, slots=True)
class Brought:
    """The move by which a commit came into a branch.

    Attributes:
        move: What the forge logged.
        line: First-parent commits from that one on that came with it, oldest first; where the
            branch was merged into what was pushed, that one and what the branch came to.
    """

    move: Move
    line: tuple[Sha, ...]


def brought(
    moves: Sequence[Move], sha: Sha, line: Line, gained: Callable[[Sha, Sha, Sha], bool]
) -> Brought | None:
    """Find the newest move by which a commit came into a branch, pushed by force or not.

    Args:
        moves: Of the branch, newest first.
        sha: The commit.
        line: Asks git.
        gained: Asks git whether the second commit holds the third, and the first does not.

    Returns:
        None when no move shows it.
    """
    for move in moves:
        if _NONE in (move.before, move.after):
            continue
        commits = line(move.after, move.before)
        if commits is None and gained(move.before, move.after, sha):
            return Brought(move, tuple(dict.fromkeys((sha, move.after))))
        if commits and sha in commits:
            return Brought(move, commits[commits.index(sha) :])
    return None


def needs_others(found: LandingMove, merge: Sha, parents: Sequence[Sha]) -> bool:
    """Tell whether only the other merge results say where this one begins: a rebase or a squash."""
    return len(parents) == 1 and found.line.index(merge) > 0


def arrival(
    found: LandingMove, merge: Sha, parents: Sequence[Sha], others: Collection[Sha] = ()
) -> Arrival:
    """Return the base that a merge result is compared with.

    Args:
        found: The move that brought it in.
        merge: The merge result.
        parents: Its parents.
        others: Results of other merges into this base, for one that `needs_others`.
    """
    place = found.line.index(merge)
    if len(parents) > 1 and place > 0:
        parent = found.line[place - 1]
    else:
        earlier = [sha for sha in found.line[:place] if sha in others]
        parent = earlier[-1] if earlier else found.before
    alone = parent == found.before and found.line[-1] == merge
    return Arrival(found.before, parent, () if alone else found.line)


@dataclass(frozen=True, slots=True)
class Effect:
    """The changes of merging an open proposal that it does not show.

    Attributes:
        conflicts: Paths that conflict, sorted.
        unrelated: It has no history in common with its base.
        packages: Packages that the merge would leave other than shown, sorted.
        files: Files outside of its packages that it would, sorted.
        unknown: Nobody knows: working it out takes too long.
    """

    conflicts: tuple[str, ...] = ()
    unrelated: bool = False
    packages: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    unknown: bool = False

    @property
    def hides(self) -> bool:
        """The merge changes packages that the proposal does not show, or may."""
        return bool(self.packages) or self.unknown

    @property
    def clean(self) -> bool:
        """The merge does what the proposal shows, and nothing else."""
        return not (self.conflicts or self.unrelated or self.hides or self.files)


def hidden_packages(
    shown: Mapping[str, str], merged: Mapping[str, str], standing: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the packages that a merge leaves different from what its proposal shows.

    Args:
        shown: Package that the proposal touches to its tree at the head.
        merged: Package that the merge changes to its tree in the result.
        standing: Package that the proposal touches to its tree in the base; left out are those
            that the base changed as well: they are out of date, and said to be so.
    """
    beside = merged.keys() - shown.keys()
    otherwise = {
        package for package, tree in standing.items() if merged.get(package, tree) != shown[package]
    }
    return tuple(sorted(beside | otherwise))


def hidden_files(
    shown: Mapping[str, str], merged: Mapping[str, str], *, several: bool
) -> tuple[str, ...]:
    """Return the files outside of packages that a merge leaves otherwise than its proposal.

    Where there is one merge base, a file that both sides changed is merged line by line, as
    everybody expects; where there are several, what is shown may leave out a part of it.

    Args:
        shown: Path that the proposal changes to what it is at the head.
        merged: Path that the merge changes to what it is in the result.
        several: There are several merge bases.
    """
    return tuple(
        sorted(
            path
            for path, state in merged.items()
            if path not in shown or (several and shown[path] != state)
        )
    )
