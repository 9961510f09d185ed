"""remove-local-config-resources: what goes, what stays, and what it says."""

import pytest

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin.catalog import remove_local_config_resources
from tests.fnrunner.calls import call

LOCAL = "config.kubernetes.io/local-config"


def item(name: str, said: Value, path: str = "a.yaml", kind: str = "X") -> Item:
    metadata: Value = {"name": name, "annotations": {LOCAL: said}}
    return Item({"apiVersion": "v1", "kind": kind, "metadata": metadata}, path=path, index=3)


def test_what_is_local_goes_and_is_named() -> None:
    """Short-cut: drop whatever has the annotation."""
    given = (item("a", "true"), item("b", "false"), item("c", "TRUE", "b.yaml"), item("d", ""))
    verdict = remove_local_config_resources.run(ResourceList(given))
    assert verdict.items == (given[1], given[3])
    assert verdict.results == (
        {"message": "Number of resources pruned: 2", "severity": "info"},
        {"message": "Resource name: [a]", "severity": "info", "file": {"path": "a.yaml"}},
        {"message": "Resource name: [c]", "severity": "info", "file": {"path": "b.yaml"}},
    )


@pytest.mark.parametrize("said", ["yes", "1", "false", "", False, 1, None])
def test_only_one_word_means_local(said: Value) -> None:
    given = (item("a", said),)
    verdict = remove_local_config_resources.run(ResourceList(given))
    assert verdict.items == given
    assert verdict.results == (
        {
            "message": "Found no resources to prune with the local config annotation",
            "severity": "warning",
        },
    )


def test_the_word_needs_no_quotes() -> None:
    """Short-cut: look at texts only, and apply what has `local-config: true`."""
    verdict = remove_local_config_resources.run(ResourceList((item("a", True),)))
    assert verdict.items == ()


def test_the_kptfile_stays() -> None:
    """Short-cut: drop it like any other, and with it the package."""
    given = (item("pkg", "true", "sub/Kptfile", "Kptfile"), item("a", "true"))
    verdict = remove_local_config_resources.run(ResourceList(given))
    assert verdict.items == given[:1]


def test_resources_without_annotations_stay() -> None:
    answer = call(remove_local_config_resources.run, "kind: X\nmetadata: text", None)
    assert len(answer.values) == 1
    assert not answer.failed
