"""Looks at a draft branch without a pull request: what it touches, rendered, and who pushed it.

What the forge is asked is asked while the draft is rendered: neither tells anything of the other.
"""

import asyncio
from dataclasses import replace

from bot.clock import Offload
from bot.forges.port import Repository
from bot.look import content, rendering
from bot.look.content import PullContent
from bot.look.fetching import Fetcher
from bot.look.one_look import OneLook
from bot.look.people import PeopleReader
from bot.look.reader import Basis
from bot.render.port import Renderer
from lifecycle import names
from lifecycle.facts.head import Facts
from lifecycle.facts.verdicts import Verdict
from lifecycle.names import Sha
from lifecycle.variants.naming import is_variants


class UnproposedReader:
    """Reads the draft branches of one repository that have no pull request.

    Args:
        repository: Which repository.
        fetcher: Fetches what a look is about.
        people: Tells who pushed.
        renderer: Renders and validates.
        offload: Where git is read.
    """

    def __init__(
        self,
        repository: Repository,
        fetcher: Fetcher,
        people: PeopleReader,
        renderer: Renderer,
        offload: Offload,
    ) -> None:
        self._repository = repository
        self._fetcher = fetcher
        self._people = people
        self._renderer = renderer
        self._offload = offload

    async def read(self, look: OneLook, facts: Facts, tip: Sha) -> Facts:
        """Return the facts with those of the draft; as they are where it touches no package."""
        reader, ref = look.reader, facts.default_ref
        if (base := reader.git.ref(names.branch_ref(ref))) is None:
            return facts
        basis = Basis(rules=base, base=base)
        packages = await self._fetcher.related(reader, tip, ref, basis, look.since)
        untagged = await self._fetcher.learn_tagged(reader.tags, packages, look.since)
        # Nobody is named in what the bot made for a variant.
        asks = bool(packages) and not is_variants(facts.head_ref)
        # A tag that stands in the way is told on the pull request, whose look mostly knows by then.
        (read, verdicts), _, pusher = await asyncio.gather(
            self._rendered(look, facts, tip, basis),
            self._fetcher.above(untagged),
            self._pusher(facts, asks=asks),
        )
        if read is None or not read.content.touched:
            return facts
        if read.content.for_variant:
            return replace(facts, draft_of_variant=True)
        return replace(
            facts,
            draft_touched=read.content.touched,
            draft_verdicts=verdicts,
            draft_policy=read.policy,
            draft_subjects=await self._offload(reader.subjects, tip, base),
            draft_pusher=pusher or await self._pusher(facts, asks=not asks),
        )

    async def _rendered(
        self, look: OneLook, facts: Facts, tip: Sha, basis: Basis
    ) -> tuple[PullContent | None, tuple[Verdict, ...]]:
        ref, reader = facts.default_ref, look.reader
        read = await self._offload(content.read, reader, tip, ref, basis, head_ref=facts.head_ref)
        if read is None or not read.content.touched or read.content.for_variant:
            return read, ()
        touched, git = read.content.touched, reader.git
        found = await rendering.verdicts(self._renderer, git, touched, read.policy, head=tip)
        return read, found

    async def _pusher(self, facts: Facts, *, asks: bool) -> str:
        me = self._repository.id.number
        return await self._people.pusher(facts.head_ref, me) if asks else ""
