"""The rules that approvals have to meet, each on its own, and who counts for each.

Who may approve one package need not be who may approve another; and where code owners count, the
files of each owner need one of theirs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from lifecycle import automatic, owners
from lifecycle.access import AccessAction, OwnersSource, TeamSource, account, parts
from lifecycle.automatic import ByItself
from lifecycle.events import Approval, Overridden
from lifecycle.facts.packages import Content, NotByRule, Touched
from lifecycle.facts.proposal import Proposal
from lifecycle.owners import Owned
from lifecycle.policy import AccessRule, BrokenPolicy, Policy, configuring
from lifecycle.rights import AccessFacts, ActionTarget, Allowed, Unsure, Verdict, authorise
from lifecycle.windows import within

OF_REPOSITORY = (
    AccessAction.FREEZE,
    AccessAction.DELETE,
    AccessAction.DEPRECATE,
    AccessAction.DRAFT,
    AccessAction.CLONE,
    AccessAction.UPGRADE,
    AccessAction.ROLLBACK,
)
"""What commands ask for that are about the repository, whichever pull request they are under."""

MOST_TEAMS = 20
"""Teams that one look asks for; of the others nobody can tell who is in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One rule that approvals have to meet.

    Attributes:
        packages: The touched packages that it is about, and folders in them with rules of their
            own; empty for the rules themselves.
        rule: Who counts.
        owned: The files that it is about, where it takes their owners; None for all.
        needed: How many people must approve.
        action: What is approved: a change, a removal, or that a package is managed from now on.
        automatic: As what a rule approves it by itself, so that nobody need; None where none does.
        not_by_rule: Why none does, of what was made for a variant.
        verdicts: Login to what the rule says of each who approved, by login.
    """

    packages: tuple[str, ...]
    rule: AccessRule
    owned: Owned | None = None
    needed: int
    action: AccessAction = AccessAction.APPROVE
    automatic: ByItself | None = None
    not_by_rule: NotByRule | None = None
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)

    @property
    def counted(self) -> tuple[str, ...]:
        """Logins of those whose approvals count here, sorted."""
        return tuple(who for who, each in self.verdicts.items() if isinstance(each, Allowed))

    @property
    def unsure(self) -> tuple[str, ...]:
        """Logins of those of whom nobody can tell whether they count, sorted."""
        return tuple(who for who, each in self.verdicts.items() if isinstance(each, Unsure))

    @property
    def missing(self) -> int:
        """How many more people must approve; 0 when enough have."""
        return max(0, self.needed - len(self.counted))


def needs_of(proposal: Proposal, policy: Policy, *, rules: bool) -> list[Need]:
    """Return the rules that are to be met, packages with the same rule and owners together.

    Args:
        proposal: The facts.
        policy: The rules.
        rules: It is about the change of the rules, and not about the packages.
    """
    found: dict[tuple[object, ...], Need] = {}
    packages: dict[tuple[object, ...], dict[str, None]] = {}
    content, made = proposal.content, automatic.ByPackage.of(proposal)
    by_rules = rules or not content.publishes
    nothing = [(owners.RULES, AccessAction.APPROVE, "")]
    for place, action, package in nothing if by_rules else approved(content, policy):
        rule = policy.rule(action, place)
        uncertain = not proposal.people.all_known and not rule.self_allowed
        needed = max(rule.require, int(made.surprising)) + uncertain
        by_itself = None if rules else made.approves(rule, package)
        needed = 0 if by_itself else needed
        for owned in (None,) if by_itself else by_owners(proposal, rule, place):
            who = None if owned is None else (owned.owners, owned.why, owned.least)
            asked = owned.least if owned is not None and owned.least > 1 else 0
            sources = tuple(s.spelling for s in rule.sources)
            key = (action, rule.require, sources, rule.self_allowed, who, by_itself)
            before = found.get(key)
            packages.setdefault(key, {}).update({} if place == owners.RULES else {place: None})
            found[key] = Need(
                packages=(),
                rule=rule,
                owned=before.owned if before else owned,
                needed=max(needed, asked),
                action=action,
                automatic=by_itself,
                not_by_rule=None if rules else made.not_by_rule(rule, package),
            )
    return [replace(need, packages=tuple(packages[key])) for key, need in found.items()]


def approved(
    content: Content, policy: Policy | BrokenPolicy
) -> list[tuple[str, AccessAction, str]]:
    """Return what is to be approved: folders, what approving means there, and in which package.

    Each package is held to its own rule and to those of the folders in it that it reaches into
    (`Touched.places`); and one that is new to the repository to the rule of `register` as well,
    where one is written down. A removal has its own rule, and so have the withdrawal of a revision
    and its deprecation, which reach into all of the package.

    Args:
        content: What a proposal changes.
        policy: The rules.
    """
    folders = policy.folders if isinstance(policy, Policy) else frozenset()
    found = [(place, _approving(t), t.package) for t in content.touched for place in t.places]
    found += [
        (t.package, AccessAction.REGISTER, t.package)
        for t in content.touched
        if t.registers
        and isinstance(policy, Policy)
        and policy.writes(AccessAction.REGISTER, t.package)
    ]
    for change in content.ledger:
        inside = sorted(f for f in folders if within(f, change.package))
        places = (change.package, *inside)
        found += [(each, what, change.package) for what in change.actions for each in places]
    return list(dict.fromkeys(found))


def _approving(touched: Touched) -> AccessAction:
    return AccessAction.DELETE if touched.removed else AccessAction.APPROVE


def teams(proposal: Proposal) -> tuple[str, ...]:
    """Return the slugs of the teams that the rules of a proposal name; `MOST_TEAMS` at most.

    Those of code owners are among them where rules name code owners. Those that only commands
    about the repository ask for come last: they displace none that counts for the proposal.
    """
    policy = proposal.rules.policy
    places = sorted({place for place, _, _ in approved(proposal.content, policy)})
    rules = [configuring(policy).rule(AccessAction.APPROVE)] if proposal.content.configures else []
    if isinstance(policy, Policy):
        rules += [policy.rule(action, place) for action in AccessAction for place in places or [""]]
    found = _teams_of(rules)
    people = proposal.people
    for each in people.owners.values():
        found |= {slug for owned in each for slug in owned.teams(people.organization)}
    wide = set[str]()
    whole = proposal.lookups.whole
    if whole is not None and isinstance(whole.policy, Policy):
        policy = whole.policy
        places = ["", *(each.directory for each in policy.paths)]
        wide = _teams_of(policy.rule(action, place) for action in OF_REPOSITORY for place in places)
        wide |= _teams_of(rule for each in policy.upstreams for rule in each.rules.values())
    return tuple([*sorted(found), *sorted(wide - found)][:MOST_TEAMS])


def _teams_of(rules: Iterable[AccessRule]) -> set[str]:
    named = {part for rule in rules for source in rule.sources for part in parts(source)}
    return {part.slug for part in named if isinstance(part, TeamSource)}


def out_of_reach(proposal: Proposal, people: int) -> bool:
    """Tell whether the approvals of so few people cannot be enough, whoever they are.

    Args:
        proposal: What it changes, and its rules.
        people: How many have said something that may count.
    """
    policy = proposal.rules.policy
    if not isinstance(policy, Policy) or not proposal.content.publishes:
        return False
    rules = (policy.rule(action, place) for place, action, _ in approved(proposal.content, policy))
    return any(not rule.automatic and rule.require > people for rule in rules)


def asks_who_wrote(proposal: Proposal) -> bool:
    """Tell whether a rule needs the authors, whoever has said something."""
    policy = proposal.rules.policy
    return isinstance(policy, Policy) and any(
        policy.rule(AccessAction.APPROVE, place).automatic for place in proposal.content.places
    )


def by_owners(proposal: Proposal, rule: AccessRule, package: str) -> tuple[Owned | None, ...]:
    """Return the groups of files that each need their owners; one of all where they count not."""
    sources = (part for source in rule.sources for part in parts(source))
    if not any(isinstance(source, OwnersSource) for source in sources):
        return (None,)
    return proposal.people.owners.get(package, ()) or (None,)


def met(need: Need, standing: Mapping[str, Approval | Overridden], facts: AccessFacts) -> Need:
    """Return a rule with those whose approvals, or exceptions, count for it.

    Args:
        need: The rule.
        standing: Those that nothing made fall, by login.
        facts: What is known of the people.
    """
    target = ActionTarget(need.packages[:1] or (owners.RULES,), owned=need.owned)
    found = {
        who: authorise(account(word.account, who), need.action, target, facts)
        for who, word in sorted(standing.items())
    }
    return replace(need, verdicts=found)
