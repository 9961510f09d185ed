"""A package as it was given, parsed once: streams, Kptfiles, resources, and what is wrong.

What kpt reads as resources is `Kptfile`, `*.yaml`, `*.yml` and `*.json`, unless
`.krmignore` excludes it. Documents that are no Kubernetes resources, templates among them,
are kept and never handed out.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cadlib import kptfile as kptfiles
from cadlib import package as packages
from cadlib.bulk import Bulk, Serial
from cadlib.errors import PackageError, Place
from cadlib.findings import Finding, ResourceRef, Severity, from_error
from cadlib.ignore import Ignored
from cadlib.kptfile import Kptfile
from cadlib.limits import Limits
from cadlib.package import Files
from cadlib.yaml import Document, FieldPath, Stream, TemplateError, Value
from cadlib.yaml.tree import Alias, Map, Node, Scalar, Seq

HIDES = "the resources in this list are seen by no function, since the list has no name"
"""What is said of a list of resources that is no resource itself, but would be applied."""

_APART = "Write each of its resources as a document of its own"
_NO_SCALARS = "Write resources into the file, or name it in .krmignore"


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """A resource on its way through the functions.

    Attributes:
        value: Its value now.
        comments: Its line comments now, by field; None while they are those of the file.
        path: Its file now, relative to the root package.
        index: Its position among the documents of that file, or None if not given.
        origin: File and position among the file's documents it was read from; None for
            one that a function made.
    """

    value: Value
    comments: Mapping[FieldPath, str] | None
    path: str
    index: int | None
    origin: tuple[str, int] | None

    @property
    def ref(self) -> ResourceRef:
        """What the resource is called, as far as it says."""
        return ref(self.value)


class Source:
    """A package, parsed.

    Attributes:
        files: The package as given.
        packages: Paths of the package ("") and its subpackages.
        inside: For each of these, the packages directly inside it.
        streams: The files that could be read, by path, in kpt's order.
        kptfiles: The Kptfiles that could be read, by package.
        ignored: What `.krmignore` excludes.
        refused: What is wrong with the Kptfiles that could not, by package.
        findings: What is wrong with the others, and what will not be rendered.
    """

    def __init__(
        self, files: Files, limits: Limits, bulk: Bulk | None = None, *, plain: bool = False
    ) -> None:
        """Read a package.

        Args:
            files: The package, subpackages included.
            limits: How much is read.
            bulk: Reads the files.
            plain: A folder of resources: it needs no Kptfile, and those it has are resources
                like any other, whatever they say.
        """
        self.files = files
        self.findings: list[Finding] = []
        self.ignored = Ignored(files, plain=plain)
        self.packages = self.ignored.packages
        self._plain = plain
        self.inside = packages.subpackages(self.packages)
        self.streams: dict[str, Stream] = {}
        self.kptfiles: dict[str, Kptfile] = {}
        self.refused: dict[str, PackageError] = {}
        self._limits = limits
        self._aliased = 0
        self._owned: dict[str, list[str]] = {}
        self.findings += self.ignored.findings
        owners = dict(self._read_ones())
        data = {path: files[path].data for path in owners}
        read = (bulk or Serial()).read(data, limits)
        for (path, owner), stream in zip(owners.items(), read, strict=True):
            self._take(path, owner, stream)

    def resources(self, package: str) -> list[Resource]:
        """Return the resources of this package, without those of its subpackages."""
        return [
            resource
            for path in self._owned.get(package, ())
            for resource in self.resources_of(path)
        ]

    def resources_of(self, path: str) -> Iterator[Resource]:
        """Yield the resources of a file."""
        yield from _resources(path, self.streams[path])

    def unfit(self, package: str) -> Iterator[tuple[str, str]]:
        """Yield the files of this package with YAML that kpt takes for a broken resource.

        Templates are none. Each file comes with what its first such document lacks.
        """
        for path in self._owned.get(package, ()):
            for document in self.streams[path].documents:
                problem = "" if document.template else unfit(document.value)
                if (
                    problem
                    and document.value is not None
                    and not is_kustomization(path, document.value)
                ):
                    yield path, problem
                    break

    def handed_out(self, path: str) -> tuple[int, ...]:
        """Return the positions of the documents of a file that are resources."""
        return tuple(each.origin[1] for each in _resources(path, self.streams[path]) if each.origin)

    def document(self, resource: Resource) -> Document | None:
        """Return the document that a resource was read from, if it was."""
        if resource.origin is None:
            return None
        path, position = resource.origin
        return self.streams[path].documents[position]

    def comments(self, resource: Resource) -> Mapping[FieldPath, str]:
        """Return the line comments of a resource; those of the file are read when asked for."""
        if resource.comments is not None:
            return resource.comments
        document = self.document(resource)
        return _Comments(document) if document else {}

    def _read_ones(self) -> Iterator[tuple[str, str]]:
        """Yield the files that kpt reads as resources, in its order, each with its package."""
        for path in sorted(self.files, key=lambda path: path.split("/")):
            owner = packages.owner_of(path, self.packages)
            if owner is None or self.files[path].mode == packages.SYMLINK:
                continue
            if packages.is_resource_file(path) and path not in self.ignored:
                yield path, owner

    def _take(self, path: str, owner: str, stream: Stream | PackageError) -> None:
        """Take down what was read from a file, or what is wrong with it."""
        try:
            if isinstance(stream, PackageError):
                raise stream
            self._count_aliases(stream, path)
            if packages.name(path) == packages.KPTFILE and not self._plain:
                self.kptfiles[owner] = kptfiles.of_stream(stream, path)
        except PackageError as error:
            if packages.name(path) == packages.KPTFILE:
                self.refused[owner] = kptfiles.unreadable(error)
            self.findings.append(_unreadable(error, path, self.files[path].data))
            return
        self.streams[path] = stream
        self._owned.setdefault(owner, []).append(path)
        self.findings += _remarks(path, stream)

    def _count_aliases(self, stream: Stream, path: str) -> None:
        if b"&" not in stream.data or b"*" not in stream.data:
            return
        self._aliased += sum(_aliased(document.root) for document in stream.documents)
        if self._aliased > self._limits.package_nodes:
            raise PackageError(
                Place(path),
                "the aliases of the package's files, up to this one, stand for more than"
                f" {self._limits.package_nodes} nodes",
                "Write the values out, or use fewer aliases",
            )


class _Comments(Mapping[FieldPath, str]):
    """The line comments of a document: most functions never look at them."""

    __slots__ = ("_document",)

    def __init__(self, document: Document) -> None:
        self._document = document

    def __getitem__(self, field: FieldPath) -> str:
        return self._document.comments[field]

    def __iter__(self) -> Iterator[FieldPath]:
        return iter(self._document.comments)

    def __len__(self) -> int:
        return len(self._document.comments)


def missing(value: Value) -> str:
    """Return what `value` lacks to be a Kubernetes resource; "" if nothing."""
    if not isinstance(value, dict):
        return "apiVersion, kind and metadata.name"
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    parts = {
        "apiVersion": value.get("apiVersion"),
        "kind": value.get("kind"),
        "metadata.name": name,
    }
    return ", ".join(
        part for part, inner in parts.items() if not inner or not isinstance(inner, str)
    )


def unfit(value: Value) -> str:
    """Return in kpt's words what `value` lacks to be a Kubernetes resource; "" if nothing."""
    lacks = missing(value)
    if not lacks:
        return ""
    if not isinstance(value, dict):
        return "resource must have `apiVersion`, `kind`, and `name`"
    return f"resource must have `{lacks.partition(', ')[0]}`"


