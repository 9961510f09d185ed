"""`porchbot secret`: what the bot keeps encrypted, put there and listed; never shown."""

import os
import sys

import click

from bot.cli.dropin import DropInGroup, StrictCommand
from bot.settings import state_folder
from bot.vault import VaultError, open_vault

secret = DropInGroup(
    name="secret",
    help="Keep secrets encrypted: names are shown, values never.",
    examples="""
    # Keep the key that tags are signed with.
    $ cat id_ed25519 | porchbot secret put signing-key
    """,
)


@secret.command(
    cls=StrictCommand,
    examples="""
    # Replace the webhook's secret, and keep it out of the shell's history.
    $ openssl rand -hex 32 | porchbot secret put webhook-secret
    """,
)
@click.argument("name")
def put(name: str) -> None:
    """Keep what comes in at standard input under a name, in place of what was there."""
    value = sys.stdin.read()
    if not value.strip():
        raise click.ClickException("Nothing came in. Give the secret at standard input.")
    try:
        open_vault(os.environ, state_folder(os.environ), make=True).put(name, value)
    except VaultError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{name} is kept, encrypted.")


@secret.command("list", cls=StrictCommand, examples="# Which are there?\n$ porchbot secret list")
def list_() -> None:
    """Print the names of what is kept."""
    try:
        names = open_vault(os.environ, state_folder(os.environ)).names()
    except VaultError as error:
        raise click.ClickException(str(error)) from error
    for name in names:
        click.echo(name)


@secret.command(
    cls=StrictCommand, examples="# Sign tags no more.\n$ porchbot secret remove signing-key"
)
@click.argument("name")
def remove(name: str) -> None:
    """Forget a secret."""
    try:
        vault = open_vault(os.environ, state_folder(os.environ))
        if name not in vault.names():
            raise click.ClickException(f"There is no secret {name!r}. `porchbot secret list`.")
        vault.put(name, "")
    except VaultError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{name} is removed.")
