"""What the bot may do to forge and git: a closed union, one class per kind.

Longer than 400 lines: a union is read as one, and what holds for each action stands beside it.

An action names what it depends on (a head, a tree): who carries it out makes the forge or git
refuse when that has moved. Every action is safe to repeat; what is to know of it beside its values
stands in its `KIND` and in `writes`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from cadlib.diff.patch import Suggestion
from cadlib.findings import Finding
from cadlib.package.files import Entry
from lifecycle.boxes import RECORD
from lifecycle.events import Log
from lifecycle.facts.checks import Button, Conclusion, Status
from lifecycle.facts.conversation import Written
from lifecycle.kinds import OF_BASE, ActionOrder, Kind, Look, Repeat, Urgency, Write
from lifecycle.names import Ref, Sha
from lifecycle.policy import MergeMethod
from lifecycle.records import JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class PushRender:
    """Commit the rendering onto the draft branch, only while its head is `head`.

    Attributes:
        head_ref: Branch name.
        head: The commit that was rendered; the parent of the new one.
        changes: Path in the repository to new bytes, None for a file to delete.
        message: Without the mark that makes it ours; that is added with the key.
        asked: Number of the newest comment that asked for it; 0 when nobody did.
        asker: Whoever wrote that, as from `authors.spelled`; the commit names them under its mark.
    """

    KIND: ClassVar[Kind] = Kind(
        name="PushRender",
        repeat=Repeat.NOTICED,
        look=Look.PROPOSAL_FIRST,
        order=ActionOrder.ONE_BY_ONE,
    )

    head_ref: str
    head: Sha
    changes: Mapping[str, bytes | None]
    message: str
    asked: int = 0
    asker: str = ""

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("branch", self.head_ref), (self.head,))


@dataclass(frozen=True, slots=True, kw_only=True)
class PushUpdate:
    """Merge the base branch into the head branch, only while that is at `head`.

    Attributes:
        head_ref: Branch name.
        head: The first parent of the merge commit.
        base: The second parent: the base branch as it was read.
        files: Path in the repository to what stands there, None for nothing, in the place of what
            git makes of these files.
        message: Without the mark that makes it ours; that is added with the key.
        asked: Number of the newest comment that asked for it; 0 when nobody did.
    """

    KIND: ClassVar[Kind] = Kind(
        name="PushUpdate",
        repeat=Repeat.NOTICED,
        look=Look.PROPOSAL_FIRST,
        order=ActionOrder.ONE_BY_ONE,
    )

    head_ref: str
    head: Sha
    base: Sha
    files: Mapping[str, Entry | None]
    message: str
    asked: int = 0

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("branch", self.head_ref), (self.head, self.base))


@dataclass(frozen=True, slots=True, kw_only=True)
class PushDraft:
    """Commit what a command comes to onto `base`, and move a branch there while it is at `tip`.

    Attributes:
        head_ref: Branch name.
        tip: Where it is; "" where it must not exist.
        base: The parent of the commit: `tip`, or a commit of the base branch to begin anew from.
        files: Path in the repository to the whole file, None for one to delete; none for a commit
            that changes nothing yet.
        message: Without the mark that makes it ours; that is added with the key.
        asked: Number of the comment that asked for it.
        asker: Whoever wrote that, as from `authors.spelled`; the commit names them under its mark.
    """

    KIND: ClassVar[Kind] = Kind(
        name="PushDraft",
        repeat=Repeat.NOTICED,
        look=Look.PROPOSAL_FIRST,
        order=ActionOrder.ONE_BY_ONE,
    )

    head_ref: str
    tip: str
    base: Sha
    files: Mapping[str, Entry | None]
    message: str
    asked: int
    asker: str

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("branch", self.head_ref), (self.tip, self.base))


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenProposal:
    """Open a pull request for a branch.

    Attributes:
        head_ref: The branch.
        base_ref: Where it is to be merged.
        title: One line of plain text.
        body: Markdown.
        assignee: Login of whoever pushed the branch; "" when that is not known.
        draft: It is a draft; else it is ready.
    """

    KIND: ClassVar[Kind] = Kind(
        name="OpenProposal", repeat=Repeat.NOTICED, look=Look.PROPOSAL, order=ActionOrder.ONE_BY_ONE
    )

    head_ref: str
    base_ref: str
    title: str
    body: str
    assignee: str = ""
    draft: bool = True

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("proposal of", self.head_ref, self.base_ref))


@dataclass(frozen=True, slots=True)
class SetDraft:
    """Turn a pull request into a draft, or mark it ready."""

    KIND: ClassVar[Kind] = Kind(
        name="SetDraft",
        repeat=Repeat.NOTICED,
        look=Look.PROPOSAL_FIRST,
        order=ActionOrder.ONE_BY_ONE,
    )

    number: int
    draft: bool

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("draft", self.number), (self.draft,))


@dataclass(frozen=True, slots=True)
class CloseProposal:
    """Close a pull request without a merge; one that is closed already stays so.

    One of ours, or one by a fork of the commit that a merge queue is about to merge.
    """

    KIND: ClassVar[Kind] = Kind(
        name="CloseProposal",
        repeat=Repeat.HARMLESS,
        look=Look.PROPOSAL_FIRST,
        order=ActionOrder.ONE_BY_ONE,
        urgency=Urgency.LATER,
    )

    number: int

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("closed", self.number))


@dataclass(frozen=True, slots=True)
class SetTitle:
    """Give a pull request of ours another title; whether it is a draft stays.

    Attributes:
        number: The pull request.
        title: One line of plain text.
    """

    KIND: ClassVar[Kind] = Kind(
        name="SetTitle",
        repeat=Repeat.HARMLESS,
        look=Look.PROPOSAL_FIRST,
        order=ActionOrder.ONE_BY_ONE,
        urgency=Urgency.LATER,
    )

    number: int
    title: str

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("title", self.number), (self.title,))


@dataclass(frozen=True, slots=True)
class SetLabels:
    """Make the labels of a pull request mirror its stage.

    Attributes:
        number: The pull request.
        add: Labels to put on.
        remove: Labels of ours to take off.
    """

    KIND: ClassVar[Kind] = Kind(
        name="SetLabels",
        repeat=Repeat.NOTICED,
        look=Look.PROPOSAL,
        order=ActionOrder.ONE_BY_ONE,
        urgency=Urgency.LATER,
    )

    number: int
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("labels", self.number), (*self.add, "", *self.remove))


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCheck:
    """Show a check run at `head`.

    Attributes:
        head: The commit it belongs to.
        name: One of our three names.
        status: In progress, or completed.
        conclusion: Set exactly when completed.
        title: One line.
        summary: Markdown, at most `limits.TEXT` characters.
        text: More of it, likewise, for those who read on; "" for nothing.
        buttons: What can be asked for by a click.
        annotations: Findings with file and line.
        digest: Digest of all that is shown; equal means that nothing need be sent.
        run: The run to update; None to make a new one (a completed run cannot go back).
        after: The newest run of the name that is shown; 0 when there is none.
    """

    KIND: ClassVar[Kind] = Kind(
        name="SetCheck", repeat=Repeat.NOTICED, look=Look.EITHER, order=ActionOrder.TOGETHER
    )

    head: Sha
    name: str
    status: Status
    conclusion: Conclusion | None
    title: str
    summary: str
    annotations: tuple[Finding, ...]
    digest: str
    run: int | None
    after: int = 0
    text: str = ""
    buttons: tuple[Button, ...] = ()

    @property
    def passes(self) -> bool:
        """Whether it lets a merge pass, as far as it goes."""
        return self.conclusion in {Conclusion.SUCCESS, Conclusion.NEUTRAL}

    @property
    def writes(self) -> Write:
        """See `Described`."""
        # What was written to one run says nothing of the next.
        subject = ("check", self.head, self.name)
        if self.run is None:
            place = ("run", self.head, self.name, self.after)
            return Write(place, (self.digest,), makes_after=self.after, subject=subject)
        return Write((*subject, self.run), (self.digest,), subject=subject)


@dataclass(frozen=True, slots=True)
class Say:
    """Write the one summary comment (`comment` None), or edit it in place, with its record."""

    KIND: ClassVar[Kind] = Kind(
        name="Say", repeat=Repeat.NOTICED, look=Look.PROPOSAL, order=ActionOrder.TOGETHER
    )

    number: int
    comment: int | None
    body: str
    record: Mapping[str, JSON]

    @property
    def writes(self) -> Write:
        """See `Described`."""
        if self.comment is None:
            return Write(("summary of", self.number), makes_after=0)
        return Write(("summary", self.number), (self.body, repr(self.record)))


@dataclass(frozen=True, slots=True)
class Restore:
    """Write an answer of ours anew, in place: somebody else has edited it.

    Attributes:
        number: The proposal that it stands on.
        comment: The answer.
        body: Visible text.
        record: Hidden in it.
    """

    KIND: ClassVar[Kind] = Kind(
        name="Restore",
        repeat=Repeat.HARMLESS,
        look=Look.PROPOSAL_FIRST,
        order=ActionOrder.ONE_BY_ONE,
    )

    number: int
    comment: int
    body: str
    record: Mapping[str, JSON]

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("comment", self.comment), (self.body, repr(self.record)))


@dataclass(frozen=True, slots=True)
class RemoveDouble:
    """Delete a comment of ours that says what an older one says."""

    KIND: ClassVar[Kind] = Kind(
        name="RemoveDouble",
        repeat=Repeat.NOTICED,
        look=Look.PROPOSAL,
        order=ActionOrder.ONE_BY_ONE,
        urgency=Urgency.LATER,
    )

    number: int
    comment: int

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("comment", self.comment))


@dataclass(frozen=True, slots=True)
class Keep:
    """Remember in the database what our comments remember, and which comments are ours.

    Attributes:
        number: The pull request.
        log: Events that the database lacks.
        written: Comments of ours that it lacks, by their numbers.
        gone: Comments of ours that are no more.
    """

    KIND: ClassVar[Kind] = Kind(
        name="Keep", repeat=Repeat.HARMLESS, look=Look.PROPOSAL_FIRST, order=ActionOrder.ONE_BY_ONE
    )

    number: int
    log: Log = frozenset()
    written: Mapping[int, Written] = field(default_factory=dict)
    gone: tuple[int, ...] = ()

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("memory", self.number))


@dataclass(frozen=True, slots=True)
class KeepFreezes:
    """Remember in the database what was frozen and thawed, and have all proposals look at it.

    Attributes:
        log: Events that the database lacks.
    """

    KIND: ClassVar[Kind] = Kind(
        name="KeepFreezes",
        repeat=Repeat.HARMLESS,
        look=Look.PROPOSAL_FIRST,
        order=ActionOrder.ONE_BY_ONE,
        urgency=Urgency.FIRST,
    )

    log: Log

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("freezes",))


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer in the conversation, with a hidden record that keeps it from being said twice."""

    KIND: ClassVar[Kind] = Kind(
        name="Reply",
        repeat=Repeat.NOTICED,
        look=Look.PROPOSAL_FIRST,
        order=ActionOrder.TOGETHER,
        urgency=Urgency.FIRST,
    )

    number: int
    body: str
    record: Mapping[str, JSON]

    @property
    def writes(self) -> Write:
        """See `Described`."""
        # One comment has one answer, whatever is decided about it: two replicas may not agree. Nor
        # on which boxes have come to something, and all of that stands in one comment.
        about = self.record.get("answered") or self.record
        about = RECORD if self.record.get("kind") == RECORD else about
        return Write(("reply", self.number, repr(about)), (repr(self.record),), makes_after=0)


