"""Resolves a function's `tag` field: a version, a semver range, or a literal tag.

Rules
- A version (`v1`, `1.2`, `v1.2.3-rc.1`) and what is neither version nor range are taken as
  they stand; only a range asks which tags there are, and takes the highest that fits.
- Ranges are those of the library that kpt uses: comparisons, `~`, `^`, `x` and `*`,
  `1.2 - 1.4`, joined by a comma or a space (all must hold) and by `||` (one must hold).
  A version before its release fits only where the range names one too.
- Tags of signatures (`sha256-…`) and of builds (`…-git-…`) are never versions.

Source: kptdev/kpt, pkg/fn/runtime/tag_resolution.go; Masterminds/semver v3. The kept
libraries for versions have npm's or Python's ranges, which differ in commas, wildcards
and versions before a release.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cadlib import images
from cadlib.errors import PackageError, Place

_PRE = r"(?:-(?P<pre>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
_BUILD = r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
# Eighteen digits are as many as fit into the 64 bits that kpt has for each number.
_VERSION = re.compile(
    rf"v?(?P<major>\d{{1,18}})(?:\.(?P<minor>\d{{1,18}}))?(?:\.(?P<patch>\d{{1,18}}))?{_PRE}{_BUILD}"
)
_PARTIAL = (
    r"v?(?P<major>\d{1,18}|[xX*])(?:\.(?P<minor>\d{1,18}|[xX*]))?"
    rf"(?:\.(?P<patch>\d{{1,18}}|[xX*]))?{_PRE}{_BUILD}"
)
_OPERATOR = r"(?P<operator>=|!=|>|<|>=|=>|<=|=<|~|~>|\^|)"
_TERM = re.compile(rf"\s*{_OPERATOR}\s*{_PARTIAL}\s*(?:,|(?=\s)|\Z)\s*")
_HYPHEN = re.compile(
    rf"\s*(?P<low>{re.sub(r'[?]P<[a-z]+>', '?:', _PARTIAL)})\s+-\s+"
    rf"(?P<high>{re.sub(r'[?]P<[a-z]+>', '?:', _PARTIAL)})\s*"
)
# A range is written by people; nobody needs more than a line for it.
_LONGEST = 256

Tags = Callable[[str], Iterable[str]]
"""Says which tags an image has, by its name without tag and digest."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version; what is not written counts as 0."""

    numbers: tuple[int, int, int]
    pre: tuple[str, ...] = ()

    def order(self) -> tuple[object, ...]:
        """Return the sort key of a version; a pre-release sorts before its release."""
        parts = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in self.pre)
        return (*self.numbers, not self.pre, parts)


@dataclass(frozen=True, slots=True)
class Term:
    """One comparison; `known` counts the numbers that are written, 0 to 3."""

    operator: str
    version: Version
    known: int

    def holds(self, found: Version) -> bool:
        """Tell whether a version fits."""
        if found.pre and not self.version.pre:
            return False
        order = (found.order() > self.version.order()) - (found.order() < self.version.order())
        same = found.numbers[: self.known] == self.version.numbers[: self.known]
        match self.operator:
            case ">":
                return order > 0 and (self.known == 3 or not same)
            case "<":
                return order < 0
            case ">=" | "=>":
                return order >= 0
            case "<=" | "=<":
                return order <= 0 or (self.known < 3 and same)
            case "!=":
                return order != 0 if self.known == 3 else not same
            case "^":
                return order >= 0 and self._shares(found, self._caret())
            case "~" | "~>":
                return order >= 0 and self._shares(found, min(self.known, 2))
            case _:
                return order == 0 if self.known == 3 else order >= 0 and same

    def _shares(self, found: Version, count: int) -> bool:
        return found.numbers[:count] == self.version.numbers[:count]

    def _caret(self) -> int:
        """Return how many numbers `^` keeps: up to the first that is not 0."""
        first = next((n for n, each in enumerate(self.version.numbers) if each), 2)
        return min(self.known, first + 1)


Range = tuple[tuple[Term, ...], ...]
"""Alternatives, of each of which every term must hold."""


