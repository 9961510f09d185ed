"""Setters and search-replace on packages on disk, as a user calls them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli.fn.group import fn
from cadlib.stream.resourcelist import ResourceList, decode, encode
from cadlib.yaml import Value
from fnrunner.builtin import lookup, resource
from fnrunner.builtin.memory import ItemCache
from fnrunner.builtin.work import evaluate
from tests.fnrunner.builtin.catalog.texts import items

PIPELINE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: shop # kpt-set: ${name}
pipeline:
  mutators:
  - image: apply-setters:v0.2
    configPath: setters.yaml
  - image: search-replace:v0.2
    configMap:
      by-path: spec.**.image
      by-value-regex: ^nginx:(.*)$
      put-value: mirror.example/nginx:${1}
"""
SETTERS = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: setters
  annotations: {config.kubernetes.io/local-config: "true"}
data:
  name: market
  version: "1.20"
  zones: "[a, b]"
"""
THING = """\
# The one.
apiVersion: apps/v1
kind: Deployment
metadata: # kpt-merge: x/shop
  name: shop-web # kpt-set: ${name}-web
  labels: {v: "1.19"} # of old
spec:
  version: '1.19' # kpt-set: ${version}
  about: 1.19 # kpt-set: ${version}

  zones: [z] # kpt-set: ${zones}
  template:
    spec:
      containers:
      - name: a # the first
        image: "nginx:1"
