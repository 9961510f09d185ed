"""The names of drafts, tags and revisions: made, read back, and checked against git's rules.

Rules (docs/design.md, "Names of refs"):

1. Refs are always spelled in full: a short name matches the tail of others, so that `v5` also
   finds `net/core/v5`.
2. A release tag is `refs/tags/<package path>/v<N>`, `refs/tags/v<N>` for a package at the root;
   anything else, `v1.2.3` and `v05` among it, is foreign and never counted.
3. A draft branch is `drafts/<package path>/<workspace>`.
4. No ref may stand inside another: git cannot hold `net/v5` beside `net/v5/v1`. So a folder named
   like a revision is refused as a package.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from functools import lru_cache
from typing import Final, NewType

from lifecycle.policy import Policy, Root

Sha = NewType("Sha", str)
"""A commit, 40 hex digits."""

Ref = NewType("Ref", str)
"""A ref spelled in full, such as "refs/tags/net/core/v5"."""

HEADS, TAGS = "refs/heads", "refs/tags"
"""The folders of branches and of tags."""

DRAFTS = "drafts/"
"""What the names of draft branches begin with."""

DELETIONS, DEPRECATIONS = "deletionProposed/", "porchbot/deprecate/"
"""What the names of branches begin with from which revisions are withdrawn, as with Porch, and
deprecated."""

MOST_REVISIONS = 999_999_999
"""The highest number that is read as a revision; longer ones are foreign tags."""

REVISION_NUMBER = r"[1-9][0-9]{0,8}"
"""How the number of a revision is written; nine digits fit every integer that Porch and databases
use, longer ones are foreign."""

_REVISION = re.compile(rf"v({REVISION_NUMBER})", re.ASCII)

SEGMENT_BYTES = 250
"""Most bytes of a part of a ref name."""
# 255 bytes is the longest file name; git adds ".lock" to a loose ref while it writes it.

_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\\ud800-\udfff]|\.\.|@\{")


def branch_ref(name: str) -> Ref:
    """Return the full name of a branch."""
    return Ref(f"{HEADS}/{name}")


def tag_ref(name: str) -> Ref:
    """Return the full name of a tag."""
    return Ref(f"{TAGS}/{name}")


def is_branch(ref: str) -> bool:
    """Tell whether a full name is a branch's."""
    return ref.startswith(f"{HEADS}/")


def is_tag(ref: str) -> bool:
    """Tell whether a full name is a tag's."""
    return ref.startswith(f"{TAGS}/")


def branch_name(ref: str) -> str:
    """Return a branch's own name; any other ref as it is."""
    return ref.removeprefix(f"{HEADS}/")


def tag_name(ref: str) -> str:
    """Return a tag's own name; any other ref as it is."""
    return ref.removeprefix(f"{TAGS}/")


def tag(package: str, revision: int) -> Ref:
    """Make the full name of a release tag.

    Args:
        package: Path in the repository; "" for a package at its root.
        revision: From 1 to 999,999,999.

    Raises:
        ValueError: No such tag can exist; `fault` and `looks_like_revision` tell beforehand.
    """
    name = spelled(package, revision)
    made = tag_ref(name)
    if parse_tag(made) != (package, revision):
        if found := fault(made):
            raise ValueError(f"tag {name!r}: git forbids it ({found.rule}). Rename the folder.")
        raise ValueError(f"tag {name!r}: not read back as that revision. Rename the folder.")
    return made


def spelled(package: str, revision: int) -> str:
    """Spell a revision as its tag is called, such as "net/core/v5"."""
    return f"{package}/v{revision}" if package else f"v{revision}"


def shown(package: str, revision: int) -> str:
    """Spell a revision for people and on command lines: "net/core@v5", "@v3" at the root."""
    return f"{package}@v{revision}"


def parse_shown(text: str) -> tuple[str, int] | None:
    """Read a revision as `shown` spells it; None for anything else."""
    package, at, last = text.rpartition("@")
    found = _REVISION.fullmatch(last) if at else None
    return parse_tag(tag_ref(spelled(package, int(found[1])))) if found else None


