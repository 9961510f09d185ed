"""Packages made of texts, and renderings driven with functions that are told what to do."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cadlib.limits import PackageLimits
from cadlib.package.files import Entry, Files
from cadlib.render.pipeline import CallOutcome, FunctionCall, PipelineFunction, Rendered, render
from cadlib.stream.resourcelist import Item, ResourceList, decode, encode
from cadlib.yaml import Value

CATALOG = "ghcr.io/kptdev/krm-functions-catalog/"
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n"

Behaviour = Callable[[ResourceList], Sequence[Item] | CallOutcome]


@dataclass
class Run:
    """What a driven rendering did."""

    rendered: Rendered
    calls: list[FunctionCall] = field(default_factory=list)

    @property
    def seen(self) -> list[tuple[str, str, str, list[str]]]:
        """For each call: function, package, step, and the resources in order."""
        return [
            (
                call.image.removeprefix(CATALOG).removesuffix(":latest"),
                call.package,
                call.step,
                [f"{item.path}/{item.index}" for item in decode(call.resources).items],
            )
            for call in self.calls
        ]

    @property
    def texts(self) -> list[str]:
        """The findings as people read them."""
        return [f"{each.severity}: {each}" for each in self.rendered.findings]


def tree(**files: str) -> dict[str, Entry]:
    """Make a package; `__` stands for "/", `_yaml` at the end for ".yaml"."""
    return {
        path.replace("__", "/").replace("_yaml", ".yaml"): Entry(text.encode())
        for path, text in files.items()
    }


def pipeline(*mutators: str, validators: Sequence[str] = ()) -> str:
    """Make a Kptfile with these functions, each by name or as a flow mapping."""
    lines = [KPTFILE, "pipeline:\n"]
    for key, functions in (("mutators", mutators), ("validators", validators)):
        lines += [f"  {key}:\n"] if functions else []
        lines += [f"  - {each if '{' in each else f'image: {each}'}\n" for each in functions]
    return "".join(lines)


def resource(name: str, rest: str = "", kind: str = "Thing") -> str:
    """Make a resource's text."""
    return f"apiVersion: x.io/v1\nkind: {kind}\nmetadata:\n  name: {name}\n{rest}"


def drive(
    files: Files,
    behaviours: Mapping[str, Behaviour] | None = None,
    *,
    mutators: Sequence[PipelineFunction] = (),
    validators: Sequence[PipelineFunction] = (),
    limits: PackageLimits | None = None,
) -> Run:
    """Render with these functions, by short name; others return what they get."""
    steps = render(
        files, mutators=mutators, validators=validators, limits=limits or PackageLimits()
    )
    calls: list[FunctionCall] = []
    try:
        call = next(steps)
        while True:
            calls.append(call)
            name = call.image.removeprefix(CATALOG).partition(":")[0]
            call = steps.send(_outcome((behaviours or {}).get(name, same), call))
    except StopIteration as done:
        rendered: Rendered = done.value
        return Run(rendered, calls)


def _outcome(behaviour: Behaviour, call: FunctionCall) -> CallOutcome:
    given = decode(call.resources)
    came = behaviour(given)
    if isinstance(came, CallOutcome):
        return came
    return CallOutcome(resources=encode(came, given.config))


def same(given: ResourceList) -> Sequence[Item]:
    """Return the resources as they came."""
    return given.items


def put(*path: str, value: Value) -> Behaviour:
    """Make a function that sets one field of every resource."""

    def behaviour(given: ResourceList) -> Sequence[Item]:
        return [replace(item, value=with_value(item.value, path, value)) for item in given.items]

    return behaviour


def with_value(old: Value, path: Sequence[str], value: Value) -> Value:
    """Return a value with one field set."""
    if not path:
        return value
    inner = old if isinstance(old, dict) else {}
    return {**inner, path[0]: with_value(inner.get(path[0]), path[1:], value)}


def named(item: Item) -> Any:
    """Return a resource's name."""
    return item.value["metadata"]["name"]  # type: ignore[index,call-overload]  # a test's own resource


def failing(error: str, *results: Mapping[str, object]) -> Behaviour:
    """Make a function that fails."""
    return lambda given: CallOutcome(resources=None, results=results, error=error)


def saying(*results: Mapping[str, object]) -> Behaviour:
    """Make a function that changes nothing and reports."""
    return lambda given: CallOutcome(resources=encode(given.items), results=results)


NEW: Value = {"apiVersion": "v1", "kind": "A", "metadata": {"name": "n"}}
