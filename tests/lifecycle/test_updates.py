"""Tests of `/rebase`: when a merge of the base is pushed, and what is told where it is not."""

from dataclasses import replace
from typing import Any

import pytest

from lifecycle import actions as a
from lifecycle import memory
from lifecycle.access import Role
from lifecycle.decide import decide
from lifecycle.facts.commits import PushRefusal
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.update import BaseUpdate, UpdateConflict
from lifecycle.facts.verdicts import Verdict
from lifecycle.gates import judge
from lifecycle.merges import Effect
from lifecycle.policy import Policy, RenderMode, Root, UpdateMode
from tests.lifecycle.samples import AUTHOR, CORE, PROPOSAL, ROLES, changed, facts, said

CLASH = UpdateConflict(
    path="net/core/web.yaml",
    resource="apps/v1/Deployment/web",
    field="spec.replicas",
    base="1",
    ours="<3>",
    theirs="2",
    reason="changed on both sides",
)
MERGES, CLASHES = BaseUpdate(behind=True), BaseUpdate(behind=True, conflicts=(CLASH,))
OUTDATED = changed(PROPOSAL, touched=(replace(CORE, base="9" * 40),))
ITSELF = changed(OUTDATED, policy=Policy(update=UpdateMode.AUTO))
REFUSED = PushRefusal("no merges here", 1 << 40)

CASES: dict[str, tuple[Proposal, BaseUpdate | None, bool, dict[str, Any], bool, str]] = {
    "asked": (OUTDATED, MERGES, True, {}, True, "into this branch"),
    "not asked": (OUTDATED, MERGES, False, {}, False, ""),
    "unasked where the base says so": (ITSELF, MERGES, False, {}, True, ""),
    "unasked and refused before": (
        ITSELF, MERGES, False, {"push_refused": PushRefusal("no", 0)}, False, "",
    ),
    "unasked on a branch of any name": (ITSELF, MERGES, False, {"head_ref": "x"}, False, ""),
    "conflicts, unasked": (ITSELF, CLASHES, False, {}, False, "here `<3>`, in `main` `2`"),
    "conflicts": (OUTDATED, CLASHES, True, {}, False, "`spec.replicas`: was `1`, here `<3>`"),
    "nothing to do": (PROPOSAL, BaseUpdate(), True, {}, False, "Already up to date"),
    "a fork": (OUTDATED, None, True, {"same_repository": False}, False, "is in a fork"),
    "published from": (OUTDATED, MERGES, True, {"head_ref": "main"}, False, "published from"),
    "in a fork, with read access": (
        OUTDATED, None, True, {"same_repository": False, "role": Role.READ}, False, "is in a fork",
    ),
    "with read access": (
        OUTDATED, MERGES, True, {"role": Role.READ}, False,
        "only people with write access can do this; you have",
    ),
    "forbidden": (OUTDATED, MERGES, True, {"push_refused": REFUSED}, False, "no merges here"),
    "related to nothing": (
        OUTDATED, BaseUpdate(behind=True, problem="no *history*"), True, {}, False,
        r"no \*history\*",
    ),
}  # fmt: skip


def asked_for(proposal: Proposal) -> Proposal:
    """The proposal with a comment of its author."""
    return changed(proposal, comments=(said(AUTHOR, "/rebase", 100),))


@pytest.mark.parametrize("case", CASES)
def test_when_it_is_pushed(case: str) -> None:
    """Fails where a command alone is enough, or where a conflict is settled for somebody."""
    proposal, update, asked, given, pushed, told = CASES[case]
    proposal = changed(proposal, update=update)
    given = dict(given)
    roles = {**proposal.people.roles, AUTHOR.login: given.pop("role", Role.WRITE)}
    proposal = changed(proposal, roles=roles)
    proposal = asked_for(proposal) if asked else proposal
    found = decide(facts(proposal, **given))
    pushes = [each for each in found if isinstance(each, a.PushUpdate)]
    assert bool(pushes) == pushed
    assert told in "".join(each.body for each in found if isinstance(each, a.Reply | a.Say))
    for each in pushes:
        assert (each.head, each.base) == (proposal.place.head, proposal.place.base)
        assert each is found[0]  # before its answer: what was not done is found again


PUSHING = ("/rebase", "/render")
ELSEWHERE = Policy(roots=(Root("net", "release"),))
READER = {**ROLES, "author": Role.READ}


