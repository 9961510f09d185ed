"""The first fetch of a repository, which may take longer than anybody waits for it.

A look waits as long as for any other fetch. Then git goes on by itself, without a thread and
without a look, and whoever fetches next is told so at once, until it is done. Only a few go on in
a process, each for a bounded time; who had that in vain leaves its turn to others for as long.
"""

import atexit
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bot.clock import Clock
from bot.git import upkeep
from bot.git.process import GitSlowError, bounded

LONGEST: Final = 3600.0
"""Seconds for one first fetch: 36 GB at 10 MB/s, more than the folder of mirrors holds."""

MOST: Final = 2
"""First fetches that go on in a process at a time: each may have the memory of a fetch."""

_GLANCE: Final = 0.1
"""Seconds to see whether one has ended: without any, Python looks at nothing."""

_turns = threading.BoundedSemaphore(MOST)
_giving_back = threading.Lock()


@dataclass(eq=False, slots=True)
class _Turn:
    """One that goes on.

    Attributes:
        process: Its git.
        until: When it is ended, by the monotonic clock.
        at_end: To be called then.
    """

    process: subprocess.Popen[bytes]
    until: float
    at_end: Callable[[], None] | None = None

    def give_back(self) -> None:
        """Leave it to others, once."""
        with _giving_back:
            if self not in _going:
                return
            _going.discard(self)
        _turns.release()
        if self.at_end is not None:
            self.at_end()


_going: set[_Turn] = set()


def give_back(now: float) -> None:
    """Have the turns of those given back that are over, whether or not anybody asks for them again.

    Args:
        now: By the monotonic clock.
    """
    for turn in list(_going):
        if now >= turn.until:
            turn.process.kill()
        if now >= turn.until or turn.process.poll() is not None:
            turn.give_back()


class FirstFetch:
    """The first fetch into one mirror, whose lock must be held.

    Args:
        folder: The mirror.
        clock: How long it has been going on.
        patience: Seconds that who asks for it waits.
    """

    def __init__(self, folder: Path, clock: Clock, patience: float) -> None:
        self._folder = folder
        self._clock = clock
        self._patience = patience
        self._turn: _Turn | None = None
        self._rests_until = 0.0

    def run(
        self, arguments: Sequence[str], env: Mapping[str, str], memory: int
    ) -> subprocess.CompletedProcess[str]:
        """Fetch.

        Args:
            arguments: For git.
            env: All of its environment.
            memory: Bytes of data that it may have.

        Raises:
            GitSlowError: It took longer, and goes on where it has a turn.
        """
        begun = self._clock.monotonic()
        process = subprocess.Popen(  # noqa: S603 (a list, after "--" where others' text)
            bounded(arguments, env, None, memory),
            cwd=self._folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            return _ended(process, self._patience)
        except subprocess.TimeoutExpired as error:
            give_back(self._clock.monotonic())
            if begun < self._rests_until or not _turns.acquire(blocking=False):
                self._kill(process)
                raise GitSlowError(f"git took longer than {self._patience:g} s") from error
            self._turn = _Turn(process, begun + LONGEST)
            _going.add(self._turn)
            raise GitSlowError("the first fetch takes long, and goes on") from error
        except BaseException:
            self._kill(process)
            raise

    def lasts(self, at_end: Callable[[], None]) -> None:
        """Call this at the end of the one that goes on; now where none does."""
        with _giving_back:
            if self._turn in _going:
                self._turn.at_end = at_end
                return
        at_end()

    def ended(self) -> subprocess.CompletedProcess[str] | None:
        """How the one that went on has ended; None where none did.

        Raises:
            GitSlowError: It still goes on, or has gone on for too long.
        """
        if self._turn is None:
            return None
        now, until = self._clock.monotonic(), self._turn.until
        try:
            done = _ended(self._turn.process, _GLANCE)
        except subprocess.TimeoutExpired as error:
            if now < until:
                raise GitSlowError("the first fetch takes long, and goes on") from error
            done = None
        self.end()
        if done is None or (done.returncode and now >= until):
            self._rests_until = now + LONGEST
            raise GitSlowError(f"the first fetch took longer than {LONGEST:g} s")
        return done

    def end(self) -> None:
        """End the one that goes on, if any."""
        if self._turn is None:
            return
        self._kill(self._turn.process)
        self._turn.give_back()
        self._turn = None

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        """End a git, let go of what it was read through, and remove what it left."""
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        upkeep.clear(self._folder)


def _ended(process: subprocess.Popen[bytes], seconds: float) -> subprocess.CompletedProcess[str]:
    """Wait for a git; what it has said meanwhile is read, so that it never waits for us."""
    out, said = process.communicate(timeout=seconds)
    told = [each.decode(errors="replace") for each in (out, said)]
    return subprocess.CompletedProcess(process.args, process.returncode, *told)


def _end_all() -> None:
    """None outlives the bot: the next one takes over the folder."""
    for turn in list(_going):
        turn.process.kill()


atexit.register(_end_all)
