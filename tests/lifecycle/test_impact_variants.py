"""What rules for variants would want otherwise: one outcome for each downstream."""

from dataclasses import replace
from typing import Any

from cadlib.errors import Place
from lifecycle import impact_variants
from lifecycle.facts.impact import VariantOutcome
from lifecycle.impact_variants import WantedVariants, as_things_stand, difference, told
from lifecycle.variants.objects import KubeObject, KubeObjectIndex
from lifecycle.variants.values import (
    Downstream,
    Injector,
    Propose,
    Variant,
    VariantSpec,
    VariantUpstream,
)
from tests.counting import lines

OWN = "acme/Rules"


def variant(package: str, repo: str = "acme/rules", **given: Any) -> tuple[Downstream, Variant]:
    """A rule for a package."""
    spec = VariantSpec(
        upstream=VariantUpstream("here", "net/base", 1), downstream=Downstream("x", "y")
    )
    made = Variant(name=package, spec=spec, origin=Place("variants/a.yaml", 3))
    spec_ = {key: value for key, value in given.items() if hasattr(spec, key)}
    rest = {key: value for key, value in given.items() if key not in spec_}
    return Downstream(repo, package), replace(made, spec=replace(spec, **spec_), **rest)


def wanted(
    *variants: tuple[Downstream, Variant], size: int = 1, problems: int = 0
) -> WantedVariants:
    """What rules want, with one resource that can be injected."""
    red = KubeObject(api_version="v1", kind="ConfigMap", name="red", value={"size": size})
    return WantedVariants(
        variants=dict(variants), objects=KubeObjectIndex([red]), problems=problems
    )


def outcomes(before: WantedVariants, after: WantedVariants) -> dict[str, VariantOutcome]:
    """What becomes of each package."""
    return {each.package: each.outcome for each in difference(before, after)}


def test_each_downstream_has_one_outcome() -> None:
    """Short-cuts refused: the digest of a rule alone, which neither names an upstream nor sees what
    is injected; `propose`, which is no part of that; a rule that is moved within its file."""
    red, other = (Injector("red"),), (Injector("red", kind="Secret"),)
    before = wanted(
        variant("same"),
        variant("moved"),
        variant("left", deletion_policy="orphan"),
        variant("gone"),
        variant("revised"),
        variant("injected", injectors=red),
        variant("others", injectors=other),
        variant("labelled"),
        variant("proposed"),
    )
    after = wanted(
        variant("same"),
        variant("moved", origin=Place("variants/b.yaml", 9)),
        variant("new"),
        variant("revised", upstream=VariantUpstream("here", "net/base", 2), labels={"a": "b"}),
        variant("injected", injectors=red),
        variant("others", injectors=other),
        variant("labelled", labels={"a": "b"}),
        variant("proposed", propose=Propose.ASAP),
        size=2,
    )
    assert outcomes(before, after) == {
        "left": VariantOutcome.LEFT,
        "gone": VariantOutcome.DELETED,
        "new": VariantOutcome.DRAFTED,
        "revised": VariantOutcome.REVISED,
        "injected": VariantOutcome.INJECTED,
        "labelled": VariantOutcome.CHANGED,
        "proposed": VariantOutcome.CHANGED,
    }
    (change,) = (e for e in difference(before, after) if e.package == "revised")
    assert (change.was, change.upstream) == ("here/net/base@v1", "here/net/base@v2")
    assert change.rule == "variants/a.yaml:3"


def test_nothing_is_removed_where_a_rule_cannot_be_resolved() -> None:
    """The short-cut takes what is missing for removed: one typing error would delete everything."""
    assert outcomes(wanted(variant("gone")), wanted(problems=1)) == {}


