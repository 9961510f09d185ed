"""Which repositories this process serves: found again by number, adopted the first time."""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from weakref import WeakValueDictionary

import structlog

from bot import keys
from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.dashboard import Dashboard
from bot.forges.port import Forge, ForgeMissingError, ForgeRefusedError, Forges, Repository
from bot.freezes import Freezes
from bot.git.port import BRANCHES, GitIdentity, Mirror, Mirrors
from bot.look.assemble import Looker
from bot.look.dashboard import DashboardLooker
from bot.look.groups import GroupLooker
from bot.look.published import IndexedPublications
from bot.look.variant_wishes import VariantWishes
from bot.loop import branches
from bot.loop.merged import MergedList
from bot.loop.repository import ServedRepository
from bot.perform import Performer
from bot.recent import Recent
from bot.render.port import Renderer
from bot.signing.ssh import SigningKey
from bot.store.hints import BY_NEIGHBOUR, NOTHING, Hint
from bot.store.port import Store
from bot.store.values import Adoption
from bot.upstream.port import Upstreams
from bot.upstream.served import ServedUpstreams
from bot.upstream.users import UpstreamUsers
from lifecycle import names
from lifecycle.identity import RepositoryId

log = structlog.get_logger()

MOST_SERVED = 1_000
"""Repositories that are ready at the same time; others are made ready again when they are woken."""


NAME_KEPT = 900.0
"""Seconds after which a repository is asked for again: what it is called now may be told to another
replica, or to nobody, and git goes by names."""


class NotServedError(Exception):
    """Nothing can be done in a repository until an event or a sweep tells that it changed.

    It is in no installation of ours, or was archived.
    """


