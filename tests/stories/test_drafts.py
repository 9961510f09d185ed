"""Drafts that the bot makes because somebody asks: begun, changed, and said where they are."""

import pytest

from tests.stories.people import Person, wait_for
from tests.stories.test_dashboard import shows
from tests.stories.world import World, package, resized, seconds_pass


class Board:
    """The dashboard issue, as people write on it."""

    def __init__(self, play: World) -> None:
        self._play = play

    def hears(self, person: Person, words: str, answer: str) -> str:
        """Say something there, and wait for a new answer with some words."""
        before = len(self.answers(answer))
        person.says_on_issue(1, words)
        return wait_for(
            f"an answer with {answer!r}",
            lambda: next(iter(self.answers(answer)[before:]), None),
            60,
        )

    def answers(self, words: str) -> list[str]:
        """The comments that hold some words, without those with commands."""
        found = self._play.owner.comments_on_issue(1)
        return [c.body for c in found if words in c.body and not c.body.startswith("/")]


@pytest.fixture
def board(stage: World) -> Board:
    """The dashboard issue, with the bot running."""
    stage.repository.has_issues = True
    stage.start_bot()
    shows(stage, "Packages")
    stage.rests()
    seconds_pass(stage.forge, 1)
    return Board(stage)


def test_a_package_is_begun_on_the_dashboard_and_rendered_in_the_same_commit(
    stage: World, board: Board
) -> None:
    """Short-cuts refused: a second commit that renders; a second draft for a second comment."""
    answer = board.hears(stage.author, "/init net/new", "Create net/new")
    stage.rests()
    pull = stage.author.pull_of("drafts/net/new/init")
    assert f"#{pull.number}: Create net/new." in answer
    assert pull.draft
    assert pull.title == "Create net/new"
    assert len(stage.author.commits_of(pull.number)) == 1
    kptfile = stage.author.reads("net/new/Kptfile", "drafts/net/new/init")
    assert "name: new" in kptfile
    stage.author.waits_for_check(pull.number, "porchbot/render", "success")

    assert f"#{pull.number}: Create" in board.hears(stage.author, "/init net/new", "Create net/new")
    stage.rests()
    assert len(stage.author.commits_of(pull.number)) == 1
    assert [p.number for p in stage.author.pulls(every=True)] == [pull.number]


def test_whoever_asks_for_a_draft_is_its_author(stage: World, board: Board) -> None:
    """The short-cut: the bot made it, so whoever asked may approve it."""
    asked = "/set --package net/edge --propose ConfigMap/edge data.size=7"
    board.hears(stage.approver, asked, "data.size to 7")
    pull = stage.author.pull_of("drafts/net/edge/set")
    stage.rests()
    assert not pull.draft
    assert pull.title == "Set ConfigMap/edge data.size to 7 in net/edge"
    assert 'size: "7"' in stage.author.reads("net/edge/settings.yaml", "drafts/net/edge/set")
    stage.approver.says(pull.number, "/approve")
    stage.author.waits_for_answer(pull.number, "author")
    stage.rests()
    assert stage.author.tags() == {}

    stage.owner.says(pull.number, "/approve")
    stage.author.waits_for_tag("net/edge/v1")


@pytest.mark.both_forges
def test_a_field_is_set_in_the_draft_that_it_is_asked_for_in(play: World) -> None:
    """Short-cuts refused: a draft of its own; what somebody else pushed is overwritten."""
    play.author.pushes("drafts/net/core/w", package("net/core"))
    pull = play.author.pull_of("drafts/net/core/w")
    play.author.waits_for_check(pull.number, "porchbot/validate", "success")
    play.rests()
    play.author.says(pull.number, "/set data.size=5\n/set metadata.labels.tier=gold")
    play.author.waits_for_answer(pull.number, "metadata.labels.tier")
    play.rests()
    text = play.author.reads("net/core/settings.yaml", "drafts/net/core/w")
    assert 'size: "5"' in text
    assert "name: core # kept" in text
    assert len(play.author.commits_of(pull.number)) == 2  # a field that is nowhere: it is refused
    refusal = [a for a in play.author.answers(pull.number) if "refused" in a]
    assert len(refusal) == 1
    assert "no setter and no field metadata.labels.tier" in refusal[0]
    assert [p.number for p in play.author.pulls(every=True)] == [pull.number]


def test_repeated_bumps_come_together_in_one_open_draft(stage: World, board: Board) -> None:
    """The short-cut opens a draft for each, or loses what the first one set."""
    board.hears(stage.author, "/set --package net/edge data.size=7", "data.size to 7")
    pull = stage.author.pull_of("drafts/net/edge/set")
    stage.rests()
    board.hears(stage.author, "/set --package net/edge data.size=8", "data.size to 8")
    asked = "/set --package net/edge ConfigMap/edge data.colour=blue"
    board.hears(stage.author, asked, "data.colour to blue")
    stage.rests()
    text = stage.author.reads("net/edge/settings.yaml", "drafts/net/edge/set")
    assert 'size: "8"' in text
    assert "colour: blue" in text
    assert [p.number for p in stage.author.pulls(every=True)] == [pull.number]


