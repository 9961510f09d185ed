"""Several choices of Hypothesis in one draw: each draw takes as long as what is tested."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

_EVEN = 1 << 24
"""From as many numbers Hypothesis draws small ones more often: the last choices would be few."""


def each_of(*choices: Sequence[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    """One of each of these."""
    count = prod(map(len, choices))
    assert count < _EVEN, f"{count}: draw them in two"

    def chosen(number: int) -> tuple[Any, ...]:
        found = []
        for each in choices:
            number, place = divmod(number, len(each))
            found.append(each[place])
        return tuple(found)

    return st.integers(0, count - 1).map(chosen)


def built(kind: Callable[..., T], **choices: Sequence[Any]) -> st.SearchStrategy[T]:
    """What a call makes of one of each of these."""
    return each_of(*choices.values()).map(
        lambda values: kind(**dict(zip(choices, values, strict=True)))
    )
