"""Builds the bot out of its parts and runs it: database, runner, workers, sweeps, web."""

import asyncio
import os
import secrets
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import structlog
from psycopg.conninfo import conninfo_to_dict

from bot import keys, logs, tasks, web
from bot.controller import Controller
from bot.git import Mirrors
from bot.git_process import check_version
from bot.github import GitHubApp
from bot.http_server import listening
from bot.postgres import EmbeddedPostgres, PostgresError
from bot.render import Judge
from bot.settings import Settings, SettingsError
from bot.store import Store, StoreError
from bot.work import Worker
from fnrunner.builtin import PREFIXES
from fnrunner.client import Client
from fnrunner.errors import CertificateError
from fnrunner.tls import ClientTls
from lifecycle import records

log = structlog.get_logger()

# Whoever opens a pull request names images: others than the catalog are for the operator to allow.
_CATALOG_ONLY = tuple(word for each in PREFIXES for word in ("--allow", f"{each}*"))

RUNNER_START = 30.0
"""Seconds for our own runner to answer; it takes about half a second."""


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
    logs.configure(_secrets(settings))
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
    return [*(s.decode(errors="replace") for s in settings.webhook_secrets), password]


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
    await asyncio.to_thread(check_version)
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        url = settings.database_url
        if not url:
            postgres = await stack.enter_async_context(
                EmbeddedPostgres(settings.state / "postgres")
            )
            url = postgres.url
        store = await stack.enter_async_context(Store(url))
        address = settings.runner_address or await stack.enter_async_context(_own_runner(settings))
        tls = ClientTls.of(settings.runner_ca, settings.runner_cert, settings.runner_key)
        client = await stack.enter_async_context(
            Client(address, tls=tls if settings.runner_address else None)
        )
        app = GitHubApp(settings.github_api_url, settings.github_app_id, settings.private_key)
        stack.callback(app.close)
        mirrors = Mirrors(settings.state / "mirrors")
        controller = Controller(
            app,
            mirrors,
            Judge(client),
            store,
            [records.derive_key(key.encode()) for key in settings.private_keys],
            settings.instance,
        )
        worker = Worker(store, controller.work, f"{os.getpid()}-{secrets.token_hex(4)}")
        # One that dies takes the bot with it: a bot that only looks alive helps nobody.
        loops = [
            group.create_task(worker.run(settings.workers)),
            group.create_task(_sweep(store, mirrors, settings)),
        ]
        application = web.app(settings, store, client, app.identity)
        try:
            async with listening(application, settings.host, settings.port) as listens:
                yield listens
        finally:
            await tasks.end(loops)


async def _sweep(store: Store, mirrors: Mirrors, settings: Settings) -> None:
    """Wake everything, at the start and then from time to time: what no webhook told is found."""
    while True:
        try:
            await store.wake(keys.InstallationsKey())
            await store.forget_deliveries()
            await asyncio.to_thread(mirrors.trim)
        except StoreError as error:
            log.warning("sweep put off", error=str(error))
        await asyncio.sleep(settings.sweep_interval)


@asynccontextmanager
async def _own_runner(settings: Settings) -> AsyncIterator[str]:
    """Start `porchbot runner` on a Unix socket, and again when it dies; end it with the block."""
    how = ("--config", settings.runner_config) if settings.runner_config else _CATALOG_ONLY
    with tempfile.TemporaryDirectory(prefix="porchbot-runner-") as folder:
        address = f"unix:{Path(folder) / 'runner.sock'}"
        process = _Runner(await _spawn(address, how))
        keeping = asyncio.create_task(_keep(process, address, how))
        try:
            async with Client(address) as client:
                if not await client.is_ready(RUNNER_START):
                    raise OSError(f"the function runner did not start within {RUNNER_START} s")
            yield address
        finally:
            await tasks.end([keeping])
            await process.end()


class _Runner:
    """The runner's process, which may be another after it died."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def end(self) -> None:
        """Stop it and wait for it."""
        with suppress(ProcessLookupError):
            self.process.terminate()
        await self.process.wait()


async def _spawn(address: str, how: Sequence[str]) -> asyncio.subprocess.Process:
    """The runner ends by itself when the pipe to its standard input closes: also after kill -9."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot.cli", "runner", "--listen", address, "--until-stdin-closes"),
        *how,
        stdin=asyncio.subprocess.PIPE,
        # The bot's secrets are none of its business: it runs what packages bring.
        env={key: value for key, value in os.environ.items() if not _is_ours(key)},
    )


def _is_ours(variable: str) -> bool:
    return variable.startswith("PORCHBOT_") or variable == "DATABASE_URL"


async def _keep(runner: _Runner, address: str, how: Sequence[str]) -> None:
    while True:
        await runner.process.wait()
        log.error(
            "the function runner ended; it is started again", status=runner.process.returncode
        )
        await asyncio.sleep(0.2)
        runner.process = await _spawn(address, how)
