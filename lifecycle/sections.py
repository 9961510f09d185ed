"""CODEOWNERS in GitLab's dialect: sections, each with owners of its own, matched to files.

Rules:

1. In each section the last line that matches a file names its owners; a line without owners has
   those of the section's head. Sections of one name are one, whatever its case.
2. `[Name][2]` asks for two of them, `^[Name]` for none: who owns a file in such sections alone may
   approve it all the same, since somebody has to.
3. `!pattern` takes files out of its section, whatever comes after it there.
4. A pattern without a slash before it matches in any folder, one with a slash after it all that is
   in a folder; the rest is as Ruby reads patterns (`lifecycle.globs`).
5. A pattern ends at the first blank without a backslash before it.

Owners by their role (`@@maintainers`) are not understood.

Source: https://docs.gitlab.com/user/project/codeowners/reference/, and how it is read:
https://gitlab.com/gitlab-org/gitlab/-/blob/master/ee/lib/gitlab/code_owners/file.rb
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from lifecycle import globs
from lifecycle.access import Unreadable
from lifecycle.owners import MOST_MATCHES, MOST_NAMED, CodeownersFormat, Owned, unreadable, words

_HEAD = re.compile(
    r"(?P<optional>\^)?\[(?P<name>[^\]]*)\](?:\[(?P<least>[0-9]{0,3})\])?(?P<owners>.*)"
)
_PATTERN_ENDS = re.compile(r"(?<!\\)\s+")
_BLANKS = re.compile(r"\\\s+")
_NOREPLY = re.compile(r"[0-9]{1,18}-([a-z0-9_][a-z0-9_.-]*)@users\.noreply\..+")


@dataclass(frozen=True, slots=True)
class SectionLine:
    """One line: a pattern, and the owners of what it matches.

    Attributes:
        pattern: In its parts.
        owners: In lower case: "@ann", "@acme/network" or an address; empty for nobody.
    """

    pattern: tuple[globs.Part, ...]
    owners: tuple[str, ...]

    def matches(self, parts: Sequence[str]) -> bool:
        """Tell whether a path, in its parts, is meant."""
        return globs.matches(self.pattern, parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the file.

    Attributes:
        lines: In their order; those without owners have the section's.
        excluded: What it says nothing about.
        least: How many of the owners must approve.
        optional: None of them must.
    """

    lines: tuple[SectionLine, ...] = ()
    excluded: tuple[SectionLine, ...] = ()
    least: int = 1
    optional: bool = False

    def owners(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Who owns a path, given in its parts; empty for nobody."""
        if any(line.matches(parts) for line in self.excluded):
            return ()
        last = next((line for line in reversed(self.lines) if line.matches(parts)), None)
        return tuple(sorted(set(last.owners))) if last else ()


@lru_cache(maxsize=16)  # each look reads it, and it seldom changes
def parse(data: bytes) -> tuple[Section, ...]:
    """Read the sections in their order; what stands before the first one is one, too."""
    found: dict[str, Section] = {"": Section()}
    name, defaults = "", tuple[str, ...]()
    for raw in data.decode("utf-8", "replace").removeprefix("\ufeff").split("\n"):
        text = raw.strip()
        if not text or text.startswith("#"):
            continue
        if head := _HEAD.fullmatch(text):
            name, defaults = head["name"].strip().lower(), _defaults(head["owners"])
            known = found.get(name)
            optional = bool(head["optional"]) and (known is None or known.optional)
            least = max(int(head["least"] or 1), known.least if known else 1, 1)
            found[name] = replace(known or Section(), least=least, optional=optional)
            continue
        pattern, *rest = _PATTERN_ENDS.split(text, maxsplit=1)
        if not pattern.strip("!"):
            continue
        section = found[name]
        if pattern.startswith("!"):
            out = (*section.excluded, _line(pattern[1:], ()))
            found[name] = replace(section, excluded=out)
        else:
            line = _line(pattern, _owners(words("".join(rest))) or defaults)
            found[name] = replace(section, lines=(*section.lines, line))
    return tuple(found.values())


def owned(sections: Sequence[Section], paths: Iterable[str]) -> tuple[Owned, ...]:
    """Group files by their owners, sorted; a file is in a group for each section that owns it.

    Returns:
        One group that says so where there is too much to match.
    """
    listed = sorted(paths)
    lines = sum(len(each.lines) + len(each.excluded) for each in sections)
    if lines * len(listed) > MOST_MATCHES:
        return unreadable(listed, Unreadable.LARGE)
    groups: dict[tuple[tuple[str, ...], int], list[str]] = {}
    for path in listed:
        for group in _groups(sections, path.split("/")):
            groups.setdefault(group, []).append(path)
    return tuple(
        Owned(tuple(files[:MOST_NAMED]), len(files), owners, least=least, whole_paths=True)
        for (owners, least), files in sorted(groups.items())
    )


def _groups(
    sections: Sequence[Section], parts: Sequence[str]
) -> Sequence[tuple[tuple[str, ...], int]]:
    """The owners of a path in each section that has some, and how many of them must approve."""
    found = [(each, each.owners(parts)) for each in sections]
    named = [(each, owners) for each, owners in found if owners]
    needed = [(owners, each.least) for each, owners in named if not each.optional]
    if needed:
        return sorted(set(needed))
    others = {owner for _, owners in named for owner in owners}
    return [(tuple(sorted(others)), 1)]


def _owners(said: Iterable[str]) -> tuple[str, ...]:
    """Those of some words that name an owner; what GitLab finds no reference in is left out."""
    found: list[str] = []
    for word in said:
        if word.startswith("#"):
            break
        private = _NOREPLY.fullmatch(word.lower())
        if private:
            found.append(f"@{private[1]}")
        elif "@" in word:
            found.append(word.lower())
    return tuple(found)


def _defaults(said: str) -> tuple[str, ...]:
    """The owners of a section; what follows its name without a blank names none."""
    return _owners(words(said)) if said[:1].isspace() else ()


def _line(pattern: str, owners: tuple[str, ...]) -> SectionLine:
    plain = _BLANKS.sub(" ", pattern.removeprefix("\\") if pattern[:2] == "\\#" else pattern)
    if plain == "*":
        plain = "/**/*"
    if not plain.startswith("/"):
        plain = f"/**/{plain}"
    if plain.endswith("/"):
        plain = f"{plain}**/*"
    return SectionLine(globs.parts(plain[1:]), owners)


SECTIONS = CodeownersFormat(
    places=("CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"),
    read=lambda data, paths: owned(parse(data), paths),
)
"""GitLab's."""
