"""One document merged three ways: values, comments, conflicts.

Longer than 400 lines: a table of merges: three documents and their result.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib.merge.conflicts import ABSENT, Absent, Conflict
from cadlib.merge.documents import ConflictPolicy, MergedDocument, merge_documents
from cadlib.yaml import DELETED, Deleted, Document, Value, emit, read, same
from tests.choices import each_of


def document(text: str) -> Document:
    """Read one document."""
    (found,) = read(text.encode()).documents
    return found


def of(value: Value) -> Document:
    """Return a document with a value."""
    return document(emit(value))


def merge(
    origin: Value, local: Value, updated: Value, policy: ConflictPolicy = ConflictPolicy.UPSTREAM
) -> MergedDocument:
    """Merge three values."""
    return merge_documents(of(origin), of(local), of(updated), policy=policy)


def plainly(merged: MergedDocument) -> Value:
    """Return the merged value, which is there."""
    assert not isinstance(merged.value, Deleted)
    return merged.value


def told(conflicts: Sequence[Conflict]) -> list[tuple[str, str]]:
    """Return field and chosen side of conflicts."""
    return [(each.field, each.chosen) for each in conflicts]


def foo(**fields: Value) -> Value:
    """Return a resource of a kind of which nothing is known."""
    return {"apiVersion": "example.org/v1", "kind": "Foo", **fields}


def deployment(*containers: Value, **fields: Value) -> Value:
    """Return a deployment."""
    template: Value = {"spec": {"containers": list(containers)}}
    spec: Value = {**fields, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}


def service(*ports: Value) -> Value:
    """Return a service."""
    return {"apiVersion": "v1", "kind": "Service", "spec": {"ports": list(ports)}}


UNKNOWN: dict[str, tuple[dict[str, Value], dict[str, Value], dict[str, Value], dict[str, Value],
                         list[tuple[str, str]]]] = {
    "each side changes its own": ({"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 2},
                                  {"a": 2, "b": 2}, []),
    "both change one": ({"a": 1}, {"a": 2}, {"a": 3}, {"a": 3}, [("a", "upstream")]),
    "both change it alike": ({"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 2, "b": 2},
                             {"a": 2, "b": 2}, []),
    "both add one": ({}, {"a": 1}, {"a": 2}, {"a": 2}, [("a", "upstream")]),
    "removed upstream, changed locally": ({"a": 1}, {"a": 2}, {"b": 1}, {"b": 1},
                                          [("a", "upstream")]),
    "removed locally, changed upstream": ({"a": 1}, {"b": 1}, {"a": 2}, {"b": 1, "a": 2},
                                          [("a", "upstream")]),
    "removed locally, left upstream": ({"a": 1, "b": 1}, {"b": 1}, {"a": 1, "b": 2}, {"b": 2}, []),
    "null upstream removes": ({"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": None, "b": 1},
                              {"b": 2}, []),
    "null upstream removes what changed locally": ({"a": 1}, {"a": 2}, {"a": None}, {},
                                                   [("a", "upstream")]),
    "null locally removes": ({"a": 1, "b": 1}, {"a": None, "b": 1}, {"a": 1, "b": 2},
                             {"b": 2}, []),
    "null in what is new is nothing": ({"b": 1}, {"b": 1, "a": {"x": None, "y": 1}},
                                       {"b": 2, "c": None}, {"b": 2, "a": {"y": 1}}, []),
    "null from the start stays": ({"a": None, "b": 1}, {"a": None, "b": 1, "c": 1},
                                  {"a": None, "b": 2}, {"a": None, "b": 2, "c": 1}, []),
    "null locally removes what changed upstream": ({"a": 1}, {"a": None}, {"a": 2}, {},
                                                   [("a", "local")]),
    "null upstream removes what was added locally": (
        {"b": 1}, {"b": 1, "a": 5}, {"a": None, "b": 1}, {"b": 1}, [("a", "upstream")]),
    "null upstream removes a mapping that was added locally": (
        {}, {"a": {"x": 1}}, {"a": None}, {}, [("a", "upstream")]),
    "null upstream removes a list that was added locally": (
        {}, {"a": [1]}, {"a": None}, {}, [("a", "upstream")]),
    "null upstream removes a mapping, with what was added in it locally": (
        {"a": {"x": 1}}, {"a": {"x": 1, "y": 2}}, {"a": None}, {}, [("a", "upstream")]),
    "null upstream in what both added": ({}, {"a": {"x": 1, "y": 1}}, {"a": {"x": None, "y": 1}},
                                         {"a": {"y": 1}}, [("a.x", "upstream")]),
    "null locally removes what was added upstream": ({}, {"a": None}, {"a": 5}, {},
                                                     [("a", "local")]),
    "null on one side, removed on the other": ({"a": 1}, {"a": None}, {}, {}, []),
    "null from the start is changed upstream": ({"a": None, "b": 1}, {"a": None, "b": 2},
                                                {"a": 1, "b": 1}, {"a": 1, "b": 2}, []),
    "null from the start is dropped upstream, changed locally": (
        {"a": None, "b": 1}, {"a": 1, "b": 1}, {"b": 2}, {"a": 1, "b": 2}, []),
    "null from the start is dropped locally, changed upstream": (
        {"a": None, "b": 1}, {"b": 2}, {"a": 1, "b": 1}, {"b": 2, "a": 1}, []),
    "a list is one value": ({"a": [1]}, {"a": [1, 2]}, {"a": [1, 3]}, {"a": [1, 3]},
                            [("a", "upstream")]),
    "a mapping here, a list there": ({"a": {"b": 1}}, {"a": {"b": 2}}, {"a": [1]}, {"a": [1]},
                                     [("a", "upstream")]),
    "a mapping of its own keys comes back by those that changed": (
        {"a": {"x": 1, "y": 1}}, {"b": 1}, {"a": {"x": 1, "y": 2}}, {"b": 1, "a": {"y": 2}},
        [("a.y", "upstream")],
    ),
    "nothing empty stays": ({"a": {"x": 1}, "b": 1}, {"a": {"x": 1}, "b": 2}, {"b": 1},
                            {"b": 2}, []),
    "what was emptied on purpose stays": ({"a": {"x": 1}}, {"a": {}, "b": 1}, {"c": 1},
                                          {"a": {}, "b": 1, "c": 1}, []),
    "1 is not true": ({"a": 1}, {"a": 1, "b": 1}, {"a": True}, {"a": True, "b": 1}, []),
}  # fmt: skip


@pytest.mark.parametrize(
    ("origin", "local", "updated", "expected", "conflicts"), UNKNOWN.values(), ids=UNKNOWN
)
def test_fields(
    origin: dict[str, Value],
    local: dict[str, Value],
    updated: dict[str, Value],
    expected: dict[str, Value],
    conflicts: list[tuple[str, str]],
) -> None:
    """The short-cut takes upstream's value wherever the two differ."""
    merged = merge(foo(**origin), foo(**local), foo(**updated))

    assert merged.value == foo(**expected)
    assert told(merged.conflicts) == conflicts


