"""All that a decision may know, read from forge and git before each decision.

Longer than 400 lines: the values name each other, and a proposal is read as one.

Facts are frozen values. What follows from facts is a property, never a stored field; a stage is
worked out, never kept. Nothing here says why we were woken.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from cadlib.diff.changes import Change
from cadlib.findings import Finding, Severity
from lifecycle.access import Person, Role
from lifecycle.events import Log, content
from lifecycle.identity import RepositoryId
from lifecycle.merges import Effect, UnknownRules
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy, Policy
from lifecycle.records import JSON
from lifecycle.tags import Tagging

MOST_SHARED = 5
"""Other proposals of one commit that a look reads; anybody who can read can open many."""

RENDER, VALIDATE, PUBLISH = "porchbot/render", "porchbot/validate", "porchbot/publish"
"""The names of our check runs. People put them in branch rules: they are interface
(docs/design.md, "Checks")."""


class Stage(StrEnum):
    """Where a proposal stands in its life (docs/design.md, "Stages")."""

    DRAFT = "Draft"
    PROPOSED = "Proposed"
    MERGED = "Merged"
    PUBLISHED = "Published"
    CLOSED = "Closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpublished:
    """What stands in the base branch of a package that no revision of it holds.

    Whoever publishes the package next publishes that as well.

    Attributes:
        revision: Newest revision of ours in the base branch; 0 when there is none.
        published: The package's tree in it, else as it was when the bot came; "" for nothing.
        base: The package's tree in the base branch.
        adopted: It is the first revision, and stands there since before the bot came.
        files: How many files there are, where it was adopted.
        sources: What brought it in, such as "#12" or a short commit id, as far as that is known.
        changes: From the revision to the base branch, by resource and field.
    """

    revision: int
    published: str
    base: str
    adopted: bool = False
    files: int = 0
    sources: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """One package whose tree differs from the merge base's, and how it stands.

    Trees are git tree ids, 40 hex digits; "" where the package does not exist.

    Attributes:
        package: Path in the repository; "" for a package at its root.
        tree: At the commit that would be tagged: the proposal's head, or the merge result.
        head_tree: At the proposal's head.
        origin: At the merge base of head and base branch.
        base: At the tip of the base branch.
        tagging: How it stands with its tags.
        changed_by: Who changed the package in the base branch meanwhile, such as "#12" or a
            short commit id; sorted, empty when nobody did.
        workspace: The draft's name in the package's trailers.
        also: Numbers of other open proposals that change it too, sorted.
        outside: The merge changed it, and the proposal does not show that.
        unpublished: What publishing it publishes beside the proposal's changes; None for nothing.
    """

    package: str
    tree: str
    head_tree: str
    origin: str
    base: str
    tagging: Tagging = field(default_factory=Tagging)
    changed_by: tuple[str, ...] = ()
    workspace: str = ""
    also: tuple[int, ...] = ()
    outside: bool = False
    unpublished: Unpublished | None = None

    @property
    def revision(self) -> int:
        """The number it would be, or was, published under; 0 when it is removed."""
        return self.tagging.revision

    @property
    def tagged(self) -> bool:
        """We published it: our tag stands on the merge result, or its removal was recorded."""
        return self.tagging.tagged

    @property
    def done(self) -> bool:
        """It was published: what became of its tag is another question."""
        return self.tagging.tagged or self.tagging.lost is not None

    @property
    def outdated(self) -> bool:
        """The base branch changed this package since the proposal left it."""
        return self.origin != self.base

    @property
    def removed(self) -> bool:
        """The proposal deletes the package's folder."""
        return self.tree == ""


