"""`porchbot setup machine-user`: makes the webhooks that a machine user needs."""

import asyncio
import os
import re
import secrets
import sys
from collections.abc import Sequence

import click
from github.Auth import Token

from bot import apps, githubs, places, trust
from bot.apps import GITHUB_TOKEN, WEBHOOK_SECRETS
from bot.cli import setup_tokens, terminal
from bot.cli.dropin import StrictCommand
from bot.cli.setup_tokens import BOT_TOKEN, OWNER_TOKEN
from bot.forges.github.hooks import HookState, WantedHook
from bot.forges.github.http import Clients, call
from bot.forges.github.manifest import AppManifestError, addresses
from bot.forges.github.registration import path
from bot.forges.port import (
    ForgeBusyError,
    ForgeDeniedError,
    ForgeMissingError,
    ForgeRefusedError,
    once,
)
from bot.places import GITHUB_WEB
from bot.settings import state_folder
from bot.variables import GITHUB_API
from bot.vault import VaultError, open_vault
from lifecycle.identity import GITHUB

_NAME = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)?")

_REPOSITORYS = (
    "an administrator of this repository (classic: scope admin:repo_hook; fine-grained: the"
    " repository permission Webhooks, write)"
)
_ORGANIZATIONS = (
    "an owner of this organization (classic: scope admin:org_hook; fine-grained: the organization"
    " permission Webhooks, write), or name its repositories one by one"
)

_WHOSE = {
    OWNER_TOKEN: "the administrator's token",
    BOT_TOKEN: "the token of the bot's account",
}

_SAID = {
    HookState.MADE: "webhook made",
    HookState.MENDED: "webhook mended",
    HookState.THERE: "webhook is there already",
}
_TRIED = {
    HookState.MADE: "would make the webhook",
    HookState.MENDED: "would mend the webhook",
    HookState.THERE: "webhook is there already",
}


@click.command(
    cls=StrictCommand,
    examples="""
    # Create the webhooks of two repositories; the bot will be reached at that address.
    $ porchbot setup machine-user --url https://porchbot.acme.example acme/net acme/web

    # Create one webhook for all repositories of an organization.
    $ porchbot setup machine-user --url https://porchbot.acme.example acme

    # Show what would be created if the account's token is stored as well.
    $ PORCHBOT_BOT_TOKEN=$TOKEN porchbot setup machine-user --url https://b --dry-run acme/net
    """,
)
@click.argument("repositories", nargs=-1, required=True, metavar="OWNER[/NAME]...")
@click.option("--url", required=True, metavar="URL", help="Address where GitHub reaches the bot.")
@click.option(
    "--github", default=GITHUB_WEB, show_default=True, metavar="URL", help="Address of GitHub."
)
@click.option(
    "--as",
    "forge",
    default=GITHUB,
    show_default=True,
    metavar="NAME",
    help="The bot's name for this GitHub.",
)
@click.option(
    "--ca", default="", metavar="FILE", help="PEM file of certificate authorities for GitHub."
)
@click.option("--dry-run", is_flag=True, help="Only show what would be created.")
def machine_user(
    repositories: tuple[str, ...], url: str, github: str, forge: str, ca: str, dry_run: bool
) -> None:
    """Create the webhooks that the bot needs as a machine user.

    A webhook belongs to a repository (OWNER/NAME) or to an organization (OWNER): one for all of its
    repositories, also those that are created later. Needs the token of an administrator of the
    repositories, or of an owner of the organization, in PORCHBOT_OWNER_TOKEN, on standard input, or
    when it asks for it; the token is not stored. The webhooks' secret is generated once and stored
    encrypted in the secret store, with the account's token if it is in PORCHBOT_BOT_TOKEN; neither
    is printed. An existing webhook is repaired if something is wrong with it, so you can run this
    again. The exit status is 1 if a webhook could not be created.
    """
    try:
        trust.use(ca or os.environ.get(trust.VARIABLE, ""))
        hears_at = _hears_at(url, forge)
        bad = [name for name in repositories if not _NAME.fullmatch(name)]
        if bad:
            raise click.ClickException(
                f"{bad[0]!r} is neither a repository nor an organization. Write OWNER/NAME, or"
                " OWNER."
            )
        api = addresses(github).api
        _same_github(api, github, forge)
        token = setup_tokens.owners("Token of an administrator", "No administrator's token.")
        own = setup_tokens.bots()
        asyncio.run(_try_tokens(api, token, own))
        wanted = _wanted(hears_at, forge, own, dry_run=dry_run)
        refused = asyncio.run(_make(api, token, wanted, repositories, dry_run=dry_run))
    except (AppManifestError, VaultError, ForgeBusyError, OSError) as error:
        raise click.ClickException(once(error)) from error
    if refused:
        sys.exit(1)
    variable, place = githubs.variable("API_URL", forge), ""
    if api != GITHUB_API and not os.environ.get(variable, "").strip():
        place = f"set {variable} to {api} for the bot, "
    terminal.say(
        f"\nNext: {place}give the account write access to the repositories, and run porchbot"
        " doctor."
    )


