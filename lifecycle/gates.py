"""The gates before publishing: one for each condition, in the order people meet them.

Longer than 400 lines: the gates are read in their order.

A gate that cannot be judged does not hold.
"""

from collections.abc import Sequence
from dataclasses import replace

from cadlib.findings import Severity
from lifecycle import impact, names, readied, timing
from lifecycle.approvals import Approvals, approvals_of, latest_reviews
from lifecycle.facts.checks import CheckState
from lifecycle.facts.conversation import ReviewDecision, ReviewState
from lifecycle.facts.head import Facts
from lifecycle.facts.packages import Content
from lifecycle.facts.proposal import Proposal
from lifecycle.judgement import Gate, GateState, Judgement
from lifecycle.leaves import leaves
from lifecycle.memory import Memory
from lifecycle.messages import drafts, reviews, updates
from lifecycle.messages import gates as texts
from lifecycle.messages.markdown import code, name, people
from lifecycle.policy import BrokenPolicy, Policy, RenderMode, configuring
from lifecycle.rights import Allowed


def judge(facts: Facts, proposal: Proposal, remembered: Memory) -> Judgement:
    """Judge one proposal, open or merged; total on any facts.

    Args:
        facts: Of the head branch.
        proposal: One of its proposals.
        remembered: What our comments and the database remember.
    """
    if proposal.content.configures and not proposal.content.publishes and not proposal.place.merged:
        return _rules_changed(facts, proposal, remembered)
    if isinstance(proposal.rules.policy, BrokenPolicy):
        gate = Gate(
            name="configuration",
            state=GateState.BLOCKED,
            actual=texts.configuration_broken(proposal.rules.policy),
            wanted=texts.CONFIGURATION_WANTED,
            who=texts.CONFIGURATION_WHO,
        )
        return Judgement((gate,), None)
    if proposal.once_published:
        return Judgement(tuple(_taggable(proposal)), None)  # it was judged then
    policy = proposal.rules.policy
    approvals = approvals_of(proposal, policy, remembered)
    gates = [_rendered(facts, proposal, policy), _validated(proposal), *_ready(proposal)]
    if not proposal.place.merged:
        gates = [_proposed(proposal), *gates, _up_to_date(facts, proposal)]
        gates += _merges_as_shown(facts, proposal)
    gates += [
        *_unused(proposal),
        _approved(proposal, approvals),
        *_configured(proposal, remembered),
        *_fresh(approvals, remembered),
        *_asked(proposal, approvals, policy),
        _unopposed(approvals),
        *_reviewed(proposal),
        _not_held(remembered),
        *_commanded(proposal),
        *impact.gates(facts, proposal),
        *timing.gates(facts, proposal, remembered),
        *_others(proposal),
        *_mergeable(proposal),
        *_taggable(proposal),
    ]
    return Judgement(tuple(gates), approvals)


def _rules_changed(facts: Facts, proposal: Proposal, remembered: Memory) -> Judgement:
    """A proposal that changes rules and no package: people merge it, once it is approved."""
    approvals = approvals_of(proposal, configuring(proposal.rules.policy), remembered, rules=True)
    return Judgement(
        (
            _proposed(proposal),
            _validated(proposal),
            *_merges_as_shown(facts, proposal),
            *_configured(proposal, remembered),
            *_fresh(approvals, remembered),
            _unopposed(approvals),
            _not_held(remembered),
            *impact.gates(facts, proposal),
        ),
        approvals,
    )


def _configured(proposal: Proposal, remembered: Memory) -> list[Gate]:
    """Rules are changed under the rules that they change; what is merged is in force already."""
    if not proposal.content.configures or proposal.place.merged:
        return []
    rules = configuring(proposal.rules.policy)
    approvals = approvals_of(proposal, rules, remembered, rules=True)
    actual = texts.approvals(approvals)
    if not approvals.missing:
        gate = Gate(name=texts.RULES_APPROVED, state=GateState.HOLDS, actual=actual)
        return [replace(gate, leaves=leaves(approvals))]
    return [
        Gate(
            name=texts.RULES_APPROVED,
            state=GateState.WAITS,
            actual=actual,
            wanted=texts.rules_wanted(approvals, authors_known=proposal.people.all_known),
            who=texts.approvals_who(approvals, _authors(proposal)),
            leaves=leaves(approvals),
        )
    ]


