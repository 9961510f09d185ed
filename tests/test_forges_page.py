"""The page of differences between forges and the marks of the stories say the same."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_MARK = re.compile(r'only_github\(\s*"([^"]+)"\s*\)')


def rows(page: str) -> list[str]:
    """What stands in the first column of the table of what only GitHub has."""
    section = page.partition("## Only on GitHub")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [line.split("|")[1].strip() for line in lines[2:]]


def marks() -> dict[str, list[str]]:
    """Reason to the files of the stories that it keeps from GitLab."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests/stories").glob("test_*.py")):
        for reason in _MARK.findall(path.read_text(encoding="utf-8")):
            found.setdefault(reason, []).append(path.name)
    return found


def test_a_story_that_only_github_has_names_a_row_and_each_row_has_a_story() -> None:
    """Short-cut: skip a story without a reason, or keep a reason that no story has any more."""
    listed = rows((ROOT / "docs/forges.md").read_text(encoding="utf-8"))

    assert sorted(listed) == sorted(marks())
    assert len(listed) == len(set(listed))


def test_rows_are_read_from_their_table_alone() -> None:
    """Short-cut: take every table of the page."""
    page = "## Only on GitHub\n\n| What | Why |\n| --- | --- |\n| a | b |\n\n## Both\n\n| c | d |\n"

    assert rows(page) == ["a"]
