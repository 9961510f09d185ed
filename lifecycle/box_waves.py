"""Boxes that make drafts, in waves: a few are open at a time, and what fails stops the others.

What was begun stands in the record of the comment about boxes, how far it is follows from pull
requests; what waits is kept with the work. `lifecycle.bulk` decides what is begun next (ADR 73).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from lifecycle import names
from lifecycle.boxes import MOST_OPEN, RECORD
from lifecycle.bulk import BulkItem, BulkState, plan
from lifecycle.facts.boxes import BegunBox, BoxWaves
from lifecycle.records import JSON
from lifecycle.upstreams.graph import Graph, Package


def package_of(command: str) -> str:
    """Return the path of the package that a command of a box is about; "" for the root."""
    target = [*command.split(" "), ""][1]
    package, at, revision = target.rpartition("@")  # a folder may have one in its name
    if at and (revision == "latest" or names.looks_like_revision(revision)):
        target = package
    return "" if target == "." else target


def next_wave(
    ticked: Iterable[str], begun: Sequence[BegunBox], graph: Graph, home: str
) -> BoxWaves:
    """Decide which boxes are begun now.

    Args:
        ticked: Their commands, those that have no answer yet.
        begun: What was begun before, as it is now.
        graph: What was made from what.
        home: The repository, as the graph spells it.
    """
    wanted = list(dict.fromkeys(ticked))
    there = {each.command: each for each in begun}
    items = [
        BulkItem(key=each, package=Package(home, package_of(each)))
        for each in wanted
        if each not in there
    ]
    items += [
        BulkItem(
            key=each.command,
            package=Package(home, package_of(each.command)),
            state=BulkState.FAILED if each.failed else BulkState.OPEN,
        )
        for each in begun
    ]
    go_on = all(each.left for each in begun if each.failed)
    # A wave is all that nothing before it keeps back; of it as many begin as there is room for.
    found = plan(items, graph, most=max(1, len(items)), go_on=go_on)
    room = max(0, MOST_OPEN - len(found.open))
    circled = {package for circle in found.circles for package in circle}
    again = [each for each in wanted if each in there]  # told what became of it, once more
    start = [*again, *(item.key for item in found.start[:room])]
    left = [item.key for item in found.left] if go_on else []
    left += [each for each in wanted if Package(home, package_of(each)) in circled]
    gone = {*start, *left}
    return BoxWaves(
        begun=tuple(begun),
        start=tuple(start),
        waiting=tuple(each for each in wanted if each not in gone),
        left_out=tuple(dict.fromkeys(left)),
    )


def went_on(begun: Iterable[BegunBox], failed: Collection[BegunBox]) -> tuple[BegunBox, ...]:
    """Return what was begun, once somebody said to go on: what had failed is left.

    Args:
        begun: What was begun.
        failed: What had failed by then; what failed since then, nobody left.
    """
    return tuple(replace(each, left=True) if each in failed else each for each in begun)


def noted(begun: Iterable[BegunBox], at: datetime) -> tuple[BegunBox, ...]:
    """Return what was begun, with when it failed noted where it was not yet.

    Args:
        begun: What was begun, as it is now.
        at: When that was asked.
    """
    return tuple(
        replace(each, since=(each.since or at) if each.failed and not each.left else None)
        for each in begun
    )


def latest(records: Iterable[Mapping[str, JSON]]) -> Mapping[str, JSON]:
    """Return the newest of the records about boxes; an empty one where there is none.

    Whoever may edit comments can put an older one of ours back: its number is lower.

    Args:
        records: Those in comments, the newest comment last, and those of the database.
    """
    found: Mapping[str, JSON] = {}
    for each in records:
        if each.get("kind") == RECORD and turn_of(each) >= turn_of(found):
            found = each
    return found


def turn_of(record: Mapping[str, JSON]) -> int:
    """Return the number of a record: each that says something else has a higher one."""
    turn = record.get("turn", 0)
    return turn if isinstance(turn, int) else 0


def remembered(begun: Iterable[BegunBox]) -> list[JSON]:
    """Return what a record keeps of boxes that were begun."""
    found: list[JSON] = []
    for each in begun:
        failed: dict[str, JSON] = {"failed": each.failed} if each.failed else {}
        left: dict[str, JSON] = {"left": True} if each.left else {}
        since: dict[str, JSON] = {"since": each.since.isoformat()} if each.since else {}
        found.append({"command": each.command, "number": each.number, **failed, **left, **since})
    return found


def read(record: Mapping[str, JSON]) -> tuple[BegunBox, ...]:
    """Return what a record says of boxes that were begun; nothing of one that is older."""
    found = record.get("begun")
    return tuple(
        BegunBox(
            command=str(each["command"]),
            number=int(str(each.get("number", 0))),
            failed=str(each.get("failed", "")),
            left=bool(each.get("left")),
            since=datetime.fromisoformat(str(each["since"])) if "since" in each else None,
        )
        for each in (found if isinstance(found, list) else ())
        if isinstance(each, dict)
    )
