"""Doors that give no commands: whoever presses them changes nothing that is published.

Comments, reviews and buttons lead to `authorise` (`tests/lifecycle/test_doors.py`). Labels are in
`test_labels.py`, pages in `tests/bot/http/test_doors.py`, the command line in
`test_doors_terminal.py` and `tests/cli/test_doors.py`.
"""

from contextlib import suppress

from tests.stories.people import wait_for
from tests.stories.refusals import REFUSALS
from tests.stories.test_dashboard import boards
from tests.stories.world import World, package

TICKED = "- [x] Approve\n- [x] `/approve`\n/approve\n\n"


def test_a_ticked_box_or_a_rewritten_comment_of_the_bot_gives_no_command(play: World) -> None:
    """Short-cut: what stands in the bot's comment, or in the description, is the bot's word.

    Each role writes into all of them; whom the forge lets in, the bot does not.
    """
    author, bot = play.author, "porchbot[bot]"
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.approver.says(number, "/why")
    author.waits_for_answer(number, "net/core")
    play.rests()
    let_in = set()
    for login, person in play.people.items():
        for comment in person.comments(number):
            if comment.author == bot:
                with suppress(*REFUSALS):
                    person.edits(number, comment.id, TICKED + comment.body)
                    let_in.add(login)
        with suppress(*REFUSALS):
            person.rewrites(number, title="/approve [x]", body=TICKED)
            let_in.add(login)
        play.rests()

    # GitLab lets Maintainers alone edit what others wrote, and authors what they opened.
    assert let_in >= {"approver", "owner"}
    assert "outsider" not in let_in
    summary = author.waits_for_summary(number, "0 of 1")
    assert "[x]" not in summary
    assert not [text for text in author.answers(number) if "[x]" in text]
    assert (author.tags(), author.pull(number).merged) == ({}, False)
    play.sweep()
    play.rests()
    assert play.failing() == []
    assert not author.tags()


def test_the_dashboard_is_written_by_nobody_else(stage: World) -> None:
    """Short-cut: what the issue says of freezes is read as it stands, so whoever edits it thaws."""
    stage.repository.has_issues = True
    stage.start_bot()
    wait_for("the dashboard", lambda: boards(stage) or None, 600)
    number = stage.proposes("drafts/net/core/w", package("net/core"))
    stage.approver.says(number, "/freeze the network is down")
    stage.author.waits_for_answer(number, "frozen")
    wait_for("the freeze", lambda: "network is down" in boards(stage)[0] or None, 600)
    for login in ("author", "approver", "owner"):
        (issue,) = stage.owner.issues()
        text = "- [x] Thaw\n- [x] Publish all\n\n/thaw\n"
        stage.people[login].rewrites_issue(issue.number, body=text, title="Thawed")

    stage.approver.says(number, "/approve")
    stage.rests()
    stage.sweep()
    stage.rests()

    assert stage.author.tags() == {}
    assert "network is down" in stage.author.summary(number)
    assert stage.failing() == []