def is_kustomization(path: str, value: Value) -> bool:
    """Say whether a document is one of kustomize's own, which have no name."""
    if packages.name(path) in ("kustomization.yaml", "kustomization.yml", "Kustomization"):
        return True
    whole = value if isinstance(value, dict) else {}
    version = str(whole.get("apiVersion") or "")
    return version.startswith("kustomize.config.k8s.io") or (
        not version and whole.get("kind") == "Kustomization"
    )


def ref(value: Value) -> ResourceRef:
    """Return what a resource is called."""
    whole = value if isinstance(value, dict) else {}
    metadata = whole.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    return ResourceRef(
        api_version=str(whole.get("apiVersion") or ""),
        kind=str(whole.get("kind") or ""),
        name=str(names.get("name") or ""),
        namespace=str(names.get("namespace") or ""),
    )


def _resources(path: str, stream: Stream) -> Iterator[Resource]:
    index = 0
    for position, document in enumerate(stream.documents):
        if document.empty:
            continue
        if not document.template and not missing(document.value):
            yield Resource(
                value=document.value,
                comments=None,
                path=path,
                index=index,
                origin=(path, position),
            )
        index += 1


def _aliased(node: Node) -> int:
    """Return how many nodes the aliases below a node stand for."""
    if isinstance(node, Alias):
        return _size(node.value)
    inner = node.values if isinstance(node, Map) else node.items if isinstance(node, Seq) else ()
    return sum(_aliased(each) for each in inner)


