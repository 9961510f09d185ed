"""Parses the output of sandboxed functions in worker processes with limits.

A function may write anything, and a text that is quick to write can take a minute and gigabytes
to read. So it is never read in the runner itself, which answers all other callers meanwhile.
"""

from fnrunner.builtin.pool import Builtin
from fnrunner.contract import results
from fnrunner.contract.errors import (
    FunctionFailedError,
    FunctionStoppedError,
    FunctionTimeoutError,
    ResourcesRefusedError,
)
from fnrunner.contract.results import Result
from fnrunner.contract.run import FunctionOutcome
from fnrunner.fence import answer
from fnrunner.fence.sandbox import Ended


class OutputReader:
    """Says what a program's exit status and output mean; see `fnrunner.fence.answer`."""

    def __init__(self, workers: Builtin | None = None) -> None:
        """Make one.

        Args:
            workers: The processes; None for some of its own, which start when they are needed.
        """
        self._workers = workers or Builtin(running=1)

    async def outcome(
        self, name: str, ended: Ended, digest: str, seconds: float | None = None
    ) -> FunctionOutcome:
        """Return what a function answered.

        Args:
            name: The function, as it was asked for.
            ended: What its program left.
            digest: What ran, such as "sha256:…".
            seconds: How long the caller waits.

        Raises:
            FunctionFailedError: It says that it succeeded and wrote no ResourceList.
            FunctionTimeoutError: To read what it wrote takes longer than that.
            RunnerBusyError: No process can be started to read it.
        """
        if ended.status != 0:
            return await self._refusal(name, ended, digest, seconds)
        if not answer.is_block(ended.output):
            try:
                await self._workers.read(name, ended.output, seconds=seconds)
            except ResourcesRefusedError as error:
                raise answer.no_answer(name, error.reason, ended.log) from error
            except FunctionTimeoutError:
                raise
            except FunctionStoppedError as error:
                raise FunctionFailedError(name, f"its output cannot be read: {error}") from error
        return FunctionOutcome(ended.output, ended.log, digest=digest)

    async def _refusal(
        self, name: str, ended: Ended, digest: str, seconds: float | None
    ) -> FunctionOutcome:
        resources, log = ended.output, ended.log
        found: tuple[Result, ...] = ()
        try:
            # Many write nothing, or words, when they fail: their log says why.
            if resources.strip():
                found = await self._workers.read(name, resources, seconds=seconds)
            else:
                resources = results.resource_list(())
        except ResourcesRefusedError:
            resources = results.resource_list(())
        except FunctionTimeoutError:
            raise
        except FunctionStoppedError as error:
            resources, log = results.resource_list(()), f"{log}\n[its results: {error}]\n"
        return answer.refusal(ended, resources, log, found, digest)
