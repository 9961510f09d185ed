"""What a change of the rules for variants would do: which downstreams would be wanted otherwise.

Rules:

1. What is wanted is compared, as resolved by the rules that a branch began with and as it has them.
2. Where not all of what it has can be resolved, nothing would be removed, as no variant is. Where
   not all of it was read, nobody knows what would be.
3. One outcome for each downstream: another upstream before another injection before anything else.
4. What is to be made of a revision that is not there would wait.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from lifecycle.facts.impact import VariantChange, VariantOutcome, VariantsImpact
from lifecycle.variants.injection import fits_kind
from lifecycle.variants.objects import DEFAULT_NAMESPACE, KubeObject, KubeObjectIndex
from lifecycle.variants.values import Downstream, Injector, Variant

MOST_CHANGES = 100
"""Downstreams of each outcome that are kept; of the others how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedVariants:
    """What rules want.

    Attributes:
        variants: Where a package is, with the full name of its repository in small letters, to its
            rule.
        objects: What can be injected.
        problems: How many rules could not be resolved.
        own: Names that the rules have for their own repository.
        unread: Something of other repositories was not read for it.
    """

    variants: Mapping[Downstream, Variant]
    objects: KubeObjectIndex
    problems: int = 0
    own: frozenset[str] = frozenset()
    unread: bool = False


def difference(before: WantedVariants, after: WantedVariants) -> tuple[VariantChange, ...]:
    """Return the downstreams that would be wanted otherwise, sorted.

    Args:
        before: By the rules that the change began with.
        after: By its own.
    """
    sources = _Sources(before.objects), _Sources(after.objects)
    found: list[VariantChange] = []
    for place in sorted(before.variants.keys() | after.variants.keys()):
        old, new = before.variants.get(place), after.variants.get(place)
        if new is None:
            if old is not None and not (after.problems or after.unread):
                outcome = VariantOutcome.DELETED if old.spec.deletes else VariantOutcome.LEFT
                found.append(_change(place, old, outcome))
        elif old is None:
            found.append(_change(place, new, VariantOutcome.DRAFTED, after.own))
        elif outcome_ := _otherwise(old, new, *sources):
            change = _change(place, new, outcome_, after.own)
            was = _upstream(old) if outcome_ is VariantOutcome.REVISED else ""
            found.append(replace(change, was=was))
    return tuple(found)


def _otherwise(
    old: Variant, new: Variant, before: "_Sources", after: "_Sources"
) -> VariantOutcome | None:
    if (old.spec.upstream, old.follow) != (new.spec.upstream, new.follow):
        return VariantOutcome.REVISED
    if old.spec.injectors != new.spec.injectors or before.of(old) != after.of(new):
        return VariantOutcome.INJECTED
    if old.digest != new.digest or old.propose != new.propose:
        return VariantOutcome.CHANGED
    return None


class _Sources:
    """Objects that rules may inject, by their namespace and name."""

    def __init__(self, objects: KubeObjectIndex) -> None:
        self._found: dict[tuple[str, str], list[KubeObject]] = {}
        for each in objects.every():
            key = each.namespace or DEFAULT_NAMESPACE, each.name
            self._found.setdefault(key, []).append(each)
        self._chosen: dict[tuple[str, Injector], tuple[str, ...]] = {}
        self._digests: dict[int, str] = {}

    def of(self, variant: Variant) -> list[tuple[str, ...]]:
        """Digests of what each injector of a variant chooses from."""
        namespace = variant.namespace or DEFAULT_NAMESPACE
        return [self._of(namespace, injector) for injector in variant.spec.injectors]

    def _of(self, namespace: str, injector: Injector) -> tuple[str, ...]:
        known = self._chosen.get((namespace, injector))
        if known is None:
            there = self._found.get((namespace, injector.name), ())
            fit = (e for e in there if fits_kind(injector, e.api_version, e.kind))
            known = self._chosen[namespace, injector] = tuple(map(self._digest, fit))
        return known

    def _digest(self, found: KubeObject) -> str:
        if id(found) not in self._digests:
            text = json.dumps(found.value, sort_keys=True, default=str)
            self._digests[id(found)] = hashlib.sha256(text.encode()).hexdigest()
        return self._digests[id(found)]