"""


@contextmanager
def changes(folder: Path) -> Iterator[dict[str, list[tuple[str, str]]]]:
    """Give the lines that were changed, old and new, by file, once the block has ended."""
    found: dict[str, list[tuple[str, str]]] = {}
    before = {each.name: each.read_text().split("\n") for each in folder.iterdir()}
    yield found
    for name, old in before.items():
        new = (folder / name).read_text().split("\n")
        assert len(new) == len(old)
        lines = [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]
        if lines:
            found[name] = lines


def package(folder: Path) -> Path:
    (folder / "Kptfile").write_text(PIPELINE)
    (folder / "setters.yaml").write_text(SETTERS)
    (folder / "thing.yaml").write_text(THING)
    return folder


def test_a_rendering_changes_the_lines_that_setters_name_and_no_other(tmp_path: Path) -> None:
    """Short-cut: write the resources anew, and lose quotes, brackets and blank lines."""
    with changes(package(tmp_path)) as found:
        result = CliRunner().invoke(fn, ["render", str(tmp_path)])
        assert result.exit_code == 0, result.stderr

    assert found == {
        "Kptfile": [("  name: shop # kpt-set: ${name}", "  name: market # kpt-set: ${name}")],
        "thing.yaml": [
            (
                "  name: shop-web # kpt-set: ${name}-web",
                "  name: market-web # kpt-set: ${name}-web",
            ),
            ("  version: '1.19' # kpt-set: ${version}", "  version: '1.20' # kpt-set: ${version}"),
            ("  about: 1.19 # kpt-set: ${version}", "  about: 1.20 # kpt-set: ${version}"),
            ("  zones: [z] # kpt-set: ${zones}", "  zones: [a, b] # kpt-set: ${zones}"),
            ('        image: "nginx:1"', '        image: "mirror.example/nginx:1"'),
        ],
    }


def test_a_second_rendering_changes_nothing(tmp_path: Path) -> None:
    CliRunner().invoke(fn, ["render", str(package(tmp_path))])

    with changes(tmp_path) as found:
        CliRunner().invoke(fn, ["render", str(tmp_path)])

    assert found == {}


def test_behind_the_service_the_answer_is_the_same() -> None:
    """Short-cut: send values, and put a number where text in quotes stood."""
    text = THING.replace("'1.19'", '"old"').replace("about: 1.19", "about: old")
    config: Value = {"data": {"name": "market", "version": "1.20", "zones": "[a]"}}
    given = items(text)
    here = lookup.get("apply-setters").run(ResourceList(given, config))

    request = encode(given, config)
    there = evaluate("apply-setters", lookup.get("apply-setters"), request, ItemCache())

    answer = decode(there.resources)
    assert [item.value for item in answer.items] == [item.value for item in here.items]
    assert [item.comments for item in answer.items] == [item.comments for item in here.items]
    assert resource.field(answer.items[0].value, "spec", "version") == "1.20"
    assert resource.field(answer.items[0].value, "spec", "about") == 1.2
    assert list(answer.results) == list(here.results)


FAILED: dict[str, tuple[str, Value, str]] = {
    "apply-setters": (
        "a: b # kpt-set: ${x}-${y}\nc: d # kpt-set: ${x}-${y}",
        {"x": "1"},
        "values for setters [${y}] must be provided",
    ),
    "create-setters": ("a: b", {"x": "c"}, "no matches for the input list of setters"),
    "list-setters": (
        "pipeline: {mutators: {}}",
        None,
        "unable to read Kptfile: cannot unmarshal !!map into []v1.Function",
    ),
    "search-replace": (
        "a: b",
        {"by": "b"},
        'invalid matcher "by", must be one of ["by-value" "by-file-path" "by-value-regex"'
        ' "by-path" "put-value" "put-comment"]',
    ),
    "set-project-id": (
        "pipeline: {mutators: [{image: apply-setters}]}",
        {"project-id": "x"},
        "failed to set project-id setter: error updating Kptfile: unable to find `ConfigMap` or"
        " `configPath` as the `functionConfig` for apply-setters",
    ),
    "upsert-resource": (
        "a: b",
        None,
        "failed to upsert resource: the configuration must be a resource with a kind and a name",
    ),
}


@pytest.mark.parametrize(("name", "case"), FAILED.items(), ids=FAILED)
def test_what_went_wrong_stands_in_the_log(name: str, case: tuple[str, Value, str]) -> None:
    """Short-cut: say what functions of the newer library say, that there was a failure."""
    text, data, wanted = case
    text = f"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n{text}\n"

    answer = lookup.get(name).run(ResourceList(items(text, "Kptfile"), {"data": data}))

    assert (answer.failed, answer.log) == (True, wanted)


def test_behind_the_service_numbers_of_the_configuration_keep_their_digits() -> None:
    """Short-cut: only for functions that go by the text of the resources."""
    request = encode(items("apiVersion: v1\nkind: A\nmetadata: {name: a}\n"))
    request += b"functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  data:\n    tag: 1.20\n"

    name = "set-annotations"
    answer = decode(evaluate(name, lookup.get(name), request, ItemCache()).resources)

    assert resource.annotation(answer.items[0].value, "tag") == "1.20"


def test_setters_are_listed_from_the_pipeline_and_the_fields(tmp_path: Path) -> None:
    result = CliRunner().invoke(fn, ["eval", str(package(tmp_path)), "-i", "list-setters"])

    said = [line.partition(": ")[2] for line in result.stderr.split("\n") if "Name: " in line]
    assert said == [
        "Name: name, Value: market, Type: str, Count: 2",
        "Name: version, Value: 1.20, Type: float, Count: 2",
        "Name: zones, Value: [a, b], Type: array, Count: 1",
    ]


def test_setters_are_created_in_brackets_too(tmp_path: Path) -> None:
    args = ["eval", str(package(tmp_path)), "-i", "create-setters", "--match-kind", "Deployment"]

    result = CliRunner().invoke(fn, [*args, "--", "old=1.19", "zone=[z]"])

    assert result.exit_code == 0, result.stderr
    text = (tmp_path / "thing.yaml").read_text()
    assert '  labels: # of old\n    v: "1.19" # kpt-set: ${old}\n' in text
    assert "  zones: [z] # kpt-set: ${zone}\n" in text
    assert (tmp_path / "setters.yaml").read_text() == SETTERS
