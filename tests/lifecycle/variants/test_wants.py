"""Which drafts a rule for a variant wants just as they are."""

from dataclasses import replace

import pytest

from lifecycle.variants.decision import wants
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

ROWS: dict[str, tuple[VariantFacts, str, Recipe, bool]] = {
    "a new package": (FACTS, "edges", NEW, True),
    "a newer upstream": (AGAIN, "edges", recipe(), True),
    "with the newest of those that are followed": (
        replace(AGAIN, variant=FOLLOWS, revisions=(V1, V2, V3)),
        "edges",
        recipe(FOLLOWS, upstream=V3),
        True,
    ),
    "an upstream revision before that": (
        replace(AGAIN, variant=FOLLOWS, revisions=(V1, V2, V3)),
        "edges",
        recipe(FOLLOWS),
        False,
    ),
    "the rule is gone": (replace(FACTS, removed=True), "edges", NEW, False),
    "the rule may not write here": (replace(FACTS, allowed=False), "edges", NEW, False),
    "the rule asks for something else": (
        replace(FACTS, variant=variant(labels={"a": "b"})),
        "edges",
        NEW,
        False,
    ),
    "another rule wants the package": (FACTS, "others", NEW, False),
    "the source may not be read any more": (replace(FACTS, revisions=()), "edges", NEW, False),
    "the upstream revision was withdrawn": (
        replace(FACTS, revisions=(V1, state(V2, UpstreamState.WITHDRAWN))),
        "edges",
        NEW,
        False,
    ),
    "the revision of that number is another one": (
        replace(FACTS, revisions=(V1, replace(V2, commit="f" * 40))),
        "edges",
        NEW,
        False,
    ),
    "the bot did not publish the upstream revision": (
        replace(FACTS, revisions=(V1, replace(V2, ours=False))),
        "edges",
        NEW,
        False,
    ),
    "the bot did not publish the newest that is followed": (
        replace(AGAIN, variant=FOLLOWS, revisions=(V1, V2, replace(V3, ours=False))),
        "edges",
        recipe(FOLLOWS, upstream=V3),
        False,
    ),
    "people elsewhere have a part in what it asks for": (
        replace(FACTS, variant=replace(VARIANT, outside=True)),
        "edges",
        NEW,
        False,
    ),
    "the package was rolled back": (replace(AGAIN, held="to v3"), "edges", recipe(), False),
    "the package changed since": (
        replace(FACTS, published=replace(BEHIND, commit="e" * 40)),
        "edges",
        recipe(),
        False,
    ),
    "the package is somebody else's": (
        replace(FACTS, published=replace(BEHIND, owners=frozenset())),
        "edges",
        recipe(),
        False,
    ),
    "what is injected changed": (replace(FACTS, sources="other"), "edges", NEW, False),
    "it was made of itself": (replace(FACTS, circle=("a//x",)), "edges", NEW, False),
    "it is published already": (
        replace(FACTS, published=replace(PUBLISHED, commit="e" * 40)),
        "edges",
        recipe(),
        False,
    ),
}


@pytest.mark.parametrize(("facts", "owner", "made", "wanted"), ROWS.values(), ids=ROWS)
def test_what_a_rule_wants_now(facts: VariantFacts, owner: str, made: Recipe, wanted: bool) -> None:
    """The short-cut asks for a rule of that name, whatever the draft was made of."""
    assert wants(facts, owner, made) is wanted
