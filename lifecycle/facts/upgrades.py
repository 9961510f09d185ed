"""Upgrades that a proposal holds: which conflicts they met, and what became of each."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from cadlib.kptfile.values import GitRef
from lifecycle.facts.drafts import DraftWait
from lifecycle.facts.update import UpdateConflict
from lifecycle.names import Sha

MOST_UPGRADES = 5
"""Upgrades of one proposal that are looked at, the newest."""

_MARK = "Porchbot-Resolved"
_RESOLVED = re.compile(rf"^{_MARK}: ([0-9a-f]{{16}})$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """One commit that brought a package to another version of its upstream.

    Attributes:
        package: Its path.
        commit: The commit.
        before: Tree id of the package before it.
        upstream: Where the upstream is since, with the commit that was fetched.
        strategy: How it was merged.
        asker: Who had the bot make it, as from `authors.spelled`; "" for a commit of people.
        conflicts: What both sides had changed, each in its own way; the first of them.
        more: How many more there are.
        unread: Nobody could tell its conflicts, as its upstream could not be read.
        problem: Why, in words; "" while it is tried again.
        waits: It is tried again, as that cannot be read now; None where it is not.
    """

    package: str
    commit: Sha
    before: str
    upstream: GitRef
    strategy: str = ""
    asker: str = ""
    conflicts: tuple[UpdateConflict, ...] = ()
    more: int = 0
    unread: bool = False
    problem: str = ""
    waits: DraftWait | None = None

    def digest(self, conflict: UpdateConflict) -> str:
        """Return what tells a conflict of it from all others: 16 hex digits."""
        told = f"{self.package}\0{self.upstream.commit}\0{self.before}\0{conflict!r}"
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedConflict:
    """One conflict of a proposal, by the number that people name it by.

    Attributes:
        number: From 1.
        upgrade: Of which upgrade.
        conflict: It.
        resolved: Somebody decided what counts there.
    """

    number: int
    upgrade: Upgrade
    conflict: UpdateConflict
    resolved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrades:
    """All upgrades of a proposal, oldest first.

    Attributes:
        found: They.
        resolved: Digests of the conflicts that commits of ours resolved.
    """

    found: tuple[Upgrade, ...] = ()
    resolved: frozenset[str] = frozenset()

    @property
    def conflicts(self) -> tuple[NumberedConflict, ...]:
        """Every conflict that is told, numbered through."""
        told = [(upgrade, each) for upgrade in self.found for each in upgrade.conflicts]
        return tuple(
            NumberedConflict(
                number=number,
                upgrade=upgrade,
                conflict=each,
                resolved=upgrade.digest(each) in self.resolved,
            )
            for number, (upgrade, each) in enumerate(told, 1)
        )

    def numbered(self, number: int) -> NumberedConflict | None:
        """Return the conflict of a number; None where there is none, or nobody can tell which.

        Behind an upgrade whose conflicts could not be read the numbers may be others.
        """
        every = self.conflicts
        found = every[number - 1] if 0 < number <= len(every) else None
        if found is None:
            return None
        before = self.found[: self.found.index(found.upgrade)]
        return None if any(each.unread for each in before) else found

    @property
    def unread(self) -> bool:
        """Conflicts of some upgrade could not be read."""
        return any(each.unread for each in self.found)


def resolved_line(conflict: NumberedConflict) -> str:
    """Return the line of a commit's message that tells which conflict it resolves."""
    return f"{_MARK}: {conflict.upgrade.digest(conflict.conflict)}"


def resolved_by(messages: Iterable[str]) -> frozenset[str]:
    """Return the digests of the conflicts that commits of ours resolved, by their messages."""
    return frozenset(each for message in messages for each in _RESOLVED.findall(message))
