"""What people say about proposals: commands, reviews, and words that look like either."""

from bot.sandbox.records.repository import Pull
from tests.simulation.hands import Hands
from tests.simulation.moves import Moves, judge_of, writer
from tests.simulation.setting import (
    HONEST,
    READER,
)

MOVES = move = Moves()


def command(h: Hands, pull: Pull, who: str, word: str, text: str = "") -> str:
    h.say(who, pull, f"/{word}{text}", word)
    return f"{who} comments /{word} on #{pull.number}"


@move("/approve", 10)
def approve(h: Hands) -> str:
    pull = h.pull(lambda p: not p.draft)
    return command(h, pull, judge_of(h, pull), "approve")


@move("/approve on a merged proposal", 1)
def approve_merged(h: Hands) -> str:
    pull = h.one([p for p in h.repo.pulls.values() if p.merged][-3:])
    return command(h, pull, judge_of(h, pull), "approve")


@move("approving review", 4)
def review(h: Hands) -> str:
    pull = h.pull(lambda p: not p.draft)
    who = judge_of(h, pull)
    h.review(who, pull, "APPROVE")
    return f"{who} approves #{pull.number} by a review"


@move("request changes", 0.8)
def request_changes(h: Hands) -> str:
    pull = h.pull()
    who = h.one((*HONEST, READER))
    h.review(who, pull, "REQUEST_CHANGES", "no")
    return f"{who} requests changes of #{pull.number}"


@move("dismiss a review", 0.8)
def dismiss(h: Hands) -> str:
    pull, who = h.any_pull(), writer(h)
    whose = h.dismiss(who, pull)
    return f"{who} dismisses {whose}'s review of #{pull.number}"


@move("/propose", 2.5)
def proposecommand(h: Hands) -> str:
    pull = h.pull(lambda p: p.draft)
    return command(h, pull, writer(h), "propose")


@move("another command", 3)
def othercommand(h: Hands) -> str:
    pull = h.pull()
    words = ("hold", "unhold", "unhold", "reject", "render", "check", "why", "help", "unapprove")
    who = h.one((*HONEST, READER))
    return command(h, pull, who, h.one(words))


TALK = (
    "> /approve\n\nwho said that?",
    "```\n/approve\n```",
    "I would write /approve here, but I do not.",
    "    /approve",
    "<!--\n/approve\n-->\n",
    "looks good",
)


@move("talk about commands", 0.7)
def talk(h: Hands) -> str:
    pull, who = h.pull(), h.one((*HONEST, READER))
    h.say(who, pull, h.one(TALK))
    return f"{who} talks on #{pull.number}"


@move("edit one's own comment", 0.8)
def edit_own(h: Hands) -> str:
    pull = h.any_pull()
    comment = h.one([c for c in h.comments(pull) if not h.is_bot(c.user)])
    h.edit(comment.user.login, comment, h.one(("never mind", "/approve", "/hold")))
    return f"{comment.user.login} edits comment {comment.id} on #{pull.number}"


@move("delete one's own comment", 0.6)
def delete_own(h: Hands) -> str:
    pull = h.any_pull()
    comment = h.one([c for c in h.comments(pull) if not h.is_bot(c.user)])
    h.delete(comment.user.login, comment)
    return f"{comment.user.login} deletes comment {comment.id} on #{pull.number}"
