"""Calls a builtin function on YAML text, as tests like to write it."""

from collections.abc import Callable
from dataclasses import dataclass

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value, read
from fnrunner.builtin.verdict import FunctionResult

Run = Callable[[ResourceList], FunctionResult]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: values of the resources, results, and whether it failed."""

    values: tuple[Value, ...]
    results: tuple[object, ...]
    failed: bool
    log: str

    @property
    def messages(self) -> list[str]:
        """Severity and message of each result."""
        return [_said(result) for result in self.results]


def _said(result: object) -> str:
    assert isinstance(result, dict)
    return f"{result.get('severity', '-')}: {result['message']}"


def values(text: str) -> list[Value]:
    """The documents of a text."""
    return [doc.value for doc in read(text.encode()).documents if not doc.empty]


def items(text: str, path: str = "resources.yaml") -> tuple[Item, ...]:
    """The documents of a text as the resources of one file."""
    return tuple(
        Item(value=value, comments={}, path=path, index=index)
        for index, value in enumerate(values(text))
    )


def call(run: Run, text: str, config: str | None) -> Answer:
    """Run a function on one file; `config` is its functionConfig."""
    return call_items(run, items(text), values(config)[0] if config else None)


def call_items(run: Run, given: tuple[Item, ...], config: Value) -> Answer:
    """Run a function on items."""
    verdict = run(ResourceList(items=given, config=config, results=()))
    return Answer(
        values=tuple(item.value for item in verdict.items),
        results=verdict.results,
        failed=verdict.failed,
        log=verdict.log,
    )


def config_map(**data: str) -> str:
    """The ConfigMap that a `configMap` in a Kptfile becomes."""
    lines = "".join(f'\n  {key}: "{value}"' for key, value in data.items())
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: function-input\ndata:{lines or ' {}'}"
    )
