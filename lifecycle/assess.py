"""The assessment of one proposal: memory read, commands answered, approvals bound, gates judged."""

from dataclasses import dataclass, replace

from lifecycle import memory, releases, upkeep
from lifecycle.actions import Action, KeepFreezes
from lifecycle.approvals import bind, fell
from lifecycle.checks import was_observed
from lifecycle.commands import answers
from lifecycle.events import FirstSeen, LedgerKept, PackagePublished
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.gates import judge
from lifecycle.judgement import Gate, GateState, Judgement
from lifecycle.memory import Memory
from lifecycle.messages import gates as gate_texts
from lifecycle.tags import Tagging, TagLoss


@dataclass(frozen=True, slots=True)
class Assessed:
    """A proposal as it will stand once its commands took effect, with its gates and actions.

    Attributes:
        proposal: As it will stand.
        memory: What is to be remembered then.
        judgement: Its gates.
        actions: Effects and answers of its commands, and the upkeep of the memory.
        render_asked: As in `answers.AfterCommands`.
        render_asker: As there.
        update_asked: As there.
    """

    proposal: Proposal
    memory: Memory
    judgement: Judgement
    actions: tuple[Action, ...]
    render_asked: int
    render_asker: str
    update_asked: int


def assess(facts: Facts, proposal: Proposal) -> Assessed:
    """Answer the commands of a proposal, bind its approvals, and judge its gates."""
    remembered = memory.read(proposal)
    proposal = _recall_tags(proposal, remembered)
    found = remembered.adding(
        *_first_sight(facts, proposal, remembered), *upkeep.tampered(proposal, remembered)
    )
    found = found.adding(*fell(facts, proposal, found))
    over = answers.pass_over(facts, proposal, found) if _watched(facts, proposal) else None
    found = found if over is None else over.memory
    answered = answers.answer(facts, proposal, found)
    kept = answered.memory.adding(*bind(facts, answered.proposal, answered.memory))
    kept = kept.adding(*fell(facts, answered.proposal, kept), *_tagged(proposal))
    kept = kept.adding(*releases.seen(proposal), *releases.marks_seen(proposal))
    judgement = judge(facts, answered.proposal, kept)
    if not upkeep.fits(kept, proposal, facts.repository_id):
        judgement = replace(judgement, gates=(*judgement.gates, _record_full()))
    mended = upkeep.mend(proposal, remembered, found, facts.repository_id)
    after = answered.proposal
    if after.place.merge_commit and not after.once_published and judgement.holds:
        kept = kept.adding(*_removed(after), *_listed(after))
        after = _recall_tags(after, kept)
    return Assessed(
        after,
        kept,
        judgement,
        (
            *mended,
            *keep_freezes(facts, kept),
            *(() if over is None else over.actions),
            *answered.actions,
            *upkeep.keep(after, kept),
        ),
        answered.render_asked,
        answered.render_asker,
        answered.update_asked,
    )


def keep_freezes(facts: Facts, kept: Memory) -> list[KeepFreezes]:
    """Return what was frozen or thawed here, and the database does not know.

    It was asked for now, or lost.
    """
    lacking = kept.freezes - facts.freezes
    return [KeepFreezes(lacking)] if lacking else []


def lost_tags(proposal: Proposal) -> tuple[str, ...]:
    """Packages of a proposal that were published, and whose tags are not there as they were."""
    recalled = _recall_tags(proposal, memory.read(proposal))
    return tuple(t.package for t in recalled.content.touched if t.tagging.lost)


def _removed(proposal: Proposal) -> list[PackagePublished]:
    """Packages that a merge removed with every gate: there is no tag that could tell."""
    commit = str(proposal.place.merge_commit)
    return [
        PackagePublished(package=t.package, revision=0, commit=commit, tag="")
        for t in proposal.content.touched
        if proposal.content.untagged
    ]


