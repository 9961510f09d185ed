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
CLASSIC: dict[str, Any] = {
    "required_status_checks": {"contexts": ["porchbot/publish"], "checks": []},
    "enforce_admins": {"enabled": True},
    "allow_force_pushes": {"enabled": False},
}
PAST = {
    "bypass_pull_request_allowances": {
        "users": [{"login": "ada"}],
        "teams": [{"slug": "ops"}],
        "apps": [{"slug": "mergebot"}],
    }
}
PULLED = {"required_pull_request_reviews": {"required_approving_review_count": 0}}
OPEN = "anyone with write access can create, move and delete them"


def guarded(
    required: Sequence[RequiredCheck] | None = (OURS,),
    rules: dict[str, Any] = TAGS,
    *,
    signed: Sequence[str] = (),
    direct: Sequence[str] = (),
    classic: dict[str, Any] | None = None,
    app: int = APP,
    runs: bool = True,
    more: Sequence[dict[str, Any]] = (),
) -> Guarded:
    return Guarded(
        repository=REPOSITORY,
        app=app,
        login="porchbot[bot]" if app else "robot",
        required={"main": required},
        signed=frozenset(signed),
        direct=frozenset(direct),
        classic={"main": classic} if classic else {},
        rulesets=(rules, *more),
        runs_told=runs,
    )


SHUT_OUT = "it restricts who creates release tags, and its bypass list lacks the App"


def created(pattern: str, passes: Sequence[dict[str, Any]] = (WRITERS,)) -> dict[str, Any]:
    """A rule of who creates some tags, beside the one for release tags."""
    return {
        "name": "releases",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": [pattern], "exclude": []}},
        "rules": [{"type": "creation"}],
        "bypass_actors": passes,
    }


CASES = {
    "all is well": (guarded(), ""),
    "nothing is required": (guarded([]), "porchbot/publish is not required"),
    "anybody may report it": (guarded([LOOSE]), "porchbot/publish is accepted from any App"),
    "another App has to report it": (
        guarded([THEIRS]),
        "porchbot/publish is not required;"
        " porchbot/publish is required from another App (App ID 9)",
    ),
    "two of a name": (
        guarded([THEIRS, OURS]),
        "porchbot/publish is required from another App (App ID 9)",
    ),
    "signed commits": (guarded(signed=["main"]), "only signed commits are accepted"),
    "a ruleset without a pull request": (
        guarded(direct=["main"]),
        "its rulesets require checks and no pull request, so a commit with green checks can be"
        " pushed there; its classic protection is not told to the bot",
    ),
    "classic protection that binds everybody": (guarded(classic=CLASSIC), ""),
    "its administrators pass": (
        guarded(classic={**CLASSIC, "enforce_admins": {"enabled": False}}),
        "administrators, and people with a role that bypasses it, are not bound by it",
    ),
    "some pass without a pull request": (
        guarded(classic={**CLASSIC, "required_pull_request_reviews": PAST}),
        "these may push to it without a pull request: @ada, team ops, the App mergebot",
    ),
    "it is pushed by force": (
        guarded(classic={**CLASSIC, "allow_force_pushes": {"enabled": True}}),
        "force pushes are allowed, which can remove what was published",
    ),
    "it requires something else": (
        guarded(classic={"enforce_admins": {"enabled": False}, "required_status_checks": None}),
        "",
    ),
    "it has the pull request that the ruleset lacks": (
        guarded(direct=["main"], classic={**CLASSIC, **PULLED}),
        "",
    ),
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
        "others than the App on its bypass list: 1",
    ),
    "we do not pass": (
        guarded([OURS], {**TAGS, "bypass_actors": []}),
        "the App is not on its bypass list",
    ),
    "a second rule of all keeps us out": (
        guarded(more=[{**TAGS, "bypass_actors": [WRITERS]}]),
        "the App is not on its bypass list",
    ),
    "of two rules one lets us alone pass": (
        guarded(more=[{**TAGS, "bypass_actors": [US, WRITERS]}]),
        "",
    ),
    "another rule keeps us out": (guarded(more=[created("refs/tags/**/v*")]), SHUT_OUT),
    "another rule keeps us out of some": (guarded(more=[created("refs/tags/*/v*")]), SHUT_OUT),
    "another rule keeps us out of all that is done to some": (
        guarded(more=[{**created("refs/tags/*/v*"), "rules": TAGS["rules"]}]),
        SHUT_OUT,
    ),
    "another rule lets us in": (guarded(more=[created("~ALL", [US])]), ""),
    "another rule is of other tags": (guarded(more=[created("refs/tags/release-*")]), ""),
    "another rule is switched off": (
        guarded(more=[{**created("~ALL"), "enforcement": "disabled"}]),
        "",
    ),
    "nobody tells who passes": (guarded([OURS], {**TAGS, "bypass_actors": None}), ""),
    "check runs are hidden": (guarded(runs=False), "the token cannot read them"),
    "drafts too": (guarded(signed=["drafts/any"]), "signed commits are required"),
    "a machine user, any source": (guarded([LOOSE], {"rules": []}, app=0), OPEN),
    "a machine user, an App's check": (
        guarded([RequiredCheck("porchbot/publish", APP, False), LOOSE], app=0),
        "porchbot/publish is required from another App (App ID 7)",
    ),
    "a machine user and tags that somebody passes": (guarded([LOOSE], app=0), ""),
    "no rules on this plan": (
        guarded(None),
        "this GitHub plan has no draft pull requests, branch rules or tag rules for it",
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
    assert "which GitHub signs only for an App" in str(drafts)
    assert tags.mend is None
    assert "a rule that allows this only to a team of robot alone" in str(tags)


def test_a_bot_with_a_name_of_its_own_asks_for_its_own_check() -> None:
    """The short-cut asks for the check of the other bot, and takes that one's for its own."""
    other = RequiredCheck("porchbot/publish", APP, False)
    wanted, *_ = lacking(replace(guarded([other]), instance="staging"))

    assert "porchbot/publish (staging) is not required" in str(wanted)
    assert wanted.mend is not None
    assert wanted.mend.body == branch_ruleset("main", APP, "porchbot/publish (staging)")
    mine = RequiredCheck("porchbot/publish", APP, True)
    assert list(lacking(replace(guarded([mine]), instance="staging"))) == []
