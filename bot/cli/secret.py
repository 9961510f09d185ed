"""`porchbot secret`: what the bot keeps encrypted, put there and listed; never shown."""

import asyncio
import os
import sys
from collections.abc import Coroutine

import click
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from github.Auth import Token

from bot import apps, places, trust
from bot.apps import (
    GITHUB_TOKEN,
    KEPT,
    OF_A_GITHUB,
    OLD_KEYS,
    PRIVATE_KEY,
    SETUP_SECRET,
    WEBHOOK_SECRETS,
    KnownApp,
    stored_name,
)
from bot.cli.dropin import DropInGroup, StrictCommand
from bot.cli.setup_tokens import sendable
from bot.forges.github.app import AppClients
from bot.forges.github.http import Clients, call
from bot.forges.port import ForgeBusyError, ForgeDeniedError, ForgeRefusedError, once
from bot.githubs import KEY_VARIABLES, unusable, variable
from bot.settings import state_folder
from bot.variables import GITHUB_API
from bot.vault import Vault, VaultError, open_vault
from lifecycle.identity import GITHUB

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
    $ openssl rand -hex 32 | tee new-secret | porchbot secret put webhook-secrets

    # Replace the App's private key with one that you generated on GitHub.
    $ cat porchbot.private-key.pem | porchbot secret put private-key
    """,
)
@click.argument("name")
@click.option("--offline", is_flag=True, help="Store a private key or a token untried.")
def put(name: str, offline: bool) -> None:
    """Store a secret from standard input under a name; replaces an older value.

    GitHub is asked whether a new private key is the App's, and whose a new token is, before it
    takes the old one's place.
    """
    kind, _, github = name.partition(".")
    further = kind in KEPT and kind in OF_A_GITHUB and github and not unusable(github)
    if name not in KEPT and not further:
        raise click.ClickException(
            f"The bot reads no secret {name!r}. Give one of: {', '.join(KEPT)}; for a second GitHub"
            f" named corp, such as {GITHUB_TOKEN}.corp."
        )
    value = sys.stdin.read()
    if not value.strip():
        raise click.ClickException("No secret given. Pass it on standard input.")
    try:
        vault = open_vault(os.environ, state_folder(os.environ), make=True)
        if kind == PRIVATE_KEY:
            _renew_key(vault, github or GITHUB, value, offline=offline)
        elif kind == GITHUB_TOKEN:
            _renew_token(vault, github or GITHUB, value, offline=offline)
        else:
            vault.put(name, value)
    except VaultError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"Stored {name}, encrypted.")
    if kind == PRIVATE_KEY:
        old = stored_name(OLD_KEYS, github or GITHUB)
        click.echo(
            "Restart the bot, then delete the old key on GitHub. What the old key signed still"
            f" counts until you run: porchbot secret remove {old}"
        )


def _renew_key(vault: Vault, github: str, key: str, *, offline: bool) -> None:
    for kind in KEY_VARIABLES:
        given = variable(kind, github)
        if os.environ.get(given):
            raise click.ClickException(
                f"{given} is set, and the bot uses that key whatever is stored. Put the new key"
                f" there, with the old one in {variable('OLDER_KEY_FILES', github)}; or unset it"
                " and run this again."
            )
    try:
        known_key = load_pem_private_key(key.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        known_key = None
    if not isinstance(known_key, RSAPrivateKey):
        raise click.ClickException(
            "What you passed is not a private RSA key in PEM without a password. Pass the file that"
            " GitHub generated for the App."
        )
    known = [app for app in apps.read(vault) if app.forge == github]
    if not known:
        raise click.ClickException(
            f"The secret store has no App of a GitHub named {github}. Register one with `porchbot"
            f" setup`, or set {variable('PRIVATE_KEY_FILE', github)}."
        )
    if not offline:
        _try_key(known[0], key)
    apps.renew_key(vault, github, key)


def _renew_token(vault: Vault, github: str, token: str, *, offline: bool) -> None:
    for kind in ("TOKEN", "TOKEN_FILE"):
        given = variable(kind, github)
        if os.environ.get(given, "").strip():
            raise click.ClickException(
                f"{given} is set, and the bot uses that token whatever is stored. Put the new token"
                " there, or unset it and run this again."
            )
    found = sendable(stored_name(GITHUB_TOKEN, github), token)
    if not offline:
        _try_token(vault, github, found)
    vault.put(stored_name(GITHUB_TOKEN, github), token)


def _try_token(vault: Vault, github: str, token: str) -> None:
    name = variable("API_URL", github)
    given = os.environ.get(name, "").strip()
    known = [app.api_url for app in apps.read(vault) if app.forge == github]
    api = given or (known[0] if known else GITHUB_API if github == GITHUB else "")
    if not places.is_web(api):
        found = places.shown(given) if given else "not set"
        raise click.ClickException(
            f"{name} is {found}, so the token cannot be tried. Nothing was stored. Set it to the"
            " address of that GitHub's API, or store the token untried with --offline."
        )
    _tried(
        _ask_whose(places.github_api(api), token),
        github,
        "this token",
        "Pass one that is complete, has not expired, and belongs to the bot's account",
    )


def _try_key(app: KnownApp, key: str) -> None:
    _tried(
        _ask_about(app, key),
        app.forge,
        f"this key for the App {app.slug} (number {app.id})",
        "Pass a key that was generated on that App's settings page and is still listed there",
    )


def _tried(asked: Coroutine[None, None, None], github: str, what: str, fix: str) -> None:
    """Refuse what GitHub does not take: with it the bot would do nothing."""
    try:
        trust.use(os.environ.get(variable("CA", github), "").strip())
        asyncio.run(asked)
    except (ForgeDeniedError, ForgeRefusedError) as error:
        raise click.ClickException(
            f"GitHub does not accept {what}: {error.reason.rstrip('.')}. Nothing was stored. {fix}."
        ) from error
    except (ForgeBusyError, OSError) as error:
        raise click.ClickException(
            f"{once(error)} Nothing was stored: it is not known whether GitHub accepts {what}. Run"
            " this where GitHub can be reached, or store it untried with --offline."
        ) from error
    finally:
        asked.close()


async def _ask_whose(api: str, token: str) -> None:
    clients = Clients(api, lambda: Token(token))
    try:
        about = (await call(clients, "read whose the token is", "GET", "/user")).data
    finally:
        clients.close()
    if not isinstance(about, dict) or "login" not in about:
        raise ForgeBusyError("read whose the token is", f"{api} answers as no GitHub does")
    click.echo(f"The token is {about['login']}'s.")


async def _ask_about(app: KnownApp, key: str) -> None:
    asked = AppClients(app.api_url, str(app.id), key, forge=app.forge)
    try:
        about = await asked.about()
    finally:
        asked.close()
    if not isinstance(about, dict) or about.get("id") != app.id:
        raise ForgeBusyError("read the App", f"{app.api_url} answers as no GitHub does")


@secret.command("list", cls=StrictCommand, examples="# List the names.\n$ porchbot secret list")
def list_() -> None:
    """Print the names of the stored secrets."""
    try:
        vault = open_vault(os.environ, state_folder(os.environ))
        for name in vault.names():
            click.echo(name)
        for name in apps.stored_parts(vault):
            click.echo(name)
    except VaultError as error:
        raise click.ClickException(str(error)) from error


@secret.command(
    cls=StrictCommand,
    examples="""
    # Stop signing tags.
    $ porchbot secret remove signing-key

    # After a new webhook secret is stored and set on GitHub: accept the first one no more.
    $ porchbot secret remove setup-webhook-secret
    """,
)
@click.argument("name")
def remove(name: str) -> None:
    """Delete a secret."""
    try:
        vault = open_vault(os.environ, state_folder(os.environ))
        kind, _, github = name.partition(".")
        parts = apps.stored_parts(vault) if kind in (SETUP_SECRET, OLD_KEYS) else ()
        if name not in {*vault.names(), *parts}:
            raise click.ClickException(
                f"There is no secret {name!r}. Run `porchbot secret list` to see the names."
            )
        if kind == SETUP_SECRET:
            _drop_webhook_secret(vault, github or GITHUB)
        elif kind == OLD_KEYS:
            apps.drop_old_keys(vault, github or GITHUB)
        else:
            vault.put(name, "")
    except VaultError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"Removed {name}.")


def _drop_webhook_secret(vault: Vault, github: str) -> None:
    fresh = stored_name(WEBHOOK_SECRETS, github)
    if fresh not in vault.names():
        raise click.ClickException(
            "No other webhook secret is stored, and without one the bot does not start. Store a new"
            f" one first: porchbot secret put {fresh}"
        )
    apps.drop_webhook_secret(vault, github)