@pytest.mark.both_forges
def test_a_function_that_is_asked_for_once_runs_once(play: World) -> None:
    """The short-cut runs it at each look: one that adds something adds it for ever."""
    play.author.pushes("drafts/net/core/w", package("net/core"))
    pull = play.author.pull_of("drafts/net/core/w")
    play.rests()
    seconds_pass(play.forge, 1)
    play.author.says(pull.number, "/eval set-annotations:v0.1 team=net\n/eval set-labels:v0.2 a=b")
    play.author.waits_for_answer(pull.number, "Run set-labels:v0.2 on net/core")
    play.rests()
    text = play.author.reads("net/core/settings.yaml", "drafts/net/core/w")
    assert "team: net" in text.replace("'", "")
    assert "a: b" in text
    commits = play.author.commits_of(pull.number)
    assert len(commits) == 3
    play.sweep()
    play.rests()
    assert play.author.commits_of(pull.number) == commits


@pytest.mark.both_forges
def test_a_revision_is_edited_as_it_was_published(play: World) -> None:
    """The short-cut begins from the branch: the draft of v1 holds what v2 made of it."""
    for number, size in ((1, 2), (2, 3)):
        proposal = play.proposes(f"drafts/net/edge/w{number}", resized("net/edge", size))
        play.approver.says(proposal, "/approve")
        play.author.waits_for_tag(f"net/edge/v{number}")
        play.rests()
    other = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.says(other, "/edit net/edge@v1")
    pull = play.author.pull_of("drafts/net/edge/edit-v1")
    play.rests()
    assert 'size: "2"' in play.author.reads("net/edge/settings.yaml", "drafts/net/edge/edit-v1")
    assert pull.title.removeprefix("Draft: ") == "Edit net/edge v1"

    play.author.says(other, "/edit net/edge")
    latest = play.author.pull_of("drafts/net/edge/edit")
    play.rests()
    assert latest.draft
    assert len(play.author.commits_of(latest.number)) == 1

    play.author.says(other, "/edit net/edge@v9")
    assert "net/edge has no revision v9" in play.author.waits_for_answer(other, "refused")


def test_strangers_have_no_drafts_made(stage: World, board: Board) -> None:
    """The short-cut asks the role only before it pushes: functions ran for anybody by then."""
    asked = "/init net/mine\n/set --package net/edge data.size=9"
    refusal = board.hears(stage.outsider, asked, "refused")
    assert "`/init` refused" in refusal
    stage.rests()
    assert "drafts/net/mine/init" not in stage.author.branches()
    assert "drafts/net/edge/set" not in stage.author.branches()


def test_a_branch_of_others_is_not_taken(stage: World, board: Board) -> None:
    """The short-cut pushes with force: somebody's work is gone."""
    stage.author.pushes("drafts/net/edge/set", resized("net/edge", 44))
    pull = stage.author.pull_of("drafts/net/edge/set")
    stage.rests()
    stage.author.closes(pull.number)
    stage.rests()
    before = stage.author.branches()["drafts/net/edge/set"]
    answer = board.hears(stage.owner, "/set --package net/edge data.size=9", "refused")
    assert "holds commits that the bot did not make" in answer
    stage.rests()
    assert stage.author.branches()["drafts/net/edge/set"] == before


@pytest.mark.both_forges
def test_a_rollback_brings_a_revision_back_and_holds_the_package(play: World) -> None:
    """Short-cuts refused: a hold that only the database knows; a revert that keeps no number."""
    for number, size in ((1, 2), (2, 3)):
        proposal = play.proposes(f"drafts/net/edge/w{number}", resized("net/edge", size))
        play.approver.says(proposal, "/approve")
        play.author.waits_for_tag(f"net/edge/v{number}")
        play.rests()
    other = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.says(other, "/rollback net/edge@v1 v2 loses packets")
    pull = play.author.pull_of("drafts/net/edge/rollback-v1")
    play.rests()
    assert not pull.draft
    assert pull.title == "Roll back net/edge to v1"
    assert "Roll back net/edge to v1." in play.author.answers(other)[-1]
    branch = "drafts/net/edge/rollback-v1"
    assert 'size: "2"' in play.author.reads("net/edge/settings.yaml", branch)
    assert len(play.author.commits_of(pull.number)) == 1
    ledger = play.author.reads(".porchbot/ledger/net/edge.yaml", branch)
    assert "state: held" in ledger
    assert "v2 loses packets" in ledger
    shown = play.author.waits_for_summary(pull.number, "held: nothing newer is taken")
    assert "net/edge/v1" in shown
    assert "### net/edge v3, hold of net/edge at v1 are proposed" in shown
    assert "`net/edge` (its hold after a rollback): 0 of 1, from people" in shown

    play.author.says(pull.number, "/approve")
    play.author.waits_for_answer(pull.number, "refused")
    play.rests()
    assert "net/edge/v3" not in play.author.tags()
    play.approver.says(pull.number, "/approve")
    play.author.waits_for_tag("net/edge/v3")
    play.rests()

    play.author.says(other, "/upgrade net/edge")
    assert "is held at v1 since a rollback" in play.author.waits_for_answer(other, "/upgrade")
    play.author.says(other, "/resume net/edge fixed upstream")
    resumed = play.author.pull_of("drafts/net/edge/resume")
    play.author.waits_for_summary(resumed.number, "### Proposed: end of the hold of net/edge")
    play.rests()
    assert "no longer held" in play.author.waits_for_summary(resumed.number, "no longer held")
    play.approver.says(resumed.number, "/approve")
    play.rests()
    assert "held" not in play.author.reads(".porchbot/ledger/net/edge.yaml")


