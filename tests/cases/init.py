"""Corpus get, kind init: `porchbot pkg init`, and the same from a task's fields."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from click.testing import CliRunner

from bot.cli.pkg.init import init as command
from cadlib.update import init
from tests.cases.compare import text_difference
from tests.cases.model import Case, Handler, Verdict, checked, failed


def run(case: Case) -> Verdict:
    """Run one case: `args` in `cwd`, or `name` and `spec` of a task."""
    expected: Mapping[str, str] = case.data["expected_files"]
    if "spec" in case.data:
        spec = case.data["spec"]
        made = init.files(
            case.data["name"],
            description=spec.get("description", ""),
            keywords=spec.get("keywords", ()),
            site=spec.get("site", ""),
        )
        return _compare(expected, {path: entry.data.decode() for path, entry in made.items()})
    with tempfile.TemporaryDirectory() as folder:
        return _on_disk(case, Path(folder), expected)


def _on_disk(case: Case, folder: Path, expected: Mapping[str, str]) -> Verdict:
    for path in case.data.get("existing_directories", ()):
        (folder / path).mkdir(parents=True)
    before = Path.cwd()
    os.chdir(folder / case.data.get("cwd", "."))
    try:
        result = CliRunner().invoke(command, case.data.get("args", ()))
    finally:
        os.chdir(before)
    if result.exit_code:
        return failed(result.output)
    made = {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }
    return _compare(expected, made)


def _compare(expected: Mapping[str, str], made: Mapping[str, str]) -> Verdict:
    missing = [f"{path} is missing" for path in expected if path not in made]
    different = [
        f"{path}:\n{difference}"
        for path, text in expected.items()
        if path in made and (difference := text_difference(text, made[path]))
    ]
    return checked("\n".join([*missing, *different]))


KINDS: dict[str, Handler] = {"init": run}
