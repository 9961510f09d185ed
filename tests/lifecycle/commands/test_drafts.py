"""What a look works out of commands that make drafts, and what the handlers make of it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cadlib.kptfile.values import GitRef
from lifecycle import memory
from lifecycle.access import AccessAction, UserSource
from lifecycle.actions import OpenProposal, PushDraft, Reply
from lifecycle.commands import answers
from lifecycle.commands.asked import updated
from lifecycle.commands.draft_grammar import Assignment, FieldValue, Pairs, UpgradeTarget
from lifecycle.commands.grammar import RevisionName, RevisionTarget, TakenArgument, WrongArgument
from lifecycle.commands.handlers.drafts import EvalCommand, SetCommand
from lifecycle.commands.parse import parse
from lifecycle.facts.drafts import DraftKind, DraftRequest, DraftState, DraftWait, token
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.update import PackageMerge, UpdateConflict
from lifecycle.facts.upgrades import Upgrade, Upgrades
from lifecycle.facts.whole import Whole
from lifecycle.ledger import ProposedState
from lifecycle.messages.drafts import retitled, waiting_list
from lifecycle.names import Sha
from lifecycle.policy import AccessRule, PathAccess, Policy, UpstreamAccess
from tests.lifecycle.samples import (
    APPROVER,
    AUTHOR,
    BASE,
    CORE,
    NOW,
    OUTSIDER,
    PROPOSAL,
    changed,
    facts,
    said,
)

SEVERAL = "Upgrade net/a and 1 more package to several revisions"
NEW = DraftRequest(kind=DraftKind.INIT, package="net/new")


def asked(person: object, body: str, policy: Policy | None = None) -> Proposal:
    """A proposal on which somebody asks for something."""
    made = changed(PROPOSAL, comments=(said(person, body, minutes=2),))  # type: ignore[arg-type]
    return changed(made, whole=Whole(policy=policy or Policy(), packages=frozenset({"net/core"})))


def state(request: DraftRequest, **given: object) -> DraftState:
    """What a request comes to where nothing is in the way."""
    there = ProposedState(branch="drafts/net/new/init")
    made = DraftState(request=request, base_ref="main", there=there, start=BASE)
    return replace(made, **given)  # type: ignore[arg-type]


def test_what_strangers_ask_for_is_not_worked_out() -> None:
    """The short-cut leaves the right to the handler: functions have run for anybody by then."""
    for person, expected in ((AUTHOR, [replace(NEW, asker=AUTHOR)]), (OUTSIDER, [])):
        p = asked(person, "/init net/new")
        assert [*answers.drafts(facts(p), p, memory.read(p))] == expected


def test_what_one_person_may_read_is_no_answer_to_another() -> None:
    """Short-cuts refused: who asks first is asked for his right to read the upstream, and that
    counts for all who ask for the same; each is told apart, though for both one thing waits."""
    clone = DraftRequest(kind=DraftKind.CLONE, package="net/new", upstream="acme/base/x@v1")
    p = asked(APPROVER, "/clone acme/base/x@v1 net/new")
    (first,) = p.talk.said
    again = replace(first, id=first.id + 1, at=first.at + timedelta(minutes=1))
    other = replace(again, id=first.id + 2, author=AUTHOR)
    p = replace(p, talk=replace(p.talk, comments=(first, again, other)))
    theirs, his = replace(clone, asker=APPROVER), replace(clone, asker=AUTHOR)
    found = answers.drafts(facts(p), p, memory.read(p))
    assert [*found.items()] == [(theirs, first.at), (his, first.at + timedelta(minutes=1))]

    gone = PackageMerge(problem="acme/base does not exist, or may not be read. Check the address")
    made = PackageMerge(files={"net/new/Kptfile": None})
    p = changed(p, drafts={theirs: state(theirs, made=gone), his: state(his, made=made)})
    did = answers.answer(facts(p), p, memory.read(p)).actions
    told = [each.body for each in did if isinstance(each, Reply)]
    assert len(told) == 2
    assert all("@approver `/clone` refused: acme/base does not exist" in each for each in told)
    assert [each.asker for each in did if isinstance(each, PushDraft)] == ["author (1)"]

    wait = DraftWait(since=NOW, again=NOW, tries=1)
    later = replace(wait, since=NOW + timedelta(minutes=1))
    p = changed(p, drafts={theirs: state(theirs, waits=wait), his: state(his, waits=later)})
    assert waiting_list(p).count("waits, since ") == 1
    assert token(1, theirs) == token(1, his) == token(1, clone)  # as older versions wrote it


def test_what_cannot_be_made_names_its_package_where_there_are_several() -> None:
    """The short-cut: "the package has no upstream", below commands for two of them."""
    problem = "the package has no upstream. Clone a package with `/clone`"
    edge = replace(CORE, package="net/edge")
    for touched, named in (((CORE, edge), "net/edge: "), ((edge,), "")):
        p = changed(asked(AUTHOR, "/upgrade net/edge"), touched=touched)
        (wanted,) = answers.drafts(facts(p), p, memory.read(p))
        p = changed(p, drafts={wanted: state(wanted, made=PackageMerge(problem=problem))})
        did = answers.answer(facts(p), p, memory.read(p)).actions
        (told,) = [each.body for each in did if isinstance(each, Reply)]
        assert told == (
            f"@author `/upgrade` refused: {named}{problem}. Then comment `/upgrade` again."
        )


@pytest.mark.parametrize(
    ("kind", "version", "shown", "title"),
    [
        ("upgrade", "v3", "Upgrade net/a and 1 more package to v2", SEVERAL),
        ("upgrade", "v2", "Upgrade net/a and 1 more package to v2", ""),
        ("upgrade", "v3", SEVERAL, ""),
        ("rebase", "v1", "Upgrade net/a and 1 more package to the newest upstream", SEVERAL),
        ("upgrade", "v3", "Upgrade net/a to v2", "Upgrade net/a to v3"),
        ("upgrade", "v3", "My own words to v2", ""),
        ("rebase", "v1", "Upgrade net/a to v2", ""),
    ],
)
def test_a_title_says_what_the_draft_holds_by_now(
    kind: str, version: str, shown: str, title: str
) -> None:
    """The short-cut knows its own title alone: several "to v2", of which one is at v3 by now."""
    wanted = DraftRequest(kind=DraftKind(kind), package="net/a", upstream="acme/x//y@v1")
    assert retitled(state(wanted, version=version), shown) == title


def test_an_option_of_a_few_words_takes_no_other() -> None:
    """The short-cut asks whoever makes the draft: one that is there already takes any word."""
    choices = "`resource-merge`, `fast-forward`, `force-delete-replace`, `copy-merge`"
    for word in ("upgrade net/core", "clone acme/base/x@v1 net/new"):
        name = word.split()[0]
        (problem,) = parse(f"/{word} --strategy nonsense").problems
        assert problem.text() == f"`/{name}` takes one of these behind `--strategy`: {choices}"
        assert not parse(f"/{word} --strategy copy-merge").problems


def test_the_branch_of_a_fork_is_not_written_to() -> None:
    """The short-cut goes by the name of the branch: one here may have the same."""
    p = asked(APPROVER, "/set spec.replicas=3")
    assert answers.drafts(facts(p), p, memory.read(p))
    assert not answers.drafts(facts(p, same_repository=False), p, memory.read(p))


def test_the_rule_of_an_upstream_counts() -> None:
    """The short-cut asks the rule of the repository alone."""
    only = AccessRule(sources=(UserSource("somebody"),))
    theirs = UpstreamAccess("github.com/acme/*", {AccessAction.CLONE: only})
    request = DraftRequest(kind=DraftKind.CLONE, package="net/new", upstream="acme/base/x@v1")
    for location, refused in (("github.com/acme/base", True), ("github.com/other/base", False)):
        p = asked(APPROVER, "/clone acme/base/x@v1 net/new", Policy(upstreams=(theirs,)))
        files = PackageMerge(files={"net/new/Kptfile": None})
        found = state(request, upstream=location, made=files)
        p = changed(p, drafts={replace(request, asker=APPROVER): found})
        did = answers.answer(facts(p), p, memory.read(p)).actions
        told = [each.body for each in did if isinstance(each, Reply)]
        assert bool(told and "`/clone` refused" in told[0]) is refused
        assert any(isinstance(each, PushDraft) for each in did) is not refused


def test_what_is_pushed_already_is_only_opened() -> None:
    """Short-cuts refused: pushed again, so that the branch moves at each look until the forge shows
    it; what was pushed for another command, whose draft people closed, is opened as it is, so that
    nobody can tell whether this command's was opened as well."""
    p = asked(AUTHOR, "/init net/new")
    (comment,) = p.talk.said
    files = PackageMerge(files={"net/new/Kptfile": None})
    for number, pushes in ((0, True), (comment.id - 1, True), (comment.id, False)):
        new, done = replace(NEW, asker=AUTHOR), frozenset({token(number, NEW)} if number else ())
        branch = ProposedState(branch="drafts/net/new/init", done=done)
        found = state(NEW, there=branch, made=files, pushed=number > 0)
        there = changed(p, drafts={new: found})
        did = answers.answer(facts(there), there, memory.read(there)).actions
        assert [type(each) for each in did] == [PushDraft] * pushes + [OpenProposal]


