"""The repositories of a bulk command, read again and again, and where its caller speaks there."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bot.cli.dropin import CommandFailure
from bot.cli.rpkg import sources, speaking
from bot.cli.rpkg.sources import SourceRepository
from bot.cli.rpkg.spoken import CommandChannel, Heard, Said, said_before
from bot.dryrun import DryRunScope
from bot.forges.port import Forge, ForgeRefusedError, ListedProposal
from bot.git.port import GitBusyError, History
from lifecycle import names
from lifecycle.facts.checks import RENDER, VALIDATE, Conclusion
from lifecycle.upstreams.graph import Graph, Package

MOST_UPSTREAMS = 20
"""Repositories of upstreams that are read for one command."""


@dataclass(frozen=True, slots=True)
class RepositorySnapshot:
    """One repository at one moment.

    Attributes:
        source: Its default branch and tags.
        open: Its open pull requests.
        number: The forge's number of the repository.
        git: Where its branches are.
        speaker: Where the caller speaks.
        dashboard: Number of the dashboard issue; 0 where there is none.
        talk: What was said there lately.
    """

    source: SourceRepository
    open: tuple[ListedProposal, ...]
    number: int
    git: History
    speaker: CommandChannel
    dashboard: int
    talk: tuple[Heard, ...]

    def draft(self, package: str, workspace: str) -> ListedProposal | None:
        """The open pull request of a draft of a package, by what its workspace begins with."""
        folder = f"{names.DRAFTS}{package}".rstrip("/")
        for pull in self.open:
            place, _, last = pull.head_ref.rpartition("/")
            if (
                pull.head_repository == self.number
                and place == folder
                and last.startswith(workspace)
            ):
                return pull
        return None


@dataclass(frozen=True, slots=True)
class _Opened:
    place: DryRunScope
    speaker: CommandChannel


class Session:
    """Repositories at the forge, for one caller.

    Args:
        opened: Where they are.
        stack: Ends what is opened.
        folder: For mirrors.
    """

    def __init__(self, opened: Sequence[_Opened], stack: AsyncExitStack, folder: Path) -> None:
        self._opened = opened
        self._stack = stack
        self._folder = folder
        self._closing = ExitStack()
        self._upstreams: dict[str, SourceRepository | str] = {}
        stack.callback(lambda: self._closing.close())

    async def look(self, *, dashboard: bool) -> tuple[RepositorySnapshot, ...]:
        """Read everything as it is now; what was read before is closed.

        Args:
            dashboard: What was said on the dashboard issues is needed.
        """
        self._closing.close()
        self._closing = ExitStack()
        return tuple([await self._seen(each, dashboard) for each in self._opened])

    async def _seen(self, opened: _Opened, dashboard: bool) -> RepositorySnapshot:
        place, speaker = opened.place, opened.speaker
        pulls = await place.forge.open_proposals()
        source = await sources.as_it_is(place, self._closing)
        git: Any = source.trees
        number, talk = 0, tuple[Heard, ...]()
        if dashboard:
            number = await asyncio.to_thread(speaker.dashboard)
            talk = await asyncio.to_thread(speaker.heard, number, on_dashboard=True)
        return RepositorySnapshot(
            source, pulls, place.repository.id.number, git, speaker, number, talk
        )

    async def head(self, seen: RepositorySnapshot, pull: ListedProposal) -> bool:
        """Bring the head of a pull request from a fork; False where it cannot be had."""
        if seen.git.has(pull.head):
            return True
        place = self._place(seen)
        credentials = await place.forge.git_credentials()
        ref = place.forge.proposal_ref(pull.number)
        try:
            await asyncio.to_thread(place.mirror.fetch_proposal, credentials, ref)
        except GitBusyError:
            return False
        return seen.git.has(pull.head)

    async def broken(self, seen: RepositorySnapshot, pull: ListedProposal) -> str:
        """Which of the bot's checks says that a pull request is wrong; "" for none."""
        checks = await self.forge(seen).checks(pull.head)
        failed = {c.name for c in checks if c.conclusion is Conclusion.FAILURE}
        return next((name for name in (RENDER, VALIDATE) if name in failed), "")

    def forge(self, seen: RepositorySnapshot) -> Forge:
        """The forge of a repository."""
        return self._place(seen).forge

    def _place(self, seen: RepositorySnapshot) -> DryRunScope:
        return next(o.place for o in self._opened if o.place.repository.id.number == seen.number)

    async def upstreams(
        self, seen: Sequence[RepositorySnapshot], graph: Graph
    ) -> Mapping[str, SourceRepository | str]:
        """Repositories that packages were made from, by place; or why one cannot be read."""
        found: dict[str, SourceRepository | str] = {each.source.place: each.source for each in seen}
        wanted = {u.package.place for u in graph.upstreams.values() if u is not None}
        hosts = {each.source.place.partition("/")[0] for each in seen}
        for place in sorted(wanted - found.keys()):
            host, _, name = place.partition("/")
            if place not in self._upstreams:
                self._upstreams[place] = await self._upstream(name, known=host in hosts)
            found[place] = self._upstreams[place]
        return found

    async def _upstream(self, name: str, *, known: bool) -> SourceRepository | str:
        if not known:
            return "its upstream is at another forge"
        if len(self._upstreams) >= MOST_UPSTREAMS:
            return f"more than {MOST_UPSTREAMS} upstreams; choose fewer packages"
        closing = ExitStack()
        self._stack.callback(closing.close)
        try:
            place = await sources.reached(name, self._stack, self._folder)
            return await sources.as_it_is(place, closing)
        except (CommandFailure, ForgeRefusedError, GitBusyError):
            return "your token may not read its upstream"


@asynccontextmanager
async def opened(repositories: Sequence[str]) -> AsyncIterator[Session]:
    """Open repositories at the forge.

    Args:
        repositories: As the caller names them; none for that of the current folder.

    Raises:
        CommandFailure: One of them cannot be read, or written to.
    """
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="porchbot-rpkg-")))
        found = []
        for name in dict.fromkeys(repositories or ("",)):
            speaker = stack.enter_context(speaking.place_of(name))
            place = await sources.reached(name, stack, folder)
            found.append(_Opened(place, speaker))
        yield Session(found, stack, folder)


def graph_with(
    sources_: Sequence[SourceRepository], others: Mapping[str, SourceRepository | str]
) -> Graph:
    """Return the graph of repositories, and of those that their packages were made from."""
    own = {each.place for each in sources_}
    more = [
        each for at, each in others.items() if isinstance(each, SourceRepository) and at not in own
    ]
    return sources.graph_of([*sources_, *more])


def package_of(seen: RepositorySnapshot, path: str) -> Package:
    """Return how a package of a repository is named in graphs."""
    return Package(seen.source.place, path)


def asked_before(seen: RepositorySnapshot, text: str) -> Said | None:
    """Return the caller's comment on the dashboard issue that asks for just this."""
    found = said_before(seen.speaker, seen.dashboard, text, seen.talk, on_dashboard=True)
    return found[0] if found else None
