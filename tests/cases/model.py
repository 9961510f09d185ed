"""What a case is, and what can be said of it after it was run.

A corpus is a folder with a `cases.jsonl`, one JSON object a line; each has an `id`, unique in
its corpus, and a `kind`. The module `tests.cases.<corpus>` holds `KINDS`: for each kind a
handler, which runs a case and returns its verdict.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, TypeAlias

CASES = "cases.jsonl"


@dataclass(frozen=True, slots=True)
class Case:
    """One case, as its corpus gives it.

    Attributes:
        corpus: Name of its folder, such as "merge3" or "functions/set-labels".
        id: Its name, unique in the corpus.
        kind: How it is run; the corpus's README says what each kind means.
        data: All its fields, as JSON has them.
        functions: Images of the functions that it runs, as the case writes them.
    """

    corpus: str
    id: str
    kind: str
    data: Mapping[str, Any] = field(repr=False)
    functions: tuple[str, ...] = ()


class Outcome(Enum):
    """What became of a case; the value is the heading of its column."""

    PASSED = "passed"
    DEVIATES = "deviates"
    IMAGE_ONLY = "image only"
    WAITING = "waiting"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a case, and why.

    Attributes:
        outcome: Which of the five.
        text: The difference that was found, or what is waited for; "" when passed.
        deviation: The entry of docs/deviations.md, such as "D07"; "" unless it deviates.
    """

    outcome: Outcome
    text: str = ""
    deviation: str = ""


Handler: TypeAlias = Callable[[Case], Verdict]


def passed() -> Verdict:
    """Say that the case gives what it expects."""
    return Verdict(Outcome.PASSED)


def failed(text: str) -> Verdict:
    """Say what differs; `text` may have many lines."""
    return Verdict(Outcome.FAILED, text)


def waiting(reason: str) -> Verdict:
    """Say what is not there yet, such as the name of a function."""
    return Verdict(Outcome.WAITING, reason)


def image_only(reason: str) -> Verdict:
    """Say that it needs a function that is an image only, and why."""
    return Verdict(Outcome.IMAGE_ONLY, reason)


def deviates(deviation: str, text: str) -> Verdict:
    """Say that it differs on purpose, and only in what an entry of docs/deviations.md describes.

    Args:
        deviation: Number of that entry, such as "D07".
        text: What differs here, in a few words.
    """
    return Verdict(Outcome.DEVIATES, text, deviation)


def checked(difference: str) -> Verdict:
    """Return `passed` where there is no difference, and `failed` with it where there is one."""
    return failed(difference) if difference else passed()


def corpora(folder: Path) -> dict[str, Path]:
    """Return the files of the corpora below a folder, or of the one that it is, by name."""
    if (folder / CASES).exists():
        return {folder.resolve().name: folder / CASES}
    found = sorted(folder.rglob(CASES))
    return {file.parent.relative_to(folder).as_posix(): file for file in found}


def load(corpus: str, file: Path) -> Iterator[Case]:
    """Read the cases of one corpus, in the order of its file.

    Raises:
        ValueError: A line is no such object; the text says which.
    """
    seen: set[str] = set()
    for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            case = Case(corpus, data["id"], data["kind"], data, tuple(data.get("functions", ())))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{file}:{number}: this is no case ({error!r})") from error
        if case.id in seen:
            raise ValueError(f"{file}:{number}: there are two cases named {case.id!r}")
        seen.add(case.id)
        yield case
