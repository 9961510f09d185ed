"""Finds packages of several repositories that are made of one another, so that none follows."""

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from bot.store.port import UpstreamUses
from lifecycle.upstreams.graph import Package

MOST_WALKED = 5_000
"""Packages made of one another, however far around, that are looked at for a circle."""


@dataclass(slots=True)
class Downstreams:
    """What was made from which package, read once in a look, a repository at a time.

    Attributes:
        uses: The index.
        forge: The forge whose packages are followed.
        host: As its repositories' addresses have it.
    """

    uses: UpstreamUses
    forge: str
    host: str
    _known: dict[str, dict[str, set[Package]]] = field(default_factory=dict)

    async def circle(self, downstream: Package, upstream: Package) -> tuple[Package, ...]:
        """Return the packages over which an upstream was made from its own downstream.

        Args:
            downstream: What is about to be made.
            upstream: What it is to be made of.

        Returns:
            From the downstream to the upstream, each made from the one before; empty for none.
        """
        came: dict[Package, Package | None] = {downstream: None}
        queue = deque([downstream])
        while queue and len(came) < MOST_WALKED:
            at = queue.popleft()
            if at == upstream:
                return tuple(reversed([*_back(came, at)]))
            for each in sorted(await self._of(at)):
                if each not in came:
                    came[each] = at
                    queue.append(each)
        return ()

    async def _of(self, package: Package) -> Iterable[Package]:
        if package.place not in self._known:
            found: dict[str, set[Package]] = defaultdict(set)
            for each in await self.uses.users(package.place):
                if each.repository.id.forge == self.forge:
                    place = f"{self.host}/{each.repository.full_name.lower()}"
                    found[each.use.directory].add(Package(place, each.use.package))
            self._known[package.place] = found
        return self._known[package.place].get(package.path, ())


def _back(came: dict[Package, Package | None], at: Package | None) -> Iterable[Package]:
    while at is not None:
        yield at
        at = came[at]
