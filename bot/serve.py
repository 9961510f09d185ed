"""Builds the bot out of its parts and runs it: database, runner, workers, sweeps, web."""

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib.metadata import version

import structlog
from psycopg.conninfo import conninfo_to_dict

from bot import allocator, logs, tasks, tracing, trust
from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.connecting import ForgeConnection, everywhere, gitlab_tokens, tell_what_is_missing
from bot.git.mirror import own_mirrors
from bot.git.port import Mirrors
from bot.git.process import check_version
from bot.http import web
from bot.http.ready import Readiness, ReadinessCheck
from bot.http.server import listening
from bot.look.published import IndexedPublications
from bot.loop import heartbeat, newest, observed, tidying
from bot.loop.controller import Controller
from bot.loop.intervals import Intervals
from bot.loop.routed import Controllers
from bot.loop.work import Worker
from bot.own_runner import OwnRunner, own_runner
from bot.render.port import Renderer
from bot.render.renderer import CachingRenderer, Maker
from bot.render.stored import StoredVerdicts
from bot.render.workers.capacity import memory_limit, usual
from bot.render.workers.maker import WorkerMaker
from bot.render.workers.pool import Workers
from bot.runner_watch import WatchedRunner
from bot.settings import Settings, SettingsError
from bot.store import addresses
from bot.store.embedded.place import PostgresError
from bot.store.embedded.server import EmbeddedPostgres
from bot.store.port import Store
from bot.store.postgres import PostgresStore
from bot.store.values import StoreError
from bot.tracing import TracingError
from bot.upstream import fetching
from bot.upstream.elsewhere import ExternalRepositories
from bot.upstream.port import Upstreams
from bot.upstream.routes import GitRoutes
from bot.upstream.served import ServedUpstreams
from bot.upstream.standing import Homes
from bot.upstream.upstreams import AllUpstreams
from fnrunner.builtin.lookup import PREFIXES
from fnrunner.contract.errors import CertificateError
from fnrunner.contract.run import Runner
from fnrunner.wire.client import Client
from fnrunner.wire.tls import ClientTls

log = structlog.get_logger()

# Whoever opens a pull request names images: others than the catalog are for the operator to allow.
_CATALOG_ONLY = tuple(word for each in PREFIXES for word in ("--allow", f"{each}*"))

_NO_DATABASE = (
    "DATABASE_URL is not set. Set it to a PostgreSQL server: the processes that receive webhooks"
    " and the workers share one database"
)

DRAIN = 3.0
"""Seconds to take requests after SIGTERM: load balancers stop to send them after one or two."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What of the bot a process runs; any number of processes share one database.

    Attributes:
        web: Webhooks are taken.
        work: Keys are looked at, and sweeps made.
        listen: It answers HTTP at all: health, metrics, and webhooks where they are taken.
    """

    web: bool = True
    work: bool = True
    listen: bool = True


ALL = Parts()

_TOLD = (StoreError, PostgresError, CertificateError, TracingError, OSError)
"""Errors that say themselves what an operator has to do."""


def run(parts: Parts, *, until_stdin_closes: bool, listen: str = "") -> int:
    """Run the bot, or a part of it, until a signal ends it.

    Args:
        parts: Which.
        until_stdin_closes: End then, too.
        listen: Address in place of the setting's, host:port.

    Returns:
        0 after a signal, 1 when it could not be started.
    """
    name = "serve" if parts.web else "worker"
    tell = partial(print, f"porchbot {name}:", file=sys.stderr)
    environ = {**os.environ, "PORCHBOT_LISTEN": listen} if listen else os.environ
    try:
        settings = Settings.from_env(environ)
        if parts != ALL and not settings.database_url:
            raise SettingsError([_NO_DATABASE])
    except SettingsError as error:
        for problem in error.problems:
            tell(problem)
        return 1
    logs.configure(_secrets(settings), settings.log_form)
    allocator.gives_back()
    try:
        trust.use_all(settings.authorities, settings.state / "authorities.pem")
        with (
            tracing.configured(os.environ),
            asyncio.Runner(loop_factory=_loop()) as runner,
        ):
            runner.run(_until_told(settings, parts, until_stdin_closes=until_stdin_closes))
    except _TOLD as error:
        tell(error)
        return 1
    except ExceptionGroup as died:
        _, unknown = died.split(_TOLD)
        if unknown is None and len(died.exceptions) == 1:  # it could not start: no bug of ours
            tell(died.exceptions[0])
        else:
            log.exception("the bot exits: one of its loops failed", reason=str(died))
        return 1
    return 0


