"""Reading git for a look: what a proposal touches, under which rules, and what was seen of it.

Everything here works on one opened mirror and asks nobody else; it may run in a thread.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bot import config
from bot.config import CONFIG
from bot.forges.port import NativeReview, PullRequest
from bot.git.port import Difference, History, MissingObjectError
from bot.look import beside, rules
from bot.look.rules import Rules
from bot.look.tags import Tags
from cadlib.findings import Finding
from lifecycle import merges, names, records
from lifecycle.facts import Review, Touched, Unpublished
from lifecycle.identity import RepositoryId
from lifecycle.merges import Doubt, Effect
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy, Policy

MOST_SUBJECTS = 100
"""Commits of a draft that are looked at for its title."""

MOST_SOURCES = 100
"""Commits of the base branch that are looked at for what brought in what was never published."""

CONFIGURATION = (CONFIG, ".porchbot")
"""What a proposal changes rules by: the configuration, and the folder of the ledger."""

RULES = (CONFIG, ".porchbot", "CODEOWNERS", ".github/CODEOWNERS", "docs/CODEOWNERS")
"""What judges proposals, and may not change among merges that came together."""

_Ledger = Mapping[str, frozenset[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a proposal stands on.

    Attributes:
        rules: The commit whose configuration judges it.
        base: The commit that it, or its merge result, is compared with; None for nothing at all.
        merge: The merge result; None before the merge.
        doubt: Why the rules at the time of the merge cannot be told; None when they can.
    """

    rules: Sha
    base: Sha | None
    merge: Sha | None = None
    doubt: Doubt | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """What git says about one pull request; read in one go, in one thread."""

    head: Sha
    ground: Ground
    touched: tuple[Touched, ...]
    policy: Policy | BrokenPolicy
    configuration: tuple[Finding, ...]
    beside: str
    effect: Effect
    configures: bool
    elsewhere: tuple[str, ...] = ()

    @property
    def passes(self) -> bool:
        """Nothing here is asked for: it changes no package and no rules, and breaks none."""
        asks = self.touched or self.configuration or self.configures or self.effect.hides
        return not asks and isinstance(self.policy, Policy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads one repository's mirror during one look.

    Attributes:
        git: The mirror, opened.
        repository_id: Which repository.
        default_branch: Such as "main".
        keys: Keys that marks may be made with, newest first.
        tags: Its release tags.
        baseline: Branches that packages are published from to what they were when the bot came.
    """

    git: History
    repository_id: RepositoryId
    default_branch: str
    keys: Sequence[bytes]
    tags: Tags
    baseline: Mapping[str, str] = field(default_factory=dict)

    def made_by_us(self, sha: str | None) -> bool:
        """A render commit with our mark: a trailer alone can be written by anybody."""
        return self.render_asker(sha) is not None

    def render_asker(self, sha: str | None) -> str | None:
        """Who asked for a render commit of ours, "" for nobody; None for any other commit."""
        if sha is None or not self.git.has(sha):
            return None
        commit = self.git.commit(sha)
        if len(commit.parents) != 1:
            return None
        return records.render_asker(
            commit.message,
            self.keys,
            parent=commit.parents[0],
            tree=commit.tree,
            repository_id=self.repository_id,
        )

    def updates(self, commits: Iterable[Sha], base_ref: str) -> dict[Sha, Sha]:
        """Clean merges of the base's own line among some commits, each to its first parent.

        What such a merge holds is worked out again: anybody can change files while merging. Where
        that takes too long once, the rest counts as written by whoever merged.
        """
        tip = self.git.ref(f"refs/heads/{base_ref}")
        found: dict[Sha, Sha] = {}
        for sha in commits:
            if tip is None or not self.git.has(sha):
                continue
            commit = self.git.commit(sha)
            if len(commit.parents) != 2 or not self.git.on_line(tip, commit.parents[1]):
                continue
            merged = self.git.merged(*commit.parents)
            if merged.too_slow:
                break
            if merged.tree == commit.tree:
                found[sha] = commit.parents[0]
        return found

    def too_long(self, head: Sha, base_ref: str) -> bool:
        """Whether a proposal's commits have more text than is read, or there are too many."""
        tip = self.git.ref(f"refs/heads/{base_ref}")
        return tip is not None and self.git.cut_within(tip, head)

    def line(self, tip: Sha, after: Sha) -> tuple[Sha, ...] | None:
        """The first-parent line from `after` (left out) to `tip`; None when it is not on it."""
        try:
            found = self.git.first_parents(tip, after)
        except MissingObjectError:
            return None
        if not found or found[0].parents[:1] != (after,):
            return None
        return tuple(commit.sha for commit in found)

    def subjects(self, tip: Sha, base: Sha) -> tuple[str, ...]:
        """First lines of the commits of a branch that people made, oldest first.

        Merges are left out, and renderings of ours.
        """
        origin = self.git.merge_base(tip, base)
        return tuple(
            commit.message.partition("\n")[0]
            for commit in self.git.first_parents(tip, origin or "", MOST_SUBJECTS)
            if len(commit.parents) < 2 and not self.made_by_us(commit.sha)
        )

    def rules_differ(self, commits: Iterable[Sha]) -> bool:
        """Whether what judges proposals is not the same at all of these commits."""
        return len({tuple(self.git.entry(sha, path) for path in RULES) for sha in commits}) > 1

    def read_pull(
        self, pull: PullRequest, ground: Ground, native: Sequence[NativeReview]
    ) -> tuple[Read | None, tuple[Review, ...]]:
        """What git says of a pull request, and of what its native reviews looked at."""
        read = self.read(pull.head, pull.base_ref, ground, pull.head_ref, pull.number)
        return read, _with_trees(self.git, native, read.touched, ground.base) if read else ()

    def read(
        self, head: Sha, base_ref: str, ground: Ground, head_ref: str, number: int
    ) -> Read | None:
        """Everything git knows about a proposal; None when its head is not there."""
        if not self.git.has(head):
            return None
        origin = self._origin(head, ground.base)
        held = self._rules(ground.rules, base_ref)
        policy, ledger = held.policy, held.ledger
        touched: tuple[Touched, ...] = ()
        effect = Effect()
        if held.published:
            workspace = names.workspace(head_ref, number)
            shown = self._units(policy, base_ref, self.git.difference(origin, head))
            merged = (
                shown
                if ground.merge is None
                else self._units(
                    policy, base_ref, self.git.difference(ground.base or "", ground.merge)
                )
            )
            found = (
                self._touched(package, ledger, head, origin, ground, workspace)
                for package in sorted(shown | merged)
            )
            touched = tuple(
                replace(
                    t,
                    outside=t.package not in shown,
                    unpublished=(
                        None if t.removed else self._unpublished(t.package, ground.base, base_ref)
                    ),
                )
                for t in found
            )
            effect = self._effect(head, origin, ground, touched, policy, base_ref)
        return Read(
            head,
            ground,
            touched,
            policy,
            (
                *rules.problems(self._file, head, origin),
                *names.problems([t.package for t in touched if t.head_tree]),
                *self._alike(head, origin, ground.base or "", touched),
                *names.used_up([(t.package, t.revision) for t in touched]),
            ),
            beside.digest(self.git, origin, head, touched),
            effect,
            held.published and self._configures(head, origin, ground, effect),
            self._elsewhere(head, self.branches(base_ref, ground)),
        )

    def _alike(
        self, head: Sha, origin: Sha, base: str, touched: Sequence[Touched]
    ) -> tuple[Finding, ...]:
        """Packages that look like others; what the head renamed or removed is none of these."""
        there = [t.package for t in touched if t.head_tree]
        now, after, before = (self.git.alike(at, there) for at in (head, base, origin))
        likes = {package: now[package] | (after[package] - before[package]) for package in there}
        return names.alike(likes, [t.package for t in touched if not t.base])

    def _elsewhere(self, head: Sha, branches: Iterable[str]) -> tuple[str, ...]:
        """Branches that packages are published from where this head would have to be approved."""
        found = []
        for ref in sorted(branches):
            tip = self.git.ref(f"refs/heads/{ref}")
            there = tip and self.read(head, ref, Ground(rules=tip, base=tip), "", 0)
            if there and not there.passes:
                found.append(ref)
        return tuple(found)

    def _origin(self, head: Sha, base: Sha | None) -> Sha:
        """The merge base that people are shown changes against; "" when there is none."""
        return (self.git.merge_base(head, base) if base else None) or Sha("")

    def _rules(self, at: Sha, base_ref: str) -> Rules:
        """The rules that held for a base branch at a commit."""
        default = None
        if base_ref != self.default_branch:
            default = self.git.ref(f"refs/heads/{self.default_branch}") or ""
        return rules.of_base(self._file, at, base_ref, default)

    def _file(self, at: str, path: str) -> bytes | BrokenPolicy | None:
        """A file with rules; broken, and not absent, where something else stands in its place."""
        folder = path.rpartition("/")[0]
        for each, kind in ((folder, "40000 "), (path, "100")):
            found = self.git.entry(at, each) if each else kind
            if not found:
                return None
            if not found.startswith(kind):
                return config.irregular(each)
        return self.git.blob(at, path)

    def _configures(self, head: Sha, origin: Sha, ground: Ground, effect: Effect) -> bool:
        """Whether merging it can change rules, in whichever way the forge merges.

        A diff against one merge base does not show what a merge with several changes; and a rebase
        makes every commit anew, so that one that only takes back another can take back the base's.
        """
        if self._differs(origin, head, CONFIGURATION) or any(map(_is_rule, effect.files)):
            return True
        if ground.merge is not None or ground.base is None:
            return False
        return self.git.changed_within(ground.base, head, CONFIGURATION)

    def _differs(self, one: str, other: str, paths: Iterable[str]) -> bool:
        entry = self.git.entry
        return any((entry(one, path) if one else "") != entry(other, path) for path in paths)

    def _units(
        self, policy: Policy | BrokenPolicy, base_ref: str, differs: Difference
    ) -> frozenset[str]:
        """The units of release that differ."""
        known = policy if isinstance(policy, Policy) else Policy()
        tags = self.tags.refs(differs.packages)
        return names.changed_units(differs.packages, known, base_ref, self.default_branch, tags)

    def branches(self, base_ref: str, ground: Ground) -> frozenset[str]:
        """Branches where the head of a proposal would have to be approved as well.

        Those that packages are published from, where its own base is none of them.
        """
        held = self._rules(ground.rules, base_ref)
        if held.published or ground.merge:
            return frozenset()
        return frozenset({self.default_branch, *held.branches})

    def packages(self, head: Sha, base_ref: str, ground: Ground) -> set[str]:
        """Packages whose tags count for a proposal: it changes them, or merging it would."""
        if not self.git.has(head):
            return set()
        tips = [self.git.ref(f"refs/heads/{ref}") for ref in self.branches(base_ref, ground)]
        grounds = [ground, *(Ground(rules=tip, base=tip) for tip in tips if tip)]
        return {package for each in grounds for package in self._differing(head, each)}

    def _differing(self, head: Sha, ground: Ground) -> set[str]:
        found = {*self.git.difference(self._origin(head, ground.base), head).packages}
        if ground.merge is not None:
            found |= self.git.difference(ground.base or "", ground.merge).packages.keys()
        elif ground.base is not None:
            found |= self.git.merged(ground.base, head).difference.packages.keys()
        return found

    def _touched(
        self,
        package: str,
        ledger: _Ledger,
        head: Sha,
        origin: Sha,
        ground: Ground,
        workspace: str,
    ) -> Touched:
        """One package whose tree differs from the merge base's; paths alone say nothing."""
        git = self.git
        before, after = git.package(origin, package), git.package(head, package)
        standing = git.package(ground.base or "", package)
        tree = git.package(ground.merge or head, package)
        tagging = self.tags.tagging(
            package, ground.merge, removed=not tree, listed=ledger.get(package, ())
        )
        changed_meanwhile = ground.base is not None and standing != before
        return Touched(
            package=package,
            tree=tree,
            head_tree=after,
            origin=before,
            base=standing,
            tagging=tagging,
            changed_by=(
                _changed_by(git, package, origin, ground.base)
                if changed_meanwhile and ground.base
                else ()
            ),
            workspace=workspace,
        )

    def _unpublished(self, package: str, base: Sha | None, base_ref: str) -> Unpublished | None:
        """What stands in the base that no revision holds: publishing the package publishes it.

        Compared with the newest revision that the base holds, which a merge and its tags do not
        change; where the newest of all has the same tree nobody need look further.
        """
        git = self.git
        standing = git.package(base or "", package)
        newest = self.tags.newest(package)
        if base is None or not standing:
            return None
        if newest is not None and git.package(newest[1], package) == standing:
            return None
        held = newest and self.tags.newest(package, base)
        number, published = held or (0, self.baseline.get(base_ref, ""))
        published = published if published and git.has(published) else ""
        before = git.package(published, package)
        if held is not None and before == standing:
            return None
        adopted = held is None and before == standing
        return Unpublished(
            revision=number,
            published=before,
            base=standing,
            adopted=adopted,
            files=git.count(standing) if adopted else 0,
            sources=() if adopted else _changed_by(git, package, published, base, MOST_SOURCES),
        )

    def _effect(
        self,
        head: Sha,
        origin: Sha,
        ground: Ground,
        touched: Sequence[Touched],
        policy: Policy | BrokenPolicy,
        base_ref: str,
    ) -> Effect:
        """What merging an open proposal would do beside what it shows."""
        if ground.merge is not None or ground.base is None:
            return Effect()
        merged = self.git.merged(ground.base, head)
        if merged.too_slow:
            return Effect(unknown=True)
        if merged.unrelated or merged.conflicts:
            # Where nothing is to be published, that is for the forge to tell.
            if not touched:
                return Effect()
            return Effect(conflicts=merged.conflicts, unrelated=merged.unrelated)
        after = {path: trees[1] for path, trees in merged.difference.packages.items()}
        units = self._units(policy, base_ref, merged.difference)
        shown = self.git.difference(origin, head).files
        packages = beside.whole(self.git, head, touched)
        changed = merged.difference.files
        if not touched:  # people merge it as they like, but for what judges others
            changed = {path: state for path, state in changed.items() if _is_rule(path)}
        return Effect(
            packages=merges.hidden_packages(
                {t.package: t.head_tree for t in touched},
                {package: after[package] for package in units},
                {t.package: t.base for t in touched if not t.outdated},
            ),
            files=merges.hidden_files(
                beside.outside(shown, packages),
                beside.outside(changed, {*packages, *(unit for unit in units if after[unit])}),
                several=merged.several,
            ),
        )


def _is_rule(path: str) -> bool:
    return any(path == rule or path.startswith(f"{rule}/") for rule in CONFIGURATION)


def _with_trees(
    git: History, native: Sequence[NativeReview], touched: Sequence[Touched], base: Sha | None
) -> tuple[Review, ...]:
    """Reviews with what was looked at."""
    seen = {r.id for r in native if r.head and git.has(r.head)}
    return tuple(
        Review(
            id=r.id,
            author=r.author,
            state=r.state,
            head=r.head,
            trees=(
                {t.package: git.package(r.head, t.package) for t in touched}
                if r.id in seen
                else None
            ),
            beside=(
                beside.digest(
                    git,
                    (git.merge_base(r.head, base) if base else None) or Sha(""),
                    r.head,
                    touched,
                )
                if r.id in seen
                else ""
            ),
            at=r.at,
        )
        for r in native
    )


def _changed_by(
    git: History, package: str, origin: str, base: Sha, limit: int = 1000
) -> tuple[str, ...]:
    """What changed a package in the base branch since a commit, among the last so many."""
    found: list[str] = []
    line = git.first_parents(base, origin, limit)
    parents = line[0].parents if line else ()
    before = git.package(parents[0] if parents else origin, package)
    for commit in line:
        after = git.package(commit.sha, package)
        if after != before:
            found.append(names.proposal_of(commit.message) or commit.sha[:10])
        before = after
    return tuple(sorted(set(found)))
