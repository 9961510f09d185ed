"""Who made commits, as GitHub's answers tell it."""

from typing import Any

import pytest

from bot.forges.coauthors import coauthors
from bot.forges.github.branches import move_of
from bot.forges.github.people import made_by, role_of
from lifecycle.access import Role

A = "a" * 40


def commit(
    author: str | None, committer: str | None, *, message: str = "x", by: str = "a@corp.example"
) -> dict[str, Any]:
    return {
        "sha": "a" * 40,
        "author": {"login": author} if author else None,
        "committer": {"login": committer} if committer else None,
        "commit": {
            "author": {"name": "A", "email": f"{author}@corp.example"},
            "committer": {"name": "C", "email": by},
            "message": message,
        },
    }


def test_the_forge_is_a_committer_that_makes_nobody_unknown() -> None:
    """The short-cut takes a committer without an account for an unknown person."""
    given = [
        commit("ann", "web-flow", by="noreply@github.com"),
        commit("ann", None, by="noreply@forge.example"),
        commit("ann", None, by="somebody@corp.example"),
        commit(None, "bob"),
    ]

    assert [(m.author, m.committer) for m in made_by(given)] == [
        ("ann", ""),
        ("ann", ""),
        ("ann", None),
        (None, "bob"),
    ]


def test_an_address_is_known_from_the_other_commits() -> None:
    given = [
        commit("ann", "web-flow"),
        commit("bob", "bob", message="x\n\nCo-authored-by: A <ANN@corp.example>"),
    ]

    assert [set(m.coauthors) for m in made_by(given)] == [set(), {"ann"}]


def test_accounts_are_told_with_logins() -> None:
    """The short-cut keeps logins alone, which people change and exchange."""
    given = [
        commit("ann", "web-flow") | {"author": {"login": "ann", "id": 7}},
        commit("bob", "bob", message="x\n\nCo-authored-by: E <9+eve@users.noreply.github.com>")
        | {"author": {"login": "bob", "id": 8}},
        commit("bob", "bob", message="x\n\nCo-authored-by: A <ann@corp.example>"),
    ]

    assert [set(m.accounts) - {0} for m in made_by(given)] == [{7}, {8, 9}, {7}]


@pytest.mark.parametrize(
    ("account", "user", "expected"),
    [
        (7, {"id": 7}, Role.WRITE),
        (7, {"id": 8}, Role.NONE),
        (0, {"id": 8}, Role.WRITE),
        (7, None, Role.WRITE),
    ],
)
def test_the_role_of_a_login_that_changed_hands_is_no_role(
    account: int, user: dict[str, int] | None, expected: Role
) -> None:
    """The short-cut asks for the login: whoever took over an approver's old one has a role."""
    assert role_of({"permission": "write", "user": user}, account) is expected


MESSAGES: dict[str, tuple[str, set[str]]] = {
    "a private address": ("x\n\nCo-authored-by: E <123+eve@users.noreply.github.com>", {"eve"}),
    "an old private address": ("x\n\nCo-authored-by: E <eve@users.noreply.github.com>", {"eve"}),
    "an address that another commit tells": ("x\n\nCo-Authored-By: A <Ann@corp.example>", {"ann"}),
    "an address without an account": ("x\n\nCo-authored-by: Q <q@corp.example>", set()),
    "an app": ("Co-authored-by: r <1+dep[bot]@users.noreply.github.com>\r", {"dep[bot]"}),
    "two of them": (
        "x\n\nco-authored-by: A <ann@corp.example>\n"
        "co-authored-by: E <1+eve@users.noreply.github.com>",
        {"ann", "eve"},
    ),
    "in the middle of a sentence": (
        "not Co-authored-by: E <1+eve@users.noreply.github.com>", set(),
    ),
    "an address that only looks private": ("Co-authored-by: E <1+eve@users.noreply>", set()),
}  # fmt: skip


@pytest.mark.parametrize(("message", "expected"), MESSAGES.values(), ids=MESSAGES)
def test_coauthors(message: str, expected: set[str]) -> None:
    found = coauthors(message, {"ann@corp.example": ("ann", 7)})

    assert {login for login, _ in found} == expected
    assert {number for login, number in found if login == "ann"} <= {7}


def test_a_machine_has_no_role() -> None:
    """Fails when the forge's answer about an App is believed: its login alone tells it no more."""
    app = {"permission": "admin", "role_name": "admin", "user": {"id": 7, "type": "Bot"}}

    assert role_of(app, 7) is Role.NONE
    assert role_of({**app, "user": {"id": 7, "type": "User"}}, 7) is Role.ADMIN


def test_who_pushes_for_anybody_is_told() -> None:
    """Fails when a workflow's push counts as a person's: anybody who can push can write one."""
    data = {"before": A, "after": A, "timestamp": "2026-11-21T12:00:00Z", "activity_type": "push"}

    for login in ("github-actions[bot]", "ann"):
        move = move_of({**data, "actor": {"login": login, "id": 7}})
        assert (move.actor, move.anybodys) == (login, login != "ann")


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
    assert role_of({"permission": permission, "role_name": name}, 0) is expected
