"""Commands that fail as kpt's do."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from bot.cli.dropin import DropIn
from bot.cli.root import main
from cadlib.errors import PackageError, Place


@click.command(cls=DropIn)
@click.option("--how", type=click.Choice(["right", "wrong", "nowhere", "oddly"]), default="right")
def do(how: str) -> None:
    """Do it."""
    match how:
        case "wrong":
            raise PackageError(Place("a.yaml", 3), "it is wrong", "Do it right")
        case "nowhere":
            Path("/dev/null/file").write_text("")
        case "oddly":
            raise click.UsageError("one of the two")
        case _:
            click.echo("done")


ENDS: dict[str, tuple[list[str], int, str]] = {
    "well": ([], 0, "done\n"),
    "the package is wrong": (["--how=wrong"], 1, "error: a.yaml:3: it is wrong. Do it right.\n"),
    "a file is no folder": (["--how=nowhere"], 1, "error: /dev/null/file: Not a directory\n"),
    "the use is wrong": (["--how=oddly"], 1, "error: one of the two\n"),
    "a value is wrong": (
        ["--how=badly"],
        1,
        "error: Invalid value for '--how': 'badly' is not one of 'right', 'wrong',"
        " 'nowhere', 'oddly'.\n",
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_how_a_command_ends(name: str) -> None:
    args, status, text = ENDS[name]

    result = CliRunner().invoke(do, args)

    assert (result.exit_code, result.output) == (status, text)


@click.command(cls=DropIn)
@click.option("--all/--none", "-A/-N", "everything", default=True)
@click.option("--debug", is_flag=True)
@click.argument("rest", nargs=-1)
def flags(everything: bool, debug: bool, rest: tuple[str, ...]) -> None:
    """Say which flags are set."""
    click.echo(f"{everything} {debug} {rest}")


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["--all=false", "--debug=true"], "False True ()"),
        (["-A=F", "--debug=0", "a=false"], "False False ('a=false',)"),
        (["--all=1", "--", "--all=false"], "True False ('--all=false',)"),
    ],
)
def test_flags_may_have_a_value_as_in_kpt(args: list[str], text: str) -> None:
    assert CliRunner().invoke(flags, args).stdout == f"{text}\n"


def test_a_flag_is_true_or_false() -> None:
    result = CliRunner().invoke(flags, ["--all=maybe"])
    assert result.exit_code == 1
    assert "'maybe' is neither true nor false" in result.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
@pytest.mark.parametrize("size", [1, 100_000])
def test_output_that_cannot_be_written(tmp_path: Path, size: int) -> None:
    """The short-cut: a traceback, or exit status 0 for a list that was cut off."""
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
    (tmp_path / "a.yaml").write_text(f"{head}data:\n  x: {'x' * size}\n")
    command = [sys.executable, "-m", "bot.cli", "fn", "source", str(tmp_path)]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)

    assert (done.returncode, done.stderr) == (1, b"error: No space left on device\n")


@pytest.mark.parametrize("group", ["pkg", "fn"])
def test_a_group_without_a_command_shows_its_help(group: str) -> None:
    """The short-cut leaves it to click, which takes that for wrong use and exits with 2."""
    done = CliRunner().invoke(main, [group])

    assert done.exit_code == 0
    assert done.stdout.startswith(f"Usage: porchbot {group} [")


@pytest.mark.parametrize("group", ["pkg", "fn"])
def test_a_command_that_there_is_not_is_named(group: str) -> None:
    done = CliRunner().invoke(main, [group, "bogus"], prog_name="porchbot")

    assert done.exit_code == 1
    assert done.stderr == f'error: unknown command "bogus" for "porchbot {group}"\n'


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ([], "requires at least 1 arg(s), only received 0"),
        (["a", "b", "c"], "accepts at most 2 arg(s), received 3"),
    ],
)
def test_get_counts_its_arguments_as_kpt_does(args: list[str], problem: str) -> None:
    done = CliRunner().invoke(main, ["pkg", "get", *args])

    assert (done.exit_code, done.stderr) == (1, f"error: {problem}\n")
