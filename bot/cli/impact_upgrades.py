"""Upgrades on trial of packages that were made from one of the working tree."""

from dataclasses import replace

from bot.cli import progress
from bot.cli.disk.git_objects import RepositoryTrees
from bot.cli.disk.worktree import Base, WorkingTree
from bot.cli.dropin import CommandFailure
from bot.cli.fn.runner import CommandFunctionRunner
from bot.cli.judging import judged, readable
from bot.cli.rpkg import dry
from bot.look import impact_places, impact_plan, locks, rules
from bot.look.impact_plan import ImpactPlan, UpgradeTrial
from bot.store.values import ServedName, UpstreamUser
from cadlib.errors import PackageError
from cadlib.package.files import Entry, Files
from cadlib.update.upstream import Fetch, Fetched
from lifecycle import impact
from lifecycle.facts.impact import Impact, PackageImpact
from lifecycle.facts.update import PackageMerge
from lifecycle.identity import GITHUB, RepositoryId
from lifecycle.messages import impact as texts
from lifecycle.names import Sha
from lifecycle.policy import Policy
from lifecycle.upstreams.locations import locate

_HERE = ServedName(RepositoryId(GITHUB, 1), "", 0)
"""The repository itself, where only one is known."""


class _States:
    """Implements `impact_plan.CommitTrees` by a repository on disk."""

    def __init__(self, trees: RepositoryTrees) -> None:
        self._trees = trees

    def has(self, sha: str) -> bool:
        return bool(self._trees.root(sha))

    def tree(self, commit: str, path: str) -> str:
        return self._trees.tree(commit, path)


def tried(
    tree: WorkingTree, base: Base, package: str, functions: CommandFunctionRunner
) -> Impact | None:
    """Try upgrades to a package as the working tree has it.

    Args:
        tree: The working tree.
        base: The branch whose packages are tried.
        package: Path of the package.
        functions: Runs functions.

    Returns:
        What would come of it; None where no package was made from it.

    Raises:
        CommandFailure: Nobody can tell.
    """
    place = locate(tree.address())
    if place is None:
        raise CommandFailure(
            "this clone has no remote origin, so nobody can tell what was made from its packages."
            " Add it: git remote add origin URL"
        )
    held = rules.of_base(tree.blob, base.commit, base.branch, base.default)
    policy, now = readable(held.policy, base.shown), tree.tree()
    plan = ImpactPlan(
        head=Sha(now),
        base_ref=base.shown,
        base=Sha(base.commit),
        origin=Sha(base.commit),
        held=policy,
        now=policy,
        changed=(package,),
    )
    users = [
        UpstreamUser(repository=_HERE, branch=base.branch, use=use)
        for uses in locks.changed(tree.trees, "", base.commit).values()
        for use in uses
        if use.locked and use.place == str(place) and use.package != package
    ]
    states = _States(tree.trees)
    made = impact_plan.upgrades(states, _HERE.id, plan, users)
    trials = made.trials
    if not trials:
        return None
    found = Impact(
        base_ref=base.shown,
        base=base.commit,
        upstreams=made.sources,
        total=len(trials),
        more=made.more,
    )
    for number, each in enumerate(trials):
        name = each.user.use.package
        progress.at(f"trying {number} of {len(trials)}: {name or 'the root package'}")
        found = impact.add(found, _one(tree, base, now, each, policy, functions, states))
    return impact.ended(found)


def _one(
    tree: WorkingTree,
    base: Base,
    now: str,
    trial: UpgradeTrial,
    policy: Policy,
    functions: CommandFunctionRunner,
    states: _States,
) -> PackageImpact:
    name = trial.user.use.package
    place = PackageImpact(package=name, upstream=trial.upstream)
    if not trial.before:
        return replace(place, problem=texts.NO_UPSTREAM)
    try:
        here = tree.files(tree.trees.tree(base.commit, name))
    except PackageError as error:
        return replace(place, problem=error.problem)
    made = _upgraded(tree, states, trial, now, here)
    if made.problem:
        return replace(place, problem=made.problem)
    after: dict[str, Entry] = {}
    for path, entry in {**here, **made.files}.items():
        if entry is not None:
            after[path] = entry
    before, then = (judged(name, files, here, policy, functions) for files in (here, after))
    return impact.by_upgrade(place, before, then, made.conflicts, made.more)


def _upgraded(
    tree: WorkingTree, states: _States, trial: UpgradeTrial, now: str, here: Files
) -> PackageMerge:
    """The package as an upgrade would leave it."""

    def fetch(wanted: Fetch) -> Fetched:
        there = impact_places.state_of(states, trial, now, wanted)
        return Fetched(tree.files(there), wanted.ref, wanted.ref)

    return dry.upgraded(trial.user.use.package, here, now, fetch)
