"""What a change would do to other packages: which differences count, what runs, what is told."""

from dataclasses import replace
from typing import Any

import pytest

from cadlib.diff.values import Change, ChangeKind
from cadlib.errors import Place
from cadlib.findings import Finding, Severity
from lifecycle import gates, impact, impact_check
from lifecycle.access import AccessAction, Role, RoleSource
from lifecycle.facts.checks import IMPACT, Conclusion, Status
from lifecycle.facts.impact import Impact, PackageImpact
from lifecycle.facts.update import UpdateConflict
from lifecycle.facts.verdicts import Verdict
from lifecycle.memory import read
from lifecycle.messages import impact as texts
from lifecycle.policy import (
    AccessRule,
    GuardrailFunction,
    ImpactMode,
    MergeMethod,
    OutsideCheck,
    PathAccess,
    Policy,
    united,
)
from tests.lifecycle.samples import BASE, FACTS, PROPOSAL, changed, check, facts

SET = Change(path="a.yaml", kind=ChangeKind.CHANGED, field="spec.size", old="1", new="2")
BAD = Finding(message="no", severity=Severity.ERROR, place=Place("net/core/a.yaml", 3, "x"))
LABELS = GuardrailFunction(image="set-labels:v0.2")
BLOCKED = Policy(impact=ImpactMode.BLOCK)


def verdict(**more: Any) -> Verdict:
    return Verdict(package="net/core", **more)


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        pytest.param({}, {}, {}, id="the same"),
        pytest.param({"findings": (BAD,)}, {"findings": (BAD,)}, {}, id="fails by both"),
        pytest.param(
            {"findings": (replace(BAD, place=Place("net/core/a.yaml", 2, "x")),)},
            {"findings": (BAD,)},
            {},
            id="only the line moved",
        ),
        pytest.param(
            {"findings": (replace(BAD, fix="Ask us"),)}, {"findings": (BAD,)}, {}, id="other words"
        ),
        pytest.param({}, {"findings": (BAD,)}, {"found": 1, "fails": True}, id="fails then"),
        pytest.param({"findings": (BAD,)}, {}, {"gone": 1, "mends": True}, id="passes then"),
        pytest.param(
            {},
            {"findings": (replace(BAD, severity=Severity.INFO),)},
            {},
            id="what a function did is no finding",
        ),
        pytest.param(
            {},
            {"findings": (replace(BAD, severity=Severity.WARNING),)},
            {"found": 1, "fails": False},
            id="a warning does not fail",
        ),
        pytest.param({"rendering": (SET,)}, {"rendering": (SET,)}, {}, id="not rendered by both"),
        pytest.param({}, {"rendering": (SET,)}, {"changed": 1}, id="renders otherwise"),
        pytest.param({"rendering": (SET,)}, {}, {"changed": 1}, id="is its rendering then"),
        pytest.param({}, {"complete": False}, {"fails": True}, id="cannot be rendered then"),
        pytest.param({}, {"broken": "no runner"}, {"problem": "no runner"}, id="not run then"),
        pytest.param({"broken": "away"}, {"findings": (BAD,)}, {"problem": "away"}, id="nor now"),
    ],
)
def test_what_differs_is_told_and_not_what_is(
    before: dict[str, Any], after: dict[str, Any], wanted: dict[str, Any]
) -> None:
    """The short-cut lists what the second verdict says: every old fault is blamed on the change."""
    found = impact.by_rules(verdict(**before), verdict(**after), ())
    assert {key: getattr(found, key) for key in wanted} == wanted
    assert found.same is (not wanted)


def test_an_upgrade_is_not_told_for_its_lock() -> None:
    """Short-cut: each package that could be upgraded differs, by the commit that it names."""
    place = PackageImpact(package="net/core", upstream="net/base/v1")
    lock = replace(SET, path="Kptfile", field="upstreamLock.git.commit")
    same = impact.by_upgrade(place, verdict(), verdict(diff=(lock,)), (), 0)
    assert same.same
    other = impact.by_upgrade(place, verdict(), verdict(diff=(lock, SET)), (), 0)
    assert (other.changes, other.changed) == ((SET,), 1)
    conflict = UpdateConflict(path="net/core/a.yaml", field="spec.size")
    conflicts = impact.by_upgrade(place, verdict(), verdict(), (conflict,) * 7, 3)
    assert (len(conflicts.conflicts), conflicts.conflicting) == (5, 10)


