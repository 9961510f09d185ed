"""The runner's configuration: one file, our form and Porch's `FunctionConfig` in any mixture.

Rules
- A file holds documents. One of them, at most, is the runner's own (`version: 1`); each of the
  others is a `FunctionConfig` of `config.porch.kpt.dev/v1alpha1`.
- What a `FunctionConfig` means here: its image below each of its prefixes is, for the tags (or
  ranges of versions) that an executor names, the builtin function `goExecutor.id`, the executable
  at `binaryExecutor.path`, or an image run in pods. Builtin comes before executable before image
  before pod, whatever the order of the file.
- What cannot be used whole is not used at all, and every problem is told at once.

Source: docs/design.md, "Porch: function configurations" and "Functions".
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self

from pydantic_core import PydanticCustomError

from cadlib import forms, images, versions
from cadlib.errors import PackageError, Place
from cadlib.forms import FormError
from cadlib.yaml import Document
from fnrunner.contract.policy import RunnerPolicy
from fnrunner.contract.run import CallLimits, Granted, ResourceLimits
from fnrunner.settings_form import FunctionForm, PorchForm, PorchSpec, RunnerForm, pattern

KINDS: Final = ("builtin", "executable", "image", "pod")
"""What can run a function, in the order in which they are asked."""

_PORCH: Final = "config.porch.kpt.dev/"


@dataclass(frozen=True, slots=True)
class FunctionImages:
    """Images that mean one function.

    Attributes:
        names: Names without tag.
        tags: Tags and ranges of versions; any if there are none.
    """

    names: tuple[str, ...]
    tags: tuple[str, ...] = ()

    def mean(self, image: str) -> bool:
        """Tell whether an image is one of them; a digest never is."""
        if "@" in image or images.repository(image) not in self.names:
            return False
        tag = images.base_name_and_tag(image)[1]
        return not self.tags or versions.among(tag, self.tags)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramFunction:
    """An executable that is a function.

    Attributes:
        means: Names that mean it.
        path: The program.
        args: What it is started with.
        files: Other files and folders that it may read.
    """

    means: FunctionImages
    path: Path
    args: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRule:
    """How many pods the images that have these names get, and for how long."""

    means: FunctionImages
    idle: float
    most: int
    queue: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSettings:
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
    limits: CallLimits = field(default_factory=CallLimits)
    policy: RunnerPolicy = field(default_factory=RunnerPolicy)
    aliases: Sequence[tuple[FunctionImages, str]] = ()
    programs: Sequence[ProgramFunction] = ()
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
            patterns = tuple(map(pattern, allow)) or self.policy.allow
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


def read(data: bytes, path: str) -> RunnerSettings:
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
                problem = "there are two configuration documents for the runner"
                raise FormError([PackageError(place, problem, "Put them into one")])
        except FormError as error:
            problems += error.problems
    if problems:
        raise FormError(problems)
    return _settings(own[0] if own else RunnerForm(version=1), porch)


def _is_porch(document: Document) -> bool:
    value = document.value
    return isinstance(value, dict) and str(value.get("apiVersion", "")).startswith(_PORCH)


def _settings(form: RunnerForm, porch: Sequence[PorchSpec]) -> RunnerSettings:
    usual = Granted(bounds=form.limits.over(ResourceLimits(seconds=form.calls.time)))
    calls = form.calls
    return RunnerSettings(
        form=form,
        limits=CallLimits(
            seconds=calls.time,
            message_bytes=calls.message,
            running=calls.running or os.cpu_count() or 1,
            waiting=calls.waiting,
        ),
        policy=RunnerPolicy(
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
                ProgramFunction(
                    means=FunctionImages((each.name,), tuple(each.tags)),
                    path=Path(each.path),
                    args=tuple(each.args),
                    files=tuple(map(Path, each.files)),
                )
                for each in form.executables
            ),
            *(
                ProgramFunction(
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


def _names(spec: PorchSpec, tags: Sequence[str]) -> FunctionImages:
    names = (f"{each.rstrip('/')}/{spec.image}" if each else spec.image for each in spec.prefixes)
    return FunctionImages(tuple(names), tuple(tags))


def _warm(porch: Sequence[PorchSpec]) -> Iterator[str]:
    """Yield the images that Porch keeps a pod of: those whose tag is written out."""
    for spec in porch:
        for tag in spec.podExecutor.tags if spec.podExecutor else ():
            if images.is_tag(tag):
                yield from (f"{name}:{tag}" for name in _names(spec, ()).names)
