"""The catalog's `starlark`: runs a script of the package on its resources.

Rules:
    - The script runs in a process of its own, inside limits of time and memory
      (`fnrunner.builtin.confined`): packages bring it, and nobody here has read it.
    - What it leaves in `ctx.resource_list["items"]` are the resources, in that order; anything
      else that it writes into the list is passed over, results too.
    - A resource that stays where it was keeps its line comments; the comments of list elements
      follow them.
    - What it prints is the function's log. Where it fails, its error is the only result.

Source: the catalog's functions/go/starlark.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cadlib.errors import PackageError
from cadlib.stream import resourcelist
from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import FieldPath, Value, same
from cadlib.yaml.match import match
from fnrunner.builtin import resource, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.confined import calls
from fnrunner.builtin.verdict import FunctionResult

ABOUT: Final = About(
    tags=(
        "v0.2", "v0.2.0", "v0.2.1", "v0.3", "v0.3.0", "v0.4", "v0.4.0", "v0.4.2", "v0.4.3",
        "v0.5", "v0.5.0", "v0.5.1", "v0.5.2", "v0.5.3", "v0.5.4", "v0.5.5",
    ),
    summary="Runs a Starlark script that changes or checks the resources.",
    doc="""\
- `StarlarkRun` (`fn.kpt.dev/v1alpha1`) with `source`, the script, and optional `params` of any
  form; or
- a ConfigMap whose `source` is the script; its other data are strings for the script.

The script reads the resources from `ctx.resource_list["items"]` and its configuration from
`ctx.resource_list["functionConfig"]`, and changes them in place. `ctx.open_api["definitions"]` has
Kubernetes' schemas. `fail("…")` stops it with an error, and `print` writes to the log. Sets,
recursion, `while` and top-level statements are allowed.

It can load `encoding/base64.star`, `encoding/csv.star`, `encoding/json.star`, `encoding/yaml.star`,
`hash.star`, `krmfn.star`, `math.star` and `re.star`; the catalog's other modules are refused
with the reason (D120). `ctx.environment` is the same everywhere (D121).

It has 10 seconds and 256 MiB of memory, and no access to files or network.
""",
    example="""\
apiVersion: fn.kpt.dev/v1alpha1
kind: StarlarkRun
metadata:
  name: add-tier
params:
  tier: backend
source: |
  tier = ctx.resource_list["functionConfig"]["params"]["tier"]
  for resource in ctx.resource_list["items"]:
    resource["metadata"].setdefault("annotations", {})["tier"] = tier
