"""Looking: reads forge and git, and puts together the facts that a decision needs.

Calls that do not wait for one another run at the same time. What never changes (who wrote a commit,
what a file at a commit says) is kept; everything else is read again at each look (DESIGN 13: a look
that changes nothing makes at most eight requests for a proposal with one approver).
"""

import asyncio
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot import config, metrics
from bot.forge import Forge, ForgeRefusedError, NativeReview, PullRequest, Push, Repository
from bot.git import Mirror, Snapshot
from bot.render import Judge
from bot.store import Adoption, Store
from cadlib.findings import Finding, Severity
from lifecycle import answers, memory, names, records
from lifecycle.facts import (
    CheckRun,
    Comment,
    Facts,
    Proposal,
    Required,
    Review,
    ReviewState,
    Touched,
    Verdict,
)
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy, Policy

CONFIG = ".porchbot.yaml"
LEDGER = ".porchbot/ledger.yaml"
MOST_COMMITS, MOST_PUSHES = 250, 100
"""Commits of a pull request, and pushes to a branch, that the forge tells at most."""

OURS = frozenset({"porchbot/render", "porchbot/validate", "porchbot/publish"})


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
    """

    facts: Facts
    nodes: Mapping[int, str]
    seen_comments: frozenset[int]
    seen_reviews: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Authors:
    """Who wrote and pushed one head; never changes."""

    logins: frozenset[str]
    known: bool
    head_at: datetime | None


@dataclass(frozen=True, slots=True)
class _Git:
    """What git says about one pull request; read in one go, in one thread."""

    head: Sha
    base: Sha
    origin: Sha
    result: Sha
    touched: tuple[Touched, ...]
    policy: Policy | BrokenPolicy
    configuration: tuple[Finding, ...]
    beside: str


@dataclass(frozen=True, slots=True)
class _Talk:
    """What the forge says about one pull request."""

    comments: tuple[Comment, ...]
    reviews: tuple[NativeReview, ...]
    required: tuple[str, ...]
    queued: bool


@dataclass(frozen=True, slots=True)
class _Told:
    """What the forge says about one head branch.

    Attributes:
        pulls: All its pull requests.
        talks: Those that may want something, oldest first, each with its conversation.
        shown: Head of the first open one; None when none is open.
        checks: Check runs at `shown`.
    """

    pulls: tuple[PullRequest, ...]
    talks: tuple[tuple[PullRequest, _Talk], ...]
    shown: Sha | None
    checks: tuple[CheckRun, ...]


class Looker:
    """Looks at one repository.

    Args:
        repository: Which one.
        forge: Its forge.
        mirror: Its mirror.
        judge: Renders and validates.
        store: The index, for shortcuts only.
        record_keys: Keys that hidden records may be made with, newest first.
        login: Our own login, such as "porchbot[bot]".
    """

    def __init__(
        self,
        repository: Repository,
        forge: Forge,
        mirror: Mirror,
        judge: Judge,
        store: Store,
        record_keys: Sequence[bytes],
        login: str,
    ) -> None:
        self.repository = repository
        self.forge = forge
        self.mirror = mirror
        self.judge = judge
        self.store = store
        self._keys = record_keys
        self._login = login
        self._authors: dict[tuple[int, Sha], _Authors] = {}
        self._used: Mapping[str, Mapping[int, str]] = {}

    async def look(
        self,
        head: Head,
        adoption: Adoption,
        numbers: frozenset[int],
        *,
        rerun: bool,
        since: float | None = None,
    ) -> Looked:
        """Read everything about one head branch.

        Args:
            head: The branch, in this repository or in a fork.
            adoption: What the repository was when the bot first saw it.
            numbers: Pull requests to look at even if they are closed and settled.
            rerun: Somebody pressed Re-run.
            since: `time.monotonic()`; git as it was fetched after that will do. None: fetch now.
        """
        told, _, self._used = await asyncio.gather(
            self._ask(head, numbers),
            self._fetch(since),
            self.store.revisions(self.repository.id),
        )
        with await asyncio.to_thread(self.mirror.open) as git:
            return await self._put_together(git, head, adoption, told, rerun=rerun)

    async def _fetch(self, since: float | None) -> None:
        with metrics.STEP_SECONDS.labels("fetch").time():
            await asyncio.to_thread(self.mirror.fetch, await self.forge.token(), since)

    async def _ask(self, head: Head, numbers: frozenset[int]) -> "_Told":
        """What the forge says, while git fetches; nothing here waits for git."""
        with metrics.STEP_SECONDS.labels("ask").time():
            pulls = await self._pulls(head, numbers)
            relevant = await self._relevant(pulls, numbers)
            shown = next((p.head for p in relevant if p.state == "open"), None)
            checks, talks = await asyncio.gather(
                self._checks(shown), asyncio.gather(*(self._talk(pull) for pull in relevant))
            )
        return _Told(pulls, tuple(zip(relevant, talks, strict=True)), shown, checks)

    async def _talk(self, pull: PullRequest) -> "_Talk":
        """The conversation about one pull request, and what its base asks for."""
        comments, native, required, queued = await asyncio.gather(
            self.forge.comments(pull.number),
            self.forge.reviews(pull.number),
            self._required_names(pull),
            self.store.queued(self.repository.id, pull.base_ref, pull.number),
        )
        return _Talk(tuple(self._read_records(c) for c in comments), native, required, queued)

    async def _pulls(self, head: Head, numbers: frozenset[int]) -> tuple[PullRequest, ...]:
        """Pull requests of the branch; what comes back is checked (peers.md trap 2)."""
        if head.repository == self.repository.id:
            found = await self.forge.proposals_of(self.repository.owner, head.ref)
        else:
            found = await self.forge.open_proposals()
        missing = numbers - {p.number for p in found}
        more = await asyncio.gather(*(self.forge.proposal(n) for n in sorted(missing)))
        return tuple(
            p
            for p in (*found, *more)
            if p.head_ref == head.ref and p.head_repository == head.repository
        )

    async def _relevant(
        self, pulls: Iterable[PullRequest], numbers: frozenset[int]
    ) -> tuple[PullRequest, ...]:
        """Open ones, and closed ones that may still want something."""
        closed = [p for p in pulls if p.state != "open"]
        settled = await self.store.settled(
            self.repository.id, [p.number for p in closed if p.number not in numbers]
        )
        return tuple(
            sorted(
                (p for p in pulls if p.state == "open" or p.number not in settled),
                key=lambda p: p.number,
            )
        )

    async def _put_together(
        self,
        git: Snapshot,
        head: Head,
        adoption: Adoption,
        told: "_Told",
        *,
        rerun: bool,
    ) -> Looked:
        same = head.repository == self.repository.id
        ref = f"refs/heads/{head.ref}"
        tip = await asyncio.to_thread(git.ref, ref) if same else None
        shown = told.shown or tip or next((p.head for p, _ in told.talks), None)
        late = shown if told.talks and told.shown is None else None
        checks, rendered_by_us, proposals = await asyncio.gather(
            self._checks(late),
            asyncio.to_thread(self._rendered_by_us, git, shown),
            asyncio.gather(*(self._proposal(git, *each) for each in told.talks)),
        )
        checks += told.checks
        mine = {run.name: run for run in checks if run.ours}
        found = await asyncio.gather(
            *(
                self._require(p, checks)
                for p in proposals
                if p is not None and self._after_baseline(p, adoption)
            )
        )
        facts = Facts(
            repository=self.repository.full_name,
            repository_id=self.repository.id,
            head_ref=head.ref,
            head=tip if same else told.shown,
            same_repository=same,
            default_ref=self.repository.default_branch,
            proposals=tuple(found),
            checks=mine,
            abandoned=_abandoned(told.pulls),
            rerun=rerun,
            rendered_by_us=rendered_by_us,
        )
        if not told.talks and same and tip is not None and facts.is_draft_branch:
            facts = await self._draft(git, facts, tip)
        return Looked(
            facts,
            {p.number: p.node for p in told.pulls},
            frozenset(c.id for _, talk in told.talks for c in talk.comments),
            frozenset(r.id for _, talk in told.talks for r in talk.reviews),
        )

    def _after_baseline(self, p: Proposal, adoption: Adoption) -> bool:
        """Only merges after adoption are published; a record of ours proves it (DESIGN 3)."""
        if not p.merged or p.merged_at is None or p.merged_at >= adoption.at:
            return True
        return memory.carries_record(p, self.repository.id)

    async def _draft(self, git: Snapshot, facts: Facts, tip: Sha) -> Facts:
        """A draft branch without a pull request: what it touches, and its rendering."""
        base = git.ref(f"refs/heads/{facts.default_ref}")
        if base is None:
            return facts
        read = await asyncio.to_thread(
            self._read_git, git, tip, facts.default_ref, base, None, facts.head_ref, 0
        )
        if read is None or not read.touched:
            return facts
        verdicts = await self._verdicts(git, read)
        return replace(
            facts, draft_touched=read.touched, draft_verdicts=verdicts, draft_policy=read.policy
        )

    async def _proposal(self, git: Snapshot, pull: PullRequest, talk: "_Talk") -> "Proposal | None":
        """One pull request; None when git does not have it yet."""
        await self._need(git, pull)
        with metrics.STEP_SECONDS.labels("read").time():
            read, reviews = await asyncio.to_thread(self._read_pull, git, pull, talk.reviews)
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
            base=read.base,
            merge_commit=pull.merge_commit,
            merged_at=pull.merged_at,
            touched=read.touched,
            verdicts=(),
            policy=read.policy,
            digest=read.policy.digest if isinstance(read.policy, Policy) else "",
            configuration=read.configuration,
            beside=read.beside,
            comments=tuple(c for c in talk.comments if not c.ours),
            answers=tuple(c for c in talk.comments if c.ours),
            reviews=reviews,
            authors=frozenset({pull.author.login} - {self._login}),
            required=tuple(Required(name, "missing") for name in talk.required),
            installed_at=self.repository.installed_at,
            queued=talk.queued,
        )
        # Whose word matters does not follow from the rendering: neither waits for the other.
        proposal, verdicts, refusal = await asyncio.gather(
            self._add_people(git, pull, proposal),
            self._verdicts(git, read),
            self.store.refusal(self.repository.id, pull.number, pull.head, read.base),
        )
        return replace(proposal, verdicts=verdicts, refusal=refusal)

    async def _need(self, git: Snapshot, pull: PullRequest) -> None:
        """The head of a fork, or of a branch that is gone, is fetched by its number."""
        if not await asyncio.to_thread(git.has, pull.head):
            token = await self.forge.token()
            await asyncio.to_thread(self.mirror.fetch_proposal, token, pull.number)

    async def _add_people(self, git: Snapshot, pull: PullRequest, p: Proposal) -> Proposal:
        """Who wrote it, and the roles of everybody whose word matters; only when it does."""
        remembered = memory.read(p, self.repository.id)
        asking = {c.author.login for c, _ in answers.pending(p, remembered)}
        approving = {a.person for a in memory.approvals(p, self.repository.id)}
        reviewing = {r.author.login for r in p.reviews if r.state is not ReviewState.DISMISSED}
        people = sorted(asking | approving | reviewing if p.touched else asking)
        if not people:
            return p
        authors, roles = await asyncio.gather(
            self._who_wrote(git, pull),
            asyncio.gather(*(self.forge.role(login) for login in people)),
        )
        return replace(
            p,
            roles=dict(zip(people, roles, strict=True)),
            authors=p.authors | authors.logins,
            authors_known=authors.known,
            head_at=authors.head_at,
        )

    async def _who_wrote(self, git: Snapshot, pull: PullRequest) -> _Authors:
        """Commit authors and pushers of one head.

        A name in a commit can be forged, so whoever pushed counts as an author as well; and where
        either is unknown to the forge, self-approval cannot be decided (DESIGN 7).
        """
        key = (pull.number, pull.head)
        if key in self._authors:
            return self._authors[key]
        commits, pushes = await asyncio.gather(
            self.forge.commit_authors(pull.number), self._pushes(pull)
        )
        people = [
            login
            for sha, login in commits
            if not await asyncio.to_thread(self._made_by_us, git, sha)
        ]
        # Who deleted an earlier branch of this name wrote nothing.
        pushed = [p for p in pushes if p.actor != self._login and p.after.strip("0")]
        last = next((p.at for p in pushes if p.after == pull.head), None)
        # A list that is full may be cut, and one without the head is older than the head.
        whole = len(commits) < MOST_COMMITS and len(pushes) < MOST_PUSHES and last is not None
        found = _Authors(
            frozenset(login for login in [*people, *(p.actor for p in pushed)] if login)
            - {self._login},
            whole and all(people) and bool(pushed) and all(p.actor for p in pushed),
            last,
        )
        if last is not None:
            self._authors[key] = found
        return found

    async def _pushes(self, pull: PullRequest) -> tuple[Push, ...]:
        """Who pushed the branch; a fork that the App may not see tells nobody."""
        if pull.head_repository is None:
            return ()
        try:
            return await self.forge.pushes(pull.head_ref, pull.head_repository)
        except ForgeRefusedError:
            return ()

    async def _required_names(self, pull: PullRequest) -> tuple[str, ...]:
        """Checks of others that the base branch requires; only asked once it is proposed."""
        if pull.draft or pull.state != "open":
            return ()
        found = await self.forge.required_checks(pull.base_ref)
        return tuple(sorted({check.name for check in found} - OURS))

    async def _checks(self, head: Sha | None) -> tuple[CheckRun, ...]:
        return await self.forge.checks(head) if head else ()

    async def _require(self, p: Proposal, checks: Iterable[CheckRun]) -> Proposal:
        """Fill in how the required checks of others stand."""
        if not p.required:
            return p
        states = {run.name: _state(run) for run in checks if not run.ours}
        if any(r.name not in states for r in p.required):
            states = {**await self.forge.statuses(p.head), **states}
        return replace(
            p, required=tuple(Required(r.name, states.get(r.name, "missing")) for r in p.required)
        )

    def _read_records(self, comment: Comment) -> Comment:
        """The hidden records of our own comments; text of others has none (DESIGN 7)."""
        if not comment.ours:
            return comment
        return replace(
            comment,
            records=records.read(comment.body, self._keys),
            summary=records.is_summary(comment.body),
            body=records.visible(comment.body),
        )

    def _made_by_us(self, git: Snapshot, sha: str) -> bool:
        """A render commit with our mark: a trailer alone can be written by anybody."""
        if not git.has(sha):
            return False
        commit = git.commit(sha)
        return len(commit.parents) == 1 and records.has_render_mark(
            commit.message,
            self._keys,
            parent=commit.parents[0],
            tree=commit.tree,
            repository_id=self.repository.id,
        )

    def _rendered_by_us(self, git: Snapshot, head: Sha | None) -> bool:
        return head is not None and self._made_by_us(git, head)

    def _read_pull(
        self, git: Snapshot, pull: PullRequest, native: Sequence[NativeReview]
    ) -> tuple[_Git | None, tuple[Review, ...]]:
        base = git.ref(f"refs/heads/{pull.base_ref}") or pull.base
        read = self._read_git(
            git, pull.head, pull.base_ref, base, pull.merge_commit, pull.head_ref, pull.number
        )
        return read, _with_trees(git, native, read.touched, base) if read else ()

    def _read_git(
        self,
        git: Snapshot,
        head: Sha,
        base_ref: str,
        tip: Sha,
        merged: Sha | None,
        head_ref: str,
        number: int,
    ) -> _Git | None:
        """Everything git knows about a proposal; None when the commits are not there."""
        if not all(git.has(sha) for sha in (head, tip, merged) if sha):
            return None
        base = tip if merged is None else _before_merge(git, merged, head) or tip
        origin = git.merge_base(head, base) or Sha("")
        policy = config.read(git.blob(base, CONFIG))
        listed = self._rules_of_default(git) if base_ref != self.repository.default_branch else None
        if isinstance(listed, BrokenPolicy):
            policy = listed
        ledger = config.read_ledger(git.blob(base, LEDGER))
        if isinstance(ledger, BrokenPolicy):
            # Without the ledger the next number cannot be told: nothing is published.
            policy, ledger = ledger, {}
        touched: tuple[Touched, ...] = ()
        if listed is None or isinstance(listed, BrokenPolicy) or base_ref in listed.branches:
            touched = self._touched(
                git,
                policy,
                ledger,
                base_ref,
                head=head,
                base=base,
                origin=origin,
                merged=merged,
                workspace=names.workspace(head_ref, number),
            )
        return _Git(
            head,
            base,
            origin,
            merged or head,
            touched,
            policy,
            (
                *_configuration(git, head, origin),
                *names.problems([t.package for t in touched if t.head_tree]),
                *names.used_up([(t.package, t.revision) for t in touched]),
            ),
            _beside(git, origin, head, touched),
        )

    def _rules_of_default(self, git: Snapshot) -> Policy | BrokenPolicy:
        """The default branch alone says from which other branches packages are published.

        Anybody with write access can make a branch whose own rules ask for no approval.
        """
        tip = git.ref(f"refs/heads/{self.repository.default_branch}")
        return config.read(git.blob(tip, CONFIG) if tip else None)

    def _touched(
        self,
        git: Snapshot,
        policy: Policy | BrokenPolicy,
        ledger: Mapping[str, frozenset[int]],
        base_ref: str,
        *,
        head: Sha,
        base: Sha,
        origin: Sha,
        merged: Sha | None,
        workspace: str,
    ) -> tuple[Touched, ...]:
        """Packages whose tree differs from the merge base's; paths alone say nothing."""
        known = policy if isinstance(policy, Policy) else Policy()
        tags = [ref for ref in git.refs() if ref.startswith("refs/tags/")]
        default = self.repository.default_branch
        found = set(git.packages(head)) | (set(git.packages(origin)) if origin else set())
        released = names.units(found, known, base_ref, default, tags)
        result = merged or head
        touched: list[Touched] = []
        for package in sorted(released):
            before = git.tree(origin, package) if origin else ""
            after = git.tree(head, package)
            if before == after:
                continue
            standing = git.tree(base, package)
            used = self._used.get(package, {})
            at = _revision_at(git, tags, package, merged, used) if merged else 0
            tree = git.tree(result, package)
            touched.append(
                Touched(
                    package=package,
                    tree=tree,
                    head_tree=after,
                    origin=before,
                    base=standing,
                    revision=at or (_next_revision(package, tags, ledger, used) if tree else 0),
                    tagged=bool(at),
                    changed_by=(
                        _changed_by(git, package, origin, base) if standing != before else ()
                    ),
                    workspace=workspace,
                )
            )
        return tuple(touched)

    async def _verdicts(self, git: Snapshot, read: _Git) -> tuple[Verdict, ...]:
        """Render and validate every package that is there, at what would be tagged."""
        if all(t.tagged for t in read.touched) or isinstance(read.policy, BrokenPolicy):
            return ()
        verdicts = await asyncio.gather(
            *(
                self.judge.verdict(git, t.package, t.tree, t.origin, read.policy)
                for t in read.touched
                if t.tree
            )
        )
        return tuple(verdicts)


