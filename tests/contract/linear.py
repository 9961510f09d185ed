"""What ran at the same time, explained as if it had run one after the other.

Operations of a round run together on the real thing. A state of the model explains what they
answered if there is an order in which the model, from there, answers the same. States that explain
a round differently are all kept: what comes later decides between them.
"""

from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import permutations, product
from typing import Any, Generic, TypeVar

S = TypeVar("S")


@dataclass(frozen=True)
class Operation(Generic[S]):
    """One of a round.

    Attributes:
        name: For people.
        answers: Does it to a model, in one of several ways that it may go; gives what it answers.
        ways: How many ways there are.
        stamped: What it writes holds the time when it began, which is not the order of its effect.
    """

    name: str
    answers: Callable[[S, int], Awaitable[Any]]
    ways: int = 1
    stamped: bool = False


@dataclass
class Explained(Generic[S]):
    """The states that the model may be in.

    Attributes:
        states: Those that explain everything so far.
        copied: Copies a state.
        told: What tells two states apart.
        set_time: Sets the part of a second at which an operation began.
    """

    states: list[S]
    copied: Callable[[S], S]
    told: Callable[[S], Hashable]
    set_time: Callable[[S, int], None]
    tried: int = field(default=0)

    async def explain(self, operations: Sequence[Operation[S]], answers: Sequence[Any]) -> None:
        """Go on to the states after a round; none is left where nothing explains it."""
        found: dict[Hashable, S] = {}
        ways = list(product(*(range(each.ways) for each in operations)))
        for state in self.states:
            for order in permutations(range(len(operations))):
                for times in _times(operations, order):
                    for way in ways:
                        after = await self._after(state, operations, answers, (order, times, way))
                        if after is not None:
                            found.setdefault(self.told(after), after)
        self.states = list(found.values())

    async def _after(
        self,
        state: S,
        operations: Sequence[Operation[S]],
        answers: Sequence[Any],
        run: tuple[Sequence[int], Sequence[int], Sequence[int]],
    ) -> S | None:
        """The state after one way that it may have gone; None where that answers otherwise."""
        order, times, way = run
        after = self.copied(state)
        self.tried += 1
        for number in order:
            self.set_time(after, times[number])
            if await operations[number].answers(after, way[number]) != answers[number]:
                return None
        return after


def _times(operations: Sequence[Operation[Any]], order: Sequence[int]) -> Iterable[Sequence[int]]:
    """The orders in which they may have begun: where two write it down, any; else that one."""
    if sum(each.stamped for each in operations) > 1:
        return permutations(range(len(operations)))
    begun = [0] * len(operations)
    for place, number in enumerate(order):
        begun[number] = place
    return [begun]