""",
)  # fmt: skip

_UNNAMED: Final = "starlark-function-run"
_CONFIG_MAP: Final = "/v1, Kind=ConfigMap"
_STARLARK_RUN: Final = "fn.kpt.dev/v1alpha1, Kind=StarlarkRun"
# What scripts see of the environment: that of a plain Linux system, and nothing of the runner's.
_ENVIRONMENT: Final = {
    "HOME": "/",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}
_EXACT_BELOW: Final = 2**53  # from there on a fraction may stand for a neighbour
_PATH: Final = "internal.config.kubernetes.io/path"
_INDEX: Final = "internal.config.kubernetes.io/index"
_OLD_PATH: Final = "config.kubernetes.io/path"
_OLD_INDEX: Final = "config.kubernetes.io/index"
_PLACES: Final = frozenset((_PATH, _INDEX, _OLD_PATH, _OLD_INDEX))


class _ScriptError(Exception):
    """The script cannot be run, or made no resources."""


@dataclass(frozen=True, slots=True)
class _Script:
    name: str
    source: str


def run(resources: ResourceList) -> FunctionResult:
    """Run the script that the configuration holds."""
    log: list[str] = []
    try:
        script = _read(resources.config)
        values = _called(script, resources, log)
        items = _items(values, resources.items)
    except (_ScriptError, calls.BrokenError, calls.CallStoppedError, PackageError) as error:
        text = str(error) if isinstance(error, _ScriptError) else f"the script: {error}"
        failure = verdict.refused(resources.items, verdict.result(text, "error"))
        return replace(failure, log="\n".join((*log, failure.log)))
    return FunctionResult(items=items, results=(), log="\n".join(log))


def _read(config: Value) -> _Script:
    if not config:
        raise _ScriptError("FunctionConfig is missing. Expect `ConfigMap` or `StarlarkRun`")
    if _is(config, "", "v1", "ConfigMap"):
        source = _config_map_source(config)
    elif _is(config, "fn.kpt.dev", "v1alpha1", "StarlarkRun"):
        source = _run_source(config)
    else:
        kind = f"{resource.group(config)}/{resource.version(config)}, Kind={resource.kind(config)}"
        raise _ScriptError(
            f"`functionConfig` must be either {_CONFIG_MAP} or {_STARLARK_RUN}, but we got: {kind}"
        )
    if not source:
        raise _ScriptError("`source` must not be empty")
    return _Script(resource.name(config) or _UNNAMED, source)


def _is(config: Value, group: str, version: str, kind: str) -> bool:
    """Tell whether a configuration is of a kind, as the SDK asks: what one leaves out fits."""
    found = resource.group(config), resource.version(config), resource.kind(config)
    pairs = zip(found, (group, version, kind), strict=True)
    return all(has in ("", wanted) or not wanted for has, wanted in pairs)


def _config_map_source(config: Value) -> str:
    data = resource.field(config, "data")
    if data is not None and not isinstance(data, dict):
        raise _wrong_type("v1.ConfigMap", "ConfigMap.data", data, "map[string]string")
    for value in resource.mapping(data).values():
        if value is not None and not isinstance(value, str):
            raise _wrong_type("v1.ConfigMap", "ConfigMap.data", value, "string")
    return resource.text(resource.field(data, "source"))


def _run_source(config: Value) -> str:
    source, params = resource.field(config, "source"), resource.field(config, "params")
    if source is not None and not isinstance(source, str):
        raise _wrong_type("starlark.StarlarkRun", "StarlarkRun.source", source, "string")
    if params is not None and not isinstance(params, dict):
        wanted = "map[string]interface {}"
        raise _wrong_type("starlark.StarlarkRun", "StarlarkRun.params", params, wanted)
    return source or ""


def _wrong_type(kind: str, field: str, value: Value, wanted: str) -> _ScriptError:
    # The catalog's words, which it has from Go's JSON reader.
    names = {list: "array", dict: "object", bool: "bool", str: "string"}
    found = names.get(type(value), "number")
    return _ScriptError(
        f"unable to convert object to *{kind} with error: json: cannot unmarshal {found} into Go"
        f" struct field {field} of type {wanted}"
    )


def _called(script: _Script, resources: ResourceList, log: list[str]) -> list[dict[str, Value]]:
    """Run the script and return what it left; `log` gets what it printed."""
    answer = calls.call(
        "starlark",
        {
            "name": script.name,
            "source": script.source,
            "environment": _ENVIRONMENT,
            "resource_list": {
                "apiVersion": resourcelist.API_VERSION,
                "kind": resourcelist.KIND,
                "items": [resourcelist.placed(item) for item in resources.items],
                "functionConfig": resources.config,
            },
        },
    )
    log += answer["log"]
    if "error" in answer:
        raise _ScriptError(answer["error"])
    return _mappings(answer["items"])


def _mappings(items: Value) -> list[dict[str, Value]]:
    if not isinstance(items, list):
        raise _ScriptError(
            f'the script left {_named(items)} in ctx.resource_list["items"]. Leave a list there.'
        )
    found = []
    for position, value in enumerate(items):
        if not isinstance(value, dict):
            raise _ScriptError(
                f'the script left {_named(value)} in ctx.resource_list["items"][{position}].'
                " Each item is a resource, a dict with apiVersion, kind and metadata."
            )
        found.append(value)
    return found


def _named(value: Value) -> str:
    if value is None:
        return "None"
    kinds = {dict: "a dict", list: "a list", str: "a string", bool: "a bool", int: "an int"}
    return kinds.get(type(value), "a float")


# --- what became of which resource -----------------------------------------------------------


def _items(values: Sequence[dict[str, Value]], given: Sequence[Item]) -> tuple[Item, ...]:
    """Return the items after a script; one that it left alone is the one that came."""
    sent = frozenset((item.path, item.index) for item in given)
    found = [_placed(value, position, sent) for position, value in enumerate(values)]
    return tuple(
        _carried(before, _counted(before, after))
        for before, after in zip(_before(found, given), found, strict=True)
    )


def _placed(
    value: dict[str, Value], position: int, sent: Collection[tuple[str, int | None]]
) -> Item:
    """Take out of a resource where it lies; other notes in its annotations stay."""
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict):
        return Item(value)
    places = {key: text for key, text in annotations.items() if key in _PLACES}
    if not places:
        return Item(value)
    kept = {key: text for key, text in annotations.items() if key not in places}
    path, index = _place(places, position, sent)
    bare = {**metadata, "annotations": kept}
    if not kept:
        del bare["annotations"]
    whole = {**value, "metadata": bare}
    if not bare:
        del whole["metadata"]
    return Item(whole, path=path, index=index)


def _place(
    places: Mapping[str, Value], position: int, sent: Collection[tuple[str, int | None]]
) -> tuple[str, int | None]:
    """Return path and index; the annotation that the script changed counts where two differ."""
    path, index = places.get(_PATH), places.get(_INDEX)
    old = places.get(_OLD_PATH), places.get(_OLD_INDEX)
    whole = isinstance(index, str) and index.isdecimal() and len(index) < 10
    if isinstance(path, str) and whole and old == (path, index):
        return path, int(str(index))
    # As for any function; the items before it are there for the position in an error.
    items: list[Value] = [*({} for _ in range(position)), {"metadata": {"annotations": {**places}}}]
    listed = {"apiVersion": resourcelist.API_VERSION, "kind": resourcelist.KIND, "items": items}
    item = resourcelist.decode(json.dumps(listed).encode(), sent).items[-1]
    return item.path, item.index


def _before(found: Sequence[Item], given: Sequence[Item]) -> list[Item | None]:
    """Return for each resource the one it was: by its place, else by a name of its own."""
    lying = {(item.path, item.index): item for item in given if item.path}
    was = [lying.pop((item.path, item.index), None) for item in found]
    named: dict[object, list[Item]] = {}
    for item in (*lying.values(), *(each for each in given if not each.path)):
        named.setdefault(resource.identity(item.value), []).append(item)
    for position, item in enumerate(found):
        same_name = named.get(resource.identity(item.value), [])
        if was[position] is None and len(same_name) == 1:
            was[position] = same_name.pop()
    return was


def _counted(before: Item | None, after: Item) -> Item:
    """Return a resource with whole numbers for those that a script worked out as fractions.

    `10 / 2` is 5.0 for a script, and 5 in what the catalog writes; a 2.0 that was there stays.
    """
    return replace(after, value=_whole(after.value, before.value if before else None))


def _whole(value: Value, before: Value) -> Value:
    if isinstance(value, dict):
        had = resource.mapping(before)
        return {key: _whole(each, had.get(key)) for key, each in value.items()}
    if isinstance(value, list):
        were = resource.items(before)
        return [
            _whole(each, were[position] if position < len(were) else None)
            for position, each in enumerate(value)
        ]
    if not isinstance(value, float) or (isinstance(before, float) and before == value):
        return value
    return int(value) if value.is_integer() and abs(value) < _EXACT_BELOW else value


def _carried(before: Item | None, after: Item) -> Item:
    """Return a resource with the comments that it had, or the one that came if it is the same."""
    if before is None:
        return after
    value = _as_given(before.value, after.value)
    if (after.path, after.index) == (before.path, before.index) and same(before.value, value):
        return before
    comments = dict(_comments(before.comments, before.value, value))
    return replace(
        before,
        value=value,
        comments=before.comments if comments == before.comments else comments,
        path=after.path,
        index=after.index,
    )


def _as_given(before: Value, after: Value) -> Value:
    """Return what a script left, with an empty `annotations` that only our notes had filled."""
    had = resource.mapping(resource.field(before, "metadata"))
    has = resource.mapping(resource.field(after, "metadata"))
    if "annotations" in had and not had["annotations"] and "annotations" not in has:
        return resource.with_field(after, ("metadata", "annotations"), had["annotations"])
    return after


def _comments(
    comments: Mapping[FieldPath, str], old: Value, new: Value
) -> Iterator[tuple[FieldPath, str]]:
    """Yield the comments of what is still there, where it is now."""
    for path, text in comments.items():
        now = _followed(path, old, new)
        if now is not None:
            yield now, text


def _followed(path: FieldPath, old: Value, new: Value) -> FieldPath | None:
    """Return where a field is now, or None once it is gone."""
    found: list[str | int] = []
    for key in path:
        if isinstance(key, int) and isinstance(old, list) and isinstance(new, list):
            if key not in (now := match(old, new)):
                return None
            old, new, key = old[key], new[now.index(key)], now.index(key)
        elif isinstance(old, dict) and isinstance(new, dict) and key in old and key in new:
            old, new = old[str(key)], new[str(key)]
        else:
            return None
        found.append(key)
    return tuple(found)
