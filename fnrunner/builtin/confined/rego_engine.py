"""Evaluates the policies of constraint templates, in a process that ends with it.

Payload:
    `templates`: each with `name`, and `modules`: texts with `text`, `file` (a name for errors)
    and `v1` (whether it is written in the first stable version of Rego); the first one has the
    rule `violation`.
    `data`: what policies find as `data`, as far as it is not from modules.
    `objects`, `parameters`: what checks refer to by position.
    `checks`: each three positions: of a template, an object (`input.review`) and parameters.

Answer: `found`, for each check its violations in the engine's order; or `error`, with `template`
and `check` (positions; the latter None where a template cannot be read) and `text`.

Source: Gatekeeper, "Constraint Templates" and "The Rego Policy Language"; regorus, its README.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from fnrunner.builtin.confined.rego import compiler, extensions, functions

_PLACE: Final = re.compile(r"--> (?P<file>.+):(?P<line>\d+):(?P<column>\d+)\n")
_SAID: Final = re.compile(r"^error: (?P<text>.*(?:\n(?!\s*$|-->).+)*)", re.MULTILINE)
# What a function of ours raised, as the engine tells it.
_OURS: Final = re.compile(r"^extension '(?:ours\.)?([\w.]+)' raises Python error: \w+: (.*)")
# Lengths of modules that the engine takes; payloads are limited already.
_LENGTHS: Final = {"max_col": 1 << 24, "max_file_bytes": 1 << 26, "max_lines": 1 << 22}


class PolicyError(Exception):
    """A policy cannot be read, or stopped with an error."""


def prepare(payload: Mapping[str, Any]) -> Callable[[], object]:
    """Return what evaluates the checks of a payload."""
    import regorus  # the engine of a call, and of no other

    return lambda: _run(payload, regorus.Engine)


def _run(payload: Mapping[str, Any], engine: Callable[[], Any]) -> dict[str, Any]:
    policies: dict[int, CompiledPolicy] = {}
    found: list[list[Any]] = []
    for position, template in enumerate(payload["templates"]):
        try:
            policies[position] = CompiledPolicy(engine(), template, payload["data"])
        except PolicyError as error:
            return _error(position, None, error)
    for number, (template, review, parameters) in enumerate(payload["checks"]):
        given = {
            "review": payload["objects"][review],
            "parameters": payload["parameters"][parameters],
        }
        try:
            found.append(policies[template].violations(given))
        except PolicyError as error:
            return _error(template, number, error)
    return {"found": found}


def _error(template: int, check: int | None, error: PolicyError) -> dict[str, Any]:
    return {"error": {"template": template, "check": check, "text": str(error)}}


class CompiledPolicy:
    """One template in an engine of its own: its modules cannot see those of others."""

    def __init__(self, engine: Any, template: Mapping[str, Any], data: object) -> None:
        self._engine = engine
        self._engine.set_policy_length_config(**_LENGTHS)
        try:
            modules = compiler.compiled(template["modules"])
        except compiler.UnreadableError as error:
            raise PolicyError(str(error)) from error
        self._writers = {each.file: each.writer for each in modules}
        self._rule = f"data.{modules[0].package}.violation"
        for name, (count, function) in extensions.FUNCTIONS.items():
            self._engine.add_extension(name, count, function)
        self._add("builtins", functions.module({name for each in modules for name in each.used}))
        for each in modules:
            self._add(each.file, each.writer.text)
        self._engine.add_data_json(json.dumps(data))
        self._analyse()

    def _add(self, file: str, text: str) -> None:
        try:
            self._engine.add_policy(file, text)
        except RuntimeError as error:
            raise PolicyError(self._worded(str(error))) from error

    def _analyse(self) -> None:
        """Have the engine look for what it cannot evaluate, as it does before a first query."""
        try:
            self._engine.eval_query("true")
        except RuntimeError as error:
            raise PolicyError(self._worded(str(error))) from error

    def violations(self, given: object) -> list[Any]:
        """Return what the rule `violation` holds for an input."""
        self._engine.set_input_json(json.dumps(given))
        return self.found()

    def found(self) -> list[Any]:
        """Return what the rule `violation` holds for the input that the engine has."""
        try:
            found = json.loads(self._engine.eval_rule_as_json(self._rule))
        except RuntimeError as error:
            raise PolicyError(self._worded(str(error))) from error
        if not isinstance(found, list):
            raise PolicyError('its rule `violation` is not a set: write violation[{"msg": msg}]')
        return found

    def _worded(self, text: str) -> str:
        """Return an error of the engine in one line, without its own stack."""
        text = text.partition("\nStack backtrace:")[0].strip()
        if text == "not a valid rule path":
            return 'it has no rule `violation`: write violation[{"msg": msg}]'
        place, said = _PLACE.search(text), _SAID.search(text)
        words = _OURS.sub(r"\1: \2", " ".join((said["text"] if said else text).split()))
        words = words.replace("not an i64", "numbers beyond 64 bits are not supported here")
        if place is None:
            return words
        line, column = int(place["line"]), int(place["column"])
        if place["file"] in self._writers:
            line, column = self._writers[place["file"]].origin((line, column))
        return f"{place['file']}:{line}:{column}: {words}"
