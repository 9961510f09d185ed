"""What somebody who never saw the harness runs into, with an own way of doing things."""

import pytest

from tests.stories.people import wait_for
from tests.stories.world import World, package

BRANCH = "drafts/net/core/first"


@pytest.mark.both_forges
def test_what_could_not_be_rendered_is_not_called_rendered(play: World) -> None:
    """The short-cut takes "nothing to change" for "rendered", also where no function ran."""
    files = package("net/core")
    pipeline = "pipeline:\n  mutators:\n    - image: set-labels:v0.2\n      configPath: lost.yaml\n"
    files["net/core/Kptfile"] += pipeline
    play.author.pushes(BRANCH, files)
    number = play.author.pull_of(BRANCH).number
    run = play.author.waits_for_check(number, "porchbot/render", "failure")
    assert run.title == "`net/core` could not be rendered"
    if play.author.checks_are_edited:  # elsewhere a check holds a line, and the summary the rest
        assert 'failed to open functionConfig from path "lost.yaml"' in run.text
    play.author.waits_for_summary(number, "❌ **rendered**: `net/core` could not be rendered")

    play.author.pushes(BRANCH, package("net/core"))
    play.author.waits_for_check(number, "porchbot/render", "success")


@pytest.mark.both_forges
def test_changes_of_several_packages_name_their_package(play: World) -> None:
    """The short-cut lists `settings.yaml` twice, and nobody knows which one is meant."""
    number = play.proposes("drafts/many/first", {**package("net/core"), **package("net/rim")})
    shown = play.author.summary(number)
    assert "- `net/core/Kptfile: Kptfile core: added`" in shown
    assert "- `net/rim/Kptfile: Kptfile rim: added`" in shown


@pytest.mark.both_forges
def test_a_title_alone_tells_what_is_missing(play: World) -> None:
    """The short-cut cuts the cell of a table out of its row: "waits: 0 of 1"."""
    number = play.proposes(BRANCH, package("net/core"))

    def titled() -> bool | None:
        run = play.author.checks(play.author.pull(number).head).get("porchbot/publish")
        return (
            run is not None and run.title == "net/core v1 is waiting: approved by 0 of 1"
        ) or None

    wait_for("the title of porchbot/publish", titled)


@pytest.mark.both_forges
def test_a_question_ends_in_its_own_mark(play: World) -> None:
    """The short-cut puts a full stop behind "did you mean `/approve`?"."""
    number = play.proposes(BRANCH, package("net/core"))
    play.approver.says(number, "/aprove")
    answer = play.author.waits_for_answer(number, "did you mean")
    assert "did you mean `/approve`? `/help` lists the commands." in answer


@pytest.mark.both_forges
def test_who_sends_it_back_no_longer_approves_it(play: World) -> None:
    """The short-cut keeps the approval, and `/propose` publishes what was just rejected."""
    number = play.proposes(BRANCH, package("net/core"))
    play.author.says(number, "/hold")
    play.author.waits_for_summary(number, "`author` holds it")
    play.approver.says(number, "/approve")
    play.author.waits_for_summary(number, "1 of 1 (`approver`)")
    play.approver.says(number, "/reject on second thoughts")
    play.author.waits_for_summary(number, "on second thoughts")

    play.author.says(number, "/unhold\n/propose")
    play.author.waits_for_summary(number, "⏳ **approved**: 0 of 1")
    play.rests()
    assert not play.author.pull(number).merged

    again = play.approver.says(number, "/approve")
    play.author.waits_for_answer(number, "approved head", after=again)
    play.author.waits_for_tag("net/core/v1")
