"""A tiny world in memory: carries actions out on facts, so that "every state settles" can be shown.

It knows what each action changes and nothing of why; the whole bot against a real forge is the
stories' business.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from lifecycle import actions as a
from lifecycle.decide import decide
from lifecycle.facts import CheckRun, Facts, Proposal, Touched
from lifecycle.names import Sha
from tests.lifecycle.samples import MERGE, NOW, ours

MOST_ROUNDS = 8


def carry_out(facts: Facts, actions: list[a.Action]) -> Facts:
    """The facts as they are after the actions were done."""
    for action in actions:
        facts = _one(facts, action)
    return facts


def settled(
    facts: Facts,
    *,
    publishing: bool = False,
    then: Callable[[Proposal], Proposal] | None = None,
    rerun: bool = False,
) -> Facts:
    """Decide and carry out until nothing is left, then change one thing.

    Raises:
        AssertionError: It does not settle.
    """
    for _ in range(MOST_ROUNDS):
        actions = decide(facts, publishing=publishing)
        if not actions:
            break
        facts = carry_out(facts, actions)
    else:
        raise AssertionError(f"does not settle: {decide(facts, publishing=publishing)}")
    if then is not None:
        facts = replace(facts, proposals=tuple(then(p) for p in facts.proposals))
    return replace(facts, rerun=rerun)


def _one(facts: Facts, action: a.Action) -> Facts:
    match action:
        case a.SetCheck():
            number = action.run or max((r.id for r in facts.checks.values()), default=0) + 1
            run = CheckRun(
                id=number,
                name=action.name,
                status=action.status,
                conclusion=action.conclusion or "",
                external_id=action.external_id,
                completed_at=NOW if action.conclusion else None,
            )
            return replace(facts, checks={**facts.checks, action.name: run})
        case a.Say(number, comment, body, record):
            said = ours(body, record, comment or 900 + number, summary=True)
            return _each(facts, number, lambda p: _answered(p, said))
        case a.Reply(number, body, record):
            return _each(
                facts,
                number,
                lambda p: _answered(p, ours(body, record, 1000 + len(p.answers))),
            )
        case a.SetDraft(number, draft):
            return _each(facts, number, lambda p: replace(p, draft=draft))
        case a.AskPublish(number=number):
            return _each(facts, number, lambda p: replace(p, queued=True))
        case a.PushRender():
            return replace(
                facts,
                head=Sha("e" * 40),
                rendered_by_us=True,
                checks={},
                draft_verdicts=(),
                proposals=tuple(
                    replace(
                        p,
                        head=Sha("e" * 40),
                        verdicts=tuple(replace(v, changes={}) for v in p.verdicts),
                    )
                    for p in facts.proposals
                ),
            )
        case a.Merge(number=number):
            return _each(
                facts,
                number,
                lambda p: replace(
                    p,
                    merged=True,
                    closed=True,
                    merge_commit=MERGE,
                    merged_at=NOW + timedelta(hours=1),
                ),
            )
        case a.Tag(target=target):
            return replace(
                facts,
                proposals=tuple(
                    replace(p, touched=tuple(map(_tagged, p.touched)))
                    if p.merge_commit == target
                    else p
                    for p in facts.proposals
                ),
            )
        case a.DeleteBranch():
            return replace(facts, head=None)
        case a.OpenProposal():
            return replace(facts, abandoned=True)  # the next look would find the pull request
        case a.Forget(number=number):
            return _each(facts, number, lambda p: replace(p, refusal=""))
        case a.React():
            return facts


def _tagged(touched: Touched) -> Touched:
    return replace(touched, tagging=replace(touched.tagging, tagged=True))


def _each(facts: Facts, number: int, change: Callable[[Proposal], Proposal]) -> Facts:
    return replace(
        facts,
        proposals=tuple(change(p) if p.number == number else p for p in facts.proposals),
    )


def _answered(proposal: Proposal, comment: object) -> Proposal:
    kept = [c for c in proposal.answers if c.id != comment.id]  # type: ignore[attr-defined] # Comment
    return replace(proposal, answers=(*kept, comment))  # type: ignore[arg-type] # Comment
