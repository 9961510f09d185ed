"""The command `porchbot`: one module a group of commands, nothing but reading arguments here."""

import os
import sys
from contextlib import suppress
from pathlib import Path

import click

from bot.cli.lazy import LazyGroup

_COMMANDS = {
    "fn": ("bot.cli.fn:fn", "Run functions on packages on disk."),
    "pkg": ("bot.cli.pkg:pkg", "Get, update, and look into packages on disk."),
}


@click.group(
    cls=LazyGroup, lazy=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="porchbot")
def main() -> None:
    """The life of kpt packages inside an ordinary GitHub repository, and on disk as kpt has it."""


_UNTIL = click.option(
    "--until-stdin-closes",
    is_flag=True,
    help="End when standard input closes, so that it does not outlive what started it.",
)


@main.command()
@_UNTIL
def serve(until_stdin_closes: bool) -> None:
    """Run the bot: webhooks, workers, sweeps. Settings come from the environment."""
    from bot.serve import run  # heavy, and not needed for --help

    sys.exit(run(until_stdin_closes=until_stdin_closes))


@main.command()
@click.option(
    "--listen",
    default="127.0.0.1:9445",
    show_default=True,
    help="host:port, or unix:/path of a socket.",
)
@_UNTIL
def runner(listen: str, until_stdin_closes: bool) -> None:
    """Run the function runner: Porch's gRPC service, with the builtin functions."""
    import asyncio  # takes longer to import than --help to print

    from fnrunner.errors import RunnerAddressError

    try:
        asyncio.run(_run_functions(listen, until_stdin_closes=until_stdin_closes))
    except RunnerAddressError as error:
        raise click.ClickException(str(error)) from error


async def _run_functions(listen: str, *, until_stdin_closes: bool) -> None:
    import asyncio

    from fnrunner.serve import serve as serve_functions

    serving = asyncio.ensure_future(serve_functions(listen))
    if until_stdin_closes:
        # A read that ends means that whoever holds the other end is gone, however it went.
        asyncio.get_running_loop().add_reader(
            sys.stdin.fileno(), lambda: os.read(sys.stdin.fileno(), 4096) or serving.cancel()
        )
    with suppress(asyncio.CancelledError):
        await serving


_REPO = click.option(
    "--repo",
    type=click.Path(exists=True, path_type=Path),
    help="A git repository, a folder or a git bundle to start from. Default: the examples.",
)


@main.command()
@_REPO
@click.option(
    "--info",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write addresses, users and tokens to this file as JSON.",
)
def playground(repo: Path | None, info: Path | None) -> None:
    """Start a forge of its own with the bot beside it, to try things by hand."""
    from bot.cli.playground import run

    sys.exit(run(repo, info))


@main.command()
@_REPO
@click.option("--exit", "leave", is_flag=True, help="End after the story, on a terminal too.")
def demo(repo: Path | None, leave: bool) -> None:
    """The playground, with the story of a package from draft to tag told in the terminal."""
    from bot.cli.demo import run

    sys.exit(run(repo, leave=leave))
