"""Corpus functions/upsert-resource: its kinds of unit cases."""

from collections.abc import Mapping
from dataclasses import replace

from cadlib.stream import resourcelist
from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin.catalog import upsert_resource
from tests.cases.compare import data_difference, documents
from tests.cases.model import Case, Handler, Verdict, checked

# Written beside today's annotations, for older functions.
_OLDER = ("config.kubernetes.io/path", "config.kubernetes.io/index")


def _values(text: str) -> list[Value]:
    return [each.value for each in documents(text)]


def _run(config: Value, items: tuple[Item, ...]) -> tuple[Item, ...]:
    found = upsert_resource.run(ResourceList(items, config))
    if found.failed:
        raise ValueError(str(found.results))
    return tuple(found.items)


def transform(case: Case) -> Verdict:
    """Run it on one file; without positions in files, as the case has them."""
    given = [Item(value, path=case.data["input_path"]) for value in _values(case.data["input"])]
    (config,) = _values(case.data["function_config"])
    items = _run(config, tuple(given))
    return checked(
        data_difference(
            _values(case.data["expected"]),
            [resourcelist.placed(replace(item, index=None)) for item in items],
        )
    )


def is_same_resource(case: Case) -> Verdict:
    """Whether the first takes the place of the second, or stands beside it."""
    (given,), (there,) = (_values(case.data[key]) for key in ("resource1", "resource2"))
    items = _run(given, (resourcelist.bare(there),))
    return checked(data_difference(case.data["expected"], len(items) == 1))


def _with(annotations: Value) -> Value:
    metadata: Value = {"name": "a", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def combine_annotations(case: Case) -> Verdict:
    """The annotations of a resource that takes the place of another."""
    given, there = (_with(case.data[key]) for key in ("input_annotations", "matched_annotations"))
    (item,) = _run(given, (resourcelist.bare(there),))
    placed = resourcelist.placed(item)
    assert isinstance(placed, dict)
    assert isinstance(placed["metadata"], dict)
    assert isinstance(placed["metadata"]["annotations"], dict)
    found = placed["metadata"]["annotations"].items()
    return checked(
        data_difference(
            case.data["expected"], {key: each for key, each in found if key not in _OLDER}
        )
    )


KINDS: Mapping[str, Handler] = {
    "combine-annotations": combine_annotations,
    "is-same-resource": is_same_resource,
    "transform": transform,
}
