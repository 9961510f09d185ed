"""The table of commands: every row at every stage, and a row that is added."""

import re
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lifecycle import memory
from lifecycle.access import AccessAction, Person, Role
from lifecycle.actions import React, Reaction, Reply
from lifecycle.commands.answers import answer
from lifecycle.commands.grammar import (
    OptionalText,
    OptionalWord,
    TakenArgument,
    WrongArgument,
    read,
)
from lifecycle.commands.parse import Malformed, ParsedComment, parse
from lifecycle.commands.spec import CommandRequest, CommandResponse, CommandSpec, Table
from lifecycle.commands.table import TABLE
from lifecycle.facts.proposal import Proposal, Stage
from lifecycle.messages.parsing import INSTEAD
from lifecycle.tags import Tagging
from tests.lifecycle.samples import (
    APPROVER,
    CORE,
    MERGE,
    NOW,
    OUTSIDER,
    PROPOSAL,
    changed,
    facts,
    said,
)

ROOT = Path(__file__).resolve().parents[3]
STRANGER = Person(8, "stranger", False)

MERGED = changed(
    PROPOSAL, merged=True, closed=True, merge_commit=MERGE, merged_at=NOW + timedelta(minutes=1)
)
PROPOSALS: dict[Stage, Proposal] = {
    Stage.DRAFT: changed(PROPOSAL, draft=True),
    Stage.PROPOSED: PROPOSAL,
    Stage.MERGED: MERGED,
    Stage.PUBLISHED: changed(MERGED, touched=(replace(CORE, tagging=Tagging(5, tagged=True)),)),
    Stage.CLOSED: changed(PROPOSAL, closed=True),
}

STAGES: dict[str, str] = {
    # command: first letters of Draft, Proposed, Merged, Published (U), Closed
    "propose": "DP",
    "approve": "PM",
    "unapprove": "DPM",
    "reject": "DP",
    "render": "DP",
    "rebase": "DP",
    "check": "DPM",
    "hold": "DPM",
    "unhold": "DPMU",
    "freeze": "DPMUC",
    "thaw": "DPMUC",
    "override": "PM",
    "init": "DPMUC",
    "clone": "DPMUC",
    "edit": "DPMUC",
    "upgrade": "DPMUC",
    "set": "DPMUC",
    "eval": "DPMUC",
    "resolve": "DP",
    "rollback": "DPMUC",
    "resume": "DPMUC",
    "continue": "DPMUC",
    "delete": "DPMUC",
    "deprecate": "DPMUC",
    "diff": "DPM",
    "why": "DPMUC",
    "help": "DPMUC",
}
NEEDED = {
    "freeze": " a reason",
    "override": " freeze a reason",
    "init": " net/new",
    "clone": " acme/base/net@v1 net/new",
    "edit": " net/core",
    "set": " spec.replicas=3",
    "eval": " set-labels:v0.2 a=b",
    "resolve": " 1 local",
    "rollback": " net/core@v1 a reason",
    "resume": " net/core a reason",
    "delete": " net/core@v1",
    "deprecate": " net/core@v1 a reason",
}
"""What has to stand after a command."""
LETTERS = dict(zip(Stage, "DPMUC", strict=True))

LATE: dict[Stage, str] = {
    Stage.DRAFT: "is for proposals, and this is a draft. Comment `/propose` first.",
    Stage.PROPOSED: (
        "does not apply to a proposal that is still open, so nothing was done. `/help` lists the"
        " commands that do."
    ),
    Stage.MERGED: (
        "is for open proposals, and this one is merged. Comment `/why` to see what it is waiting"
        " for."
    ),
    Stage.PUBLISHED: "comes too late: this is already published. Open a new pull request.",
    Stage.CLOSED: "is for open proposals, and this one is closed. Reopen it first.",
}


def ask(table: Table, proposal: Proposal, person: Person, body: str) -> tuple[str, str]:
    """What a comment is answered, and the reaction to it."""
    roles = {**proposal.people.roles, STRANGER.login: Role.NONE}
    asked = changed(proposal, comments=(said(person, body, minutes=2),), roles=roles)
    facts_ = facts(asked)
    found = answer(facts_, asked, memory.read(asked), table)
    texts = [each.body for each in found.actions if isinstance(each, Reply)]
    (reaction,) = [each.reaction for each in found.actions if isinstance(each, React)]
    return "".join(texts), reaction


def _carried_out(
    _request: CommandRequest, response: CommandResponse, command: object
) -> CommandResponse:
    return response.say(f"Carried out: {type(command).__name__}")


RECORDED = Table([replace(row, handler=_carried_out) for row in TABLE.rows])


def _answers() -> Iterator[tuple[str, Stage, Person, str]]:
    for word, letters in STAGES.items():
        for stage in Stage:
            for person in (APPROVER, OUTSIDER, STRANGER):
                if LETTERS[stage] not in letters:
                    expected = f"`/{word}` {LATE[stage]}"
                elif person is APPROVER or (
                    person is OUTSIDER and word in {"unapprove", "diff", "why", "help"}
                ):
                    expected = f"Carried out: {word.capitalize()}"
                else:
                    expected = f"`/{word}` refused: only "
                yield word, stage, person, expected


