"""The runner's configuration: one file, its own form and Porch's `FunctionConfig` in any mixture.

Rules
- A file holds documents. One of them, at most, is the runner's own (`version: 1`); each of the
  others is a `FunctionConfig` of `config.porch.kpt.dev/v1alpha1`.
- What a `FunctionConfig` means here: its image below each of its prefixes is, for the tags (or
  ranges of versions) that an executor names, the builtin function `goExecutor.id`, the executable
  at `binaryExecutor.path`, or an image run in pods. Builtin comes before executable before image
  before pod, whatever the order of the file.
- Sizes are numbers with a unit, as in Kubernetes ("512Mi"); times are as in Go ("30s", "5m").
- What cannot be used whole is not used at all, and every problem is told at once.

Source: reference/porch.md, section 2.2 (FunctionConfig) and 6.2; DESIGN 9.
"""

import math
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from cadlib import forms, images, versions
from cadlib.errors import PackageError, Place
from cadlib.forms import FormError, Strict, wrong
from cadlib.yaml import Document, Value
from fnrunner import builtin
from fnrunner.policy import ANY, Policy
from fnrunner.run import MIB, Bounds, Granted, Limits

KINDS: Final = ("builtin", "executable", "image", "pod")
"""What can run a function, in the order in which they are asked."""

_PORCH: Final = "config.porch.kpt.dev/"
_UNITS: Final = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_SIZE: Final = re.compile(r"([0-9]{1,12})(Ki|Mi|Gi|k|M|G|)")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_TIME: Final = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{1,6})?(?:ms|s|m|h))+")
_PART: Final = re.compile(r"([0-9.]+)(ms|s|m|h)")


def _size(value: Value) -> Value:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if found is None or not int(found[1]):
        raise wrong(f"{value!r} is no size", 'Write a number with a unit, such as "512Mi"')
    return int(found[1]) * _UNITS[found[2]]


def _time(value: Value) -> Value:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        raise wrong(f"{value!r} is no time", 'Write a number with a unit, such as "30s" or "5m"')
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(value))
    if not seconds:
        raise wrong("the time is 0", "Write a longer one")
    return seconds


def _tag(text: str) -> str:
    if not images.is_tag(text) and versions.version_range(text) is None:
        fix = 'Write a tag such as v0.2.1, or a range of versions such as "~0.2"'
        raise wrong(f"{text!r} is neither a tag nor a range of versions", fix)
    return text


def _pattern(text: str) -> str:
    name, _, digest = text.rpartition("@") if "@" in text else (text, "", "")
    if text.startswith("sha256:"):
        name, digest = "", text
    if digest and not re.fullmatch("sha256:[0-9a-f]{64}", digest):
        raise wrong(f"{digest!r} is no digest", "Write sha256: and 64 digits in lower case")
    if not re.fullmatch(r"[A-Za-z0-9._*?/:\[\]-]*", name):
        raise wrong(f"{text!r} is no pattern of images", "Write a name, with * for any characters")
    return text


Size = Annotated[int, BeforeValidator(_size)]
Time = Annotated[float, BeforeValidator(_time)]
Tag = Annotated[str, AfterValidator(_tag)]
Pattern = Annotated[str, AfterValidator(_pattern)]
Positive = Annotated[int, Field(ge=1)]


class BoundsForm(Strict):
    """How much one function may take; what is left out is as for all functions."""

    time: Time | None = None
    """Longest run, such as "30s"."""
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

    def over(self, usual: Bounds) -> Bounds:
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
    """What the functions that fit a pattern may have."""

    image: Pattern
    """Full name of the image, with * for any characters; the name of an executable; a digest."""
    limits: BoundsForm = BoundsForm()
    """How much they may take."""
    network: bool = False
    """Whether they may use the network."""
    pure: bool = True
    """Whether the same resources always give the same answer; if not, answers are not kept."""
    environment: dict[str, str] = Field(default={})
    """Variables that they are given."""


class ExecutableForm(Strict):
    """A program on this machine that is a function."""

    name: str
    """What Kptfiles call it: a name alone, or with registry and path."""
    path: str
    """The program, an absolute path."""
    args: list[str] = Field(default=[])
    """What it is started with."""
    tags: list[Tag] = Field(default=[])
    """Tags, or ranges of versions, that mean it; any if there are none."""

    @model_validator(mode="after")
    def _absolute(self) -> "ExecutableForm":
        if not self.path.startswith("/"):
            raise wrong(f"{self.path!r} is no absolute path", "Begin it with /")
        return self


class RegistryForm(Strict):
    """How a registry is reached."""

    insecure: bool = False
    """Speak HTTP without TLS."""
    ca: str = ""
    """File with the certificates to trust, PEM."""


