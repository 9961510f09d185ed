"""The decision: facts in, actions out; pure and total.

Longer than 400 lines: the rules are read in the order in which they hold.

Rules, in the order of the code:

1. A command is a comment without an answer yet. It takes effect once; its answer or the memory in
   the summary comment says that it did.
2. A draft branch without a pull request gets one, rendered first.
3. Only what is not yet so is said: deciding again after the actions were done gives nothing.
4. Merging and tagging are decided only for the base branch's own look (`publishing`), which takes
   one proposal at a time; any other look asks for it.
5. Nothing is written to a head that the same decision replaces.
6. What is only observed gets neutral checks and nothing else (`lifecycle.observing`).
7. While packages are being rendered, that is shown, and nothing else is decided.
8. The publish invariant is kept at the tag: after a merge, the same gates are asked of the merge
   result, whoever merged.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from lifecycle import (
    checks,
    forks,
    labels,
    memory,
    names,
    observing,
    provenance,
    quiet,
    readied,
    releases,
    timing,
    upkeep,
    wording,
)
from lifecycle.actions import (
    Action,
    AskPublish,
    DeleteBranch,
    DeleteTag,
    Dequeue,
    Merge,
    OpenProposal,
    PushRender,
    PushUpdate,
    React,
    RemoveDouble,
    Reply,
    Restore,
    Say,
    SetCheck,
    Suggest,
    Tag,
)
from lifecycle.assess import Assessed, assess
from lifecycle.commands import answers
from lifecycle.facts.checks import PUBLISH
from lifecycle.facts.head import Facts
from lifecycle.facts.packages import Touched
from lifecycle.facts.proposal import Proposal, Stage
from lifecycle.facts.verdicts import FunctionVersion, Verdict
from lifecycle.judgement import Gate, GateState
from lifecycle.ledger import ListedState
from lifecycle.messages import checks as checks_texts
from lifecycle.messages import commits, release, summary
from lifecycle.messages import gates as gate_texts
from lifecycle.messages import notices as notice_texts
from lifecycle.names import Sha
from lifecycle.notices import notices
from lifecycle.policy import MergeMethod, Policy, RenderMode, UpdateMode
from lifecycle.records import trailer
from lifecycle.terms import kept

MOST_SUGGESTIONS, MOST_REVIEWS = 20, 3
"""Suggestions of one review, and reviews with suggestions under one proposal."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done, and what the proposals wait for.

    Attributes:
        actions: In order; empty once everything has settled.
        waits: Number to the gates that do not hold, of each proposal that waits to be published.
    """

    actions: list[Action]
    waits: Mapping[int, tuple[Gate, ...]]


def decide(facts: Facts, *, publishing: bool = False) -> list[Action]:
    """Return the actions of `conclude`."""
    return conclude(facts, publishing=publishing).actions


def conclude(facts: Facts, *, publishing: bool = False) -> Decision:
    """Return what to ask of forge and git next, in the order to ask it, and what is waited for.

    Args:
        facts: One head branch with every pull request that proposes it.
        publishing: This is the base branch's own look: merging and tagging are allowed.
    """
    found = _conclude(facts, publishing=publishing)
    waits = {number: wording.gates(gates, facts.terms) for number, gates in found.waits.items()}
    return Decision(wording.words(_unlocked(found.actions, facts), facts.terms), waits)


def _unlocked(actions: Iterable[Action], facts: Facts) -> list[Action]:
    """Without what a locked conversation takes from nobody like us; the database remembers it."""
    locked = {p.place.number for p in facts.proposals if p.place.locked}
    said = Say | Reply | Restore | React | Suggest | RemoveDouble
    return [a for a in actions if not (isinstance(a, said) and a.number in locked)]


def _conclude(facts: Facts, *, publishing: bool) -> Decision:
    if facts.queued:  # its checks are the queue's: whoever may read proposes such a commit
        only = observing.only(facts)
        numbers = [p.place.number for p in facts.open]
        return Decision([] if only else forks.close(numbers, facts.queued, facts), {})
    if facts.pending:
        begun = [] if observing.only(facts) else list(checks.begun(facts))
        seen = [] if observing.only(facts) else answers.seen(observing.without(facts))
        return Decision([*begun, *seen], {})
    if not facts.proposals:
        return Decision([] if facts.watched else _open(facts), {})
    if observing.only(facts):
        return Decision(observing.show(facts), {})
    facts = observing.without(facts)
    shared = judged_by_head(facts)
    judged = shared[: len(facts.proposals)]
    waits = {one.proposal.place.number: one.judgement.open for one in judged if _waits(one)}
    actions: list[Action] = [action for one in judged for action in one.actions]
    push = _update(facts, judged) or _render(facts, judged)
    if push:
        # Before the answers: asked for and not yet done is found again, the other way round is not.
        return Decision([push, *actions, *_remember(facts, judged)], waits)
    for one in judged:
        # Before the checks: how a check stood tells what is news.
        actions += notices(facts, one.proposal, one.memory)
        actions += readied.undone(one.proposal)
    actions += _show_checks(facts, shared)
    actions += [each for one in judged if (each := _suggest(facts, one))]
    for one in judged:
        actions += _advance(facts, one, publishing=publishing)
        actions += upkeep.remove_doubles(one.proposal)
    for one in judged:  # last: nothing waits for them
        actions += labels.mirrored(one.proposal, facts.head_ref, waits=not one.judgement.holds)
        actions += releases.wanted(facts, one.proposal)
        actions += releases.marked(one.proposal)
    return Decision(actions, waits)


def judged_by_head(facts: Facts) -> list[Assessed]:
    """Return the proposals of a head as they are judged, then those of others that share it."""
    judged = [assess(facts, proposal) for proposal in _alone(facts)]
    beside = [assess(other, proposal) for other in facts.others for proposal in other.open]
    every = [*judged, *beside]
    return [_crowded(one) for one in every] if facts.crowded else _share_head(every)


def _waits(one: Assessed) -> bool:
    """There is something to publish, or rules to change, and a gate does not hold."""
    proposal = one.proposal
    over = proposal.place.closed and (not proposal.place.merged or proposal.once_published)
    return proposal.content.approvable and not over and not one.judgement.holds


def _open(facts: Facts) -> list[Action]:
    """Propose a draft branch that changes packages, rendered first to spare a round."""
    if not facts.is_draft_branch or facts.head is None or facts.ended:
        return []
    if facts.draft_of_variant:  # which knows what to say there, and whether it is ready
        return []
    if not facts.draft_touched or (facts.draft_policy is not None and facts.draft_policy.observe):
        return []
    packages = tuple(t.package for t in facts.draft_touched)
    push = _push(facts, facts.draft_policy, facts.draft_verdicts, facts.draft_touched, asked=0)
    proposal = OpenProposal(
        head_ref=facts.head_ref,
        base_ref=facts.default_ref,
        title=commits.proposal_title(facts.draft_subjects, packages, facts.head_ref),
        body=commits.proposal_body(packages, facts.draft_pusher),
        assignee=facts.draft_pusher,
    )
    return [proposal] if push is None else [push, proposal]


def _alone(facts: Facts) -> tuple[Proposal, ...]:
    """The proposals; where the head waits for approval somewhere, nobody need be sent there."""
    if not any(p.content.approvable for each in (facts, *facts.others) for p in each.open):
        return facts.proposals
    return tuple(replace(p, content=replace(p.content, elsewhere=())) for p in facts.proposals)


def _share_head(judged: list[Assessed]) -> list[Assessed]:
    """A check belongs to a commit: all proposals of one head pass, or none of them does.

    Otherwise the green check of one would let the other be merged by hand (trap 1).
    """
    waiting = [one for one in judged if not one.proposal.place.closed and not _may_pass(one)]
    shared = []
    for one in judged:
        others = [other.proposal.place.number for other in waiting if other is not one]
        if one.proposal.place.closed or not others:
            shared.append(one)
            continue
        gate = Gate(
            name="same head",
            state=GateState.WAITS,
            actual=gate_texts.same_head(others),
            wanted=gate_texts.SAME_HEAD_WANTED,
            who=gate_texts.SAME_HEAD_WHO,
        )
        judgement = replace(one.judgement, gates=(*one.judgement.gates, gate))
        shared.append(replace(one, judgement=judgement))
    return shared


def _crowded(one: Assessed) -> Assessed:
    """Too many share the head to look at each: all of them wait (ADR 21)."""
    if one.proposal.place.closed:
        return one
    gate = Gate(
        name="same head",
        state=GateState.WAITS,
        actual=gate_texts.CROWDED,
        wanted=gate_texts.CROWDED_WANTED,
        who=gate_texts.CROWDED_WHO,
    )
    return replace(one, judgement=replace(one.judgement, gates=(*one.judgement.gates, gate)))


def _may_pass(one: Assessed) -> bool:
    """Nothing of it is missing, or it has no package and leaves the configuration readable."""
    p = one.proposal
    if p.content.approvable or not isinstance(p.rules.policy, Policy):
        return one.judgement.holds
    return not p.content.configuration and not p.content.effect.hides


def _update(facts: Facts, judged: Iterable[Assessed]) -> PushUpdate | None:
    """The merge of the base branch, for the first open proposal that wants and allows it.

    Unasked it goes where renderings go unasked, and only for packages that both sides changed. A
    branch that is proposed to two bases gets neither unasked: whoever proposed it to the one need
    not want what the other holds.
    """
    bases = {p.place.base_ref for p in facts.open}
    for one in judged:
        p, asked = one.proposal, one.update_asked
        outdated = [t for t in p.content.touched if t.outdated]
        unasked = (
            isinstance(p.rules.policy, Policy)
            and p.rules.policy.update is UpdateMode.AUTO
            and facts.is_draft_branch
            and bool(outdated)
            and len(bases) == 1
        )
        refused = facts.push_refused
        update = p.lookups.update
        if (
            p.place.closed
            or not (asked or unasked)
            or not facts.may_push
            or (update is None or not update.possible)
            or p.place.head != facts.head
            or (refused is not None and refused.asked >= asked)
        ):
            continue
        trailers = [trailer(t.package, t.workspace, None, None) for t in outdated]
        return PushUpdate(
            head_ref=facts.head_ref,
            head=p.place.head,
            base=p.place.base,
            files=update.files,
            message=commits.update_commit(p.place.base_ref, facts.head_ref, trailers),
            asked=asked,
        )
    return None


def _render(facts: Facts, judged: Iterable[Assessed]) -> PushRender | None:
    """The render commit, for the first open proposal that wants one.

    A branch proposed to two bases may be rendered under two configurations; the first wins and
    the other proposal then shows the difference, instead of both pushing in turns for ever.
    """
    for one in judged:
        if not one.proposal.place.closed:
            p = one.proposal
            push = _push(
                facts, p.rules.policy, p.verdicts, p.content.touched, asked=one.render_asked
            )
            return push and replace(push, asker=one.render_asker)
    return None


def _push(
    facts: Facts,
    policy: object,
    verdicts: tuple[Verdict, ...],
    touched: tuple[Touched, ...],
    *,
    asked: int,
) -> PushRender | None:
    if not isinstance(policy, Policy) or facts.head is None:
        return None
    wanted = policy.render is RenderMode.COMMIT and facts.is_draft_branch
    wanted = wanted or (asked > 0 and facts.may_push)
    changes = {path: data for v in verdicts for path, data in v.changes.items()}
    # A function that never settles is stopped after one commit (docs/design.md, "Renderings"); but
    # rules change too, so whoever asks gets one more.
    stopped = facts.rendered_by_us and not asked
    # What the forge forbade it will forbid again; the checks are shown meanwhile.
    refused = facts.push_refused
    stopped = stopped or (refused is not None and refused.asked >= asked)
    if not wanted or not changes or stopped or any(v.broken for v in verdicts):
        return None
    trailers = [
        trailer(t.package, t.workspace, None, None)
        for t in touched
        if any(v.package == t.package and v.changes for v in verdicts)
    ]
    return PushRender(
        head_ref=facts.head_ref,
        head=facts.head,
        changes=changes,
        message=commits.render_commit([v.package for v in verdicts if v.changes], trailers),
        asked=asked,
    )


def _suggest(facts: Facts, one: Assessed) -> Suggest | None:
    """Suggestions where the author has to render: on a fork, and where the bot does not push.

    Few in all: whoever goes on pushing without rendering has the check, which says the same.
    """
    p = one.proposal
    found = tuple(each for v in p.verdicts for each in v.suggestions)[:MOST_SUGGESTIONS]
    if p.place.closed or not found or facts.rendered_by_us or facts.head != p.place.head:
        return None
    if p.place.head in p.talk.suggested or len(p.talk.suggested) >= MOST_REVIEWS:
        return None
    left = sum(len(v.changes) for v in p.verdicts) - len({each.path for each in found})
    return Suggest(
        number=p.place.number,
        head=p.place.head,
        body=checks_texts.suggested(left),
        suggestions=found,
    )


def _show_checks(facts: Facts, judged: list[Assessed]) -> list[Action]:
    """The check runs that are not yet as they should be; the worst of several proposals.

    In the order of their numbers, so that looks at other branches of the same commit agree.
    """
    standing = [one for one in judged if not one.proposal.place.closed]
    standing.sort(key=lambda one: one.proposal.place.number)
    wanted = checks.wanted(facts, [(one.proposal, one.judgement) for one in standing])
    return [action for action in wanted if not _waits_for_publishing(action, judged)]


def _waits_for_publishing(action: SetCheck, judged: list[Assessed]) -> bool:
    """While every gate holds, `porchbot/publish` is the publishing look's to write."""
    return action.name == PUBLISH and any(
        one.judgement.holds and not one.proposal.place.closed and one.proposal.content.publishes
        for one in judged
    )


