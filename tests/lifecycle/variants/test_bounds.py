"""What rules may come to for all their downstreams together, whoever wrote them."""

from collections.abc import Callable

import pytest

from lifecycle.messages import variants as messages
from lifecycle.variants import resolution
from lifecycle.variants.objects import KubeObject, KubeObjectIndex
from lifecycle.variants.reading import read
from lifecycle.variants.resolution import ResolutionContext, resolve
from tests.counting import lines, peak_memory
from tests.lifecycle.variants.test_resolution import SET, UP, repositories, resolved, resolved_set


@pytest.mark.parametrize(
    "template",
    [
        "labels: {a: b, c: d}",
        "annotations: {a: b, c: d}",
        "packageContext: {data: {a: b, c: d}}",
        "packageContext: {removeKeys: [a, b, c, d]}",
        "injectors: [{name: a}, {name: b}, {name: c}]",
        "pipeline: {mutators: [{image: a, configMap: {a: b, c: d}}]}",
        f"labels: {{a: {'b' * 500}}}",
        """packageContext: {removeKeyExprs: ["'b'", "'c'", "'d'"]}""",
    ],
)
def test_templates_come_to_no_more_for_all_downstreams_than_may_be(
    template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut refused: templates and downstreams are bounded, and not the one by the other.

    Each downstream has its own: 10,000 labels for each of 500 took 100 MB, and a file may have ten
    times as many for ten thousand.
    """
    known = repositories(**{f"r{number}": {"tier": "edge"} for number in range(3)})
    targets = "  - repositorySelector: {matchLabels: {tier: edge}}\n    template: {XX}\n"
    monkeypatch.setattr(resolution, "MOST_ENTRIES", 3 * 7)  # five for what is empty
    assert resolved_set(targets.replace("XX", "labels: {a: b}"), known).complete

    found = resolved_set(targets.replace("XX", template), known)

    assert found.variants == ()
    assert [e.text for e in found.problems] == [messages.too_large_together(21)[0]]


def test_a_path_that_no_package_has_takes_no_time() -> None:
    """Short-cut refused: whether it lies inside of another is looked up for each of its folders,
    which an expression makes a hundred thousand of: a minute for one package."""

    def choosing(parts: int) -> Callable[[], object]:
        team = KubeObject(
            api_version="hr/v1", kind="Team", name="live", annotations={"at": "a/" * parts + "a"}
        )
        target = """  - objectSelector: {apiVersion: hr/v1, kind: Team}
    template: {downstream: {repo: live, packageExpr: target.annotations.at}}
"""
        around = ResolutionContext(
            repositories=repositories(), objects=KubeObjectIndex([team]), revision=lambda _: UP
        )
        file = read(f"{SET}{target}".encode(), "s.yaml")
        assert not resolve([file], around).variants
        return lambda: resolve([file], around)

    assert lines(choosing(8000)) < 2 * lines(choosing(200))


def test_long_names_are_cut_for_each_package_that_they_are_told_of() -> None:
    """Short-cut refused: each of thousands of packages keeps a megabyte that a file wrote once."""
    assert peak_memory(_two_hundred_packages_under_a_long_name) < 5_000_000  # 20 million without


def _two_hundred_packages_under_a_long_name() -> None:
    places = ", ".join(f"p{number}" for number in range(200))
    text = f"{SET}  - repositories: [{{name: live, packageNames: [{places}]}}]\n"
    file = read(text.replace("repo: base", f"repo: {'x' * 100_000}").encode(), "s.yaml")
    assert not resolved(file).variants
