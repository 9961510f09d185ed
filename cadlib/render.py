"""Rendering a package: which functions to call on which resources, and what to write.

`render` is a generator. It yields each call to make and is sent the outcome, so it does
no input or output itself, and bot, command line and tests drive it alike.

Rules (kpt's order and scope, kptdev/kpt pkg/lib/kptops/render_executor.go)
- Subpackages first, in order of their paths; then the package's own pipeline over its
  resources followed by those of its subpackages, as their pipelines left them.
- The Kptfile and the configurations of functions are resources like any other.
- A function's configuration is the resource as functions before it have left it.
- Mutators run in order and the first failure ends the rendering, with nothing written.
  What validators return as resources is not looked at.
- Each file is parsed once, and a file no function changed keeps every byte.

Where we differ from kpt, on purpose
- YAML that is no Kubernetes resource (`values.yaml`, `kustomization.yaml` without a name)
  and templates are not sent to functions and stay as they are; kpt refuses the package.
- The paths that a function sees are relative to the package whose pipeline it is part of.
  kpt sends them relative to each resource's own package, so two may look the same.
- A validator that fails does not keep the next one from running: people want all findings.
- Nothing is written into `status` of the Kptfile.
- A resource that comes back without any path and is the only one of its kind and name to
  have gone missing stays where it was; to kpt it would be a new one.
"""

import posixpath
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from cadlib import images, places, versions, written
from cadlib import kptfile as kptfiles
from cadlib import package as packages
from cadlib.bulk import Bulk
from cadlib.errors import PackageError, Place
from cadlib.findings import Finding, Severity, from_error, order
from cadlib.kptfile import Function
from cadlib.limits import DEFAULT, Limits
from cadlib.package import Files
from cadlib.resourcelist import Item, encode
from cadlib.returned import Answer, answered, handed_back
from cadlib.source import Resource, Source, missing
from cadlib.yaml import Value

__all__ = ["Call", "Function", "Outcome", "Rendered", "Step", "Steps", "render"]

PIPELINE = "pipeline"
GUARDRAIL = "guardrail"
_BREADTH_FIRST = "kpt.dev/bfs-rendering"


@dataclass(frozen=True, kw_only=True)  # no slots: `resources` is kept in its dictionary
class Call:
    """A function to run, and what to run it on.

    A runner in this process takes `items` and `config` as they are and must not change
    their values, which are shared; any other takes `resources`.

    Attributes:
        image: Full name of the image, with tag or digest.
        items: The resources, in order; paths are relative to `package`.
        config: The function's configuration; None if there is none.
        package: The package whose pipeline it is part of, relative to the root
            package; "" for the root itself.
        step: Its place in the pipeline, such as "mutators[0]".
        source: "pipeline" (from a Kptfile) or "guardrail" (from configuration).
    """

    image: str
    items: Sequence[Item]
    config: Value
    package: str
    step: str
    source: str

    @cached_property
    def resources(self) -> bytes:
        """The ResourceList to send, YAML in UTF-8, written when first asked for."""
        return encode(self.items, self.config)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a call.

    Attributes:
        resources: The ResourceList that came back, or None if none did.
        items: The resources that came back, from a runner in this process, in place of
            `resources`. An item that is the very object of the call did not change.
        results: The function's findings, in the form of a ResourceList's `results`;
            where empty, those in `resources` are read.
        error: Why the function failed; "" if it did not. `results` count all the same.
        log: What it wrote for people.
    """

    resources: bytes | None = None
    items: Sequence[Item] | None = None
    results: Sequence[Mapping[str, object]] = ()
    error: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One function that ran.

    Attributes:
        image: Full name of its image.
        package: As in `Call`.
        step: As in `Call`.
        source: As in `Call`.
        results: How many findings it made.
        ok: Whether it ran to its end.
    """

    image: str
    package: str
    step: str
    source: str
    results: int
    ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """What a rendering came to.

    Attributes:
        changes: New bytes by path, None for a file to delete; empty when the package
            is its own rendering, and when a mutator failed.
        findings: By file and line; places are relative to the root package, and lines
            are those of the files as they were given. Each has a file: the Kptfile for
            what is about the package at large.
        steps: The functions that ran, in order.
        failed: The rendering could not be carried to its end, or a function failed.
            There is a finding of severity error then.
        complete: Every mutator ran to its end, so `changes` tell what rendering makes. A
            validator that fails leaves it so.
    """

    changes: Mapping[str, bytes | None] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    steps: tuple[Step, ...] = ()
    failed: bool = False
    complete: bool = True

    @property
    def calls(self) -> int:
        """How many functions ran."""
        return len(self.steps)


Steps = Generator[Call, Outcome, Rendered]