def _change(
    place: Downstream, variant: Variant, outcome: VariantOutcome, own: Collection[str] = ()
) -> VariantChange:
    origin, up = variant.origin, variant.spec.upstream
    return VariantChange(
        outcome=outcome,
        repository=place.repo,
        package=place.package,
        upstream=_upstream(variant),
        rule=f"{origin.path}:{origin.line}" if origin.line else origin.path,
        variant=variant.name,
        adopts=variant.spec.adopts,
        needs=(up.package, up.revision) if up.repo in own and up.revision > 0 else None,
        outside=variant.outside,
    )


def _upstream(variant: Variant) -> str:
    """Which revision of which package, by the name that the rule has for its repository."""
    up = variant.spec.upstream
    version = (
        f"@v{up.revision}" if up.revision > 0 else (f"@{up.workspace}" if up.workspace else "")
    )
    follows = " and what follows" if variant.follow and version else ""
    return f"{up.repo}/{up.package}{version}{follows}"


def as_things_stand(
    changes: Iterable[VariantChange],
    own: str,
    keepers: Callable[[str], Collection[str] | None],
    missing: Collection[tuple[str, int]] = (),
) -> list[VariantChange]:
    """Return changes by what the rules' own repository has.

    Args:
        changes: The changes.
        own: Full name of the repository.
        keepers: The variants that keep a package of the base branch; None where it is not there.
        missing: Revisions that are not there, by path and number.
    """
    return [
        _waiting(
            replace(each, outcome=_standing(each, keepers(each.package)))
            if each.repository == own.lower()
            else each,
            missing,
        )
        for each in changes
    ]


_MAKING = (VariantOutcome.DRAFTED, VariantOutcome.ADOPTED, VariantOutcome.REVISED)


def _waiting(change: VariantChange, missing: Collection[tuple[str, int]]) -> VariantChange:
    waits = change.outcome in _MAKING and change.needs in missing
    return replace(change, outcome=VariantOutcome.WAITING) if waits else change


def _standing(change: VariantChange, keepers: Collection[str] | None) -> VariantOutcome:
    ours = keepers is not None and change.variant in keepers
    if change.outcome is VariantOutcome.DRAFTED and keepers is not None:
        return VariantOutcome.ADOPTED if change.adopts or ours else VariantOutcome.NOT_OURS
    if change.outcome is VariantOutcome.DELETED and not ours:
        return VariantOutcome.LEFT
    return change.outcome


def told(
    changes: Iterable[VariantChange],
    wanted: int,
    problems: int,
    *,
    own: str,
    named: Mapping[str, str],
    unread: bool,
) -> VariantsImpact:
    """Return what people are told of changes: who may not be named is counted.

    Args:
        changes: The changes.
        wanted: Downstreams that would be wanted.
        problems: Rules that could not be resolved.
        own: Full name of the rules' own repository.
        named: Other repositories that may be named, in small letters, to their full names.
        unread: Something of other repositories was not read for it.
    """
    counts: Counter[VariantOutcome] = Counter()
    hidden: Counter[VariantOutcome] = Counter()
    kept: list[VariantChange] = []
    for each in changes:
        counts[each.outcome] += 1
        mine = each.repository == own.lower()
        if each.outside or not (mine or each.repository in named):
            hidden[each.outcome] += 1
        elif counts[each.outcome] - hidden[each.outcome] <= MOST_CHANGES:
            kept.append(replace(each, repository="" if mine else named[each.repository]))
    gone = (VariantOutcome.DELETED, VariantOutcome.LEFT)
    otherwise = sum(count for outcome, count in counts.items() if outcome not in gone)
    return VariantsImpact(
        changes=tuple(kept),
        counts=tuple((each, counts[each]) for each in VariantOutcome if counts[each]),
        hidden=tuple((each, hidden[each]) for each in VariantOutcome if hidden[each]),
        same=max(0, wanted - otherwise),
        problems=problems,
        unread=unread,
    )
