"""`porchbot version`, `help`, `completion`, and what is said about `live`."""

from importlib import metadata

import click
from click.shell_completion import get_completion_class

from bot.cli.dropin import CommandFailure, StrictCommand, at_most

_SHELLS = ("bash", "zsh", "fish")
_ASKS = "_PORCHBOT_COMPLETE"
"""The variable in which a shell asks for completions; click looks for it under this name."""


@click.command(
    cls=StrictCommand,
    examples="""
    # Print the version.
    $ porchbot version
    """,
)
def version() -> None:
    """Print the version."""
    click.echo(metadata.version("porchbot"))


@click.command(
    "help",
    cls=StrictCommand,
    examples="""
    # Show the options of `fn eval`.
    $ porchbot help fn eval
    """,
)
@click.argument("args", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def help_(context: click.Context, args: tuple[str, ...]) -> None:
    """Show the help of a command."""
    found = context.find_root()
    for arg in args:
        group = found.command
        command = group.get_command(found, arg) if isinstance(group, click.Group) else None
        if command is None:
            raise CommandFailure(f"Unknown help topic [`{' '.join(args)}`]")
        found = click.Context(command, found, command.name)
    click.echo(found.get_help())


@click.command(
    cls=StrictCommand,
    examples="""
    # In this shell.
    $ source <(porchbot completion bash)

    # For every zsh: save it in a folder of your fpath.
    $ porchbot completion zsh > ~/.zfunc/_porchbot

    # For every fish.
    $ porchbot completion fish > ~/.config/fish/completions/porchbot.fish
    """,
)
@click.argument("args", metavar="bash|zsh|fish", nargs=-1)
@click.pass_context
def completion(context: click.Context, args: tuple[str, ...]) -> None:
    """Print a script that lets a shell complete commands and options."""
    at_most(args, 1)
    if not args:
        click.echo(context.get_help())
        return
    shell = get_completion_class(args[0]) if args[0] in _SHELLS else None
    if shell is None:
        raise CommandFailure(f'unknown shell "{args[0]}": use bash, zsh or fish')
    script = shell(context.find_root().command, {}, "porchbot", _ASKS)
    click.echo(script.source_template % script.source_vars())


@click.command(
    cls=StrictCommand,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    examples="""
    # Deploy a package, with kpt itself.
    $ kpt live apply shop
    """,
)
@click.argument("args", metavar="[ARGS]...", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def live(context: click.Context, args: tuple[str, ...]) -> None:
    """Not available: porchbot publishes packages but does not deploy them. Use `kpt live`."""
    if args in (("--help",), ("-h",)):
        click.echo(context.get_help())
        return
    typed = " ".join(("kpt live", *args))
    raise CommandFailure(f"porchbot does not deploy packages. Use kpt: `{typed}`")
