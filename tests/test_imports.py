"""The import rules: complete, and able to fail."""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


VIOLATIONS = {
    "The folders of bot, and the bot does not know the sandbox forge": (
        "bot/keys.py",
        "import bot.sandbox.rules.state",
    ),
    "Imports point down": ("cadlib/errors.py", "import lifecycle.names"),
    "The core does no input or output": ("lifecycle/names.py", "import os"),
    "The folders of cadlib": ("cadlib/merge/text.py", "import cadlib.render.pipeline"),
    "The folders of fnrunner": ("fnrunner/fence/watch.py", "import fnrunner.images.store"),
    "The folder bot/cli": ("bot/cli/dropin.py", "import bot.cli.given"),
    "The folder bot/cli/demo": ("bot/cli/demo/files.py", "import bot.cli.demo.story"),
    "The folder bot/cli/disk": ("bot/cli/disk/parallel.py", "import bot.cli.disk.folder"),
    "The folder bot/cli/fn": ("bot/cli/fn/place.py", "import bot.cli.fn.render"),
    "The folder bot/cli/pkg": ("bot/cli/pkg/init.py", "import bot.cli.pkg.get"),
    "The folders of lifecycle": ("lifecycle/gates.py", "import lifecycle.checks"),
    "The folder lifecycle/commands": (
        "lifecycle/commands/grammar.py",
        "import lifecycle.commands.parse",
    ),
    "The folder lifecycle/messages": (
        "lifecycle/messages/markdown.py",
        "import lifecycle.messages.summary",
    ),
    "The folder bot/forges": ("bot/forges/port.py", "import bot.forges.github.http"),
    "Only who builds the bot knows which forge it serves": (
        "bot/http/web.py",
        "import bot.forges.github.deliveries",
    ),
    "The folder bot/forges/github": ("bot/forges/github/http.py", "import bot.forges.github.talk"),
    "The folder bot/git": ("bot/git/process.py", "import bot.git.objects"),
    "The folder bot/http": ("bot/http/ready.py", "import bot.http.web"),
    "The folder bot/look": ("bot/look/tags.py", "import bot.look.people"),
    "The folder bot/loop": ("bot/loop/trouble.py", "import bot.loop.controller"),
    "The loop imports no adapter": ("bot/loop/serving.py", "import bot.git.mirror"),
    "What renders imports no facts of proposals": (
        "lifecycle/messages/findings.py",
        "import lifecycle.messages.proposed",
    ),
    "The folder bot/render": ("bot/render/verdicts.py", "import bot.render.renderer"),
    "The folder bot/sandbox": ("bot/sandbox/git/bare.py", "import bot.sandbox.rules.pulls"),
    "The folder bot/sandbox/faults": (
        "bot/sandbox/faults/hooks.py",
        "import bot.sandbox.faults.calls",
    ),
    "The folder bot/sandbox/git": ("bot/sandbox/git/objects.py", "import bot.sandbox.git.bare"),
    "The folder bot/sandbox/github": (
        "bot/sandbox/github/json.py",
        "import bot.sandbox.github.pulls",
    ),
    "The folder bot/sandbox/github/graphql": (
        "bot/sandbox/github/graphql/threads.py",
        "import bot.sandbox.github.graphql.fields",
    ),
    "The folder bot/sandbox/gitlab": (
        "bot/sandbox/gitlab/levels.py",
        "import bot.sandbox.gitlab.http",
    ),
    "The folder bot/sandbox/pages": (
        "bot/sandbox/pages/views.py",
        "import bot.sandbox.pages.routes",
    ),
    "The folder bot/sandbox/records": (
        "bot/sandbox/records/refs.py",
        "import bot.sandbox.records.repository",
    ),
    "The folder bot/sandbox/rules": (
        "bot/sandbox/rules/pulls.py",
        "import bot.sandbox.rules.state",
    ),
    "The folder bot/store": ("bot/store/values.py", "import bot.store.queue"),
    "No circles in cadlib, fnrunner, lifecycle and the folders of bot": (
        "cadlib/yaml/patch.py",
        "import cadlib.yaml.edit",
    ),
}


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What is said of each contract where all are broken, and each folder has a new module."""
    folder = _copied(tmp_path_factory.mktemp("broken"))
    for file, violation in VIOLATIONS.values():
        with (folder / file).open("a") as source:
            source.write(f"\n{violation}  # noqa\n")
    inner = [e.removeprefix("The folder ") for e in VIOLATIONS if e.startswith("The folder ")]
    for name in ("fnrunner", "cadlib", "lifecycle", "bot", *inner):
        (folder / name / "another.py").write_text("")
    said = _linted(folder).partition("Broken contracts\n")[2]
    pieces = re.split(r"(?m)^(.+)\n-{4,}$", said)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def test_each_contract_fails_when_it_is_broken(tmp_path: Path, broken: Mapping[str, str]) -> None:
    """Fails when a contract is written so that it passes whatever is imported."""
    kept = re.findall(r"(?m)^(.+) KEPT$", _linted(_copied(tmp_path)))
    wrong = re.compile(" is not allowed to import |Illegal imports of |No cycles are allowed ")

    assert set(VIOLATIONS) <= set(kept)
    assert set(VIOLATIONS) <= {name for name, said in broken.items() if wrong.search(said)}


def test_a_new_module_has_to_be_given_its_place(broken: Mapping[str, str]) -> None:
    """Fails when the folders are listed and what is not among them may import anything."""
    exhaustive = {each for each in VIOLATIONS if each.startswith("The folder")}

    assert exhaustive <= {name for name, said in broken.items() if ".another\n" in said}


def _copied(folder: Path) -> Path:
    for name in ("bot", "lifecycle", "fnrunner", "cadlib"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def _linted(folder: Path) -> str:
    """What the linter says of a checkout."""
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [linter, "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(folder), "PATH": ""},
    )
    return done.stdout