async def _try_tokens(api: str, token: str, own: str) -> None:
    """Refuse tokens that cannot be used, before one replaces a token that can.

    Args:
        api: Address of the API.
        token: The administrator's.
        own: Of the bot's account; "" for none.

    Raises:
        ForgeBusyError: GitHub could not be asked.
    """
    owner = await _account(api, OWNER_TOKEN, token)
    if own and await _account(api, BOT_TOKEN, own) == owner:
        raise click.ClickException(
            f"Both tokens belong to {owner}. The bot needs an account of its own: create one, and"
            f" set {BOT_TOKEN} to its token. Nothing was stored or created."
        )


async def _account(api: str, variable: str, token: str) -> str:
    """Login of the account that a token belongs to."""
    clients = Clients(api, lambda: Token(token))
    try:
        about = await call(clients, "read whose the token is", "GET", "/user")
    except ForgeMissingError as error:
        raise click.ClickException(
            f"No GitHub answers at {api}: {error.reason.rstrip('.')}. Nothing was stored or"
            " created. Check --github."
        ) from error
    except (ForgeDeniedError, ForgeRefusedError) as error:
        raise click.ClickException(
            f"GitHub does not accept {_WHOSE[variable]}: {error.reason.rstrip('.')}. Nothing was"
            f" stored or created. Set {variable} to one that is complete, has not expired, and may"
            " be used there."
        ) from error
    finally:
        clients.close()
    if not isinstance(about.data, dict) or "login" not in about.data:
        raise click.ClickException(f"No GitHub answers at {api}. Check --github.")
    return str(about.data["login"])


async def _make(
    api: str, token: str, wanted: WantedHook, repositories: Sequence[str], *, dry_run: bool
) -> bool:
    """Make or mend each webhook; tells whether any was refused."""
    owner, refused = Clients(api, lambda: Token(token)), False
    try:
        for name in repositories:
            try:
                state = await wanted.ensure(owner, name)
            except ForgeRefusedError as error:
                refused = True
                whose = _REPOSITORYS if "/" in name else _ORGANIZATIONS
                why = error.reason.rstrip(".")
                terminal.say(f"{name}: not made: {why}. Use the token of {whose}.")
                continue
            terminal.say(f"{name}: {(_TRIED if dry_run else _SAID)[state]}")
    finally:
        owner.close()
    return refused


def _wanted(url: str, forge: str, token: str, *, dry_run: bool) -> WantedHook:
    """The webhook with the secret of the store, which is made where there is none.

    The account's token is stored, if there is one and the webhook's secret is in the store.
    """
    variable = githubs.variable("WEBHOOK_SECRETS", forge)
    given = os.environ.get(variable, "")
    if known := [word.strip() for word in given.split(",") if word.strip()]:
        if token and not dry_run:
            terminal.say(
                f"{BOT_TOKEN} is not stored, because {variable} is set: the environment has the"
                f" secrets. Set {githubs.variable('TOKEN', forge)} to it for the bot."
            )
        return WantedHook(url=url, secret="" if dry_run else known[0], fresh=False)
    if dry_run:
        return WantedHook(url=url, secret="", fresh=False)
    vault = open_vault(os.environ, state_folder(os.environ), make=True)
    if token:
        vault.put(apps.stored_name(GITHUB_TOKEN, forge), token)
    name = apps.stored_name(WEBHOOK_SECRETS, forge)
    known = [line.strip() for line in vault.get(name).splitlines() if line.strip()]
    secret = known[0] if known else secrets.token_urlsafe(32)
    if not known:
        vault.put(name, secret)
    return WantedHook(url=url, secret=secret, fresh=not known)


def _hears_at(url: str, forge: str) -> str:
    parts = places.given(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        raise click.ClickException(
            f"--url is {places.shown(url)}. Give the address where GitHub can reach the bot, such"
            " as https://porchbot.example."
        )
    if forge != GITHUB and (problem := githubs.unusable(forge)):
        raise click.ClickException(problem[0].upper() + problem[1:])
    return url.rstrip("/").removesuffix(path(forge)) + path(forge)


def _same_github(api: str, given: str, forge: str) -> None:
    """Refuse an address that is not the one of the GitHub: a token would go to another one."""
    variable = githubs.variable("API_URL", forge)
    known = os.environ.get(variable, "").strip()
    if known and places.github_home(known) != places.github_home(api):
        raise click.ClickException(
            f"--github is {given}, and {variable} is {known}: your token would be sent to another"
            " GitHub. Give --github with the address of the one that you mean."
        )
    if not known and forge != GITHUB and api == GITHUB_API:
        raise click.ClickException(
            f"It is not known where the GitHub {forge!r} is, and your token would be sent to"
            f" {given}. Give its address with --github, and set {variable} to that of its API."
        )