@pytest.mark.parametrize(("word", "stage", "person", "expected"), list(_answers()))
def test_every_command_at_every_stage_for_everybody(
    word: str, stage: Stage, person: Person, expected: str
) -> None:
    """Short-cut refused: one command whose handler is asked before its stage and right are."""
    text, reaction = ask(RECORDED, PROPOSALS[stage], person, f"/{word}{NEEDED.get(word, '')}")

    assert text.startswith(f"@{person.login} {expected}")
    refused = not expected.startswith("Carried out")
    assert reaction == (Reaction.REFUSED if refused else Reaction.DONE)


def test_every_row_is_expected_above() -> None:
    """Fails when a command is added without saying here when it means something."""
    assert tuple(STAGES) == TABLE.words
    assert not set(TABLE.words) & set(INSTEAD)


@pytest.mark.parametrize("row", TABLE.rows, ids=lambda row: row.word)
def test_arguments_are_fields_of_the_class(row: CommandSpec[Any]) -> None:
    """Fails when an argument is read and its class has no place for it."""
    assert [each.name for each in row.arguments] == list(row.command.__slots__)
    given = read(row.arguments, NEEDED.get(row.word, "").strip())
    assert not isinstance(given, WrongArgument)
    made = row.command(**given)
    if all(each.default is not MISSING for each in fields(row.command)):
        assert made == row.command()


# --- a command that is added ---


@dataclass(frozen=True, slots=True)
class Promote:
    """`/promote [strategy] [version] key=value…`, as it may come."""

    strategy: str
    version: str
    settings: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Option:
    """An option that may stand anywhere."""

    name: str

    @property
    def usage(self) -> str:
        return f"[--{self.name} <{self.name}>]"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        found = re.search(rf"(?:^| )--{self.name} (\S+)", text)
        if found is None:
            return TakenArgument("", text)
        return TakenArgument(found[1], f"{text[: found.start()]}{text[found.end() :]}".strip())


@dataclass(frozen=True, slots=True)
class Pairs:
    """Any number of settings."""

    name: str

    @property
    def usage(self) -> str:
        return "key=value…"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        pairs = [each.partition("=") for each in text.split()]
        if not all(sign for _, sign, _ in pairs):
            return WrongArgument("takes settings as `key=value`")
        return TakenArgument(tuple((key, value) for key, _, value in pairs), "")


def _promote(
    request: CommandRequest, response: CommandResponse, command: Promote
) -> CommandResponse:
    return response.say(f"comment {request.comment.id}: {command}")


EXTENDED = Table(
    [
        *TABLE.rows,
        CommandSpec(
            word="promote",
            command=Promote,
            arguments=(Option("strategy"), OptionalWord("version"), Pairs("settings")),
            stages=frozenset({Stage.PROPOSED}),
            action=AccessAction.HOLD,
            handler=_promote,
            help="bring it up to a newer version",
            pushes=True,
        ),
    ]
)


def test_a_command_is_one_row_and_one_function() -> None:
    """Short-cut refused: a second list of words, stages, rights or handlers, to be kept in step."""
    body = "/promote v3 --strategy fast-forward replicas=3 name=a"
    command = Promote("fast-forward", "v3", (("replicas", "3"), ("name", "a")))

    assert parse(body, table=EXTENDED) == ParsedComment((command,))
    assert parse("/prmoote", table=EXTENDED).problems[0].text().endswith("`/promote`?")
    assert parse("/promote v3 x", table=EXTENDED).problems == (
        Malformed("promote", "takes settings as `key=value`"),
    )
    assert ask(EXTENDED, PROPOSAL, APPROVER, body) == (
        f"@approver Comment 100: {command}",
        Reaction.DONE,
    )
    assert ask(EXTENDED, PROPOSALS[Stage.DRAFT], APPROVER, body) == (
        "@approver `/promote` is for proposals, and this is a draft. Comment `/propose` first.",
        Reaction.REFUSED,
    )
    assert ask(EXTENDED, PROPOSAL, OUTSIDER, body) == (
        "@outsider `/promote` refused: only people with write access or the author can do this;"
        " you have read access. Ask one of them.",
        Reaction.REFUSED,
    )
    row = (
        "- `/promote [--strategy <strategy>] [version] key=value…`: bring it up to a newer version"
    )
    assert row in ask(EXTENDED, PROPOSAL, APPROVER, "/help")[0].splitlines()
    assert f"{row} (only for people with write access or the author)" in (
        ask(EXTENDED, PROPOSAL, OUTSIDER, "/help")[0].splitlines()
    )


def test_what_no_argument_takes_is_told() -> None:
    """Short-cut refused: obeying what was read and dropping the rest."""
    arguments = (OptionalWord("package"), OptionalWord("version"))
    wrong = WrongArgument("takes no more than `[package] [version]` after it, each without spaces")

    assert read(arguments, "a b") == {"package": "a", "version": "b"}
    assert read(arguments, "a  b c") == wrong
    assert read((OptionalText("reason", 3),), "a b") == {"reason": "a b"}


def test_two_rows_of_one_word_are_refused() -> None:
    """Fails when the second row quietly takes the place of the first."""
    row = TABLE.rows[0]
    other = replace(row, command=Promote)

    with pytest.raises(ValueError, match="two commands have one word or one class"):
        Table([row, other])
    with pytest.raises(ValueError, match="two commands have one word or one class"):
        Table([row, replace(row, word="other")])
