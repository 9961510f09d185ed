"""Gates of time: what keeps a proposal from being published now, and until when.

They are asked before the merge and before the tag: what somebody else merged while nothing is
published is tagged later. An exception (`/override`) is for the content that its writer saw, and
for what kept that from being published then: a freeze of later, or the next time that a window
closes, takes another one.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial

from lifecycle import replay
from lifecycle.access import AccessAction
from lifecycle.events import Event, Frozen, Overridden, content
from lifecycle.facts.checks import AwaitedCheck, CheckState
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.judgement import Gate, GateState
from lifecycle.memory import Memory
from lifecycle.messages import gates as gate_texts
from lifecycle.messages import timing as texts
from lifecycle.needs import Need, by_owners, met
from lifecycle.policy import Policy
from lifecycle.rights import facts_of
from lifecycle.windows import Closure, closure, overlap

KINDS = frozenset({"window", "freeze", "check"})
"""First words of the gates' names. What is merged and waits for one of them has nothing happen on
itself when that ends: somebody thaws, another program reports."""

_PEOPLE = frozenset(
    {"approved", "asked", "branch reviews", "fresh approval", "no hold", "no objection"}
    | {"proposed", "rules approved", "up to date", "valid"}
)
"""Gates that open when somebody says or pushes something on the proposal itself, of which the forge
tells. Not "same head": the proposals of a head wait for one another, all of them for time."""


def on_people(gates: Iterable[str]) -> bool:
    """Tell whether a proposal is looked at before it can be published, whatever time does.

    Five hundred drafts need not be looked at in the second in which a window ends.

    Args:
        gates: Names of the gates that do not hold.
    """
    return any(gate in _PEOPLE for gate in gates)


def gates(facts: Facts, proposal: Proposal, remembered: Memory) -> list[Gate]:
    """Return the gates of time; none where no rule of time is about its packages."""
    return [
        *_windows(proposal, remembered),
        *_freezes(facts, proposal, remembered),
        *_outside(proposal, remembered),
    ]


def changes(facts: Facts, proposal: Proposal, remembered: Memory) -> datetime | None:
    """Return when time alone changes what the gates say; None for never."""
    found = [] if (windows := _closure(proposal)) is None else [windows.changes]
    found += [freeze.until for freeze in _frozen(facts, proposal, remembered)]
    return min((each for each in found if each is not None), default=None)


def known(facts: Facts, remembered: Memory) -> frozenset[int]:
    """Return the numbers of all `/freeze` comments that are known."""
    every = facts.freezes | remembered.freezes
    return frozenset(each.comment for each in every if isinstance(each, Frozen))


def _every(_: Overridden) -> bool:
    return True


def excepted(
    proposal: Proposal,
    remembered: Memory,
    gate: str,
    *,
    at_head: bool = False,
    counts: Callable[[Overridden], bool] = _every,
) -> tuple[Overridden, ...]:
    """Return the exceptions for a gate that still count, one for each person; all or none.

    They are judged as approvals are, at each look: by the rules, rights and authors of now, and for
    the content that their writers saw.

    Args:
        proposal: The proposal.
        remembered: What our comments and the database remember.
        gate: Its name.
        at_head: It judges the head, and not the packages alone.
        counts: Tells whether one is from what keeps the proposal from being published now.
    """
    policy = proposal.rules.policy
    if not isinstance(policy, Policy):
        return ()
    edited = proposal.talk.edited
    found = {
        excepting(each, remembered): each
        for each in remembered.overrides
        if each.gate == gate
        and each.comment not in edited
        and each.trees == content(proposal.content.trees)
        and each.base_ref == proposal.place.base_ref
        and (not at_head or each.head == proposal.place.head)
        and counts(each)
    }
    facts = facts_of(proposal, policy)
    needs = [met(each, found, facts) for each in _needs(proposal, policy)]
    counted = {who for need in needs for who in need.counted}
    if not counted or any(need.missing for need in needs):
        return ()
    return tuple(each for who, each in found.items() if who in counted)


def excepting(exception: Overridden, remembered: Memory) -> str:
    """Return the present login of who made an exception."""
    return remembered.logins.get(exception.account, exception.person)


def _needs(proposal: Proposal, policy: Policy) -> list[Need]:
    """How many people have to make an exception, for each place that the proposal changes.

    Where nobody can tell who wrote it, one may have: as for approvals, that takes one more.
    """
    found = []
    for place in proposal.content.timed or ("",):
        rule = policy.rule(AccessAction.OVERRIDE, place)
        unknown = not proposal.people.all_known and not rule.self_allowed
        found += [
            Need(
                packages=(place,),
                rule=rule,
                owned=owned,
                needed=max(1, rule.require) + unknown,
                action=AccessAction.OVERRIDE,
            )
            for owned in by_owners(proposal, rule, place)
        ]
    return found


def has_exceptions(proposal: Proposal, gate: str) -> bool:
    """Tell whether people can let a proposal past a gate, by its name; of few they can.

    Of checks these are the ones that the configuration waits for: what the branch itself requires
    is the forge's rule.
    """
    required = {check.name for check in proposal.merging.required}
    outside = proposal.merging.outside
    gates = [_named(check, outside) for check in outside if check.name not in required]
    return gate in {"window", "freeze"} or gates.count(gate) == 1


def _named(check: AwaitedCheck, every: Sequence[AwaitedCheck]) -> str:
    """The gate of a check of others."""
    return gate_texts.CHECK + _shown(check, every)


def _shown(check: AwaitedCheck, every: Sequence[AwaitedCheck]) -> str:
    """Its name; with its App where another one's has the same name."""
    alike = sum(1 for each in every if each.name == check.name) > 1
    return check.name + (f"@{check.app}" if alike and check.app else "")


