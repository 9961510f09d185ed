"""The form of the runner's configuration: what keys a file may have, and what each means.

Rules
- Sizes are numbers with a unit, as in Kubernetes ("512Mi"); times are as in Go ("30s", "5m").
- A key that is not here is refused, and its place is told.

Source: docs/design.md, "Porch: function configurations".
"""

import math
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from cadlib import forms, images, versions
from cadlib.forms import Strict, wrong
from cadlib.yaml import Value
from fnrunner.builtin import lookup
from fnrunner.contract.policy import ANY
from fnrunner.contract.run import MIB, ResourceLimits

_DECIMAL: Final[dict[str, int]] = {unit: 1000**i for i, unit in enumerate(("", "k", "M", "G", "T"))}
_BINARY: Final[dict[str, int]] = {
    unit: 1024**i for i, unit in enumerate(("Ki", "Mi", "Gi", "Ti"), 1)
}
_THE_MACHINES: Final = ("/dev", "/proc", "/sys")
_SANDBOX_OWN: Final = ("/dev", "/proc", "/tmp")  # noqa: S108 - of every sandbox
_UNITS: Final = {**_DECIMAL, **_BINARY}
_SIZE: Final = re.compile(r"([0-9]{1,12})([kMGT]|[KMGT]i|)")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_TIME: Final = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{1,6})?(?:ms|s|m|h))+")
_PART: Final = re.compile(r"([0-9.]+)(ms|s|m|h)")


def _size(value: Value) -> Value:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if found is None or not int(found[1]):
        units = ", ".join(filter(None, _UNITS))
        fix = f'Write a number with a unit, such as "512Mi"; units are {units}'
        raise wrong(f"{value!r} is not a size", fix)
    return int(found[1]) * _UNITS[found[2]]


def _time(value: Value) -> Value:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        raise wrong(
            f"{value!r} is not a duration", 'Write a number with a unit, such as "30s" or "5m"'
        )
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(value))
    if not seconds:
        raise wrong("the duration is 0", "Write a longer one")
    return seconds


def _tag(text: str) -> str:
    if not images.is_tag(text) and versions.version_range(text) is None:
        fix = 'Write a tag such as v0.2.1, or a range of versions such as "~0.2"'
        raise wrong(f"{text!r} is neither a tag nor a range of versions", fix)
    return text


def pattern(text: str) -> str:
    """Return a pattern of images, or raise PydanticCustomError."""
    name, _, digest = text.rpartition("@") if "@" in text else (text, "", "")
    if text.startswith("sha256:"):
        name, digest = "", text
    if digest and not re.fullmatch("sha256:[0-9a-f]{64}", digest):
        raise wrong(f"{digest!r} is not a digest", "Write sha256: and 64 digits in lower case")
    if not text or not re.fullmatch(r"[A-Za-z0-9._*?/:\[\]-]*", name):
        raise wrong(
            f"{text!r} is not a pattern for images", "Write a name, with * for any characters"
        )
    return text


def _absolute(text: str) -> str:
    if not text.startswith("/"):
        raise wrong(f"{text!r} is not an absolute path", "Begin it with /")
    return text


def _prefix(text: str) -> str:
    scheme, found, _ = text.partition("://")
    if found:
        raise wrong(f"{text!r} is an address", f"Leave out {scheme}://, as names of images do")
    return text


def _host(text: str) -> str:
    if "/" in _prefix(text):
        raise wrong(f"{text!r} is not a registry", "Write its host, or HOST:PORT")
    return text


def _variable(text: str) -> str:
    if not text or "=" in text or "\0" in text:
        raise wrong(
            f"{text!r} is not a valid name for an environment variable", "Write a name without ="
        )
    return text


def _written(number: str, text: re.Pattern[str], example: str) -> WithJsonSchema:
    """How a number with a unit is written: without one, or as text."""
    as_text = {"type": "string", "pattern": f"^(?:{text.pattern})$", "examples": [example]}
    return WithJsonSchema({"anyOf": [{"type": number, "exclusiveMinimum": 0}, as_text]})


Size = Annotated[int, BeforeValidator(_size), _written("integer", _SIZE, "512Mi")]
Time = Annotated[float, BeforeValidator(_time), _written("number", _TIME, "30s")]
Tag = Annotated[str, AfterValidator(_tag)]
Pattern = Annotated[str, AfterValidator(pattern)]
Positive = Annotated[int, Field(ge=1)]
Absolute = Annotated[str, AfterValidator(_absolute)]
Prefix = Annotated[str, AfterValidator(_prefix)]
Host = Annotated[str, AfterValidator(_host)]
Variable = Annotated[str, AfterValidator(_variable)]


