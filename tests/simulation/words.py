"""Judges what the bot says, by the diary and what stands at the forge.

- "said once": no command is answered twice, no summary written twice, without a reason;
- "obeyed once": no draft is made anew by a command that was answered;
- "answer first": no reaction stands for an answer that was never given;
- "answers stay": an answer of the bot's is never made into something else by the bot;
- "reasons": no tag is called gone that nobody has touched.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from tests.simulation.diary import Entry
from tests.simulation.evidence import Evidence
from tests.simulation.setting import BOT

RECORD = re.compile(r"<!-- porchbot:record (\{.*?\}) [0-9a-f]{64} -->")
SUMMARY = "<!-- porchbot:summary "

SPOKEN = frozenset({"approve", "why", "help"})
"""Commands that are answered by a comment, whatever they come to."""


@dataclass(frozen=True)
class Violation:
    """Something that must not be.

    Attributes:
        check: Which invariant.
        why: What was seen.
        place: Where in the diary.
    """

    check: str
    why: str
    place: int

    def __str__(self) -> str:
        return f"{self.check}: {self.why}"


class Words:
    """Judges what the bot says in one history.

    Args:
        evidence: Git and the diary.
        excused: Whether something was done to the bot that lets it say a thing twice about a pull
            request: an answer of the forge or a database was lost, its comments were touched.
        remembers: Whether nothing hindered the bot from writing down what it had said, or, where
            it is asked for with true, by what it had only reacted to.
    """

    def __init__(
        self, evidence: Evidence, excused: Callable[[int], bool], remembers: Callable[[bool], bool]
    ) -> None:
        self._remembers = remembers
        self._evidence = evidence
        self._diary = evidence.diary
        self._excused = excused
        self._answers: Counter[int] = Counter()
        self._summaries: Counter[int] = Counter()
        self._told: Counter[tuple[int, str]] = Counter()
        self._is_answer: dict[int, set[int]] = {}

    def judge(self, entry: Entry) -> Iterator[tuple[str, str]]:
        """Judge a comment that the bot wrote, or wrote anew."""
        if entry.text.startswith(SUMMARY) and "the tag is gone" in entry.text:
            made = tags_of(self._evidence, entry.pull, entry.place)
            if made and all(len(moves) == 1 for moves in made.values()):
                yield "reasons", f"the summary of #{entry.pull} says that {', '.join(made)} is gone"
        if entry.what in ("comment created", "issue comment created"):
            yield from self._said(entry)
            return
        was = self._is_answer.get(entry.number, set())
        if not was <= answered_by(entry.text) and self._remembers(False):
            yield "answers stay", f"the answer {entry.number} on #{entry.pull} is none any more"

    def sent_back(self, entry: Entry) -> Iterator[tuple[str, str]]:
        """Judge that the bot made a proposal a draft: somebody asked for that, and waits."""
        about = self._diary.of_pull[entry.pull]
        asked = [e.number for e in about if "reject" in self._diary.meant.get(e.number, ())]
        if all(self._answers[number] for number in asked) and self._remembers(False):
            yield "obeyed once", f"#{entry.pull} is a draft again, and nobody asked for that anew"

    def stays(self, e: Entry) -> bool:
        """Whether a command had been obeyed before it was edited or deleted: that changes nothing.

        Unless what the bot knew was lost with it, or with its database.
        """
        reacted = not self._answers[e.number]
        return e.number in self._diary.obeyed and self._remembers(reacted)

    @property
    def knows(self) -> bool:
        """Nothing kept the bot from writing down what it had said."""
        return self._remembers(False)

    def unspoken(self, reacted: Iterable[int]) -> Iterator[tuple[str, str]]:
        """Commands that show a reaction of the bot's, and were never answered.

        Args:
            reacted: Numbers of the comments that show one.
        """
        for comment in reacted:
            if not self._answers[comment] and SPOKEN & {*self._diary.meant.get(comment, ())}:
                yield "answer first", f"comment {comment} shows a reaction, and has no answer"

    def _said(self, entry: Entry) -> Iterator[tuple[str, str]]:
        if entry.text.startswith(SUMMARY):
            self._summaries[entry.pull] += 1
            if self._summaries[entry.pull] > 1 and not self._excused(entry.pull):
                yield "said once", f"a second summary on #{entry.pull}"
        answered = answered_by(entry.text)
        if answered:
            self._is_answer[entry.number] = answered
        for comment in answered:
            self._answers[comment] += 1
            if self._answers[comment] > 1 and not self._excused(entry.pull):
                yield "said once", f"comment {comment} on #{entry.pull} was answered twice"
        for told in told_by(entry.text):
            self._told[entry.pull, told] += 1
            if self._told[entry.pull, told] > 1 and not self._excused(entry.pull):
                yield "said once", f"{told} was told twice on #{entry.pull}"


def tags_of(evidence: Evidence, pull: int, last: int) -> dict[str, list[Entry]]:
    """The tags that the bot made of a proposal's merge, each with its moves before a place."""
    merge = evidence.merge_of(pull)
    return {
        ref: [e for e in moves if e.place < last]
        for ref, moves in evidence.diary.of_ref.items()
        if ref.startswith("refs/tags/")
        and merge is not None
        and moves[0].who == BOT
        and moves[0].place < last
        and evidence.history.tag(moves[0].after).target == merge.merged
    }


def answered_by(text: str) -> set[int]:
    """Numbers of the comments that a comment of the bot's says it answers."""
    answers = (r for r in _records(text) if r.get("kind") == "answer")
    return {number for record in answers for number in accumulate(record.get("answered", ()))}


def told_by(text: str) -> set[str]:
    """What a comment of the bot's tells unasked: occasions of notices, merges that it reports."""
    return {
        str(event.get("occasion") or event.get("merge"))
        for record in _records(text)
        if record.get("kind") in ("notice", "report")
        for event in record.get("events", ())
    }


def _records(text: str) -> list[dict[str, Any]]:
    """The records in a comment of the bot's; none of its summary's."""
    if text.startswith(SUMMARY):
        return []
    return [json.loads(match[1]) for match in RECORD.finditer(text)]
