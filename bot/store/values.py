"""The values that the store is given and gives, and its one error.

Longer than 400 lines: what the protocols of `port` exchange, in its order.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from bot.store.hints import Hint, HintJSON
from lifecycle.facts.merging import MergeObstacle
from lifecycle.identity import GITHUB, RepositoryId

KEPT_DAYS = 7
"""Days that a delivery's body is kept, for finding out what happened; GitHub keeps three."""

KEPT_AUDIT_DAYS = 400
"""Days that entries of the audit trail are kept: a year, and time to look back at it. The database
itself refuses to delete a younger one, whoever asks (`AUDIT_PRUNED` in bot/store/migrations.py)."""

BEGAN = "Began"
"""The action of an audit entry that is written before what it tells of is done."""

TRY_AGAIN = "TryAgain"
"""The action of the audit entry of an operator's retry."""

LEASE = 9.0
"""Seconds that a worker has a key without renewing (docs/design.md, "Work"): nearly all that the
death of a process costs those who wait for its work, which is to be less than ten."""

SILENT = 4.0
"""Seconds before the end of its lease at which a key is no more that of a process which has no
connection to the database: it has not renewed it twice by then (docs/design.md, "Work")."""

CLAIM = 15.0
"""Seconds for which a claim stands: as long as forges may show late what was written."""

CLAIMS_KEPT = 3600.0
"""Seconds after which a claim is forgotten: it has been over for long."""

KEPT_RENDERINGS = 256 * 1024**2
"""Bytes of verdicts that are kept in all: some hundred thousand of small packages."""

KEPT_RENDERINGS_DAYS = 30
"""Days after which a verdict that nobody asked for is forgotten, like its tree most often is."""

LONGEST_RENDERING = 1024**2
"""Bytes of one verdict: that on a new package of 2,500 files has 0.3 MB."""

RENDERINGS_BETWEEN = 32 * 1024**2
"""Bytes that one process writes until it looks whether there are too many."""

