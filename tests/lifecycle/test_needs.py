"""The rules that approvals have to meet: by package, by owner, and what is said of each leaf."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from lifecycle import memory, needs, owners
from lifecycle.access import (
    AccessAction,
    AppSource,
    OwnersSource,
    Person,
    Role,
    RoleSource,
    Team,
    TeamSource,
    Unreadable,
)
from lifecycle.approvals import Fallen, approvals_of
from lifecycle.automatic import ByItself
from lifecycle.commands.answers import pending
from lifecycle.facts.packages import Touched, Unpublished
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.whole import Whole
from lifecycle.gates import judge
from lifecycle.messages import evidence, summary
from lifecycle.owners import Owned
from lifecycle.policy import AccessRule, PathAccess, Policy, UpstreamAccess
from lifecycle.tags import Tagging
from tests.lifecycle.samples import CORE, FACTS, PROPOSAL, approved_by, changed, said

EDGE = replace(CORE, package="net/edge")
DARK = Team(None, Unreadable.PERMISSION)


def proposal(rule: AccessRule, *approvers: str, **more: object) -> Proposal:
    """The sample under a rule, approved by some people; all others have write access."""
    policy = Policy(approve=rule)
    roles = {**PROPOSAL.people.roles, **dict.fromkeys(approvers, Role.WRITE)}
    made = changed(PROPOSAL, policy=policy, roles=roles, organization="acme", **more)
    return approved_by(made, *approvers)


def missing(made: Proposal) -> int:
    assert isinstance(made.rules.policy, Policy)
    return approvals_of(made, made.rules.policy, memory.read(made)).missing


def listed(made: Proposal) -> list[str]:
    """The tree of rules below the gate of approvals, as it is shown."""
    judgement = judge(replace(FACTS, proposals=(made,)), made, memory.read(made))
    lines = summary.gate_list(judgement).splitlines()
    start = next(at for at, line in enumerate(lines) if "**approved**" in line)
    tree = lines[start + 1 :]
    end = next((at for at, line in enumerate(tree) if not line.startswith("  ")), len(tree))
    return tree[:end]


def test_an_approval_of_one_package_counts_for_no_other() -> None:
    """Short-cut refused: one list of approvers for the whole proposal."""
    strict = PathAccess(
        "net/edge", {AccessAction.APPROVE: AccessRule(sources=(RoleSource(Role.MAINTAIN),))}
    )
    made = changed(PROPOSAL, touched=(CORE, EDGE), policy=Policy(paths=(strict,)))
    roles = {**made.people.roles, "ann": Role.WRITE}
    ann = approved_by(changed(made, roles=roles), "ann")
    both = approved_by(changed(made, roles=roles), "ann", "approver")

    assert missing(ann) == 1
    assert missing(both) == 0
    assert listed(ann) == [
        "  - ⏳ `net/edge`: 0 of 1, from people with maintain access.",
        "    - ❌ `ann` does not count: they have write access and are not listed.",
        "  - ✅ `net/core`: 1 of 1, from people with write access.",
        "    - ✅ `ann` counts: write access.",
    ]


def test_the_evidence_of_approvals_names_the_rules_that_they_met() -> None:
    """Short-cut refused: the repository's rule is attested, whatever a folder's asked for."""
    sre = AccessRule(2, (TeamSource("sre"),), automatic=(AppSource("renovate"),))
    made = changed(
        PROPOSAL,
        touched=(CORE, EDGE),
        policy=Policy(paths=(PathAccess("net/edge", {AccessAction.APPROVE: sre}),)),
    )
    assert isinstance(made.rules.policy, Policy)
    found = needs.needs_of(made, made.rules.policy, rules=False)

    assert evidence.wanted("approved", found) == (
        "net/core: 1 from role:write; net/edge: 2 from team:sre"
    )
    assert evidence.wanted("approved", found[:1]) == "1 from role:write"
    by_itself = replace(found[1], automatic=ByItself.PATCH, needed=0)
    assert evidence.wanted("approved", [by_itself]) == (
        "nobody, for patch-level changes by app:renovate"
    )
    of_variant = replace(by_itself, automatic=ByItself.VARIANT)
    assert evidence.wanted("approved", [of_variant]) == (
        "nobody, for what the bot alone made for a variant"
    )


SRE = AccessRule(2, (TeamSource("sre"),))
PROD = Policy(paths=(PathAccess("net/core/prod", {AccessAction.APPROVE: SRE}),))
REACHING: dict[str, tuple[Touched, AccessAction, int]] = {
    "nothing of the folder": (CORE, AccessAction.APPROVE, 1),
    "something of it": (replace(CORE, inside=("net/core/prod",)), AccessAction.APPROVE, 2),
    "something that the base holds unpublished": (
        replace(
            CORE,
            unpublished=Unpublished(revision=1, published="a", base="b", inside=("net/core/prod",)),
        ),
        AccessAction.APPROVE,
        2,
    ),
    "what was there before the bot": (
        replace(
            CORE,
            unpublished=Unpublished(
                revision=0, published="a", base="a", adopted=True, inside=("net/core/prod",)
            ),
        ),
        AccessAction.APPROVE,
        1,
    ),
    "its removal": (
        replace(CORE, tree="", head_tree="", inside=("net/core/prod",)), AccessAction.DELETE, 2
    ),
}  # fmt: skip


@pytest.mark.parametrize(("touched", "action", "needed"), REACHING.values(), ids=REACHING)
def test_a_folders_rule_is_about_all_that_changes_in_it(
    touched: Touched, action: AccessAction, needed: int
) -> None:
    """Short-cut refused: the rule around the package alone, which a Kptfile further out evades."""
    made = approved_by(changed(PROPOSAL, touched=(touched,), policy=PROD), "approver")
    reaches = needed > 1

    found = needs.needs_of(made, PROD, rules=False)

    assert {each.action for each in found} == {action}
    assert [(each.packages, each.needed) for each in found] == [
        (("net/core",), 1), *([(("net/core/prod",), 2)] if reaches else [])
    ]  # fmt: skip
    assert needs.teams(made) == (("sre",) if reaches else ())


def test_each_folders_rule_is_met_by_its_own_people() -> None:
    """Short-cut refused: two approvals are two approvals, whichever rule names the people."""
    team = {"sre": Team(frozenset({"ann", "bob"}))}
    roles = dict.fromkeys(("ann", "bob"), Role.READ)
    made = changed(
        PROPOSAL, touched=(replace(CORE, inside=("net/core/prod",)),), policy=PROD, teams=team
    )
    both = approved_by(changed(made, roles=roles), "ann", "bob")

    found = approvals_of(both, PROD, memory.read(both)).needs

    assert [each.missing for each in found] == [1, 0]


OWNED = (Owned(("net/core/a",), 3, ("@acme/net", "@bob")), Owned(("net/core/z",), 1, ("@cid",)))
NET = Team(frozenset({"ann"}))
OWNERS: dict[str, tuple[tuple[str, ...], Team, tuple[Owned, ...], int]] = {
    "each owner's files": (("ann", "cid"), NET, OWNED, 0),
    "of two owners one": (("ann",), NET, OWNED, 1),
    "nobody who owns it": (("dan",), NET, OWNED, 1),
    "a team that cannot be read": (("ann", "cid"), DARK, OWNED, 1),
    "files that nobody owns": (("ann", "bob"), NET, (Owned(("net/core/a",), 1),), 1),
    "a file of owners that is too large": (
        ("ann",),
        NET,
        owners.unreadable(["net/core/a"], Unreadable.LARGE),
        1,
    ),
    "nothing is known of owners": (("ann",), NET, (), 1),
}


@pytest.mark.parametrize(("approvers", "team", "owned", "expected"), OWNERS.values(), ids=OWNERS)
def test_every_owner_has_a_say(
    approvers: tuple[str, ...], team: Team, owned: tuple[Owned, ...], expected: int
) -> None:
    """Short-cut refused: whoever owns any of the files approves all of them."""
    rule = AccessRule(sources=(OwnersSource(),))
    made = proposal(rule, *approvers, teams={"net": team}, owners={"net/core": owned})

    assert missing(made) == expected
    assert needs.teams(made) == (("net",) if owned == OWNED else ())


def test_an_owner_who_can_only_read_does_not_count() -> None:
    made = proposal(AccessRule(sources=(OwnersSource(),)), "cid", owners={"net/core": OWNED[1:]})
    assert missing(made) == 0
    assert missing(changed(made, roles={"cid": Role.TRIAGE})) == 1


def test_a_team_that_cannot_be_read_is_told_with_what_it_takes() -> None:
    """Short-cut refused: "this person may not approve here", which nobody knows."""
    made = proposal(AccessRule(sources=(TeamSource("net"),)), "ann", teams={"net": DARK})
    assert isinstance(made.rules.policy, Policy)

    found = approvals_of(made, made.rules.policy, memory.read(made))

    assert found.fallen == {"ann": Fallen.UNSURE}
    assert listed(made) == [
        "  - ⏳ `net/core`: 0 of 1, from members of the team `net`.",
        "    - ⏳ `ann` may count: the team `net` cannot be read (the App may not read teams: grant"
        " it the organization permission *Members: Read-only*).",
    ]
    assert missing(changed(made, teams={"net": NET})) == 0


def test_owners_are_shown_with_their_files() -> None:
    rule = AccessRule(sources=(OwnersSource(),))
    made = proposal(rule, "cid", teams={"net": NET}, owners={"net/core": OWNED})

    assert listed(made) == [
        "  - ⏳ `net/core`, `net/core/a` and 2 more files (CODEOWNERS lists `@acme/net`, `@bob`):"
        " 0 of 1, from code owners.",
        "    - ❌ `cid` does not count: they have write access and are not listed.",
        "  - ✅ `net/core`, `net/core/z` (CODEOWNERS lists `@cid`): 1 of 1, from code owners.",
        "    - ✅ `cid` counts: a code owner.",
    ]


RENOVATE = Person(7, "renovate[bot]", True)
HEARD: Mapping[str, tuple[tuple[AppSource, ...], bool]] = {
    "an App that the rules name": ((AppSource("renovate"),), True),
    "another one": ((AppSource("dependabot"),), False),
    "no App": ((), False),
}


@pytest.mark.parametrize(("sources", "heard"), HEARD.values(), ids=HEARD)
def test_a_machine_is_heard_where_the_rules_name_it(
    sources: tuple[AppSource, ...], heard: bool
) -> None:
    """Short-cut refused: machines command nothing at all, or all of them do."""
    made = changed(
        PROPOSAL,
        comments=(said(RENOVATE, "/approve"),),
        policy=Policy(approve=AccessRule(sources=(*sources, RoleSource(Role.READ)))),
    )

    assert bool(pending(made, memory.read(made))) is heard


def test_the_approval_of_an_app_that_is_named_counts() -> None:
    made = approved_by(changed(PROPOSAL, policy=Policy()), "renovate[bot]")
    named = Policy(approve=AccessRule(sources=(AppSource("renovate"),)))

    assert missing(made) == 1
    assert missing(changed(made, policy=named)) == 0


def test_teams_that_drafts_are_asked_of_are_read_after_those_that_approve() -> None:
    """The short-cut reads those of the packages here: who may clone is unknown, and refused."""

    def of(*slugs: str) -> AccessRule:
        return AccessRule(sources=tuple(TeamSource(slug) for slug in slugs))

    many = [f"a{n:02}" for n in range(needs.MOST_TEAMS)]
    policy = Policy(
        upstreams=(UpstreamAccess("github.com/acme/*", {AccessAction.CLONE: of("cloners")}),),
        paths=(PathAccess("other", {AccessAction.DRAFT: of("drafters")}),),
    )
    made = proposal(of("net"))
    assert needs.teams(made) == ("net",)
    asked = changed(made, whole=Whole(policy=policy, packages=frozenset()))
    assert needs.teams(asked) == ("net", "cloners", "drafters")
    wide = replace(policy, paths=(PathAccess("other", {AccessAction.DRAFT: of(*many)}),))
    found = needs.teams(changed(made, whole=Whole(policy=wide, packages=frozenset())))
    assert found == ("net", *many[:-1])


@pytest.mark.parametrize(
    ("rule", "people", "expected"),
    [
        (AccessRule(2), 1, True),
        (AccessRule(2), 2, False),
        (AccessRule(1), 0, True),
        (AccessRule(0), 0, False),
    ],
)
def test_how_few_people_cannot_be_enough(rule: AccessRule, people: int, expected: bool) -> None:
    """The short-cut counts whoever may approve, which is what is not known yet."""
    assert needs.out_of_reach(proposal(rule), people) is expected


def test_of_several_rules_one_that_is_out_of_reach_is_enough() -> None:
    """The short-cut asks the first rule alone."""
    strict = PathAccess("net/edge", {AccessAction.APPROVE: AccessRule(3)})
    made = changed(proposal(AccessRule(1)), touched=(CORE, EDGE))
    policy = Policy(approve=AccessRule(1), paths=(strict,))

    assert needs.out_of_reach(changed(made, policy=policy), 2)
    assert not needs.out_of_reach(changed(made, policy=policy), 3)


ADMINS = Policy(access={AccessAction.REGISTER: AccessRule(sources=(RoleSource(Role.ADMIN),))})
STRAY = Unpublished(revision=0, published="", base="b")
ENTERING: dict[str, tuple[Touched, Policy, bool]] = {
    "a new folder": (replace(CORE, origin="", base=""), ADMINS, True),
    "one whose number somebody used up by a tag": (
        replace(CORE, origin="", base="", tagging=Tagging(2)),
        ADMINS,
        True,
    ),
    "one that is there and has no revision": (replace(CORE, unpublished=STRAY), ADMINS, True),
    "one of before the bot came": (
        replace(CORE, unpublished=replace(STRAY, adopted=True)),
        ADMINS,
        True,
    ),
    "one with a revision": (CORE, ADMINS, False),
    "one with a revision, changed past the gates": (
        replace(CORE, unpublished=replace(STRAY, revision=4)),
        ADMINS,
        False,
    ),
    "a removal": (replace(CORE, tree="", head_tree="", origin=""), ADMINS, False),
    "a new one without a rule": (replace(CORE, origin="", base=""), Policy(), False),
    "a new one beside the folder of the rule": (
        replace(CORE, origin="", base=""),
        Policy(paths=(PathAccess("prod", ADMINS.access),)),
        False,
    ),
}


@pytest.mark.parametrize("what", ENTERING)
def test_registering_is_approved_by_a_rule_of_its_own(what: str) -> None:
    """Short-cut refused: who may approve a change may bring in a package; numbers tell it."""
    touched, policy, asked = ENTERING[what]
    found = needs.approved(changed(PROPOSAL, touched=(touched,)).content, policy)

    assert (("net/core", AccessAction.REGISTER, "net/core") in found) is asked


def test_one_who_may_approve_and_not_register_is_not_enough() -> None:
    """Short-cut refused: the rule stands in the file and is asked by nothing."""
    new = replace(CORE, origin="", base="")
    roles = {**PROPOSAL.people.roles, "boss": Role.ADMIN}
    made = changed(PROPOSAL, touched=(new,), policy=ADMINS, roles=roles)

    assert missing(approved_by(made, "approver")) == 1
    assert listed(approved_by(made, "approver")) == [
        "  - ⏳ `net/core` (first revision): 0 of 1, from people with admin access.",
        "    - ❌ `approver` does not count: they have maintain access and are not listed.",
        "  - ✅ `net/core`: 1 of 1, from people with write access.",
        "    - ✅ `approver` counts: write access.",
    ]
    assert missing(approved_by(made, "boss")) == 0
    found = needs.needs_of(made, ADMINS, rules=False)
    assert evidence.wanted("approved", found) == (
        "net/core: 1 from role:write; net/core (first revision): 1 from role:admin"
    )
