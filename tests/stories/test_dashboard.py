"""The dashboard issue, as people see it: made once, edited in place, and seldom."""

import re
from collections.abc import Sequence

import pytest

from tests.stories.calls import ISSUE_EDIT, ISSUE_TALK
from tests.stories.people import Person, wait_for
from tests.stories.seen import Said
from tests.stories.world import World, package, resized, seconds_pass

LONG = 400.0
"""Seconds, of simulated time: longer than the bot waits between two looks at a dashboard."""


def boards(play: World) -> list[str]:
    """The texts of all issues."""
    return [issue.body for issue in play.owner.issues()]


def shows(play: World, words: str) -> str:
    """Wait for the only issue to say something; its text without what is the same each time."""

    def ready() -> str | None:
        (text,) = boards(play) or [""]
        return text if words in text else None

    found = wait_for(f"the dashboard to say {words!r}", ready, LONG)
    return found.split("\n\n", 1)[1].rsplit("\n\n", 1)[0]


def test_one_issue_follows_what_happens(stage: World) -> None:
    """Short-cuts refused: a second issue without the database; an edit for each look."""
    stage.repository.has_issues = True
    stage.start_bot()
    first = shows(stage, "Packages")
    number = stage.proposes("drafts/net/core/w", package("net/core"))
    waiting = shows(stage, "Waiting since")
    stage.approver.says(number, "/approve")
    stage.author.waits_for_tag("net/core/v1")
    published = shows(stage, "`net/core`: v1")
    edited = len(stage.statuses_of(ISSUE_EDIT))
    (issue,) = stage.owner.issues()

    stage.stop_bot()
    stage.loses_database()
    stage.start_bot()
    seconds_pass(stage.forge, 1)
    other = stage.proposes("drafts/net/edge/w", resized("net/edge", 2))
    shows(stage, f"[#{other}]")

    assert (
        first
        == "There are no open proposals.\n\n### Packages (1)\n\n- `net/edge`: not published yet"
    )
    day = f"{issue.at:%Y-%m-%d}"
    shown = re.sub(r" <!-- porchbot-box [0-9a-f]{32} -->", "", waiting)
    shown = re.sub(r"`/approve [0-9a-f]{40}`", "`/approve COMMIT`", shown)
    assert re.sub(r"\]\([^)]*\)", "]", shown) == (
        "### Proposals (1)\n\n"
        f"- [ ] `/approve COMMIT` in [#{number}] Change: `net/core`. Waiting since {day}:"
        " **approved** (0 of 1)\n\n"
        "### Packages (1)\n\n- `net/edge`: not published yet"
    )
    assert published == (
        "There are no open proposals.\n\n### Packages (2)\n\n- `net/core`: v1\n- `net/edge`:"
        " not published yet"
    )
    # At GitHub one of them assigns the draft to its author.
    assert edited == 2 + (stage.name == "github")


def test_where_issues_are_off_nothing_is_written_or_said(stage: World) -> None:
    """The short-cut opens one all the same, or breaks: publishing goes on without."""
    stage.start_bot()
    number = stage.proposes("drafts/net/core/w", package("net/core"))
    stage.approver.says(number, "/approve")
    stage.author.waits_for_tag("net/core/v1")
    stage.rests()

    assert boards(stage) == []
    assert stage.repository.issues == {}
    assert stage.failing() == []
    calls = stage.forge.faults.calls(stage.caller)
    assert {call.path for call in calls if call.path.endswith("/issues")} == set()


