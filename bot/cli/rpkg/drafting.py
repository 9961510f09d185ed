"""Many drafts by one command: packages upgraded, or rolled back."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bot.cli.dropin import CommandFailure
from bot.cli.rpkg import jobs, selecting
from bot.cli.rpkg.asking import written
from bot.cli.rpkg.jobs import Ask, SurveyedPackages
from bot.cli.rpkg.session import RepositorySnapshot, Session, asked_before, graph_with, package_of
from bot.cli.rpkg.sources import SourceRepository
from bot.cli.rpkg.spoken import answer_to
from bot.forges.port import ListedProposal
from bot.look import locks
from bot.look.marks import upstream_of
from lifecycle import names
from lifecycle.bulk import BulkItem, BulkState
from lifecycle.commands.draft_grammar import MOST_TOGETHER
from lifecycle.selectors.marks import PackageMarks, PackageSelector
from lifecycle.upstreams.graph import Graph
from lifecycle.variants import naming


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is to be done to one package.

    Attributes:
        change: For people.
        text: The command.
        workspace: What the name of its draft begins with.
        revision: Number of the upstream's revision that an open draft of it has; 0 for any.
    """

    change: str
    text: str
    workspace: str
    revision: int = 0


class _Drafts(ABC):
    """What upgrades and rollbacks have in common."""

    verb = ""
    published = True
    reminder = ""

    def __init__(self, selector: PackageSelector) -> None:
        self._selector = selector
        self.asked: set[str] = set()

    @abstractmethod
    def wanted(
        self,
        seen: RepositorySnapshot,
        package: PackageMarks,
        graph: Graph,
        others: Mapping[str, SourceRepository | str],
    ) -> _Wanted | str:
        """What is to be done to a package, or why nothing can be; "" where nothing is to be."""

    async def find(self, session: Session) -> SurveyedPackages:
        """As `Job` has it."""
        every = await session.look(dashboard=True)
        own = graph_with([each.source for each in every], {})
        others = await session.upstreams(every, own)
        home = {each.source.place for each in every}
        beyond = graph_with([], {at: each for at, each in others.items() if at not in home})
        graph = Graph({**beyond.upstreams, **own.upstreams})
        items, asks, named, left = list[BulkItem](), dict[str, Ask](), dict[str, str](), []
        for seen in every:
            for package in selecting.chosen([seen.source], self._selector):
                name = selecting.called(package, jobs.home(every))
                wanted = self.wanted(seen, package, graph, others)
                if isinstance(wanted, str):
                    left += [(name, wanted)] if wanted else []
                    continue
                item = await _item(session, seen, package, wanted)
                items.append(item)
                asks[item.key] = Ask(seen, 0, wanted.text)
                named[item.key] = name
        return SurveyedPackages(
            items=tuple(items), asks=asks, names=named, left=tuple(left), graph=graph
        )


async def _item(
    session: Session, seen: RepositorySnapshot, package: PackageMarks, wanted: _Wanted
) -> BulkItem:
    state, reason = await _state(session, seen, package.path, wanted)
    place = package_of(seen, package.path)
    return BulkItem(key=str(place), package=place, change=wanted.change, state=state, reason=reason)


async def _state(
    session: Session, seen: RepositorySnapshot, path: str, wanted: _Wanted
) -> tuple[BulkState, str]:
    """How far a package is: by its open draft, else by what was asked for lately."""
    pull = _draft(seen, path, wanted)
    if pull is not None:
        number = session.forge(seen).terms.numbered(pull.number)
        broken = await session.broken(seen, pull)
        if broken:
            return BulkState.FAILED, f"{number}: {broken} failed"
        return BulkState.OPEN, number
    said = asked_before(seen, wanted.text)
    if said is None:
        return BulkState.READY, ""
    answer = answer_to(said.id, seen.talk)
    if answer is None:
        return BulkState.ASKED, ""
    if answer.refused:
        return BulkState.READY, ""  # whoever gives the command again wants it tried again
    if "nothing to change" in answer.text:
        return BulkState.DONE, ""
    closed = await _closed(session, seen, path, wanted)
    return (BulkState.FAILED, closed) if closed else (BulkState.READY, "")


def _draft(seen: RepositorySnapshot, path: str, wanted: _Wanted) -> ListedProposal | None:
    """The open draft that does what is wanted: one that was asked for, or that of a variant."""
    asked = seen.draft(path, wanted.workspace)
    if not wanted.revision or (asked is not None and not seen.git.has(asked.head)):
        return asked
    kept = seen.draft(path, naming.WORKSPACE)
    both = (each for each in (asked, kept) if each is not None)
    return next((each for each in both if _goes_there(seen, path, each, wanted.revision)), None)


def _goes_there(seen: RepositorySnapshot, path: str, pull: ListedProposal, revision: int) -> bool:
    """Whether an open draft brings a package to a revision of its upstream."""
    if not seen.git.has(pull.head):
        return False
    made = upstream_of(locks.of_package(seen.git, pull.head, path))
    return made is not None and made.revision == revision


