"""Which pull requests are those of a branch."""

from dataclasses import replace
from datetime import UTC, datetime

from bot.forges.port import ListedProposal
from bot.look.states import HeadBranch, of_head
from lifecycle.access import Person
from lifecycle.names import Sha

OURS = ListedProposal(
    number=7,
    title="t",
    author=Person(1, "ann", False),
    draft=False,
    open=True,
    head=Sha("a" * 40),
    head_ref="topic",
    head_repository=1,
    base_ref="main",
    merge_commit=None,
    merged_at=None,
    updated_at=datetime(2026, 11, 21, 12, tzinfo=UTC),
)


def test_strangers_among_what_was_listed_are_left_out() -> None:
    """Fails when a list is believed to be filtered: GitHub ignores a `head` without an owner."""
    fork = replace(OURS, number=8, head_repository=2)
    gone = replace(OURS, number=9, head_repository=None)
    other = replace(OURS, number=10, head_ref="main")
    listed = (fork, OURS, gone, other)

    assert of_head(listed, HeadBranch(1, "topic")) == (OURS,)
    assert of_head(listed, HeadBranch(2, "topic")) == (fork,)
