"""The resources of a package as one stream of YAML, as `kpt pkg cat` prints them.

Rules:
- Shown are the documents of `*.yaml` and `*.yml`, those of a package before those of its
  subpackages; a Kptfile is none of them, nor is a template.
- The text is that of the files: put in order, and without comments, only if asked for.

Source: kpt `thirdparty/cmdconfig/commands/cmdcat`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cadlib.errors import PackageError
from cadlib.findings import Finding, Severity, from_error
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.package import files as packages
from cadlib.package.files import SUBMODULE, SYMLINK, Files
from cadlib.package.ignore import Ignored
from cadlib.stream import kio
from cadlib.stream import places as kio_places
from cadlib.stream.format import formatted
from cadlib.yaml import Stream, read
from cadlib.yaml.comment_spans import without_comments
from cadlib.yaml.emit import flow


@dataclass(frozen=True, slots=True, kw_only=True)
class CatOptions:
    """Options of `pkg cat`.

    Attributes:
        ordered: In the order that kpt's formatter gives them.
        places: With annotations that say which file they come from.
        comments: With their comments.
        flow: Each on one line, in braces.
        inside: Those of subpackages too.
    """

    ordered: bool = True
    places: bool = False
    comments: bool = True
    flow: bool = False
    inside: bool = True


def shown(
    files: Files, look: CatOptions, limits: PackageLimits = DEFAULT
) -> tuple[bytes, tuple[Finding, ...]]:
    """Return the resources of a package as a stream, and what could not be read."""
    ignored = Ignored(files, plain=True)
    found = ignored.packages
    findings = list(ignored.findings)
    items: list[Stream] = []
    for path in _paths(files, found):
        owner = packages.owner_of(path, found) or ""
        if path in ignored or (owner and not look.inside):
            continue
        try:
            read_ = kio.read(files[path].data, path=path, unwrap=False, lists=True, limits=limits)
            items += (
                _looked_at(item, packages.relative(owner, path), number, look)
                for number, item in enumerate(read_.items)
                if not any(document.template for document in item.documents)
            )
        except PackageError as error:
            findings.append(from_error(error, Severity.WARNING))
    return kio.write(items), tuple(findings)


def _paths(files: Files, found: frozenset[str]) -> Iterator[str]:
    """Yield what is read: package by package, in each by folder and name."""
    read_ = [
        path
        for path, entry in files.items()
        if path.endswith((".yaml", ".yml")) and entry.mode not in (SYMLINK, SUBMODULE)
    ]

    def key(path: str) -> tuple[list[str], list[str]]:
        owner = packages.owner_of(path, found) or ""
        return owner.split("/") if owner else [], path.split("/")

    yield from sorted(read_, key=key)


def _looked_at(item: Stream, path: str, number: int, look: CatOptions) -> Stream:
    if look.ordered:
        item = read(formatted(item), path=item.source.path)
    if not look.comments:
        item = kio.stream_of(without_comments(item), path=item.source.path)
    if look.places:
        item = kio_places.annotated(item, _places(path, number))
    if look.flow:
        item = kio.stream_of(flow(kio_places.value_of(item)) + "\n", path=item.source.path)
    return item


def _places(path: str, number: int) -> Mapping[str, str]:
    return {
        kio_places.LEGACY_INDEX: str(number),
        kio_places.LEGACY_PATH: path,
        kio_places.INDEX: str(number),
        kio_places.PATH: path,
    }
