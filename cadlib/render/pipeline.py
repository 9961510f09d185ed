"""Rendering a package: which functions to call on which resources, and what to write.

`render` is a generator. It yields each call to make and is sent the outcome, so it does
no input or output itself, and bot, command line and tests drive it alike.

Rules (kpt's order and scope, kptdev/kpt pkg/lib/kptops/render_executor.go)
- Subpackages first, in order of their paths; then the package's own pipeline over its
  resources followed by those of its subpackages, as their pipelines left them.
- Where the root's annotation asks for breadth first: each package before those inside it,
  level by level, over its resources and those of all packages inside it.
- The Kptfile and the configurations of functions are resources like any other.
- A function's configuration is the resource as functions before it have left it.
- Mutators run in order and the first failure ends the rendering, with nothing written but
  what `partial` holds, where the root's annotation asks for that.
  What validators return as resources is not looked at.
- Each file is parsed once, and a file no function changed keeps every byte.

Where we differ from kpt, on purpose
- The paths that a function sees are relative to the package whose pipeline it is part of.
  kpt sends them relative to each resource's own package, so two may look the same.
- What is wrong with any package is said before the first function runs.
- A resource that comes back without any path and is the only one of its kind and name to
  have gone missing stays where it was; to kpt it would be a new one.
- Nothing is written into `status` of the Kptfile: `cadlib.render.status` does that when asked.
- Unless `Options.as_kpt` is set: YAML that is no Kubernetes resource (`values.yaml`) is not sent
  to functions and stays as it is, and a validator that fails does not keep the next one from
  running, since people want all findings.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from cadlib.errors import PackageError, Place
from cadlib.findings import Finding, Severity, from_error, order
from cadlib.kptfile.reader import PipelineFunction
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.package import files as packages
from cadlib.package.files import Files
from cadlib.package.ignore import find
from cadlib.package.source import ParsedPackage, Resource
from cadlib.render import functions, written
from cadlib.render.calls import (
    GUARDRAIL,
    PIPELINE,
    CallOutcome,
    Driven,
    FunctionCall,
    RenderStage,
    Step,
)
from cadlib.render.functions import NOT_RESOURCES, MissingConfigError, Options
from cadlib.render.running import PipelineStep, Running, Watch, tasks
from cadlib.yaml.bulk import Bulk

__all__ = [
    "CallOutcome",
    "Failure",
    "FunctionCall",
    "Options",
    "PipelineFunction",
    "RenderStage",
    "Rendered",
    "Step",
    "Steps",
    "render",
]

_BREADTH_FIRST = "kpt.dev/bfs-rendering"
_SAVE = "kpt.dev/save-on-render-failure"
_ASK = "Ask the authors of the function, or look at its configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The error that ended a rendering.

    Attributes:
        package: Where; "" for the root.
        stage: When.
        error: What; None when a function failed, which its step tells.
        breadth_first: Packages were rendered level by level.
    """

    package: str
    stage: RenderStage
    error: PackageError | None = None
    breadth_first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The result of a rendering.

    Attributes:
        changes: New bytes by path, None for a file to delete; empty when the package
            is its own rendering, and when a mutator failed.
        partial: What to write all the same when it failed and the root asks for that with
            its annotation; nothing is deleted then.
        findings: By file and line; places are relative to the root package, and lines
            are those of the files as they were given. Each has a file: the Kptfile for
            what is about the package at large.
        steps: The functions that ran, in order.
        failed: The rendering could not be carried to its end, or a function failed.
            There is a finding of severity error then.
        failure: What ended it, where something did.
        complete: Every mutator ran to its end, so `changes` tell what rendering makes. A
            validator that fails leaves it so.
        packages: How many packages were rendered, the root included.
    """

    changes: Mapping[str, bytes | None] = field(default_factory=dict)
    partial: Mapping[str, bytes] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    steps: tuple[Step, ...] = ()
    failed: bool = False
    failure: Failure | None = None
    complete: bool = True
    packages: int = 0

    @property
    def calls(self) -> int:
        """How many functions ran."""
        return len(self.steps)


Steps: TypeAlias = Driven[Rendered]


def render(
    files: Files,
    *,
    mutators: Sequence[PipelineFunction] = (),
    validators: Sequence[PipelineFunction] = (),
    limits: PackageLimits = DEFAULT,
    bulk: Bulk | None = None,
    options: Options | None = None,
    watch: Watch = lambda _: None,
) -> Steps:
    """Render a package.

    Args:
        files: The package, subpackages included.
        mutators: More functions for all resources, after the package's own pipeline.
            Their `config_path` is a file of the root package.
        validators: More validators, after those mutators.
        limits: How much is read. What exceeds it is a finding.
        bulk: Reads and edits the files; one after another if not given.
        options: How to render.
        watch: Told of each step when it has ended.

    Yields:
        Calls, one at a time; send a `CallOutcome` for each.

    Returns:
        What to write and what was found. Nothing that is wrong with the package or
        its functions is raised.
    """
    unfit = packages.problems(files, limits, inside=find(files))
    wrong = next((each for each in unfit if each.severity is Severity.ERROR), None)
    if wrong is not None:
        error = PackageError(wrong.place, wrong.message, wrong.fix)
        failure = Failure(package="", stage=RenderStage.READ, error=error)
        return Rendered(findings=unfit, failed=True, failure=failure, complete=False)
    source = ParsedPackage(files, limits, bulk)
    rendering = _Rendering(source, bulk, options or Options(), watch)
    rendering.running.findings += [*unfit, *source.findings]
    return (yield from rendering.run(mutators, validators))


class _StoppedError(Exception):
    """The rendering cannot go on.

    Attributes:
        failure: Why.
        resources: What its package holds at that point, with those inside it.
    """

    def __init__(self, failure: Failure, resources: list[Resource] | None = None) -> None:
        super().__init__()
        self.failure = failure
        self.resources = resources


class _Rendering:
    """One run of `render`."""

    def __init__(
        self, source: ParsedPackage, bulk: Bulk | None, options: Options, watch: Watch
    ) -> None:
        self.running = Running(source, options, watch)
        self._source = source
        self._bulk = bulk
        self._options = options
        self._failed: Failure | None = None  # of a validator, after which others ran
        self._done: dict[str, list[Resource]] = {}  # what a package and those inside it came to
        root = source.kptfiles.get("")
        annotations = root.annotations if root else {}
        self._breadth_first = annotations.get(_BREADTH_FIRST, "").lower() == "true"
        self._save = annotations.get(_SAVE, "").lower() == "true"

    def run(
        self, mutators: Sequence[PipelineFunction], validators: Sequence[PipelineFunction]
    ) -> Steps:
        """Carry it out."""
        guardrails = tasks("", mutators, validators, GUARDRAIL)
        changes: Mapping[str, bytes | None] = {}
        failure: Failure | None = None
        started = complete = False
        try:
            self._check(guardrails)
            started = True
            resources = yield from self._packages()
            resources = yield from self._tasks(guardrails, resources)
            changes = written.changes(self._source, resources, self._bulk)
            complete = True
        except _StoppedError as stopped:
            failure = stopped.failure
            if stopped.resources is not None:
                self._done[failure.package] = stopped.resources
        except PackageError as error:
            failure = Failure(package="", stage=RenderStage.PACKAGE, error=error)
            self.running.findings.append(from_error(error))
        ended = failure or self._failed
        return Rendered(
            changes=changes,
            partial=self._partial() if ended and started and self._save else {},
            findings=tuple(sorted(self.running.findings, key=order)),
            steps=tuple(self.running.steps),
            failed=ended is not None,
            failure=ended,
            complete=complete,
            packages=len(self._source.packages),
        )

    def _partial(self) -> Mapping[str, bytes]:
        try:
            changes = written.changes(self._source, self._so_far(""), self._bulk)
        except PackageError as error:
            self.running.findings.append(from_error(error))
            return {}
        return {path: data for path, data in changes.items() if data is not None}

    def _so_far(self, package: str) -> list[Resource]:
        """Return what a package and those inside it hold at the end."""
        if package in self._done:
            return self._done[package]
        inside = self._source.inside[package]
        return sum(map(self._so_far, inside), self._source.resources(package))

    def _check(self, guardrails: Sequence[PipelineStep]) -> None:
        """Look for what would stop the rendering halfway, before the first function runs."""
        if "" not in self._source.packages:
            raise PackageError(
                Place(packages.KPTFILE), "the package has no Kptfile", "Add one: `kpt pkg init`"
            )
        found = list(self._troubles(guardrails))
        found.sort(key=lambda each: list(RenderStage).index(each[0].stage))
        if not found:
            return
        first, task = found[0]
        if self._options.as_kpt and task and first.error and first.stage is RenderStage.PIPELINE:
            self.running.refuse(task, first.error.problem)
        raise _StoppedError(replace(first, breadth_first=self._breadth_first))

    def _troubles(
        self, guardrails: Sequence[PipelineStep]
    ) -> Iterator[tuple[Failure, PipelineStep | None]]:
        """Yield what is wrong, with the function that it is about."""
        for package in sorted(self._source.packages):
            kptfile = self._source.kptfiles.get(package)
            if kptfile is None:
                error = self._source.refused.get(package)
                yield Failure(package=package, stage=RenderStage.READ, error=error), None
                continue
            for task in tasks(package, kptfile.mutators, kptfile.validators, PIPELINE):
                yield from self._trouble(task)
        for task in guardrails:
            yield from self._trouble(task)
        if self._options.as_kpt:
            yield from self._unreadable()

    def _trouble(self, task: PipelineStep) -> Iterator[tuple[Failure, PipelineStep]]:
        """Yield why a function cannot be run."""
        if task.source == PIPELINE and (
            refused := functions.not_allowed(task.function, self._options)
        ):
            self.running.findings.append(from_error(refused))
            yield Failure(package=task.package, stage=RenderStage.PIPELINE, error=refused), task
        for error in functions.refusals(task.function, self._options):
            self.running.findings.append(from_error(error))
            yield Failure(package=task.package, stage=RenderStage.PIPELINE, error=error), task
        try:
            functions.config(self._source, task.package, task.function, (), self._options.folder)
        except PackageError as error:
            self.running.findings.append(from_error(error))
            missing = isinstance(error, MissingConfigError)
            stage = RenderStage.PACKAGE if missing else RenderStage.READ
            yield Failure(package=task.package, stage=stage, error=error), task

    def _unreadable(self) -> Iterator[tuple[Failure, None]]:
        """Yield the files that are no YAML: kpt reads all or nothing."""
        for finding in self._source.findings:
            package = packages.owner_of(finding.place.path, self._source.packages) or ""
            if finding.severity is Severity.ERROR and package not in self._source.refused:
                error = PackageError(finding.place, finding.message, finding.fix)
                yield Failure(package=package, stage=RenderStage.PACKAGE, error=error), None

    def _packages(self) -> Driven[list[Resource]]:
        if self._breadth_first:
            return (yield from self._level_by_level())
        return (yield from self._inner_first(""))

    def _inner_first(self, package: str) -> Driven[list[Resource]]:
        resources = self._source.resources(package)
        for each in self._source.inside[package]:
            resources += yield from self._inner_first(each)
        resources = yield from self._pipeline(package, resources)
        self._done[package] = resources
        return resources

    def _level_by_level(self) -> Driven[list[Resource]]:
        """Render each package before those inside it."""
        own = {each: self._source.resources(each) for each in self._source.packages}
        self._done[""] = [resource for each in self._below("") for resource in own[each]]
        waiting = deque([""])
        while waiting:
            package = waiting.popleft()
            waiting += self._source.inside[package]
            below = self._below(package)
            given = [resource for each in below for resource in own[each]]
            stopped = None
            try:
                resources = yield from self._pipeline(package, given)
            except _StoppedError as error:
                stopped, resources = error, error.resources or given
            own |= {each: [] for each in below}
            for each in resources:
                own[packages.owner_of(each.path, own) or package].append(each)
            self._done[""] = [resource for each in self._below("") for resource in own[each]]
            if stopped is not None:
                raise _StoppedError(stopped.failure)
        return self._done[""]

    def _below(self, package: str) -> list[str]:
        """Return a package and those inside it, each before its own."""
        found = [package]
        for each in self._source.inside[package]:
            found += self._below(each)
        return found

    def _pipeline(self, package: str, resources: list[Resource]) -> Driven[list[Resource]]:
        kptfile = self._source.kptfiles[package]
        found = tasks(package, kptfile.mutators, kptfile.validators, PIPELINE)
        if self._options.as_kpt:
            self._check_resources(package, found[:1], resources)
        return (yield from self._tasks(found, resources))

    def _check_resources(
        self, package: str, first: Sequence[PipelineStep], resources: list[Resource]
    ) -> None:
        """Refuse YAML that is no resource, in kpt's words; `first` is the first function."""
        for each in self._below(package):
            for path, problem in self._source.unfit(each):
                text = f"{NOT_RESOURCES}: {packages.relative(each, path)}: {problem}"
                error = PackageError(
                    Place(path), text, "Complete it, or name the file in .krmignore"
                )
                self.running.findings.append(from_error(error))
                for task in first:
                    self.running.refuse(task, text, called=True)
                stage = RenderStage.PIPELINE if first else RenderStage.PACKAGE
                raise _StoppedError(self._failure(package, error, stage), resources)

    def _tasks(
        self, found: Sequence[PipelineStep], resources: list[Resource]
    ) -> Driven[list[Resource]]:
        """Run functions one after another."""
        for task in found:
            config = functions.config(
                self._source, task.package, task.function, resources, self._options.folder
            )
            resources, ok = yield from self.running.run(task, config, resources)
            if ok:
                continue
            step = self.running.steps[-1]
            error = None
            if step.error:
                error = PackageError(functions.place(task.function), step.error, _ASK)
            failure = self._failure(task.package, error, RenderStage.PIPELINE)
            self._failed = self._failed or failure
            if task.mutates or self._options.as_kpt:
                raise _StoppedError(failure, resources)
        return resources

    def _failure(self, package: str, error: PackageError | None, stage: RenderStage) -> Failure:
        return Failure(package=package, stage=stage, error=error, breadth_first=self._breadth_first)
