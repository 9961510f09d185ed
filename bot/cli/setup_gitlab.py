"""`porchbot setup gitlab`: makes what the bot needs at a GitLab, from an owner's token."""

import os
from dataclasses import replace
from datetime import UTC, datetime

import click

from bot import gitlabs, places
from bot.cli import setup_tokens, terminal
from bot.cli.dropin import StrictCommand
from bot.forges.gitlab.http import Clients
from bot.forges.gitlab.setting_projects import SetupRequest
from bot.forges.gitlab.setting_up import GitLabSetup, SetupRefusedError
from bot.forges.port import ForgeBusyError, ForgeRefusedError, once
from bot.gitlabs import GitLabInstance
from bot.settings import state_folder
from bot.vault import Vault, VaultError, open_vault, secrets_file

SERVICE = "https://gitlab.com"


@click.command(
    cls=StrictCommand,
    examples="""
    # Set up all projects of a group of gitlab.com; the bot will be reached at that address.
    $ porchbot setup gitlab --group acme --url https://porchbot.acme.example

    # First show what would be created, in one project of a self-managed GitLab.
    $ porchbot setup gitlab --gitlab https://git.corp --project acme/nets --url https://b --dry-run
    """,
)
@click.option("--url", default="", metavar="URL", help="Address where GitLab reaches the bot.")
@click.option(
    "--gitlab",
    "address",
    default=SERVICE,
    show_default=True,
    metavar="URL",
    help="Address of GitLab.",
)
@click.option("--project", "projects", multiple=True, metavar="PATH", help="A project to serve.")
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="PATH",
    help="A group to serve, with all its projects.",
)
@click.option(
    "--name",
    default=gitlabs.FIRST,
    show_default=True,
    metavar="NAME",
    help="The bot's name for this GitLab, which cannot be changed later.",
)
@click.option(
    "--login", default="porchbot", show_default=True, metavar="NAME", help="The bot's login there."
)
@click.option(
    "--ca", default="", metavar="FILE", help="PEM file of certificate authorities for GitLab."
)
@click.option(
    "--gates",
    is_flag=True,
    help="Also turn on the project settings that prevent merging while a check fails.",
)
@click.option(
    "--only-bot", is_flag=True, help="Allow only the bot to merge to default branches (Premium)."
)
@click.option(
    "--merge-by-deploy-key",
    "by_key",
    is_flag=True,
    help="Allow only the bot to merge to default branches, by a deploy key of its own (all tiers).",
)
@click.option(
    "--system-hook",
    is_flag=True,
    help="Also create a system hook, which reports pushes of many refs; as an administrator.",
)
@click.option(
    "--new-secrets",
    is_flag=True,
    help="Replace the secrets of all webhooks; restart the bot afterwards.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be created.")
@click.option("--forget", is_flag=True, help="Only remove this GitLab from the secret store.")
def gitlab(
    url: str,
    address: str,
    projects: tuple[str, ...],
    groups: tuple[str, ...],
    name: str,
    login: str,
    ca: str,
    gates: bool,
    only_bot: bool,
    by_key: bool,
    system_hook: bool,
    new_secrets: bool,
    dry_run: bool,
    forget: bool,
) -> None:
    """Create an account, webhooks and rules for the bot on a GitLab.

    Needs the token of an owner of the groups or projects (scope api) in PORCHBOT_OWNER_TOKEN, on
    standard input, or when it asks for it; the token is not stored. The bot gets its own account: a
    service account, or the token of one project; or set PORCHBOT_BOT_TOKEN to the token of an
    account that you created. Its token and the secrets of its webhooks are stored encrypted in the
    secret store, and never printed. Anything that exists is left as it is, so you can run this
    again. The exit status is 1 if something could not be created.
    """
    try:
        if forget:
            _forget(name)
            return
        instance = _instance(name, address, url, ca)
        if given := gitlabs.secrets_variable(os.environ, name):
            raise SetupRefusedError(
                f"{given} is set, and the bot uses those secrets whatever is stored: it would"
                " refuse what the webhooks send that are set up here. Unset it, also for the bot,"
                " and run this again."
            )
        wanted = SetupRequest(
            projects=_paths("--project", projects),
            groups=_paths("--group", groups),
            login=login,
            gates=gates,
            only_bot=only_bot,
            by_key=by_key,
            system_hook=system_hook,
            new_secrets=new_secrets,
            dry_run=dry_run,
            given=setup_tokens.bots(),
        )
        if only_bot and by_key:
            raise SetupRefusedError(
                "--only-bot and --merge-by-deploy-key do the same. Give one of them."
            )
        if not projects and not groups:
            raise SetupRefusedError(
                "Nothing to set up. Name a --group or a --project by its full path."
            )
        state = state_folder(os.environ)
        new = dry_run and not secrets_file(os.environ, state).exists()
        vault = None if new else open_vault(os.environ, state, make=True)
        _set_up(vault, instance, wanted)
    except ForgeRefusedError as error:
        raise click.ClickException(
            f"GitLab refused to {error.wanted}: {error.reason}. Give the token of an owner of"
            f" {' and '.join((*wanted.groups, *wanted.projects))}, with the scope api."
        ) from error
    except (SetupRefusedError, ForgeBusyError, VaultError, OSError) as error:
        raise click.ClickException(once(error)) from error
    if vault is not None and not dry_run:
        terminal.say(f"\nThe bot's token and secrets are stored, encrypted, in {vault.file}.")
        terminal.say("Next: start the bot with porchbot serve, and check with porchbot doctor.")


