"""`porchbot doctor`: what the forge has otherwise than the bot needs it, and what to change."""

import asyncio
import os
import sys

import click

from bot import trust
from bot.cli.dropin import StrictCommand
from bot.forges.github.app import AppClients
from bot.forges.github.forges import GitHubForges
from bot.forges.port import Drift, ForgeBusyError, ForgeRefusedError
from bot.settings import Settings, SettingsError


@click.command(
    cls=StrictCommand,
    examples="""
    # Look at the App of a file of variables: its permissions, events, webhook and installations.
    $ env $(cat porchbot.env) porchbot doctor
    """,
)
def doctor() -> None:
    """Check the App's registration, permissions, installations and webhook at the forge.

    Prints what is not as the bot needs it, each with the change that mends it. Ends with 1 when
    something does not work for it, and with 0 when nothing or only hints are left. Settings come
    from the environment, as for `porchbot serve`.
    """
    try:
        settings = Settings.from_env(os.environ)
        trust.use(settings.github_ca)
        found = asyncio.run(_look(settings))
    except (SettingsError, ForgeBusyError, ForgeRefusedError, OSError) as error:
        raise click.ClickException(str(error)) from error
    for each in sorted(found, key=lambda drift: not drift.harmful):
        click.echo(f"{'wrong' if each.harmful else 'hint'}: {each}")
    wrong = sum(each.harmful for each in found)
    told = (
        f"{wrong} {'thing is' if wrong == 1 else 'things are'} wrong." if wrong else "All is well."
    )
    click.echo(told)
    sys.exit(1 if wrong else 0)


async def _look(settings: Settings) -> list[Drift]:
    app = AppClients(settings.github_api_url, settings.github_app_id, settings.private_key)
    try:
        return list(await GitHubForges(app).drift(settings.webhook_url))
    finally:
        app.close()
