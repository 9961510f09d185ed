"""Makes the reference pages and schemas from the code: `python -m tests.reference`.

A test (`tests/test_reference.py`) holds what is in `docs/reference/` against what the code says.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click

from bot import config
from bot.cli.root import ALIASES, main
from bot.variables import VARIABLES
from fnrunner import settings_form
from lifecycle.access import AccessAction
from lifecycle.commands.spec import CommandSpec
from lifecycle.commands.table import TABLE
from lifecycle.facts.proposal import Stage
from lifecycle.messages import rights
from lifecycle.messages.parsing import INSTEAD

FOLDER: Final = Path(__file__).resolve().parents[1] / "docs/reference"

_COMMANDS = """# Commands in pull requests

Write a command at the start of a line in a comment, as `/approve` or `@porchbot approve`; it does
not count in quotes, lists, code or HTML. On GitLab use the second form, with the login of the bot's
account, because there lines that begin with `/approve`, `/unapprove` or `/rebase` are GitLab's own
commands. A comment may have several commands, which are carried out in order. Edited comments and
comments by machines do not count. The bot asks the forge for your role when it carries out the
command. Parts in brackets are optional.

| Command | What it does | At which stages | Who may give it |
| --- | --- | --- | --- |
"""

_INSTEAD = """
## Words of other tools

These are answered with what to do instead:

| Word | Instead |
| --- | --- |
"""

_CONFIGURATION = """# Keys of `.porchbot.yaml`

The file is at the root of a repository, and the bot reads it from the base branch only. Every key
is optional. [porchbot.schema.json](porchbot.schema.json) describes the same for editors, and
[the example](../../examples/.porchbot.yaml) shows some of the keys.
"""

_RUNNER = """# Keys of the runner's configuration

[runner.md](../runner.md) explains how they work together; [runner.schema.json](runner.schema.json)
describes the same for editors. Times are in seconds here, and sizes in bytes.
"""

_SETTINGS = """# Settings of the bot

Variables of the environment that `porchbot serve`, `worker` and `doctor` read. How they are used
stands in [settings](../operate/settings.md).

| Variable | What it is | Default |
| --- | --- | --- |
"""

_CLI = """# Commands of the terminal

The output of `--help` for each command. Where `pkg` and `fn` differ from kpt, see
[commands.md](../commands.md).
"""


def _made(by: str) -> str:
    return f"\nMade from `{by}` by `make reference`; do not edit it.\n"


def _titled(head: str, by: str) -> str:
    """Put where a page comes from below its title."""
    title, _, rest = head.partition("\n")
    return f"{title}\n{_made(by)}{rest}"


def _ways(row: CommandSpec[Any]) -> str:
    """How a command is written, then its aliases."""
    return _line(", ".join(f"`/{way}`" for way in (row.usage, *row.aliases)))


def _who(action: AccessAction) -> str:
    """Who may give a command by default."""
    return rights.right(action)


def commands() -> str:
    """The commands of pull requests."""
    rows = [
        f"| {_ways(row)} | {row.help} | {_stages(row.stages)} | {_who(row.action)} |\n"
        for row in TABLE.rows
    ]
    others = [f"| `/{word}` | {instead} |\n" for word, instead in INSTEAD.items()]
    head = _titled(_COMMANDS, "lifecycle/commands/table.py")
    return "".join([head, *rows, _INSTEAD, *others])


def _stages(stages: frozenset[Stage]) -> str:
    if stages == frozenset(Stage):
        return "all"
    return ", ".join(stage.lower() for stage in Stage if stage in stages)


def configuration() -> str:
    """The keys of a repository's configuration."""
    head = _titled(_CONFIGURATION, "bot/config.py")
    return head + "".join(_sections(json.loads(config.schema_text())))


def runner_configuration() -> str:
    """The keys of the runner's configuration."""
    head = _titled(_RUNNER, "fnrunner/settings_form.py")
    return head + "".join(_sections(json.loads(settings_form.schema_text())))


