"""The branches that drafts go to: their names, and how they stand."""

from collections.abc import Sequence

from bot.forges.port import ListedProposal
from bot.git.port import History
from bot.look.reader import MirrorReader
from lifecycle import names
from lifecycle.facts.drafts import DraftKind, DraftRequest, tokens
from lifecycle.facts.whole import Whole
from lifecycle.names import Sha

MOST_OURS = 50
"""Commits of ours that one draft may have behind each other and still be begun anew."""


def named(request: DraftRequest, whole: Whole) -> str:
    """The branch of a draft, which is no folder of a package: no ref can be inside another."""
    workspace = str(request.kind) + ("-together" if request.others else "")
    if request.revision and request.kind in (DraftKind.EDIT, DraftKind.ROLLBACK):
        workspace += f"-v{request.revision}"
    folder = f"{request.package}/" if request.package else ""
    while any(f"{each}/".startswith(f"{folder}{workspace}/") for each in whole.packages):
        workspace += "-draft"
    return f"{names.DRAFTS}{folder}{workspace}"


def in_the_way(git: History, branch: str, around: Sequence[str]) -> str:
    """A branch that this one would be a folder or a part of, which git cannot have; "" for none."""
    found = [each for each in around if git.ref(names.branch_ref(each)) is not None]
    listed = git.refs(names.branch_ref(branch)) if around else ()
    inside = [names.branch_name(each) for each in listed]
    return next((each for each in [*found, *inside] if each != branch), "")


def tip(reader: MirrorReader, ref: str, base: Sha) -> tuple[str, bool, frozenset[str]]:
    """What a branch names, whether nothing of others is lost when it moves, and what we did there.

    Only what we made on top of the base branch may be begun anew.
    """
    git = reader.git
    tip = git.ref(ref)
    if tip is None:
        return "", True, frozenset()
    below, done, others = tip, set[str](), False
    for _ in range(MOST_OURS):
        if git.contains(base, below):
            break
        commit = git.commit(below)
        if reader.made_by_us(below):
            done |= tokens(commit.message)
        else:  # what we did below it was done as well
            others = True
        if not commit.parents:
            break
        below = commit.parents[0]
    return tip, not others and git.contains(base, below), frozenset(done)


def proposes(pull: ListedProposal, repository: int, branch: str) -> bool:
    """Whether a pull request that is open proposes a branch of the repository itself.

    To whatever base: the branch is not taken from under an open pull request.
    """
    return pull.open and (pull.head_repository, pull.head_ref) == (repository, branch)


def ended(pulls: Sequence[ListedProposal], repository: int, branch: str, tip: str) -> int:
    """Number of a pull request that proposed just what a branch names; 0 for none.

    It was closed or merged before anybody noted that it had been opened.
    """
    asked = (repository, branch, tip)
    found = (p for p in pulls if (p.head_repository, p.head_ref, p.head) == asked and not p.open)
    return next((pull.number for pull in found), 0)
