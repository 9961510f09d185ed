"""How what was decided about a downstream is carried out: by the actions that everything takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from cadlib.package.files import Entry
from lifecycle.actions import (
    Action,
    CloseProposal,
    DeleteBranch,
    OpenProposal,
    PushDraft,
    SetDraft,
    SetTitle,
)
from lifecycle.messages import variants as texts
from lifecycle.names import Sha
from lifecycle.variants import actions as a
from lifecycle.variants import trailer
from lifecycle.variants.facts import Recipe
from lifecycle.variants.values import Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class DownstreamContext:
    """Where a downstream is.

    Attributes:
        variant: Its rule.
        file: Where that stands, as "acme/control:variants/edge.yaml".
        base_ref: The branch that it is published on.
        tip: Where that is.
        numbers: Open pull requests of its drafts, by branch.
        writers: Who changed the rule last, as `authors.spelled` has them; none where that is not
            known.
    """

    variant: Variant
    file: str
    base_ref: str
    tip: Sha
    numbers: Mapping[str, int] = field(default_factory=dict)
    writers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftContent:
    """What a draft is made of.

    Attributes:
        files: Path in the repository to the whole file, None for one that goes; what differs from
            the commit that it is put onto.
        title: One line.
        conflicts: Fields that were changed here and upstream.
        outside: Objects of another repository than the rule's were injected. Of what chose it there
            the rule tells, as it is by then (`decision.unwanted`).
    """

    files: Mapping[str, Entry | None] = field(default_factory=dict)
    title: str = ""
    conflicts: tuple[str, ...] = ()
    outside: bool = False


def carried(action: a.Action, around: DownstreamContext, content: DraftContent) -> list[Action]:
    """Return the actions by which one is carried out, in order.

    Args:
        action: What was decided.
        around: About what.
        content: What was made of it; empty where nothing had to be.
    """
    match action:
        case a.CreateDraft(branch, _, recipe, propose, _):
            propose = propose and not content.conflicts
            pushed = _pushed(around, content, branch, "", around.tip, recipe, propose=propose)
            return [pushed, _opened(around, content, branch, propose=propose)]
        case a.UpdateDraft(branch, head, _, recipe, propose, _, kept):
            propose = propose and not content.conflicts
            more = [trailer.KEPT] if kept else []
            pushed = _pushed(
                around, content, branch, head, around.tip, recipe, propose=propose, more=more
            )
            if branch in around.numbers:
                return [pushed]
            return [pushed, _opened(around, content, branch, propose=propose)]
        case a.MergeIntoDraft(branch, head, _, recipe):
            return [_pushed(around, content, branch, head, Sha(head), recipe)]
        case a.RemovePackage(branch, head, recipe, _):
            pushed = _pushed(around, content, branch, head, around.tip, recipe, propose=True)
            if branch in around.numbers:
                return [pushed]
            return [pushed, _opened(around, content, branch, propose=True, removes=True)]
        case a.OpenDraft(branch, _, title, propose):
            return [_opened(around, DraftContent(title=title), branch, propose=propose)]
        case a.ProposeDraft(_, _, number):
            return [SetDraft(number, draft=False)]
        case a.RetitleDraft(_, _, number, title):
            return [SetTitle(number, title)]
        case a.CloseDraft(branch, head, why):
            said = trailer.line(around.variant, Recipe("", ""), [trailer.CLOSED])
            return [_commit(branch, head, Sha(head), {}, f"{why}\n\n{said}")]
        case a.EndDraft(branch, head, number):
            closed: list[Action] = [CloseProposal(number)] if number else []
            return [*closed, DeleteBranch(branch, Sha(head))]
        case _:
            assert_never(action)


def _pushed(
    around: DownstreamContext,
    content: DraftContent,
    branch: str,
    head: str,
    base: Sha,
    recipe: Recipe,
    *,
    propose: bool = False,
    more: Sequence[str] = (),
) -> PushDraft:
    words = [*([trailer.PROPOSED] if propose else []), *more]
    if content.conflicts:
        words.append(trailer.CONFLICTS)
    if content.outside:
        words.append(trailer.OUTSIDE)
    said = trailer.line(around.variant, recipe, words)
    by = trailer.written_by(around.writers)
    told = "\n".join([by, said] if by else [said])
    return _commit(branch, head, base, content.files, f"{content.title}\n\n{told}")


def _commit(
    branch: str, tip: str, base: Sha, files: Mapping[str, Entry | None], message: str
) -> PushDraft:
    return PushDraft(
        head_ref=branch, tip=tip, base=base, files=files, message=message, asked=0, asker=""
    )


def _opened(
    around: DownstreamContext,
    content: DraftContent,
    branch: str,
    *,
    propose: bool,
    removes: bool = False,
) -> OpenProposal:
    if removes:
        body = texts.removal_body(around.variant.name, around.file)
    else:
        body = texts.body(around.variant.name, around.file, content.conflicts)
    return OpenProposal(
        head_ref=branch,
        base_ref=around.base_ref,
        title=content.title,
        body=body,
        draft=not propose,
    )
