"""A package as it was given, parsed once: streams, Kptfiles, resources, and what is wrong.

What kpt reads as resources is `Kptfile`, `*.yaml`, `*.yml` and `*.json`, unless
`.krmignore` excludes it. Documents that are no Kubernetes resources, templates among them,
are kept and never handed out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cadlib.errors import PackageError, Place
from cadlib.findings import Finding, ResourceRef
from cadlib.kptfile import reader as kptfiles
from cadlib.kptfile.reader import Kptfile
from cadlib.limits import PackageLimits
from cadlib.package import files as packages
from cadlib.package import otherwise
from cadlib.package.files import Files
from cadlib.package.ignore import Ignored
from cadlib.package.unseen import is_kustomization, missing, remarks, unreadable
from cadlib.yaml import Document, FieldPath, Stream, Value
from cadlib.yaml.bulk import Bulk, Serial
from cadlib.yaml.tree import Alias, Map, Node, Seq


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """A resource, with the document it was read from.

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


class ParsedPackage:
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
        self, files: Files, limits: PackageLimits, bulk: Bulk | None = None, *, plain: bool = False
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
        self.findings += otherwise.links(files, owners)

    def resources(self, package: str) -> list[Resource]:
        """Return the resources of this package, without those of its subpackages."""
        return [
            resource
            for path in self._owned.get(package, ())
            for resource in self.resources_of(path)
        ]

    def resources_of(self, path: str) -> Sequence[Resource]:
        """Return the resources of a file."""
        return self.streams[path].once(resources_read)

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
        return self.streams[path].once(_handed_out)

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
        return document.noted if document else {}

    def _read_ones(self) -> Iterator[tuple[str, str]]:
        """Yield the files that kpt reads as resources, in its order, each with its package."""
        owners: dict[str, str | None] = {}  # by folder, which many files share
        for path in sorted(self.files, key=lambda path: path.split("/")):
            if not packages.is_resource_file(path) or self.files[path].mode == packages.SYMLINK:
                continue
            folder = packages.folder(path)
            if folder not in owners:
                owners[folder] = packages.owner_of(folder, self.packages)
            owner = owners[folder]
            if owner is not None and path not in self.ignored:
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
            self.findings += unreadable(error, path, self.files[path].data)
            return
        self.streams[path] = stream
        self._owned.setdefault(owner, []).append(path)
        self.findings += stream.once(_remarks)

    def _count_aliases(self, stream: Stream, path: str) -> None:
        if b"&" not in stream.data or b"*" not in stream.data:
            return
        self._aliased += sum(_aliased(document.root) for document in stream.documents)
        if self._aliased > self._limits.package_nodes:
            raise PackageError(
                Place(path),
                "the aliases of the package's files, up to this one, expand to more than"
                f" {self._limits.package_nodes} nodes",
                "Write the values out, or use fewer aliases",
            )


def unfit(value: Value) -> str:
    """Return in kpt's words what `value` lacks to be a Kubernetes resource; "" if nothing."""
    lacks = missing(value)
    if not lacks:
        return ""
    return f"resource must have `{lacks.partition(', ')[0]}`"


def ref(value: Value) -> ResourceRef:
    """Return the identity of a resource: group, kind, namespace, name."""
    whole = value if isinstance(value, dict) else {}
    metadata = whole.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    return ResourceRef(
        api_version=str(whole.get("apiVersion") or ""),
        kind=str(whole.get("kind") or ""),
        name=str(names.get("name") or ""),
        namespace=str(names.get("namespace") or ""),
    )


def resources_read(stream: Stream) -> tuple[Resource, ...]:
    """Return the resources of a file, for `Stream.once`: the same objects each time."""
    path, full = stream.source.path, [d for d in enumerate(stream.documents) if not d[1].empty]
    return tuple(
        Resource(
            value=document.value,
            comments=None,
            path=path,
            index=index,
            origin=(path, position),
        )
        for index, (position, document) in enumerate(full)
        if not document.template and not missing(document.value)
    )


def _handed_out(stream: Stream) -> tuple[int, ...]:
    return tuple(each.origin[1] for each in stream.once(resources_read) if each.origin)


def _remarks(stream: Stream) -> tuple[Finding, ...]:
    path = stream.source.path
    return (*remarks(path, stream), *otherwise.values(path, stream))


def _aliased(node: Node) -> int:
    """Return how many nodes the aliases below a node stand for."""
    if isinstance(node, Alias):
        return _size(node.value)
    inner = node.values if isinstance(node, Map) else node.items if isinstance(node, Seq) else ()
    return sum(_aliased(each) for each in inner)


def _size(value: Value) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(_size(each) for each in inner)
