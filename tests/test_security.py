"""docs/security.md answers every threat, with tests that there are and that were tried."""

import re
from functools import cache
from pathlib import Path

from tests import mutations

PAGE = Path(__file__).resolve().parents[1] / "docs/security.md"


@cache
def _tables() -> list[dict[int, str]]:
    """The tables of threats: number to the row."""
    found: list[dict[int, str]] = []
    for line in PAGE.read_text().splitlines():
        if line.startswith("| # |"):
            found.append({})
        elif row := re.match(r"\| (\d+) \|", line):
            assert int(row[1]) not in found[-1], line
            found[-1][int(row[1])] = line
    return found


def rows(kind: str) -> dict[int, str]:
    """Return the rows by number: those of each "threat", in all tables, or of each "trap"."""
    threats, traps, between, gitlab = _tables()
    return traps if kind == "trap" else threats | between | gitlab


def _tests(row: str) -> list[str]:
    return re.findall(r"`(tests/[^`]+)`", row)


def test_every_threat_has_a_row_with_a_test_or_a_reason() -> None:
    """Fails when a row is left out, or filled with words alone."""
    threats, traps, between, gitlab = map(sorted, _tables())
    assert (threats, traps) == ([*range(1, 31)], [*range(1, 38)])
    assert between == [*range(61, 61 + len(between))]
    assert gitlab == [*range(31, 31 + len(gitlab))]
    for table in _tables():
        for row in table.values():
            assert _tests(row) or "None yet: " in row, row


def test_the_tests_of_each_row_exist_and_one_was_tried() -> None:
    """Fails when a test is renamed, or none of a row's is known to fail without its defence."""
    tried = {mutation.test for mutation in mutations.read()}
    tried |= {test.partition("[")[0] for test in tried}

    for table in _tables():
        for row in table.values():
            found = _tests(row)
            assert [test for test in found if not mutations.has_test(test)] == []
            known = [t for t in found if t in tried or t.partition("::")[0] in tried]
            assert known or not found, row


_AT_GITHUB = ("tests/bot/forges/github/",)
_GITHUB_STORY = re.compile(
    r"^@pytest\.mark\.only_github\(.*\n(?:@.*\n)*def (test_\w+)", re.MULTILINE
)


def _only_at_github(test: str) -> bool:
    """Whether a test shows nothing of GitLab."""
    path, _, name = test.partition("::")
    if path.startswith("tests/stories/"):
        return name.partition("[")[0] in _GITHUB_STORY.findall((PAGE.parents[1] / path).read_text())
    return path.startswith(_AT_GITHUB)


def test_what_is_shown_at_github_alone_is_shown_at_gitlab_by_another_test() -> None:
    """The short-cut leaves rows whose test knows GitHub alone, and calls the attack tried."""
    page = PAGE.read_text()
    there = dict(re.findall(r"^\| ((?:threat|trap) \d+) \| (.*)$", page, re.MULTILINE))
    for kind in ("threat", "trap"):
        for number, row in rows(kind).items():
            if any(map(_only_at_github, _tests(row))):
                assert f"{kind} {number}" in there, row
    for row in there.values():
        found = _tests(row)
        assert found
        assert not any(map(_only_at_github, found)), row
        assert [test for test in found if not mutations.has_test(test)] == []
