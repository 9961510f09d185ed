"""What a head has to be tried on: the packages of its base branch, and those made from its own.

Everything here works on one opened mirror and asks nobody else; it may run in a thread.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from bot.git.port import History
from bot.look.reader import MirrorReader
from bot.store.values import UpstreamUser
from lifecycle import impact, names
from lifecycle.messages import impact as texts
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy, Policy

MOST_TRIED: Final = 5_000
"""Packages that are tried for one head; of more there are only so many told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesTrial:
    """A package of the base branch, to be judged by other rules.

    Attributes:
        package: Its path.
        tree: Id of its tree.
        merges: What would be otherwise about its merge.
    """

    package: str
    tree: str
    merges: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be tried.

    Attributes:
        head: The commit.
        base_ref: The branch that it is to be merged into.
        base: Where that is.
        held: The rules that the head began with.
        now: Those of the base branch as it is: what may run, and what judges an upgrade.
        tried: The rules to try; None where they judge all packages alike.
        not_run: As in `Impact`.
        allows: As in `Impact`.
        rules: What they are tried on, by path.
        changed: Packages that were there before and that the head changes, sorted.
    """

    head: Sha
    base_ref: str
    base: Sha
    held: Policy
    now: Policy
    tried: Policy | None = None
    not_run: tuple[str, ...] = ()
    allows: bool = False
    rules: tuple[RulesTrial, ...] = ()
    changed: tuple[str, ...] = ()


def read(reader: MirrorReader, head: Sha, base_ref: str) -> Plan | None:
    """Find out what a head has to be tried on; None where its rules cannot be read.

    The rules are compared with those that the head began with: what the base branch changed since
    is none of its doing.

    Args:
        reader: Reads git.
        head: The commit.
        base_ref: The branch that it is to be merged into.
    """
    git = reader.git
    base = git.ref(names.branch_ref(base_ref))
    if base is None or not git.has(head):
        return None
    origin = reader.origin(head, base)
    held, now, tried = (reader.rules(at, base_ref).policy for at in (origin or base, base, head))
    if not (isinstance(held, Policy) and isinstance(now, Policy) and isinstance(tried, Policy)):
        return None
    changed = tuple(sorted(p for p, t in git.difference(origin, head).packages.items() if all(t)))
    judged = impact.judged_otherwise(held, tried)
    runs, not_run = impact.trial(now, tried)  # who pushes chooses where a branch begins
    trees = _packages(git, base) if held != tried else {}
    tags = _tags(git, trees)
    trials = tuple(rules_trials(trees, tags, base_ref, reader.default_branch, (held, tried)))
    return Plan(
        head=head,
        base_ref=base_ref,
        base=base,
        held=held,
        now=now,
        tried=runs if judged else None,
        not_run=not_run if judged else (),
        allows=judged and impact.allows_more(now, tried),
        rules=trials,
        changed=changed,
    )


def broken(reader: MirrorReader, head: Sha, base_ref: str) -> tuple[str, BrokenPolicy] | None:
    """Where rules cannot be read for a trial, for people, and they; None where all can.

    Args:
        reader: As for `read`.
        head: As there.
        base_ref: As there.
    """
    base = reader.git.ref(names.branch_ref(base_ref))
    for at, where in ((head, texts.AT_HEAD), (base, base_ref)):
        policy = reader.rules(at, base_ref).policy if at else None
        if isinstance(policy, BrokenPolicy):
            return where, policy
    return None


def _packages(git: History, commit: str) -> dict[str, str]:
    """The packages of a commit, with their trees."""
    return {p: tree for p, (_, tree) in git.difference("", commit).packages.items() if tree}


def rules_trials(
    trees: Mapping[str, str],
    tags: Collection[str],
    base_ref: str,
    default_ref: str,
    rules: tuple[Policy, Policy],
) -> Iterable[RulesTrial]:
    """Return the packages of a base branch that other rules may judge or merge otherwise.

    Args:
        trees: All its packages, with their trees.
        tags: Those of packages inside others.
        base_ref: Its name.
        default_ref: Name of the default branch.
        rules: Those that hold, and the others.
    """
    judged = impact.judged_otherwise(*rules)
    units = [names.units(trees, policy, base_ref, default_ref, tags) for policy in rules]
    for package in sorted(units[0] | units[1]):
        published = package in units[0], package in units[1]
        merges = impact.merged_otherwise(*rules, package, published=published)
        if merges or (judged and all(published)):
            yield RulesTrial(package=package, tree=trees[package], merges=merges)


def _tags(git: History, packages: Iterable[str]) -> list[str]:
    """The tags of packages inside others, which make these units of their own."""
    there = set(packages)
    nested = [p for p in there if _is_nested(p, there)]
    return [ref for package in nested for ref in git.refs(names.tag_ref(package))]


def _is_nested(package: str, packages: set[str]) -> bool:
    parts = package.split("/") if package else []
    return any("/".join(parts[:length]) in packages for length in range(len(parts)))


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeTrial:
    """A package that was made from one that a head changes.

    Attributes:
        user: The package, and what it is locked to.
        before: Tree of the upstream that it is locked to; "" where this repository has none.
        after: Tree of the upstream as the head has it.
    """

    user: UpstreamUser
    before: str
    after: str

    @property
    def upstream(self) -> str:
        """What it was made from, for people."""
        return self.user.use.ref or self.user.use.commit[:10]


class States(Protocol):
    """Where the states of an upstream are; `History` is one."""

    def has(self, sha: str) -> bool:
        """Whether a commit is there."""

    def tree(self, commit: str, path: str) -> str:
        """Id of the tree at a path of a commit; "" when there is no folder."""


def upgrades(
    git: States, plan: Plan, users: Sequence[UpstreamUser]
) -> tuple[list[UpgradeTrial], tuple[str, ...]]:
    """Return what an upgrade is tried on, and the changed packages that those were made from.

    Args:
        git: Where the upstreams are.
        plan: What the head changes.
        users: The packages that were made from any of this repository, with their locks.
    """
    found: list[UpgradeTrial] = []
    sources: set[str] = set()
    trees: dict[tuple[str, str], str] = {}
    for user in users:
        directory = user.use.directory
        around = [p for p in plan.changed if _touches(directory, p)]
        if not around:
            continue
        base, after = (_tree(git, trees, at, directory) for at in (plan.base, plan.head))
        before = _tree(git, trees, user.use.commit, directory)
        if not after or after in (base, before):
            continue
        found.append(UpgradeTrial(user=user, before=before, after=after))
        sources.update(around)
    return found, tuple(sorted(sources))


def _touches(directory: str, package: str) -> bool:
    """Whether a package lies in a folder, or around it."""
    inner, outer = f"{directory}/", f"{package}/"
    return not directory or not package or inner.startswith(outer) or outer.startswith(inner)


def _tree(git: States, known: dict[tuple[str, str], str], commit: str, path: str) -> str:
    if (commit, path) not in known:
        known[commit, path] = git.tree(commit, path) if commit and git.has(commit) else ""
    return known[commit, path]
