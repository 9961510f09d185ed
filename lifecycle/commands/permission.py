"""Permission of commands: by the stage of the proposal and the right of the person."""

from typing import Any

from lifecycle.access import Role
from lifecycle.commands.spec import CommandRequest, CommandResponse, CommandSpec
from lifecycle.messages import answers as texts
from lifecycle.policy import BrokenPolicy, Policy, configuring
from lifecycle.rights import APPROVERS, Allowed, Own, Refused, authorise


def refusal(request: CommandRequest, response: CommandResponse, row: CommandSpec[Any]) -> str:
    """Return why stage or right refuse a command; "" when they do not."""
    p = response.proposal
    if p.stage not in row.stages:
        return texts.wrong_stage(row.word, p.stage)
    if (
        row.right == APPROVERS
        and isinstance(p.rules.policy, BrokenPolicy)
        and not p.content.configures
    ):
        return texts.approve_unjudged(p.rules.policy)
    if row.pushes and not request.facts.same_repository:
        return ""  # nothing is pushed there, whoever asks: the command says what to do instead
    found = verdict(request, response, row)
    return texts.access_refused(row.word, found, p) if isinstance(found, Refused) else ""


def verdict(
    request: CommandRequest, response: CommandResponse, row: CommandSpec[Any]
) -> Allowed | Refused:
    """Decide whether the author of the comment has the right that a command takes.

    Where the proposal changes rules, whoever may approve that may use `/approve`, whoever approves
    the packages.
    """
    p = response.proposal
    rules = p.rules.policy if isinstance(p.rules.policy, Policy) else Policy()
    if row.right == APPROVERS and p.content.configures:
        found = _authorise(request, response, row, configuring(p.rules.policy))
        if isinstance(found, Allowed) or not p.content.touched:
            return found
    return _authorise(request, response, row, rules)


def _authorise(
    request: CommandRequest, response: CommandResponse, row: CommandSpec[Any], policy: Policy
) -> Allowed | Refused:
    p, author = response.proposal, request.comment.author
    if row.right.own is Own.HOLDER:
        own = any(hold.person == author.login for hold in response.memory.holds)
    else:
        own = author.login in p.people.authors
    role = p.people.roles.get(author.login, Role.NONE)
    return authorise(author, row.right, role=role, own=own, policy=policy)
