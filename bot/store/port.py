"""What the bot remembers, as protocols: work, deliveries, an index, sweeps, claims, what happened.

Longer than 400 lines: one protocol for each part, and whoever writes another store reads them all.

The store is never the truth about a proposal (docs/design.md, "Where the truth is"): lose it, and
the forge, git and our signed records say everything again. The index is asked in three: what is
remembered of repositories, of revisions, of proposals. Each call is all or nothing, and raises
`StoreError` when the store cannot be reached; then nothing was written.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Protocol

from bot.keys import Key
from bot.store.buckets import Draw, ReportedLimit
from bot.store.hints import NOTHING, Hint
from bot.store.values import (
    CLAIM,
    CLAIMS_KEPT,
    KEPT_DAYS,
    KEPT_RENDERINGS,
    LEASE,
    UNORDERED,
    Adopted,
    Adoption,
    Backlog,
    BaselineTags,
    CommitSharers,
    Delivered,
    Failing,
    InstalledReach,
    MergeRefusal,
    Parked,
    Replica,
    Rested,
    Revision,
    SchedulingOrder,
    ServedName,
    Swept,
    Taken,
    Touching,
    UpstreamUse,
    UpstreamUser,
    VariantWait,
    Wait,
    Waiting,
    Watched,
)
from lifecycle.events import Log
from lifecycle.facts.commits import PushRefusal
from lifecycle.facts.conversation import Written
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha


class Queue(Protocol):
    """What is to be looked at, one row a key (docs/design.md, "Work")."""

    async def wake(self, key: Key, hint: Hint = NOTHING, *, after: float = 0) -> None:
        """Ask for a key to be looked at.

        Args:
            key: Which one.
            hint: What is known to exist; put together with what is known already.
            after: Seconds to wait. An earlier look answers this wake too, and must ask for the
                next one itself.
        """

    async def wake_all(self, wakes: Mapping[Key, Hint], *, after: float = 0) -> None:
        """Ask for several keys to be looked at, in one transaction.

        What is asked for while another such transaction goes on is put together into the next.
        """

    async def take(
        self, owner: str, lease: float = LEASE, order: SchedulingOrder = UNORDERED
    ) -> Taken | None:
        """Take a due key: whose turn it is, then the highest priority, then who waited longest.

        Args:
            owner: Name of the process, "/", and a name of this one take.
            lease: Seconds until somebody else may take it; five ninths of that where the process
                does not listen (any more): it died, or has lost the database.
            order: Which repositories are to come last, or not at all.

        Returns:
            What was taken; None when nothing is due that may be.
        """

    async def news(self, taken: Taken) -> Hint:
        """What was told of a key since it was taken; nothing where we do not have it any more."""

    async def renew(self, owners: Sequence[str], lease: float = LEASE) -> set[str]:
        """Renew leases; returns the owners who still have theirs."""

    async def done(self, taken: Taken, *, after: float | None = None) -> bool:
        """The key has settled as of the wake that this look began with.

        A wake that came meanwhile causes another look, at once.

        Args:
            taken: What was taken.
            after: Seconds after which to look again anyhow, for what opens by time alone.

        Returns:
            Whether we still had it; otherwise nothing was written.
        """

    async def again(self, taken: Taken, after: float, spent: Hint = NOTHING) -> bool:
        """The key has not settled: keep its hint, and look again after so many seconds.

        Args:
            taken: What was taken.
            after: Seconds.
            spent: What of the hint was dealt with all the same.
        """

    async def failed(self, taken: Taken, error: str, after: float, *, hold: bool = False) -> bool:
        """The look failed: look again after so many seconds, or at the next wake.

        Args:
            taken: What was taken.
            error: What went wrong, for the operator.
            after: Seconds.
            hold: The forge grants nothing before: not even a wake may shorten it, and it counts as
                no failure.
        """

    async def give_back(self, taken: Taken) -> bool:
        """The look did not happen or was cut short: anybody may take the key now."""

    async def next_due(self, order: SchedulingOrder = UNORDERED) -> float | None:
        """Seconds until the next key may be taken; None when nothing is wanted that may be."""

    async def backlog(self) -> Backlog:
        """How much work there is, for the metrics."""

    async def failing(self, most: int = 100) -> tuple[Failing, ...]:
        """What keeps failing, and what is put off, for the operator; longest first."""

    async def rested(self) -> tuple[Rested, ...]:
        """When sweeps last came to rest, and come again; by their names."""

    async def forget(self, days: float = KEPT_DAYS) -> int:
        """Delete keys that nobody has wanted for longer; returns how many."""

    def listening(self, name: str) -> AbstractAsyncContextManager[asyncio.Event]:
        """An event that is set whenever there may be work, from this process or another.

        A lost connection is made again; meanwhile only this process's own wakes set it.

        Args:
            name: Of the process, unlike any other's: while it listens, what it took is its own for
                the whole of its lease.
        """


class Deliveries(Protocol):
    """What the forge told us."""

    async def add(self, delivery: Delivered, wakes: Mapping[Key, Hint]) -> bool:
        """Store a delivery and wake its keys, both or neither.

        A repeated delivery is stored once and wakes its keys again: somebody pressed Redeliver.
        One about a repository that is not served wakes nothing: discovery finds those that are.

        Returns:
            Whether it came for the first time.

        Raises:
            StoreError: The database cannot be reached; nothing was stored.
        """

    async def since(
        self, repository_id: RepositoryId, since: datetime, most: int = 200
    ) -> tuple[tuple[Mapping[str, str], bytes], ...]:
        """Headers and bodies of what was told about a repository since then, newest first."""

    async def known(self, forge: str, guids: Collection[str]) -> frozenset[str]:
        """Those of some deliveries of a forge that came in, told or read from its log."""

    async def forget(self, days: float = KEPT_DAYS) -> int:
        """Delete deliveries received longer ago; returns how many."""


class DashboardNumbers(Protocol):
    """What is remembered of dashboards, a shortcut."""

    async def dashboard(self, repository_id: RepositoryId) -> int | None:
        """Number of the dashboard issue; None when nobody knows."""

    async def keep_dashboard(self, repository_id: RepositoryId, number: int) -> None:
        """Remember the number of the dashboard issue."""


class Repositories(DashboardNumbers, Protocol):
    """The repositories that are served, and what each was when first seen."""

    async def adoption(self, repository_id: RepositoryId) -> Adoption | None:
        """What a repository was when it was first seen; None when it never was."""

    async def baseline(
        self, repository_id: RepositoryId, packages: Collection[str]
    ) -> BaselineTags | None:
        """What `adoption` tells of the release tags of some packages; None as there."""

    async def reach(self, repository_id: RepositoryId) -> InstalledReach | None:
        """Where a repository is reached; None when it was never seen.

        In time that does not grow with the tags that `adoption` brings.
        """

    async def adopt(
        self,
        repository: Adopted,
        at: datetime,
        drafts: Mapping[str, str],
        tags: Mapping[str, str] | None = None,
        *,
        highest: int | None = None,
        open_numbers: Sequence[int] = (),
        heads: Mapping[str, str] | None = None,
    ) -> Adoption:
        """Remember a repository's state as its baseline; the first one to do so counts.

        Args:
            repository: Which.
            at: When that was.
            drafts: As `Adoption` has them, as are the others.
            tags: Release tags to the objects that they name; None for no tags.
            highest: As `Adoption` has it.
            open_numbers: As `open` there.
            heads: As `Adoption` has them.
        """

    async def complete_tags(self, repository_id: RepositoryId, tags: Mapping[str, str]) -> None:
        """Keep what tags name, of a baseline that an older version made with their names alone.

        The first one to do so counts; nothing is kept of any other baseline.

        Args:
            repository_id: Which repository.
            tags: As for `adopt`.
        """

    async def rename(self, repository: Adopted) -> None:
        """Keep the name and the installation by which a repository is reached now."""

    async def installations(self, forge: str) -> set[int]:
        """The installations of the repositories of a forge that are served."""

    async def repositories(self, forge: str, installation: int) -> set[RepositoryId]:
        """The repositories of an installation that are served."""

    async def named(self, forge: str, full_names: Collection[str]) -> tuple[ServedName, ...]:
        """The repositories of a forge that are served and called so, in whatever letters."""

    async def let_in(self, giver: RepositoryId, name: str, other: RepositoryId) -> bool:
        """Tell whether a name that a repository lists means another repository.

        It means the one for which this was asked first, in whatever letters.

        Args:
            giver: The repository that lists the name.
            name: The full name that the other one has now.
            other: The other one.
        """

    async def only_installations(self, forge: str, numbers: Sequence[int]) -> tuple[str, ...]:
        """Serve nothing of another installation of a forge; returns the names of what was."""

    async def only_repositories(
        self, forge: str, installation: int, ids: Collection[RepositoryId]
    ) -> tuple[str, ...]:
        """Serve no other repository of this installation; returns the names of those that were."""

    async def observing(
        self, observes: bool, at: datetime, known: datetime | None = None
    ) -> datetime | None:
        """Tell whether a process of the bot only observes, in all repositories.

        Args:
            observes: It does.
            at: Now, by its clock.
            known: What it was told before; a database made or restored since is given it.

        Returns:
            When the bot last ceased to: when the first process that acts told so after one that
            observes, and not after `at`; None where none did.
        """

    async def lost(self, repository_id: RepositoryId) -> None:
        """A repository is out of our reach: nothing in it is looked at until it is found again."""


class UpstreamUses(Protocol):
    """Which packages of the repositories that are served have which upstreams."""

    async def indexed(self, repository_id: RepositoryId) -> dict[str, str]:
        """Branch to the commit up to which it was read."""

    async def keep_uses(
        self,
        repository_id: RepositoryId,
        branch: str,
        commits: tuple[str, str],
        uses: Mapping[str, Sequence[UpstreamUse]],
    ) -> bool:
        """Go on from one commit of a branch to another.

        Args:
            repository_id: Where.
            branch: On which branch.
            commits: From where, "" for nothing read; and to where.
            uses: Package to what its Kptfile says; of the others that were known stays what is
                known, and from nothing on there are no others.

        Returns:
            Whether it was at the first of the commits; nothing is kept where it was not.
        """

    async def forget_uses(self, repository_id: RepositoryId, branches: Collection[str]) -> None:
        """Forget all branches but these."""

    async def uses(self, repository_id: RepositoryId) -> tuple[UpstreamUser, ...]:
        """What the packages of a repository say, by branch and package."""

    async def users(self, place: str) -> tuple[UpstreamUser, ...]:
        """Who says that its upstream is in a repository, by repository, branch and package.

        Args:
            place: As `UpstreamUse.place`.
        """

    async def used(self, place: str, packages: Collection[str]) -> bool:
        """Whether anything says that its upstream is one of some packages.

        What is inside them or around them counts.

        Args:
            place: As `UpstreamUse.place`.
            packages: Paths of packages; "" for the root.
        """


class LookRevisions(Protocol):
    """What a look asks and tells of revisions."""

    async def queued(self, repository_id: RepositoryId, base: str, number: int) -> bool:
        """Whether a proposal is in line."""

    async def keep_revision(
        self, repository_id: RepositoryId, package: str, number: int, revision: Revision
    ) -> None:
        """Remember that a number is used, whatever becomes of its tag."""

    async def revisions(
        self, repository_id: RepositoryId, packages: Iterable[str]
    ) -> dict[str, dict[int, Revision]]:
        """Package to the numbers that were published, for some packages."""

    async def tips(self, repository_id: RepositoryId, base: str) -> tuple[Sha, ...]:
        """Where a base branch was when we looked, newest first."""


class Revisions(LookRevisions, Protocol):
    """What was published, what waits to be, and where base branches were."""

    async def ask_publish(self, repository_id: RepositoryId, base: str, number: int) -> None:
        """A proposal's gates hold: put it in its base branch's line, once."""

    async def asked_publish(self, repository_id: RepositoryId, base: str) -> tuple[int, ...]:
        """The proposals in line for a base branch, first come first."""

    async def published(self, repository_id: RepositoryId, base: str, number: int) -> None:
        """Take a proposal out of the line: published, or its gates hold no more."""

    def all_revisions(
        self, repository_id: RepositoryId
    ) -> AsyncIterator[tuple[str, int, Revision]]:
        """Every revision that was published, package by package, a page at a time."""

    async def show_revision(
        self, repository_id: RepositoryId, package: str, number: int, shown: str
    ) -> None:
        """Remember what a tag was seen to name, so that it is reported once."""

    async def saw_tip(self, repository_id: RepositoryId, base: str, sha: str) -> None:
        """Remember where a base branch is; the last few are kept."""


class LookProposals(Protocol):
    """What a look asks and tells of proposals."""

    async def remembered(
        self, repository_id: RepositoryId, number: int
    ) -> tuple[Log, dict[int, Written]]:
        """The events of a proposal, and the comments that we wrote on it."""

    async def settled(self, repository_id: RepositoryId, proposals: Mapping[int, bool]) -> set[int]:
        """Those of these proposals that want nothing any more.

        Args:
            repository_id: The forge's number.
            proposals: Number to whether it is merged now.
        """

    async def refusal(
        self, repository_id: RepositoryId, number: int, head: str, base: str
    ) -> MergeRefusal | None:
        """Why the forge did not merge this head onto this base; None when it was not asked."""

    async def push_refusal(
        self, repository_id: RepositoryId, ref: str, sha: str
    ) -> PushRefusal | None:
        """Why the forge refused to move a branch from where it is; None when it did not."""

    async def keep_open(
        self,
        repository_id: RepositoryId,
        head_repository: int,
        branch: str,
        numbers: Sequence[int],
        sha: str,
    ) -> CommitSharers:
        """Remember which open proposals one head branch has, and say who shares its commit.

        Written before it is read, so that of two looks at the same time one sees the other.

        Args:
            repository_id: The forge's number of the repository that receives the change.
            head_repository: Number of the repository that holds the branch; 0 when it is gone.
            branch: Its name.
            numbers: All its open proposals; empty when there is none.
            sha: Its commit.
        """

    async def drop_open(
        self, repository_id: RepositoryId, number: int
    ) -> frozenset[tuple[int, int, str]]:
        """Forget an open proposal that turned out to be closed or moved.

        Returns:
            Whom that is news for, as in `CommitSharers`: who is left at its commit.
        """

    async def keep_touching(
        self, repository_id: RepositoryId, number: int, base: str, packages: Sequence[str]
    ) -> Touching:
        """Remember which packages an open proposal changes, and say who else changes them.

        Written before it is read, as in `keep_open`.

        Args:
            repository_id: The forge's number of the repository.
            number: The proposal.
            base: The branch that it is proposed to.
            packages: What it changes; empty once it is closed.
        """


class Proposals(LookProposals, Protocol):
    """What is remembered of proposals, and which of them have to do with others."""

    async def keep(
        self,
        repository_id: RepositoryId,
        number: int,
        log: Log = frozenset(),
        written: Mapping[int, Written] | None = None,
        gone: Iterable[int] = (),
    ) -> None:
        """Remember events of a proposal, and which comments on it are ours; all or nothing.

        Args:
            repository_id: The forge's number.
            number: The proposal.
            log: Events; those that are known already are kept once.
            written: Comments of ours by their numbers.
            gone: Comments of ours that are no more.
        """

    async def settle(self, repository_id: RepositoryId, number: int, *, merged: bool) -> None:
        """A closed proposal wants nothing any more, until it is merged after all."""

    async def settled_until(self, repository_id: RepositoryId, base: str) -> datetime | None:
        """The moment before which merged proposals of a base branch changed last that are settled.

        None when nobody knows.
        """

    async def settle_until(self, repository_id: RepositoryId, base: str, until: datetime) -> None:
        """Remember that all merged proposals of a base that changed last before are settled."""

    async def refuse(
        self,
        repository_id: RepositoryId,
        number: int,
        head: str,
        base: str,
        refusal: MergeRefusal,
        waits: Sequence[float | None] = (None,),
    ) -> None:
        """Remember why the forge did not merge this head onto this base.

        What it says again with the same inputs, of the same kind of failure, is counted.

        Args:
            repository_id: The forge's number.
            number: The proposal.
            head: What was to be merged.
            base: Onto what; `TAGS` for tags of `head`.
            refusal: What it said; `tries` and `left` are worked out.
            waits: Seconds until it may be asked again, after the first failure, the second, and so
                on; the last one stays. None: only another input helps.
        """

    async def forget_refusal(self, repository_id: RepositoryId, number: int) -> None:
        """Let the forge be asked again: somebody says that what it objected to has changed."""

    async def refuse_push(
        self, repository_id: RepositoryId, ref: str, sha: str, refusal: PushRefusal
    ) -> None:
        """Remember that a rule of the forge forbids to move a branch from where it is.

        With the name of a check of ours as `ref`: that the forge takes no more of it at a commit.
        """

    async def forget_push_refusals(
        self, repository_id: RepositoryId, ref: str | None = None
    ) -> tuple[str, ...]:
        """Let pushes be tried again: to one ref, or to all of a repository; returns which.

        What is full stays so: checks are not among all.
        """

    async def forget_touching(
        self, repository_id: RepositoryId, open_numbers: Sequence[int]
    ) -> None:
        """Forget what proposals change that are not open any more."""


class Sweeps(Protocol):
    """What sweeps have had looked at: the next one asks only for what has changed (ADR 23)."""

    async def known(self, repository_id: RepositoryId) -> dict[str, Swept]:
        """Key of each head branch to what a sweep saw when it last had it looked at."""

    async def keep(
        self, repository_id: RepositoryId, states: Mapping[str, str], there: Collection[str]
    ) -> None:
        """Remember that looks were asked for; whoever asks for them does so before this.

        Args:
            repository_id: Which repository.
            states: Key to the digest of what was seen before the look was asked for.
            there: Keys to go on knowing; all others are forgotten.
        """

    async def forget(self, key: Key | None = None) -> None:
        """Have a head branch looked at once more, or everything: nobody knows what was missed."""

    async def packages(self, repository_id: RepositoryId) -> dict[int, frozenset[str]]:
        """Open proposal to the packages that it changes, as far as looks have told."""

    async def heads_touching(
        self, repository_id: RepositoryId, packages: Collection[str]
    ) -> frozenset[tuple[int, str]]:
        """Head repository and branch of open proposals that change one of some packages."""

    async def approved(
        self, repository_id: RepositoryId, numbers: Collection[int]
    ) -> frozenset[int]:
        """Those of some proposals that anybody ever approved."""

    async def watched(self, forge: str) -> dict[RepositoryId, Watched]:
        """What sweeps saw of the repositories of a forge that are or were served."""

    async def watch(self, repository_id: RepositoryId, seen: Watched, *, asked: bool) -> None:
        """Remember what was seen of a repository; its last sweep stays as it is.

        Args:
            repository_id: Which.
            seen: `listed`, `shown`, `validator` and `quiet` of it.
            asked: The forge was asked for `shown` just now.
        """

    async def swept(self, repository_id: RepositoryId, version: str, *, waits: bool) -> None:
        """A sweep of a repository has ended."""

    async def mark(self, forge: str, sweep: str) -> Mapping[str, Any]:
        """From where a sweep of all of a forge goes on; empty where nobody knows."""

    async def marks(self, sweep: str) -> Mapping[str, Mapping[str, Any]]:
        """Forge to what a sweep of all of it has kept."""

    async def keep_mark(self, forge: str, sweep: str, mark: Mapping[str, Any]) -> None:
        """Remember from where a sweep goes on, for whichever replica does it next."""


class VariantWaits(Protocol):
    """What variants of a repository wait for; for people, never to decide by."""

    async def keep(self, repository_id: RepositoryId, waits: Sequence[VariantWait]) -> None:
        """Remember all that variants wait for now; what stands as before keeps its time.

        Args:
            repository_id: Where the packages are, or the rules.
            waits: Of one package, rule and file the last one counts.
        """

    async def of(self, repository_id: RepositoryId) -> tuple[VariantWait, ...]:
        """What they wait for, by package, rule and file."""


class Waits(Protocol):
    """What proposals wait for, and since when; for people and metrics, never to decide by."""

    async def keep(
        self,
        repository_id: RepositoryId,
        key: str,
        waits: Mapping[int, Sequence[Wait]],
        merged: Collection[int] = (),
    ) -> None:
        """Remember all that the proposals of a head branch wait for now.

        What was waited for before keeps its time, whatever is said of it now. A merged proposal
        that was not judged just now still waits: nothing else would have it looked at again.

        Args:
            repository_id: Which repository.
            key: Key of the head branch.
            waits: By number; open ones of the branch that are not named wait for nothing.
            merged: Numbers of those that are merged and were judged.
        """

    async def forget(self, repository_id: RepositoryId, there: Collection[int]) -> None:
        """Forget the proposals of a repository that are neither open nor merged.

        Args:
            repository_id: Which repository.
            there: The open ones.
        """

    async def counts(self) -> dict[str, int]:
        """Reason to how many proposals wait for it, in repositories that are served."""

    async def of(self, repository_id: RepositoryId) -> tuple[Waiting, ...]:
        """Every proposal of a repository that waits, by number, also where it is not served."""

    async def parked(
        self, repository_id: RepositoryId, kinds: Collection[str], key: str = ""
    ) -> tuple[Parked, ...]:
        """Merged proposals that wait for gates of some kinds and for nothing else, by number.

        Args:
            repository_id: Which repository.
            kinds: First words of the gates' names.
            key: Only those of this head branch; "" for all.
        """

    async def page(
        self, after: tuple[int, int] | None = None, most: int = 50
    ) -> tuple[Waiting, ...]:
        """Proposals that wait, in repositories that are served: a page of them.

        Args:
            after: The place of the last one of the page before.
            most: How many.
        """


class Replicas(Protocol):
    """The processes of the bot, as they tell of themselves; for people, never to decide by."""

    async def beat(self, name: str, host: str, parts: str, version: str) -> None:
        """Tell that a process lives.

        Args:
            name: As its leases have it; no two processes have one.
            host: The machine or container.
            parts: What it does: "web", "work" or both.
            version: Of the bot.
        """

    async def gone(self, name: str) -> None:
        """Tell that a process ends."""

    async def seen(self) -> tuple[Replica, ...]:
        """The processes that told of themselves, oldest first."""

    async def forget(self, days: float = 1) -> None:
        """Forget those that have told nothing for so long."""


class Claims(Protocol):
    """Who may make what the forge would make twice: a comment, a check run (ADR 24)."""

    async def take(self, repository_id: RepositoryId, place: str, seconds: float = CLAIM) -> bool:
        """Take a claim, before the forge is asked to make something.

        Args:
            repository_id: Where it is made.
            place: What is made, so that another of it would be one too many.
            seconds: For how long nobody else may; what was made shows until then.

        Returns:
            Whether it is ours; otherwise another look has it, in this process or another.
        """

    async def have(self, repository_id: RepositoryId, place: str, holder: str) -> bool:
        """Take what one alone may have, for as long as claims are kept (`CLAIMS_KEPT`).

        Args:
            repository_id: Where it is.
            place: What it is.
            holder: Who asks for it; whoever has it may ask again.

        Returns:
            Whether they have it; otherwise somebody else asked first.
        """

    async def holder(self, repository_id: RepositoryId, place: str) -> str:
        """Return who has what one alone may have; "" for nobody."""

    async def hold(self, repository_id: RepositoryId, place: str) -> None:
        """Let a claim of ours stand from now on: the request that it is for still goes on."""

    async def give_back(self, repository_id: RepositoryId, place: str) -> None:
        """Nothing was made, and that is certain: the next look need not wait."""

    async def forget(self, seconds: float = CLAIMS_KEPT) -> None:
        """Forget claims that are older than so many seconds."""


class Renderings(Protocol):
    """Verdicts on packages that any replica made: a shortcut, which may be lost at any time."""

    async def find(self, key: str) -> bytes | None:
        """What is kept under a key; None for nothing."""

    async def keep(self, key: str, data: bytes) -> None:
        """Keep something in place of what was there; not what is too long."""

    async def trim(self, most_bytes: int = KEPT_RENDERINGS) -> None:
        """Forget what was used longest ago, as far as there is more than so much in all."""


class Budgets(Protocol):
    """What all replicas may still ask of a forge, in token buckets that they share (ADR 27).

    An account is whatever the forge counts for: a token of an installation, as a rule.
    """

    async def take(
        self, account: str, draws: Sequence[Draw], told: Sequence[ReportedLimit] = ()
    ) -> float:
        """Take tokens out of several buckets, all or none.

        Args:
            account: Whose.
            draws: At least one; of each bucket one.
            told: What the forge has said since, which is heeded first.

        Returns:
            0 when all was taken; else the seconds until all of it may be there, by what is known.
        """

    async def pause(self, account: str, seconds: float) -> None:
        """The forge asked for a pause: nobody gets anything until it is over."""

    async def left(self) -> Mapping[tuple[str, str], tuple[float, float]]:
        """Account and bucket to the tokens that are left, 0 in a pause, and to its size."""


class Audit(Protocol):
    """What happened: entries are added, never changed, and deleted only when they are old."""

    async def begin(self, key: str, detail: Mapping[str, Any]) -> int:
        """Add the entry `BEGAN`, before anything is done; returns its id.

        The entries that tell how it ended name that id in their field "began". Where none does, the
        bot is still at it, or was killed.
        """

    async def add(
        self, key: str, actions: Sequence[tuple[str, Mapping[str, Any]]], *, actor: str = "bot"
    ) -> None:
        """Add entries, one for each action with its detail; none is ever changed.

        Args:
            key: What it was done for.
            actions: Name and detail of each.
            actor: Who did it: "bot" or "operator".
        """

    async def entries(self, key: str) -> tuple[tuple[datetime, str, str, Mapping[str, Any]], ...]:
        """The entries of a key, oldest first: when, who, what, detail."""

    async def forget(self) -> int:
        """Delete entries older than `KEPT_AUDIT_DAYS`; returns how many."""


class LookIndex(Protocol):
    """What a look asks and tells of it."""

    @property
    def revisions(self) -> LookRevisions:
        """Of revisions."""

    @property
    def proposals(self) -> LookProposals:
        """Of proposals."""


class Store(Protocol):
    """All of it.

    Attributes:
        queue: Work to do.
        deliveries: What the forge told us.
        repositories: The index: repositories.
        upstreams: The index: who has which upstream.
        revisions: The index: revisions.
        proposals: The index: proposals.
        sweeps: What sweeps have had looked at.
        waits: What proposals wait for.
        variant_waits: What variants wait for.
        replicas: The processes of the bot.
        claims: Who may make what.
        budgets: What may still be asked of the forge.
        renderings: Verdicts that were made.
        audit: What happened.
    """

    queue: Queue
    deliveries: Deliveries
    repositories: Repositories
    upstreams: UpstreamUses
    revisions: Revisions
    proposals: Proposals
    sweeps: Sweeps
    waits: Waits
    variant_waits: VariantWaits
    replicas: Replicas
    claims: Claims
    budgets: Budgets
    renderings: Renderings
    audit: Audit
