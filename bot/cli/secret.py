"""`porchbot secret`: what the bot keeps encrypted, put there and listed; never shown."""

import os
import sys

import click

from bot.apps import GITHUB_TOKEN, KEPT, OF_A_GITHUB
from bot.cli.dropin import DropInGroup, StrictCommand
from bot.githubs import unusable
from bot.settings import state_folder
from bot.vault import VaultError, open_vault

secret = DropInGroup(
    name="secret",
    help="Store the bot's secrets, encrypted. Names are listed; values are never shown.",
    examples="""
    # Store the key that signs tags.
    $ cat id_ed25519 | porchbot secret put signing-key
    """,
)


@secret.command(
    cls=StrictCommand,
    examples="""
    # Replace the webhook secret, and keep it out of the shell's history.
    $ openssl rand -hex 32 | porchbot secret put webhook-secrets
    """,
)
@click.argument("name")
def put(name: str) -> None:
    """Store a secret from standard input under a name; replaces an older value."""
    kind, _, github = name.partition(".")
    if name not in KEPT and not (kind in OF_A_GITHUB and github and not unusable(github)):
        raise click.ClickException(
            f"The bot reads no secret {name!r}. Give one of: {', '.join(KEPT)}; for a second GitHub"
            f" named corp, such as {GITHUB_TOKEN}.corp."
        )
    value = sys.stdin.read()
    if not value.strip():
        raise click.ClickException("No secret given. Pass it on standard input.")
    try:
        open_vault(os.environ, state_folder(os.environ), make=True).put(name, value)
    except VaultError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"Stored {name}, encrypted.")


@secret.command("list", cls=StrictCommand, examples="# List the names.\n$ porchbot secret list")
def list_() -> None:
    """Print the names of the stored secrets."""
    try:
        names = open_vault(os.environ, state_folder(os.environ)).names()
    except VaultError as error:
        raise click.ClickException(str(error)) from error
    for name in names:
        click.echo(name)


@secret.command(
    cls=StrictCommand, examples="# Stop signing tags.\n$ porchbot secret remove signing-key"
)
@click.argument("name")
def remove(name: str) -> None:
    """Delete a secret."""
    try:
        vault = open_vault(os.environ, state_folder(os.environ))
        if name not in vault.names():
            raise click.ClickException(
                f"There is no secret {name!r}. Run `porchbot secret list` to see the names."
            )
        vault.put(name, "")
    except VaultError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"Removed {name}.")
