"""The newest revision of an upstream that was published there, past tags that somebody pushed.

Whoever may push to a repository makes a tag of any number, and moves one. What carries no record of
the bot, and was not there as it is before the bot came, is nobody's decision, so it is not
followed. What was published is told by the index, whatever stands above it; of tags that the index
does not know, as all are once it is lost, the newest are read for the record. No file of a tag is
read before that, and only what was judged is taken: a tag may move right after.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from bot.forges.port import ForgeBusyError, ForgeMissingError, Repository
from bot.git.port import GitBusyError, Scope
from bot.look.tags import MOST_RECORDS
from bot.loop.repository import ServedRepository
from bot.loop.serving import NotServedError, Serving
from bot.store.values import Revision
from bot.upstream import releases
from bot.upstream.port import FetchedUpstream
from lifecycle import names
from lifecycle.identity import RepositoryId
from lifecycle.messages import upstreams as upstream_texts
from lifecycle.messages import variant_waits as texts
from lifecycle.upstreams.errors import UpstreamError, UpstreamFault
from lifecycle.upstreams.references import RevisionReference
from lifecycle.variants.upstreams import UpstreamRevision


@dataclass(slots=True)
class UpstreamCame:
    """What came of an upstream.

    Attributes:
        fetched: Its revisions that a rule may mean, by commit.
        revisions: The same, as they are decided on.
        missing: Why there are no more; "" for nothing.
    """

    fetched: dict[str, FetchedUpstream] = field(default_factory=dict)
    revisions: list[UpstreamRevision] = field(default_factory=list)
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Newest:
    """What there is to follow.

    Attributes:
        number: The newest release that is good and was published; None for none.
        passed_over: Numbers above it whose tags name what was not published, falling.
        replaced: Those of them that were published, and whose tags were moved since.
        tag: The object that its tag names.
        commit: The commit behind that.
        unreachable: Its repository cannot be read now.
    """

    number: int | None
    passed_over: tuple[int, ...] = ()
    replaced: frozenset[int] = frozenset()
    tag: str = ""
    commit: str = ""
    unreachable: bool = False

    def why(self, wanted: RevisionReference) -> str:
        """Why newer tags of an upstream are not followed; "" where there are none."""
        if not self.passed_over:
            return ""
        over = self.passed_over
        return texts.passed_over(wanted.package, over, wanted.repository, self.replaced)

    def to_follow(self, wanted: RevisionReference) -> int:
        """The number, of an upstream.

        Raises:
            UpstreamError: There is none, or all were tagged by somebody; or nobody can tell.
        """
        if self.unreachable:
            problem = texts.unreachable(wanted.repository)
            raise UpstreamError(UpstreamFault.UNREACHABLE, *problem)
        if self.number is not None:
            return self.number
        place = f"{wanted.repository}//{wanted.package}".removesuffix("//")
        over = self.why(wanted)
        none = texts.none_published(over) if over else upstream_texts.no_revision(place)
        raise UpstreamError(UpstreamFault.MISSING, *none)

    def judged(self, fetched: FetchedUpstream, wanted: RevisionReference) -> FetchedUpstream:
        """What was fetched, where that is what was judged: another look may fetch its tag anew.

        Raises:
            UpstreamError: It is something else.
        """
        if (self.tag, self.commit) == (fetched.tag, fetched.commit):
            return fetched
        problem = texts.moved_meanwhile(wanted.package, self.number or 0, wanted.repository)
        raise UpstreamError(UpstreamFault.MISSING, *problem)


class PublishedUpstreams(Protocol):
    """Tells which releases were published."""

    async def newest(self, home: Repository, package: str) -> Newest:
        """Find the newest release that was published.

        Args:
            home: Its repository, as the forge has it now.
            package: Its path.

        Raises:
            ForgeBusyError: The forge could not be reached.
        """


class ServedRecords:
    """Implements `PublishedUpstreams`, by the tags of repositories that are served.

    Args:
        serving: Finds them.
    """

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._known: dict[tuple[RepositoryId, str], Newest] = {}
        self._knowing = serving.around.knowing

    async def newest(self, home: Repository, package: str) -> Newest:
        """Find the newest release that was published; asked once for many packages."""
        key = home.id, package
        if key not in self._known:
            try:
                there = await self._serving.of(home.id, home.full_name, home.default_branch)
            except (ForgeMissingError, NotServedError):
                return Newest(None, unreachable=True)
            branch = there.repository.default_branch
            scope = Scope(frozenset({branch}), frozenset({package}))
            try:
                await there.looker.fetcher.fetch(scope, there.clock.monotonic())
                used = await there.looker.store.revisions.revisions(home.id, [package])
                self._known[key] = await there.offload(self._found, there, package, used)
            except GitBusyError as error:
                raise ForgeBusyError(f"fetch {there.repository.full_name}", str(error)) from error
        return self._known[key]

    def _found(
        self,
        there: ServedRepository,
        package: str,
        used: Mapping[str, Mapping[int, Revision]],
    ) -> Newest:
        with there.mirror.open() as git:
            tags = there.looker.reader(git, there.adoption).tags
            tags.learn([package], used)
            tip = git.ref(names.branch_ref(there.repository.default_branch))
            known, knowing = releases.of(git, package), self._knowing
            numbers = names.revisions(package, known)
            were = tags.were_published(package).intersection(numbers)
            number = next(releases.good(git, tip, package, known, knowing, were), None)
            above = [n for n in numbers if n > (number or 0) and n not in were]
            over = (*releases.good(git, tip, package, known, knowing, above, MOST_RECORDS),)
            moved = tags.replaced(package).intersection(over)
            if number is None:
                return Newest(None, over, moved)
            return Newest(number, over, moved, *known[names.tag(package, number)])