def _advance(facts: Facts, one: Assessed, *, publishing: bool) -> list[Action]:
    p = one.proposal
    if not p.content.publishes:
        told = p.content.configures or memory.summary_of(p)
        return _say(facts, one) if told and not p.place.closed else []
    match p.stage:
        case Stage.DRAFT:
            return [*_dequeue(p), *_say(facts, one)]
        case Stage.PROPOSED:
            if not one.judgement.holds:
                return [*_dequeue(p), *_say(facts, one)]
            if p.merging.in_queue:
                return [*checks.ready(facts, p), *_say(facts, one)]
            return [*_remember(facts, [one]), *_merge(facts, one, publishing=publishing)]
        case Stage.MERGED:
            if not one.judgement.holds:
                return [*_report(facts, one), *_say(facts, one)]
            tags = _tag(facts, one, publishing=publishing)
            return [*_remember(facts, [one]), *tags, *(_untag(facts, one) if publishing else [])]
        case Stage.PUBLISHED:
            return [*_finish_check(facts, p), *_say(facts, one), *_delete_branch(facts, p)]
        case Stage.CLOSED:
            return _say(facts, one) if memory.summary_of(p) else []


def _dequeue(proposal: Proposal) -> list[Dequeue]:
    """What is not to be merged any more leaves the queue of a branch that we guard, or fill."""
    merging = proposal.merging
    if merging.in_queue and (merging.enforced or merging.enqueued):
        return [Dequeue(proposal.place.number, proposal.place.head)]
    return []


