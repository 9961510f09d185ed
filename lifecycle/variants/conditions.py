"""What a Kptfile says of injection: a condition for each point, readiness gates for required ones.

Both lists are sorted where there is something to say, as in Porch; otherwise nothing is touched.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from cadlib.kptfile import text as kptfile_text
from cadlib.yaml import Value, read
from lifecycle.messages import variants as messages

PREFIX: Final = "config.injection."
"""What the types of these conditions begin with."""


class Point(Protocol):
    """A resource that asks for injection; as `InjectionPoint`."""

    @property
    def condition(self) -> str:
        """The type of its condition."""

    @property
    def required(self) -> bool:
        """The package is not ready without."""

    @property
    def errors(self) -> tuple[str, ...]:
        """What is wrong with it."""

    @property
    def injected(self) -> str:
        """The name of the object; "" where nothing was injected."""


def written(kptfile: bytes, points: Sequence[Point]) -> bytes:
    """Return a Kptfile that says what came of injection.

    Raises:
        PackageError: It cannot be read, or the change does not fit into its text.
    """
    value = kptfile_text.document(read(kptfile, path="Kptfile"))[1].value
    root = value if isinstance(value, dict) else {}
    changed = said(root, points)
    return kptfile if changed == root else kptfile_text.write(kptfile, changed)


def said(root: Mapping[str, Value], points: Sequence[Point]) -> dict[str, Value]:
    """Return the value of a Kptfile that says what came of injection."""
    changed = dict(root)
    info, status = _map(root.get("info")), _map(root.get("status"))
    gates = _gates(_list(info.get("readinessGates")), points)
    _put(changed, "info", info, "readinessGates", gates)
    found = _conditions(_list(status.get("conditions")), points)
    _put(changed, "status", status, "conditions", found)
    return changed


def _put(
    root: dict[str, Value], key: str, inner: Mapping[str, Value], list_key: str, wanted: list[Value]
) -> None:
    """Set a list of a mapping; one that is empty goes, and so does the mapping then."""
    if wanted:
        root[key] = {**inner, list_key: wanted}
    elif inner.get(list_key):
        rest = {each: value for each, value in inner.items() if each != list_key}
        root[key] = rest
        if not rest:
            del root[key]


def _gates(found: Sequence[Value], points: Sequence[Point]) -> list[Value]:
    required = {each.condition for each in points if each.required}
    kept = [each for each in found if not _stale(_map(each).get("conditionType"), required)]
    there = {_map(each).get("conditionType") for each in kept}
    new: list[Value] = [{"conditionType": each} for each in sorted(required - there)]
    if not new and len(kept) == len(found):
        return list(found)
    return sorted([*kept, *new], key=lambda each: f"{_map(each).get('conditionType')}")


def _conditions(found: Sequence[Value], points: Sequence[Point]) -> list[Value]:
    wanted = {each.condition: _condition(each) for each in points}
    kept = [each for each in found if not _stale(_map(each).get("type"), wanted)]
    there = [_map(each).get("type") for each in kept]
    now: list[Value] = [
        wanted.get(f"{type_}", each) for type_, each in zip(there, kept, strict=True)
    ]
    now += [each for type_, each in wanted.items() if type_ not in there]
    if not points and len(kept) == len(found):
        return list(found)
    return sorted(now, key=lambda each: f"{_map(each).get('type')}")


def _stale(type_: Value, wanted: "Mapping[str, Value] | set[str]") -> bool:
    return isinstance(type_, str) and type_.startswith(PREFIX) and type_ not in wanted


def _condition(point: Point) -> Value:
    if point.injected:
        message = messages.injected(point.injected)
        return _value(point.condition, "True", message, "ConfigInjected")
    message = ", ".join(point.errors) or messages.NOTHING_SELECTED
    return _value(point.condition, "False", message, "NoResourceSelected")


def _value(type_: str, status: str, message: str, reason: str) -> dict[str, Value]:
    return {"type": type_, "status": status, "message": message, "reason": reason}


def _map(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}


def _list(value: Value) -> Sequence[Value]:
    return value if isinstance(value, list) else []
