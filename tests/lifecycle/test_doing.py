"""What the bot would do, in words: every kind of action has a phrase of its own."""

from typing import get_args

import pytest

from cadlib.package.files import Entry
from lifecycle import names
from lifecycle.actions import (
    Action,
    AskPublish,
    CloseProposal,
    DeleteBranch,
    DeleteTag,
    Dequeue,
    Forget,
    Keep,
    KeepFreezes,
    MakeRelease,
    MarkRelease,
    Merge,
    OpenProposal,
    PushDraft,
    PushRender,
    PushUpdate,
    React,
    Reaction,
    RemoveDouble,
    Reply,
    Restore,
    Say,
    SetCheck,
    SetDraft,
    SetLabels,
    SetTitle,
    Suggest,
    Tag,
)
from lifecycle.facts.checks import Conclusion, Status
from lifecycle.messages.doing import phrase
from lifecycle.policy import MergeMethod
from tests.lifecycle.samples import BASE, HEAD, MERGE, NOW, TREE

TAG = names.tag("net/core", 5)
CHECK = SetCheck(
    head=HEAD,
    name="porchbot/render",
    status=Status.COMPLETED,
    conclusion=Conclusion.FAILURE,
    title="`net/core` is not rendered",
    summary="",
    annotations=(),
    digest="",
    run=None,
)
MERGED = Merge(
    number=7,
    head=HEAD,
    base=BASE,
    base_ref="main",
    method=MergeMethod.MERGE,
    title="",
    message="",
)

PHRASES: list[tuple[Action, str]] = [
    (
        PushRender(head_ref="drafts/a", head=HEAD, changes={"a": b""}, message=""),
        "commit the rendering to drafts/a (1 file)",
    ),
    (
        PushUpdate(head_ref="drafts/a", head=HEAD, base=BASE, files={}, message=""),
        "merge the base branch into drafts/a",
    ),
    (
        OpenProposal(head_ref="drafts/a", base_ref="main", title="Add a", body=""),
        "open a draft pull request for drafts/a: Add a",
    ),
    (
        PushDraft(
            head_ref="deletionProposed/net/core/v1",
            tip="",
            base=MERGE,
            files={".porchbot/ledger/net/core.yaml": Entry(b"")},
            message="",
            asked=1,
            asker="ann",
        ),
        "commit .porchbot/ledger/net/core.yaml to deletionProposed/net/core/v1",
    ),
    (SetDraft(7, draft=True), "turn the pull request into a draft"),
    (SetDraft(7, draft=False), "mark it ready for review"),
    (CloseProposal(7), "close #7"),
    (SetTitle(7, "Update a"), "give #7 the title: Update a"),
    (SetLabels(7, ("new",), ("old", "older")), "labels: add new; remove old, older"),
    (CHECK, "show the check porchbot/render (failure): net/core is not rendered"),
    (Say(7, None, "", {}), "write the summary comment"),
    (Say(7, 3, "", {}), "edit the summary comment"),
    (Restore(1, 3, "", {}), "restore an answer of the bot that somebody edited"),
    (RemoveDouble(7, 3), "delete a comment of the bot that says the same twice"),
    (Keep(7), "update what the bot remembers"),
    (Forget(7, ()), "update what the bot remembers"),
    (KeepFreezes(frozenset()), "remember what was frozen or thawed for the whole repository"),
    (Reply(7, "\n**No**: `/approve`\nmore", {}), "answer: **No**: /approve"),
    (React(1, 3, Reaction.DONE), "react to a comment: done"),
    (Suggest(number=7, head=HEAD, body="", suggestions=()), "write a review with 0 suggestions"),
    (
        AskPublish(base_ref="main", number=7),
        "publish #7: merge it into main, unless it is merged, and tag it",
    ),
    (MERGED, "merge #7 into main"),
    (Dequeue(7, HEAD), "take #7 out of the merge queue"),
    (Tag(ref=TAG, target=MERGE, tree=TREE, number=7, message="", at=NOW), "tag net/core/v5"),
    (
        DeleteTag(ref=TAG, object=HEAD, number=7, target=MERGE),
        "delete the tag net/core/v5 of a withdrawn revision",
    ),
    (
        MakeRelease(number=7, tag="net/core/v5", title="", body=""),
        "make a release of net/core/v5",
    ),
    (
        MarkRelease(number=7, tag="net/core/v5", mark="deprecated", note=""),
        "mark the release of net/core/v5 as deprecated",
    ),
    (DeleteBranch("drafts/a", HEAD), "delete the branch drafts/a"),
]


@pytest.mark.parametrize(("action", "said"), PHRASES, ids=[said for _, said in PHRASES])
def test_an_action_in_words(action: Action, said: str) -> None:
    """Fails when an action is told by its class, or by somebody's text with control characters."""
    assert phrase(action) == said


def test_every_kind_of_action_is_told() -> None:
    """Fails when a new one has no row here."""
    assert {type(action) for action, _ in PHRASES} == set(get_args(Action))
