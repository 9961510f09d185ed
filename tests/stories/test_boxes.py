"""Boxes of the dashboard issue: whoever ticks one gives the command beside it.

Longer than 400 lines: one story for each box, and each way to tick it.
"""

import json
from typing import Any

import pytest

from tests.stories.calls import OPEN, PROPOSALS
from tests.stories.people import Person, wait_for
from tests.stories.real import RealWorld
from tests.stories.test_dashboard import shows
from tests.stories.test_withdrawal import UPSTREAM, publishes
from tests.stories.world import World, minutes_pass, package, resized
from tests.walkthrough.browser import Browser, program

MADE = UPSTREAM + UPSTREAM.replace("upstream:", "upstreamLock:").replace("v1}", "v1, commit: SHA}")


def board(play: World) -> tuple[int, str]:
    """Number and text of the dashboard issue, as it is written."""
    (found,) = play.owner.issues()
    return found.number, found.written


def ticks(play: World, person: Person, *packages: str) -> None:
    """Tick the boxes of some packages, as the web page does: with the whole text."""
    number, text = board(play)
    lines = [
        line.replace("[ ]", "[x]", 1) if any(f"upgrade {p} v" in line for p in packages) else line
        for line in text.split("\n")
    ]
    assert "\n".join(lines) != text
    person.rewrites_issue(number, body="\n".join(lines))


def told(play: World, words: str) -> str:
    """Wait for the bot to say something on the issue; its only comment there."""

    def ready() -> str | None:
        said = [c.body for c in play.owner.comments_on_issue(board(play)[0])]
        return said[0].partition("<!--")[0] if len(said) == 1 and words in said[0] else None

    return wait_for(f"the dashboard to hear {words!r}", ready, 90)


def behind(play: World, *packages: str) -> None:
    """Packages that are behind net/core@v2."""
    play.repository.has_issues = True
    play.start_bot()
    play.rests()
    publishes(play)
    made = MADE.replace("REPO", play.owner.clone_url)
    made = made.replace("SHA", play.owner.tags()["net/core/v1"])
    files: dict[str, str] = {}
    for each in packages:
        files |= {**package(each), f"{each}/Kptfile": package(each)[f"{each}/Kptfile"] + made}
    play.owner.pushes("main", files)
    play.rests()
    publishes(play, 2)


def offers(play: World, *packages: str) -> None:
    """Packages that are behind net/core@v2, with their boxes."""
    behind(play, *packages)
    minutes_pass(play, 10)
    play.sweep()
    shows(play, f"upgrade {packages[-1]} v2`:")
    play.rests()


def approvable_box(play: World) -> int:
    """A running bot, and the box on its dashboard that approves a proposal, whose number it is."""
    play.repository.has_issues = True
    play.start_bot()
    play.rests()
    number = play.proposes("drafts/net/core/w", package("net/core"))
    minutes_pass(play, 10)
    shows(play, "approve ")
    return number


@pytest.mark.both_forges
@pytest.mark.simulated_time("minutes pass")
def test_who_ticks_a_box_gives_its_command(stage: World) -> None:
    """Short-cuts refused: the bot's own rights; a comment for each box; a box that stays ticked."""
    play = stage
    offers(play, "net/a", "net/b")
    assert "`net/a` is made from `net/core@v1`; v2 is 1 revision ahead; an upgrade has" in shows(
        play, "upgrade net/a v2"
    )

    ticks(play, play.author, "net/a")
    refused = told(play, "access.bulk")
    assert "upgrade net/a v2`, ticked by `author`: " in refused
    play.rests()
    assert [p for p in play.author.pulls() if "net/a" in p.title] == []
    assert "[x]" not in board(play)[1]

    ticks(play, play.approver, "net/a", "net/b")
    said = told(play, "Upgrade net/b to v2")
    assert "Upgrade net/a to v2" in said
    assert "access.bulk" in said
    play.rests()
    play.sweep()
    play.rests()
    for each in ("net/a", "net/b"):
        assert play.author.pull_of(f"drafts/{each}/upgrade").title.endswith(f"{each} to v2")
    assert len(play.author.pulls()) == 2
    assert "[x]" not in board(play)[1]