TARGETS = {
    "": (None, 0),
    "latest": (None, 0),
    "v3": (None, 3),
    "net/core": ("net/core", 0),
    "net/core latest": ("net/core", 0),
    "net/core@v3": ("net/core", 3),
    "net/core v3": ("net/core", 3),
    "./net/core/ v3": ("net/core", 3),
    "`net/core` `v3`": ("net/core", 3),
}


@pytest.mark.parametrize("text", TARGETS)
def test_what_to_upgrade_is_read(text: str) -> None:
    """The short-cut takes the first word for a package: "v3" is none."""
    assert UpgradeTarget("t").take(text) == TakenArgument(RevisionTarget(*TARGETS[text]), "")


REVISIONS = {
    "net/core@v3 slow": (RevisionTarget("net/core", 3), "slow"),
    "net/core/v3 slow": (RevisionTarget("net/core", 3), "slow"),
    "net/core v3 slow": (RevisionTarget("net/core", 3), "slow"),
    "net/core@v2 v3 is slow": (RevisionTarget("net/core", 2), "v3 is slow"),
    "v3 v2 is better": (RevisionTarget(None, 3), "v2 is better"),
    "./net/core/ v3": (RevisionTarget("net/core", 3), ""),
    "`net/core@v3` `slow`": (RevisionTarget("net/core", 3), "`slow`"),
}


