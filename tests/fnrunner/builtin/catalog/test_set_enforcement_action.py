"""set-enforcement-action: what is changed, and what it says."""

import pytest

from cadlib.stream.resourcelist import ResourceList
from fnrunner.builtin import resource
from fnrunner.builtin.catalog import set_enforcement_action
from tests.fnrunner.calls import call, config_map, items, values

HEAD = "apiVersion: constraints.gatekeeper.sh/v1beta1\nkind: A\nmetadata: {name: "
POLICIES = f"{HEAD}a}}\nspec: {{enforcementAction: deny}}\n---\n{HEAD}b}}\n"
WARN = config_map(enforcementAction="warn")


def test_every_constraint_is_set_with_or_without_a_spec() -> None:
    """Short-cut: change only what is there."""
    answer = call(set_enforcement_action.run, POLICIES, WARN)
    assert [resource.field(each, "spec") for each in answer.values] == [
        {"enforcementAction": "warn"}, {"enforcementAction": "warn"},
    ]  # fmt: skip
    assert answer.results == (
        {"message": "Number of policies set to [warn]: 2", "severity": "info"},
        {"message": "Policy name: [a]", "severity": "info", "file": {"path": "resources.yaml"}},
        {"message": "Policy name: [b]", "severity": "info", "file": {"path": "resources.yaml"}},
    )


OTHERS = {
    "another version": f"{HEAD}a}}".replace("v1beta1", "v1"),
    "another group": f"{HEAD}a}}".replace("constraints", "templates"),
    "no name": "apiVersion: constraints.gatekeeper.sh/v1beta1\nkind: A",
    "nothing": "",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_what_is_no_constraint_stays(text: str) -> None:
    given = items(text)
    answer = set_enforcement_action.run(ResourceList(given, values(WARN)[0]))
    assert all(after is before for after, before in zip(answer.items, given, strict=True))
    assert (answer.results, answer.failed) == (
        ({"message": "Found no policy to set to [warn]", "severity": "warning"},), False,
    )  # fmt: skip


def test_a_constraint_that_has_the_action_is_what_came() -> None:
    given = items(f"{HEAD}a}}\nspec: {{enforcementAction: warn}}")
    answer = set_enforcement_action.run(ResourceList(given, values(WARN)[0]))
    assert answer.items[0] is given[0]


def test_a_spec_that_is_no_mapping_is_told() -> None:
    answer = call(set_enforcement_action.run, f"{HEAD}a}}\nspec: [1]", WARN)
    assert answer.failed
    assert answer.messages == ["error: failed to process policies: spec of [a] must be a mapping"]


WRONG = {
    "none": (None, "expecting exactly 1 enforcementAction as part of the ConfigMap"),
    "two": (
        config_map(enforcementAction="warn", a="b"),
        "expecting exactly 1 enforcementAction as part of the ConfigMap",
    ),
    "another key": (
        config_map(action="warn"),
        "expected values for enforcementAction are [deny] or [warn] or [dryrun]",
    ),
    "another action": (
        config_map(enforcementAction="shout"),
        "expected values for enforcementAction are [deny] or [warn] or [dryrun]",
    ),
}


@pytest.mark.parametrize(("config", "problem"), WRONG.values(), ids=WRONG)
def test_a_wrong_configuration_is_refused(config: str | None, problem: str) -> None:
    answer = call(set_enforcement_action.run, POLICIES, config)
    assert answer.messages == [f"error: failed to process policies: {problem}"]
    assert answer.failed
    assert answer.log == problem
