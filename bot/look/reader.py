"""Reads git for a look: commits that we made, the rules of a branch, the packages that differ.

Everything here works on one opened mirror and asks nobody else; it may run in a thread.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bot import config
from bot.config import CONFIG, FOLDER
from bot.extends import Defaults, FileReference
from bot.git.port import Difference, History, MissingObjectError
from bot.look import rules
from bot.look.rules import BaseRules
from bot.look.tags import Tags
from lifecycle import names, records
from lifecycle.facts.whole import Whole
from lifecycle.identity import RepositoryId
from lifecycle.merges import UnknownRules
from lifecycle.names import Sha
from lifecycle.owners import PLAIN, CodeownersFormat
from lifecycle.policy import BrokenPolicy, Policy
from lifecycle.sections import SECTIONS
from lifecycle.variants import trailer

MOST_SUBJECTS = 100
"""Commits of a draft that are looked at for its title."""

RULES = (CONFIG, FOLDER, *dict.fromkeys((*PLAIN.places, *SECTIONS.places)))
"""What judges proposals, and may not change among merges that came together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What a proposal is compared with, and which rules judge it.

    Attributes:
        rules: The commit whose configuration judges it.
        base: The commit that it, or its merge result, is compared with; None for nothing at all.
        merge: The merge result; None before the merge.
        doubt: Why the rules at the time of the merge cannot be told; None when they can.
    """

    rules: Sha
    base: Sha | None
    merge: Sha | None = None
    doubt: UnknownRules | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorReader:
    """Reads one repository's mirror during one look.

    Attributes:
        git: The mirror, opened.
        repository_id: Which repository.
        default_branch: Such as "main".
        keys: Keys that marks may be made with, newest first.
        tags: Its release tags.
        defaults: Files of other repositories that rules extend.
        baseline: Branches that packages are published from to what they were when the bot came.
        address: Where git reaches the repository; "" where nobody asks for users of packages.
        tried: What stands in `.porchbot.yaml` of every branch, where somebody tries that out.
        observes: This bot only observes, whatever the rules say.
        owners: How the forge reads CODEOWNERS.
    """

    git: History
    repository_id: RepositoryId
    default_branch: str
    keys: Sequence[bytes]
    tags: Tags
    baseline: Mapping[str, str] = field(default_factory=dict)
    address: str = ""
    defaults: Defaults | None = None
    tried: bytes | None = None
    observes: bool = False
    owners: CodeownersFormat = PLAIN
    _rules: dict[tuple[str, str, str | None], BaseRules] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )

    def made_by_us(self, sha: str | None) -> bool:
        """A render commit with our mark: a trailer alone can be written by anybody."""
        return self.render_asker(sha) is not None and len(self.git.commit(str(sha)).parents) == 1

    def render_asker(self, sha: str | None) -> str | None:
        """Who asked for a render commit of ours, "" for nobody; None for any other commit.

        So it is for a merge of ours, which brings a proposal up to date and is nobody's work.
        """
        if sha is None or not self.git.has(sha):
            return None
        commit = self.git.commit(sha)
        if len(commit.parents) not in (1, 2):
            return None
        return records.render_asker(
            commit.message,
            self.keys,
            parent=" ".join(commit.parents),
            tree=commit.tree,
            repository_id=self.repository_id,
        )

    def is_sealed(self, sha: str) -> bool:
        """Whether what a commit of ours says of itself is what we wrote."""
        commit = self.git.commit(sha)
        return records.is_sealed(
            commit.message,
            self.keys,
            parent=" ".join(commit.parents),
            tree=commit.tree,
            repository_id=self.repository_id,
        )

    def claims(self, shas: Iterable[Sha]) -> tuple[set[str], set[str]]:
        """Who asked for commits, and who changed the rules last that commits of ours were made by.

        Spelled as there. Where a mark does not hold, as where the forge made a commit of ours anew
        by a rebase, both are claims: whoever is named counts as having asked for it, as co-authors
        count. That takes approvals away and gives none.
        """
        asked, ruled = set[str](), set[str]()
        for sha in filter(self.git.has, shas):
            message = self.git.commit(sha).message
            asked.update(records.claimed_askers(message))
            (ruled if self.is_sealed(sha) else asked).update(trailer.writers(message))
        return asked, ruled

    def updates(self, commits: Iterable[Sha], base_ref: str) -> dict[Sha, Sha]:
        """Clean merges of the base's own line among some commits, each to its first parent.

        What such a merge holds is worked out again: anybody can change files while merging. Where
        that takes too long once, the rest counts as written by whoever merged.
        """
        tip = self.git.ref(names.branch_ref(base_ref))
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
        tip = self.git.ref(names.branch_ref(base_ref))
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

    def origin(self, head: Sha, base: Sha | None) -> Sha:
        """The merge base that people are shown changes against; "" when there is none."""
        return (self.git.merge_base(head, base) if base else None) or Sha("")

    def rules(self, at: Sha, base_ref: str) -> BaseRules:
        """The rules that held for a base branch at a commit."""
        default = None
        if base_ref != self.default_branch:
            default = self.git.ref(names.branch_ref(self.default_branch)) or ""
        known = self._rules.get((at, base_ref, default))
        if known is None:  # a look asks for the same ones again and again
            known = rules.of_base(self.file, at, base_ref, default)
            if self.observes and not known.policy.observe:
                known = replace(known, policy=replace(known.policy, observe=True))
            self._rules[at, base_ref, default] = known
        return known

    def whole(self) -> Whole:
        """What holds for the repository as a whole, by its default branch as it is now."""
        tip = self.git.ref(names.branch_ref(self.default_branch))
        policy = rules.configuration(self.file, tip or "")
        others = policy.branches if isinstance(policy, Policy) else frozenset[str]()
        tips = (self.git.ref(names.branch_ref(branch)) for branch in others)
        packages = (self.git.difference("", each).packages for each in (tip, *tips) if each)
        policy = replace(policy, observe=policy.observe or self.observes)
        return Whole(policy=policy, packages=frozenset().union(*packages))

    def observes_now(self) -> bool:
        """Whether the default branch says now that the bot only observes."""
        tip = self.git.ref(names.branch_ref(self.default_branch))
        return self.observes or (
            tip is not None and self.rules(tip, self.default_branch).policy.observe
        )

    def file(self, at: str, path: str) -> bytes | BrokenPolicy | None:
        """A file with rules; broken, and not absent, where something else stands in its place."""
        if (repository := at.partition("@"))[1]:
            owner, _, name = repository[0].partition("/")
            wanted = FileReference(owner, name, repository[2], path)
            return self.defaults(wanted) if self.defaults else None
        if path == CONFIG and self.tried is not None:
            return self.tried
        parts = path.split("/")
        folders = ["/".join(parts[:length]) for length in range(1, len(parts))]
        for each, kind in (*((folder, "40000 ") for folder in folders), (path, "100")):
            found = self.git.entry(at, each)
            if not found:
                return None
            if not found.startswith(kind):
                return config.irregular(each)
        return config.fetch(self.git.blob, at, path)

    def units(
        self, policy: Policy | BrokenPolicy, base_ref: str, differs: Difference
    ) -> frozenset[str]:
        """The units of release that differ."""
        known = policy if isinstance(policy, Policy) else Policy()
        tags = self.tags.refs(differs.packages)
        return names.changed_units(differs.packages, known, base_ref, self.default_branch, tags)

    def branches(self, base_ref: str, basis: Basis) -> frozenset[str]:
        """Branches where the head of a proposal would have to be approved as well.

        Those that packages are published from, where its own base is none of them.
        """
        held = self.rules(basis.rules, base_ref)
        if held.published or basis.merge:
            return frozenset()
        return self.publishing(base_ref, basis)

    def publishing(self, base_ref: str, basis: Basis) -> frozenset[str]:
        """Branches that packages are published from, beside the base: their ledgers count too."""
        held = self.rules(basis.rules, base_ref)
        return frozenset({self.default_branch, *held.branches}) - {base_ref}

    def ledgers(self, base_ref: str, basis: Basis) -> tuple[Sha, ...]:
        """Commits whose ledgers count for the next number: of the rules, and of every branch.

        A number that was withdrawn on one branch is free on none.
        """
        base, others = self.git.ref(names.branch_ref(base_ref)), self.others(base_ref, basis)
        tips = (base, *others.values())
        return tuple(dict.fromkeys([basis.rules, *(tip for tip in tips if tip)]))

    def others(self, base_ref: str, basis: Basis) -> dict[str, Sha]:
        """Tips of the branches that packages are published from beside the base, by name."""
        tips = {
            branch: self.git.ref(names.branch_ref(branch))
            for branch in sorted(self.publishing(base_ref, basis))
        }
        return {branch: tip for branch, tip in tips.items() if tip}

    def packages(self, head: Sha, base_ref: str, basis: Basis) -> set[str]:
        """Packages whose tags count for a proposal: it changes them, or merging it would."""
        if not self.git.has(head):
            return set()
        tips = [self.git.ref(names.branch_ref(ref)) for ref in self.branches(base_ref, basis)]
        bases = [basis, *(Basis(rules=tip, base=tip) for tip in tips if tip)]
        return {package for each in bases for package in self._differing(head, each)}

    def _differing(self, head: Sha, basis: Basis) -> set[str]:
        origin = self.origin(head, basis.base)
        differs: list[tuple[Difference, tuple[Sha, ...]]] = [
            (self.git.difference(origin, head), (origin, head))
        ]
        if basis.merge is not None:
            merged = self.git.difference(basis.base or "", basis.merge)
            differs.append((merged, (Sha(basis.base or ""), basis.merge)))
        elif basis.base is not None:
            differs.append((self.git.merged(basis.base, head).difference, ()))
        found: set[str] = set()
        for each, commits in differs:
            found |= {*each.packages, *rules.listed_packages(self.file, commits, each.files)}
        return found
