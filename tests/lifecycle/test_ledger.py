"""The ledger as the bot writes it, what `/delete` in a removal waits for, and what holds it."""

from dataclasses import replace

import pytest

from cadlib import yaml
from lifecycle.access import AccessAction, Role
from lifecycle.actions import PushDraft, React, Reply
from lifecycle.decide import decide
from lifecycle.facts.head import Facts
from lifecycle.ledger import (
    LedgerChange,
    LedgerEntry,
    ListedState,
    ProposedState,
    RemovalState,
    RevisionState,
)
from lifecycle.ledger_files import written
from lifecycle.messages import deletions
from lifecycle.names import Sha
from lifecycle.needs import approved
from lifecycle.policy import Policy
from tests.lifecycle.samples import APPROVER, CORE, PROPOSAL, changed, facts, said
from tests.lifecycle.test_timing import CLOSED, TIMED, frozen, open_gates

GONE = LedgerEntry(ListedState.WITHDRAWN, "broken", "f" * 40)
ENTRY = {"state": "withdrawn", "reason": "broken", "tag": "f" * 40}
TO_BE_WRITTEN: dict[str, bytes | None] = {
    "no file": None,
    "an empty one": b"",
    "blank lines": b"\n\n",
    "a comment": b"# nothing yet\n",
    "a comment without an end": b"# nothing yet",
    "a mark of bytes and a comment": b"\xef\xbb\xbf# nothing yet\n",
    "null": b"null\n",
    "no entries": b"version: 1\nrevisions:\n",
    "another entry": b"revisions: {v1: {state: deprecated, reason: x}}\n",
    "an end of a document": b"---\n...\n",
    "two documents": b"---\nversion: 1\n---\nversion: 1\n",
}


@pytest.mark.parametrize("package", ["net/core", ""])
@pytest.mark.parametrize("file", TO_BE_WRITTEN.values(), ids=TO_BE_WRITTEN)
def test_what_is_written_reads_back_or_is_refused(file: bytes | None, package: str) -> None:
    """The short-cut edits the first document: a file of comments stays, and is pushed for ever."""
    made = written(file, package, {5: GONE})

    if made is None:
        assert file is not None
        assert b"---" in file
        return
    (document,) = yaml.read(made).documents
    assert isinstance(document.value, dict)
    listed = document.value["revisions"]
    assert isinstance(listed, dict)
    found = listed if package else listed["."]
    assert isinstance(found, dict)
    assert found["5"] == ENTRY
    assert (file or b"").count(b"#") <= made.count(b"#")


def asked(**more: object) -> Facts:
    """`/delete` under a pull request that removes a package of two revisions."""
    state = RemovalState(package="net/core", path="ledger", tags={1: "f" * 40}, entries={})
    removing = changed(
        PROPOSAL,
        touched=(replace(CORE, tree="", head_tree=""),),
        comments=(said(APPROVER, "/delete net/core old"),),
        removed={"net/core": state},
        roles={"approver": Role.MAINTAIN, "author": Role.WRITE},
    )
    return facts(removing, **more)


def test_a_push_that_the_forge_does_not_show_yet_is_waited_for() -> None:
    """The short-cut refuses: the answer to a command that worked says that it did not."""
    (push,) = (each for each in decide(asked()) if isinstance(each, PushDraft))
    assert push.asker == "approver (2)"

    late = decide(asked(head=Sha("e" * 40)))
    assert not [each for each in late if isinstance(each, PushDraft | Reply)]
    assert not [each for each in late if isinstance(each, React) and each.reaction.name == "DONE"]


@pytest.mark.parametrize("tag", ["", "f" * 40])
def test_a_withdrawn_revision_that_still_has_its_tag_is_told_so(tag: str) -> None:
    """The short-cut says that nothing is to be done: nobody approved what the ledger says."""
    nothing = ProposedState(branch="b")
    state = RevisionState(
        package="net/core",
        revision=1,
        base_ref="main",
        base=Sha("a" * 40),
        path="ledger",
        tag=tag,
        withdraws=nothing,
        deprecates=nothing,
    )

    said_so = deletions.listed("delete", state, GONE)

    assert said_so.startswith("`/delete` refused: `net/core/v1` is withdrawn already (broken)")
    assert ("nothing more to do" in said_so) is not bool(tag)
    assert ("`/approve`" in said_so) is bool(tag)


def test_what_is_withdrawn_is_frozen_as_what_is_changed() -> None:
    """The short-cut asks which packages differ: in a freeze, tags of its revisions go."""
    entry = LedgerEntry(ListedState.WITHDRAWN, "broken")
    change = LedgerChange(package="net/core", revision=5, path="l", before=None, after=entry)
    elsewhere = Policy(calendars=((replace(CLOSED, paths=("apps",)),),))
    listing = changed(PROPOSAL, touched=(), ledger=(change,))

    for path, expected in (("", True), ("net/core", True), ("apps", False)):
        found = facts(listing, freezes=frozenset({frozen(path)}))
        assert ("freeze" in open_gates(found)) is expected
    assert "freeze" in open_gates(facts(listing, freezes_unread="gone"))
    assert "window" in open_gates(facts(replace(listing, rules=TIMED)))
    assert "window" not in open_gates(
        facts(replace(listing, rules=replace(TIMED, policy=elsewhere)))
    )


def _entry(state: str) -> LedgerEntry | None:
    return LedgerEntry(ListedState(state), "r") if state else None


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "held", {AccessAction.ROLLBACK}),
        ("held", "", {AccessAction.ROLLBACK}),
        ("held", "held", {AccessAction.ROLLBACK}),
        ("held", "deprecated", {AccessAction.DEPRECATE, AccessAction.ROLLBACK}),
        ("deprecated", "held", {AccessAction.DEPRECATE, AccessAction.ROLLBACK}),
        ("held", "withdrawn", {AccessAction.DELETE, AccessAction.ROLLBACK}),
        ("withdrawn", "held", {AccessAction.DELETE, AccessAction.ROLLBACK}),
        ("", "deprecated", {AccessAction.DEPRECATE}),
        ("deprecated", "withdrawn", {AccessAction.DELETE}),
    ],
)
def test_a_hold_begins_and_ends_by_its_own_right(
    before: str, after: str, expected: set[AccessAction]
) -> None:
    """The short-cut asks one right: whoever may deprecate ends a hold by writing another word."""
    change = LedgerChange(
        package="net/core", revision=5, path="l", before=_entry(before), after=_entry(after)
    )
    p = replace(PROPOSAL.content, touched=(), ledger=(change,))
    assert {action for _, action, _ in approved(p, Policy())} == expected
    assert len(change.actions) == len(expected)
