"""What a command logs does not stand in what it prints, whichever command it is."""

import subprocess
import sys
from collections.abc import Callable, Iterator

import click
import pytest
import structlog
from click.testing import CliRunner

from bot import logs
from bot.cli.dropin import DropInGroup
from tests.cli.test_about import COMMANDS

PRINTED, LOGGED = "what it prints", "what it logs"

WORKING = [path for path, command in COMMANDS.items() if type(command) is not DropInGroup]
"""Commands that do more than to show their help."""

IN_A_PROCESS = """
import sys, types
from bot.cli.root import main

def read(name):
    import structlog
    def run(*args, **kwargs):
        structlog.get_logger().warning("what it logs")
        print("what it prints")
        return 0
    return run if name == "run" else dict

sys.modules[sys.argv[1]] = stub = types.ModuleType(sys.argv[1])
stub.__getattr__ = read
assert "structlog" not in sys.modules
main(sys.argv[2:])
"""
"""Runs a command whose work is done by a module that is read when it is run, and that logs."""


@pytest.fixture
def unset() -> Iterator[None]:
    """Logging as a process begins with."""
    structlog.reset_defaults()
    yield
    logs.configure()


@pytest.mark.usefixtures("unset")
@pytest.mark.parametrize("path", sorted(WORKING), ids=" ".join)
def test_no_command_prints_what_it_logs(path: tuple[str, ...]) -> None:
    """Fails when each command sets its log aside by itself: the next one forgets to."""

    def called(**_: object) -> None:
        structlog.get_logger().warning(LOGGED)
        click.echo(PRINTED)

    command = COMMANDS[path]
    alone = CliRunner().invoke(_with(command, called), [], prog_name="porchbot")

    assert (alone.stdout, LOGGED in alone.stderr) == (f"{PRINTED}\n", True)


def _with(command: click.Command, called: Callable[..., None]) -> click.Command:
    """A command of the same class without parameters, which does something else."""
    made = type(command)(name=command.name, callback=called)
    made.params = []
    return made


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("bot.cli.demo.story", "demo"),
        ("bot.cli.demo.playground", "playground"),
        ("bot.serve", "serve"),
        ("bot.serve", "worker"),
    ],
)
def test_what_is_imported_by_a_running_command_is_set_aside_too(module: str, command: str) -> None:
    """Fails when only what was imported before is looked at: what starts servers is read late."""
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS, module, command],
        capture_output=True,
        text=True,
        check=True,
    )

    assert (done.stdout, LOGGED in done.stderr) == (f"{PRINTED}\n", True)
