"""The package context: a ConfigMap that tells functions what their package is called.

Rules:
- It stands in `package-context.yaml` beside the outermost Kptfile, is named
  `kptfile.kpt.dev`, and is never applied to a cluster.
- Making it drops every other ConfigMap of this name, those of subpackages too.
- On files it is an edit: what is there already keeps its comments and layout.

Source: kpt `pkg/lib/builtins` (`gen-pkg-context`).
"""

from collections.abc import Mapping, Sequence

from cadlib.errors import PackageError
from cadlib.kptfile.reader import API_VERSION as KPTFILE_VERSION
from cadlib.package import files as packages
from cadlib.package.files import Entry, Files
from cadlib.package.source import ref
from cadlib.stream.resourcelist import Item
from cadlib.yaml import DELETED, Deleted, Stream, Value, append, edit, emit, read

NAME = "kptfile.kpt.dev"
FILE = "package-context.yaml"
_PATH_KEY = "package-path"
_MESSAGE = "generated package context"


def resource(name: str, package_path: str = "") -> dict[str, Value]:
    """Return the context of a package.

    Args:
        name: What its Kptfile calls it.
        package_path: Where it lies in its repository or its organisation, such as
            "net/edge/core"; "" leaves it out.
    """
    data: dict[str, Value] = {"name": name}
    if package_path:
        data[_PATH_KEY] = package_path
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": NAME,
            "annotations": {"config.kubernetes.io/local-config": "true"},
        },
        "data": data,
    }


def is_context(value: Value) -> bool:
    """Tell whether a resource is a package context."""
    found = ref(value)
    return (found.api_version, found.kind, found.name) == ("v1", "ConfigMap", NAME)


def generated(
    items: Sequence[Item], package_path: str = ""
) -> tuple[list[Item], list[Mapping[str, Value]]]:
    """Return resources with the context of their package, and the results that say so.

    Args:
        items: The resources of a package; without a Kptfile at its root none is made.
        package_path: As for `resource`.
    """
    kept = [item for item in items if not is_context(item.value)]
    found = next((item for item in kept if _is_kptfile(item)), None)
    if found is None:
        return kept, []
    kept.append(Item(resource(ref(found.value).name, package_path), path=FILE))
    return kept, [{"message": _MESSAGE, "severity": "info", "file": {"path": FILE}}]


def _is_kptfile(item: Item) -> bool:
    found = ref(item.value)
    return item.path == packages.KPTFILE and (found.api_version, found.kind) == (
        KPTFILE_VERSION,
        packages.KPTFILE,
    )


def added(files: Files, package_path: str = "") -> dict[str, Entry | None]:
    """Return what changes in a package when its context is made.

    Args:
        files: The package. Files that cannot be read are left as they are.
        package_path: As for `resource`.

    Returns:
        Changed files by path, None for one that goes; nothing where there is no Kptfile
        at the root, or where all is as it should be.

    Raises:
        PackageError: The Kptfile cannot be read.
    """
    if packages.KPTFILE not in files:
        return {}
    kptfile = read(files[packages.KPTFILE].data, path=packages.KPTFILE)
    name = next((ref(each.value).name for each in kptfile.documents if not each.empty), "")
    wanted = resource(name, package_path)
    changes: dict[str, Entry | None] = {}
    for path, entry in files.items():
        if path != FILE and packages.is_resource_file(path) and NAME.encode() in entry.data:
            data = _with(entry.data, path, None)
            if data != entry.data:
                changes[path] = Entry(data, entry.mode) if data else None
    entry = files.get(FILE, Entry(b""))
    data = _with(entry.data, FILE, wanted) if entry.data else emit({**wanted}).encode()
    if data != entry.data:
        changes[FILE] = Entry(data or b"", entry.mode)
    return changes


def _with(data: bytes, path: str, wanted: dict[str, Value] | None) -> bytes | None:
    """Return a file with one context or with none; None where nothing is left in it."""
    try:
        stream = read(data, path=path)
    except PackageError:
        return data
    there = [number for number, each in enumerate(stream.documents) if is_context(each.value)]
    if wanted is not None and not there:
        return append(stream, [wanted])
    changed: dict[int, Value | Deleted] = dict.fromkeys(there, DELETED)
    if wanted is not None:
        changed[there[0]] = _updated(stream, there[0], wanted)
    elif len(there) == sum(not each.empty for each in stream.documents):
        return None
    return edit(stream, changed)


def _updated(stream: Stream, position: int, wanted: dict[str, Value]) -> Value:
    """Return the wanted context, with its keys where they are."""
    value = stream.documents[position].value
    assert isinstance(value, dict)  # noqa: S101 - it has a kind and a name
    return {**{key: wanted[key] for key in value if key in wanted}, **wanted}
