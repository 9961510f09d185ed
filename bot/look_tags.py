"""Reading release tags for a look: which are ours, which number is next, what stands in the way.

Only a tag with our signed record counts as published by us; every integer tag uses up its number.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bot.git import Snapshot
from bot.store import Revision
from lifecycle import names, records
from lifecycle.names import Sha
from lifecycle.tags import Foreign, Lost, Tagging

_TAGS = "refs/tags/"


@dataclass(slots=True)
class Tags:
    """The release tags of one repository, during one look.

    Args:
        git: The mirror, opened.
        repository_id: The forge's number.
        keys: Keys that records may be made with, newest first.
        used: Package to the numbers that were published, as the index knows them.
        baseline: Release tags that were there when the bot came; None when nobody knows.
    """

    git: Snapshot
    repository_id: int
    keys: Sequence[bytes]
    used: Mapping[str, Mapping[int, Revision]]
    baseline: frozenset[str] | None
    ours: dict[tuple[str, int], Revision] = field(default_factory=dict)
    _numbers: dict[str, list[int]] | None = None

    @property
    def refs(self) -> list[str]:
        """Every tag in full spelling."""
        return [ref for ref in self.git.refs() if ref.startswith(_TAGS)]

    def tagging(
        self, package: str, merge: Sha | None, *, removed: bool, listed: Iterable[int]
    ) -> Tagging:
        """How a package stands with its tags.

        Args:
            package: Its path.
            merge: The merge result; None before the merge.
            removed: There is nothing of it to tag.
            listed: Its numbers in the ledger: their tags may be gone.
        """
        ledger = frozenset(listed)
        numbers = self._of(package)
        if merge is not None:
            for number in reversed(numbers):
                if self._at(package, number) == merge and self._is_ours(package, number):
                    made = self.ours[package, number].tag
                    foreign = self._foreign_at(package, merge)
                    return Tagging(number, tagged=True, tag=made, foreign=foreign)
            for number, revision in self.used.get(package, {}).items():
                if revision.target == merge:
                    return self._was(package, number, revision, withdrawn=number in ledger)
        if removed:
            return Tagging(0)
        highest = [*numbers[-1:], *ledger, *self.used.get(package, ())]
        number = max([0, *highest]) + 1
        return Tagging(
            number,
            clash=names.clash(_ref(package, number), self.refs) or "",
            foreign=self._foreign_at(package, merge) if merge else self._foreign_last(package),
            missing=() if merge else self._missing(package, ledger),
            listed=ledger,
        )

    def _was(self, package: str, number: int, known: Revision, *, withdrawn: bool) -> Tagging:
        """What became of a tag that we made, and that is not there as we made it."""
        if withdrawn:
            return Tagging(number, tagged=True, withdrawn=True)
        return Tagging(number, lost=self._lost(package, number), tag=known.tag)

    def _lost(self, package: str, number: int) -> Lost:
        if _ref(package, number) not in self.git.refs():
            return Lost.GONE
        return Lost.REPLACED

    def _missing(self, package: str, ledger: frozenset[int]) -> tuple[str, ...]:
        """Earlier revisions that we published, and whose tags are gone or replaced."""
        found = []
        for number, known in sorted(self.used.get(package, {}).items()):
            here = self.git.refs().get(_ref(package, number))
            same = here is not None and (
                here[0] == known.tag if known.tag else here[1] == known.target
            )
            if not same and number not in ledger:
                found.append(names.spelled(package, number))
        return tuple(found)

    def _foreign_at(self, package: str, merge: Sha) -> tuple[Foreign, ...]:
        """Tags of the package on a merge result that carry no record of ours."""
        return tuple(
            Foreign(names.spelled(package, number), before=False)
            for number in self._of(package)
            if self._at(package, number) == merge and not self._is_ours(package, number)
        )

    def _foreign_last(self, package: str) -> tuple[Foreign, ...]:
        """The tag with the highest number, when it is not ours: it decides the next number."""
        for number in self._of(package)[-1:]:
            if number not in self.used.get(package, {}) and not self._is_ours(package, number):
                ref = _ref(package, number)
                before = self.baseline is not None and ref in self.baseline
                return (Foreign(names.spelled(package, number), before=before),)
        return ()

    def _at(self, package: str, number: int) -> Sha | None:
        return self.git.ref(_ref(package, number))

    def _is_ours(self, package: str, number: int) -> bool:
        """Whether a tag carries the record that we make for exactly this revision."""
        if (package, number) in self.ours:
            return True
        sha, target = self.git.refs()[_ref(package, number)]
        message = self.git.tag_message(sha, target)
        if message is None or not self.git.has(target):
            return False
        ours = records.has_tag_mark(
            message,
            self.keys,
            repository_id=self.repository_id,
            package=package,
            revision=number,
            commit=target,
            tree=self.git.tree(target, package),
        )
        if ours:
            self.ours[package, number] = Revision(target, sha)
        return ours

    def _of(self, package: str) -> list[int]:
        """The numbers of a package that are tagged, rising."""
        if self._numbers is None:
            self._numbers = {}
            for ref in self.refs:
                parsed = names.parse_tag(ref)
                if parsed is not None:
                    self._numbers.setdefault(parsed[0], []).append(parsed[1])
            for numbers in self._numbers.values():
                numbers.sort()
        return self._numbers.get(package, [])


def _ref(package: str, number: int) -> str:
    return f"{_TAGS}{names.spelled(package, number)}"
