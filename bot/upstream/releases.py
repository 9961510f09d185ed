"""The releases of a package of a repository that is served, and how each stands.

Rules
- What the ledger withdraws or deprecates is not used.
- Of a package that was rolled back, and is held, what was newer is not used: those revisions whose
  own commit does not know of that hold. The rollback's own revision does. Of those the newest
  `MOST_READ` are read, from the top; the others count as held.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from threading import Lock
from typing import Final

from bot import config, ledger_paths
from bot.git.port import History, Refs
from lifecycle import annotations, names
from lifecycle.ledger import Entries, ListedState, both, held
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy
from lifecycle.variants.upstreams import UpstreamState

_SAID: Final = {
    ListedState.WITHDRAWN: UpstreamState.WITHDRAWN,
    ListedState.DEPRECATED: UpstreamState.DEPRECATED,
}

MOST_READ: Final = 1_000
"""The newest releases of a package whose commits are read."""

MOST_KEPT: Final = 50_000
"""Answers that are kept of what commits know; about 200 bytes each."""


class Knowing:
    """Remembers which commits know of a hold: what a commit says stays. For many threads."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[Sha, str, int], bool] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def knows(self, git: History, commit: Sha, package: str, hold: int) -> bool:
        """Tell whether the ledger at a commit has an entry of a revision.

        Args:
            git: The repository's mirror, opened.
            commit: Which one.
            package: Path of the package.
            hold: Number of the revision.
        """
        asked = (commit, package, hold)
        with self._lock:
            found = self._kept.get(asked)
        if found is None:
            if not git.has(commit):
                return False  # it may come yet
            found = hold in (entries(git, commit, package) or {})
            with self._lock:
                self._kept[asked] = found
                if len(self._kept) > self._most:
                    self._kept.popitem(last=False)
        return found


def of(git: History, package: str) -> Refs:
    """The tags of a package and of what is inside of it."""
    return git.refs(names.tag_ref(package) if package else names.TAGS)


def state(
    git: History, tip: str | None, package: str, number: int, commit: Sha, knowing: Knowing
) -> UpstreamState:
    """How one release stands; as `good` has it, which no other release is read for.

    Args:
        git: As for `good`.
        tip: As for `good`.
        package: As for `good`.
        number: Its number.
        commit: The commit that its tag names.
        knowing: As for `good`.
    """
    listed, above = entries(git, tip, package) or {}, 0
    if held(listed):
        numbers = names.revisions(package, of(git, package))
        above = sum(1 for n in numbers if n > number and _said(listed, n) is None)
    ((_, found),) = _states(git, tip, package, [(number, commit)], knowing, MOST_READ - above)
    return found


def good(
    git: History,
    tip: str | None,
    package: str,
    tags: Refs,
    knowing: Knowing,
    among: Collection[int],
    most: int = MOST_READ,
) -> Iterator[int]:
    """The releases that may be used, falling; no more is read than is taken.

    Args:
        git: The repository's mirror, opened.
        tip: The branch whose ledger counts; None where it is not there.
        package: Path of the package.
        tags: As `of` gives them.
        knowing: What is known of commits already.
        among: Numbers that are tagged; no others are looked at.
        most: Of how many the commits are read, where the package is held.
    """
    commits = ((n, tags[names.tag(package, n)][1]) for n in sorted(among, reverse=True))
    for number, found in _states(git, tip, package, commits, knowing, most):
        if found is UpstreamState.GOOD:
            yield number


def _states(
    git: History,
    tip: str | None,
    package: str,
    commits: Iterable[tuple[int, Sha]],
    knowing: Knowing,
    most: int,
) -> Iterator[tuple[int, UpstreamState]]:
    """How releases stand, in their order; of `most` above a hold the commits are read."""
    listed = entries(git, tip, package)
    hold = None if listed is None else held(listed)
    read = 0
    for number, commit in commits:
        said = None if listed is None else _said(listed, number)
        if listed is None:  # nobody knows what it says
            said = UpstreamState.HELD
        elif said is None and hold and number > hold[0]:
            read += 1
            known = read <= most and knowing.knows(git, commit, package, hold[0])
            said = None if known else UpstreamState.HELD
        yield number, said or UpstreamState.GOOD


def _said(listed: Entries, number: int) -> UpstreamState | None:
    """What the ledger says against a release; None for nothing."""
    entry = listed.get(number)
    return None if entry is None else _SAID.get(entry.state)


def published_from(
    git: History, package: str, workspace: str, published: Collection[int]
) -> int | None:
    """The number of the newest release that was published from a draft; None for none.

    Args:
        git: As for `good`.
        package: As for `good`.
        workspace: Name of the draft, as the commit that is tagged says it.
        published: Numbers that were published: of others anybody may have written the commit.
    """
    tags = of(git, package)
    for number in sorted(published, reverse=True)[:MOST_READ]:
        commit = tags[names.tag(package, number)][1]
        if not git.has(commit):
            continue
        if annotations.workspace(git.commit(commit).message, package, number) == workspace:
            return number
    return None


def why_gone(git: History, tip: str | None, package: str, tag: str) -> str:
    """Why a release was withdrawn; "" for what was not, or is none.

    Args:
        git: As for `good`.
        tip: As for `good`.
        package: As for `good`.
        tag: Its name, with or without `refs/tags/`.
    """
    named = names.parse_tag(names.tag_ref(names.tag_name(tag)))
    entry = (entries(git, tip, package) or {}).get(named[1]) if named else None
    return entry.reason if entry and entry.state is ListedState.WITHDRAWN else ""


def entries(git: History, tip: str | None, package: str) -> Entries | None:
    """What the ledger says of a package at a commit; None where it cannot be read.

    Args:
        git: As for `usable`.
        tip: As for `usable`.
        package: As for `usable`.
    """
    if not tip or not git.has(tip):
        return {}
    path = ledger_paths.package_ledger(package)
    own = config.fetch(git.blob, tip, path) if path else None
    older = config.read_ledger(config.fetch(git.blob, tip, ledger_paths.LEDGER))
    alone = config.read_package_ledger(own, path)
    if isinstance(older, BrokenPolicy) or isinstance(alone, BrokenPolicy):
        return None
    return both(older.get(package, {}), alone)
