"""Scenes about what else lets a proposal through or keeps it out, and about what goes again.

Freezes, windows, merge queues, releases, revisions that are withdrawn or deprecated.
"""

from typing import TYPE_CHECKING

from bot.sandbox.records.accounts import Role
from bot.sandbox.records.protection import QueueRule
from bot.sandbox.records.repository import Pull
from tests.simulation.deeds import scenes
from tests.simulation.hands import ImpossibleError
from tests.simulation.moves import content
from tests.simulation.scenery import Stage, holder
from tests.simulation.setting import (
    ADMIN,
    ADVERSARY,
    BOT,
    CONFIG,
    EVERY,
    HONEST,
    MAIN,
    RELEASE,
    RulesText,
    may,
)

if TYPE_CHECKING:
    from tests.simulation.history import Simulation

SCENES = scenes()


@SCENES.add("frozen, and thawed", 1)
def frozen(s: "Simulation") -> str:
    a = Stage(s)
    folder = a.hands.one(("", "", "net"))
    other = a.hands.one(list(a.hands.repo.open_pulls.values()))
    word = f"freeze {folder}".strip()
    said = a.does(
        lambda: a.hands.say(ADMIN, other, f"/{word}/ fire" if folder else "/freeze fire", word)
    )
    a.passes(8)
    if a.hands.chance(0.3) and a.hands.can(ADVERSARY, Role.WRITE):
        a.does(lambda: a.hands.delete(ADVERSARY, said))
    a.approve(a.judges())
    a.passes(25)
    a.does(lambda: a.hands.say(ADMIN, other, f"/thaw {folder}".strip(), "thaw"))
    a.passes(20)
    return (
        f"{ADMIN} freezes {folder or 'everything'} on #{other.number}; #{a.pull.number} is approved"
    )


@SCENES.add("approved while its window is closed", 1)
def closed(s: "Simulation") -> str:
    a = Stage(s, RulesText(windows=True, judges=s.hands.chance(0.5)))
    a.approve(a.judges())
    a.passes(20)
    s.pass_time(EVERY * (0.3 + 0.4 * a.hands.draw.random()))
    return f"#{a.pull.number} is approved, and waits for its window"


@SCENES.add("through a merge queue", 1.2)
def queued(s: "Simulation") -> str:
    h = s.hands
    if not h.has_queues:
        raise ImpossibleError
    a = Stage(s)
    rule = QueueRule(min_entries_to_merge=h.one((1, 1, 2)), max_entries_to_build=h.one((1, 5)))
    remove = a.does(lambda: h.add_queue(rule))
    a.passes(3)
    b = Stage(s) if h.chance(0.5) else None
    for each in (a, b):
        if each is not None:
            each.approve(each.judges())
    a.passes(6)
    twist = h.one(("", "", "held", "pushed", "out"))
    if twist == "held":
        a.says(holder(h), "hold")
    elif twist == "pushed":
        branch, late = h.own_branch(a.pull), content(h.draw, a.package, sound=True)
        a.does(lambda: h.commit(a.author, branch, late, "late"))
    elif twist == "out":
        a.does(lambda: h.dequeue(ADMIN, a.pull))
    s.pass_time(40 + 400 * h.draw.random() ** 2)
    a.does(remove)
    a.passes(15)
    many = f"#{a.pull.number}" + (f" and #{b.pull.number}" if b else "")
    return f"{many} go through a merge queue{twist and f': the first is {twist}'}"


@SCENES.add("published, and released", 0.7)
def released(s: "Simulation") -> str:
    a = Stage(s, RulesText(releases=True))
    a.approve(a.judges())
    a.passes(30)
    return f"#{a.pull.number} is approved, and to be released"


def _published(a: Stage) -> str:
    """Publish the staged package, and give the name of its tag."""
    a.approve(a.judges())
    a.passes(20)
    diary = a.hands.diary
    made = [
        ref.removeprefix("refs/tags/")
        for ref, moves in diary.of_ref.items()
        if ref.startswith(f"refs/tags/{a.package}/v")
        and moves[-1].who == BOT
        and moves[-1].after.strip("0")
    ]
    return a.hands.one(made)


