"""The author is told: whose proposal it is, and what others did to it, once each."""

from tests.stories.people import wait_for
from tests.stories.test_main import BAD
from tests.stories.world import World, package, resized


def test_the_author_is_named_and_told_once_of_what_others_did(play: World) -> None:
    """Fails when only check runs tell: no forge notifies anybody of those."""
    branch = "drafts/net/core/w"
    play.author.pushes(branch, package("net/core"), message="Add the core\n\nFor the racks.")
    pull = play.author.pull_of(branch)
    number = pull.number
    play.author.waits_for_check(number, "porchbot/validate", "success")

    assert pull.title == "Add the core"
    assert "pushed by @author." in pull.body
    assert [user.login for user in play.author.pull(number).assignees] == ["author"]

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