class BoundsForm(Strict):
    """Limits of one function; a key that is left out has the value for all functions."""

    time: Time | None = None
    """Longest run time, such as "30s"."""
    memory: Size | None = None
    """Memory of all its processes together, such as "512Mi"."""
    processes: Positive | None = None
    """Processes and threads at the same time."""
    openFiles: Positive | None = None  # noqa: N815 - the spelling of the file
    """Files that one process may have open."""
    output: Size | None = None
    """Longest answer."""
    temporary: Size | None = None
    """Size of its /tmp."""

    def over(self, usual: ResourceLimits) -> ResourceLimits:
        """Return these bounds, and the usual ones where none is given."""
        given = {
            "seconds": self.time,
            "memory_bytes": self.memory,
            "processes": self.processes,
            "open_files": self.openFiles,
            "output_bytes": self.output,
            "temporary_bytes": self.temporary,
        }
        return replace(usual, **{key: value for key, value in given.items() if value is not None})  # type: ignore[arg-type] # by name


class FunctionForm(Strict):
    """Limits and permissions of the functions that match a pattern."""

    image: Pattern
    """Full name of the image, with * for any characters; the name of an executable; a digest."""
    limits: BoundsForm = BoundsForm()
    """Their limits."""
    network: bool = False
    """Whether they may use the network."""
    pure: bool = True
    """Whether the same input always gives the same output; if not, answers are not cached."""
    environment: dict[Variable, str] = Field(default={})
    """Their environment variables."""


class ExecutableForm(Strict):
    """A program on this machine that is a function."""

    name: str
    """Its name in Kptfiles: a short name, or one with registry and path."""
    path: Absolute
    """The program, an absolute path."""
    args: list[str] = Field(default=[])
    """Its arguments."""
    files: list[Absolute] = Field(default=[])
    """Other files and folders that it may read; it cannot see anything else in its folder."""
    tags: list[Tag] = Field(default=[])
    """Tags, or ranges of versions, that refer to it; if empty, all tags do."""


class RegistryForm(Strict):
    """How a registry is reached."""

    insecure: bool = False
    """Speak HTTP without TLS."""
    ca: Absolute = ""
    """File with the certificates to trust, PEM."""


class SandboxForm(Strict):
    """The sandbox of images and executables."""

    uncounted: bool = False
    """Whether they may use memory that cannot be counted if control groups are not writable."""


class ImagesForm(Strict):
    """Where images are kept, and how they are fetched."""

    folder: Absolute = ""
    """Folder for the images; by default porchbot/images in the user's cache folder."""
    size: Size = 10 * 1024 * MIB
    """Disk space for images; those unused for longest are deleted first."""
    resolve: Time = 300.0
    """How long the digest of a tag is remembered."""
    credentials: Absolute = ""
    """File with credentials, in the format of docker's config.json."""
    private: bool = False
    """Whether registries at private addresses may be used even if they are not listed here."""
    offline: bool = False
    """Whether only images that are already in the folder may run."""
    registries: dict[Host, RegistryForm] = Field(default={})
    """Registries by host, or host:port."""


class CacheForm(Strict):
    """The cache of answers."""

    enabled: bool = True
    """Whether answers are cached."""
    memory: Size = 64 * MIB
    """Size of the cache in memory."""
    disk: Size = 1024 * MIB
    """Size of the cache on disk."""
    folder: Absolute = ""
    """Folder of the cache; without one, answers are cached in memory only."""


class CallsForm(Strict):
    """How many calls are accepted, and how large."""

    time: Time = 30.0
    """Longest call, including waiting; no function can run longer, whatever its limits say."""
    message: Size = 6 * MIB
    """Largest ResourceList, in a request or an answer."""
    running: Positive | None = None
    """Functions that run at the same time; by default the number of processors."""
    waiting: Positive = 64
    """Calls that may wait in the queue."""


class PodsForm(Strict):
    """Pods that run images on Kubernetes (`pip install porchbot[kubernetes]`)."""

    namespace: str = "porchbot-functions"
    """Namespace for the pods."""
    template: Absolute = ""
    """File with a pod template (YAML); by default a small built-in one."""
    server: str = ""
    """Image of porchbot; its `porchbot function-server` is copied into each pod."""
    most: Positive = 2
    """Largest number of pods for one image."""
    queue: Positive = 2
    """Calls that may wait for one pod before another pod is created."""
    idle: Time = 1800.0
    """How long a pod without calls is kept."""
    ready: Time = 60.0
    """How long a pod may take to become ready."""
    warm: list[str] = Field(default=[])
    """Images that always have a pod ready, from the start."""


