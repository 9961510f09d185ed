"""Folders for the tests of `porchbot fn`, and running it."""

import re
from collections.abc import Mapping
from pathlib import Path

from click.testing import CliRunner, Result

from bot.cli.fn.group import fn
from cadlib.yaml import Value, read

KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app # the app\n"
THING = "# a thing\napiVersion: v1\nkind: Thing\nmetadata:\n  name: a # its name\n"
ECHO = "sh -c 'cat; echo said >&2'"


def pipeline(*mutators: str, validators: str = "") -> str:
    """Return a Kptfile with these functions, as flow mappings."""
    lines = [f"{KPTFILE}pipeline:\n  mutators:\n", *(f"  - {each}\n" for each in mutators)]
    return "".join([*lines, f"  validators:\n  - {validators}\n" if validators else ""])


def make(root: Path, files: Mapping[str, str]) -> Path:
    """Write files below a folder."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def texts(root: Path) -> dict[str, str]:
    """Return the files below a folder."""
    found = (each for each in root.rglob("*") if each.is_file())
    return {each.relative_to(root).as_posix(): each.read_text() for each in sorted(found)}


def data(text: str) -> dict[str, Value]:
    """Return the value of a text's only document, a mapping."""
    value = read(text.encode()).documents[0].value
    assert isinstance(value, dict)
    return value


def run(*args: str | Path, stdin: str | bytes = "") -> Result:
    """Run `porchbot fn`; whatever is raised but an exit is the test's failure."""
    result = CliRunner().invoke(fn, [str(each) for each in args], input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def said(result: Result) -> str:
    """Return standard error, with times cut out."""
    return re.sub(r"^(\[.*\] .* in )\S+$", r"\g<1>0s", result.stderr, flags=re.MULTILINE)
