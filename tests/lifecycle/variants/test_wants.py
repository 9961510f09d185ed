"""Which drafts a rule for a variant wants just as they are."""

from dataclasses import replace

import pytest

from lifecycle.facts.packages import NotByRule
from lifecycle.variants.decision import unwanted
from lifecycle.variants.facts import Recipe, VariantFacts
from lifecycle.variants.upstreams import UpstreamState
from tests.lifecycle.variants.samples import (
    BEHIND,
    FACTS,
    FOLLOWS,
    NEW,
    PUBLISHED,
    V1,
    V2,
    V3,
    VARIANT,
    recipe,
    state,
    variant,
)

AGAIN = replace(FACTS, published=BEHIND)

ROWS: dict[str, tuple[VariantFacts, str, Recipe, NotByRule | None]] = {
    "a new package": (FACTS, "edges", NEW, None),
    "a newer upstream": (AGAIN, "edges", recipe(), None),
    "with the newest of those that are followed": (
        replace(AGAIN, variant=FOLLOWS, revisions=(V1, V2, V3)),
        "edges",
        recipe(FOLLOWS, upstream=V3),
        None,
    ),
    "an upstream revision before that": (
        replace(AGAIN, variant=FOLLOWS, revisions=(V1, V2, V3)),
        "edges",
        recipe(FOLLOWS),
        NotByRule.CHANGED,
    ),
    "the rule is gone": (replace(FACTS, removed=True), "edges", NEW, NotByRule.RULE),
    "the rule may not write here": (replace(FACTS, allowed=False), "edges", NEW, NotByRule.RULE),
    "the rule asks for something else": (
        replace(FACTS, variant=variant(labels={"a": "b"})),
        "edges",
        NEW,
        NotByRule.CHANGED,
    ),
    "another rule wants the package": (FACTS, "others", NEW, NotByRule.RULE),
    "the source may not be read any more": (
        replace(FACTS, revisions=()),
        "edges",
        NEW,
        NotByRule.RULE,
    ),
    "the upstream revision was withdrawn": (
        replace(FACTS, revisions=(V1, state(V2, UpstreamState.WITHDRAWN))),
        "edges",
        NEW,
        NotByRule.RULE,
    ),
    "the revision of that number is another one": (
        replace(FACTS, revisions=(V1, replace(V2, commit="f" * 40))),
        "edges",
        NEW,
        NotByRule.CHANGED,
    ),
    "its number was given to another tag of the same commit": (
        replace(FACTS, revisions=(V1, V2)),
        "edges",
        replace(NEW, number=9),
        NotByRule.CHANGED,
    ),
    "a version before did not say the number": (FACTS, "edges", replace(NEW, number=0), None),
    "the bot did not publish the upstream revision": (
        replace(FACTS, revisions=(V1, replace(V2, ours=False))),
        "edges",
        NEW,
        NotByRule.UPSTREAM,
    ),
    "the bot did not publish the newest that is followed": (
        replace(AGAIN, variant=FOLLOWS, revisions=(V1, V2, replace(V3, ours=False))),
        "edges",
        recipe(FOLLOWS, upstream=V3),
        NotByRule.UPSTREAM,
    ),
    "people elsewhere have a part in what it asks for": (
        replace(FACTS, variant=replace(VARIANT, outside=True)),
        "edges",
        NEW,
        NotByRule.OUTSIDE,
    ),
    "the package was rolled back": (
        replace(AGAIN, held="to v3"),
        "edges",
        recipe(),
        NotByRule.RULE,
    ),
    "the package changed since": (
        replace(FACTS, published=replace(BEHIND, commit="e" * 40)),
        "edges",
        recipe(),
        NotByRule.CHANGED,
    ),
    "the package is somebody else's": (
        replace(FACTS, published=replace(BEHIND, owners=frozenset())),
        "edges",
        recipe(),
        NotByRule.RULE,
    ),
    "what is injected changed": (replace(FACTS, sources="other"), "edges", NEW, NotByRule.CHANGED),
    "it was made of itself": (replace(FACTS, circle=("a//x",)), "edges", NEW, NotByRule.RULE),
    "it is published already": (
        replace(FACTS, published=replace(PUBLISHED, commit="e" * 40)),
        "edges",
        recipe(),
        NotByRule.CHANGED,
    ),
}


@pytest.mark.parametrize(("facts", "owner", "made", "why"), ROWS.values(), ids=ROWS)
def test_what_a_rule_wants_now(
    facts: VariantFacts, owner: str, made: Recipe, why: NotByRule | None
) -> None:
    """The short-cut asks for a rule of that name, whatever the draft was made of."""
    assert unwanted(facts, owner, made) is why
