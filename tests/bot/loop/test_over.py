"""When a closed proposal needs no look any more."""

from datetime import timedelta

import pytest

from bot.loop.proposal import is_over
from lifecycle.facts.proposal import Proposal
from tests.lifecycle.samples import MERGE, NOW, PROPOSAL, changed

MERGED = changed(PROPOSAL, merged=True, closed=True, merge_commit=MERGE, merged_at=NOW)


@pytest.mark.parametrize(
    ("proposal", "over"),
    [
        (PROPOSAL, False),
        (changed(PROPOSAL, closed=True), True),
        (MERGED, True),
        # Between its merge and its tag: what is left then is for the next look.
        (changed(MERGED, queued=True), False),
    ],
)
def test_what_another_replica_publishes_is_not_over(proposal: Proposal, over: bool) -> None:
    """The short-cut: nothing is left to do here now, so nobody looks again; no summary says so."""
    assert is_over(proposal, NOW + timedelta(days=1)) == over
