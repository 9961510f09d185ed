"""`porchbot doctor`: what the forge has otherwise than the bot needs it, and what to change."""

import asyncio
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from typing import Protocol

import click

from bot import trust
from bot.cli import terminal
from bot.cli.dropin import StrictCommand
from bot.connecting import ForgeConnection, everywhere, gitlab_tokens
from bot.forges.github.guards import Guards
from bot.forges.gitlab.forges import GitLabForges
from bot.forges.gitlab.guards import Guards as ProjectGuards
from bot.forges.port import (
    Drift,
    ForgeBusyError,
    ForgeRefusedError,
    Forges,
    Mend,
    Repository,
    once,
)
from bot.settings import Settings, SettingsError
from fnrunner import urls

OWNER_TOKEN = "PORCHBOT_OWNER_TOKEN"  # noqa: S105 (a variable's name)

MOST = 100
"""Repositories whose rules are looked at without their being named: each takes some requests."""


@click.command(
    cls=StrictCommand,
    examples="""
    # Check the App whose settings are in a file, and all of its repositories.
    $ env $(cat porchbot.env) porchbot doctor

    # Add the rules that one repository is missing, with its owner's token.
    $ PORCHBOT_OWNER_TOKEN=$TOKEN porchbot doctor --fix acme/blueprints
    """,
)
@click.argument("repositories", nargs=-1, metavar="[OWNER/NAME]...")
@click.option("--fix", is_flag=True, help=f"Make the changes that {OWNER_TOKEN} allows.")
@click.option("--host", default="", metavar="HOST", help="Check only the forge at this host.")
def doctor(repositories: tuple[str, ...], fix: bool, host: str) -> None:
    """Check the App's registration, installations and webhook, and the rules of its repositories.

    Prints each problem with the change that fixes it. The exit status is 1 when something does not
    work because of it, and 0 when there are only hints or no problems. Settings come from the
    environment, as for `porchbot serve`. With PORCHBOT_OWNER_TOKEN, the token of an administrator
    of the repositories, it also sees who may bypass their rules, and --fix adds missing rules; it
    never changes or removes a rule. The token is not stored, and is sent to one forge only: where
    the bot serves several, add --host or name repositories of one of them. At a GitLab it checks
    the bot's token and what the instance can do; `porchbot setup gitlab` adds what a project is
    missing.
    """
    try:
        settings = Settings.from_env(os.environ)
        trust.use_all(settings.authorities, settings.state / "authorities.pem")
        token = os.environ.get(OWNER_TOKEN, "").strip()
        if fix and not token:
            raise click.ClickException(
                f"--fix needs an administrator's token. Set {OWNER_TOKEN} to one."
            )
        found = asyncio.run(_look(settings, repositories, token, host, fix=fix))
    except (SettingsError, ForgeBusyError, ForgeRefusedError, OSError) as error:
        raise click.ClickException(once(error)) from error
    for each in sorted(found, key=lambda drift: not drift.harmful):
        terminal.say(f"{'wrong' if each.harmful else 'hint'}: {each}")
    wrong = sum(each.harmful for each in found)
    told = (
        f"{wrong} {'problem' if wrong == 1 else 'problems'} found."
        if wrong
        else "No problems found."
    )
    terminal.say(told)
    sys.exit(1 if wrong else 0)


