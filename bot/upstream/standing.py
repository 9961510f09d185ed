"""Whether an address may be of a repository that the bot is let into, whatever it is called there.

What the database calls a repository is what it was called when the bot last heard of it. So the
forge is asked by name, and where it does not say that the bot is out, it counts as in. That is kept
for a minute, in which nothing is opened. That the bot is out is not: it may be let in right after,
or a repository may take that name.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bot.clock import SYSTEM, Clock
from bot.forges.port import ForgeRefusedError, Forges
from lifecycle.upstreams.locations import Location

MOST_PARTS: Final = 24
"""Parts of a path that are looked at: GitLab nests twenty groups, below a path of its host."""

SECONDS: Final = 60.0
"""How long it counts that a forge did not say that the bot is out."""

MOST_KEPT: Final = 10_000
"""Names of which that is kept, of all forges: some hundred bytes each."""


@dataclass(frozen=True, slots=True)
class Homes:
    """The forges that are served, and where.

    Attributes:
        forges: By their names.
        hosts: Of each, without ports, in lower case.
        clock: How long ago a forge was asked.
    """

    forges: Mapping[str, Forges] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)
    clock: Clock = SYSTEM
    _in: OrderedDict[tuple[str, str], float] = field(
        default_factory=OrderedDict, init=False, repr=False, compare=False
    )

    async def may_be_served(self, location: Location) -> bool:
        """Tell whether a repository at a location may be one that the bot is let into.

        Raises:
            ForgeBusyError: The forge could not be asked.
        """
        if self.was_served(location):
            return True
        for forge, full_name in self._names(location):
            if await self._may_be_in(forge, full_name):
                return True
        return False

    def was_served(self, location: Location) -> bool:
        """Tell whether that was so a moment ago, without asking anybody."""
        if len(location.path.split("/")) > MOST_PARTS:
            return any(True for _ in self._around(location))
        before = self.clock.monotonic() - SECONDS
        return any(self._in.get(each, before) > before for each in self._names(location))

    async def _may_be_in(self, forge: str, full_name: str) -> bool:
        try:
            found = await self.forges[forge].is_installed(full_name)
        except ForgeRefusedError:
            found = True
        self._in.pop((forge, full_name), None)
        if found:
            self._in[forge, full_name] = self.clock.monotonic()
        if len(self._in) > MOST_KEPT:
            self._in.popitem(last=False)
        return found

    def _names(self, location: Location) -> Iterator[tuple[str, str]]:
        """What a location may be called, each with its forge."""
        parts = location.path.split("/")
        for forge in self._around(location):
            for full_name in _named(parts, self.forges[forge].most_parts):
                yield forge, full_name

    def _around(self, location: Location) -> Iterator[str]:
        """The forges at whose hosts a location is."""
        bare = location.host.partition(":")[0]
        for name, host in sorted(self.hosts.items()):
            if f".{bare}".endswith(f".{host}"):  # ssh.github.com is GitHub as well
                yield name


def _named(parts: Sequence[str], most: int) -> Iterator[str]:
    """Each name that a path can mean: a forge may stand below a path of its host.

    Args:
        parts: Of the path.
        most: Parts that a name has at most there.
    """
    first = max(0, len(parts) - most)
    yield from ("/".join(parts[start:]) for start in range(first, len(parts) - 1))
