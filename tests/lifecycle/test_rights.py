"""Who may do what, walked over every command, role and authorship."""

import pytest

from lifecycle.access import Person, Role, RoleSource, UserSource
from lifecycle.commands.table import TABLE
from lifecycle.messages import rights as texts
from lifecycle.policy import ApproveRule, Policy
from lifecycle.rights import (
    APPROVERS,
    WRITERS_OR_AUTHOR,
    Allowed,
    Reason,
    Refused,
    Right,
    authorise,
)

ANN = Person(1, "ann", bot=False)
DEFAULT = Policy()

AUTHOR_OR_WRITE = ("RTWMA", "WMA")
READ = ("RTWMA", "RTWMA")
WRITE = ("WMA", "WMA")

EXPECTED: dict[str, tuple[str, str]] = {
    # command: roles that may as an author (or who set the hold), roles that may as somebody else
    "propose": AUTHOR_OR_WRITE,
    "approve": ("", "WMA"),
    "unapprove": READ,
    "reject": AUTHOR_OR_WRITE,
    "render": WRITE,
    "rebase": WRITE,
    "check": AUTHOR_OR_WRITE,
    "hold": AUTHOR_OR_WRITE,
    "unhold": AUTHOR_OR_WRITE,
    "why": READ,
    "help": READ,
}


def _right(word: str) -> Right:
    row = TABLE.named(word)
    assert row is not None
    return row.right


LETTERS = dict(zip("-RTWMA", Role, strict=True))


def test_being_the_author_never_stands_for_write_access() -> None:
    """Short-cut refused: `is_author or role >= WRITE` for every action.

    Somebody who can only read may open a pull request between two branches of others, and is its
    author then.
    """
    verdict = authorise(ANN, APPROVERS, role=Role.READ, own=True, policy=DEFAULT)

    assert isinstance(verdict, Refused)
    assert verdict.reason is Reason.ROLE
    assert (texts.needed(verdict), texts.actual(verdict)) == ("write access", "read access")


@pytest.mark.parametrize("is_author", [True, False], ids=["author", "other"])
@pytest.mark.parametrize("role", Role, ids=str)
@pytest.mark.parametrize("word", TABLE.words)
def test_every_command_role_and_authorship(word: str, role: Role, is_author: bool) -> None:
    letters = EXPECTED[word][0 if is_author else 1]
    expected = role in {LETTERS[letter] for letter in letters}

    verdict = authorise(ANN, _right(word), role=role, own=is_author, policy=DEFAULT)

    assert isinstance(verdict, Allowed) == expected


@pytest.mark.parametrize("word", TABLE.words)
def test_a_machine_may_do_nothing_whatever_its_role(word: str) -> None:
    bot = Person(7, "renovate[bot]", bot=True)

    verdict = authorise(bot, _right(word), role=Role.ADMIN, own=False, policy=DEFAULT)

    assert isinstance(verdict, Refused)
    assert verdict.reason is Reason.BOT
    # Of whom only the login is kept, the forge tells that it has no role.
    assert isinstance(
        authorise(bot.login, APPROVERS, role=Role.NONE, own=False, policy=DEFAULT), Refused
    )


RULES: dict[str, tuple[ApproveRule, str, Role, bool, Allowed | Reason]] = {
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
    ("rule", "login", "role", "is_author", "expected"), RULES.values(), ids=RULES
)
def test_approve(
    rule: ApproveRule, login: str, role: Role, is_author: bool, expected: Allowed | Reason
) -> None:
    policy = Policy(approve=rule)

    verdict = authorise(login, APPROVERS, role=role, own=is_author, policy=policy)

    assert (verdict.reason if isinstance(verdict, Refused) else verdict) == expected


def test_a_refusal_says_what_it_takes_and_what_there_is() -> None:
    policy = Policy(approve=ApproveRule(sources=(UserSource("bob"), RoleSource(Role.ADMIN))))

    propose = authorise(ANN, WRITERS_OR_AUTHOR, role=Role.READ, own=False, policy=policy)
    approve = authorise(ANN, APPROVERS, role=Role.NONE, own=False, policy=policy)

    assert isinstance(propose, Refused)
    assert isinstance(approve, Refused)
    assert texts.needed(propose) == "being the author, or write access"
    assert texts.actual(propose) == "read access"
    assert texts.needed(approve) == "admin access or the login `bob`"
    assert texts.actual(approve) == "no access"
    assert not propose.is_author


def test_who_may_approve_without_a_configuration_at_hand() -> None:
    assert texts.right(APPROVERS).startswith("whoever `access.approve` names")
    assert texts.approvers(DEFAULT.approve.sources) == "write access"
