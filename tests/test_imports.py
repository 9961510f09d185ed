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


def test_the_contract_fails_when_it_is_broken(tmp_path: Path) -> None:
    """Fails when the contract is written so that it passes whatever is imported."""
    for name in ("bot", "lifecycle", "fnrunner", "cadlib"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "bot" / "web.py").open("a") as file:
        file.write("\nimport bot.sandbox.state  # noqa\n")

    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [linter, "--no-cache"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
    )

    assert done.returncode == 1
    assert "The bot does not know the sandbox forge BROKEN" in done.stdout
    assert "Imports point down KEPT" in done.stdout
