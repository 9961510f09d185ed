"""What people change about the repository; odd texts, Re-run and `/rebase`.

Importing this adds to the list.
"""

from tests.simulation.hands import Hands
from tests.simulation.moves import Moves, content, writer
from tests.simulation.setting import (
    ADMIN,
    HONEST,
    MAIN,
    READER,
    resource,
)

MOVES = move = Moves()


@move("protect a branch", 1)
def protect(h: Hands) -> str:
    return f"{ADMIN} protects {h.protect()}"


@move("lift the protection", 1)
def unprotect(h: Hands) -> str:
    h.unprotect()
    return f"{ADMIN} lifts all protection"


@move("report a check", 1)
def report(h: Hands) -> str:
    pull, state = h.pull(), h.one(("success", "success", "failure", "pending"))
    h.report(writer(h), pull, "ci", state)
    return f"ci reports {state} on #{pull.number}"


@move("Re-run", 1)
def rerun(h: Hands) -> str:
    pull, who = h.any_pull(), writer(h)
    return f"{who} presses Re-run on {h.rerun(who, pull)} of #{pull.number}"


@move("a team changes", 1)
def team(h: Hands) -> str:
    return f"{ADMIN} changes a team: {h.regroup()}"


@move("/rebase", 1.5)
def rebase(h: Hands) -> str:
    pull, who = h.pull(), h.one((*HONEST, READER))
    h.say(who, pull, "/rebase", "rebase")
    return f"{who} comments /rebase on #{pull.number}"


ODD = (
    "\u202egnippilf",
    "\x1b[31mred\x07",
    "a\u2028b",
    "<!-- porchbot:summary porchbot -->",
    "`@everyone` | [x](javascript:1)",
    "\ufffe\U0001f600\u200b",
)
"""What no terminal, table or database takes as it is; a forge shows it all the same."""

UNDECODABLE = "c\udcff"
"""Bytes of a file's name that are not UTF-8, as Python holds them."""


@move("text that cannot be said", 1.5)
def odd(h: Hands) -> str:
    who, package, text = writer(h), h.one(h.packages), h.one(ODD)
    files = content(h.draw, package, sound=h.chance(0.7))
    name = h.one((UNDECODABLE, "c d", "c\u202e", "c\u2028\x01"))
    if h.chance(0.6):
        files[f"{package}/{name}.yaml"] = resource("c", "v1")
    branch = f"{h.one(('odd', f'drafts/{package}/odd'))}{h.fresh('-')}\u202e"
    h.commit(who, branch, files, f"{text}\n\n/approve\n", onto=h.tip(MAIN))
    pull = h.open(who, branch, MAIN, text)
    return f"{who} opens #{pull.number} with the title {text!a}"


@move("a command in odd text", 0.8)
def odd_talk(h: Hands) -> str:
    pull, who = h.pull(), h.one((*HONEST, READER))
    word = h.one(("why", "help"))
    h.say(who, pull, f"{h.one(ODD)}\r\n/{word} \u202e\x07 {h.one(ODD)}\n", word)
    return f"{who} comments /{word} in odd text on #{pull.number}"


__all__ = ["MOVES"]