@pytest.mark.both_forges
def test_what_is_shown_there_can_be_stopped_and_resumed_there(stage: World) -> None:
    """Short-cuts refused: `/freeze` there does nothing, is not answered, or is done twice."""
    stage.repository.has_issues = True
    stage.start_bot()
    shows(stage, "Packages")
    number = stage.proposes("drafts/net/core/w", package("net/core"))
    (issue,) = (each.number for each in stage.owner.issues())

    def talk() -> Sequence[Said]:
        return stage.owner.comments_on_issue(issue)

    def said(person: Person, words: str, answer: str) -> str:
        person.says_on_issue(issue, words)
        return wait_for(
            f"an answer to {words!r}",
            lambda: next((c.body for c in talk() if answer in c.body), None),
            60,
        )

    refused = "@outsider `/freeze` refused: only people with maintain access"
    said(stage.outsider, "/freeze never", refused)
    said(stage.approver, "/freeze net/ fire", "@approver `net` is frozen: fire")
    shows(stage, "`approver` froze `net`: fire. **Needed:** `/thaw`")
    stage.approver.says(number, "/approve")
    stage.rests()
    assert stage.author.tags() == {}

    said(stage.author, "/approve", "@author `/approve` refused: it is for a pull request")
    help_ = said(stage.author, "/help", "at the start of a line")
    assert ("/thaw" in help_, "/approve" in help_) == (True, False)
    stage.stop_bot()
    stage.owner.says_on_issue(issue, "thanks, all")
    stage.approver.says_on_issue(issue, "/thaw")  # nobody hears the webhook
    stage.start_bot()
    stage.author.waits_for_tag("net/core/v1")
    stage.rests()
    answers = [c.body for c in talk() if "porchbot:record" in c.body]
    assert len(answers) == 5
    stage.wake(f"{stage.name}:{stage.repository.id}:dashboard")
    stage.rests()
    assert len([c for c in talk() if "porchbot:record" in c.body]) == 5


def test_on_a_locked_issue_what_is_asked_for_is_done_once_and_shown(stage: World) -> None:
    """Short-cut refused: where no answer can be written, the whole issue is looked at in vain.

    What was asked for there is then done at each try: a `/thaw` undoes what is frozen since.
    """
    stage.repository.has_issues = True
    stage.start_bot()
    shows(stage, "Packages")
    number = stage.proposes("drafts/net/core/w", package("net/core"))
    (issue,) = (each.number for each in stage.owner.issues())
    stage.owner.locks_issue(issue)

    stage.approver.says_on_issue(issue, "/freeze net/ fire")
    shows(stage, "`approver` froze `net`: fire")
    stage.approver.says_on_issue(issue, "/thaw")
    wait_for("the end of it", lambda: "froze" not in boards(stage)[0] or None, LONG)
    stage.approver.says(number, "/freeze incident")
    stage.author.waits_for_answer(number, "is frozen")
    shows(stage, "`approver` froze everything: incident")
    stage.approver.says(number, "/approve")
    stage.wake(f"{stage.name}:{stage.repository.id}:dashboard")
    stage.rests()

    assert stage.failing() == []
    assert stage.author.tags() == {}
    assert "`approver` froze everything: incident" in boards(stage)[0]


def test_what_is_frozen_is_written_though_nothing_there_can_be_answered(stage: World) -> None:
    """Short-cut refused: who cannot read the conversation does not write the issue either."""
    stage.repository.has_issues = True
    stage.start_bot()
    shows(stage, "Packages")
    number = stage.proposes("drafts/net/core/w", package("net/core"))
    reads = stage.call(ISSUE_TALK)
    stage.forge.faults.fail(reads, 403, {"message": "no"}, times=1000, caller=stage.caller)

    stage.approver.says(number, "/freeze incident")
    shows(stage, "`approver` froze everything: incident")


def test_it_tells_of_branches_as_they_are_now(stage: World) -> None:
    """The short-cut reads branches as its own process fetched them last: of two replicas each tells
    something else, and the text changes at every look until both have swept."""
    stage.repository.has_issues = True
    stage.start_bot()
    shows(stage, "Packages")
    stage.rests()

    stage.forge.faults.hooks.drop(times=None)
    stage.author.pushes("drafts/net/new/w", package("net/new"))
    stage.wake(f"{stage.name}:{stage.repository.id}:dashboard")

    assert "Drafts (1)" in shows(stage, "drafts/net/new/w")
