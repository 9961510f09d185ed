"""Reading git for a look: what a proposal touches, under which rules, and what was seen of it.

Everything here works on one opened mirror and asks nobody else; it may run in a thread.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bot import config
from bot.config import CONFIG, LEDGER
from bot.forge import NativeReview, PullRequest
from bot.git import Snapshot
from cadlib.findings import Finding, Severity
from lifecycle import names, records
from lifecycle.facts import Review, Touched
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy, Policy


@dataclass(frozen=True, slots=True)
class Read:
    """What git says about one pull request; read in one go, in one thread."""

    head: Sha
    base: Sha
    origin: Sha
    result: Sha
    touched: tuple[Touched, ...]
    policy: Policy | BrokenPolicy
    configuration: tuple[Finding, ...]
    beside: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads one repository's mirror during one look.

    Attributes:
        git: The mirror, opened.
        repository_id: The forge's number.
        default_branch: Such as "main".
        keys: Keys that marks may be made with, newest first.
        used: Package to the numbers that were published, each with its commit.
    """

    git: Snapshot
    repository_id: int
    default_branch: str
    keys: Sequence[bytes]
    used: Mapping[str, Mapping[int, str]]

    def made_by_us(self, sha: str | None) -> bool:
        """A render commit with our mark: a trailer alone can be written by anybody."""
        if sha is None or not self.git.has(sha):
            return False
        commit = self.git.commit(sha)
        return len(commit.parents) == 1 and records.has_render_mark(
            commit.message,
            self.keys,
            parent=commit.parents[0],
            tree=commit.tree,
            repository_id=self.repository_id,
        )

    def read_pull(
        self, pull: PullRequest, native: Sequence[NativeReview]
    ) -> tuple[Read | None, tuple[Review, ...]]:
        """What git says of a pull request, and of what its native reviews looked at."""
        base = self.git.ref(f"refs/heads/{pull.base_ref}") or pull.base
        read = self.read(
            pull.head, pull.base_ref, base, pull.merge_commit, pull.head_ref, pull.number
        )
        return read, _with_trees(self.git, native, read.touched, base) if read else ()

    def read(
        self,
        head: Sha,
        base_ref: str,
        tip: Sha,
        merged: Sha | None,
        head_ref: str,
        number: int,
    ) -> Read | None:
        """Everything git knows about a proposal; None when the commits are not there."""
        if not all(self.git.has(sha) for sha in (head, tip, merged) if sha):
            return None
        base = tip if merged is None else _before_merge(self.git, merged, head) or tip
        origin = self.git.merge_base(head, base) or Sha("")
        policy = config.read(self.git.blob(base, CONFIG))
        listed = self._rules_of_default() if base_ref != self.default_branch else None
        if isinstance(listed, BrokenPolicy):
            policy = listed
        ledger = config.read_ledger(self.git.blob(base, LEDGER))
        if isinstance(ledger, BrokenPolicy):
            # Without the ledger the next number cannot be told: nothing is published.
            policy, ledger = ledger, {}
        touched: tuple[Touched, ...] = ()
        if listed is None or isinstance(listed, BrokenPolicy) or base_ref in listed.branches:
            touched = self._touched(
                policy,
                ledger,
                base_ref,
                head=head,
                base=base,
                origin=origin,
                merged=merged,
                workspace=names.workspace(head_ref, number),
            )
        return Read(
            head,
            base,
            origin,
            merged or head,
            touched,
            policy,
            (
                *_configuration(self.git, head, origin),
                *names.problems([t.package for t in touched if t.head_tree]),
                *names.used_up([(t.package, t.revision) for t in touched]),
            ),
            _beside(self.git, origin, head, touched),
        )

    def _rules_of_default(self) -> Policy | BrokenPolicy:
        """The default branch alone says from which other branches packages are published.

        Anybody with write access can make a branch whose own rules ask for no approval.
        """
        tip = self.git.ref(f"refs/heads/{self.default_branch}")
        return config.read(self.git.blob(tip, CONFIG) if tip else None)

    def _touched(
        self,
        policy: Policy | BrokenPolicy,
        ledger: Mapping[str, frozenset[int]],
        base_ref: str,
        *,
        head: Sha,
        base: Sha,
        origin: Sha,
        merged: Sha | None,
        workspace: str,
    ) -> tuple[Touched, ...]:
        """Packages whose tree differs from the merge base's; paths alone say nothing."""
        known = policy if isinstance(policy, Policy) else Policy()
        tags = [ref for ref in self.git.refs() if ref.startswith("refs/tags/")]
        default = self.default_branch
        found = set(self.git.packages(head)) | (set(self.git.packages(origin)) if origin else set())
        released = names.units(found, known, base_ref, default, tags)
        result = merged or head
        touched: list[Touched] = []
        for package in sorted(released):
            before = self.git.tree(origin, package) if origin else ""
            after = self.git.tree(head, package)
            if before == after:
                continue
            standing = self.git.tree(base, package)
            used = self.used.get(package, {})
            at = _revision_at(self.git, tags, package, merged, used) if merged else 0
            tree = self.git.tree(result, package)
            touched.append(
                Touched(
                    package=package,
                    tree=tree,
                    head_tree=after,
                    origin=before,
                    base=standing,
                    revision=at or (_next_revision(package, tags, ledger, used) if tree else 0),
                    tagged=bool(at),
                    changed_by=(
                        _changed_by(self.git, package, origin, base) if standing != before else ()
                    ),
                    workspace=workspace,
                )
            )
        return tuple(touched)


