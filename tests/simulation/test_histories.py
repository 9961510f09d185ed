"""Histories: nothing is violated, a seed says all of it, and what goes wrong becomes small."""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import count
from random import Random

import pytest
import structlog

from tests.simulation import scenes_boxes
from tests.simulation.__main__ import kind
from tests.simulation.history import Simulation, play
from tests.simulation.manner import CALM, STEPS, manner
from tests.simulation.outcome import Outcome
from tests.simulation.setting import ADMIN, BOT, MAIN
from tests.simulation.shrink import printed, reduce


@pytest.fixture(autouse=True)
def nothing_logged() -> Iterator[None]:
    before = structlog.get_config()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL),
        cache_logger_on_first_use=False,  # whoever logs here first would be silent ever after
    )
    yield
    structlog.configure(**before)


BEGINNING = range(24)
"""Steps of a history that are taken here; `make simulate` takes all of them."""

beginning = cache(lambda seed: play(seed, BEGINNING))


@pytest.mark.parametrize("seed", ["3", "6"])
def test_nothing_is_violated_and_a_seed_replays(seed: str) -> None:
    """Fails where anything but the seed is drawn from: a clock, an id, the order of a set."""
    first, again = beginning(seed), play(seed, BEGINNING)
    assert [str(v) for v in first.violations] == []
    assert (first.trace, first.steps) == (again.trace, again.steps)
    assert first.tally == again.tally
    assert len(first.steps) > 20
    assert first.trace in printed(first)


def test_the_same_happens_at_gitlab_by_its_own_rules() -> None:
    """Fails where the other forge is played by GitHub's, or draws what the seed does not say.

    A few steps: by GitLab's API and the adapter that asks it, a history takes three times as long.
    """
    first, again = play("2", range(2), at="gitlab"), play("2", range(2), at="gitlab")
    assert [str(v) for v in first.violations] == []
    assert first.trace == again.trace
    assert first.tally["stage: opened"]
    said = [e.text for e in first.diary.entries if e.what == "comment created"]
    assert any(text.startswith("@porchbot ") for text in said)
    assert not any(text.startswith("/") for text in said)


def _a_little(seed: str, at: str = "github", *, boxed: bool = False) -> Outcome:
    """A few steps with variants: rules are pushed, what they need is published, boxes are ticked.

    Nothing else is drawn, so that few seeds have to be tried for one in which that comes together.
    """
    asyncio.set_event_loop(None)
    beyond = at == "github"
    drawn = manner(Random(f"{seed}/begin"), variants=True, boxed=boxed, beyond=beyond)
    wanted = {"variant: rule pushed", "scene: variant: its upstream is published"}
    wanted |= {each.name for each in scenes_boxes.SCENES}
    weights = tuple(float(s.name in wanted) for s in drawn.steps)
    how = replace(drawn, weights=weights, before=0)
    return Simulation(seed, range(4), how=how, variants=True, at=at).run()


def _chooses(history: Outcome) -> bool:
    """Whether a set has chosen objects, and a draft was opened for one of its variants."""
    opened = [e.text for e in history.diary.entries if e.who == BOT and e.what == "pull opened"]
    is_opened = any("/packagevariant-" in ref for ref in opened)
    return is_opened and "chosen=True" in repr(history.steps)


def test_variants_are_asked_for_and_what_there_is_without_them_stays() -> None:
    """Short-cuts refused: variants are drawn from what other histories draw; rules that ask for
    nothing, so that nothing can go wrong.

    A few steps of it, with a set that chooses objects: it replays as the others do. What a seed
    draws may change with each new move, so the first that draws this is looked for.
    """
    seeds = (str(number) for number in count(141))
    seed, first = next((seed, one) for seed in seeds if _chooses(one := _a_little(seed)))
    assert [str(v) for v in first.violations] == []
    assert first.trace == _a_little(seed).trace
    plain, varied = (manner(Random("17/begin"), variants) for variants in (False, True))
    assert plain.steps == STEPS
    assert {*varied.steps} > {*STEPS}
    assert [kind(n, "some")["variants"] for n in range(1, 5)] == [False] * 3 + [True]


def test_every_eighth_history_has_a_second_repository() -> None:
    """Short-cuts refused: it has to be asked for; GitLab, which has none, is given one too."""
    numbers = range(1, 17)
    apart = [n for n in numbers if kind(n, "some")["apart"]]
    assert apart == [8, 16]
    assert all(kind(n, "some")["variants"] for n in apart)
    assert not any(kind(n, "some", "gitlab")["apart"] for n in numbers)
    assert not any(kind(n, which)["apart"] for n in numbers for which in ("all", "none"))


