"""The author is told: whose proposal it is, and what others did to it, once each."""

import pytest

from tests.stories.github_people import at_github
from tests.stories.people import wait_for
from tests.stories.test_main import BAD
from tests.stories.world import World, package, resized, seconds_pass


def test_an_image_that_may_not_run_tells_whom_to_ask_for_what(play: World) -> None:
    """Fails when an author is told to change the configuration of a runner he never saw."""
    files = package("net/core")
    files["net/core/Kptfile"] += """\
pipeline:
  validators:
    - image: ghcr.io/acme/checks/ports:v1.2
"""
    play.author.pushes("drafts/net/core/w", files)
    number = play.author.pull_of("drafts/net/core/w").number

    run = play.author.waits_for_check(number, "porchbot/validate", "failure")

    (note,) = play.author.remarks(number, run.name)
    assert (note.path, note.line) == ("net/core/Kptfile", 9)
    assert note.text == (
        "pipeline.validators[0]: the function cannot be run here: it is not among the functions"
        " allowed here. Use a function that runs here (`porchbot fn list`), or ask the"
        " administrators of this repository, or the operator of the bot, to do this: add the line"
        " `- ghcr.io/acme/checks/ports` under `allow` in the runner's configuration."
    )
    assert note.text.isprintable()


def test_the_author_is_named_and_told_once_of_what_others_did(play: World) -> None:
    """Fails when only check runs tell: no forge notifies anybody of those."""
    branch = "drafts/net/core/w"
    play.author.pushes(branch, package("net/core"), message="Add the core\n\nFor the racks.")
    pull = play.author.pull_of(branch)
    number = pull.number
    play.author.waits_for_check(number, "porchbot/validate", "success")

    assert pull.title == "Add the core"
    assert "pushed by @author." in pull.body
    assert play.author.pull(number).assigned == ("author",)

    play.author.says(number, "/propose")
    wait_for("the proposal", lambda: not play.author.pull(number).draft or None)
    play.approver.pushes(branch, {"net/core/router.yaml": BAD})
    play.author.waits_for_answer(number, "after a push by `approver`")
    play.approver.says(number, "/reject too *many* racks")
    play.author.waits_for_answer(number, "@approver @author: `approver` sent it back")
    play.approver.pushes("main", resized("net/edge", 7))
    play.rests()
    play.sweep()
    play.rests()

    said = [body.partition("\n")[0] for body in play.author.answers(number)]
    assert len([text for text in said if "after a push by" in text]) == 1
    assert len([text for text in said if "sent it back" in text]) == 1
    assert len(said) == 2


def test_proposals_of_one_package_name_each_other(play: World) -> None:
    """Fails when a proposal learns of another one only once that is published before it."""
    first = play.proposes("drafts/net/core/one", package("net/core"))
    other = play.proposes("drafts/apps/shop/one", package("apps/shop"))
    second = play.proposes("drafts/net/core/two", package("net/core", **{"more.yaml": ""}))

    play.author.waits_for_summary(second, f"- `net/core`: v1 (first); also changed by #{first}")
    play.author.waits_for_summary(first, f"- `net/core`: v1 (first); also changed by #{second}")
    assert "also changed" not in play.author.summary(other)

    play.author.closes(second)

    def gone() -> bool | None:
        return "also changed" not in play.author.summary(first) or None

    wait_for("the first to stand alone again", gone)


@pytest.mark.only_github("conversations that can be locked for Apps")
def test_a_locked_conversation_keeps_nobody_from_publishing(play: World) -> None:
    """Fails when what cannot be answered is tried for ever: its key fails, nothing is merged."""
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.waits_for_check(number, "porchbot/validate", "success")
    play.rests()
    seconds_pass(play.forge, 1)
    at_github(play.owner).get_issue(number).lock("too heated")

    play.approver.says(number, "/hold\n/approve")
    play.rests()
    assert play.failing() == []
    assert play.author.tags() == {}
    play.approver.says(number, "/unhold")

    play.author.waits_for_tag("net/core/v1")
    play.rests()
    assert play.failing() == []