@pytest.mark.both_forges
def test_nobody_holds_a_package_by_hand_without_an_approval(play: World) -> None:
    """The short-cut takes a hold for no change of the rules, so that it needs nobody."""
    held = "version: 1\nrevisions:\n  1: {state: held, reason: mine}\n"
    proposal = play.proposes("drafts/net/edge/w1", resized("net/edge", 2))
    play.approver.says(proposal, "/approve")
    play.author.waits_for_tag("net/edge/v1")
    play.rests()
    play.author.pushes("people/hold", {".porchbot/ledger/net/edge.yaml": held})
    pull = play.author.opens("people/hold", "Hold it")
    play.rests()
    play.author.says(pull.number, "/approve")
    play.author.waits_for_answer(pull.number, "refused")
    play.rests()
    assert not play.author.pull(pull.number).merged
    play.approver.says(pull.number, "/approve")
    play.rests()
    assert play.author.pull(pull.number).merged


@pytest.mark.both_forges
def test_what_was_withdrawn_or_moved_is_not_begun_from(play: World) -> None:
    """Short-cuts refused: a revision is whatever git still has, or whatever its tag names now."""
    for number, size in ((1, 2), (2, 3), (3, 4)):
        proposal = play.proposes(f"drafts/net/edge/w{number}", resized("net/edge", size))
        play.approver.says(proposal, "/approve")
        play.author.waits_for_tag(f"net/edge/v{number}")
        play.rests()
    gone = "version: 1\nrevisions:\n  1: {state: withdrawn, reason: it leaked}\n"
    play.owner.pushes("main", {".porchbot/ledger/net/edge.yaml": gone})
    play.rests()
    other = play.proposes("drafts/net/core/w", package("net/core"))
    main = play.author.branches()["main"]
    play.owner.deletes("tags/net/edge/v2")
    play.owner.makes_ref("tags/net/edge/v2", main)
    play.rests()
    seconds_pass(play.forge, 1)
    play.author.says(other, "/edit net/edge@v1")
    assert "net/edge v1 was withdrawn" in play.author.waits_for_answer(other, "withdrawn")
    play.owner.deletes("tags/net/edge/v1")
    play.author.says(other, "/clone net/edge@v1 net/mine")
    assert "has no v1 any more: it was withdrawn (it leaked)" in play.author.waits_for_answer(
        other, "`/clone` refused"
    )
    for word in ("edit", "rollback"):
        play.author.says(other, f"/{word} net/edge@v2")
        answer = play.author.waits_for_answer(other, f"`/{word}` refused: the tag")
        assert "points to another commit than the one that was published" in answer
    play.rests()
    assert not [each for each in play.author.branches() if each.startswith("drafts/net/edge/edit")]


def test_a_package_that_is_held_twice_is_resumed_at_once(play: World) -> None:
    """The short-cut ends the newest hold: the older one, made by hand, holds it all the same."""
    for number, size in ((1, 2), (2, 3)):
        proposal = play.proposes(f"drafts/net/edge/w{number}", resized("net/edge", size))
        play.approver.says(proposal, "/approve")
        play.author.waits_for_tag(f"net/edge/v{number}")
        play.rests()
    held = "".join(f"  {n}: {{state: held, reason: mine}}\n" for n in (1, 2))
    path = ".porchbot/ledger/net/edge.yaml"
    play.owner.pushes("main", {path: f"version: 1\nrevisions:\n{held}"})
    play.rests()
    other = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.says(other, "/resume net/edge")
    play.author.pull_of("drafts/net/edge/resume")
    play.rests()
    assert "held" not in play.author.reads(path, "drafts/net/edge/resume")


def test_a_branch_in_the_way_is_named(stage: World, board: Board) -> None:
    """The short-cut pushes what git cannot have: it is tried for ever, and nobody is answered."""
    stage.author.pushes("drafts/net/edge", resized("net/edge", 44))
    stage.rests()
    answer = board.hears(stage.owner, "/set --package net/edge data.size=9", "refused")
    assert "the branch drafts/net/edge conflicts with the name drafts/net/edge/set" in answer
    stage.owner.deletes("heads/drafts/net/edge")
    stage.rests()
    seconds_pass(stage.forge, 1)
    board.hears(stage.owner, "/set --package net/edge data.size=9", "data.size to 9")

    stage.author.pushes("drafts/net/core/set/mine", resized("net/core", 44))
    stage.rests()
    answer = board.hears(
        stage.owner, "/set --package net/core data.size=9", "conflicts with the name"
    )
    assert "drafts/net/core/set/mine" in answer
