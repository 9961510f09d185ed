"""CODEOWNERS in GitHub's dialect: parsed, and matched to the files that a proposal changes.

Rules:

1. The caller gives the file of the base branch, never that of a proposal's head.
2. The last line that matches a file names all its owners; none named means that nobody owns it.
3. A line that GitHub does not understand is skipped (`!`, `[`): an earlier one counts then.
4. Matching takes no regular expressions: a pattern costs at most its length times the path's.

Source: https://docs.github.com/en/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lifecycle.access import Team, TriState, Unreadable, known

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Where the file may stand; the first that is there counts."""

RULES = ".porchbot.yaml"
"""Stands for the files of the rules, where packages stand otherwise: no package has that name."""

MOST_BYTES = 3 * 1024**2
"""A larger file is not read, by GitHub either."""

MOST_MATCHES = 1_000_000
"""Lines times files that one look matches: about a second."""

MOST_NAMED = 3
"""Files that stand for all that have the same owners."""

_NOREPLY = re.compile(r"(?:[0-9]{1,18}\+)?([a-z0-9][a-z0-9-]*)@users\.noreply\..+")


@dataclass(frozen=True, slots=True)
class OwnersLine:
    """One line: a pattern, and the owners of what it matches.

    Attributes:
        steps: Parts of the pattern between slashes; "**" for any number of folders.
        deep: It matches everything in a folder of that name, too.
        owners: In lower case: "@octocat", "@acme/network" or an address; empty for nobody.
    """

    steps: tuple[str, ...]
    deep: bool
    owners: tuple[str, ...]

    def matches(self, parts: Sequence[str]) -> bool:
        """Tell whether a path, in its parts, is meant."""
        return _path(self.steps, parts, deep=self.deep)


@dataclass(frozen=True, slots=True)
class Owned:
    """Files that have the same owners.

    Attributes:
        files: Some of their paths, sorted; at most `MOST_NAMED`.
        count: How many there are.
        owners: As in `Line`.
        why: The reason why nobody can tell the owners; None where they are told.
        least: How many of them the file asks for; 1 where it asks for no number.
        whole_paths: Teams are named by their whole paths, wherever they are.
    """

    files: tuple[str, ...]
    count: int
    owners: tuple[str, ...] = ()
    why: Unreadable | None = None
    least: int = 1
    whole_paths: bool = False

    def teams(self, organization: str) -> frozenset[str]:
        """Return the slugs of the teams among the owners.

        Args:
            organization: Whose teams can own something here: the repository owner's login.
        """
        if self.whole_paths:
            return frozenset(o[1:] for o in self.owners if o.startswith("@") and "/" in o)
        mine = f"@{organization}/".lower()
        return frozenset(o.removeprefix(mine) for o in self.owners if o.startswith(mine))

    def has(self, login: str, teams: Mapping[str, Team], organization: str) -> TriState:
        """Tell whether somebody is an owner.

        Args:
            login: Who.
            teams: By slug in lower case.
            organization: The repository owner's login.
        """
        if self.why is not None:
            return TriState.UNKNOWN
        found = {known(_login(owner) == login.lower()) for owner in self.owners}
        found |= {
            TriState.UNKNOWN for owner in self.owners if "@" in owner[1:] and not _login(owner)
        }
        found |= {
            teams[slug].has(login) if slug in teams else TriState.UNKNOWN
            for slug in self.teams(organization)
        }
        for answer in (TriState.YES, TriState.UNKNOWN):
            if answer in found:
                return answer
        return TriState.NO


def _login(owner: str) -> str:
    """The login that an owner is; "" for a team, and for an address that does not tell."""
    if owner.startswith("@"):
        return "" if "/" in owner else owner[1:]
    private = _NOREPLY.fullmatch(owner)
    return private[1] if private else ""


@dataclass(frozen=True, slots=True)
class CodeownersFormat:
    """How a forge reads the file.

    Attributes:
        places: Where it may stand; the first that is there counts.
        read: Given the file and paths from the top of the repository, groups these by their
            owners, sorted.
    """

    places: tuple[str, ...]
    read: Callable[[bytes, Iterable[str]], tuple[Owned, ...]]