def _unused(proposal: Proposal) -> list[Gate]:
    """What is removed is no upstream of what stays; no gate where nothing is removed."""
    going = _going(proposal.content)
    used = () if proposal.once_published else still_used(proposal.content)
    if not going:
        return []
    if not used:
        return [Gate(name="unused", state=GateState.HOLDS, actual=texts.IS_UNUSED)]
    return [
        Gate(
            name="unused",
            state=GateState.BLOCKED,
            actual=texts.used_by(used),
            wanted=texts.UNUSED_WANTED,
            who=texts.UNUSED_WHO,
        )
    ]


def _commanded(proposal: Proposal) -> list[Gate]:
    """What somebody asked for would change this draft, and waits for an upstream; mostly none."""
    waits = proposal.lookups.waiting_drafts.items()
    found = [drafts.waiting(request, wait) for request, wait in waits if request.on_draft]
    if not found:
        return []
    return [
        Gate(
            name="commands",
            state=GateState.WAITS,
            actual="; ".join(found),
            wanted=texts.COMMANDS_WANTED,
            who=texts.COMMANDS_WHO,
        )
    ]


def still_used(content: Content) -> tuple[tuple[str, Sequence[str], int], ...]:
    """Return what is removed or withdrawn and has users, each with these and how many more."""
    return tuple(each for each in _going(content) if each[1] or each[2])


def _going(content: Content) -> list[tuple[str, Sequence[str], int]]:
    """What is removed or withdrawn, in words, each with its users, and how many are not shown."""
    going: list[tuple[str, Sequence[str], int]] = []
    going += [(name(t.package), t.used_by, t.used_unseen) for t in content.touched if t.removed]
    going += [(code(w.name), w.used_by, w.used_unseen) for w in content.withdrawals]
    return going


def _proposed(proposal: Proposal) -> Gate:
    if proposal.place.draft:
        return Gate(
            name="proposed",
            state=GateState.WAITS,
            actual=texts.IS_DRAFT,
            wanted=texts.PROPOSE_WANTED,
            who=texts.PROPOSE_WHO,
        )
    press, said = readied.pressed(proposal), readied.verdict(proposal)
    if press is not None and not isinstance(said, Allowed):
        return Gate(
            name="proposed",
            state=GateState.WAITS,
            actual=texts.ready_by(press.last.person.login),
            wanted=texts.PROPOSE_WANTED,
            who=texts.proposers(said),
        )
    return Gate(name="proposed", state=GateState.HOLDS, actual=texts.IS_PROPOSED)


def _rendered(facts: Facts, proposal: Proposal, policy: Policy) -> Gate:
    bot_pushes = facts.is_draft_branch and policy.render is RenderMode.COMMIT
    push_refused = facts.push_refused
    broken = [v for v in proposal.verdicts if v.broken]
    if broken:
        return Gate(
            name="rendered",
            state=GateState.BLOCKED,
            actual=texts.runner_broken(broken),
            wanted=texts.RUNNER_WANTED,
            who=texts.RUNNER_WHO,
        )
    if proposal.unrenderable:
        return Gate(
            name="rendered",
            state=GateState.BLOCKED,
            actual=texts.unrenderable(proposal.unrenderable),
            wanted=texts.UNRENDERABLE_WANTED,
            who=texts.RENDER_WHO,
        )
    if proposal.unrendered and push_refused:
        return Gate(
            name="rendered",
            state=GateState.BLOCKED,
            actual=texts.not_rendered(proposal.unrendered, push_refused),
            wanted=texts.PUSH_WANTED,
            who=texts.PUSH_WHO,
        )
    if proposal.unrendered:
        return Gate(
            name="rendered",
            state=GateState.BLOCKED,
            actual=texts.not_rendered(proposal.unrendered),
            wanted=texts.render_wanted(bot_pushes=bot_pushes),
            who=texts.RENDER_WHO,
        )
    return Gate(name="rendered", state=GateState.HOLDS, actual=texts.IS_RENDERED)


def _validated(proposal: Proposal) -> Gate:
    findings = [
        *(f for f in proposal.content.configuration if f.severity is Severity.ERROR),
        *(f for v in proposal.verdicts for f in v.blocking),
    ]
    if findings:
        return Gate(
            name="valid",
            state=GateState.BLOCKED,
            actual=texts.blocking_findings(len(findings)),
            wanted=texts.FINDINGS_WANTED,
            who=texts.FINDINGS_WHO,
        )
    return Gate(name="valid", state=GateState.HOLDS, actual=texts.IS_VALID)


