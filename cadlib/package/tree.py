"""Resources of a folder as a tree for people, as `kpt pkg tree` prints it.

Rules:
- Shown are the resources of `Kptfile`, `*.yaml` and `*.yml` that have a kind, below their
  folder, by name of the file, namespace, name, kind and apiVersion.
- Folders without a resource are left out; what lies below them hangs on the next folder
  above. A folder with a Kptfile is called a package.

Source: kpt `thirdparty/cmdconfig/commands/cmdtree`; its form is that of xlab/treeprint.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from cadlib.errors import PackageError, Place
from cadlib.findings import Finding, Severity, from_error
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.package import files as packages
from cadlib.package.files import SUBMODULE, SYMLINK, Files
from cadlib.package.ignore import Ignored
from cadlib.package.source import ref
from cadlib.package.unseen import is_scalar
from cadlib.yaml import read


@dataclass(slots=True)
class _Folder:
    """A folder in the tree: the lines of its resources, and the folders below it."""

    title: str
    resources: list[str] = field(default_factory=list)
    below: list["_Folder"] = field(default_factory=list)


def shown(
    files: Files, name: str, limits: PackageLimits = DEFAULT
) -> tuple[str, tuple[Finding, ...]]:
    """Return the tree of a folder, and what could not be read.

    Args:
        files: The folder.
        name: What it is called.
        limits: As for reading a file.

    Returns:
        The tree, each line ended by a line break; "" where there is no YAML, and the name alone
        where none of it is a resource.
    """
    ignored = Ignored(files, plain=True)
    found = ignored.packages if packages.KPTFILE in files else ignored.packages - {""}
    findings = list(ignored.findings)
    by_folder: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    anything = False
    for path in sorted(files):
        if not _is_read(files, path) or path in ignored:
            continue
        try:
            lines = list(_resources(files[path].data, path, limits))
        except PackageError as error:
            findings.append(from_error(error, Severity.WARNING))
            continue
        anything = anything or bool(lines)
        lines = [each for each in lines if each[1]]
        if lines:
            by_folder.setdefault(packages.folder(path), []).extend(lines)
    if not anything:
        return "", tuple(findings)
    root = _tree(by_folder, name, found)
    return "\n".join([root.title, *_lines(root), ""]), tuple(findings)


def _is_read(files: Files, path: str) -> bool:
    name = packages.name(path)
    wanted = name == packages.KPTFILE or name.endswith((".yaml", ".yml"))
    return wanted and files[path].mode not in (SYMLINK, SUBMODULE)


def _resources(
    data: bytes, path: str, limits: PackageLimits
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield for each document of a file what it is sorted by, and its line; "" for no resource."""
    name = packages.name(path)
    for document in read(data, path=path, limits=limits).documents:
        if is_scalar(document):
            raise PackageError(
                Place(path, document.start_line),
                "wrong node kind: expected MappingNode but got ScalarNode",
                "Write resources into the file, or name it in .krmignore",
            )
        if document.value is None:
            continue
        found = ref(document.value)
        order = (name, found.namespace, found.name, found.kind, found.api_version)
        full = f"{found.namespace}/{found.name}" if found.namespace else found.name
        yield order, f"[{name}]  {found.kind} {full}" if found.kind else ""


def _tree(
    by_folder: dict[str, list[tuple[tuple[str, ...], str]]], name: str, found: frozenset[str]
) -> _Folder:
    root = _Folder(_title(name, "" in found))
    made = {"": root}
    for path in sorted(by_folder, key=lambda path: path.split("/")):
        if path:
            above = next(each for each in packages.upwards(packages.folder(path)) if each in made)
            made[path] = _Folder(_title(packages.name(path), path in found))
            made[above].below.append(made[path])
        made[path].resources = [line for _, line in sorted(by_folder[path])]
    return root


def _title(name: str, is_package: bool) -> str:
    return f'Package "{name}"' if is_package else name


def _lines(folder: _Folder) -> Iterator[str]:
    """Yield the lines below a folder's title."""
    last = len(folder.resources) + len(folder.below) - 1
    for number, line in enumerate(folder.resources):
        yield f"{_edge(number == last)} {line}"
    for number, below in enumerate(folder.below, len(folder.resources)):
        yield f"{_edge(number == last)} {below.title}"
        margin = "    " if number == last else "│   "
        yield from (margin + line for line in _lines(below))


def _edge(is_last: bool) -> str:
    return "└──" if is_last else "├──"