@dataclass(frozen=True, slots=True)
class Version:
    """What a function was that ran.

    Attributes:
        asked: Where it was asked for: "pipeline" or "guardrail".
        digest: What ran: the "sha256:…" of an image, or "builtin:<name>/<behaviour>@<version>" of a
            builtin function; "" where the runner does not say.
    """

    asked: str
    digest: str = ""

    @property
    def moves(self) -> bool:
        """The name that was asked for may mean something else tomorrow."""
        return not self.digest.startswith("builtin:")

    @property
    def behaviour(self) -> str:
        """Equal for what judges alike: an upgrade of the bot leaves it alone, a new image not."""
        return self.digest if self.moves else self.digest.partition("@")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What rendering and the guardrails say about one package at one tree.

    Attributes:
        package: Path in the repository.
        changes: What rendering would change: path in the repository to new bytes, None for a
            file to delete; empty when the tree is its own rendering.
        findings: Places are relative to the repository.
        functions: How many functions were run.
        versions: Image to what it was when it ran.
        broken: Why a function could not be run at all; "" when all ran. An operator acts.
        complete: The rendering came to its end. Otherwise a finding of severity error says why
            not, and no `changes` mean nothing.
        diff: What the proposal changes, against the merge base, by resource and field.
        rendering: What rendering would change, by resource and field.
    """

    package: str
    changes: Mapping[str, bytes | None] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    functions: int = 0
    versions: Mapping[str, Version] = field(default_factory=dict)
    broken: str = ""
    complete: bool = True
    diff: tuple[Change, ...] = ()
    rendering: tuple[Change, ...] = ()

    @property
    def blocking(self) -> tuple[Finding, ...]:
        """The findings that must be mended before publishing."""
        return tuple(f for f in self.findings if f.severity is Severity.ERROR)


def rules_digest(policy: Policy, verdicts: Iterable[Verdict]) -> str:
    """Digest of what judges a proposal: the rules, and what each function was that ran.

    A tag of an image that means something else since is another judge; a builtin function is the
    same one until its behaviour changes (docs/design.md, "Approvals").
    """
    ran = sorted({(image, ran.behaviour) for v in verdicts for image, ran in v.versions.items()})
    return hashlib.sha256(json.dumps([policy.digest, ran]).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """One comment of the conversation.

    Attributes:
        id: The forge's number; later comments have higher ones.
        author: Who wrote it.
        body: Markdown as written.
        at: When it was written.
        edited: It was changed after it was written, by anybody.
        edited_at: When it was changed last; None when it never was, or the forge does not say.
        altered: It is ours, and somebody else changed it last.
        ours: Written by our App; `body` then is the visible text alone.
        records: The hidden records in it that carry our MAC; empty in the comments of others.
        summary: It is our summary comment.
    """

    id: int
    author: Person
    body: str
    at: datetime
    edited: bool = False
    edited_at: datetime | None = None
    altered: bool = False
    ours: bool = False
    records: tuple[Mapping[str, JSON], ...] = ()
    summary: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """A comment that we wrote, as the database keeps it.

    Attributes:
        body: The visible text; "" for the summary, which is made anew.
        record: Its hidden record; empty for the summary.
    """

    body: str = ""
    record: Mapping[str, JSON] = field(default_factory=dict)


class ReviewState(StrEnum):
    """What a native review says; comments without a verdict are left out."""

    APPROVED = "approved"
    CHANGES_REQUESTED = "changes requested"
    DISMISSED = "dismissed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewText:
    """What somebody wrote in a native review.

    Attributes:
        id: The review's number.
        author: Who wrote it.
        body: As written.
        at: When it was submitted.
    """

    id: int
    author: Person
    body: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """One native review.

    Attributes:
        id: The forge's number.
        author: Who reviewed.
        state: The verdict.
        head: The commit that was reviewed.
        trees: Package to tree at that commit, for each touched package; None when the commit
            is gone.
        at: When it was submitted.
        beside: As in `Proposal`, at that commit.
        head_at: When the branch last got to that commit before the review; None when the forge
            does not say.
    """

    id: int
    author: Person
    state: ReviewState
    head: Sha
    trees: Mapping[str, str] | None
    at: datetime
    beside: str = ""
    head_at: datetime | None = None


class Status(StrEnum):
    """How far a check run is."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class Conclusion(StrEnum):
    """How a completed check run ended; `skipped` counts as passed on forges and is never used."""

    SUCCESS = "success"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """The newest check run of one name at the head.

    Attributes:
        id: The forge's number.
        name: Such as "porchbot/render".
        status: How far it is; what waits to begin is in progress.
        conclusion: How it ended, as the forge counts it before a merge; None until completed.
        digest: Kept with it by whoever made it; ours tell what is shown.
        completed_at: When it ended, by the forge's clock.
        ours: Made by us.
        source: Number, at the forge, of the program that made it.
    """

    id: int
    name: str
    status: Status
    conclusion: Conclusion | None = None
    digest: str = ""
    completed_at: datetime | None = None
    ours: bool = True
    source: int = 0


