"""Compares a proposal's head with its base: packages touched, what a merge would do, rules changed.

Longer than 400 lines: one comparison, question by question.

Everything here works on one opened mirror and asks nobody else; it may run in a thread.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from bot.config import CONFIG
from bot.forges.port import NativeReview
from bot.look import (
    judging,
    ledgers,
    outside,
    owners,
    rules,
    upstreams,
    variant_rules,
    variant_trails,
)
from bot.look.ledgers import LedgerDifference
from bot.look.reader import Basis, MirrorReader
from bot.look.rules import BaseRules
from cadlib.findings import Finding
from lifecycle import ledger as ledger_
from lifecycle import merges, names
from lifecycle.access import VARIANTS, AccessAction
from lifecycle.facts.conversation import Review
from lifecycle.facts.packages import Content, NotByRule, Touched, Unpublished
from lifecycle.ledger import Entries, both
from lifecycle.merges import Effect
from lifecycle.messages import naming
from lifecycle.names import Sha
from lifecycle.needs import approved
from lifecycle.owners import Owned
from lifecycle.policy import BrokenPolicy, Policy
from lifecycle.windows import within

MOST_SOURCES = 100
"""Commits of the base branch that are looked at for what brought in what was never published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullContent:
    """What a head changes, and the configuration that judges it."""

    content: Content
    policy: Policy | BrokenPolicy
    owners: Mapping[str, tuple[Owned, ...]] = field(default_factory=dict)

    @property
    def passes(self) -> bool:
        """Nothing here is asked for: it changes no package and no rules, and breaks none."""
        found = self.content
        asks = found.approvable or found.configuration or found.effect.hides
        return not asks and isinstance(self.policy, Policy)


def read(
    reader: MirrorReader,
    head: Sha,
    base_ref: str,
    basis: Basis,
    *,
    head_ref: str = "",
    number: int = 0,
) -> PullContent | None:
    """Read all that git tells of a proposal's content; None when its head is not there.

    Args:
        reader: Reads git.
        head: Commit of the head branch.
        base_ref: Name of the base branch.
        basis: What it is compared with, and which rules judge it.
        head_ref: Name of the head branch; a draft's names the workspace of its packages.
        number: Of the pull request; 0 where there is none.
    """
    if not reader.git.has(head):
        return None
    workspace = names.workspace(head_ref, number)
    return _Comparison(reader, head, base_ref, basis, workspace, head_ref).read()


def reviews(
    reader: MirrorReader,
    native: Sequence[NativeReview],
    content: Content,
    base: Sha | None,
) -> tuple[Review, ...]:
    """Native reviews with the trees, and the digest of other files, that they looked at."""
    git, touched = reader.git, content.touched

    def trees(head: Sha) -> Mapping[str, str]:
        origin = reader.origin(head, base)
        files = git.difference(origin, head).files if content.ledger else ()
        changes = ledgers.difference(reader.file, origin, head, files).changes
        found = {t.package: git.package(head, t.package) for t in touched}
        return {**found, **ledger_.bound(changes)}

    def review(each: NativeReview) -> Review:
        there = bool(each.head) and git.has(each.head)
        return Review(
            id=each.id,
            author=each.author,
            state=each.state,
            head=each.head,
            trees=trees(each.head) if there else None,
            beside=(
                outside.digest(git, reader.origin(each.head, base), each.head, touched)
                if there
                else ""
            ),
            at=each.at,
        )

    return tuple(map(review, native))


