"""What scenes about another repository begin with."""

from collections.abc import Callable

from bot.git.port import GitRefusedError
from bot.sandbox.errors import RefusedError
from bot.sandbox.records.repository import Repository
from tests.simulation.forge_people import Actor
from tests.simulation.hands import ImpossibleError
from tests.simulation.scenes_variants import Play


class Elsewhere(Play):
    """A history with another repository, and what is often done there.

    Attributes:
        repo: The other one.
    """

    repo: Repository

    def act(self, who: str) -> Actor:
        """What somebody does there."""
        return self.s.forge.act(who, self.repo)

    def does(self, act: Callable[[], object]) -> None:
        """Somebody does something at the forge, which may refuse that."""
        try:
            super().does(act)
        except (RefusedError, GitRefusedError):
            raise ImpossibleError from None

    def changes(self, act: Callable[[], object]) -> None:
        """Somebody changes something there, or a topic."""
        self.does(act)
        for each in (self.s.catalog, self.s.neighbour):
            if each is not None:
                each.changed()