def _with_trees(
    git: Snapshot, native: Sequence[NativeReview], touched: Sequence[Touched], base: Sha
) -> tuple[Review, ...]:
    """Reviews with what was looked at."""
    seen = {r.id for r in native if r.head and git.has(r.head)}
    return tuple(
        Review(
            id=r.id,
            author=r.author,
            state=r.state,
            head=r.head,
            trees=(
                {t.package: git.tree(r.head, t.package) for t in touched} if r.id in seen else None
            ),
            beside=(
                _beside(git, git.merge_base(r.head, base) or Sha(""), r.head, touched)
                if r.id in seen
                else ""
            ),
            at=r.at,
        )
        for r in native
    )


def _beside(git: Snapshot, origin: Sha, head: Sha, touched: Iterable[Touched]) -> str:
    """Digest of what is changed outside of the packages to publish; "" when nothing is.

    It is merged with them: rules, workflows, packages that are not released.
    """
    inside = [f"{t.package}/" if t.package else "" for t in touched]
    rest = [
        change
        for change in git.changed(origin, head).items()
        if not any(change[0].startswith(package) for package in inside)
    ]
    return hashlib.sha256(json.dumps(rest).encode()).hexdigest() if rest else ""


def _state(run: CheckRun) -> str:
    """How a check run of others counts: neutral and skipped pass, as on the forge."""
    if run.status != "completed":
        return "pending"
    return "success" if run.conclusion in {"success", "neutral", "skipped"} else "failure"


