"""docs/commands.md: names every command, and no option that is not there."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from bot.cli.fn.group import fn
from bot.cli.pkg.group import pkg

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "commands.md").read_text(encoding="utf-8")


def commands() -> Iterator[tuple[str, click.Command]]:
    """Return every command below `pkg` and `fn`, with its name as typed."""
    for group in (pkg, fn):
        context = click.Context(group)
        for name in group.list_commands(context):
            found = group.get_command(context, name)
            assert found is not None
            yield f"{group.name} {name}", found


COMMANDS = dict(commands())


def test_every_command_has_its_row() -> None:
    rows = re.findall(r"^\| `porchbot (\w+ \w+)", TEXT, re.MULTILINE)

    assert sorted(rows) == sorted(COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_that_is_named_exists(name: str) -> None:
    """The short-cut is to trust the text: an option that is renamed stays in it for years."""
    known = {
        option for each in COMMANDS[name].params for option in (*each.opts, *each.secondary_opts)
    }
    used = {
        option
        for part in re.findall(rf"porchbot {name}\b([^|\n]*)", TEXT)
        for option in re.findall(r"(?<= )--[a-z][a-z-]*", part)
    }

    assert used <= known | {"--help"}


def test_every_deviation_that_is_named_exists() -> None:
    numbers = set(re.findall(r"\bD\d+\b", TEXT))
    entries = set(re.findall(r"^## (D\d+)", (DOCS / "deviations.md").read_text(), re.MULTILINE))

    assert numbers
    assert numbers <= entries