def _ledger(a: Stage, word: str, tag: str, who: str) -> Pull:
    """Somebody asks for a revision to be withdrawn or deprecated; the bot proposes that."""
    name = "@".join(tag.rsplit("/", 1))
    a.does(lambda: a.hands.say(who, a.pull, f"/{word} {name} it was broken", word))
    head = f"{'deletionProposed' if word == 'delete' else 'porchbot/deprecate'}/{tag}"
    a.until(lambda: any(p.head_ref == head for p in a.hands.repo.open_pulls.values()), 20)
    found = [p for p in a.hands.repo.open_pulls.values() if p.head_ref == head]
    a.passes(3)
    return found[-1]


TWISTS = (
    *("", ""),
    *("by whoever asked", "by whoever asked"),
    *("tag moved", "tag moved"),
    *("under other rules", "under other rules"),
    *("merged by hand", "edited", "to release"),
)
"""What else happens to a withdrawal."""


@SCENES.add("withdrawn", 2.5)
def withdrawn(s: "Simulation") -> str:
    a = Stage(s)
    h, tag = a.hands, _published(a)
    who = h.one([w for w in HONEST if a.may(w)])
    pull = _ledger(a, "delete", tag, who)
    twist, people = h.one(TWISTS), a.judges(apart=(who,))
    if twist == "by whoever asked":
        people = [who, *people[1:]]
    elif twist == "tag moved" and h.chance(0.7):
        a.does(lambda: h.tag(a.author, tag, h.tip(MAIN), "moved\n"))
    elif twist == "under other rules":
        _all_away(s)
    for each in people:
        a.does(lambda e=each: h.say(e, pull, "/approve", "approve"))  # type: ignore[misc]
        a.passes(0 if twist == "under other rules" else 1)
    if twist == "tag moved":
        a.does(lambda: h.tag(a.author, tag, h.tip(MAIN), "moved\n"))
    elif twist == "under other rules":
        a.does(lambda: h.commit(ADMIN, MAIN, {CONFIG: _others(a, people).text}, "rules"))
        a.passes(40)
    elif twist == "merged by hand":
        a.does(lambda: h.merge(ADMIN, pull))
    elif twist == "edited" and h.can(ADVERSARY, Role.WRITE):
        path = f".porchbot/ledger/{a.package}.yaml"
        text = (
            "revisions:\n  1: {state: withdrawn, reason: x}\n  2: {state: withdrawn, reason: x}\n"
        )
        a.does(lambda: h.commit(ADVERSARY, h.own_branch(pull), {path: text.encode()}, "more"))
    elif twist == "to release":
        a.does(lambda: h.retarget(ADMIN, pull, RELEASE))
    a.passes(30)
    return f"{who} has {tag} withdrawn by #{pull.number}{twist and f', {twist}'}"


def _all_away(s: "Simulation") -> None:
    """No bot runs for some seconds."""
    if s.manner.calm:
        raise ImpossibleError
    for replica in list(s.replicas):
        s.kill(replica.name)


def _others(a: Stage, people: list[str]) -> RulesText:
    """Other rules, by which these people may approve as well, and are enough."""
    h, now = a.hands, a.rules
    return h.one(
        [
            r
            for r in h.choices
            if not (r.broken or r.windows)
            and r.require <= now.require
            and r.judging != now.judging
            and all(may(h.level(who), who, r) for who in people)
        ]
    )


@SCENES.add("deprecated", 0.8)
def deprecated(s: "Simulation") -> str:
    a = Stage(s)
    tag = _published(a)
    who = a.hands.one([w for w in HONEST if a.may(w)])
    pull = _ledger(a, "deprecate", tag, who)
    if a.hands.chance(0.8):
        for each in a.judges(apart=(who,)):
            a.does(lambda e=each: a.hands.say(e, pull, "/approve", "approve"))  # type: ignore[misc]
    a.passes(25)
    return f"{who} has {tag} deprecated by #{pull.number}"