@dataclass(frozen=True, slots=True)
class Required:
    """A check that the base branch requires and that is not ours.

    Attributes:
        name: Its context.
        state: "success", "pending", "failure" or "missing".
    """

    name: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One pull request.

    Attributes:
        number: Its number.
        title: Its title, as written.
        author: Who opened it.
        draft: It is in draft state.
        merged: It is in the base branch.
        closed: It is closed; true for merged ones too.
        head: Commit of the head branch that the facts are about.
        base_ref: Name of the base branch, such as "main".
        base: Commit at the tip of the base branch; once merged, what the result is compared with.
        merge_commit: The merge result, once merged.
        merged_at: When it was merged.
        head_at: When the branch last got to `head`; None when the forge does not say.
        head_mark: Digest of the forced pushes, deletions and restorations of the head branch that
            the forge tells of: while it stays, a head that is there now was not left in between.
            "" when the forge does not tell.
        base_at: When the base branch was last exchanged for another; None when it never was.
        base_told: The forge tells such exchanges.
        rules_at: When the rules that judge it were last changed, as far as somebody's approval that
            is bound to nothing yet may be older; None when they were not.
        rules_told: The forge tells that.
        opened_at: When it was opened.
        adopted_at: When the bot came to the repository, as far as the database knows.
        adopted_number: Number of the newest proposal then; None when nobody knows.
        looked_at: When these facts were read, by our own clock.
        touched: Packages touched, sorted by path.
        verdicts: One for each touched package that still exists, sorted by path.
        policy: The base branch's configuration.
        digest: What judges these packages, as `rules_digest` has it; "" when the rules are broken.
        configuration: Findings about the configuration file as the proposal changes it.
        configures: It changes `.porchbot.yaml` or the ledger of a branch that is published from.
        beside: Digest of what the head changes outside of the packages; "" for nothing.
        elsewhere: Branches that packages are published from, where this head would have to be
            approved; told where its base is none of them, sorted.
        comments: Without our own, oldest first.
        answers: Our own comments, oldest first.
        reviews: Oldest first.
        review_texts: What reviews say that hold commands, oldest first.
        roles: Login to role, for everybody whose word matters here.
        authors: Logins of everybody who wrote or pushed a part of it.
        authors_known: False when a commit's author or pusher is unknown to the forge.
        required: Checks of others that the base branch requires.
        assigned: Logins of the people it is assigned to, sorted.
        pushed_by: Login of the person who pushed the head branch last; "" where that is not
            known, or was not asked because no check fails.
        enforced: The base branch requires `porchbot/publish`; None where that was not asked.
        installed_at: When the App was installed; older comments are no commands.
        queued: The base branch's publishing knows that this proposal waits for it.
        refusal: The forge's reason for refusing the last merge of this head onto this base; "".
        effect: What merging it would do beside what it shows; nothing once merged.
        doubt: Why the rules at the time of the merge cannot be told; None when they can.
        kept: What the database remembers of it.
        written: The comments that we wrote, as the database knows them, by their numbers.
        missing: Those of them that the forge shows no more, long enough to be gone.
    """

    number: int
    title: str
    author: Person
    draft: bool
    merged: bool
    closed: bool
    head: Sha
    base_ref: str
    base: Sha
    merge_commit: Sha | None
    merged_at: datetime | None = None
    head_at: datetime | None = None
    head_mark: str = ""
    base_at: datetime | None = None
    base_told: bool = True
    rules_at: datetime | None = None
    rules_told: bool = True
    opened_at: datetime | None = None
    adopted_at: datetime | None = None
    adopted_number: int | None = None
    looked_at: datetime | None = None
    touched: tuple[Touched, ...]
    verdicts: tuple[Verdict, ...]
    policy: Policy | BrokenPolicy
    digest: str
    configuration: tuple[Finding, ...] = ()
    configures: bool = False
    beside: str = ""
    elsewhere: tuple[str, ...] = ()
    comments: tuple[Comment, ...] = ()
    answers: tuple[Comment, ...] = ()
    reviews: tuple[Review, ...] = ()
    review_texts: tuple[ReviewText, ...] = ()
    roles: Mapping[str, Role] = field(default_factory=dict)
    authors: frozenset[str] = frozenset()
    authors_known: bool = True
    required: tuple[Required, ...] = ()
    assigned: tuple[str, ...] = ()
    pushed_by: str = ""
    enforced: bool | None = None
    installed_at: datetime
    queued: bool = False
    refusal: str = ""
    effect: Effect = field(default_factory=Effect)
    doubt: UnknownRules | None = None
    kept: Log = frozenset()
    written: Mapping[int, Written] = field(default_factory=dict)
    missing: tuple[int, ...] = ()

    @property
    def stage(self) -> Stage:
        """The stage, worked out from the facts."""
        if self.merged:
            return Stage.PUBLISHED if self.published else Stage.MERGED
        if self.closed:
            return Stage.CLOSED
        return Stage.DRAFT if self.draft else Stage.PROPOSED

    @property
    def published(self) -> bool:
        """Merged, and every package that remains carries our tag."""
        return self.merged and all(t.tagged for t in self._telling)

    @property
    def once_published(self) -> bool:
        """Every package that remains was published; a tag may be lost since."""
        return self.merged and all(t.done for t in self._telling)

    @property
    def removal(self) -> bool:
        """It removes packages and leaves none to tag: our record alone tells that it was judged."""
        return bool(self.touched) and all(t.removed for t in self.touched)

    @property
    def _telling(self) -> tuple[Touched, ...]:
        """The packages that tell whether the merge was judged: those that remain, if any do."""
        return tuple(t for t in self.touched if not t.removed) or self.touched

    @property
    def surprising(self) -> bool:
        """Only who saw the merge result can approve it: it holds more than the proposal showed."""
        return self.doubt is not None or any(t.outside for t in self.touched)

    @property
    def trees(self) -> Mapping[str, str]:
        """Package to tree at what would be tagged: what an approval binds to."""
        return {t.package: t.tree for t in self.touched}

    @property
    def head_trees(self) -> Mapping[str, str]:
        """Package to tree at the proposal's head."""
        return {t.package: t.head_tree for t in self.touched}

    @property
    def logins(self) -> Mapping[int, str]:
        """The forge's numbers of the people here to their logins, by which all others go."""
        reviewers = (review.author for review in self.reviews)
        people = (self.author, *reviewers, *(comment.author for comment in self.comments))
        return {person.id: person.login for person in people if person.id}

    @property
    def unpublished(self) -> str:
        """Digest of what stands in the base unpublished, and came past the gates; "" for nothing.

        What was there before the bot came is none of it: it is the baseline.
        """
        found = {
            t.package: f"{t.unpublished.published} {t.unpublished.base}"
            for t in self.touched
            if t.unpublished is not None and not t.unpublished.adopted
        }
        return content(found) if found else ""

    @property
    def newest_comment(self) -> int:
        """Highest number of a comment, ours included; 0 when there is none."""
        return max((c.id for c in (*self.comments, *self.answers)), default=0)

    @property
    def newest_review(self) -> int:
        """Highest number of a native review; 0 when there is none."""
        return max((r.id for r in self.reviews), default=0)

    @property
    def ours(self) -> bool:
        """There is something to approve here: packages, or the rules that judge them."""
        return bool(self.touched) or self.configures

    @property
    def unjudged(self) -> bool:
        """A function could not be run, so it is not known what judges the packages."""
        return any(v.broken for v in self.verdicts)

    @property
    def unrendered(self) -> tuple[Verdict, ...]:
        """Verdicts of packages that are not their own rendering."""
        return tuple(v for v in self.verdicts if v.changes)

    @property
    def unrenderable(self) -> tuple[Verdict, ...]:
        """Verdicts of packages whose rendering did not come to its end."""
        return tuple(v for v in self.verdicts if not v.complete)