def withdrawal_branch(package: str, revision: int) -> str:
    """Return the branch from which a withdrawal is proposed: where Porch proposes a deletion."""
    return f"{DELETIONS}{spelled(package, revision)}"


def deprecation_branch(package: str, revision: int) -> str:
    """Return the branch from which a deprecation is proposed."""
    return f"{DEPRECATIONS}{spelled(package, revision)}"


def is_ledger_branch(branch: str) -> bool:
    """Tell whether a branch is one of those from which the bot proposes entries of the ledger."""
    return branch.startswith((DELETIONS, DEPRECATIONS))


def parse_tag(ref: str) -> tuple[str, int] | None:
    """Read a release tag: package and revision; None for any other ref, in full spelling only."""
    if not is_tag(ref) or fault(ref):
        return None
    package, _, last = tag_name(ref).rpartition("/")
    found = _REVISION.fullmatch(last)
    if found is None or looks_like_revision(package.rpartition("/")[2]):
        return None
    return package, int(found[1])


def revision_number(word: str) -> int:
    """The number of a revision that is written as "v5"; 0 for any other word."""
    found = _REVISION.fullmatch(word)
    return int(found[1]) if found else 0


def looks_like_revision(folder: str) -> bool:
    """Tell whether a folder's name, such as "v5", reads as a revision."""
    return revision_number(folder) > 0


def revisions(package: str, tags: Iterable[str]) -> tuple[int, ...]:
    """The revisions of a package that are tagged, in rising order; foreign tags do not count."""
    parsed = (parse_tag(ref) for ref in tags)
    return tuple(sorted({found[1] for found in parsed if found and found[0] == package}))


