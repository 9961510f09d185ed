"""*Ready for review*, pressed on the forge, is held to a rule of `access.propose`."""

import pytest

from tests.stories.people import wait_for
from tests.stories.world import CONFIG, Staging, World, package, resized

RULE = '  approve: {require: 1, from: ["role:maintain"]}\n'
HELD = CONFIG.replace(RULE, RULE + '  propose: {from: ["role:maintain"]}\n')
BRANCH = "drafts/net/core/w"
NOTICE = (
    "@author The bot turned this back into a draft: only people with maintain access can propose"
    " it; you have write access. Ask one of them to comment `/propose`."
)


@pytest.mark.both_forges
def test_who_may_not_propose_may_not_by_a_button_either(staged: Staging) -> None:
    """Short-cuts refused: only `/propose` is held to the rule; a press is answered at each look, or
    the second press of the same person never; the bot's own press counts as somebody's."""
    with staged(HELD) as play:
        play.start_bot()
        play.author.pushes(BRANCH, package("net/core"))
        number = play.author.pull_of(BRANCH).number
        play.author.waits_for_summary(number, "draft")
        play.approver.says(number, "/approve")

        for times in (1, 2):
            play.author.makes_ready(number)
            wait_for("the draft", lambda: play.author.pull(number).draft or None)
            play.rests()
            assert [NOTICE in text for text in _told(play, number)] == [True] * times
        assert not play.author.tags()

        play.approver.says(number, "/propose")
        play.approver.says(number, "/approve")
        play.author.waits_for_tag("net/core/v1")
        assert len(_told(play, number)) == 2


def _told(play: World, number: int) -> list[str]:
    """The answers that turn a proposal back into a draft."""
    return [text for text in play.author.answers(number) if "back into a draft" in text]


@pytest.mark.both_forges
@pytest.mark.parametrize(("config", "who"), [(CONFIG, "author"), (HELD, "approver")])
def test_who_may_propose_may_press(staged: Staging, config: str, who: str) -> None:
    """Fails when presses are held to more than the rule that is written, or to one that is not."""
    with staged(config) as play:
        play.start_bot()
        play.author.pushes(BRANCH, package("net/core"))
        number = play.author.pull_of(BRANCH).number
        presser = {"author": play.author, "approver": play.approver}[who]
        presser.makes_ready(number)
        play.approver.says(number, "/approve")
        play.author.waits_for_tag("net/core/v1")
        assert _told(play, number) == []


@pytest.mark.both_forges
def test_who_may_not_approve_is_said_for_as_long_as_it_is_proposed(play: World) -> None:
    """Short-cut refused: who wrote what the bot opened is read only while somebody asks something.

    The look after the one that answers then takes the author out of the summary.
    """
    number = play.proposes("drafts/net/edge/w", resized("net/edge", 2))
    said = "except `author` (the author)"
    assert said in play.author.summary(number)

    play.sweep()
    play.rests()

    assert said in play.author.summary(number)
