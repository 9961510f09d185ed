"""What functions found out about resources that come again is what they would find out anew."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cadlib.stream import resourcelist
from cadlib.stream.resourcelist import Item
from cadlib.yaml import read
from fnrunner.builtin import answered
from fnrunner.builtin.answered import AnswerCache, answers
from fnrunner.builtin.lookup import get
from fnrunner.builtin.memory import ItemCache
from fnrunner.builtin.work import evaluate

POOL = [
    "{apiVersion: v1, kind: Namespace, metadata: {name: a}}",
    "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}",
    "{apiVersion: v1, kind: Service, metadata: {name: b, namespace: z}, spec: {ports: x}}",
    "{apiVersion: v1, kind: Service, metadata: {name: c, labels: text}}",
    "{apiVersion: v1, kind: List, items: [{apiVersion: e.com/v1, kind: Foo, metadata: {name: l}}]}",
    "{apiVersion: e.com/v1, kind: Foo, metadata: {name: a, namespace: a}, spec: {n: 1}}",
    "{apiVersion: e.com/v1, kind: Foo, metadata: {name: b}, spec: {n: x}}",
    """{apiVersion: v1, kind: ConfigMap, metadata: {name: d, namespace: a, annotations:
      {config.kubernetes.io/depends-on: /namespaces/a/Service/a}}}""",
    """{apiVersion: v1, kind: ConfigMap, metadata: {name: l, annotations:
      {config.kubernetes.io/local-config: "true"}}}""",
    """{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
      metadata: {name: foos.e.com}, spec: {group: e.com, scope: Namespaced,
      names: {plural: foos, kind: Foo}, versions: [{name: v1, served: true, storage: true, schema:
      {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties:
      {n: {type: integer}}}}}}}]}}""",
]
CONFIGS = {
    "kubeconform": ["strict: 'true'", "ignore_missing_schemas: 'false'", "skip_kinds: Foo"],
    "set-labels": ["a: '1'", "a: '2'"],
    "set-namespace": ["namespace: a", "namespace: c", "{namespace: c, namespaceMatcher: a}"],
}


def listed(chosen: list[int], config: str) -> bytes:
    items = [
        Item(read(POOL[n].encode()).documents[0].value, path=f"f{n}.yaml", index=0) for n in chosen
    ]
    data = config.strip("{}")
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {{{data}}}\n"
    return resourcelist.encode(items, read(text.encode()).documents[0].value)


@pytest.mark.parametrize("name", CONFIGS)
@settings(max_examples=30)
@example(rows=[([6], 0), ([6, 9], 0)])  # its definition came
@given(
    rows=st.lists(
        st.tuples(st.lists(st.integers(0, len(POOL) - 1), max_size=6), st.integers(0, 2)),
        min_size=2,
        max_size=4,
    )
)
def test_a_row_of_calls_is_answered_as_each_alone(
    name: str, rows: list[tuple[list[int], int]]
) -> None:
    """The short-cut goes by the resource alone: a definition that came, or another configuration,
    changes what is to be said of it."""
    sent = [listed(chosen, CONFIGS[name][which % len(CONFIGS[name])]) for chosen, which in rows]
    answers.cache_clear()
    memory = ItemCache()
    together = [evaluate(name, get(name), each, memory) for each in sent]
    apart = []
    for each in sent:
        answers.cache_clear()
        apart.append(evaluate(name, get(name), each, ItemCache()))

    assert together == apart


def test_what_is_kept_is_bounded_and_belongs_to_one_object() -> None:
    """The short-cut keeps by id alone: a new object may have that of one that is gone."""
    found: AnswerCache[int] = AnswerCache()
    for number in range(3 * answered.MOST):
        found.keep([number], number)
    one: list[int] = []
    found.keep(one, 7)

    assert found.get(one) == 7
    assert found.get([]) is None
    assert len(found) <= answered.MOST
