"""How a history is drawn: what may happen in it, and what is frequent in this one."""

from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from tests.simulation import (
    moves,
    moves_attacks,
    moves_boxes,
    moves_dashboard,
    moves_settings,
    moves_talk,
    moves_variants,
    scenes,
    scenes_beyond,
    scenes_bots,
    scenes_boxes,
    scenes_catalog,
    scenes_gates,
    scenes_memory,
    scenes_rules,
    scenes_variants,
)
from tests.simulation.deeds import Misfortune, Scenario
from tests.simulation.faults import MISFORTUNES
from tests.simulation.moves import Move
from tests.simulation.setting import AUTOMATIC, CHOICES, LETS_IN, VARIED, RulesText

Step: TypeAlias = Move | Scenario | Misfortune


@dataclass(frozen=True)
class Manner:
    """How one history is drawn: what is frequent in it, and how hurried everybody is.

    Attributes:
        weights: Of each step, in the order of `STEPS`.
        calm: Nothing goes wrong.
        replicas: Bots at work.
        lost: Share of webhooks that nobody gets.
        late: Share that comes late.
        doubled: Share that comes twice.
        latency: Share of calls that take a while.
        alone: Share of awaits at which the same task is drawn again.
        hurry: Share of steps after which nothing rests before the next.
        before: The bot comes when this many steps were done.
        rules: Those of the repository at the beginning; None without a file.
        steps: What may happen.
        moves: What people do, of these: they come first.
        boxed: Boxes of the dashboard issue are ticked.
        wide: Besides that, rules reach another repository.
    """

    weights: tuple[float, ...]
    calm: bool
    replicas: int
    lost: float
    late: float
    doubled: float
    latency: float
    alone: float
    hurry: float
    before: int
    rules: RulesText | None = None
    steps: tuple[Step, ...] = ()
    moves: tuple[Move, ...] = ()
    boxed: bool = False
    wide: bool = False


SETTLING = "everything settles"
"""The step after which 40 s have passed."""

SCENES = (*scenes.SCENES, *scenes_bots.SCENES, *scenes_memory.SCENES, *scenes_gates.SCENES)

MOVES: tuple[Move, ...] = tuple(
    each for module in (moves, moves_talk, moves_attacks, moves_settings) for each in module.MOVES
)
"""All that people do."""

STEPS: tuple[Step, ...] = (*MOVES, *SCENES, *MISFORTUNES)
"""All that may happen without variants."""

WITH_VARIANTS: tuple[Step, ...] = (
    *moves_variants.MOVES,
    *moves_dashboard.MOVES,
    *MOVES,
    *scenes_variants.SCENES,
    *scenes_rules.SCENES,
    *SCENES,
    *MISFORTUNES,
)
"""All that may happen where there are variants."""

APART: tuple[Step, ...] = (*scenes_catalog.SCENES, *WITH_VARIANTS)
"""All that may happen where a second repository is an upstream, too."""

WIDE: tuple[Step, ...] = (*moves_boxes.MOVES, *scenes_boxes.SCENES, *scenes_beyond.SCENES)
"""What may happen besides where boxes are ticked, and rules reach another repository."""

BESIDE = 0.25
"""How often what has nothing to do with variants happens beside them."""


def manner(
    draw: Random,
    variants: bool = False,
    apart: bool = False,
    boxed: bool = False,
    *,
    beyond: bool = True,
) -> Manner:
    """Draw the manner of a history: some things are frequent in it, others left out.

    Args:
        draw: What it is drawn from.
        variants: As for `Simulation`.
        apart: Likewise.
        boxed: Boxes of the dashboard issue are ticked.
        beyond: Where they are, rules reach another repository too.
    """
    wide = boxed and beyond
    steps = APART if apart else WITH_VARIANTS if variants else STEPS
    if boxed:
        far = scenes_beyond.SCENES if wide else ()
        steps = (*moves_boxes.MOVES, *steps, *scenes_boxes.SCENES, *far)
    moves = tuple(each for each in steps if isinstance(each, Move))
    ours = {*moves_variants.MOVES, *moves_dashboard.MOVES}
    ours |= {*WIDE, *scenes_variants.SCENES, *scenes_rules.SCENES, *scenes_catalog.SCENES}
    calm = draw.random() < 0.2
    weights = []
    for step in steps:
        share = draw.choice((0.0, 0.5, 1.0, 1.0, 3.0))
        if isinstance(step, Misfortune) and calm and step.name != SETTLING:
            share = 0.0
        if step.weight >= 2.5:
            share = max(share, 0.5)
        if variants and step not in ours and not isinstance(step, Misfortune):
            share *= BESIDE
        weights.append(step.weight * share)
    return Manner(
        weights=tuple(weights),
        replicas=draw.choice((1, 2, 2, 3)),
        calm=calm,
        lost=0.0 if calm else draw.choice((0.0, 0.05, 0.3)),
        late=0.0 if calm else draw.choice((0.0, 0.1, 0.4)),
        doubled=draw.choice((0.0, 0.1)),
        latency=0.0 if calm else draw.choice((0.0, 0.0, 0.05, 0.3)),
        alone=draw.choice((0.3, 0.7, 0.9)),
        hurry=draw.choice((0.2, 0.5, 0.8)),
        before=draw.choice((0, 0, 0, 4)),
        rules=_rules(draw, variants=variants, apart=apart),
        steps=steps,
        moves=moves,
        boxed=boxed,
        wide=wide,
    )


def _rules(draw: Random, *, variants: bool, apart: bool) -> RulesText | None:
    if variants:
        drawn = draw.choice([r for r in VARIED if not r.broken] + list(AUTOMATIC))
        return drawn.reached(LETS_IN) if apart else drawn
    return draw.choice(CHOICES[:-1]) if draw.random() < 0.6 else None


CALM = Manner(
    (), calm=True, replicas=1, lost=0, late=0, doubled=0, latency=0, alone=0, hurry=0, before=0
)
"""Nothing goes wrong by itself: for a history that is told step by step."""
