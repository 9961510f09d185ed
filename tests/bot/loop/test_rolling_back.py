"""Which revision the dashboard offers to go back to."""

from collections.abc import Set as AbstractSet

import pytest

from bot.loop.rolling_back import usable_before
from lifecycle.facts.overview import ListedPackage


@pytest.mark.parametrize(
    ("deprecated", "gone", "expected"),
    [
        ({3}, set(), [2, 1]),
        ({3}, {2}, [1]),
        ({3, 1}, {2}, []),
        (set(), {1}, [2]),
    ],
)
def test_what_the_ledger_speaks_against_is_not_offered(
    deprecated: AbstractSet[int], gone: AbstractSet[int], expected: list[int]
) -> None:
    """Fails if deprecated ones alone are left out: a withdrawn one has its tag, and is refused."""
    package = ListedPackage(
        package="net",
        revision=3,
        deprecated=dict.fromkeys(deprecated, "old"),
        withdrawn=len(gone),
        gone=frozenset(gone),
    )
    assert usable_before(package, {1, 2, 3, 4}) == expected