class Serving:
    """Makes ready for repositories, and remembers those that are.

    Args:
        forges: The forge that is served.
        mirrors: All mirrors.
        renderer: Renders and validates.
        store: The database.
        record_keys: For hidden records, newest first.
        instance: Name of this bot in its markers.
        observes: It writes nothing but checks in any repository.
        observed_until: When it ceased to; None where it never did.
        signs: Signs tags; None where they are not signed.
        upstreams: Where packages come from; None where drafts are not made from any.
        clock: For all that is done in them.
        offload: Where their mirrors are read.

    Attributes:
        wishes: Tells what rules for variants want, of all that are served; set before any is.
    """

    def __init__(
        self,
        forges: Forges,
        mirrors: Mirrors,
        renderer: Renderer,
        store: Store,
        record_keys: Sequence[bytes],
        instance: str,
        *,
        observes: bool = False,
        observed_until: datetime | None = None,
        signs: SigningKey | None = None,
        upstreams: Upstreams | None = None,
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
    ) -> None:
        self._forges = forges
        self._mirrors = mirrors
        self._renderer = renderer
        self._store = store
        self._keys = record_keys
        self._instance = instance
        self.observes = observes
        self._observed_until = observed_until
        self._signs = signs
        self.upstreams = upstreams
        self.wishes: VariantWishes | None = None
        self.around = ServedUpstreams(
            {forges.name: forges},
            mirrors,
            store.repositories,
            IndexedPublications(store, {forges.name: record_keys}),
            clock,
            {forges.name: offload},
        )
        self._users = UpstreamUsers(self.around, store.upstreams)
        self._clock = clock
        self._offload = offload
        self._served: Recent[RepositoryId, ServedRepository] = Recent(MOST_SERVED)
        self._entering: WeakValueDictionary[RepositoryId, asyncio.Lock] = WeakValueDictionary()

    def forget(self, repository_id: RepositoryId) -> None:
        """Ask anew where a repository is, before the next look at anything in it."""
        self._served.drop(repository_id)

    def publishes(self, repository_id: RepositoryId) -> bool:
        """Tell whether packages of a repository are being published here, and go first."""
        served = self._served.get(repository_id)
        return served is not None and served.lets_publishing_go_first()

    async def of(
        self,
        repository_id: RepositoryId,
        called: str = "",
        default: str = "",
        kept: float = NAME_KEPT,
    ) -> ServedRepository:
        """A repository that is served, as the forge named it last.

        Args:
            repository_id: Which.
            called: As the forge names it now; "" where nobody asked.
            default: Its default branch now; likewise.
            kept: Seconds after which the forge is asked again.
        """
        served = self._served.get(repository_id)
        if served is None or called not in {"", served.repository.full_name}:
            return await self.renewed(repository_id)
        if default not in {"", served.repository.default_branch}:
            return await self.renewed(repository_id)
        if self._clock.monotonic() - served.asked > kept:
            return await self.renewed(repository_id)
        return served

    async def renewed(
        self, repository_id: RepositoryId, installations: frozenset[int] = frozenset()
    ) -> ServedRepository:
        """A repository, as the forge names it now: names and installations change.

        Args:
            repository_id: Which.
            installations: Where discovery found it.

        Raises:
            NotServedError: It is out of our reach and was before, or of a forge that is not served;
                or it is archived.
            ForgeMissingError: It is out of our reach; discovery is asked to find it.
        """
        # The number would name another's repository at ours.
        if repository_id.forge != self._forges.name:
            raise NotServedError(
                f"repository {repository_id} is of a forge that is not served here"
            )
        reach = await self._store.repositories.reach(repository_id)
        if reach is not None:
            if reach.gone is not None:
                raise NotServedError(f"repository {repository_id} is in no installation of ours")
            installations |= {reach.installation}
        for number in sorted(installations, reverse=True):  # a later one has a higher number
            with suppress(ForgeMissingError):
                found = await self._forges.repository_by_id(repository_id, number)
                if found.archived:
                    self._served.drop(repository_id)
                    raise NotServedError(f"repository {repository_id} is archived")
                return await self._enter(found)
        self._served.drop(repository_id)
        await self._store.queue.wake(keys.SweepKey(keys.Sweep.CHANGES, self._forges.name))
        raise ForgeMissingError("find a repository", f"{repository_id} is not installed")

    async def _hear(self, repository: Repository) -> None:
        """Wake what was told about a repository before it was adopted, which woke nothing then."""
        wakes: dict[keys.Key, Hint] = {}
        for headers, body in await self._store.deliveries.since(
            repository.id, repository.installed_at
        ):
            for key, hint in self._forges.wakes_of(headers, body).items():
                wakes[key] = wakes.get(key, NOTHING) | hint
        await self._store.queue.wake_all(wakes)

    async def _enter(self, repository: Repository) -> ServedRepository:
        """Make ready for a repository; the first time, take its state as the baseline."""
        async with self._entering.setdefault(repository.id, asyncio.Lock()):
            known = self._served.get(repository.id)
            if known is not None and known.repository == repository:
                known.asked = self._clock.monotonic()
                return known
            forge = self._forges.of(repository)
            mirror = self._mirrors.of(repository.id, repository.clone_url)
            dashboard = Dashboard(
                repository,
                forge,
                self._store.repositories,
                self._store.claims,
                self._keys,
                self._instance,
            )
            adoption = await self._store.repositories.adoption(repository.id)
            if adoption is not None:
                await self._store.repositories.rename(repository)
            freezes = Freezes(repository.id, dashboard, self._store)
            with suppress(ForgeRefusedError):  # looks say so, and publish nothing
                await freezes.recall()
            if adoption is None:
                adoption = await self._adopt(repository, forge, mirror)
            elif adoption.names_only:
                adoption = await self._completed(repository, adoption, forge, mirror)
            me = await self._forges.identity()
            who = GitIdentity(me.login, me.address)
            looker = Looker(
                repository,
                forge,
                mirror,
                self._renderer,
                self._store,
                self._keys,
                me.login,
                self._instance,
                freezes,
                observes=self.observes,
                observed_until=self._observed_until,
                upstreams=self.upstreams,
                clock=self._clock,
                offload=self._offload,
                users=self._users,
                said=self._store.renderings,
                wishes=self.wishes,
                wake=self._wake_neighbours,
            )
            served = ServedRepository(
                repository,
                adoption,
                forge,
                mirror,
                looker,
                GroupLooker(looker),
                Performer(
                    repository.id,
                    forge,
                    mirror,
                    self._renderer,
                    self._store,
                    self._keys[0],
                    who,
                    self._instance,
                    freezes,
                    clock=self._clock,
                    offload=self._offload,
                    signs=self._signs,
                ),
                MergedList(repository.id, repository.installed_at, forge, self._store.proposals),
                dashboard,
                DashboardLooker(looker, dashboard),
                freezes,
                self._clock,
                self._offload,
            )
            self._served.put(repository.id, served)
            return served

    async def _wake_neighbours(self, news: Collection[keys.ProposalKey]) -> None:
        await self._store.queue.wake_all(dict.fromkeys(news, BY_NEIGHBOUR))

    async def _adopt(self, repository: Repository, forge: Forge, mirror: Mirror) -> Adoption:
        """Take what a repository is now as its baseline."""
        # In this order: what is opened or merged meanwhile counts as done after the baseline, or
        # as part of it, and never as both or neither.
        highest = await forge.highest_number()
        open_numbers = sorted(p.number for p in await forge.open_proposals())
        credentials = await forge.git_credentials()
        await self._offload(mirror.fetch, credentials, None, BRANCHES)
        drafts = await self._offload(branches.drafts, mirror)
        there = await self._offload(mirror.tags, credentials)
        tags = {ref: str(sha) for ref, sha in there.items() if names.parse_tag(ref)}
        adoption = await self._store.repositories.adopt(
            repository,
            self._clock.now(),
            drafts,
            tags,
            highest=highest,
            open_numbers=open_numbers,
            heads=await self._offload(branches.publish_heads, mirror, repository.default_branch),
        )
        log.info("adopted", repository=repository.full_name, drafts=len(drafts), highest=highest)
        await self._hear(repository)
        return adoption

    async def _completed(
        self, repository: Repository, adoption: Adoption, forge: Forge, mirror: Mirror
    ) -> Adoption:
        """A baseline of names alone, with the objects that these tags name now (ADR 78)."""
        there = await self._offload(mirror.tags, await forge.git_credentials())
        tags = {ref: str(there.get(ref, "")) for ref in adoption.tags or ()}
        await self._store.repositories.complete_tags(repository.id, tags)
        log.info("tags of before completed", repository=repository.full_name, tags=len(tags))
        return await self._store.repositories.adoption(repository.id) or adoption
