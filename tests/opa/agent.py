"""Open Policy Agent, built from its Go module with the program in `oracle`."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_PROGRAM: Final = Path(__file__).parent / "oracle"
_MODULE: Final = "github.com/open-policy-agent/opa"
_CASES: Final = Path("v1", "test", "cases", "testdata")


class MissingError(Exception):
    """There is no Go here, or its module cannot be had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of both.

    Attributes:
        note: What it is about.
        modules: The modules.
        v1: Whether they are written in the first stable version of the language.
        query: What is asked.
        data: What `data` holds beside the modules.
        input: `[input]`, or [] where there is none.
        input_term: A term of the language for `input`; "" for none.
    """

    note: str
    modules: Sequence[str]
    v1: bool
    query: str
    data: Any = None
    input: Sequence[Any] = ()
    input_term: str = ""

    @property
    def line(self) -> str:
        """It, as the program takes it."""
        told = {"modules": self.modules, "v1": self.v1, "query": self.query, "data": self.data}
        return json.dumps(told | ({"input": self.input[0]} if self.input else {}))


@dataclass(frozen=True, slots=True)
class Answer:
    """What Open Policy Agent answers.

    Attributes:
        results: Values of the query's variables; a set is {"$set": [...]}.
        error: Why there are none; "" if there are.
    """

    results: list[dict[str, Any]]
    error: str


class Agent:
    """Open Policy Agent."""

    def __init__(self, folder: Path) -> None:
        """Build it.

        Args:
            folder: An empty folder to build it in.

        Raises:
            MissingError: There is no Go here, or its module cannot be had.
        """
        go = shutil.which("go")
        if go is None:
            raise MissingError("go is not installed")
        self._go, self._folder = go, folder
        for each in _PROGRAM.iterdir():
            shutil.copy(each, folder)
        self._run("mod", "tidy")
        self._run("build", "-o", "oracle", ".")

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [self._go, *arguments], cwd=self._folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise MissingError(done.stderr.strip()[-500:])
        return done.stdout

    @property
    def version(self) -> str:
        """Its version, such as "v1.22.2"."""
        return self._run("list", "-m", "-f", "{{.Version}}", _MODULE).strip()

    def cases(self) -> Iterator[tuple[Question, Answer]]:
        """Yield its conformance cases, each with what it answers itself."""
        module = Path(self._run("list", "-m", "-f", "{{.Dir}}", _MODULE).strip())
        for told in self._told("cases", str(module / _CASES)):
            question = Question(
                note=told["note"],
                modules=told["modules"] or [],
                v1=told["v1"],
                query=told["query"],
                data=told.get("data"),
                input=[told["input"]] if "input" in told else [],
                input_term=told.get("input_term", ""),
            )
            yield question, _answer(told)

    def ask(self, questions: Sequence[Question]) -> list[Answer]:
        """Return its answers."""
        lines = "\n".join(each.line for each in questions)
        return [_answer(told) for told in self._told("ask", given=lines)]

    def _told(self, *arguments: str, given: str = "") -> Iterator[Any]:
        done = subprocess.run(
            [self._folder / "oracle", *arguments], input=given, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        return (json.loads(line) for line in done.stdout.splitlines())


def _answer(told: Any) -> Answer:
    found = told["answer"]
    return Answer(found["results"] or [], found.get("error", ""))