def _merge(facts: Facts, one: Assessed, *, publishing: bool) -> list[Action]:
    p = one.proposal
    if not publishing:
        return (
            []
            if p.merging.queued
            else [AskPublish(base_ref=p.place.base_ref, number=p.place.number)]
        )
    method = p.rules.policy.merge if isinstance(p.rules.policy, Policy) else MergeMethod.MERGE
    trailers = [
        trailer(t.package, t.workspace, t.revision, None)
        for t in p.content.touched
        if not t.removed
    ]
    merge = Merge(
        number=p.place.number,
        head=p.place.head,
        base=p.place.base,
        base_ref=p.place.base_ref,
        method=method,
        title=commits.merge_title(p),
        message=commits.merge_message(p, _approvers(one), trailers),
        approvers=_approvers(one),
        until=timing.changes(facts, p, one.memory),
        freezes=timing.known(facts, one.memory),
    )
    return [*checks.ready(facts, p), merge]


def _tag(facts: Facts, one: Assessed, *, publishing: bool) -> list[Action]:
    p = one.proposal
    if p.place.merge_commit is None or p.place.merged_at is None:
        return []  # asking would only be answered with the same question
    if not publishing:
        return (
            []
            if p.merging.queued
            else [AskPublish(base_ref=p.place.base_ref, number=p.place.number)]
        )
    return [
        Tag(
            ref=names.tag(t.package, t.revision),
            target=p.place.merge_commit,
            tree=t.tree,
            at=p.place.merged_at,
            number=p.place.number,
            message=commits.tag_message(
                facts.repository, p, t, _approvers(one), _versions(p.verdicts, t.package)
            ),
            approvers=_approvers(one),
            provenance=provenance.predicate(facts, p, t, one.judgement),
            until=timing.changes(facts, p, one.memory),
            freezes=timing.known(facts, one.memory),
        )
        for t in p.content.touched
        if not t.tagged and not t.removed
    ]


