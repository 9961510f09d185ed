"""Finds builtin functions: by name, and by the image names that mean them.

Each is one module of `fnrunner.builtin.catalog` with `ABOUT` and `run(resources)`, read when it is
first called. A function answers only for the prefixes it is told, for a short name (which means the
first of them), and for the tags it states: `registry.corp/set-labels:v9` is another function.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from cadlib import versions
from fnrunner.builtin import catalog
from fnrunner.contract.errors import FunctionNotFoundError

if TYPE_CHECKING:
    from cadlib.stream.resourcelist import ResourceList
    from cadlib.yaml import Value
    from fnrunner.builtin.about import About
    from fnrunner.builtin.alone import PerResourceFunction
    from fnrunner.builtin.verdict import FunctionResult

# Where the catalog is published: now, and before it moved.
PREFIXES: Final = (
    "ghcr.io/kptdev/krm-functions-catalog/",
    "gcr.io/kpt-fn/",
    "gcr.io/kpt-fn-contrib/",
)
# kpt has this function itself, under a name that is no image's.
_KPTS_OWN: Final = {"builtins/gen-pkg-context": "gen-pkg-context"}
# The catalog's other functions, and why they need their image.
IMAGE_ONLY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "analyze-istio": "runs the separate program istioctl",
        "annotate-apply-time-mutations": "turns comments into annotations for Config Sync only",
        "bind": "has never been released in the catalog",
        "export-terraform": "converts Google Cloud resources to Terraform; large, for one cloud",
        "generate-kpt-pkg-docs": "writes documentation about a package, not resources",
        "helm-inflator": "runs helm; render-helm-chart replaced it",
        "kubeval": "is no longer maintained; kubeconform replaced it",
        "render-helm-chart": "runs the separate program helm, and downloads charts",
        "set-gcp-resource-ids": "is part of Google's blueprints, without tests or documentation",
        "sops": "decrypts with keys that no function inside porchbot should see",
        "source-gcloud-config": "runs gcloud with a user's credentials",
    }
)
_MOVING_TAGS: Final = ("", "latest", "unstable")  # no tag means the latest
_EXACT: Final = re.compile(r"v[0-9]+(\.[0-9]+){0,2}")


@dataclass(frozen=True, slots=True)
class CatalogFunction:
    """A builtin function.

    Attributes:
        name: Its name in the catalog, such as "set-labels".
        module: Its module.
    """

    name: str
    module: ModuleType

    @property
    def about(self) -> "About":
        """What it says of itself."""
        about: About = self.module.ABOUT
        return about

    def run(self, resources: "ResourceList") -> "FunctionResult":
        """Call it. It does not change the values it is given: they are shared."""
        verdict: FunctionResult = self.module.run(resources)
        return verdict

    def begin(self, config: "Value") -> "PerResourceFunction[Any]":
        """Return one that is `alone` with its configuration, or raise RefusedError."""
        function: PerResourceFunction[Any] = self.module.begin(config)
        return function

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags it states one by one, sorted; it may answer to a range of others."""
        exact = filter(_EXACT.fullmatch, self.about.tags)
        return tuple(sorted((*exact, *filter(None, _MOVING_TAGS))))

    def answers(self, tag: str) -> bool:
        """Tell whether it behaves like the version of a tag; "" is the latest."""
        return tag in _MOVING_TAGS or versions.among(tag, self.about.tags)


@cache
def names() -> tuple[str, ...]:
    """Return the names of all builtin functions, sorted."""
    return tuple(sorted(each.name.replace("_", "-") for each in iter_modules(catalog.__path__)))


@cache
def get(name: str) -> CatalogFunction:
    """Return a builtin function by its name, one of `names`."""
    return CatalogFunction(name, import_module(f"{catalog.__name__}.{name.replace('-', '_')}"))


def find(image: str, prefixes: Sequence[str] = PREFIXES) -> CatalogFunction:
    """Return the function that an image name means.

    Args:
        image: The name, short or full, with or without tag.
        prefixes: Registries and folders whose functions the builtin ones stand for, each
            ended by "/" or not.

    Raises:
        FunctionNotFoundError: It means none of them.
    """
    name, _, tag = _short(image, prefixes).partition(":")
    # A digest names one build of the catalog's own program, which this is not.
    if "@" in image or image.endswith(":") or name not in names() or not get(name).answers(tag):
        raise FunctionNotFoundError(image)
    return get(name)


def _short(image: str, prefixes: Sequence[str]) -> str:
    own, colon, tag = image.partition(":")
    if own in _KPTS_OWN:
        return f"{_KPTS_OWN[own]}{colon}{tag}"
    for prefix in prefixes:
        if image.startswith(f"{prefix.rstrip('/')}/"):
            return image.removeprefix(f"{prefix.rstrip('/')}/")
    return image
