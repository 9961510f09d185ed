"""What a program's exit status and output mean as the answer of a function.

Rules
- Exit status 0 is success, any other a refusal; standard output is read either way.
- A refusal keeps its status, its words, and whatever results it wrote.
- Success without a ResourceList is no answer.

Source: reference/kpt.md, section 5.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from cadlib import resourcelist
from cadlib.errors import PackageError
from fnrunner import results
from fnrunner.errors import FunctionFailedError
from fnrunner.results import Result
from fnrunner.run import Bounds, Outcome
from fnrunner.sandbox import Ended

_LONGEST_WORDS: Final = 2000  # characters of what it said, in an error that people read
# In block style, a list as every function library writes it. Whoever takes the answer reads it
# whole anyway, so that what begins like one is not read twice.
_BLOCK: Final = re.compile(rb"^kind: ResourceList\s*$", re.MULTILINE)
_SPARE: Final = 0.1  # seconds


def outcome(name: str, ended: Ended, digest: str) -> Outcome:
    """Return what a function answered.

    Args:
        name: The function, as it was asked for.
        ended: What its program left.
        digest: What ran, such as "sha256:…".

    Raises:
        FunctionFailedError: It says that it succeeded and wrote no ResourceList.
    """
    if ended.status != 0:
        return _refusal(ended, digest)
    if not _BLOCK.search(ended.output):
        try:
            resourcelist.decode(ended.output)
        except PackageError as error:
            said = ended.log.strip()[:_LONGEST_WORDS] or "It said nothing"
            raise FunctionFailedError(
                name, f"its output is no ResourceList ({error}). {said}"
            ) from error
    return Outcome(ended.output, ended.log, digest=digest)


def _refusal(ended: Ended, digest: str) -> Outcome:
    resources = ended.output
    found: tuple[Mapping[str, object], ...] = ()
    try:
        found = resourcelist.decode(resources).results
    except PackageError:  # many write nothing, or words, when they fail: their log says why
        resources = results.resource_list(())
    listed: tuple[Result, ...] = tuple(found)
    return Outcome(
        resources, ended.log, failed=True, results=listed, digest=digest, exit_code=ended.status
    )


def within(bounds: Bounds, seconds: float | None) -> Bounds:
    """Return bounds for a caller who waits so long.

    Args:
        bounds: What the function may take.
        seconds: How long its caller waits; None if that is not known.

    Returns:
        Bounds with a little less time than that, so that the caller still hears what was taken.
    """
    if seconds is None:
        return bounds
    return replace(bounds, seconds=min(bounds.seconds, max(seconds - _SPARE, 0.9 * seconds)))
