"""Looks at a head branch: puts together the facts that a decision needs, from forge and git.

Longer than 400 lines: the order of one look.

Calls that do not wait for one another run at the same time. What never changes (who wrote a commit,
what a file at a commit says) is kept; everything else is read again at each look.
"""

import asyncio
import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from bot import metrics
from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.forges.port import Forge, ListedProposal, Repository
from bot.freezes import KnownFreezes
from bot.git.port import History, Mirror, Scope
from bot.keys import ProposalKey
from bot.look import content, releasing, rendering, revisions, updating
from bot.look.asking import Asker, MergeLook
from bot.look.base import Bases, NotLogged
from bot.look.defaults import ExtendedFiles
from bot.look.drafts import Drafts
from bot.look.fetching import Fetcher
from bot.look.gains import Gains
from bot.look.patience import Patience
from bot.look.people import People
from bot.look.reader import Basis, MirrorReader
from bot.look.revisions import Revisions
from bot.look.sharing import Overlaps
from bot.look.states import HeadBranch, HeadState, PullState
from bot.look.tags import Tags
from bot.look.timed_rules import timed_now
from bot.look.whatif import WhatIf
from bot.render.port import Renderer
from bot.store.hints import Press
from bot.store.port import Index
from bot.store.values import Adoption, Revision
from cadlib.diff.changes import Change
from lifecycle import effects, memory, names, releases
from lifecycle.access import Person
from lifecycle.assess import lost_tags
from lifecycle.commands import answers
from lifecycle.facts.checks import OURS, CheckRun
from lifecycle.facts.conversation import Comment
from lifecycle.facts.head import Facts, PushRefusal
from lifecycle.facts.proposal import Participants, Proposal, ProposalPlace, Rules, Times
from lifecycle.facts.verdicts import Verdict, rules_digest
from lifecycle.names import Sha
from lifecycle.policy import Policy


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
        news: Head branches that began or ceased to share this one's commit: look at them again.
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
    news: frozenset[ProposalKey] = frozenset()
    again: float | None = None
    elsewhere: tuple[ListedProposal, ...] = ()


@dataclass(frozen=True, slots=True)
class _Look:
    """What one look goes by.

    Attributes:
        head: The branch.
        state: What the forge told of it.
        adoption: What the repository was when the bot first saw it.
        reader: Reads git.
        since: By the monotonic clock; git as it was fetched after that will do.
        read: By the same, when it began.
        begun: Goes on with renderings that are not done soon; None to wait for them.
        pressed: Buttons that were pressed.
        rules: A commit whose rules judge it; None for those that hold. They are tried out: no
            function runs by them.
        told: Teams whose members may be told where rules are tried out.
    """

    head: HeadBranch
    state: HeadState
    adoption: Adoption
    reader: MirrorReader
    since: float
    read: float
    begun: rendering.Begun | None = None
    pressed: Sequence[Press] = ()
    rules: Sha | None = None
    told: frozenset[str] | None = None


