"""Path and index annotations of resources, and the default path of a new one.

Rules:
- Today's annotations stand under `internal.config.kubernetes.io/`, older ones under
  `config.kubernetes.io/` (the id under `config.k8s.io/`); both are kept alike.
- A resource without a path gets `<namespace>/<kind in small letters>_<name>.yaml`.
- A resource without metadata is left as it is.

Source: kyaml `kioutil` (kubernetes-sigs/kustomize).
"""

import re
from collections.abc import Mapping, Sequence

from cadlib.errors import PackageError, Place
from cadlib.package.source import ref
from cadlib.yaml import Stream, Value, edit, read
from cadlib.yaml.tree import Map

PATH = "internal.config.kubernetes.io/path"
INDEX = "internal.config.kubernetes.io/index"
ID = "internal.config.kubernetes.io/id"
SEQINDENT = "internal.config.kubernetes.io/seqindent"
LEGACY_PATH = "config.kubernetes.io/path"
LEGACY_INDEX = "config.kubernetes.io/index"
LEGACY_ID = "config.k8s.io/id"

READER = (INDEX, LEGACY_INDEX, SEQINDENT)
"""What a reader of streams adds, and a writer takes away."""

PLACE = (PATH, LEGACY_PATH)
"""What a reader of packages adds besides."""

# A key on a line of its own, and the first dash below it.
_COMMENT = re.compile(r"\s#.*")
_LEGACY = {PATH: LEGACY_PATH, INDEX: LEGACY_INDEX, ID: LEGACY_ID}


def annotations(value: Value) -> dict[str, str]:
    """Return a resource's annotations as texts; none for what is no resource."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(found, dict):
        return {}
    return {key: "" if text is None else str(text) for key, text in found.items()}


def annotated(item: Stream, wanted: Mapping[str, str | None]) -> Stream:
    """Return a resource's file with annotations in it, as edits of its text.

    Args:
        item: A file with one document.
        wanted: Values by annotation; None takes one away. `annotations` and `metadata` go
            when nothing is left in them.

    Raises:
        PackageError: `metadata` or `annotations` is no mapping.
    """
    position, document = next(
        (number, each) for number, each in enumerate(item.documents) if not each.empty
    )
    value = document.value
    if not isinstance(value, dict):
        return item
    changed = with_annotations(value, wanted, item.source.path)
    data = edit(item, {position: changed})
    return item if data is item.data else read(data, path=item.source.path)


def with_annotations(
    value: dict[str, Value], wanted: Mapping[str, str | None], path: str = ""
) -> Value:
    """Return a resource's value with annotations in it; arguments as for `annotated`."""
    metadata = _mapping(value, "metadata", path)
    found = _mapping(metadata, "annotations", path)
    gone = {key for key, text in wanted.items() if text is None}
    kept: dict[str, Value] = {key: each for key, each in found.items() if key not in gone}
    kept |= {key: text for key, text in wanted.items() if text is not None}
    inner: dict[str, Value] = {**metadata, "annotations": kept}
    if not kept:
        del inner["annotations"]
    if inner:
        return {**value, "metadata": inner}
    return {key: each for key, each in value.items() if key != "metadata"}


def _mapping(value: dict[str, Value], key: str, path: str) -> dict[str, Value]:
    found = value.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise PackageError(
            Place(path, field=key), f"{key} is not a mapping", "Write names and values"
        )
    return found


def legacy(found: Mapping[str, str]) -> dict[str, str]:
    """Return the missing current or legacy annotations where the other one is set."""
    missing: dict[str, str] = {}
    for new, old in _LEGACY.items():
        if found.get(new) and not found.get(old):
            missing[old] = found[new]
        elif found.get(old) and not found.get(new):
            missing[new] = found[old]
    return missing


def value_of(item: Stream) -> Value:
    """Return the value of a file with one document."""
    return next((each.value for each in item.documents if not each.empty), None)


def default_path(value: Value) -> str:
    """Return the path of a resource that has no path annotation."""
    named = ref(value)
    file = f"{named.kind.lower()}_{named.name}.yaml"
    return f"{named.namespace}/{file}" if named.namespace else file


def with_paths(items: Sequence[Stream]) -> list[Stream]:
    """Return resources' files, each with a path; both kinds of annotation."""
    return [_with_path(item) for item in items]


def _with_path(item: Stream) -> Stream:
    value = value_of(item)
    found = annotations(value)
    wanted = legacy(found)
    described = isinstance(value, dict) and isinstance(value.get("metadata"), dict)
    if described and not (found.get(PATH) or found.get(LEGACY_PATH)):
        path = default_path(value)
        wanted |= {PATH: path, LEGACY_PATH: path}
    return annotated(item, wanted)


def place(item: Stream) -> tuple[str, int | None]:
    """Return the path and the index that a resource's annotations give; "" and None if none.

    Raises:
        PackageError: The index is no whole number.
    """
    found = annotations(value_of(item))
    path = found.get(PATH) or found.get(LEGACY_PATH) or ""
    text = found.get(INDEX) or found.get(LEGACY_INDEX) or ""
    if not text:
        return path, None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise PackageError(
            Place(item.source.path, field=f"metadata.annotations[{INDEX!r}]"),
            f"unable to parse {INDEX} {text}: it is not a whole number",
            "Write the position in its file, from 0",
        )
    return path, int(text)


def by_place(items: Sequence[Stream]) -> list[Stream]:
    """Return resources sorted by path, then by index, those without one first."""

    def key(item: Stream) -> tuple[str, int]:
        path, index = place(item)
        return path, -1 if index is None else index

    return sorted(items, key=key)


def seqindent(text: str) -> str:
    """Return how lists are indented, as the first one in a text shows: "wide" or "compact".

    Comments may stand behind a key, and between a key and its list; "compact" where there is none.
    """
    above = ""
    for line in text.split("\n"):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        if bare.startswith("- ") and _ends_in_key(above):
            further = _margin(line) - _margin(above)
            if further in (0, 2):
                return "wide" if further else "compact"
        above = line
    return "compact"


def _ends_in_key(line: str) -> bool:
    return line.rstrip().endswith(":") or _COMMENT.sub("", line).rstrip().endswith(":")


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def is_json_file(items: Sequence[Stream]) -> bool:
    """Tell whether these are the one resource of a `.json` file, which is written as JSON."""
    if len(items) != 1 or not any(isinstance(each.root, Map) for each in items[0].documents):
        return False
    return place(items[0])[0].endswith(".json")
