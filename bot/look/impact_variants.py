"""What a change of the rules for variants would do: resolved as a branch has them, and compared.

What other repositories lend is taken as the rules of the default branch read it: nobody who only
pushes a branch gets to see more of them.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol, TypeAlias

from bot.clock import Offload
from bot.look import variant_rules
from bot.look.drafted_from import MOST_BYTES
from bot.look.impact_plan import ImpactPlan
from bot.look.variant_files import FileTrees
from bot.look.variant_rules import RepositoryObjects, Topics
from cadlib.errors import PackageError
from cadlib.kptfile import reader as kptfiles
from cadlib.package.files import KPTFILE
from lifecycle import impact_variants as deciding
from lifecycle import names
from lifecycle.facts.impact import VariantChange, VariantsImpact
from lifecycle.impact_variants import WantedVariants
from lifecycle.names import Sha
from lifecycle.policy import ObjectFolder, VariantUse
from lifecycle.variants.pipeline import kept_by

MOST_NAMED: Final = 30
"""Other repositories of which it is asked whether they may be named; packages in further ones are
counted."""

MOST_KEPT: Final = 50
"""Changes of rules of one repository of which is kept what came of them."""

MOST_CHANGES_KEPT: Final = 100_000
"""Downstreams in all of these together, of some 400 bytes each; of the newest change all."""


MOST_UPSTREAMS: Final = 50
"""Upstreams of which it is looked up which revisions are there; of others all are taken to be."""

Tagged: TypeAlias = Callable[[Collection[str]], Awaitable[Collection[str]]]
"""Gives the tags of some packages of the rules' own repository, by full name, as they are now."""


class Packages(FileTrees, Protocol):
    """Where rules and packages are; `History` is one."""

    def blob(self, commit: str, path: str, most: int) -> bytes | None:
        """The first bytes of a file; None where there is none."""


@dataclass(frozen=True, slots=True)
class Lent:
    """What rules get from other repositories.

    Attributes:
        use: How the rules of the default branch are configured that it was read for.
        outside: Resources of other repositories.
        topics: Topics of repositories.
    """

    use: VariantUse = field(default_factory=VariantUse)
    outside: Sequence[RepositoryObjects] = ()
    topics: Topics = ()


class OtherRepositories(Protocol):
    """Knows other repositories."""

    async def lent(self) -> Lent:
        """What the rules of the default branch get from them now, and everybody here may see."""

    async def named(self, names: Collection[str]) -> Mapping[str, str]:
        """Those that may be named to everybody who can read this one, to their full names.

        Args:
            names: Full names in small letters.
        """


class NoOtherRepositories:
    """Implements `OtherRepositories` where no other repository is known."""

    async def lent(self) -> Lent:
        """Nothing."""
        return Lent()

    async def named(self, _names: Collection[str]) -> Mapping[str, str]:
        """None."""
        return {}


ALONE: Final = NoOtherRepositories()


class VariantTrials:
    """Compares rules for variants of one repository.

    Args:
        around: Knows others.
        offload: Where git is read, and rules are resolved.
    """

    def __init__(self, around: OtherRepositories, offload: Offload) -> None:
        self._around = around
        self._offload = offload
        self._kept: dict[tuple[object, ...], Compared] = {}

    def forget(self) -> None:
        """Drop what is kept."""
        self._kept.clear()

    @property
    def _is_much(self) -> bool:
        changes = sum(len(each.changes) for each in self._kept.values())
        return len(self._kept) > MOST_KEPT or changes > MOST_CHANGES_KEPT

    async def tried(
        self, git: Packages, plan: ImpactPlan, own: str, tagged: Tagged
    ) -> VariantsImpact:
        """Return what a head would do to what its repository's rules want.

        Args:
            git: The mirror, opened.
            plan: What is to be tried; its rules for variants are those of the default branch.
            own: Full name of the repository.
            tagged: Knows which revisions are there.
        """
        if not plan.variants:
            return VariantsImpact()
        lent = await self._around.lent()
        key = await self._offload(_key, git, plan, lent)
        found = self._kept.get(key)
        if found is None:
            found = await self._offload(compared, git, plan, own, lent)
            self._kept[key] = found
            while len(self._kept) > 1 and self._is_much:
                del self._kept[next(iter(self._kept))]

        keepers = partial(_keepers, git, plan.base)
        missing = await _missing(found.changes, tagged)
        changes = await self._offload(
            deciding.as_things_stand, found.changes, own, keepers, missing
        )
        others = sorted({e.repository for e in changes if not e.outside} - {own.lower()})
        named = await self._around.named(others[:MOST_NAMED]) if others else {}
        return deciding.told(
            changes, found.wanted, found.problems, own=own, named=named, unread=found.unread
        )