def test_what_is_there_decides_for_the_rules_own_repository() -> None:
    """Short-cuts refused: what a rule named is its own; what another repository has is known."""
    made = difference(
        wanted(variant("gone"), variant("theirs"), variant("never"), variant("far", "acme/other")),
        wanted(variant("new"), variant("old"), variant("taken", adoption_policy="adoptExisting")),
    )
    there = {"gone": {"gone"}, "theirs": {"somebody"}, "old": set[str](), "taken": set[str]()}
    found = as_things_stand(made, OWN, there.get)
    assert {each.package: each.outcome for each in found} == {
        "gone": VariantOutcome.DELETED,
        "theirs": VariantOutcome.LEFT,
        "never": VariantOutcome.LEFT,
        "far": VariantOutcome.DELETED,
        "new": VariantOutcome.DRAFTED,
        "old": VariantOutcome.NOT_OURS,
        "taken": VariantOutcome.ADOPTED,
    }


def test_what_is_made_of_a_revision_that_is_not_there_waits() -> None:
    """Short-cuts refused: a draft is told that nobody will see; what another repository has by that
    name is taken for ours; what is left alone waits."""
    later = VariantUpstream("here", "net/base", 9)
    far = VariantUpstream("far", "net/base", 9)
    after = wanted(
        variant("new", upstream=later),
        variant("revised", upstream=later),
        variant("old", upstream=later),
        variant("theirs", upstream=far),
        variant("there", upstream=VariantUpstream("here", "net/base", 1)),
        variant("newest", upstream=VariantUpstream("here", "net/base", -1)),
    )
    made = difference(wanted(variant("revised")), replace(after, own=frozenset({"here"})))
    found = as_things_stand(made, OWN, {"old": set[str]()}.get, {("net/base", 9)})
    assert {each.package: each.outcome for each in found} == {
        "new": VariantOutcome.WAITING,
        "revised": VariantOutcome.WAITING,
        "old": VariantOutcome.NOT_OURS,
        "theirs": VariantOutcome.DRAFTED,
        "there": VariantOutcome.DRAFTED,
        "newest": VariantOutcome.DRAFTED,
    }


def test_who_may_not_be_named_is_counted() -> None:
    """Short-cuts refused: a repository is named since a rule names it; a package that something
    elsewhere chose is named since its own repository may be."""
    changes = difference(
        wanted(),
        wanted(
            variant("mine"),
            variant("open", "acme/open"),
            variant("secret", "acme/secret"),
            variant("chosen", outside=True),
        ),
    )
    named = {"acme/open": "Acme/Open"}
    found = told(changes, 4, 0, own=OWN, named=named, unread=False)
    assert [(e.repository, e.package) for e in found.changes] == [
        ("Acme/Open", "open"),
        ("", "mine"),
    ]
    assert found.counts == ((VariantOutcome.DRAFTED, 4),)
    assert found.hidden == ((VariantOutcome.DRAFTED, 2),)
    assert found.same == 0


def test_so_many_are_kept_of_each_outcome() -> None:
    """The short-cut keeps them all: 50,000 of them for each head that is looked at."""
    most = impact_variants.MOST_CHANGES
    changes = difference(wanted(), wanted(*(variant(f"p{n:04}") for n in range(most + 5))))
    found = told(changes, most + 5, 0, own=OWN, named={}, unread=False)
    assert len(found.changes) == most
    assert found.counts == ((VariantOutcome.DRAFTED, most + 5),)


def test_resources_of_one_name_are_looked_at_once_for_all_packages() -> None:
    """Short-cut refused: each package looks at all that its injectors may mean, which a fork's pull
    request makes tens of thousands of: minutes where a thousand packages have one injected."""

    def comparing(packages: int, resources: int) -> int:
        rules = [variant(f"p{number}", injectors=(Injector("red"),)) for number in range(packages)]
        there = [KubeObject(api_version="v1", kind="X", name="red") for _ in range(resources)]
        after = replace(wanted(*rules), objects=KubeObjectIndex(there))
        return lines(lambda: difference(wanted(*rules), after))

    alone = comparing(200, 1) + comparing(1, 200)
    assert comparing(200, 200) < 2 * alone
