"""Scenes about approvals: of whom, of what, and whether they still stand."""

from typing import TYPE_CHECKING

from bot.sandbox.records.accounts import Role
from tests.simulation.deeds import scenes
from tests.simulation.moves import content, writer
from tests.simulation.scenery import Stage, approved_and_held, holder, released
from tests.simulation.setting import ADMIN, CONFIG, HONEST, MAIN, RELEASE, RulesText, resource

if TYPE_CHECKING:
    from tests.simulation.history import Simulation

SCENES = scenes()


@SCENES.add("held, and approved", 1)
def held(s: "Simulation") -> str:
    a = Stage(s)
    who = holder(a.hands)
    a.says(who, "hold")
    a.passes(8)
    a.approve(a.judges())
    a.passes(20)
    if a.hands.chance(0.5):
        a.says(who, "unhold")
    return f"{who} holds #{a.pull.number}, which is approved"


@SCENES.add("changes requested, and approved", 1)
def objected(s: "Simulation") -> str:
    a = Stage(s)
    who = holder(a.hands)
    judges = a.judges(apart=(who,))
    a.does(lambda: a.hands.review(who, a.pull, "REQUEST_CHANGES", "no"))
    a.passes(8)
    a.approve(judges)
    a.passes(20)
    return f"{who} requests changes of #{a.pull.number}, which is approved"


@SCENES.add("approvals edited before it is released", 1)
def edited(s: "Simulation") -> str:
    a, judges, who = approved_and_held(s, by="command")
    said = [c for c in a.hands.comments(a.pull) if c.user.login in judges and "approve" in c.body]
    comment = a.hands.one(said)
    editor = a.hands.one((comment.user.login, writer(a.hands)))
    text = a.hands.one(("never mind", "not yet", "/approve\n\nbut not like this"))
    a.does(lambda: a.hands.edit(editor, comment, text))
    released(a, who)
    return f"{editor} edits an approval of #{a.pull.number}, then it is released"


@SCENES.add("approvals dismissed before it is released", 1)
def dismissed(s: "Simulation") -> str:
    a, judges, who = approved_and_held(s, by="review")
    by = writer(a.hands)
    a.does(lambda: a.hands.dismiss(by, a.pull, judges))
    released(a, who)
    return f"a review of #{a.pull.number} is dismissed, then it is released"


@SCENES.add("approvals taken back before it is released", 1)
def taken_back(s: "Simulation") -> str:
    a, judges, who = approved_and_held(s, by="command")
    judge = a.hands.one(judges)
    a.says(judge, "unapprove")
    released(a, who)
    return f"{judge} takes an approval of #{a.pull.number} back, then it is released"


@SCENES.add("whoever approved may not any more", 0.7)
def demoted(s: "Simulation") -> str:
    a, judges, who = approved_and_held(s, by=s.hands.one(("command", "review")))
    judge = a.hands.one([j for j in judges if j != who])
    a.does(lambda: a.hands.role(judge, "read"))
    released(a, who)
    a.does(lambda: a.hands.role(judge, "write"))
    return f"{judge}, who approved #{a.pull.number}, has no rights any more, then it is released"


@SCENES.add("other rules before it is released", 1)
def other_rules(s: "Simulation") -> str:
    a, _, who = approved_and_held(s, by=s.hands.one(("command", "review")))
    now = a.rules
    others = [RulesText(), RulesText(judges=True), RulesText(alone=True), RulesText(stamps=True)]
    rules = a.hands.one([r for r in others if r.judging != now.judging])
    a.does(lambda: a.hands.commit(ADMIN, MAIN, {CONFIG: rules.text}, "rules"))
    released(a, who)
    return (
        f"{ADMIN} changes the rules that #{a.pull.number} was approved under, then it is released"
    )


@SCENES.add("retargeted before it is released", 0.7)
def retargeted(s: "Simulation") -> str:
    a, _, who = approved_and_held(s, by=s.hands.one(("command", "review")))
    by = writer(a.hands)
    for base in (RELEASE, MAIN)[: 1 + int(a.hands.chance(0.6))]:
        a.does(lambda b=base: a.hands.retarget(by, a.pull, b))  # type: ignore[misc]
        a.passes(4)
    released(a, who)
    return f"#{a.pull.number} is retargeted after its approval, then it is released"


@SCENES.add("approved as it must not be", 1)
def unsound(s: "Simulation") -> str:
    bad = s.hands.chance(0.4)
    a = Stage(s, RulesText(judges=True) if bad else RulesText(stamps=True))
    files = {f"{a.package}/a.yaml": resource("a", a.hands.fresh("v"), stamped=bad, bad=bad)}
    a.does(lambda: a.hands.commit(a.author, a.branch, files, "more"))
    a.passes(8)
    a.approve(a.judges())
    a.passes(15)
    return f"#{a.pull.number} is {'not valid' if bad else 'not its own rendering'}, and approved"


@SCENES.add("approved by whoever pushed to it", 1)
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


@SCENES.add("pushed to before anybody reads its approval", 1)
def pushed_since(s: "Simulation") -> str:
    """The button's approval and a push, of which the bot hears together."""
    a = Stage(s)
    a.passes(8)
    judges, files = a.judges(), content(a.hands.draw, a.package, sound=True)
    for judge in judges[:-1]:
        a.approves(judge)
    a.passes(8)

    def at_once() -> None:
        a.hands.review(judges[-1], a.pull, "APPROVE")
        a.hands.commit(a.author, a.branch, files, "more")

    a.does(at_once)
    a.passes(20)
    return f"{a.author} pushes to #{a.pull.number} before anybody reads {judges[-1]}'s approval"


@SCENES.add("approved by whom a commit names", 1)
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