async def _missing(changes: Iterable[VariantChange], tagged: Tagged) -> frozenset[tuple[str, int]]:
    """The revisions that rules name and that are not there, of the first packages."""
    needed = sorted({each.needs for each in changes if each.needs})
    packages = sorted({package for package, _ in needed})[:MOST_UPSTREAMS]
    if not packages:
        return frozenset()
    there = await tagged(packages)
    asked = (each for each in needed if each[0] in packages)
    return frozenset(each for each in asked if names.tag_ref(names.spelled(*each)) not in there)


def alone(git: Packages, plan: ImpactPlan, own: str) -> VariantsImpact:
    """Return the same as `VariantTrials.tried`, where no other repository is known.

    Args:
        git: Where both states of the rules are.
        plan: Which they are.
        own: Full name of the repository; "" where it is not known.
    """
    found = compared(git, plan, own, Lent())
    changes = deciding.as_things_stand(found.changes, own, partial(_keepers, git, plan.base))
    return deciding.told(
        changes, found.wanted, found.problems, own=own, named={}, unread=found.unread
    )


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of a comparison.

    Attributes:
        changes: Downstreams that would be wanted otherwise.
        wanted: How many would be wanted.
        problems: Errors in the rules.
        unread: Something of other repositories was not read for it.
    """

    changes: tuple[VariantChange, ...]
    wanted: int
    problems: int
    unread: bool


def compared(git: Packages, plan: ImpactPlan, own: str, lent: Lent) -> Compared:
    """Resolve rules as a branch began with them and as it has them, and compare what they want.

    Args:
        git: Where both are.
        plan: Which they are.
        own: Full name of the repository.
        lent: What they get from others.
    """
    sides = (plan.origin, plan.held.variants), (plan.head, plan.wants)
    before, after = (_wanted(git, at, use, own, lent) for at, use in sides)
    return Compared(
        changes=deciding.difference(before, after),
        wanted=len(after.variants),
        problems=after.problems,
        unread=before.unread or after.unread,
    )


def _wanted(git: Packages, at: Sha, use: VariantUse, own: str, lent: Lent) -> WantedVariants:
    outside = [each for each in lent.outside if _same(each.repository, use, lent.use)]
    book = variant_rules.read(git, at, own, use, outside, lent.topics)
    return WantedVariants(
        variants={book.place(each): each for each in book.variants},
        objects=book.objects,
        problems=len(book.problems),
        own=frozenset(n for n in use.repositories if book.full_name(n).lower() == own.lower()),
        unread=_asks_for_more(use, outside) or _asks_for_topics(git, at, use, lent),
    )


def _asks_for_topics(git: Packages, at: Sha, use: VariantUse, lent: Lent) -> bool:
    """Whether rules choose by topics that were not asked for."""
    known, wanted = (
        {each.repository.lower() for each in one.repositories.values()} for one in (lent.use, use)
    )
    asked = bool(lent.topics) and wanted <= known
    return bool(wanted) and not asked and variant_rules.asks_for_topics(git, at, use)


def _same(repository: str, one: VariantUse, other: VariantUse) -> bool:
    """Whether two configurations read the same of another repository."""
    return _folders(one, repository) == _folders(other, repository)


def _folders(use: VariantUse, repository: str) -> list[ObjectFolder]:
    return [each for each in use.objects if each.repository.lower() == repository]


def _asks_for_more(use: VariantUse, outside: Sequence[RepositoryObjects]) -> bool:
    """Whether a configuration reads of another repository what was not read."""
    read = {each.repository for each in outside}
    return any(each.repository and each.repository.lower() not in read for each in use.objects)


def _keepers(git: Packages, base: Sha, package: str) -> Collection[str] | None:
    """The variants that keep a package of the base branch; None where there is none."""
    path = f"{package}/{KPTFILE}".lstrip("/")
    data = git.blob(base, path, MOST_BYTES)
    try:
        return None if data is None else kept_by(kptfiles.read(data, path=path))
    except PackageError:
        return ()


def _key(git: Packages, plan: ImpactPlan, lent: Lent) -> tuple[object, ...]:
    """What a comparison follows from: the folders of rules and resources, and what is lent."""
    states = []
    for at, use in ((plan.origin, plan.held.variants), (plan.head, plan.wants)):
        folders = {each.rpartition("/")[0] for each in use.files}
        folders |= {each.directory for each in use.objects if not each.repository}
        states.append((repr(use), tuple((f, git.tree(at, f)) for f in sorted(folders))))
    tips = tuple((each.repository, each.tip) for each in lent.outside)
    return *states, repr(lent.use), tips, lent.topics
