"""Numbers that keep their digits, from a text into values and back into another."""

import copy
import pickle
from typing import cast

import pytest

from cadlib.package.files import Entry
from cadlib.render.pipeline import render
from cadlib.yaml import Value, emit, read
from cadlib.yaml.digits import resolved, written

TEXT = """\
data:
  tag: 1.20
  mode: 0644
  list:
    - 1e3
    - 7
  quoted: "1.20"
  tagged: !!float 1
  word: yes
"""
WRITTEN = """\
data:
  tag: 1.20
  mode: 0644
  list:
  - 1e3
  - 7
  quoted: "1.20"
  tagged: 1
  word: "yes"
"""
KPTFILE = b"""apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app
pipeline:
  mutators:
    - image: one
      configPath: setters.yaml
"""
SETTERS = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: setters\n"


def test_numbers_keep_their_digits() -> None:
    """Short-cut: take the values, so that 1.20 becomes 1.2 and 0644 becomes 420."""
    document = read(TEXT.encode()).documents[0]

    found = written(document.value, document)

    assert found == document.value
    assert emit(found) == WRITTEN
    assert repr(pickle.loads(pickle.dumps(found))) == repr(copy.deepcopy(found)) == repr(found)


def test_a_number_that_was_changed_is_written_as_it_is_now() -> None:
    document = read(TEXT.encode()).documents[0]
    data: Value = {"tag": 1.3, "mode": 0o644, "new": 5}

    assert emit(written({"data": data}, document)) == "data:\n  tag: 1.3\n  mode: 0644\n  new: 5\n"


@pytest.mark.parametrize("value", ["a", None, True, 4, {"b": [1]}])
def test_what_loses_nothing_is_the_same_object(value: Value) -> None:
    document = read(emit({"a": value}).encode()).documents[0]

    assert written(value, document, ("a",)) is value
    assert written(value, None) is value


def test_an_empty_text_is_no_null() -> None:
    assert [resolved(each) for each in ("", "~", "true", "x", "12")] == ["", None, True, "x", 12]


@pytest.mark.parametrize("name", ["setters", "others"])
def test_a_configuration_from_a_file_has_the_digits_of_the_file(name: str) -> None:
    """Short-cut: those of the file only while no function changed the resource in it."""
    setters = SETTERS.replace(b"setters", name.encode()) + b"data:\n  tag: 1.20\n"

    steps = render({"Kptfile": Entry(KPTFILE), "setters.yaml": Entry(setters)})
    config = cast("dict[str, dict[str, object]]", next(steps).config)

    assert repr(config["data"]) == "{'tag': 1.20}"
