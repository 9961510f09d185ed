"""Looking: reads forge and git, and puts together the facts that a decision needs.

Calls that do not wait for one another run at the same time. What never changes (who wrote a commit,
what a file at a commit says) is kept; everything else is read again at each look
(docs/design.md, "Forge calls": a look that changes nothing makes at most eight requests for a
proposal with one approver).
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import monotonic

from bot import metrics
from bot.forges.port import Conversation, Forge, PullRequest, Repository, RequiredCheck
from bot.git.port import History, Mirror, Scope
from bot.keys import ProposalKey
from bot.look import required
from bot.look.base import Bases, Late
from bot.look.content import Ground, Read, Reader
from bot.look.near import Near
from bot.look.patience import Patience
from bot.look.people import People
from bot.look.tags import Tags
from bot.look.told import Stand, Talk, Told, mark, missed
from bot.render.port import Renderer
from bot.store.port import Store
from bot.store.values import TAGS, Adoption
from lifecycle import memory, records
from lifecycle.commands import answers
from lifecycle.commands import parse as commands
from lifecycle.facts import (
    MOST_SHARED,
    CheckRun,
    Comment,
    Facts,
    Proposal,
    PushRefusal,
    Verdict,
    rules_digest,
)
from lifecycle.names import Ref, Sha
from lifecycle.policy import BrokenPolicy, Policy


@dataclass(frozen=True, slots=True)
class Head:
    """The branch that a look is about."""

    repository: int | None
    ref: str


@dataclass(frozen=True, slots=True)
class Looked:
    """Facts, with what carrying out a decision needs beside them.

    Attributes:
        facts: For the decision.
        nodes: Proposal number to its id in GraphQL.
        seen_comments: Highest comment number seen, by proposal.
        seen_reviews: Review numbers seen.
        ended: Proposal number to a digest of what others had reported at its head.
        news: Head branches that began or ceased to share this one's commit: look at them again.
        late: Merged proposals left out of the facts: the forge does not tell yet what brought them
            in.
        again: Seconds after which to look again: the forge does not show yet what we wrote, or says
            two things at once. None when the facts can be decided on.
    """

    facts: Facts
    nodes: Mapping[int, str]
    seen_comments: frozenset[int]
    seen_reviews: frozenset[int]
    ended: Mapping[int, str]
    late: frozenset[int]
    news: frozenset[ProposalKey] = frozenset()
    again: float | None = None


def _with_commands(said: Conversation) -> Conversation:
    """Of what reviews say keep what holds commands; for a thread, like that of comments."""
    found = tuple(
        t for t in said.review_texts if not t.author.bot and commands.parse(t.body).commands
    )
    return replace(said, review_texts=found)


def of_head(pulls: Iterable[PullRequest], head: Head) -> tuple[PullRequest, ...]:
    """Those of one branch of one repository: forges ignore filters, and forks share names."""
    return tuple(
        p for p in pulls if p.head_ref == head.ref and p.head_repository == head.repository
    )


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
    """

    def __init__(
        self,
        repository: Repository,
        forge: Forge,
        mirror: Mirror,
        renderer: Renderer,
        store: Store,
        record_keys: Sequence[bytes],
        login: str,
        instance: str,
    ) -> None:
        self.repository = repository
        self.forge = forge
        self.mirror = mirror
        self.renderer = renderer
        self.store = store
        self._keys = record_keys
        self._login = login
        self._instance = instance
        self._people = People(repository.id, forge, login)
        self._bases = Bases(repository.id, forge, store.revisions)
        self.near = Near(repository, forge, mirror, store.revisions)
        self._patience = Patience()

    async def look(
        self,
        head: Head,
        adoption: Adoption,
        numbers: frozenset[int],
        *,
        rerun: bool,
        publishing: bool = False,
        since: float | None = None,
        alone: bool = False,
    ) -> Looked:
        """Read everything about one head branch.

        Args:
            head: The branch, in this repository or in a fork.
            adoption: What the repository was when the bot first saw it.
            numbers: Pull requests to look at even if they are closed and settled.
            rerun: Somebody pressed Re-run.
            publishing: A merge may follow: what others reported at the head is asked for as well.
            since: `time.monotonic()`; git as it was fetched after that will do. None: fetch now.
            alone: Leave out the proposals of other head branches that share the commit.
        """
        since = monotonic() if since is None else since
        told, _ = await asyncio.gather(
            self._ask(head, numbers, rerun=rerun, publishing=publishing),
            self.near.fetch(self.near.scope(head.repository, head.ref), since),
        )
        bases = {pull.base_ref for pull, _ in told.talks}
        await self.near.fetch(Scope(frozenset(bases)), since)
        token = await self.forge.token()
        with await asyncio.to_thread(self.mirror.open, token, since) as git:
            tags = Tags(git, self.repository.id, self._keys, {}, adoption.tags)
            reader = Reader(
                git=git,
                repository_id=self.repository.id,
                default_branch=self.repository.default_branch,
                keys=self._keys,
                tags=tags,
                baseline=adoption.heads,
            )
            looked = await self._put_together(reader, head, adoption, told, since)
            await self._index(tags, looked.facts)
        self.near.saw(head.repository, head.ref, bases, tags.packages)
        if alone:
            return looked
        others, news = await self._share(head, told, adoption, publishing=publishing, since=since)
        crowded = others is None
        proposals, more = await self._beside(looked.facts.proposals)
        facts = replace(looked.facts, others=others or (), crowded=crowded, proposals=proposals)
        return replace(looked, facts=facts, news=news | more)

    async def _beside(
        self, proposals: Iterable[Proposal]
    ) -> tuple[tuple[Proposal, ...], frozenset[ProposalKey]]:
        """Name the other open proposals of the same packages, and say whom that is news for."""
        me, found, news = self.repository.id, [], set()
        for p in proposals:
            packages = [] if p.closed else [t.package for t in p.touched]
            beside = await self.store.proposals.keep_touching(me, p.number, p.base_ref, packages)
            news |= {ProposalKey(me, head, branch) for head, branch in beside.news}
            touched = tuple(replace(t, also=beside.also.get(t.package, ())) for t in p.touched)
            found.append(replace(p, touched=touched))
        return tuple(found), frozenset(news)

    async def _share(
        self, head: Head, told: Told, adoption: Adoption, *, publishing: bool, since: float
    ) -> tuple[tuple[Facts, ...] | None, frozenset[ProposalKey]]:
        """Open proposals of other head branches at the same commit, and whom that is news for.

        A check belongs to a commit, so they pass or wait together. The index knows all that were
        looked at; before a merge turns the check green, the forge is asked as well. None where
        there are too many: what one look takes must not grow with what strangers open (ADR 21).
        """
        me = self.repository.id
        mine = [p.number for p, _ in told.talks if p.state == "open"]
        sharing = await self.store.proposals.keep_open(
            me, head.repository or 0, head.ref, mine, told.shown or ""
        )
        news = frozenset(ProposalKey(me, at, ref) for _, at, ref in sharing.news)
        numbers = set(sharing.now)
        if len(numbers) > MOST_SHARED:
            numbers = await self._still_open(numbers, told.shown)
        if publishing and told.shown:
            numbers |= {p.number for p in await self.forge.open_proposals_at(told.shown)}
        numbers -= set(mine)
        if len(numbers) > MOST_SHARED:
            return None, news
        others = []
        for number in sorted(numbers):
            pull = await self.forge.proposal(number)
            if pull.state != "open" or pull.head != told.shown:
                await self.store.proposals.drop_open(me, number)
                continue
            if number not in sharing.now:
                at, ref = pull.head_repository or 0, pull.head_ref
                await self.store.proposals.add_open(me, at, ref, number, pull.head)
            there = Head(pull.head_repository, pull.head_ref)
            alone = await self.look(
                there, adoption, frozenset({number}), rerun=False, since=since, alone=True
            )
            others.append(alone.facts)
        return tuple(others), news

    async def _still_open(self, numbers: Iterable[int], head: Sha | None) -> set[int]:
        """Proposals of the index that are open at a commit, by one list and not one by one."""
        found = {p.number for p in await self.forge.open_proposals() if p.head == head}
        for number in set(numbers) - found:
            await self.store.proposals.drop_open(self.repository.id, number)
        return found

    async def _index(self, tags: Tags, facts: Facts) -> None:
        """Tags of ours that the index does not know: it was lost, and is built again."""
        proposals = {str(p.merge_commit): p.number for p in facts.proposals if p.merge_commit}
        for (package, number), revision in tags.ours.items():
            known = tags.used.get(package, {}).get(number)
            if known is None or (known.target == revision.target and not known.tag):
                found = replace(revision, proposal=proposals.get(revision.target))
                await self.store.revisions.keep_revision(self.repository.id, package, number, found)

    async def _ask(
        self, head: Head, numbers: frozenset[int], *, rerun: bool, publishing: bool
    ) -> Told:
        """What the forge says, while git fetches; nothing here waits for git."""
        with metrics.STEP_SECONDS.labels("ask").time():
            pulls = await self._pulls(head, numbers)
            relevant = await self._relevant(pulls, numbers)
            shown = next((p.head for p in relevant if p.state == "open"), None)
            checks, statuses, talks = await asyncio.gather(
                self._checks(shown),
                self._statuses(shown if publishing else None),
                asyncio.gather(*(self._talk(pull) for pull in relevant)),
            )
        talked = tuple(zip(relevant, talks, strict=True))
        return Told(pulls, talked, shown, checks, statuses, rerun)

    async def _talk(self, pull: PullRequest) -> Talk:
        """The conversation about one pull request, and what its base asks for."""
        said, required, queued, (kept, written) = await asyncio.gather(
            self.forge.conversation(pull.node),
            self._required(pull),
            self.store.revisions.queued(self.repository.id, pull.base_ref, pull.number),
            self.store.proposals.remembered(self.repository.id, pull.number),
        )
        comments = await asyncio.to_thread(self._read_comments, said.comments)
        said = await asyncio.to_thread(_with_commands, said)
        return Talk(said, comments, required, queued, kept, written)

    async def _pulls(self, head: Head, numbers: frozenset[int]) -> tuple[PullRequest, ...]:
        """Pull requests of the branch; what comes back is checked (trap 2)."""
        if head.repository == self.repository.id.number:
            owner = self.repository.owner
            # Apart, so that no number of closed ones hides an open one; and only without an open
            # one does it matter what became of the others.
            found = await self.forge.open_proposals_of(owner, head.ref)
            found = found or await self.forge.closed_proposals_of(owner, head.ref)
        else:
            found = await self.forge.open_proposals()
        missing = numbers - {p.number for p in found}
        more = await asyncio.gather(*(self.forge.proposal(n) for n in sorted(missing)))
        return of_head((*found, *more), head)

    async def _relevant(
        self, pulls: Iterable[PullRequest], numbers: frozenset[int]
    ) -> tuple[PullRequest, ...]:
        """Open ones, and closed ones that may still want something."""
        closed = [p for p in pulls if p.state != "open"]
        settled = await self.store.proposals.settled(
            self.repository.id, {p.number: p.merged for p in closed if p.number not in numbers}
        )
        return tuple(
            sorted(
                (p for p in pulls if p.state == "open" or p.number not in settled),
                key=lambda p: p.number,
            )
        )

    async def _put_together(
        self,
        reader: Reader,
        head: Head,
        adoption: Adoption,
        told: Told,
        since: float,
    ) -> Looked:
        same = head.repository == self.repository.id.number
        ref = f"refs/heads/{head.ref}"
        tip = await asyncio.to_thread(reader.git.ref, ref) if same else None
        waits = [self._patience.wait(each[0].number, missed(*each)) for each in told.talks]
        shown = told.shown or tip or next((p.head for p, _ in told.talks), None)
        late = shown if told.talks and told.shown is None else None
        checks, refused, rendered_by_us, proposals = await asyncio.gather(
            self._checks(late),
            self._push_refused(ref, tip),
            asyncio.to_thread(reader.made_by_us, shown),
            asyncio.gather(
                *(self._proposal(reader, *each, told, adoption, since) for each in told.talks)
            ),
        )
        found = [
            p for p in proposals if isinstance(p, tuple) and self._after_baseline(p[0], adoption)
        ]
        facts = Facts(
            repository=self.repository.full_name,
            repository_id=self.repository.id,
            head_ref=head.ref,
            head=tip if same else told.shown,
            same_repository=same,
            default_ref=self.repository.default_branch,
            proposals=tuple(p for p, _ in found),
            checks={run.name: run for run in (*checks, *told.checks) if run.ours},
            abandoned=told.abandoned,
            rerun=told.rerun,
            rendered_by_us=rendered_by_us,
            push_refused=refused,
        )
        if not told.talks and same and tip is not None and facts.is_draft_branch:
            facts = await self._draft(reader, facts, tip, since)
        return Looked(
            facts,
            {p.number: p.node for p in told.pulls},
            frozenset(c.id for _, talk in told.talks for c in talk.comments),
            frozenset(r.id for _, talk in told.talks for r in talk.said.reviews),
            {p.number: ended for p, ended in found if ended is not None},
            frozenset(
                pull.number
                for (pull, _), p in zip(told.talks, proposals, strict=True)
                if isinstance(p, Late)
            ),
            again=min((wait for wait in waits if wait is not None), default=None),
        )

    async def _push_refused(self, ref: str, tip: Sha | None) -> PushRefusal | None:
        return (
            await self.store.proposals.push_refusal(self.repository.id, ref, tip) if tip else None
        )

    def _after_baseline(self, p: Proposal, adoption: Adoption) -> bool:
        """Only merges after adoption are published; a record of ours proves it.

        Source: docs/design.md, "Adoption".
        """
        if p.merged_at is None or not adoption.merged_before(p.number, p.merged_at):
            return True
        return memory.carries_record(p, self.repository.id)

    async def _draft(self, reader: Reader, facts: Facts, tip: Sha, since: float) -> Facts:
        """A draft branch without a pull request: what it touches, and its rendering."""
        base = reader.git.ref(f"refs/heads/{facts.default_ref}")
        if base is None:
            return facts
        ground = Ground(rules=base, base=base)
        await self.near.look_around(reader, tip, facts.default_ref, ground, since)
        read = await asyncio.to_thread(
            reader.read, tip, facts.default_ref, ground, facts.head_ref, 0
        )
        if read is None or not read.touched:
            return facts
        verdicts, subjects, pusher = await asyncio.gather(
            self._verdicts(reader.git, read),
            asyncio.to_thread(reader.subjects, tip, base),
            self._people.pusher(facts.head_ref, self.repository.id.number),
        )
        return replace(
            facts,
            draft_touched=read.touched,
            draft_verdicts=verdicts,
            draft_policy=read.policy,
            draft_subjects=subjects,
            draft_pusher=pusher,
        )

    async def _proposal(
        self,
        reader: Reader,
        pull: PullRequest,
        talk: Talk,
        told: Told,
        adoption: Adoption,
        since: float,
    ) -> "tuple[Proposal, str | None] | Late | None":
        """One pull request, with what ended at its head; None when git does not have it yet."""
        await self._need(reader.git, pull)
        ground = await self._bases.ground(reader, pull)
        if not isinstance(ground, Ground):
            return ground
        await self.near.look_around(reader, pull.head, pull.base_ref, ground, since)
        with metrics.STEP_SECONDS.labels("read").time():
            read, reviews = await asyncio.to_thread(
                reader.read_pull, pull, ground, talk.said.reviews
            )
        if read is None:
            return None
        proposal = Proposal(
            number=pull.number,
            title=pull.title,
            author=pull.author,
            draft=pull.draft,
            merged=pull.merged,
            closed=pull.state != "open",
            head=pull.head,
            base_ref=pull.base_ref,
            base=ground.base or Sha(""),
            merge_commit=pull.merge_commit,
            merged_at=pull.merged_at,
            touched=read.touched,
            verdicts=(),
            policy=read.policy,
            digest="",
            configuration=read.configuration,
            configures=read.configures,
            beside=read.beside,
            elsewhere=read.elsewhere,
            comments=tuple(c for c in talk.comments if not c.ours),
            answers=tuple(c for c in talk.comments if c.ours),
            reviews=reviews,
            review_texts=talk.said.review_texts,
            authors=frozenset({pull.author.login} - {self._login}),
            installed_at=self.repository.installed_at,
            queued=talk.queued,
            enforced=(
                None if pull.draft or pull.state != "open" else required.enforces(talk.required)
            ),
            assigned=pull.assigned,
            effect=read.effect,
            doubt=ground.doubt,
            head_mark=mark(talk.said) if talk.said.head == pull.head else "",
            base_at=talk.said.base_at,
            base_told=talk.said.changes is not None,
            opened_at=talk.said.opened_at,
            adopted_at=adoption.at,
            adopted_number=adoption.highest,
            looked_at=datetime.now(UTC),
            kept=talk.kept,
            written=talk.written,
            missing=talk.missing,
        )
        # Whose word matters does not follow from the rendering: neither waits for the other.
        proposal, verdicts, stand = await asyncio.gather(
            self._people.add(reader, pull, proposal, talk.said.changes or ()),
            self._verdicts(reader.git, read, again=told.rerun),
            self._stands(pull, talk, ground, told),
        )
        proposal = await self._add_rules(reader, pull, ground, proposal)
        proposal = replace(
            proposal,
            verdicts=verdicts,
            digest=(rules_digest(read.policy, verdicts) if isinstance(read.policy, Policy) else ""),
            required=stand.required,
            refusal=stand.refusal,
        )
        proposal = await self._compare(reader.git, proposal)
        if not proposal.closed and any(v.blocking for v in verdicts):
            proposal = replace(proposal, pushed_by=await self._people.pusher_of(pull))
        return proposal, stand.ended

    async def _compare(self, git: History, p: Proposal) -> Proposal:
        """What stands in the base and was never published, by resource and field."""
        if p.once_published or not p.unpublished:
            return p
        touched = []
        for t in p.touched:
            there = t.unpublished
            if there is not None and not there.adopted:
                changes = await self.renderer.changes(git, there.published, there.base)
                t = replace(t, unpublished=replace(there, changes=changes))
            touched.append(t)
        return replace(p, touched=tuple(touched))

    async def _add_rules(
        self, reader: Reader, pull: PullRequest, ground: Ground, p: Proposal
    ) -> Proposal:
        """Since when its rules are what they are, where somebody approved and it is not bound."""
        since = answers.unbound_since(p, memory.read(p, self.repository.id))
        if since is None or not p.touched:
            return p
        rules = await self._bases.rules_told(reader, pull, ground, since)
        return replace(p, rules_at=rules.at, rules_told=rules.told)

    async def _stands(self, pull: PullRequest, talk: Talk, ground: Ground, told: Told) -> Stand:
        """How the required checks of others stand, and why the forge refused to merge.

        A refusal holds while nothing of others has ended at the head since it was asked: a rule
        that the App may not see may have waited for it.
        """
        me, number = self.repository.id, pull.number
        if ground.merge is not None:
            tags = await self.store.proposals.refusal(me, number, ground.merge, TAGS)
            return Stand(refusal=tags.reason if tags else "")
        if pull.state != "open":
            return Stand()
        others = required.of_others(talk.required)
        refusal = await self.store.proposals.refusal(me, number, pull.head, ground.base or "")
        statuses = told.statuses
        if statuses is None and (refusal or required.needs_statuses(others, told.checks)):
            statuses = await self.forge.statuses(pull.head)
        stand = required.stand(others, told.checks, statuses or {})
        if statuses is None:
            return Stand(stand)
        ended = required.ended(told.checks, statuses)
        stands = refusal is not None and refusal.ended == ended
        return Stand(stand, refusal.reason if refusal and stands else "", ended)

    async def _need(self, git: History, pull: PullRequest) -> None:
        """The head of a fork, or of a branch that is gone, is fetched by its number."""
        if not await asyncio.to_thread(git.has, pull.head):
            token = await self.forge.token()
            ref = Ref(f"refs/pull/{pull.number}/head")
            await asyncio.to_thread(self.mirror.fetch_proposal, token, ref)

    async def _statuses(self, head: Sha | None) -> Mapping[str, str] | None:
        return await self.forge.statuses(head) if head else None

    async def _required(self, pull: PullRequest) -> tuple[RequiredCheck, ...]:
        """Checks that the base branch requires; only asked once it is proposed."""
        if pull.draft or pull.state != "open":
            return ()
        return await self.forge.required_checks(pull.base_ref)

    async def _checks(self, head: Sha | None) -> tuple[CheckRun, ...]:
        return await self.forge.checks(head) if head else ()

    def _read_comments(self, comments: Iterable[Comment]) -> tuple[Comment, ...]:
        """Read records and commands; for a thread: whoever comments can make this take a while."""
        for comment in comments:
            if not comment.ours and not comment.author.bot:
                commands.parse(comment.body)  # remembered for the decision
        return tuple(self._read_records(comment) for comment in comments)

    def _read_records(self, comment: Comment) -> Comment:
        """The hidden records of our own comments; text of others has none.

        Source: docs/design.md, "Records and events".
        """
        if not comment.ours:
            return comment
        return replace(
            comment,
            records=records.read(comment.body, self._keys),
            summary=records.is_summary(comment.body, self._instance),
            body=records.visible(comment.body),
        )

    async def _verdicts(
        self, git: History, read: Read, *, again: bool = False
    ) -> tuple[Verdict, ...]:
        """Render and validate every package that is there, at what would be tagged.

        Args:
            git: Where the trees are.
            read: What git says about the proposal.
            again: Whatever is kept of earlier renderings is dropped first.
        """
        if again:
            self.renderer.forget(t.tree for t in read.touched)
        if all(t.done for t in read.touched) or isinstance(read.policy, BrokenPolicy):
            return ()
        verdicts = await asyncio.gather(
            *(
                self.renderer.verdict(git, t.package, t.tree, t.origin, read.policy)
                for t in read.touched
                if t.tree
            )
        )
        return tuple(verdicts)
