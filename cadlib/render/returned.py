"""Reads a mutator's output: matches resources with the input, checks their paths.

Source: kptdev/kpt, pkg/fn/runtime/runner.go (path invariants) and kyaml's
`DefaultPathAnnotation`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import is_

from cadlib.errors import PackageError, Place
from cadlib.package import files as packages
from cadlib.package.source import Resource, ref, unfit
from cadlib.package.unseen import missing
from cadlib.render.places import inside
from cadlib.stream.places import default_path
from cadlib.stream.resourcelist import Item, added_results, decode
from cadlib.yaml import Value

_FIX = "Report this to the function's authors"


class NoAnswerError(PackageError):
    """What a function returned cannot be read at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionOutput:
    """The resources and results that a function returned.

    Attributes:
        resources: The resources now; those that it was given where it may not change
            them or where something is wrong with what it returned.
        was: For each of these, what of the resources given it was; None for a new one.
        results: Its `results`, as it wrote them.
        problem: What is wrong with the answer itself, or None.
        ok: Whether the rendering may rely on it.
    """

    resources: list[Resource]
    was: Sequence[Resource | None]
    results: Sequence[Mapping[str, object]] = ()
    problem: PackageError | None = None
    ok: bool = True


def answered(
    data: bytes | None, sent: list[Resource], package: str, *, given: bytes, mutates: bool
) -> FunctionOutput:
    """Read what a function returned.

    Args:
        data: The ResourceList that came back; None or empty if none did.
        sent: What it was given.
        package: The package whose pipeline it is part of; paths are relative to it.
        given: The ResourceList that it was given.
        mutates: Whether what it made of the resources counts.

    Returns:
        An answer with a problem where the function broke the rules. A validator whose
        answer cannot be read has a problem too: its findings may be lost.
    """
    if not data:
        problem = NoAnswerError(Place(), "it returned no resources", _FIX)
        return unchanged(sent, problem=problem)
    said = added_results(data, given)
    if said is not None:  # most calls change nothing: reading all of it again takes longest
        return unchanged(sent, said)
    lay = {(packages.relative(package, each.path), each.index) for each in sent}
    try:
        answer = decode(data, lay)
    except PackageError as error:
        text = f"what it returned cannot be read: {error.problem}"
        return unchanged(sent, problem=NoAnswerError(error.place, text, error.fix))
    if not mutates:
        return unchanged(sent, answer.results)
    try:
        return _matched(answer.items, sent, package, (), answer.results)
    except PackageError as error:
        return unchanged(sent, answer.results, error)


def handed_back(
    items: Sequence[Item],
    sent: list[Resource],
    package: str,
    *,
    given: Sequence[Item],
    mutates: bool,
) -> FunctionOutput:
    """Take what a function in this process returned; as `answered`, without any text.

    Args:
        items: What it returned; an item of `given` itself did not change.
        sent: The resources that `given` was made of.
        package: The package whose pipeline it is part of.
        given: What it was given.
        mutates: Whether what it made of the resources counts.
    """
    same = len(items) == len(given) and all(map(is_, items, given))
    if same or not mutates:
        return unchanged(sent)
    stayed = _in_place(items, sent, given)
    if stayed is not None:
        return FunctionOutput(resources=stayed, was=sent)
    try:
        return _matched(items, sent, package, given)
    except PackageError as error:
        return unchanged(sent, problem=error)


def _in_place(
    items: Sequence[Item], sent: Sequence[Resource], given: Sequence[Item]
) -> list[Resource] | None:
    """Return the resources where each is still what and where it was; None where one is not.

    Most functions only change values, and on thousands of resources the questions that
    `_matched` asks take longer than the function itself.
    """
    if len(items) != len(given):
        return None
    after: list[Resource] = []
    for item, old, was in zip(items, given, sent, strict=True):
        if item is old:
            after.append(was)
            continue
        if item.path != old.path or item.index != old.index or missing(item.value):
            return None
        comments = was.comments if item.comments is old.comments else item.comments
        after.append(Resource(item.value, comments, was.path, was.index, was.origin))
    return after


