"""Commands of the bot, asked for by a comment in the caller's name.

What is wrong with a command is said before anything is written. The comment goes to the dashboard
issue, or to the pull request that is named, and the answer of the bot to just that comment is
printed.
"""

import shlex
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import click

from bot.cli import progress, terminal
from bot.cli.dropin import CommandFailure, StrictCommand
from bot.cli.rpkg import speaking, spoken
from cadlib.update.upstream import STRATEGIES
from lifecycle.commands.parse import parse
from lifecycle.commands.table import TABLE
from lifecycle.messages.markdown import plain
from lifecycle.upstreams import references
from lifecycle.upstreams.errors import UpstreamError

_PAUSES = (1.0, 1.0, 2.0, 3.0)
"""Seconds between two questions whether there is an answer; the last one from then on."""


F = TypeVar("F", bound=Callable[..., object])


def where(command: F) -> F:
    """Add the options that say where to ask, and how long to wait."""
    on = click.option(
        "--on",
        "number",
        type=click.IntRange(1),
        metavar="NUMBER",
        help="Comment on this pull request. Default: on the dashboard issue.",
    )
    timeout = click.option(
        "--timeout",
        default=120,
        show_default=True,
        type=click.IntRange(0),
        help="Seconds to wait for the bot's answer; 0 not to wait.",
    )
    return on(timeout(command))


PACKAGE = click.option("--package", default="", metavar="PATH", help="The package to change.")
PROPOSE = click.option(
    "--propose", is_flag=True, help="Propose it at once. Default: leave it a draft."
)
STRATEGY = click.option("--strategy", type=click.Choice(STRATEGIES), help="How upgrades merge.")


def _asks(
    word: str,
    usage: str,
    text: str,
    example: str,
    *options: Callable[[Callable[..., object]], Callable[..., object]],
) -> click.Command:
    """One command of the bot as a command of the shell."""

    @where
    @click.option(
        "--repository",
        default="",
        metavar="OWNER/NAME | URL",
        help="The repository. Default: that of the clone in the current folder.",
    )
    @click.argument("args", nargs=-1, metavar=usage)
    def command(
        args: tuple[str, ...], repository: str, number: int | None, timeout: int, **given: object
    ) -> None:
        ask(word, (*written_options(given), *args), repository, number, timeout)

    for option in reversed(options):
        option(command)
    return click.command(
        word,
        cls=StrictCommand,
        help=text,
        examples=f"""
    # {text.rstrip(".").split(",")[0]}; on behalf of the owner of GITHUB_TOKEN or GITLAB_TOKEN.
    $ porchbot rpkg {word} {example}
    """,
    )(command)


def written_options(given: Mapping[str, object]) -> tuple[str, ...]:
    """Return options as the bot reads them in a comment; those that are not given are left out."""
    found: list[str] = []
    for name, value in given.items():
        if value is True:
            found.append(f"--{name}")
        elif value:
            found.append(f"--{name}={value}")
    return tuple(found)


def ask(
    word: str, args: tuple[str, ...], repository: str, number: int | None, timeout: int
) -> None:
    """Ask the bot for something, and print its answer.

    Args:
        word: The command.
        args: What stands after it.
        repository: As the caller names it; "" for that of the current folder.
        number: The pull request to comment on; None for the dashboard issue.
        timeout: Seconds to wait for the answer.

    Raises:
        CommandFailure: It is no command, nothing can be written there, or the bot refused it.
    """
    text = written(word, args)
    row = TABLE.named(word)
    if number is None and row is not None and not row.dashboard:
        raise CommandFailure(
            f"{word} is about a pull request. Give its number with --on; `porchbot rpkg edit`"
            " opens one for a package"
        )
    if number is None and row is not None and row.of_proposal and not _named(text):
        raise CommandFailure(
            f"{word} is about a pull request or a package. Name the package, or give the number of"
            " the pull request with --on"
        )
    place = speaking.place_of(repository)
    with place as forge:
        where = forge.dashboard() if number is None else number
        said = forge.says(where, text, on_dashboard=number is None)
        terminal.say(f"Asked in {said.url}", err=True)
        if timeout:
            _answered(forge, said, timeout)


