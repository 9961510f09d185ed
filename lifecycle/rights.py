"""Who may do what: `authorise` decides at every door, for each command, button and approval.

The rules are the configuration's (`policy.Policy.rule`). Refusals are values: what they say stands
in `messages.rights`. An answer that cannot be had (a team that cannot be read) is neither a yes nor
a no.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from lifecycle.access import (
    APPROVING,
    AccessAction,
    Person,
    Role,
    Source,
    Standing,
    Team,
    TeamSource,
    TriState,
    Unreadable,
    parts,
)
from lifecycle.facts.proposal import Proposal
from lifecycle.owners import Owned
from lifecycle.policy import AccessRule, Policy


@dataclass(frozen=True, slots=True)
class ActionTarget:
    """What an action is about.

    Attributes:
        packages: Paths; the rule of each has to allow it. Empty for the repository as a whole.
        upstream: Where something comes from; "" for nowhere.
        owned: The files that it is about; None for any of the packages'.
    """

    packages: tuple[str, ...] = ()
    upstream: str = ""
    owned: Owned | None = None


REPOSITORY = ActionTarget()
"""The repository as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessFacts:
    """What is known of the people who ask for something.

    Attributes:
        policy: The base branch's configuration.
        roles: Login to role, as the forge's permission API tells it, fresh; nobody else has one.
        authors: Logins of those who wrote, pushed or asked for a part of the proposal.
        holders: Logins of those who hold it.
        teams: The teams that rules name, by slug in lower case.
        owners: Package to its changed files by their code owners.
        organization: Login of the repository's owner.
    """

    policy: Policy
    roles: Mapping[str, Role] = field(default_factory=dict)
    authors: frozenset[str] = frozenset()
    holders: frozenset[str] = frozenset()
    teams: Mapping[str, Team] = field(default_factory=dict)
    owners: Mapping[str, tuple[Owned, ...]] = field(default_factory=dict)
    organization: str = ""

    def standing(self, person: Person, owned: Iterable[Owned] = ()) -> Standing:
        """Return one account beside files that it may own."""
        owns = {each.has(person.login, self.teams, self.organization) for each in owned}
        return Standing(
            person=person,
            role=self.roles.get(person.login, Role.NONE),
            author=person.login in self.authors,
            holder=person.login in self.holders,
            owner=next((answer for answer in _BEST if answer in owns), TriState.NO),
            teams=self.teams,
        )


_BEST = (TriState.YES, TriState.UNKNOWN)


def facts_of(proposal: Proposal, policy: Policy, holders: Iterable[str] = ()) -> AccessFacts:
    """Return what is known of the people of a proposal.

    Args:
        proposal: Which one.
        policy: The rules to judge them by.
        holders: Logins of those who hold it.
    """
    people = proposal.people
    return AccessFacts(
        policy=policy,
        roles=people.roles,
        authors=people.authors,
        holders=frozenset(holders),
        teams=people.teams,
        owners=people.owners,
        organization=people.organization,
    )


def named(proposal: Proposal, machine: Person) -> bool:
    """Tell whether the rules name a machine: whatever others say is meant for somebody else."""
    policy = proposal.rules.policy
    if not isinstance(policy, Policy):
        return False
    facts = facts_of(proposal, policy)
    places = proposal.content.places or ("",)
    rules = (policy.rule(action, place) for action in AccessAction for place in places)
    who = replace(facts.standing(machine), role=Role.READ)
    return any(source.covers(who) is TriState.YES for rule in rules for source in rule.sources)


@dataclass(frozen=True, slots=True)
class Allowed:
    """Permission to go ahead.

    Attributes:
        source: By which the rule names the person.
    """

    source: Source | None = field(default=None, compare=False)


class Reason(StrEnum):
    """Which rule refused somebody."""

    BOT = "bot"
    AUTHOR = "author"
    ROLE = "role"


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal, with what it would take.

    Attributes:
        reason: Which rule said no.
        role: What the person has.
        sources: Whom the rule names.
    """

    reason: Reason
    role: Role
    sources: tuple[Source, ...]

    @property
    def is_author(self) -> bool:
        """Refused for having written a part of it, and for nothing else."""
        return self.reason is Reason.AUTHOR


@dataclass(frozen=True, slots=True)
class Unsure:
    """Nobody can tell: the sources that would decide it cannot be read.

    Attributes:
        sources: Those sources.
        teams: The teams of the rules, with the reason why some cannot be read.
    """

    sources: tuple[Source, ...]
    teams: Mapping[str, Team]

    def why(self, source: Source) -> Unreadable | None:
        """Return the reason why a source cannot be read; None where nothing tells."""
        slugs = [part.slug for part in parts(source) if isinstance(part, TeamSource)]
        found = [self.teams[slug].why for slug in slugs if slug in self.teams]
        return next((why for why in found if why is not None), None)


Verdict = Allowed | Refused | Unsure


def authorise(
    actor: Person, action: AccessAction, target: ActionTarget, facts: AccessFacts
) -> Verdict:
    """Decide whether somebody may do something, now.

    Args:
        actor: The account.
        action: What it asks for.
        target: What it is about.
        facts: What is known of it.
    """
    found = []
    for package in target.packages or ("",):
        owned = facts.owners.get(package, ()) if target.owned is None else (target.owned,)
        rule = facts.policy.rule(action, package, target.upstream)
        found.append(_judged(facts.standing(actor, owned), action, rule, facts))
    return max(found, key=severity)


def severity(found: Verdict) -> int:
    """Return how far a verdict is from a permission, for comparing them."""
    return (Allowed, Unsure, Refused).index(type(found))


def _judged(who: Standing, action: AccessAction, rule: AccessRule, facts: AccessFacts) -> Verdict:
    """What one rule says of one account."""
    answers = [(source, source.covers(who)) for source in rule.sources]
    yes = next((source for source, answer in answers if answer is TriState.YES), None)
    if yes is None:
        unsure = tuple(source for source, answer in answers if answer is TriState.UNKNOWN)
        if unsure:
            return Unsure(unsure, facts.teams)
        reason = Reason.BOT if who.person.bot else Reason.ROLE
        return Refused(reason, who.role, rule.sources)
    if action in APPROVING and who.author and not rule.self_allowed:
        return Refused(Reason.AUTHOR, who.role, rule.sources)
    return Allowed(yes)
