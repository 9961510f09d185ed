"""Corpus get: packages fetched from git repositories, and packages begun."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cadlib.errors import PackageError
from tests.cases import init
from tests.cases.compare import entries, on_disk
from tests.cases.git_repos import Made
from tests.cases.model import Case, Handler, Verdict, failed, passed
from tests.cases.update import get_case, tree_verdict, typed


def _git_get(case: Case) -> Verdict:
    with tempfile.TemporaryDirectory() as name:
        return _story(case.data, Path(name))


def _story(data: Mapping[str, Any], folder: Path) -> Verdict:
    (folder / "repos").mkdir()
    made = Made(folder / "repos", data["repos"])
    target = folder / "local" / data["get"].get("destination", "")
    existing = data.get("existing")
    if existing:
        made.add(existing["from_get_of_commit"] + 1)
        get_case(data["get"], target, made, folder)
    made.add()
    wanted = made.fill(data.get("error_contains"))
    try:
        said = get_case(data["get"], target, made, folder)
    except PackageError as error:
        if wanted is None:
            return failed(f"an error: {error}")
        if wanted not in str(error):
            return failed(f"{wanted!r} is not in: {error}")
        if data.get("destination_must_not_exist") and target.exists():
            return failed("the destination exists after an error")
    else:
        if wanted is not None:
            return failed(f"no error, but one with {wanted!r} was expected")
        for text in _texts(made.fill(data.get("output_contains"))):
            if text not in said:
                return failed(f"{text!r} is not in the output:\n{said}")
    if data.get("expected") is None:
        return passed()
    expected = entries(typed(made.fill(data["expected"]), data["get"]))
    return tree_verdict(expected, on_disk(target), data["compare"])


def _texts(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else value or []


KINDS: Mapping[str, Handler] = {"git-get": _git_get, **init.KINDS}
