"""Whether an address may be of a repository that the bot is let into, whatever it is called there.

What the database calls a repository is what it was called when the bot last heard of it. So the
forge is asked by name, and where it does not say that the bot is out, it counts as in. What it says
is kept for a minute: who writes addresses costs it few requests.
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
"""How long it counts what a forge said of a name."""

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
    _said: OrderedDict[tuple[str, str], tuple[float, bool]] = field(
        default_factory=OrderedDict, init=False, repr=False, compare=False
    )

    async def may_be_served(self, location: Location) -> bool:
        """Tell whether a repository at a location may be one that the bot is let into.

        Raises:
            ForgeBusyError: The forge could not be asked.
        """
        bare, parts = location.host.partition(":")[0], location.path.split("/")
        for name, host in sorted(self.hosts.items()):
            if not f".{bare}".endswith(f".{host}"):  # ssh.github.com is GitHub as well
                continue
            if len(parts) > MOST_PARTS:
                return True
            for full_name in _named(parts, self.forges[name].most_parts):
                if await self._may_be_in(name, full_name):
                    return True
        return False

    async def _may_be_in(self, forge: str, full_name: str) -> bool:
        asked, now = (forge, full_name), self.clock.monotonic()
        at, found = self._said.get(asked, (now - SECONDS, False))
        if now - at < SECONDS:
            return found
        try:
            found = await self.forges[forge].is_installed(full_name)
        except ForgeRefusedError:
            found = True
        self._said.pop(asked, None)
        self._said[asked] = now, found
        if len(self._said) > MOST_KEPT:
            self._said.popitem(last=False)
        return found


def _named(parts: Sequence[str], most: int) -> Iterator[str]:
    """Each name that a path can mean: a forge may stand below a path of its host.

    Args:
        parts: Of the path.
        most: Parts that a name has at most there.
    """
    first = max(0, len(parts) - most)
    yield from ("/".join(parts[start:]) for start in range(first, len(parts) - 1))
