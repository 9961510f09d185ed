"""Notes of GitLab as they are read: of each what is used, and of all no more than fits.

Anybody who may comment can write notes of a million characters by the thousand. A note is cut where
no command is read any more, and a conversation that comes to more than is read is not read at all:
what was left out might be what an approval depends on.

Source: https://docs.gitlab.com/administration/instance_limits/#size-of-comments-and-descriptions-of-issues-merge-requests-and-epics
"""

from collections.abc import AsyncIterable
from typing import Any, Final

from bot.forges.gitlab.http import JSONObject, TooLargeError
from lifecycle import limits

MOST_READ: Final = 64_000_000
"""Characters of one conversation that are read, one page after the other."""

MOST_KEPT: Final = 16_000_000
"""Of these, characters that are kept while it is looked at."""

_EVENT: Final = 200
"""Characters that are kept of an event: its first words tell what it is."""

_USED: Final = (
    "id",
    "type",
    "author",
    "created_at",
    "updated_at",
    "system",
    "resolvable",
    "resolved",
    "internal",
    "confidential",
)


async def read(wanted: str, listed: AsyncIterable[Any]) -> list[JSONObject]:
    """Read notes in their order.

    Args:
        wanted: What it is for, as in errors.
        listed: The notes as GitLab gives them.

    Raises:
        TooLargeError: There is more than is read.
    """
    found: list[JSONObject] = []
    gone = kept = 0
    async for note in listed:
        body = str(note["body"])
        most = _EVENT if note["system"] else limits.COMMENT + 1  # one more shows that it is longer
        gone, kept = gone + len(body), kept + min(len(body), most)
        if gone > MOST_READ or kept > MOST_KEPT:
            raise TooLargeError(
                wanted,
                f"they have more than {MOST_READ if gone > MOST_READ else MOST_KEPT} characters",
                "Delete the long ones, or close it and propose the branch anew",
            )
        used = {name: note[name] for name in _USED if name in note}
        found.append({**used, "body": body[:most]})
    return found
