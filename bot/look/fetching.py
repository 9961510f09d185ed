"""Fetches what a look is about: its branches, and the tags of its packages.

Which packages a proposal touches shows in git, after its branches were fetched. So what a look
needed is remembered for the next one at the same branch, which then fetches once; a guess that was
too small is widened by a second fetch. Nothing here is true by itself: whatever is used was fetched
in the same look.
"""

import asyncio
import re
from collections.abc import Collection, Iterable, Mapping

from bot import metrics
from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.forges.port import Forge, ListedProposal, QueueEntry, Repository
from bot.git.port import History, Mirror, Scope
from bot.look.reader import Basis, MirrorReader
from bot.look.tags import Tags
from bot.recent import Recent
from bot.store.port import LookRevisions
from bot.store.values import Revision
from lifecycle import names
from lifecycle.names import Sha

_DRAFT = re.compile(rf"{names.DRAFTS}(.+)/[^/]+", re.DOTALL)
"""The name of a draft branch, with the package that it is likely to be about."""

MOST_BRANCHES = 2_000
"""Head branches whose last look is remembered, where it was about more than is guessed."""

MOST_ASKED = 10_000
"""Folders of packages that are remembered to be no tags."""


MOST_FORESEEN = 100
"""New packages that are asked about in one request."""


class Fetcher:
    """Fetches what looks at one repository are about.

    Args:
        repository: Which one.
        forge: Its forge.
        mirror: Its mirror.
        revisions: The index of published revisions.
        clock: Tells what was fetched before something else.
        offload: Where git works.
    """

    def __init__(
        self,
        repository: Repository,
        forge: Forge,
        mirror: Mirror,
        revisions: LookRevisions,
        *,
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
    ) -> None:
        self._clock = clock
        self._repository = repository
        self._forge = forge
        self._mirror = mirror
        self._revisions = revisions
        self._offload = offload
        self._seen: Recent[tuple[int | None, str], Scope] = Recent(MOST_BRANCHES)
        self._free: set[str] = set()

    def forget(self) -> None:
        """Ask anew which folders of packages are tags: some tag was made or removed."""
        self._free.clear()

    def scope(self, at: int | None, branch: str) -> Scope:
        """What a look at a head branch is likely to be about.

        Args:
            at: Number of the repository that holds the branch.
            branch: Its name.
        """
        seen = self._seen.get((at, branch)) or Scope()
        draft = _DRAFT.fullmatch(branch)
        guessed = {draft[1]} if draft and not seen.packages else set()
        mine = {branch if at == self._repository.id.number else names.GROUPS}
        return seen | Scope(frozenset({self._repository.default_branch, *mine}), frozenset(guessed))

    def saw(self, at: int | None, branch: str, bases: Iterable[str], packages: set[str]) -> None:
        """Remember what a look was about.

        Args:
            at: Number of the repository that holds the head branch.
            branch: Its name.
            bases: Base branches of its proposals.
            packages: Those that it touches.
        """
        self._seen.drop((at, branch))
        found, guess = Scope(frozenset(bases), frozenset(packages)), self.scope(at, branch)
        is_guessed = not found.packages or found.packages == guess.packages
        if not (is_guessed and found.branches <= guess.branches):
            self._seen.put((at, branch), found)

    async def fetch(self, scope: Scope, since: float, heads: Collection[str] = ()) -> None:
        """Fetch what was not fetched since then; `heads` were pushed, as somebody said."""
        with metrics.STEP_SECONDS.labels("fetch").time():
            credentials = await self._forge.git_credentials()
            await self._offload(self._mirror.fetch, credentials, since, scope, heads)

    async def fetch_head(self, git: History, pull: ListedProposal | QueueEntry) -> None:
        """Fetch a pull request's head by its number: of a fork, or of a branch that is gone."""
        if not await self._offload(git.has, pull.head):
            credentials = await self._forge.git_credentials()
            ref = self._forge.proposal_ref(pull.number)
            await self._offload(self._mirror.fetch_proposal, credentials, ref)

    async def fetch_related(
        self, reader: MirrorReader, head: Sha, base_ref: str, basis: Basis, since: float
    ) -> None:
        """Fetch and learn what a proposal's reading will ask for; see `related`."""
        packages = await self.related(reader, head, base_ref, basis, since)
        await self.learn(reader.tags, packages, since)

    async def related(
        self, reader: MirrorReader, head: Sha, base_ref: str, basis: Basis, since: float
    ) -> set[str]:
        """Fetch the other branches that count for a proposal; returns the packages to `learn`.

        Args:
            reader: Reads git.
            head: The proposal's head.
            base_ref: Its base branch.
            basis: What it is compared with.
            since: By the monotonic clock; what was fetched after that will do.
        """
        others = await self._offload(reader.publishing, base_ref, basis)
        await self.fetch(Scope(others), since)
        return await self._offload(reader.packages, head, base_ref, basis)

    async def learn(self, tags: Tags, packages: Collection[str], since: float) -> None:
        """Learn how packages, and those inside them, stand with their tags.

        Args:
            tags: Gets to know the packages.
            packages: Which.
            since: By the monotonic clock; what was fetched after that will do.
        """
        tags.above |= await self.above(await self.learn_tagged(tags, packages, since))

    async def learn_tagged(
        self, tags: Tags, packages: Collection[str], since: float
    ) -> Collection[str]:
        """As `learn`, but for what stands `above` those without a tag, which are returned."""
        new = frozenset(packages) - tags.packages
        if not new:
            return ()
        used, _ = await asyncio.gather(
            self._revisions.revisions(self._repository.id, new),
            self.fetch(Scope(packages=new), since),
        )
        # Another replica may have tagged since that was fetched: what the index knows and git does
        # not show is gone only if it is gone now.
        if behind := await self._offload(self._behind, used):
            await self.fetch(Scope(packages=behind), self._clock.monotonic())
        tags.learn(new, used)
        return await self._offload(tags.untagged, new)

    async def foresee(self, packages: Collection[str]) -> None:
        """Learn in one request what a look at each of some new packages would ask for itself.

        Args:
            packages: Those that are about to be made; `MOST_FORESEEN` of them count.
        """
        asked = sorted({p for p in packages if p} - self._free)[:MOST_FORESEEN]
        if len(asked) < 2:
            return
        credentials = await self._forge.git_credentials()
        found = await self._offload(self._mirror.tagged, credentials, asked)
        if found is not None:
            self._free |= set(asked) - found

    def _behind(self, used: Mapping[str, Mapping[int, Revision]]) -> frozenset[str]:
        """Packages with a revision in the index whose tag was not there when it was fetched."""
        with self._mirror.open() as git:
            return frozenset(
                package
                for package, numbers in used.items()
                if any(
                    not git.refs(names.tag_ref(names.spelled(package, number)))
                    for number in numbers
                )
            )

    async def above(self, packages: Iterable[str]) -> set[str]:
        """Return the tags that stand where folders of these packages' tags would have to be.

        In full spelling. They are none of the package, so that no fetch shows them; and where a
        package has a tag, git holds none of them.
        """
        unknown = {folder for p in packages for folder in folders(p)} - self._free
        if not unknown:
            return set()
        asked = sorted(unknown)
        there = await asyncio.gather(*map(self._forge.has_tag, asked))
        found = {folder for folder, is_tag in zip(asked, there, strict=True) if is_tag}
        if len(self._free) > MOST_ASKED:
            self._free.clear()
        self._free |= unknown - found
        return {names.tag_ref(folder) for folder in found}


def folders(package: str) -> list[str]:
    """The path of a package and of every folder around it."""
    parts = package.split("/") if package else []
    return ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]