class ImagesForm(Strict):
    """Where images are kept, and how they are fetched."""

    folder: str = ""
    """Where they are kept; porchbot/images in the user's cache folder when left out."""
    size: Size = 10 * 1024 * MIB
    """How much they may take on disk; those used longest ago go first."""
    resolve: Time = 300.0
    """How long a tag is taken to mean the same digest."""
    credentials: str = ""
    """File with credentials, in the format of docker's config.json."""
    private: bool = False
    """Whether registries on private addresses may be asked that are not named here."""
    offline: bool = False
    """Whether only images run that are here already."""
    registries: dict[str, RegistryForm] = Field(default={})
    """Registries by host, or host:port."""


class CacheForm(Strict):
    """Where answers are kept."""

    enabled: bool = True
    """Whether any are kept."""
    memory: Size = 64 * MIB
    """How much is kept in memory."""
    disk: Size = 1024 * MIB
    """How much is kept on disk."""
    folder: str = ""
    """Where; without one, answers are kept in memory only."""


class CallsForm(Strict):
    """How many calls are taken."""

    time: Time = 30.0
    """Longest call, waiting included."""
    message: Size = 6 * MIB
    """Largest ResourceList, each way."""
    running: Positive | None = None
    """Functions that run at the same time; the number of processors when left out."""
    waiting: Positive = 64
    """Calls that may wait for their turn."""


class PodsForm(Strict):
    """Pods that run images on Kubernetes (`pip install porchbot[kubernetes]`)."""

    namespace: str = "porchbot-functions"
    """Where pods are made."""
    template: str = ""
    """File with a pod template (YAML); a small one of ours when left out."""
    server: str = ""
    """Image with porchbot, whose `porchbot function-server` is put before the function."""
    most: Positive = 2
    """Pods of one image at the same time."""
    queue: Positive = 2
    """Calls that wait at one pod before another is made."""
    idle: Time = 1800.0
    """How long a pod without calls stays."""
    ready: Time = 60.0
    """How long a pod may take until it serves."""
    warm: list[str] = Field(default=[])
    """Images of which a pod stands ready from the start."""


class RunnerForm(Strict):
    """The runner's own document. Every key but `version` may be left out."""

    version: Literal[1]
    """Version of this format."""
    prefixes: list[str] = Field(default=list(builtin.PREFIXES))
    """Registries and folders whose functions the builtin ones stand for; a short name means
    the first."""
    runtimes: list[Literal["builtin", "executable", "image", "pod"]] = Field(
        default=["builtin", "executable", "image"]
    )
    """What may run functions."""
    allow: list[Pattern] = Field(default=list(ANY))
    """Images that may run: names with * for any characters, or digests."""
    limits: BoundsForm = BoundsForm()
    """How much any function may take."""
    functions: list[FunctionForm] = Field(default=[])
    """What single functions may have; of those that fit, the last counts."""
    executables: list[ExecutableForm] = Field(default=[])
    """Programs on this machine that are functions."""
    binaries: str = "/functions"
    """Folder of the executables that Porch's FunctionConfigs name by a relative path."""
    images: ImagesForm = ImagesForm()
    cache: CacheForm = CacheForm()
    calls: CallsForm = CallsForm()
    pods: PodsForm = PodsForm()


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
        if self.goExecutor and (self.goExecutor.id or self.image) not in builtin.names():
            problem = f"no function {self.goExecutor.id or self.image!r} is built in"
            raise wrong(problem, f"Name one of {', '.join(builtin.names())}")
        return self


class PorchForm(Strict):
    """Porch's FunctionConfig."""

    apiVersion: Literal["config.porch.kpt.dev/v1alpha1"]  # noqa: N815 - Kubernetes' spelling
    kind: Literal["FunctionConfig"]
    metadata: dict[str, Any] = Field(default={})
    spec: PorchSpec
    status: dict[str, Any] = Field(default={})