async def _look(
    settings: Settings, wanted: Sequence[str], token: str, host: str, *, fix: bool
) -> list[Drift]:
    """All that is not as it should be, after what could be mended was."""
    with ExitStack() as stack:
        served = everywhere(settings, gitlab_tokens(settings), stack.callback)
        hosts = {name: _host(name, each, settings) for name, each in served.items()}
        asked = [name for name in served if not host or host.lower() in (name, hosts[name])]
        if not asked:
            known = ", ".join(hosts.values())
            raise click.ClickException(f"The bot serves no forge at {host}. Give one of: {known}.")
        found: list[Drift] = []
        repositories: list[Repository] = []
        for name in asked:
            found += await served[name].forges.drift(served[name].webhook_url)
            repositories += await _repositories(served[name].forges)
        chosen = [_named(name, repositories, hosts) for name in wanted] or repositories
        named = {each.id.forge for each in chosen} if wanted else {*asked}
        owned = token_forge(named, hosts) if token else ""
        for name in asked:
            guarded = [repository for repository in chosen if repository.id.forge == name]
            guards = _guards(served[name], token if name == owned else "")
            stack.callback(guards.close)
            for repository in guarded[:MOST]:
                lacks = await guards.drift(repository)
                if fix and await _mended(guards, lacks):
                    lacks = await guards.drift(repository)
                found += lacks
            if len(guarded) > MOST:
                terminal.say(
                    f"Checked the rules of the first {MOST} repositories only. Name others to"
                    " check."
                )
        return found


def _host(name: str, served: ForgeConnection, settings: Settings) -> str:
    """The host where people open a forge, such as "github.com"."""
    places = {each.name: each.url for each in settings.gitlabs}
    found = urls.parts(served.api_url or places.get(name, "")).netloc.lower()
    return "github.com" if found == "api.github.com" else found.removeprefix("api.")


def token_forge(named: Collection[str], hosts: Mapping[str, str]) -> str:
    """Return the one forge that an owner's token may be sent to.

    Args:
        named: Names of the forges that somebody asks about.
        hosts: Name to host, of all that the bot serves.

    Raises:
        click.ClickException: Nobody said which one; a token of one host is sent to no other.
    """
    if len(named) != 1:
        known = " or ".join(sorted(hosts[name] for name in named))
        raise click.ClickException(
            f"{OWNER_TOKEN} belongs to one forge, and the bot serves several. Add --host with"
            f" {known}, or name repositories of one of them."
        )
    (name,) = named
    return name


def _named(name: str, found: Sequence[Repository], hosts: Mapping[str, str]) -> Repository:
    """The repository of a name, which may be at several forges."""
    there = [each for each in found if each.full_name.lower() == name.lower()]
    if not there:
        raise click.ClickException(
            f"The bot has no access to {name}. Install the App there, or make the machine user a"
            " collaborator with write access."
        )
    if len(there) > 1:
        known = " and ".join(sorted(hosts[each.id.forge] for each in there))
        raise click.ClickException(f"{name} is at {known}. Add --host to choose one of them.")
    return there[0]


class _Guards(Protocol):
    """What guards the repositories of one forge."""

    async def drift(self, repository: Repository) -> Sequence[Drift]:
        """What a repository's rules leave open."""

    async def mend(self, change: Mend) -> None:
        """Make a change."""

    def close(self) -> None:
        """Close its connections."""


def _guards(served: ForgeConnection, token: str) -> _Guards:
    """Who asks a forge what guards a repository.

    Args:
        served: The forge.
        token: An owner's token there; "" to ask as the bot. It is sent to one forge only.
    """
    if not isinstance(served.forges, GitLabForges):
        return Guards(served.forges, served.api_url, token)
    user = served.forges.user
    owner = user.clients.with_token(token) if token else None
    return ProjectGuards(user, served.forges.hooks, owner)


async def _repositories(forges: Forges) -> list[Repository]:
    """Those of installations that work, by their full names."""
    found: list[Repository] = []
    for one in await forges.installations():
        if not one.suspended:
            found += await forges.repositories_of(one.number)
    return sorted(found, key=lambda each: each.full_name.lower())


async def _mended(guards: _Guards, found: Sequence[Drift]) -> bool:
    """Make the changes that can be made; whether any was."""
    made = False
    for each in found:
        if each.mend is None:
            continue
        try:
            await guards.mend(each.mend)
        except ForgeRefusedError as error:
            terminal.say(f"not fixed: {each.place}: {error.reason}")
            continue
        made = True
        terminal.say(f"fixed: {each.place}: added {each.wanted}")
    return made
