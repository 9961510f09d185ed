"""How the branch of a draft stands: what we did there, and whether it may be begun anew."""

from types import SimpleNamespace
from typing import Any

from bot.look import draft_branches
from lifecycle.facts.drafts import DraftKind, DraftRequest, token, token_line
from lifecycle.names import Sha

REQUEST = DraftRequest(kind=DraftKind.EVAL, package="net/core", function="a:v1")
LINE = {"base": (), "ours": ("base",), "merge": ("ours", "base"), "other": ("merge",)}


def reader(tip: str) -> Any:
    """A branch on which somebody merged and pushed after a commit of ours."""

    def commit(sha: str) -> SimpleNamespace:
        return SimpleNamespace(parents=LINE[sha], message=f"Run it\n\n{token_line(5, REQUEST)}\n")

    git = SimpleNamespace(ref=lambda _: tip, contains=lambda _, sha: sha == "base", commit=commit)
    return SimpleNamespace(git=git, made_by_us=lambda sha: sha == "ours")


def test_what_was_done_is_known_below_what_others_pushed() -> None:
    """The short-cut looks at our newest commits alone: a function runs again over their work."""
    for tip, free in (("ours", True), ("merge", False), ("other", False)):
        found = draft_branches.tip(reader(tip), "refs/heads/drafts/net/core/eval", Sha("base"))
        assert found == (tip, free, frozenset({token(5, REQUEST)})), tip
    assert draft_branches.tip(reader("base"), "refs/heads/x", Sha("base")) == (
        "base",
        True,
        frozenset(),
    )