@pytest.mark.both_forges
@pytest.mark.simulated_time("minutes pass")
def test_a_box_with_other_words_gives_nothing(stage: World) -> None:
    """Short-cuts refused: what a writer put beside it is done in a maintainer's name; a box in an
    issue of somebody's own, with the bot's record in it, counts."""
    play = stage
    offers(play, "net/a", "net/b")
    number, text = board(play)
    assert "upgrade net/a v2`: " in text
    play.author.rewrites_issue(number, body=text.replace("upgrade net/a v2", "upgrade net/a v1"))
    play.approver.rewrites_issue(
        number, body=text.replace("upgrade net/a v2", "upgrade net/a v1").replace("[ ]", "[x]")
    )
    said = told(play, "is not as the bot wrote it")
    assert "upgrade net/a v1`: nothing was done" in said
    play.rests()
    assert [p for p in play.author.pulls() if "Upgrade" in p.title] == []

    ticks_line(play, play.approver, "upgrade net/b v2`: ")
    assert "Upgrade net/b to v2" in told(play, "Upgrade net/b to v2")


@pytest.mark.both_forges
@pytest.mark.simulated_time("minutes pass")
def test_a_box_under_which_somebody_wrote_approves_nothing(stage: World) -> None:
    """The short-cut judges the line of the box: Markdown shows what stands below it as a part."""
    play = stage
    approvable_box(play)
    number, text = board(play)
    (line,) = (e for e in text.split("\n") if e.startswith("- [ ] ") and "approve " in e)
    evil = f"{line}\n  is what I do NOT want: remind me of it tomorrow"
    play.author.rewrites_issue(number, body=text.replace(line, evil))
    play.rests()
    now = board(play)[1]
    ticked = now.replace(evil, evil.replace("[ ]", "[x]", 1))
    play.approver.rewrites_issue(number, body=ticked)
    assert "nothing was done" in told(play, "is not as the bot wrote it")
    minutes_pass(play, 5)
    play.rests()
    assert play.author.tags() == {}
    assert evil not in board(play)[1]

    ticks_line(play, play.approver, "approve ")
    play.rests()
    assert [*play.author.tags()] == ["net/core/v1"]


@pytest.mark.simulated_time("minutes pass")
def test_a_held_package_is_resumed_by_its_box(stage: World) -> None:
    """The short-cut has boxes for upgrades alone: what is held is resumed by who knows the word."""
    play = stage
    play.repository.has_issues = True
    play.start_bot()
    play.rests()
    publishes(play)
    held = "version: 1\nrevisions:\n  1: {state: held, reason: it leaks}\n"
    play.owner.pushes("main", {".porchbot/ledger/net/core.yaml": held})
    play.rests()
    minutes_pass(play, 10)
    play.sweep()
    shows(play, "/resume net/core`: ")
    play.rests()

    ticks_line(play, play.approver, "resume net/core`: ")

    told(play, "resume net/core`, ticked by `approver`: ")
    pull = play.author.pull_of("drafts/net/core/resume")
    assert "held" not in play.author.reads(".porchbot/ledger/net/core.yaml", pull.head_ref)


@pytest.mark.both_forges
@pytest.mark.simulated_time("minutes pass")
def test_a_box_of_another_issue_is_none(stage: World) -> None:
    """Short-cuts refused: any issue with a record of the bot is the dashboard, or any that has the
    whole text of it; whoever edits such an issue of theirs has the dashboard written anew each
    time, with all its requests."""
    play = stage
    offers(play, "net/a")
    _, text = board(play)
    state: Any = play.forge.state
    with state.lock:
        theirs = state.issues.open(play.repository, state.user("author"), "Look here", text).number
    before = play.forge.faults.mark()
    for number in range(5):
        more = f"- [x] `/upgrade net/x{number} v2`"
        play.author.rewrites_issue(theirs, body=f"{text.replace('[ ]', '[x]')}\n{more}")
        play.rests()
    assert len(play.statuses_of(PROPOSALS, since=before)) <= 1
    play.approver.rewrites_issue(theirs, body=text.replace("[ ]", "[x]"))
    play.rests()
    # As the bot wrote it, whole: only whose issue it is tells that nobody is asked there.
    play.author.rewrites_issue(theirs, body=text)
    play.rests()
    play.approver.rewrites_issue(theirs, body=text.replace("[ ]", "[x]", 1))
    play.rests()
    minutes_pass(play, 10)
    play.rests()

    assert [p for p in play.author.pulls() if "net/a" in p.title] == []


