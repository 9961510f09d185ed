"""What is told of a conflict."""

import pytest

from cadlib.merge.conflicts import ABSENT, Conflict, Side, veiled
from cadlib.merge.policy import ConflictPolicy
from cadlib.yaml import FieldPath, Value

SECRET: Value = {"kind": "Secret", "data": {"key": "MQ=="}, "metadata": {"name": "s"}}
LAST = "kubectl.kubernetes.io/last-applied-configuration"

TEXTS: dict[str, tuple[Conflict, str]] = {
    "a field": (
        Conflict(path="a.yaml", line=3, resource="v1/Pod/x", field="spec.a", base=1, ours=2,
                 theirs=3, chosen="upstream", reason="changed on both sides"),
        "a.yaml:3: v1/Pod/x: spec.a: changed on both sides (base 1, local 2, upstream 3):"
        " upstream is taken",
    ),
    "a file": (
        Conflict(path="a.yaml", chosen="local", reason="removed locally and changed upstream"),
        "a.yaml: removed locally and changed upstream: local is taken",
    ),
    "long values and null": (
        Conflict(path="a.yaml", field="a", base=None, ours="x" * 50, theirs={"b": [1]},
                 chosen="both", reason="joined"),
        f"a.yaml: a: joined (base null, local {'x' * 37}..., upstream {{\"b\": [1]}})",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("conflict", "text"), TEXTS.values(), ids=TEXTS)
def test_text(conflict: Conflict, text: str) -> None:
    """The short-cut has a text for fields only."""
    assert str(conflict) == text


def test_json_keeps_null_and_leaves_out_what_is_absent() -> None:
    """The short-cut writes null for both."""
    conflict = Conflict(path="a.yaml", field="a", base=None, ours=1, chosen="local", reason="why")

    assert conflict.as_json() == {
        "file": "a.yaml", "line": None, "resource": "", "field": "a",
        "base": None, "ours": 1, "chosen": "local", "reason": "why",
    }  # fmt: skip


VEILED: dict[str, tuple[Value, FieldPath, Side, Side]] = {
    "a value of a secret": (SECRET, ("data", "key"), "MQ==", "(hidden)"),
    "all values of a secret": (SECRET, ("data",), {"key": "MQ=="}, "(hidden)"),
    "a secret as a whole": (SECRET, (), SECRET, {"kind": "Secret", "data": "(hidden)",
                                                 "metadata": {"name": "s"}}),
    "the name of a secret": (SECRET, ("metadata", "name"), "s", "s"),
    "what is not there": (SECRET, ("data", "key"), ABSENT, ABSENT),
    "data of others": ({"kind": "ConfigMap"}, ("data", "key"), "1", "1"),
    "a copy of the resource": ({"kind": "Pod"}, ("metadata", "annotations", LAST), "{}",
                               "(hidden)"),
    "annotations with a copy": ({"kind": "Pod"}, ("metadata", "annotations"),
                                {"a": "b", LAST: "{}"}, {"a": "b", LAST: "(hidden)"}),
    "a secret in a list": ({"kind": "List"}, ("items",), [SECRET],
                           [{"kind": "Secret", "data": "(hidden)", "metadata": {"name": "s"}}]),
    "a value of a secret in a list": ({"kind": "List", "items": [{"kind": "Pod"}, SECRET]},
                                      ("items", 1, "data", "key"), "MQ==", "(hidden)"),
    "a list of secrets": ({"kind": "SecretList"}, ("items",), [{"data": {"key": "MQ=="}}],
                          "(hidden)"),
    "a value in a list of secrets": ({"kind": "SecretList", "items": [{"data": {"key": "MQ=="}}]},
                                     ("items", 0, "data", "key"), "MQ==", "(hidden)"),
    "a list of secrets as a whole": ({}, (), {"kind": "SecretList", "items": [{"data": {}}]},
                                     {"kind": "SecretList", "items": "(hidden)"}),
    "the name of a secret in a list": ({"kind": "List", "items": [SECRET]},
                                       ("items", 0, "metadata", "name"), "s", "s"),
}  # fmt: skip


@pytest.mark.parametrize(("resource", "field", "value", "shown"), VEILED.values(), ids=VEILED)
def test_secrets(resource: Value, field: FieldPath, value: Side, shown: Side) -> None:
    """The short-cut hides the field `data` of a Secret alone."""
    assert veiled(resource, field, value) == shown


def test_policies() -> None:
    """The short-cut has a third side for a merge that fails."""
    assert [each.side for each in ConflictPolicy] == ["upstream", "local", "upstream"]