@lru_cache(maxsize=16)  # each look reads it, and it seldom changes
def parse(data: bytes) -> tuple[OwnersLine, ...]:
    """Read the lines that mean something, in their order.

    Args:
        data: The file; at most `MOST_BYTES`.
    """
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    found = (_line(line) for line in text.split("\n"))
    return tuple(line for line in found if line is not None)


def words(text: str) -> list[str]:
    """Return the words of a line: a blank after a backslash separates none."""
    return re.findall(r"(?:\\.|[^\s\\])+", text)


def owned(lines: Sequence[OwnersLine], paths: Iterable[str]) -> tuple[Owned, ...]:
    """Group files by their owners, sorted.

    Args:
        lines: Of the file.
        paths: Files, from the top of the repository.

    Returns:
        One group that says so where there is too much to match.
    """
    listed = sorted(paths)
    if len(lines) * len(listed) > MOST_MATCHES:
        return unreadable(listed, Unreadable.LARGE)
    groups: dict[tuple[str, ...], list[str]] = {}
    for path in listed:
        groups.setdefault(_owners(lines, path), []).append(path)
    return tuple(
        Owned(tuple(files[:MOST_NAMED]), len(files), owners)
        for owners, files in sorted(groups.items())
    )


def unreadable(paths: Iterable[str], why: Unreadable) -> tuple[Owned, ...]:
    """Return one group of files whose owners nobody can tell."""
    listed = sorted(paths)
    return (Owned(tuple(listed[:MOST_NAMED]), len(listed), why=why),) if listed else ()


def _owners(lines: Sequence[OwnersLine], path: str) -> tuple[str, ...]:
    parts = path.split("/")
    last = next((line for line in reversed(lines) if line.matches(parts)), None)
    return tuple(sorted(set(last.owners))) if last else ()


def _line(text: str) -> OwnersLine | None:
    """One line; None for a comment, an empty line, and one that GitHub skips."""
    pattern, *rest = words(text) or [""]
    if not pattern or pattern[0] in "#!" or "[" in pattern:
        return None
    owners = []
    for word in rest:
        if word.startswith("#"):
            break
        if "@" not in word:
            return None
        owners.append(word.lower())
    pattern = re.sub(r"\\(.)", r"\1", pattern)
    return _pattern(pattern, tuple(owners))


def _pattern(pattern: str, owners: tuple[str, ...]) -> OwnersLine | None:
    inner = pattern.strip("/")
    if not inner:
        return None
    steps = tuple(step for step in inner.split("/") if step)
    if not (pattern.startswith("/") or "/" in inner):
        steps = ("**", *steps)
    if pattern.endswith("/"):
        return OwnersLine((*steps, "**", "*"), deep=False, owners=owners)
    # `docs/*` means the files of one folder, and not those of its folders.
    if steps[-1] == "**":
        return OwnersLine((*steps, "*"), deep=False, owners=owners)
    return OwnersLine(steps, deep=steps[-1] != "*", owners=owners)


def _path(steps: Sequence[str], parts: Sequence[str], *, deep: bool) -> bool:
    """Match parts of a path, going back to the last `**` only, so that it takes no longer."""
    at = place = 0
    star, resume = -1, 0
    while place < len(parts):
        if at < len(steps) and steps[at] == "**":
            star, resume, at = at, place, at + 1
        elif at < len(steps) and _step(steps[at], parts[place]):
            at, place = at + 1, place + 1
            if at == len(steps) and deep:
                return True
        elif star >= 0:
            resume += 1
            at, place = star + 1, resume
        else:
            return False
        if at == len(steps) and place < len(parts) and star >= 0:
            resume += 1
            at, place = star + 1, resume
    return at == len(steps)


def _step(pattern: str, text: str) -> bool:
    """Match one part with `*` and `?`."""
    at = place = 0
    star, resume = -1, 0
    while place < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, resume, at = at, place, at + 1
        elif at < len(pattern) and pattern[at] in ("?", text[place]):
            at, place = at + 1, place + 1
        elif star >= 0:
            resume += 1
            at, place = star + 1, resume
        else:
            return False
    return all(each == "*" for each in pattern[at:])


PLAIN = CodeownersFormat(places=PLACES, read=lambda data, paths: owned(parse(data), paths))
"""GitHub's."""
