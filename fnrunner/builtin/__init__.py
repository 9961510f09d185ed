"""The catalog's functions that run in this process, and which image names mean them.

Each function is one module with `run(resources) -> Verdict`, read when it is first called. A
function answers only for the prefixes it is told, for a short name (which means the first of
them), and for the tags that stand in `FUNCTIONS`: `registry.corp/set-labels:v9` is another one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from fnrunner.errors import FunctionNotFoundError

if TYPE_CHECKING:
    from cadlib.resourcelist import ResourceList
    from cadlib.yaml import Value
    from fnrunner.builtin.alone import Alone
    from fnrunner.builtin.verdict import Verdict

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
        module: Where it stands, below this one.
        tags: Versions of the catalog's function that it behaves like.
        alone: It treats each resource alone (`fnrunner.builtin.alone`).
    """

    module: str
    tags: frozenset[str]
    alone: bool = False

    def run(self, resources: "ResourceList") -> "Verdict":
        """Call it. It does not change the values it is given: they are shared."""
        verdict: Verdict = import_module(f"{__name__}.{self.module}").run(resources)
        return verdict

    def begin(self, config: "Value") -> "Alone[Any]":
        """Return one that is `alone` with its configuration, or raise RefusedError."""
        function: Alone[Any] = import_module(f"{__name__}.{self.module}").begin(config)
        return function


def _tags(*versions: str) -> frozenset[str]:
    return _MOVING_TAGS.union(versions)


FUNCTIONS: Final[Mapping[str, Function]] = MappingProxyType(
    {
        "kubeconform": Function("kubeconform", _tags("v0.1", "v0.1.0", "v0.1.1")),
        "set-annotations": Function(
            "set_annotations",
            _tags("v0.1", "v0.1.3", "v0.1.4", "v0.1.5", "v0.1.6", "v0.1.7"),
            alone=True,
        ),
        # v0.1 put labels elsewhere.
        "set-labels": Function(
            "set_labels",
            _tags("v0.2", "v0.2.0", "v0.2.1", "v0.2.2", "v0.2.3", "v0.2.4", "v0.2.5"),
            alone=True,
        ),
        "set-namespace": Function(
            "set_namespace",
            _tags("v0.3", "v0.3.4", "v0.4", "v0.4.1", "v0.4.2", "v0.4.3", "v0.4.4", "v0.4.5"),
        ),
    }
)


def find(image: str, prefixes: Sequence[str] = PREFIXES) -> Function:
    """Return the function that an image name means.

    Args:
        image: The name, short or full, with or without tag.
        prefixes: Registries and folders whose functions the builtin ones stand for, each
            ended by "/" or not.

    Raises:
        FunctionNotFoundError: It means none of them.
    """
    name, _, tag = _short(image, prefixes).partition(":")
    function = FUNCTIONS.get(name)
    # A digest names one build of the catalog's own program, which this is not.
    if function is None or "@" in image or tag not in function.tags or image.endswith(":"):
        raise FunctionNotFoundError(image)
    return function


def _short(image: str, prefixes: Sequence[str]) -> str:
    for prefix in prefixes:
        if image.startswith(f"{prefix.rstrip('/')}/"):
            return image.removeprefix(f"{prefix.rstrip('/')}/")
    return image