class Reaction(StrEnum):
    """How a comment is acknowledged; each forge has a picture of its own for it.

    Source: docs/design.md, "Talking to people".
    """

    SEEN = "seen"
    DONE = "done"
    REFUSED = "refused"
    CONFUSED = "confused"


@dataclass(frozen=True, slots=True)
class React:
    """Acknowledge a comment: that it was seen, where the answer takes a while, or what came of it.

    The latter once its answer stands: that says for ever what was decided.

    Attributes:
        number: The proposal, or the issue, that it stands on.
        comment: The comment.
        reaction: How.
    """

    KIND: ClassVar[Kind] = Kind(
        name="React",
        repeat=Repeat.HARMLESS,
        look=Look.PROPOSAL,
        order=ActionOrder.ONE_BY_ONE,
        urgency=Urgency.FIRST,
    )

    number: int
    comment: int
    reaction: Reaction

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("reaction", self.comment, self.reaction))


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggest:
    """Suggest changes at lines that a proposal shows, in one review without a verdict.

    Attributes:
        number: The pull request.
        head: The commit whose lines are meant.
        body: What it is about, in Markdown.
        suggestions: At least one.
    """

    KIND: ClassVar[Kind] = Kind(
        name="Suggest",
        repeat=Repeat.NOTICED,
        look=Look.PROPOSAL,
        order=ActionOrder.TOGETHER,
        urgency=Urgency.LATER,
    )

    number: int
    head: Sha
    body: str
    suggestions: tuple[Suggestion, ...]

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("suggestions", self.number, self.head), makes_after=0)