def pushed_after(word: str, proposal: Proposal, **given: Any) -> tuple[bool, str]:
    """Whether a command of the author has anything pushed, and what is answered."""
    verdict = Verdict(package="net/core", changes={"net/core/a.yaml": b"a"})
    proposal = changed(proposal, comments=(said(AUTHOR, word, 100),))
    found = decide(facts(changed(proposal, update=MERGES, verdicts=(verdict,)), **given))
    pushes = any(isinstance(each, a.PushUpdate | a.PushRender) for each in found)
    return pushes, "".join(each.body for each in found if isinstance(each, a.Reply))


@pytest.mark.parametrize("word", PUSHING)
def test_an_author_who_can_only_read_has_nothing_pushed(word: str) -> None:
    """Short-cut refused: the right of `/propose` for what pushes, too.

    In an organization whoever can read proposes any branch of the repository, and is the author
    then; and write access can be taken from who wrote it.
    """
    mine = changed(changed(OUTDATED, policy=Policy(render=RenderMode.CHECK)), roles=READER)

    pushed, told = pushed_after(word, mine, head_ref="production")

    assert not pushed
    assert "only people with write access can do this; you have read access" in told


@pytest.mark.parametrize("branch", ["main", "release", "drafts/release"])
@pytest.mark.parametrize("word", PUSHING)
def test_nothing_is_pushed_to_a_branch_that_packages_are_published_from(
    word: str, branch: str
) -> None:
    """Short-cut refused: any branch of the repository, or any under `drafts/`, unreviewed."""
    policy = replace(ELSEWHERE, roots=(Root("net", branch), *ELSEWHERE.roots))

    pushed, told = pushed_after(word, changed(OUTDATED, policy=policy), head_ref=branch)

    assert not pushed
    assert f"packages are published from `{branch}`" in told


@pytest.mark.parametrize("update", [UpdateMode.AUTO, UpdateMode.MANUAL])
def test_a_branch_like_a_draft_that_is_published_from_is_left_alone(update: UpdateMode) -> None:
    """Short-cut refused: whatever lies under `drafts/` is rendered, merged into and deleted."""
    policy = Policy(roots=(Root("net", "drafts/net"),), update=update)
    merged = changed(PROPOSAL, merged=True, closed=True, policy=policy)

    pushed, _ = pushed_after("so", changed(OUTDATED, policy=policy), head_ref="drafts/net")

    assert not pushed
    assert not facts(merged, head_ref="drafts/net").is_draft_branch


def test_a_draft_that_is_proposed_to_two_bases_gets_neither_unasked() -> None:
    """Short-cut refused: the first that wants it, so that whoever proposes it elsewhere decides."""
    other = changed(ITSELF, update=MERGES, number=8, base_ref="release")
    mine = changed(ITSELF, update=MERGES)

    both = decide(replace(facts(mine), proposals=(mine, other)))

    assert any(isinstance(each, a.PushUpdate) for each in decide(facts(mine)))
    assert not any(isinstance(each, a.PushUpdate) for each in both)


def test_a_long_list_of_conflicts_is_cut_and_counted() -> None:
    """Fails where a hostile package fills the comment."""
    update = BaseUpdate(behind=True, conflicts=(CLASH,) * 50, more=1000)
    proposal = asked_for(changed(OUTDATED, update=update))
    replies = [each.body for each in decide(facts(proposal)) if isinstance(each, a.Reply)]
    [text] = [body for body in replies if "`/rebase` refused" in body]
    assert "1050 conflicts" in text
    assert "and 1020 more" in text
    assert text.count("spec.replicas") == 30


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "comment `/rebase`, or merge `main`"),
        ({"same_repository": False}, "merge `main` into this branch, so that"),
        ({"head_ref": "main"}, "merge `main` into this branch, so that"),
    ],
)
def test_the_command_is_named_where_it_works(given: dict[str, Any], told: str) -> None:
    """Fails where people of forks are sent to a command that refuses them."""
    found = decide(facts(OUTDATED, **given))
    texts = [each.body for each in found if isinstance(each, a.Reply | a.Say)]
    texts += [each.summary for each in found if isinstance(each, a.SetCheck)]
    assert told in "".join(texts)
    assert any("/rebase" in each for each in texts) == (not given)


@pytest.mark.parametrize("update", [MERGES, CLASHES, None])
def test_all_that_asks_for_the_base_branch_asks_for_the_same(update: BaseUpdate | None) -> None:
    """The short-cut names `/rebase` where it is known to be refused, beside what says "by hand"."""
    content = replace(OUTDATED.content, effect=Effect(conflicts=("net/core/a.yaml",)))
    p = changed(OUTDATED, update=update, content=content)
    wanted = {g.name: g.wanted for g in judge(facts(p), p, memory.read(p)).gates}
    assert wanted["merge result"] == wanted["up to date"]
    assert ("/rebase" in wanted["merge result"]) is (update is not CLASHES)
