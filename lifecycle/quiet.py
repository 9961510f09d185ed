"""Drafts in which nobody has a part yet: what a summary would tell stands in their check.

A comment under each of a thousand drafts that the bot makes is a message to everybody who watches
the repository, and half of what a forge lets a bot create in an hour. Whoever looks at one finds
the same in `porchbot/publish`; the summary is written once somebody has a part in it (ADR 77).
"""

from lifecycle import memory
from lifecycle.events import FirstSeen
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal, Stage
from lifecycle.facts.verdicts import Verdict
from lifecycle.policy import Policy


def is_untouched(proposal: Proposal) -> bool:
    """Tell whether a proposal is open and nobody has said anything about it."""
    talk = proposal.talk
    if proposal.place.closed or talk.said or talk.reviews or talk.pressed or talk.readied:
        return False
    return all(isinstance(event, FirstSeen) for event in memory.read(proposal).log)


def is_quiet(facts: Facts, proposal: Proposal) -> bool:
    """Tell whether a proposal is a variant's draft without trouble, and all of it the bot's.

    Where checks have no room for what the summary tells, or it was written before, it is none.
    """
    people, place = proposal.people, proposal.place
    # What its commits say: of a draft nobody asks the forge who wrote it.
    alone = proposal.content.for_variant and people.us != "" and people.author.login == people.us
    if not alone or not is_untouched(proposal) or proposal.stage is not Stage.DRAFT:
        return False
    if facts.head != place.head or len(facts.open) > 1 or facts.others or facts.push_refused:
        return False
    if facts.line_checks or facts.unshown or not isinstance(proposal.rules.policy, Policy):
        return False
    found = proposal.content
    bad = found.configuration or found.configures or any(map(_is_bad, proposal.verdicts))
    return not bad and not proposal.talk.written and memory.summary_of(proposal) is None


def _is_bad(verdict: Verdict) -> bool:
    return bool(verdict.broken or verdict.blocking or verdict.changes or not verdict.complete)