A: Value = {"name": "a", "image": "a:1", "args": ["x"]}
A2: Value = {"name": "a", "image": "a:2", "args": ["x"]}
A_OWN: Value = {"name": "a", "image": "a:1", "args": ["x", "y"]}
A_BOTH: Value = {"name": "a", "image": "a:2", "args": ["x", "y"]}
B: Value = {"name": "b", "image": "b:1"}
B2: Value = {"name": "b", "image": "b:2"}
C: Value = {"name": "c", "image": "c:1"}
FIRST = "spec.template.spec.containers[0]"
SECOND = "spec.template.spec.containers[1]"

CONTAINERS: dict[str, tuple[list[Value], list[Value], list[Value], list[Value],
                            list[tuple[str, str]]]] = {
    "elements are merged by name": ([A, B], [B, A_OWN], [A2, B], [B, A_BOTH], []),
    "new ones follow": ([A], [A_OWN, B], [A, C], [A_OWN, B, C], []),
    "removed upstream": ([A, B], [A_OWN, B], [A], [A_OWN], []),
    "removed locally": ([A, B], [A], [A2, B], [A2], []),
    "removed locally, changed upstream: whole": ([A, B], [A_OWN], [A, B2], [A_OWN, B2],
                                                 [(SECOND, "upstream")]),
    "removed upstream, changed locally: gone": ([A, B], [A, B2], [A2], [A2],
                                                [(SECOND, "upstream")]),
    "all removed upstream, one changed locally": ([A, B], [A_OWN, B], [], [],
                                                  [(FIRST, "upstream")]),
    "renamed locally, changed upstream": (
        [A], [{"name": "z", "image": "a:1", "args": ["x"]}], [A2],
        [{"name": "z", "image": "a:2", "args": ["x"]}], [(FIRST, "both")],
    ),
    "renamed upstream, changed locally": (
        [A], [A_OWN], [{"name": "z", "image": "a:1", "args": ["x"]}],
        [{"name": "z", "image": "a:1", "args": ["x", "y"]}], [(FIRST, "both")],
    ),
    "two of a name are one value": ([A], [A, A], [A2], [A2],
                                    [("spec.template.spec.containers", "upstream")]),
    "upstream's order counts where nobody reordered": ([A], [A], [B, A], [B, A], []),
}  # fmt: skip


