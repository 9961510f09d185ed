"""`/diff` and `/rebase` on the dashboard issue: about a package, and its open draft."""

import pytest

from tests.stories.people import Person, wait_for
from tests.stories.test_dashboard import shows
from tests.stories.test_upstreams import publishes
from tests.stories.world import World, package, resized, seconds_pass


class Board:
    """The dashboard issue, as people of either forge write on it."""

    def __init__(self, play: World) -> None:
        play.repository.has_issues = True
        play.start_bot()
        shows(play, "Packages")
        play.rests()
        seconds_pass(play.forge, 1)
        (self.number,) = (each.number for each in play.owner.issues())
        self._play = play

    def hears(self, person: Person, words: str, answer: str) -> str:
        """Say something there, and wait for a new answer with some words."""
        before = len(self._answers(answer))
        person.says_on_issue(self.number, words)
        return wait_for(
            f"an answer to {words!r} with {answer!r}",
            lambda: next(iter(self._answers(answer)[before:]), None),
            60,
        )

    def _answers(self, words: str) -> list[str]:
        found = self._play.owner.comments_on_issue(self.number)
        return [c.body for c in found if words in c.body and not c.body.startswith("/")]


@pytest.mark.both_forges
def test_a_package_is_compared_as_it_is_and_as_its_draft_has_it(stage: World) -> None:
    """Short-cuts refused: a command that is for a pull request only; the base branch compared
    where a draft is open; a draft of a package inside it taken for its own."""
    board = Board(stage)
    refused = "names no package"
    assert "diff <package>" in board.hears(stage.outsider, "/diff", refused)
    board.hears(stage.outsider, "/diff net/none", "there is no package net/none on main")
    board.hears(stage.outsider, "/diff net/edge", "no published revision to compare with")

    publishes(stage, "net/core", package("net/core"), 1)
    publishes(stage, "net/core", resized("net/core", 5), 2)
    inner = package("net/core/inner")
    stage.author.pushes("drafts/net/core/inner/w", inner)
    stage.author.pull_of("drafts/net/core/inner/w")
    said = board.hears(stage.outsider, "/diff net/core", "since v2")
    assert "`net/core` on `main`: no resources or fields changed since v2." in said
    said = board.hears(stage.outsider, "/diff net/core v1", "since v1")
    assert "1 change since v1" in said
    assert "size" in said
    board.hears(stage.outsider, "/diff net/core@v7", "has no revision v7")

    stage.author.pushes("drafts/net/core/w", resized("net/core", 9))
    pull = stage.author.pull_of("drafts/net/core/w")
    stage.rests()
    said = board.hears(stage.outsider, "/diff net/core", "against the merge base")
    assert f"{pull.number}: 1 change against the merge base with `main`" in said
    assert "9" in said


@pytest.mark.both_forges
def test_the_open_draft_of_a_package_is_brought_up_to_date(stage: World) -> None:
    """Short-cuts refused: a second pull request; one of several drafts chosen by chance; what
    somebody without the right asks for, or what they may in one of two packages; done twice."""
    board = Board(stage)
    board.hears(stage.author, "/rebase", "names no package")
    board.hears(stage.author, "/rebase net/edge", "there is no open draft of net/edge")
    stage.author.pushes("drafts/net/edge/w", resized("net/edge", 4))
    pull = stage.author.pull_of("drafts/net/edge/w")
    stage.rests()
    before = stage.author.pull(pull.number).head
    board.hears(stage.author, "/rebase net/edge", "is up to date: it contains all of `main`")

    publishes(stage, "net/core", package("net/core"), 1)
    board.hears(stage.outsider, "/rebase net/edge", "only people with write access")
    assert stage.author.pull(pull.number).head == before
    said = board.hears(stage.author, "/rebase net/edge", "merged `main` into `drafts/net/edge/w`")
    assert str(pull.number) in said
    stage.rests()
    after = stage.author.pull(pull.number).head
    assert stage.author.commit(after).parents == (before, stage.author.tags()["net/core/v1"])
    stage.author.waits_for_check(pull.number, "porchbot/validate", "success")
    stage.sweep()
    stage.rests()
    assert stage.author.pull(pull.number).head == after

    stage.author.pushes("drafts/net/edge/v", resized("net/edge", 6))
    stage.author.pull_of("drafts/net/edge/v")
    stage.rests()
    board.hears(stage.author, "/rebase net/edge", "has several open drafts")
    stage.author.pushes("drafts/net/core/w", {**resized("net/core", 3), **resized("net/edge", 3)})
    stage.author.pull_of("drafts/net/core/w")
    stage.rests()
    board.hears(stage.author, "/rebase net/core", "changes net/edge as well")


@pytest.mark.both_forges
def test_a_package_is_moved_to_another_upstream_from_the_dashboard(stage: World) -> None:
    """Short-cuts refused: a second pull request for the second time; the asker no author of it."""
    board = Board(stage)
    publishes(stage, "net/base", package("net/base"), 1)
    other = package("net/other")
    other["net/other/settings.yaml"] = other["net/other/settings.yaml"].replace(
        "name: other", "name: base"
    )
    publishes(stage, "net/other", other, 1)
    board.hears(stage.author, "/clone --propose net/base@v1 net/mine", "Clone net/mine")
    cloned = stage.author.pull_of("drafts/net/mine/clone")
    stage.rests()
    stage.approver.says(cloned.number, "/approve")
    stage.author.waits_for_tag("net/mine/v1")
    stage.rests()

    asked = "/rebase net/mine onto net/other@v1"
    board.hears(stage.outsider, asked, "only people with write access")
    said = board.hears(stage.approver, asked, "Rebase net/mine onto net/other v1")
    pull = stage.author.pull_of("drafts/net/mine/rebase")
    assert str(pull.number) in said
    stage.rests()
    kptfile = stage.author.reads("net/mine/Kptfile", "drafts/net/mine/rebase")
    assert kptfile.count("ref: net/other/v1") == 2
    board.hears(stage.approver, asked, "net/mine onto net/other")
    stage.rests()
    assert len(stage.author.commits_of(pull.number)) == 1
    stage.approver.says(pull.number, "/propose\n/approve")
    stage.author.waits_for_answer(pull.number, "author")