def ticks_line(play: World, person: Person, words: str) -> None:
    """Tick the box of the line with some words."""
    number, text = board(play)
    lines = [line.replace("[ ]", "[x]", 1) if words in line else line for line in text.split("\n")]
    assert "\n".join(lines) != text
    person.rewrites_issue(number, body="\n".join(lines))


@pytest.mark.parametrize("forge", ["gitlab"], indirect=True)
@pytest.mark.simulated_time("minutes pass")
@pytest.mark.parametrize(
    "evil",
    ["< I have NOT looked at this yet: remind me about > {}", "Something else {}", "<!--{}"],
    ids=["as a tag", "words", "a comment"],
)
def test_a_tick_of_other_words_approves_nothing(stage: World, evil: str) -> None:
    """Short-cuts refused: what looks like a tag is left out of what is compared, and people see it;
    who ticked, and which line, is taken from a webhook that its Maintainer gave a template."""
    play = stage
    approvable_box(play)
    number, text = board(play)
    (line,) = (e for e in text.split("\n") if e.startswith("- [ ] ") and "approve " in e)
    other = f"- [ ] {evil.format(line.removeprefix('- [ ] '))}"
    play.owner.rewrites_issue(number, body=text.replace(line, other))
    play.rests()
    (hook,) = play.repository.gitlab.hooks.values()
    ticked = text.replace(line, line.replace("[ ]", "[x]", 1))
    told: dict[str, object] = {
        "object_kind": "issue",
        "user": {"id": play.forge.state.user("approver").id, "username": "approver"},
        "project": {
            "id": play.repository.id,
            "path_with_namespace": play.repository.full_name,
            "default_branch": "main",
        },
        "object_attributes": {
            "iid": number,
            "action": "update",
            "description": ticked,
            "updated_at": "{{object_attributes.updated_at}}",
        },
        "changes": {"description": {"previous": text, "current": ticked}},
    }
    hook.template = json.dumps(told)
    now = board(play)[1]
    assert other in now
    play.approver.rewrites_issue(number, body=now.replace(other, other.replace("[ ]", "[x]", 1)))
    hook.template = ""
    play.rests()
    minutes_pass(play, 5)
    play.rests()

    assert play.author.tags() == {}
    (said,) = (c.body for c in play.owner.comments_on_issue(number))
    assert "nothing was done" in said


@pytest.mark.simulated_time("minutes pass")
def test_many_boxes_are_begun_in_waves_and_stop_at_what_fails(stage: World) -> None:
    """Short-cuts refused: all at once; what waits is forgotten by a bot that ends; on and on
    although one was closed; nothing says how to go on."""
    play = stage
    packages = [f"net/p{n}" for n in range(8)]
    offers(play, *packages)
    ticks(play, play.approver, *packages)
    play.stop_bot()
    play.start_bot()
    waiting = told(play, "**3 boxes wait.** At most 5 drafts that")
    assert "Open: #" in waiting
    minutes_pass(play, 30)
    play.sweep()
    play.rests()

    def drafts() -> list[str]:
        found = [pull.title.removeprefix("Draft: ") for pull in play.author.pulls(every=True)]
        return sorted(title for title in found if "Upgrade" in title)

    assert drafts() == [f"Upgrade {each} to v2" for each in packages[:5]]
    play.author.closes(play.author.pull_of("drafts/net/p1/upgrade").number)
    stopped = told(play, "**Stopped: 3 boxes wait.** `/upgrade net/p1 v2`: ")
    assert "was closed without being merged" in stopped
    play.rests()
    assert len(drafts()) == 5

    shows(play, "### Boxes that stopped (1)")
    ticks_line(play, play.author, "continue`: boxes wait")
    assert "only people with maintain access" in told(play, "/continue` refused")
    play.rests()
    assert len(drafts()) == 5
    shows(play, "- [ ] `/continue`: boxes wait")
    ticks_line(play, play.approver, "continue`: boxes wait")
    told(play, "**2 boxes wait.**")
    play.rests()
    assert drafts() == [f"Upgrade {each} to v2" for each in packages[:6]]

    merged = play.author.pull_of("drafts/net/p0/upgrade").number
    play.author.makes_ready(merged)
    play.owner.merges(merged)
    told(play, "**1 box waits.**")
    play.rests()
    assert drafts() == [f"Upgrade {each} to v2" for each in packages[:7]]
    assert told(play, "Upgrade net/p6 to v2").count("`, ticked by") == 9