@pytest.mark.parametrize(
    ("origin", "local", "updated", "expected", "conflicts"), CONTAINERS.values(), ids=CONTAINERS
)
def test_elements(
    origin: list[Value],
    local: list[Value],
    updated: list[Value],
    expected: list[Value],
    conflicts: list[tuple[str, str]],
) -> None:
    """The short-cut matches elements by their place."""
    merged = merge(deployment(*origin), deployment(*local), deployment(*updated, replicas=2))

    assert merged.value == deployment(*expected, replicas=2)
    assert told(merged.conflicts) == conflicts


def test_a_probe_that_was_removed_comes_back_whole() -> None:
    """The short-cut brings back the field that changed: a probe that probes nothing."""
    probe: Value = {"periodSeconds": 1, "exec": {"command": ["ok"]}}
    slower: Value = {"periodSeconds": 9, "exec": {"command": ["ok"]}}
    merged = merge(
        deployment({"name": "a", "livenessProbe": probe}),
        deployment({"name": "a"}),
        deployment({"name": "a", "livenessProbe": slower}),
    )

    assert merged.value == deployment({"name": "a", "livenessProbe": slower})
    assert told(merged.conflicts) == [(f"{FIRST}.livenessProbe", "upstream")]


def test_two_sources_of_one_value_are_not_put_together() -> None:
    """The short-cut merges fields, and gives a variable a value and a reference."""
    from_secret: Value = {"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    merged = merge(
        deployment({"name": "a", "env": [{"name": "E", "value": "1"}]}),
        deployment({"name": "a", "env": [from_secret]}),
        deployment({"name": "a", "env": [{"name": "E", "value": "2"}]}),
    )

    assert merged.value == deployment({"name": "a", "env": [{"name": "E", "value": "2"}]})
    assert told(merged.conflicts) == [(f"{FIRST}.env[0]", "upstream")]


def test_a_port_that_changed_on_both_sides_stays_one_entry() -> None:
    """The short-cut adds a second entry, for a port that nobody has any more."""
    merged = merge(
        service({"port": 80, "targetPort": 8080}),
        service({"port": 81, "targetPort": 8080}),
        service({"port": 80, "targetPort": 9090}),
    )

    assert merged.value == service({"port": 81, "targetPort": 9090})
    assert [str(each) for each in merged.conflicts] == [
        ":5: v1/Service: spec.ports[0]: port=80 became port=81 locally, and the same element was"
        ' changed upstream: both changes are kept (base {"port": 80, "targetPort": 8080},'
        ' local {"port": 81, "targetPort": 8080}, upstream {"port": 80, "targetPort": 9090})'
    ]


def test_a_set_is_merged_by_its_members() -> None:
    """The short-cut replaces the whole list."""

    def finalizers(*names: str) -> Value:
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"finalizers": [*names]}}

    merged = merge(finalizers("a", "b"), finalizers("a", "b", "c"), finalizers("b", "d"))

    assert merged.value == finalizers("b", "c", "d")
    assert merged.conflicts == ()


def test_a_conflict_says_where_and_what() -> None:
    """The short-cut gives the line in the file upstream."""
    local = document("# mine\n\nkind: Foo\napiVersion: example.org/v1\nmetadata: {name: x}\na: 2\n")
    merged = merge_documents(of(foo(a=1)), local, of(foo(a=3)), path="x.yaml")

    assert merged.conflicts == (
        Conflict(
            path="x.yaml",
            line=6,
            resource="example.org/v1/Foo/x",
            field="a",
            base=1,
            ours=2,
            theirs=3,
            chosen="upstream",
            reason="changed on both sides",
        ),
    )


