"""The floor of what tests run counts by folder, and a folder that nobody measured lies below it."""

from tests.floor import FLOORS, below


def _files(missing: int) -> dict[str, dict[str, list[int]]]:
    lines = [*range(100)]
    files = {f"{each}/a.py": {"executed_lines": lines, "missing_lines": []} for each in FLOORS}
    files["lifecycle/b.py"] = {"executed_lines": [], "missing_lines": [*range(missing)]}
    return files


def test_a_folder_below_its_floor_is_named_with_its_worst_files() -> None:
    """The short-cut takes all folders together, where the large one hides the small one."""
    assert below(_files(3)) == []
    assert below(_files(25)) == [
        "lifecycle: tests run 80.0 % of the lines, of 97 % wanted.",
        f"  lifecycle/b.py: {[*range(20)]} …",
        "  lifecycle/a.py: [] …",
    ]


def test_what_was_not_measured_is_below() -> None:
    """The short-cut divides by nothing, or calls it good."""
    assert [line.split(":")[0] for line in below({})] == list(FLOORS)
