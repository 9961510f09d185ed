"""A tiny world in memory: carries actions out on facts, so that "every state settles" can be shown.

It knows what each action changes and nothing of why; the whole bot against a real forge is the
stories' business.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta

from lifecycle import actions as a
from lifecycle import names
from lifecycle.decide import decide
from lifecycle.events import Log, Tampered
from lifecycle.facts.checks import CheckRun
from lifecycle.facts.conversation import Written
from lifecycle.facts.head import Facts
from lifecycle.facts.packages import Touched
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.update import BaseUpdate
from lifecycle.names import Sha
from lifecycle.records import JSON
from tests.lifecycle.samples import MERGE, NOW, changed, ours

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


def _shown(
    proposal: Proposal,
    action: a.SetDraft | a.SetLabels | a.MakeRelease | a.MarkRelease | a.DeleteTag,
) -> Proposal:
    if isinstance(action, a.DeleteTag):
        return _gone(proposal, action)
    if isinstance(action, a.SetDraft):
        return changed(proposal, draft=action.draft)
    if isinstance(action, a.MarkRelease):
        return changed(
            proposal, marks=tuple(replace(each, done=True) for each in proposal.releases.marks)
        )
    if isinstance(action, a.MakeRelease):
        made = (replace(each, there=True) for each in proposal.releases.notes)
        return changed(proposal, notes=tuple(made))
    there = proposal.place.labels or frozenset()
    return changed(proposal, labels=there - {*action.remove} | {*action.add})


def _gone(proposal: Proposal, action: a.DeleteTag) -> Proposal:
    found = proposal.content
    ledger = (
        replace(each, tag="") if names.tag_ref(each.name) == action.ref else each
        for each in found.ledger
    )
    return replace(proposal, content=replace(found, ledger=tuple(ledger)))


def _one(facts: Facts, action: a.Action) -> Facts:
    match action:
        case a.SetCheck():
            number = action.run or max((r.id for r in facts.checks.values()), default=0) + 1
            run = CheckRun(
                id=number,
                name=action.name,
                status=action.status,
                conclusion=action.conclusion,
                digest=action.digest,
                completed_at=NOW if action.conclusion else None,
            )
            return replace(facts, checks={**facts.checks, action.name: run})
        case a.Say(number, comment, body, record):
            return _each(
                facts,
                number,
                lambda p: _answered(p, ours(body, record, comment or _free(p), summary=True)),
            )
        case a.Reply(number, body, record):
            return _each(
                facts,
                number,
                lambda p: _answered(
                    p, ours(body, record, 1000 + len(p.talk.answers) + len(p.talk.written))
                ),
            )
        case a.Restore() | a.KeepFreezes() | a.Keep() | a.RemoveDouble() | a.Suggest():
            return _upkeep(facts, action)
        case a.SetDraft() | a.SetLabels() | a.MakeRelease() | a.MarkRelease() | a.DeleteTag():
            return _each(facts, action.number, lambda p: _shown(p, action))
        case a.AskPublish(number=number):
            return _each(facts, number, lambda p: changed(p, queued=True))
        case a.PushRender() | a.PushUpdate():
            return replace(
                facts,
                head=Sha("e" * 40),
                rendered_by_us=isinstance(action, a.PushRender),
                checks={},
                draft_verdicts=(),
                proposals=tuple(
                    changed(
                        p,
                        head=Sha("e" * 40),
                        update=BaseUpdate() if p.lookups.update else None,
                        touched=tuple(replace(t, origin=t.base) for t in p.content.touched)
                        if isinstance(action, a.PushUpdate)
                        else p.content.touched,
                        verdicts=tuple(replace(v, changes={}) for v in p.verdicts),
                    )
                    for p in facts.proposals
                ),
            )
        case a.Merge(number=number):
            return _each(
                facts,
                number,
                lambda p: changed(
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
                    changed(p, touched=tuple(map(_tagged, p.content.touched)))
                    if p.place.merge_commit == target
                    else p
                    for p in facts.proposals
                ),
            )
        case a.DeleteBranch():
            return replace(facts, head=None)
        case a.OpenProposal():
            return replace(facts, ended=True)  # the next look would find the pull request
        case a.Forget(number=number) | a.Dequeue(number=number):
            outside = {"in_queue": False, "enqueued": False}
            return _each(facts, number, lambda p: changed(p, wait=None, **outside))
        case a.React() | a.PushDraft() | a.CloseProposal() | a.SetTitle():
            return facts


def _tagged(touched: Touched) -> Touched:
    return replace(touched, tagging=replace(touched.tagging, tagged=True))


def _each(facts: Facts, number: int, change: Callable[[Proposal], Proposal]) -> Facts:
    return replace(
        facts,
        proposals=tuple(change(p) if p.place.number == number else p for p in facts.proposals),
    )


def _free(proposal: Proposal) -> int:
    """A number that no summary had yet; a deleted one's is never given again."""
    return (
        900 + proposal.place.number + 50 * sum(isinstance(e, Tampered) for e in proposal.talk.kept)
    )


def _upkeep(
    facts: Facts, action: a.Restore | a.Keep | a.KeepFreezes | a.RemoveDouble | a.Suggest
) -> Facts:
    match action:
        case a.KeepFreezes(log):
            return replace(facts, freezes=facts.freezes | log)
        case a.Restore(number, comment, body, record):
            return _each(facts, number, lambda p: _restored(p, comment, body, record))
        case a.Keep(number, log, written, gone):
            return _each(facts, number, lambda p: _kept(p, log, written, gone))
        case a.RemoveDouble(number, comment):
            return _each(facts, number, lambda p: _removed(p, comment))
        case a.Suggest(number=number, head=head):
            return _each(facts, number, lambda p: changed(p, suggested=p.talk.suggested | {head}))


def _restored(proposal: Proposal, comment: int, body: str, record: Mapping[str, JSON]) -> Proposal:
    """An answer is written anew; whatever stood there, it is no summary."""
    again = _rewritten(proposal, comment, body, record)
    answers = (replace(c, summary=False) if c.id == comment else c for c in again.talk.answers)
    return changed(again, answers=tuple(answers))


def _removed(proposal: Proposal, comment: int) -> Proposal:
    left = tuple(c for c in proposal.talk.answers if c.id != comment)
    return changed(_kept(proposal, frozenset(), {}, (comment,)), answers=left)


def _everywhere(facts: Facts, change: Callable[[Proposal], Proposal]) -> Facts:
    return replace(facts, proposals=tuple(change(p) for p in facts.proposals))


def _rewritten(proposal: Proposal, comment: int, body: str, record: Mapping[str, JSON]) -> Proposal:
    answers = tuple(
        replace(c, body=body, records=(record,), altered=False) if c.id == comment else c
        for c in proposal.talk.answers
    )
    return changed(proposal, answers=answers)


def _kept(
    proposal: Proposal, log: Log, written: Mapping[int, Written], gone: tuple[int, ...]
) -> Proposal:
    known = {**proposal.talk.written, **written}
    return changed(
        proposal,
        kept=proposal.talk.kept | log,
        written={number: w for number, w in known.items() if number not in gone},
        missing=tuple(number for number in proposal.talk.missing if number not in gone),
    )


def _answered(proposal: Proposal, comment: object) -> Proposal:
    kept = [c for c in proposal.talk.answers if c.id != comment.id]  # type: ignore[attr-defined] # Comment
    return changed(proposal, answers=(*kept, comment))
