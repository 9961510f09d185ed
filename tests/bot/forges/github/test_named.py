"""Whom rules name, and who of them cannot write."""

from dataclasses import replace

from bot.forges.github.named import MOST, RuleActors, named, without_access
from lifecycle.access import AccessAction, Role, TeamSource, UserSource
from lifecycle.policy import AccessRule, PathAccess, Policy


def test_people_and_teams_are_found_wherever_they_are_named() -> None:
    """Fails when only the rule of approvals is looked at."""
    policy = Policy(
        approve=AccessRule(sources=(UserSource("Ann"), TeamSource("net"))),
        configure=AccessRule(sources=(UserSource("bob"),)),
        access={AccessAction.REJECT: AccessRule(sources=(UserSource("ann"), UserSource("cid")))},
        paths=(
            PathAccess("net", {AccessAction.APPROVE: AccessRule(sources=(TeamSource("edge"),))}),
        ),
    )

    assert named(policy) == RuleActors(("ann", "bob", "cid"), ("edge", "net"), 0)
    many = tuple(UserSource(f"u{n}") for n in range(MOST + 3))
    assert named(replace(policy, approve=AccessRule(sources=many))).left == 6


def test_who_cannot_write_is_said_and_what_cannot_be_read() -> None:
    """Fails when what cannot be read passes for access, or for none."""
    roles = [("ann", Role.WRITE), ("bob", Role.READ), ("cid", None)]
    teams = [("net", True), ("edge", False), ("ops", None)]

    lacking, hidden = without_access("acme/blueprints", roles, teams, 2)

    assert lacking.found == "named without write access: @bob, team edge"
    assert hidden.found == (
        "nobody could read the access of @cid, team ops, 2 more people and teams"
    )
    assert (lacking.harmful, hidden.harmful) == (False, False)
    assert not [*without_access("acme/blueprints", roles[:1], teams[:1], 0)]