TAGS = "tags"
"""Stands for the base where the forge refused the tags of a merge result, and no merge."""


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
        repository: The repository that it is about; None for the App as a whole.
        forge: Which forge.
        called: What it calls the repository, which is looked at where it was called otherwise; ""
            where that does not count.
    """

    guid: str
    event: str
    action: str
    headers: Mapping[str, str]
    body: bytes
    repository: RepositoryId | None = None
    forge: str = GITHUB
    called: str = ""


class Adopted(Protocol):
    """What is remembered of a repository; `bot.forges.port.Repository` is one."""

    @property
    def id(self) -> RepositoryId:
        """Which repository."""

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
class ServedName:
    """A repository that is served, by its name.

    Attributes:
        id: Which.
        full_name: As it was called when it was last reached.
        installation: Number of the installation that it belongs to.
    """

    id: RepositoryId
    full_name: str
    installation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamUse:
    """What a Kptfile says of its upstream.

    Attributes:
        package: Path of the package; "" for the root.
        place: The upstream's repository, as `lifecycle.upstreams.locations` spells it.
        directory: Path of the upstream in it; "" for all of it.
        ref: Such as "net/core/v3".
        commit: What that was; "" in `upstream`.
        locked: It stands in `upstreamLock`.
    """

    package: str
    place: str
    directory: str
    ref: str
    commit: str = ""
    locked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamUser:
    """A package of a repository that is served, and what it says of its upstream.

    Attributes:
        repository: Where the package is.
        branch: On which branch.
        use: What its Kptfile says.
    """

    repository: ServedName
    branch: str
    use: UpstreamUse


@dataclass(frozen=True, slots=True)
class InstalledReach:
    """Where a repository is reached that the bot has seen.

    Attributes:
        installation: Number of the App's installation.
        gone: When it was found to be out of our reach; None while it is served.
    """

    installation: int
    gone: datetime | None = None


@dataclass(frozen=True, slots=True)
class BaselineTags:
    """Release tags of some packages that were there when the bot first saw their repository.

    Attributes:
        tags: As `Adoption.tags`; empty where their names alone are known.
        names_only: As `Adoption.names_only`.
    """

    tags: Mapping[str, str]
    names_only: bool = False


@dataclass(frozen=True, slots=True)
class Adoption:
    """What a repository was when the bot first saw it: the baseline (docs/design.md, "Adoption").

    Attributes:
        at: When that was.
        installed_at: When the App was installed.
        installation: Number of the App's installation.
        drafts: Draft branches that were there, and where.
        tags: Release tags that were there, in full spelling, to the objects that they named, ""
            where that is not known; None when nobody knows which were there.
        gone: When it was found to be out of our reach; None while it is served.
        highest: Number of its newest proposal then; None when nobody knows.
        open: Numbers of the proposals that were open.
        heads: Branches that packages were published from, and where; empty when nobody knows.
        names_only: An older version kept the names of its tags alone: what they name is to be
            completed (ADR 78).
    """

    at: datetime
    installed_at: datetime
    installation: int
    drafts: Mapping[str, str]
    tags: Mapping[str, str] | None = None
    gone: datetime | None = None
    highest: int | None = None
    open: Sequence[int] = ()
    heads: Mapping[str, str] = field(default_factory=dict)
    names_only: bool = False

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """One thing that a proposal waits for.

    Attributes:
        gate: Its name, such as "approved" or "check lint"; one of a proposal has each name.
        reason: What it is counted by, one of few words.
        actual: What is so.
        wanted: What must be so.
        who: Who can supply it.
    """

    gate: str
    reason: str
    actual: str
    wanted: str
    who: str


@dataclass(frozen=True, slots=True)
class Replica:
    """A process of the bot.

    Attributes:
        name: As its leases have it.
        host: The machine or container.
        parts: What it does: "web", "work" or both.
        version: Of the bot.
        started: When it first told of itself.
        silent: Seconds since it last did.
    """

    name: str
    host: str
    parts: str
    version: str
    started: datetime
    silent: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """A proposal that waits.

    Attributes:
        place: Where it stands among all; pages go on after it.
        repository: Its repository's name.
        number: Its number.
        key: The key of its head branch.
        waits: Each with since when, oldest first.
    """

    place: tuple[int, int]
    repository: str
    number: int
    key: str
    waits: tuple[tuple[datetime, Wait], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantWait:
    """What keeps a variant from its package, or rules for variants from being carried out.

    Attributes:
        package: Path of the package; "" where it is about the rules themselves.
        variant: Name of the rule; of the repository that it is about, where it is about one.
        file: Where the rule stands, for people; "" where that is no matter.
        state: How it stands, in a word or two.
        why: The reason, in words.
        since: Since when it stands so; None for since now.
    """

    package: str
    variant: str
    file: str
    state: str
    why: str
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Parked:
    """A merged proposal that waits for what does not happen on it.

    Attributes:
        number: Its number.
        key: The key of its head branch.
        gates: What it waits for.
    """

    number: int
    key: str
    gates: frozenset[str]


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep saw of a head branch when it last had it looked at.

    Attributes:
        state: Digest of it.
        age: Seconds since then.
    """

    state: str
    age: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What sweeps saw of a repository.

    Attributes:
        listed: As the forge's list of repositories showed it when it was last swept for that.
        shown: The newest change of a proposal, likewise; "" where nobody knows.
        validator: By which the forge says that this still holds; "" for none.
        quiet: How often in a row nothing had changed.
        asked: Seconds since the forge was asked for it; infinite for never.
        swept: Seconds since a sweep of it ended; infinite for never.
        version: Of the bot that swept it.
        waits: Something that no list tells may let a proposal through.
    """

    listed: str = ""
    shown: str = ""
    validator: str = ""
    quiet: int = 0
    asked: float = math.inf
    swept: float = math.inf
    version: str = ""
    waits: bool = False


@dataclass(frozen=True, slots=True)
class MergeRefusal:
    """Why the forge did not make a merge, or tags.

    Attributes:
        reason: Its own words.
        inputs: Digest of what its answer may depend on beside head and base, as it was before it
            was asked; "" where only time counts.
        obstacle: What its words come to.
        tries: How often it was asked with the same inputs, and failed alike; counted by the store.
        left: Seconds until it may be asked again; None where only another input helps.
    """

    reason: str
    inputs: str = ""
    obstacle: MergeObstacle = MergeObstacle.RULE
    tries: int = 1
    left: float | None = None


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
class CommitSharers:
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
        failing: Seconds since the first of these failed; 0 where none has.
        owner: Who has it: another take, even by the same worker, has another.
        heard: Seconds since the first webhook that this look answers; None where none woke it.
        stored: The hint as the row has it, which is taken out again once it is dealt with: rows
            of other versions may spell the same in another way.
    """

    key: str
    wanted: int
    hint: Hint
    tries: int
    owner: str
    stored: HintJSON
    heard: float | None = None
    failing: float = 0.0


@dataclass(frozen=True, slots=True)
class SchedulingOrder:
    """Whose turn it is, as one process sees it, by `bot.keys.place_of`.

    Attributes:
        ranks: Place to how much it has had lately; lower goes first, and who is not named has 0.
        full: Places, and names of forges, that have as much as one may have at a time: nothing of
            them is taken.
    """

    ranks: Mapping[str, int] = field(default_factory=dict)
    full: frozenset[str] = frozenset()


UNORDERED = SchedulingOrder()
"""Nobody has had anything yet."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """How much work there is.

    Attributes:
        waiting: Keys that somebody wants looked at.
        due: Those that could be taken now.
        taken: Those that a worker has.
        failing: Those whose last look failed.
        oldest: Seconds that the oldest due one has been due.
        kinds: The same for each kind of key; empty in those themselves.
    """

    waiting: int
    due: int
    taken: int
    failing: int
    oldest: float
    kinds: Mapping[str, "Backlog"] = field(default_factory=dict)

    @classmethod
    def of(cls, kinds: Mapping[str, "Backlog"]) -> "Backlog":
        """All kinds together."""
        each = kinds.values()
        return cls(
            waiting=sum(one.waiting for one in each),
            due=sum(one.due for one in each),
            taken=sum(one.taken for one in each),
            failing=sum(one.failing for one in each),
            oldest=max((one.oldest for one in each), default=0.0),
            kinds=kinds,
        )


@dataclass(frozen=True, slots=True)
class Rested:
    """When sweeps of one kind last came to rest.

    Attributes:
        sweep: Which: "installations", "installation" (each), "repository" (each), or its name.
        keys: How many there are.
        last: When the newest did; None where none ever did.
        oldest: When the one did that has not for longest; None likewise.
        due: Seconds until the next begins, 0 for one that could; None where none is wanted.
    """

    sweep: str
    keys: int
    last: datetime | None
    oldest: datetime | None
    due: float | None


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
