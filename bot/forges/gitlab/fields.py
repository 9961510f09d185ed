"""Fields that stand in many of GitLab's answers."""

import re
from datetime import UTC, datetime

from bot.forges.gitlab.http import JSONObject
from bot.forges.port import BotIdentity
from lifecycle.access import Person

_BOT = re.compile(r"(project|group)_\d+_bot(_[0-9a-f]+|\d*)|service_account(_[\w.-]+)?", re.ASCII)
"""Usernames that GitLab gives to the accounts of access tokens and to service accounts.

Source: https://docs.gitlab.com/user/project/settings/project_access_tokens/#bot-users-for-projects
"""

_TOKENS = re.compile(
    r"(project|group)_\d+_bot(_[0-9a-f]+|\d*)|service_account(_(group|project)_\d+)?_[0-9a-f]{8,}",
    re.ASCII,
)
"""Usernames of accounts of access tokens, and those that GitLab made up for service accounts.

Source: https://docs.gitlab.com/api/service_accounts/, whose examples have 32 digits in such a name
"""

GHOST = "ghost"


def time(text: object) -> datetime:
    """A moment: ISO 8601, or as payloads of webhooks write it ("2026-11-21 10:00:00 UTC")."""
    said = str(text).replace(" UTC", "+00:00").replace("Z", "+00:00")
    found = datetime.fromisoformat(said)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def person(data: JSONObject | None, me: BotIdentity | None = None) -> Person:
    """An account; "ghost" stands for one that was deleted, as on the forge.

    GitLab tells in few answers that an account is a machine's; `People.role` asks for it.
    """
    if not data:
        return Person(0, GHOST, False)
    login = str(data["username"])
    machine = bool(data.get("bot")) or bool(_BOT.fullmatch(login)) or is_us(data, me)
    return Person(int(data["id"]), login, machine)


def is_token(login: str) -> bool:
    """Whether an account is there for a token, which stands for whoever can use it.

    Often that is everybody whose pipelines are given it. A service account to which somebody gave a
    name is known by that.
    """
    return bool(_TOKENS.fullmatch(login))


def is_us(data: JSONObject | None, me: BotIdentity | None) -> bool:
    """Whether an account is ours; nobody's is while we are not known."""
    if not data or me is None:
        return False
    return me.is_us(int(data.get("id") or 0), str(data.get("username", "")), app=False)


def milliseconds(at: datetime) -> int:
    """A moment as a number: of what has none at GitLab, such as approvals, it is the number."""
    return round(at.timestamp() * 1000)