def test_secrets_are_not_told() -> None:
    """The short-cut shows the values of every conflict."""

    def secret(value: str) -> Value:
        return {"apiVersion": "v1", "kind": "Secret", "data": {"key": value}}

    merged = merge(secret("MQ=="), secret("Mg=="), secret("Mw=="))

    assert [each.as_json() for each in merged.conflicts] == [
        {
            "file": "",
            "line": 4,
            "resource": "v1/Secret",
            "field": "data.key",
            "base": "(hidden)",
            "ours": "(hidden)",
            "theirs": "(hidden)",
            "chosen": "upstream",
            "reason": "changed on both sides",
        }
    ]


def test_a_resource_gone_upstream_goes_if_it_is_what_it_was() -> None:
    """The short-cut compares texts: an indent or an annotation of kpt keeps the resource."""
    origin = document("kind: Foo\nmetadata:\n  name: x\na: [1]\n")
    noisy = document(
        "metadata: # kpt-merge: /x\n    name: x\n    annotations:\n"
        "        internal.kpt.dev/upstream-identifier: '|Foo|default|x'\nkind: Foo\na:\n- 1\n"
    )
    changed = document("kind: Foo\nmetadata:\n  name: x\na: [2]\n")

    assert merge_documents(origin, noisy, None) == MergedDocument(DELETED, None, ())
    kept = merge_documents(origin, changed, None)
    assert kept.value == changed.value
    assert told(kept.conflicts) == [("", "local")]
    assert merge_documents(None, changed, None).conflicts == ()


