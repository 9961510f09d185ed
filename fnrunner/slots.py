"""Slots to run in and slots to wait in: fair between callers, and between functions.

Calls are told apart by who they are for (`CALL`) and by their function without its tag. Whoever
brings many, or slow ones, waits for his own.

Rules
- Slots to run in: those are first that have the fewest running of their caller and function
  together, then those that came first.
- Beside the usual slots there are some for a function of which nothing runs yet, and some for
  a caller of whom nothing runs yet: scripts that never end cannot take all.
- Slots to wait in: when none is left, the newest call of those that have the most gives up its own
  for one that has fewer.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from cadlib import images
from fnrunner.contract.errors import RunnerBusyError
from fnrunner.contract.run import current_call

_RETRY_AFTER: Final = 1.0  # seconds; a queue of 64 short functions drains in about that time


@dataclass(frozen=True, slots=True, eq=False)
class _Asker:
    """A call, as far as fairness goes."""

    caller: str
    function: str


class _Count:
    """How many calls there are of each caller, and of each function."""

    def __init__(self, askers: Iterable[_Asker]) -> None:
        given = tuple(askers)
        self._callers = Counter(each.caller for each in given)
        self._functions = Counter(each.function for each in given)

    def of(self, asker: _Asker) -> int:
        """Return how many there are of its caller, and of its function, added up."""
        return self._callers[asker.caller] + self._functions[asker.function]


def _asker(image: str) -> _Asker:
    return _Asker(current_call().caller, images.repository(image.partition("@")[0]))


def spare(running: int) -> int:
    """Return how many slots are kept for functions of which nothing runs, and for such callers."""
    return max(1, running // 4)


def most(running: int) -> int:
    """Return how many calls run at a time at most, where usually so many do."""
    return running + 2 * spare(running)


class _Kind(Enum):
    """Kinds of slots: for all, for functions and for callers of whom nothing runs."""

    USUAL = auto()
    FUNCTION = auto()
    CALLER = auto()


@dataclass(slots=True, eq=False)
class _Waiting:
    asker: _Asker
    turn: asyncio.Future[None]


class RunSlots:
    """Slots to run in; a call takes one while it runs."""

    def __init__(self, running: int) -> None:
        """Make them.

        Args:
            running: How many calls run at a time, without the spare turns.
        """
        self._usual = running
        self._spare = spare(running)
        self._waiting: list[_Waiting] = []  # in the order in which they came
        self._running: dict[_Asker, _Kind] = {}

    @property
    def running(self) -> int:
        """How many calls have a turn now."""
        return len(self._running)

    def free(self, image: str) -> bool:
        """Tell whether a call would have a turn at once."""
        return self._kind(_asker(image)) is not None

    @asynccontextmanager
    async def one(self, image: str) -> AsyncIterator[None]:
        """Wait for a turn, and have it inside the block."""
        asker = _asker(image)
        waiting = _Waiting(asker, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._give()
        try:
            await waiting.turn
            yield
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            self._running.pop(asker, None)
            self._give()

    def _give(self) -> None:
        """Give turns as long as there are any, to those that have the fewest."""
        count = _Count(self._running)
        for waiting in sorted(self._waiting, key=lambda each: count.of(each.asker)):
            kind = self._kind(waiting.asker)
            if kind is None or waiting.turn.done():  # cancelled, and on its way out
                continue
            self._running[waiting.asker] = kind
            self._waiting.remove(waiting)
            waiting.turn.set_result(None)
            return self._give()  # what others have has changed
        return None

    def _kind(self, asker: _Asker) -> _Kind | None:
        """Return which turn there is for a call, if any."""
        taken = Counter(self._running.values())
        if taken[_Kind.USUAL] < self._usual:
            return _Kind.USUAL
        if taken[_Kind.FUNCTION] < self._spare and not any(
            each.function == asker.function for each in self._running
        ):
            return _Kind.FUNCTION
        if taken[_Kind.CALLER] < self._spare and not any(
            each.caller == asker.caller for each in self._running
        ):
            return _Kind.CALLER
        return None


@dataclass(slots=True, eq=False)
class _Place:
    asker: _Asker
    until: asyncio.Timeout = field(default_factory=lambda: asyncio.timeout(None))


class QueueSlots:
    """Slots for calls that wait or run."""

    def __init__(self, number: int) -> None:
        """Make them.

        Args:
            number: How many there are.
        """
        self._number = number
        self._taken: list[_Place] = []  # the oldest first

    @asynccontextmanager
    async def one(self, image: str, ahead: int = 0) -> AsyncIterator[None]:
        """Have a place inside the block, which ends there when another call gets it.

        Args:
            image: The function, as it was asked for.
            ahead: How many calls are ahead of all places, for the message.

        Raises:
            RunnerBusyError: There is none, or another call got it.
        """
        place = _Place(_asker(image))
        ahead += self._number
        if len(self._taken) >= self._number and not self._make_room(place.asker):
            raise _crowded(image, ahead)
        with self._had(place):
            try:
                async with place.until:
                    yield
            except TimeoutError:
                if place.until.expired():
                    raise _crowded(image, ahead) from None
                raise

    @contextmanager
    def _had(self, place: _Place) -> Iterator[None]:
        self._taken.append(place)
        try:
            yield
        finally:
            if place in self._taken:
                self._taken.remove(place)

    def _make_room(self, asker: _Asker) -> bool:
        """Take a place from those that have the most, unless that is who asks."""
        if not self._taken:
            return False
        count = _Count(each.asker for each in self._taken)
        # The newest of them: `max` returns the first that it finds.
        place = max(reversed(self._taken), key=lambda each: count.of(each.asker))
        if count.of(asker) + 2 >= count.of(place.asker):  # it would count twice itself
            return False
        self._taken.remove(place)
        place.until.reschedule(asyncio.get_running_loop().time())
        return True


def _crowded(image: str, now: int) -> RunnerBusyError:
    return RunnerBusyError(f'function "{image}"', f"{now} calls are ahead of it", _RETRY_AFTER)