def written(word: str, args: tuple[str, ...]) -> str:
    """Return the text of the comment, once it reads as the one command that is meant.

    Raises:
        CommandFailure: It does not.
    """
    said = args[_options(args) :]
    if word == "set" and len(said) > 1 and ("=" in said[0] or len(said) > 2):
        raise CommandFailure(
            "set takes one field and its value, such as spec.replicas=3. Quote a value with blanks,"
            " and give the command again for another field"
        )
    quoted = [
        shlex.quote(each) if word == "eval" and not each.startswith("--") else each for each in args
    ]
    text = " ".join([f"/{word}", *quoted])
    found = parse(text)
    if found.problems:
        problem = plain(found.problems[0].text()).removeprefix("/")
        raise CommandFailure(f"{problem}. See `porchbot rpkg {word} --help`")
    if len(found.commands) != 1 or "\n" in text:
        raise CommandFailure(f"{text!r} is not one command. Write its arguments on one line")
    if getattr(found.commands[0], "propose", False) != ("--propose" in args[: _options(args)]):
        raise CommandFailure("a value ends with --propose, which the bot takes for the option")
    upstream = getattr(found.commands[0], "upstream", "") or getattr(found.commands[0], "onto", "")
    if upstream:
        try:
            references.parse(upstream)
        except UpstreamError as error:  # a password in it would stand in the comment for ever
            raise CommandFailure(f"{error.problem}. {error.fix}") from error
    return text


def _named(text: str) -> bool:
    """Whether a command names the package that it is about."""
    return getattr(parse(text).commands[0], "package", None) is not None


def _options(args: tuple[str, ...]) -> int:
    """How many of the arguments are options, which stand in front."""
    return next((at for at, each in enumerate(args) if not each.startswith("--")), len(args))


def _answered(forge: spoken.CommandChannel, said: spoken.Said, timeout: int) -> None:
    """Wait for the answer, and print it."""
    answer = awaited(forge, said, timeout)
    terminal.say(plain(answer.text))
    if answer.refused:
        raise CommandFailure("the bot refused it; the reason stands above")


def awaited(forge: spoken.CommandChannel, said: spoken.Said, timeout: int) -> spoken.BotAnswer:
    """Wait for the answer to a comment.

    Raises:
        CommandFailure: There is none in time, or the forge tells nothing.
    """
    until, turn = time.monotonic() + timeout, 0
    progress.at("waiting for the bot")
    while True:
        heard = forge.heard(said.where, on_dashboard=said.on_dashboard)
        answer = spoken.answer_to(said.id, heard)
        if answer is not None:
            return answer
        if time.monotonic() >= until:
            raise CommandFailure(
                f"no answer within {timeout} seconds. See {said.url}: the bot answers there"
            )
        time.sleep(_PAUSES[min(turn, len(_PAUSES) - 1)])
        turn += 1


init = _asks("init", "PATH", "Open a draft with a new package.", "net/new")
clone = _asks(
    "clone",
    "UPSTREAM PATH",
    "Open a draft with a package from an upstream.",
    "acme/blueprints/net@v3 net/core",
    STRATEGY,
    PROPOSE,
)
edit = _asks("edit", "PACKAGE[@vN]", "Open a draft of a package, or of a revision.", "net/core@v2")
set_ = _asks(
    "set",
    "[KIND/NAME] FIELD=VALUE",
    "Change a field or a setter of a package, as a draft.",
    "--package shop --propose Deployment/shop spec.replicas=3",
    PACKAGE,
    PROPOSE,
)
eval_ = _asks(
    "eval",
    "FUNCTION [KEY=VALUE ...]",
    "Run a function on a package once, as a draft.",
    "--package shop set-labels:v0.2 team=net",
    PACKAGE,
    PROPOSE,
)
rebase = _asks(
    "rebase",
    "[PACKAGE] [onto UPSTREAM]",
    "Update a pull request or the open draft of a package from its base branch, or move a package"
    " to another upstream.",
    "net/core onto acme/blueprints/net@v3",
)
resume = _asks(
    "resume",
    "PACKAGE [REASON ...]",
    "Open a pull request that ends the hold after a rollback.",
    "net/core",
)