def _secrets(settings: Settings) -> list[str]:
    """What must never be logged; keys in PEM are known by their form."""
    password = ""
    if settings.database_url:
        password = str(conninfo_to_dict(settings.database_url).get("password") or "")
    return [
        *(s.decode(errors="replace") for s in settings.webhook_secrets),
        password,
        settings.status_token,
        settings.github_token,
        *settings.hidden,
        *(
            secret
            for each in settings.further_githubs
            for secret in (
                each.github_token,
                *each.hidden,
                *(s.decode(errors="replace") for s in each.webhook_secrets),
            )
        ),
        *(each.user_password.partition(":")[2] for each in settings.upstream_reach.credentials),
        *(secret for each in settings.gitlabs for secret in each.secrets),
    ]


def _loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster loop where it is installed; None for the standard one."""
    try:
        import uvloop  # not made for every system
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _until_told(settings: Settings, parts: Parts, *, until_stdin_closes: bool) -> None:
    told: set[signal.Signals] = set()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def end(number: signal.Signals) -> None:
        told.add(number)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end, number)
    if until_stdin_closes:
        loop.add_reader(sys.stdin.fileno(), lambda: _closed(loop, stop))
    # Whoever sends SIGTERM replaces us by another: requests come until its balancer has noticed.
    async with running(settings, parts, drain=lambda: DRAIN if signal.SIGTERM in told else 0):
        await stop.wait()
        log.info("bot ends")


def _closed(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        loop.remove_reader(sys.stdin.fileno())
        stop.set()


@asynccontextmanager
async def running(
    settings: Settings,
    parts: Parts = ALL,
    *,
    drain: Callable[[], float] = lambda: 0,
    maker: Callable[[Runner], Maker] | None = None,
) -> AsyncIterator[None]:
    """The bot, or a part of it, inside the block.

    Everything it starts ends with the block: the runner, the embedded database, all tasks. First it
    calls itself not ready, then looks end or are given back, and only then it stops to listen.

    Args:
        settings: The operator's.
        parts: What of the bot.
        drain: Asked at the end for how many seconds to listen on, at least.
        maker: What renders packages; None for worker processes.
    """
    clock, offload = SYSTEM, in_thread
    if parts.work:
        await offload(check_version)
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        # One that dies takes the bot with it: a bot that only looks alive helps nobody.
        loops: list[asyncio.Task[None]] = []
        name = f"{os.getpid()}-{secrets.token_hex(4)}"
        url = settings.database_url
        if not url:
            postgres = await stack.enter_async_context(
                EmbeddedPostgres(settings.state / "postgres")
            )
            loops.append(group.create_task(postgres.watch()))
            url = postgres.url
        store = await stack.enter_async_context(PostgresStore(url))
        await addresses.settle(
            url,
            {
                **{each.name: each.github_api_url for each in settings.further_githubs},
                **{each.name: each.url for each in settings.gitlabs},
            },
            {each.url: each.moved_from for each in settings.gitlabs},
        )
        tokens = gitlab_tokens(settings)
        served = everywhere(settings, tokens, stack.callback, store.budgets)
        checks = {"database": ReadinessCheck(store.check, 1)}
        if parts.work:
            for forge, each in served.items():
                called = "forge" if len(served) == 1 else f"forge {forge}"
                checks[called] = ReadinessCheck(each.forges.check, 30, needed=False)
            runner, own = await _runner(stack, settings)
            checks["runner"] = ReadinessCheck(runner.check, 1)
            mirrors = stack.enter_context(own_mirrors(settings.state / "mirrors", memory_limit()))
            routes = GitRoutes(settings.upstream_reach)
            elsewhere = ExternalRepositories(settings.state / "upstreams", routes)
            known = {forge: each.forges for forge, each in served.items()}
            offloads = {forge: each.offload for forge, each in served.items()}
            published = IndexedPublications(store, {f: c.record_keys for f, c in served.items()})
            upstreams = AllUpstreams(
                ServedUpstreams(known, mirrors, store.repositories, published, clock, offloads),
                elsewhere,
                fetching.in_own_threads(stack.callback),
                Homes(known, {forge: each.home for forge, each in served.items()}, clock),
            )
            made = maker(runner) if maker else _workers(stack, runner, clock, offload)
            renderer = _renderer(stack, made, runner, store, clock, offload)
            observes, at = settings.observes, clock.now()
            until = await store.repositories.observing(observes, at)
            controller = Controllers(
                {
                    forge: _controller(
                        settings, each, mirrors, renderer, store, upstreams, clock, until
                    )
                    for forge, each in served.items()
                }
            )
            worker = Worker(store, controller.work, name, clock=clock)
            checks["worker"] = ReadinessCheck(worker.check, 1)
            trims, often = (mirrors.trim, elsewhere.trim), settings.sweep_interval
            loops += [
                group.create_task(worker.run(settings.workers, len(served))),
                group.create_task(tidying.sweep(store, served, trims, often, clock, offload)),
                group.create_task(runner.watch(_back(controller), own)),
                group.create_task(
                    observed.keep(store.repositories, until, clock, observes=observes)
                ),
            ]
            loops += [group.create_task(each.keep()) for each in tokens.values()]
            loops += [
                group.create_task(newest.watch(each.forges, store, often, clock))
                for each in served.values()
                if isinstance(each.forges, newest.NewestForges)
            ]
            loops += [
                group.create_task(tell_what_is_missing(each.forges))
                for each in served.values()
                if each.lacks
            ]
        said = ", ".join(
            part for part, runs in {"web": parts.web, "work": parts.work}.items() if runs
        )
        loops.append(group.create_task(heartbeat.beat(store.replicas, name, said, clock=clock)))
        readiness = Readiness(checks)
        hooks = [each.hooks for each in served.values()] if parts.web else []
        application = web.app(settings, store, readiness, hooks)
        try:
            async with AsyncExitStack() as listens:
                if parts.listen:
                    address = await listens.enter_async_context(
                        listening(application, settings.host, settings.port)
                    )
                    log.info("bot listens", address=address)
                try:
                    yield
                finally:
                    readiness.end()
                    await asyncio.gather(clock.sleep(drain() if parts.web else 0), tasks.end(loops))
        finally:
            await tasks.end(loops)


async def _runner(
    stack: AsyncExitStack, settings: Settings
) -> tuple[WatchedRunner, OwnRunner | None]:
    """A client of the function runner; the runner's process, too, where it is our own."""
    address, own, tls = settings.runner_address, None, None
    if address:
        tls = ClientTls.of(settings.runner_ca, settings.runner_cert, settings.runner_key)
    else:
        how = ("--config", settings.runner_config) if settings.runner_config else _CATALOG_ONLY
        own = await stack.enter_async_context(own_runner(how, settings.state))
        address = own.address
    return WatchedRunner(await stack.enter_async_context(Client(address, tls=tls))), own