MOST_COMPARED = 5
"""Revisions that one look compares with; whoever can read may ask."""


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
        clock: The time that facts are read at, and that waiting is counted in.
        offload: Where git is read.
        tried: What stands in for `.porchbot.yaml`; None for what the branches have.
    """

    def __init__(
        self,
        repository: Repository,
        forge: Forge,
        mirror: Mirror,
        renderer: Renderer,
        store: Index,
        record_keys: Sequence[bytes],
        login: str,
        instance: str,
        freezes: KnownFreezes,
        *,
        observes: bool = False,
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
        tried: bytes | None = None,
    ) -> None:
        me = repository.id
        self.repository = repository
        self.forge = forge
        self.mirror = mirror
        self.renderer = renderer
        self.store = store
        self.fetcher = Fetcher(
            repository, forge, mirror, store.revisions, clock=clock, offload=offload
        )
        self.keys = record_keys
        self._login = login
        self._observes = observes
        self.freezes = freezes
        self._tried = tried
        self.clock = clock
        self.offload = offload
        self._asker = Asker(repository, forge, store, record_keys, instance, offload)
        self._sharing = Overlaps(me, forge, store.proposals)
        self.people = People(forge, login, clock=clock, offload=offload)
        self._bases = Bases(me, forge, store.revisions, clock=clock, offload=offload)
        self._patience = Patience(clock)
        self._gains = Gains(renderer, offload)
        self.extended = ExtendedFiles(repository.owner, forge, clock)
        self._revisions = Revisions(forge, self.fetcher, store.proposals, offload)
        self._drafts = Drafts(forge, self.fetcher, renderer, store.proposals, offload)
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
        alone: bool = False,
        begun: rendering.Begun | None = None,
        pressed: Sequence[Press] = (),
    ) -> Looked:
        """Read everything about one head branch, once all that its rules extend was fetched.

        As `_look`.
        """
        return await self.extended.fetched(
            lambda: self._look(
                head,
                adoption,
                numbers,
                rerun=rerun,
                heads=heads,
                publishing=publishing,
                since=since,
                alone=alone,
                begun=begun,
                pressed=pressed,
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
        alone: bool,
        begun: rendering.Begun | None,
        pressed: Sequence[Press],
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
            alone: Leave out the proposals of other head branches that share the commit.
            begun: Where no check of ours shows yet, goes on with renderings that are not done
                soon, and the facts say so; None to wait for all of them.
            pressed: Buttons of our checks that were pressed.
        """
        read = self.clock.monotonic()
        began = read if since is None else since
        state, _ = await asyncio.gather(
            self._asker.ask(head, numbers, rerun=rerun, publishing=publishing),
            self.fetcher.fetch(self.fetcher.scope(head.repository, head.ref), began, heads),
        )
        bases = {each.pull.base_ref for each in state.relevant}
        await self.fetcher.fetch(Scope(frozenset(bases)), began)
        credentials = await self.forge.git_credentials()
        with await self.offload(self.mirror.open, credentials, began) as git:
            reader = self.reader(git, adoption)
            tags = reader.tags
            shown = any(run.ours for run in state.checks)
            look = _Look(
                head,
                state,
                adoption,
                reader,
                began,
                read,
                None if shown and not rerun else begun,
                pressed,
            )
            looked = await self._put_together(look)
            await self._index(tags, looked.facts)
        self.fetcher.saw(head.repository, head.ref, bases, tags.packages)
        if alone or looked.facts.pending:
            return looked

        async def look_alone(there: HeadBranch, number: int) -> Facts:
            only = frozenset({number})
            found = await self.look(there, adoption, only, rerun=False, since=began, alone=True)
            return found.facts

        others, news = await self._sharing.same_commit(
            head, state, look_alone, publishing=publishing
        )
        proposals, more = await self._sharing.same_packages(looked.facts.proposals)
        # It takes many requests: whoever may not push here does not ask for them.
        if not publishing and looked.facts.same_repository:
            proposals = await self._with_effects(proposals, adoption, began)
        crowded = others is None
        facts = replace(looked.facts, others=others or (), crowded=crowded, proposals=proposals)
        return replace(looked, facts=facts, news=news | more)

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
            look = _Look(head, state, adoption, self.reader(git, adoption), since, since)
            now = await self._put_together(look)
            told = frozenset(slug for p in now.facts.proposals for slug in p.people.teams)
            then = await self._put_together(replace(look, rules=rules, told=told))
        return now.facts, then.facts

    async def _with_effects(
        self, proposals: Sequence[Proposal], adoption: Adoption, since: float
    ) -> tuple[Proposal, ...]:
        """The proposals, with what changes of the configuration would do to others."""

        async def judge(head: HeadBranch, number: int, rules: Sha) -> tuple[Facts, Facts]:
            return await self._both(head, number, rules, adoption, since)

        return tuple([replace(p, rules_effect=await self._what_if.of(p, judge)) for p in proposals])

    async def _index(self, tags: Tags, facts: Facts) -> None:
        """Revisions of ours that the index does not know: it was lost, and is built again.

        Tags tell of them, and the records of their proposals: a tag may be gone, and its number
        stays used all the same.
        """
        proposals = {
            str(p.place.merge_commit): p.place.number
            for p in facts.proposals
            if p.place.merge_commit
        }
        for (package, number), revision in tags.ours.items():
            known = tags.used.get(package, {}).get(number)
            if known is None or (known.target == revision.target and not known.tag):
                found = replace(revision, proposal=proposals.get(revision.target))
                await self.store.revisions.keep_revision(self.repository.id, package, number, found)
        for proposal in facts.proposals:
            for each in memory.published(proposal):
                if each.revision not in tags.used.get(each.package, {}):
                    made = Revision(each.commit, each.tag, proposal.place.number)
                    await self.store.revisions.keep_revision(
                        self.repository.id, each.package, each.revision, made
                    )

    async def _put_together(self, look: _Look) -> Looked:
        head, state, reader = look.head, look.state, look.reader
        same = head.repository == self.repository.id.number
        ref = names.branch_ref(head.ref)
        tip = await self.offload(reader.git.ref, ref) if same else None
        heads = (each.pull.head for each in state.relevant)
        shown = state.open_head or tip or next(heads, None)
        unasked = shown if state.relevant and state.open_head is None else None
        (frozen, unread), checks, refused, rendered_by_us, proposals = await asyncio.gather(
            self.freezes.known(),
            self._asker.checks(unasked),
            self._push_refused(ref, tip),
            self.offload(reader.made_by_us, shown),
            asyncio.gather(*(self._proposal(look, each) for each in state.relevant)),
        )
        waits = [
            self._patience.wait(s.pull.number, [*s.not_shown, *_tags_not_shown(p)])
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
            checks=_shown(checks, state.checks),
            abandoned=state.abandoned,
            rerun=state.rerun,
            pending=bool(look.begun),
            rendered_by_us=rendered_by_us,
            push_refused=refused,
            watched=merged and await self.offload(reader.observes_now),
            line_checks=not self.forge.checks_hold_text,
            terms=self.forge.terms,
            freezes=frozen,
            freezes_unread=unread,
        )
        if not state.relevant and same and tip is not None and facts.is_draft_branch:
            facts = await self._draft(look, facts, tip)
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

    async def _push_refused(self, ref: str, tip: Sha | None) -> PushRefusal | None:
        return (
            await self.store.proposals.push_refusal(self.repository.id, ref, tip) if tip else None
        )

    def _after_baseline(self, p: Proposal, look: _Look) -> bool:
        """Only merges after adoption are published; a record of ours proves it.

        Source: docs/design.md, "Adoption".
        """
        merged_at = p.place.merged_at
        if merged_at is None or not look.adoption.merged_before(p.place.number, merged_at):
            return True
        return memory.carries_record(p)

    async def _draft(self, look: _Look, facts: Facts, tip: Sha) -> Facts:
        """A draft branch without a pull request: what it touches, and its rendering."""
        reader, ref = look.reader, facts.default_ref
        base = reader.git.ref(names.branch_ref(ref))
        if base is None:
            return facts
        basis = Basis(rules=base, base=base)
        await self.fetcher.fetch_related(reader, tip, ref, basis, look.since)
        read = await self.offload(content.read, reader, tip, ref, basis, head_ref=facts.head_ref)
        if read is None or not read.content.touched:
            return facts
        verdicts, subjects, pusher = await asyncio.gather(
            rendering.verdicts(
                self.renderer, reader.git, read.content.touched, read.policy, head=tip
            ),
            self.offload(reader.subjects, tip, base),
            self.people.pusher(facts.head_ref, self.repository.id.number),
        )
        return replace(
            facts,
            draft_touched=read.content.touched,
            draft_verdicts=verdicts,
            draft_policy=read.policy,
            draft_subjects=subjects,
            draft_pusher=pusher,
        )

    async def _proposal(
        self, look: _Look, state: PullState
    ) -> tuple[Proposal, MergeLook] | NotLogged | None:
        """One pull request, with what its merge waits for; None when git does not have it yet."""
        pull, reader = state.pull, look.reader
        await self.fetcher.fetch_head(reader.git, pull)
        basis = await self._bases.find(reader, pull)
        if not isinstance(basis, Basis):
            return basis
        held = basis
        if look.rules is not None:
            basis = replace(basis, rules=look.rules)
        await self.fetcher.fetch_related(reader, pull.head, pull.base_ref, basis, look.since)
        with metrics.STEP_SECONDS.labels("read").time():
            read = await self.offload(
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
            timed = await self.offload(timed_now, reader, pull.base_ref, read)
            read = replace(read, policy=timed)
        runs = read.policy
        if look.rules is not None:
            rules = await self.offload(reader.rules, held.rules, pull.base_ref)
            runs = effects.running(read.policy, rules.policy)
        reviews = await self.offload(
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
                organization=self.repository.full_name.partition("/")[0],
            ),
            content=read.content,
            talk=replace(state.talk(reviews), pressed=self._pressed(look, pull)),
            rules=Rules(policy=read.policy),
        )
        if answers.about_repository(proposal, memory.read(proposal)):
            proposal = replace(proposal, whole=await self.offload(reader.whole))
        # Whose word matters does not follow from the rendering: neither waits for the other.
        proposal, verdicts, found = await asyncio.gather(
            self.people.add(reader, pull, proposal, state.conversation.changes or (), look.told),
            rendering.soon(
                rendering.verdicts(
                    self.renderer,
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
                self.renderer, reader.git, proposal.content.touched
            )
            proposal = replace(proposal, content=replace(proposal.content, touched=touched))
        if due := releases.due(proposal, memory.read(proposal)):
            notes = await releasing.notes(
                self.forge, self.renderer, reader, proposal.place, due, self.offload
            )
            proposal = replace(proposal, releases=notes)
        if pull.head_repository == self.repository.id.number:
            update = await updating.update(self.renderer, reader.git, proposal, self.offload)
            proposal = replace(proposal, update=update)
        proposal = await self._compare(reader, proposal)
        if whole := answers.removed(proposal, memory.read(proposal)):
            there = await self.offload(revisions.packages, reader, whole, pull.head)
            proposal = replace(proposal, removed=there)
        asked = answers.named(proposal, memory.read(proposal))
        if asked:
            states = self._revisions.read(reader, asked, pull.base_ref, basis.rules, look.since)
            proposal = replace(proposal, revisions=await states)
        same = pull.head_repository == self.repository.id.number
        proposal = await self.drafted(reader, proposal, pull.head_ref, look.since, same=same)
        if not proposal.place.closed and any(v.blocking for v in verdicts):
            pushed_by = await self.people.pusher_of(pull)
            proposal = replace(proposal, people=replace(proposal.people, pushed_by=pushed_by))
        return proposal, found

    async def drafted(
        self, reader: MirrorReader, p: Proposal, head_ref: str, since: float, *, same: bool = True
    ) -> Proposal:
        """Work out the drafts that somebody with the right asks for.

        Args:
            reader: Reads git.
            p: Where they ask; roles and `whole` are told.
            head_ref: Its head branch; "" for the dashboard issue.
            since: As in `_Look`.
            same: The branch is in this repository, and in no fork.
        """
        asking = Facts(
            repository=self.repository.full_name,
            repository_id=self.repository.id,
            head_ref=head_ref,
            head=None,
            same_repository=same,
            default_ref=self.repository.default_branch,
            proposals=(p,),
        )
        asked = answers.drafts(asking, p, memory.read(p))
        if not asked:
            return p
        if p.whole is None:
            p = replace(p, whole=await self.offload(reader.whole))
        return replace(p, drafts=await self._drafts.read(reader, p, head_ref, asked, since))

    async def _compare(self, reader: MirrorReader, p: Proposal) -> Proposal:
        """What differs from revisions that somebody asks about."""
        asked = answers.compared_with(p, memory.read(p))
        found: dict[int, dict[str, tuple[Change, ...]]] = {number: {} for number in asked}
        for number in sorted(asked)[:MOST_COMPARED]:
            for t in p.content.touched:
                commit = await self.offload(reader.tags.commit, t.package, number)
                if commit is not None and t.tree:
                    before = await self.offload(reader.git.package, commit, t.package)
                    changes = await self.renderer.changes(reader.git, before, t.tree)
                    found[number][t.package] = changes
        return replace(p, compared=found) if found else p

    def _pressed(self, look: _Look, pull: ListedProposal) -> tuple[Comment, ...]:
        """The buttons that were pressed, as commands; once, where several propose the commit."""
        numbers = [each.pull.number for each in look.state.relevant if each.pull.open]
        if not pull.open or pull.number != min(numbers):
            return ()
        return tuple(
            Comment(
                id=-int(hashlib.sha256(str(each).encode()).hexdigest()[:12], 16),
                author=Person(each.person, each.login, bot=False),
                body=f"/{each.button}",
                at=self.repository.installed_at,  # when does not matter: none of them approves
                button=True,
            )
            for each in look.pressed
        )

    def _times(self, state: PullState, adoption: Adoption) -> Times:
        """Since when it is what it is; when its head came to be is for people's look to tell."""
        said = state.conversation
        return Times(
            installed_at=self.repository.installed_at,
            opened_at=said.opened_at,
            looked_at=self.clock.now(),
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
        remembered = memory.read(p)
        approving = answers.unbound_since(p, remembered) if p.content.touched else None
        said = [approving, answers.by_rules_since(p, remembered)]
        since = min((at for at in said if at is not None), default=None)
        if since is None:
            return Rules(policy=policy, digest=digest)
        told = await self._bases.rules_since(reader, pull, basis, since)
        return Rules(policy=policy, digest=digest, changed_at=told.at, changes_told=told.told)


def _tags_not_shown(found: tuple[Proposal, MergeLook] | NotLogged | None) -> list[str]:
    """Tags that we made and git does not show: it may be late, as after their own push."""
    if not isinstance(found, tuple):
        return []
    return [f"tag of {package}" for package in lost_tags(found[0])]


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
    )


def _shown(*listed: Iterable[CheckRun]) -> dict[str, CheckRun]:
    """Our checks; and what stands in the place of one, which somebody else put there."""
    runs = [run for each in listed for run in each if run.ours or run.name in OURS]
    return {run.name: run for run in sorted(runs, key=lambda run: run.ours)}
