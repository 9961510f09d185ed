"""Who made commits, as GitHub's answers tell it."""

from typing import Any

import pytest

from bot.forges.github.people import made_by, role_of
from lifecycle.access import Role


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
