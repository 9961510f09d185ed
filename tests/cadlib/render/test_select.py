"""Selectors and exclusions, and putting what a function made of some resources back among all."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from cadlib.kptfile.reader import PipelineFunction, Selector
from cadlib.package.source import Resource
from cadlib.render.selectors import fits, merged, selected, selects
from cadlib.yaml import Value

THING: Value = {
    "apiVersion": "x.io/v1",
    "kind": "Thing",
    "metadata": {
        "name": "a",
        "namespace": "n",
        "labels": {"l": "1", "m": "2"},
        "annotations": {"o": "3"},
    },
}


def function(*selectors: Selector, exclude: tuple[Selector, ...] = ()) -> PipelineFunction:
    """Make a function with these selectors."""
    return PipelineFunction(image="f", selectors=selectors, exclude=exclude)


def test_all_fields_of_a_selector_must_fit() -> None:
    """The short-cut: one that fits is enough, or a field that the resource lacks fits."""
    assert fits(Selector(kind="Thing", name="a", namespace="n", api_version="x.io/v1"), THING)
    assert not fits(Selector(kind="Thing", name="b"), THING)
    assert not fits(Selector(namespace="n"), {"kind": "Thing", "metadata": {"name": "a"}})
    assert not fits(Selector(kind="Th.*"), THING)


def test_labels_and_annotations_are_a_subset() -> None:
    """The short-cut: compare the whole mapping."""
    assert fits(Selector(labels={"l": "1"}, annotations={"o": "3"}), THING)
    assert not fits(Selector(labels={"l": "1", "x": "1"}), THING)
    assert not fits(Selector(annotations={"o": ""}), THING)


def test_any_selector_and_then_no_exclusion() -> None:
    """The short-cut: all selectors must fit."""
    assert selected(function(Selector(kind="No"), Selector(kind="Thing")), THING)
    assert not selected(function(Selector(kind="No")), THING)
    assert not selected(function(Selector(kind="Thing"), exclude=(Selector(name="a"),)), THING)
    assert selected(function(exclude=(Selector(name="b"),)), THING)


def test_an_empty_selector_takes_all_and_an_empty_exclusion_none() -> None:
    """The short-cut: an exclusion is a selector turned round, so an empty one leaves nothing."""
    assert selected(function(Selector()), THING)
    assert selected(function(exclude=(Selector(),)), THING)
    assert not selects(function())
    assert selects(function(exclude=(Selector(),)))


def resource(name: str) -> Resource:
    """Make a resource; its name tells it apart."""
    return Resource(value=name, comments=None, path=f"{name}.yaml", index=0, origin=None)


@given(st.data())
def test_what_was_not_given_keeps_its_place(data: st.DataObject) -> None:
    """The short-cut: append what came back."""
    before = [resource(name) for name in "abcdef"]
    chosen = data.draw(st.sets(st.sampled_from(range(6))))
    sent = [each for n, each in enumerate(before) if n in chosen]
    dropped = data.draw(st.sets(st.sampled_from(range(6))))
    kept = [each for n, each in enumerate(before) if n in chosen and n not in dropped]
    after = data.draw(st.permutations(kept))
    returned = [replace(each, value=f"{each.value}!") for each in after]

    found = merged(before, sent, [*returned, resource("new")], [*after, None])

    expected = [
        f"{each.value}!" if n in chosen else each.value
        for n, each in enumerate(before)
        if n not in chosen or n not in dropped
    ]
    assert [each.value for each in found] == [*expected, "new"]
