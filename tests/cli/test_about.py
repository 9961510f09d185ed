"""What kpt users type beside commands: help, version, completion, aliases; and wrong use."""

import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from bot.cli.dropin import CommandWithExamples
from bot.cli.root import ALIASES, main


def run(*args: str) -> Result:
    return CliRunner().invoke(main, args, prog_name="porchbot")


def commands(
    group: click.Group, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield above, group
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from commands(found, (*above, name))
        else:
            yield (*above, name), found


COMMANDS = dict(commands(main))


def test_there_is_every_command() -> None:
    assert {("fn", "eval"), ("pkg", "get"), ("check",), ("serve",), ("help",)} <= set(COMMANDS)


@pytest.mark.parametrize("path", sorted(COMMANDS), ids=" ".join)
def test_every_help_has_examples_that_are_commands(
    path: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut writes any text: an option that is renamed stays in it for years."""
    for folder in ("blueprints", "work"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    command = COMMANDS[path]
    assert isinstance(command, CommandWithExamples)
    lines = [line for line in command.examples.split("\n") if line.startswith("$ ")]
    typed = [
        words
        for line in lines
        for part in re.split(r" \| | > |<\(", line[2:].replace(")", ""))
        if "porchbot" in (words := shlex.split(part))
    ]

    assert lines
    assert typed or path == ("live",)
    for words in typed:
        rest = words[words.index("porchbot") + 1 :]
        context = main.make_context("porchbot", rest)
        found: click.Command = main
        while isinstance(found, click.Group):
            arguments = [*context._protected_args, *context.args]
            if not arguments and found.invoke_without_command:
                break
            name, inner, arguments = found.resolve_command(context, arguments)
            assert inner is not None
            found, context = inner, inner.make_context(name, arguments, parent=context)
    assert "\nExamples:\n  # " in run(*path, "--help").stdout


@pytest.mark.parametrize("path", sorted(COMMANDS), ids=" ".join)
def test_wrong_use_ends_with_1_everywhere(path: tuple[str, ...]) -> None:
    """The short-cut is click's own: 2, which kpt never has."""
    if path == ("live",):
        return
    result = run(*path, "--no-such-flag")
    assert (result.exit_code, result.stderr) == (1, "error: unknown flag: --no-such-flag\n")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("nope",), 'error: unknown command "nope" for "porchbot"\n'),
        (("help", "nope"), "error: Unknown help topic [`nope`]\n"),
        (("help", "fn", "eval", "x"), "error: Unknown help topic [`fn eval x`]\n"),
        (("completion", "csh"), 'error: unknown shell "csh": use bash, zsh or fish'),
        (("fn", "doc", "a", "--image", "b"), "error: accepts at most 0 arg(s), received 1\n"),
        (("fn", "doc", "--image", "nope:v1"), "error: nope:v1 is not built in. Those that are:"),
        (
            ("live", "apply", "shop", "--dry-run", "-o", "x"),
            "error: porchbot does not deploy packages."
            " Use kpt: `kpt live apply shop --dry-run -o x`\n",
        ),
        (("runner", "--tls-cert", "x"), "error: --tls-cert and --tls-key go together."),
    ],
)
def test_what_is_said(args: tuple[str, ...], message: str) -> None:
    result = run(*args)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(message)


def test_version_and_help() -> None:
    assert run("version").stdout == f"{metadata.version('porchbot')}\n"
    assert run("help", "fn", "eval").stdout == run("fn", "eval", "--help").stdout
    assert run("help").stdout == run("--help").stdout == run().stdout


@pytest.mark.parametrize(("alias", "name"), sorted(ALIASES.items()))
def test_aliases(alias: str, name: str) -> None:
    assert list(run(alias, "--help").stdout.split("\n")[2:]) == list(
        run(name, "--help").stdout.split("\n")[2:]
    )


def test_doc_by_image() -> None:
    assert (
        run("fn", "doc", "--image", "set-labels:v0.2").stdout
        == run("fn", "doc", "set-labels").stdout
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    result = run("completion", shell)
    assert result.exit_code == 0
    assert f"_PORCHBOT_COMPLETE={shell}_complete" in result.stdout
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=result.stdout, text=True, check=True)


def test_what_a_shell_is_told() -> None:
    """The short-cut prints a script that asks for what nobody answers."""
    asked = {
        "_PORCHBOT_COMPLETE": "bash_complete",
        "COMP_WORDS": "porchbot fn e",
        "COMP_CWORD": "2",
    }
    result = CliRunner(env=asked).invoke(main, prog_name="porchbot")
    assert result.stdout == "plain,eval\n"


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_colour_at_a_terminal_only(no_color: str, coloured: bool) -> None:
    """The short-cut colours files and pipes, or does not know NO_COLOR."""
    environ = {**os.environ, "NO_COLOR": no_color, "TERM": "xterm"}
    command = [sys.executable, "-m", "bot.cli", "fn", "render", "nowhere"]
    ours, theirs = pty.openpty()
    subprocess.run(command, env=environ, stderr=theirs, check=False)
    os.close(theirs)
    said = os.read(ours, 4096)
    os.close(ours)
    piped = subprocess.run(command, env=environ, stderr=subprocess.PIPE, check=False).stderr
    assert (b"\x1b[31m" in said) is coloured
    assert piped == b"error: lstat nowhere: no such file or directory\n"


def test_eval_and_source_take_a_file(tmp_path: Path) -> None:
    """The short-cut says that there is no such file."""
    file, other = tmp_path / "a.yaml", tmp_path / "b.yaml"
    for each in (file, other):
        each.write_text("kind: ConfigMap # a map\napiVersion: v1\nmetadata:\n  name: a\n")
    result = run("fn", "eval", str(file), "--image", "set-namespace:v0.4", "--", "namespace=x")
    assert result.exit_code == 0
    assert file.read_text().endswith("metadata:\n  name: a\n  namespace: x\n")
    assert "namespace" not in other.read_text()
    assert sorted(tmp_path.iterdir()) == [file, other]
    assert "path: 'a.yaml'" in run("fn", "source", str(file)).stdout
    refused = run("fn", "render", str(file))
    assert refused.stderr == f"error: {file} is a file. Name the folder of a package\n"
