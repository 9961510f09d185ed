"""The rules for variants that count in a repository: its own, and those that it lets in."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import structlog

from bot.config import CONFIG
from bot.forges.port import ForgeBusyError, ForgeMissingError, ForgeRefusedError, Repository
from bot.git.port import GitBusyError, Scope
from bot.look import variant_files, variant_rules
from bot.look.variant_rules import RepositoryObjects, RuleBook, Topics
from bot.loop import branches
from bot.loop.repository import ServedRepository
from bot.loop.serving import NotServedError, Serving
from bot.loop.variant_lending import Lending
from bot.loop.variant_telling import rules_of
from bot.recent import Recent
from bot.store.port import Store
from lifecycle import names
from lifecycle.identity import RepositoryId
from lifecycle.messages import variant_waits as texts
from lifecycle.names import Sha
from lifecycle.policy import ObjectFolder, Policy, VariantUse
from lifecycle.upstreams import consents
from lifecycle.variants.problems import Problem
from lifecycle.variants.reading import VariantFile

log = structlog.get_logger()

MOST_TOPICS = 1_000
"""Repositories whose topics are asked for: as many as a table of names may have."""

TOPICS_KEPT = 300.0
"""Seconds that topics are kept: a push wakes all repositories that rules reach, and each reads
those rules."""

MOST_RULINGS = 1_000
"""Repositories whose rules' topics are kept."""

MOST_BOOKS = 8
"""Repositories whose rules are remembered, as they are at one commit: many pull requests of one
rule are looked at in a row. A rule of a thousand packages takes half a mebibyte."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """A repository whose rules count.

    Attributes:
        served: The repository.
        tip: The commit whose rules count.
        policy: How they are configured there.
    """

    served: ServedRepository
    tip: Sha
    policy: Policy


@dataclass(frozen=True, slots=True)
class Others:
    """The other repositories whose rules count.

    Attributes:
        there: Those that could be read.
        complete: There are no more.
        busy: Why more may be told a little later.
    """

    there: list[Ruling] = field(default_factory=list)
    complete: bool = True
    busy: Sequence[ForgeBusyError | GitBusyError] = ()


@dataclass(frozen=True, slots=True)
class _Asked:
    """Topics that were asked for.

    Attributes:
        at: When, in monotonic seconds.
        tip: The commit of the rules.
        use: How these are configured.
        topics: The topics; None where the rules choose by none.
    """

    at: float
    tip: Sha
    use: VariantUse
    topics: Topics | None


class VariantBooks:
    """Reads rules for variants.

    Args:
        serving: Finds repositories.
        store: The database.
    """

    def __init__(self, serving: Serving, store: Store) -> None:
        self._serving = serving
        self._store = store
        self._lending = Lending(serving)
        self._known: Recent[RepositoryId, tuple[_State, RuleBook]] = Recent(MOST_BOOKS)
        self._asked: Recent[RepositoryId, _Asked] = Recent(MOST_RULINGS)
        self._asking: Recent[RepositoryId, asyncio.Lock] = Recent(MOST_RULINGS)

    async def book(self, ruling: Ruling) -> RuleBook:
        """What the rules of a repository want."""
        served, name = ruling.served, ruling.served.repository.full_name
        outside, topics = await self._outside(ruling), await self._topics(ruling)
        others = tuple((each.repository, each.tip, each.broken) for each in outside)
        state = name, ruling.tip, ruling.policy.variants, others, topics
        known = self._known.get(served.id)
        if known is None or known[0] != state:
            known = state, await served.offload(_book, ruling, outside, topics)
            self._known.put(served.id, known)
        return known[1]

    async def _outside(self, ruling: Ruling) -> list[RepositoryObjects]:
        """What the rules may select and inject of other repositories, by their consent."""
        folders = dict[tuple[str, str], list[ObjectFolder]]()
        for each in ruling.policy.variants.objects:
            if each.repository:
                folders.setdefault((each.repository.lower(), each.branch), []).append(each)
        return [await self._objects(ruling, *of, those) for of, those in folders.items()]

    def stale(self, ruling: Ruling, began: float) -> float | None:
        """Seconds after which topics are asked for anew; None where a look did so or needs none.

        Args:
            ruling: The rules.
            began: When that look began, in monotonic seconds.
        """
        asked = self._asked.get(ruling.served.id)
        if asked is None or asked.topics is None or asked.at >= began:
            return None
        return max(0.0, asked.at + TOPICS_KEPT - ruling.served.clock.monotonic())

    async def _topics(self, ruling: Ruling) -> Topics:
        """The topics of the repositories that rules name, asked for now or a little earlier."""
        served, use = ruling.served, ruling.policy.variants
        lock = self._asking.get(served.id) or asyncio.Lock()
        self._asking.put(served.id, lock)
        async with lock:
            now, asked = served.clock.monotonic(), self._asked.get(served.id)
            fresh = asked is not None and now < asked.at + TOPICS_KEPT
            if asked is None or not fresh or (asked.tip, asked.use) != (ruling.tip, use):
                asked = _Asked(now, ruling.tip, use, await self._ask(ruling))
                self._asked.put(served.id, asked)
        return asked.topics or ()

    async def _ask(self, ruling: Ruling) -> Topics | None:
        """The topics of the repositories that rules name; None where they choose by none.

        Of those only that are public or let the rules in: nobody learns topics of the others.
        """
        served, use, around = ruling.served, ruling.policy.variants, self._serving.around
        if not use.repositories or not await served.offload(_asks_for_topics, ruling):
            return None
        me = served.repository
        named = {each.repository or me.full_name for each in use.repositories.values()}
        found = list[tuple[str, tuple[str, ...]]]()
        for each in await around.named(served.id.forge, sorted(named)[:MOST_TOPICS]):
            if each.id == served.id or each.public or await self._is_let_in(me, each):
                found.append((each.full_name.lower(), tuple(sorted(each.topics))))
        return tuple(sorted(found))

    async def _is_let_in(self, me: Repository, other: Repository) -> bool:
        try:
            there = await self._serving.of(other.id, other.full_name, other.default_branch)
            scope = Scope(frozenset({other.default_branch}))
            await there.looker.fetcher.fetch(scope, there.clock.monotonic())
            rules = await rules_of(there)
        except (ForgeMissingError, NotServedError):
            return False
        sources = () if rules is None else rules[1].variants.sources
        return await self._serving.around.lets_in(sources, other.id, me)

    async def _objects(
        self, ruling: Ruling, name: str, branch: str, folders: list[ObjectFolder]
    ) -> RepositoryObjects:
        """Resources of a repository, at a branch; "" for its default branch."""
        served = ruling.served
        other = await self._lending.to(served, name)
        if other is None:
            return _unreadable(name, *texts.no_objects_of(name))
        default = other.repository.default_branch
        branch = branch or default
        if branch != default:
            published = await served.offload(branches.published_from, other.mirror, default)
            # What is not published from it is guarded by no rules of ours; and of its own
            # repository everything counts as made by people here.
            if other.id == served.id or branch not in published:
                return _unreadable(name, *texts.no_objects_at(name, branch))
            scope = Scope(frozenset({branch}))
            await other.looker.fetcher.fetch(scope, served.clock.monotonic())
        return await served.offload(_resources, other, name, branch, folders)

    async def allowed(self, book: RuleBook, downstream: ServedRepository) -> RuleBook:
        """Return rules with what packages of one repository may be made of.

        Args:
            book: The rules.
            downstream: The repository of the packages.
        """
        kept = list[RepositoryObjects]()
        for each in book.outside:
            if await self._lending.to(downstream, each.repository) is not None:
                kept.append(each)
        if len(kept) == len(book.outside):
            return book
        left = {each.repository for each in book.outside if each not in kept}
        return book.without(left, downstream.repository.full_name)

    async def others(self, served: ServedRepository, named: Sequence[str]) -> Others:
        """The other repositories whose rules may want packages in one.

        Args:
            served: The one.
            named: Those that it lets in, as `lifecycle.upstreams.consents` has them.
        """
        found = list[Ruling]()
        busy = list[ForgeBusyError | GitBusyError]()
        around, entries = self._serving.around, {consents.name_of(each) for each in named}
        known = await around.known(served.id.forge, sorted(entries))
        complete = entries <= {name.full_name.lower() for name in known}
        for name in known:
            if name.id == served.id:
                continue
            try:
                each = await around.reached(name)
                if each is None or not await around.lets_in(named, served.id, each):
                    complete = False
                    continue
                other = await self._serving.of(each.id, each.full_name, each.default_branch)
                branch = other.repository.default_branch
                scope = Scope(frozenset({branch}))
                await other.looker.fetcher.fetch(scope, served.clock.monotonic())
                rules = await rules_of(other)
            except (ForgeBusyError, GitBusyError) as error:
                log.info("rules not read", repository=name.full_name, reason=str(error))
                busy.append(error)
                continue
            except (ForgeRefusedError, NotServedError) as error:  # as one that is suspended
                log.info("rules not read", repository=name.full_name, reason=str(error))
                complete = False
                continue
            if rules is None:
                complete = False
            else:
                found.append(Ruling(other, *rules))
        return Others(found, complete and not busy, busy)


_Other: TypeAlias = tuple[str, str, tuple[VariantFile, ...]]
"""Another repository: its name, the commit that was read, and what could not be."""

_State: TypeAlias = tuple[str, Sha, VariantUse, tuple[_Other, ...], Topics]
"""What rules are read of: their repository's name, commit and configuration, others, and topics."""


