"""Fields that stand in many of GitHub's answers to REST."""

from datetime import datetime

from bot.forges.github.http import JSONObject
from lifecycle.access import Person


def time(text: object) -> datetime:
    """A moment, as ISO 8601 with a Z."""
    return datetime.fromisoformat(str(text).replace("Z", "+00:00"))


def person(data: JSONObject | None) -> Person:
    """An account; "ghost" stands for one that was deleted, as on the forge."""
    if not data:
        return Person(0, "ghost", False)
    return Person(int(data["id"]), str(data["login"]), data["type"] != "User")
