"""What the simulation found, told again step by step: each was a fault of the bot."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count

import pytest
import structlog

from bot.sandbox.records.repository import Pull
from tests.simulation import forge_calls
from tests.simulation.history import Simulation
from tests.simulation.manner import CALM
from tests.simulation.replica import Replica
from tests.simulation.setting import BOT, CONFIG, MAIN, RELEASE, RulesText, resource
from tests.simulation.weather import FORGE, GIT, Mishap


@pytest.fixture(autouse=True)
def nothing_logged() -> Iterator[None]:
    before = structlog.get_config()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL),
        cache_logger_on_first_use=False,  # whoever logs here first would be silent ever after
    )
    yield
    structlog.configure(**before)


class Told:
    """A bot and a proposal, on a day on which nothing goes wrong by itself.

    Args:
        seed: What the order of tasks is drawn from.
    """

    def __init__(self, seed: str = "7") -> None:
        self.sim = Simulation(seed, how=CALM)
        self.hands = self.sim.hands

    def begin(self) -> Pull:
        """The bot comes, and bob proposes a change."""
        self.sim.begin()
        self.sim.pass_time(30)
        with self.sim.forge.change():
            files: dict[str, bytes | None] = {"app/a.yaml": b"# stamped\nvalue: v9\n"}
            self.hands.commit("bob", "w", files, "x", onto=self.hands.tip("main"))
            pull = self.hands.open("bob", "w", "main", "Change")
        self.sim.pass_time(30)
        return pull

    def say(self, who: str, pull: Pull, text: str, seconds: float = 30) -> None:
        """Somebody comments, and time passes."""
        with self.sim.forge.change():
            self.hands.say(who, pull, text, text.removeprefix("/"))
        self.sim.pass_time(seconds)

    def summary(self, pull: Pull) -> str:
        """What the summary says."""
        return next(c.body for c in pull.comments if "porchbot:summary" in c.body)


def test_a_tag_that_an_old_answer_does_not_show_is_not_called_gone() -> None:
    """Fails when one stale list of tags makes the bot say, for good, that its tag is gone."""
    told = Told()
    with told.sim.happening():
        pull = told.begin()
        told.say("cat", pull, "/approve")
        assert "refs/tags/app/v1" in told.hands.repo.refs
        # Until the tag was made there was another state of the repository, and git shows that.
        changes = told.sim.forge.past.now - next(
            e.moment for e in told.sim.diary.entries if e.text == "refs/tags/app/v1"
        )
        for _ in range(3):
            stale = forge_calls.stale(changes + 1)
            told.sim.weather.coming.append(Mishap("stale", GIT, 0, stale))
        told.say("dan", pull, "/why", seconds=60)
        assert not told.sim.weather.coming
    assert "### Published app v1" in told.summary(pull)
    assert not any("the tag is gone" in c.body for c in pull.comments)


@pytest.mark.parametrize("call", range(1, 8))
def test_a_reaction_comes_after_the_answer_that_it_stands_for(call: int) -> None:
    """Fails when a bot dies between the two, and another one decides otherwise.

    Then a comment would have both reactions, one of them for what was never decided.
    """
    told = Told()
    with told.sim.happening():
        pull = told.begin()
        dies = Mishap("killed", FORGE, call, forge_calls.LOST, kills=True, writes=True)
        told.sim.weather.coming.append(dies)
        told.sim.weather.coming.append(Mishap("late", FORGE, 0, forge_calls.AWAY, writes=True))
        told.say("cat", pull, "/approve", seconds=0.5)
        comment = pull.comments[-1]
        comment = next(c for c in pull.comments if c.user.login == "cat")
        reacted = any(r.user.login == BOT for r in comment.reactions)
        answered = any(f'"answered":[{comment.id}]' in c.body for c in pull.comments)
        assert answered or not reacted
        told.sim.pass_time(60)
    assert len([r for r in comment.reactions if r.user.login == BOT]) <= 1


def test_two_merges_of_one_head_are_tagged_one_after_the_other() -> None:
    """Fails when whoever publishes one of them tags the other as well: both with one number.

    Four tags then go in one push, two of them twice: git refuses that, and nothing is published.
    """
    told = Told()
    hands, pulls = told.hands, told.hands.state.pulls
    rules = RulesText(release=True)
    with told.sim.happening():
        told.sim.begin()
        with told.sim.forge.change():
            for branch in (MAIN, RELEASE):
                hands.commit("ann", branch, {CONFIG: rules.text}, "rules")
        told.sim.pass_time(30)
        with told.sim.forge.change():
            files: dict[str, bytes | None] = {
                f"{package}/a.yaml": resource("a", "v9") for package in ("app", "net/core")
            }
            hands.commit("bob", "w", files, "x", onto=hands.tip(MAIN))
            both = [hands.open("bob", "w", base, "Change") for base in (MAIN, RELEASE)]
        told.sim.pass_time(30)
        told.say("dan", both[0], "/hold")
        for pull in both:
            told.say("cat", pull, "/approve")
        with told.sim.forge.change():
            for pull in both:
                pulls.merge(pull, hands.user("dan"))
        for pull in both:
            told.say("dan", pull, "/unhold")
        git = hands.state.git(hands.repo)
        tags = {r: git.tag(hands.repo.refs[r]).target for r in hands.repo.refs.below("refs/tags/")}
    assert sorted(tags) == [f"refs/tags/{p}/v{n}" for p in ("app", "net/core") for n in (1, 2)]
    assert {*tags.values()} == {pull.merge_commit_sha for pull in both}


def test_a_webhook_meets_the_look_that_goes_on() -> None:
    """Of the simulation itself: webhooks used to be sent once all that was ready had been done."""
    told = Told()
    with told.sim.happening():
        pull = told.begin()
        with told.sim.forge.change():
            told.hands.say("bob", pull, "looks good")
        told.sim.rest(12)

        assert any(call.endswith(" add") for call in told.sim.weather.trace[-12:])
        assert not told.sim.is_idle


@pytest.mark.parametrize("changed", [True, False])
def test_an_approval_of_a_withdrawal_is_of_the_rules_it_was_given_under(changed: bool) -> None:
    """Fails when only approvals of packages are asked about the rules: nobody looks meanwhile."""
    told = Told()
    with told.sim.happening():
        pull = told.begin()
        told.say("cat", pull, "/approve")
        with told.sim.forge.change():
            ledger = b"revisions:\n  1: {state: withdrawn, reason: it was broken}\n"
            path = ".porchbot/ledger/app.yaml"
            told.hands.commit("bob", "gone", {path: ledger}, "x", onto=told.hands.tip("main"))
            gone = told.hands.open("bob", "gone", "main", "Withdraw it")
        told.sim.pass_time(30)
        told.sim.kill(told.sim.replicas[0].name)  # another comes within 20 s
        with told.sim.forge.change():
            told.hands.say("cat", gone, "/approve", "approve")
        told.sim.pass_time(3)
        if changed:
            with told.sim.forge.change():
                rules = RulesText(judges=True).text
                told.hands.commit("ann", "main", {CONFIG: rules}, "rules")
        told.sim.pass_time(200)
        left = "refs/tags/app/v1" in told.hands.repo.refs
    assert left is changed
    assert gone.merged is not changed


def _written_over(seed: str) -> tuple[str, str] | None:
    """The newer summary, and what stands there at last; None where nothing was written over it."""
    told, stood = Told(seed), list[str]()
    sim = told.sim

    def stops(replica: Replica) -> None:
        if not stood:
            stood.append(replica.name)
            sim.stand_still(replica, 20)

    with sim.happening():
        pull = told.begin()
        sim.start()
        sim.pass_time(5)
        for each in sim.replicas:
            stop = partial(stops, each)
            late = Mishap("stands still", FORGE, 0, forge_calls.AWAY, first=stop, waits=True)
            sim.weather.coming.append(replace(late, owner=each.name, of="edit_comment"))
        told.say("cat", pull, "/hold not yet", seconds=15)
        assert stood
        held = told.summary(pull)
        told.say("cat", pull, "/unhold", seconds=4)
        newer = told.summary(pull)
        sim.pass_time(2)
        if not told.summary(pull) == held != newer:
            return None
        sim.pass_time(16)
        return newer, told.summary(pull)


def test_what_a_bot_wrote_over_a_newer_summary_is_put_right_at_once() -> None:
    """Fails when who lost a key goes away in silence: its edit was on its way while another bot
    wrote a newer one, no forge edits on a condition, and the old text stays until a sweep. For some
    seconds whoever reads it takes it for an old answer of the forge.

    Which bot writes when is drawn: the first seed is taken by which it comes to this.
    """
    newer, at_last = next(filter(None, map(_written_over, map(str, count(6)))))
    assert at_last == newer
