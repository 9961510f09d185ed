"""All SQL: the work to do, the deliveries that asked for it, an index and an audit trail.

The database is never the truth about a proposal (docs/design.md, "Where the truth is"): lose it,
and the forge, git and our signed records say everything again. Every method is one statement, and
so one transaction.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol

import psycopg
from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from bot import statements
from bot.keys import Key
from bot.migrations import STEPS
from bot.sayable import sayable
from bot.tasks import end
from bot.wakes import Gathering, Hint, columns
from lifecycle.events import Log, decode, encode
from lifecycle.facts import PushRefusal, Written
from lifecycle.names import Sha

CHANNEL = "porchbot_work"
"""Where replicas tell one another that there is work."""

LEASE = 10.0
"""Seconds that a worker has a key without renewing (docs/design.md, "Work")."""

KEPT_DAYS = 7
"""Days that a delivery's body is kept, for finding out what happened; GitHub keeps three."""

CONNECTIONS = 10
"""Most connections of one process: looks hold one for a moment only."""

PATIENCE = 2.0
"""Seconds to get a connection when it is one's turn: GitHub waits ten for an answer."""

TURN = 6.0
"""Seconds that a delivery waits for its turn; then the forge is told to send it again."""
TAGS = "tags"
"""Stands for the base where the forge refused the tags of a merge result, and no merge."""

PAGE = 2_000
"""Rows that are read at once where there may be many."""

MOST_TIPS = 50
"""Tips of one base branch that are kept."""

_MIGRATION_LOCK = 0x706F726368  # "porch": replicas that start at once take turns