@pytest.mark.parametrize("text", REVISIONS)
def test_a_revision_is_read_behind_its_package(text: str) -> None:
    """Short-cuts refused: the number is a reason, and nobody says of which revision."""
    assert RevisionName("t").take(text) == TakenArgument(*REVISIONS[text])
    assert RevisionName("t", whole=True).take(text) == TakenArgument(*REVISIONS[text])


def test_a_package_alone_is_no_revision() -> None:
    """The short-cut takes it for revision 0."""
    assert isinstance(RevisionName("t").take("net/core slow"), WrongArgument)
    alone = RevisionName("t", whole=True).take("net/core v3x")
    assert alone == TakenArgument(RevisionTarget("net/core", 0), "v3x")


def test_what_is_no_target_is_told() -> None:
    """The short-cut lets `..` through, or leaves a third word unread."""
    for text in ("../x", "net/.git/x", "net/core vX", "a//b"):
        assert isinstance(UpgradeTarget("t").take(text), WrongArgument), text
    assert UpgradeTarget("t").take("net/core v3 now") == TakenArgument(
        RevisionTarget("net/core", 3), "now"
    )


ASSIGNMENTS = {
    "spec.replicas=3": FieldValue("", "spec.replicas", "3"),
    "image=shop:v2=x": FieldValue("", "image", "shop:v2=x"),
    "Deployment/shop spec.replicas = 3": FieldValue("Deployment/shop", "spec.replicas", "3"),
    "spec.containers[name=app].image=x:v1": FieldValue(
        "", "spec.containers[name=app].image", "x:v1"
    ),
    'metadata.annotations["a b/c"]=d e': FieldValue("", 'metadata.annotations["a b/c"]', "d e"),
    "note=": FieldValue("", "note", ""),
}