def _workers(
    stack: AsyncExitStack, runner: WatchedRunner, clock: Clock, offload: Offload
) -> WorkerMaker:
    """What renders in worker processes, which end with the stack."""
    most, memory_bytes = usual()
    workers = Workers(most, memory_bytes=memory_bytes, clock=clock)
    stack.push_async_callback(workers.close)
    return WorkerMaker(runner, workers, offload=offload)


def _renderer(
    stack: AsyncExitStack,
    maker: Maker,
    runner: WatchedRunner,
    store: Store,
    clock: Clock,
    offload: Offload,
) -> Renderer:
    """A renderer that keeps its verdicts in the database; what it began ends with the stack."""
    stored = StoredVerdicts(store.renderings, runner.identity, offload=offload)
    renderer = CachingRenderer(maker, clock=clock, stored=stored)
    stack.push_async_callback(renderer.close)
    return renderer


def _controller(
    settings: Settings,
    served: ForgeConnection,
    mirrors: Mirrors,
    renderer: Renderer,
    store: Store,
    upstreams: Upstreams,
    clock: Clock,
    observed_until: datetime | None,
) -> Controller:
    return Controller(
        served.forges,
        mirrors,
        renderer,
        store,
        served.record_keys,
        settings.instance,
        version=version("porchbot"),
        webhook_url=served.webhook_url,
        onboards=settings.onboarding,
        observes=settings.observes,
        observed_until=observed_until,
        signs=settings.signing_key,
        upstreams=upstreams,
        intervals=Intervals(settings.sweep_interval),
        clock=clock,
        offload=served.offload,
    )


def _back(controller: Controller | Controllers) -> Callable[[], Awaitable[bool]]:
    """What to do when the runner is back: nobody waits for the end of a pause any more."""

    async def wake() -> bool:
        try:
            await controller.runner_is_back()
        except StoreError as error:  # both may have died at once
            log.warning("what waited for the runner waits for the database", error=str(error))
            return False
        return True

    return wake