async def _closed(session: Session, seen: RepositorySnapshot, path: str, wanted: _Wanted) -> str:
    """Why a draft that was made is gone; "" where it was merged, or nobody knows."""
    branch = "/".join(filter(None, (names.DRAFTS.rstrip("/"), path, wanted.workspace)))
    for pull in await session.forge(seen).proposals_of(branch):
        if pull.head_ref == branch and pull.head_repository == seen.number:
            if pull.open or pull.merged:
                return ""
            number = session.forge(seen).terms.numbered(pull.number)
            return f"{number} was closed without being merged"
    return ""


class UpgradeJob(_Drafts):
    """Packages upgraded to newer revisions of their upstreams.

    Args:
        selector: Which packages.
        to: Number of the revision; 0 for the newest.
        options: Of each command, such as "--propose".
    """

    verb = "upgrade"

    def __init__(self, selector: PackageSelector, to: int, options: tuple[str, ...]) -> None:
        super().__init__(selector)
        self._to = to
        self._options = options

    def wanted(
        self,
        seen: RepositorySnapshot,
        package: PackageMarks,
        graph: Graph,
        others: Mapping[str, SourceRepository | str],
    ) -> _Wanted | str:
        """As `_Drafts` has it."""
        upstream = graph.upstreams.get(package_of(seen, package.path))
        if upstream is None:
            return ""
        if upstream.revision is None:
            return "its upstream is no revision, but a branch or commit; upgrade it by itself"
        if package.held:
            return f"it is held at v{package.held}; resume it first"
        there = others.get(upstream.package.place, "its upstream is not known")
        if isinstance(there, str):
            return there
        newer = [n for n in there.releases(upstream.package.path) if n > upstream.revision]
        if not newer or (self._to and self._to <= upstream.revision):
            return ""
        if self._to and self._to not in newer:
            return f"its upstream has no v{self._to} that may be used"
        to = self._to or newer[-1]
        path = package.path or "."
        return _Wanted(
            f"v{upstream.revision} -> v{to}",
            written("upgrade", (*self._options, path, f"v{to}")),
            "upgrade",
            to,
        )


class Together(UpgradeJob):
    """Packages upgraded by one pull request for each repository."""

    async def find(self, session: Session) -> SurveyedPackages:
        """As `Job` has it."""
        found = await super().find(session)
        every: dict[int, list[BulkItem]] = {}
        for item in found.items:
            every.setdefault(found.asks[item.key].seen.number, []).append(item)
        items, asks, named = list[BulkItem](), dict[str, Ask](), dict[str, str]()
        for several in every.values():
            if len(several) > MOST_TOGETHER:
                raise CommandFailure(
                    f"{len(several)} packages are chosen, and one pull request takes"
                    f" {MOST_TOGETHER}. Choose fewer, or leave --together out"
                )
            item, ask = await self._one(session, several, found)
            items.append(item)
            asks[item.key] = ask
            named[item.key] = ", ".join(found.names[each.key] for each in several)
        many = len(found.items)
        return replace(found, items=tuple(items), asks=asks, names=named, packages=many)

    async def _one(
        self, session: Session, several: Sequence[BulkItem], found: SurveyedPackages
    ) -> tuple[BulkItem, Ask]:
        seen = found.asks[several[0].key].seen
        paths = [each.package.path or "." for each in several]
        version = (f"v{self._to}",) if self._to else ()
        text = written("upgrade", (*self._options, *paths, *version))
        changes = ", ".join(dict.fromkeys(each.change for each in several))
        workspace = "upgrade-together" if len(several) > 1 else "upgrade"
        wanted = _Wanted(changes, text, workspace)
        state, reason = await _state(session, seen, several[0].package.path, wanted)
        item = replace(several[0], change=changes, state=state, reason=reason)
        return item, Ask(seen, 0, text)


LAST_WITHOUT = "last-without"
"""The newest revision of a package that the selector does not choose."""


class Rollbacks(_Drafts):
    """Packages rolled back, and held there.

    Args:
        selector: Which packages.
        to: Number of the revision; 0 for the newest one that the selector does not choose.
        reason: Why, for people.
    """

    verb = "rollback"

    def __init__(self, selector: PackageSelector, to: int, reason: str) -> None:
        super().__init__(selector)
        self._to = to
        self._reason = reason

    def wanted(
        self,
        seen: RepositorySnapshot,
        package: PackageMarks,
        graph: Graph,
        others: Mapping[str, SourceRepository | str],
    ) -> _Wanted | str:
        """As `_Drafts` has it."""
        del graph, others
        releases = seen.source.usable(package.path)
        if not releases:
            return "it has no revision to go back to"
        to = self._to or self._last_without(seen.source, package.path, releases)
        if not to:
            return "the selector chooses every revision of it"
        if to not in releases:
            return f"it has no v{to} that may be used"
        if package.held == to:
            return ""
        words = (f"{package.path or '.'}@v{to}", *self._reason.split())
        revision = f"v{package.revision}" if package.revision else "now"
        return _Wanted(f"{revision} -> v{to}", written("rollback", words), f"rollback-v{to}")

    def _last_without(self, source: SourceRepository, path: str, releases: tuple[int, ...]) -> int:
        there = (n for n in reversed(releases) if not self._selector.matches(source.then(path, n)))
        return next(there, 0)
