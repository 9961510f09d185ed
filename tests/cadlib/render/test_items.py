"""Rendering with a runner in this process: resources go and come as values, never as text."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from unittest import mock

from cadlib.package.files import Entry
from cadlib.render.pipeline import CallOutcome, FunctionCall, Rendered, render
from cadlib.stream.resourcelist import Item

KPTFILE = b"""apiVersion: kpt.dev/v1
kind: Kptfile
metadata: {name: app}
pipeline:
  mutators: [{image: first, configMap: {a: b}}, {image: second}]
  validators: [{image: third}]
"""
THINGS = b"""kind: Thing   # a kind
apiVersion: x.io/v1
metadata: {name: one}
size:   1  # of one
---
kind: Thing
apiVersion: x.io/v1
metadata: {name: two}
"""

Behaviour = Callable[[FunctionCall], Sequence[Item]]


def drive(behaviour: Behaviour) -> tuple[Rendered, list[FunctionCall]]:
    """Render with a function that is given calls and returns items."""
    steps = render({"Kptfile": Entry(KPTFILE), "a.yaml": Entry(THINGS)})
    calls = []
    try:
        call = next(steps)
        while True:
            calls.append(call)
            call = steps.send(CallOutcome(items=behaviour(call)))
    except StopIteration as done:
        rendered: Rendered = done.value
        return rendered, calls


def test_nothing_is_written_as_text_for_a_runner_in_this_process() -> None:
    """The short-cut: a list encoded for each call, asked for or not."""
    with mock.patch("cadlib.render.calls.entries", side_effect=AssertionError("encoded")):
        rendered, calls = drive(lambda call: call.items)

    assert (rendered.changes, rendered.failed, rendered.calls) == ({}, False, 3)
    assert calls[0].config == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "function-input"},
        "data": {"a": "b"},
    }
    assert calls[0].resources is calls[0].resources
    assert calls[0].resources.startswith(b"apiVersion: config.kubernetes.io/v1\nkind: Resource")


def test_what_did_not_change_is_given_to_the_next_function_as_it_is() -> None:
    """The short-cuts: items made anew for each call; or the first ones given to all of them."""

    def grow(call: FunctionCall) -> Sequence[Item]:
        if not call.image.endswith("second:latest"):
            return call.items
        kptfile, one, two = call.items
        assert isinstance(one.value, dict)
        return [kptfile, replace(one, value={**one.value, "size": 2}), two]

    _, (first, second, third) = drive(grow)

    assert second.given is first.given
    assert [new is old for new, old in zip(third.items, second.items, strict=True)] == [
        True,
        False,
        True,
    ]
    assert b"size: 2" in third.resources


def test_items_that_came_back_as_new_objects_are_compared_by_value() -> None:
    """The short-cut: take every new object for a change and write its file."""
    rendered, _ = drive(lambda call: [replace(item) for item in call.items])

    assert rendered.changes == {}


def test_what_was_changed_dropped_and_added_reaches_the_files() -> None:
    """The short-cut: give each item that comes back the place of the one sent at its position."""

    def grow(call: FunctionCall) -> Sequence[Item]:
        if not call.image.endswith("first:latest"):
            return call.items
        kptfile, one, _two = call.items
        assert isinstance(one.value, dict)
        made: Item = Item({"apiVersion": "v1", "kind": "Made", "metadata": {"name": "m"}})
        return [made, replace(one, value={**one.value, "size": 2}), kptfile]

    rendered, calls = drive(grow)

    assert rendered.changes == {
        "a.yaml": THINGS.split(b"---")[0].replace(b"1  #", b"2  #"),
        "made_m.yaml": b"apiVersion: v1\nkind: Made\nmetadata:\n  name: m\n",
    }
    assert [item.path for item in calls[1].items] == ["made_m.yaml", "a.yaml", "Kptfile"]


def test_what_a_validator_returns_is_not_looked_at() -> None:
    """The short-cut: treat all functions alike."""
    rendered, _ = drive(lambda call: [] if call.image.endswith("third:latest") else call.items)

    assert (rendered.changes, rendered.failed) == ({}, False)


def test_the_rules_hold_for_values_too() -> None:
    """The short-cut: trust what did not come over the wire."""
    rendered, _ = drive(lambda call: [*call.items, call.items[-1]])

    assert rendered.failed
    assert 'path "a.yaml" and index "1" already exists' in str(rendered.findings[0])
