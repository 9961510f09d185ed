"""Scenes about what the bot remembers, and about what others do to that."""

from typing import TYPE_CHECKING

from bot.sandbox.records.accounts import Role
from tests.simulation.deeds import scenes
from tests.simulation.forge_calls import AWAY
from tests.simulation.hands import ImpossibleError
from tests.simulation.moves import writer
from tests.simulation.scenery import Stage, approved_and_held, holder
from tests.simulation.setting import ADVERSARY, MAIN, RulesText
from tests.simulation.weather import STORE, Mishap
from tests.simulation.words import SUMMARY

if TYPE_CHECKING:
    from tests.simulation.history import Simulation

SCENES = scenes()

GONE = 20.0
"""Seconds after which the bot takes a comment that the forge does not show for deleted."""


def _eve(a: Stage) -> None:
    """She can edit and delete what others wrote."""
    if not a.hands.can(ADVERSARY, Role.WRITE):
        raise ImpossibleError


@SCENES.add("held, and what tells of it is deleted", 1.2)
def held_and_deleted(s: "Simulation") -> str:
    a = Stage(s)
    who, judges = holder(a.hands), a.judges()
    said = a.says(who, "hold")
    a.passes(15)
    _eve(a)
    also = a.hands.chance(0.5)
    for comment in [*[said] * also, *a.ours()]:
        a.does(lambda c=comment: a.hands.delete(ADVERSARY, c))  # type: ignore[misc]
        a.passes(1)
    a.s.pass_time(GONE)
    a.approve(judges)
    a.passes(20)
    what = "what the bot said, and what it was told," if also else "what the bot said"
    return f"{who} holds #{a.pull.number}; eve deletes {what} and it is approved"


@SCENES.add("rejected, and nobody can tell but the database", 1)
def rejected_and_lost(s: "Simulation") -> str:
    if s.manner.calm:
        raise ImpossibleError
    a = Stage(s)
    who, h = holder(a.hands), a.hands
    _eve(a)
    a.passes(6)
    # Once it has answered, the database fails: what that was about is in the answer alone.
    failing = Mishap("failed", STORE, 1, AWAY, of="keep")
    s.weather.coming.insert(0, failing)
    before = {c.id for c in a.ours()}
    a.does(lambda: h.say(who, a.pull, "/reject not yet", "reject"))
    a.until(lambda: failing not in s.weather.coming)
    for comment in [c for c in a.ours() if c.id not in before]:
        a.does(lambda c=comment: h.delete(ADVERSARY, c))  # type: ignore[misc]
    a.does(lambda: h.set_draft(who, a.pull, False))
    a.passes(30)
    return f"{who} rejects #{a.pull.number}, eve deletes the answer, and {who} makes it ready"


@SCENES.add("an answer made into a summary", 1)
def made_summary(s: "Simulation") -> str:
    a = Stage(s)
    _eve(a)
    before = {c.id for c in a.ours()}
    a.says(a.author, a.hands.one(("why", "help")))
    a.until(lambda: any(c.id not in before for c in a.ours()))
    a.passes(4)
    answer = a.hands.one([c for c in a.ours() if c.id not in before])
    for comment in [c for c in a.ours() if c.id in before]:
        a.does(lambda c=comment: a.hands.delete(ADVERSARY, c))  # type: ignore[misc]
    a.until(lambda: any(c.body.startswith(SUMMARY) for c in a.ours()), GONE)
    summary = a.hands.one([c for c in a.ours() if c.body.startswith(SUMMARY)])
    text = summary.body if a.hands.chance(0.6) else f"{summary.body[:40]}\n{answer.body}"
    a.does(lambda: a.hands.edit(ADVERSARY, answer, text))
    a.passes(30)
    return f"eve makes an answer on #{a.pull.number} into a summary"


@SCENES.add("the last tag is gone when the next is made", 1)
def number_again(s: "Simulation") -> str:
    a = Stage(s)
    a.approve(a.judges())
    a.passes(12)
    git = s.forge.state.git(a.hands.repo)
    refs, merge = a.hands.repo.refs, a.hands.merged_as(a.pull)
    tags = [r for r in refs.below(f"refs/tags/{a.package}/v") if git.kind(refs[r]) == "tag"]
    ref = a.hands.one([r for r in tags if git.tag(refs[r]).target == merge])
    a.does(lambda: a.hands.push(writer(a.hands), ref, ""))
    if a.hands.chance(0.7):
        a.passes(5)
    b = Stage(s, package=a.package)
    b.approve(b.judges())
    b.passes(15)
    return f"{ref} is deleted, and #{b.pull.number} is published after it"


@SCENES.add("an approval's record carried to another proposal", 1)
def carried(s: "Simulation") -> str:
    two = RulesText(require=2)
    a, judges, who = approved_and_held(s, by="command", rules=two)
    h = a.hands
    answers = [c for c in a.ours() if '"kind":"approval"' in c.body]
    theirs = h.one(answers)
    a.does(lambda: h.turn(who, a.pull, "closed"))
    a.passes(4)
    again = a.does(lambda: h.open(a.author, a.branch, MAIN, "Once more"))
    a.passes(15)
    body = theirs.body
    if h.chance(0.5):  # then its MAC is wrong
        body = body.replace(f'"number":{a.pull.number}', f'"number":{again.number}')
    _eve(a)
    comment = h.one(h.ours(again))
    a.does(lambda: h.edit(ADVERSARY, comment, body))
    a.passes(6)
    other = h.one([judge for judge in judges if f"@{judge} " not in theirs.body])
    for _ in range(2):  # of what was done to its comments the bot learns with the first one
        a.does(lambda: h.say(other, again, "/approve", "approve"))
        a.passes(15)
    return f"eve carries an approval of #{a.pull.number} to #{again.number}, which is the same"
