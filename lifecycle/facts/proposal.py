"""One pull request as a decision sees it, by its parts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from cadlib.diff.values import Change
from lifecycle.access import Person, Role, Team
from lifecycle.facts.conversation import Discussion
from lifecycle.facts.effects import Consequences
from lifecycle.facts.lookups import Lookups
from lifecycle.facts.merging import Merging
from lifecycle.facts.packages import Content
from lifecycle.facts.releases import ProposalReleases
from lifecycle.facts.upgrades import Upgrades
from lifecycle.facts.verdicts import Verdict
from lifecycle.names import Sha
from lifecycle.owners import Owned
from lifecycle.policy import BrokenPolicy, Policy


class Stage(StrEnum):
    """Where a proposal stands in its life (docs/design.md, "Stages")."""

    DRAFT = "Draft"
    PROPOSED = "Proposed"
    MERGED = "Merged"
    PUBLISHED = "Published"
    CLOSED = "Closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalPlace:
    """Which pull request it is, and where it stands.

    Attributes:
        number: Its number.
        title: Its title, as written.
        draft: It is in draft state.
        merged: It is in the base branch.
        closed: It is closed; true for merged ones too.
        head: Commit of the head branch that the facts are about.
        base_ref: Name of the base branch, such as "main".
        base: Commit at the tip of the base branch; once merged, what the result is compared with.
        merge_commit: The merge result, once merged.
        merged_at: When it was merged.
        labels: Names of its labels; None where nobody asked for them.
        locked: Its conversation is locked: nothing that we write there would be taken.
        issue: It is the dashboard issue, and no pull request: only what is about the repository
            means something there.
    """

    number: int
    title: str
    draft: bool
    merged: bool
    closed: bool
    head: Sha
    base_ref: str
    base: Sha
    merge_commit: Sha | None = None
    merged_at: datetime | None = None
    labels: frozenset[str] | None = None
    locked: bool = False
    issue: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Since when it is what it is: what was said before that was said of something else.

    Attributes:
        installed_at: When the App was installed; older comments are no commands.
        opened_at: When it was opened.
        looked_at: When these facts were read, by our own clock.
        head_at: When the branch last got to the head; None when the forge does not say.
        head_mark: Digest of the forced pushes, deletions and restorations of the head branch that
            the forge tells of: while it stays, a head that is there now was not left in between.
            "" when the forge does not tell.
        base_at: When the base branch was last exchanged for another; None when it never was.
        base_told: The forge tells such exchanges.
        adopted_at: When the bot came to the repository, as far as the database knows.
        adopted_number: Number of the newest proposal then; None when nobody knows.
    """

    installed_at: datetime
    opened_at: datetime | None = None
    looked_at: datetime | None = None
    head_at: datetime | None = None
    head_mark: str = ""
    base_at: datetime | None = None
    base_told: bool = True
    adopted_at: datetime | None = None
    adopted_number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Participants:
    """Who opened, wrote and pushed it, and what everybody whose word matters may do.

    Attributes:
        author: Who opened it.
        authors: Logins of everybody who wrote or pushed a part of it.
        authors_known: False when a commit's author or pusher is unknown to the forge.
        roles: Login to role, for everybody whose word matters here.
        assigned: Logins of the people it is assigned to, sorted.
        teams: The teams that rules name, by slug in lower case, as far as it matters.
        owners: Package to its changed files by their code owners, where rules name code owners;
            under `lifecycle.owners.RULES` those of the configuration.
        organization: Login of the repository's owner, whose teams can own files.
        pushed_by: Login of the person who pushed the head branch last; "" where that is not
            known, or was not asked because no check fails.
        us: Our own login; "" where nobody told.
        ruled: Those of `authors` who are among them only because they changed the rule that the bot
            made it by.
        ruled_known: False when nobody can tell who else changed that rule.
    """

    author: Person
    authors: frozenset[str] = frozenset()
    authors_known: bool = True
    roles: Mapping[str, Role] = field(default_factory=dict)
    teams: Mapping[str, Team] = field(default_factory=dict)
    owners: Mapping[str, tuple[Owned, ...]] = field(default_factory=dict)
    organization: str = ""
    assigned: tuple[str, ...] = ()
    pushed_by: str = ""
    us: str = ""
    ruled: frozenset[str] = frozenset()
    ruled_known: bool = True

    @property
    def all_known(self) -> bool:
        """Whether everybody is known who may not approve it."""
        return self.authors_known and self.ruled_known


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What judges it: the configuration of its base branch, and since when that holds.

    Attributes:
        policy: The configuration.
        digest: What judges these packages, as `rules_digest` has it; "" when the rules are broken.
        changed_at: When the rules were last changed, as far as somebody's approval that is bound to
            nothing yet may be older; None when they were not.
        changes_told: The forge tells that.
        observed_until: When the default branch last ended `mode: observe`, as far as something
            without an answer may be older; None where it did not.
    """

    policy: Policy | BrokenPolicy
    digest: str = ""
    changed_at: datetime | None = None
    changes_told: bool = True
    observed_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One pull request, by the parts that are read together.

    Attributes:
        place: Which it is, and where it stands.
        times: Since when.
        people: Who has to do with it.
        content: What it changes.
        talk: What was said on it.
        rules: What judges it.
        verdicts: One for each touched package that still exists, sorted by path.
        merging: What stands between it and its merge beside our own gates.
        upgrades: Where it brought packages to other versions of their upstreams.
        lookups: What was looked up because a command or the rules ask for it.
        consequences: What merging it would do to what it does not touch.
        releases: Releases that are to be made for it, or marked.
    """

    place: ProposalPlace
    times: Times
    people: Participants
    content: Content
    talk: Discussion = field(default_factory=Discussion)
    rules: Rules
    verdicts: tuple[Verdict, ...] = ()
    merging: Merging = field(default_factory=Merging)
    upgrades: Upgrades = field(default_factory=Upgrades)
    lookups: Lookups = field(default_factory=Lookups)
    consequences: Consequences = field(default_factory=Consequences)
    releases: ProposalReleases = field(default_factory=ProposalReleases)

    def changes_about(self, about: str) -> tuple[tuple[str, tuple[Change, ...]], ...]:
        """Return what changes of a field, by package, however much of its name is given."""
        new = self.lookups.new_fields.get(about, ())
        return tuple(
            (
                v.package,
                (*(c for c in v.diff if about in str(c)), *(c for at, c in new if at == v.package)),
            )
            for v in self.verdicts
        )

    @property
    def repository_policy(self) -> Policy | BrokenPolicy:
        """What judges what is about the repository: of the default branch, where that was read."""
        whole = self.lookups.whole
        return self.rules.policy if whole is None else whole.policy

    @property
    def stage(self) -> Stage:
        """The stage, worked out from the facts."""
        if self.place.merged:
            return Stage.PUBLISHED if self.published else Stage.MERGED
        if self.place.closed:
            return Stage.CLOSED
        return Stage.DRAFT if self.place.draft else Stage.PROPOSED

    @property
    def published(self) -> bool:
        """Merged, and every package that remains carries our tag."""
        return self.place.merged and self.content.tagged

    @property
    def once_published(self) -> bool:
        """Every package that remains was published; a tag may be lost since."""
        return self.place.merged and self.content.done

    @property
    def logins(self) -> Mapping[int, str]:
        """The forge's numbers of the people here to their logins, by which all others go."""
        author = self.people.author
        return ({author.id: author.login} if author.id else {}) | dict(self.talk.logins)

    @property
    def unjudged(self) -> bool:
        """A function could not be run, so it is not known what judges the packages."""
        return any(v.broken for v in self.verdicts)

    @property
    def unrendered(self) -> tuple[Verdict, ...]:
        """Verdicts of packages that are not their own rendering."""
        return tuple(v for v in self.verdicts if v.changes)

    @property
    def unrenderable(self) -> tuple[Verdict, ...]:
        """Verdicts of packages whose rendering did not come to its end."""
        return tuple(v for v in self.verdicts if not v.complete)
