"""What is so once a decision was carried out that only shows: no forge need be asked for that.

Checks, the summary, labels and what the database keeps of it follow from what was read. Where
nobody has said anything yet, nothing follows from them that would have to be read, so the decision
goes on from here in place of a second look. What people do meanwhile wakes the next one (ADR 77).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from lifecycle import quiet
from lifecycle.actions import Action, Keep, Say, SetCheck, SetLabels
from lifecycle.facts.checks import CheckRun
from lifecycle.facts.conversation import Comment, Discussion, Written
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal, Stage
from lifecycle.records import JSON


def shown(facts: Facts, actions: Iterable[Action]) -> Facts | None:
    """Return the facts as they are once actions were carried out.

    Args:
        facts: What was decided on.
        actions: What was done, all of it.

    Returns:
        None where something is among them of which the forge has to tell what came of it, where
        somebody said something, and for what is closed, observed or still rendered.
    """
    if facts.pending or facts.watched or facts.rerun or not facts.proposals:
        return None
    if not all(_is_settled(facts, p) for p in facts.proposals):
        return None
    for action in actions:
        match action:
            case SetCheck():
                facts = _checked(facts, action)
            case Say() | SetLabels() | Keep():
                facts = replace(facts, proposals=tuple(_told(p, action) for p in facts.proposals))
            case _:
                return None
    return facts


def _is_settled(facts: Facts, p: Proposal) -> bool:
    """Tell whether it is a draft that forge and git show alike, and nobody has a word in it yet.

    For what is proposed more is read by what its checks say. A commit that the forge made may be in
    no mirror yet.
    """
    return p.stage is Stage.DRAFT and facts.head == p.place.head and quiet.is_untouched(p)


def _checked(facts: Facts, action: SetCheck) -> Facts:
    """With a check run; one that is new has a number that no run has."""
    number = action.run or max((run.id for run in facts.checks.values()), default=0) + 1
    now = max((p.times.looked_at for p in facts.proposals if p.times.looked_at), default=None)
    run = CheckRun(
        id=number,
        name=action.name,
        status=action.status,
        conclusion=action.conclusion,
        digest=action.digest,
        completed_at=now if action.conclusion else None,
    )
    return replace(facts, checks={**facts.checks, action.name: run})


def _told(p: Proposal, action: Say | SetLabels | Keep) -> Proposal:
    """A proposal with what was done to it."""
    if action.number != p.place.number:
        return p
    match action:
        case Say(_, comment, body, record):
            return replace(p, talk=_said(p, comment, body, record))
        case SetLabels(_, add, remove):
            labels = (p.place.labels or frozenset()) - {*remove} | {*add}
            return replace(p, place=replace(p.place, labels=labels))
        case Keep(_, log, written, gone):
            known = {**p.talk.written, **written}
            talk = replace(
                p.talk,
                kept=p.talk.kept | log,
                written={number: each for number, each in known.items() if number not in gone},
                missing=tuple(number for number in p.talk.missing if number not in gone),
            )
            return replace(p, talk=talk)


def _said(p: Proposal, comment: int | None, body: str, record: Mapping[str, JSON]) -> Discussion:
    """The conversation with the summary; a new one has the next number, and is written down."""
    talk = p.talk
    if comment is not None:
        answers = (
            replace(c, body=body, records=(record,), altered=False) if c.id == comment else c
            for c in talk.answers
        )
        return replace(talk, answers=tuple(answers))
    at = p.times.looked_at or p.times.installed_at
    number = talk.newest_comment + 1
    ours = Comment(
        id=number,
        author=replace(p.people.author, login=p.people.us),
        body=body,
        at=at,
        ours=True,
        records=(record,),
        summary=True,
    )
    written = {**talk.written, number: Written()}
    return replace(talk, answers=(*talk.answers, ours), written=written)