def render(
    files: Files,
    *,
    mutators: Sequence[Function] = (),
    validators: Sequence[Function] = (),
    limits: Limits = DEFAULT,
    bulk: Bulk | None = None,
) -> Steps:
    """Render a package.

    Args:
        files: The package, subpackages included.
        mutators: More functions for all resources, after the package's own pipeline.
            Their `config_path` is a file of the root package.
        validators: More validators, after those mutators.
        limits: How much is read. What exceeds it is a finding.
        bulk: Reads and edits the files; one after another if not given.

    Yields:
        Calls, one at a time; send an `Outcome` for each.

    Returns:
        What to write and what was found. Nothing that is wrong with the package or
        its functions is raised.
    """
    unfit = packages.problems(files, limits)
    if any(finding.severity is Severity.ERROR for finding in unfit):
        return Rendered(findings=unfit, failed=True, complete=False)
    source = Source(files, limits, bulk)
    rendering = _Rendering(source, bulk, [*unfit, *source.findings])
    return (yield from rendering.run(mutators, validators))


class _StoppedError(Exception):
    """The rendering cannot go on; why is among the findings already."""


class _Rendering:
    """One run of `render`: gathers findings and steps on its way."""

    def __init__(self, source: Source, bulk: Bulk | None, findings: list[Finding]) -> None:
        self._source = source
        self._bulk = bulk
        self._findings = findings
        self._steps: list[Step] = []
        self._failed = False

    def run(self, mutators: Sequence[Function], validators: Sequence[Function]) -> Steps:
        """Carry it out."""
        changes: Mapping[str, bytes | None] = {}
        complete = False
        try:
            self._check(mutators, validators)
            resources = yield from self._package("")
            resources = yield from self._functions("", mutators, validators, resources, GUARDRAIL)
            changes = written.changes(self._source, resources, self._bulk)
            complete = True
        except _StoppedError:
            self._failed = True
        except PackageError as error:
            self._failed = True
            self._findings.append(from_error(error))
        return Rendered(
            changes=changes,
            findings=tuple(sorted(self._findings, key=order)),
            steps=tuple(self._steps),
            failed=self._failed,
            complete=complete,
        )

    def _check(self, mutators: Sequence[Function], validators: Sequence[Function]) -> None:
        """Look for what would stop the rendering halfway, before the first function runs."""
        if "" not in self._source.packages:
            raise PackageError(
                Place(packages.KPTFILE), "the package has no Kptfile", "Add one: `kpt pkg init`"
            )
        trouble = list(self._unsupported_order())
        for package, kptfile in self._source.kptfiles.items():
            trouble += self._trouble(package, (*kptfile.mutators, *kptfile.validators))
        trouble += self._trouble("", (*mutators, *validators))
        self._findings += trouble
        if trouble or len(self._source.kptfiles) != len(self._source.packages):
            raise _StoppedError

    def _unsupported_order(self) -> Iterator[Finding]:
        root = self._source.kptfiles.get("")
        if root and root.annotations.get(_BREADTH_FIRST, "").lower() == "true":
            yield _error(
                Place(packages.KPTFILE, field=f"metadata.annotations[{_BREADTH_FIRST}]"),
                "rendering breadth first is not supported yet",
                "Remove the annotation, and order the pipelines for depth first",
            )

    def _trouble(self, package: str, functions: Iterable[Function]) -> Iterator[Finding]:
        for function in functions:
            yield from _unsupported(function)
            try:
                self._config(package, function, None)
            except PackageError as error:
                yield from_error(error)

    def _package(self, package: str) -> Generator[Call, Outcome, list[Resource]]:
        resources = self._source.resources(package)
        for each in self._source.inside[package]:
            resources += yield from self._package(each)
        kptfile = self._source.kptfiles[package]
        return (
            yield from self._functions(
                package, kptfile.mutators, kptfile.validators, resources, PIPELINE
            )
        )

    def _functions(
        self,
        package: str,
        mutators: Sequence[Function],
        validators: Sequence[Function],
        resources: list[Resource],
        source: str,
    ) -> Generator[Call, Outcome, list[Resource]]:
        for index, function in enumerate(mutators):
            call = self._call(package, function, f"mutators[{index}]", source, resources)
            outcome = yield call
            answer = self._answer(call, function, outcome, resources, mutates=True)
            if not answer.ok:
                raise _StoppedError
            resources = answer.resources
        for index, function in enumerate(validators):
            call = self._call(package, function, f"validators[{index}]", source, resources)
            outcome = yield call
            answer = self._answer(call, function, outcome, resources, mutates=False)
            self._failed = self._failed or not answer.ok
        return resources

    def _call(
        self, package: str, function: Function, step: str, source: str, resources: list[Resource]
    ) -> Call:
        items = [
            Item(
                value=resource.value,
                comments=self._source.comments(resource),
                path=packages.relative(package, resource.path),
                index=resource.index,
            )
            for resource in resources
        ]
        return Call(
            image=_full_image(function),
            items=items,
            config=self._config(package, function, resources),
            package=package,
            step=step,
            source=source,
        )

    def _config(
        self, package: str, function: Function, resources: Sequence[Resource] | None
    ) -> Value:
        """Return a function's configuration, as `resources` hold it now if they do."""
        if function.config_map is not None:
            return {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "function-input"},
                "data": dict(function.config_map),
            }
        if function.config_path is None:
            return None
        problem = kptfiles.config_path_problem(function.config_path)
        path = packages.join(package, posixpath.normpath(function.config_path))
        stream = self._source.streams.get(path)
        place = replace(_place(function), field=_config_field(function))
        if problem or not stream or packages.owner_of(path, self._source.packages) != package:
            raise PackageError(
                place,
                problem or f"the package has no resource file {function.config_path!r}",
                "Name a file of this package itself, not one of a subpackage",
            )
        documents = [document for document in stream.documents if not document.empty]
        if len(documents) != 1:
            raise PackageError(
                place,
                f"{function.config_path!r} holds {len(documents)} resources, and must hold one",
                "Leave one resource in the file",
            )
        lacks = missing(documents[0].value)
        if lacks:
            raise PackageError(
                place,
                f"the resource in {function.config_path!r} has no {lacks}",
                "Give it apiVersion, kind and metadata.name",
            )
        now = (each.value for each in resources or () if each.origin and each.origin[0] == path)
        return next(now, documents[0].value)

    def _answer(
        self,
        call: Call,
        function: Function,
        outcome: Outcome,
        sent: list[Resource],
        *,
        mutates: bool,
    ) -> Answer:
        """Read an outcome; take down what the function said, and that it ran."""
        answer = Answer(resources=sent)
        if outcome.items is not None:
            answer = handed_back(
                outcome.items, sent, call.package, given=call.items, mutates=mutates
            )
        elif outcome.resources != call.resources:  # else it changed nothing and said nothing
            answer = answered(
                outcome.resources, sent, call.package, given=call.resources, mutates=mutates
            )
        results = outcome.results or answer.results
        found = [
            places.finding(
                result,
                image=call.image,
                package=call.package,
                calls=_place(function),
                source=self._source,
                resources=sent,
            )
            for result in results
        ]
        if outcome.error:
            complained = any(each.severity is Severity.ERROR for each in found)
            answer = replace(answer, problem=None, ok=False)
            if not complained:
                found.append(_failure(call, function, outcome.error))
        elif answer.problem:
            found.append(_breach(call, function, answer.problem))
        self._findings += found
        self._steps.append(
            Step(
                image=call.image,
                package=call.package,
                step=call.step,
                source=call.source,
                results=len(results),
                ok=answer.ok,
            )
        )
        return answer


