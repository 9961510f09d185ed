"""What the bot may do to forge and git: a closed union, one class per kind.

An action names what it depends on (a head, a tree): who carries it out makes the forge or git
refuse when that has moved. Every action is safe to repeat.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cadlib.findings import Finding
from lifecycle.events import Log
from lifecycle.facts import Conclusion, Status, Written
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
        asker: Login of whoever wrote that; the commit names it under its mark.
    """

    head_ref: str
    head: Sha
    changes: Mapping[str, bytes | None]
    message: str
    asked: int = 0
    asker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenProposal:
    """Open a draft pull request for a draft branch.

    Attributes:
        head_ref: The branch.
        base_ref: Where it is to be merged.
        title: One line of plain text.
        body: Markdown.
        assignee: Login of whoever pushed the branch; "" when that is not known.
    """

    head_ref: str
    base_ref: str
    title: str
    body: str
    assignee: str = ""


@dataclass(frozen=True, slots=True)
class SetDraft:
    """Turn a pull request into a draft, or mark it ready."""

    number: int
    draft: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCheck:
    """Show a check run at `head`.

    Attributes:
        head: The commit it belongs to.
        name: One of our three names.
        status: In progress, or completed.
        conclusion: Set exactly when completed.
        title: One line.
        summary: Markdown, at most 65,535 characters.
        annotations: Findings with file and line.
        external_id: Digest of all that is shown; equal means that nothing need be sent.
        run: The run to update; None to make a new one (a completed run cannot go back).
    """

    head: Sha
    name: str
    status: Status
    conclusion: Conclusion | None
    title: str
    summary: str
    annotations: tuple[Finding, ...]
    external_id: str
    run: int | None


@dataclass(frozen=True, slots=True)
class Say:
    """Write the one summary comment (`comment` None), or edit it in place, with its record."""

    number: int
    comment: int | None
    body: str
    record: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Restore:
    """Write an answer of ours anew, in place: somebody else has edited it."""

    comment: int
    body: str
    record: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Keep:
    """Remember in the database what our comments remember, and which comments are ours.

    Attributes:
        number: The pull request.
        log: Events that the database lacks.
        written: Comments of ours that it lacks, by their numbers.
        gone: Comments of ours that are no more.
    """

    number: int
    log: Log = frozenset()
    written: Mapping[int, Written] = field(default_factory=dict)
    gone: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer in the conversation, with a hidden record that keeps it from being said twice."""

    number: int
    body: str
    record: Mapping[str, JSON]


class Reaction:
    """The reactions used as acknowledgement, as the forge spells them.

    Source: docs/design.md, "Talking to people".
    """

    DONE = "rocket"
    REFUSED = "-1"
    CONFUSED = "confused"


@dataclass(frozen=True, slots=True)
class React:
    """Acknowledge a comment."""

    comment: int
    reaction: str


@dataclass(frozen=True, slots=True)
class Forget:
    """Drop what is kept about a proposal: somebody asked to look again.

    Attributes:
        number: The pull request; why the forge refused to merge it is forgotten.
        trees: Their verdicts are forgotten.
    """

    number: int
    trees: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskPublish:
    """Wake the publishing of the base branch: this proposal waits for it."""

    base_ref: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Merge, only while the head is `head`.

    Attributes:
        number: The pull request.
        head: The approved commit.
        base: Tip of the base branch that was judged; a refusal holds for this pair.
        method: Merge or squash.
        title: First line of the merge commit.
        message: The rest, with one trailer for each package.
    """

    number: int
    head: Sha
    base: Sha
    method: MergeMethod
    title: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """Create an annotated tag, only if no ref of that name exists.

    Attributes:
        ref: Full name, such as "refs/tags/net/core/v5".
        target: The merge result.
        tree: The package's tree at it.
        number: The proposal.
        message: Package, revision, proposal, approvers, tree and function versions; without the
            mark that makes it ours, which is added with the key.
    """

    ref: Ref
    target: Sha
    tree: str
    number: int
    message: str


@dataclass(frozen=True, slots=True)
class DeleteBranch:
    """Delete a published draft branch, only while its head is `head`."""

    head_ref: str
    head: Sha


Action = (
    PushRender
    | OpenProposal
    | SetDraft
    | SetCheck
    | Say
    | Restore
    | Keep
    | Reply
    | React
    | Forget
    | AskPublish
    | Merge
    | Tag
    | DeleteBranch
)
