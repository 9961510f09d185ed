"""The configuration as values, and which parts of it an approval binds to."""

from dataclasses import replace

import pytest

from cadlib.errors import Place
from lifecycle.access import Role, RoleSource, UserSource
from lifecycle.policy import (
    AccessRule,
    BrokenPolicy,
    ConfigurationProblem,
    GuardrailFunction,
    MergeMethod,
    Mode,
    Policy,
    RenderMode,
    Root,
)

LABELS = GuardrailFunction(image="set-labels:v0.2", config_map={"owner": "network"})
SCHEMA = GuardrailFunction(image="kubeconform:v0.1")
GOOD = Policy(
    mutators=(LABELS,),
    validators=(SCHEMA,),
    approve=AccessRule(2, (RoleSource(Role.WRITE), UserSource("ann"))),
)

JUDGING: dict[str, Policy] = {
    "another mutator": replace(GOOD, mutators=(replace(LABELS, image="set-labels:v0.3"),)),
    "another parameter": replace(GOOD, mutators=(replace(LABELS, config_map={"owner": "x"}),)),
    "no parameters are not an empty set of them": replace(
        GOOD, mutators=(replace(LABELS, config_map={}),)
    ),
    "parameters from a file": replace(GOOD, validators=(replace(SCHEMA, config_path="c.yaml"),)),
    "a validator that only warns": replace(GOOD, validators=(replace(SCHEMA, mode=Mode.WARN),)),
    "one validator less": replace(GOOD, validators=()),
    "a mutator made a validator": replace(GOOD, mutators=(), validators=(LABELS, SCHEMA)),
    "another order": replace(GOOD, validators=(SCHEMA, LABELS)),
    "fewer approvals": replace(GOOD, approve=replace(GOOD.approve, require=1)),
    "other approvers": replace(GOOD, approve=replace(GOOD.approve, sources=(UserSource("ann"),))),
    "self-approval": replace(GOOD, approve=replace(GOOD.approve, self_allowed=True)),
}

NOT_JUDGING: dict[str, Policy] = {
    "roots": replace(GOOD, roots=(Root("packages", "main"),)),
    "render": replace(GOOD, render=RenderMode.CHECK),
    "merge": replace(GOOD, merge=MergeMethod.SQUASH),
    "a word for people": replace(GOOD, validators=(replace(SCHEMA, fix="see the handbook"),)),
    "the name of a step": replace(GOOD, validators=(replace(SCHEMA, name="schema"),)),
    "the order of the approvers": replace(
        GOOD, approve=replace(GOOD.approve, sources=(UserSource("Ann"), RoleSource(Role.WRITE)))
    ),
}


@pytest.mark.parametrize("changed", JUDGING.values(), ids=JUDGING)
def test_what_can_change_a_verdict_changes_the_digest(changed: Policy) -> None:
    """Short-cut refused: a digest of the images alone."""
    assert changed.digest != replace(GOOD, mutators=(LABELS,)).digest


@pytest.mark.parametrize("changed", NOT_JUDGING.values(), ids=NOT_JUDGING)
def test_what_judges_nothing_leaves_approvals_alone(changed: Policy) -> None:
    """Short-cut refused: a digest of the whole file."""
    assert changed.digest == GOOD.digest


def test_the_digest_is_the_same_in_every_process() -> None:
    """Short-cut refused: Python's own `hash`, which differs from run to run."""
    assert Policy().digest == "3399904a52fc2e614fde0d14c4de3a95ce62ca8b42a4286676f9a68ead014a0a"


def test_without_a_file_one_person_with_write_access_who_is_no_author_approves() -> None:
    assert Policy() == Policy(
        version=1,
        roots=(),
        render=RenderMode.COMMIT,
        mutators=(),
        validators=(),
        approve=AccessRule(1, (RoleSource(Role.WRITE),), self_allowed=False),
        merge=MergeMethod.MERGE,
    )


INSIDE: dict[str, tuple[Root, str, bool]] = {
    "everything lies in the whole repository": (Root(), "net/core", True),
    "the root package too": (Root(), "", True),
    "a folder below": (Root("packages"), "packages/net", True),
    "the folder itself": (Root("packages"), "packages", True),
    "a name that only begins alike": (Root("packages"), "packages-old/net", False),
    "a folder beside": (Root("packages"), "net", False),
    "the root package lies in no folder": (Root("packages"), "", False),
}


@pytest.mark.parametrize(("root", "path", "expected"), INSIDE.values(), ids=INSIDE)
def test_roots(root: Root, path: str, expected: bool) -> None:
    assert root.holds(path) is expected


def test_a_problem_says_where_what_and_what_to_do() -> None:
    problem = ConfigurationProblem(
        Place(".porchbot.yaml", 3, "render"), "'yes' is not a render mode", "Write commit or check"
    )

    assert str(problem) == (
        ".porchbot.yaml:3, render: 'yes' is not a render mode. Write commit or check."
    )
    assert BrokenPolicy((problem,)).problems == (problem,)