def _failure(call: Call, function: Function, error: str) -> Finding:
    return Finding(
        message=f"the function failed: {error}",
        severity=Severity.ERROR,
        place=_place(function),
        function=call.image,
        fix="Look at what it says, then at its configuration and the resources",
    )


def _breach(call: Call, function: Function, problem: PackageError) -> Finding:
    return Finding(
        message=f"the function broke the rules: {problem.problem}",
        severity=Severity.ERROR,
        place=_place(function),
        function=call.image,
        fix=problem.fix,
    )


def _place(function: Function) -> Place:
    """Return where a function is called: the Kptfile at large for one from configuration."""
    return function.place if function.place.path else Place(packages.KPTFILE)


def _full_image(function: Function) -> str:
    return images.resolve_image(versions.with_tag(function.image, function.tag) or "")


def _config_field(function: Function) -> str:
    return f"{function.place.field}.configPath" if function.place.field else ""


def _unsupported(function: Function) -> Iterator[Finding]:
    """Say what of a function is not rendered yet: ignoring it would render something else."""
    wanted = {
        "exec": bool(function.exec),
        "selectors": bool(function.selectors),
        "exclude": bool(function.exclude),
        "tag": versions.with_tag(function.image, function.tag) is None,
    }
    fixes = {
        "exec": "Use a function that has an image",
        "tag": "Write one version in the tag, without a range",
    }
    for key, used in wanted.items():
        if used:
            name = f"`{key}` with a range of versions" if key == "tag" else f"`{key}`"
            at = f"{function.place.field}.{key}" if function.place.field else key
            yield _error(
                replace(_place(function), field=at),
                f"{name} of a function is not supported yet",
                fixes.get(key, "Remove it; functions see all resources of their package"),
            )


def _error(place: Place, problem: str, fix: str) -> Finding:
    return Finding(message=problem, severity=Severity.ERROR, place=place, fix=fix)
