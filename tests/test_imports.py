"""The import rules: complete, and able to fail."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def _contract() -> dict[str, list[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    (found,) = [c for c in contracts if c.get("forbidden_modules") == ["bot.sandbox"]]
    return dict(found)


def test_every_module_of_the_bot_is_kept_from_the_sandbox_forge() -> None:
    """Fails when a module is added and not listed: the contract would pass whatever it imports."""
    modules = {
        f"bot.{path.stem}"
        for path in (ROOT / "bot").iterdir()
        if path.name not in {"sandbox", "__init__.py"}
        and (path.suffix == ".py" or (path / "__init__.py").exists())
    }

    assert set(_contract()["source_modules"]) == modules


VIOLATIONS = {
    "The bot does not know the sandbox forge": ("bot/web.py", "import bot.sandbox.state"),
    "Imports point down": ("cadlib/errors.py", "import lifecycle.names"),
    "The core does no input or output": ("lifecycle/names.py", "import os"),
    "The folders of cadlib": ("cadlib/merge/text.py", "import cadlib.render.pipeline"),
    "The folders of fnrunner": ("fnrunner/fence/watch.py", "import fnrunner.images.store"),
    "The folder bot/store": ("bot/store/values.py", "import bot.store.queue"),
    "No circles in cadlib and fnrunner": (
        "cadlib/yaml/patch.py",
        "import cadlib.yaml.edit",
    ),
}


def test_each_contract_fails_when_it_is_broken(tmp_path: Path) -> None:
    """Fails when a contract is written so that it passes whatever is imported."""
    for name in ("bot", "lifecycle", "fnrunner", "cadlib"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    assert set(VIOLATIONS) <= _results(tmp_path, "KEPT")

    for file, violation in VIOLATIONS.values():
        with (tmp_path / file).open("a") as source:
            source.write(f"\n{violation}  # noqa\n")

    assert set(VIOLATIONS) <= _results(tmp_path, "BROKEN")


def test_a_new_module_has_to_be_given_its_place(tmp_path: Path) -> None:
    """Fails when the folders are listed and what is not among them may import anything."""
    for name in ("bot", "lifecycle", "fnrunner", "cadlib"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name in ("fnrunner", "cadlib"):
        (tmp_path / name / "another.py").write_text("")

    assert {"The folders of cadlib", "The folders of fnrunner"} <= _results(tmp_path, "BROKEN")


def _results(folder: Path, verdict: str) -> set[str]:
    """Names of the contracts of a checkout that end so, "KEPT" or "BROKEN"."""
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [linter, "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(folder), "PATH": ""},
    )
    lines = done.stdout.splitlines()
    return {each.removesuffix(f" {verdict}") for each in lines if each.endswith(f" {verdict}")}
