"""Who may do what, walked over every command, role and authorship."""

from unittest.mock import patch

import pytest

from lifecycle import access
from lifecycle.access import (
    AccessAction,
    AppSource,
    AuthorSource,
    BothSource,
    OwnersSource,
    Person,
    Role,
    RoleSource,
    Source,
    Team,
    TeamSource,
    Unreadable,
    UserSource,
    in_both,
)
from lifecycle.commands.table import TABLE
from lifecycle.messages import rights as texts
from lifecycle.policy import AccessRule, PathAccess, Policy
from lifecycle.rights import (
    REPOSITORY,
    AccessFacts,
    ActionTarget,
    Allowed,
    Reason,
    Refused,
    Unsure,
    Verdict,
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
    "freeze": ("MA", "MA"),
    "thaw": ("MA", "MA"),
    "override": ("", "WMA"),  # as who approves, where nothing else is said
    "init": WRITE,
    "clone": WRITE,
    "edit": WRITE,
    "upgrade": WRITE,
    "set": WRITE,
    "eval": WRITE,
    "resolve": WRITE,
    "rollback": ("", "WMA"),  # asking is no approving
    "resume": ("", "WMA"),
    "continue": ("MA", "MA"),
    "delete": ("", "WMA"),  # asking is no approving: see test_doors
    "deprecate": ("", "WMA"),
    "diff": READ,
    "why": READ,
    "help": READ,
}


def _action(word: str) -> AccessAction:
    row = TABLE.named(word)
    assert row is not None
    return row.action


def _asked(
    person: Person,
    action: AccessAction,
    role: Role,
    *,
    own: bool = False,
    policy: Policy = DEFAULT,
) -> Verdict:
    own_ = frozenset({person.login} if own else ())
    facts = AccessFacts(policy=policy, roles={person.login: role}, authors=own_, holders=own_)
    return authorise(person, action, REPOSITORY, facts)


LETTERS = dict(zip("-RTWMA", Role, strict=True))


def test_many_sources_of_two_files_are_united_once_and_without_the_square_of_their_pairs() -> None:
    """Short-cut refused: each of 10,000 pairs compared with each, at each question of a look."""
    above = tuple(TeamSource(f"above-{n}") for n in range(100))
    own = tuple(TeamSource(f"own-{n}") for n in range(100))
    with patch.object(access, "_holds", wraps=access._holds) as compared:
        first = in_both(above, own)
        assert in_both(above, own) is first

    assert len(first) == 10_000
    assert compared.call_count == 0
    assert in_both((RoleSource(Role.WRITE), TeamSource("a")), (TeamSource("a"),)) == (
        TeamSource("a"),
    )


def test_being_the_author_never_stands_for_write_access() -> None:
    """Short-cut refused: `is_author or role >= WRITE` for every action.

    Somebody who can only read may open a pull request between two branches of others, and is its
    author then.
    """
    verdict = _asked(ANN, AccessAction.APPROVE, Role.READ, own=True)

    assert isinstance(verdict, Refused)
    assert verdict.reason is Reason.ROLE
    assert texts.needed(verdict) == "people with write access"
    assert texts.actual(verdict) == "read access"


@pytest.mark.parametrize("is_author", [True, False], ids=["author", "other"])
@pytest.mark.parametrize("role", Role, ids=str)
@pytest.mark.parametrize("word", TABLE.words)
def test_every_command_role_and_authorship(word: str, role: Role, is_author: bool) -> None:
    letters = EXPECTED[word][0 if is_author else 1]
    expected = role in {LETTERS[letter] for letter in letters}

    verdict = _asked(ANN, _action(word), role, own=is_author)

    assert isinstance(verdict, Allowed) == expected


@pytest.mark.parametrize("word", TABLE.words)
def test_a_machine_may_do_nothing_whatever_its_role(word: str) -> None:
    bot = Person(7, "renovate[bot]", bot=True)

    verdict = _asked(bot, _action(word), Role.ADMIN)

    assert isinstance(verdict, Refused)
    assert verdict.reason is Reason.BOT


