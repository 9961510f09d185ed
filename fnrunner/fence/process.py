"""Runs executables of this machine that an operator configured as functions, in the sandbox.

Rules
- An executable sees its own file, the files that are configured with it, and what programs of
  this machine need to be loaded. It never sees the folder that it lies in: others stand there,
  and perhaps what belongs to the runner.
- It has no environment but PATH and what it is granted.
- Configured is allowed: the list of allowed images is about images.
"""

import asyncio
import hashlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fnrunner.contract.errors import FunctionNotFoundError, FunctionRefusedError, SandboxError
from fnrunner.contract.policy import RunnerPolicy
from fnrunner.contract.run import FunctionOutcome, within
from fnrunner.fence.reader import OutputReader
from fnrunner.fence.sandbox import Program, Sandbox
from fnrunner.settings import ProgramFunction as Executable

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_Stamp = tuple[int, int, int, int, int]


class Executables:
    """A runner of executables."""

    def __init__(
        self,
        executables: Sequence[Executable],
        policy: RunnerPolicy,
        sandbox: Sandbox | SandboxError,
        reader: OutputReader | None = None,
    ) -> None:
        """Make a runner.

        Args:
            executables: What there is; of two that an image means, the first counts.
            policy: What each may have.
            sandbox: Where they run, or why there is none: then they are refused.
            reader: Reads what they write; None makes one.
        """
        self._reader = reader or OutputReader()
        self._executables = executables
        self._policy = policy
        self._sandbox = sandbox
        self._digests: dict[Path, tuple[_Stamp, str]] = {}

    async def identity(self, image: str) -> str:
        """Return what would run now: "sha256:…" of the executable, and of its arguments if any.

        What lies beside it is not in there: a function that goes by such files is not pure.

        Raises:
            FunctionNotFoundError: The name means none of them.
            FunctionRefusedError: It cannot be read, or nothing can fence it here.
        """
        executable = self._find(image)[1]
        self._fenced(image)
        return _with(await self._digest(image, executable.path), executable.args)

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        """Run the executable that an image name means.

        Args:
            image: Its name as it is configured, or as the full name of a short one.
            resources: A ResourceList.
            seconds: How long the caller waits.

        Raises:
            FunctionNotFoundError: The name means none of them.
            FunctionRefusedError: It cannot be read, or nothing can fence it here.
            FunctionStoppedError: It went over a limit.
            FunctionFailedError: It could not be started, or succeeded without an answer.
            RunnerBusyError: This machine has no room for it now.
        """
        begun = time.monotonic()
        name, executable = self._find(image)
        sandbox = self._fenced(image)
        digest = _with(await self._digest(image, executable.path), executable.args)
        granted = self._policy.granted(name, digest)
        program = Program(
            argv=(str(executable.path), *executable.args),
            environment={"PATH": PATH, **granted.environment},
            binds=_shown(executable.path, executable.files),
            network=granted.network,
        )
        bounds = within(granted.bounds, seconds)
        ended = await sandbox.run(image, program, resources, bounds)
        left = None if seconds is None else max(seconds - (time.monotonic() - begun), 0.001)
        return await self._reader.outcome(image, ended, digest, left)

    def _find(self, image: str) -> tuple[str, Executable]:
        """Return an executable and the name that means it."""
        prefix = f"{self._policy.prefix.rstrip('/')}/"
        # A short name means the first prefix: whoever writes it out means the same.
        other = image.removeprefix(prefix) if "/" in image else f"{prefix}{image}"
        for name in (image, other):
            for executable in self._executables:
                if executable.means.mean(name):
                    return name, executable
        raise FunctionNotFoundError(image)

    def _fenced(self, image: str) -> Sandbox:
        if isinstance(self._sandbox, SandboxError):
            reason = f"it cannot be sandboxed here: {self._sandbox.reason}"
            raise FunctionRefusedError(image, reason, self._sandbox.fix) from self._sandbox
        return self._sandbox

    async def _digest(self, image: str, path: Path) -> str:
        try:
            return await asyncio.to_thread(self._read_digest, path)
        except OSError as error:
            raise FunctionRefusedError(
                image,
                f"its executable {path} cannot be read: {error.strerror}",
                "Correct its path in the runner's configuration, or the mode of the file",
            ) from error

    def _read_digest(self, path: Path) -> str:
        """Return "sha256:…" of a file, read once as long as it stays the same file."""
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            stamp = (
                found.st_dev,
                found.st_ino,
                found.st_size,
                found.st_mtime_ns,
                found.st_ctime_ns,
            )
            kept = self._digests.get(path)
            if kept is None or kept[0] != stamp:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                self._digests[path] = kept = stamp, f"sha256:{digest}"
        return kept[1]


def _with(digest: str, args: Sequence[str]) -> str:
    if not args:
        return digest
    return f"sha256:{hashlib.sha256(json.dumps([digest, *args]).encode()).hexdigest()}"


def _shown(path: Path, files: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Return what is shown of the machine for an executable, a link to one followed."""
    return tuple(dict.fromkeys((path, path.resolve(), *files)))
