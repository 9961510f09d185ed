"""Carries actions about a variant out on the facts, so that it can be decided again."""

from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from lifecycle.variants import actions as a
from lifecycle.variants.facts import DraftFacts, Stage, VariantFacts


def done(facts: VariantFacts, action: a.Action) -> VariantFacts:
    """Return what is so once an action was carried out, nothing conflicting."""
    owner = facts.variant.name

    def drafts(branch: str, change: Callable[[DraftFacts], DraftFacts]) -> VariantFacts:
        found = [change(each) if each.branch == branch else each for each in facts.drafts]
        return replace(facts, drafts=tuple(found))

    match action:
        case a.CreateDraft(branch, _, recipe, propose):
            stage = Stage.PROPOSED if propose else Stage.DRAFT
            made = DraftFacts(
                branch=branch, head="e" * 40, stage=stage, owners=frozenset({owner}), recipe=recipe
            )
            return replace(facts, drafts=(*facts.drafts, made))
        case a.UpdateDraft(branch, _, _, recipe, propose):
            stage = Stage.PROPOSED if propose else Stage.DRAFT
            return drafts(branch, lambda each: replace(each, recipe=recipe, stage=stage))
        case a.MergeIntoDraft(branch, _, _, recipe):
            return drafts(branch, lambda each: replace(each, recipe=recipe, people=True))
        case a.ProposeDraft(branch):
            return drafts(branch, lambda each: replace(each, stage=Stage.PROPOSED))
        case a.CloseDraft(branch):
            return drafts(branch, lambda each: replace(each, stage=Stage.CLOSED))
        case a.Adopt("") | a.Release(""):
            assert facts.published
            owners = facts.published.owners - {owner}
            if isinstance(action, a.Adopt):
                owners |= {owner}
            return replace(facts, published=replace(facts.published, owners=owners))
        case a.Adopt(branch):
            return drafts(branch, lambda each: replace(each, owners=each.owners | {owner}))
        case a.Release(branch):
            return drafts(branch, lambda each: replace(each, owners=each.owners - {owner}))
        case a.ProposeDeletion():
            assert facts.published
            return replace(facts, published=replace(facts.published, deletion_proposed=True))
        case a.TakeBackDeletion():
            assert facts.published
            return replace(facts, published=replace(facts.published, deletion_proposed=False))
        case _:
            assert_never(action)
