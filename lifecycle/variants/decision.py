"""What is to be done about one downstream: facts in, actions out.

Rules
- One draft for each downstream. While the bot alone has committed to it, it is made anew in place;
  what people committed to is merged into, and never closed by the bot.
- Closed by a person, it is left alone until the upstream, the rule or what is injected changes.
- After a rollback nothing is proposed until the hold is taken away.
- A package that is there already is only touched by a rule that adopts.
- A rule that is there no more takes its package with it, or leaves it, as it said.
- Said twice, nothing is done: after the actions, deciding again gives none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lifecycle.messages import variants as messages
from lifecycle.variants import naming, upstreams
from lifecycle.variants.actions import (
    Action,
    Adopt,
    CloseDraft,
    CreateDraft,
    MergeIntoDraft,
    ProposeDeletion,
    ProposeDraft,
    Release,
    TakeBackDeletion,
    UpdateDraft,
)
from lifecycle.variants.facts import DraftFacts, PublishedFacts, Recipe, Stage, VariantFacts
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
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done.

    Attributes:
        state: How the downstream stands once it is done.
        why: What people are told about it; "" where the state says all.
        actions: In the order in which they are to be done; none where nothing is left to do.
    """

    state: VariantState
    why: str = ""
    actions: tuple[Action, ...] = ()


_NUMBERLESS: Final = -1


def decide(facts: VariantFacts) -> Decision:
    """Decide about one downstream."""
    if facts.removed:
        return _removed(facts)
    if not facts.allowed:
        return Decision(VariantState.NOT_ALLOWED, messages.NOT_ALLOWED)
    if _foreign(facts):
        return Decision(VariantState.NOT_OURS, messages.NOT_ADOPTED)
    adopted = _adopted(facts)
    if facts.held:
        closed = _closed(_ours(facts), messages.HELD)
        return Decision(VariantState.HELD, facts.held, (*adopted, *closed))
    upstream = _upstream(facts)
    if isinstance(upstream, NoUpstream):
        return Decision(VariantState.WAITING, upstream.text, adopted)
    decided = _kept_in_step(facts, upstream)
    return Decision(decided.state, decided.why, (*adopted, *decided.actions))


# --- whose it is ----------------------------------------------------------------------------------


def _owned(facts: VariantFacts, owners: frozenset[str]) -> bool:
    return facts.variant.name in owners


def _foreign(facts: VariantFacts) -> bool:
    """Tell whether the package is somebody else's, and stays so."""
    if facts.variant.spec.adopts:
        return False
    if facts.published is not None:
        return not _owned(facts, facts.published.owners)
    return facts.present


def _adopted(facts: VariantFacts) -> tuple[Action, ...]:
    if not facts.variant.spec.adopts:
        return ()
    published = facts.published
    package = published is not None and not _owned(facts, published.owners)
    drafts = [each for each in facts.drafts if each.open and not _owned(facts, each.owners)]
    return (*([Adopt("")] if package else []), *(Adopt(each.branch) for each in drafts))


def _ours(facts: VariantFacts) -> list[DraftFacts]:
    """Return the open drafts that are the variant's, or become so; the newest first."""
    found = [
        each
        for each in facts.drafts
        if each.open and (_owned(facts, each.owners) or facts.variant.spec.adopts)
    ]
    return sorted(found, key=_age, reverse=True)


def _age(draft: DraftFacts) -> tuple[int, str]:
    number = draft.workspace.removeprefix(naming.WORKSPACE)
    return (int(number) if number.isdecimal() and number.isascii() else _NUMBERLESS, draft.branch)


def _people(facts: VariantFacts, draft: DraftFacts) -> bool:
    """Tell whether anybody but the bot has a part in a draft."""
    return draft.people or draft.recipe is None or not _owned(facts, draft.owners)


def _closed(drafts: Sequence[DraftFacts], why: str) -> tuple[Action, ...]:
    """Close those that the bot alone has made."""
    ours = [each for each in drafts if not each.people and each.recipe is not None]
    return tuple(CloseDraft(each.branch, each.head, why) for each in ours)


# --- the rule is there no more --------------------------------------------------------------------


def _removed(facts: VariantFacts) -> Decision:
    spec, actions = facts.variant.spec, list[Action]()
    for draft in facts.drafts:
        if not draft.open or not _owned(facts, draft.owners):
            continue
        if given_up(spec, draft.stage) is GivenUp.DISCARDED and not _people(facts, draft):
            actions.append(CloseDraft(draft.branch, draft.head, messages.RULE_REMOVED))
        else:
            actions.append(Release(draft.branch))
    published = facts.published
    if published is not None and _owned(facts, published.owners):
        actions += _package_given_up(facts, published)
    return Decision(VariantState.REMOVED, "", tuple(actions))


