"""At the end, where nothing went wrong, each box that somebody ticked was answered.

The comment about boxes has a line of it, which says so where others wrote to the text; whoever may
not tick boxes is told so, at the proposal where the box is about one.
"""

from collections.abc import Iterator
from typing import Any

from bot.sandbox.records.repository import Pull
from tests.simulation.boxes import ALTERED, TOLD, WAITING
from tests.simulation.diary import Entry
from tests.simulation.evidence import Evidence
from tests.simulation.oracle_boxes import TICKED
from tests.simulation.setting import BOT, called

BULK = "access.bulk"


def untold(evidence: Evidence, repo: Any, began: int) -> Iterator[str]:
    """Boxes that were ticked and of which nothing is said.

    Args:
        evidence: What happened.
        repo: The repository.
        began: Place in the diary at which the bot came.
    """
    entries = evidence.diary.entries
    ticks = [e for e in entries[began:] if e.what.endswith(TICKED)]
    texts = [
        comment.body
        for issue in repo.threads
        if not isinstance(issue, Pull) and called(issue.user.login) == BOT
        for comment in issue.comments
        if called(comment.user.login) == BOT
    ]
    told = {(f["said"], f["who"]): f["what"] for text in texts for f in TOLD.finditer(text)}
    waits = any(WAITING.search(text) for text in texts)
    for tick in ticks:
        if tick.what != TICKED:
            if not any(ALTERED in text for text in texts):
                yield f"{tick.who} ticked {tick.text} in a text of others, and nothing says so"
        elif (tick.text, tick.who) not in told:
            if not waits:
                yield f"{tick.who} ticked {tick.text}, and nothing says what became of it"
        elif not _may(evidence, tick) and not _refused(evidence, tick, told[tick.text, tick.who]):
            yield f"{tick.who} may not tick {tick.text}, and nothing says so"


def _may(evidence: Evidence, tick: Entry) -> bool:
    """Whether somebody might tick boxes at any time, by any rules."""
    last = len(evidence.diary.entries)
    levels = evidence.roles_within(tick.who, 0, last)
    rules = evidence.main_rules(0, last)
    return any(each.may_bulk(level) for each in rules for level in levels)


def _refused(evidence: Evidence, tick: Entry, said: str) -> bool:
    """Whether somebody was told that nothing came of a box, and why."""
    if not tick.pull:
        return "refused" in said
    about = evidence.diary.of_pull[tick.pull]
    # What was done is told without the command.
    no = tuple(f"@{tick.who} `{mark}" for mark in ("/", "@porchbot "))
    return any(e.who == BOT and e.place > tick.place and e.text.startswith(no) for e in about)
