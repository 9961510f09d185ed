"""Evaluates the policies of constraint templates, in a process that ends with it.

Payload:
    `templates`: each with `name`, and `modules`: texts with `text`, `file` (a name for errors)
    and `v1` (whether it is written in the first stable version of Rego); the first one has the
    rule `violation`.
    `inventory`: what policies find as `data.inventory`.
    `objects`, `parameters`: what checks refer to by position.
    `checks`: each three positions: of a template, an object (`input.review`) and parameters.

Answer: `found`, for each check its violations in the engine's order; or `error`, with `template`
and `check` (positions; the latter None where a template cannot be read) and `text`.

Source: Gatekeeper, "Constraint Templates" and "The Rego Policy Language"; regorus, its README.
"""

import hashlib
import hmac
import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from fnrunner.builtin.confined import rego_shims
from fnrunner.builtin.confined.go_text import sprintf

_PLACE: Final = re.compile(r"--> (?P<file>.+):(?P<line>\d+):(?P<column>\d+)\n")
_SAID: Final = re.compile(r"^error: (?P<text>.*(?:\n(?!\s*$|-->).+)*)", re.MULTILINE)
# What a function of ours raised, as the engine tells it.
_OURS: Final = re.compile(r"^extension '([\w.]+)' raises Python error: \w+: (.*)")
_REFUSED: Final = ("http.send",)  # a policy has no network; Gatekeeper refuses it too


class _PolicyError(Exception):
    """A policy cannot be read, or stopped with an error."""


def prepare(payload: Mapping[str, Any]) -> Callable[[], object]:
    """Return what evaluates the checks of a payload."""
    import regorus  # the engine of a call, and of no other

    return lambda: _run(payload, regorus.Engine)


def _run(payload: Mapping[str, Any], engine: Callable[[], Any]) -> dict[str, Any]:
    policies: dict[int, _Policy] = {}
    found: list[list[Any]] = []
    for position, template in enumerate(payload["templates"]):
        try:
            policies[position] = _Policy(engine(), template, payload["inventory"])
        except _PolicyError as error:
            return _error(position, None, error)
    for number, (template, review, parameters) in enumerate(payload["checks"]):
        given = {
            "review": payload["objects"][review],
            "parameters": payload["parameters"][parameters],
        }
        try:
            found.append(policies[template].violations(given))
        except _PolicyError as error:
            return _error(template, number, error)
    return {"found": found}


def _error(template: int, check: int | None, error: _PolicyError) -> dict[str, Any]:
    return {"error": {"template": template, "check": check, "text": str(error)}}


class _Policy:
    """One template in an engine of its own: its modules cannot see those of others."""

    def __init__(self, engine: Any, template: Mapping[str, Any], inventory: object) -> None:
        self._engine = engine
        modules = [{**each, "text": rego_shims.ready(each["text"])} for each in template["modules"]]
        packages = [rego_shims.package(each["text"]) for each in modules]
        self._rule = f"data.{packages[0]}.violation"
        for each in modules:
            self._add(each["file"], each["text"], v1=each["v1"])
        self._add("builtins", rego_shims.guarded(), v1=False)
        for name in sorted(set(packages)):
            texts = [each["text"] for each in modules if rego_shims.package(each["text"]) == name]
            more = rego_shims.for_package(name, texts)
            if more:
                self._add("builtins", more, v1=False)
        for name in _REFUSED:
            self._engine.add_extension(name, 1, _refuse)
        for name, (count, function) in _MORE.items():
            self._engine.add_extension(name, count, function)
        self._engine.add_data_json(json.dumps({"inventory": inventory}))

    def _add(self, file: str, text: str, *, v1: bool) -> None:
        self._engine.set_rego_v0(not v1)
        try:
            self._engine.add_policy(file, text)
        except RuntimeError as error:
            raise _PolicyError(_worded(str(error))) from error

    def violations(self, given: object) -> list[Any]:
        """Return what the rule `violation` holds for an input."""
        self._engine.set_input_json(json.dumps(given))
        try:
            found = json.loads(self._engine.eval_rule_as_json(self._rule))
        except RuntimeError as error:
            raise _PolicyError(_worded(str(error))) from error
        if not isinstance(found, list):
            raise _PolicyError('its rule `violation` is no set: write violation[{"msg": msg}]')
        return found


def _refuse(_: object) -> object:
    raise PermissionError("not allowed in a policy")


def _digest(name: str) -> Callable[[str], str]:
    return lambda text: hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest()


def _signature(name: str) -> Callable[[str, str], str]:
    return lambda text, key: hmac.digest(key.encode(), text.encode(), name).hex()


def _intersect(one: str, other: str) -> bool:
    first, second = (ipaddress.ip_network(each, strict=False) for each in (one, other))
    return first.version == second.version and first.overlaps(second)


# Functions of Open Policy Agent that the engine lacks, by name, with their number of arguments;
# `go.sprintf` is what its `sprintf` rests on.
_MORE: Final[Mapping[str, tuple[int, Callable[..., object]]]] = {
    **{f"crypto.{name}": (1, _digest(name)) for name in ("md5", "sha1", "sha256")},
    **{
        f"crypto.hmac.{name}": (2, _signature(name)) for name in ("md5", "sha1", "sha256", "sha512")
    },
    "go.sprintf": (2, sprintf),
    "net.cidr_intersects": (2, _intersect),
}


def _worded(text: str) -> str:
    """Return an error of the engine in one line, without its own stack."""
    text = text.partition("\nStack backtrace:")[0].strip()
    if text == "not a valid rule path":
        return 'it has no rule `violation`: write violation[{"msg": msg}]'
    place, said = _PLACE.search(text), _SAID.search(text)
    words = _OURS.sub(r"\1: \2", " ".join((said["text"] if said else text).split()))
    return f"{place['file']}:{place['line']}:{place['column']}: {words}" if place else words