def numbered(tags: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """The revisions of every package that has one, as `revisions` gives those of one."""
    found: dict[str, set[int]] = {}
    for ref in tags:
        if parsed := parse_tag(ref):
            found.setdefault(parsed[0], set()).add(parsed[1])
    return {package: tuple(sorted(numbers)) for package, numbers in found.items()}


def next_revision(package: str, tags: Iterable[str], ledger: Mapping[str, Collection[int]]) -> int:
    """Number the next revision: one more than the highest ever used.

    Args:
        package: Path in the repository.
        tags: Refs of the repository in full spelling; others than its release tags do not count.
        ledger: Package to revisions that were withdrawn or deprecated: their tags may be gone,
            their numbers stay used.
    """
    return max([0, *revisions(package, tags), *ledger.get(package, ())]) + 1


def workspace(head_ref: str, number: int) -> str:
    """Name a proposal's workspace for Porch: the last part of `drafts/…`, else `pr-<number>`.

    Args:
        head_ref: Name of the head branch.
        number: The pull request's number.
    """
    folder, _, last = head_ref.rpartition("/")
    draft = last and f"{folder}/".startswith(DRAFTS)
    return last if draft else f"pr-{number}"


GROUPS = "gh-readonly-queue"
"""The folder of the branches of merge groups."""

_GROUP = re.compile(rf"{GROUPS}/(.+)/pr-([1-9][0-9]{{0,9}})-[0-9a-f]{{40,64}}", re.ASCII)


def group_of(branch: str) -> tuple[str, int] | None:
    """Read the name of a merge group's branch: its base branch, and the proposal added last.

    None for any other branch.

    Source: https://docs.github.com/webhooks/webhook-events-and-payloads#merge_group
    """
    found = _GROUP.fullmatch(branch)
    return (found[1], int(found[2])) if found else None


def units(
    packages: Iterable[str], policy: Policy, base_ref: str, default_ref: str, tags: Iterable[str]
) -> frozenset[str]:
    """Choose the units of release among the packages of a tree.

    The outermost packages below the configured roots of this base branch, and a nested one only
    when it has tags of its own already, or when the configuration names it as a root.

    Args:
        packages: Paths of all folders with a Kptfile; "" for the root.
        policy: The base branch's configuration.
        base_ref: Name of the base branch, such as "main".
        default_ref: Name of the repository's default branch.
        tags: Refs of the repository in full spelling.
    """
    roots = [
        root
        for root in policy.roots or (Root(),)
        if (default_ref if root.branch is None else root.branch) == base_ref
    ]
    inside = {p for p in packages if any(root.holds(p) for root in roots)}
    tagged = {parsed[0] for ref in tags if (parsed := parse_tag(ref))}
    named = tagged | {root.directory for root in roots if root.directory}
    return frozenset(p for p in inside if p in named or not _nested(p, inside))


def changed_units(
    packages: Mapping[str, tuple[str, str]],
    policy: Policy,
    base_ref: str,
    default_ref: str,
    tags: Collection[str],
) -> frozenset[str]:
    """Choose the units of release that a change touches.

    What is there afterwards is judged among what is there then, what is removed among what was
    there: a package that loses the one around it is a unit from then on. A package around one that
    differs differs as well, so none is missing that decides.

    Args:
        packages: Path to tree before and after; "" where there is no package. Besides those that
            differ, those around which there was one that is none any more.
        policy: As for `units`.
        base_ref: As for `units`.
        default_ref: As for `units`.
        tags: As for `units`.
    """
    was, now = (
        units([p for p, t in packages.items() if t[side]], policy, base_ref, default_ref, tags)
        for side in (0, 1)
    )
    changed = {p for p in now if packages[p][0] != packages[p][1]}
    return frozenset(changed | (now - was) | {p for p in was if not packages[p][1]})


def _nested(package: str, packages: Collection[str]) -> bool:
    """Whether another of the packages holds this one."""
    parts = package.split("/") if package else []
    return any("/".join(parts[:length]) in packages for length in range(len(parts)))


class RefRule(StrEnum):
    """A rule of git's for names of refs (git-check-ref-format(1), names with a slash)."""

    CHARACTERS = auto()
    SLASHES = auto()
    ENDS = auto()
    LENGTH = auto()


@dataclass(frozen=True, slots=True)
class RefFault:
    """Why git refuses the name of a ref: the rule, and the part of the name that breaks it."""

    rule: RefRule
    part: str = ""


def fault(ref: str) -> RefFault | None:
    """Find the first of git's rules that a ref name breaks; None for a valid one."""
    return (_known_fault if len(ref) <= _KEPT else _fault)(ref)


def _fault(ref: str) -> RefFault | None:
    if found := _FORBIDDEN.search(ref):
        return RefFault(RefRule.CHARACTERS, found[0])
    parts = ref.split("/")
    if len(parts) < 2 or not all(parts):
        return RefFault(RefRule.SLASHES)
    if any(part.startswith(".") or part.endswith(".lock") for part in parts) or ref.endswith("."):
        return RefFault(RefRule.ENDS)
    if any(len(part.encode()) > SEGMENT_BYTES for part in parts):
        return RefFault(RefRule.LENGTH)
    return None


_KEPT: Final = 512
"""Characters of a ref that is kept with its fault: a Kptfile may name one of a million."""

_known_fault = lru_cache(maxsize=4096)(_fault)  # each look asks it of the same few refs, many times


def clash(ref: str, refs: Iterable[str]) -> Ref | None:
    """Find an existing ref that stands inside this one or around it; git cannot hold both.

    Args:
        ref: The one to be made, in full spelling.
        refs: Those that exist.

    Returns:
        The first of them by name; None when there is room. The ref itself is no clash.
    """
    found = (r for r in refs if r.startswith(f"{ref}/") or ref.startswith(f"{r}/"))
    return min((Ref(r) for r in found), default=None)


_MERGED = re.compile(
    r"\A(?:Merge pull request #|[^\n]*\([#!](?=[0-9]+\)[ \t\r]*$))([1-9][0-9]{0,9})\b"
    r"|^See merge request [^\s!]*!([1-9][0-9]{0,9})\s*\Z",
    re.ASCII | re.MULTILINE,
)


def proposal_of(message: str) -> str | None:
    """Read from a merge commit which proposal it merged, such as "#12"; None when it says none.

    It reads the lines that forges and we write. Anybody can write one: for telling people only.

    Source: https://docs.gitlab.com/user/project/merge_requests/commit_templates/
    """
    found = _MERGED.search(message)
    return f"#{found[1] or found[2]}" if found else None