def _unreadable(name: str, problem: str, fix: str) -> RepositoryObjects:
    """A repository whose resources cannot be used, which is told where it is configured."""
    found = Problem(CONFIG, 0, 0, "objects", problem, fix)
    return RepositoryObjects(repository=name, broken=(VariantFile(problems=(found,)),))


def _asks_for_topics(ruling: Ruling) -> bool:
    with ruling.served.mirror.open() as git:
        return variant_rules.asks_for_topics(git, ruling.tip, ruling.policy.variants)


def _resources(
    other: ServedRepository, name: str, branch: str, folders: Sequence[ObjectFolder]
) -> RepositoryObjects:
    default = other.repository.default_branch
    with other.mirror.open() as git:
        tip = git.ref(names.branch_ref(branch))
        if tip is None and branch == default:
            return RepositoryObjects(repository=name)
        if tip is None:
            return _unreadable(name, *texts.no_objects_at(name, branch))
        full, room = other.repository.full_name, variant_files.ReadBudget()
        found, broken = variant_files.objects(git, tip, full, folders, room)
    return RepositoryObjects(repository=name, tip=tip, objects=tuple(found), broken=tuple(broken))


def _book(ruling: Ruling, outside: Sequence[RepositoryObjects], topics: Topics) -> RuleBook:
    served = ruling.served
    with served.mirror.open() as git:
        name = served.repository.full_name
        use = ruling.policy.variants
        return variant_rules.read(git, ruling.tip, name, use, outside, topics)
