"""Boxes of the dashboard issue: whoever ticks one gives the command beside it."""

from typing import Any

import pytest

from tests.stories.people import Person, wait_for
from tests.stories.test_dashboard import shows
from tests.stories.test_withdrawal import UPSTREAM, publishes
from tests.stories.world import World, minutes_pass, package

MADE = UPSTREAM + UPSTREAM.replace("upstream:", "upstreamLock:").replace("v1}", "v1, commit: SHA}")


def board(play: World) -> tuple[int, str]:
    """Number and text of the dashboard issue."""
    (found,) = play.owner.issues()
    return found.number, found.body


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


def offers(play: World, *packages: str) -> None:
    """Packages that are behind net/core@v2, with their boxes."""
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
    minutes_pass(play, 10)
    play.sweep()
    shows(play, f"upgrade {packages[-1]} v2`:")
    play.rests()


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
    assert "Upgrade net/b to v2" in said
    play.rests()

    assert [p for p in play.author.pulls() if "net/a" in p.title] == []


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

    number, text = board(play)
    play.approver.rewrites_issue(number, body=text.replace("[ ] `/resume", "[x] `/resume"))

    told(play, "resume net/core`, ticked by `approver`: ")
    pull = play.author.pull_of("drafts/net/core/resume")
    assert "held" not in play.author.reads(".porchbot/ledger/net/core.yaml", pull.head_ref)


@pytest.mark.simulated_time("minutes pass")
def test_a_box_of_another_issue_is_none(stage: World) -> None:
    """The short-cut takes any issue with a record of the bot for the dashboard."""
    play = stage
    offers(play, "net/a")
    _, text = board(play)
    author: Any = play.author
    theirs = author.repository.create_issue("Look here", text).number
    play.approver.rewrites_issue(theirs, body=text.replace("[ ]", "[x]"))
    play.rests()
    minutes_pass(play, 10)
    play.rests()

    assert [p for p in play.author.pulls() if "net/a" in p.title] == []


@pytest.mark.simulated_time("minutes pass")
def test_many_boxes_are_answered_a_few_at_a_time_and_once(stage: World) -> None:
    """Short-cuts refused: what one look has no room for is refused; a bot that ends forgets it."""
    play = stage
    packages = [f"net/p{n}" for n in range(7)]
    offers(play, *packages)
    ticks(play, play.approver, *packages)
    play.stop_bot()
    play.start_bot()
    told(play, "Upgrade net/p6 to v2")
    minutes_pass(play, 10)
    play.sweep()
    play.rests()

    pulls = [pull.title.removeprefix("Draft: ") for pull in play.author.pulls(every=True)]
    assert sorted(t for t in pulls if "Upgrade" in t) == [f"Upgrade {p} to v2" for p in packages]
    said = told(play, "Upgrade net/p0 to v2")
    assert "refused" not in said
    assert said.count("ticked by") == 7
