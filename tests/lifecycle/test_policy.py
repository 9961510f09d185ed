"""The configuration as values, and which parts of it an approval binds to."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cadlib.errors import Place
from lifecycle.access import (
    AccessAction,
    AppSource,
    AuthorSource,
    OwnersSource,
    Person,
    Role,
    RoleSource,
    Standing,
    Team,
    TeamSource,
    TriState,
    UserSource,
)
from lifecycle.policy import (
    AccessRule,
    BrokenPolicy,
    ConfigurationProblem,
    GuardrailFunction,
    MergeMethod,
    Mode,
    PathAccess,
    Policy,
    RenderMode,
    Root,
    ShownStage,
    UpdateMode,
    UpstreamAccess,
    configuring,
    united,
)
from tests.choices import built

LABELS = GuardrailFunction(image="set-labels:v0.2", config_map={"owner": "network"})
SCHEMA = GuardrailFunction(image="kubeconform:v0.1")
GOOD = Policy(
    mutators=(LABELS,),
    validators=(SCHEMA,),
    approve=AccessRule(2, (RoleSource(Role.WRITE), UserSource("ann"))),
)

JUDGING: dict[str, Policy] = {
    "another mutator": replace(GOOD, mutators=(replace(LABELS, image="set-labels:v0.3"),)),
    "another parameter": replace(GOOD, mutators=(replace(LABELS, config_map={"owner": "x"}),)),
    "no parameters are not an empty set of them": replace(
        GOOD, mutators=(replace(LABELS, config_map={}),)
    ),
    "parameters from a file": replace(GOOD, validators=(replace(SCHEMA, config_path="c.yaml"),)),
    "a validator that only warns": replace(GOOD, validators=(replace(SCHEMA, mode=Mode.WARN),)),
    "one validator less": replace(GOOD, validators=()),
    "a mutator made a validator": replace(GOOD, mutators=(), validators=(LABELS, SCHEMA)),
    "another order": replace(GOOD, validators=(SCHEMA, LABELS)),
    "fewer approvals": replace(GOOD, approve=replace(GOOD.approve, require=1)),
    "other approvers": replace(GOOD, approve=replace(GOOD.approve, sources=(UserSource("ann"),))),
    "self-approval": replace(GOOD, approve=replace(GOOD.approve, self_allowed=True)),
}

NOT_JUDGING: dict[str, Policy] = {
    "roots": replace(GOOD, roots=(Root("packages", "main"),)),
    "render": replace(GOOD, render=RenderMode.CHECK),
    "merge": replace(GOOD, merge=MergeMethod.SQUASH),
    "a word for people": replace(GOOD, validators=(replace(SCHEMA, fix="see the handbook"),)),
    "the name of a step": replace(GOOD, validators=(replace(SCHEMA, name="schema"),)),
    "the order of the approvers": replace(
        GOOD, approve=replace(GOOD.approve, sources=(UserSource("Ann"), RoleSource(Role.WRITE)))
    ),
}


@pytest.mark.parametrize("changed", JUDGING.values(), ids=JUDGING)
def test_what_can_change_a_verdict_changes_the_digest(changed: Policy) -> None:
    """Short-cut refused: a digest of the images alone."""
    assert changed.digest != replace(GOOD, mutators=(LABELS,)).digest


@pytest.mark.parametrize("changed", NOT_JUDGING.values(), ids=NOT_JUDGING)
def test_what_judges_nothing_leaves_approvals_alone(changed: Policy) -> None:
    """Short-cut refused: a digest of the whole file."""
    assert changed.digest == GOOD.digest


def test_the_digest_is_the_same_in_every_process() -> None:
    """Short-cut refused: Python's own `hash`, which differs from run to run."""
    assert Policy().digest == "3399904a52fc2e614fde0d14c4de3a95ce62ca8b42a4286676f9a68ead014a0a"


def test_without_a_file_one_person_with_write_access_who_is_no_author_approves() -> None:
    assert Policy() == Policy(
        version=1,
        roots=(),
        render=RenderMode.COMMIT,
        mutators=(),
        validators=(),
        approve=AccessRule(1, (RoleSource(Role.WRITE),), self_allowed=False),
        merge=MergeMethod.MERGE,
    )


INSIDE: dict[str, tuple[Root, str, bool]] = {
    "everything lies in the whole repository": (Root(), "net/core", True),
    "the root package too": (Root(), "", True),
    "a folder below": (Root("packages"), "packages/net", True),
    "the folder itself": (Root("packages"), "packages", True),
    "a name that only begins alike": (Root("packages"), "packages-old/net", False),
    "a folder beside": (Root("packages"), "net", False),
    "the root package lies in no folder": (Root("packages"), "", False),
}


@pytest.mark.parametrize(("root", "path", "expected"), INSIDE.values(), ids=INSIDE)
def test_roots(root: Root, path: str, expected: bool) -> None:
    assert root.holds(path) is expected


def test_a_problem_says_where_what_and_what_to_do() -> None:
    problem = ConfigurationProblem(
        Place(".porchbot.yaml", 3, "render"), "'yes' is not a render mode", "Write commit or check"
    )

    assert str(problem) == (
        ".porchbot.yaml:3, render: 'yes' is not a render mode. Write commit or check."
    )
    assert BrokenPolicy((problem,)).problems == (problem,)


