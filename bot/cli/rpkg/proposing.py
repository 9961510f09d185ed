"""Many pull requests by one command: proposed, or approved at the heads that were shown.

A pull request is chosen where every package that it touches is, as the base branch has them: what
it says of itself counts for nothing. Of a package that is new in it the path alone is known. What
changes files beside its packages is for whoever names it: they may be rules.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from bot.cli.rpkg import jobs
from bot.cli.rpkg.jobs import Ask, SurveyedPackages
from bot.cli.rpkg.session import RepositorySnapshot, Session, graph_with, package_of
from bot.cli.rpkg.spoken import answer_to, said_before
from bot.forges.port import ListedProposal
from bot.ledger_paths import package_ledger
from bot.look import judging
from lifecycle import names
from lifecycle.bulk import BulkItem, BulkState
from lifecycle.selectors.marks import PackageMarks, PackageSelector

_SHOWN = 3
"""Packages of a pull request, and files beside them, that are named."""

_WAITS = timedelta(minutes=10)
"""How long the bot may take to obey a command that gets no answer."""


@dataclass(frozen=True, slots=True)
class _Touched:
    """What a pull request changes.

    Attributes:
        packages: Paths of packages, sorted.
        beside: Paths of files in none of these, sorted; entries of their own ledgers left out.
    """

    packages: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    def __str__(self) -> str:
        shown = _some(each or "." for each in self.packages)
        return f"{shown}; beside: {_some(self.beside)}" if self.beside else shown


class _Pulls(ABC):
    """What proposing and approving have in common."""

    reminder = " Packages that are not on the base branch yet are chosen by path=… alone."
    verb = ""
    published = False

    def __init__(self, selector: PackageSelector | None, numbers: Collection[int]) -> None:
        self._selector = selector
        self._numbers = frozenset(numbers)
        self._heads: dict[str, str] = {}
        self._known: dict[str, BulkState] = {}
        self.asked: set[str] = set()

    @abstractmethod
    def meant(self, pull: ListedProposal) -> bool:
        """Whether a pull request is of those that the command is about at all."""

    @abstractmethod
    def text(self, pull: ListedProposal) -> str:
        """The command for one."""

    async def find(self, session: Session) -> SurveyedPackages:
        """As `Job` has it."""
        every = await session.look(dashboard=False)
        items, asks, named, left = list[BulkItem](), dict[str, Ask](), dict[str, str](), []
        for seen in every:
            bases = dict[str, _Base]()
            for pull in sorted(seen.open, key=lambda each: each.number):
                if not self.meant(pull) or (self._numbers and pull.number not in self._numbers):
                    continue
                name = self._name(session, seen, pull, jobs.home(every))
                base = bases.get(pull.base_ref) or _base(seen, pull.base_ref)
                bases[pull.base_ref] = base
                touched = await _touched(session, seen, pull, base)
                why = self._left(seen, touched, base.marks)
                if why is not None:
                    left += [(name, why)] if why else []
                    continue
                item = await asyncio.to_thread(self._item, seen, pull, touched)
                items.append(item)
                asks[item.key] = Ask(seen, pull.number, self.text(pull))
                named[item.key] = name
        graph = graph_with([each.source for each in every], {})
        return SurveyedPackages(
            items=tuple(items), asks=asks, names=named, left=tuple(left), graph=graph
        )

    def _left(
        self, seen: RepositorySnapshot, touched: _Touched, marks: Mapping[str, PackageMarks]
    ) -> str | None:
        """Why a pull request is left out, "" where it is about something else; None if it is not.

        One that is named is taken whatever it touches, as long as the selector chooses it too.
        """
        if not touched.packages:
            return "" if not self._numbers else "it touches no package that can be read"
        selector = self._selector or PackageSelector()
        new = (PackageMarks(repository=seen.source.name, path=path) for path in touched.packages)
        known = [marks.get(each.path, each) for each in new]
        others = [each.path or "." for each in known if not selector.matches(each)]
        if len(others) == len(touched.packages):
            return ""
        if others:
            return f"it also touches {_some(others)}, not chosen"
        if touched.beside and not self._numbers:
            return f"it also changes {_some(touched.beside)}, beside packages; name its number"
        return None

    def _item(self, seen: RepositorySnapshot, pull: ListedProposal, touched: _Touched) -> BulkItem:
        key = f"{seen.source.place}#{pull.number}"
        shown = self._heads.setdefault(key, pull.head)
        state, reason = BulkState.FAILED, "its head moved after it was shown"
        if shown == pull.head:
            state, reason = self._state(seen, pull, key), ""
        package = package_of(seen, touched.packages[0])
        return BulkItem(key=key, package=package, change=f"{touched}", state=state, reason=reason)

    def _state(self, seen: RepositorySnapshot, pull: ListedProposal, key: str) -> BulkState:
        """How far one is; what nobody was asked for since is not read again."""
        known = self._known.get(key)
        if known is not None and key not in self.asked:
            return known
        heard = seen.speaker.heard(pull.number, on_dashboard=False)
        text = self.text(pull)
        said = said_before(seen.speaker, pull.number, text, heard, on_dashboard=False)
        state = BulkState.READY
        if said is not None:
            answer = answer_to(said[0].id, heard)
            state = self.after(answer.refused if answer else None, said[1])
        self._known[key] = state
        return state

    def after(self, refused: bool | None, at: datetime) -> BulkState:
        """How far one is that was asked for.

        Args:
            refused: Whether it was refused; None where there is no answer yet.
            at: When it was asked for.
        """
        del at
        if refused is None:
            return BulkState.ASKED
        return BulkState.READY if refused else BulkState.DONE

    def _name(
        self, session: Session, seen: RepositorySnapshot, pull: ListedProposal, home: str
    ) -> str:
        number = session.forge(seen).terms.numbered(pull.number)
        where = "" if seen.source.name == home else seen.source.name
        into = "" if pull.base_ref == seen.source.branch else f" into {pull.base_ref}"
        return f"{where}{number} at {pull.head[:10]}{into}"


def _some(paths: Iterable[str]) -> str:
    every = sorted(paths)
    more = len(every) - _SHOWN
    return ", ".join(every[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class _Base:
    """A base branch.

    Attributes:
        commit: Its tip; "" where it is not there.
        marks: What selectors choose its packages by, by path.
        judging: Paths of what judges proposals there.
    """

    commit: str = ""
    marks: Mapping[str, PackageMarks] = field(default_factory=dict)
    judging: tuple[str, ...] = ()


def _base(seen: RepositorySnapshot, branch: str) -> _Base:
    """What selectors go by for pull requests to a branch: packages and rules as that one has them.

    The rules of the default branch hold on every other one as well.
    """
    commit = seen.git.ref(names.branch_ref(branch))
    if commit is None:
        return _Base()
    there = replace(seen.source, branch=branch, commit=commit)
    rules = {*judging.paths(seen.source.policy()), *judging.paths(there.policy())}
    return _Base(commit, {each.path: each for each in there.marks()}, tuple(sorted(rules)))


async def _touched(
    session: Session, seen: RepositorySnapshot, pull: ListedProposal, base: _Base
) -> _Touched:
    """What a pull request changes; nothing where that cannot be told."""
    if not await session.head(seen, pull):
        return _Touched()
    origin = seen.git.merge_base(base.commit, pull.head) if base.commit else None
    if origin is None:
        return _Touched()
    differs = seen.git.difference(origin, pull.head)
    there = differs.packages.items()
    packages = {path: after for path, (before, after) in there if before != after}
    ledgers = {package_ledger(path) for path in packages}
    beside = (
        path
        for path, state in differs.files.items()
        if path not in ledgers
        and (judging.is_rule(path, base.judging) or not _is_inside(path, state, packages))
    )
    return _Touched(tuple(sorted(packages)), tuple(sorted(beside)))


def _is_inside(path: str, state: str, packages: Mapping[str, str]) -> bool:
    """Whether a changed file is one of some packages: of one that is gone, only what went along."""
    return any(
        (not package or path.startswith(f"{package}/")) and (after or not state)
        for package, after in packages.items()
    )


class ProposeCommands(_Pulls):
    """Drafts that are proposed."""

    verb = "propose"

    def meant(self, pull: ListedProposal) -> bool:
        """As `_Pulls` has it."""
        return pull.draft

    def text(self, pull: ListedProposal) -> str:
        """As `_Pulls` has it."""
        del pull
        return "/propose"

    def after(self, refused: bool | None, at: datetime) -> BulkState:
        """As `_Pulls` has it.

        What is accepted gets no answer: it is no draft any more. One that was turned back since is
        proposed anew.
        """
        waits = refused is None and datetime.now(UTC) - at < _WAITS
        return BulkState.ASKED if waits else BulkState.READY


class ApproveCommands(_Pulls):
    """Proposals that are approved, each at the head that was shown."""

    verb = "approve"

    def meant(self, pull: ListedProposal) -> bool:
        """As `_Pulls` has it."""
        return not pull.draft

    def text(self, pull: ListedProposal) -> str:
        """As `_Pulls` has it."""
        return f"/approve {pull.head}"
