"""The log of events replayed: last words, holds, the rejection; compacted, and packed as JSON.

1. Union is the union of sets: its order, repetitions and the number of copies make no difference.
2. Replaying sorts by when the forge says that each event happened; no copy is "the newer".
3. An event gives way only to a later word of the same person about the same thing. `compact` leaves
   out what has given way, and replaying what is left, united with any other copy, gives the same.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from lifecycle import records
from lifecycle.events import (
    EVER,
    Approval,
    CommentAnswered,
    Event,
    Fell,
    FirstSeen,
    Frozen,
    Held,
    Log,
    Noticed,
    Overridden,
    PackagePublished,
    Rejected,
    Reported,
    TakenBack,
    Tampered,
    Thawed,
    Unheld,
    decode,
    encode,
)
from lifecycle.numbers import review_of
from lifecycle.records import JSON

_NOBODY: Mapping[int, str] = {}

_Position = tuple[datetime, int, int, int, str]

Word = Approval | TakenBack | Fell
"""What a person's approval hangs on: the last of these."""


MOST_LIFTED = 8_000
"""Characters for the names of freezes that were lifted: some five hundred."""

MOST_ORDERED = 20_000
"""Events whose place is kept: each look sorts the logs of its proposals several times."""


@lru_cache(MOST_ORDERED)
def order(event: Event) -> _Position:
    """Return the sort key of an event: a total order that is the same in every copy.

    Comments are numbered as they are written. Reviews have numbers of their own, and what is said
    in them comes after their verdict. Forges tell whole seconds, so within one second a review
    comes before any comment: the later `/unapprove` counts. A fall comes right after what fell.
    Events of equal place are told apart by their text.
    """
    text = json.dumps(encode(event), sort_keys=True)
    match event:
        case Approval() | Fell():
            falls = int(isinstance(event, Fell))
            if review := review_of(event.comment):  # what is said there, then what falls of it
                return (event.at, 0, review, 2 + falls, text)
            number = event.comment or event.review
            return (event.at, int(event.comment > 0), number, falls, text)
        case Frozen() | Thawed() | Overridden():
            return (event.at, 1, event.comment, 2, text)
        case TakenBack() | Held() | Unheld() | Rejected():
            # A comment that approves and sends back in one means the latter.
            return (event.at, 1, event.comment, 2, text)
        case FirstSeen():
            return (event.at, 0, 0, 0, text)
        case _:
            return (EVER, 0, 0, 0, text)


def words(log: Iterable[Event], logins: Mapping[int, str] = _NOBODY) -> dict[str, Word]:
    """Return each person's latest event about approval, by login.

    A person is an account, whatever its login was or is: who changes it is no second approver. What
    is kept without an account is of whoever has that login, until that one is heard of by account.

    Args:
        log: All that happened.
        logins: Accounts to their present logins, as far as the forge told; others are called as
            they were when they were heard of last.
    """
    last = sorted(last_words(log), key=order)
    named = {e.account: e.person for e in last if e.account} | dict(logins)
    heard = {e.person: order(e) for e in last if e.account}
    found: dict[str, Word] = {}
    for event in last:
        if not event.account and heard.get(event.person, order(event)) > order(event):
            continue
        person = named.get(event.account, event.person)
        found[person] = event if event.person == person else replace(event, person=person)
    return found


def last_words(log: Iterable[Event]) -> frozenset[Word]:
    """Return the last word about approval of each account under each login.

    Nothing that is united later changes it: of these and what was added, they are those of all.
    """
    found: dict[tuple[str, int], Word] = {}
    for event in sorted((e for e in log if isinstance(e, Approval | TakenBack | Fell)), key=order):
        found[event.person, event.account] = event
    return frozenset(found.values())


@dataclass(frozen=True, slots=True)
class Holds:
    """What the words about holds in a log come to.

    Attributes:
        in_force: One for each person, oldest first.
        last: The last word; None where there is none.
        before: What it was before the last word, where that is known.
    """

    in_force: tuple[Held, ...] = ()
    last: Held | Unheld | None = None
    before: "Holds | None" = None


_NO_HOLDS = Holds()


def holds(log: Iterable[Event], before: Holds = _NO_HOLDS) -> Holds:
    """Return the holds in force after a log.

    Args:
        log: All that happened; or what was added, where the rest is known.
        before: What the rest comes to. Where something was added that is not later than that, the
            whole log is needed (`follows`).
    """
    found = {each.person: each for each in before.in_force}
    events = sorted((e for e in log if isinstance(e, Held | Unheld)), key=order)
    for event in events:
        if isinstance(event, Held):
            found.pop(event.person, None)
            found[event.person] = event
        elif event.every:
            found.clear()
        else:
            found.pop(event.person, None)
    if not events:
        return before
    known = replace(before, before=None) if len(events) == 1 else None
    return Holds(tuple(found.values()), events[-1], known)


def follows(added: Iterable[Event], before: Holds) -> bool:
    """Tell whether all words about holds among events are later than those known."""
    words_ = [e for e in added if isinstance(e, Held | Unheld)]
    return before.last is None or all(order(e) > order(before.last) for e in words_)


