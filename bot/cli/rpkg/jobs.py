"""What a bulk command does to each package or pull request: found anew at each look."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bot.cli.rpkg.session import RepositorySnapshot, Session
from lifecycle.bulk import BulkItem
from lifecycle.upstreams.graph import Graph


@dataclass(frozen=True, slots=True)
class Ask:
    """The comment by which one of them is asked for.

    Attributes:
        seen: In which repository.
        number: Of the pull request; 0 for the dashboard issue.
        text: The command, with its slash.
    """

    seen: RepositorySnapshot
    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedPackages:
    """What a look at everything finds.

    Attributes:
        items: What is chosen, and how far it is.
        asks: Key of an item to the comment that asks for it.
        names: Key of an item to its name for people.
        left: What is chosen and left out all the same, by name, and why.
        graph: What was made from what.
        packages: How many packages are chosen, where one item is about several; 0 for one each.
    """

    items: tuple[BulkItem, ...]
    asks: dict[str, Ask] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    left: tuple[tuple[str, str], ...] = ()
    graph: Graph = field(default_factory=Graph)
    packages: int = 0


class Job(Protocol):
    """One bulk command.

    Attributes:
        verb: What it does, such as "upgrade".
        published: What was begun is done once it is published, which takes people.
        asked: Keys of what this process asked for.
        reminder: What is said where nothing is chosen, with a space before it; "" for nothing.
    """

    reminder: str
    verb: str
    published: bool
    asked: set[str]

    async def find(self, session: Session) -> SurveyedPackages:
        """Look at everything."""


def home(every: Sequence[RepositorySnapshot]) -> str:
    """Name of the repository whose packages are named by their paths alone."""
    return every[0].source.name
