"""Defences, each with a change that takes it out and the test that fails then.

The entries of `bot/look/*.py` stand in `bot/look.toml` below this folder, and so on;
`python -m tests.mutations` tries them, and `test_entries.py` keeps them from going stale.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@dataclass(frozen=True)
class Mutation:
    """A defence taken out.

    Attributes:
        area: Folder of what is changed, such as "bot/look"; the entry stands in its file.
        defence: What is defended, in plain words.
        threat: What against: rows of `docs/security.md` ("threat 6; trap 2") and sections of
            `docs/design.md` ("design: Approvals"), with "; " between.
        file: Where the defence stands, from the root of the repository.
        find: Its text, which occurs once in the file.
        replace: What stands there when it is taken out.
        test: The pytest id of what fails then: a test, all its cases, or a whole file.
    """

    area: str
    defence: str
    threat: str
    file: str
    find: str
    replace: str
    test: str

    def applied(self, root: Path) -> str:
        """The text of the file without the defence.

        Raises:
            ValueError: The code has moved: the text is not there, or more than once.
        """
        path = root / self.file
        found = path.read_text() if path.is_file() else ""
        if (times := found.count(self.find)) != 1:
            raise ValueError(f"`find` occurs {times} times in {self.file}")
        return found.replace(self.find, self.replace)


def read(areas: tuple[str, ...] = ()) -> list[Mutation]:
    """Read the entries, by area.

    Args:
        areas: Folders whose entries are read, with those below them; all where none is given.

    Raises:
        ValueError: An area that there is not, or an entry that is not well-formed.
    """
    files = {
        path.relative_to(HERE).with_suffix("").as_posix(): path for path in HERE.rglob("*.toml")
    }
    wanted = {area: [each for each in files if _is_in(each, area)] for area in areas}
    if unknown := [area for area, there in wanted.items() if not there]:
        raise ValueError(
            f"no such area: {', '.join(unknown)}; there are {', '.join(sorted(files))}"
        )
    found = []
    for area in sorted(set().union(*wanted.values()) if areas else files):
        content = tomllib.loads(files[area].read_text())
        if set(content) != {"mutation"}:
            raise ValueError(f"{area}.toml: holds {sorted(content)}, and not [[mutation]] alone")
        found += [_entry(area, entry) for entry in content["mutation"]]
    return found


def _is_in(area: str, other: str) -> bool:
    return f"{area}/".startswith(f"{other.strip('/')}/")


def _entry(area: str, entry: dict[str, object]) -> Mutation:
    wanted = {field.name for field in fields(Mutation)} - {"area"}
    texts = {key: value for key, value in entry.items() if isinstance(value, str)}
    empty = [key for key in wanted - {"replace"} if not texts.get(key)]
    if set(texts) != wanted or set(entry) != wanted or empty or texts["find"] == texts["replace"]:
        raise ValueError(f"{area}.toml: not an entry of {sorted(wanted)}: {entry}")
    return Mutation(area=area, **texts)


def has_test(test: str) -> bool:
    """Whether there is such a test; an id without a function means its whole file."""
    file, _, name = test.partition("::")
    path = ROOT / file
    if not (file.startswith("tests/") and path.name.startswith("test_") and path.is_file()):
        return False
    return not name or name.partition("[")[0] in _tests(path)


@cache
def _tests(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r"(?m)^(?:async )?def (test_\w+)", path.read_text()))
