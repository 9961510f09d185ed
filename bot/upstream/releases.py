"""The releases of a package of a repository that is served, and how each stands.

Rules
- What the ledger withdraws or deprecates is not used.
- Of a package that was rolled back, and is held, what was newer is not used: those revisions whose
  own commit does not know of that hold. The rollback's own revision does.
"""

from collections.abc import Mapping
from typing import Final

from bot import config
from bot.git.port import History, Refs
from lifecycle import annotations, names
from lifecycle.ledger import Entries, ListedState, held, withdrawn
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy
from lifecycle.variants.upstreams import UpstreamState

_SAID: Final = {
    ListedState.WITHDRAWN: UpstreamState.WITHDRAWN,
    ListedState.DEPRECATED: UpstreamState.DEPRECATED,
}

MOST_READ: Final = 1_000
"""The newest releases of a package whose commits are read to find a draft."""


def of(git: History, package: str) -> Refs:
    """The tags of a package and of what is inside of it."""
    return git.refs(names.tag_ref(package) if package else names.TAGS)


def newest(git: History, tip: str | None, package: str, tags: Refs) -> str | None:
    """The newest release that may be used; None for none."""
    found = usable(git, tip, package, tags)
    return names.tag(package, found[-1]) if found else None


def usable(git: History, tip: str | None, package: str, tags: Refs) -> list[int]:
    """The releases that may be used, rising.

    Args:
        git: The repository's mirror, opened.
        tip: The branch whose ledger counts; None where it is not there.
        package: Path of the package.
        tags: As `of` gives them.
    """
    numbers = names.revisions(package, tags)
    commits = {n: tags[names.tag(package, n)][1] for n in numbers}
    states = _states(git, tip, package, commits)
    return [n for n in numbers if states[n] is UpstreamState.GOOD]


def state(git: History, tip: str | None, package: str, number: int, commit: Sha) -> UpstreamState:
    """How one release stands.

    Args:
        git: As for `usable`.
        tip: As for `usable`.
        package: As for `usable`.
        number: Its number.
        commit: The commit that its tag names.
    """
    return _states(git, tip, package, {number: commit})[number]


def _states(
    git: History, tip: str | None, package: str, commits: Mapping[int, Sha]
) -> dict[int, UpstreamState]:
    entries = _entries(git, tip, package)
    if entries is None:  # nobody knows what it says
        return dict.fromkeys(commits, UpstreamState.HELD)
    hold = held(entries)
    found: dict[int, UpstreamState] = {}
    for number, commit in commits.items():
        entry = entries.get(number)
        said = None if entry is None else _SAID.get(entry.state)
        if said is None and hold and number > hold[0]:
            there = _entries(git, commit, package) or {}
            said = None if hold[0] in there else UpstreamState.HELD
        found[number] = said or UpstreamState.GOOD
    return found


def published_from(git: History, package: str, workspace: str) -> int | None:
    """The number of the newest release that was made from a draft of this name; None for none."""
    tags = of(git, package)
    for number in sorted(names.revisions(package, tags), reverse=True)[:MOST_READ]:
        commit = tags[names.tag(package, number)][1]
        if not git.has(commit):
            continue
        if annotations.workspace(git.commit(commit).message, package, number) == workspace:
            return number
    return None


def _entries(git: History, tip: str | None, package: str) -> Entries | None:
    """What the ledger says of a package at a commit; None where it cannot be read."""
    if not tip or not git.has(tip):
        return {}
    path = config.package_ledger(package)
    own = config.fetch(git.blob, tip, path) if path else None
    older = config.read_ledger(config.fetch(git.blob, tip, config.LEDGER))
    alone = config.read_package_ledger(own, path)
    if isinstance(older, BrokenPolicy) or isinstance(alone, BrokenPolicy):
        return None
    whole = older.get(package, {})
    return {**whole, **{n: each for n, each in alone.items() if n not in withdrawn(whole)}}
