"""What a head has to be tried on: the packages of its base branch, and those made from its own.

Everything here works on one opened mirror and asks nobody else; it may run in a thread.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from bot.git.port import History
from bot.look import judging
from bot.look.reader import MirrorReader
from bot.store.values import UpstreamUser
from lifecycle import impact, names
from lifecycle.identity import RepositoryId
from lifecycle.messages import impact as texts
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy, Policy, VariantUse

MOST_TRIED: Final = 5_000
"""Packages that are tried for one head; of more there are only so many told."""

MOST_STATES: Final = 20_000
"""States of upstreams that are read for one head: each takes 50 to 200 µs."""

MOST_FOLDERS: Final = 50
"""Folders of tags that are listed one by one, 2 ms each; of more, all tags are listed at once."""

_AFTER: Final = chr(ord("/") + 1)


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
class ImpactPlan:
    """What is to be tried.

    Attributes:
        head: The commit.
        base_ref: The branch that it is to be merged into.
        base: Where that is.
        origin: Where the head left the base branch; "" where they share nothing.
        held: The rules that the head began with.
        now: Those of the base branch as it is: what may run, and what judges an upgrade.
        tried: The rules to try; None where they judge all packages alike.
        not_run: As in `Impact`.
        allows: As in `Impact`.
        rules: What they are tried on, by path.
        changed: Packages that were there before and that the head changes, sorted.
        wants: How the head configures rules for variants.
        variants: Rules for variants count on the base branch, and the head may change them.
    """

    head: Sha
    base_ref: str
    base: Sha
    origin: Sha
    held: Policy
    now: Policy
    tried: Policy | None = None
    not_run: tuple[str, ...] = ()
    allows: bool = False
    rules: tuple[RulesTrial, ...] = ()
    changed: tuple[str, ...] = ()
    wants: VariantUse = field(default_factory=VariantUse)
    variants: bool = False


def read(reader: MirrorReader, head: Sha, base_ref: str) -> ImpactPlan | None:
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
    differs = git.difference(origin, head)
    changed = tuple(sorted(p for p, t in differs.packages.items() if all(t)))
    makes = (*judging.paths(held), *judging.paths(tried)) if held.variants or tried.variants else ()
    judged = impact.judged_otherwise(held, tried)
    runs, not_run = impact.trial(now, tried)  # who pushes chooses where a branch begins
    trees = _packages(git, base) if held != tried else {}
    tags = nested_tags(git, trees)
    trials = tuple(rules_trials(trees, tags, base_ref, reader.default_branch, (held, tried)))
    return ImpactPlan(
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
        origin=origin,
        wants=tried.variants,
        variants=base_ref == reader.default_branch
        and any(judging.is_rule(path, makes) for path in differs.files),
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


def nested_tags(git: History, packages: Iterable[str]) -> list[str]:
    """Return the tags of packages inside others, which make these units of their own.

    Args:
        git: Where the tags are.
        packages: Paths of all packages; there may be other tags in what is returned.
    """
    there = set(packages)
    folders = {names.tag_ref(package) for package in there if _is_nested(package, there)}
    if not folders:
        return []
    return [*git.refs(*(folders if len(folders) <= MOST_FOLDERS else [names.TAGS]))]


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


@dataclass(frozen=True, slots=True)
class UpgradeTrials:
    """What an upgrade is tried on.

    Attributes:
        trials: The packages, those of the repository of the head first.
        sources: The changed packages that they were made from, sorted.
        more: Packages more of which nobody read whether they have the change already.
        elsewhere: How many of these are in other repositories.
    """

    trials: tuple[UpgradeTrial, ...] = ()
    sources: tuple[str, ...] = ()
    more: int = 0
    elsewhere: int = 0


class CommitTrees(Protocol):
    """Where the states of an upstream are; `History` is one."""

    def has(self, sha: str) -> bool:
        """Whether a commit is there."""

    def tree(self, commit: str, path: str) -> str:
        """Id of the tree at a path of a commit; "" when there is no folder."""


def upgrades(
    git: CommitTrees, here: RepositoryId, plan: ImpactPlan, users: Sequence[UpstreamUser]
) -> UpgradeTrials:
    """Return what an upgrade is tried on, of the packages with a lock.

    Those that are changed themselves are not. Work grows with the locks and with the changed
    packages, and not with one times the other.

    Args:
        git: Where the upstreams are.
        here: The repository of the head.
        plan: What the head changes.
        users: The packages that were made from any of this repository, with their locks; on all
            branches that are published from.
    """
    changed = Changed(plan.changed)
    found: list[UpgradeTrial] = []
    used: set[str] = set()
    around: dict[str, tuple[str, ...]] = {}
    trees: dict[tuple[str, str], str] = {}
    more: list[UpstreamUser] = []
    for user in sorted(users, key=lambda each: each.repository.id != here):
        directory = user.use.directory
        if directory not in around:
            around[directory] = changed.touching(directory)
        own = user.repository.id == here and user.branch == plan.base_ref
        if not around[directory] or not user.use.locked or (own and user.use.package in changed):
            continue
        if len(trees) >= MOST_STATES:
            more.append(user)
            continue
        base, after = (_tree(git, trees, at, directory) for at in (plan.base, plan.head))
        before = _tree(git, trees, user.use.commit, directory)
        if not after or after in (base, before):
            continue
        found.append(UpgradeTrial(user=user, before=before, after=after))
        used.add(directory)
    return UpgradeTrials(
        trials=tuple(found),
        sources=tuple(sorted({each for directory in used for each in around[directory]})),
        more=len(more),
        elsewhere=sum(each.repository.id != here for each in more),
    )


class Changed:
    """The packages that a head changes, to be found by where they are.

    Args:
        packages: Their paths; "" for the root package.
    """

    def __init__(self, packages: Iterable[str]) -> None:
        self._sorted = sorted(set(packages))
        self._known = frozenset(self._sorted)

    def __contains__(self, package: object) -> bool:
        return package in self._known

    def touching(self, directory: str) -> tuple[str, ...]:
        """Return those that lie in a folder or around it, or are it.

        Args:
            directory: The folder; "" for the whole repository.
        """
        if not directory:
            return tuple(self._sorted)
        parts = directory.split("/")
        above = ("/".join(parts[:length]) for length in range(len(parts) + 1))
        first, end = (bisect_left(self._sorted, f"{directory}{by}") for by in ("/", _AFTER))
        return *(each for each in above if each in self._known), *self._sorted[first:end]


def _tree(git: CommitTrees, known: dict[tuple[str, str], str], commit: str, path: str) -> str:
    if (commit, path) not in known:
        known[commit, path] = git.tree(commit, path) if commit and git.has(commit) else ""
    return known[commit, path]
