"""Tokens that somebody gives to set the bot up: the owner's, and that of the bot's account."""

import os
import sys
from getpass import getpass

import click

OWNER_TOKEN = "PORCHBOT_OWNER_TOKEN"  # noqa: S105 (a variable's name)
BOT_TOKEN = "PORCHBOT_BOT_TOKEN"  # noqa: S105 (likewise)


def owners(prompt: str, missing: str) -> str:
    """The owner's token: of the environment, of standard input, or of who sits at the terminal.

    Args:
        prompt: What whoever sits at the terminal is asked for.
        missing: What is said where there is none, such as "No token of an owner."

    Raises:
        click.ClickException: There is none, or it cannot be one.
    """
    if not (text := os.environ.get(OWNER_TOKEN, "").strip()):
        text = getpass(f"{prompt}: ") if sys.stdin.isatty() else sys.stdin.readline()
    if not text.strip():
        raise click.ClickException(
            f"{missing} Set {OWNER_TOKEN}, or pass the token on standard input."
        )
    return sendable(OWNER_TOKEN, text)


def bots() -> str:
    """The token of the bot's account, of the environment; "" for none.

    Raises:
        click.ClickException: It cannot be one.
    """
    return sendable(BOT_TOKEN, os.environ.get(BOT_TOKEN, ""))


def sendable(name: str, text: str) -> str:
    """Return a token without the blanks around it.

    Args:
        name: What it is called, such as its variable.
        text: As it was given.

    Raises:
        click.ClickException: It cannot stand in a header, and is none.
    """
    token = text.strip()
    if not all("!" <= character <= "~" for character in token):
        raise click.ClickException(
            f"The token for {name} contains white space or characters that no token has. Copy"
            " it again."
        )
    return token