def _ready(proposal: Proposal) -> list[Gate]:
    """The readiness gates of Kptfiles; no gate where no package has any."""
    waits = [(v.package, each) for v in proposal.verdicts for each in v.readiness]
    if not waits:
        return []
    missing = [(package, each) for package, each in waits if not each.holds]
    if not missing:
        return [Gate(name="ready", state=GateState.HOLDS, actual=texts.is_ready(len(waits)))]
    return [
        Gate(
            name="ready",
            state=GateState.BLOCKED,
            actual=texts.not_ready(missing),
            wanted=texts.READY_WANTED,
            who=texts.READY_WHO,
        )
    ]


def _up_to_date(facts: Facts, proposal: Proposal) -> Gate:
    outdated = [t for t in proposal.content.touched if t.outdated]
    base_ref, update = proposal.place.base_ref, proposal.lookups.update
    if outdated:
        return Gate(
            name="up to date",
            state=GateState.BLOCKED,
            actual=updates.outdated(outdated, base_ref, update),
            wanted=updates.wanted(base_ref, update, command=facts.may_push),
            who=texts.UP_TO_DATE_WHO,
        )
    return Gate(
        name="up to date",
        state=GateState.HOLDS,
        actual=texts.is_up_to_date(base_ref),
    )


def _merges_as_shown(facts: Facts, proposal: Proposal) -> list[Gate]:
    """What the merge would do beside what everybody sees; no gate where it does nothing."""
    if proposal.content.effect.clean:
        return []
    base_ref, update = proposal.place.base_ref, proposal.lookups.update
    return [
        Gate(
            name="merge result",
            state=GateState.BLOCKED,
            actual=texts.merge_effect(proposal.content.effect, base_ref),
            wanted=updates.wanted(base_ref, update, command=facts.may_push),
            who=texts.UP_TO_DATE_WHO,
        )
    ]


def _authors(proposal: Proposal) -> frozenset[str] | None:
    """Who wrote it; None of a draft of the bot's, whose authors nobody looks for yet."""
    authors = proposal.people.authors
    return None if proposal.place.draft and not authors else authors


def _approved(proposal: Proposal, approvals: Approvals) -> Gate:
    actual = texts.approvals(approvals)
    if approvals.missing:
        return Gate(
            name=texts.APPROVED,
            state=GateState.WAITS,
            actual=actual,
            wanted=texts.approvals_wanted(
                approvals, merged=proposal.place.merged, authors_known=proposal.people.all_known
            ),
            who=texts.approvals_who(approvals, _authors(proposal)),
            leaves=leaves(approvals),
        )
    return Gate(name=texts.APPROVED, state=GateState.HOLDS, actual=actual, leaves=leaves(approvals))


def _fresh(approvals: Approvals, remembered: Memory) -> list[Gate]:
    """Shown only where somebody touched our comments, or we came after the proposal."""
    if approvals.fresh:
        return []
    return [
        Gate(
            name="fresh approval",
            state=GateState.WAITS,
            actual=texts.not_fresh(remembered.tampered),
            wanted=texts.FRESH_WANTED,
            who=texts.FRESH_WHO,
        )
    ]


def _asked(proposal: Proposal, approvals: Approvals, policy: Policy) -> list[Gate]:
    """Somebody has to ask for the merge; no gate where approvals alone do, and after a merge."""
    if policy.auto_merge or proposal.place.merged:
        return []
    asked = [each.person for each in approvals.counted if each.comment]
    if asked:
        return [Gate(name="asked", state=GateState.HOLDS, actual=texts.asked(asked))]
    return [
        Gate(
            name="asked",
            state=GateState.WAITS,
            actual=texts.NOT_ASKED,
            wanted=texts.ASKED_WANTED,
            who=texts.FRESH_WHO,
        )
    ]


def _unopposed(approvals: Approvals) -> Gate:
    if approvals.objections:
        return Gate(
            name="no objection",
            state=GateState.BLOCKED,
            actual=texts.objections(approvals.objections),
            wanted=texts.OBJECTION_WANTED,
            who=people(approvals.objections),
        )
    return Gate(name="no objection", state=GateState.HOLDS, actual=texts.NO_OBJECTION)