def spelled(gate: str) -> str:
    """Return a gate as `/override` names it."""
    kind, _, name = gate.partition(" ")
    shown = f"{kind}:{name}" if name else gate
    return f'"{shown}"' if " " in shown else shown


def _windows(proposal: Proposal, remembered: Memory) -> list[Gate]:
    found = _closure(proposal)
    if found is None or not found.told:
        return []
    if not found.closing:
        return [Gate(name="window", state=GateState.HOLDS, actual=texts.OPEN)]
    exceptions = excepted(
        proposal, remembered, "window", counts=partial(_past_windows, proposal, found)
    )
    if exceptions:
        actual = texts.overridden(exceptions, texts.closed(found.closing))
        return [Gate(name="window", state=GateState.HOLDS, actual=actual)]
    return [
        Gate(
            name="window",
            state=GateState.WAITS,
            actual=texts.closed(found.closing),
            wanted=texts.opens(found.closing, found.opens),
            who=texts.WINDOW_WHO,
        )
    ]


def closed_since(proposal: Proposal, at: datetime) -> tuple[str, ...]:
    """Return the digests of the windows that have kept it from being published since a moment."""
    found, now = _closure(proposal), proposal.times.looked_at
    if found is None or now is None:
        return ()
    return tuple(window.digest for window in found.closing if window.stays(at, now))


def covers(facts: Facts, proposal: Proposal, remembered: Memory, exception: Overridden) -> bool:
    """Tell whether an exception is from all that keeps the proposal from being published now."""
    if exception.gate == "window":
        found = _closure(proposal)
        return found is None or _past_windows(proposal, found, exception)
    if exception.gate == "freeze":
        return _past_freezes(_frozen(facts, proposal, remembered), exception)
    return True


def _past_windows(proposal: Proposal, now: Closure, exception: Overridden) -> bool:
    known = {*exception.windows} & {*closed_since(proposal, exception.at)}
    return known.issuperset(window.digest for window in now.closing)


def _past_freezes(frozen: Iterable[Frozen], exception: Overridden) -> bool:
    return all(replay.order(each)[:3] < replay.order(exception)[:3] for each in frozen)


def _freezes(facts: Facts, proposal: Proposal, remembered: Memory) -> list[Gate]:
    if facts.freezes_unread and proposal.content.publishes and not _over(proposal):
        return [
            Gate(
                name="freeze",
                state=GateState.BLOCKED,
                actual=texts.unread(facts.freezes_unread),
                wanted=texts.UNREAD_WANTED,
                who=texts.UNREAD_WHO,
            )
        ]
    frozen = _frozen(facts, proposal, remembered)
    if not frozen:
        return []
    exceptions = excepted(proposal, remembered, "freeze", counts=partial(_past_freezes, frozen))
    if exceptions:
        actual = texts.overridden(exceptions, texts.frozen(frozen))
        return [Gate(name="freeze", state=GateState.HOLDS, actual=actual)]
    return [
        Gate(
            name="freeze",
            state=GateState.BLOCKED,
            actual=texts.frozen(frozen),
            wanted=texts.thaw(frozen),
            who=texts.FREEZE_WHO,
        )
    ]


def _outside(proposal: Proposal, remembered: Memory) -> list[Gate]:
    """Checks of others that the configuration waits for, one gate each."""
    if _over(proposal):
        return []
    return [_waits_for(check, proposal, remembered) for check in proposal.merging.outside]


def _waits_for(check: AwaitedCheck, proposal: Proposal, remembered: Memory) -> Gate:
    shown = _shown(check, proposal.merging.outside)
    name = gate_texts.CHECK + shown
    state, actual, wanted, who = GateState.HOLDS, gate_texts.CHECK_PASSED, "", ""
    exceptions = excepted(proposal, remembered, name, at_head=True)
    if check.state is not CheckState.SUCCESS and exceptions:
        actual = texts.overridden(exceptions, gate_texts.check_state(check.state))
    elif check.state is not CheckState.SUCCESS:
        failed = check.state is CheckState.FAILURE
        state = GateState.BLOCKED if failed else GateState.WAITS
        actual = gate_texts.check_state(check.state)
        wanted, who = texts.outside_wanted(check), texts.outside_who(check, spelled(name))
    return Gate(name=gate_texts.CHECK + shown, state=state, actual=actual, wanted=wanted, who=who)


def _frozen(facts: Facts, proposal: Proposal, remembered: Memory) -> list[Frozen]:
    """The freezes that are in force over its packages."""
    if _over(proposal):
        return []
    packages = proposal.content.packages
    standing = standing_freezes(facts.freezes | remembered.freezes, proposal.times.looked_at)
    return [f for f in standing if any(overlap(f.path, package) for package in packages)]


def standing_freezes(log: Iterable[Event], at: datetime | None) -> tuple[Frozen, ...]:
    """Return the freezes in force at a moment, oldest first; None of which nobody knows when."""
    return tuple(
        each for each in replay.freezes(log) if each.until is None or at is None or at < each.until
    )


def _over(proposal: Proposal) -> bool:
    return proposal.place.closed and (not proposal.place.merged or proposal.once_published)


def _closure(proposal: Proposal) -> Closure | None:
    """What windows say now; None where they decide nothing."""
    policy, moment = proposal.rules.policy, proposal.times.looked_at
    if _over(proposal) or not isinstance(policy, Policy) or not policy.calendars or moment is None:
        return None
    return closure(policy.calendars, proposal.content.packages, moment)
