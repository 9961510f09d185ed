"""Several bots on one database, behind one address: processes, started again when killed."""

import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psycopg

from bot.cli.demo.balancer import Balancer
from bot.store.embedded.place import PostgresError
from bot.store.embedded.server import EmbeddedPostgres
from tests.ports import free_port
from tests.stories.people import WaitedInVainError
from tests.stories.real import RealWorld, world

WATCH = 0.1
"""Seconds between looks at what ended."""


@dataclass
class Fleet:
    """Bots, their database, and who starts again what dies.

    Attributes:
        play: The world; its people's webhooks go to the bots in turn.
        bots: Each as a world of its own, on the same forge.
        postgres: The database.
        folder: For everything on disk.
        held: Set while nobody may start the database again.
        deaths: Processes that ended without being killed by us, and what became of them.
    """

    play: RealWorld
    bots: Sequence[RealWorld]
    postgres: EmbeddedPostgres
    folder: Path
    held: threading.Event = field(default_factory=threading.Event)
    deaths: list[str] = field(default_factory=list)
    _killed: set[int] = field(default_factory=set)
    _ending: threading.Event = field(default_factory=threading.Event)

    def log(self, bot: RealWorld) -> Path:
        """What a bot says."""
        return self.folder / f"bot-{self.bots.index(bot)}.log"

    def start(self) -> None:
        """Start all bots at once, then keep them and the database up."""
        threads = [threading.Thread(target=self._start, args=[bot]) for bot in self.bots]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        keepers = [threading.Thread(target=self._keep, args=[b], daemon=True) for b in self.bots]
        keepers.append(threading.Thread(target=self._keep_database, daemon=True))
        for each in keepers:
            each.start()
        self._keepers = keepers

    def end(self) -> None:
        """End all in order."""
        self._ending.set()
        for each in self._keepers:
            each.join()
        for bot in self.bots:
            bot.end_bot()

    def up(self) -> list[RealWorld]:
        """The bots that take requests now."""
        return [bot for bot in self.bots if bot.bot_pid and bot._ready()]

    def kill(self, bot: RealWorld) -> int:
        """`kill -9` of a bot; its number."""
        pid = bot.bot_pid
        self._killed.add(pid)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        return pid

    def kill_database(self) -> None:
        """`kill -9` of the postmaster."""
        with suppress(OSError, ValueError):
            os.kill(self.postgres.pid, signal.SIGKILL)

    def ask(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Ask the database; psycopg's errors where it is away."""
        url = self.play.environment["DATABASE_URL"]
        with psycopg.connect(url, autocommit=True, connect_timeout=2) as db:
            cursor = db.execute(query.encode(), values)
            return list(cursor) if cursor.description else []

    def servers(self) -> list[int]:
        """Numbers of all processes of the database server."""
        first = self.postgres.pid
        return [
            first,
            *(int(e.name) for e in Path("/proc").glob("[0-9]*") if parent_of(e) == first),
        ]

    def _start(self, bot: RealWorld) -> None:
        bot.start_bot_process(self.log(bot))

    def _keep(self, bot: RealWorld) -> None:
        while not self._ending.wait(WATCH):
            process = bot._process
            if process is None or process.poll() is None:
                continue
            if process.pid not in self._killed:
                last = self.log(bot).read_text(errors="replace").rstrip().rpartition("\n")[2]
                self.deaths.append(f"{self.log(bot).name}: {process.returncode}, {last}")
            bot.kill_bot()
            with suppress(WaitedInVainError):  # it is not ready within the time, or ended again
                self._start(bot)

    def _keep_database(self) -> None:
        while not self._ending.wait(WATCH):
            if self.postgres.ended and not self.held.is_set():
                with suppress(PostgresError):  # a full disk: tried again
                    self.postgres.revive()


@contextmanager
def fleet(
    replicas: int,
    *,
    durable: bool = False,
    database: Path | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Fleet]:
    """So many bots, started; all of it ends with the block.

    Args:
        replicas: How many.
        durable: The database writes to the disk what it has promised to keep.
        database: Folder for it, elsewhere.
        variables: More of the bots' environment.
    """
    with ExitStack() as stack:
        at = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="porchbot-fleet-")))
        postgres = EmbeddedPostgres(database or (at / "postgres" if durable else None))
        stack.callback(lambda: shutil.rmtree(postgres.home or at, ignore_errors=True))
        stack.enter_context(postgres)
        play = stack.enter_context(world(at, postgres.url, ""))
        del play.environment["PORCHBOT_RUNNER_ADDRESS"]
        bots = []
        for _ in range(replicas):
            port = free_port()
            own = {**play.environment, **variables, "PORCHBOT_LISTEN": f"127.0.0.1:{port}"}
            bots.append(replace(play, environment=own, port=port))
        front = stack.enter_context(Balancer([bot.port for bot in bots]))
        play.app.webhook_url = f"http://127.0.0.1:{front.port}/webhooks/github"
        play.port = front.port
        made = Fleet(play, bots, postgres, at)
        made.start()
        try:
            yield made
        finally:
            made.end()


def parent_of(process: Path) -> int:
    """Number of the parent of a process, given its folder below /proc; 0 when it is gone."""
    try:
        return int((process / "stat").read_text().rpartition(") ")[2].split()[1])
    except (OSError, IndexError):
        return 0


def until(moment: float) -> None:
    """Wait for a time of `time.monotonic`."""
    time.sleep(max(0.0, moment - time.monotonic()))
