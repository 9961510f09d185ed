"""Running one function on a folder, or on a stream of resources.

`evaluate` and `evaluate_stream` are generators like `cadlib.render.pipeline.render`.

Rules
- A folder needs no Kptfile. Subpackages belong to it, and Kptfiles are resources like any other.
- YAML that is no Kubernetes resource is refused before the function runs, in kpt's words.
- The file of the function's configuration is not among its resources, and stays as it is.
- An empty answer is an answer: the files go.
- A stream's documents without a path get one, and their position as index.

Source: kptdev/kpt, thirdparty/cmdconfig/commands/cmdeval; thirdparty/kyaml/runfn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from cadlib.errors import PackageError, Place
from cadlib.findings import Finding, Severity
from cadlib.kptfile.reader import PipelineFunction
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.package import files as packages
from cadlib.package.files import Entry, Files
from cadlib.package.ignore import find
from cadlib.package.source import ParsedPackage, Resource, unfit
from cadlib.render import written
from cadlib.render.calls import COMMAND, Driven, Step
from cadlib.render.functions import NOT_RESOURCES, Options
from cadlib.render.running import PipelineStep, Running, Watch
from cadlib.stream import kio
from cadlib.stream import places as kio_places
from cadlib.stream.resourcelist import Item, bare, placed
from cadlib.yaml import Stream, Value, edit, emit
from cadlib.yaml.bulk import Bulk


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """The outcome of evaluating a function.

    Attributes:
        changes: New bytes by path, None for a file to delete; empty when it failed.
        items: The resources of a stream afterwards, each a file with one document.
        steps: The function, with what it said.
        failed: It failed, or could not be run.
        error: Why, where the function did not say so itself.
        findings: What the function was not given, and why.
    """

    changes: Mapping[str, bytes | None] = field(default_factory=dict)
    items: Sequence[Stream] = ()
    steps: Sequence[Step] = ()
    failed: bool = False
    error: PackageError | None = None
    findings: Sequence[Finding] = ()


Evaluation: TypeAlias = Driven[Evaluated]


def evaluate(
    files: Files,
    function: PipelineFunction,
    config: Value,
    *,
    left_out: str = "",
    limits: PackageLimits = DEFAULT,
    bulk: Bulk | None = None,
    options: Options | None = None,
    watch: Watch = lambda _: None,
) -> Evaluation:
    """Run a function on a folder.

    Args:
        files: The folder.
        function: The function, with selectors.
        config: Its configuration; None for none.
        left_out: The file of the configuration; "" if it is not in the folder.
        limits: How much is read.
        bulk: Reads and edits the files.
        options: How to run it.
        watch: Told of the step.
    """
    found = [*packages.problems(files, limits, inside=find(files, plain=True))]
    source = ParsedPackage(files, limits, bulk, plain=True)
    found += source.findings
    wrong = next((each for each in found if each.severity is Severity.ERROR), None)
    if wrong is not None:
        error = PackageError(wrong.place, wrong.message, wrong.fix)
        return Evaluated(failed=True, error=error)
    every = [resource for path in source.streams for resource in source.resources_of(path)]
    given = [each for each in every if each.path != left_out]
    aside = [each for each in every if each.path == left_out]
    running = Running(source, options or Options(), watch)
    refusal = _refusal(source)
    if refusal is not None:
        running.refuse(_task(function), refusal.problem, called=True)
        return Evaluated(steps=running.steps, failed=True, error=refusal)
    try:
        after, ok = yield from running.run(_task(function), config, given)
        changes = written.changes(source, [*after, *aside], bulk) if ok else {}
    except PackageError as error:
        return Evaluated(steps=running.steps, failed=True, error=error)
    return Evaluated(
        changes=changes,
        steps=running.steps,
        failed=not ok,
        error=_error(running, ok),
        findings=[each for each in found if each.severity is Severity.WARNING],
    )


def evaluate_stream(
    stream: kio.Wrapped,
    function: PipelineFunction,
    config: Value,
    *,
    options: Options | None = None,
    watch: Watch = lambda _: None,
) -> Evaluation:
    """Run a function on resources from a stream; arguments as for `evaluate`."""
    items = stream.items if stream.wrapper else _numbered(stream.items)
    names = [f"{position:09}.yaml" for position in range(len(items))]
    files = {name: Entry(each.data) for name, each in zip(names, items, strict=True)}
    source = ParsedPackage(files, DEFAULT, plain=True)
    running = Running(source, options or Options(), watch)
    try:
        given = [_resource(source, name) for name in names]
        refusal = next(filter(None, map(_unfit, given)), None)
        if refusal is not None:
            running.refuse(_task(function), refusal.problem, called=True)
            return Evaluated(steps=running.steps, failed=True, error=refusal)
        after, ok = yield from running.run(_task(function), config, given)
        texts = [_item(source, each) for each in after] if ok else []
    except PackageError as error:
        return Evaluated(steps=running.steps, failed=True, error=error)
    return Evaluated(items=texts, steps=running.steps, failed=not ok, error=_error(running, ok))


def _task(function: PipelineFunction) -> PipelineStep:
    return PipelineStep(function=function, package="", step="mutators[0]", source=COMMAND)


def _error(running: Running, ok: bool) -> PackageError | None:
    step = running.steps[-1]
    if ok or not step.error:
        return None
    return PackageError(Place(), step.error, "Check the function and its configuration")


def _refusal(source: ParsedPackage) -> PackageError | None:
    for package in sorted(source.packages):
        for path, problem in source.unfit(package):
            return _refused(path, problem)
    return None


def _unfit(resource: Resource) -> PackageError | None:
    problem = unfit(resource.value)
    return _refused(resource.path, problem) if problem else None


def _refused(path: str, problem: str) -> PackageError:
    text = f"{NOT_RESOURCES}: {path}: {problem}"
    return PackageError(Place(path), text, "Complete it, or name the file in .krmignore")


def _numbered(items: Sequence[Stream]) -> list[Stream]:
    """Return documents, each with a path and its position as index."""
    placed_ones = kio_places.with_paths(items)
    return [
        kio_places.annotated(
            each, {kio_places.INDEX: str(number), kio_places.LEGACY_INDEX: str(number)}
        )
        for number, each in enumerate(placed_ones)
    ]


def _resource(source: ParsedPackage, name: str) -> Resource:
    """Return the resource in a file of its own, where its annotations say that it lies."""
    position, document = next(
        (number, each)
        for number, each in enumerate(source.streams[name].documents)
        if not each.empty
    )
    item = bare(document.value, document.comments)
    path = item.path or kio_places.default_path(item.value)
    return Resource(
        value=item.value,
        comments=item.comments,
        path=path,
        index=item.index,
        origin=(name, position),
    )


def _item(source: ParsedPackage, resource: Resource) -> Stream:
    """Return a resource as a file of its own, with the text it had where it stayed."""
    wanted = placed(Item(resource.value, path=resource.path, index=resource.index))
    if resource.origin is None:
        text = emit(wanted, comments=source.comments(resource))
        return kio.stream_of(text)
    name, position = resource.origin
    stream = source.streams[name]
    before = stream.documents[position].value
    was = bare(before)
    same_place = (was.path or resource.path, was.index) == (resource.path, resource.index)
    value = _with_notes(resource.value, before) if same_place else wanted
    return kio.stream_of(edit(stream, {position: value}).decode())


def _with_notes(value: Value, before: Value) -> Value:
    """Return a resource with the annotations for its place that it had."""
    notes = {
        key: text
        for key, text in kio_places.annotations(before).items()
        if key not in kio_places.annotations(bare(before).value)
    }
    if not notes or not isinstance(value, dict):
        return value
    metadata = value.get("metadata")
    inner = metadata if isinstance(metadata, dict) else {}
    annotations = inner.get("annotations")
    kept = annotations if isinstance(annotations, dict) else {}
    return {**value, "metadata": {**inner, "annotations": {**kept, **notes}}}