def _size(value: Value) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(_size(each) for each in inner)


def is_scalar(document: Document) -> bool:
    """Return whether a document is a scalar, which is refused; null is none."""
    return isinstance(document.root, Scalar) and document.value is not None


def _remarks(path: str, stream: Stream) -> Iterator[Finding]:
    """Point out the documents that no function will see, where that may surprise."""
    for document in stream.documents:
        if document.empty:
            continue
        value = document.value
        at = Place(path, document.start_line)
        if document.template or _is_templated(document):
            yield _template(at)
        elif is_scalar(document):
            problem = "wrong node kind: expected MappingNode but got ScalarNode"
            yield Finding(message=problem, severity=Severity.ERROR, place=at, fix=_NO_SCALARS)
        elif isinstance(value, dict) and value.get("apiVersion") and value.get("kind"):
            lacks = missing(value)
            if lacks and _holds_resources(value):
                yield Finding(message=HIDES, severity=Severity.WARNING, place=at, fix=_APART)
            elif lacks:
                yield Finding(
                    message=f"{value['kind']} without {lacks}: no function sees it",
                    severity=Severity.INFO,
                    place=at,
                    fix="Give it a name if it is a resource",
                )


def _holds_resources(value: Mapping[str, Value]) -> bool:
    """Tell whether it is a list of resources, as `kubectl get` writes it and `apply` reads it."""
    items = value.get("items")
    return (
        str(value["kind"]).endswith("List")
        and isinstance(items, list)
        and any(isinstance(item, dict) and ("kind" in item or "metadata" in item) for item in items)
    )


def _is_templated(document: Document) -> bool:
    """Tell whether a document is a plain scalar with a template in it, such as `a {{ .b }}`."""
    root = document.root
    return isinstance(root, Scalar) and not root.style and "{{" in root.raw


def _unreadable(error: PackageError, path: str, data: bytes) -> Finding:
    if not isinstance(error, TemplateError):
        return from_error(error)
    if packages.name(path) != packages.KPTFILE and _is_template(path, data, error.place.line):
        return _template(error.place)
    return Finding(
        message=error.problem.replace("is a template, not YAML", "is not YAML"),
        severity=Severity.ERROR,
        place=error.place,
        fix="Correct the syntax there",
    )


# A line that only makes sense to a template engine: "{{ ... }}" where YAML wants a key or a value.
_TEMPLATE_LINE = re.compile(rb"\s*(?:- +)?(?:[^\s#:]+: +)?\{\{.*")


def _is_template(path: str, data: bytes, line: int | None) -> bool:
    """Return whether a file that is no YAML is the template of one.

    Judged by the lines around the one where reading ended, so that a file which only
    quotes templates somewhere does not pass as one when it is broken elsewhere. Files
    in the `templates` folder of a Helm chart are.
    """
    if line is None or "templates" in path.split("/")[:-1]:
        return True
    lines = data.split(b"\n")
    before = next((n for n in range(line - 2, -1, -1) if lines[n].strip()), 0)
    return any(_TEMPLATE_LINE.match(each) for each in lines[before : line + 1])


def _template(place: Place) -> Finding:
    return Finding(
        message="this is a template and not YAML, so it is left as it is and no function sees it",
        severity=Severity.WARNING,
        place=place,
        fix="Put what the template makes into the package if it should be checked",
    )