def _with_trees(
    git: Snapshot, native: Sequence[NativeReview], touched: Sequence[Touched], base: Sha
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
                {t.package: git.tree(r.head, t.package) for t in touched} if r.id in seen else None
            ),
            beside=(
                _beside(git, git.merge_base(r.head, base) or Sha(""), r.head, touched)
                if r.id in seen
                else ""
            ),
            at=r.at,
        )
        for r in native
    )


def _beside(git: Snapshot, origin: Sha, head: Sha, touched: Iterable[Touched]) -> str:
    """Digest of what is changed outside of the packages to publish; "" when nothing is.

    It is merged with them: rules, workflows, packages that are not released.
    """
    inside = [f"{t.package}/" if t.package else "" for t in touched]
    rest = [
        change
        for change in git.changed(origin, head).items()
        if not any(change[0].startswith(package) for package in inside)
    ]
    return hashlib.sha256(json.dumps(rest).encode()).hexdigest() if rest else ""


def _before_merge(git: Snapshot, merged: Sha, head: Sha) -> Sha | None:
    """Tip of the base branch right before a merge; its configuration judges the result.

    A rebase merge puts the proposal's commits on the base once more, one by one and with the same
    author, date and text; only before the first of them stands what the proposal did not change.
    """
    at = git.commit(merged)
    if len(at.parents) != 1:
        return at.parents[0] if at.parents else None
    before = at.parents[0]
    for own in git.line(head, before):
        if (own.author, own.message.strip()) != (at.author, at.message.strip()):
            continue  # left out of the rebase, or all of it is one squashed commit
        before = at.parents[0]
        at = git.commit(before)
        if len(at.parents) != 1:
            break
    return before


def _configuration(git: Snapshot, head: Sha, origin: Sha) -> tuple[Finding, ...]:
    """Problems of the configuration file as the proposal would leave it."""
    at_head = git.blob(head, CONFIG)
    if origin and at_head == git.blob(origin, CONFIG):
        return ()
    read = config.read(at_head)
    if not isinstance(read, BrokenPolicy):
        return ()
    return tuple(
        Finding(message=p.problem, severity=Severity.ERROR, place=p.place, fix=p.fix)
        for p in read.problems
    )


def _next_revision(
    package: str,
    tags: Iterable[str],
    ledger: Mapping[str, frozenset[int]],
    used: Mapping[int, str],
) -> int:
    """One more than the highest among tags, ledger and index (DESIGN 3)."""
    known = ledger.get(package, frozenset()) | used.keys()
    return names.next_revision(package, tags, {package: known})


def _revision_at(
    git: Snapshot,
    tags: Iterable[str],
    package: str,
    commit: Sha | None,
    used: Mapping[int, str],
) -> int:
    """The revision that a commit was published as; 0 when it was not.

    A tag that somebody deleted is not made again: the number stays with its commit.
    """
    for ref in tags:
        parsed = names.parse_tag(ref)
        if parsed and parsed[0] == package and git.ref(ref) == commit:
            return parsed[1]
    return next((number for number, target in used.items() if target == commit), 0)


def _changed_by(git: Snapshot, package: str, origin: Sha, base: Sha) -> tuple[str, ...]:
    """What changed a package in the base branch since the proposal left it."""
    found: list[str] = []
    before = git.tree(origin, package) if origin else ""
    for commit in git.first_parents(base, origin):
        after = git.tree(commit.sha, package)
        if after != before:
            found.append(names.proposal_of(commit.message) or commit.sha[:10])
        before = after
    return tuple(sorted(set(found)))
