"""What the targets of sets choose, and how much that may take."""

import pytest

from lifecycle.variants import resolution
from lifecycle.variants.objects import KubeObjectIndex
from lifecycle.variants.reading import read
from lifecycle.variants.resolution import Resolution, ResolutionContext, resolve
from tests.lifecycle.variants.test_resolution import SET, UP, repositories


def test_selectors_are_held_against_no_more_objects_than_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Short-cut refused: what is chosen is bounded, and a selector that chooses nothing is free.

    20,000 targets over 37,000 objects took minutes, for a stranger's pull request too.
    """
    table = repositories(r0={}, r1={})  # and two more
    around = ResolutionContext(
        repositories=table, objects=KubeObjectIndex(table.values()), revision=lambda _: UP
    )
    monkeypatch.setattr(resolution, "MOST_COMPARED", 3 * len(table))

    def choosing(targets: int, by: str = "{matchLabels: {tier: none}}") -> Resolution:
        none = f"  - repositorySelector: {by}\n"
        return resolve([read(f"{SET}{targets * none}".encode(), "s.yaml")], around)

    values = ", ".join(f"v{number}" for number in range(100))
    long = f"{{matchExpressions: [{{key: a, operator: In, values: [{values}]}}]}}"
    assert choosing(3).complete
    assert not choosing(1, long).complete  # each value is compared
    assert "held against more than 12 objects together" in choosing(4).problems[0].text
