"""The engine of the function gatekeeper, asked what Open Policy Agent is asked."""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

import regorus

from fnrunner.builtin.confined.rego_engine import CompiledPolicy, PolicyError
from tests.opa.agent import Answer, Question

_PLACE: Final = re.compile(r"^\S+:\d+:\d+: ")
_ASKING: Final = "package asking_here\nviolation contains {{{names}}} if {{\n{query}\n}}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a question.

    Attributes:
        kind: "equal", "refused" (when it was loaded), "stopped" (when it was evaluated) or
            "different".
        why: Why it was refused or stopped, or what differs.
    """

    kind: str
    why: str = ""


def outcome(question: Question, wanted: Answer) -> Outcome:
    """Ask the engine, and compare."""
    names = sorted(wanted.results[0]) if wanted.results else []
    engine = regorus.Engine()
    try:
        policy = CompiledPolicy(engine, {"modules": _modules(question, names)}, question.data or {})
    except PolicyError as error:
        return Outcome("equal") if wanted.error else Outcome("refused", _said(error))
    if question.input:
        engine.set_input_json(json.dumps(question.input[0]))
    try:
        found = policy.found()
    except BaseException as error:  # a panic of the engine is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return Outcome("equal") if wanted.error else Outcome("stopped", _said(error))
    if not wanted.error and _same({"$set": wanted.results}, found):
        return Outcome("equal")
    return Outcome("different", f"{wanted.error or wanted.results}; here {found}")


def _modules(question: Question, names: list[str]) -> list[dict[str, Any]]:
    query = question.query
    if question.input_term:
        query += f" with input as {question.input_term}"
    told = ", ".join(f"{json.dumps(name)}: {name}" for name in names)
    asking = {"file": "query", "text": _ASKING.format(names=told, query=query), "v1": True}
    return [asking] + [
        {"file": f"module{number}", "text": text, "v1": question.v1}
        for number, text in enumerate(question.modules)
    ]


def _said(error: BaseException) -> str:
    return _PLACE.sub("", str(error))


def _same(wanted: Any, found: Any) -> bool:
    """Whether a value is the one that is wanted; members of sets stand in any order."""
    if isinstance(wanted, dict) and set(wanted) == {"$set"}:
        rest = list(found) if isinstance(found, list) else [None]
        for member in wanted["$set"]:
            places = [number for number, each in enumerate(rest) if _same(member, each)]
            if not places:
                return False
            del rest[places[0]]
        return not rest
    if isinstance(wanted, dict):
        return (
            isinstance(found, dict)
            and set(wanted) == set(found)
            and all(_same(wanted[key], found[key]) for key in wanted)
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list) and len(wanted) == len(found) and all(map(_same, wanted, found))
        )
    same_kind = type(wanted) is type(found) or (_is_number(wanted) and _is_number(found))
    return same_kind and bool(wanted == found)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
