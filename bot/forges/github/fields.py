"""Fields that stand in many of GitHub's answers to REST."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bot.forges.port import BotIdentity
from lifecycle.access import Person


def time(text: object) -> datetime:
    """A moment, as ISO 8601 with a Z."""
    return datetime.fromisoformat(str(text).replace("Z", "+00:00"))


def person(data: Mapping[str, Any] | None, me: BotIdentity | None = None) -> Person:
    """An account; "ghost" stands for one that was deleted, as on the forge.

    Args:
        data: As REST tells of it.
        me: Who we are: a machine user is a person to GitHub, and a machine to us.
    """
    if not data:
        return Person(0, "ghost", False)
    machine = data["type"] != "User" or is_us(data, me)
    return Person(int(data["id"]), str(data["login"]), machine)


def is_us(data: Mapping[str, Any] | None, me: BotIdentity | None) -> bool:
    """Whether an account, as REST tells of it, is ours; nobody's is while we are not known."""
    if not data or me is None:
        return False
    number, login = int(data.get("id") or 0), str(data.get("login", ""))
    return me.is_us(number, login, app=data.get("type") == "Bot")
