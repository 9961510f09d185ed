"""The catalog's functions that run in this process: their table, and the runner over it.

Each function is one module with `run(resources) -> Verdict`. A function answers only for the
prefixes it is told, for a short name (which means the first of them), and for the tags that
stand in `FUNCTIONS`: `registry.corp/set-labels:v9` is another function.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from cadlib.errors import PackageError
from cadlib.resourcelist import ResourceList
from fnrunner.builtin import kubeconform, set_annotations, set_labels, set_namespace
from fnrunner.builtin.memory import Memory
from fnrunner.builtin.verdict import Verdict
from fnrunner.errors import FunctionNotFoundError, ResourcesRefusedError
from fnrunner.run import Outcome

# Where the catalog is published: now, and before it moved.
PREFIXES: Final = (
    "ghcr.io/kptdev/krm-functions-catalog/",
    "gcr.io/kpt-fn/",
    "gcr.io/kpt-fn-contrib/",
)
_MOVING_TAGS: Final = frozenset(("", "latest", "unstable"))  # no tag means the latest


@dataclass(frozen=True, slots=True)
class Function:
    """A builtin function.

    Attributes:
        run: What it does. It must not change the values it is given: they are shared.
        tags: Versions of the catalog's function that it behaves like.
    """

    run: Callable[[ResourceList], Verdict]
    tags: frozenset[str]


def _tags(*versions: str) -> frozenset[str]:
    return _MOVING_TAGS.union(versions)


FUNCTIONS: Final[Mapping[str, Function]] = MappingProxyType(
    {
        "kubeconform": Function(kubeconform.run, _tags("v0.1", "v0.1.0", "v0.1.1")),
        "set-annotations": Function(
            set_annotations.run,
            _tags("v0.1", "v0.1.3", "v0.1.4", "v0.1.5", "v0.1.6", "v0.1.7"),
        ),
        # v0.1 put labels elsewhere.
        "set-labels": Function(
            set_labels.run,
            _tags("v0.2", "v0.2.0", "v0.2.1", "v0.2.2", "v0.2.3", "v0.2.4", "v0.2.5"),
        ),
        "set-namespace": Function(
            set_namespace.run,
            _tags("v0.3", "v0.3.4", "v0.4", "v0.4.1", "v0.4.2", "v0.4.3", "v0.4.4", "v0.4.5"),
        ),
    }
)


class Builtin:
    """A runner of the builtin functions.

    They run in threads, so that the runner answers others meanwhile. A thread cannot be
    stopped: one whose caller went away finishes its function, which holds up later calls
    for as long. The functions are linear in their resources, and those are limited.
    """

    def __init__(self, prefixes: Sequence[str] = PREFIXES, *, running: int = 4) -> None:
        self._prefixes = tuple(f"{prefix.rstrip('/')}/" for prefix in prefixes)
        self._threads = ThreadPoolExecutor(running, thread_name_prefix="function")
        self._memory = Memory()

    async def run(self, image: str, resources: bytes) -> Outcome:
        """Run it, or raise FunctionNotFoundError or ResourcesRefusedError."""
        function = self.find(image)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._threads, evaluate, image, function, resources, self._memory
        )

    def find(self, image: str) -> Function:
        """Return the function that an image name means, or raise FunctionNotFoundError."""
        name, _, tag = self._short(image).partition(":")
        function = FUNCTIONS.get(name)
        # A digest names one build of the catalog's own program, which this is not.
        if function is None or "@" in image or tag not in function.tags or image.endswith(":"):
            raise FunctionNotFoundError(image)
        return function

    def _short(self, image: str) -> str:
        for prefix in self._prefixes:
            if image.startswith(prefix):
                return image.removeprefix(prefix)
        return image


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
