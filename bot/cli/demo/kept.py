"""Processes of the playground that are started again whenever they end."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

FIRST_PAUSE, LAST_PAUSE = 0.2, 5.0
"""Seconds before it is started again, doubled while it dies young."""

YOUNG = 10.0
"""Seconds that it has to live for the pause to be the first one again."""

WATCH = 0.1
"""Seconds between looks at whether it still runs."""


class NotStartedError(Exception):
    """A process did not start; the text says why."""


class RestartedProcess:
    """Something that runs, and is started again when it has ended by itself.

    Args:
        name: Of it, for people.
        start: Starts it, and returns once it is ready; raises NotStartedError.
        ended: Tells whether it has ended.
        ending: Set when nothing is to be started any more.
    """

    def __init__(
        self,
        name: str,
        start: Callable[[], None],
        ended: Callable[[], bool],
        ending: threading.Event,
    ) -> None:
        self._name = name
        self._start = start
        self._ended = ended
        self._ending = ending
        self._thread = threading.Thread(target=self._keep, name=name, daemon=True)

    def begin(self) -> None:
        """Watch it from now on."""
        self._thread.start()

    def join(self) -> None:
        """Wait until nothing starts it any more; `ending` is set."""
        if self._thread.is_alive():
            self._thread.join()

    def _keep(self) -> None:
        pause, since = FIRST_PAUSE, time.monotonic()
        while not self._ending.wait(WATCH):
            if not self._ended():
                continue
            young = time.monotonic() - since <= YOUNG
            pause = min(2 * pause, LAST_PAUSE) if young else FIRST_PAUSE
            _say(f"{self._name} exited; restarting it.")
            if self._ending.wait(pause):
                return
            since = time.monotonic()
            try:
                self._start()
            except NotStartedError as error:
                if not self._ending.is_set():
                    _say(f"porchbot playground: {error}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 (a command line)


def stop(child: "subprocess.Popen[str]", seconds: float = 15.0) -> None:
    """End a process that ends when its standard input closes, and wait for it."""
    if child.stdin is not None:
        with suppress(BrokenPipeError):
            child.stdin.close()
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    if child.stdout is not None:
        child.stdout.close()
