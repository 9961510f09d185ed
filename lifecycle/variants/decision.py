"""What is to be done about one downstream: facts in, actions out.

Rules
- One draft for each downstream. While the bot alone has committed to it, it is made anew in place;
  what people committed to is merged into, and never closed by the bot.
- Closed by a person, it is left alone until the upstream, the rule or what is injected changes.
- What was made of itself, over however many repositories, is never followed.
- After a rollback nothing is proposed until the hold is taken away.
- A package that is there already is only touched by a rule that adopts.
- A rule that is there no more takes its package with it, or leaves it, as it said: by a pull
  request that removes the package, and never what people committed to.
- What the bot closes it marks first, so that nobody takes that for a person's doing.
- Said twice, nothing is done: after the actions, deciding again gives none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from lifecycle.facts.packages import NotByRule
from lifecycle.messages import variants as messages
from lifecycle.variants import naming, ownership, upstreams
from lifecycle.variants.actions import (
    Action,
    CloseDraft,
    CreateDraft,
    EndDraft,
    MergeIntoDraft,
    OpenDraft,
    ProposeDraft,
    RemovePackage,
    RetitleDraft,
    UpdateDraft,
)
from lifecycle.variants.facts import (
    REMOVED,
    DraftFacts,
    PublishedFacts,
    Recipe,
    RevisionStage,
    VariantFacts,
)
from lifecycle.variants.ownership import GivenUp, given_up
from lifecycle.variants.upstreams import NoUpstream, UpstreamRevision
from lifecycle.variants.values import Propose


class VariantState(StrEnum):
    """How a downstream stands, for people."""

    IN_STEP = "in step"
    DRAFTED = "drafted"
    PROPOSED = "proposed"
    CLOSED = "closed by a person"
    HELD = "held"
    WAITING = "waiting for its upstream"
    NOT_ALLOWED = "not allowed"
    NOT_OURS = "not adopted"
    CIRCLE = "made of itself"
    MOVED = "upstream tagged anew"
    REMOVED = "removed"


WAITING: Final = frozenset(
    {
        VariantState.CLOSED,
        VariantState.HELD,
        VariantState.WAITING,
        VariantState.NOT_ALLOWED,
        VariantState.NOT_OURS,
        VariantState.CIRCLE,
        VariantState.MOVED,
    }
)
"""Those in which nothing is made until something else changes: people are told why."""


@dataclass(frozen=True, slots=True)
class VariantDecision:
    """What is to be done.

    Attributes:
        state: How the downstream stands once it is done.
        why: What people are told about it; "" where the state says all.
        actions: In the order in which they are to be done; none where nothing is left to do.
    """

    state: VariantState
    why: str = ""
    actions: tuple[Action, ...] = ()


def decide(facts: VariantFacts) -> VariantDecision:
    """Decide about one downstream."""
    ends = tuple(
        EndDraft(each.branch, each.head, 0 if each.stage is RevisionStage.CLOSED else each.number)
        for each in facts.drafts
        if each.ended
    )
    decided = _decided(facts)
    return replace(decided, actions=(*ends, *decided.actions))


def _decided(facts: VariantFacts) -> VariantDecision:
    if facts.removed:
        return _removed(facts)
    if not facts.allowed:
        return VariantDecision(VariantState.NOT_ALLOWED, messages.NOT_ALLOWED)
    if ownership.foreign(facts):
        return VariantDecision(VariantState.NOT_OURS, messages.NOT_ADOPTED)
    # A rule that is back takes back what removed its package.
    ours = ownership.ours(facts)
    back = _closed([each for each in ours if each.removes], messages.WANTED_AGAIN)
    drafts = [each for each in ours if not each.removes]
    if facts.held:
        closed = _closed(drafts, messages.HELD)
        return VariantDecision(VariantState.HELD, facts.held, (*back, *closed))
    if facts.circle:
        return VariantDecision(VariantState.CIRCLE, messages.circle_across(facts.circle), back)
    upstream = _upstream(facts)
    if isinstance(upstream, NoUpstream):
        why = upstream.text if facts.revisions else facts.missing or upstream.text
        return VariantDecision(VariantState.WAITING, why, back)
    decided = _kept_in_step(facts, drafts, upstream)
    return replace(decided, actions=(*back, *decided.actions))


def unwanted(facts: VariantFacts, owner: str, recipe: Recipe) -> NotByRule | None:
    """Tell why a rule does not want just what a draft was made of, or nobody approved that.

    A tag that the bot did not make is no approval of its upstream, and topics and resources of
    another repository are none of its rule: people have to give one here.

    Args:
        facts: About the draft's package, as it is before the draft is merged.
        owner: Name of the variant that made the draft.
        recipe: What it was made of.

    Returns:
        None where it wants that now.
    """
    given_up = facts.removed or not facts.allowed or ownership.foreign(facts)
    if given_up or facts.held or facts.circle or owner != facts.variant.name:
        return NotByRule.RULE
    upstream = _upstream(facts)
    if isinstance(upstream, NoUpstream):
        return NotByRule.RULE
    if not recipe.is_of(_recipe(facts, upstream)):
        return NotByRule.CHANGED
    if not upstream.ours:
        return NotByRule.UPSTREAM
    return NotByRule.OUTSIDE if facts.variant.outside else None


def _recipe(facts: VariantFacts, upstream: UpstreamRevision) -> Recipe:
    base = "" if facts.published is None else facts.published.commit
    return Recipe(upstream.commit, facts.variant.digest, base, facts.sources, upstream.number)


def _people(facts: VariantFacts, draft: DraftFacts) -> bool:
    """Tell whether anybody but the bot has a part in a draft."""
    return draft.people or draft.recipe is None or not ownership.owned(facts, draft.owners)


def _closed(drafts: Sequence[DraftFacts], why: str) -> tuple[Action, ...]:
    """Close those that the bot alone has made."""
    ours = [each for each in drafts if not each.people and each.recipe is not None]
    return tuple(CloseDraft(each.branch, each.head, why) for each in ours)


# --- the rule is there no more --------------------------------------------------------------------


def _removed(facts: VariantFacts) -> VariantDecision:
    """Close what nobody has a part in, and propose to remove the package; the rest is left."""
    published = facts.published
    drafts = [
        each
        for each in facts.drafts
        if each.open and ownership.owned(facts, each.owners) and not _people(facts, each)
    ]
    gone = published is None or not ownership.owned(facts, published.owners)
    discarded = [
        each
        for each in drafts
        if given_up(facts.variant.spec, each.stage) is GivenUp.DISCARDED
        and (gone or not each.removes)
    ]
    actions = _closed(discarded, messages.RULE_REMOVED)
    if published is not None and not gone:
        actions = (*actions, *_package_given_up(facts, published, drafts))
    return VariantDecision(VariantState.REMOVED, "", actions)


def _package_given_up(
    facts: VariantFacts, published: PublishedFacts, drafts: Sequence[DraftFacts]
) -> tuple[Action, ...]:
    if given_up(facts.variant.spec, RevisionStage.PUBLISHED) is not GivenUp.DELETION_PROPOSED:
        return ()
    wanted, why = Recipe("", REMOVED, published.commit), messages.RULE_REMOVED
    there = [each for each in facts.drafts if each.removes and ownership.owned(facts, each.owners)]
    if any(each.recipe == wanted and each.by_person for each in there if not each.ended):
        return ()  # a person closed it, or turned it back into a draft
    for each in there:
        if each.open:
            if each not in drafts:
                return ()  # people have committed to it
            if each.recipe != wanted:
                return (RemovePackage(each.branch, each.head, wanted, why),)
            if not each.number:
                return (OpenDraft(each.branch, each.head, each.title, propose=True),)
            return ()
    branch, head = _next_branch(facts)
    return (RemovePackage(branch, head, wanted, why),)


# --- kept in step ---------------------------------------------------------------------------------


def _upstream(facts: VariantFacts) -> UpstreamRevision | NoUpstream:
    spec, published = facts.variant.spec, facts.published
    locked = published is not None and published.lock_is_ours
    current = upstreams.locked_number(published.lock) if published and locked else None
    return upstreams.chosen(
        spec.upstream, facts.revisions, follow=facts.variant.follow, current=current
    )


def _kept_in_step(
    facts: VariantFacts, drafts: Sequence[DraftFacts], upstream: UpstreamRevision
) -> VariantDecision:
    published = facts.published
    wanted = _recipe(facts, upstream)
    behind = published is None or _behind(published, upstream)
    if published is not None and not behind and published.shaped:
        left = _closed(drafts, messages.NOTHING_LEFT)
        same = published.locked in ("", upstream.commit, upstream.tag)
        if upstream.commit and not same:
            package = facts.variant.spec.upstream.package
            why = messages.upstream_moved(package, upstream.number, upstream.commit)
            return VariantDecision(VariantState.MOVED, why, left)
        return VariantDecision(VariantState.IN_STEP, "", left)
    source = upstream if behind else None
    if not drafts:
        return _begun(facts, source, wanted)
    newest, *others = drafts
    decided = _continued(facts, newest, source, wanted)
    if not decided.actions and _is_mistitled(facts, newest):
        made = RetitleDraft(newest.branch, newest.head, newest.number, newest.title)
        decided = replace(decided, actions=(made,))
    superseded = _closed(others, messages.SUPERSEDED)
    return replace(decided, actions=(*decided.actions, *superseded))


def _behind(published: PublishedFacts, upstream: UpstreamRevision) -> bool:
    """Tell whether it is made of another revision; without a lock it is not, as in Porch."""
    if not published.lock:
        return False
    return not published.lock_is_ours or upstreams.locked_number(published.lock) != upstream.number


def _next_branch(facts: VariantFacts) -> tuple[str, str]:
    """Return the branch of a new draft, and where it is.

    That is "" where it is not there. One that was only begun, and holds nothing yet, goes on.
    """
    for each in facts.drafts:
        if each.empty and each.open and not each.number:
            return each.branch, each.head
    used = {*facts.workspaces, *(each.workspace for each in facts.drafts)}
    package = facts.variant.spec.downstream.package
    return naming.draft_branch(package, naming.next_workspace(used)), ""


def _begun(facts: VariantFacts, source: UpstreamRevision | None, wanted: Recipe) -> VariantDecision:
    refused = [
        each
        for each in facts.drafts
        if each.stage is RevisionStage.CLOSED
        and each.by_person
        and not each.ended
        and ownership.owned(facts, each.owners)
    ]
    if any(each.recipe is not None and each.recipe.asks_the_same(wanted) for each in refused):
        return VariantDecision(VariantState.CLOSED, messages.CLOSED_BY_PERSON)
    branch, head = _next_branch(facts)
    asap = facts.variant.propose is Propose.ASAP
    new = facts.published is None
    made: Action = CreateDraft(branch, source, wanted, asap, new)
    if head:
        made = UpdateDraft(branch, head, source, wanted, asap, new)
    return VariantDecision(VariantState.PROPOSED if asap else VariantState.DRAFTED, "", (made,))


def _continued(
    facts: VariantFacts, draft: DraftFacts, source: UpstreamRevision | None, wanted: Recipe
) -> VariantDecision:
    asap = facts.variant.propose is Propose.ASAP
    if draft.recipe is not None and draft.recipe.is_of(wanted):
        return _as_it_is(draft, asap=asap)
    made: Action
    if _people(facts, draft):
        made = MergeIntoDraft(draft.branch, draft.head, source, wanted)
        kept = (
            VariantState.PROPOSED if draft.stage is RevisionStage.PROPOSED else VariantState.DRAFTED
        )
        return VariantDecision(kept, messages.MERGED_INTO, (made,))
    propose = draft.stage is RevisionStage.PROPOSED or (asap and not draft.by_person)
    new = facts.published is None
    back = draft.by_person and not propose
    made = UpdateDraft(draft.branch, draft.head, source, wanted, propose, new, back)
    return VariantDecision(VariantState.PROPOSED if propose else VariantState.DRAFTED, "", (made,))


def _is_mistitled(facts: VariantFacts, draft: DraftFacts) -> bool:
    """Tell whether a title of ours tells of what the draft was made of before."""
    ours = messages.is_title(facts.variant.spec.downstream.package, draft.shown)
    return ours and bool(draft.number and draft.title) and draft.shown != draft.title


def _as_it_is(draft: DraftFacts, *, asap: bool) -> VariantDecision:
    """A draft that is made of what is wanted: its pull request is opened, and proposed."""
    if draft.stage is RevisionStage.PROPOSED:
        return VariantDecision(VariantState.PROPOSED)
    propose = asap and draft.ready and not draft.by_person and not draft.people
    made: Action | None = None
    if not draft.number and not draft.people:  # of people's, the look at the branch opens one
        made = OpenDraft(draft.branch, draft.head, draft.title, propose)
    elif propose and draft.number:
        made = ProposeDraft(draft.branch, draft.head, draft.number)
    state = VariantState.PROPOSED if propose else VariantState.DRAFTED
    return VariantDecision(state, "", () if made is None else (made,))