@pytest.mark.parametrize("text", ASSIGNMENTS)
def test_a_field_and_its_value_are_read(text: str) -> None:
    """The short-cut splits at the first equals sign, or at each blank."""
    assert Assignment("c").take(text) == TakenArgument(ASSIGNMENTS[text], "")


@pytest.mark.parametrize("text", ["", "=3", "spec replicas=3", "Deployment/shop"])
def test_what_is_no_assignment_is_told(text: str) -> None:
    """The short-cut sets a field with a blank in its name."""
    assert isinstance(Assignment("c").take(text), WrongArgument)


OPTIONS: dict[str, SetCommand | EvalCommand] = {
    # options in front, or at the end of the line
    "/set --package shop --propose a=b": SetCommand("shop", True, FieldValue("", "a", "b")),
    "/set --package=shop a=b": SetCommand("shop", False, FieldValue("", "a", "b")),
    "/set a=b --propose": SetCommand("", True, FieldValue("", "a", "b")),
    "/set a=b --propose --package shop": SetCommand("shop", True, FieldValue("", "a", "b")),
    # and what stands in a value
    "/set a=git push --propose now": SetCommand(
        "", False, FieldValue("", "a", "git push --propose now")
    ),
    "/set a=x --package y z": SetCommand("", False, FieldValue("", "a", "x --package y z")),
    "/eval f a='x --propose y'": EvalCommand("", False, "f", (("a", "x --propose y"),)),
    "/eval f a=b --propose": EvalCommand("", True, "f", (("a", "b"),)),
}


@pytest.mark.parametrize("text", OPTIONS)
def test_an_option_inside_a_value_is_a_part_of_it(text: str) -> None:
    """The short-cut takes the first word that looks like one, wherever it stands."""
    assert parse(text).commands == (OPTIONS[text],)


def test_what_was_pushed_for_this_very_command_is_not_made_again() -> None:
    """The short-cut compares trees: a function that is not the same twice has run twice."""
    p = asked(AUTHOR, "/eval --package net/edge f")
    (comment,) = p.talk.said
    (request,) = answers.drafts(facts(p), p, memory.read(p))
    found = state(
        request,
        there=ProposedState(
            branch="drafts/net/edge/eval",
            tip="d" * 40,
            done=frozenset({token(comment.id, request)}),
        ),
        made=PackageMerge(problem="the function failed now"),
    )
    p = changed(p, drafts={request: found})
    done = answers.answer(facts(p), p, memory.read(p)).actions
    assert [type(each) for each in done] == [OpenProposal]


def test_a_conflict_is_not_resolved_by_a_number_that_may_be_another() -> None:
    """The short-cut counts on: what could not be read has no conflicts, so all others move up."""
    conflict = UpdateConflict(path="a", resource="", field="b", base="", ours="", theirs="")
    older = Upgrade(package="net/core", commit=BASE, before="x", upstream=GitRef(), unread=True)
    newer = Upgrade(
        package="net/core", commit=BASE, before="y", upstream=GitRef(), conflicts=(conflict,)
    )
    p = replace(asked(APPROVER, "/resolve 1 local"), upgrades=Upgrades(found=(older, newer)))
    assert not answers.drafts(facts(p), p, memory.read(p))
    (reply,) = [
        each
        for each in answers.answer(facts(p), p, memory.read(p)).actions
        if isinstance(each, Reply)
    ]
    assert reply.body == (
        "@approver `/resolve` refused: the upstream of another upgrade here cannot be read, so"
        " the bot cannot tell which conflict has that number. Comment `/check` once it can be"
        " read, or edit the file and push it."
    )
    p = replace(p, upgrades=Upgrades(found=(newer, older)))
    assert answers.drafts(facts(p), p, memory.read(p))


