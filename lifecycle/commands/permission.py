"""Permission of commands: by the stage of the proposal and the rules of access."""

from dataclasses import replace
from typing import Any

from lifecycle import owners
from lifecycle.access import AccessAction
from lifecycle.commands.spec import CommandRequest, CommandResponse, CommandSpec
from lifecycle.facts.proposal import Proposal
from lifecycle.messages import answers as texts
from lifecycle.messages import boxes as box_texts
from lifecycle.needs import approved
from lifecycle.policy import HARMLESS, UNREAD, BrokenPolicy, Policy, configuring
from lifecycle.rights import (
    REPOSITORY,
    ActionTarget,
    Refused,
    Unsure,
    Verdict,
    authorise,
    facts_of,
    severity,
)


def refusal(
    request: CommandRequest,
    response: CommandResponse,
    row: CommandSpec[Any],
    command: object,
) -> str:
    """Return why stage or right refuse a command; "" when they do not."""
    p = response.proposal
    if p.place.issue and not row.dashboard:
        there = [row.word for row in request.table.rows if row.dashboard]
        where = texts.ON_ANY if row.of_repository else texts.ON_ONE if row.question else ""
        return texts.on_dashboard(row.word, there, where=where)
    if not row.fits(p):
        return texts.wrong_stage(row.word, p.stage)
    if (
        row.action is AccessAction.APPROVE
        and isinstance(p.rules.policy, BrokenPolicy)
        and not p.content.configures
    ):
        return texts.approve_unjudged(p.rules.policy)
    if row.pushes and not request.facts.same_repository:
        return ""  # nothing is pushed there, whoever asks: the command says what to do instead
    found = verdict(request, response, row, command)
    if isinstance(found, Refused):
        unread = isinstance(_rules(p, row), BrokenPolicy) and row.action not in HARMLESS
        refused = texts.access_refused(row.word, found, p)
        return f"{refused} {texts.WHILE_BROKEN}" if unread else refused
    if isinstance(found, Unsure) and row.action is not AccessAction.APPROVE:
        return texts.access_unsure(row.word, found)
    if request.comment.boxed or (p.place.issue and request.comment.button):
        return _in_bulk(request, response, row, command)
    return ""  # an approval nobody can judge yet is kept, and counts once somebody can


def _in_bulk(
    request: CommandRequest,
    response: CommandResponse,
    row: CommandSpec[Any],
    command: object,
) -> str:
    """Why somebody may not give a command by a box of the dashboard; "" where they may."""
    p = response.proposal
    known = _rules(p, row)
    policy = known if isinstance(known, Policy) else UNREAD
    folders = row.about(p)
    asked = folders(request, response, command) if folders else p.content.places
    target = ActionTarget(asked) if asked else REPOSITORY
    found = _authorise(request, response, row, target, policy, AccessAction.BULK)
    if isinstance(found, Refused):
        return box_texts.bulk_refused(row.word, found)
    return texts.access_unsure(row.word, found) if isinstance(found, Unsure) else ""


def from_upstream(
    request: CommandRequest, response: CommandResponse, word: str, package: str, upstream: str
) -> str:
    """Return why somebody may not take a package from an upstream; "" where they may.

    Args:
        request: Who asks.
        response: Where.
        word: The command.
        package: Path of the package that it goes to.
        upstream: As rules of access name it.
    """
    row = request.table.named(word)
    if row is None or not upstream:
        return ""
    p = response.proposal
    rules = p.repository_policy
    policy = rules if isinstance(rules, Policy) else UNREAD
    action = row.action if row.action is AccessAction.UPGRADE else AccessAction.CLONE
    found = _authorise(request, response, row, ActionTarget((package,), upstream), policy, action)
    if isinstance(found, Refused):
        return texts.access_refused(word, found, p)
    return texts.access_unsure(word, found) if isinstance(found, Unsure) else ""


def _rules(p: Proposal, row: CommandSpec[Any]) -> Policy | BrokenPolicy:
    """The rules that a command goes by, as they can be read."""
    return p.repository_policy if row.about(p) is not None else p.rules.policy


def verdict(
    request: CommandRequest,
    response: CommandResponse,
    row: CommandSpec[Any],
    command: object = None,
) -> Verdict:
    """Decide whether the author of the comment may give a command; None for any such command.

    Where the proposal changes rules, whoever may approve that may use `/approve`, whoever approves
    the packages; and of several packages, or folders in them with rules of their own, whoever may
    approve one of them.
    """
    p = response.proposal
    known = _rules(p, row)
    rules = known if isinstance(known, Policy) else UNREAD
    places = p.content.timed if row.action is AccessAction.OVERRIDE else p.content.places
    if p.content.drafted is not None:
        places = (p.content.drafted,)
    if (folders := row.about(p)) is not None:
        places = folders(request, response, command) if command is not None else ()
    if row.action is not AccessAction.APPROVE:
        return _authorise(request, response, row, ActionTarget(places), rules)
    found = [
        _authorise(request, response, row, ActionTarget((place,)), rules, action)
        for place, action, _ in approved(p.content, rules)
    ]
    if p.content.configures:
        changed = configuring(p.rules.policy)
        found.insert(0, _authorise(request, response, row, ActionTarget((owners.RULES,)), changed))
    elif not found:
        found = [_authorise(request, response, row, REPOSITORY, rules)]
    return min(found, key=severity)


def _authorise(
    request: CommandRequest,
    response: CommandResponse,
    row: CommandSpec[Any],
    target: ActionTarget,
    policy: Policy,
    action: AccessAction | None = None,
) -> Verdict:
    holders = {hold.person for hold in response.memory.holds}
    facts = facts_of(response.proposal, policy, holders)
    if (
        row.about(response.proposal) is not None
    ):  # nobody is an author of the repository: asking is no approving
        owners_of = {s.package: s.owned for s in response.proposal.lookups.revisions.values()}
        owned = {**owners_of, **facts.owners}
        facts = replace(facts, authors=frozenset(), owners=owned)
    return authorise(request.comment.author, action or row.action, target, facts)