@dataclass(frozen=True)
class _Comparison:
    """One head beside one base.

    Attributes:
        reader: Reads git.
        head: Commit of the head branch.
        base_ref: Name of the base branch.
        basis: What it is compared with, and which rules judge it.
        workspace: The draft's name in the trailers of its packages.
        head_ref: Name of the head branch; "" where that is not told.
        broken: Ledgers of touched packages that cannot be read: no next number can be told.
    """

    reader: MirrorReader
    head: Sha
    base_ref: str
    basis: Basis
    workspace: str
    head_ref: str = ""
    broken: list[BrokenPolicy] = field(default_factory=list)

    @cached_property
    def origin(self) -> Sha:
        """The merge base that people are shown changes against; "" when there is none."""
        return self.reader.origin(self.head, self.basis.base)

    @cached_property
    def rules(self) -> BaseRules:
        """The rules that judge it."""
        return self.reader.rules(self.basis.rules, self.base_ref)

    def read(self) -> PullContent:
        """Read all of it."""
        git = self.reader.git
        touched = self._touched() if self.rules.published else ()
        effect = self._effect(touched) if self.rules.published else Effect()
        variant, why = self._variant(touched)
        found = Content(
            touched=touched,
            effect=effect,
            beside=outside.digest(git, self.origin, self.head, touched),
            ledger=self._listing,
            configuration=(
                *rules.problems(self.reader.file, self.head, self.origin),
                *self._ledger.broken,
                *ledgers.problems(self._listing),
                *self._upstreams(touched),
                *self._variants(),
                *naming.problems([t.package for t in touched if t.head_tree]),
                *self._alike(touched),
                *naming.used_up([(t.package, t.revision) for t in touched]),
            ),
            configuration_changed=self.rules.published and self._differs((CONFIG,)),
            configures=self.rules.published and self._configures(effect),
            elsewhere=self._elsewhere(),
            doubt=self.basis.doubt,
            origin=self.origin,
            variant=variant,
            not_by_rule=why,
            for_variant=variant_trails.of_variant(
                self.reader, self.head, self.origin, self.head_ref
            ),
        )
        if self.rules.published and not found.approvable:
            found = replace(found, drafted=self._drafted())
        listed = {each.package for each in self._listing}
        places = {*(t.package for t in touched), *listed}
        changed = {
            **git.difference(self.origin, self.head).files,
            # Who owns a package has a say in what becomes of its revisions.
            **dict.fromkeys((f"{p}/Kptfile".lstrip("/") for p in listed), ""),
        }
        policy = self.rules.policy
        if self.broken:
            policy = replace(self.broken[0], observe=policy.observe)
        inside = {place for place, _, _ in approved(found, policy)} - places
        owned = owners.of(
            self.reader, self.base_ref, self.basis, policy, sorted(places), sorted(inside), changed
        )
        return PullContent(content=found, policy=policy, owners=owned)

    def _drafted(self) -> str | None:
        """The package that the branch is a draft of by its name."""
        if not self.head_ref.startswith(names.DRAFTS):
            return None
        package = self.head_ref.removeprefix(names.DRAFTS).rpartition("/")[0]
        return package if self.reader.git.package(self.head, package) else None

    def _variants(self) -> tuple[Finding, ...]:
        """What is wrong with rules for variants, where a proposal changes any of them."""
        policy = rules.configuration(self.reader.file, self.head)
        changed = self.reader.git.difference(self.origin, self.head).files
        if isinstance(policy, BrokenPolicy) or not self.rules.published:
            return ()
        git, address = self.reader.git, self.reader.address
        return variant_rules.findings(git, self.head, policy.variants, changed, address)

    def _variant(self, touched: Sequence[Touched]) -> tuple[str, NotByRule | None]:
        """The package that the bot alone made for a variant, where a rule asks for that.

        Beside it why there is none, of what was made for a variant.
        """
        policy = self.rules.policy
        if isinstance(policy, BrokenPolicy) or len(touched) != 1 or not self.origin:
            return "", None
        package = touched[0].package
        if VARIANTS not in policy.rule(AccessAction.APPROVE, package).automatic:
            return "", None
        alone = variant_trails.made_alone(
            self.reader, self.head, self.origin, self.head_ref, package
        )
        if alone is None or isinstance(alone, NotByRule):
            return "", alone
        return package, None

    def _touched(self) -> tuple[Touched, ...]:
        """The packages whose trees differ, sorted by path."""
        reader, basis, policy = self.reader, self.basis, self.rules.policy
        shown = reader.units(policy, self.base_ref, reader.git.difference(self.origin, self.head))
        merged = shown
        if basis.merge is not None:
            result = reader.git.difference(basis.base or "", basis.merge)
            merged = reader.units(policy, self.base_ref, result)
        pairs: list[tuple[str, str]] = [(self.origin, self.head)]
        pairs += [(basis.base or "", basis.merge)] if basis.merge is not None else []
        found = [self._package(package) for package in sorted(shown | merged)]
        used = self._used(found)
        return tuple(
            replace(
                t,
                outside=t.package not in shown,
                used_by=used.get(t.package, ()),
                unpublished=None if t.removed else self._unpublished(t.package),
                inside=tuple(sorted({f for pair in pairs for f in self._inside(t.package, *pair)})),
            )
            for t in found
        )

    def _inside(self, package: str, before: str, after: str) -> Iterable[str]:
        """Folders in a package with rules of their own that differ between two commits.

        Where it was no package before, or is none after, all of it is new, or gone.
        """
        git, policy = self.reader.git, self.rules.policy
        folders = policy.folders if isinstance(policy, Policy) else frozenset()
        for folder in sorted(folders):
            if within(folder, package):
                trees = {
                    git.tree(commit, folder) if git.package(commit, package) else ""
                    for commit in (before, after)
                }
                if len(trees) > 1:
                    yield folder

    @cached_property
    def _ledger(self) -> LedgerDifference:
        """What it does to the ledger; after a merge, what that did."""
        if not self.rules.published:
            return LedgerDifference()
        before, after = self.origin, self.head
        if self.basis.merge is not None:
            before, after = self.basis.base or Sha(""), self.basis.merge
        files = self.reader.git.difference(before, after).files
        return ledgers.difference(self.reader.file, before, after, files)

    @cached_property
    def _listing(self) -> tuple[ledger_.LedgerChange, ...]:
        """The same, with how the revisions stand."""
        if not self._ledger.changes:
            return ()
        merged = self.basis.merge is not None
        base = None if merged else self.basis.base
        changed = self.reader.git.difference(self.origin, self.head).packages
        others = self.reader.others(self.base_ref, self.basis)
        return ledgers.told(
            self.reader, self._ledger.changes, self._left, base, changed, others, merged=merged
        )

    @property
    def _left(self) -> Sha:
        """What is left of the packages: after a merge, as the base branch has them by now."""
        if self.basis.merge is None:
            return self.head
        return self.reader.git.ref(names.branch_ref(self.base_ref)) or self.basis.merge

    def _upstreams(self, touched: Sequence[Touched]) -> tuple[Finding, ...]:
        """Upstreams that the ledger lists; what is merged was judged before."""
        if self.basis.merge is not None:
            return ()
        there = [t.package for t in touched if t.head_tree]
        return ledgers.used(self.reader, self.head, there, self._listed)

    def _listed(self, package: str) -> Entries:
        found: Entries = {}
        for at in self.reader.ledgers(self.base_ref, self.basis):
            there = rules.listed(self.reader.file, at, package)
            if isinstance(there, BrokenPolicy):
                self.broken.append(there)
                return {}
            found = both(found, there)
        return found

    def _used(self, found: Sequence[Touched]) -> Mapping[str, tuple[str, ...]]:
        """Removed package to its users, as the proposal leaves them or the base has them."""
        reader, basis = self.reader, self.basis
        at = self._left
        # What came back since the merge may be used.
        gone = [t.package for t in found if t.removed and not reader.git.package(at, t.package)]
        if not gone:
            return {}
        left = upstreams.users(reader.git, at, reader.address, gone)
        if basis.merge is not None or basis.base is None:
            return left
        changed = {t.package for t in found}
        there = upstreams.users(reader.git, basis.base, reader.address, gone)
        return {
            package: tuple(sorted({*left[package], *(set(there[package]) - changed)}))
            for package in gone
        }

    def _package(self, package: str) -> Touched:
        """One package whose tree differs from the merge base's; paths alone say nothing."""
        git, base, merge = self.reader.git, self.basis.base, self.basis.merge
        before, standing = git.package(self.origin, package), git.package(base or "", package)
        tree = git.package(merge or self.head, package)
        return Touched(
            package=package,
            tree=tree,
            head_tree=git.package(self.head, package),
            origin=before,
            base=standing,
            tagging=self.reader.tags.tagging(
                package, merge, removed=not tree, listed=self._listed(package)
            ),
            changed_by=(
                self._changed_by(package, self.origin, base) if base and standing != before else ()
            ),
            workspace=self.workspace,
        )

    def _unpublished(self, package: str) -> Unpublished | None:
        """What stands in the base that no revision holds: publishing the package publishes it.

        Compared with the newest revision that the base holds, which a merge and its tags do not
        change; where the newest of all has the same tree nobody need look further.
        """
        git, tags, base = self.reader.git, self.reader.tags, self.basis.base
        standing = git.package(base or "", package)
        newest = tags.newest(package)
        if base is None or not standing:
            return None
        if newest is not None and git.package(newest[1], package) == standing:
            return None
        held = newest and tags.newest(package, base)
        number, published = held or (0, self.reader.baseline.get(self.base_ref, ""))
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
            sources=() if adopted else self._changed_by(package, published, base, MOST_SOURCES),
            inside=() if adopted else tuple(self._inside(package, published, base)),
        )

    def _changed_by(
        self, package: str, origin: str, base: Sha, limit: int = 1000
    ) -> tuple[str, ...]:
        """What changed a package in the base branch since a commit, among the last so many."""
        git = self.reader.git
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

    def _alike(self, touched: Sequence[Touched]) -> tuple[Finding, ...]:
        """Packages that look like others; what the head renamed or removed is none of these."""
        there = [t.package for t in touched if t.head_tree]
        git, base = self.reader.git, self.basis.base or ""
        now = after = before = git.alike(self.head, there)
        if base != self.origin:
            after, before = git.alike(base, there), git.alike(self.origin, there)
        likes = {package: now[package] | (after[package] - before[package]) for package in there}
        return naming.alike(likes, [t.package for t in touched if not t.base])

    def _elsewhere(self) -> tuple[str, ...]:
        """Branches that packages are published from where this head would have to be approved."""
        found = []
        for ref in sorted(self.reader.branches(self.base_ref, self.basis)):
            tip = self.reader.git.ref(names.branch_ref(ref))
            there = tip and read(self.reader, self.head, ref, Basis(rules=tip, base=tip))
            if there and not there.passes:
                found.append(ref)
        return tuple(found)

    def _configures(self, effect: Effect) -> bool:
        """Whether merging it can change rules, in whichever way the forge merges.

        A diff against one merge base does not show what a merge with several changes; and a rebase
        makes every commit anew, so that one that only takes back another can take back the base's.
        """
        git, base = self.reader.git, self.basis.base
        paths, told = self._judging, self._ledger.paths
        files = set(git.difference(self.origin, self.head).files)
        if self.basis.merge is not None:
            files |= set(git.difference(base or "", self.basis.merge).files)
        others = files | set(effect.files)
        if any(judging.is_rule(path, paths) for path in others - told | set(effect.files)):
            return True
        if self.basis.merge is not None or base is None:
            return False
        if told and self._says_itself(told):
            return False
        return git.changed_within(base, self.head, paths)

    def _says_itself(self, told: frozenset[str]) -> bool:
        """Whether no commit changes more rules than entries of the ledger that are told anyway."""
        git, before = self.reader.git, self.origin
        for commit in git.first_parents(self.head, self.origin):
            files = git.difference(before, commit.sha).files
            if commit.parents != (before,) or any(
                judging.is_rule(path, self._judging) for path in set(files) - told
            ):
                return False
            before = commit.sha
        return before == self.head

    @cached_property
    def _judging(self) -> tuple[str, ...]:
        return judging.paths(self.rules.policy)

    def _differs(self, paths: Iterable[str]) -> bool:
        """Whether the head changes what stands at one of these paths."""
        entry, origin = self.reader.git.entry, self.origin
        return any(
            (entry(origin, path) if origin else "") != entry(self.head, path) for path in paths
        )

    def _effect(self, touched: Sequence[Touched]) -> Effect:
        """What merging an open proposal would do beside what it shows."""
        git, base = self.reader.git, self.basis.base
        if self.basis.merge is not None or base is None:
            return Effect()
        merged = git.merged(base, self.head)
        if merged.too_slow:
            return Effect(unknown=True)
        if merged.unrelated or merged.conflicts:
            # Where nothing is to be published, that is for the forge to tell.
            if not touched:
                return Effect()
            return Effect(conflicts=merged.conflicts, unrelated=merged.unrelated)
        after = {path: trees[1] for path, trees in merged.difference.packages.items()}
        units = self.reader.units(self.rules.policy, self.base_ref, merged.difference)
        shown = git.difference(self.origin, self.head).files
        packages = outside.whole(git, self.head, touched)
        changed: Mapping[str, str] = merged.difference.files
        if not touched:  # people merge it as they like, but for what judges others
            there = self._judging
            changed = {p: changed[p] for p in changed if judging.is_rule(p, there)}
        return Effect(
            packages=merges.hidden_packages(
                {t.package: t.head_tree for t in touched},
                {package: after[package] for package in units},
                {t.package: t.base for t in touched if not t.outdated},
            ),
            files=merges.hidden_files(
                outside.files(shown, packages),
                outside.files(changed, {*packages, *(unit for unit in units if after[unit])}),
                several=merged.several,
            ),
        )
