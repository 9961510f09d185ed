"""Notes, quick actions, discussions and emoji of the sandbox's GitLab, by python-gitlab."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bot.sandbox.gitlab.conftest import Hub, refusal


def _send(hub: Hub, body: str, by: str = "ben", on: str = "merge_requests") -> dict[str, Any]:
    client = hub.project(by).manager.gitlab
    answer = client.http_request(
        "post", f"/projects/{hub.repo.id}/{on}/1/notes", post_data={"body": body}
    )
    return {"status": answer.status_code, **answer.json()}


def test_a_note_of_quick_actions_alone_is_no_note(hub: Hub) -> None:
    """Fails for a forge that keeps the text, or tells a webhook of it."""
    mr = hub.merge_request()
    answer = _send(hub, "/approve")

    assert answer["status"] == 202
    assert answer["summary"] == ["Approved the current merge request."]
    assert [n.body for n in mr.notes.list(get_all=True)] == ["approved this merge request"]
    assert hub.heard("Note Hook") == []
    assert hub.actions("Merge Request Hook") == ["open", "approved"]
    assert [a["user"]["username"] for a in mr.approvals.get().approved_by] == ["ben"]


def test_quick_actions_are_taken_out_of_a_note(hub: Hub) -> None:
    hub.merge_request()
    answer = _send(hub, "Please.\n/draft\n/label nothing\n/unknown stays\n/milestone %1\n")

    assert answer["status"] == 201
    assert answer["body"] == "Please.\n/unknown stays"
    assert answer["commands_changes"] == {"wip_event": "draft"}
    assert hub.repo.pulls[1].title == "Draft: A change"
    [told] = hub.heard("Note Hook")
    assert told["object_attributes"]["note"] == "Please.\n/unknown stays"
    assert told["object_attributes"]["action"] == "create"
    assert told["merge_request"]["last_commit"]["id"] == hub.repo.pulls[1].head_sha


@pytest.mark.parametrize(
    "text",
    [
        "```\n/close\n```",
        "~~~~\n```\n/close\n~~~~",
        ">>>\n/close\n>>>",
        "> /close",
        "<div>\n/close\n</div>",
        "see /close",
        " /close",
        "`/close`",
    ],
)
def test_code_quotes_and_html_hold_no_quick_actions(hub: Hub, text: str) -> None:
    hub.merge_request()

    assert _send(hub, text)["body"] == text
    assert hub.repo.pulls[1].state == "open"


ACTIONS: dict[str, tuple[str, Any]] = {
    "/close": ("state", "closed"),
    "/CLOSE": ("state", "closed"),
    "/title Other": ("title", "Other"),
    "/target_branch `next`": ("target_branch", "next"),
    '/label ~"known one"': ("labels", ["known one"]),
    "/assign @ben": ("assignees", ["ben"]),
    "/assign me": ("assignees", ["ben"]),
    "/request_review @mia": ("reviewers", ["mia"]),
    "/merge": ("state", "merged"),
    "/lock": ("discussion_locked", True),
}


@pytest.mark.parametrize(("text", "what"), ACTIONS.items(), ids=ACTIONS)
def test_quick_actions_do_what_they_say(hub: Hub, text: str, what: tuple[str, Any]) -> None:
    hub.project("ann").labels.create({"name": "known one", "color": "#fff"})
    hub.commit("next", {"n.txt": "n"})
    hub.merge_request()
    hub.settled(1)
    hub.settled(1)

    assert _send(hub, text)["status"] == 202
    field, wanted = what
    found = getattr(hub.project("ann").mergerequests.get(1), field)
    if field in ("assignees", "reviewers"):
        found = [one["username"] for one in found]
    assert found == wanted


def test_a_quick_action_that_cannot_be_done_is_told_and_gone(hub: Hub) -> None:
    """Fails for a forge that keeps the line as text, or lets a Reporter approve."""
    mr = hub.merge_request()
    answer = _send(hub, "/approve", by="ron")

    assert (answer["status"], answer["summary"]) == (202, ["Could not apply approve command."])
    assert mr.approvals.get().approved_by == []
    assert mr.notes.list(get_all=True) == []


def test_issues_take_quick_actions_too(hub: Hub) -> None:
    hub.project("ann").issues.create({"title": "An issue"})

    assert _send(hub, "/close\n/approve", by="ann", on="issues")["summary"] == [
        "Closed this issue.",
        "Could not apply approve command.",
    ]
    assert hub.project("ann").issues.get(1).state == "closed"
    assert hub.actions("Issue Hook") == ["open", "close"]


def test_requested_changes_send_no_webhook_and_are_read_at_the_reviewers(hub: Hub) -> None:
    """Fails for a forge that tells of it (gitlab#592358)."""
    mr = hub.merge_request()
    before = len(hub.told)
    _send(hub, "/submit_review request_changes")

    assert len(hub.told) == before
    assert [(r.user["username"], r.state) for r in mr.reviewer_details.list()] == [
        ("ben", "requested_changes")
    ]


def test_notes_are_written_edited_and_deleted_by_whose_they_are(hub: Hub) -> None:
    mr = hub.merge_request()
    note = mr.notes.create({"body": "one"})
    mr.notes.create({"body": "two"})
    note.body = "uno"
    note.save()
    others = hub.project("ben").mergerequests.get(1).notes.get(note.id)
    others.body = "mine"

    assert refusal(others.save)[0] == 403
    assert refusal(lambda: mr.notes.create({"body": ""}))[0] == 400
    assert [n.body for n in mr.notes.list(sort="asc", get_all=True)] == ["uno", "two"]
    assert [n.body for n in mr.notes.list(get_all=True)] == ["two", "uno"]
    assert hub.actions("Note Hook") == ["create", "create", "update"]
    note.delete()
    assert refusal(lambda: mr.notes.get(note.id)) == (404, "404 Note Not Found")


def test_internal_notes_are_for_members(hub: Hub) -> None:
    mr = hub.merge_request()
    note = mr.notes.create({"body": "between us", "internal": True})

    assert note.confidential
    assert hub.project("zoe").mergerequests.get(1).notes.list(get_all=True) == []
    assert len(hub.project("ron").mergerequests.get(1).notes.list(get_all=True)) == 1
    assert [event for event, _ in hub.told if "Note" in event] == ["Confidential Note Hook"]


def _at(mr: Any, **place: object) -> dict[str, Any]:
    path = {"new_path": "a.txt", "old_path": "a.txt", "position_type": "text"}
    return {"body": "Here.", "position": {**path, **mr.diff_refs, **place}}


PLACES: dict[str, tuple[dict[str, object], bool]] = {
    "an added line has only a new number": ({"new_line": 4}, True),
    "an added line has no old number": ({"new_line": 4, "old_line": 4}, False),
    "an unchanged line has both": ({"new_line": 3, "old_line": 3}, True),
    "an unchanged line with one number is none": ({"new_line": 3}, False),
    "a line outside of the diff is none": ({"new_line": 40}, False),
    "a file outside of the diff has none": ({"new_line": 1, "new_path": "b.txt"}, False),
    "a commit that is no version's is none": ({"new_line": 4, "head_sha": "0" * 40}, False),
}


@pytest.mark.parametrize(("place", "fits"), PLACES.values(), ids=PLACES)
def test_a_position_names_a_line_of_the_diff(
    hub: Hub, place: dict[str, object], fits: bool
) -> None:
    """Fails for a forge that takes any line."""
    mr = hub.merge_request()
    if fits:
        note = mr.discussions.create(_at(mr, **place)).attributes["notes"][0]
        assert (note["type"], note["resolvable"], note["resolved"]) == ("DiffNote", True, False)
        return

    status, words = refusal(lambda: mr.discussions.create(_at(mr, **place)))
    assert status == 400
    assert "line_code" in str(words)
    assert mr.discussions.list(get_all=True) == []


def test_unresolved_threads_block_where_the_project_says_so(hub: Hub) -> None:
    hub.set(only_allow_merge_if_all_discussions_are_resolved=True)
    hub.merge_request()
    mr = hub.settled(1)
    made = mr.discussions.create(_at(mr, new_line=4))
    assert hub.settled(1).detailed_merge_status == "discussions_not_resolved"
    assert not hub.settled(1).blocking_discussions_resolved
    reporter = hub.project("ron").mergerequests.get(1).discussions.get(made.id)
    reporter.resolved = True
    assert refusal(reporter.save)[0] == 403
    made.resolved = True
    made.save()

    note = mr.discussions.get(made.id).attributes["notes"][0]
    assert (note["resolved"], note["resolved_by"]["username"]) == (True, "ann")
    assert hub.settled(1).detailed_merge_status == "mergeable"
    made.notes.create({"body": "Not yet."})
    assert hub.settled(1).detailed_merge_status == "discussions_not_resolved"


def test_a_note_that_stands_alone_cannot_be_resolved_until_answered(hub: Hub) -> None:
    mr = hub.merge_request()
    mr.notes.create({"body": "alone"})
    [found] = mr.discussions.list(get_all=True)
    assert found.individual_note
    found.resolved = True
    assert refusal(found.save)[0] == 400
    found.notes.create({"body": "an answer"})

    found = mr.discussions.get(found.id)
    assert [n["type"] for n in found.attributes["notes"]] == ["DiscussionNote"] * 2
    assert not found.individual_note


def test_a_push_moves_positions_and_leaves_those_whose_line_is_gone(hub: Hub) -> None:
    """Fails for a forge where positions stay, or all become outdated."""
    mr = hub.merge_request()
    kept = mr.discussions.create(_at(mr, new_line=4))
    hub.commit("change", {"a.txt": "zero\none\ntwo\nthree\nfour\n"})
    moved = mr.discussions.get(kept.id).attributes["notes"][0]["position"]
    assert (moved["new_line"], moved["head_sha"]) == (5, hub.repo.pulls[1].head_sha)
    hub.commit("change", {"a.txt": "zero\none\ntwo\nthree\nfive\n"})

    stays = mr.discussions.get(kept.id).attributes["notes"][0]["position"]
    assert stays == moved
    assert stays["head_sha"] != hub.repo.pulls[1].head_sha


def test_an_emoji_again_is_404(hub: Hub) -> None:
    mr = hub.merge_request()
    note = mr.notes.create({"body": "one"})
    made = note.awardemojis.create({"name": "eyes"})
    words = "404 Award Emoji Name has already been taken Not Found"

    assert refusal(lambda: note.awardemojis.create({"name": "eyes"})) == (404, words)
    assert [e.name for e in note.awardemojis.list(get_all=True)] == ["eyes"]
    mr.awardemojis.create({"name": "thumbsup"})
    assert hub.project("ann").mergerequests.get(1).upvotes == 1
    others = hub.project("ben").mergerequests.get(1).notes.get(note.id)
    assert refusal(lambda: others.awardemojis.delete(made.id))[0] == 401
    made.delete()
    assert note.awardemojis.list(get_all=True) == []
    assert hub.actions("Emoji Hook") == ["award", "award", "revoke"]


def test_system_notes_are_nobodys_to_change(hub: Hub) -> None:
    mr = hub.merge_request()
    _send(hub, "/draft", by="ann")
    [note] = mr.notes.list(get_all=True, activity_filter="only_activity")
    note.body = "no"

    assert note.system
    assert refusal(note.save)[0] == 403
    assert mr.notes.list(get_all=True, activity_filter="only_comments") == []
