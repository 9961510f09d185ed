"""Maps results of functions to file, line and field.

Functions name a file and a position in it, or a resource, or neither; lines they cannot
know. What names neither gets the place where the pipeline calls the function.
"""

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from cadlib.errors import Place
from cadlib.findings import Finding, ResourceRef, from_result
from cadlib.package import files as packages
from cadlib.package.source import ParsedPackage, Resource, ref
from cadlib.render.locate import Located, carried, locate
from cadlib.yaml import Document, Value, field_text


def findings(
    results: Iterable[object],
    *,
    image: str,
    package: str,
    calls: Place,
    source: ParsedPackage,
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
    source: ParsedPackage,
    candidates: Callable[[str], Sequence[Resource]],
) -> Finding:
    bare = from_result(result, function=image)
    path = inside(package, bare.place.path) if bare.place.path else ""
    resource = None
    if path is not None and (path or bare.resource):
        resource = _resource(candidates(path), path, _index(result), bare)
    if resource is None:
        if path is None or path not in source.files:
            return replace(bare, place=calls)
        return replace(bare, place=_in_file(source, path, _index(result) or 0, bare))
    at = resource.origin[0] if resource.origin else resource.path
    place = _in_document(at, source.document(resource), resource.value, bare)
    return replace(bare, place=place, resource=bare.resource or resource.ref)


def _in_file(source: ParsedPackage, path: str, index: int, bare: Finding) -> Place:
    """Return the place in a file that holds no resource that the function was given."""
    stream = source.streams.get(path)
    documents = [each for each in stream.documents if not each.empty] if stream else []
    if not 0 <= index < len(documents):
        return replace(bare.place, path=path)
    return _in_document(path, documents[index], documents[index].value, bare)


def _in_document(path: str, document: Document | None, value: Value, bare: Finding) -> Place:
    """Return the place of a field: its line, and its name in our spelling if it is there.

    Args:
        path: The file.
        document: Where the resource stands in it; None for one that a function made.
        value: The resource as the function was given it.
        bare: What the function said.
    """
    found = _meant(value, bare)
    line = document.line(carried(found.path, value, document.value)) if document else None
    return Place(path, line, field_text(found.path) if found.whole else bare.place.field)


def _meant(value: Value, bare: Finding) -> Located:
    """Return the field that a finding is about; in a List, that of the resource it names."""
    items = value.get("items") if isinstance(value, dict) else None
    if bare.resource and isinstance(items, list) and not _fits(ref(value), bare.resource):
        for position, item in enumerate(items):
            if _fits(ref(item), bare.resource):
                found = locate(bare.place.field, item, bare.current)
                inner = Located(("items", position, *found.path), whole=found.whole)
                outer = locate(bare.place.field, value, bare.current)
                return outer if outer.whole and bare.place.field else inner
    return locate(bare.place.field, value, bare.current)


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
    there: Sequence[Resource], path: str, index: int | None, bare: Finding
) -> Resource | None:
    """Return the resource meant: by name, then by position where names are not enough.

    A file of several, none of them named: the first that has the field.
    """
    wanted = bare.resource
    named = [each for each in there if wanted and _fits(each.ref, wanted)]
    numbered = [each for each in there if path and each.index == (index or 0)]
    both = [each for each in named if each in numbered]
    if both or named:
        return [*both, *named][0]
    holding = [each for each in there if wanted and _holds(each.value, wanted)]
    if holding:
        return holding[0]
    if path and index is None and bare.place.field:
        having = [each for each in there if _meant(each.value, bare).whole]
        numbered = [*having, *numbered]
    return next(iter(numbered), None)


def _holds(value: Value, wanted: ResourceRef) -> bool:
    """Tell whether a List holds the resource that a function names."""
    items = value.get("items") if isinstance(value, dict) else None
    return isinstance(items, list) and any(_fits(ref(each), wanted) for each in items)


def _fits(ref: ResourceRef, wanted: ResourceRef) -> bool:
    """Tell whether `ref` is what a function calls `wanted`; what it left out is free."""
    if not wanted.name:
        return False
    pairs = (
        (ref.name, wanted.name),
        (ref.kind, wanted.kind),
        (ref.api_version, wanted.api_version),
        (ref.namespace, wanted.namespace),
    )
    return all(found == asked for found, asked in pairs if asked)


def _index(result: object) -> int | None:
    """Return the position in the file that a function gave; None if it gave none."""
    file = result.get("file") if isinstance(result, Mapping) else None
    index = file.get("index") if isinstance(file, Mapping) else None
    if isinstance(index, str) and index.isdecimal() and len(index) < 10:
        return int(index)
    return index if isinstance(index, int) else None
