"""Results as text: whatever a message holds, a YAML reader gets it back."""

from hypothesis import given
from hypothesis import strategies as st

from cadlib.stream import resourcelist
from fnrunner.contract import results
from tests.fnrunner.calls import items

TEXT = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["\U0001f600", "\x85", "\u2028", "\ufeff", "\x7f", "a: b # c", "- x", "\t", "'\"", "\x00"]
)


@given(TEXT, TEXT)
def test_any_text_survives(message: str, value: str) -> None:
    """Short-cut: JSON as Python writes it, whose surrogate pairs YAML refuses."""
    result = {"message": message, "field": {"path": "a", "currentValue": value}}
    listed = results.resource_list([result, result])
    assert list(resourcelist.decode(listed).results) == [result, result]
    assert len(listed) == len(results.resource_list([result])) + results.size(result)


def test_results_stand_beside_the_items() -> None:
    given_items = items("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    encoded = results.added(resourcelist.encode(given_items, None), [{"message": "x"}])
    listed = resourcelist.decode(encoded)
    assert [item.value for item in listed.items] == [item.value for item in given_items]
    assert list(listed.results) == [{"message": "x"}]


def test_no_results_add_nothing() -> None:
    assert results.added(b"kind: ResourceList\n", []) == b"kind: ResourceList\n"


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert b"\\ufffd" in results.resource_list([{"message": "\ud800"}])
