"""Who may do what, walked over every action, role and authorship."""

import pytest

from lifecycle.access import (
    Action,
    Allowed,
    Person,
    Reason,
    Refused,
    Role,
    RoleSource,
    UserSource,
    authorise,
    who,
)
from lifecycle.policy import ApproveRule, Policy

ANN = Person(1, "ann", bot=False)
DEFAULT = Policy()

AUTHOR_OR_WRITE = ("RTWMA", "WMA")
READ = ("RTWMA", "RTWMA")

TABLE: dict[Action, tuple[str, str]] = {
    # action: roles that may as an author, roles that may as somebody else
    Action.PROPOSE: AUTHOR_OR_WRITE,
    Action.APPROVE: ("", "WMA"),
    Action.UNAPPROVE: READ,
    Action.REJECT: AUTHOR_OR_WRITE,
    Action.RENDER: AUTHOR_OR_WRITE,
    Action.CHECK: AUTHOR_OR_WRITE,
    Action.HOLD: AUTHOR_OR_WRITE,
    Action.UNHOLD: AUTHOR_OR_WRITE,
    Action.WHY: READ,
    Action.HELP: READ,
}

LETTERS = dict(zip("-RTWMA", Role, strict=True))


def test_being_the_author_never_stands_for_write_access() -> None:
    """Short-cut refused: `is_author or role >= WRITE` for every action.

    Somebody who can only read may open a pull request between two branches of others, and is its
    author then.
    """
    verdict = authorise(ANN, Action.APPROVE, role=Role.READ, is_author=True, policy=DEFAULT)

    assert verdict == Refused(Reason.ROLE, "write access", "read access")


@pytest.mark.parametrize("is_author", [True, False], ids=["author", "other"])
@pytest.mark.parametrize("role", Role, ids=str)
@pytest.mark.parametrize("action", Action)
def test_every_action_role_and_authorship(action: Action, role: Role, is_author: bool) -> None:
    letters = TABLE[action][0 if is_author else 1]
    expected = role in {LETTERS[letter] for letter in letters}

    verdict = authorise(ANN, action, role=role, is_author=is_author, policy=DEFAULT)

    assert isinstance(verdict, Allowed) == expected


@pytest.mark.parametrize("action", Action)
def test_a_machine_may_do_nothing_whatever_its_role(action: Action) -> None:
    bot = Person(7, "renovate[bot]", bot=True)

    for actor in (bot, bot.login):
        verdict = authorise(actor, action, role=Role.ADMIN, is_author=False, policy=DEFAULT)

        assert isinstance(verdict, Refused)
        assert verdict.reason is Reason.BOT


APPROVERS: dict[str, tuple[ApproveRule, str, Role, bool, Allowed | Reason]] = {
    "the named role or a higher one": (
        ApproveRule(sources=(RoleSource(Role.MAINTAIN),)),
        "ann",
        Role.ADMIN,
        False,
        Allowed(),
    ),
    "a lower role than the named one is refused": (
        ApproveRule(sources=(RoleSource(Role.MAINTAIN),)),
        "ann",
        Role.WRITE,
        False,
        Reason.ROLE,
    ),
    "a named person with read access": (
        ApproveRule(sources=(UserSource("Ann"),)),
        "ann",
        Role.READ,
        False,
        Allowed(),
    ),
    "a named person who can no longer read is refused": (
        ApproveRule(sources=(UserSource("ann"),)),
        "ann",
        Role.NONE,
        False,
        Reason.ROLE,
    ),
    "an admin who is not among the named people is refused": (
        ApproveRule(sources=(UserSource("bob"),)),
        "ann",
        Role.ADMIN,
        False,
        Reason.ROLE,
    ),
    "either of several sources": (
        ApproveRule(sources=(UserSource("bob"), RoleSource(Role.TRIAGE))),
        "ann",
        Role.TRIAGE,
        False,
        Allowed(),
    ),
    "an author, where nothing is said": (ApproveRule(), "ann", Role.ADMIN, True, Reason.AUTHOR),
    "an author, where it is allowed": (
        ApproveRule(self_allowed=True),
        "ann",
        Role.WRITE,
        True,
        Allowed(),
    ),
    "nobody at all": (ApproveRule(sources=()), "ann", Role.ADMIN, False, Reason.ROLE),
}


@pytest.mark.parametrize(
    ("rule", "login", "role", "is_author", "expected"), APPROVERS.values(), ids=APPROVERS
)
def test_approve(
    rule: ApproveRule, login: str, role: Role, is_author: bool, expected: Allowed | Reason
) -> None:
    policy = Policy(approve=rule)

    verdict = authorise(login, Action.APPROVE, role=role, is_author=is_author, policy=policy)

    assert (verdict.reason if isinstance(verdict, Refused) else verdict) == expected


def test_a_refusal_says_what_it_takes_and_what_there_is() -> None:
    policy = Policy(approve=ApproveRule(sources=(UserSource("bob"), RoleSource(Role.ADMIN))))

    propose = authorise(ANN, Action.PROPOSE, role=Role.READ, is_author=False, policy=policy)
    approve = authorise(ANN, Action.APPROVE, role=Role.NONE, is_author=False, policy=policy)

    assert propose == Refused(Reason.ROLE, "being the author, or write access", "read access")
    assert approve == Refused(Reason.ROLE, "admin access or the login `bob`", "no access")
    assert not propose.is_author


def test_who_may_approve_without_a_configuration_at_hand() -> None:
    assert who(Action.APPROVE).startswith("whoever `access.approve` names")
    assert who(Action.APPROVE, DEFAULT) == "write access"


ANSWERS: dict[str, tuple[str, str, Role]] = {
    "maintain is told as write": ("write", "maintain", Role.MAINTAIN),
    "triage is told as read": ("read", "triage", Role.TRIAGE),
    "plain write": ("write", "write", Role.WRITE),
    "admin": ("admin", "admin", Role.ADMIN),
    "an outsider of a private repository": ("none", "", Role.NONE),
    "a role of the organisation's own counts as its base": ("write", "release-crew", Role.WRITE),
    "a role of one's own that is called admin": ("read", "admin", Role.READ),
    "no permission, whatever the name": ("none", "admin", Role.NONE),
    "an answer of tomorrow": ("superuser", "superuser", Role.NONE),
    "capitals": ("Write", "Maintain", Role.MAINTAIN),
}


@pytest.mark.parametrize(("permission", "name", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_roles_are_read_from_the_forge(permission: str, name: str, expected: Role) -> None:
    assert Role.read(permission, name) is expected
