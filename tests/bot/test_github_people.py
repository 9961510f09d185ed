"""Who made commits, as GitHub's answers tell it."""

from typing import Any

from bot.github_people import made_by


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
