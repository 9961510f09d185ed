"""What is wrong with the names of packages and refs: findings, and clauses of other messages."""

from collections.abc import Collection, Iterable, Mapping

from cadlib.errors import Place
from cadlib.findings import Finding, Severity
from lifecycle import names, spelling
from lifecycle.names import RefRule

RENAME = "Rename the folder"


def problems(packages: Collection[str]) -> tuple[Finding, ...]:
    """Return a finding for each unit of release that cannot be tagged; sorted by path.

    Args:
        packages: Paths of the units of release.
    """
    found = ((p, _unnameable(p, packages)) for p in sorted(packages))
    return tuple(
        Finding(
            message=wrong, severity=Severity.ERROR, place=Place(f"{package}/Kptfile"), fix=RENAME
        )
        for package, wrong in found
        if wrong
    )


def alike(likes: Mapping[str, Collection[str]], new: Collection[str]) -> tuple[Finding, ...]:
    """Return a finding for each package whose path looks like another's; sorted by path.

    A new one is refused where common file systems hold it and the other under one name: a clone
    there has one folder and one tag for both. Everything else is for people to judge.

    Args:
        likes: Package to others whose paths look like its own.
        new: Those of them that are not in the base yet.
    """
    return tuple(
        _alike(package, min(others), [o for o in others if spelling.one_file(package, o)], new)
        for package, others in sorted(likes.items())
        if others
    )


def _alike(package: str, like: str, same: Collection[str], new: Collection[str]) -> Finding:
    place = Place(f"{package}/Kptfile")
    if not same:
        here, there = next(
            (a, b) for a, b in zip(f"{package} ", f"{like} ", strict=False) if a != b
        )
        return Finding(
            message=(
                f"its path looks like that of the package {spelling.shown(like)}, but has"
                f" {spelling.called(here)} where that has {spelling.called(there)}"
            ),
            severity=Severity.WARNING,
            place=place,
            fix=f"{RENAME}, unless both are intended",
        )
    return Finding(
        message=(
            f"on file systems that ignore case, it and {min(same)} are the same"
            " folder, and their tags the same file"
        ),
        severity=Severity.ERROR if package in new else Severity.WARNING,
        place=place,
        fix=RENAME,
    )


def used_up(next_revisions: Iterable[tuple[str, int]]) -> tuple[Finding, ...]:
    """Return a finding for each package that has no revision number left.

    Anybody who may push tags can push the highest; nothing is then merged that could not be tagged.

    Args:
        next_revisions: Package and the number it would be published under.
    """
    most = names.MOST_REVISIONS
    return tuple(
        Finding(
            message=f"revision v{most} is used, and there is no higher number",
            severity=Severity.ERROR,
            place=Place(f"{package}/Kptfile" if package else "Kptfile"),
            fix="Delete the tag, if nobody uses that revision",
        )
        for package, revision in sorted(next_revisions)
        if revision > most
    )


def _unnameable(package: str, packages: Collection[str]) -> str:
    parts = package.split("/") if package else []
    for index, part in enumerate(parts):
        above = "/".join(parts[:index])
        if names.looks_like_revision(part) and (index == len(parts) - 1 or above in packages):
            owner = f"package {above}" if above else "a package at the root"
            return (
                f"the folder {part!r} is named like a revision, and git cannot hold tags below"
                f" the tag {'/'.join(parts[: index + 1])!r} of {owner}"
            )
    if char := spelling.unseen(package):
        return (
            f"its path holds {spelling.called(char)}, which is invisible or looks like another"
            " character"
        )
    wrong = ref_problem(names.tag_ref(f"{package}/v1")) if package else ""
    return f"its path cannot be part of a tag: {wrong}" if wrong else ""


def ref_problem(ref: str) -> str:
    """Return why git refuses a ref name, as a clause; "" for a valid one."""
    fault = names.fault(ref)
    if fault is None:
        return ""
    return {
        RefRule.CHARACTERS: f"git does not allow {fault.part!r} in a ref name",
        RefRule.SLASHES: "git does not allow empty parts between slashes in a ref name",
        RefRule.ENDS: (
            "in a ref name, git allows no part that begins with '.' or ends in '.lock', and"
            " no '.' at the end"
        ),
        RefRule.LENGTH: f"a part of the ref name is longer than {names.SEGMENT_BYTES} bytes",
    }[fault.rule]
