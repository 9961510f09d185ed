"""Releases at the forge, made for tags of ours where the configuration asks for them.

Rules:

1. A release follows its tag and decides nothing: what is published is what is tagged.
2. It is made once. That it was there is remembered, so that who deletes it does not get it again.
3. It is never the repository's "latest": several packages share that.
4. That of a revision which nobody should use says so, whoever made it, until that is taken back.
"""

from lifecycle import names
from lifecycle.actions import MakeRelease, MarkRelease
from lifecycle.events import LedgerKept, Noticed
from lifecycle.facts.head import Facts
from lifecycle.facts.packages import Touched
from lifecycle.facts.proposal import Proposal, Stage
from lifecycle.ledger import LedgerChange
from lifecycle.memory import Memory
from lifecycle.messages import release as texts
from lifecycle.policy import Policy


def due(proposal: Proposal, remembered: Memory) -> tuple[Touched, ...]:
    """Return the packages of a published proposal of whose tags no release was seen yet."""
    policy = proposal.rules.policy
    if not (isinstance(policy, Policy) and policy.release and proposal.stage is Stage.PUBLISHED):
        return ()
    told = {event.occasion for event in remembered.log if isinstance(event, Noticed)}
    return tuple(
        t
        for t in proposal.content.touched
        if not t.removed
        and not t.tagging.withdrawn
        and t.tagging.within is None
        and _occasion(names.spelled(t.package, t.revision)) not in told
    )


def seen(proposal: Proposal) -> list[Noticed]:
    """Return what is to be remembered of releases that are there."""
    return [Noticed(occasion=_occasion(each.tag)) for each in proposal.releases.notes if each.there]


def wanted(facts: Facts, proposal: Proposal) -> list[MakeRelease]:
    """Return the releases that are to be made."""
    return [
        MakeRelease(
            number=proposal.place.number,
            tag=each.tag,
            title=texts.title(facts.repository, each),
            body=texts.notes(proposal.place.number, each),
        )
        for each in proposal.releases.notes
        if not each.there
    ]


def to_mark(proposal: Proposal, remembered: Memory) -> tuple[LedgerChange, ...]:
    """Return what a merge deprecated or restored with every gate, until its release says so.

    A withdrawn revision's is marked when its tag goes: without one GitHub shows nobody a release.
    """
    told = {event.occasion for event in remembered.log if isinstance(event, Noticed)}
    kept = {
        (e.package, e.revision)
        for e in remembered.log
        if isinstance(e, LedgerKept) and e.commit == str(proposal.place.merge_commit)
    }
    return tuple(
        each
        for each in proposal.content.ledger
        if (each.package, each.revision) in kept
        and (each.deprecates or each.undeprecates)
        and _marking(each.name) not in told
    )


def marks_seen(proposal: Proposal) -> list[Noticed]:
    """Return what is to be remembered of releases that stand as they should, or are not there."""
    return [Noticed(occasion=_marking(each.tag)) for each in proposal.releases.marks if each.done]


def marked(proposal: Proposal) -> list[MarkRelease]:
    """Return the releases that are to be marked, or whose marks are to go."""
    left = {each.tag for each in proposal.releases.marks if not each.done}
    found = [
        (each, each.before if each.undeprecates else each.after)
        for each in proposal.content.ledger
        if each.name in left
    ]
    return [
        MarkRelease(
            number=proposal.place.number,
            tag=each.name,
            mark=entry.state,
            note=texts.listed(entry),
            off=each.undeprecates,
        )
        for each, entry in found
        if entry is not None
    ]


def _marking(tag: str) -> str:
    return f"deprecated release {tag}"


def _occasion(tag: str) -> str:
    return f"release {tag}"