def _sections(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield a table for each mapping that keys stand in: the file itself first, each once."""
    pending: list[tuple[str, Mapping[str, Any]]] = [("", schema)]
    told: dict[str, str] = {}  # name of a definition to where it is told
    while pending:
        at, found = pending.pop(0)
        if at:
            yield f"\n## `{at}`\n\n{_line(found.get('description', ''))}\n"
        yield "\n| Key | What it is | Values | Default |\n| --- | --- | --- | --- |\n"
        for key, value in found["properties"].items():
            path = f"{at}.{key}" if at else key
            values = []
            for name, suffix, form in _forms(value, schema):
                inner = f"{path}{suffix}"
                if name and "properties" in form:
                    if name not in told:
                        told[name] = inner
                        pending.append((inner, form))
                    values.append(_held(suffix, f"[mapping](#{_anchor(told[name])})"))
                else:
                    values.append(_held(suffix, _values(form)))
            default = "needed" if key in found.get("required", ()) else _default(value)
            row = (f"`{key}`", _line(_described(value, schema)), " or ".join(values), default)
            yield "| " + " | ".join(row) + " |\n"


def _forms(
    value: Mapping[str, Any], schema: Mapping[str, Any]
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield what a key may hold: name of the definition, "[]" or ".*" in lists and maps, form."""
    if "anyOf" in value:
        for each in value["anyOf"]:
            yield from _forms(each, schema)
    elif "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        yield name, "", schema["$defs"][name]
    elif value.get("type") == "array" and "items" in value:
        for name, suffix, form in _forms(value["items"], schema):
            yield name, f"[]{suffix}", form
    elif isinstance(value.get("additionalProperties"), dict):
        for name, suffix, form in _forms(value["additionalProperties"], schema):
            yield name, f".*{suffix}", form
    elif value.get("type") != "null":
        yield "", "", value


def _described(value: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """What a key is; if it does not say, what the mapping is that it holds."""
    forms = [form for _, _, form in _forms(value, schema)]
    return value.get("description") or next((each.get("description", "") for each in forms), "")


def _held(suffix: str, values: str) -> str:
    if suffix.startswith("[]"):
        return f"list of {_held(suffix[2:], values)}"
    if suffix.startswith(".*"):
        return f"map of {_held(suffix[2:], values)}"
    return values


def _values(form: Mapping[str, Any]) -> str:
    if "enum" in form or "const" in form:
        return ", ".join(f"`{each}`" for each in form.get("enum", [form.get("const")]))
    kind = {"string": "text", "integer": "number", "boolean": "`true`, `false`"}.get(
        form.get("type", ""), form.get("type", "anything")
    )
    if "examples" in form:
        return f"{kind} such as `{form['examples'][0]}`"
    least, most = form.get("minimum"), form.get("maximum")
    if least is not None and most is not None:
        return f"{kind} {least} to {most}" if least != most else f"{least}"
    if least is not None:
        return f"{kind} from {least}"
    longest = form.get("maxLength")
    return kind if longest is None else f"{kind} up to {longest} characters"


def _default(value: Mapping[str, Any]) -> str:
    default = value.get("default")
    if default is None or default in ("", [], {}) or "$ref" in value:
        return ""
    if isinstance(default, float) and default.is_integer():
        default = int(default)
    return f"`{default if isinstance(default, str) else json.dumps(default)}`"


def _anchor(path: str) -> str:
    """The anchor that GitHub gives a heading."""
    return "".join(each for each in path.lower() if each.isalnum() or each in "-_")


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def settings() -> str:
    """The variables of the environment."""
    rows = [f"| `{name}` | {what} | {default} |\n" for name, (what, default) in VARIABLES.items()]
    return "".join([_titled(_SETTINGS, "bot/variables.py"), *rows])


def cli() -> str:
    """The commands of the terminal, with what `--help` says of each."""
    return "".join([_titled(_CLI, "bot/cli"), *_helps(main, "porchbot", None)])


def _helps(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    context = click.Context(
        command,
        info_name=name,
        parent=parent,
        terminal_width=100,
        max_content_width=100,
        **command.context_settings,
    )
    path = context.command_path
    # A command keeps the option of the context that asked first, which need not have been this one.
    command._help_option = None
    yield f"\n## `{path}`\n\n```\n{command.get_help(context).strip()}\n```\n"
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            inner = command.get_command(context, each)
            if inner is not None and not inner.hidden and each not in ALIASES:
                yield from _helps(inner, each, context)


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "cli.md": cli,
    "commands.md": commands,
    "configuration.md": configuration,
    "porchbot.schema.json": config.schema_text,
    "runner.md": runner_configuration,
    "runner.schema.json": settings_form.schema_text,
    "settings.md": settings,
}
"""File in `docs/reference/`, and what makes it."""


if __name__ == "__main__":
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
