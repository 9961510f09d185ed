"""Handles the keys that were woken, a kind each, and sorts what went wrong by who must act.

The only place, beside the gRPC service, where any exception is caught: it becomes "something
broke".
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import assert_never

import structlog

from bot import keys, metrics
from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.forges.budget import RequestPurpose, asking
from bot.forges.port import (
    ForgeBusyError,
    ForgeMissingError,
    ForgeRefusedError,
    ForgeRenamedError,
    Forges,
    ForgeUnreadableError,
)
from bot.git.port import (
    GitBusyError,
    GitRefusedError,
    Mirrors,
    ObjectTooLargeError,
)
from bot.loop.box_passing import of_other_issues
from bot.loop.dashboard_commands import DashboardCommands
from bot.loop.dashboards import DashboardHandler
from bot.loop.deliveries import DeliverySweep
from bot.loop.discovery import Discovery
from bot.loop.groups import GroupHandler
from bot.loop.health import HealthSweep
from bot.loop.idle import IdleWatch
from bot.loop.impacts import Impacts
from bot.loop.intervals import DEFAULT, Intervals
from bot.loop.named import HeadBranchWaker
from bot.loop.onboarding import Onboarding
from bot.loop.pressed import PressFilter
from bot.loop.proposal import ProposalHandler
from bot.loop.publishing import Publishing
from bot.loop.serving import NotServedError, Serving
from bot.loop.settle import Settling
from bot.loop.sweep import SweepHandler
from bot.loop.timed import sooner
from bot.loop.trouble import TRIES, SomeFailedError, Trouble, incident_of
from bot.loop.unjudged import Unjudged
from bot.loop.urgency import urgency_of
from bot.loop.variant_books import VariantBooks
from bot.loop.variant_wanted import WantedNow
from bot.loop.variants import VariantsHandler
from bot.loop.work import Failed, LookAgain, PutOff, Result, Settled, WorkItem
from bot.overtaken import OvertakenError
from bot.render.port import Renderer
from bot.signing.ssh import SigningKey
from bot.store.hints import Hint
from bot.store.port import Store
from bot.store.values import StoreError
from bot.upstream.port import Upstreams

log = structlog.get_logger()

GONE_TRIES = 3
"""Looks that must have failed before what is missing counts as gone: about seven seconds."""


class Controller:
    """Handles keys.

    Args:
        forges: The forge that is served.
        mirrors: All mirrors.
        renderer: Renders and validates.
        store: The database.
        record_keys: For hidden records, newest first.
        instance: Name of this bot in its markers.
        version: Of this bot: repositories that another one has swept are looked at anew.
        webhook_url: Where the forge is to send webhooks; "" where nobody said.
        onboards: Propose a configuration to repositories that have packages and none.
        observes: Judge and show in every repository, and write nothing else.
        observed_until: When the bot ceased to; None where it never did.
        intervals: When sweeps come again.
        signs: Signs tags; None where they are not signed.
        upstreams: Where packages come from; None where drafts are not made from any.
        clock: For all that is done.
        offload: Where git is read and written.
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
        version: str = "",
        webhook_url: str = "",
        onboards: bool = False,
        observes: bool = False,
        observed_until: datetime | None = None,
        intervals: Intervals = DEFAULT,
        signs: SigningKey | None = None,
        upstreams: Upstreams | None = None,
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
    ) -> None:
        self._store = store
        self._intervals = intervals
        self._clock = clock
        self._unjudged = Unjudged(store)
        self._serving = Serving(
            forges,
            mirrors,
            renderer,
            store,
            record_keys,
            instance,
            observes=observes,
            observed_until=observed_until,
            signs=signs,
            upstreams=upstreams,
            clock=clock,
            offload=offload,
        )
        settling = Settling(store.audit, clock=clock, offload=offload)
        self._trouble = Trouble(self._serving, store, clock=clock)
        # A line for each kind of key; its module handles it.
        idle = IdleWatch(forges, store, version, intervals=intervals, clock=clock)
        self._discovery = Discovery(forges, store, idle)
        self._health = HealthSweep(forges, store, webhook_url)
        self._deliveries = DeliverySweep(forges, store, clock=clock)
        onboarding = Onboarding(forges, store) if onboards and not observes else None
        self._sweeps = SweepHandler(self._serving, store, version, onboarding)
        self._dashboards = DashboardHandler(self._serving, store)
        self._dashboard_commands = DashboardCommands(self._serving, settling, store)
        self._named = HeadBranchWaker(self._serving, store)
        books = VariantBooks(self._serving, store)
        self._impacts = Impacts(self._serving, settling, store, books)
        self._proposals = ProposalHandler(
            self._serving,
            settling,
            store,
            self._unjudged,
            self._impacts,
            PressFilter(forges, clock),
        )
        self._groups = GroupHandler(self._serving, settling)
        self._publishing = Publishing(self._serving, settling, store)
        self._serving.wishes = WantedNow(self._serving, store, books)
        self._variants = VariantsHandler(self._serving, settling, store, books)

    async def work(self, work: WorkItem) -> Result:
        """Bring one key to rest, and sort what went wrong by who must act."""
        try:
            key = str(work.key)
            asker = RequestPurpose(keys.place_of(key), urgency_of(work.key, work.hint), key)
            seconds = metrics.LOOK_SECONDS.labels(type(work.key).__name__)
            with seconds.time(), asking(asker):
                after = await self.handle(work.key, work.hint)
        except NotServedError as error:
            log.info("not looked at", key=str(work.key), reason=str(error))
            return await self._settled_unseen(work.key)
        except OvertakenError:
            log.info("a newer push came", key=str(work.key))
            return LookAgain(0)
        except (GitBusyError, ForgeRenamedError) as error:
            # A repository that was renamed has another address: it is asked for at the next try.
            self._forget(work.key)
            metrics.failed(work.key, "git")
            return Failed(str(error))
        except ForgeUnreadableError as error:  # it may stay so, and people should know
            metrics.failed(work.key, "busy")
            return await self._broke("the forge's answer cannot be read", work, error)
        except ForgeBusyError as error:
            if error.after:
                metrics.failed(work.key, "limit")
                await self._show_limit(work.key, error)
                return PutOff(str(error), error.after)
            metrics.failed(work.key, "busy")
            return Failed(str(error))
        except (ForgeRefusedError, GitRefusedError, ObjectTooLargeError) as error:
            # A fresh token sees nothing for a moment, and names change (trap 14).
            self._forget(work.key)
            if isinstance(error, ForgeMissingError) and await self._is_gone(work):
                return await self._settled_unseen(work.key)
            metrics.failed(work.key, "refused")
            return await self._broke("needs an operator", work, error)
        except SomeFailedError as error:
            self._forget(work.key)
            metrics.failed(work.key, "some")
            return await self._broke("some were not published", work, error)
        except StoreError as error:  # it passes: one line, and nothing that people could do
            metrics.failed(work.key, "database")
            return Failed(str(error))
        except Exception as error:  # whatever breaks, other keys go on, and people are told
            metrics.failed(work.key, "broke")
            return await self._broke("look broke", work, error)
        if isinstance(after, Settled | LookAgain):
            return after
        return Settled() if after is None else LookAgain(after)

    async def _broke(self, what: str, work: WorkItem, error: Exception) -> Failed:
        """A look failed for a reason that does not pass: log it, and show it to people."""
        incident = incident_of(work.key)
        known = (
            ForgeRefusedError
            | ForgeUnreadableError
            | GitRefusedError
            | SomeFailedError
            | ObjectTooLargeError
        )
        bug = not isinstance(error, known)
        log.error(what, key=str(work.key), incident=incident, error=str(error), exc_info=bug)
        missing = isinstance(error, ForgeMissingError)
        if work.tries >= TRIES and not missing:
            try:
                await self._trouble.show(work.key, incident, error)
            except Exception as second:  # what broke the look may break this as well
                log.warning("not shown to people", incident=incident, error=str(second))
        named = f"{type(error).__name__}: {error}" if bug else str(error)
        return Failed(f"{named} ({incident})")

    async def _show_limit(self, key: keys.Key, error: ForgeBusyError) -> None:
        try:
            await self._trouble.show_limit(key, error)
        except (ForgeBusyError, ForgeRefusedError, StoreError) as second:
            log.info("not shown to people", key=str(key), error=str(second))

    async def _is_gone(self, work: WorkItem) -> bool:
        """Whether what a key names is gone: asking for it ends, until something wakes it.

        A repository that cannot be reached is not served until discovery finds it again.
        """
        if work.tries < GONE_TRIES:
            return False
        if isinstance(work.key, keys.InstallationsKey | keys.SweepKey):
            return False
        if not isinstance(work.key, keys.InstallationKey):
            try:
                await self._serving.renewed(work.key.repository)
            except ForgeMissingError:
                await self._store.repositories.lost(work.key.repository)
            except (ForgeBusyError, ForgeRefusedError, GitBusyError, GitRefusedError):
                return False
        log.warning("gone; not asked for again until something wakes it", key=str(work.key))
        return True

    async def _settled_unseen(self, key: keys.Key) -> Settled:
        """Nothing is left to do now; the next sweep that finds it has it looked at all the same."""
        if isinstance(key, keys.ProposalKey):
            await self._store.sweeps.forget(key)
        return Settled()

    def _forget(self, key: keys.Key) -> None:
        """Ask anew where a repository is, before the next look at anything in it."""
        if not isinstance(key, keys.OfApp):
            self._serving.forget(key.repository)

    async def handle(self, key: keys.Key, hint: Hint) -> float | Settled | LookAgain | None:
        """Bring one key to rest.

        Returns:
            Seconds after which to look again; None when it has settled.
        """
        match key:
            case keys.InstallationsKey():
                await self._discovery.installations()
            case keys.InstallationKey():
                await self._discovery.repositories(key.number, hint)
            case keys.SweepKey():
                return await self._sweep(key, hint)
            case keys.RepositoryKey():
                return await self._sweeps.handle(key, hint)
            case keys.DashboardKey():
                return await self._dashboard(key, hint)
            case keys.PullKey():
                await self._named.pull(key, hint)
            case keys.CommitKey():
                await self._named.commit(key, hint)
            case keys.ProposalKey():
                return await self._proposals.handle(key, hint)
            case keys.GroupKey():
                return await self._groups.handle(key, hint)
            case keys.BaseKey():
                after = await self._publishing.handle(key, hint)
                await self._impacts.moved(key.repository, key.branch)
                return after
            case keys.VariantsKey():
                return await self._variants.handle(key, hint)
            case keys.ImpactKey():
                return await self._impacts.handle(key, hint)
            case _:
                assert_never(key)  # mypy asks here for the handler of a new kind
        return None

    async def _dashboard(self, key: keys.DashboardKey, hint: Hint) -> LookAgain | None:
        """Answer what was asked on a dashboard, and write it; boxes of other issues are left."""
        try:
            answered = await self._dashboard_commands.handle(key, hint)
        except Exception:  # what is frozen is written there all the same
            await self._dashboards.handle(key, hint)
            raise
        served = await self._serving.of(key.repository)
        theirs = of_other_issues(hint, served.talk.number)
        hint = replace(hint, pressed=hint.pressed - theirs.pressed)
        after = sooner(answered, await self._dashboards.handle(key, hint))
        return None if after is None else LookAgain(after, theirs)

    async def _sweep(self, key: keys.SweepKey, hint: Hint) -> Settled:
        """Go through something of the App as a whole; its row says when to do so again."""
        ended = True
        match key.sweep:
            case keys.Sweep.CHANGES:
                await self._discovery.installations(Hint(by=hint.by))
            case keys.Sweep.HEALTH:
                await self._health.run()
            case keys.Sweep.DELIVERIES:
                ended = await self._deliveries.run()
            case _:
                assert_never(key.sweep)
        return Settled(self._intervals.next(key.sweep, self._clock.random(), ended=ended))

    async def runner_is_back(self) -> None:
        """Look at once at what a function could not be run on."""
        await self._unjudged.runner_is_back()
