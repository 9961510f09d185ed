"""A builtin function's output, and entries of `results` in the catalog's form."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cadlib.stream.resourcelist import Item
from fnrunner.builtin import resource
from fnrunner.contract.results import Result

# What the catalog's functions, built on the functions SDK, print when they fail.
FAILURE_LOG = "failed to evaluate function: error: function failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionResult:
    """A builtin function's output: resources, results, failure.

    Attributes:
        items: Resources after it, in their order; as they came when it failed.
        results: Entries of `results`.
        failed: The function ends with an exit status other than 0.
        log: What it says to people besides; "" for nothing.
    """

    items: Sequence[Item]
    results: tuple[Result, ...]
    failed: bool = False
    log: str = ""


def refused(items: Sequence[Item], *results: Result) -> FunctionResult:
    """Return the verdict of a function that fails and changes nothing."""
    return FunctionResult(items=items, results=results, failed=True, log=FAILURE_LOG)


def logged(found: FunctionResult, prefix: str = "") -> FunctionResult:
    """Return a verdict whose log, if it failed, are its errors, each once.

    So do functions that are built on kyaml's framework, not on the functions SDK.

    Args:
        found: The verdict.
        prefix: What stands in front of the errors in messages only.
    """
    if not found.failed:
        return found
    errors = (str(each["message"]).removeprefix(prefix) for each in found.results)
    return replace(found, log="\n".join(dict.fromkeys(errors)))


def result(message: str, severity: str) -> Result:
    """Return an entry of `results` about no place in particular."""
    return {"message": message, "severity": severity}


def at(item: Item, message: str, severity: str, field: str) -> Result:
    """Return an entry of `results` about a field of a resource.

    Args:
        item: The resource.
        message: What is to be said.
        severity: "error", "warning" or "info".
        field: Dotted, such as "spec.containers[0].image"; "" for the whole resource.
    """
    entry: dict[str, object] = {
        "message": message,
        "severity": severity,
        "resourceRef": resource.reference(item.value),
    }
    if field:
        entry["field"] = {"path": field}
    if item.path:
        entry["file"] = file(item.path, item.index)
    return entry


def file(path: str, index: int | None) -> dict[str, object]:
    """Return the `file` of a result; like the catalog's, without an index of 0 (or unknown)."""
    return {"path": path, "index": index} if index else {"path": path}
