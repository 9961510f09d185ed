"""Click commands with kpt's errors: one line `error: …` on standard error, exit status 1.

click would print the usage and exit with 2; scripts written for kpt know neither.
"""

import inspect
import sys
import textwrap
from collections.abc import Sequence
from typing import IO, Any, NoReturn

import click

from bot.cli import colour, progress, terminal
from bot.cli.lazy import LazyGroup, set_logs_aside
from cadlib.errors import PackageError, Place


class CommandFailure(click.ClickException):
    """Ends a command: its message on standard error, and exit status 1."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message."""
        shown = colour.on(file or sys.stderr, "error:", "red")
        click.echo(f"{shown} {terminal.lines(self.message)}", file=file, err=file is None)


class Undetermined(CommandFailure):
    """Ends a command that judges without a judgement: exit status 2, where 1 is a bad one."""

    exit_code = 2


class CommandWithExamples(click.Command):
    """A command whose help has examples.

    Args:
        examples: Comments and commands, "# …" and "$ porchbot …", a line each.
    """

    def __init__(self, *args: Any, examples: str = "", **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.examples = inspect.cleandoc(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they are: a shell takes no other line breaks."""
        super().format_epilog(ctx, formatter)
        if self.examples:
            formatter.write(f"\nExamples:\n{textwrap.indent(self.examples, '  ')}\n")


class StrictCommand(CommandWithExamples):
    """A command whose usage errors are printed in kpt's form."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the arguments."""
        try:
            return super().make_context(info_name, _as_flags(self, args), parent, **extra)
        except click.UsageError as error:
            _fail(error)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        set_logs_aside()
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            _fail(error)
        except CommandFailure:
            raise
        except click.ClickException as error:  # shown with "Error: " by click
            raise CommandFailure(error.message) from error


class DropIn(StrictCommand):
    """A command whose `PackageError` and `OSError` are printed in kpt's form."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            with progress.reported():
                return super().invoke(ctx)
        except PackageError as error:
            whole = error.place == Place()  # it is about the command, and no file
            text = f"{error.problem}. {error.fix}." if whole else str(error)
            raise CommandFailure(text) from error
        except BrokenPipeError:
            raise  # whoever read what it writes has seen enough: click ends without a word
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise CommandFailure(
                f"{where}{error.strerror or error}"
            ) from error  # ours have words only


@click.pass_context
def _help(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


class DropInGroup(CommandWithExamples, LazyGroup):
    """A group of commands: prints its help without a subcommand, and refuses unknown ones."""

    def __init__(self, **attrs: Any) -> None:
        attrs = {"callback": _help, **attrs, "invoke_without_command": True}
        super().__init__(**attrs, no_args_is_help=False)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the arguments."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            _fail(error)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command."""
        if self.get_command(ctx, args[0]) is None:
            raise CommandFailure(f'unknown command "{args[0]}" for "{ctx.command_path}"')
        return super().resolve_command(ctx, args)


def at_least(args: Sequence[str], least: int) -> None:
    """Refuse arguments that are too few, in kpt's words."""
    if len(args) < least:
        raise CommandFailure(f"requires at least {least} arg(s), only received {len(args)}")


def at_most(args: Sequence[str], most: int) -> None:
    """Refuse arguments that are too many, in kpt's words."""
    if len(args) > most:
        raise CommandFailure(f"accepts at most {most} arg(s), received {len(args)}")


def _as_flags(command: click.Command, args: Sequence[str]) -> list[str]:
    """Return arguments with kpt's `--flag=false` and `-F=true` as flags that click knows."""
    by_name: dict[str, tuple[list[str], list[str]]] = {
        name: (option.opts, option.secondary_opts)
        for option in command.params
        if isinstance(option, click.Option) and option.is_flag
        for name in option.opts
    }
    found: list[str] = []
    for number, arg in enumerate(args):
        if arg == "--":
            return [*found, *args[number:]]
        name, equals, value = arg.partition("=")
        if not equals or name not in by_name:
            found.append(arg)
        elif value.lower() in ("true", "t", "1"):
            found.append(name)
        elif value.lower() in ("false", "f", "0"):
            found += by_name[name][1][:1]
        else:
            raise click.BadParameter(f"{value!r} is neither true nor false", param_hint=name)
    return found


def _fail(error: click.UsageError) -> NoReturn:
    raise CommandFailure(_in_kpts_words(error)) from error


def _in_kpts_words(error: click.UsageError) -> str:
    match error:
        case click.NoSuchOption(option_name=name) if name.startswith("--"):
            return f"unknown flag: {name}"
        case click.NoSuchOption(option_name=name):
            return f"unknown shorthand flag: '{name[1:2]}' in {name}"
        case click.BadOptionUsage(option_name=name) if "requires an argument" in error.message:
            return f"flag needs an argument: {name}"
        case _:
            return error.format_message()
