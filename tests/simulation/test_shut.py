"""The oracle: what windows and freezes keep shut, what is withdrawn, and what is released."""

from collections.abc import Callable

import pytest

from bot.sandbox.records.repository import Pull
from tests.simulation import setting
from tests.simulation.setting import BOT
from tests.simulation.test_oracle import OracleFixture, proper

LEDGER = b"revisions:\n  '1': {state: withdrawn, reason: broken}\n"


def ruled(scene: OracleFixture, rules: setting.RulesText) -> None:
    with scene.simulation.forge.change():
        scene.hands.commit("ann", "main", {setting.CONFIG: rules.text}, "rules")
    scene.rest()


def published(scene: OracleFixture) -> None:
    pull = scene.propose()
    scene.approve(pull)
    scene.merge(pull)
    scene.tag(pull)


def in_a_window(scene: OracleFixture) -> None:
    ruled(scene, setting.RulesText(windows=True))
    published(scene)


def after_a_window(scene: OracleFixture) -> None:
    ruled(scene, setting.RulesText(windows=True))
    scene.simulation.loop.advance(setting.CLOSED)
    published(scene)


def decided_before_it_closed(scene: OracleFixture) -> None:
    """What was read while it was open may be done a moment later."""
    ruled(scene, setting.RulesText(windows=True))
    scene.simulation.loop.advance(setting.CLOSED + 1)
    pull = scene.propose()
    scene.approve(pull)
    scene.simulation.loop.advance(setting.EVERY + 1)
    scene.merge(pull)


def freezes(scene: OracleFixture, word: str, answer: str, *then: str) -> Pull:
    pull = scene.propose()
    scene.approve(pull)
    with scene.simulation.forge.change():
        scene.hands.say("ann", pull, f"/{word}", word)
    record = f'{{"answered":[{pull.comments[-1].id}],"events":[],"kind":"answer"}}'
    for more in then:
        with scene.simulation.forge.change():
            scene.hands.say("ann", pull, f"/{more}", more)
    with scene.simulation.forge.change():
        scene.hands.say(BOT, pull, f"{answer}.\n\n<!-- porchbot:record {record} {'0' * 64} -->")
    scene.rest()
    return pull


def frozen(scene: OracleFixture) -> None:
    scene.merge(freezes(scene, "freeze", "Everything is frozen"))


def frozen_elsewhere(scene: OracleFixture) -> None:
    scene.merge(freezes(scene, "freeze net", "`net` is frozen"))


def freeze_refused(scene: OracleFixture) -> None:
    scene.merge(freezes(scene, "freeze", "`/freeze` refused"))


def thawed(scene: OracleFixture) -> None:
    pull = freezes(scene, "freeze", "Everything is frozen")
    with scene.simulation.forge.change():
        scene.hands.say("ann", pull, "/thaw", "thaw")
    scene.merge(pull)


def thawed_before_the_answer(scene: OracleFixture) -> None:
    """Answers come in the order of what was said, and later."""
    scene.merge(freezes(scene, "freeze", "Everything is frozen", "thaw"))


def lists(scene: OracleFixture, *approve: str) -> None:
    """A merge that withdraws what was published; whoever asked is its author."""
    proper(scene)
    with scene.simulation.forge.change():
        path = ".porchbot/ledger/app.yaml"
        scene.hands.commit("bob", "gone", {path: LEDGER}, "x", onto=scene.hands.tip("main"))
        pull = scene.hands.open("bob", "gone", "main", "Withdraw it")
    scene.rest()
    for who in approve:
        scene.approve(pull, who)
    scene.merge(pull)


def deletes(scene: OracleFixture) -> None:
    state, user = scene.hands.state, scene.simulation.forge.us
    with scene.simulation.forge.change():
        state.update_ref(scene.hands.repo, "refs/tags/app/v1", "0" * 40, user)


def withdrawn(scene: OracleFixture) -> None:
    lists(scene, "cat")
    deletes(scene)


def withdrawn_where_authors_approve(scene: OracleFixture) -> None:
    """Rules that let authors approve, but for a withdrawal, are still those of then."""
    ruled(scene, setting.RulesText(alone=True))
    withdrawn(scene)


def withdrawn_unapproved(scene: OracleFixture) -> None:
    lists(scene, "bob")
    deletes(scene)


def deleted_alone(scene: OracleFixture) -> None:
    proper(scene)
    deletes(scene)


def deleted_when_moved(scene: OracleFixture) -> None:
    """It is another tag than the one that the bot made, and that was approved to go."""
    lists(scene, "cat")
    with scene.simulation.forge.change():
        scene.hands.tag("dan", "app/v1", scene.hands.tip("main"), "mine\n")
    deletes(scene)


DEEDS: list[tuple[Callable[[OracleFixture], None], set[str]]] = [
    (in_a_window, {"in time"}),
    (after_a_window, set()),
    (decided_before_it_closed, set()),
    (frozen, {"in time"}),
    (frozen_elsewhere, set()),
    (freeze_refused, set()),
    (thawed, set()),
    (thawed_before_the_answer, set()),
    (withdrawn, set()),
    (withdrawn_where_authors_approve, set()),
    (withdrawn_unapproved, {"nothing lost"}),
    (deleted_alone, {"nothing lost"}),
    (deleted_when_moved, {"nothing lost"}),
]


@pytest.mark.parametrize(("deed", "violated"), DEEDS, ids=lambda d: getattr(d, "__name__", ""))
def test_each_check_sees_what_it_is_there_for(
    deed: Callable[[OracleFixture], None], violated: set[str]
) -> None:
    """Fails on an oracle that finds nothing, or that finds fault with what is proper."""
    scene = OracleFixture()
    with scene.simulation.happening():
        deed(scene)
    assert scene.judged() == violated


@pytest.mark.parametrize("asked", [True, False])
def test_a_tag_without_its_release_is_seen(asked: bool) -> None:
    """Fails when nobody asks for releases, or asks where no rules do."""
    scene = OracleFixture()
    with scene.simulation.happening():
        ruled(scene, setting.RulesText(releases=asked))
        scene.simulation.diary.of_ref["refs/heads/main"].clear()  # so they were from the beginning
        scene.simulation.evidence.beginning = scene.hands.tip("main")
        published(scene)
        ended = scene.simulation._ended(len(scene.simulation.diary.entries)).judge()
    assert ("released" in {each.check for each in ended}) is asked