@dataclass(frozen=True, slots=True)
class Forget:
    """Drop what is kept about a proposal: somebody asked to look again.

    Attributes:
        number: The pull request; why the forge refused to merge it is forgotten.
        trees: Their verdicts are forgotten.
    """

    KIND: ClassVar[Kind] = Kind(
        name="Forget",
        repeat=Repeat.HARMLESS,
        look=Look.PROPOSAL_FIRST,
        order=ActionOrder.ONE_BY_ONE,
    )

    number: int
    trees: tuple[str, ...]

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("verdicts", self.number))


@dataclass(frozen=True, slots=True, kw_only=True)
class AskPublish:
    """Wake the publishing of the base branch: this proposal waits for it."""

    KIND: ClassVar[Kind] = Kind(
        name="AskPublish", repeat=Repeat.HARMLESS, look=Look.PROPOSAL, order=ActionOrder.ONE_BY_ONE
    )

    base_ref: str
    number: int

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("line", self.base_ref, self.number))


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Merge, or put into the merge queue of the base branch, only while the head is `head`.

    A queue writes its own message: nothing is ever decided by what a merge says.

    Attributes:
        number: The pull request.
        head: The approved commit.
        base: Tip of the base branch that was judged; a refusal holds for this pair.
        base_ref: Name of the base branch.
        method: Merge or squash.
        title: First line of the merge commit.
        message: The rest, with one trailer for each package.
        approvers: Logins of those whose approvals count.
        until: From when on windows of time may say otherwise; None for never.
        freezes: Numbers of the `/freeze` comments that were known when it was decided.
    """

    KIND: ClassVar[Kind] = Kind(
        name="Merge",
        repeat=Repeat.NOTICED,
        look=Look.BASE,
        order=ActionOrder.ONE_BY_ONE,
        urgency=Urgency.FIRST,
    )

    number: int
    head: Sha
    base: Sha
    base_ref: str
    method: MergeMethod
    title: str
    message: str
    approvers: tuple[str, ...] = ()
    until: datetime | None = None
    freezes: frozenset[int] = frozenset()

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("merge", self.number), (self.head, self.base))


@dataclass(frozen=True, slots=True)
class Dequeue:
    """Take a proposal out of the merge queue: not all of its gates hold any more."""

    KIND: ClassVar[Kind] = Kind(
        name="Dequeue",
        repeat=Repeat.HARMLESS,
        order=ActionOrder.ONE_BY_ONE,
        look=Look.PROPOSAL,
        urgency=Urgency.FIRST,
    )

    number: int
    head: Sha

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("merge", self.number), ("", self.head))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """Create an annotated tag, only if no ref of that name exists.

    Attributes:
        ref: Full name, such as "refs/tags/net/core/v5".
        target: The merge result.
        tree: The package's tree at it.
        at: When the forge merged it, which the tag gets as its time: the same at each try, and no
            time that somebody wrote into a commit.
        number: The proposal.
        message: Package, revision, proposal, approvers, tree and function versions; without the
            mark that makes it ours, which is added with the key.
        approvers: Logins of those whose approvals count.
        provenance: What is attested of it, where the bot signs (`lifecycle.provenance`).
        until: As in `Merge`.
        freezes: As in `Merge`.
    """

    KIND: ClassVar[Kind] = Kind(
        name="Tag",
        repeat=Repeat.NOTICED,
        look=Look.BASE,
        order=ActionOrder.ONE_WRITE,
        urgency=Urgency.FIRST,
    )

    ref: Ref
    target: Sha
    tree: str
    at: datetime
    number: int
    message: str
    approvers: tuple[str, ...] = ()
    provenance: Mapping[str, JSON] = field(default_factory=dict)
    until: datetime | None = None
    freezes: frozenset[int] = frozenset()

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("tag", self.ref))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTag:
    """Delete the tag of a withdrawn revision, only while it names `object`.

    Attributes:
        ref: Full name, such as "refs/tags/net/core/v3".
        object: What it names, as was approved.
        number: The proposal that withdrew the revision.
        target: The merge result of that.
        mark: As in `MarkRelease`: its release is marked first, while the tag names it.
        note: As there.
        approvers: Logins of those whose approvals count.
        until: As in `Merge`.
        freezes: As in `Merge`.
    """

    KIND: ClassVar[Kind] = Kind(
        name="DeleteTag",
        repeat=Repeat.NOTICED,
        look=Look.BASE,
        order=ActionOrder.ONE_BY_ONE,
        urgency=Urgency.FIRST,
    )

    ref: Ref
    object: Sha
    number: int
    target: Sha
    mark: str = ""
    note: str = ""
    approvers: tuple[str, ...] = ()
    until: datetime | None = None
    freezes: frozenset[int] = frozenset()

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("tag", self.ref), ("", self.object))


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeRelease:
    """Make a release of a tag, only if it has none.

    Attributes:
        number: The proposal that was published.
        tag: Name of the tag, such as "net/core/v5".
        title: One line of plain text.
        body: Markdown.
    """

    KIND: ClassVar[Kind] = Kind(
        name="MakeRelease", repeat=Repeat.NOTICED, look=Look.PROPOSAL, order=ActionOrder.ONE_BY_ONE
    )

    number: int
    tag: str
    title: str
    body: str

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("release", self.tag))


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkRelease:
    """Say in the release of a tag, if it has one, that nobody should use the revision.

    Attributes:
        number: The proposal that says so.
        tag: Name of the tag, such as "net/core/v5".
        mark: One word, put in brackets behind the title, which tells that it was done.
        note: Markdown, put before its text.
        off: They are taken away: the revision may be used again.
    """

    KIND: ClassVar[Kind] = Kind(
        name="MarkRelease", repeat=Repeat.NOTICED, look=Look.PROPOSAL, order=ActionOrder.ONE_BY_ONE
    )

    number: int
    tag: str
    mark: str
    note: str
    off: bool = False

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("release mark", self.tag))


@dataclass(frozen=True, slots=True)
class DeleteBranch:
    """Delete a published draft branch, only while its head is `head`."""

    KIND: ClassVar[Kind] = Kind(
        name="DeleteBranch",
        repeat=Repeat.NOTICED,
        look=Look.PROPOSAL,
        order=ActionOrder.ONE_BY_ONE,
        urgency=Urgency.LATER,
    )

    head_ref: str
    head: Sha

    @property
    def writes(self) -> Write:
        """See `Described`."""
        return Write(("branch", self.head_ref), ("", self.head))


Action = (
    PushRender
    | PushUpdate
    | PushDraft
    | OpenProposal
    | SetDraft
    | CloseProposal
    | SetTitle
    | SetLabels
    | SetCheck
    | Say
    | Restore
    | RemoveDouble
    | Keep
    | KeepFreezes
    | Reply
    | React
    | Suggest
    | Forget
    | AskPublish
    | Merge
    | Dequeue
    | Tag
    | DeleteTag
    | MakeRelease
    | MarkRelease
    | DeleteBranch
)


def for_publishing(actions: Iterable[Action], number: int) -> list[Action]:
    """The part of a decision that the base branch's look carries out; empty when it publishes none.

    What must be done first may take an approval back, or ask for one more try of a merge that the
    forge refused: then nothing is published, and the proposal's own look does that.

    Args:
        actions: What was decided about one head branch, with publishing allowed.
        number: The proposal that is published; another one is neither merged nor tagged now.
    """
    actions = tuple(actions)
    if any(action.KIND.look is Look.PROPOSAL_FIRST for action in actions):
        return []
    about = [a for a in actions if a.KIND.look in OF_BASE]
    about = [a for a in about if not isinstance(a, Merge | Tag | DeleteTag) or a.number == number]
    return about if any(a.KIND.look is Look.BASE for a in about) else []
