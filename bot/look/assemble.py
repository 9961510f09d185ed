"""Looks at a head branch: puts together the facts that a decision needs, from forge and git.

Calls that do not wait for one another run at the same time. What never changes (who wrote a commit,
what a file at a commit says) is kept; everything else is read again at each look.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial, reduce
from operator import or_

from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.forges.port import Forge, ListedProposal, Repository
from bot.freezes import KnownFreezes
from bot.git.port import History, Mirror, Scope
from bot.look import impact_texts, indexing, queued, rendering
from bot.look.asking import HeadStateReader
from bot.look.base import NotLogged
from bot.look.defaults import ExtendedFiles
from bot.look.fetching import Fetcher
from bot.look.one_look import OneLook
from bot.look.patience import Patience
from bot.look.people import PeopleReader
from bot.look.proposals import ProposalReader, tags_not_shown
from bot.look.reader import MirrorReader
from bot.look.sharing import Overlaps, Reading, SharedReadings, Wake, nobody
from bot.look.states import HeadBranch, KnownOfCommit, shown
from bot.look.tags import Tags
from bot.look.unproposed import UnproposedReader
from bot.look.variant_wishes import VariantWishes
from bot.look.whatif import WhatIf
from bot.render.port import Renderer
from bot.store.hints import Press
from bot.store.port import LookIndex
from bot.store.values import Adoption
from bot.upstream.port import Upstreams
from bot.upstream.users import UpstreamUsers
from lifecycle import memory, names
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.names import Sha


@dataclass(frozen=True, slots=True)
class Looked:
    """Facts, with what carrying out a decision needs beside them.

    Attributes:
        facts: For the decision.
        read: When reading them began, by the monotonic clock: what is newer may be missing.
        seen_comments: Highest comment number seen, by proposal.
        seen_reviews: Numbers of all reviews seen, with a verdict or without.
        said: Proposal number to a digest of what was said that its merge may wait for.
        retries: Proposal number to the seconds until the forge may be asked again to merge it.
        late: Merged proposals left out of the facts: the forge does not tell yet what brought them
            in.
        again: Seconds after which to look again: the forge does not show yet what we wrote, or says
            two things at once. None when the facts can be decided on.
        elsewhere: Proposals that were asked for, and are of another head branch by now.
    """

    facts: Facts
    read: float
    seen_comments: frozenset[int]
    seen_reviews: frozenset[int]
    said: Mapping[int, str]
    retries: Mapping[int, float]
    late: frozenset[int]
    again: float | None = None
    elsewhere: tuple[ListedProposal, ...] = ()


class Looker:
    """Looks at one repository.

    Args:
        repository: Which one.
        forge: Its forge.
        mirror: Its mirror.
        renderer: Renders and validates.
        store: The index, for shortcuts only.
        record_keys: Keys that hidden records may be made with, newest first.
        login: Our own login, such as "porchbot[bot]".
        instance: Name of this bot in its markers: the summary of another one is not ours.
        freezes: What is frozen in the repository.
        observes: This bot only observes, whatever the repository says.
        observed_until: When it ceased to, if it ever did.
        clock: The time that facts are read at, and that waiting is counted in.
        offload: Where git is read.
        upstreams: Where packages come from; None where drafts are made from none.
        tried: What stands in for `.porchbot.yaml`; None for what the branches have.
        users: Tells who uses packages in other repositories; None where nobody can.
        said: What checks say that show one line; None where nobody keeps it.
        wishes: Tells what rules for variants want; None where nobody can.
        wake: Wakes head branches for which what the index is told of one is news.
    """

    def __init__(
        self,
        repository: Repository,
        forge: Forge,
        mirror: Mirror,
        renderer: Renderer,
        store: LookIndex,
        record_keys: Sequence[bytes],
        login: str,
        instance: str,
        freezes: KnownFreezes,
        *,
        observes: bool = False,
        observed_until: datetime | None = None,
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
        tried: bytes | None = None,
        upstreams: Upstreams | None = None,
        users: UpstreamUsers | None = None,
        said: impact_texts.Texts | None = None,
        wishes: VariantWishes | None = None,
        wake: Wake = nobody,
    ) -> None:
        self.repository = repository
        self.forge = forge
        self.mirror = mirror
        self.renderer = renderer
        self.store = store
        self.fetcher = Fetcher(
            repository, forge, mirror, store.revisions, clock=clock, offload=offload
        )
        self.keys = record_keys
        self._observes = observes
        self.freezes = freezes
        self._tried = tried
        self.users = users
        self._said = said
        self.clock = clock
        self.offload = offload
        self._asker = HeadStateReader(repository, forge, store, record_keys, instance, offload)
        self._sharing = Overlaps(repository.id, forge, store.proposals, clock, wake)
        self.people = PeopleReader(forge, login, clock=clock, offload=offload)
        self._patience = Patience(clock)
        self.proposals = ProposalReader(
            repository,
            forge,
            self.fetcher,
            renderer,
            store,
            self._asker,
            self.people,
            login,
            clock=clock,
            offload=offload,
            upstreams=upstreams,
            users=users,
            wishes=wishes,
            observed_until=observed_until,
        )
        self._unproposed = UnproposedReader(
            repository, self.fetcher, self.people, renderer, offload
        )
        self.extended = ExtendedFiles(repository.owner, forge, clock)
        self._what_if = WhatIf(repository, forge, clock, offload)

    async def look(
        self,
        head: HeadBranch,
        adoption: Adoption,
        numbers: frozenset[int],
        *,
        rerun: bool,
        heads: Collection[str] = (),
        publishing: bool = False,
        since: float | None = None,
        known: KnownOfCommit | None = None,
        begun: rendering.Begun | None = None,
        pressed: Sequence[Press] = (),
        kept: SharedReadings | None = None,
    ) -> Looked:
        """As `_look`, once all that its rules extend was fetched."""
        return await self.extended.fetched(
            lambda: self._look(
                head,
                adoption,
                numbers,
                rerun=rerun,
                heads=heads,
                publishing=publishing,
                since=since,
                known=known,
                begun=begun,
                pressed=pressed,
                kept=kept,
            )
        )

    async def _look(
        self,
        head: HeadBranch,
        adoption: Adoption,
        numbers: frozenset[int],
        *,
        rerun: bool,
        heads: Collection[str],
        publishing: bool,
        since: float | None,
        known: KnownOfCommit | None,
        begun: rendering.Begun | None,
        pressed: Sequence[Press],
        kept: SharedReadings | None,
    ) -> Looked:
        """Read everything about one head branch.

        Args:
            head: The branch, in this repository or in a fork.
            adoption: What the repository was when the bot first saw it.
            numbers: Pull requests to look at even if they are closed and settled.
            rerun: Somebody pressed Re-run.
            heads: Commits that were pushed to the branch, as somebody said.
            publishing: A merge may follow: what others reported at the head is asked for as well.
            since: By the monotonic clock; git as it was fetched after that will do. None: fetch
                now.
            known: What is known of the commit; the other head branches there are left out then.
            begun: Where no check of ours shows yet, goes on with renderings that are not done
                soon, and the facts say so; None to wait for all of them.
            pressed: Buttons of our checks that were pressed.
            kept: What other looks read of proposals of the commit; None to read all of them.
        """
        read = self.clock.monotonic()
        began = read if since is None else since
        state, _ = await asyncio.gather(
            self._asker.ask(head, numbers, rerun=rerun, publishing=publishing, known=known),
            self.fetcher.fetch(self.fetcher.scope(head.repository, head.ref), began, heads),
        )
        bases = {each.pull.base_ref for each in state.relevant}
        await self.fetcher.fetch(Scope(frozenset(bases)), began)
        credentials = await self.forge.git_credentials()
        with await self.offload(self.mirror.open, credentials, began) as git:
            reader = self.reader(git, adoption)
            tags = reader.tags
            if any(run.ours for run in state.checks) and not rerun:
                begun = None
            look = OneLook(head, state, adoption, reader, began, read, begun, pressed)
            looked = await self._put_together(look)
            facts = await queued.told(self.forge, self.offload, git, looked.facts)
            looked = replace(looked, facts=facts)
            await indexing.complete(self.store.revisions, self.repository.id, tags, looked.facts)
        self.fetcher.saw(head.repository, head.ref, bases, tags.packages)
        if known is not None or looked.facts.pending:
            return looked

        async def look_alone(told: Mapping[HeadBranch, KnownOfCommit]) -> list[Facts]:
            places = [self.fetcher.scope(there.repository, there.ref) for there in told]
            await self.fetcher.fetch(reduce(or_, places, Scope()), began)  # all by one request
            only = frozenset[int]()
            found = [
                await self.look(there, adoption, only, rerun=False, since=began, known=one)
                for there, one in told.items()
            ]
            return [each.facts for each in found]

        others = await self._sharing.same_commit(head, state, look_alone, kept, began)
        if kept is not None and others and not pressed and state.open_head is not None:
            mine = (each.pull.number for each in state.relevant if each.pull.open)
            mine_alone = replace(looked.facts, rerun=False)
            kept.put(mine, Reading(state.open_head, min(began, read), mine_alone))
        proposals = await self._sharing.same_packages(looked.facts.proposals)
        if not publishing and looked.facts.may_be_tried:
            proposals = await self._with_effects(proposals, adoption, began)
        if not publishing:
            proposals = await impact_texts.told(self._said, proposals, looked.facts)
        facts = replace(looked.facts, proposals=proposals, crowded=others is None)
        return replace(looked, facts=facts.beside(others or ()))

    def reader(self, git: History, adoption: Adoption) -> MirrorReader:
        """What every look at the repository reads git with.

        Args:
            git: Its mirror, opened.
            adoption: What the repository was when the bot first saw it.
        """
        return MirrorReader(
            git=git,
            repository_id=self.repository.id,
            default_branch=self.repository.default_branch,
            keys=self.keys,
            tags=Tags(git, self.repository.id, self.keys, {}, adoption.tags),
            baseline=adoption.heads,
            defaults=self.extended.get,
            address=self.repository.clone_url,
            tried=self._tried,
            observes=self._observes,
            owners=self.forge.owners,
        )

    async def _both(
        self, head: HeadBranch, number: int, rules: Sha, adoption: Adoption, since: float
    ) -> tuple[Facts, Facts]:
        """One proposal as it is judged now, and as it would be by the rules at another commit.

        Nobody approved those: no function runs by them, and they do not tell who is in a team.
        """
        state, _ = await asyncio.gather(
            self._asker.ask(head, frozenset({number}), rerun=False, publishing=False),
            self.fetcher.fetch(self.fetcher.scope(head.repository, head.ref), since),
        )
        bases = frozenset(each.pull.base_ref for each in state.relevant)
        await self.fetcher.fetch(Scope(bases), since)
        credentials = await self.forge.git_credentials()
        with await self.offload(self.mirror.open, credentials, since) as git:
            look = OneLook(head, state, adoption, self.reader(git, adoption), since, since)
            now = await self._put_together(look)
            told = frozenset(slug for p in now.facts.proposals for slug in p.people.teams)
            then = await self._put_together(replace(look, rules=rules, told=told))
        return now.facts, then.facts

    async def _with_effects(
        self, proposals: Sequence[Proposal], adoption: Adoption, since: float
    ) -> tuple[Proposal, ...]:
        """The proposals, with what changes of the configuration would do to others."""
        both = partial(self._both, adoption=adoption, since=since)
        return tuple([await self._what_if.told(p, both) for p in proposals])

    async def _put_together(self, look: OneLook) -> Looked:
        head, state, reader = look.head, look.state, look.reader
        same = head.repository == self.repository.id.number
        ref = names.branch_ref(head.ref)
        tip = await self.offload(reader.git.ref, ref) if same else None
        heads = (each.pull.head for each in state.relevant)
        at = state.open_head or tip or next(heads, None)
        unasked = at if state.relevant and state.open_head is None else None
        (frozen, unread), checks, refused, full, rendered_by_us, proposals = await asyncio.gather(
            self.freezes.known(),
            self._asker.checks(unasked),
            self._asker.push_refused(ref, tip),
            self._asker.unshown(state.open_head),
            self.offload(reader.made_by_us, at),
            asyncio.gather(*(self.proposals.read(look, each) for each in state.relevant)),
        )
        waits = [
            self._patience.wait(s.pull.number, [*s.not_shown, *tags_not_shown(p)])
            for s, p in zip(state.relevant, proposals, strict=True)
        ]
        found = [p for p in proposals if isinstance(p, tuple) and self._after_baseline(p[0], look)]
        merged = any(not each.pull.open for each in state.relevant)
        facts = Facts(
            repository=self.repository.full_name,
            repository_id=self.repository.id,
            head_ref=head.ref,
            head=tip if same else state.open_head,
            same_repository=same,
            default_ref=self.repository.default_branch,
            proposals=tuple(p for p, _ in found),
            checks=shown(checks, state.checks),
            ended=state.ended(tip),
            rerun=state.rerun,
            pending=bool(look.begun),
            rendered_by_us=rendered_by_us,
            push_refused=refused,
            watched=merged and await self.offload(reader.observes_now),
            line_checks=not self.forge.checks_hold_text,
            unshown=full,
            terms=self.forge.terms,
            freezes=frozen,
            freezes_unread=unread,
            host=self.repository.host,
            path=self.repository.path,
        )
        if not state.relevant and same and tip is not None and facts.is_draft_branch:
            facts = await self._unproposed.read(look, facts, tip)
        return Looked(
            facts,
            look.read,
            seen_comments=frozenset(c.id for s in state.relevant for c in s.comments),
            seen_reviews=frozenset().union(
                *(s.conversation.review_numbers for s in state.relevant)
            ),
            said={p.place.number: m.said for p, m in found if m.said is not None},
            retries={p.place.number: m.left for p, m in found if m.left is not None},
            late=frozenset(
                each.pull.number
                for each, p in zip(state.relevant, proposals, strict=True)
                if isinstance(p, NotLogged)
            ),
            again=min((wait for wait in waits if wait is not None), default=None),
            elsewhere=state.elsewhere,
        )

    def _after_baseline(self, p: Proposal, look: OneLook) -> bool:
        """Only merges after adoption are published; a record of ours proves it.

        Source: docs/design.md, "Adoption".
        """
        merged_at = p.place.merged_at
        if merged_at is None or not look.adoption.merged_before(p.place.number, merged_at):
            return True
        return memory.carries_record(p)