def freezes(log: Iterable[Event]) -> tuple[Frozen, ...]:
    """Return the freezes that nobody lifted, oldest first; those that ended by themselves too."""
    found: dict[str, Frozen] = {}
    events = [e for e in log if isinstance(e, Frozen | Thawed)]
    lifted = {name for e in events if isinstance(e, Thawed) for name in e.lifts}
    for event in sorted(events, key=order):
        if isinstance(event, Frozen):
            found[event.name] = event
        elif not event.lifts:  # by an older version
            found = {n: e for n, e in found.items() if event.path not in (None, e.path)}
    return tuple(each for name, each in found.items() if name not in lifted)


def frozen_since(log: Iterable[Event], at: datetime) -> Log:
    """Return what a log of freezes comes to at a moment, at a size that has an end.

    What ended by itself is left out: every copy tells so. What was lifted stays lifted whatever
    older copy it is united with; only of what was lifted longest ago this is forgotten, and then
    somebody has to lift it again.
    """
    given = frozenset(e for e in log if isinstance(e, Frozen | Thawed))
    there = freezes(given)
    named = {e.name for e in given if isinstance(e, Frozen)} - {e.name for e in there}
    named |= {name for e in given if isinstance(e, Thawed) for name in e.lifts}
    room, lifts = MOST_LIFTED, list[str]()
    for name in sorted(named, key=_newest_first):
        room -= len(name) + 3
        if room < 0:
            break
        lifts.append(name)
    standing: set[Event] = {e for e in there if e.until is None or at < e.until}
    if lifts:
        standing.add(Thawed(person="", at=EVER, comment=0, lifts=tuple(sorted(lifts))))
    return frozenset(standing)


def _newest_first(name: str) -> tuple[int, str]:
    return -int(name.partition(" ")[0]), name


def rejection(log: Iterable[Event]) -> Rejected | None:
    """Return the latest rejection; None without any."""
    return max((e for e in log if isinstance(e, Rejected)), key=order, default=None)


def first_sight(log: Iterable[Event]) -> FirstSeen | None:
    """Return the first sight of the proposal; of several what is strictest in each.

    The earliest tells the head. Only what is taken over from it as it is decides which one that is:
    otherwise a sighting that `compact` made stricter would lose to another than it did before.
    """
    found = [e for e in log if isinstance(e, FirstSeen)]
    if len(found) < 2:
        return found[0] if found else None
    return replace(
        min(found, key=lambda e: (e.at, e.head, e.mark)),
        adopted=any(e.adopted for e in found),
        comments=max(e.comments for e in found),
        reviews=max(e.reviews for e in found),
    )


def compact(log: Iterable[Event]) -> Log:
    """Leave out what a later word has overruled; replaying gives the same, in any union."""
    given = frozenset(log)
    lasting = CommentAnswered | Reported | PackagePublished | Noticed | Tampered
    lasting |= Thawed | Overridden
    kept: set[Event] = {e for e in given if isinstance(e, lasting)}
    kept |= last_words(given)
    kept |= {*_last_holds(given), *freezes(given)}
    kept |= {e for e in (rejection(given), first_sight(given)) if e is not None}
    return frozenset(kept)


def _last_holds(log: Log) -> set[Event]:
    """For each person the last word about their hold, and the last lifting of all of them.

    A lifting of all overrules what came before, also what only another copy knows.
    """
    kept: dict[str, Event] = {}
    every: Event | None = None
    for event in sorted((e for e in log if isinstance(e, Held | Unheld)), key=order):
        if isinstance(event, Unheld) and event.every:
            kept.clear()
            every = event
        else:
            kept[event.person] = event
    return {*kept.values(), *((every,) if every is not None else ())}


@lru_cache(maxsize=64)  # asked for several times in a look, and mostly nothing has happened since
def packed(log: Log, told: Log) -> tuple[Mapping[str, JSON], int]:
    """What a record says of a log but for what answers tell, and how much longer it gets by that.

    Returns:
        Fields of the record, and the characters that they add to it.
    """
    fields = pack(compact(log) - told)
    return fields, records.length(fields) - records.length({}) + len(",")


def pack(log: Iterable[Event]) -> dict[str, JSON]:
    """Return a log as compact JSON: numbers of answered comments as differences."""
    answered = sorted({e.comment for e in log if isinstance(e, CommentAnswered)})
    others = sorted((e for e in log if not isinstance(e, CommentAnswered)), key=order)
    steps = [after - before for before, after in zip([0, *answered], answered, strict=False)]
    return {"answered": [*steps], "events": [encode(e) for e in others]}


def unpack(said: Mapping[str, Any]) -> Log:
    """Read what `pack` wrote."""
    found: set[Event] = {decode(e) for e in said["events"]}
    number = 0
    for step in said["answered"]:
        number += int(step)
        found.add(CommentAnswered(comment=number))
    return frozenset(found)
