"""Whether an address may be of a repository that the bot is let into, whatever it is called there.

What the database calls a repository is what it was called when the bot last heard of it. So the
forge is asked by name, and where it does not say that the bot is out, it counts as in.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bot.forges.port import ForgeRefusedError, Forges
from lifecycle.upstreams.locations import Location

MOST_PARTS: Final = 24
"""Parts of a path that are looked at: GitLab nests twenty groups, below a path of its host."""


@dataclass(frozen=True, slots=True)
class Homes:
    """The forges that are served, and where.

    Attributes:
        forges: By their names.
        hosts: Of each, without ports, in lower case.
    """

    forges: Mapping[str, Forges] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)

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
            for full_name in _named(parts):
                try:
                    if await self.forges[name].is_installed(full_name):
                        return True
                except ForgeRefusedError:
                    return True
        return False


def _named(parts: Sequence[str]) -> Iterator[str]:
    """Each name that a path can mean: a forge may stand below a path of its host."""
    yield from ("/".join(parts[start:]) for start in range(len(parts) - 1))
