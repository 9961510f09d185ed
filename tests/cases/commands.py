"""`porchbot fn` on a package of a case, as a user would type it, in this process."""

from collections.abc import Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner

from bot.cli.disk import folder
from bot.cli.fn.group import fn
from cadlib.package.files import KPTFILE, Entry, Files
from cadlib.stream import resourcelist
from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value, emit, read
from tests.cases.compare import on_disk

HEAD: Mapping[str, Value] = {
    "apiVersion": "kpt.dev/v1",
    "kind": "Kptfile",
    "metadata": {"name": "pkg"},
}
"""What each Kptfile says."""
SENT, ANSWER = "sent.yaml", "answer.yaml"
KEEPS = f"tee {SENT}"
"""A function that returns what it was sent, which `Ran.sent` then is."""
ANSWERS = f"cat {ANSWER}"
"""A function that returns the answer that it is told."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command did.

    Attributes:
        status: Its exit status.
        output: What it wrote to standard output.
        errors: What it wrote for people.
        files: The package afterwards.
        results: What functions said, by the results file.
        sent: What the function `KEEPS` was sent.
    """

    status: int
    output: str
    errors: str
    files: Files
    results: list[Any]
    sent: ResourceList


def run(
    arguments: Sequence[str],
    texts: Mapping[str, str] | None = None,
    kptfile: Mapping[str, Value] | None = None,
    *,
    answer: str = "",
    beside: Mapping[str, str] | None = None,
    stdin: str = "",
) -> Ran:
    """Run `fn` on a package, which the argument "pkg" names.

    Args:
        arguments: Those behind `fn`.
        texts: Files of the package; its Kptfile only where that says more than `HEAD`.
        kptfile: What the Kptfile says besides `HEAD`.
        answer: What the function `ANSWERS` returns.
        beside: Files of the folder that the command is run in.
        stdin: What it reads where "-" stands for the package.
    """
    package = {KPTFILE: emit({**HEAD, **(kptfile or {})}), **(texts or {})}
    with TemporaryDirectory(prefix="case") as base, chdir(base):
        folder.write(Path("pkg"), {path: Entry(text.encode()) for path, text in package.items()})
        for path, text in {**(beside or {}), ANSWER: answer}.items():
            Path(path).write_text(text)
        verb, *rest = arguments
        ran = CliRunner().invoke(fn, [verb, "--results-dir", "results", *rest], stdin)
        if ran.exception and not isinstance(ran.exception, SystemExit):
            raise ran.exception
        results, sent = Path("results/results.yaml"), Path(SENT)
        return Ran(
            ran.exit_code,
            ran.stdout,
            ran.stderr,
            on_disk(Path("pkg")),
            _said(results.read_bytes()) if results.exists() else [],
            resourcelist.decode(sent.read_bytes()) if sent.exists() else ResourceList(()),
        )


def _said(data: bytes) -> list[Any]:
    listed: Any = read(data).documents[0].value
    return [each for step in listed.get("items", []) for each in step.get("results", [])]


def answer_of(items: Sequence[Item], results: Value = None) -> str:
    """Return what a function that returns these resources answers; the Kptfile is among them."""
    head = Item({**HEAD}, {}, KPTFILE, 0)
    whole = resourcelist.encode([head, *items], None).decode()
    return whole + (emit({"results": results}) if results else "")
