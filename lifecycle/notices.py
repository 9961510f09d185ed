"""Notices: comments that tell the people of a proposal once of what no forge notifies them of.

Forges notify about comments and mentions, not about check runs, nor about a summary that was
edited. So a comment is written where somebody other than the author changed how the proposal
stands: it went out of date, or its checks fail after somebody else's push or change of the rules;
and where a change of the rules came into force without the approvals that it needed. Whoever
makes a draft ready and may not is told as well, and who approves where the forge does not tell
what was approved.
A hidden record in each comment names the occasion, so that none is told twice.
"""

from collections.abc import Iterator

from lifecycle import memory, readied
from lifecycle.actions import Reply
from lifecycle.approvals import UNPUBLISHED, approvals_of, too_early, unbound
from lifecycle.authors import owners
from lifecycle.facts.checks import VALIDATE, Conclusion
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal, Stage
from lifecycle.memory import Memory
from lifecycle.messages import notices as texts
from lifecycle.messages import summary
from lifecycle.policy import Policy, configuring
from lifecycle.rights import Refused


def notices(facts: Facts, proposal: Proposal, remembered: Memory) -> list[Reply]:
    """Return the notices that are still to be written."""
    told = memory.noticed(proposal)
    found = {
        occasion: texts.notice(owners(proposal), text)
        for occasion, text in _occasions(facts, proposal, remembered)
    }
    return [
        Reply(
            proposal.place.number,
            text,
            memory.notice_record(occasion, proposal, facts.repository_id),
        )
        for occasion, text in {
            **found,
            **_readied(proposal),
            **_untold(proposal, remembered),
        }.items()
        if occasion not in told
    ]


def _readied(proposal: Proposal) -> dict[str, str]:
    """Who made it ready and may not: told once for each press."""
    press, said = readied.pressed(proposal), readied.verdict(proposal)
    if press is None or not isinstance(said, Refused):
        return {}
    return {press.occasion: texts.notice([press.last.person.login], texts.not_proposed(said))}


def _untold(proposal: Proposal, remembered: Memory) -> dict[str, str]:
    """Who approved what the forge does not tell: asked once for each approval to give it anew."""
    if proposal.stage is not Stage.PROPOSED or not proposal.content.approvable:
        return {}
    return {
        f"untold {review.id}": texts.notice(
            [review.author.login], texts.approval_untold(proposal.place.head)
        )
        for review in unbound(proposal, remembered)
        if not review.head
        and not review.author.bot
        and too_early(proposal, remembered, at=review.at, review=review.id) is None
    }


def _occasions(facts: Facts, proposal: Proposal, remembered: Memory) -> Iterator[tuple[str, str]]:
    """What happened, as a key that stays the same while it is so, and what to say of it."""
    if proposal.content.unpublished and proposal.stage in {Stage.PROPOSED, Stage.MERGED}:
        yield f"{UNPUBLISHED} {proposal.content.unpublished}", summary.unpublished(proposal)
    if proposal.place.merged and proposal.content.configures:
        approvals = approvals_of(
            proposal, configuring(proposal.rules.policy), remembered, rules=True
        )
        if approvals.missing:
            occasion = f"rules {proposal.place.merge_commit}"
            yield occasion, texts.rules_merged(approvals, proposal.place.base_ref)
    if proposal.stage not in {Stage.DRAFT, Stage.PROPOSED} or not proposal.content.touched:
        return
    outdated = [t for t in proposal.content.touched if t.outdated]
    if outdated and not proposal.place.draft:
        left = ",".join(sorted(f"{t.package}@{t.origin[:10]}" for t in outdated))
        command = facts.may_push
        text = texts.went_out_of_date(outdated, proposal.place.base_ref, command=command)
        yield f"outdated {left}", text
    if errors := sum(len(v.blocking) for v in proposal.verdicts):
        yield from _failures(facts, proposal, errors)


def _failures(facts: Facts, proposal: Proposal, errors: int) -> Iterator[tuple[str, str]]:
    run = facts.checks.get(VALIDATE)
    passed = run is not None and run.ours and run.conclusion == Conclusion.SUCCESS
    if passed and isinstance(proposal.rules.policy, Policy):
        occasion = f"failed {proposal.place.head[:10]} {proposal.rules.digest[:10]}"
        yield occasion, texts.fails_now(proposal, errors)
    elif owners(proposal) and proposal.people.pushed_by not in owners(proposal) | {""}:
        yield f"failed {proposal.place.head[:10]}", texts.fails_after_push(proposal, errors)
