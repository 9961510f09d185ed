"""Lazily imported commands: a module is imported when its command runs, so start-up is fast."""

import gc
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module

import click


@contextmanager
def importing() -> Iterator[None]:
    """Import what a command is made of, without looking for cycles in it.

    It stays as long as the process does, and is not looked through later either. To look again and
    again while it is read takes a third of the start.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collects:
            gc.enable()
    set_logs_aside()


def set_logs_aside() -> None:
    """Keep lines of the log out of what a command prints, if anything was imported that logs.

    To import what writes them takes as long as a short command does.
    """
    if "structlog" in sys.modules:
        from bot import logs

        logs.set_aside()


class LazyGroup(click.Group):
    """A click group that imports the module of a command when it is asked for.

    Args:
        lazy: For each command, "module:function" and its line in the help.
        aliases: Other names of commands.
        attrs: As for `click.Group`.
    """

    def __init__(
        self,
        *,
        lazy: Mapping[str, tuple[str, str]] | None = None,
        aliases: Mapping[str, str] | None = None,
        **attrs: object,
    ) -> None:
        super().__init__(**attrs)  # type: ignore[arg-type]  # click's own keywords, passed on
        self._lazy = dict(lazy or {})
        self._aliases = dict(aliases or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted({*super().list_commands(ctx), *self._lazy})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, its module read now."""
        cmd_name = self._aliases.get(cmd_name, cmd_name)
        if cmd_name not in self._lazy:
            return super().get_command(ctx, cmd_name)
        module, _, name = self._lazy[cmd_name][0].partition(":")
        if module not in sys.modules:
            with importing():
                import_module(module)
        command: click.Command = getattr(sys.modules[module], name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without reading their modules."""
        rows = []
        for name in self.list_commands(ctx):
            if name in self._lazy:
                rows.append((name, self._lazy[name][1]))
                continue
            command = super().get_command(ctx, name)
            if command is not None and not command.hidden:
                rows.append((name, command.get_short_help_str(limit=70)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)
