"""Reads one proposal for a look at its head branch: content, people, what its merge waits for."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from bot import metrics
from bot.clock import Clock, Offload
from bot.forges.port import Forge, ListedProposal, Repository
from bot.look import (
    content,
    elsewhere,
    pressing,
    releasing,
    rendering,
    revisions,
    updating,
    variant_wishes,
)
from bot.look.asking import HeadStateReader, MergeLook
from bot.look.base import Bases, NotLogged
from bot.look.crowds import asked
from bot.look.drafts import Drafts
from bot.look.fetching import Fetcher
from bot.look.gains import Gains
from bot.look.one_look import OneLook
from bot.look.people import PeopleReader
from bot.look.reader import Basis, MirrorReader
from bot.look.revisions import RevisionReader
from bot.look.states import PullState
from bot.look.timed_rules import timed_now
from bot.look.trials import Trials
from bot.look.upgrades import Alone, UpgradeReader
from bot.look.variant_wishes import VariantWishes
from bot.render.port import Renderer
from bot.store.port import LookIndex
from bot.store.values import Adoption
from bot.upstream.port import Upstreams
from bot.upstream.users import UpstreamUsers
from cadlib.diff.values import Change
from lifecycle import effects, memory, releases
from lifecycle.access import Person
from lifecycle.assess import lost_tags
from lifecycle.commands import answers
from lifecycle.commands import asked as asked_for
from lifecycle.facts.head import Facts
from lifecycle.facts.lookups import Lookups
from lifecycle.facts.proposal import Participants, Proposal, ProposalPlace, Rules, Times
from lifecycle.facts.verdicts import Verdict, rules_digest
from lifecycle.names import Sha
from lifecycle.policy import Policy

MOST_COMPARED = 5
"""Revisions that one look compares with; whoever can read may ask."""


class ProposalReader:
    """Reads proposals of one repository.

    Args:
        repository: Which one.
        forge: Its forge.
        fetcher: Brings what git lacks.
        renderer: Renders and validates.
        store: The index, for shortcuts only.
        asker: Asks the forge what a merge waits for.
        people: Tells who may do what.
        login: Our own login, such as "porchbot[bot]".
        clock: The time that facts are read at.
        offload: Where git is read.
        upstreams: Where packages come from; None where drafts are made from none.
        users: Tells who uses packages in other repositories; None where nobody can.
        wishes: Tells what rules for variants want; None where nothing of theirs is approved by a
            rule.
        observed_until: When the bot ceased to only observe, everywhere; None where it never did.
    """

    def __init__(
        self,
        repository: Repository,
        forge: Forge,
        fetcher: Fetcher,
        renderer: Renderer,
        store: LookIndex,
        asker: HeadStateReader,
        people: PeopleReader,
        login: str,
        *,
        clock: Clock,
        offload: Offload,
        upstreams: Upstreams | None = None,
        users: UpstreamUsers | None = None,
        wishes: VariantWishes | None = None,
        observed_until: datetime | None = None,
    ) -> None:
        self._repository = repository
        self._forge = forge
        self._fetcher = fetcher
        self._renderer = renderer
        self._asker = asker
        self._people = people
        self._login = login
        self._clock = clock
        self._offload = offload
        self._users = users
        self._wishes = wishes
        me = repository.id
        self._trials = Trials(forge, offload, observed_until)
        self._bases = Bases(me, forge, store.revisions, clock=clock, offload=offload)
        self._gains = Gains(renderer, offload)
        self._revisions = RevisionReader(forge, fetcher, store.proposals, offload)
        self._upgrades = UpgradeReader(repository, renderer, offload, upstreams, clock)
        self._drafts = Drafts(
            repository, forge, fetcher, renderer, store.proposals, offload, upstreams, clock
        )

    async def read(
        self, look: OneLook, state: PullState
    ) -> tuple[Proposal, MergeLook] | NotLogged | None:
        """One pull request, with what its merge waits for; None when git does not have it yet."""
        pull, reader = state.pull, look.reader
        await self._fetcher.fetch_head(reader.git, pull)
        basis = await self._bases.find(reader, pull)
        if not isinstance(basis, Basis):
            return basis
        held = basis
        if look.rules is not None:
            basis = replace(basis, rules=look.rules)
        await self._fetcher.fetch_related(reader, pull.head, pull.base_ref, basis, look.since)
        with metrics.STEP_SECONDS.labels("read").time():
            read = await self._offload(
                content.read,
                reader,
                pull.head,
                pull.base_ref,
                basis,
                head_ref=pull.head_ref,
                number=pull.number,
            )
        if read is None:
            return None
        if pull.merged:
            timed = await self._offload(timed_now, reader, pull.base_ref, read)
            read = replace(read, policy=timed)
        runs = read.policy
        if look.rules is not None:
            rules = await self._offload(reader.rules, held.rules, pull.base_ref)
            runs = effects.running(read.policy, rules.policy)
        pressed = pressing.commands(look, pull, self._repository.installed_at)
        reviews = await self._offload(
            content.reviews, reader, state.conversation.reviews, read.content, basis.base
        )
        proposal = Proposal(
            place=_place(pull, basis),
            times=self._times(state, look.adoption),
            people=Participants(
                author=pull.author,
                authors=frozenset({pull.author.login} - {self._login}),
                us=self._login,
                assigned=pull.assigned,
                owners=read.owners,
                organization=self._repository.full_name.partition("/")[0],
            ),
            content=read.content,
            talk=replace(state.talk(reviews), pressed=pressed),
            rules=Rules(policy=read.policy),
        )
        proposal = await self.after_trials(reader, proposal)
        if await asked(self._offload, proposal, answers.about_repository):
            known = Lookups(whole=await self._offload(reader.whole))
            proposal = replace(proposal, lookups=known)
        # Whose word matters does not follow from the rendering: neither waits for the other.
        proposal, verdicts, found = await asyncio.gather(
            self._people.add(reader, pull, proposal, state.conversation.changes or (), look.told),
            rendering.soon(
                lambda: rendering.verdicts(
                    self._renderer,
                    reader.git,
                    read.content.touched,
                    runs,
                    head="" if pull.merged else pull.head,
                    again=look.state.rerun,
                ),
                None if pull.merged else look.begun,
            ),
            self._asker.merging(state, basis, look.state, read.policy),
        )
        alone = partial(self._people.alone, reader, pull, proposal)
        proposal = await self._with_users(reader, proposal, alone)
        if verdicts is None:
            return proposal, found
        proposal = replace(
            proposal,
            rules=await self._rules(reader, pull, basis, proposal, verdicts),
            verdicts=verdicts,
            merging=found.merging,
        )
        since = await self._gains.taken_back(reader.git, proposal)
        proposal = replace(proposal, content=replace(proposal.content, takes_back=since))
        if proposal.content.unpublished and not proposal.once_published:
            touched = await rendering.unpublished_changes(
                self._renderer, reader.git, proposal.content.touched
            )
            proposal = replace(proposal, content=replace(proposal.content, touched=touched))
        proposal = await self._releases(reader, proposal)
        if pull.head_repository == self._repository.id.number:
            update = await updating.update(self._renderer, reader.git, proposal, self._offload)
            proposal = replace(proposal, lookups=replace(proposal.lookups, update=update))
        proposal = await self._compare(reader, proposal)
        if whole := asked_for.removed(proposal, memory.read(proposal)):
            there = await self._offload(revisions.packages, reader, whole, pull.head)
            proposal = replace(proposal, lookups=replace(proposal.lookups, removed=there))
        wanted = asked_for.named(proposal, memory.read(proposal))
        if wanted:
            found_here = await self._revisions.read(
                reader, wanted, pull.base_ref, basis.rules, look.since
            )
            askers = asked_for.deleting(proposal, memory.read(proposal))
            states = elsewhere.states(self._users, self._repository, found_here, askers)
            lookups = replace(proposal.lookups, revisions=await states)
            proposal = replace(proposal, lookups=lookups)
        proposal = await self._upgrades.read(reader, proposal, alone)
        has_impact = await elsewhere.has_impact(self._users, self._repository, proposal)
        proposal = replace(
            proposal, consequences=replace(proposal.consequences, has_impact=has_impact)
        )
        proposal = await variant_wishes.asked(
            self._wishes, self._repository, reader, pull, basis, proposal, self._offload
        )
        same = pull.head_repository == self._repository.id.number
        proposal = await self.drafted(reader, proposal, pull.head_ref, look.since, same=same)
        if not proposal.place.closed and any(v.blocking for v in verdicts):
            pushed_by = await self._people.pusher_of(pull)
            proposal = replace(proposal, people=replace(proposal.people, pushed_by=pushed_by))
        return proposal, found

    async def after_trials(self, reader: MirrorReader, proposal: Proposal) -> Proposal:
        """A proposal, or issue, with when the bot last ceased to only observe.

        That is asked where a comment without an answer may be from before it.
        """
        if (oldest := await asked(self._offload, proposal, answers.oldest)) is None:
            return proposal
        ended = await self._trials.ended(reader, oldest, self._clock.now())
        return replace(proposal, rules=replace(proposal.rules, observed_until=ended))

    async def _with_users(self, reader: MirrorReader, proposal: Proposal, alone: Alone) -> Proposal:
        """A proposal with what concerns it in other repositories, as far as its people may know.

        Whoever pushed a part of it asks as well: private names and ledgers are told where all of it
        is by one person, and to that one.
        """

        async def askers() -> list[Person]:
            # Where everybody may read, nothing private is named at all.
            one = None if self._repository.public else await alone()
            return [] if one is None else [one]

        used = await elsewhere.content(self._users, self._repository, proposal.content, askers)
        if not proposal.place.merged:  # what is merged was judged before
            head = proposal.place.head
            used = await elsewhere.findings(
                self._users, self._repository, reader, head, used, askers, self._offload
            )
        return replace(proposal, content=used)

    async def drafted(
        self, reader: MirrorReader, p: Proposal, head_ref: str, since: float, *, same: bool = True
    ) -> Proposal:
        """Work out the drafts that somebody with the right asks for.

        Args:
            reader: Reads git.
            p: Where they ask; roles and `lookups.whole` are told.
            head_ref: Its head branch; "" for the dashboard issue.
            since: As in `OneLook`.
            same: The branch is in this repository, and in no fork.
        """
        asking = Facts(
            repository=self._repository.full_name,
            repository_id=self._repository.id,
            head_ref=head_ref,
            head=None,
            same_repository=same,
            default_ref=self._repository.default_branch,
            proposals=(p,),
        )
        wanted = await asked(self._offload, p, partial(answers.drafts, asking))
        if wanted and p.lookups.whole is None:
            p = replace(p, lookups=replace(p.lookups, whole=await self._offload(reader.whole)))
        drafts = await self._drafts.read(reader, p, head_ref, wanted, since)
        return replace(p, lookups=replace(p.lookups, drafts=drafts))

    async def _releases(self, reader: MirrorReader, p: Proposal) -> Proposal:
        """Releases that are to be made, and those that have to say what the ledger says."""
        remembered = memory.read(p)
        if due := releases.due(p, remembered):
            notes = await releasing.notes(
                self._forge, self._renderer, reader, p.place, due, self._offload
            )
            p = replace(p, releases=replace(p.releases, notes=notes))
        if deprecated := releases.to_mark(p, remembered):
            marks = await releasing.marks(self._forge, deprecated)
            p = replace(p, releases=replace(p.releases, marks=marks))
        return p

    async def _compare(self, reader: MirrorReader, p: Proposal) -> Proposal:
        """What differs from revisions that somebody asks about."""
        wanted = asked_for.compared_with(p, memory.read(p))
        found: dict[int, dict[str, tuple[Change, ...]]] = {number: {} for number in wanted}
        for number in sorted(wanted)[:MOST_COMPARED]:
            for t in p.content.touched:
                commit = await self._offload(reader.tags.commit, t.package, number)
                if commit is not None and t.tree:
                    before = await self._offload(reader.git.package, commit, t.package)
                    changes = await self._renderer.changes(reader.git, before, t.tree)
                    found[number][t.package] = changes
        return replace(p, lookups=replace(p.lookups, compared=found)) if found else p

    def _times(self, state: PullState, adoption: Adoption) -> Times:
        """Since when it is what it is; when its head came to be is for people's look to tell."""
        said = state.conversation
        return Times(
            installed_at=self._repository.installed_at,
            opened_at=said.opened_at,
            looked_at=self._clock.now(),
            head_mark=state.head_mark,
            base_at=said.base_at,
            base_told=said.changes is not None,
            adopted_at=adoption.at,
            adopted_number=adoption.highest,
        )

    async def _rules(
        self,
        reader: MirrorReader,
        pull: ListedProposal,
        basis: Basis,
        p: Proposal,
        verdicts: Sequence[Verdict],
    ) -> Rules:
        """What judges it; and since when, where the meaning of what somebody said hangs on that."""
        policy = p.rules.policy
        digest = rules_digest(policy, verdicts) if isinstance(policy, Policy) else ""
        said = [await asked(self._offload, p, answers.by_rules_since)]
        if p.content.publishes:
            said.append(await asked(self._offload, p, answers.unbound_since))
        since = min((at for at in said if at is not None), default=None)
        if since is None:
            return replace(p.rules, digest=digest)
        told = await self._bases.rules_since(reader, pull, basis, since)
        return replace(p.rules, digest=digest, changed_at=told.at, changes_told=told.told)


def _place(pull: ListedProposal, basis: Basis) -> ProposalPlace:
    return ProposalPlace(
        number=pull.number,
        title=pull.title,
        draft=pull.draft,
        merged=pull.merged,
        closed=not pull.open,
        head=pull.head,
        base_ref=pull.base_ref,
        base=basis.base or Sha(""),
        merge_commit=pull.merge_commit,
        merged_at=pull.merged_at,
        labels=pull.labels,
        locked=pull.locked,
    )


def tags_not_shown(found: tuple[Proposal, MergeLook] | NotLogged | None) -> list[str]:
    """Tags that we made and git does not show: it may be late, as after their own push."""
    if not isinstance(found, tuple):
        return []
    return [f"tag of {package}" for package in lost_tags(found[0])]
