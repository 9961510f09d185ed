"""Roles and people at the forge, and the sources by which a configuration names people.

Longer than 400 lines: the kinds of sources, and what two of them have in common, are read as one.

Roles come from the forge's permission API, never from what a webhook says about its sender
(docs/design.md, "Who may do what").
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import lru_cache
from itertools import product

WORKFLOWS = "github-actions"
"""The App whose account every workflow has: whoever can push one acts by it, and who that was
nobody can tell."""


class Role(IntEnum):
    """What a person may do to the repository at the forge; each includes the ones before it."""

    NONE = 0
    READ = 1
    TRIAGE = 2
    WRITE = 3
    MAINTAIN = 4
    ADMIN = 5

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Person:
    """An account at the forge.

    Attributes:
        id: The forge's number, which stays when the login changes.
        login: Such as "octocat".
        bot: It is an App or another machine; those give no commands and no approvals, unless a
            rule of the configuration names them.
    """

    id: int
    login: str
    bot: bool


class AccessAction(StrEnum):
    """What somebody may ask for, at whichever door; each has a rule (`rights.rule_of`).

    Those of `CONFIGURABLE` have a key of the same name under `access` in the configuration.
    """

    REGISTER = "register"
    DRAFT = "draft"
    PROPOSE = "propose"
    APPROVE = "approve"
    REJECT = "reject"
    CLONE = "clone"
    UPGRADE = "upgrade"
    ROLLBACK = "rollback"
    BULK = "bulk"
    FREEZE = "freeze"
    OVERRIDE = "override"
    CONFIGURE = "configure"
    DELETE = "delete"
    DEPRECATE = "deprecate"
    UNAPPROVE = "unapprove"
    CHECK = "check"
    HOLD = "hold"
    UNHOLD = "unhold"
    READ = "read"


APPROVING = frozenset(
    {
        AccessAction.APPROVE,
        AccessAction.CONFIGURE,
        AccessAction.DELETE,
        AccessAction.DEPRECATE,
        AccessAction.OVERRIDE,
        AccessAction.REGISTER,
        AccessAction.ROLLBACK,
    }
)
"""Actions that take approvals, a number of them, and none of authors unless allowed."""


class TriState(StrEnum):
    """An answer that may be missing: an unknown is no yes, and no no either."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


def known(answer: bool) -> TriState:
    """Return an answer that is not missing."""
    return TriState.YES if answer else TriState.NO


class Unreadable(StrEnum):
    """Reason why it cannot be told who is in a team, or who owns a file."""

    PERMISSION = "permission"
    MISSING = "missing"
    LARGE = "large"
    ADDRESS = "address"
    UNTOLD = "untold"


@dataclass(frozen=True, slots=True)
class Team:
    """A team of the organization that owns the repository.

    Attributes:
        members: Logins in lower case, of child teams too; None when they cannot be read.
        why: The reason then.
    """

    members: frozenset[str] | None
    why: Unreadable | None = None

    def has(self, login: str) -> TriState:
        """Tell whether somebody is in it."""
        return TriState.UNKNOWN if self.members is None else known(login.lower() in self.members)


UNTOLD = Team(None, Unreadable.UNTOLD)
"""One that only a file names which nobody approved: whoever wrote it would learn who is in it."""