def _abandoned(pulls: Sequence[PullRequest]) -> bool:
    newest = max(pulls, key=lambda p: p.number, default=None)
    return newest is not None and newest.state != "open" and not newest.merged


def _before_merge(git: Snapshot, merged: Sha, head: Sha) -> Sha | None:
    """Tip of the base branch right before a merge; its configuration judges the result.

    A rebase merge puts the proposal's commits on the base once more, one by one and with the same
    author, date and text; only before the first of them stands what the proposal did not change.
    """
    at = git.commit(merged)
    if len(at.parents) != 1:
        return at.parents[0] if at.parents else None
    before = at.parents[0]
    for own in git.line(head, before):
        if (own.author, own.message.strip()) != (at.author, at.message.strip()):
            continue  # left out of the rebase, or all of it is one squashed commit
        before = at.parents[0]
        at = git.commit(before)
        if len(at.parents) != 1:
            break
    return before


def _configuration(git: Snapshot, head: Sha, origin: Sha) -> tuple[Finding, ...]:
    """Problems of the configuration file as the proposal would leave it."""
    at_head = git.blob(head, CONFIG)
    if origin and at_head == git.blob(origin, CONFIG):
        return ()
    read = config.read(at_head)
    if not isinstance(read, BrokenPolicy):
        return ()
    return tuple(
        Finding(message=p.problem, severity=Severity.ERROR, place=p.place, fix=p.fix)
        for p in read.problems
    )


