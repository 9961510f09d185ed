"""The index of the in-memory store: repositories and revisions; and the audit trail."""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from bot.store.values import (
    BEGAN,
    KEPT_AUDIT_DAYS,
    Adopted,
    Adoption,
    BaselineTags,
    InstalledReach,
    Revision,
    ServedName,
    UpstreamUse,
    UpstreamUser,
)
from lifecycle.identity import RepositoryId
from lifecycle.names import TAGS, Sha
from tests.memory.statements import Statements, kept

MOST_TIPS = 50
"""Tips of one base branch that are kept."""


@dataclass
class MemoryRepositories:
    """`bot.store.port.Repositories`.

    Attributes:
        statements: What each of its statements does first.
        names: The name of each repository that was ever adopted.
    """

    statements: Statements
    names: dict[RepositoryId, str] = field(default_factory=dict)
    _adopted: dict[RepositoryId, Adoption] = field(default_factory=dict)
    _dashboards: dict[RepositoryId, int] = field(default_factory=dict)
    _observing: tuple[bool, datetime | None] | None = None
    _let_in: dict[tuple[RepositoryId, str], RepositoryId] = field(default_factory=dict)

    def served(self, repository_id: RepositoryId) -> bool:
        """Whether a repository is served now."""
        known = self._adopted.get(repository_id)
        return known is not None and known.gone is None

    def served_name(self, repository_id: RepositoryId) -> ServedName | None:
        """What a repository is called that is served now."""
        if not self.served(repository_id):
            return None
        at = self._adopted[repository_id].installation
        return ServedName(repository_id, self.names[repository_id], at)

    async def adoption(self, repository_id: RepositoryId) -> Adoption | None:
        await self.statements.begin()
        return kept(self._adopted.get(repository_id))  # type: ignore[no-any-return] # a copy of it

    async def baseline(
        self, repository_id: RepositoryId, packages: Collection[str]
    ) -> BaselineTags | None:
        await self.statements.begin()
        known = self._adopted.get(repository_id)
        if known is None:
            return None
        tags = {} if known.names_only else known.tags or {}
        folders = {f"{TAGS}/{each}" if each else TAGS for each in packages}
        found = {tag: at for tag, at in tags.items() if tag.rpartition("/")[0] in folders}
        return BaselineTags(found, known.names_only)

    async def reach(self, repository_id: RepositoryId) -> InstalledReach | None:
        await self.statements.begin()
        known = self._adopted.get(repository_id)
        return None if known is None else InstalledReach(known.installation, known.gone)

    async def adopt(
        self,
        repository: Adopted,
        at: datetime,
        drafts: Mapping[str, str],
        tags: Mapping[str, str] | None = None,
        *,
        highest: int | None = None,
        open_numbers: Sequence[int] = (),
        heads: Mapping[str, str] | None = None,
    ) -> Adoption:
        await self.statements.begin()
        first = Adoption(
            at=at,
            installed_at=repository.installed_at,
            installation=repository.installation,
            drafts=kept(dict(drafts)),
            tags=kept(dict(tags or {})),
            highest=highest,
            open=list(open_numbers),
            heads=kept(dict(heads or {})),
        )
        self._adopted.setdefault(repository.id, first)
        self._found(repository)
        return kept(self._adopted[repository.id])  # type: ignore[no-any-return] # a copy of it

    async def complete_tags(self, repository_id: RepositoryId, tags: Mapping[str, str]) -> None:
        await self.statements.begin()
        known = self._adopted.get(repository_id)
        if known is not None and known.names_only:
            there = kept(dict(tags))
            self._adopted[repository_id] = replace(known, tags=there, names_only=False)

    def keep_names_only(self, repository_id: RepositoryId) -> None:
        """Make of a baseline what an older version kept of it."""
        known = self._adopted[repository_id]
        names = dict.fromkeys(known.tags or (), "")
        self._adopted[repository_id] = replace(known, tags=names, names_only=True)

    def move_adoption(self, repository_id: RepositoryId, by: timedelta) -> None:
        """Make of when a repository was adopted what a clock that is off would have told."""
        known = self._adopted[repository_id]
        self._adopted[repository_id] = replace(known, at=known.at + by)

    async def rename(self, repository: Adopted) -> None:
        await self.statements.begin()
        if repository.id in self._adopted:
            self._found(repository)

    async def dashboard(self, repository_id: RepositoryId) -> int | None:
        await self.statements.begin()
        return self._dashboards.get(repository_id)

    async def keep_dashboard(self, repository_id: RepositoryId, number: int) -> None:
        await self.statements.begin()
        if repository_id in self._adopted:
            self._dashboards[repository_id] = number

    async def installations(self, forge: str) -> set[int]:
        await self.statements.begin()
        return {each.installation for _, each in self._of(forge)}

    async def repositories(self, forge: str, installation: int) -> set[RepositoryId]:
        await self.statements.begin()
        return {id_ for id_, each in self._of(forge) if each.installation == installation}

    async def let_in(self, giver: RepositoryId, name: str, other: RepositoryId) -> bool:
        await self.statements.begin()
        return self._let_in.setdefault((giver, name.lower()), other) == other

    async def named(self, forge: str, full_names: Collection[str]) -> tuple[ServedName, ...]:
        await self.statements.begin()
        asked = {each.lower() for each in kept(list(full_names))}
        return tuple(
            ServedName(id_, self.names[id_], each.installation)
            for id_, each in sorted(self._of(forge), key=lambda found: found[0])
            if self.names[id_].lower() in asked
        )

    async def only_installations(self, forge: str, numbers: Sequence[int]) -> tuple[str, ...]:
        await self.statements.begin()
        return self._end(id_ for id_, each in self._of(forge) if each.installation not in numbers)

    async def only_repositories(
        self, forge: str, installation: int, ids: Collection[RepositoryId]
    ) -> tuple[str, ...]:
        await self.statements.begin()
        return self._end(
            id_
            for id_, each in self._of(forge)
            if each.installation == installation and id_ not in ids
        )

    async def observing(
        self, observes: bool, at: datetime, known: datetime | None = None
    ) -> datetime | None:
        await self.statements.begin()
        before, ended = self._observing or (False, known)
        ended = known or at if before and not observes else ended
        self._observing = observes, ended
        return min(ended, at) if ended else None

    async def lost(self, repository_id: RepositoryId) -> None:
        await self.statements.begin()
        if self.served(repository_id):
            self._end([repository_id])

    def _of(self, forge: str) -> list[tuple[RepositoryId, Adoption]]:
        """What a forge has that is served."""
        adopted = self._adopted.items()
        return [(id_, a) for id_, a in adopted if id_.forge == forge and a.gone is None]

    def _found(self, repository: Adopted) -> None:
        known = self._adopted[repository.id]
        self._adopted[repository.id] = replace(
            known, installation=repository.installation, gone=None
        )
        self.names[repository.id] = kept(repository.full_name)

    def _end(self, ids: Iterable[RepositoryId]) -> tuple[str, ...]:
        ended = tuple(ids)
        for id_ in ended:
            self._adopted[id_] = replace(self._adopted[id_], gone=self.statements.now())
        return tuple(self.names[id_] for id_ in ended)


