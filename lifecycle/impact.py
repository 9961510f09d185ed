"""What-if: which packages a change would render, validate or merge otherwise, and how.

Rules:

1. What would differ is told, not what is: what fails by both rules is no impact.
2. It informs. Only where the rules of the base branch say so does it keep from publishing what
   would make a package of this repository fail, and never what other repositories have.
3. Rules that nobody approved run no function that the rules that hold would not let a package run.
4. What was worked out for a head stays there until its base moves or somebody presses Re-run; what
   comes out the same is not written again.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from cadlib.diff.values import Change
from cadlib.findings import Finding, Severity
from cadlib.images import CATALOG, fits, full_name
from cadlib.package.files import KPTFILE
from lifecycle.access import AccessAction
from lifecycle.facts.checks import IMPACT, CheckRun, Conclusion, Status
from lifecycle.facts.head import Facts
from lifecycle.facts.impact import Impact, PackageImpact
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.update import UpdateConflict
from lifecycle.facts.verdicts import Verdict
from lifecycle.judgement import Gate, GateState
from lifecycle.messages import impact as texts
from lifecycle.policy import AccessRule, GuardrailFunction, ImpactMode, Policy

MOST_DETAILED = 10
"""Packages of which differences are told; of the others how many there are."""

MOST_CHANGES, MOST_FINDINGS, MOST_CONFLICTS = 10, 5, 5
"""Of one package."""

_BASE = 12
"""Digits of a commit that are kept with a check."""

# --- whether there is anything to try ---


def concerns(facts: Facts) -> Proposal | None:
    """Return the open proposal of a head that may have an impact; None for none."""
    if not facts.may_be_tried or facts.head is None or facts.pending or facts.watched:
        return None
    found = [p for p in facts.open if _may(p)]
    default = [p for p in found if p.place.base_ref == facts.default_ref]
    return next(iter(default or found), None)


def _may(p: Proposal) -> bool:
    policy = p.rules.policy
    if not isinstance(policy, Policy) or policy.observe or policy.impact is ImpactMode.SKIP:
        return False
    return p.content.configures or bool(changed_packages(p))


def changed_packages(p: Proposal) -> tuple[str, ...]:
    """Return the packages that were there before and that a proposal changes."""
    return tuple(t.package for t in p.content.touched if t.origin and t.head_tree)


def is_done(run: CheckRun | None) -> bool:
    """Whether a head shows what was worked out for it."""
    return run is not None and run.ours and run.status is Status.COMPLETED and not run.only_observed


def worked_out_for(base_ref: str, mode: ImpactMode) -> str:
    """What a check keeps of where its impact was worked out: it says nothing of another base."""
    return hashlib.sha256(f"{mode}\n{base_ref}".encode()).hexdigest()[:16]


def worked_out_at(base_ref: str, mode: ImpactMode, base: str) -> str:
    """The same, and at which commit the base was."""
    return f"{worked_out_for(base_ref, mode)}-{base[:_BASE]}"


def is_done_for(run: CheckRun | None, base_ref: str, mode: ImpactMode) -> bool:
    """Whether a head shows what was worked out for it on this base, by a configuration's mode.

    Where the base was then is not asked: what was worked out counts until it is worked out anew, or
    else nothing was ever published where others merge all the time.
    """
    made_for = worked_out_for(base_ref, mode)
    return run is not None and is_done(run) and _made_for(run).partition("-")[0] == made_for


def is_done_at(run: CheckRun | None, base_ref: str, mode: ImpactMode, base: str) -> bool:
    """Whether it was worked out with the base where it is now."""
    made_at = worked_out_at(base_ref, mode, base)
    return run is not None and is_done(run) and _made_for(run) == made_at


def worked_out_on(run: CheckRun) -> str:
    """Return the first digits of the commit at which the base was; "" where that is not kept."""
    return _made_for(run).partition("-")[2]


def _made_for(run: CheckRun) -> str:
    return run.digest.rpartition(".")[2]


# --- what is tried ---


def judged_otherwise(held: Policy, tried: Policy) -> bool:
    """Whether packages are rendered or validated otherwise by other rules."""
    return _judges(held) != _judges(tried)


def _judges(policy: Policy) -> object:
    """What renders and validates; words for people are none of that."""

    def judging(functions: Iterable[GuardrailFunction]) -> list[GuardrailFunction]:
        return [replace(each, fix="", name="") for each in functions]

    allow = {frozenset(patterns) for patterns in policy.allow}
    return judging(policy.mutators), judging(policy.validators), allow


def trial(held: Policy, tried: Policy) -> tuple[Policy, tuple[str, ...]]:
    """Return rules to try out, and the images of the guardrails that they leave out.

    Nobody approved them: of their guardrails those run that run already or that a package could
    have in its pipeline, and packages may have no other functions than now.

    Args:
        held: The rules that hold.
        tried: The others.
    """
    known = {each.image for each in (*held.mutators, *held.validators)}

    def may(function: GuardrailFunction) -> bool:
        image = full_name(function.image, CATALOG)
        return function.image in known or all(
            any(fits(pattern, image) for pattern in patterns) for patterns in held.allow
        )

    left_out = sorted({f.image for f in (*tried.mutators, *tried.validators) if not may(f)})
    return (
        replace(
            tried,
            mutators=tuple(filter(may, tried.mutators)),
            validators=tuple(filter(may, tried.validators)),
            allow=tuple(dict.fromkeys((*held.allow, *tried.allow))),
        ),
        tuple(left_out),
    )


def allows_more(held: Policy, tried: Policy) -> bool:
    """Whether packages may have functions by other rules that they may not have now."""
    return not {frozenset(p) for p in held.allow} <= {frozenset(p) for p in tried.allow}


def merged_otherwise(
    held: Policy, tried: Policy, package: str, *, published: tuple[bool, bool]
) -> tuple[str, ...]:
    """Return what would be otherwise about merging a package, in words.

    Args:
        held: The rules that hold.
        tried: The others.
        package: Its path.
        published: Whether it is published by the rules that hold, and by the others.
    """
    if published[0] != published[1]:
        return (texts.PUBLISHED if published[1] else texts.NOT_PUBLISHED,)
    before, after = (each.rule(AccessAction.APPROVE, package) for each in (held, tried))
    differs = {
        texts.APPROVALS: _asks(before) != _asks(after),
        texts.WINDOWS: set(held.calendars) != set(tried.calendars),
        texts.CHECKS: set(held.checks) != set(tried.checks),
        texts.METHOD: held.merge is not tried.merge,
        texts.BY_ITSELF: held.auto_merge != tried.auto_merge,
    }
    return tuple(what for what, so in differs.items() if so)


def _asks(rule: AccessRule) -> object:
    sources, automatic = (
        frozenset(each.spelling for each in found) for found in (rule.sources, rule.automatic)
    )
    return rule.require, sources, rule.self_allowed, automatic


# --- what came of one package ---


def by_rules(before: Verdict, after: Verdict, merges: tuple[str, ...]) -> PackageImpact:
    """Return what other rules would do to a package.

    Args:
        before: By the rules that hold.
        after: By the others.
        merges: What would be otherwise about its merge.
    """
    if problem := after.broken or before.broken:
        return PackageImpact(package=after.package, merges=merges, problem=problem)
    whole = before.complete and after.complete
    changes = [c for c in after.rendering if c not in before.rendering] if whole else []
    told = {(c.path, c.resource, c.field) for c in after.rendering}
    back = [c for c in before.rendering if (c.path, c.resource, c.field) not in told]
    place = PackageImpact(package=after.package, merges=merges)
    return _judged(place, before, after, changes, len(back) if whole else 0)


def by_upgrade(
    place: PackageImpact,
    before: Verdict,
    after: Verdict,
    conflicts: Sequence[UpdateConflict],
    more: int,
) -> PackageImpact:
    """Return what an upgrade would do to a package.

    Args:
        place: Which package it is, and what it was made from.
        before: It as it is.
        after: It as an upgrade would leave it.
        conflicts: Where both sides changed the same.
        more: How many more.
    """
    if problem := after.broken or before.broken:
        return replace(place, problem=problem)
    changes = [*after.diff, *after.rendering]
    found = _judged(place, before, after, [c for c in changes if not _names_upstream(c)], 0)
    return replace(
        found, conflicts=tuple(conflicts[:MOST_CONFLICTS]), conflicting=len(conflicts) + more
    )


def _names_upstream(change: Change) -> bool:
    """Whether a change only says what a package was made from, which an upgrade always does."""
    top = change.field.partition(".")[0]
    return change.path == KPTFILE and top in {"upstream", "upstreamLock"}


def _judged(
    place: PackageImpact, before: Verdict, after: Verdict, changes: Sequence[Change], back: int
) -> PackageImpact:
    was, now = ({_said(f): f for f in v.findings if _counts(f)} for v in (before, after))
    found = [f for said, f in now.items() if said not in was]
    failed, fails = (bool(v.blocking) or not v.complete for v in (before, after))
    found.sort(key=lambda f: (f.severity is not Severity.ERROR, f.place.path, f.place.line or 0))
    return replace(
        place,
        changes=tuple(changes[:MOST_CHANGES]),
        changed=len(changes) + back,
        findings=tuple(found[:MOST_FINDINGS]),
        found=len(found),
        gone=len(was.keys() - now.keys()),
        fails=fails and not failed,
        mends=failed and not fails,
    )


def _counts(finding: Finding) -> bool:
    """Whether people have to look at a finding: what a function did is told by the difference."""
    return finding.severity is not Severity.INFO


def _said(finding: Finding) -> tuple[object, ...]:
    """What a finding says; a line moves with any change, and what to do is in others' words."""
    place = finding.place
    return finding.severity, finding.message, place.path, place.field


