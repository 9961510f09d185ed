"""Why packages of variants wait, as the dashboard issue of their repository tells whoever reads it.

The bot alone knows it. Of a clone on disk nothing is asked.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from bot.cli import terminal
from bot.cli.dropin import CommandFailure
from bot.cli.rpkg import speaking
from bot.cli.rpkg.sources import SourceRepository
from lifecycle.messages.dashboard import waits_told
from lifecycle.upstreams import graph as graphs
from lifecycle.upstreams.graph import Package

Waits = Mapping[Package, str]
"""Packages, which need not be there yet, to why they wait."""


def told(found: Sequence[SourceRepository], repositories: Collection[str]) -> dict[Package, str]:
    """Return what waits in repositories at the forge; nothing of one without a dashboard.

    Args:
        found: What is read.
        repositories: Names of those that are read at the forge.
    """
    waits: dict[Package, str] = {}
    for name in repositories:
        source = next((s for s in found if s.name.lower() == _path(name).lower()), None)
        if source is None:
            continue
        try:
            with speaking.place_of(name) as speaker:
                text = speaker.board()
        except CommandFailure:
            continue
        waits |= {Package(source.place, path): why for path, why in waits_told(text).items()}
    return waits


def _path(name: str) -> str:
    return speaking.address_of(name).name


def lines(waits: Waits, home: SourceRepository, among: Collection[Package] | None) -> Iterator[str]:
    """Return a line for each package that waits.

    Args:
        waits: What waits.
        home: Whose packages are called by their paths.
        among: Those that were chosen; None for all.
    """
    for package, why in sorted(waits.items()):
        if among is None or package in among:
            name = graphs.called(package, home.place)
            yield terminal.line(f"Waits: {name}, {why}")