class RunnerForm(Strict):
    """The runner's own document. Every key but `version` may be left out."""

    version: Literal[1]
    """Version of this format."""
    prefixes: list[Prefix] = Field(default=list(lookup.PREFIXES))
    """Registries and folders whose functions are built in; a short name stands for the
    first one."""
    runtimes: list[Literal["builtin", "executable", "image", "pod"]] = Field(
        default=["builtin", "executable", "image"]
    )
    """What may run functions."""
    allow: list[Pattern] = Field(default=list(ANY))
    """Images that may run: names with * for any characters, or digests."""
    limits: BoundsForm = BoundsForm()
    """Limits of every function."""
    functions: list[FunctionForm] = Field(default=[])
    """Limits and permissions of certain functions; the last entry that matches counts."""
    executables: list[ExecutableForm] = Field(default=[])
    """Programs on this machine that are functions."""
    binaries: Absolute = "/functions"
    """Folder of the executables that Porch's FunctionConfigs name by a relative path."""
    sandbox: SandboxForm = SandboxForm()
    images: ImagesForm = ImagesForm()
    cache: CacheForm = CacheForm()
    calls: CallsForm = CallsForm()
    pods: PodsForm = PodsForm()

    @model_validator(mode="after")
    def _one_meaning(self) -> "RunnerForm":
        seen = set()
        for each in self.executables:
            means = (each.name, tuple(sorted(each.tags)))
            if means in seen:
                problem = f"two executables are called {each.name}"
                raise wrong(problem, "Remove one, or give them different tags")
            seen.add(means)
            for path in each.files:
                self._check_shown(path)
        return self

    def _check_shown(self, path: str) -> None:
        """Refuse to show an executable what is the runner's own, by a folder above it, too."""
        shown = Path(os.path.normpath(path))
        images, cache = self.images, self.cache
        own = [Path(each) for each in (images.folder, images.credentials, cache.folder) if each]
        within = [each for each in map(Path, _THE_MACHINES) if shown.is_relative_to(each)]
        above = [each for each in (*own, *map(Path, _SANDBOX_OWN)) if each.is_relative_to(shown)]
        inside = [each for each in own if shown.is_relative_to(each)]
        for each in (*within, *above, *inside):
            problem = f"{path} cannot be given to an executable: it would expose {each}"
            raise wrong(problem, "Name the files that it needs, one by one")


class GoExecutorForm(Strict):
    """Porch: a function that is built in."""

    id: str = ""
    tags: list[Tag] = Field(default=[])


class BinaryExecutorForm(Strict):
    """Porch: an executable in the folder of functions."""

    path: str
    tags: list[Tag]


class PodExecutorForm(Strict):
    """Porch: an image that is run in pods."""

    tags: list[Tag] = Field(default=[])
    timeToLive: Time = 1800.0  # noqa: N815 - Porch's spelling
    maxParallelExecutions: Positive | None = None  # noqa: N815
    preferredMaxQueueLength: Positive | None = None  # noqa: N815
    templateOverrides: dict[str, Any] = Field(default={})  # noqa: N815


class PorchSpec(Strict):
    """Porch: what a FunctionConfig says."""

    image: str
    prefixes: list[str] = Field(default=[""])
    goExecutor: GoExecutorForm | None = None  # noqa: N815 - Porch's spelling
    binaryExecutor: BinaryExecutorForm | None = None  # noqa: N815
    podExecutor: PodExecutorForm | None = None  # noqa: N815

    @model_validator(mode="after")
    def _runs(self) -> "PorchSpec":
        if not (self.goExecutor or self.binaryExecutor or self.podExecutor):
            problem = "it has no executor"
            raise wrong(problem, "Add goExecutor, binaryExecutor or podExecutor")
        if self.goExecutor and (self.goExecutor.id or self.image) not in lookup.names():
            problem = f"no function {self.goExecutor.id or self.image!r} is built in"
            raise wrong(problem, f"Name one of {', '.join(lookup.names())}")
        return self


class PorchForm(Strict):
    """Porch's FunctionConfig."""

    apiVersion: Literal["config.porch.kpt.dev/v1alpha1"]  # noqa: N815 - Kubernetes' spelling
    kind: Literal["FunctionConfig"]
    metadata: dict[str, Any] = Field(default={})
    spec: PorchSpec
    status: dict[str, Any] = Field(default={})


def schema_text() -> str:
    """Return the JSON schema of the runner's own document, as it is published."""
    return forms.schema_text(RunnerForm, "porchbot runner")


if __name__ == "__main__":
    sys.stdout.write(schema_text())