def _next_revision(
    package: str,
    tags: Iterable[str],
    ledger: Mapping[str, frozenset[int]],
    used: Mapping[int, str],
) -> int:
    """One more than the highest among tags, ledger and index (DESIGN 3)."""
    known = ledger.get(package, frozenset()) | used.keys()
    return names.next_revision(package, tags, {package: known})


def _revision_at(
    git: Snapshot,
    tags: Iterable[str],
    package: str,
    commit: Sha | None,
    used: Mapping[int, str],
) -> int:
    """The revision that a commit was published as; 0 when it was not.

    A tag that somebody deleted is not made again: the number stays with its commit.
    """
    for ref in tags:
        parsed = names.parse_tag(ref)
        if parsed and parsed[0] == package and git.ref(ref) == commit:
            return parsed[1]
    return next((number for number, target in used.items() if target == commit), 0)


def _changed_by(git: Snapshot, package: str, origin: Sha, base: Sha) -> tuple[str, ...]:
    """What changed a package in the base branch since the proposal left it."""
    found: list[str] = []
    before = git.tree(origin, package) if origin else ""
    for commit in git.first_parents(base, origin):
        after = git.tree(commit.sha, package)
        if after != before:
            found.append(names.proposal_of(commit.message) or commit.sha[:10])
        before = after
    return tuple(sorted(set(found)))