@pytest.mark.both_forges
@pytest.mark.simulated_time("minutes pass")
def test_a_draft_that_is_closed_before_anybody_notes_it_is_not_begun_again(stage: World) -> None:
    """The short-cut knows open pull requests alone: whoever closes a draft while the bot stands
    still, or before a lost answer is asked for again, gets another one, and what waits goes on."""
    play, branch = stage, "drafts/net/a/upgrade"
    offers(play, "net/a")
    play.forge.faults.fail(play.call(OPEN), 502, caller=play.caller, carried_out=True)
    ticks(play, play.approver, "net/a")
    number = play.author.pull_of(branch).number
    play.author.closes(number)

    said = told(play, "net/a v2`, ticked by `approver`: ")
    assert f"ticked by `approver`: #{number}: Upgrade net/a to v2." in said
    play.rests()
    assert [p.number for p in play.author.pulls(every=True) if p.head_ref == branch] == [number]


@pytest.mark.both_forges
@pytest.mark.simulated_time("minutes pass")
def test_drafts_are_proposed_and_approved_by_boxes(stage: World) -> None:
    """Short-cuts refused: the bot's own rights; whatever the head is by then; an answer where
    nobody looks; none once the proposal is published."""
    play = stage
    play.repository.has_issues = True
    play.start_bot()
    play.rests()
    play.author.pushes("drafts/net/core/w", package("net/core"))
    number = play.author.pull_of("drafts/net/core/w").number
    play.rests()
    minutes_pass(play, 10)
    shows(play, "propose ")

    ticks_line(play, play.author, "propose ")
    told(play, "passed on to the")
    play.author.waits_for_answer(number, "access.bulk")
    play.rests()
    shows(play, "- [ ] `")
    ticks_line(play, play.approver, "propose ")
    minutes_pass(play, 10)
    shows(play, "approve ")
    old = board(play)[1]
    play.author.pushes("drafts/net/core/w", resized("net/core", 5))
    play.rests()
    lines = old.split("\n")
    late = "\n".join(e.replace("[ ]", "[x]") if "approve " in e else e for e in lines)
    play.approver.rewrites_issue(board(play)[0], body=late)
    play.author.waits_for_answer(number, "refused: you approved")
    play.rests()
    minutes_pass(play, 10)
    assert play.author.tags() == {}

    shows(play, f"approve {play.author.branches()['drafts/net/core/w']}")
    ticks_line(play, play.approver, "approve ")
    play.author.waits_for_tag("net/core/v1")
    play.rests()
    minutes_pass(play, 1)
    play.approver.rewrites_issue(board(play)[0], body=old)  # a page that somebody still had open
    play.approver.rewrites_issue(board(play)[0], body=late)
    play.author.waits_for_answer(number, "comes too late")


@pytest.mark.simulated_time("minutes pass")
def test_an_approval_by_a_box_takes_an_edit_that_the_forge_lists(stage: World) -> None:
    """The short-cut believes the delivery: whoever knows its secret approves in any name."""
    play = stage
    number = approvable_box(play)
    ticks_line(play, play.approver, "approve ")
    was_never_edited(play)
    minutes_pass(play, 5)
    said = told(play, "does not say who ticked")
    assert f"in #{number}: nothing was done" in said
    play.rests()

    assert play.author.tags() == {}


