"""What several people do one after the other, with time between: each comes near to one defence.

Of a proposal that could be published one thing is taken away, by somebody who may do so or by
somebody who may not. Chance alone would bring these things together too rarely to tell whether the
defence is there.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from bot.sandbox.git import trees
from bot.sandbox.records.accounts import Role
from bot.sandbox.records.repository import Comment, Pull
from tests.simulation.evidence import BOT
from tests.simulation.forge_calls import AWAY
from tests.simulation.hands import Hands, ImpossibleError
from tests.simulation.moves import content, writer
from tests.simulation.oracle import may
from tests.simulation.replica import Replica
from tests.simulation.setting import (
    ADMIN,
    ADVERSARY,
    BY_TEXT,
    CONFIG,
    DEFAULT,
    HONEST,
    MAIN,
    PACKAGES,
    RELEASE,
    RulesText,
    resource,
)
from tests.simulation.weather import FORGE, GIT, STORE, Mishap

if TYPE_CHECKING:
    from tests.simulation.history import Simulation

T = TypeVar("T")
Play = Callable[["Simulation"], str]


@dataclass(frozen=True)
class Scene:
    """Several acts, with time between.

    Attributes:
        name: As the figures name it.
        weight: How often, beside others.
        act: Does it, and tells what was done.
    """

    name: str
    weight: float
    act: Play


SCENES: list[Scene] = []

STILL = 11.5
"""Seconds: longer than a lease holds, and shorter than a claim."""


def scene(name: str, weight: float) -> Callable[[Play], Play]:
    """Adds a scene to the list."""

    def added(act: Play) -> Play:
        SCENES.append(Scene(f"scene: {name}", weight, act))
        return act

    return added


class Stage:
    """A sound proposal, and those who may publish it together.

    Args:
        s: The history.
        rules: Those that are made the main branch's before; None for those that it has.
    """

    def __init__(self, s: "Simulation", rules: RulesText | None = None) -> None:
        if not s.begun:
            raise ImpossibleError
        self.s, self.hands = s, s.hands
        self.author = writer(s.hands)
        if rules is not None and _rules(s.hands) != rules:
            self.does(lambda: s.hands.commit(ADMIN, MAIN, {CONFIG: rules.text}, "rules"))
            self.passes(3)
        self.rules = _rules(s.hands)
        self.package = s.hands.one(PACKAGES)
        self.branch = s.hands.fresh("ready")
        self.pull = self.does(self._open)
        self.passes(3)

    def _open(self) -> Pull:
        h = self.hands
        files = content(h.draw, self.package, sound=True)
        h.commit(self.author, self.branch, files, "ready", onto=h.tip(MAIN))
        return h.open(self.author, self.branch, MAIN, f"Ready {self.package}")

    def does(self, act: Callable[[], T]) -> T:
        """Somebody does something at the forge."""
        with self.s.forge.change():
            return act()

    def passes(self, seconds: float) -> None:
        """Time passes, a little more or less."""
        self.s.pass_time(seconds * (0.5 + self.hands.draw.random()))

    def says(self, who: str, word: str) -> Comment:
        """Somebody writes a command."""
        return self.does(lambda: self.hands.say(who, self.pull, f"/{word}", word))

    def judges(self, *first: str, apart: tuple[str, ...] = ()) -> list[str]:
        """As many as must approve it, these first; none of them wrote it, or stands apart."""
        h = self.hands
        others = [w for w in HONEST if w not in (*first, *apart, self.author) and self.may(w)]
        found = [*first, *others][: max(1, self.rules.require)]
        if len(found) < self.rules.require or not all(self.may(who) for who in found):
            raise ImpossibleError
        if h.chance(0.5):
            found.reverse()
        return found

    def may(self, who: str) -> bool:
        """Whether the rules let somebody approve."""
        level = self.s.forge.state.role(self.hands.repo, self.hands.user(who)).word
        return may(level, who, self.rules)

    def approves(self, who: str) -> None:
        """By a command, or by a review."""
        if self.hands.chance(0.6):
            self.says(who, "approve")
        else:
            self.does(lambda: self.hands.review(who, self.pull, "APPROVE"))

    def approve(self, people: list[str]) -> None:
        """All of them approve."""
        for who in people:
            self.approves(who)
            self.passes(1)

    def ours(self) -> list[Comment]:
        """The bot's comments on it."""
        return self.hands.ours(self.pull)


def _rules(h: Hands) -> RulesText:
    """Those of the main branch, where they ask for somebody else's approval."""
    git = h.state.git(h.repo)
    entry = trees.entry_at(git, h.tip(MAIN), CONFIG)
    found = DEFAULT if entry is None else BY_TEXT.get(git.blob(entry.sha))
    if found is None or found.broken:
        raise ImpossibleError
    return found


def _holder(h: Hands) -> str:
    return h.one([who for who in HONEST if h.can(who, Role.WRITE)])


