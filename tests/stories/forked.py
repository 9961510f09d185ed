"""Programs of ours whose process is forked from one that has imported all of it, for tests of many.

What a bot or a pod does is the same, and `kill -9` ends it alike; to import it takes most of a
start.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path

BOT = "bot.cli.root"
POD = "fnrunner.pods.server"


class Forked:
    """A running program, with what `subprocess.Popen` has for it.

    Args:
        arguments: Of the command.
        environment: All of its environment.
        log: Gets what it says.
        program: Module whose `main` runs: `BOT` or `POD`.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        program: str = BOT,
    ) -> None:
        theirs, self.stdin = _context().Pipe(duplex=False)
        self._process = _context().Process(
            target=_runs, args=(theirs, program, list(arguments), dict(environment), str(log))
        )
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid or 0

    @property
    def returncode(self) -> int | None:
        """Its exit status; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Its exit status; None while it runs."""
        return self._process.exitcode

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait until it has ended; its exit status."""
        self._process.join(timeout)
        return self._process.exitcode


@cache
def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.stories.preloaded"])
    return context


def _runs(
    stdin: Connection, program: str, arguments: list[str], environment: dict[str, str], log: str
) -> None:
    main = import_module(program).main
    os.setsid()
    os.dup2(stdin.fileno(), 0)  # closes when who started it ends
    sys.stdin = os.fdopen(0, closefd=False)
    with open(log, "ab") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv[1:] = arguments
    main(arguments)
