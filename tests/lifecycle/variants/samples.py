"""What tests of variants begin with: one rule, its upstream, its package."""

from dataclasses import replace
from typing import Any

from lifecycle.variants.facts import (
    REMOVED,
    DraftFacts,
    PublishedFacts,
    Recipe,
    RevisionStage,
    VariantFacts,
)
from lifecycle.variants.upstreams import UpstreamRevision, UpstreamState
from lifecycle.variants.values import Downstream, Propose, Variant, VariantSpec, VariantUpstream

V1, V2, V3 = (
    UpstreamRevision(
        number=n, ref=f"net/core/v{n}", commit=f"{n}" * 40, workspace=f"w{n}", ours=True
    )
    for n in (1, 2, 3)
)
SPEC = VariantSpec(
    upstream=VariantUpstream("base", "net/core", 2), downstream=Downstream("live", "edge/core")
)
VARIANT = Variant(name="edges", spec=SPEC)
OURS = frozenset({"edges"})
BASE = "b" * 40
HEAD = "d" * 40
BRANCH = "drafts/edge/core/packagevariant-1"

PUBLISHED = PublishedFacts(number=4, commit=BASE, owners=OURS, lock="net/core/v2")
BEHIND = replace(PUBLISHED, lock="net/core/v1")
FACTS = VariantFacts(variant=VARIANT, revisions=(V1, V2))


def variant(**changes: Any) -> Variant:
    """The rule, with other policies of `spec` or `propose` and `follow`."""
    own = {key: changes.pop(key) for key in ("propose", "follow", "name") if key in changes}
    return replace(VARIANT, spec=replace(SPEC, **changes), **own)


ADOPTS = variant(adoption_policy="adoptExisting")
ORPHANS = variant(deletion_policy="orphan")
ASAP = variant(propose=Propose.ASAP)
FOLLOWS = variant(follow=True, upstream=VariantUpstream("base", "net/core", 1))


def recipe(rule: Variant = VARIANT, base: str = BASE, upstream: UpstreamRevision = V2) -> Recipe:
    """What a draft is made of that is as it should be."""
    return Recipe(upstream.commit, rule.digest, base, number=upstream.number)


NEW = recipe(base="")
DRAFT = DraftFacts(branch=BRANCH, head=HEAD, owners=OURS, recipe=NEW, number=7)
STALE = replace(DRAFT, recipe=replace(NEW, upstream=V1.commit))
TOUCHED = replace(STALE, people=True)
REMOVES = replace(DRAFT, stage=RevisionStage.PROPOSED, recipe=Recipe("", REMOVED, BASE))
PROPOSED = replace(DRAFT, stage=RevisionStage.PROPOSED)
REFUSED = replace(DRAFT, stage=RevisionStage.CLOSED, by_person=True)
THEIRS = DraftFacts(branch="drafts/edge/core/mine", head=HEAD, people=True)


def state(revision: UpstreamRevision, state: UpstreamState) -> UpstreamRevision:
    """A revision of which something is known."""
    return replace(revision, state=state)