def _forget(name: str) -> None:
    if not gitlabs.forget(open_vault(os.environ, state_folder(os.environ)), name):
        raise SetupRefusedError(f"The secret store has no GitLab named {name}.")
    terminal.say(f"Forgot {name}. Restart the bot, and remove its account and webhooks there.")


def _instance(name: str, address: str, url: str, ca: str) -> GitLabInstance:
    """The instance as the options name it, without secrets."""
    if not url:
        raise SetupRefusedError("Give --url: where GitLab reaches the bot.")
    if problem := gitlabs.unusable(name):
        raise SetupRefusedError(problem[0].upper() + problem[1:])
    for option, text in (("--gitlab", address), ("--url", url)):
        parts = places.given(text)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise SetupRefusedError(
                f"{option} is {places.shown(text)}. Give an address without a user, such as"
                " https://gitlab.example."
            )
    parts = places.given(address)
    if parts.scheme == "http" and not places.is_loopback(parts.hostname or ""):
        raise SetupRefusedError(
            f"--gitlab is {address!r}, which is not encrypted: anyone on the network path could"
            f" read your token and the bot's. Use https: https://{parts.netloc}."
        )
    parts = places.given(url)
    if parts.scheme == "http" and not places.is_loopback(parts.hostname or ""):
        raise SetupRefusedError(
            f"--url is {url!r}, which is not encrypted: GitLab would send the secrets of its"
            " webhooks to it for anyone on the network path to read. Put the bot behind https, and"
            f" give https://{parts.netloc}."
        )
    if ca and not os.access(ca, os.R_OK):
        raise SetupRefusedError(f"--ca: cannot read {ca}. Name a file with certificates in PEM.")
    return GitLabInstance(
        name=name,
        url=places.spelled(address),
        token="",
        webhook_secrets=(),
        ca=os.path.abspath(ca) if ca else "",
        webhook_url=f"{url.rstrip('/')}/webhooks/gitlab/{name}",
        stored=True,
    )


def _set_up(vault: Vault | None, wanted: GitLabInstance, what: SetupRequest) -> None:
    stored = gitlabs.stored(vault) if vault is not None else ()
    known = {each.name: each for each in stored}.get(wanted.name)
    instance = wanted
    if known is not None:
        if known.url != wanted.url:
            raise SetupRefusedError(
                f"{wanted.name} is the GitLab at {known.url}. Give this one another --name."
            )
        instance = replace(known, ca=wanted.ca or known.ca, webhook_url=wanted.webhook_url)
    token = setup_tokens.owners("Token of an owner", "No token of an owner.")
    owner = Clients(wanted.url, lambda: token, ca=wanted.ca)
    try:
        GitLabSetup(
            owner,
            what,
            datetime.now(UTC).date(),
            terminal.say,
            lambda bots: Clients(wanted.url, lambda: bots, ca=wanted.ca),
            None if vault is None else gitlabs.Making(vault, wanted.name),
        ).run(instance, lambda made: gitlabs.keep(vault, made) if vault is not None else None)
    finally:
        owner.close()


def _paths(option: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """Full paths of projects or groups, without slashes around them."""
    found = tuple(text.strip("/ ") for text in given)
    for path, text in zip(found, given, strict=True):
        if not path or "://" in path:
            raise SetupRefusedError(f"{option} is {text!r}. Give a full path such as acme/nets.")
    return found
