"""What a step of a history may be, besides one act of one person: a scene, or a misfortune."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from tests.simulation.history import Simulation

Act = Callable[["Simulation"], str]


@dataclass(frozen=True)
class Deed:
    """Something that is done to a history.

    Attributes:
        name: As the figures name it.
        weight: How often, beside others.
        act: Does it, and tells what was done.
    """

    name: str
    weight: float
    act: Act


class Scenario(Deed):
    """What several people do one after the other."""


class Misfortune(Deed):
    """Something that befalls bots, database or forge."""


D = TypeVar("D", bound=Deed)


class Deeds(list[D]):
    """Deeds of one kind.

    Args:
        kind: Which.
        prefix: What their names begin with.
    """

    def __init__(self, kind: type[D], prefix: str = "") -> None:
        self._kind = kind
        self._prefix = prefix

    def add(self, name: str, weight: float) -> Callable[[Act], Act]:
        """Adds one to them."""

        def added(act: Act) -> Act:
            self.append(self._kind(f"{self._prefix}{name}", weight, act))
            return act

        return added


def scenes() -> Deeds[Scenario]:
    """A list of scenes."""
    return Deeds(Scenario, "scene: ")
