"""A runner of the builtin functions, in threads."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from cadlib.errors import PackageError
from fnrunner.builtin import PREFIXES, Function, find
from fnrunner.builtin.memory import Memory
from fnrunner.errors import ResourcesRefusedError
from fnrunner.run import Outcome


class Builtin:
    """A runner of the builtin functions.

    They run in threads, so that the runner answers others meanwhile. A thread cannot be
    stopped: one whose caller went away finishes its function, which holds up later calls
    for as long. The functions are linear in their resources, and those are limited.
    """

    def __init__(self, prefixes: Sequence[str] = PREFIXES, *, running: int = 4) -> None:
        self._prefixes = tuple(prefixes)
        self._threads = ThreadPoolExecutor(running, thread_name_prefix="function")
        self._memory = Memory()

    async def run(
        self,
        image: str,
        resources: bytes,
        *,
        seconds: float | None = None,  # noqa: ARG002 - a thread cannot be stopped
    ) -> Outcome:
        """Run it, or raise FunctionNotFoundError or ResourcesRefusedError."""
        function = find(image, self._prefixes)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._threads, evaluate, image, function, resources, self._memory
        )


def evaluate(image: str, function: Function, resources: bytes, memory: Memory) -> Outcome:
    """Run a function on a ResourceList (YAML, UTF-8), here and now.

    Args:
        image: The function, as it was asked for.
        function: What it means.
        resources: What it works on.
        memory: Items read before.

    Raises:
        ResourcesRefusedError: `resources` is not a ResourceList.
    """
    try:
        parsed = memory.decode(resources)
    except PackageError as error:
        raise ResourcesRefusedError(image, str(error)) from error
    found = function.run(parsed.resources)
    return Outcome(
        resources=memory.encode(parsed, found.items, found.results),
        log=found.log,
        failed=found.failed,
        results=found.results if found.failed else (),
    )