RULES: dict[str, tuple[AccessRule, str, Role, bool, Allowed | Reason]] = {
    "the named role or a higher one": (
        AccessRule(sources=(RoleSource(Role.MAINTAIN),)),
        "ann",
        Role.ADMIN,
        False,
        Allowed(),
    ),
    "a lower role than the named one is refused": (
        AccessRule(sources=(RoleSource(Role.MAINTAIN),)),
        "ann",
        Role.WRITE,
        False,
        Reason.ROLE,
    ),
    "a named person with read access": (
        AccessRule(sources=(UserSource("Ann"),)),
        "ann",
        Role.READ,
        False,
        Allowed(),
    ),
    "a named person who can no longer read is refused": (
        AccessRule(sources=(UserSource("ann"),)),
        "ann",
        Role.NONE,
        False,
        Reason.ROLE,
    ),
    "an admin who is not among the named people is refused": (
        AccessRule(sources=(UserSource("bob"),)),
        "ann",
        Role.ADMIN,
        False,
        Reason.ROLE,
    ),
    "either of several sources": (
        AccessRule(sources=(UserSource("bob"), RoleSource(Role.TRIAGE))),
        "ann",
        Role.TRIAGE,
        False,
        Allowed(),
    ),
    "an author, where nothing is said": (AccessRule(), "ann", Role.ADMIN, True, Reason.AUTHOR),
    "an author, where it is allowed": (
        AccessRule(self_allowed=True),
        "ann",
        Role.WRITE,
        True,
        Allowed(),
    ),
    "nobody at all": (AccessRule(sources=()), "ann", Role.ADMIN, False, Reason.ROLE),
}


@pytest.mark.parametrize(
    ("rule", "login", "role", "is_author", "expected"), RULES.values(), ids=RULES
)
def test_approve(
    rule: AccessRule, login: str, role: Role, is_author: bool, expected: Allowed | Reason
) -> None:
    policy = Policy(approve=rule)

    verdict = _asked(
        Person(1, login, bot=False), AccessAction.APPROVE, role, own=is_author, policy=policy
    )

    assert (verdict.reason if isinstance(verdict, Refused) else verdict) == expected


def test_a_refusal_says_what_it_takes_and_what_there_is() -> None:
    policy = Policy(approve=AccessRule(sources=(UserSource("bob"), RoleSource(Role.ADMIN))))

    propose = _asked(ANN, AccessAction.PROPOSE, Role.READ, policy=policy)
    approve = _asked(ANN, AccessAction.APPROVE, Role.NONE, policy=policy)

    assert isinstance(propose, Refused)
    assert isinstance(approve, Refused)
    assert texts.needed(propose) == "people with write access or the author"
    assert texts.actual(propose) == "read access"
    assert texts.needed(approve) == "people with admin access or the user `bob`"
    assert texts.actual(approve) == "no access"
    assert not propose.is_author


def test_who_may_approve_without_a_configuration_at_hand() -> None:
    assert texts.right(AccessAction.APPROVE).startswith("those listed in `access.approve`")
    assert texts.named(DEFAULT.approve.sources) == "people with write access"