@pytest.mark.parametrize(
    ("allow", "image", "runs"),
    [
        pytest.param((), "evil/any:v1", True, id="packages may have anything"),
        pytest.param((("ghcr.io/acme/*",),), "evil/any:v1", False, id="packages may not"),
        pytest.param((("ghcr.io/acme/*",),), "ghcr.io/acme/x:v1", True, id="packages may"),
        pytest.param((("ghcr.io/acme/*",),), "set-labels:v0.2", True, id="it runs already"),
        pytest.param((("set-labels",),), "set-labels:v0.3", True, id="a version of the catalog"),
        pytest.param((("*",), ("ghcr.io/acme/*",)), "evil/any:v1", False, id="each list counts"),
    ],
)
def test_rules_that_nobody_approved_run_what_packages_could_have(
    allow: tuple[tuple[str, ...], ...], image: str, runs: bool
) -> None:
    """Short-cuts refused: all of the changed file runs; its own `allow` says what may."""
    held = Policy(validators=(LABELS,), allow=allow)
    tried = Policy(mutators=(GuardrailFunction(image=image),), allow=(("evil/*",),))
    policy, left_out = impact.trial(held, tried)
    assert [each.image for each in policy.mutators] == ([image] if runs else [])
    assert left_out == (() if runs else (image,))
    assert set(allow) <= set(policy.allow)


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({}, False),
        ({"mutators": (replace(LABELS, fix="Ask us", name="x"),)}, False),
        ({"mutators": (replace(LABELS, config_map={"a": "b"}),)}, True),
        ({"mutators": (replace(LABELS, config={"kind": "X"}),)}, True),
        ({"mutators": (replace(LABELS, image="set-labels:v0.3"),)}, True),
        ({"validators": (LABELS,)}, True),
        ({"allow": (("a",),)}, True),
        ({"auto_merge": False}, False),
    ],
)
def test_words_for_people_are_not_tried(more: dict[str, Any], wanted: bool) -> None:
    """The short-cut compares the files: a comment has a thousand packages rendered."""
    held = Policy(mutators=(LABELS,))
    assert impact.judged_otherwise(held, replace(held, **more)) is wanted


TWO = AccessRule(require=2, sources=(RoleSource(Role.WRITE),))


@pytest.mark.parametrize(
    ("more", "published", "wanted"),
    [
        ({}, (True, True), ()),
        ({"labels": {}}, (True, True), ()),
        ({"approve": TWO}, (True, True), (texts.APPROVALS,)),
        (
            {"paths": (PathAccess("net", {AccessAction.APPROVE: TWO}),)},
            (True, True),
            (texts.APPROVALS,),
        ),
        ({"paths": (PathAccess("apps", {AccessAction.APPROVE: TWO}),)}, (True, True), ()),
        ({"checks": (OutsideCheck("e2e"),)}, (True, True), (texts.CHECKS,)),
        ({"merge": MergeMethod.SQUASH}, (True, True), (texts.METHOD,)),
        ({"auto_merge": False, "approve": TWO}, (True, True), (texts.APPROVALS, texts.BY_ITSELF)),
        ({"approve": TWO}, (True, False), (texts.NOT_PUBLISHED,)),
        ({}, (False, True), (texts.PUBLISHED,)),
    ],
)
def test_what_is_otherwise_about_a_merge(
    more: dict[str, Any], published: tuple[bool, bool], wanted: tuple[str, ...]
) -> None:
    """The short-cut tells of every package that the rules changed, whichever folder they name."""
    found = impact.merged_otherwise(
        Policy(), replace(Policy(), **more), "net/core", published=published
    )
    assert found == wanted


def tried(*packages: PackageImpact, **more: Any) -> Impact:
    begun = Impact(base_ref="main", base=BASE, rules=True, total=len(packages))
    found = replace(begun, elsewhere=sum(bool(p.repository) for p in packages))
    found = replace(found, **more)
    for each in packages:
        found = impact.add(found, each)
    return impact.ended(found)


def test_the_first_have_their_differences_and_the_rest_is_counted() -> None:
    """Short-cuts refused: a text of 1,000 packages; what fails stands behind what is harmless."""
    many = [
        PackageImpact(package=f"n{i:04}", changes=(SET,), changed=3, findings=())
        for i in range(999)
    ]
    fails = PackageImpact(package="zz", findings=(BAD,), found=2, fails=True)
    found = tried(*many, fails, PackageImpact(package="same"))
    assert len([p for p in found.packages if p.changes or p.findings]) == 11
    text = impact_check.content(found, ImpactMode.INFORM).summary
    assert impact_check.content(found, ImpactMode.INFORM).title == (
        "1000 of 1001 packages would change; 1 would fail"
    )
    assert text.index("### `zz`") < text.index("### `n0000`")
    assert text.count("### ") == 11
    assert "- and 1 more finding" in text
    assert "- `n0009`: 3 differences\n" in text
    assert "- and 960 more" in text
    assert "- 1 package would not change" in text


