"""Builds the bot out of its parts and runs it: database, runner, workers, sweeps, web."""

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import structlog
from psycopg.conninfo import conninfo_to_dict

from bot import keys, logs, tasks
from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.forges.github.app import AppClients
from bot.forges.github.deliveries import GitHubWebhooks
from bot.forges.github.forges import GitHubForges
from bot.git.mirror import DiskMirrors
from bot.git.port import Mirrors
from bot.git.process import check_version
from bot.http import web
from bot.http.ready import Readiness, ReadinessCheck
from bot.http.server import listening
from bot.http.webhooks import WebhookSource
from bot.loop.controller import Controller
from bot.loop.work import Worker
from bot.own_runner import own_runner
from bot.render.renderer import PipelineRenderer
from bot.runner_watch import WatchedRunner
from bot.settings import Settings, SettingsError
from bot.store.embedded.place import PostgresError
from bot.store.embedded.server import EmbeddedPostgres
from bot.store.port import Store
from bot.store.postgres import PostgresStore
from bot.store.values import StoreError
from fnrunner.builtin.lookup import PREFIXES
from fnrunner.contract.errors import CertificateError
from fnrunner.wire.client import Client
from fnrunner.wire.tls import ClientTls
from lifecycle import records
from lifecycle.identity import GITHUB

log = structlog.get_logger()

# Whoever opens a pull request names images: others than the catalog are for the operator to allow.
_CATALOG_ONLY = tuple(word for each in PREFIXES for word in ("--allow", f"{each}*"))


SWEEP_AGAIN = 5.0
"""Seconds until a sweep that had no database is tried again: webhooks were refused meanwhile."""


def run(*, until_stdin_closes: bool) -> int:
    """Run the bot until a signal ends it.

    Returns:
        0 after a signal, 1 when it could not be started.
    """
    try:
        settings = Settings.from_env(os.environ)
    except SettingsError as error:
        print(f"porchbot serve: {error}", file=sys.stderr)  # noqa: T201 (a command line)
        return 1
    logs.configure(_secrets(settings), settings.log_form)
    try:
        with asyncio.Runner(loop_factory=_loop()) as runner:
            runner.run(_until_told(settings, until_stdin_closes=until_stdin_closes))
    except (StoreError, PostgresError, CertificateError, OSError) as error:
        print(f"porchbot serve: {error}", file=sys.stderr)  # noqa: T201 (a command line)
        return 1
    except ExceptionGroup as died:
        log.exception("the bot ends: a loop of its own died", reason=str(died))
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
    ]


def _loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster loop where it is installed; None for the standard one."""
    try:
        import uvloop  # not made for every system
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _until_told(settings: Settings, *, until_stdin_closes: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if until_stdin_closes:
        loop.add_reader(sys.stdin.fileno(), lambda: _closed(loop, stop))
    async with running(settings) as address:
        log.info("bot listens", address=address)
        await stop.wait()
        log.info("bot ends")


def _closed(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        loop.remove_reader(sys.stdin.fileno())
        stop.set()


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[str]:
    """The whole bot inside the block; gives the address it listens on.

    Everything it starts ends with the block: the runner, the embedded database, all tasks.
    """
    clock, offload = SYSTEM, in_thread
    await offload(check_version)
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        url, postgres = settings.database_url, None
        if not url:
            postgres = await stack.enter_async_context(
                EmbeddedPostgres(settings.state / "postgres")
            )
            url = postgres.url
        store = await stack.enter_async_context(PostgresStore(url))
        address, own = settings.runner_address, None
        if not address:
            how = ("--config", settings.runner_config) if settings.runner_config else _CATALOG_ONLY
            own = await stack.enter_async_context(own_runner(how, settings.state))
            address = own.address
        tls = ClientTls.of(settings.runner_ca, settings.runner_cert, settings.runner_key)
        client = await stack.enter_async_context(
            Client(address, tls=tls if settings.runner_address else None)
        )
        runner = WatchedRunner(client)
        app = AppClients(settings.github_api_url, settings.github_app_id, settings.private_key)
        forges = GitHubForges(app)
        stack.callback(app.close)
        mirrors = DiskMirrors(settings.state / "mirrors")
        controller = Controller(
            forges,
            mirrors,
            PipelineRenderer(runner),
            store,
            [records.derive_key(key.encode()) for key in settings.private_keys],
            settings.instance,
            clock=clock,
            offload=offload,
        )
        worker = Worker(
            store, controller.work, f"{os.getpid()}-{secrets.token_hex(4)}", clock=clock
        )
        # One that dies takes the bot with it: a bot that only looks alive helps nobody.
        loops = [
            group.create_task(worker.run(settings.workers)),
            group.create_task(_sweep(store, mirrors, settings.sweep_interval, clock, offload)),
            group.create_task(runner.watch(_back(controller), own)),
        ]
        if postgres is not None:
            loops.append(group.create_task(postgres.watch()))
        readiness = Readiness(
            {
                "forge": ReadinessCheck(forges.check, 30),
                "database": ReadinessCheck(store.check, 1),
                "runner": ReadinessCheck(runner.check, 1),
            }
        )
        hooks = WebhookSource(GitHubWebhooks(settings.webhook_secrets), forges.identity)
        application = web.app(settings, store, readiness, [hooks])
        try:
            async with listening(application, settings.host, settings.port) as listens:
                yield listens
        finally:
            await tasks.end(loops)


def _back(controller: Controller) -> Callable[[], Awaitable[bool]]:
    """What to do when the runner is back: nobody waits for the end of a pause any more."""

    async def wake() -> bool:
        try:
            await controller.runner_is_back()
        except StoreError as error:  # both may have died at once
            log.warning("what waited for the runner waits for the database", error=str(error))
            return False
        return True

    return wake


async def _sweep(
    store: Store, mirrors: Mirrors, interval: float, clock: Clock, offload: Offload
) -> None:
    """Wake everything, at the start and then from time to time: what no webhook told is found."""
    started = False
    while True:
        try:
            if not started:  # nobody knows what happened while no bot ran, or what a new one sees
                await store.sweeps.forget()
            started = True
            await store.queue.wake(keys.InstallationsKey(GITHUB))
            await store.deliveries.forget()
            await store.audit.forget()
            await store.claims.forget()
            await offload(mirrors.trim)
        except StoreError as error:
            log.warning("sweep put off", error=str(error))
            await clock.sleep(min(SWEEP_AGAIN, interval))
        else:
            await clock.sleep(interval)
