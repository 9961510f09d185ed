"""Kinds of several functions: one on a file by `porchbot fn eval`, and the pieces of setters."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner

from bot.cli.fn.group import fn
from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import FieldPath, Value, digits, edit, emit, read
from cadlib.yaml.scalars import plain
from fnrunner.builtin import lookup, setters
from fnrunner.contract.results import Result
from tests.cases.compare import by_rule, put
from tests.cases.model import Case, Verdict, checked, deviates, failed

FILE = "resources.yaml"

_NO_RESOURCE = "must contain only KRM resources"
"""What commands say, kpt's too, of the few inputs that they give to no function."""

_QUOTED = re.compile(r'(.*?: |- )"(.*)"((?: #.*)?)')
_BRACKETS = re.compile(r"([^\s:]+:) \[([^\]]+)\](.*)")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a function made of a file.

    Attributes:
        text: The file afterwards; as it was where the function failed.
        results: What the function said.
        failed: It failed.
        templates: The file has documents with templates, which functions are not given.
    """

    text: str
    results: Sequence[Result]
    failed: bool
    templates: bool

    @property
    def messages(self) -> str:
        """What it said, one message a line; an error in quotes as it is without."""
        return "\n".join(str(each["message"]) for each in self.results).replace('\\"', '"')


def config(text: str) -> Value:
    """Return the first document of a text."""
    found = next((each for each in read(text.encode()).documents if not each.empty), None)
    return digits.written(found.value, found) if found else None


def items(text: str, path: str = FILE) -> list[tuple[int, Item]]:
    """Return the resources of a file, each with the position of its document."""
    return [
        (position, Item(each.value, each.comments, path, each.index, each))
        for position, each in enumerate(read(text.encode()).documents)
        if not each.empty and not each.template
    ]


def run(name: str, text: str, function_config: str) -> Ran:
    """Run a function on a file of a package by `porchbot fn eval`."""
    stream = read(text.encode())
    templates = any(each.template for each in stream.documents)
    with TemporaryDirectory(prefix="case") as base:
        folder = Path(base)
        put({FILE: text}, folder / "package")
        (folder / "config.yaml").write_text(_whole(function_config))
        options = ["--fn-config", str(folder / "config.yaml")] if config(function_config) else []
        results = ["--results-dir", str(folder / "results")]
        ran = CliRunner().invoke(
            fn, ["eval", str(folder / "package"), "--image", name, *options, *results]
        )
        if ran.exception and not isinstance(ran.exception, SystemExit):
            raise ran.exception
        found = _results(folder / "results")
        after = (folder / "package" / FILE).read_text()
    if _NO_RESOURCE in ran.stderr:
        return _alone(name, text, function_config)
    if ran.exit_code and not found:
        raise ValueError(ran.stderr)
    return Ran(after, found, failed=bool(ran.exit_code), templates=templates)


def _alone(name: str, text: str, function_config: str) -> Ran:
    """Run a function without a command."""
    given = items(text)
    resources = ResourceList(tuple(item for _, item in given), config(function_config))
    answer = lookup.get(name).run(resources)
    stream = read(text.encode())
    templates = any(each.template for each in stream.documents)
    if answer.failed:
        return Ran(text, answer.results, failed=True, templates=templates)
    values: dict[int, Value] = {}
    comments: dict[int, Mapping[FieldPath, str]] = {}
    for (position, before), after in zip(given, answer.items, strict=True):
        if after is not before:
            values[position], comments[position] = after.value, after.comments
    new = edit(stream, values, comments=comments).decode()
    return Ran(new, answer.results, failed=False, templates=templates)


def _whole(function_config: str) -> str:
    """Return a configuration with what a command asks of one: the cases are of functions."""
    given = config(function_config)
    if not isinstance(given, dict):
        return function_config
    head: dict[str, Value] = {"apiVersion": "v1", "kind": "ConfigMap"}
    value = {**head, **given}
    value.setdefault("metadata", {"name": "config"})
    return emit(value)


def _results(folder: Path) -> list[Result]:
    found: list[Any] = []
    for file in sorted(folder.glob("*")) if folder.exists() else ():
        value: Any = read(file.read_bytes()).documents[0].value
        found += [each for item in value.get("items", ()) for each in item.get("results", ())]
    return found


def transform(case: Case) -> Verdict:
    """Kind transform: compare the text, or the error and that nothing changed."""
    ran = run(case.data["function"], case.data["input"], case.data["function_config"])
    return judged(case, ran)


def judged(case: Case, ran: Ran) -> Verdict:
    """Return the verdict of a case of kind transform.

    The text counts to the character, but for the layout of what did not change and of lists.
    """
    wanted = case.data.get("error_contains", "")
    if wanted and not (ran.failed and wanted in ran.messages):
        return failed(f"no failure with {wanted!r}, but:\n{ran.messages}")
    if ran.failed and not wanted:
        return failed(f"it failed:\n{ran.messages}")
    expected = case.data["expected"]
    difference = by_rule(case.data["compare"], expected, ran.text)
    if difference and _alike(_lines(expected), _lines(ran.text)):
        return deviates("D110", "the layout stays")
    return checked(difference)


def _alike(expected: Sequence[str], actual: Sequence[str]) -> bool:
    """Say whether lines are the same but for quotes around what could be taken for no text."""
    return len(expected) == len(actual) and all(
        each == line
        or (
            (found := _QUOTED.fullmatch(line))
            and not plain(found[2])
            and each == f"{found[1]}{found[2]}{found[3]}"
        )
        for each, line in zip(expected, actual, strict=True)
    )


def _lines(text: str) -> list[str]:
    """Return the lines of a text without blanks around them, each list over several lines."""
    found: list[str] = []
    for line in text.strip().split("\n"):
        match = _BRACKETS.fullmatch(line.strip())
        found += (
            [match[1] + match[3], *(f"- {each}" for each in match[2].split(", "))]
            if match
            else [line.strip()]
        )
    return found


def pattern_values(case: Case) -> Verdict:
    """Kind pattern-values: what the setters of a pattern are, from a value."""
    found = setters.derived(case.data["pattern"], case.data["value"])
    return checked("" if found == case.data["expected"] else f"found {found!r}")


def config_error(case: Case) -> Verdict:
    """Kind config-error: the function refuses its configuration."""
    ran = run(case.data["function"], "", case.data["function_config"])
    wanted = case.data["error_equals"]
    if not ran.failed:
        return failed(f"no failure with {wanted!r}")
    return checked("" if wanted in ran.messages else ran.messages)