# --- all of them together ---


def add(impact: Impact, one: PackageImpact) -> Impact:
    """Return an impact with one more package that was tried."""
    impact = replace(
        impact,
        tried=impact.tried + 1,
        tried_elsewhere=impact.tried_elsewhere + bool(one.repository),
    )
    if one.same:
        return impact
    kind, counts = _kind(one), [*impact.detailed]
    if counts[kind] >= MOST_DETAILED:
        one = replace(one, changes=(), findings=(), conflicts=())
    counts[kind] += _detailed(one)
    return replace(
        impact,
        packages=(*impact.packages, one),
        detailed=tuple(counts),
    )


def _detailed(one: PackageImpact) -> bool:
    return bool(one.changes or one.findings or one.conflicts)


def ended(impact: Impact) -> Impact:
    """Return an impact that nothing is added to any more, what matters most first."""

    def first(one: PackageImpact) -> tuple[object, ...]:
        return _kind(one), not _detailed(one), one.repository, one.branch, one.package

    return replace(impact, packages=tuple(sorted(impact.packages, key=first)), ended=True)


def _kind(one: PackageImpact) -> int:
    """What matters most: 0 fails, 1 conflicts, 2 is changed, 3 is merged otherwise, 4 not tried."""
    judged = one.changed or one.found or one.gone or one.mends
    order = (one.fails, one.conflicting, judged, one.merges)
    return next((place for place, so in enumerate(order) if so), len(order))


# --- where the rules make it a gate ---


def gates(facts: Facts, proposal: Proposal) -> list[Gate]:
    """Return the gate for the impact; none where it only informs, and once it is in force."""
    policy = proposal.rules.policy
    if not isinstance(policy, Policy) or policy.impact is not ImpactMode.BLOCK:
        return []
    if not proposal.consequences.has_impact or proposal.place.merged:
        return []
    run = facts.checks.get(IMPACT)
    if not facts.may_be_tried:
        return [_gate(GateState.BLOCKED, texts.FORK, texts.FORK_WANTED, texts.WHO)]
    if run is None or not is_done_for(run, proposal.place.base_ref, policy.impact):
        return [_gate(GateState.WAITS, texts.NOT_TRIED, texts.NOT_TRIED_WANTED, texts.NOBODY)]
    if run.conclusion is not Conclusion.SUCCESS:
        return [_gate(GateState.BLOCKED, texts.BREAKS, texts.BREAKS_WANTED, texts.WHO)]
    return [Gate(name="impact", state=GateState.HOLDS, actual=texts.HARMLESS)]


def _gate(state: GateState, actual: str, wanted: str, who: str) -> Gate:
    return Gate(name="impact", state=state, actual=actual, wanted=wanted, who=who)
