"""What people see while the bot cannot look at their proposal: one line in its check, said once."""

import hashlib
from collections.abc import Iterable
from datetime import datetime

from bot.forges.port import Forge, ForgeBusyError, PullRequest
from bot.git.port import GitBusyError, MissingObjectError
from bot.keys import Key
from lifecycle import checks
from lifecycle.facts import PUBLISH

PASSING = (ForgeBusyError, GitBusyError, MissingObjectError)
"""What passes by itself: nobody is told of it."""

TRIES = 1
"""Looks that must have failed before: a failure that the next look mends is not worth a word."""


def incident(key: Key) -> str:
    """What people can name and the log holds: the same for each failure of one key."""
    return hashlib.sha256(str(key).encode()).hexdigest()[:10]


async def show(
    forge: Forge, pulls: Iterable[PullRequest], incident_id: str, now: datetime, said: str = ""
) -> list[int]:
    """Say at the heads of proposals that the bot cannot look at them, where it does not stand yet.

    The next look that succeeds replaces it.

    Returns:
        Numbers of the proposals for which something was written.
    """
    told = []
    for pull in pulls:
        runs = [r for r in await forge.checks(pull.head) if r.ours and r.name == PUBLISH]
        check = checks.trouble(pull.head, runs[0] if runs else None, incident_id, now, said)
        if check is not None:
            await forge.set_check(check)
            told.append(pull.number)
    return told