class StoreError(Exception):
    """The database cannot be reached now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """One delivery, to be stored.

    Attributes:
        guid: The forge's id for it; a redelivery has the same.
        event: Its kind, in the forge's words.
        action: What happened, in the forge's words; "" when the kind has no actions.
        headers: Those on the allow-list.
        body: As received.
        repository: Number of the repository it is about; None for the App as a whole.
        forge: Which forge.
    """

    guid: str
    event: str
    action: str
    headers: Mapping[str, str]
    body: bytes
    repository: int | None = None
    forge: str = "github"


class Adopted(Protocol):
    """What is remembered of a repository; `bot.forge.Repository` is one."""

    @property
    def id(self) -> int:
        """The forge's number."""

    @property
    def full_name(self) -> str:
        """Such as "acme/blueprints"."""

    @property
    def installation(self) -> int:
        """Number of the App's installation."""

    @property
    def installed_at(self) -> datetime:
        """When the App was installed."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """What a repository was when the bot first saw it: the baseline (docs/design.md, "Adoption").

    Attributes:
        at: When that was.
        installed_at: When the App was installed.
        installation: Number of the App's installation.
        drafts: Draft branches that were there, and where.
        tags: Release tags that were there, in full spelling; None when nobody knows.
        gone: When it was found to be out of our reach; None while it is served.
        highest: Number of its newest proposal then; None when nobody knows.
        open: Numbers of the proposals that were open.
    """

    at: datetime
    installed_at: datetime
    installation: int
    drafts: Mapping[str, str]
    tags: frozenset[str] | None = None
    gone: datetime | None = None
    highest: int | None = None
    open: Sequence[int] = ()

    def merged_before(self, number: int, merged_at: datetime) -> bool:
        """Whether a merged proposal is part of the baseline, unless it carries a record of ours.

        By its number, for the clocks of the forge and of this machine may differ.
        """
        if self.highest is None:
            return merged_at < self.at
        return number <= self.highest and number not in self.open


@dataclass(frozen=True, slots=True)
class Revision:
    """A revision that we published.

    Attributes:
        target: The commit that was tagged.
        tag: The tag object; "" when it is not known.
        proposal: The pull request; None when it is not known.
        shown: The object that the tag was last seen to name; "" when it was as we made it.
    """

    target: str
    tag: str = ""
    proposal: int | None = None
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the forge refused a merge.

    Attributes:
        reason: Its own words.
        ended: Digest of what others had reported at the head before it was asked.
    """

    reason: str
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Touching:
    """Which other open proposals change the packages of one.

    Attributes:
        also: Package to their numbers; none for a package that nobody else changes.
        news: Head repository and branch of those for whom this look brings news.
    """

    also: Mapping[str, tuple[int, ...]]
    news: frozenset[tuple[int, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Sharing:
    """Open proposals of other head branches that share a commit with one.

    Attributes:
        now: Their numbers, for the commit at which the branch is now.
        news: Numbers and head branches (repository, branch) to look at again: the branch began or
            ceased to share a commit with them.
    """

    now: tuple[int, ...]
    news: frozenset[tuple[int, int, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A key that a worker has taken.

    Attributes:
        key: Its text.
        wanted: What to write into `seen` afterwards.
        hint: What the events said exists.
        tries: Looks in a row that failed before this one.
        owner: Who has it: another take, even by the same worker, has another.
    """

    key: str
    wanted: int
    hint: Hint
    tries: int
    owner: str


@dataclass(frozen=True, slots=True)
class Queue:
    """How much work there is.

    Attributes:
        waiting: Keys that somebody wants looked at.
        due: Those that could be taken now.
        taken: Those that a worker has.
        failing: Those whose last look failed.
        oldest: Seconds that the oldest due one has been due.
    """

    waiting: int
    due: int
    taken: int
    failing: int
    oldest: float


@dataclass(frozen=True, slots=True)
class Failing:
    """A key whose last look failed.

    Attributes:
        key: Its text.
        repository: Name of its repository; "" where it has none that we know.
        tries: Looks in a row that failed.
        error: What went wrong last.
        again: Seconds until it is looked at again.
    """

    key: str
    repository: str
    tries: int
    error: str
    again: float


class Store:
    """The database; used as an asynchronous context.

    Whoever asks waits for a turn, so that many at once never look like a database that is away.
    Wakes and deliveries have half of the turns: looks go on beside any flood of them.

    Args:
        url: Its address, for libpq.
        connections: Most connections; at least 2.
        patience: Seconds to get a connection when it is one's turn.
    """

    def __init__(
        self, url: str, connections: int = CONNECTIONS, *, patience: float = PATIENCE
    ) -> None:
        self._url = url
        self._pool: AsyncConnectionPool[psycopg.AsyncConnection[TupleRow]] = AsyncConnectionPool(
            url,
            min_size=2,
            max_size=connections,
            open=False,
            timeout=patience,
            # The pool waits longer and longer between its own tries; whoever asks tries at once.
            reconnect_timeout=1,
            kwargs={"autocommit": True, "application_name": "porchbot"},
        )
        self._turns = asyncio.Semaphore(connections)
        self._deliveries = asyncio.Semaphore(max(1, connections // 2 - 1))
        self._wakes = Gathering(self._wake)
        self._woken = asyncio.Event()
        self._telling: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Store":
        await migrate(self._url)
        await self._pool.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._wakes.drain()
        if self._telling is not None:
            with suppress(StoreError):
                await self._telling
        await self._pool.close()

    async def check(self) -> None:
        """Ask for anything at all.

        Raises:
            StoreError: The database does not answer.
        """
        await self._ask("SELECT 1")

    # --- deliveries and wakes ---------------------------------------------------------------------

    async def store_delivery(self, delivery: Delivered, wakes: Mapping[Key, Hint]) -> bool:
        """Store a delivery and wake its keys, both or neither.

        A repeated delivery is stored once and wakes its keys again: somebody pressed Redeliver.
        One about a repository that is not served wakes nothing: discovery finds those that are.

        Returns:
            Whether it came for the first time.

        Raises:
            StoreError: The database cannot be reached; nothing was stored.
        """
        keys, hints, priorities = columns(wakes)
        async with _in_turn(self._deliveries):
            row = await self._one(
                statements.STORE_DELIVERY,
                {
                    "forge": delivery.forge,
                    "guid": delivery.guid,
                    "event": delivery.event,
                    "action": delivery.action,
                    "headers": Jsonb(dict(delivery.headers)),
                    "body": delivery.body,
                    "repository": delivery.repository,
                    "keys": keys,
                    "hints": hints,
                    "priorities": priorities,
                },
            )
        if row[1]:
            self._tell()
        return bool(row[0] == 1)

    async def deliveries(
        self, repository_id: int, since: datetime, most: int = 200
    ) -> tuple[tuple[Mapping[str, str], bytes], ...]:
        """Headers and bodies of what was told about a repository since then, newest first."""
        rows = await self._ask(
            "SELECT headers, body FROM delivery"
            " WHERE repository = %(id)s AND received >= %(since)s"
            " ORDER BY received DESC LIMIT %(most)s",
            {"id": repository_id, "since": since, "most": most},
        )
        return tuple((headers, bytes(body)) for headers, body in rows)

    async def wake(self, key: Key, hint: Hint | None = None, *, after: float = 0) -> None:
        """Ask for a key to be looked at.

        Args:
            key: Which one.
            hint: What is known to exist; put together with what is known already.
            after: Seconds to wait. An earlier look answers this wake too, and must ask for the
                next one itself.
        """
        await self.wake_all({key: hint or {}}, after=after)

    async def wake_all(self, wakes: Mapping[Key, Hint], *, after: float = 0) -> None:
        """Ask for several keys to be looked at, in one transaction.

        What is asked for while another such transaction goes on is put together into the next.
        """
        if wakes:
            await self._wakes.add(wakes, after)

    async def _wake(self, wakes: Mapping[Key, Hint], after: float) -> None:
        keys, hints, priorities = columns(wakes)
        await self._ask(
            statements.WAKE,
            {"keys": keys, "hints": hints, "priorities": priorities, "after": after},
        )
        self._tell()

    async def forget_deliveries(self, days: float = KEPT_DAYS) -> int:
        """Delete deliveries received longer ago; returns how many."""
        gone = await self._ask(
            "DELETE FROM delivery WHERE received < now() - make_interval(secs => %(seconds)s)"
            " RETURNING 1",
            {"seconds": days * 86400},
        )
        return len(gone)

    # --- work -------------------------------------------------------------------------------------

    async def take(self, owner: str, lease: float = LEASE) -> Taken | None:
        """Take the due key that has waited longest, highest priority first; None when none is due.

        Args:
            owner: Name of this one take.
            lease: Seconds until somebody else may take it.
        """
        rows = await self._ask(statements.TAKE, {"owner": owner, "lease": lease})
        for key, wanted, hint, tries in rows:
            return Taken(key=key, wanted=wanted, hint=hint, tries=tries, owner=owner)
        return None

    async def renew(self, owners: Sequence[str], lease: float = LEASE) -> set[str]:
        """Renew leases; returns the owners who still have theirs."""
        rows = await self._ask(
            "UPDATE work SET lease = now() + make_interval(secs => %(lease)s)"
            " WHERE owner = ANY(%(owners)s) RETURNING owner",
            {"owners": list(owners), "lease": lease},
        )
        return {owner for (owner,) in rows}

    async def done(self, taken: Taken, *, after: float | None = None) -> bool:
        """The key has settled as of the wake that this look began with.

        A wake that came meanwhile causes another look, at once.

        Args:
            taken: What was taken.
            after: Seconds after which to look again anyhow, for what opens by time alone.

        Returns:
            Whether we still had it; otherwise nothing was written.
        """
        return await self._finish(statements.DONE, taken, after=after)

    async def again(self, taken: Taken, after: float) -> bool:
        """The key has not settled: keep its hint, and look again after so many seconds."""
        return await self._finish(statements.AGAIN, taken, after=after)

    async def failed(self, taken: Taken, error: str, after: float, *, hold: bool = False) -> bool:
        """The look failed: look again after so many seconds, or at the next wake.

        Args:
            taken: What was taken.
            error: What went wrong, for the operator.
            after: Seconds.
            hold: Not even a wake may shorten it: the forge asked for this wait.
        """
        return await self._finish(
            statements.FAILED, taken, after=after, error=error[:2000], hold=hold
        )

    async def give_back(self, taken: Taken) -> bool:
        """The look did not happen or was cut short: anybody may take the key now."""
        kept = await self._finish(statements.GIVE_BACK, taken)
        self._tell()
        return kept

    async def next_due(self) -> float | None:
        """Seconds until the next key may be taken; None when nothing is wanted."""
        row = await self._one(statements.NEXT_DUE)
        return None if row[0] is None else max(0.0, float(row[0]))

    async def queue(self) -> Queue:
        """How much work there is, for the metrics."""
        waiting, due, taken, failing, oldest = await self._one(statements.QUEUE)
        return Queue(waiting, due, taken, failing, float(oldest))

    async def failing(self, most: int = 100) -> tuple[Failing, ...]:
        """What keeps failing, for the operator; longest first."""
        return tuple(Failing(*row) for row in await self._ask(statements.FAILING, {"most": most}))

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[asyncio.Event]:
        """An event that is set whenever there may be work, from this process or another.

        A lost connection is made again; meanwhile only this process's own wakes set it.
        """
        task = asyncio.create_task(self._listen())
        try:
            yield self._woken
        finally:
            await end([task])

    # --- the index --------------------------------------------------------------------------------

    async def adoption(self, repository_id: int) -> Adoption | None:
        """What a repository was when it was first seen; None when it never was."""
        rows = await self._ask(
            "SELECT adopted, installed, installation, drafts, tags, gone, highest, open"
            " FROM adoption WHERE repository = %(id)s",
            {"id": repository_id},
        )
        return _adoption(rows[0]) if rows else None

    async def adopt(
        self,
        repository: Adopted,
        at: datetime,
        drafts: Mapping[str, str],
        tags: Sequence[str] = (),
        *,
        highest: int | None = None,
        open_numbers: Sequence[int] = (),
    ) -> Adoption:
        """Remember a repository's state as its baseline; the first one to do so counts."""
        row = await self._one(
            statements.ADOPT,
            {
                "id": repository.id,
                "name": repository.full_name,
                "installation": repository.installation,
                "at": at,
                "installed": repository.installed_at,
                "drafts": Jsonb(dict(drafts)),
                "tags": Jsonb(list(tags)),
                "highest": highest,
                "open": Jsonb(list(open_numbers)),
            },
        )
        return _adoption(row)

    async def rename(self, repository: Adopted) -> None:
        """Keep the name and the installation by which a repository is reached now."""
        await self._ask(
            "UPDATE adoption"
            " SET full_name = %(name)s, installation = %(installation)s, gone = NULL"
            " WHERE repository = %(id)s AND (full_name, installation, gone)"
            " IS DISTINCT FROM (%(name)s, %(installation)s, NULL::timestamptz)",
            {
                "id": repository.id,
                "name": repository.full_name,
                "installation": repository.installation,
            },
        )

    async def installations(self) -> set[int]:
        """The installations of the repositories that are served."""
        rows = await self._ask("SELECT DISTINCT installation FROM adoption WHERE gone IS NULL")
        return {number for (number,) in rows}

    async def repositories(self, installation: int) -> set[int]:
        """The repositories of an installation that are served."""
        rows = await self._ask(
            "SELECT repository FROM adoption WHERE gone IS NULL AND installation = %(n)s",
            {"n": installation},
        )
        return {number for (number,) in rows}

    async def only_installations(self, numbers: Sequence[int]) -> tuple[str, ...]:
        """Serve no repository of another installation; returns the names of those that were."""
        rows = await self._ask(
            "UPDATE adoption SET gone = now()"
            " WHERE gone IS NULL AND installation <> ALL (%(numbers)s::bigint[])"
            " RETURNING full_name",
            {"numbers": list(numbers)},
        )
        return tuple(name for (name,) in rows)

    async def only_repositories(self, installation: int, ids: Sequence[int]) -> tuple[str, ...]:
        """Serve no other repository of this installation; returns the names of those that were."""
        rows = await self._ask(
            "UPDATE adoption SET gone = now() WHERE gone IS NULL"
            " AND installation = %(installation)s AND repository <> ALL (%(ids)s::bigint[])"
            " RETURNING full_name",
            {"installation": installation, "ids": list(ids)},
        )
        return tuple(name for (name,) in rows)

    async def lost(self, repository_id: int) -> None:
        """A repository is out of our reach: nothing in it is looked at until it is found again."""
        await self._ask(
            "UPDATE adoption SET gone = now() WHERE repository = %(id)s AND gone IS NULL",
            {"id": repository_id},
        )

    async def ask_publish(self, repository_id: int, base: str, number: int) -> None:
        """A proposal's gates hold: put it in its base branch's line, once."""
        await self._ask(
            "INSERT INTO candidate (repository, base, proposal) VALUES (%(id)s, %(base)s, %(n)s)"
            " ON CONFLICT DO NOTHING",
            {"id": repository_id, "base": base, "n": number},
        )

    async def asked_publish(self, repository_id: int, base: str) -> tuple[int, ...]:
        """The proposals in line for a base branch, first come first."""
        rows = await self._ask(
            "SELECT proposal FROM candidate WHERE repository = %(id)s AND base = %(base)s"
            " ORDER BY place",
            {"id": repository_id, "base": base},
        )
        return tuple(number for (number,) in rows)

    async def queued(self, repository_id: int, base: str, number: int) -> bool:
        """Whether a proposal is in line."""
        return number in await self.asked_publish(repository_id, base)

    async def published(self, repository_id: int, base: str, number: int) -> None:
        """Take a proposal out of the line: published, or its gates hold no more."""
        await self._ask(
            "DELETE FROM candidate WHERE repository = %(id)s AND base = %(base)s"
            " AND proposal = %(n)s",
            {"id": repository_id, "base": base, "n": number},
        )

    async def keep_revision(
        self, repository_id: int, package: str, number: int, revision: Revision
    ) -> None:
        """Remember that a number is used, whatever becomes of its tag."""
        await self._ask(
            "INSERT INTO revision AS r (repository, package, number, target, tag, proposal)"
            " VALUES (%(id)s, %(package)s, %(number)s, %(target)s, %(tag)s, %(proposal)s)"
            " ON CONFLICT (repository, package, number) DO UPDATE"
            " SET tag = EXCLUDED.tag, proposal = coalesce(EXCLUDED.proposal, r.proposal)"
            " WHERE r.target = EXCLUDED.target AND r.tag = ''",
            {
                "id": repository_id,
                "package": package,
                "number": number,
                "target": revision.target,
                "tag": revision.tag,
                "proposal": revision.proposal,
            },
        )

    async def revisions(
        self, repository_id: int, packages: Iterable[str]
    ) -> dict[str, dict[int, Revision]]:
        """Package to the numbers that were published, for some packages."""
        rows = await self._ask(
            "SELECT package, number, target, tag, proposal, shown FROM revision"
            " WHERE repository = %(id)s AND package = ANY (%(packages)s)",
            {"id": repository_id, "packages": list(packages)},
        )
        found: dict[str, dict[int, Revision]] = {}
        for package, number, *rest in rows:
            found.setdefault(package, {})[number] = Revision(*rest)
        return found

    async def all_revisions(self, repository_id: int) -> AsyncIterator[tuple[str, int, Revision]]:
        """Every revision that was published, package by package, a page at a time."""
        last: tuple[str, int] = ("", 0)
        while True:
            rows = await self._ask(
                "SELECT package, number, target, tag, proposal, shown FROM revision"
                " WHERE repository = %(id)s AND (package, number) > (%(package)s, %(number)s)"
                " ORDER BY package, number LIMIT %(most)s",
                {"id": repository_id, "package": last[0], "number": last[1], "most": PAGE},
            )
            for package, number, *rest in rows:
                yield package, number, Revision(*rest)
            if len(rows) < PAGE:
                return
            last = rows[-1][0], rows[-1][1]

    async def show_revision(
        self, repository_id: int, package: str, number: int, shown: str
    ) -> None:
        """Remember what a tag was seen to name, so that it is reported once."""
        await self._ask(
            "UPDATE revision SET shown = %(shown)s WHERE repository = %(id)s"
            " AND package = %(package)s AND number = %(number)s",
            {"id": repository_id, "package": package, "number": number, "shown": shown},
        )

    async def saw_tip(self, repository_id: int, base: str, sha: str) -> None:
        """Remember where a base branch is; the last few are kept."""
        asked = {"id": repository_id, "base": base, "sha": sha, "most": MOST_TIPS}
        await self._ask(statements.SAW_TIP, asked)
        await self._ask(statements.OLD_TIPS, asked)

    async def tips(self, repository_id: int, base: str) -> tuple[Sha, ...]:
        """Where a base branch was when we looked, newest first."""
        rows = await self._ask(
            "SELECT sha FROM tip WHERE repository = %(id)s AND base = %(base)s ORDER BY seen DESC",
            {"id": repository_id, "base": base},
        )
        return tuple(Sha(sha) for (sha,) in rows)

    async def keep(
        self,
        repository_id: int,
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
        texts = sorted(json.dumps(encode(event), sort_keys=True) for event in log)
        comments = sorted((written or {}).items())
        await self._ask(
            statements.KEEP,
            {
                "id": repository_id,
                "n": number,
                "gone": list(gone),
                "digests": [hashlib.sha256(text.encode()).hexdigest() for text in texts],
                "events": texts,
                "comments": [comment for comment, _ in comments],
                "bodies": [one.body for _, one in comments],
                "records": [json.dumps(one.record) for _, one in comments],
            },
        )

    async def remembered(self, repository_id: int, number: int) -> tuple[Log, dict[int, Written]]:
        """The events of a proposal, and the comments that we wrote on it."""
        rows = await self._ask(statements.REMEMBERED, {"id": repository_id, "n": number})
        return (
            frozenset(decode(event) for event, *_ in rows if event is not None),
            {
                comment: Written(body, record)
                for _, comment, body, record in rows
                if comment is not None
            },
        )

    async def settle(self, repository_id: int, number: int, *, merged: bool) -> None:
        """A closed proposal wants nothing any more, until it is merged after all."""
        await self._ask(
            "INSERT INTO settled VALUES (%(id)s, %(n)s, %(merged)s)"
            " ON CONFLICT (repository, proposal) DO UPDATE"
            " SET merged = settled.merged OR EXCLUDED.merged",
            {"id": repository_id, "n": number, "merged": merged},
        )

    async def settled(self, repository_id: int, proposals: Mapping[int, bool]) -> set[int]:
        """Those of these proposals that want nothing any more.

        Args:
            repository_id: The forge's number.
            proposals: Number to whether it is merged now.
        """
        if not proposals:
            return set()
        rows = await self._ask(
            "SELECT proposal, merged FROM settled"
            " WHERE repository = %(id)s AND proposal = ANY(%(n)s)",
            {"id": repository_id, "n": list(proposals)},
        )
        return {number for number, merged in rows if merged or not proposals[number]}

    async def settled_until(self, repository_id: int, base: str) -> datetime | None:
        """The moment before which merged proposals of a base branch changed last that are settled.

        None when nobody knows.
        """
        rows = await self._ask(
            "SELECT until FROM settled_until WHERE repository = %(id)s AND base = %(base)s",
            {"id": repository_id, "base": base},
        )
        return rows[0][0] if rows else None

    async def settle_until(self, repository_id: int, base: str, until: datetime) -> None:
        """Remember that all merged proposals of a base that changed last before are settled."""
        await self._ask(
            "INSERT INTO settled_until AS s VALUES (%(id)s, %(base)s, %(until)s)"
            " ON CONFLICT (repository, base) DO UPDATE"
            " SET until = GREATEST(s.until, EXCLUDED.until)",
            {"id": repository_id, "base": base, "until": until},
        )

    async def refuse(
        self, repository_id: int, number: int, head: str, base: str, refusal: "Refusal"
    ) -> None:
        """Remember why the forge refused to merge this head onto this base."""
        await self._ask(
            "INSERT INTO refusal (repository, proposal, head, base, reason, ended)"
            " VALUES (%(id)s, %(n)s, %(head)s, %(base)s, %(reason)s, %(ended)s)"
            " ON CONFLICT (repository, proposal) DO UPDATE SET head = EXCLUDED.head,"
            " base = EXCLUDED.base, reason = EXCLUDED.reason, ended = EXCLUDED.ended",
            {
                "id": repository_id,
                "n": number,
                "head": head,
                "base": base,
                "reason": refusal.reason,
                "ended": refusal.ended,
            },
        )

    async def refusal(
        self, repository_id: int, number: int, head: str, base: str
    ) -> "Refusal | None":
        """Why the forge refused to merge this head onto this base; None when it did not."""
        rows = await self._ask(
            "SELECT reason, ended FROM refusal WHERE repository = %(id)s AND proposal = %(n)s"
            " AND head = %(head)s AND base = %(base)s",
            {"id": repository_id, "n": number, "head": head, "base": base},
        )
        return Refusal(*rows[0]) if rows else None

    async def forget_refusal(self, repository_id: int, number: int) -> None:
        """Let the forge be asked again: somebody says that what it objected to has changed."""
        await self._ask(
            "DELETE FROM refusal WHERE repository = %(id)s AND proposal = %(n)s",
            {"id": repository_id, "n": number},
        )

    # --- pushes that were refused ---

    async def refuse_push(
        self, repository_id: int, ref: str, sha: str, refusal: PushRefusal
    ) -> None:
        """Remember that a rule of the forge forbids to move a branch from where it is."""
        await self._ask(
            "INSERT INTO push_refusal (repository, ref, sha, asked, reason)"
            " VALUES (%(id)s, %(ref)s, %(sha)s, %(asked)s, %(reason)s)"
            " ON CONFLICT (repository, ref) DO UPDATE"
            " SET sha = EXCLUDED.sha, asked = EXCLUDED.asked, reason = EXCLUDED.reason",
            {
                "id": repository_id,
                "ref": ref,
                "sha": sha,
                "asked": refusal.asked,
                "reason": refusal.reason,
            },
        )

    async def push_refusal(self, repository_id: int, ref: str, sha: str) -> PushRefusal | None:
        """Why the forge refused to move a branch from where it is; None when it did not."""
        rows = await self._ask(
            "SELECT reason, asked FROM push_refusal"
            " WHERE repository = %(id)s AND ref = %(ref)s AND sha = %(sha)s",
            {"id": repository_id, "ref": ref, "sha": sha},
        )
        return PushRefusal(*rows[0]) if rows else None

    async def forget_push_refusals(self, repository_id: int, ref: str | None = None) -> None:
        """Let pushes be tried again: to one ref, or to all of a repository."""
        await self._ask(
            "DELETE FROM push_refusal WHERE repository = %(id)s"
            " AND (%(ref)s::text IS NULL OR ref = %(ref)s)",
            {"id": repository_id, "ref": ref},
        )

    # --- open proposals ---

    async def keep_open(
        self,
        repository_id: int,
        head_repository: int,
        branch: str,
        numbers: Sequence[int],
        sha: str,
    ) -> Sharing:
        """Remember which open proposals one head branch has, and say who shares its commit.

        Written before it is read, so that of two looks at the same time one sees the other.

        Args:
            repository_id: The forge's number of the repository that receives the change.
            head_repository: Number of the repository that holds the branch; 0 when it is gone.
            branch: Its name.
            numbers: All its open proposals; empty when there is none.
            sha: Its commit.
        """
        given = {"id": repository_id, "head": head_repository, "branch": branch}
        changed, old = await self._one(
            statements.KEEP_OPEN, {**given, "numbers": list(numbers), "sha": sha}
        )
        shas = {sha, *old} if numbers else set(old)
        rows = await self._ask(statements.AT_COMMITS, {**given, "shas": sorted(shas)})
        return Sharing(
            tuple(number for number, _, _, at in rows if numbers and at == sha),
            frozenset((number, head, ref) for number, head, ref, _ in rows if changed),
        )

    async def add_open(
        self, repository_id: int, head_repository: int, branch: str, number: int, sha: str
    ) -> None:
        """Remember an open proposal that another's look came upon."""
        await self._ask(
            "INSERT INTO open_proposal (repository, proposal, head_repository, branch, sha)"
            " VALUES (%(id)s, %(n)s, %(head)s, %(branch)s, %(sha)s)"
            " ON CONFLICT (repository, proposal) DO UPDATE SET"
            " head_repository = EXCLUDED.head_repository, branch = EXCLUDED.branch,"
            " sha = EXCLUDED.sha",
            {
                "id": repository_id,
                "n": number,
                "head": head_repository,
                "branch": branch,
                "sha": sha,
            },
        )

    async def drop_open(self, repository_id: int, number: int) -> None:
        """Forget an open proposal that turned out to be closed or moved."""
        await self._ask(
            "DELETE FROM open_proposal WHERE repository = %(id)s AND proposal = %(n)s",
            {"id": repository_id, "n": number},
        )

    async def keep_touching(
        self, repository_id: int, number: int, base: str, packages: Sequence[str]
    ) -> Touching:
        """Remember which packages an open proposal changes, and say who else changes them.

        Written before it is read, as in `keep_open`.

        Args:
            repository_id: The forge's number of the repository.
            number: The proposal.
            base: The branch that it is proposed to.
            packages: What it changes; empty once it is closed.
        """
        given = {"id": repository_id, "n": number, "base": base, "packages": list(packages)}
        changed = await self._ask(statements.KEEP_TOUCHING, given)
        also: dict[str, tuple[int, ...]] = {}
        for package, other in await self._ask(statements.ALSO_TOUCHING, given):
            also[package] = (*also.get(package, ()), other)
        if not changed:
            return Touching(also)
        bases, names = zip(*changed, strict=True)
        rows = await self._ask(
            statements.WHO_TOUCHES,
            {"id": repository_id, "n": number, "bases": list(bases), "packages": list(names)},
        )
        return Touching(also, frozenset((head, branch) for head, branch in rows))

    async def forget_touching(self, repository_id: int, open_numbers: Sequence[int]) -> None:
        """Forget what proposals change that are not open any more."""
        await self._ask(
            "DELETE FROM touching WHERE repository = %(id)s AND proposal <> ALL (%(open)s)",
            {"id": repository_id, "open": list(open_numbers)},
        )

    # --- the audit trail --------------------------------------------------------------------------

    async def audit(
        self,
        key: str,
        actions: Sequence[str],
        *,
        actor: str = "bot",
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        """Add entries, one for each action; none is ever changed or deleted."""
        await self._ask(
            "INSERT INTO audit (key, actor, action, detail)"
            " SELECT %(key)s, %(actor)s, action, %(detail)s FROM unnest(%(actions)s::text[])"
            " WITH ORDINALITY AS given(action, place) ORDER BY place",
            {"key": key, "actor": actor, "detail": Jsonb(detail or {}), "actions": list(actions)},
        )

    async def audited(self, key: str) -> tuple[tuple[datetime, str, str, Mapping[str, Any]], ...]:
        """The entries of a key, oldest first: when, who, what, detail."""
        return tuple(
            await self._ask(
                "SELECT at, actor, action, detail FROM audit WHERE key = %(key)s ORDER BY id",
                {"key": key},
            )
        )

    # --- the pool ---------------------------------------------------------------------------------

    async def _ask(self, query: str, values: Mapping[str, Any] | None = None) -> list[TupleRow]:
        try:
            async with self._turns, self._pool.connection() as connection:
                cursor = await connection.execute(query, sayable(values))
                return await cursor.fetchall() if cursor.description else []
        except (psycopg.OperationalError, PoolTimeout) as error:
            raise _unreachable(error) from error

    async def _one(self, query: str, values: Mapping[str, Any] | None = None) -> TupleRow:
        return (await self._ask(query, values))[0]

    async def _finish(
        self,
        query: str,
        taken: Taken,
        *,
        after: float | None = None,
        error: str = "",
        hold: bool = False,
    ) -> bool:
        rows = await self._ask(
            query,
            {
                "key": taken.key,
                "owner": taken.owner,
                "wanted": taken.wanted,
                "hint": Jsonb(dict(taken.hint)),
                "after": after,
                "error": error,
                "hold": hold,
            },
        )
        if rows and rows[0][0]:
            self._woken.set()  # whoever waits here has reckoned with our lease
        return bool(rows)

    def _tell(self) -> None:
        """Say that there is work: here at once, to other replicas in a moment.

        Not in the transaction of the wake: a NOTIFY there makes commits wait for one another.
        """
        self._woken.set()
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._notify())

    async def _notify(self) -> None:
        await asyncio.sleep(0.002)  # one for all wakes of a burst
        with suppress(StoreError):  # the others look by themselves every second
            await self._ask(f"NOTIFY {CHANNEL}")

    async def _listen(self) -> None:
        while True:
            with suppress(psycopg.OperationalError):
                async with await psycopg.AsyncConnection.connect(
                    self._url, autocommit=True, application_name="porchbot listen"
                ) as connection:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    self._woken.set()  # what was said before we listened
                    async for _ in connection.notifies():
                        self._woken.set()
            await asyncio.sleep(1)


async def migrate(url: str) -> int:
    """Bring the tables up to date; replicas that start at once take turns.

    Returns:
        How many steps were new.

    Raises:
        StoreError: The database cannot be reached, or was made by a newer version of the bot.
    """
    try:
        async with await psycopg.AsyncConnection.connect(url) as connection:
            return await _migrate(connection)
    except psycopg.OperationalError as error:
        raise _unreachable(error) from error


async def _migrate(connection: psycopg.AsyncConnection[TupleRow]) -> int:
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", [_MIGRATION_LOCK])
    await connection.execute("CREATE TABLE IF NOT EXISTS migration (step int PRIMARY KEY)")
    cursor = await connection.execute("SELECT count(*) FROM migration")
    row = await cursor.fetchone()
    done = int(row[0]) if row else 0
    if done > len(STEPS):
        raise StoreError(
            f"The database has had {done} migrations and this bot knows {len(STEPS)}: it was made "
            "by a newer version. Run that version, or another database."
        )
    for number, step in enumerate(STEPS[done:], start=done + 1):
        await connection.execute(step)
        await connection.execute("INSERT INTO migration VALUES (%s)", [number])
    return len(STEPS) - done


def _adoption(row: TupleRow) -> Adoption:
    adopted, installed, installation, drafts, tags, *rest = row
    known = None if tags is None else frozenset(tags)
    return Adoption(adopted, installed, installation, drafts, known, *rest)


def _unreachable(error: Exception) -> StoreError:
    # The message of psycopg names host and database, never the password; it may have lines.
    reason = " ".join(str(error).split()).rstrip(".")
    return StoreError(f"The database cannot be reached: {reason}. Start it, or set DATABASE_URL.")


@asynccontextmanager
async def _in_turn(turns: asyncio.Semaphore) -> AsyncIterator[None]:
    """Wait for a turn, but no longer than the forge waits for us."""
    try:
        await asyncio.wait_for(turns.acquire(), TURN)
    except TimeoutError as error:
        raise StoreError(f"The database was busy with other deliveries for {TURN:g} s.") from error
    try:
        yield
    finally:
        turns.release()
