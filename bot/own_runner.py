"""The bundled function runner: a child process of the bot, restarted when it ends."""

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import structlog

from bot.clock import SYSTEM, Clock
from bot.tasks import end
from fnrunner.wire.client import Client

log = structlog.get_logger()

START = 30.0
"""Seconds to wait for the runner at the start; it takes about half a second. On a machine that is
too busy for that, the looks that need it wait for it."""

DEATHS = 3
"""Times that it may end before it has answered once: then it cannot be started as it is set up."""

FIRST_PAUSE, LAST_PAUSE = 0.2, 5.0
"""Seconds before it is started again, doubled while it dies young."""

YOUNG = 10.0
"""Seconds that it has to live for the pause to be the first one again."""

_SECRETS = frozenset(
    {
        "DATABASE_URL",
        *(f"{tool}{kind}_TOKEN" for tool in ("GITHUB", "GH") for kind in ("", "_ENTERPRISE")),
    }
)
"""Of the bot, and of whoever checks a pull request, named as GitHub's own tools read them."""

_NOTE = "runner-*.json"


class OwnRunner:
    """The runner's process, which may be another after it died.

    Args:
        address: Where it listens.
        how: More arguments of `porchbot runner`.
        notes: Folder for a note of which process it is, for the next bot.
        clock: By which it is started again.

    Attributes:
        answered: It has answered once.
        deaths: How often it ended.
    """

    def __init__(
        self, address: str, how: Sequence[str], notes: Path, *, clock: Clock = SYSTEM
    ) -> None:
        self._clock = clock
        self.address = address
        self._how = how
        self._note = notes / f"runner-{os.getpid()}.json"
        self._process: asyncio.subprocess.Process | None = None
        self.answered = False
        self.deaths = 0

    @property
    def pid(self) -> int | None:
        """Number of the process."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Start it; it ends by itself when the pipe to its standard input closes, however we end.

        One that hangs does not see that, so the next bot finds a note of it.
        """
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot.cli", "runner"),
            *("--listen", self.address, "--until-stdin-closes"),
            *self._how,
            stdin=asyncio.subprocess.PIPE,
            # Secrets of the bot, and of whoever checks, are none of its business: it runs what
            # packages bring.
            env={key: value for key, value in os.environ.items() if not _is_ours(key)},
        )
        self._note.parent.mkdir(parents=True, exist_ok=True)
        started = _started(self._process.pid)
        self._note.write_text(json.dumps({"pid": self._process.pid, "started": started}))

    async def keep(self) -> None:
        """Start it again whenever it has ended, until cancelled."""
        pause, since = FIRST_PAUSE, self._clock.monotonic()
        while True:
            status = await self._process.wait() if self._process else None
            self.deaths += 1
            young = self._clock.monotonic() - since <= YOUNG
            pause = min(2 * pause, LAST_PAUSE) if young else FIRST_PAUSE
            log.error("the function runner ended; it is started again", status=_in_words(status))
            await self._clock.sleep(pause)
            since = self._clock.monotonic()
            try:
                await self.start()
            except OSError as error:
                log.error("the function runner cannot be started", reason=str(error))
                self._process = None

    def kill(self) -> None:
        """End it at once, because it hangs; `keep` starts another."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def end(self) -> None:
        """Stop it and wait for it."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.terminate()
                self._process.send_signal(signal.SIGCONT)  # if it was stopped
            await self._process.wait()
        self._note.unlink(missing_ok=True)


@asynccontextmanager
async def own_runner(
    how: Sequence[str], state: Path, *, start: float = START, clock: Clock = SYSTEM
) -> AsyncIterator[OwnRunner]:
    """Start `porchbot runner` on a Unix socket, and again when it dies; end it with the block.

    Args:
        how: More arguments of `porchbot runner`.
        state: Folder where an earlier bot may have noted a runner that still runs.
        start: Seconds to wait for it; one that is slower is given to the block all the same.
        clock: By which it is started again.

    Raises:
        OSError: It ends whenever it is started.
    """
    end_left_over(state)
    with tempfile.TemporaryDirectory(prefix="porchbot-runner-") as folder:
        runner = OwnRunner(f"unix:{Path(folder) / 'runner.sock'}", how, state, clock=clock)
        await runner.start()
        keeping = asyncio.create_task(runner.keep())
        try:
            async with Client(runner.address) as client:
                await _first_answer(runner, client, clock.monotonic() + start, clock)
            yield runner
        finally:
            await end([keeping])
            await runner.end()


async def _first_answer(runner: OwnRunner, client: Client, until: float, clock: Clock) -> None:
    while not runner.answered:
        left = until - clock.monotonic()
        if left <= 0:
            log.warning("the function runner does not answer yet; what needs it waits")
            return
        runner.answered = await client.is_ready(min(left, 1.0))
        if not runner.answered and runner.deaths >= DEATHS:
            raise OSError(f"the function runner ended {runner.deaths} times as it was started")


def end_left_over(state: Path) -> None:
    """End runners whose bot was killed while they hung: they saw no end of their input."""
    for note in state.glob(_NOTE):
        bot = note.stem.removeprefix("runner-")
        try:
            noted = json.loads(note.read_text())
            pid, started = int(noted["pid"]), noted["started"]
        except (OSError, ValueError, KeyError, TypeError):
            note.unlink(missing_ok=True)
            continue
        if started is None or _started(pid) != started:
            note.unlink(missing_ok=True)  # gone, and its number may be somebody else's
        elif str(_parent(pid)) != bot:
            log.warning("a function runner of an earlier bot still ran; it is ended", pid=pid)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            note.unlink(missing_ok=True)


def _in_words(status: int | None) -> str:
    if status is None:
        return "not started"
    return f"signal {-status}" if status < 0 else f"exit status {status}"


def _stat(pid: int) -> list[str]:
    """Fields of a process from its state on (proc(5)); empty when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(") ")[2].split()


def _started(pid: int) -> str | None:
    """When a process began, in ticks since the system did; tells it from another of its number."""
    fields = _stat(pid)
    return fields[19] if len(fields) > 19 and fields[0] != "Z" else None


def _parent(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[1]) if fields else 0


def _is_ours(variable: str) -> bool:
    return variable.startswith("PORCHBOT_") or variable in _SECRETS
