"""Where in the package a function's result belongs: file, line and field.

Functions name a file and a position in it, or a resource, or neither; lines they cannot
know. What names neither gets the place where the pipeline calls the function.
"""

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from cadlib import package as packages
from cadlib.errors import Place
from cadlib.findings import Finding, ResourceRef, from_result
from cadlib.source import Resource, Source
from cadlib.yaml import FieldPath, parse_field

# Longer than any field of a real resource; numbers in it stay short enough to be read.
_LONGEST_FIELD = 1_000


def findings(
    results: Iterable[object],
    *,
    image: str,
    package: str,
    calls: Place,
    source: Source,
    resources: Sequence[Resource],
) -> list[Finding]:
    """Return results as findings with file and line, as far as these can be found.

    Args:
        results: Entries of a ResourceList's `results`.
        image: The function that made it.
        package: The package whose pipeline it is part of; the result's path is
            relative to it.
        calls: Where the pipeline calls the function, for a result without a place.
        source: The package as it was given; lines are those of its files.
        resources: The resources that the function was given.
    """
    by_path: dict[str, list[Resource]] = {}
    for each in resources:
        by_path.setdefault(each.path, []).append(each)

    def candidates(path: str) -> Sequence[Resource]:
        return by_path.get(path, ()) if path else resources

    return [_finding(result, image, package, calls, source, candidates) for result in results]


def _finding(
    result: object,
    image: str,
    package: str,
    calls: Place,
    source: Source,
    candidates: Callable[[str], Sequence[Resource]],
) -> Finding:
    bare = from_result(result, function=image)
    path = inside(package, bare.place.path) if bare.place.path else ""
    resource = None
    if path is not None and (path or bare.resource):
        resource = _resource(candidates(path), path, _index(result), bare.resource)
    if resource is None:
        if path is None or path not in source.files:
            return replace(bare, place=calls)
        return replace(bare, place=replace(bare.place, path=path))
    document = source.document(resource)
    line = document.line(_field(bare.place.field)) if document else None
    at = resource.origin[0] if resource.origin else resource.path
    return replace(
        bare, place=Place(at, line, bare.place.field), resource=bare.resource or resource.ref
    )


def inside(package: str, path: str) -> str | None:
    """Return a path that a function gave as relative to the root package.

    Returns:
        None when the path leads out of `package`. An absolute path counts from
        `package`, as in kpt.
    """
    clean = posixpath.normpath(path.lstrip("/"))
    if clean == ".." or clean.startswith("../"):
        return None
    return packages.join(package, clean)


def _resource(
    there: Sequence[Resource], path: str, index: int, wanted: ResourceRef | None
) -> Resource | None:
    """Return the resource meant: by name, then by position where names are not enough."""
    named = [each for each in there if wanted and _fits(each.ref, wanted)]
    numbered = [each for each in there if path and each.index == index]
    both = [each for each in named if each in numbered]
    return next(iter([*both, *named, *numbered]), None)


def _fits(ref: ResourceRef, wanted: ResourceRef) -> bool:
    """Return whether `ref` is what a function calls `wanted`; what it left out is free."""
    if not wanted.name:
        return False
    pairs = (
        (ref.name, wanted.name),
        (ref.kind, wanted.kind),
        (ref.api_version, wanted.api_version),
        (ref.namespace, wanted.namespace),
    )
    return all(found == asked for found, asked in pairs if asked)


def _index(result: object) -> int:
    file = result.get("file") if isinstance(result, Mapping) else None
    index = file.get("index") if isinstance(file, Mapping) else None
    return index if isinstance(index, int) else 0


def _field(text: str) -> FieldPath:
    """Read a field as functions write it: dotted, with a dot in front, or a JSON pointer."""
    if len(text) > _LONGEST_FIELD:
        return ()
    if text.startswith("/"):
        parts = (part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/"))
        return tuple(int(part) if part.isdecimal() else part for part in parts)
    return parse_field(text)
