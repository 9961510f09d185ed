"""Carries actions about a variant out on the facts, so that it can be decided again."""

from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from lifecycle.variants import actions as a
from lifecycle.variants.decision import decide
from lifecycle.variants.facts import DraftFacts, Recipe, RevisionStage, VariantFacts


def done(facts: VariantFacts, action: a.Action) -> VariantFacts:
    """Return what is so once an action was carried out, nothing conflicting."""
    owner = facts.variant.name

    def drafts(branch: str, change: Callable[[DraftFacts], DraftFacts]) -> VariantFacts:
        found = [change(each) if each.branch == branch else each for each in facts.drafts]
        return replace(facts, drafts=tuple(found))

    match action:
        case a.CreateDraft(branch, _, recipe, propose):
            return replace(facts, drafts=(*facts.drafts, _made(facts, branch, recipe, propose)))
        case a.UpdateDraft(branch, _, _, recipe, propose, _, kept):
            new = replace(_made(facts, branch, recipe, propose), by_person=kept)
            return drafts(branch, lambda each: replace(new, number=each.number or 9))
        case a.MergeIntoDraft(branch, _, _, recipe):
            return drafts(
                branch,
                lambda each: replace(
                    each, recipe=recipe, people=True, owners=each.owners | {owner}
                ),
            )
        case a.RemovePackage(branch, _, recipe):
            rest = tuple(each for each in facts.drafts if each.branch != branch)
            return replace(facts, drafts=(*rest, _made(facts, branch, recipe, True)))
        case a.OpenDraft(branch, _, _, propose):
            stage = RevisionStage.PROPOSED if propose else RevisionStage.DRAFT
            return drafts(branch, lambda each: replace(each, number=9, stage=stage))
        case a.ProposeDraft(branch):
            return drafts(branch, lambda each: replace(each, stage=RevisionStage.PROPOSED))
        case a.RetitleDraft(branch, _, _, title):
            return drafts(branch, lambda each: replace(each, shown=title))
        case a.CloseDraft(branch):
            return drafts(branch, lambda each: replace(each, ended=True, recipe=Recipe("", "")))
        case a.EndDraft(branch):
            return drafts(
                branch,
                lambda each: replace(
                    each, ended=False, stage=RevisionStage.CLOSED, by_person=False
                ),
            )
        case _:
            assert_never(action)


def ended(facts: VariantFacts) -> VariantFacts:
    """Return what is so once what was marked is closed."""
    for action in decide(facts).actions:
        if isinstance(action, a.EndDraft):
            facts = done(facts, action)
    return facts


def _made(facts: VariantFacts, branch: str, recipe: Recipe, propose: bool) -> DraftFacts:
    return DraftFacts(
        branch=branch,
        head="e" * 40,
        stage=RevisionStage.PROPOSED if propose else RevisionStage.DRAFT,
        owners=frozenset({facts.variant.name}),
        recipe=recipe,
        number=9,
    )