def was_never_edited(play: World) -> None:
    """As if no edit of the dashboard issue had ever been, and its deliveries were made up."""
    with play.forge.state.lock:
        (issue,) = play.repository.issues.values()
        issue.edits.clear()
        for note in [note for note in issue.comments if getattr(note, "system", False)]:
            issue.comments.remove(note)


@pytest.mark.both_forges
@pytest.mark.simulated_time("minutes pass")
def test_a_box_that_the_forge_does_not_confirm_makes_no_draft(stage: World) -> None:
    """Short-cuts refused: a draft may be made in any name, since nothing is published by it; one of
    nobody's takes a place among those that are begun."""
    offers(stage, "net/a", "net/b")
    ticks(stage, stage.approver, "net/a", "net/b")
    was_never_edited(stage)
    minutes_pass(stage, 5)

    said = told(stage, "does not say who ticked")
    assert said.count("nothing was done") == 2
    assert "Open: " not in said
    stage.rests()
    assert [p for p in stage.author.pulls() if "net/" in p.title] == []


@pytest.mark.simulated_time("minutes pass")
def test_what_was_made_from_a_bad_revision_is_rolled_back_by_its_box(stage: World) -> None:
    """Short-cuts refused: the revision before, although it has the same upstream; a box that goes
    without a reason."""
    play = stage
    offers(play, "net/a")
    for number in (1, 2):
        proposal = play.proposes(f"drafts/net/a/w{number}", resized("net/a", 5 + number))
        play.approver.says(proposal, "/approve")
        play.author.waits_for_tag(f"net/a/v{number}")
    upgraded = play.author.reads("net/a/Kptfile")
    made = upgraded.replace("net/core/v1", "net/core/v2")
    made = made.replace(play.owner.tags()["net/core/v1"], play.owner.tags()["net/core/v2"])
    assert made != upgraded
    proposal = play.proposes("drafts/net/a/w3", {"net/a/Kptfile": made})
    play.approver.says(proposal, "/approve")
    play.author.waits_for_tag("net/a/v3")
    bad = "version: 1\nrevisions:\n  2: {state: deprecated, reason: it leaks}\n"
    play.owner.pushes("main", {".porchbot/ledger/net/core.yaml": bad})
    play.rests()
    minutes_pass(play, 10)
    play.sweep()
    shows(play, "/rollback net/a@v2 its upstream net/core@v2 is deprecated`: `net/a`: v3")
    play.rests()

    ticks_line(play, play.approver, "rollback net/a@v2")

    told(play, "Roll back net/a to v2")
    pull = play.author.pull_of("drafts/net/a/rollback-v2")
    assert "held" in play.author.reads(".porchbot/ledger/net/a.yaml", pull.head_ref)


@pytest.mark.real_parts
def test_a_box_is_ticked_in_a_browser_and_the_draft_appears(stage: RealWorld) -> None:
    """The short-cut writes the issue's text by the API, as no person does: what a page sends, who
    is signed in and what comes of it are not seen together."""
    path = program()
    if path is None:
        pytest.skip("no browser found: install Chromium")
    play = stage
    behind(play, "net/a", "net/b")
    play.stop_bot()
    play.start_bot()  # so that it writes the issue at once
    play.sweep()
    shows(play, "upgrade net/b v2`:")
    play.rests()
    home = f"{play.forge.web_url}/acme/blueprints"
    with Browser(path) as browser:
        browser.opens(f"{home}/issues/{board(play)[0]}")
        browser.sees("Packages of this repository")
        browser.presses("acting as", leaves=False)
        browser.presses("approver")
        browser.presses("Tick /upgrade net/a v2")
        told(play, "Upgrade net/a to v2")
        browser.opens(f"{home}/pulls")
        browser.sees("net/a to v2", reload=True)
        browser.misses("net/b to v2")
    assert play.author.pull_of("drafts/net/a/upgrade").draft
