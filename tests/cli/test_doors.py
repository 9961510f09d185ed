"""What the command line can change at a forge: by whose rights, and by which modules."""

import ast
from collections.abc import Iterator
from pathlib import Path

from bot.cli import root

TOP = Path(__file__).resolve().parents[2]

AT_THE_FORGE = {
    "bot/cli/rpkg/drafting.py": "reads drafts there, as `session.py` does",
    "bot/cli/rpkg/proposing.py": "reads proposals there, as `session.py` does",
    "bot/cli/rpkg/session.py": "reads repositories again and again, with the caller's token",
    "bot/cli/rpkg/sources.py": "reads repositories, with the token of whoever calls it",
    "bot/cli/rpkg/speaking.py": "has the caller's own comments bounded as the bot's requests are",
    "bot/cli/rpkg/speaking_gitlab.py": "likewise",
    "bot/cli/doctor.py": "`--fix` makes rulesets, by a token of the owner's own",
    "bot/cli/dryrun.py": "looks, with tokens that can only read",
    "bot/cli/reaching.py": "reaches it for that look",
    "bot/cli/reaching_gitlab.py": "likewise",
    "bot/cli/secret.py": "asks whether a new key is the App's, with that key",
    "bot/cli/setup.py": "registers an App, whose owner confirms it at the forge",
    "bot/cli/setup_user.py": "makes webhooks, by the machine user's own token",
    "bot/cli/setup_gitlab.py": "makes account, webhooks and rules, by a token of the owner's own",
}
"""Modules that speak with a forge. None of them carries out what `access` is about: that is asked
of the bot by comments, reviews and buttons alone."""

SERVES = {
    "demo": "starts a forge of its own",
    "playground": "starts a forge of its own",
    "serve": "is the bot",
    "worker": "is the bot",
}
"""Commands that run the bot, which asks `authorise` itself."""

PERFORMERS = {"bot/loop/repository.py", "bot/loop/serving.py"}
"""Modules that carry out actions: what a look decided, and nothing else."""


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def importing(folder: str, module: str) -> set[str]:
    return {
        path.relative_to(TOP).as_posix()
        for path in (TOP / folder).rglob("*.py")
        if module.rpartition(".")[2] in path.read_text("utf-8")  # most need no parsing
        if any(name == module or name.startswith(f"{module}.") for name in imported(path))
        and not path.relative_to(TOP).as_posix().startswith("bot/sandbox/")
    }


def test_who_speaks_with_a_forge() -> None:
    """Fails when a command is added that does something at a forge by rights of its own."""
    found = importing("bot/cli", "bot.forges") - {"bot/cli/root.py"}
    assert {each for each in found if not each.startswith("bot/cli/demo/")} == set(AT_THE_FORGE)
    assert set(SERVES) <= set(root.main.commands) | set(root.main.list_commands(None))  # type: ignore[arg-type]


def test_actions_are_carried_out_by_the_bots_looks_alone() -> None:
    """Short-cut: a command, or a page, that performs an action by itself and asks nobody."""
    assert importing("bot", "bot.perform") == PERFORMERS
    assert importing("bot/http", "bot.forges.port.Forge") == set()
    assert importing("bot/http", "bot.forges.port.Forges") == set()
