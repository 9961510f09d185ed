"""The newest revision of an upstream that was published there, past tags that somebody pushed.

Whoever may push to a repository makes a tag of any number. One without the bot's record that was
not there before the bot came is nobody's decision, so it is not followed.
"""

from dataclasses import dataclass, field
from typing import Final, Protocol

from bot.forges.port import ForgeMissingError
from bot.loop.repository import ServedRepository
from bot.loop.serving import NotServedError, Serving
from bot.upstream import releases
from bot.upstream.port import FetchedUpstream
from bot.upstream.releases import Knowing
from lifecycle import names
from lifecycle.identity import RepositoryId
from lifecycle.variants.upstreams import UpstreamRevision

MOST_PASSED: Final = 100
"""Tags that are passed over; below so many nothing is looked for."""


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

    async def newest(self, upstream: FetchedUpstream, package: str) -> Newest:
        """Find the newest release that was published.

        Args:
            upstream: The newest one that may be used, fetched just now.
            package: Its path.
        """


class ServedRecords:
    """Implements `PublishedUpstreams`, by the tags of repositories that are served.

    Args:
        serving: Finds them.
    """

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._known: dict[tuple[RepositoryId, str, str], Newest] = {}
        self._knowing = Knowing()

    async def newest(self, upstream: FetchedUpstream, package: str) -> Newest:
        """Find the newest release that was published; asked once for many packages."""
        if upstream.served is None or upstream.revision is None:
            return Newest(upstream.revision)
        key = upstream.served, package, upstream.commit
        if key not in self._known:
            try:
                there = await self._serving.of(upstream.served)
            except (ForgeMissingError, NotServedError):
                return Newest(None, (upstream.revision,))
            self._known[key] = await there.offload(self._found, there, package)
        return self._known[key]

    def _found(self, there: ServedRepository, package: str) -> Newest:
        passed = list[int]()
        with there.mirror.open() as git:
            tags = there.looker.reader(git, there.adoption).tags
            tip = git.ref(names.branch_ref(there.repository.default_branch))
            known = releases.of(git, package)
            for number in releases.good(git, tip, package, known, self._knowing):
                if tags.was_published(package, number):
                    return Newest(number, tuple(passed))
                passed.append(number)
                if len(passed) == MOST_PASSED:
                    break
        return Newest(None, tuple(passed))
