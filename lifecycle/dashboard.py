"""Commands on the dashboard issue: what is about the repository is said where it is shown.

They are answered as under a pull request; what is about one is refused, with what means something.
"""

from lifecycle import memory
from lifecycle.actions import Action, Keep
from lifecycle.assess import keep_freezes
from lifecycle.commands import answers
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal


def decide(facts: Facts) -> list[Action]:
    """Return what to do on the dashboard issue, in order; nothing once every comment is answered.

    Args:
        facts: Of the issue, as its only "proposal".
    """
    return [
        action
        for issue in facts.proposals
        if not issue.rules.policy.observe
        for action in _decide(facts, issue)
    ]


def _decide(facts: Facts, issue: Proposal) -> list[Action]:
    answered = answers.answer(facts, issue, memory.read(issue))
    lacking = answered.memory.log - issue.talk.kept
    return [
        *keep_freezes(facts, answered.memory),
        *answered.actions,
        *([Keep(issue.place.number, lacking)] if lacking else []),
    ]