@scene("held, and approved", 1)
def held(s: "Simulation") -> str:
    a = Stage(s)
    who = _holder(a.hands)
    a.says(who, "hold")
    a.passes(8)
    a.approve(a.judges())
    a.passes(20)
    if a.hands.chance(0.5):
        a.says(who, "unhold")
    return f"{who} holds #{a.pull.number}, which is approved"


@scene("held, and what the bot said is deleted", 1)
def held_and_deleted(s: "Simulation") -> str:
    a = Stage(s)
    who, judges = _holder(a.hands), a.judges()
    a.says(who, "hold")
    a.passes(15)
    if not a.hands.can(ADVERSARY, Role.WRITE):
        raise ImpossibleError
    for comment in a.ours():
        a.does(lambda c=comment: a.hands.delete(ADVERSARY, c))  # type: ignore[misc]
        a.passes(1)
    a.approve(judges)
    a.passes(20)
    return f"{who} holds #{a.pull.number}; eve deletes what the bot said, and it is approved"


@scene("changes requested, and approved", 1)
def objected(s: "Simulation") -> str:
    a = Stage(s)
    who = _holder(a.hands)
    judges = a.judges(apart=(who,))
    a.does(lambda: a.hands.review(who, a.pull, "REQUEST_CHANGES", "no"))
    a.passes(8)
    a.approve(judges)
    a.passes(20)
    return f"{who} requests changes of #{a.pull.number}, which is approved"


def _approved_and_held(
    s: "Simulation", *, by: str, rules: RulesText | None = None
) -> tuple[Stage, list[str], str]:
    """Approved, by a command or a review, and held meanwhile."""
    a = Stage(s, rules)
    who, judges = _holder(a.hands), a.judges()
    a.says(who, "hold")
    a.passes(6)
    for judge in judges:
        if by == "command":
            a.says(judge, "approve")
        else:
            a.does(lambda j=judge: a.hands.review(j, a.pull, "APPROVE"))  # type: ignore[misc]
        a.passes(1)
    a.passes(15)
    return a, judges, who


def _released(a: Stage, who: str) -> None:
    a.passes(6)
    a.says(who, "unhold")
    a.passes(20)


@scene("approvals edited before it is released", 1)
def edited(s: "Simulation") -> str:
    a, judges, who = _approved_and_held(s, by="command")
    said = [c for c in a.pull.comments if c.user.login in judges and c.body == "/approve"]
    comment = a.hands.one(said)
    editor = a.hands.one((comment.user.login, writer(a.hands)))
    text = a.hands.one(("never mind", "not yet", "/approve\n\nbut not like this"))
    a.does(lambda: a.hands.edit(editor, comment, text))
    _released(a, who)
    return f"{editor} edits an approval of #{a.pull.number}, then it is released"


@scene("approvals dismissed before it is released", 1)
def dismissed(s: "Simulation") -> str:
    a, judges, who = _approved_and_held(s, by="review")
    found = a.hands.one([r for r in a.pull.reviews if r.user.login in judges])
    by = a.hands.user(writer(a.hands))
    a.does(lambda: a.hands.attempt(lambda: s.forge.state.reviews.dismiss(found, by, "no")))
    _released(a, who)
    return f"a review of #{a.pull.number} is dismissed, then it is released"


@scene("approvals taken back before it is released", 1)
def taken_back(s: "Simulation") -> str:
    a, judges, who = _approved_and_held(s, by="command")
    judge = a.hands.one(judges)
    a.says(judge, "unapprove")
    _released(a, who)
    return f"{judge} takes an approval of #{a.pull.number} back, then it is released"


@scene("whoever approved may not any more", 0.7)
def demoted(s: "Simulation") -> str:
    a, judges, who = _approved_and_held(s, by=s.hands.one(("command", "review")))
    judge = a.hands.one([j for j in judges if j != who])
    a.does(lambda: a.hands.role(judge, "read"))
    _released(a, who)
    a.does(lambda: a.hands.role(judge, "write"))
    return f"{judge}, who approved #{a.pull.number}, has no rights any more, then it is released"


@scene("other rules before it is released", 1)
def other_rules(s: "Simulation") -> str:
    a, _, who = _approved_and_held(s, by=s.hands.one(("command", "review")))
    now = a.rules
    others = [RulesText(), RulesText(judges=True), RulesText(alone=True), RulesText(stamps=True)]
    rules = a.hands.one([r for r in others if r.judging != now.judging])
    a.does(lambda: a.hands.commit(ADMIN, MAIN, {CONFIG: rules.text}, "rules"))
    _released(a, who)
    return (
        f"{ADMIN} changes the rules that #{a.pull.number} was approved under, then it is released"
    )


@scene("retargeted before it is released", 0.7)
def retargeted(s: "Simulation") -> str:
    a, _, who = _approved_and_held(s, by=s.hands.one(("command", "review")))
    by = a.hands.user(writer(a.hands))
    for base in (RELEASE, MAIN)[: 1 + int(a.hands.chance(0.6))]:
        a.does(lambda b=base: s.forge.state.pulls.edit(a.pull, by, base=b))  # type: ignore[misc]
        a.passes(4)
    _released(a, who)
    return f"#{a.pull.number} is retargeted after its approval, then it is released"