@pytest.mark.parametrize(
    ("one", "mode", "wanted"),
    [
        ({}, ImpactMode.BLOCK, Conclusion.SUCCESS),
        ({"changed": 1}, ImpactMode.BLOCK, Conclusion.SUCCESS),
        ({"fails": True}, ImpactMode.INFORM, Conclusion.NEUTRAL),
        ({"fails": True}, ImpactMode.BLOCK, Conclusion.FAILURE),
        ({"conflicting": 1}, ImpactMode.BLOCK, Conclusion.FAILURE),
        ({"conflicting": 1, "repository": "acme/other"}, ImpactMode.BLOCK, Conclusion.SUCCESS),
    ],
)
def test_it_informs_and_blocks_where_the_rules_say_so(
    one: dict[str, Any], mode: ImpactMode, wanted: Conclusion
) -> None:
    """Short-cut refused: what others have in their repositories keeps ours from being published."""
    found = tried(PackageImpact(package="net/core", **one))
    assert impact_check.content(found, mode).conclusion is wanted


def test_what_others_have_is_told_apart_and_blocks_nothing() -> None:
    """Short-cuts refused: one number for both, which is red for what the gate does not ask; what
    there was no time for in other repositories keeps ours from being published."""
    mine = PackageImpact(package="net/core", changed=1)
    theirs = PackageImpact(package="shop", repository="acme/open", fails=True)
    gone = replace(theirs, package="gone", fails=False, problem="away")
    found = tried(mine, theirs, gone, total=4, elsewhere=3)

    shown = impact_check.content(found, ImpactMode.BLOCK)

    assert shown.title == (
        "1 of 1 package would change; 1 of 3 packages of other repositories would change; 1 would"
        " fail; 2 not tried"
    )
    assert shown.conclusion is Conclusion.SUCCESS
    left = impact_check.content(tried(mine, theirs, total=4, elsewhere=2), ImpactMode.BLOCK)
    assert left.conclusion is Conclusion.FAILURE


def test_nothing_is_concluded_before_all_was_tried() -> None:
    """The short-cut is green at the first wave: whoever looks then merges."""
    begun = Impact(base_ref="main", base=BASE, rules=True, total=1000, tried=200)
    shown = impact_check.content(begun, ImpactMode.BLOCK)
    assert (shown.status, shown.title) == (Status.IN_PROGRESS, "Tried 200 of 1000 packages")


@pytest.mark.parametrize(
    ("line", "mode", "wanted"),
    [
        (False, ImpactMode.INFORM, 1),
        (True, ImpactMode.INFORM, 0),
        (True, ImpactMode.BLOCK, 1),
    ],
)
def test_what_only_informs_holds_up_no_pipeline(line: bool, mode: ImpactMode, wanted: int) -> None:
    """Short-cut: on GitLab a status that runs keeps people from merging, for two minutes."""
    begun = Impact(base_ref="main", base=BASE, rules=True, total=1000, tried=200)
    head = facts(PROPOSAL, line_checks=line)
    assert len(impact_check.decide(head, begun, mode)) == wanted
    assert len(impact_check.decide(head, impact.ended(begun), mode)) == 1


def test_what_comes_out_the_same_on_another_base_is_not_written_again() -> None:
    """Short-cuts refused: a check for each merge; what was shown is taken back meanwhile."""
    mode, moved = ImpactMode.INFORM, "e" * 40
    ended = impact.ended(Impact(base_ref="main", base=BASE, rules=True, total=2, tried=2))
    (written,) = impact_check.decide(facts(PROPOSAL), ended, mode)
    run = check(IMPACT, conclusion=written.conclusion, digest=written.digest)
    shown = facts(PROPOSAL, checks={IMPACT: run})

    assert impact.is_done_at(run, "main", mode, BASE)
    assert not impact.is_done_at(run, "main", mode, moved)
    assert impact.is_done_for(run, "main", mode)
    for again, wanted in (
        (replace(ended, base=moved), 0),
        (replace(ended, base=moved, tried=1, ended=False), 0),
        (replace(ended, base=moved, unseen=3), 1),
    ):
        assert len(impact_check.decide(shown, again, mode)) == wanted


def test_what_cannot_be_tried_and_who_is_not_named_is_said() -> None:
    """The short-cut says that nothing changes where nobody looked."""
    hostile = "`x` @acme <b>"
    found = tried(
        PackageImpact(package="net/core", problem=hostile),
        unseen=3,
        more=2,
        not_run=("evil/x:v1",),
        allows=True,
    )
    shown = impact_check.content(found, ImpactMode.INFORM)
    assert shown.title == "Not tried: 3 packages"
    assert "- 2 packages not tried" in shown.summary
    assert "- 3 packages in repositories that not everybody here can read" in shown.summary
    assert "not run: `evil/x:v1`" in shown.summary
    assert "only the changed `functions.allow`" in shown.summary
    assert "`x` @<!-- -->acme \\<b\\>" in shown.summary


