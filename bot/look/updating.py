"""Works out what bringing a proposal up to date comes to, where somebody wants that."""

import asyncio
from collections.abc import Sequence
from itertools import chain

from bot.clock import Offload
from bot.git.port import History, TrialMerge
from bot.look.crowds import asked
from bot.render.port import Renderer
from cadlib.package.files import within
from lifecycle.commands import answers
from lifecycle.commands.handlers.rebase import RebaseCommand
from lifecycle.facts.packages import Touched
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.update import BaseUpdate, PackageMerge, UpdateConflict
from lifecycle.messages import updates as texts
from lifecycle.names import Sha
from lifecycle.policy import Policy, UpdateMode


async def update(
    renderer: Renderer, git: History, proposal: Proposal, offload: Offload
) -> BaseUpdate | None:
    """Merge the base into the head: packages that both changed by field, the rest as git does.

    Args:
        renderer: Merges packages.
        git: Where the commits are.
        proposal: The proposal; None comes of one that nobody wants to bring up to date.
        offload: Where git is read.
    """
    if not await _wanted(proposal, offload):
        return None
    place = proposal.place
    return await merged(renderer, git, place.head, place.base, proposal.content.touched, offload)


async def merged(
    renderer: Renderer,
    git: History,
    head: Sha,
    base: Sha,
    touched: Sequence[Touched],
    offload: Offload,
) -> BaseUpdate:
    """Merge a base into a head, as `update` does.

    Args:
        renderer: Merges packages.
        git: Where the commits are.
        head: The one that is to hold both.
        base: The other one; "" for none.
        touched: The packages that the head changes.
        offload: Where git is read.
    """
    trial = await offload(_trial, git, head, base)
    if trial is None:
        return BaseUpdate()
    problem = _problem(trial)
    if problem:
        return BaseUpdate(behind=True, problem=problem)
    both = [t for t in touched if t.outdated]
    merges = (renderer.merged(git, t.package, t.origin, t.head_tree, t.base) for t in both)
    return _together(both, await asyncio.gather(*merges), trial)


async def _wanted(proposal: Proposal, offload: Offload) -> bool:
    policy = proposal.rules.policy
    if proposal.place.closed or not isinstance(policy, Policy):
        return False
    if policy.update is UpdateMode.AUTO and any(t.outdated for t in proposal.content.touched):
        return True
    waiting = await asked(offload, proposal, answers.pending)
    return any(isinstance(c, RebaseCommand) for _, said in waiting for c in said.commands)


def _trial(git: History, head: Sha, base: Sha) -> TrialMerge | None:
    """What git makes of it; None where there is nothing to merge."""
    if not base or git.contains(head, base):
        return None
    return git.merged(base, head)


def _problem(trial: TrialMerge) -> str:
    if trial.unrelated:
        return texts.UNRELATED
    if trial.too_slow:
        return texts.TOO_SLOW
    return texts.SEVERAL if trial.several else ""


def _together(
    both: Sequence[Touched], merged: Sequence[PackageMerge], trial: TrialMerge
) -> BaseUpdate:
    files = {path: each for one in merged for path, each in one.files.items()}
    conflicts = list(chain.from_iterable(one.conflicts for one in merged))
    if conflicts:  # of these packages there are no files to say what git need not merge
        packages = [t.package for t in both]
        left = [c for c in trial.conflicts if not any(within(c, p) for p in packages)]
    else:
        left = [path for path in trial.conflicts if path not in files]
    conflicts += (UpdateConflict(path=path, reason=texts.SAME_LINES) for path in left)
    return BaseUpdate(
        behind=True,
        files=files,
        conflicts=tuple(conflicts),
        more=sum(one.more for one in merged),
        problem="; ".join(one.problem for one in merged if one.problem),
    )
