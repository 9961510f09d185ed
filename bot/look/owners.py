"""Code owners of what a proposal changes, where rules name them: CODEOWNERS of the base branch."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from bot.look.reader import Basis, MirrorReader
from lifecycle import names, owners
from lifecycle.access import OwnersSource, Unreadable, parts
from lifecycle.names import Sha
from lifecycle.owners import Owned
from lifecycle.policy import BrokenPolicy, Policy


def of(
    reader: MirrorReader,
    base_ref: str,
    basis: Basis,
    policy: Policy | BrokenPolicy,
    places: Sequence[str],
    folders: Sequence[str],
    changed: Collection[str],
) -> Mapping[str, tuple[Owned, ...]]:
    """Return the files that a proposal changes by their owners, for each package that it touches.

    So it is for folders in them with rules of their own, each with all files in it; where only the
    base holds what is published of one, its Kptfile stands for that.

    The default branch's owners have a say on other branches as well: whoever makes a branch writes
    the file there (ADR 19).

    Args:
        reader: Reads git.
        base_ref: Name of the base branch.
        basis: What the proposal is compared with.
        policy: What judges it.
        places: The packages.
        folders: Folders in them that it reaches into.
        changed: Paths that differ.

    Returns:
        Nothing where no rule names code owners; under `owners.RULES` the other files.
    """
    if not named(policy):
        return {}
    commits = {basis.rules}
    if base_ref != reader.default_branch:
        commits |= {tip for tip in [reader.git.ref(names.branch_ref(reader.default_branch))] if tip}
    found: dict[str, tuple[Owned, ...]] = {}
    files = _by_package(places, changed)
    for folder in folders:
        within = [path for path in changed if path.startswith(f"{folder}/")]
        files[folder] = within or [f"{folder}/Kptfile"]
    for commit in sorted(commits):
        for place, paths in files.items():
            more = [o for o in _owned(reader, commit, paths) if o not in found.get(place, ())]
            found[place] = (*found.get(place, ()), *more)
    return found


def named(policy: Policy | BrokenPolicy) -> bool:
    """Tell whether a rule names code owners, of whichever action."""
    rules = policy.told if isinstance(policy, Policy) else ()
    sources = (part for rule in rules for source in rule.sources for part in parts(source))
    return any(isinstance(source, OwnersSource) for source in sources)


def _by_package(packages: Iterable[str], changed: Iterable[str]) -> dict[str, list[str]]:
    """Files by the innermost package around them; those in none under `owners.RULES`."""
    inner = sorted(packages, key=len, reverse=True)
    found: dict[str, list[str]] = {}
    for path in changed:
        place = next((p for p in inner if not p or path.startswith(f"{p}/")), owners.RULES)
        found.setdefault(place, []).append(path)
    return found


def _owned(reader: MirrorReader, commit: Sha, paths: Sequence[str]) -> tuple[Owned, ...]:
    for place in reader.owners.places:
        if reader.git.entry(commit, place).startswith("100"):
            data = reader.git.blob(commit, place, owners.MOST_BYTES + 1)
            if data is None or len(data) > owners.MOST_BYTES:
                return owners.unreadable(paths, Unreadable.LARGE)
            return reader.owners.read(data, paths)
    return reader.owners.read(b"", paths)