def of(base_ref: str, mode: ImpactMode = ImpactMode.BLOCK) -> dict[str, str]:
    """What a check keeps of where its impact was worked out."""
    return {"digest": f"d.{impact.worked_out_for(base_ref, mode)}"}


DONE = {"status": Status.COMPLETED, "conclusion": Conclusion.SUCCESS, **of("main")}
FAILED = {**DONE, "conclusion": Conclusion.FAILURE}


@pytest.mark.parametrize(
    ("policy", "has", "run", "more", "wanted"),
    [
        pytest.param(Policy(), True, FAILED, {}, None, id="informs"),
        pytest.param(BLOCKED, False, None, {}, None, id="touches nobody else"),
        pytest.param(BLOCKED, True, None, {}, "waits", id="not there yet"),
        pytest.param(BLOCKED, True, {"status": Status.IN_PROGRESS}, {}, "waits", id="in waves"),
        pytest.param(BLOCKED, True, FAILED, {}, "blocked", id="breaks"),
        pytest.param(BLOCKED, True, DONE, {}, "holds", id="harmless"),
        pytest.param(BLOCKED, True, {**DONE, "ours": False}, {}, "waits", id="somebody else's"),
        pytest.param(
            BLOCKED, True, {**DONE, "digest": "observed.x"}, {}, "waits", id="only observed"
        ),
        pytest.param(BLOCKED, True, {**DONE, **of("next")}, {}, "waits", id="on another base"),
        pytest.param(
            BLOCKED, True, {**DONE, **of("main", ImpactMode.INFORM)}, {}, "waits", id="to inform"
        ),
        pytest.param(
            BLOCKED, True, {**DONE, "conclusion": Conclusion.NEUTRAL}, {}, "blocked", id="neutral"
        ),
        pytest.param(BLOCKED, True, DONE, {"same_repository": False}, "blocked", id="of a fork"),
    ],
)
def test_the_gate(
    policy: Policy, has: bool, run: dict[str, Any] | None, more: dict[str, Any], wanted: str | None
) -> None:
    """Short-cuts refused: a gate for everybody; anybody's green check of that name opens it; one
    that was worked out on another branch, or by a configuration for which nothing waits.
    """
    proposal = changed(PROPOSAL, policy=policy, has_impact=has)
    runs = {IMPACT: check(IMPACT, **run)} if run else {}
    head = facts(proposal, checks=runs, **more)
    found = [g for g in gates.judge(head, proposal, read(proposal)).gates if g.name == "impact"]
    assert [str(gate.state) for gate in found] == ([wanted] if wanted else [])


@pytest.mark.parametrize(
    ("packages", "more"),
    [
        pytest.param((PackageImpact(package="net/core", problem="slow"),), {}, id="one"),
        pytest.param((), {"more": 97}, id="too many"),
        pytest.param((), {"not_run": ("acme/x:v1",)}, id="a guardrail that may not run yet"),
    ],
)
def test_what_was_not_tried_does_not_pass(
    packages: tuple[PackageImpact, ...], more: dict[str, Any]
) -> None:
    """The short-cut counts what fails, and calls the rest harmless."""
    found = tried(*packages, **more)
    assert impact_check.content(found, ImpactMode.BLOCK).conclusion is Conclusion.FAILURE
    assert impact_check.content(found, ImpactMode.INFORM).conclusion is Conclusion.SUCCESS


def test_that_there_is_nothing_to_try_is_said() -> None:
    """The short-cut writes nothing, and what waits for it waits for ever."""
    nothing = Impact(base_ref="main", base=BASE, ended=True)
    shown = impact_check.content(nothing, ImpactMode.BLOCK)
    assert shown.title == "No other package is affected"
    unseen = impact_check.content(replace(nothing, unseen=2), ImpactMode.INFORM)
    assert unseen.title == "Not tried: 2 packages of other repositories"
    assert shown.conclusion is Conclusion.SUCCESS


def test_who_cannot_push_has_nothing_tried() -> None:
    """Short-cut: whoever opens a pull request has functions run on a thousand packages."""
    proposal = changed(PROPOSAL, configures=True)
    assert impact.concerns(facts(proposal)) == proposal
    assert impact.concerns(facts(proposal, same_repository=False)) is None
    assert impact.concerns(replace(FACTS, proposals=())) is None
    for policy in (Policy(observe=True), Policy(impact=ImpactMode.SKIP)):
        assert impact.concerns(facts(changed(proposal, policy=policy))) is None


def test_a_branch_takes_no_gate_away() -> None:
    """Short-cut: the branch's own file counts, which whoever makes the branch writes."""
    for above in ImpactMode:
        for own in ImpactMode:
            found = united(Policy(impact=above), Policy(impact=own)).impact
            assert (found is ImpactMode.BLOCK) is (ImpactMode.BLOCK in (above, own))
