"""Reading release tags for a look: which are ours, which number is next, what stands in the way.

Only a tag with our signed record counts as published by us; every integer tag uses up its number.
A tag of before the bot came counts as published then while it names what it named then, and no
revision of ours has a lower number: ours was one more than the highest that was there (ADR 78).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bot.git.port import History, Refs
from bot.store.values import Revision
from lifecycle import names, records
from lifecycle.identity import RepositoryId
from lifecycle.ledger import Entries
from lifecycle.ledger import withdrawn as withdrawn_in
from lifecycle.names import Sha
from lifecycle.tags import Foreign, Tagging, TagLoss

MOST_RECORDS: Final = 100
"""Tags of a package that the index does not know, and that are read for our record, newest first:
anybody who pushes makes any number of those."""


@dataclass(slots=True)
class Tags:
    """The release tags of the packages that one look is about.

    Args:
        git: The mirror, opened.
        repository_id: Which repository.
        keys: Keys that records may be made with, newest first.
        used: Package to the numbers that were published, as the index knows them.
        baseline: Release tags that were there when the bot came, in full spelling, to the objects
            that they named; None when nobody knows.
        above: Tags, in full spelling, that stand where folders of packages would have to be.
        packages: Those whose tags were fetched, with those of packages inside them.
    """

    git: History
    repository_id: RepositoryId
    keys: Sequence[bytes]
    used: Mapping[str, Mapping[int, Revision]]
    baseline: Mapping[str, str] | None
    above: set[str] = field(default_factory=set)
    packages: set[str] = field(default_factory=set)
    ours: dict[tuple[str, int], Revision] = field(default_factory=dict)
    _listed: dict[str, Refs] = field(default_factory=dict)
    _numbers: dict[str, list[int]] = field(default_factory=dict)
    _made: dict[str, frozenset[int]] = field(default_factory=dict)
    _firsts: dict[str, int | None] = field(default_factory=dict)

    def learn(self, packages: Iterable[str], used: Mapping[str, Mapping[int, Revision]]) -> None:
        """Take in packages whose tags were fetched, and what the index knows of them."""
        self.used = {**self.used, **used}
        self.packages |= set(packages)
        self._made.clear()
        self._firsts.clear()

    def refs(self, packages: Iterable[str]) -> list[str]:
        """The tags of packages and of packages inside them, in full spelling."""
        return [ref for package in packages for ref in self._refs(package)]

    def untagged(self, packages: Collection[str]) -> list[str]:
        """Those of some packages that have no tag at all."""
        return [p for p in packages if not self.refs([p])]

    def tagging(
        self, package: str, merge: Sha | None, *, removed: bool, listed: Entries
    ) -> Tagging:
        """How a package stands with its tags.

        Args:
            package: Its path.
            merge: The merge result; None before the merge.
            removed: There is nothing of it to tag.
            listed: What the ledger says of its revisions.
        """
        gone = withdrawn_in(listed)
        numbers = self._of(package)
        if merge is not None:
            for number in reversed(numbers):
                if self._at(package, number) == merge and self._is_ours(package, number):
                    made = self.ours[package, number].tag
                    foreign = self._foreign_at(package, merge)
                    if number in gone:
                        return Tagging(number, lost=TagLoss.RETURNED, tag=made)
                    return Tagging(number, tagged=True, tag=made, foreign=foreign)
            for number, revision in self.used.get(package, {}).items():
                if revision.target == merge:
                    return self._was(package, number, revision, withdrawn=number in gone)
            later = None if removed else self._later(package, merge)
            if later is not None:
                return later
        if removed:
            return Tagging(0)
        number = max(self.highest(package), *listed, 0) + 1
        return Tagging(
            number,
            clash=names.clash(_ref(package, number), {*self.refs([package]), *self.above}) or "",
            foreign=self._foreign_at(package, merge) if merge else self._foreign_last(package),
            missing=() if merge else self._missing(package, gone),
            listed=gone,
        )

    def highest(self, package: str) -> int:
        """The highest number of a package that a tag or the index knows; 0 for none."""
        return max(0, *self._of(package)[-1:], *self.used.get(package, ()), 0)

    def objects(self, package: str) -> dict[int, str]:
        """The objects that the tags of a package name, by number."""
        found = ((number, self._named(package, number)) for number in self._of(package))
        return {number: str(named[0]) for number, named in found if named}

    def standing(self, package: str, number: int) -> tuple[str, bool]:
        """The object that a revision's tag names, "" for none, and whether the tag is ours."""
        named = self._named(package, number)
        return (str(named[0]), self._is_ours(package, number)) if named else ("", False)

    def were_published(self, package: str) -> frozenset[int]:
        """The revisions that are tagged and were published: by us, or before we came.

        The index decides on what it knows. Others are read for our record, `MOST_RECORDS` of them.

        Args:
            package: Its path; the index was read for it.
        """
        known, made = self.used.get(package, {}), self._recorded(package)
        return frozenset(
            number
            for number in self._of(package)
            if number in made
            or (
                self._is_as_made(package, number)
                if number in known
                else self._was_before(package, number)
            )
        )

    def replaced(self, package: str) -> frozenset[int]:
        """The revisions that were published, and whose tags name something else by now.

        Args:
            package: As for `were_published`.
        """
        known = self.used.get(package, {})
        return frozenset(
            number
            for number in self._of(package)
            if (
                not self._is_as_made(package, number)
                if number in known
                else self._is_moved(package, number)
            )
        )

    def commit(self, package: str, number: int) -> Sha | None:
        """The commit of a revision, ours or not; None where there is none, or git lacks it."""
        known = self.used.get(package, {}).get(number)
        target = self._at(package, number) or (Sha(known.target) if known else None)
        return target if target is not None and self.git.has(target) else None

    def newest(self, package: str, before: Sha | None = None) -> tuple[int, Sha] | None:
        """The newest revision of ours, with its commit; None when there is none.

        Args:
            package: Its path.
            before: Only those that this commit holds; None for any.
        """
        for number, target in self._published(package):
            if before is None or self.git.contains(before, target):
                return number, target
        return None

    def _published(self, package: str) -> Iterator[tuple[int, Sha]]:
        """Revisions of ours whose commits git still has, newest first."""
        known = self.used.get(package, {})
        for number in sorted({*self._of(package), *known}, reverse=True):
            if number in known:
                target: str | None = known[number].target
            else:
                target = self._at(package, number) if self._is_ours(package, number) else None
            if target is not None and self.git.has(target):
                yield number, Sha(target)

    def _later(self, package: str, merge: Sha) -> Tagging | None:
        """The first revision that a later proposal published from a commit that holds this one."""
        found = None
        for number, target in self._published(package):
            if target == merge or not self.git.contains(target, merge):
                break
            found = number
        if found is None:
            return None
        known = self.used.get(package, {}).get(found)
        by = f"#{known.proposal}" if known is not None and known.proposal else ""
        return Tagging(found, tagged=True, within=by)

    def _was(self, package: str, number: int, known: Revision, *, withdrawn: bool) -> Tagging:
        """What became of a tag that we made, and that is not there as we made it."""
        if withdrawn and self._named(package, number):
            return Tagging(number, lost=TagLoss.RETURNED, tag=known.tag)
        if withdrawn:
            return Tagging(number, tagged=True, withdrawn=True)
        return Tagging(number, lost=self._lost(package, number), tag=known.tag)

    def _lost(self, package: str, number: int) -> TagLoss:
        return TagLoss.REPLACED if self._named(package, number) else TagLoss.GONE

    def _missing(self, package: str, gone: frozenset[int]) -> tuple[str, ...]:
        """Earlier revisions whose tags are gone or replaced; of those from before us, replaced."""
        known = self.used.get(package, {})
        lost = {number for number in known if not self._is_as_made(package, number)}
        lost |= {n for n in self._of(package) if n not in known and self._is_moved(package, n)}
        return tuple(names.spelled(package, number) for number in sorted(lost - gone))

    def _is_as_made(self, package: str, number: int) -> bool:
        """Whether a tag names what the index says that we made."""
        known, here = self.used.get(package, {}).get(number), self._named(package, number)
        if known is None or here is None:
            return False
        return here[0] == known.tag if known.tag else here[1] == known.target

    def _foreign_at(self, package: str, merge: Sha) -> tuple[Foreign, ...]:
        """Tags of the package on a merge result that carry no record of ours."""
        return tuple(
            Foreign(
                names.spelled(package, number),
                before=False,
                marked=self._is_marked(package, number),
            )
            for number in self._of(package)
            if self._at(package, number) == merge and not self._is_ours(package, number)
        )

    def _foreign_last(self, package: str) -> tuple[Foreign, ...]:
        """The tag with the highest number, when it is not ours: it decides the next number."""
        for number in self._of(package)[-1:]:
            if number in self.used.get(package, {}) or self._is_ours(package, number):
                continue
            if not self._is_moved(package, number):  # else it is told as missing
                before = self._was_before(package, number)
                return (Foreign(names.spelled(package, number), before=before),)
        return ()

    def _was_before(self, package: str, number: int) -> bool:
        """Whether a tag was there when the bot came, as it is, and before anything of ours."""
        named, then = self._named(package, number), self._then(package, number)
        if not then or named is None or named[0] != then:
            return False
        if package not in self._firsts:  # asked for each of thousands of tags
            ours = {*self.used.get(package, ()), *self._recorded(package)}
            self._firsts[package] = min(ours, default=None)
        first = self._firsts[package]
        return first is None or number < first

    def _is_moved(self, package: str, number: int) -> bool:
        """Whether a tag of before the bot came names something else now."""
        named, then = self._named(package, number), self._then(package, number)
        if then is None or named is None or named[0] == then:
            return False
        return not self._is_ours(package, number)

    def _then(self, package: str, number: int) -> str | None:
        """The object that a tag named when the bot came; "" for an unknown one, None for no tag."""
        return None if self.baseline is None else self.baseline.get(_ref(package, number))

    def _recorded(self, package: str) -> frozenset[int]:
        """The revisions of ours, by their records, that the index does not know."""
        if package not in self._made:
            known = self.used.get(package, {})
            asked = [n for n in reversed(self._of(package)) if n not in known][:MOST_RECORDS]
            self._made[package] = frozenset(n for n in asked if self._is_ours(package, n))
        return self._made[package]

    def _at(self, package: str, number: int) -> Sha | None:
        named = self._named(package, number)
        return named[1] if named else None

    def _named(self, package: str, number: int) -> tuple[Sha, Sha] | None:
        """The object that a tag names, and the commit behind it; None when it is not there."""
        return self._refs(package).get(_ref(package, number))

    def _refs(self, package: str) -> Refs:
        """The tags of a package and of packages inside it."""
        if package not in self._listed:
            self._listed[package] = self.git.refs(f"{names.TAGS}/{package}".rstrip("/"))
        return self._listed[package]

    def _is_ours(self, package: str, number: int) -> bool:
        """Whether a tag carries the record that we make for exactly this revision."""
        if (package, number) in self.ours:
            return True
        named = self._named(package, number)
        if named is None:
            return False
        sha, target = named
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

    def _is_marked(self, package: str, number: int) -> bool:
        """Whether a tag has a mark as we make it, whoever made that."""
        named = self._named(package, number)
        message = self.git.tag_message(*named) if named else None
        return message is not None and records.carries_tag_mark(message)

    def _of(self, package: str) -> list[int]:
        """The numbers of a package that are tagged, rising."""
        if package not in self._numbers:
            self._numbers[package] = [*names.revisions(package, self.refs([package]))]
        return self._numbers[package]


def _ref(package: str, number: int) -> str:
    return names.tag_ref(names.spelled(package, number))
