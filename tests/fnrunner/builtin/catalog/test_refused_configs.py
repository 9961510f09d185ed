"""A configuration that a builtin function refuses: it fails, says why, and changes nothing."""

from collections.abc import Iterator, Mapping

import pytest

from cadlib.yaml import Value
from fnrunner.builtin.lookup import get, names
from tests.fnrunner.calls import call_items, items

PACKAGE = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: old
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "web:1"}] # kpt-set: ${list}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: kptfile.kpt.dev
data:
  name: shop
"""

Config = Mapping[str, Value]


def _data(**data: Value) -> Config:
    texts = {key.replace("_", "-"): value for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": texts}


def _own(kind: str, **fields: Value) -> Config:
    head: Config = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": kind, "metadata": {"name": "c"}}
    return {**head, **fields}


ANOTHER: Config = {
    "apiVersion": "x.io/v1",
    "kind": "X",
    "metadata": {"name": "c"},
    "spec": {"a": "b"},
}
LIST: Config = {**_data(), "data": ["a"]}
TEXT: Config = {**_data(), "data": "a"}

REFUSED: Mapping[str, tuple[Config | None, ...]] = {
    "apply-replacements": (
        None,
        ANOTHER,
        _data(a="b"),
        _own("ApplyReplacements", replacements="a"),
        _own("ApplyReplacements", replacements=[{"source": {"kind": "X"}}]),
        _own("ApplyReplacements", replacements=[{"source": {"kind": "X"}, "targets": [{}]}]),
    ),
    "apply-setters": (LIST, TEXT, _data(a=["b"]), _data(a={"b": "c"})),
    "create-setters": (None, LIST, TEXT, _data(), _data(a={"b": "c"})),
    "delete-annotations": (None, ANOTHER, LIST, TEXT, _data(a="b"), _data(annotationKeys="")),
    "ensure-name-substring": (
        None,
        ANOTHER,
        LIST,
        _data(),
        _data(prepend="a", append="b"),
        _data(prepend=["a"]),
        _own("EnsureNameSubstring"),
        _own("EnsureNameSubstring", substring="a", editMode="middle"),
        _own("EnsureNameSubstring", substring="a", additionalNameFields="b"),
    ),
    "kubeconform": (LIST, TEXT, _data(nosuchkey="a"), _data(strict=["a"]), ANOTHER),
    "search-replace": (LIST, TEXT, {**ANOTHER, "data": {"a": "b"}}, _data(by_value=["a"])),
    "set-annotations": (None, ANOTHER, LIST, TEXT, _data(), _own("SetAnnotations", annotations=[])),
    "set-enforcement-action": (None, ANOTHER, LIST, _data(), _data(enforcementAction="no")),
    "set-image": (None, ANOTHER, LIST, _data(a="b"), _data(name="web"), _data(newTag="2")),
    "set-labels": (None, ANOTHER, LIST, TEXT, _data(a=["b"]), _own("SetLabels", labels=["a"])),
    "set-name-prefix": (ANOTHER, LIST, TEXT, _data(prefix=["a"]), _data(prefix="")),
    "set-namespace": (
        None,
        ANOTHER,
        LIST,
        TEXT,
        _data(),
        _data(namespace=""),
        _data(namespace=["a"]),
        _data(namespace="new", namespaceMatcher=7),
        _own("SetNamespace"),
        _own("SetNamespace", namespace={"a": "b"}),
    ),
    "set-project-id": (None, ANOTHER, LIST, _data(), _data(project_id=["a"])),
    "starlark": (
        None,
        ANOTHER,
        LIST,
        _data(),
        _data(source=["a"]),
        _data(source="def"),
        _own("StarlarkRun"),
        _own("StarlarkRun", source=7),
    ),
    "upsert-resource": (
        None,
        {"kind": "X"},
        {"apiVersion": "v1", "kind": "List", "items": "a"},
        {"apiVersion": "v1", "kind": "List", "items": [{"kind": "X"}]},
    ),
}

WITHOUT = frozenset(
    (
        "drop-comments",
        "enable-gcp-services",
        "fix",
        "format",
        "gatekeeper",
        "gen-pkg-context",
        "generate-folders",
        "list-setters",
        "no-op",
        "remove-local-config-resources",
    )
)
"""Functions that take no configuration, so that there is none to refuse."""


def test_every_function_is_judged() -> None:
    assert {*REFUSED, *WITHOUT} == {*names()}
    assert not REFUSED.keys() & WITHOUT


def _rows() -> Iterator[tuple[str, Config | None]]:
    return ((name, config) for name, configs in REFUSED.items() for config in configs)


@pytest.mark.parametrize(("name", "config"), list(_rows()), ids=str)
def test_a_refused_configuration_is_a_failure(name: str, config: Config | None) -> None:
    """The short-cut: an error among the results, exit 0, and the pipeline goes on without it."""
    given = items(PACKAGE)

    answer = call_items(get(name).run, given, None if config is None else dict(config))

    assert answer.failed, answer.messages
    assert answer.values == tuple(each.value for each in given)
    assert answer.log


def _odd() -> Iterator[Value]:
    """Yield what somebody may write as a configuration, a field of each type in each place."""
    odd: tuple[Value, ...] = (None, "", "a", 7, True, 1.5, [], ["a"], {}, {"a": "b"}, {"a": ["b"]})
    yield from odd
    for value in odd:
        yield {**_data(), "data": value}
        yield {**_data(), "metadata": value, "data": {"a": "b"}}
        yield {**_data(a="b"), "kind": value}
        yield {**_data(a="b"), "apiVersion": value}
        for key in ("namespace", "by-value", "name", "source", "prefix", "enforcementAction"):
            yield {**_data(), "data": {key: value}}


@pytest.mark.parametrize("name", [each for each in names() if each not in ("gatekeeper",)])
def test_errors_and_failures_go_together(name: str) -> None:
    """The short-cut: a table of the refusals that somebody thought of."""
    given = items(PACKAGE)
    before = tuple(each.value for each in given)
    for config in _odd():
        answer = call_items(get(name).run, given, config)
        errors = any(each.startswith("error: ") for each in answer.messages)
        assert answer.failed or not errors, config
        assert not answer.failed or answer.values == before, config
