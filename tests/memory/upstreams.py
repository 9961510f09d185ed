"""Upstreams of a bot in memory: the repositories that it serves, and no others."""

from collections.abc import Callable, Sequence

from bot.clock import Clock, Offload
from bot.forges.port import Forges
from bot.git.port import Mirrors
from bot.look.published import IndexedPublications
from bot.store.port import Store
from bot.upstream.elsewhere import Came
from bot.upstream.fetching import LimitedFetches
from bot.upstream.served import ServedUpstreams
from bot.upstream.standing import Homes
from bot.upstream.upstreams import AllUpstreams
from lifecycle.upstreams.errors import UpstreamError, UpstreamFault
from lifecycle.upstreams.locations import Location
from lifecycle.upstreams.references import GitReference


class Nowhere:
    """There is no other host."""

    def fetch(
        self,
        wanted: GitReference,
        reader: str,
        allowed: Callable[[Location], None],
        spent: float = 0.0,
    ) -> Came:
        """Say so."""
        del spent
        raise UpstreamError(
            UpstreamFault.UNREACHABLE, f"{wanted} cannot be reached", f"Ask {reader} and {allowed}"
        )

    def opens(self, at: Location, reader: str) -> bool:
        """No operator gave any credentials."""
        del at, reader
        return False


def served(
    forges: Forges,
    mirrors: Mirrors,
    store: Store,
    clock: Clock,
    offload: Offload,
    keys: Sequence[bytes],
) -> AllUpstreams:
    """The upstreams of one forge."""
    published = IndexedPublications(store, {forges.name: keys})
    at = {forges.name: forges}
    threads = {forges.name: offload}
    known = ServedUpstreams(at, mirrors, store.repositories, published, clock, threads)
    return AllUpstreams(known, Nowhere(), LimitedFetches(offload), Homes())
