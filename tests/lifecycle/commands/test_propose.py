"""`/propose`, of a draft as it is or as it was shown."""

from lifecycle.actions import Reply, SetDraft
from lifecycle.decide import decide
from tests.lifecycle.samples import AUTHOR, PROPOSAL, changed, facts, said


def test_a_draft_that_moved_is_not_proposed() -> None:
    """The short-cut proposes whatever is there by then."""
    draft = changed(PROPOSAL, draft=True)
    here, moved = (
        decide(facts(changed(draft, comments=(said(AUTHOR, f"/propose {commit}"),))))
        for commit in (PROPOSAL.place.head, "f" * 40)
    )

    assert SetDraft(PROPOSAL.place.number, draft=False) in here
    assert not [each for each in moved if isinstance(each, SetDraft)]
    (reply,) = [each for each in moved if isinstance(each, Reply)]
    assert reply.body == (
        f"@author `/propose` refused: you named `ffffffffff`, and the draft now is at"
        f" `{PROPOSAL.place.head[:10]}`. Review that and propose again."
    )