@scene("approved and taken back while no bot runs", 1)
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


@scene("taken back while the merge is tried again", 1)
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


@scene("commands while a bot looks", 1)
def meanwhile(s: "Simulation") -> str:
    a, h = Stage(s), s.hands
    a.says(a.author, "why")
    said = 1 + int(h.draw.random() * 4)
    for _ in range(said):
        s.rest(int(h.draw.random() * 120))
        a.says(a.author, h.one(("why", "help")))
    s.pass_time(40)
    return f"{a.author} writes {said} commands on #{a.pull.number} while a bot looks"


@scene("a bot stands still before it answers", 1.5)
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


@scene("approved as it must not be", 1)
def unsound(s: "Simulation") -> str:
    bad = s.hands.chance(0.4)
    a = Stage(s, RulesText(judges=True) if bad else RulesText(stamps=True))
    files = {f"{a.package}/a.yaml": resource("a", a.hands.fresh("v"), stamped=bad, bad=bad)}
    a.does(lambda: a.hands.commit(a.author, a.branch, files, "more"))
    a.passes(8)
    a.approve(a.judges())
    a.passes(15)
    return f"#{a.pull.number} is {'not valid' if bad else 'not its own rendering'}, and approved"


@scene("somebody is faster than a push of the bot", 1)
def faster(s: "Simulation") -> str:
    if s.manner.calm:
        raise ImpossibleError
    tags = s.hands.chance(0.5)
    a = Stage(s, RulesText() if tags else RulesText(stamps=True))
    h, draft = a.hands, f"drafts/{a.package}/{a.hands.fresh('race')}"
    who = writer(h)

    def first() -> None:
        with suppress(ImpossibleError), s.forge.change():
            if tags:
                there = list(h.repo.refs.below(f"refs/tags/{a.package}/v"))
                h.tag(who, f"{a.package}/v{len(there) + 1}", h.tip(MAIN), "mine\n")
            else:
                h.commit(who, draft, content(h.draw, a.package, sound=True), "faster")

    s.weather.coming.append(Mishap("race", GIT, 0, AWAY, of="git push", first=first))
    if tags:
        a.approve(a.judges())
    else:
        files = {f"{a.package}/a.yaml": resource("a", h.fresh("v"), stamped=False)}
        a.does(lambda: h.commit(who, draft, files, "draft", onto=h.tip(MAIN)))
    a.passes(15)
    return f"{who} is faster than the bot's push of a {'tag' if tags else 'rendering'}"


@scene("approved by whoever pushed to it", 1)
def pushed(s: "Simulation") -> str:
    a = Stage(s)
    who = a.hands.one([w for w in HONEST if w != a.author and a.hands.can(w, Role.WRITE)])
    files = content(a.hands.draw, a.package, sound=True)
    name = a.author
    a.does(lambda: a.hands.commit(who, a.branch, files, "more", author=name, committer=name))
    a.passes(8)
    a.approve(a.judges(who))
    a.passes(15)
    return f"{who} pushes to #{a.pull.number} in {a.author}'s name, and approves it"


@scene("approved by whom a commit names", 1)
def named(s: "Simulation") -> str:
    a = Stage(s)
    who = a.hands.one([w for w in HONEST if w != a.author])
    role = a.hands.one(("author", "committer"))
    author, committer = (who, "") if role == "author" else ("", who)
    files = content(a.hands.draw, a.package, sound=True)
    a.does(
        lambda: a.hands.commit(
            a.author, a.branch, files, "more", author=author, committer=committer
        )
    )
    a.passes(8)
    a.approve(a.judges(who))
    a.passes(15)
    return f"#{a.pull.number} names {who} as {role}, who approves it"


@scene("an approval's record carried to another proposal", 1)
def carried(s: "Simulation") -> str:
    two = RulesText(require=2)
    a, judges, who = _approved_and_held(s, by="command", rules=two)
    eve, h = a.hands.user(ADVERSARY), a.hands
    answers = [c for c in a.ours() if '"kind":"approval"' in c.body]
    theirs = h.one(answers)
    a.does(lambda: s.forge.state.pulls.edit(a.pull, h.user(who), state="closed"))
    a.passes(4)
    again = a.does(lambda: h.open(a.author, a.branch, MAIN, "Once more"))
    a.passes(15)
    body = theirs.body
    if h.chance(0.5):  # then its MAC is wrong
        body = body.replace(f'"number":{a.pull.number}', f'"number":{again.number}')
    ours = [c for c in again.comments if c.user.login == BOT]
    if not h.can(eve.login, Role.WRITE):
        raise ImpossibleError
    comment = h.one(ours)
    a.does(lambda: h.edit(ADVERSARY, comment, body))
    a.passes(6)
    other = h.one([judge for judge in judges if f"@{judge} " not in theirs.body])
    for _ in range(2):  # of what was done to its comments the bot learns with the first one
        a.does(lambda: h.say(other, again, "/approve", "approve"))
        a.passes(15)
    return f"eve carries an approval of #{a.pull.number} to #{again.number}, which is the same"
