"""The newest revision of an upstream that was published there, past tags that somebody pushed.

Whoever may push to a repository makes a tag of any number. One without the bot's record that was
not there before the bot came is nobody's decision, so it is not followed. What was published is
told by the index, whatever stands above it; of tags that the index does not know, as all are once
it is lost, the newest are read for the record. No file of a tag is read before that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from bot.forges.port import ForgeBusyError, ForgeMissingError
from bot.git.port import GitBusyError, Scope
from bot.loop.repository import ServedRepository
from bot.loop.serving import NotServedError, Serving
from bot.store.values import Revision
from bot.upstream import releases
from bot.upstream.port import FetchedUpstream
from bot.upstream.releases import Knowing
from lifecycle import names
from lifecycle.identity import RepositoryId
from lifecycle.variants.upstreams import UpstreamRevision

MOST_PASSED: Final = 100
"""Tags that the index does not know, and that are read for our record."""


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
        passed_over: Numbers above it that were tagged without being published, falling.
    """

    number: int | None
    passed_over: tuple[int, ...] = ()


class PublishedUpstreams(Protocol):
    """Tells which releases were published."""

    async def newest(self, home: RepositoryId, package: str) -> Newest:
        """Find the newest release that was published.

        Args:
            home: Its repository.
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
        self._knowing = Knowing()

    async def newest(self, home: RepositoryId, package: str) -> Newest:
        """Find the newest release that was published; asked once for many packages."""
        key = home, package
        if key not in self._known:
            try:
                there = await self._serving.of(home)
            except (ForgeMissingError, NotServedError):
                return Newest(None)
            branch = there.repository.default_branch
            scope = Scope(frozenset({branch}), frozenset({package}))
            try:
                await there.looker.fetcher.fetch(scope, there.clock.monotonic())
            except GitBusyError as error:
                raise ForgeBusyError(f"fetch {there.repository.full_name}", str(error)) from error
            used = await there.looker.store.revisions.revisions(home, [package])
            self._known[key] = await there.offload(self._found, there, package, used)
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
            were = tags.were_published(package, MOST_PASSED).intersection(numbers)
            number = next(releases.good(git, tip, package, known, knowing, were), None)
            above = [n for n in numbers if n > (number or 0) and n not in were]
            return Newest(number, (*releases.good(git, tip, package, known, knowing, above),))