def version(text: str) -> Version | None:
    """Read a version, with or without "v", of one to three numbers; None if it is none."""
    found = _VERSION.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        return None
    numbers = (int(found["major"]), int(found["minor"] or 0), int(found["patch"] or 0))
    return Version(numbers, tuple((found["pre"] or "").split(".")) if found["pre"] else ())


def version_range(text: str) -> Range | None:
    """Read a range of versions; None if it is none."""
    if len(text) > _LONGEST:
        return None
    alternatives = tuple(_terms(each) for each in text.split("||"))
    return None if () in alternatives else alternatives


def fits(found: Version, wanted: Range) -> bool:
    """Tell whether a version lies in a range."""
    return any(all(term.holds(found) for term in terms) for terms in wanted)


def matching(tags: Iterable[str], wanted: Range) -> tuple[str, ...]:
    """Return the tags that are versions in a range, the highest first, each once."""
    fitting = (
        (found, tag)
        for tag in dict.fromkeys(tags)
        if not tag.startswith("sha256-") and "-git-" not in tag
        if (found := version(tag)) is not None and fits(found, wanted)
    )
    return tuple(tag for _, tag in sorted(fitting, key=lambda each: each[0].order(), reverse=True))


def among(tag: str, stated: Iterable[str]) -> bool:
    """Tell whether a tag is one of those stated, or a version in one of the ranges among them."""
    found = version(tag)
    for each in stated:
        wanted = version_range(each) if found and version(each) is None else None
        if tag == each or (found and wanted and fits(found, wanted)):
            return True
    return False


def is_range(tag: str) -> bool:
    """Tell whether `tag` is a range, which needs the list of tags to resolve."""
    return version(tag) is None and version_range(tag) is not None


def tag_problem(tag: str) -> str:
    """Return why kpt refuses a `tag`, in its words, or "" if it does not."""
    if not tag or is_range(tag) or images.is_tag(tag):
        return ""
    return (
        f'`function.tag` "{tag}" must be a valid image tag: must start with an alphanumeric'
        " character or underscore, followed by at most 127 alphanumeric characters,"
        " underscores, periods, or dashes"
    )


def with_tag(image: str, tag: str) -> str | None:
    """Return `image` with its tag and digest replaced by `tag`.

    Returns:
        None when `tag` is a range of versions, such as "~1.2": see `resolve`.
    """
    if not tag:
        return image
    return None if is_range(tag) else f"{images.repository(image)}:{tag}"


def resolve(image: str, tag: str, tags: Tags, place: Place) -> str:
    """Return `image` with the tag that `tag` means.

    Args:
        image: Image name, with or without a tag or digest of its own, which `tag` replaces.
        tag: A version, a range, or a literal tag; "" keeps the image as it is.
        tags: Asked only for a range.
        place: Where the function is written, for the error.

    Raises:
        PackageError: No tag lies in the range, or `tag` can be no tag; in kpt's words.
    """
    problem = tag_problem(tag)
    if problem:
        raise PackageError(place, problem, "Write a tag, a version or a range of versions")
    plain = with_tag(image, tag)
    if plain is not None:
        return plain
    name = images.repository(image)
    found = matching(tags(name), version_range(tag) or ())
    if not found:
        raise PackageError(
            place,
            f'no tag could be found matching the version constraint "{tag}"',
            "Write a range that holds one of the image's tags, or one of them",
        )
    return f"{name}:{found[0]}"


def _terms(text: str) -> tuple[Term, ...]:
    """Read terms that must all hold; () where the text is none."""
    hyphen = _HYPHEN.fullmatch(text)
    if hyphen is not None:
        text = f">={hyphen['low']} <={hyphen['high']}"
    terms: list[Term] = []
    position = 0
    while position < len(text):
        found = _TERM.match(text, position)
        if found is None:
            return ()
        terms.append(_term(found))
        position = found.end()
    return tuple(terms)


def _term(found: re.Match[str]) -> Term:
    numbers: list[int] = []
    for name in ("major", "minor", "patch"):
        if found[name] is None or found[name] in "xX*":
            break
        numbers.append(int(found[name]))
    padded = (*numbers, 0, 0, 0)
    pre = tuple(found["pre"].split(".")) if found["pre"] else ()
    return Term(found["operator"], Version((padded[0], padded[1], padded[2]), pre), len(numbers))