NOT_READ = Team(None, Unreadable.MISSING)
"""A team that nobody asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """An account beside what it acts on: all that a source goes by.

    Attributes:
        person: The account.
        role: Its role at the forge, fresh.
        author: It wrote, pushed or asked for a part of the proposal.
        holder: It set a hold that stands.
        owner: It owns, by CODEOWNERS, what the action is about.
        teams: The teams that rules name, by slug in lower case.
    """

    person: Person
    role: Role = Role.NONE
    author: bool = False
    holder: bool = False
    owner: TriState = TriState.NO
    teams: Mapping[str, Team] = field(default_factory=dict)


def account(number: int, login: str) -> Person:
    """Return an account of which only number and login are kept.

    An App's login ends in "[bot]", which no other login can.
    """
    return Person(number, login, bot=login.endswith("[bot]"))


@dataclass(frozen=True, slots=True)
class RoleSource:
    """All people with at least this role; written `role:write` in the configuration."""

    role: Role

    def __str__(self) -> str:
        return f"{self.role} access"

    @property
    def spelling(self) -> str:
        """The spelling of the configuration, such as "role:write"."""
        return f"role:{self.role}"

    def covers(self, who: Standing) -> TriState:
        """Tell whether this person is one of them; a machine has to be named."""
        return known(not who.person.bot and who.role >= self.role)


@dataclass(frozen=True, slots=True)
class UserSource:
    """One account that is not an App's; written `user:octocat` in the configuration.

    Attributes:
        login: Of the person, or of a service account.
        role: What the person must have as well: more than reading only where two configurations
            are united.
    """

    login: str
    role: Role = Role.READ

    def __str__(self) -> str:
        more = f" with {self.role} access" if self.role > Role.READ else ""
        return f"the user `{self.login}`{more}"

    @property
    def spelling(self) -> str:
        """As the configuration spells it; in lower case, since forges ignore case in logins."""
        more = f" role:{self.role}" if self.role > Role.READ else ""
        return f"user:{self.login.lower()}{more}"

    def covers(self, who: Standing) -> TriState:
        """Tell whether this is the person: the same login, and at least the role that is asked for.

        Forges do not tell logins apart by case.
        """
        return known(who.person.login.lower() == self.login.lower() and who.role >= self.role)


@dataclass(frozen=True, slots=True)
class AppSource:
    """A GitHub App; written `app:renovate` in the configuration.

    Attributes:
        slug: Its name in addresses. Its account is `<slug>[bot]`: no person's login has brackets.
    """

    slug: str

    def __str__(self) -> str:
        return f"the App `{self.slug}`"

    @property
    def spelling(self) -> str:
        """As the configuration spells it, in lower case."""
        return f"app:{self.slug.lower()}"

    def covers(self, who: Standing) -> TriState:
        """Tell whether it is the App; the forge gives Apps no role, and shows them nothing else."""
        return known(who.person.login.lower() == f"{self.slug}[bot]".lower())


@dataclass(frozen=True, slots=True)
class VariantsSource:
    """What the bot alone makes as variants ask; only where rules approve by themselves."""

    def __str__(self) -> str:
        return "a variant"

    @property
    def spelling(self) -> str:
        """As `AppSource` has it."""
        return "variants"


VARIANTS = VariantsSource()


@dataclass(frozen=True, slots=True)
class TeamSource:
    """The people of a team and its child teams; written `team:network-leads`.

    On GitLab it is a group, with its whole path where that has several parts; then written
    `group:acme/network-leads`, and its direct members count from Developer on.

    Attributes:
        slug: Its name in addresses, in lower case.
    """

    slug: str

    def __str__(self) -> str:
        return f"the {self._kind} `{self.slug}`"

    @property
    def spelling(self) -> str:
        """As the configuration spells it."""
        return f"{self._kind}:{self.slug}"

    @property
    def _kind(self) -> str:
        return "group" if "/" in self.slug else "team"

    def covers(self, who: Standing) -> TriState:
        """Tell whether the person is in it, and may still read the repository."""
        if who.person.bot or who.role < Role.READ:
            return TriState.NO
        return who.teams.get(self.slug, NOT_READ).has(who.person.login)


@dataclass(frozen=True, slots=True)
class OwnersSource:
    """Whom the base branch's CODEOWNERS names; written `codeowners`.

    As on GitHub, an owner without write access does not count.
    """

    def __str__(self) -> str:
        return "a code owner"

    @property
    def spelling(self) -> str:
        """As the configuration spells it."""
        return "codeowners"

    def covers(self, who: Standing) -> TriState:
        """Tell whether the person owns it."""
        if who.person.bot or who.role < Role.WRITE:
            return TriState.NO
        return who.owner


@dataclass(frozen=True, slots=True)
class AuthorSource:
    """Whoever wrote, pushed or asked for a part of it; written `author`."""

    def __str__(self) -> str:
        return "being the author"

    @property
    def spelling(self) -> str:
        """As the configuration spells it."""
        return "author"

    def covers(self, who: Standing) -> TriState:
        """Tell whether the person is an author who may still read the repository."""
        return known(not who.person.bot and who.author and who.role >= Role.READ)


@dataclass(frozen=True, slots=True)
class HolderSource:
    """Whoever set the hold; no configuration names them."""

    def __str__(self) -> str:
        return "setting the hold"

    @property
    def spelling(self) -> str:
        """In the style of the others."""
        return "holder"

    def covers(self, who: Standing) -> TriState:
        """Tell whether the person set it, and may still read the repository."""
        return known(not who.person.bot and who.holder and who.role >= Role.READ)


@dataclass(frozen=True, slots=True)
class BothSource:
    """Whoever two sources name, where two configurations are united.

    Attributes:
        parts: The sources, by spelling.
    """

    parts: tuple["Source", ...]

    def __str__(self) -> str:
        return " together with ".join(map(str, self.parts))

    @property
    def spelling(self) -> str:
        """As the configuration spells each of them."""
        return " and ".join(part.spelling for part in self.parts)

    def covers(self, who: Standing) -> TriState:
        """Tell whether all of them name the person."""
        found = {part.covers(who) for part in self.parts}
        if TriState.NO in found:
            return TriState.NO
        return TriState.UNKNOWN if TriState.UNKNOWN in found else TriState.YES


Source = (
    RoleSource
    | UserSource
    | AppSource
    | TeamSource
    | OwnersSource
    | AuthorSource
    | HolderSource
    | BothSource
)


def parts(source: Source) -> tuple[Source, ...]:
    """Return the sources that make up a source: itself, where it is not several at once."""
    return source.parts if isinstance(source, BothSource) else (source,)


MOST_COMPARED = 200
"""Sources up to which those are left out that others hold: it only makes what people read shorter,
and takes the square of them."""


def in_both(some: Iterable[Source], others: Iterable[Source]) -> tuple[Source, ...]:
    """Intersect two lists of sources; empty where they have nobody in common."""
    return _in_both(tuple(some), tuple(others))


@lru_cache(maxsize=1024)  # asked for each action and place of every look, of the same few rules
def _in_both(some: tuple[Source, ...], others: tuple[Source, ...]) -> tuple[Source, ...]:
    pairs = [_common(one, other) for one, other in product(some, others)]
    found = {source.spelling: source for source in pairs if source is not None}
    if len(found) > MOST_COMPARED:
        return tuple(found.values())
    return tuple(
        source
        for key, source in found.items()
        if not any(_holds(other, source) for name, other in found.items() if name != key)
    )


def _common(one: Source, other: Source) -> Source | None:
    if one.spelling == other.spelling:
        return one
    if isinstance(one, AppSource) or isinstance(other, AppSource):
        return None  # an App has no role, and is in no team
    if not isinstance(one, RoleSource | UserSource) or not isinstance(
        other, RoleSource | UserSource
    ):
        return _both(one, other)
    role = max(one.role, other.role)
    people = [source.login for source in (one, other) if isinstance(source, UserSource)]
    if len({login.lower() for login in people}) > 1:
        return None
    return UserSource(people[0], role) if people else RoleSource(role)


def _both(one: Source, other: Source) -> BothSource:
    found: dict[str, Source] = {}
    for each in (one, other):
        found |= {part.spelling: part for part in parts(each)}
    return BothSource(tuple(found[key] for key in sorted(found)))


def _holds(one: Source, other: Source) -> bool:
    """Whether a source means everybody whom another one means."""
    if isinstance(other, BothSource):
        return any(part.spelling == one.spelling for part in other.parts)
    if not isinstance(one, RoleSource | UserSource) or not isinstance(
        other, RoleSource | UserSource
    ):
        return False
    if isinstance(one, UserSource):
        same = isinstance(other, UserSource) and one.login.lower() == other.login.lower()
        return same and one.role <= other.role
    return one.role <= other.role
