"""Rules of a repository as GitHub tells them, and what they leave open."""

from collections.abc import Sequence
from typing import Any

import pytest

from bot.forges.github.guarding import Guarded, branch_ruleset, lacking, tag_ruleset
from bot.forges.port import RequiredCheck

APP = 7
REPOSITORY = {"id": 42, "full_name": "acme/net", "html_url": "https://github.com/acme/net"}
OURS = RequiredCheck("porchbot/publish", APP, True)
LOOSE = RequiredCheck("porchbot/publish", None, True)
THEIRS = RequiredCheck("porchbot/publish", 9, False)
TAGS = {"id": 1, **tag_ruleset(APP)}
US = {"actor_type": "Integration", "actor_id": APP}
WRITERS = {"actor_type": "RepositoryRole", "actor_id": 4}
OPEN = "open to everybody with write access"


def guarded(
    required: Sequence[RequiredCheck] | None = (OURS,),
    rules: dict[str, Any] = TAGS,
    *,
    signed: bool = False,
) -> Guarded:
    return Guarded(
        repository=REPOSITORY,
        app=APP,
        slug="porchbot",
        required={"main": required},
        signed=frozenset({"main"} if signed else ()),
        rulesets=(rules,),
    )


CASES = {
    "all is well": (guarded(), ""),
    "nothing is required": (guarded([]), "not requiring porchbot/publish"),
    "anybody may report it": (guarded([LOOSE]), "open to porchbot/publish from any App"),
    "another App has to report it": (guarded([THEIRS]), "not requiring porchbot/publish"),
    "two of a name": (guarded([THEIRS, OURS]), ""),
    "signed commits": (guarded(signed=True), "taking signed commits only"),
    "no rule of tags": (guarded([OURS], {"rules": []}), OPEN),
    "it is switched off": (guarded([OURS], {**TAGS, "enforcement": "evaluate"}), OPEN),
    "some tags only": (
        guarded([OURS], {**TAGS, "conditions": {"ref_name": {"include": ["refs/tags/x"]}}}),
        OPEN,
    ),
    "tags may be deleted": (guarded([OURS], {**TAGS, "rules": TAGS["rules"][:1]}), OPEN),
    "others pass": (
        guarded([OURS], {**TAGS, "bypass_actors": [US, WRITERS]}),
        "passed by 1 others, too",
    ),
    "we do not pass": (guarded([OURS], {**TAGS, "bypass_actors": []}), "without the App"),
    "nobody tells who passes": (guarded([OURS], {**TAGS, "bypass_actors": None}), ""),
    "no rules on this plan": (
        guarded(None),
        "without draft pull requests, branch rules and tag rules",
    ),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_what_is_left_open(case: str) -> None:
    """The short-cut looks for a rule of some name, and not at what it holds."""
    given, wanted = CASES[case]

    assert "; ".join(each.found for each in lacking(given)) == wanted


def test_a_change_is_the_exact_request() -> None:
    branch, tags = lacking(guarded([], {"rules": []}))

    assert branch.mend is not None
    assert tags.mend is not None
    assert (branch.mend.verb, branch.mend.path) == ("POST", "/repositories/42/rulesets")
    assert branch.mend.body == branch_ruleset("main", APP)
    assert branch.mend.body["bypass_actors"] == []
    assert tags.mend.body == tag_ruleset(APP)
    assert "At https://github.com/acme/net/settings/rules add a branch ruleset for main" in str(
        branch
    )