def _ticks(history: Outcome) -> bool:
    """Whether somebody ticked a box of the dashboard issue."""
    return any(e.what == "box ticked" for e in history.diary.entries)


def test_about_half_of_those_with_variants_tick_boxes_and_reach_another_repository() -> None:
    """Short-cuts refused: the others draw otherwise than before; it is drawn from what they draw;
    what people do at such a history stands where others look for scenes; no box is ever there."""
    begun = {n: Simulation(str(n), variants=True) for n in range(1, 9)}
    assert [n for n, each in begun.items() if each.wide] == [1, 2, 4, 7]
    assert {each.neighbour.name for each in begun.values() if each.neighbour} == {"east"}
    assert not Simulation("1").wide
    plain, wide = (manner(Random("17/begin"), True, boxed=boxed) for boxed in (False, True))
    assert {*wide.steps} > {*plain.steps}
    assert wide.steps[: len(wide.moves)] == wide.moves
    seeds = (str(number) for number in count(1) if Simulation(str(number), variants=True).wide)
    seed, first = next((seed, one) for seed in seeds if _ticks(one := _a_little(seed, boxed=True)))
    assert [str(v) for v in first.violations] == []
    assert first.trace == _a_little(seed, boxed=True).trace


def test_boxes_are_ticked_at_gitlab_too_and_nothing_is_reached_there() -> None:
    """Short-cuts refused: commands are looked for as GitHub spells them, and issues by numbers that
    merge requests have as well, so that no box is ever ticked or answered."""
    begun = {n: Simulation(str(n), at="gitlab", variants=True) for n in range(1, 9)}
    assert [n for n, each in begun.items() if each.boxed] == [1, 2, 4, 7]
    assert all(each.repo.has_issues for each in begun.values() if each.boxed)
    assert not any(each.wide or each.neighbour for each in begun.values())
    seeds = (str(number) for number in count(1))
    told = next(one for n in seeds if _ticks(one := _a_little(n, "gitlab", boxed=True)))
    assert [str(v) for v in told.violations] == []
    assert any(
        each.who == BOT and each.what == "issue comment created" and "ticked by" in each.text
        for each in told.diary.entries
    )


def test_what_gitlab_tells_replays() -> None:
    """The short-cut draws the ids of events from the system: whom the bot hears first of those who
    do something in one moment goes by them."""

    def told() -> list[Mapping[str, str]]:
        sim = Simulation("3", at="gitlab")
        tip = sim.hands.tip(MAIN)
        sim.hands.commit(ADMIN, "topic", {"words.md": b"Some.\n"}, "Add it", onto=tip)
        return [hook.headers for hook in sim.forge.deliveries]

    assert len(first := told()) >= 1
    assert told() == first


def test_a_step_does_the_same_without_the_others() -> None:
    """Fails where steps draw from one generator: then none can be left out."""
    whole = beginning("3")
    numbers = sorted(whole.steps)[:6]
    part = play("3", numbers)
    assert set(part.steps) <= set(numbers)
    assert part.steps[numbers[0]] == whole.steps[numbers[0]]
    assert part.trace != whole.trace


def test_what_goes_wrong_is_reduced_to_what_it_takes() -> None:
    """Fails where only whole halves are left out."""
    tried: list[Sequence[int]] = []

    def goes_wrong(steps: Sequence[int]) -> bool:
        tried.append(steps)
        return {3, 17, 40} <= set(steps)

    assert reduce(range(50), goes_wrong) == [3, 17, 40]
    assert len(tried) < 100


class Looking(Simulation):
    """A history in which somebody looks at something for more than a minute."""

    UNTIL = 100.0
    jumped_from = 0.0

    @property
    def is_idle(self) -> bool:
        return self.loop.now >= self.UNTIL

    def _advance(self, until: float) -> None:
        if until - self.loop.now > 1000:
            self.jumped_from = self.loop.now
        super()._advance(until)


def test_much_time_passes_at_once_only_when_no_bot_looks() -> None:
    """The short-cut jumps after half a minute: a lease ends whose bot could not renew it, and two
    bots look at one key."""
    there = Looking("7", how=CALM)
    with there.happening():
        there.skip(3600.0)
    assert there.jumped_from >= Looking.UNTIL
