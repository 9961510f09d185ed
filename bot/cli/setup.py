"""`porchbot setup`: registers the bot as an App of GitHub, from a page of its own."""

import asyncio
import dataclasses
import json
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click
from click.core import ParameterSource

from bot import apps, githubs, places, trust
from bot.apps import GITHUB_TOKEN, KnownApp
from bot.cli.dropin import DropInGroup, StrictCommand
from bot.forges.github import manifest
from bot.forges.github.manifest import Addresses, AppManifestError
from bot.forges.github.registration import path
from bot.forges.port import ForgeBusyError, ForgeMissingError, ForgeRefusedError, once
from bot.http import setup as pages
from bot.http.server import listening
from bot.http.setup import RegistrationError, SetupPages
from bot.places import GITHUB_WEB
from bot.settings import state_folder
from bot.vault import Vault, VaultError, open_vault, secrets_file
from lifecycle.identity import GITHUB

MINUTES = 30
"""How long the page stays open: a person looks for a password meanwhile, and asks a colleague."""


_OWNER = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What the options come to."""

    github: Addresses
    organization: str
    name: str
    bot_url: str
    host: str
    port: int
    page_url: str
    minutes: float
    forge: str


def _forget(number: int, forge: str, github: str) -> None:
    """Remove an App from the secret store.

    Args:
        number: Of the App; each GitHub counts its own.
        forge: Name of its GitHub in the bot; "" where nobody named it.
        github: Its address; likewise.
    """
    try:
        vault = open_vault(os.environ, state_folder(os.environ))
        known = apps.read(vault)
        api = manifest.addresses(github).api if github else ""
        found = [
            app
            for app in known
            if app.id == number and forge in ("", app.forge) and api in ("", app.api_url)
        ]
        if len(found) > 1:
            several = " and ".join(app.web_url for app in found)
            raise click.ClickException(
                f"App {number} is registered more than once, as {several}. Say at which GitHub with"
                " --github URL."
            )
        if not found:
            listed = ", ".join(f"{app.id} ({app.web_url})" for app in known) or "none"
            raise click.ClickException(f"No App {number} is registered. Registered: {listed}.")
        apps.forget(vault, found[0])
    except (AppManifestError, VaultError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(
        f"Forgot App {number} ({found[0].web_url}). Restart the bot, and delete the App on GitHub"
        " if it still exists."
    )


class _SetupGroup(DropInGroup, StrictCommand):
    """A command of its own, for GitHub, with a command below it for another forge."""


@click.command(
    cls=_SetupGroup,
    lazy={
        "gitlab": ("bot.cli.setup_gitlab:gitlab", "Set up a GitLab instead."),
        "machine-user": (
            "bot.cli.setup_user:machine_user",
            "Create the webhooks for a machine user instead.",
        ),
    },
    examples="""
    # Register an App for an organization of GitHub.com; the bot will be reached at that address.
    $ porchbot setup --org acme --url https://porchbot.acme.example

    # On a GitHub Enterprise Server with a certificate of a private authority.
    $ porchbot setup --github https://github.corp --ca corp.pem --url https://porchbot.corp
    """,
)
@click.option("--url", metavar="URL", help="Address where GitHub can reach the bot.  [required]")
@click.option(
    "--github", default=GITHUB_WEB, show_default=True, metavar="URL", help="Address of GitHub."
)
@click.option(
    "--as",
    "forge",
    default=GITHUB,
    show_default=True,
    metavar="NAME",
    help=(
        "The bot's name for this GitHub, which cannot be changed later. Needed for a second "
        "one, such as corp."
    ),
)
@click.option(
    "--org",
    default="",
    metavar="NAME",
    help="Organization that will own the App. Default: your own account.",
)
@click.option("--name", default="", help="Name of the App; you can change it on GitHub's page.")
@click.option(
    "--listen",
    default="127.0.0.1:8099",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to serve the page.",
)
@click.option(
    "--page",
    default="",
    metavar="URL",
    help="Address of the page for browsers, if it is behind a proxy.",
)
@click.option(
    "--ca", default="", metavar="FILE", help="PEM file of certificate authorities for GitHub."
)
@click.option("--replace", is_flag=True, help="Register another App even if there is one already.")
@click.option(
    "--forget",
    type=int,
    metavar="NUMBER",
    help=(
        "Only forget an App that was deleted on GitHub; what it signed no longer counts. If "
        "two GitHubs have an App with this number, add --github or --as."
    ),
)
@click.option(
    "--minutes",
    default=MINUTES,
    type=click.FloatRange(min=0),
    help="Give up after this many minutes.",
)
@click.pass_context
def setup(
    context: click.Context,
    url: str | None,
    github: str,
    forge: str,
    org: str,
    name: str,
    listen: str,
    page: str,
    ca: str,
    replace: bool,
    forget: int | None,
    minutes: float,
) -> None:
    """Register the bot as a GitHub App.

    Serves a page that one browser can open, with the token in the printed address. From there the
    browser sends the App's manifest to GitHub, and returns with a code that the bot exchanges for
    the App's private key and secrets. These are stored encrypted in the secret store
    (PORCHBOT_SECRETS_STORE), and never printed.
    """
    if context.invoked_subcommand is not None:
        return
    if forget is not None:
        given = {"forge": forge, "github": github}
        _forget(
            forget,
            **{name: text if _is_given(context, name) else "" for name, text in given.items()},
        )
        return
    if not url:
        raise click.MissingParameter(ctx=context, param_hint="'--url'", param_type="option")
    try:
        trust.use(ca or os.environ.get(trust.VARIABLE, ""))
        vault = _vault(forge, manifest.addresses(github).api, replace=replace)
        if org and not _OWNER.fullmatch(org):
            raise click.ClickException(
                f"{org!r} is not the name of an organization. Give its name alone, such as acme."
            )
        host, port = _address(listen)
        wanted = _Wanted(
            github=manifest.addresses(github),
            organization=org,
            name=name,
            bot_url=url,
            host=host,
            port=port,
            page_url=_page(page),
            minutes=minutes,
            forge=forge,
        )
        app = asyncio.run(_register(wanted, vault))
    except (AppManifestError, RegistrationError, VaultError, OSError) as error:
        raise click.ClickException(str(error)) from error
    if app is None:
        raise click.ClickException(
            f"Setup was not completed within {minutes:g} minutes, so nothing was registered. Run"
            " `porchbot setup` again."
        )
    _tell(app, vault.file, ca, token=apps.stored_name(GITHUB_TOKEN, forge) in vault.names())


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _vault(forge: str, api_url: str, *, replace: bool) -> Vault:
    """The secret store; refused where it has an App already.

    Args:
        forge: Name of the GitHub.
        api_url: Of its API.
        replace: An App that is there is replaced.

    Raises:
        RegistrationError: It has one, or knows the name or the address otherwise.
    """
    if forge != GITHUB and (problem := githubs.unusable(forge)):
        raise RegistrationError(problem[0].upper() + problem[1:])
    vault = open_vault(os.environ, state_folder(os.environ), make=True)
    known = apps.read(vault)
    mine = [app for app in known if app.forge == forge]
    if mine and not replace:
        other = "" if mine[0].api_url == api_url else (
            " To serve this GitHub as well, give it a name of its own with --as."
        )  # fmt: skip
        raise RegistrationError(
            f"The bot is already registered, as {mine[0].web_url}. To replace that App, run this"
            f" with --replace; what the old App signed still counts.{other}"
        )
    if twice := [app for app in known if app.api_url == api_url and app.forge != forge]:
        raise RegistrationError(
            f"This GitHub is known as {twice[0].forge!r} already. Run this with"
            f" --as {twice[0].forge} --replace."
        )
    return vault


def _page(text: str) -> str:
    """The address of the page without a slash at its end; "" for that where it listens."""
    address = text.rstrip("/")
    parts = places.given(address)
    if address and (not parts.hostname or parts.path):
        raise RegistrationError(
            f"--page is {places.shown(text)}. Give an address without a path: the page will be at"
            f" {pages.PAGE} there."
        )
    return address


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise RegistrationError(f"--listen is {text!r}. Give host:port, such as 127.0.0.1:8099.")
    return host.removeprefix("[").removesuffix("]"), int(port)


async def _register(wanted: _Wanted, vault: Vault) -> KnownApp | None:
    """Keep the pages open until the App is registered, or time is up; the App."""
    token = secrets.token_urlsafe(32)

    async def register(code: str) -> KnownApp:
        try:
            found = await manifest.convert(wanted.github.api, code, wanted.organization)
            app = dataclasses.replace(found, forge=wanted.forge)
            apps.keep(vault, app)
        except AppManifestError as error:
            raise RegistrationError(str(error)) from error
        except ForgeMissingError as error:
            raise RegistrationError(
                "GitHub does not accept this code: it works once, and for one hour. Start again; if"
                " the App was already created, delete it on GitHub first."
            ) from error
        except (ForgeBusyError, ForgeRefusedError, VaultError, KeyError, ValueError) as error:
            raise RegistrationError(
                f"The App was created, but its key could not be stored. {_said(error)} Delete the"
                " App on GitHub, fix the problem, and start again."
            ) from error
        return app

    base = wanted.page_url or _base(wanted.host, wanted.port)
    back, heard = base + pages.CREATED, path(wanted.forge)
    filled = manifest.filled(wanted.name, wanted.bot_url, back, heard)
    plan = pages.plan_of(
        filled,
        json.dumps(filled),
        wanted.github.web,
        wanted.organization,
        lambda state: wanted.github.new_app(wanted.organization, state),
    )
    shown = SetupPages(plan, token, register, secure=base.startswith("https:"))
    async with listening(shown.application(), wanted.host, wanted.port):
        _invite(f"{base}{pages.PAGE}?token={token}", wanted)
        with suppress(TimeoutError):
            await asyncio.wait_for(shown.registered.wait(), wanted.minutes * 60)
            await asyncio.wait_for(shown.seen.wait(), LAST_LOOK)
    return shown.app


def _said(error: Exception) -> str:
    """An error as a sentence; of those that are none by themselves, what is missing."""
    if isinstance(error, KeyError):
        return f"GitHub's answer has no {error}."
    return once(error).rstrip(".") + "."


LAST_LOOK = 30.0
"""Seconds for the browser to fetch the last page, which has the link to install the App."""


def _base(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _invite(address: str, wanted: _Wanted) -> None:
    click.echo(f"Open this address in a browser, once, within {wanted.minutes:g} minutes:\n")
    click.echo(f"  {address}\n")
    if not address.startswith("https:") and not places.is_loopback(wanted.host):
        click.echo(
            "Warning: this page can be reached from other machines, over unencrypted HTTP. Put a"
            " proxy that terminates TLS in front of it, and give its address with --page.\n",
            err=True,
        )


def _tell(app: KnownApp, store: Path, ca: str, *, token: bool) -> None:
    own = githubs.variable("CA", app.forge)
    serve = "porchbot serve" if not ca else f"{own}={ca} porchbot serve"
    click.echo(f"{app.slug} is registered: {app.web_url}")
    click.echo(f"Its key and secrets are stored, encrypted, in {store}.")
    kept = [f"PORCHBOT_MASTER_KEY{end}" for end in ("", "_FILE")]
    if not any(os.environ.get(name) for name in kept):
        key = secrets_file(os.environ, state_folder(os.environ)).parent / "master.key"
        click.echo(f"The master key is in {key}. Keep a copy of it elsewhere.")
    click.echo("\nNext:")
    click.echo(f"  1. Install it on your repositories: {app.web_url}/installations/new")
    click.echo(f"  2. Start the bot: {serve}")
    click.echo("  3. Check the result: porchbot doctor")
    if token:
        click.echo(
            "\nThe secret store has a machine user's token, which takes precedence. To use this"
            f" App, run `porchbot secret remove {apps.stored_name(GITHUB_TOKEN, app.forge)}`. So"
            " that what the machine user wrote still counts, set"
            f" {githubs.variable('FORMER_ACCOUNTS', app.forge)} to its login and number, such as"
            " robot:583231.",
            err=True,
        )
    if os.environ.get(named := githubs.variable("APP_ID", app.forge)):
        click.echo(
            f"\n{named} is set and takes precedence over the secret store. To use"
            " this App, unset it and the variables of its key.",
            err=True,
        )
