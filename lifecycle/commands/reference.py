"""The reference page of commands, made from the table.

`python -m lifecycle.commands.reference > docs/reference/commands.md` writes it anew.
"""

import sys

from lifecycle.commands.table import TABLE
from lifecycle.facts.proposal import Stage
from lifecycle.messages import rights
from lifecycle.messages.parsing import INSTEAD

_HEAD = """# Commands in pull requests

Made from `lifecycle/commands/table.py` by `python -m lifecycle.commands.reference`; do not edit it.

A command stands at the start of a line of a comment, as `/approve` or `@porchbot approve`, not in
quotes, lists, code or HTML. Several in one comment are obeyed in their order. Comments that were
edited, and those of machines, command nothing. The role is asked of the forge when
the command is carried out; what is in brackets may be left out.

| Command | What it does | At which stages | Who may give it |
| --- | --- | --- | --- |
"""

_INSTEAD = """
## Words of other tools

These are answered with what to do instead:

| Word | Instead |
| --- | --- |
"""


def page() -> str:
    """Return the page in Markdown."""
    rows = [
        f"| `/{row.usage}` | {row.help} | {_stages(row.stages)} | {rights.right(row.action)} |\n"
        for row in TABLE.rows
    ]
    others = [f"| `/{word}` | {instead} |\n" for word, instead in INSTEAD.items()]
    return "".join([_HEAD, *rows, _INSTEAD, *others])


def _stages(stages: frozenset[Stage]) -> str:
    if stages == frozenset(Stage):
        return "all"
    return ", ".join(stage.lower() for stage in Stage if stage in stages)


if __name__ == "__main__":
    sys.stdout.write(page())