@dataclass(frozen=True, slots=True)
class PushRefusal:
    """A push of ours to the head branch that a rule of the forge forbade.

    Attributes:
        reason: The forge's own words.
        asked: Number of the newest comment that had asked for it; 0 when nobody had.
    """

    reason: str
    asked: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One head branch, and every pull request that proposes it.

    Attributes:
        repository: Full name, such as "acme/blueprints".
        repository_id: Which repository, whatever it is called.
        head_ref: Name of the head branch, such as "drafts/net/core/v2".
        head: Its commit; None once deleted.
        same_repository: The branch is in the repository itself, not in a fork.
        default_ref: The branch to propose a draft to.
        proposals: Open ones, and merged ones that are not yet settled; by number.
        checks: Newest check run by name, ours and others', at `head`.
        abandoned: The newest pull request of this branch was closed without a merge.
        rerun: Somebody pressed Re-run on our checks.
        rendered_by_us: The head commit is a render commit that we made and signed.
        draft_touched: Packages touched by a draft branch without a pull request.
        draft_verdicts: Their verdicts.
        draft_policy: The configuration of `default_ref`.
        draft_subjects: First lines of the commits that people made on it, oldest first.
        draft_pusher: Login of the person who pushed it last; "" when that is not known.
        others: Other head branches whose open proposals have the same head commit, and so share
            its checks; by number.
        crowded: More than `MOST_SHARED` other proposals share it: none of them is among `others`,
            and nothing passes.
        push_refused: The forge refused our last push to the branch at this head.
    """

    repository: str
    repository_id: RepositoryId
    head_ref: str
    head: Sha | None
    same_repository: bool
    default_ref: str
    proposals: tuple[Proposal, ...] = ()
    checks: Mapping[str, CheckRun] = field(default_factory=dict)
    abandoned: bool = False
    rerun: bool = False
    rendered_by_us: bool = False
    draft_touched: tuple[Touched, ...] = ()
    draft_verdicts: tuple[Verdict, ...] = ()
    draft_policy: Policy | BrokenPolicy | None = None
    draft_subjects: tuple[str, ...] = ()
    draft_pusher: str = ""
    others: tuple["Facts", ...] = ()
    crowded: bool = False
    push_refused: PushRefusal | None = None

    @property
    def open(self) -> tuple[Proposal, ...]:
        """The proposals that still stand, by number."""
        return tuple(p for p in self.proposals if not p.closed)

    @property
    def head_mark(self) -> str:
        """Digest of what the forge tells of changes of the head, over the open proposals."""
        told = sorted((p.number, p.head_mark) for p in self.open)
        if not told or not all(mark for _, mark in told):
            return ""
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]

    @property
    def is_draft_branch(self) -> bool:
        """The bot may push to it: by convention drafts live under `drafts/`.

        Source: docs/design.md, "What is stored in git".
        """
        return self.same_repository and self.head_ref.startswith("drafts/")
