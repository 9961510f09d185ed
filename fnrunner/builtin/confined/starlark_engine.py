"""Runs a Starlark script on a ResourceList, in a process that ends with it.

Payload: `name` and `source` of the script, `resource_list`, and `environment` (texts by name).
Answer: `items` as the script left them, or `error`; and `log`, the lines that it printed.

Rules:
    - The dialect is the catalog's: sets, recursion, `while`, statements at the top level.
    - What a script finds as `ctx` has `resource_list`, `open_api` (read when it is used)
      and `environment`.

Source: the catalog's functions/go/starlark.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from fnrunner.builtin.confined import starlark_modules, starlark_source
from fnrunner.builtin.confined.starlark_modules import LoadError
from fnrunner.contract.run import MIB

_LIST: Final = "__resource_list"
_GIVEN: Final = "__given"
_LOG_CHARACTERS: Final = MIB  # as much as is kept of what an image says
# The interpreter quotes what it was to turn into Python, and all that this lies in.
_CONVERTING: Final = re.compile(
    r"While converting value .*?(?:starlark\.(?P<kind>\w+) to Python\Z|\Z)", re.DOTALL
)
# Stands before the script, on one line. What is made while a script runs can be changed by it;
# what is handed over before is frozen.
_CONTEXT: Final = (
    f'{_LIST} = {_GIVEN}("resource_list"); __open_api = {_GIVEN}("open_api");'
    f' __environment = {_GIVEN}("environment"); ctx = lambda name: {{"resource_list": {_LIST},'
    ' "open_api": __open_api, "environment": __environment}[name]\n'
)


def prepare(payload: Mapping[str, Any]) -> Callable[[], object]:
    """Read what a script may need, and return what runs it."""
    # Its runtime has threads of its own, so it cannot be there before the process is forked.
    import starlark_go

    starlark_go.configure_starlark(allow_set=True, allow_global_reassign=True, allow_recursion=True)
    schemas = _schemas() if "open_api" in payload["source"] else {}
    return lambda: _run(payload, schemas)


def _schemas() -> dict[str, Any]:
    """Return Kubernetes' schemas of the newest version at hand, as OpenAPI names them."""
    spec = find_spec("kubernetes_validate")
    assert spec is not None  # noqa: S101 - a dependency
    assert spec.origin is not None  # noqa: S101 - a package with files
    files = Path(spec.origin).parent.glob("kubernetes-json-schema/*-local/_definitions.json")
    newest = max(files, key=lambda path: int(path.parent.name.split(".")[1]))
    text = newest.read_text(encoding="utf-8").replace('"#/$defs/', '"#/definitions/')
    return {"definitions": json.loads(text, object_hook=_plainly_typed)["$defs"]}


def _plainly_typed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with one type, as OpenAPI has it, where the files allow null as well."""
    match schema.get("type"):
        case [str(kind), "null"]:
            schema["type"] = kind
    return schema


class _Log:
    """What a script prints, up to a limit."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._left = _LOG_CHARACTERS

    def add(self, line: str) -> None:
        if self._left <= 0:
            return
        self.lines.append(line[: self._left])
        self._left -= len(line) + 1
        if self._left <= 0:
            self.lines.append(f"… more than {_LOG_CHARACTERS} characters; the rest is left out")


def _run(payload: Mapping[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    from starlark_go import Starlark, StarlarkError

    log = _Log()
    script: str = payload["source"]
    given = {**payload, "open_api": schemas}
    values = {_GIVEN: lambda name: given[name], starlark_source.LOAD: lambda *args: _member(*args)}
    ready = starlark_source.ScriptSource(script, ())
    try:
        ready = starlark_source.ready(script, _members(script))
        starlark = Starlark(globals=values, print=lambda line: log.add(line))
        starlark.exec(_CONTEXT + ready.text, filename=payload["name"])
        left: Any = starlark.get(_LIST)  # type: ignore[func-returns-value]  # its types say None
        return {"items": _listed(left), "log": log.lines}
    except StarlarkError as error:
        said = _without_values(str(error.args[0]))
        return {"error": ready.message(said, _CONTEXT.count("\n")), "log": log.lines}
    except LoadError as error:
        return {"error": str(error), "log": log.lines}


def _without_values(text: str) -> str:
    """Return an error without the values that it quotes whole, Secrets and all."""
    found = _CONVERTING.search(text)
    if found is None:
        return text
    kind = f"a {found['kind']}" if found["kind"] else "something"
    return f"{text[: found.start()]}{kind} cannot be part of a resource, nor be given to a module"


def _members(script: str) -> set[str]:
    found = set(starlark_source.CONTEXT)
    for each in starlark_source.loads(script):
        found.update(_struct(each.module, each.member))
    return found


def _struct(module: str, name: str) -> starlark_modules.Module:
    offered = starlark_modules.load(module)
    if name not in offered:
        raise LoadError(f"load: name {name} not found in module {module}")
    return offered[name]


@cache  # the binding holds no reference of its own to a function that it is returned
def _member(module: str, name: str) -> Callable[[str], Any]:
    members = _struct(module, name)

    def member(wanted: str) -> Any:
        if wanted not in members:
            raise AttributeError(f"{name} has no .{wanted} attribute")
        return members[wanted]

    return member


def _listed(resource_list: Any) -> Any:
    """Return `items` with what JSON can say; what it cannot is told with its place."""
    items = resource_list.get("items") if isinstance(resource_list, dict) else None
    return _plain(items, "items")


def _plain(value: Any, place: str) -> Any:
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str | int | float):
                raise LoadError(f"{place}: a key is a {type(key).__name__}, want a string")
        return {_key(key): _plain(each, f"{place}.{key}") for key, each in value.items()}
    if isinstance(value, set):
        value = sorted(value, key=repr)  # in Python it has no order of its own
    if isinstance(value, list | tuple):
        return [_plain(each, f"{place}[{i}]") for i, each in enumerate(value)]
    if value is None or isinstance(value, str | int | float):
        return value
    raise LoadError(f"{place}: a {type(value).__name__} cannot be part of a resource")


def _key(key: str | float) -> str:
    return key if isinstance(key, str) else json.dumps(key)