COMMENTS: dict[str, tuple[str, str, str, dict[tuple[str | int, ...], str] | None]] = {
    "upstream's new comment arrives": ("a: 1\n", "a: 1\nb: 2\n", "a: 1 # kpt-set: ${a}\n",
                                       {("a",): "# kpt-set: ${a}"}),
    "a local comment stays": ("a: 1\n", "a: 1 # mine\n", "a: 2\n", None),
    "a comment goes with the value that wins": ("a: 1 # x\n", "a: 2 # y\n", "a: 3 # z\n",
                                                {("a",): "# z"}),
    "a local comment goes with the value that loses": (
        "a: 1 # x\n", "a: 2 # mine\n", "a: 3 # x\n", {("a",): "# x"},
    ),
    "a comment removed upstream goes": ("a: 1 # x\nb: 1\n", "a: 1 # x\nb: 2\n", "a: 1\nb: 1\n", {}),
    "a comment removed locally stays away": ("a: [1] # x\n", "a: [1]\nb: 1\n", "a: [1] # y\n", {}),
    "that of a list stays local": ("a: # x\n- 1\n", "a: # y\n- 2\n", "a: # z\n- 3\n",
                                   {("a",): "# y"}),
    "a comment follows its item": ("a:\n- x\n- y\n", "a:\n- x # mine\n- y\nb: 1\n",
                                   "a:\n- y # theirs\n- x\n",
                                   {("a", 0): "# theirs", ("a", 1): "# mine"}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("origin", "local", "updated", "expected"), COMMENTS.values(), ids=COMMENTS
)
def test_comments(
    origin: str, local: str, updated: str, expected: dict[tuple[str | int, ...], str] | None
) -> None:
    """The short-cut merges values alone."""
    merged = merge_documents(document(origin), document(local), document(updated))

    assert merged.comments == expected


def test_a_comment_stays_with_a_local_value_that_wins() -> None:
    """The short-cut merges comments by themselves: upstream's beside the local value."""
    states = (document(f"a: {text}\n") for text in ("1 # one", "2 # one", "3 # three"))
    merged = merge_documents(*states, policy=ConflictPolicy.LOCAL)

    assert merged.value == {"a": 2}
    assert merged.comments == {("a",): "# one"}


@pytest.mark.parametrize(
    ("texts", "policy", "comment"),
    [
        (("a: 1 # x\n", "a: 1 # y\n", "a: 1 # z\n"), ConflictPolicy.UPSTREAM, "# z"),
        (("a: 1 # x\n", "a: 1 # y\n", "a: 1 # z\n"), ConflictPolicy.LOCAL, "# y"),
        (("a: 1\n", "a: 1 # y\n", "a: 1 # z\n"), ConflictPolicy.LOCAL, "# y"),
        (("a: # x\n- 1\n", "a: # y\n- 1\n", "a: # z\n- 2\n"), ConflictPolicy.UPSTREAM, "# y"),
    ],
)
def test_a_comment_that_both_sides_changed_is_told(
    texts: tuple[str, str, str], policy: ConflictPolicy, comment: str
) -> None:
    """The short-cut tells of values alone, and a local remark goes without a word."""
    merged = merge_documents(*map(document, texts), policy=policy)

    (conflict,) = merged.conflicts
    assert merged.comments == {("a",): comment}
    assert (conflict.field, conflict.line) == ("a", 1)
    assert (conflict.ours, conflict.theirs) == ("# y", "# z")
    assert conflict.chosen == ("local" if comment == "# y" else "upstream")


# Properties. Names are few, so that the states have much in common.
PLAIN: list[Value] = [0, 1, 2, 3, "x", "y"]
ARGS = [[*each] for length in range(3) for each in product(PLAIN, repeat=length)]
names = st.sampled_from("abcd")
plain = st.sampled_from(PLAIN)
values: st.SearchStrategy[Value] = st.recursive(
    plain,
    lambda inner: st.dictionaries(names, inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=8,
)


def containers() -> st.SearchStrategy[Any]:
    """Lists of containers with different names."""

    def made(parts: tuple[Any, ...]) -> Value:
        name, image, args, env = parts
        found: dict[str, Value] = {"name": name, "image": image}
        found |= {} if args is None else {"args": [*args]}
        return found | ({"env": [{"name": "E"}]} if env else {})

    container = each_of("abcd", PLAIN, [*[None] * len(ARGS), *ARGS], [False, True]).map(made)
    return st.lists(container, max_size=3, unique_by=lambda each: str(each["name"]))


deployments = st.builds(
    lambda fields, listed: {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "x", "labels": fields},
        "spec": {"template": {"spec": {"containers": listed}}},
    },
    st.dictionaries(names, plain, max_size=3),
    containers(),
)
foos = st.dictionaries(names, values, max_size=4).map(lambda fields: foo(**fields))
pairs = st.tuples(deployments, deployments) | st.tuples(foos, foos)
triples = st.tuples(deployments, deployments, deployments) | st.tuples(foos, foos, foos)


@given(pairs)
def test_what_one_side_left_alone_is_the_other(states: tuple[Value, Value]) -> None:
    """The short-cut walks the fields even where one side changed nothing, and loses some."""
    one, other = states
    upstream, local = merge(one, one, other), merge(one, other, one)

    assert same(plainly(upstream), other)
    assert same(plainly(local), other)
    assert upstream.conflicts == local.conflicts == ()


@given(pairs)
def test_the_same_change_on_both_sides_is_made_once(states: tuple[Value, Value]) -> None:
    """The short-cut reports a conflict where both sides agree."""
    one, other = states
    merged = merge(one, other, other)

    assert same(plainly(merged), other)
    assert merged.conflicts == ()


@given(triples)
def test_the_policies_mirror_each_other(states: tuple[Value, Value, Value]) -> None:
    """The short-cut has rules for upstream that it does not have for local."""
    origin, one, other = states
    left = merge(origin, one, other, ConflictPolicy.UPSTREAM)
    right = merge(origin, other, one, ConflictPolicy.LOCAL)

    assert same(_ordered(left.value), _ordered(right.value))
    assert len(left.conflicts) == len(right.conflicts)


@given(containers(), containers(), containers())
def test_no_element_is_half_of_one_side(
    origin: list[Value], local: list[Value], updated: list[Value]
) -> None:
    """The short-cut drops the fields that did not change from an element that comes back."""
    merged = merge(deployment(*origin), deployment(*local), deployment(*updated))
    ours, theirs = ({_name(each): each for each in side} for side in (local, updated))

    for each in _containers(merged.value):
        name = _name(each)
        sides = [side[name] for side in (ours, theirs) if name in side]
        if len(sides) == 1 and not any(told.chosen == "both" for told in merged.conflicts):
            assert each in sides


def _containers(value: Any) -> list[dict[str, Value]]:
    found: list[dict[str, Value]] = value["spec"]["template"]["spec"].get("containers", [])
    return found


def _name(container: Value) -> str:
    assert isinstance(container, dict)
    return str(container["name"])


def _ordered(value: Any) -> Value:
    """Return a value with its associative lists in the order of their names."""
    if value["kind"] != "Deployment":
        return foo(**value)
    spec: Value = {"containers": [*sorted(_containers(value), key=_name)]}
    return {**value, "spec": {"template": {"spec": spec}}}


def test_absent_is_not_null() -> None:
    """The short-cut has None for both."""
    assert repr(ABSENT) == "absent"
    assert isinstance(ABSENT, Absent)


def test_fields_that_one_side_has_together_are_left_alone() -> None:
    """The short-cut finds two sources of a value wherever they are, and tells of a conflict."""
    both: dict[str, Value] = {
        "name": "E",
        "value": "1",
        "valueFrom": {"fieldRef": {"fieldPath": "a"}},
    }
    merged = merge(
        deployment({"name": "a", "env": [{"name": "E", "value": "0"}]}),
        deployment({"name": "a", "env": [{**both, "value": "0"}]}),
        deployment({"name": "a", "env": [{"name": "E", "value": "1"}]}),
    )

    assert merged.value == deployment({"name": "a", "env": [both]})
    assert merged.conflicts == ()


@pytest.mark.parametrize(
    ("local", "joined"),
    [
        # The name is what people call it by, whatever else changed.
        ({"name": "web", "port": 81, "targetPort": 1, "appProtocol": "x"}, True),
        ({"name": "other", "port": 81, "targetPort": 1, "appProtocol": "x"}, False),
        # Half of the fields is not most of them.
        ({"name": "other", "port": 81, "targetPort": 8080}, False),
    ],
)
def test_elements_of_other_keys_are_one_if_they_resemble(
    local: dict[str, Value], *, joined: bool
) -> None:
    """The short-cut takes the only new element for the only one that has gone."""
    merged = merge(
        service({"name": "web", "port": 80, "targetPort": 8080}),
        service(local),
        service({"name": "web", "port": 80, "targetPort": 8080, "nodePort": 30000}),
    )

    changed = {**local, "nodePort": 30000}
    left: Value = {"name": "web", "port": 80, "targetPort": 8080, "nodePort": 30000}
    assert merged.value == (service(changed) if joined else service(local, left))
    assert [each.chosen for each in merged.conflicts] == ["both" if joined else "upstream"]


States = tuple[dict[str, Value], dict[str, Value], dict[str, Value]]
ADDED_AND_NULLED: States = ({}, {"a": {"x": 1}}, {"a": None})
CHANGED_AND_NULLED: States = ({"a": {"x": 1}}, {"a": {"x": 1, "y": 2}}, {"a": None})


@pytest.mark.parametrize(
    ("states", "reason"),
    [
        (ADDED_AND_NULLED, "added locally and removed upstream (null)"),
        (CHANGED_AND_NULLED, "changed locally and removed upstream (null)"),
        (({}, {"a": None}, {"a": 1}), "removed locally (null) and added upstream"),
        (({"a": 0}, {"a": None}, {"a": 1}), "removed locally (null) and changed upstream"),
    ],
)
def test_a_null_is_told_as_the_removal_that_it_is(states: States, reason: str) -> None:
    """The short-cut: a null as a field that is not there, so that an addition wins in silence."""
    origin, local, updated = (foo(**each) for each in states)
    merged = merge(origin, local, updated)
    kept = merge(origin, local, updated, ConflictPolicy.LOCAL)

    assert [each.reason for each in merged.conflicts] == [reason]
    assert merged.value == foo()
    assert [each.chosen for each in kept.conflicts] == ["local"]
    assert kept.value == (foo() if states[1]["a"] is None else local)


POD = '# {"$ref":"#/definitions/io.k8s.api.core.v1.PodSpec"}'
DEPLOYMENT = '# {"$ref":"#/definitions/io.k8s.api.apps.v1.Deployment"}'
NOTED = {
    "on the mapping": f"x: {POD}\n  containers:\n",
    "above the mapping": f"{POD}\nx:\n  containers:\n",
    "further up": f"x: {DEPLOYMENT}\n  spec:\n    template:\n      spec:\n        containers:\n",
}


@pytest.mark.parametrize("head", NOTED.values(), ids=NOTED)
def test_a_type_that_a_comment_names_is_followed(head: str) -> None:
    """The short-cut: heed comments at the list itself alone, and replace all others whole."""
    margin = " " * (len(head.splitlines()[-1]) - len(head.splitlines()[-1].lstrip()))

    def text(*containers: str) -> Document:
        lines = "".join(f"{margin}- name: {n}\n{margin}  image: {i}\n"
                        for n, _, i in (each.partition("=") for each in containers))  # fmt: skip
        return read(f"kind: X\napiVersion: example.com/v1\n{head}{lines}".encode()).documents[0]

    merged = merge_documents(text("a=a:1"), text("a=a:1", "b=b:1"), text("a=a:2"))

    assert merged.conflicts == ()
    assert merged.value == text("a=a:2", "b=b:1").value