def _untag(facts: Facts, one: Assessed) -> list[Action]:
    """The tags of what a merged proposal withdraws."""
    p = one.proposal
    if p.place.merge_commit is None:
        return []
    return [
        DeleteTag(
            ref=names.tag_ref(each.name),
            object=Sha(each.tag),
            number=p.place.number,
            target=p.place.merge_commit,
            mark=ListedState.WITHDRAWN,
            note=release.listed(each.after),
            approvers=_approvers(one),
            until=timing.changes(facts, p, one.memory),
            freezes=timing.known(facts, one.memory),
        )
        for each in p.content.withdrawals
        if each.goes and not each.done and each.after is not None
    ]


def _approvers(one: Assessed) -> tuple[str, ...]:
    approvals = one.judgement.approvals
    return tuple(a.person for a in approvals.counted) if approvals else ()


def _versions(verdicts: Iterable[Verdict], package: str) -> Mapping[str, FunctionVersion]:
    return next((v.versions for v in verdicts if v.package == package), {})


def _report(facts: Facts, one: Assessed) -> list[Action]:
    """Say once for each merge result that it is not published, and why."""
    p = one.proposal
    lifted = checks.not_published(facts, p, one.judgement)
    if str(p.place.merge_commit) in one.memory.reported:
        return [*lifted]
    body = notice_texts.merged_not_published(p, one.judgement)
    return [*lifted, Reply(p.place.number, body, memory.report_record(p, facts.repository_id))]