@dataclass(frozen=True, slots=True)
class Names:
    """Images that mean one function.

    Attributes:
        names: Names without tag.
        tags: Tags and ranges of versions; any if there are none.
    """

    names: tuple[str, ...]
    tags: tuple[str, ...] = ()

    def mean(self, image: str) -> bool:
        """Return whether an image is one of them; a digest never is."""
        if "@" in image or images.repository(image) not in self.names:
            return False
        tag = images.base_name_and_tag(image)[1]
        return not self.tags or versions.among(tag, self.tags)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """An executable that is a function."""

    means: Names
    path: Path
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRule:
    """How many pods the images that have these names get, and for how long."""

    means: Names
    idle: float
    most: int
    queue: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What an operator configures.

    Attributes:
        form: The file's own values, with the defaults.
        limits: Of calls.
        policy: Which functions may run, and what each may have.
        aliases: Names that mean a builtin function, with its name.
        programs: Executables.
        pods: Rules for pods of single images; others are as `form.pods` says.
        warm: Images of which a pod stands ready.
    """

    form: RunnerForm = field(default_factory=lambda: RunnerForm(version=1))
    limits: Limits = field(default_factory=Limits)
    policy: Policy = field(default_factory=Policy)
    aliases: Sequence[tuple[Names, str]] = ()
    programs: Sequence[Program] = ()
    pods: Sequence[PodRule] = ()
    warm: Sequence[str] = ()

    def overridden(self, *, allow: Sequence[str] = (), message_bytes: int | None = None) -> Self:
        """Return settings with other patterns of allowed images, and another limit of messages.

        Args:
            allow: Patterns; () leaves them.
            message_bytes: Largest message; None leaves it.

        Raises:
            FormError: A pattern is none.
        """
        try:
            patterns = tuple(map(_pattern, allow)) or self.policy.allow
        except PydanticCustomError as error:
            context = error.context or {}
            problem = PackageError(Place("--allow"), context["problem"], context["fix"])
            raise FormError([problem]) from error
        most = message_bytes or self.limits.message_bytes
        return replace(
            self,
            policy=replace(self.policy, allow=patterns),
            limits=replace(self.limits, message_bytes=most),
        )


def read(data: bytes, path: str) -> Settings:
    """Read a configuration.

    Args:
        data: Its text, UTF-8.
        path: Its name, for messages.

    Raises:
        FormError: It cannot be used; all problems are told.
    """
    own: list[RunnerForm] = []
    porch: list[PorchSpec] = []
    problems: list[PackageError] = []
    for document in forms.documents(data, path):
        try:
            if _is_porch(document):
                porch.append(forms.filled(PorchForm, document, path).spec)
                continue
            own.append(forms.filled(RunnerForm, document, path))
            if len(own) > 1:
                place = Place(path, document.start_line)
                problem = "there are two documents of the runner's own"
                raise FormError([PackageError(place, problem, "Put them into one")])
        except FormError as error:
            problems += error.problems
    if problems:
        raise FormError(problems)
    return _settings(own[0] if own else RunnerForm(version=1), porch)


def _is_porch(document: Document) -> bool:
    value = document.value
    return isinstance(value, dict) and str(value.get("apiVersion", "")).startswith(_PORCH)


def _settings(form: RunnerForm, porch: Sequence[PorchSpec]) -> Settings:
    usual = Granted(bounds=form.limits.over(Bounds(seconds=form.calls.time)))
    calls = form.calls
    return Settings(
        form=form,
        limits=Limits(
            seconds=calls.time,
            message_bytes=calls.message,
            running=calls.running or os.cpu_count() or 1,
            waiting=calls.waiting,
        ),
        policy=Policy(
            allow=tuple(form.allow),
            grants=tuple((each.image, _granted(each, usual)) for each in form.functions),
            usual=usual,
            prefix=form.prefixes[0] if form.prefixes else images.CATALOG,
        ),
        aliases=tuple(
            (_names(each, each.goExecutor.tags), each.goExecutor.id or each.image)
            for each in porch
            if each.goExecutor
        ),
        programs=(
            *(
                Program(
                    means=Names((each.name,), tuple(each.tags)),
                    path=Path(each.path),
                    args=tuple(each.args),
                )
                for each in form.executables
            ),
            *(
                Program(
                    means=_names(each, each.binaryExecutor.tags),
                    path=Path(form.binaries) / each.binaryExecutor.path,
                )
                for each in porch
                if each.binaryExecutor
            ),
        ),
        pods=tuple(
            PodRule(
                means=_names(each, ()),
                idle=each.podExecutor.timeToLive,
                most=each.podExecutor.maxParallelExecutions or form.pods.most,
                queue=each.podExecutor.preferredMaxQueueLength or form.pods.queue,
            )
            for each in porch
            if each.podExecutor
        ),
        warm=(*form.pods.warm, *_warm(porch)),
    )


def _granted(form: FunctionForm, usual: Granted) -> Granted:
    return Granted(
        bounds=form.limits.over(usual.bounds),
        network=form.network,
        pure=form.pure,
        environment=dict(form.environment),
    )


def _names(spec: PorchSpec, tags: Sequence[str]) -> Names:
    names = (f"{each.rstrip('/')}/{spec.image}" if each else spec.image for each in spec.prefixes)
    return Names(tuple(names), tuple(tags))


def _warm(porch: Sequence[PorchSpec]) -> Iterator[str]:
    """Yield the images that Porch keeps a pod of: those whose tag is written out."""
    for spec in porch:
        for tag in spec.podExecutor.tags if spec.podExecutor else ():
            if images.is_tag(tag):
                yield from (f"{name}:{tag}" for name in _names(spec, ()).names)


def schema_text() -> str:
    """Return the JSON schema of the runner's own document, as it is published."""
    return forms.schema_text(RunnerForm, "porchbot runner")


if __name__ == "__main__":
    sys.stdout.write(schema_text())
