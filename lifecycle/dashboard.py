"""Commands on the dashboard issue: what is about the repository is said where it is shown.

They are answered as under a pull request; what is about one is refused, with what means something.
"""

from lifecycle import memory
from lifecycle.actions import Action, Keep
from lifecycle.assess import keep_freezes
from lifecycle.commands import answers
from lifecycle.events import Answered
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.observing import observed
from lifecycle.wording import words


def decide(facts: Facts) -> list[Action]:
    """Return what to do on the dashboard issue, in order; nothing once every comment is answered.

    Args:
        facts: Of the issue, as its only "proposal".
    """
    actions = [
        action
        for issue in facts.proposals
        for action in (_pass_over(issue) if observed(issue) else _decide(facts, issue))
    ]
    return words(actions, facts.terms)


def _pass_over(issue: Proposal) -> list[Action]:
    """What is said while the bot only observes does not count later: the database alone knows."""
    said = answers.pending(issue, memory.read(issue))
    log = frozenset(Answered(comment=comment.id) for comment, _ in said)
    return [Keep(issue.place.number, log)] if log else []


def _decide(facts: Facts, issue: Proposal) -> list[Action]:
    answered = answers.answer(facts, issue, memory.read(issue))
    lacking = answered.memory.log - issue.talk.kept
    return [
        *keep_freezes(facts, answered.memory),
        *answered.actions,
        *([Keep(issue.place.number, lacking)] if lacking else []),
    ]