def unchanged(
    sent: list[Resource],
    results: Sequence[Mapping[str, object]] = (),
    problem: PackageError | None = None,
) -> FunctionOutput:
    """Return an answer that leaves the resources as they were sent."""
    return FunctionOutput(
        resources=sent, was=sent, results=results, problem=problem, ok=problem is None
    )


def _matched(
    items: Sequence[Item],
    sent: Sequence[Resource],
    package: str,
    given: Sequence[Item],
    results: Sequence[Mapping[str, object]] = (),
) -> FunctionOutput:
    before = _before(items, sent, package)
    kept = {id(item): each for item, each in zip(given, sent, strict=bool(given))}
    after = [
        kept.get(id(item)) or _resource(item, origin, package)
        for item, origin in zip(items, before, strict=True)
    ]
    _check_places(after)
    _check_kptfiles(after, sent)
    return FunctionOutput(resources=after, was=before, results=results)


def _before(items: Sequence[Item], sent: Sequence[Resource], package: str) -> list[Resource | None]:
    """Return for each item the resource it was, or None for a new one."""
    left = {(each.path, each.index): each for each in sent}
    found: list[Resource | None] = []
    for item in items:
        path = inside(package, item.path) if item.path else None
        found.append(left.pop((path, item.index), None) if path is not None else None)
    by_name: dict[object, list[Resource]] = {}
    for each in left.values():
        by_name.setdefault(each.ref, []).append(each)
    for position, item in enumerate(items):
        named = by_name.get(ref(item.value), [])
        if found[position] is None and len(named) == 1:
            found[position] = named.pop()  # it lost its path, or was moved
    return found


def _resource(item: Item, before: Resource | None, package: str) -> Resource:
    problem = unfit(item.value)
    if problem:
        where = item.path or default_path(item.value)
        raise PackageError(
            Place(item.path),
            f"output resource list must contain only KRM resources: {where}: {problem}",
            _FIX,
        )
    if item.path.endswith("/"):
        raise PackageError(
            Place(item.path),
            f"config.kubernetes.io/path cannot be a directory: {item.path}",
            "Correct the path annotation that it sets",
        )
    if before is not None and not item.path:
        path: str | None = before.path
    else:
        path = inside(package, item.path or default_path(item.value))
    if path is None:
        raise PackageError(
            Place(item.path),
            f"function must not modify resources outside of package: resource has path {item.path}",
            "Correct the path annotation that it sets",
        )
    return Resource(
        value=_with_empty(item.value, before.value) if before else item.value,
        comments=item.comments,
        path=path,
        index=before.index if before is not None and not item.path else item.index,
        origin=before.origin if before else None,
    )


def _with_empty(value: Value, before: Value) -> Value:
    """Keep an empty `annotations` that was there: taking ours out again loses it."""
    now, was = _metadata(value), _metadata(before)
    lost = "annotations" in was and not was["annotations"] and not now.get("annotations")
    if lost and isinstance(value, dict):
        return {**value, "metadata": {**now, "annotations": was["annotations"]}}
    return value


def _metadata(value: Value) -> dict[str, Value]:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def _check_places(resources: Sequence[Resource]) -> None:
    seen: set[tuple[str, int | None]] = set()
    for each in resources:
        at = (each.path, each.index)
        if at in seen:
            index = "" if each.index is None else each.index
            raise PackageError(
                Place(each.path),
                f'resource at path "{each.path}" and index "{index}" already exists',
                "Give each resource that it makes its own path or index",
            )
        seen.add(at)


def _check_kptfiles(after: Sequence[Resource], sent: Sequence[Resource]) -> None:
    """Refuse that a package stops being one, which would change what is published."""

    def kptfiles(resources: Sequence[Resource]) -> set[str]:
        return {each.path for each in resources if packages.name(each.path) == packages.KPTFILE}

    for path in sorted(kptfiles(sent) ^ kptfiles(after)):
        raise PackageError(
            Place(path),
            f"it added or removed {path!r}",
            "A package is made or removed by hand; keep its Kptfile in the function's output",
        )