FOLDERS, UPSTREAMS = ("net", "net/core", "net/core/a"), ("x/", "x/y")
SOURCES = (
    RoleSource(Role.READ), RoleSource(Role.WRITE), RoleSource(Role.ADMIN), UserSource("ann"),
    TeamSource("leads"), OwnersSource(), AuthorSource(), AppSource("renovate"),
)  # fmt: skip
RULE = built(
    AccessRule,
    require=range(3),
    sources=[*((each,) for each in SOURCES), *product(SOURCES, repeat=2)],
    self_allowed=[False, True],
    automatic=[(), (AppSource("renovate"),)],
)
RULES = st.dictionaries(st.sampled_from(AccessAction), RULE, max_size=3)
POLICY = st.builds(
    Policy,
    approve=RULE,
    configure=st.none() | RULE,
    access=RULES,
    paths=st.dictionaries(st.sampled_from(FOLDERS), RULES, max_size=2).map(
        lambda found: tuple(PathAccess(*each) for each in found.items())
    ),
    upstreams=st.dictionaries(st.sampled_from(UPSTREAMS), RULES, max_size=2).map(
        lambda found: tuple(UpstreamAccess(*each) for each in found.items())
    ),
)
PEOPLE = [
    Standing(
        person=Person(1, login, bot=login.endswith("]")), role=role, author=mark, owner=owner,
        teams={"leads": Team(frozenset({"ann"} if mark else {"bob"}))},
    )
    for login, role, mark, owner in product(
        ("ann", "bob", "renovate[bot]"), (Role.READ, Role.WRITE, Role.ADMIN), (True, False),
        (TriState.YES, TriState.NO),
    )
]  # fmt: skip


def meant(rule: AccessRule) -> set[int]:
    """Whom a rule names, by their place in `PEOPLE`."""
    return {
        place
        for place, who in enumerate(PEOPLE)
        if any(source.covers(who) is TriState.YES for source in rule.sources)
    }


@settings(max_examples=60, deadline=None)
@given(
    above=POLICY,
    own=POLICY,
    action=st.sampled_from(AccessAction),
    package=st.sampled_from(("", "net", "net/core", "net/core/a/b", "apps")),
    upstream=st.sampled_from(("", "x/y", "x/z")),
)
def test_no_rule_of_a_union_is_weaker_than_either_configuration(
    above: Policy, own: Policy, action: AccessAction, package: str, upstream: str
) -> None:
    """Short-cut refused: one table made of both, place by place.

    A rule that only the branch's own file writes, further out or beside, is then found before what
    the default branch's file comes to at that package.
    """
    found = united(above, own).rule(action, package, upstream)

    for each in (above.rule(action, package, upstream), own.rule(action, package, upstream)):
        assert found.require >= each.require
        assert found.self_allowed <= each.self_allowed
        assert set(found.automatic) <= set(each.automatic)
        assert meant(found) <= meant(each)
    rules, mine = (configuring(p).rule(AccessAction.APPROVE) for p in (united(above, own), above))
    assert rules.require >= mine.require >= 1
    assert meant(rules) <= meant(mine)


LEADS = AccessRule(2, (TeamSource("net-leads"),))
ANYBODY = AccessRule(1, (RoleSource(Role.READ),))


@pytest.mark.parametrize("action", [AccessAction.DELETE, AccessAction.OVERRIDE])
def test_what_follows_from_a_folders_rule_is_not_overruled_from_the_top(
    action: AccessAction,
) -> None:
    """Short-cut refused: the union of both top-level tables, found before what `net` implies."""
    above = Policy(paths=(PathAccess("net", {AccessAction.APPROVE: LEADS}),))

    both = united(above, Policy(access={action: ANYBODY}))

    assert both.rule(action, "net/core").require == 2
    assert both.rule(action, "net/core").sources[0].spelling == "role:read and team:net-leads"


ACTING: dict[str, tuple[Policy, Policy]] = {
    "labels of another bot": (
        Policy(labels={ShownStage.DRAFT: "ok-to-deploy"}), Policy()
    ),
    "labels at all": (Policy(), Policy(labels={})),
    "releases": (Policy(release=True), Policy()),
    "renderings committed": (Policy(), Policy(render=RenderMode.CHECK)),
    "merges of the base, unasked": (Policy(update=UpdateMode.AUTO), Policy()),
    "merges without being asked": (Policy(), Policy(auto_merge=False)),
    "commands": (Policy(aliases={"nack": "reject"}), Policy()),
}  # fmt: skip


@pytest.mark.parametrize(("own", "above"), ACTING.values(), ids=ACTING)
def test_a_branchs_own_file_lets_the_bot_do_nothing_more(own: Policy, above: Policy) -> None:
    """Short-cut refused: what the bot does unasked is the word of whoever makes the branch."""
    both = united(above, own)

    acting = [
        (p.labels, p.release, p.render, p.update, p.auto_merge, p.aliases) for p in (both, above)
    ]
    assert acting[0] == acting[1]


def test_the_digest_of_a_union_tells_who_approves_by_either() -> None:
    """Short-cut refused: the digest of the branch's own rules: the other's change is not seen."""
    above, own = Policy(), Policy(approve=LEADS)
    stricter = replace(above, paths=(PathAccess("net", {AccessAction.APPROVE: LEADS}),))

    assert united(above, own).digest != united(stricter, own).digest
    assert united(above, own).digest != united(replace(above, approve=LEADS), own).digest
    assert united(above, own).digest == united(replace(above, release=True), own).digest
