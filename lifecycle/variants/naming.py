"""The names that Porch gives: to variants of a set, to functions of a variant, to workspaces."""

import hashlib
import re
from collections.abc import Iterable
from typing import Final

from cadlib.package import files as packages
from lifecycle import names
from lifecycle.messages import variants as texts

MOST_CHARACTERS: Final = 63
"""The longest name of a variant of a set; a longer one ends in a hash."""
_HASH: Final = 8

WORKSPACE: Final = "packagevariant-"
"""What the workspaces of variants begin with."""

FUNCTION: Final = "PackageVariant"
"""What the names of functions begin with that a variant put into a pipeline."""

_NUMBER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)


def variant_name(set_name: str, repo: str, package: str) -> str:
    """Return the name of a set's variant, as Porch makes it.

    Porch cuts by bytes; a character that this would divide is left out whole.
    """
    whole = f"{set_name}-{repo}-{package}"
    data = whole.encode()
    if len(data) <= MOST_CHARACTERS:
        return whole
    short = data[: MOST_CHARACTERS - _HASH - 1].decode(errors="ignore")
    return f"{short}-{hashlib.sha1(data, usedforsecurity=False).hexdigest()[:_HASH]}"


def function_name(function: str, variant: str, position: int) -> str:
    """Return the name that a function of a variant has in a Kptfile."""
    return f"{FUNCTION}.{variant}.{function}.{position}"


def is_function_of(name: object, variant: str) -> bool:
    """Tell whether a function in a Kptfile was put there by a variant.

    Args:
        name: What stands as its `name`; anything but a text is none.
        variant: Name of the variant, which may have dots.
    """
    before = f"{FUNCTION}.{variant}."
    if not isinstance(name, str) or not name.startswith(before):
        return False
    rest = name.removeprefix(before).split(".")
    return len(rest) == 2 and _NUMBER.fullmatch(rest[1]) is not None


def next_workspace(workspaces: Iterable[str]) -> str:
    """Return the name of a new workspace.

    Args:
        workspaces: Those that the package has or had, of whatever kind.
    """
    return f"{WORKSPACE}{last_number(workspaces) + 1}"


def last_number(workspaces: Iterable[str]) -> int:
    """Return the largest number of some workspaces; 0 for none."""
    numbers = (each.removeprefix(WORKSPACE) for each in workspaces if each.startswith(WORKSPACE))
    return max((int(each) for each in numbers if each.isdecimal() and each.isascii()), default=0)


def draft_branch(package: str, workspace: str) -> str:
    """Return the branch of a draft of a variant."""
    return f"{names.DRAFTS}{package}/{workspace}" if package else f"{names.DRAFTS}{workspace}"


def is_variants(branch: str) -> bool:
    """Tell whether a branch is named like that of a draft of a variant."""
    workspace = branch.rpartition("/")[2]
    return branch.startswith(names.DRAFTS) and workspace.startswith(WORKSPACE)


def package_problem(path: str) -> str:
    """Tell what is wrong with the path of a package; "" for nothing."""
    found = packages.path_problems(path)
    if found:
        return found[0].message
    if any(map(names.looks_like_revision, path.split("/"))):
        return texts.PART_IS_REVISION
    fault = names.fault(names.branch_ref(draft_branch(path, f"{WORKSPACE}1")))
    return texts.no_branch(fault.rule.name.lower()) if fault else ""
