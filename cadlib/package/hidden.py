"""Resources that a change hides from functions and guardrails with `.krmignore`.

That is what the file is for, and kpt says nothing. But whoever reads the change should know what
nobody looked at: `kubectl apply` and Argo CD know no `.krmignore`, and apply such files.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from cadlib.errors import PackageError
from cadlib.limits import PackageLimits
from cadlib.package import files as packages
from cadlib.package.files import Files
from cadlib.package.ignore import Ignored
from cadlib.yaml import Value
from cadlib.yaml import read as read_yaml


@dataclass(frozen=True, slots=True)
class Hidden:
    """What one `.krmignore` puts out of sight.

    Attributes:
        resources: How many there are in the files that can be read.
        paths: The files, sorted: each holds a resource, or cannot be read as YAML.
    """

    resources: int
    paths: tuple[str, ...]


def hidden(files: Files, before: Files, limits: PackageLimits) -> Mapping[str, Hidden]:
    """Find the resources that a change hides: newly, or with another content than before.

    Args:
        files: A package, subpackages included.
        before: As it was; empty for a new one.
        limits: What is read of one file.

    Returns:
        Path of a `.krmignore` to what it hides, sorted; empty where nothing is.
    """
    known = _excluded(before)
    found: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for path, by in sorted(_excluded(files).items()):
        if path in known and before[path].data == files[path].data:
            continue
        count = _resources(files[path].data, path, limits)
        if count:
            found[by].append((path, max(count, 0)))
    return {
        by: Hidden(sum(count for _, count in each), tuple(path for path, _ in each))
        for by, each in sorted(found.items())
    }


def _excluded(files: Files) -> dict[str, str]:
    """Files for resources that are left out, each with the `.krmignore` that decides about it."""
    if not any(packages.name(path) == packages.IGNORE_FILE for path in files):
        return {}
    ignored = Ignored(files)
    return {
        path: packages.join(owner, packages.IGNORE_FILE)
        for path, entry in files.items()
        if packages.is_resource_file(path)
        and packages.name(path) != packages.KPTFILE
        and entry.mode != packages.SYMLINK
        and path in ignored
        and (owner := packages.owner_of(packages.folder(path), ignored.packages)) is not None
    }


def _resources(data: bytes, path: str, limits: PackageLimits) -> int:
    """How many resources a file holds; -1 where that cannot be told."""
    try:
        documents = read_yaml(data, path=path, limits=limits).documents
    except PackageError:
        return -1
    count = sum(_count(each.value) for each in documents if not each.template)
    return -1 if not count and any(each.template for each in documents) else count


def _count(value: Value) -> int:
    if not isinstance(value, dict) or not (value.get("apiVersion") and value.get("kind")):
        return 0
    items = value.get("items")
    return len(items) if isinstance(items, list) else 1
