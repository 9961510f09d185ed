"""What passes between the bot and its workers about packages that are fetched."""

import pytest

from bot.render.workers import requests
from bot.render.workers.frames import Frame
from cadlib.errors import PackageError, Place
from cadlib.update.upstream import GoneError


@pytest.mark.parametrize("kind", [PackageError, GoneError])
def test_a_worker_learns_that_what_it_wants_is_gone(kind: type[PackageError]) -> None:
    """Short-cut refused: any trouble is one kind, so that no upgrade goes on without its origin."""
    name, values, _, _ = requests.fetched(kind(Place("a"), "no such commit", "Name another"))

    found = requests.read_fetched(Frame(name, values))

    assert type(found) is kind
    assert isinstance(found, PackageError)
    assert (found.place, found.problem, found.fix) == (Place("a"), "no such commit", "Name another")
