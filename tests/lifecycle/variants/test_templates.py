"""What templates of sets give, and where it is told that they give nothing."""

import pytest

from tests.lifecycle.variants.test_resolution import resolved_set


@pytest.mark.parametrize(
    ("template", "line"),
    [
        ("downstream:\n        repo: live\n        packageExpr: target.labels.none\n", 13),
        ("labelExprs:\n      - key: a\n        valueExpr: target.labels.none\n", 14),
        ("packageContext:\n        removeKeyExprs:\n        - target.labels.none\n", 14),
        ("injectors:\n      - name: a\n      - nameExpr: target.labels.none\n", 14),
    ],
)
def test_what_an_expression_does_not_give_is_told_at_its_line(template: str, line: int) -> None:
    """The short-cut tells it where its target begins: a template has dozens of expressions."""
    where = "" if "repo:" in template else "      downstream: {repo: live}\n"
    target = f"  - repositories: [{{name: live}}]\n    template:\n{where}      {template}"
    found = resolved_set(f"  - repositories:\n    - name: live\n{target}")
    (problem,) = found.problems
    assert "spec.targets[1]" in problem.text
    assert "no such key: labels" in problem.text
    assert problem.line == line
