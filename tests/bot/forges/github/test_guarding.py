"""Rules of a repository as GitHub tells them, and what they leave open."""

from collections.abc import Sequence
from dataclasses import replace
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
    signed: Sequence[str] = (),
    app: int = APP,
    runs: bool = True,
) -> Guarded:
    return Guarded(
        repository=REPOSITORY,
        app=app,
        login="porchbot[bot]" if app else "robot",
        required={"main": required},
        signed=frozenset(signed),
        rulesets=(rules,),
        runs_told=runs,
    )


CASES = {
    "all is well": (guarded(), ""),
    "nothing is required": (guarded([]), "not requiring porchbot/publish"),
    "anybody may report it": (guarded([LOOSE]), "open to porchbot/publish from any App"),
    "another App has to report it": (
        guarded([THEIRS]),
        "not requiring porchbot/publish; requiring porchbot/publish from the App of number 9",
    ),
    "two of a name": (
        guarded([THEIRS, OURS]),
        "requiring porchbot/publish from the App of number 9",
    ),
    "signed commits": (guarded(signed=["main"]), "taking signed commits only"),
    "no rule of tags": (guarded([OURS], {"rules": []}), OPEN),
    "it is switched off": (guarded([OURS], {**TAGS, "enforcement": "evaluate"}), OPEN),
    "some tags only": (
        guarded([OURS], {**TAGS, "conditions": {"ref_name": {"include": ["refs/tags/x"]}}}),
        OPEN,
    ),
    "all tags are left out": (
        guarded(
            [OURS],
            {
                **TAGS,
                "conditions": {"ref_name": {"include": ["~ALL"], "exclude": ["refs/tags/**/*"]}},
            },
        ),
        OPEN,
    ),
    "tags may be deleted": (guarded([OURS], {**TAGS, "rules": TAGS["rules"][:1]}), OPEN),
    "others pass": (
        guarded([OURS], {**TAGS, "bypass_actors": [US, WRITERS]}),
        "passed by 1 others, too",
    ),
    "we do not pass": (guarded([OURS], {**TAGS, "bypass_actors": []}), "without the App"),
    "nobody tells who passes": (guarded([OURS], {**TAGS, "bypass_actors": None}), ""),
    "check runs are hidden": (guarded(runs=False), "hidden from the token"),
    "drafts too": (guarded(signed=["drafts/any"]), "taking signed commits"),
    "a machine user, any source": (guarded([LOOSE], {"rules": []}, app=0), OPEN),
    "a machine user, an App's check": (
        guarded([RequiredCheck("porchbot/publish", APP, False), LOOSE], app=0),
        "requiring porchbot/publish from the App of number 7",
    ),
    "a machine user and tags that somebody passes": (guarded([LOOSE], app=0), ""),
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
    kinds = [rule["type"] for rule in branch_ruleset("main", APP)["rules"]]
    assert "pull_request" in kinds  # a green commit could be pushed to the branch
    assert branch.mend.body["bypass_actors"] == []
    assert tags.mend.body == tag_ruleset(APP)
    assert "At https://github.com/acme/net/settings/rules add a branch ruleset for main" in str(
        branch
    )


def test_a_machine_user_is_told_what_only_an_app_can_have() -> None:
    """The short-cut adds rules that name App 0, which lets nobody report the check, or tag."""
    branch, drafts, tags = lacking(guarded([], {"rules": []}, signed=["drafts/any"], app=0))

    assert branch.mend is not None
    checks = branch_ruleset("main", 0)["rules"][-1]["parameters"]["required_status_checks"]
    assert checks == [{"context": "porchbot/publish"}]
    assert branch.mend.body == branch_ruleset("main", 0)
    assert drafts.harmful
    assert not any(each.harmful for each in lacking(guarded(signed=["drafts/any"])))
    assert "which GitHub signs for an App only" in str(drafts)
    assert tags.mend is None
    assert "made, moved and deleted by a team of robot alone, and nobody else" in str(tags)


def test_a_bot_with_a_name_of_its_own_asks_for_its_own_check() -> None:
    """The short-cut asks for the check of the other bot, and takes that one's for its own."""
    other = RequiredCheck("porchbot/publish", APP, False)
    wanted, *_ = lacking(replace(guarded([other]), instance="staging"))

    assert "not requiring porchbot/publish (staging)" in str(wanted)
    assert wanted.mend is not None
    assert wanted.mend.body == branch_ruleset("main", APP, "porchbot/publish (staging)")
    mine = RequiredCheck("porchbot/publish", APP, True)
    assert list(lacking(replace(guarded([mine]), instance="staging"))) == []