@dataclass
class MemoryUpstreamUses:
    """`bot.store.port.UpstreamUses`.

    Attributes:
        statements: What each of its statements does first.
        repositories: The repositories that are served.
    """

    statements: Statements
    repositories: MemoryRepositories
    _commits: dict[tuple[RepositoryId, str], str] = field(default_factory=dict)
    _uses: dict[tuple[RepositoryId, str], dict[str, tuple[UpstreamUse, ...]]] = field(
        default_factory=dict
    )

    async def indexed(self, repository_id: RepositoryId) -> dict[str, str]:
        await self.statements.begin()
        return {branch: c for (id_, branch), c in self._commits.items() if id_ == repository_id}

    async def keep_uses(
        self,
        repository_id: RepositoryId,
        branch: str,
        commits: tuple[str, str],
        uses: Mapping[str, Sequence[UpstreamUse]],
    ) -> bool:
        await self.statements.begin()
        at = (repository_id, kept(branch))
        if self._commits.get(at, "") != commits[0]:
            return False
        self._commits[at] = commits[1]
        known = self._uses.setdefault(at, {})
        for package, found in uses.items():
            known[kept(package)] = tuple(replace(each, **kept(asdict(each))) for each in found)
        return True

    async def forget_uses(self, repository_id: RepositoryId, branches: Collection[str]) -> None:
        await self.statements.begin()
        for at in [a for a in self._commits if a[0] == repository_id and a[1] not in branches]:
            del self._commits[at]
            self._uses.pop(at, None)

    async def uses(self, repository_id: RepositoryId) -> tuple[UpstreamUser, ...]:
        await self.statements.begin()
        return tuple(each for each in self._users() if each.repository.id == repository_id)

    async def users(self, place: str) -> tuple[UpstreamUser, ...]:
        await self.statements.begin()
        return tuple(each for each in self._users() if each.use.place == kept(place))

    async def used(self, place: str, packages: Collection[str]) -> bool:
        if not packages:
            return False
        await self.statements.begin()
        there = {u.use.directory for u in self._users() if u.use.place == kept(place)}
        return any(
            not folder
            or not each
            or f"{folder}/".startswith(f"{each}/")
            or f"{each}/".startswith(f"{folder}/")
            for folder in there
            for each in packages
        )

    def _users(self) -> Iterable[UpstreamUser]:
        for (id_, branch), known in sorted(self._uses.items(), key=lambda item: item[0]):
            name = self.repositories.served_name(id_)
            for package in sorted(known) if name else ():
                for use in sorted(known[package], key=lambda each: each.locked):
                    if name:
                        yield UpstreamUser(repository=name, branch=branch, use=use)


