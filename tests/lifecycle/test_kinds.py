"""What stands beside each action, and that no action can do without it."""

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest

from lifecycle.actions import (
    Action,
    Forget,
    Merge,
    React,
    Reaction,
    Reply,
    SetCheck,
    SetDraft,
    Tag,
    for_publishing,
)
from lifecycle.facts.checks import Conclusion, Status
from lifecycle.names import Ref, Sha
from lifecycle.policy import MergeMethod

ROOT = Path(__file__).resolve().parents[2]

NUDGE = '''

@dataclass(frozen=True, slots=True)
class Nudge:
    """A new action."""

    {kind}

    number: int

    {writes}

Action = (
    Nudge
    | '''
KIND = (
    'KIND: ClassVar[Kind] = Kind(name="Nudge", repeat=Repeat.NOTICED, look=Look.PROPOSAL, '
    "order=ActionOrder.TOGETHER)"
)
WRITES = '''@property
    def writes(self) -> Write:
        """Its place."""
        return Write(("nudge", self.number))
'''
MISSING = {
    "nothing": (KIND, WRITES, None),
    "its_kind": ("", WRITES, 'Item "Nudge"'),
    "its_place": (KIND, "", 'expected "Described"'),
    "a_value_of_its_place": (KIND, WRITES.replace('("nudge", self.number)', ""), '"place"'),
    "its_name": (KIND.replace('name="Nudge", ', ""), WRITES, '"name"'),
    "repetition": (KIND.replace("repeat=Repeat.NOTICED, ", ""), WRITES, '"repeat"'),
    "its_look": (KIND.replace("look=Look.PROPOSAL, ", ""), WRITES, '"look"'),
    "its_order": (KIND.replace(", order=ActionOrder.TOGETHER", ""), WRITES, '"order"'),
}


def test_an_action_that_misses_a_part_does_not_pass_mypy(tmp_path: Path) -> None:
    """Fails when the parts have defaults, or stand in lists that a new action is not in.

    Each case is a copy of the actions with one more; only they, their kinds and the module that
    compares them are read, so that it takes seconds.
    """
    for case, (kind, writes, _) in MISSING.items():
        for name in ("lifecycle/kinds.py", "lifecycle/actions.py", "bot/loop/echoes.py"):
            text = (ROOT / name).read_text()
            for package in ("lifecycle", "bot"):
                text = text.replace(f"from {package}.", f"from {case}.{package}.")
            copy = tmp_path / case / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith("actions.py"):
                before, union, after = text.partition("\nAction = (\n")
                assert union
                text = before + NUDGE.format(kind=kind, writes=writes) + after.lstrip()
            copy.write_text(text)

    options = ["--follow-imports=skip", "--ignore-missing-imports", "--no-incremental"]
    options += ["--explicit-package-bases", "--config-file=", "--cache-dir=/dev/null"]
    command = [sys.executable, "-m", "mypy", *options, "."]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    errors = [line for line in said.splitlines() if ": error: " in line]
    found = {case: [e for e in errors if e.startswith(f"{case}/")] for case in MISSING}

    assert found["nothing"] == []
    for case, (_, _, wanted) in MISSING.items():
        assert wanted is None or any(wanted in error for error in found[case]), (case, said)


def test_names_in_the_audit_trail_and_in_metrics_stay() -> None:
    """Fails when names follow from classes, which may be called otherwise tomorrow."""
    assert [each.KIND.name for each in get_args(Action)] == [
        "PushRender",
        "PushUpdate",
        "PushDraft",
        "OpenProposal",
        "SetDraft",
        "CloseProposal",
        "SetTitle",
        "SetLabels",
        "SetCheck",
        "Say",
        "Restore",
        "RemoveDouble",
        "Keep",
        "KeepFreezes",
        "Reply",
        "React",
        "Suggest",
        "Forget",
        "AskPublish",
        "Merge",
        "Dequeue",
        "Tag",
        "DeleteTag",
        "MakeRelease",
        "MarkRelease",
        "DeleteBranch",
    ]


CHECK = SetCheck(
    head=Sha("a" * 40),
    name="porchbot/publish",
    status=Status.COMPLETED,
    conclusion=Conclusion.SUCCESS,
    title="",
    summary="",
    annotations=(),
    digest="",
    run=None,
)
MERGE = Merge(
    number=7,
    head=Sha("a" * 40),
    base=Sha("b" * 40),
    base_ref="main",
    method=MergeMethod.MERGE,
    title="",
    message="",
)
TAG = Tag(
    ref=Ref("refs/tags/net/v1"),
    target=Sha("a" * 40),
    tree="t",
    at=datetime(2026, 1, 1, tzinfo=UTC),
    number=7,
    message="",
)
UNAPPROVED = Reply(7, "Your approval is taken back.", {})


@pytest.mark.parametrize(
    ("decided", "published"),
    [
        ([CHECK, MERGE], [CHECK, MERGE]),
        ([CHECK, TAG], [CHECK, TAG]),
        ([TAG, replace(TAG, number=9)], [TAG]),
        ([CHECK], []),
        ([React(1, 1, Reaction.DONE), MERGE], [MERGE]),
        ([UNAPPROVED, MERGE], []),
        ([Forget(7, ()), MERGE], []),
        ([SetDraft(7, True), TAG], []),
    ],
)
def test_what_publishing_carries_out(decided: list[Action], published: list[Action]) -> None:
    """Fails when publishing merges beside a command that may take the approval back.

    And when it tags what another proposal of the same head was merged as on another branch: both
    would be given the same numbers.
    """
    assert for_publishing(decided, 7) == published
    assert for_publishing([a for a in decided if a is not TAG], 8) == []
