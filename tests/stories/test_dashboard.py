"""The dashboard issue, as people see it: made once, edited in place, and seldom."""

from tests.stories.github_people import at_github
from tests.stories.people import Person, wait_for
from tests.stories.world import World, package, resized, seconds_pass

LONG = 400.0
"""Seconds, of simulated time: longer than the bot waits between two looks at a dashboard."""


def boards(play: World) -> list[str]:
    """The texts of all issues."""
    found = at_github(play.owner).get_issues(state="all")
    return [issue.body for issue in found if issue.pull_request is None]


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
    edits = [c for c in stage.forge.faults.calls("porchbot[bot]") if "issues/{i" in c.name]
    issue = stage.repository.issues[1]

    stage.stop_bot()
    stage.loses_database()
    stage.start_bot()
    seconds_pass(stage.forge, 1)
    other = stage.proposes("drafts/net/edge/w", resized("net/edge", 2))
    shows(stage, f"/pull/{other}")

    assert first == "There are no open proposals.\n\n### Packages (1)\n\n- `net/edge`: no revision"
    day = f"{issue.created_at:%Y-%m-%d}"
    assert waiting == (
        "### Proposals (1)\n\n"
        f"- [#{number}](../pull/{number}) Change: `net/core`. Waiting since {day}: **approved**"
        " (0 of 1)\n\n"
        "### Packages (1)\n\n- `net/edge`: no revision"
    )
    assert published == (
        "There are no open proposals.\n\n### Packages (2)\n\n- `net/core`: v1\n- `net/edge`:"
        " no revision"
    )
    edited = [c.name for c in edits].count("PATCH /repos/{owner}/{repo}/issues/{issue_number}")
    assert edited == 2 + 1  # one assigns the draft to its author


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
    asked = {
        c.path for c in stage.forge.faults.calls("porchbot[bot]") if c.path.endswith("/issues")
    }
    assert asked == set()


def test_what_is_shown_there_can_be_stopped_and_resumed_there(stage: World) -> None:
    """Short-cuts refused: `/freeze` there does nothing, is not answered, or is done twice."""
    stage.repository.has_issues = True
    stage.start_bot()
    shows(stage, "Packages")
    number = stage.proposes("drafts/net/core/w", package("net/core"))
    issue = at_github(stage.owner).get_issue(1)

    def said(person: Person, words: str, answer: str) -> str:
        on = at_github(person).get_issue(1)
        on.create_comment(words)
        return wait_for(
            f"an answer to {words!r}",
            lambda: next((c.body for c in issue.get_comments() if answer in c.body), None),
            60,
        )

    said(stage.outsider, "/freeze never", "@outsider `/freeze` refused: it takes maintain access")
    said(stage.approver, "/freeze net/ fire", "@approver `net` is frozen: fire")
    shows(stage, "`approver` froze `net`: fire. **Needed:** `/thaw`")
    stage.approver.says(number, "/approve")
    stage.rests()
    assert stage.author.tags() == {}

    said(stage.author, "/approve", "@author `/approve` refused: it is for a pull request")
    help_ = said(stage.author, "/help", "at the start of a line")
    assert ("/thaw" in help_, "/approve" in help_) == (True, False)
    stage.stop_bot()
    issue.create_comment("thanks, all")
    at_github(stage.approver).get_issue(1).create_comment("/thaw")  # nobody hears the webhook
    stage.start_bot()
    stage.author.waits_for_tag("net/core/v1")
    stage.rests()
    answers = [c.body for c in issue.get_comments() if "porchbot:record" in c.body]
    assert len(answers) == 5
    stage.wake(f"{stage.name}:{stage.repository.id}:dashboard")
    stage.rests()
    assert len([c for c in issue.get_comments() if "porchbot:record" in c.body]) == 5


def test_on_a_locked_issue_what_is_asked_for_is_done_once_and_shown(stage: World) -> None:
    """Short-cut refused: where no answer can be written, the whole issue is looked at in vain.

    What was asked for there is then done at each try: a `/thaw` undoes what is frozen since.
    """
    stage.repository.has_issues = True
    stage.start_bot()
    shows(stage, "Packages")
    number = stage.proposes("drafts/net/core/w", package("net/core"))
    at_github(stage.owner).get_issue(1).lock("too heated")
    issue = at_github(stage.approver).get_issue(1)

    issue.create_comment("/freeze net/ fire")
    shows(stage, "`approver` froze `net`: fire")
    issue.create_comment("/thaw")
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
    reads = "GET /repos/{owner}/{repo}/issues/{issue_number}/comments"
    stage.forge.faults.fail(reads, 403, {"message": "no"}, times=1000, caller="porchbot[bot]")

    stage.approver.says(number, "/freeze incident")
    shows(stage, "`approver` froze everything: incident")