def _listed(proposal: Proposal) -> list[LedgerKept]:
    """Entries that a merge wrote with every gate, once the tags that go with them are gone."""
    commit = str(proposal.place.merge_commit)
    return [
        LedgerKept(package=each.package, revision=each.revision, commit=commit)
        for each in proposal.content.ledger
        if not each.goes
    ]


def _tagged(proposal: Proposal) -> list[PackagePublished]:
    """What was published, so that it stays known without the database and without the tag."""
    return [
        PackagePublished(
            package=t.package,
            revision=t.revision,
            commit=str(proposal.place.merge_commit),
            tag=t.tagging.tag,
        )
        for t in proposal.content.touched
        if proposal.place.merged and t.tagged and t.tagging.tag
    ]


def _recall_tags(proposal: Proposal, remembered: Memory) -> Proposal:
    """Packages that were published, and whose tags neither git nor the index knows any more."""
    known = {
        e.package: e
        for e in remembered.log
        if isinstance(e, PackagePublished) and e.commit == str(proposal.place.merge_commit)
    }
    if not known and not proposal.content.ledger:
        return proposal
    touched = tuple(
        replace(t, tagging=_recalled(known[t.package], t.tagging))
        if t.package in known and not t.done
        else t
        for t in proposal.content.touched
    )
    kept = {
        (e.package, e.revision)
        for e in remembered.log
        if isinstance(e, LedgerKept) and e.commit == str(proposal.place.merge_commit)
    }
    ledger = tuple(
        replace(each, done=(each.package, each.revision) in kept)
        for each in proposal.content.ledger
    )
    return replace(proposal, content=replace(proposal.content, touched=touched, ledger=ledger))


def _recalled(published: PackagePublished, now: Tagging) -> Tagging:
    if not published.revision:
        return Tagging(0, tagged=True)
    if published.revision in now.listed:
        return Tagging(published.revision, tagged=True, withdrawn=True)
    return Tagging(published.revision, lost=TagLoss.GONE, tag=published.tag)


def _watched(facts: Facts, proposal: Proposal) -> bool:
    """Whether the bot only observed at its last look at this head, and does not any more."""
    ended = was_observed(facts) and not proposal.rules.policy.observe
    return ended and proposal.times.looked_at is not None and not proposal.place.closed


def _first_sight(facts: Facts, proposal: Proposal, remembered: Memory) -> list[FirstSeen]:
    """Every open proposal is recorded when it is first seen, and whether it was there before us.

    Without any record of ours, of a proposal that is older than our coming, nobody can tell what
    was taken back or held: its approvals are asked for anew (docs/design.md, "Adoption"). So it is
    with what was said while the bot only observed, at each end of that.
    """
    watched = _watched(facts, proposal)
    if (remembered.seen and not watched) or proposal.times.looked_at is None:
        return []
    if proposal.place.closed:
        return []
    fresh = memory.summary_of(proposal) is None
    return [
        FirstSeen(
            at=proposal.times.looked_at,
            adopted=watched or (not remembered.log and _was_here(proposal)),
            comments=proposal.talk.newest_comment,
            reviews=proposal.talk.newest_review,
            head=str(proposal.place.head) if fresh else "",
            mark=proposal.times.head_mark if fresh else "",
        ),
    ]


def _was_here(proposal: Proposal) -> bool:
    """Whether a proposal is older than our coming; by the clocks only where no number is known."""
    if proposal.times.adopted_number is not None:
        return proposal.place.number <= proposal.times.adopted_number
    if proposal.times.opened_at is None or proposal.times.adopted_at is None:
        return False
    opened, adopted = proposal.times.opened_at, proposal.times.adopted_at.replace(microsecond=0)
    # Forges tell whole seconds; what the bot opens in the second of its coming is no older.
    return opened < adopted or (opened == adopted and not proposal.people.author.bot)


def _record_full() -> Gate:
    return Gate(
        name="record",
        state=GateState.BLOCKED,
        actual=gate_texts.RECORD_FULL,
        wanted=gate_texts.RECORD_FULL_WANTED,
        who=gate_texts.RECORD_FULL_WHO,
    )
