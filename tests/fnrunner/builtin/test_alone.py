"""Functions that say they treat each resource alone do."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin.lookup import get, names
from tests.fnrunner.calls import values

CONFIGS: dict[str, Value] = {
    name: next(iter(values(get(name).about.example)), None)
    for name in names()
    if get(name).about.alone
}
KINDS = [("v1", "Service"), ("apps/v1", "Deployment"), ("v1", "ConfigMap"), ("batch/v1", "CronJob")]


@st.composite
def resources(draw: st.DrawFn) -> Item:
    version, kind = draw(st.sampled_from(KINDS))
    number = draw(st.integers(0, 99))
    metadata: dict[str, Value] = {"name": f"n{number}"}
    if draw(st.booleans()):
        choices: list[Value] = [{"a": "x"}, {"a": "b"}, None, "text"]
        metadata["labels"] = draw(st.sampled_from(choices))
    if draw(st.booleans()):
        metadata["annotations"] = {"config.kubernetes.io/local-config": "true"}
    value: Value = {"apiVersion": version, "kind": kind, "metadata": metadata}
    return Item(value, path=f"f{number}.yaml", index=draw(st.integers(0, 3)))


@pytest.mark.parametrize("name", sorted(CONFIGS))
@given(items=st.lists(resources(), max_size=6), cuts=st.sets(st.integers(0, 6)))
def test_pieces_put_together_are_what_the_whole_gives(
    name: str, items: list[Item], cuts: set[int]
) -> None:
    """The short-cut adds up the results of the pieces: "set 3 labels in total", many times."""
    function, config = get(name), CONFIGS[name]
    whole = function.run(ResourceList(tuple(items), config))
    begun = function.begin(config)
    bounds = sorted({0, len(items), *(cut for cut in cuts if cut < len(items))})
    pieces = [items[start:end] for start, end in pairwise(bounds)]
    done = [[begun.each(item) for item in piece] for piece in pieces]

    results, failed = begun.total([note for piece in done for _, note in piece])

    assert (results, failed) == (whole.results, whole.failed)
    if not failed:
        assert [item for piece in done for item, _ in piece] == list(whole.items)