NET = Team(frozenset({"ann"}))
DARK = Team(None, Unreadable.PERMISSION)
SOURCES: dict[str, tuple[tuple[Source, ...], Person, Role, dict[str, Team], object]] = {
    "a member of the team": ((TeamSource("net"),), ANN, Role.READ, {"net": NET}, Allowed()),
    "a member who can no longer read is refused": (
        (TeamSource("net"),),
        ANN,
        Role.NONE,
        {"net": NET},
        Reason.ROLE,
    ),
    "somebody else is refused": (
        (TeamSource("net"),),
        Person(2, "bob", bot=False),
        Role.ADMIN,
        {"net": NET},
        Reason.ROLE,
    ),
    "of a team that cannot be read nobody can tell": (
        (TeamSource("net"),),
        ANN,
        Role.ADMIN,
        {"net": DARK},
        Unsure,
    ),
    "another source tells all the same": (
        (TeamSource("net"), RoleSource(Role.WRITE)),
        ANN,
        Role.WRITE,
        {"net": DARK},
        Allowed(),
    ),
    "both at once take both": (
        (BothSource((TeamSource("net"), RoleSource(Role.ADMIN))),),
        ANN,
        Role.WRITE,
        {"net": DARK},
        Reason.ROLE,
    ),
    "an App that is named": (
        (AppSource("Renovate"),),
        Person(7, "renovate[bot]", bot=True),
        Role.NONE,
        {},
        Allowed(),
    ),
    "an App where a person is named like it": (
        (UserSource("renovate"), RoleSource(Role.READ)),
        Person(7, "renovate[bot]", bot=True),
        Role.ADMIN,
        {},
        Reason.BOT,
    ),
    "a machine is in no team": (
        (TeamSource("net"),),
        Person(7, "ann", bot=True),
        Role.ADMIN,
        {"net": NET},
        Reason.BOT,
    ),
    "a service account that is named": (
        (UserSource("ci"),),
        Person(8, "ci", bot=True),
        Role.READ,
        {},
        Allowed(),
    ),
}


@pytest.mark.parametrize(
    ("sources", "who", "role", "teams", "expected"), SOURCES.values(), ids=SOURCES
)
def test_sources(
    sources: tuple[Source, ...],
    who: Person,
    role: Role,
    teams: dict[str, Team],
    expected: object,
) -> None:
    """Short-cut refused: a team that cannot be read counts as one without members."""
    policy = Policy(approve=AccessRule(sources=sources))
    facts = AccessFacts(policy=policy, roles={who.login: role}, teams=teams)

    found = authorise(who, AccessAction.APPROVE, REPOSITORY, facts)

    told = found.reason if isinstance(found, Refused) else found
    assert (type(told) if isinstance(told, Unsure) else told) == expected


def test_an_unreadable_team_says_what_is_missing() -> None:
    policy = Policy(approve=AccessRule(sources=(TeamSource("net"),)))
    facts = AccessFacts(policy=policy, roles={"ann": Role.ADMIN}, teams={"net": DARK})

    found = authorise(ANN, AccessAction.APPROVE, REPOSITORY, facts)

    assert isinstance(found, Unsure)
    assert texts.unsure(found) == (
        "the team `net` cannot be read (the App may not read teams: grant it the"
        " organization permission *Members: Read-only*)"
    )


@pytest.mark.parametrize("action", AccessAction, ids=str)
def test_every_package_has_to_allow_it(action: AccessAction) -> None:
    """Short-cut refused: the rule of the first package is asked alone."""
    strict = PathAccess("prod", {action: AccessRule(sources=(RoleSource(Role.ADMIN),))})
    facts = AccessFacts(policy=Policy(paths=(strict,)), roles={"ann": Role.MAINTAIN})
    before = authorise(ANN, action, ActionTarget(("dev/a",)), facts)

    assert not isinstance(before, Refused)
    assert isinstance(authorise(ANN, action, ActionTarget(("dev/a", "prod/b")), facts), Refused)


def test_two_configurations_name_whom_both_name() -> None:
    """Short-cut refused: the union of the sources, or those that are spelled alike only."""
    above = (TeamSource("net"), AppSource("renovate"))
    own = (RoleSource(Role.MAINTAIN), AppSource("renovate"), AuthorSource())

    found = {source.spelling for source in in_both(above, own)}

    assert found == {
        "role:maintain and team:net",
        "author and team:net",
        "app:renovate",
    }
    assert in_both((OwnersSource(),), (OwnersSource(),)) == (OwnersSource(),)