def _finish_check(facts: Facts, proposal: Proposal) -> list[Action]:
    """Say in `porchbot/publish` what was published; a person's merge finds it in progress."""
    run = facts.checks.get(PUBLISH)
    if run is None or not run.ours:
        return []
    # The runs are those of the branch as it is; once it is gone, of what was merged.
    heads = {facts.head} if facts.head else {each.place.head for each in facts.proposals}
    if (
        heads != {proposal.place.head}
        or facts.open
        or facts.others
        or any(t.tagging.within is not None for t in proposal.content.touched)
    ):
        return []
    shown = checks.published(proposal, run)
    return [shown] if shown else []


def _delete_branch(facts: Facts, proposal: Proposal) -> list[Action]:
    tidied = facts.is_draft_branch or names.is_ledger_branch(facts.head_ref)
    if not (tidied and facts.may_push) or facts.head != proposal.place.head or facts.open:
        return []
    if facts.push_refused:
        return []  # the summary says so
    return [DeleteBranch(facts.head_ref, proposal.place.head)]


def _say(facts: Facts, one: Assessed) -> list[Action]:
    """The summary comment, when it does not yet say this."""
    p = one.proposal
    if quiet.is_quiet(facts, p):
        return []  # its check says it all, until somebody has a part in it
    record = upkeep.summary_record(one.memory, p, facts.repository_id)
    told = checks.details(facts, p, one.judgement)
    body = upkeep.cut(summary.summary(facts, p, one.judgement, one.memory, told), record)
    said = memory.summary_of(p)
    same = said is not None and not said.altered and record in [dict(r) for r in said.records]
    if said is not None and same and said.body == facts.terms.said(body):
        return []
    return [Say(p.place.number, said.id if said else None, body, record)]


def _remember(facts: Facts, judged: Iterable[Assessed]) -> list[Action]:
    """Keep what is new in the memory, and nothing else: the text follows when all is done."""
    actions: list[Action] = []
    for one in judged:
        said = memory.summary_of(one.proposal)
        if one.proposal.place.closed and said is None:
            continue
        record = upkeep.summary_record(one.memory, one.proposal, facts.repository_id)
        if said is None or said.altered:
            actions += _say(facts, one)
        elif record not in [dict(r) for r in said.records]:
            body = kept(upkeep.cut(said.body, record))
            actions.append(Say(one.proposal.place.number, said.id, body, record))
    return actions
