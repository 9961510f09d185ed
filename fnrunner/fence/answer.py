"""Translates a program's exit status and output into a function's outcome.

Rules
- Exit status 0 is success, any other a refusal; standard output is read either way.
- A refusal keeps its status, its words, and whatever results it wrote.
- Success without a ResourceList is no answer.

Source: docs/design.md, "The function contract".
"""

import re
from typing import Final

from cadlib.errors import PackageError
from cadlib.stream import resourcelist
from fnrunner.contract import results
from fnrunner.contract.errors import FunctionFailedError
from fnrunner.contract.results import Result
from fnrunner.contract.run import FunctionOutcome, within
from fnrunner.fence.sandbox import Ended

__all__ = ["is_block", "no_answer", "outcome", "refusal", "within"]

_LONGEST_WORDS: Final = 2000  # characters of what it said, in an error that people read
# In block style, a list as every function library writes it. Whoever takes the answer reads it
# whole anyway, so that what begins like one is not read twice.
_BLOCK: Final = re.compile(rb"^kind: ResourceList\s*$", re.MULTILINE)


def is_block(output: bytes) -> bool:
    """Tell whether an output is written as function libraries write a ResourceList."""
    return _BLOCK.search(output) is not None


def no_answer(name: str, reason: str, log: str) -> FunctionFailedError:
    """Return the error for a function that succeeded without a ResourceList.

    Args:
        name: The function, as it was asked for.
        reason: Why what it wrote is none.
        log: What it said.
    """
    said = log.strip()[:_LONGEST_WORDS] or "It said nothing"
    return FunctionFailedError(name, f"its output is not a ResourceList ({reason}). {said}")


def refusal(
    ended: Ended, resources: bytes, log: str, found: tuple[Result, ...], digest: str
) -> FunctionOutcome:
    """Return the answer of a function that refused.

    Args:
        ended: What its program left.
        resources: Its list.
        log: What it said.
        found: Its results.
        digest: What ran.
    """
    return FunctionOutcome(
        resources, log, failed=True, results=found, digest=digest, exit_code=ended.status
    )


def outcome(name: str, ended: Ended, digest: str) -> FunctionOutcome:
    """Return what a function answered, read here and now; for a process that serves nobody else.

    Args:
        name: The function, as it was asked for.
        ended: What its program left.
        digest: What ran, such as "sha256:…".

    Raises:
        FunctionFailedError: It says that it succeeded and wrote no ResourceList.
    """
    if ended.status != 0:
        try:
            found = tuple(resourcelist.decode(ended.output).results)
        except PackageError:  # many write nothing, or words, when they fail: their log says why
            return refusal(ended, results.resource_list(()), ended.log, (), digest)
        return refusal(ended, ended.output, ended.log, found, digest)
    if not is_block(ended.output):
        try:
            resourcelist.decode(ended.output)
        except PackageError as error:
            raise no_answer(name, str(error), ended.log) from error
    return FunctionOutcome(ended.output, ended.log, digest=digest)