def _reviewed(proposal: Proposal) -> list[Gate]:
    """The native reviews that the base branch's own rules require; no gate where they ask for none.

    An `/approve` is none of these, and the bot reviews in nobody's name.
    """
    decision = proposal.talk.decision
    if decision is None or proposal.place.merged:
        return []
    if decision is ReviewDecision.APPROVED:
        return [Gate(name=reviews.REVIEWED, state=GateState.HOLDS, actual=reviews.IS_REVIEWED)]
    asked = decision is not ReviewDecision.REQUIRED
    given = sum(
        1 for each in latest_reviews(proposal).values() if each.state is ReviewState.APPROVED
    )
    return [
        Gate(
            name=reviews.REVIEWED,
            state=GateState.BLOCKED if asked else GateState.WAITS,
            actual=reviews.REVIEW_OBJECTS
            if asked
            else reviews.not_reviewed(given, proposal.talk.reviews_required),
            wanted=reviews.reviews_wanted(proposal.place.base_ref),
            who=reviews.REVIEW_WHO,
        )
    ]


def _not_held(remembered: Memory) -> Gate:
    if remembered.holds:
        return Gate(
            name="no hold",
            state=GateState.BLOCKED,
            actual="; ".join(texts.held(hold.person, hold.reason) for hold in remembered.holds),
            wanted=texts.HOLD_WANTED,
            who=texts.HOLD_WHO,
        )
    return Gate(name="no hold", state=GateState.HOLDS, actual=texts.NO_HOLD)


def _others(proposal: Proposal) -> list[Gate]:
    """Checks of others that the base branch requires, one gate each."""
    if proposal.place.merged:
        return []
    return [
        Gate(name=texts.CHECK + check.name, state=GateState.HOLDS, actual=texts.CHECK_PASSED)
        if check.state is CheckState.SUCCESS
        else Gate(
            name=texts.CHECK + check.name,
            state=GateState.BLOCKED if check.state is CheckState.FAILURE else GateState.WAITS,
            actual=texts.check_state(check.state, check.name),
            wanted=texts.check_wanted(check.name),
            who=texts.check_who(check.name),
        )
        for check in proposal.merging.required
    ]


def _mergeable(proposal: Proposal) -> list[Gate]:
    """Shown only where the forge was asked to merge and did not."""
    wait = proposal.merging.wait
    if proposal.place.merged:
        return []
    if proposal.merging.in_queue:
        actual = texts.in_queue(proposal.place.base_ref)
        return [Gate(name="merge queue", state=GateState.HOLDS, actual=actual)]
    if wait is None:
        return []
    return [
        Gate(
            name="mergeable",
            state=GateState.BLOCKED if wait.given_up else GateState.WAITS,
            actual=texts.merge_failed(wait),
            wanted=texts.merge_wanted(wait),
            who=texts.merge_who(wait),
            cause=wait.obstacle,
        )
    ]


def _taggable(proposal: Proposal) -> list[Gate]:
    """What keeps tags from being made, or has become of them; no gate where nothing has."""
    remaining = [t for t in proposal.content.touched if not t.removed]
    gates = [
        Gate(
            name=f"tag {names.spelled(t.package, t.revision)}",
            state=GateState.BLOCKED,
            actual=texts.tag_lost(t, t.tagging.lost) if t.tagging.lost else texts.tag_clash(t),
            wanted=(texts.tag_restored(t) if t.tagging.lost else texts.clash_removed(t.tagging)),
            who=texts.TAG_WHO,
        )
        for t in remaining
        if t.tagging.lost or t.tagging.clash
    ]
    gates += [
        Gate(
            name=f"tag {other.name}",
            state=GateState.BLOCKED,
            actual=texts.tag_of_another_bot(other.name),
            wanted=texts.ONE_BOT,
            who=texts.TAG_WHO,
        )
        for t in remaining
        for other in t.tagging.foreign
        if other.marked and not t.tagged
    ]
    gates += [
        Gate(
            name=f"tag {each.name}",
            state=GateState.BLOCKED,
            actual=texts.tag_stays(each),
            wanted=texts.tag_named(each, merged=proposal.place.merged),
            who=texts.TAG_WHO,
        )
        for each in proposal.content.withdrawals
        if each.stuck and not each.done
    ]
    wait = proposal.merging.wait
    if proposal.place.merged and wait is not None and not proposal.once_published:
        going = any(each.goes for each in proposal.content.ledger)
        gates.append(
            Gate(
                name="tag",
                state=GateState.BLOCKED,
                actual=texts.tag_refused(wait.reason),
                wanted=texts.TAG_DELETABLE if going else texts.TAG_ALLOWED,
                who=texts.MERGE_WHO,
            )
        )
    return gates