def _package_given_up(facts: VariantFacts, published: PublishedFacts) -> list[Action]:
    stage = Stage.DELETION_PROPOSED if published.deletion_proposed else Stage.PUBLISHED
    match given_up(facts.variant.spec, stage):
        case GivenUp.DELETION_PROPOSED if not published.deletion_refused:
            return [ProposeDeletion(published.number, messages.RULE_REMOVED)]
        case GivenUp.LEFT:
            return []
        case _:
            return [Release("")]


# --- kept in step ---------------------------------------------------------------------------------


def _upstream(facts: VariantFacts) -> UpstreamRevision | NoUpstream:
    spec, published = facts.variant.spec, facts.published
    locked = published is not None and published.lock_is_ours
    current = upstreams.locked_number(published.lock) if published and locked else None
    return upstreams.chosen(
        spec.upstream, facts.revisions, follow=facts.variant.follow, current=current
    )


def _kept_in_step(facts: VariantFacts, upstream: UpstreamRevision) -> Decision:
    published, drafts = facts.published, _ours(facts)
    base = "" if published is None else published.commit
    wanted = Recipe(upstream.commit, facts.variant.digest, base, facts.sources)
    behind = published is None or _behind(published, upstream)
    if published is not None and not behind and published.shaped:
        taken = published.deletion_proposed and _owned(facts, published.owners)
        back = [TakeBackDeletion(published.number, messages.WANTED_AGAIN)] if taken else []
        closed = _closed(drafts, messages.NOTHING_LEFT)
        return Decision(VariantState.IN_STEP, "", (*back, *closed))
    source = upstream if behind else None
    if not drafts:
        return _begun(facts, source, wanted)
    newest, *others = drafts
    decided = _continued(facts, newest, source, wanted)
    superseded = _closed(others, messages.SUPERSEDED)
    return Decision(decided.state, decided.why, (*decided.actions, *superseded))


def _behind(published: PublishedFacts, upstream: UpstreamRevision) -> bool:
    """Tell whether it is made of another revision; without a lock it is not, as in Porch."""
    if not published.lock:
        return False
    return not published.lock_is_ours or upstreams.locked_number(published.lock) != upstream.number


def _begun(facts: VariantFacts, source: UpstreamRevision | None, wanted: Recipe) -> Decision:
    refused = [
        each
        for each in facts.drafts
        if each.stage is Stage.CLOSED and each.by_person and _owned(facts, each.owners)
    ]
    if any(each.recipe is not None and each.recipe.asks_the_same(wanted) for each in refused):
        return Decision(VariantState.CLOSED, messages.CLOSED_BY_PERSON)
    used = {*facts.workspaces, *(each.workspace for each in facts.drafts)}
    workspace = naming.next_workspace(used)
    branch = naming.draft_branch(facts.variant.spec.downstream.package, workspace)
    asap = facts.variant.propose is Propose.ASAP
    new = facts.published is None
    made = CreateDraft(branch, source, wanted, asap, new)
    return Decision(VariantState.PROPOSED if asap else VariantState.DRAFTED, "", (made,))


def _continued(
    facts: VariantFacts, draft: DraftFacts, source: UpstreamRevision | None, wanted: Recipe
) -> Decision:
    asap = facts.variant.propose is Propose.ASAP
    if draft.recipe == wanted:
        if draft.stage is Stage.PROPOSED:
            return Decision(VariantState.PROPOSED)
        if asap and draft.ready and not draft.by_person and not draft.people:
            proposed = ProposeDraft(draft.branch, draft.head)
            return Decision(VariantState.PROPOSED, "", (proposed,))
        return Decision(VariantState.DRAFTED)
    made: Action
    if _people(facts, draft):
        made = MergeIntoDraft(draft.branch, draft.head, source, wanted)
        kept = VariantState.PROPOSED if draft.stage is Stage.PROPOSED else VariantState.DRAFTED
        return Decision(kept, messages.MERGED_INTO, (made,))
    propose = draft.stage is Stage.PROPOSED or (asap and not draft.by_person)
    new = facts.published is None
    made = UpdateDraft(draft.branch, draft.head, source, wanted, propose, new)
    return Decision(VariantState.PROPOSED if propose else VariantState.DRAFTED, "", (made,))