@dataclass
class MemoryRevisions:
    """`bot.store.port.Revisions`.

    Attributes:
        statements: What each of its statements does first.
    """

    statements: Statements
    # Repository and base to proposals, and to tips with when each was last new.
    _line: dict[tuple[RepositoryId, str], dict[int, None]] = field(default_factory=dict)
    _tips: dict[tuple[RepositoryId, str], dict[str, int]] = field(default_factory=dict)
    _made: dict[tuple[RepositoryId, str], dict[int, Revision]] = field(default_factory=dict)

    async def ask_publish(self, repository_id: RepositoryId, base: str, number: int) -> None:
        await self.statements.begin()
        self._line.setdefault((repository_id, base), {}).setdefault(number)

    async def asked_publish(self, repository_id: RepositoryId, base: str) -> tuple[int, ...]:
        await self.statements.begin()
        return tuple(self._line.get((repository_id, base), ()))

    async def queued(self, repository_id: RepositoryId, base: str, number: int) -> bool:
        await self.statements.begin()
        return number in self._line.get((repository_id, base), ())

    async def published(self, repository_id: RepositoryId, base: str, number: int) -> None:
        await self.statements.begin()
        self._line.get((repository_id, base), {}).pop(number, None)

    async def keep_revision(
        self, repository_id: RepositoryId, package: str, number: int, revision: Revision
    ) -> None:
        await self.statements.begin()
        made = self._made.setdefault((repository_id, kept(package)), {})
        known = made.setdefault(number, replace(revision, shown=""))
        if known.target == revision.target and not known.tag:
            proposal = known.proposal if revision.proposal is None else revision.proposal
            made[number] = replace(known, tag=revision.tag, proposal=proposal)

    async def revisions(
        self, repository_id: RepositoryId, packages: Iterable[str]
    ) -> dict[str, dict[int, Revision]]:
        await self.statements.begin()
        found = {p: dict(self._made.get((repository_id, p), {})) for p in kept(list(packages))}
        return {package: made for package, made in found.items() if made}

    async def all_revisions(
        self, repository_id: RepositoryId
    ) -> AsyncIterator[tuple[str, int, Revision]]:
        await self.statements.begin()
        rows = [
            (package, number, revision)
            for (id_, package), made in self._made.items()
            if id_ == repository_id
            for number, revision in made.items()
        ]
        for row in sorted(rows, key=lambda each: each[:2]):
            yield row

    async def show_revision(
        self, repository_id: RepositoryId, package: str, number: int, shown: str
    ) -> None:
        await self.statements.begin()
        made = self._made.get((repository_id, kept(package)), {})
        if number in made:
            made[number] = replace(made[number], shown=shown)

    async def saw_tip(self, repository_id: RepositoryId, base: str, sha: str) -> None:
        await self.statements.begin()
        tips = self._tips.setdefault((repository_id, base), {})
        if tips and max(tips, key=lambda each: tips[each]) == sha:
            return
        tips[sha] = self.statements.place()
        if len(tips) > MOST_TIPS:
            del tips[min(tips, key=lambda each: tips[each])]

    async def tips(self, repository_id: RepositoryId, base: str) -> tuple[Sha, ...]:
        await self.statements.begin()
        tips = self._tips.get((repository_id, base), {})
        return tuple(Sha(s) for s in sorted(tips, key=lambda each: tips[each], reverse=True))


@dataclass
class MemoryAudit:
    """`bot.store.port.Audit`.

    Attributes:
        statements: What each of its statements does first.
    """

    statements: Statements
    _entries: list[tuple[str, datetime, str, str, Mapping[str, Any]]] = field(default_factory=list)

    async def begin(self, key: str, detail: Mapping[str, Any]) -> int:
        await self.add(key, [(BEGAN, detail)])
        return self.statements.place()

    async def add(
        self, key: str, actions: Sequence[tuple[str, Mapping[str, Any]]], *, actor: str = "bot"
    ) -> None:
        await self.statements.begin()
        at = self.statements.now()
        self._entries += [(key, at, actor, n, kept(dict(detail))) for n, detail in actions]

    async def entries(self, key: str) -> tuple[tuple[datetime, str, str, Mapping[str, Any]], ...]:
        await self.statements.begin()
        return tuple(kept(tuple(rest)) for about, *rest in self._entries if about == key)

    async def forget(self) -> int:
        await self.statements.begin()
        until = self.statements.now() - timedelta(days=KEPT_AUDIT_DAYS)
        before = len(self._entries)
        self._entries = [each for each in self._entries if each[1] >= until]
        return before - len(self._entries)
