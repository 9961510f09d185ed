"""Elements of lists, matched by their merge keys."""

import pytest

from cadlib.merge.elements import merge_keys, pairs, shown
from cadlib.merge.schema import UNKNOWN, Schema
from cadlib.yaml import Value

PORTS = ("port", "protocol")

PAIRS: dict[str, tuple[list[Value], list[Value], dict[int, int]]] = {
    "texts and numbers of one look are one key": ([{"port": 80}], [{"port": "80"}], {0: 0}),
    "both keys count": (
        [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
        [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}],
        {0: 1, 1: 0},
    ),
    "a missing protocol is any one": ([{"port": 53}], [{"port": 53, "protocol": "UDP"}], {0: 0}),
    "a missing protocol is rather TCP": (
        [{"port": 53}],
        [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}],
        {0: 1},
    ),
    "a missing protocol is not guessed": (
        [{"port": 53}],
        [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "SCTP"}],
        {},
    ),
    "what fits exactly is not given away": (
        [{"port": 53}, {"port": 53, "protocol": "TCP"}],
        [{"port": 53, "protocol": "TCP"}],
        {1: 0},
    ),
}


@pytest.mark.parametrize(("left", "right", "expected"), PAIRS.values(), ids=PAIRS)
def test_pairs(left: list[Value], right: list[Value], expected: dict[int, int]) -> None:
    """The short-cut compares the keys as they are."""
    assert pairs(left, right, PORTS) == expected


def test_members_of_a_set_are_themselves() -> None:
    """The short-cut finds no key, and takes all for one."""
    assert pairs(["a", 1, "b"], ["b", "1", "a"], ()) == {0: 2, 2: 0}


WHOLE_LISTS: dict[str, list[Value]] = {
    "an element lacks the first key": [{"protocol": "TCP"}],
    "two have the same keys": [{"port": 80}, {"port": 80}],
    "an element is no mapping": [{"port": 80}, "x"],
    "a key is a list": [{"port": [80]}],
}


@pytest.mark.parametrize("items", WHOLE_LISTS.values(), ids=WHOLE_LISTS)
def test_a_list_that_its_keys_do_not_tell_apart_is_whole(items: list[Value]) -> None:
    """The short-cut drops the second of two elements with one key."""
    schema = Schema(keys=PORTS)

    assert merge_keys(schema, [items, []]) is None
    assert merge_keys(schema, [[{"port": 80}], []]) == PORTS


def test_names_are_keys_only_where_it_is_asked_for() -> None:
    """The short-cut infers everywhere."""
    named: list[Value] = [{"name": "a"}, {"name": "b"}]

    assert merge_keys(UNKNOWN, [named]) is None
    assert merge_keys(UNKNOWN, [named], infer=True) == ("name",)
    assert merge_keys(UNKNOWN, [named, [{"image": "x"}]], infer=True) is None


def test_plain_values_are_a_set_where_it_is_said() -> None:
    """The short-cut takes mappings for members of a set."""
    assert merge_keys(Schema(keys=()), [["a"], ["b"]]) == ()
    assert merge_keys(Schema(keys=()), [["a"], [{"b": 1}]]) is None


def test_an_element_is_shown_by_the_keys_it_has() -> None:
    """The short-cut shows what is not there."""
    assert shown({"port": 80, "name": "web"}, PORTS) == "port=80"