def test_pairs_are_read_with_quotes() -> None:
    """The short-cut splits at blanks: a value in quotes becomes two."""
    assert Pairs("p").take("a=b 'c=d e'") == TakenArgument((("a", "b"), ("c", "d e")), "")
    for text in ("a", "=b", "a=1 a=2", "a='b"):
        assert isinstance(Pairs("p").take(text), WrongArgument), text


def test_a_draft_that_the_forge_shows_late_is_waited_for() -> None:
    """The short-cut answers, and then pushes to a head that it does not know."""
    request = DraftRequest(
        kind=DraftKind.SET, package="net/core", field="spec.a", value="1", on_draft=True
    )
    request = replace(request, asker=AUTHOR)
    p = asked(AUTHOR, "/set spec.a=1")
    files = PackageMerge(files={"net/core/a.yaml": None})
    p = changed(p, drafts={request: state(request, made=files)})
    late = answers.answer(facts(p, head=Sha("e" * 40)), p, memory.read(p)).actions
    assert not [each for each in late if isinstance(each, PushDraft | Reply)]


def test_another_upstream_is_asked_of_the_whole_repository() -> None:
    """The short-cut reads the rules of upstreams once nobody asks for their teams any more."""
    for body, whole in (("/rebase onto acme/base/x@v1", True), ("/rebase", False)):
        p = asked(AUTHOR, body)
        assert answers.about_repository(p, memory.read(p)) is whole


def test_a_draft_that_changes_nothing_yet_is_held_to_the_rules_of_its_package() -> None:
    """The short-cut holds it to the rules of what it changes: those of no folder."""
    only = {AccessAction.DRAFT: AccessRule(sources=(UserSource("somebody"),))}
    for folder, wanted in (("net", 0), ("apps", 1)):
        policy = Policy(paths=(PathAccess(folder, only),))
        p = asked(APPROVER, "/rebase onto acme/base/x@v1", policy)
        content = replace(p.content, touched=(), drafted="net/core")
        p = replace(p, content=content, rules=replace(p.rules, policy=policy))
        found = answers.drafts(facts(p), p, memory.read(p))
        assert [each.package for each in found] == ["net/core"] * wanted


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        ("/why", "What each pull request waits for is listed above; for all of its gates, comment"),
        (
            "/deprecate net/core@v1 old",
            "Comment it on any pull request, also on one that is merged",
        ),
        ("/delete net/core@v1", "Comment it on any pull request, also on one that is merged"),
        ("/approve", "Comment it on the pull request. Here you can use"),
    ],
)
def test_what_is_not_for_the_dashboard_is_told_where_it_is(said: str, instead: str) -> None:
    """The short-cut sends everything to "the pull request", of which `/deprecate` has none."""
    p = asked(APPROVER, said, Policy())
    p = replace(p, place=replace(p.place, issue=True, closed=True))

    (told,) = [
        each
        for each in answers.answer(facts(p), p, memory.read(p)).actions
        if isinstance(each, Reply)
    ]

    assert f"this is the dashboard. {instead}" in told.body
    assert "Here you can use" in told.body


def test_a_package_is_rebased_from_the_dashboard_by_who_may_change_it() -> None:
    """The short-cut asks for the right to the repository, which an issue is about."""
    only = {AccessAction.DRAFT: AccessRule(sources=(UserSource("somebody"),))}
    for person, folder, found in (
        (APPROVER, "net", ()),
        (APPROVER, "apps", ("net/core",)),
        (OUTSIDER, "apps", ()),
    ):
        policy = Policy(paths=(PathAccess(folder, only),))
        p = asked(person, "/rebase net/core", policy)
        issue = replace(p.place, issue=True, closed=True)
        p = replace(p, place=issue, content=replace(p.content, touched=()))
        assert updated(facts(p), p, memory.read(p)) == found
        told = answers.answer(facts(p), p, memory.read(p)).actions
        refused = [each for each in told if isinstance(each, Reply) and "refused" in each.body]
        assert bool(refused) is not bool(found)
