"""Which repository's key a worker takes next: no busy one keeps another waiting.

A worker has one slot more than one repository may fill: however long the looks at a busy one take,
another is begun at once. It has one more for each further forge, and none fills that: a forge whose
answers take a minute each holds up no other. Where several are busy, the one with the fewest looks
goes first, then the one that had its turn longest ago; so that who comes after a pause does not
stand behind them.
"""

from collections import Counter, OrderedDict

from bot.keys import forge_named, place_of
from bot.store.values import SchedulingOrder

MOST_LATELY = 64
"""Repositories whose last turn is remembered: each makes the statement that takes a key longer."""


class FairScheduling:
    """The turns of one worker.

    Args:
        most: Looks of one repository at a time; one more of one forge.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._running: Counter[str] = Counter()
        self._forges: Counter[str] = Counter()
        self._lately: OrderedDict[str, None] = OrderedDict()

    def now(self) -> SchedulingOrder:
        """Whose turn it is: who has the fewest looks, then who had the last one longest ago."""
        lately = {place: turn for turn, place in enumerate(self._lately, start=1)}
        places = {*lately, *self._running}
        step = MOST_LATELY + 1
        return SchedulingOrder(
            {place: self._running[place] * step + lately.get(place, 0) for place in places},
            frozenset(place for place, looks in self._running.items() if looks >= self._most)
            | {forge for forge, looks in self._forges.items() if looks > self._most},
        )

    def began(self, key: str) -> None:
        """A look at a key begins."""
        place = place_of(key)
        self._running[place] += 1
        self._forges[forge_named(key)] += 1
        self._lately[place] = None
        self._lately.move_to_end(place)
        if len(self._lately) > MOST_LATELY:
            self._lately.popitem(last=False)

    def ended(self, key: str) -> bool:
        """A look at a key has ended; tells whether its repository or forge had all that it may."""
        place, forge = place_of(key), forge_named(key)
        was_full = self._running[place] >= self._most or self._forges[forge] > self._most
        self._running[place] -= 1
        self._forges[forge] -= 1
        if not self._running[place]:
            del self._running[place]
        return was_full
