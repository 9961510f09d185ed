"""Scenes about bots: what happens while they look, stand still or are away."""

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from tests.simulation.deeds import scenes
from tests.simulation.diary import Entry
from tests.simulation.forge_calls import AWAY, stale
from tests.simulation.hands import ImpossibleError
from tests.simulation.moves import content, writer
from tests.simulation.replica import Replica
from tests.simulation.scenery import Stage
from tests.simulation.setting import (
    HONEST,
    MAIN,
    RulesText,
    resource,
)
from tests.simulation.weather import FORGE, GIT, STORE, Mishap

if TYPE_CHECKING:
    from tests.simulation.history import Simulation

SCENES = scenes()

STILL = 11.5
"""Seconds: longer than a lease holds, and shorter than a claim."""

OUTLIVED = 25.0
"""Seconds: a claim that nobody renews has ended, and another bot has done what it was for."""


@SCENES.add("approved and taken back while no bot runs", 1)
def while_away(s: "Simulation") -> str:
    if s.manner.calm:
        raise ImpossibleError
    a = Stage(s)
    judges = a.judges()
    for replica in list(s.replicas):
        s.kill(replica.name)
    for judge in judges:
        a.says(judge, "approve")
    last = a.hands.one(judges)
    a.says(last, "unapprove")
    s.rest()
    a.passes(60)
    return f"{last} approves #{a.pull.number} and takes it back before any bot looks"


@SCENES.add("taken back while the merge is tried again", 1)
def tried_again(s: "Simulation") -> str:
    if s.manner.calm:
        raise ImpossibleError
    a = Stage(s)
    judges = a.judges()
    for _ in range(4):
        s.weather.coming.append(Mishap("502", FORGE, 0, AWAY, of="merge"))
    for judge in judges:
        a.says(judge, "approve")
    s.pass_time(8.5)
    last = a.hands.one(judges)
    a.says(last, "unapprove")
    s.forge.deliveries.clear()  # nobody tells the bot
    s.catch_up()
    a.passes(30)
    s.weather.coming[:] = [each for each in s.weather.coming if each.of != "merge"]
    return f"{last} takes an approval of #{a.pull.number} back while its merge is tried again"


@SCENES.add("commands while a bot looks", 1.5)
def meanwhile(s: "Simulation") -> str:
    a, h = Stage(s), s.hands
    for _ in range(4 if s.manner.calm else 2):
        # Of mere talk the bot writes nothing, which would tell it to look once more.
        if h.chance(0.7):
            a.does(lambda: h.say(h.one(HONEST), a.pull, "looks good"))
        else:
            a.says(a.author, "why")
        s.rest(int(h.draw.random() * 100))
        a.says(a.author, h.one(("why", "help")))
        s.pass_time(40)
        s.asks_promptly()
    return f"{a.author} writes commands on #{a.pull.number} while a bot looks"


@SCENES.add("a bot stands still before it answers", 1.5)
def stood_still(s: "Simulation") -> str:
    if s.manner.calm or len(s.replicas) < 2:
        raise ImpossibleError
    a = Stage(s)
    a.passes(10)
    stood: list[str] = []

    def stops(replica: Replica) -> None:
        if not stood:
            stood.append(replica.name)
            s.stand_still(replica, STILL)

    coming = [
        Mishap("stands still", STORE, 0, AWAY, owner=r.name, of="begin", first=partial(stops, r))
        for r in s.replicas
    ]
    s.weather.coming[:0] = coming
    a.says(a.author, a.hands.one(("why", "help")))
    s.pass_time(35)
    s.weather.coming[:] = [each for each in s.weather.coming if each not in coming]
    return f"{', '.join(stood) or 'no bot'} stands still before it answers on #{a.pull.number}"


@SCENES.add("somebody is faster than the bot", 1.5)
def faster(s: "Simulation") -> str:
    if s.manner.calm:
        raise ImpossibleError
    what = s.hands.one(("tag", "rendering", "merge"))
    a = Stage(s, RulesText(stamps=True) if what == "rendering" else RulesText())
    h, draft = a.hands, f"drafts/{a.package}/{a.hands.fresh('race')}"
    who = writer(h)

    def first() -> None:
        with suppress(ImpossibleError), s.forge.change():
            if what == "tag":
                there = list(h.repo.refs.below(f"refs/tags/{a.package}/v"))
                h.tag(who, f"{a.package}/v{len(there) + 1}", h.tip(MAIN), "mine\n")
            else:
                branch = a.branch if what == "merge" else draft
                h.commit(who, branch, content(h.draw, a.package, sound=True), "faster")

    calls = {"tag": h.tags_by, "rendering": ("git push", GIT), "merge": ("merge", FORGE)}
    of, port = calls[what]
    race = Mishap("race", port, 0, AWAY, of=of, first=first)
    s.weather.coming.append(race)
    if what == "rendering":
        files = {f"{a.package}/a.yaml": resource("a", h.fresh("v"), stamped=False)}
        a.does(lambda: h.commit(who, draft, files, "draft", onto=h.tip(MAIN)))
    else:
        a.approve(a.judges())
    a.passes(15)
    s.weather.coming[:] = [each for each in s.weather.coming if each is not race]
    return f"{who} is faster than the bot's {what}"


@SCENES.add("a bot stands still while it answers", 1)
def said_late(s: "Simulation") -> str:
    if s.manner.calm or len(s.replicas) < 2:
        raise ImpossibleError
    a = Stage(s)
    a.passes(10)
    stood: list[str] = []

    def stops(replica: Replica) -> None:
        if not stood:
            stood.append(replica.name)
            s.stand_still(replica, OUTLIVED)

    coming = [
        Mishap("stands still", FORGE, 0, AWAY, owner=r.name, of="comment", first=partial(stops, r))
        for r in s.replicas
    ]
    for each in coming:
        each.waits = True
    s.weather.coming[:0] = coming
    a.says(a.author, a.hands.one(("why", "help")))
    s.pass_time(OUTLIVED + 20)
    s.weather.coming[:] = [each for each in s.weather.coming if each not in coming]
    return f"{', '.join(stood) or 'no bot'} stands still while it answers on #{a.pull.number}"


@SCENES.add("a tag that does not show yet", 1)
def not_shown(s: "Simulation") -> str:
    if s.manner.calm:
        raise ImpossibleError
    a = Stage(s)
    *some, last = a.judges()
    a.approve(some)
    before = len(s.diary.entries)
    a.approves(last)

    def tagged() -> list[Entry]:
        return [e for e in s.diary.entries[before:] if e.text.startswith("refs/tags/")]

    a.until(tagged)
    a.says(a.author, "why")
    changes = s.forge.past.now - tagged()[0].moment + 1  # before it was there
    for _ in range(1 + int(a.hands.draw.random() * 3)):
        s.weather.coming.insert(0, Mishap("stale", GIT, 0, stale(changes)))
    a.passes(15)
    return f"git does not show for a moment that #{a.pull.number} was tagged"
