"""Merge requests as the bot has them, at a forge in GitLab's dialect."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from bot.forges.gitlab import capabilities
from bot.forges.gitlab.http import Clients
from bot.forges.port import MERGED, ForgeMissingError, ForgeRefusedError
from lifecycle.access import Role
from lifecycle.actions import OpenProposal, Reaction
from lifecycle.facts.checks import PUBLISH, CheckState
from lifecycle.facts.conversation import ReviewState
from lifecycle.facts.merging import MergeObstacle
from lifecycle.names import Sha
from lifecycle.policy import MergeMethod
from tests.bot.forges.gitlab.conftest import World
from tests.gitlab_calls import session


async def test_a_merge_request_is_listed_as_it_is(world: World) -> None:
    """Short-cuts refused: the id in the place of the iid; a draft read as ready."""
    head = world.commit("change", {"net/a.yaml": "a: 2\n"})
    number = world.propose(title="Draft: A change")
    forge = world.forge()

    (found,) = await forge.proposals_of("change")

    assert (found.number, found.draft, found.open, found.head) == (number, True, True, head)
    assert (found.head_ref, found.base_ref) == ("change", "main")
    assert found.head_repository == world.repo.id
    assert (found.author.login, found.author.bot) == ("ann", False)
    assert found == await forge.proposal(number)
    assert (found,) == await forge.open_proposals() == await forge.proposals_at(head)
    assert await forge.highest_number() == number


async def test_a_label_with_a_comma_is_refused_and_nothing_is_put_on(world: World) -> None:
    """The short-cut joins names by commas: two labels come of it, and another try at each look."""
    world.commit("change", {"net/a.yaml": "a: 2\n"})
    number = world.propose()

    with pytest.raises(ForgeRefusedError, match=r"'net, draft' holds a comma\. Name it without"):
        await world.forge().set_labels(number, add=["net, draft"])

    assert world.mr(number).labels == []


async def test_opening_twice_opens_one(world: World) -> None:
    """The short-cut takes 409 for a refusal: after a lost answer nothing goes on."""
    world.commit("drafts/net/w", {"net/a.yaml": "a: 2\n"})
    wanted = OpenProposal(
        head_ref="drafts/net/w", base_ref="main", title="net", body="Text\n/close", assignee="ann"
    )

    numbers = {await world.forge().open_proposal(wanted) for _ in range(2)}

    (number,) = numbers
    made = world.mr(number)
    assert (made.title, made.draft, made.state) == ("Draft: net", True, "opened")
    assert made.assignees[0]["username"] == "ann"
    assert made.description == "Text\n&#47;close"


async def test_draft_and_ready_are_a_matter_of_the_title(world: World) -> None:
    """Short-cuts refused: a second prefix; one left behind of several."""
    world.commit("change", {"net/a.yaml": "a: 2\n"})
    number, forge = world.propose(title="Draft: [Draft] A change"), world.forge()

    for draft, title in ((False, "A change"), (True, "Draft: A change"), (True, "Draft: A change")):
        await forge.set_draft(number, draft=draft)
        assert world.mr(number).title == title


async def test_labels_of_others_stay(world: World) -> None:
    """The short-cut sends all labels: what somebody puts on meanwhile is lost."""
    world.commit("change", {"net/a.yaml": "a: 2\n"})
    number, forge = world.propose(), world.forge()
    mr = world.mr(number)
    mr.labels = ["theirs", "porchbot: draft"]
    mr.save()

    for _ in range(2):
        await forge.set_labels(number, add=["porchbot: proposed"], remove=["porchbot: draft"])

    assert set(world.mr(number).labels) == {"theirs", "porchbot: proposed"}
    assert (await forge.proposal(number)).labels == {"theirs", "porchbot: proposed"}


async def test_an_approval_counts_for_the_version_before_it(world: World) -> None:
    """The short-cut takes the head of now: what was pushed later counts as approved."""
    first = world.commit("change", {"net/a.yaml": "a: 2\n"})
    number, forge = world.propose(), world.forge()
    world.clock.move(seconds=60)
    world.mr(number, "ben").approve()
    await forge.proposal(number)
    (approved,) = (await forge.conversation(number)).reviews
    world.clock.move(seconds=60)
    second = world.commit("change", {"net/a.yaml": "a: 3\n"})
    await forge.proposal(number)

    said = await forge.conversation(number)

    assert (approved.head, approved.author.login) == (first, "ben")
    assert approved.state is ReviewState.APPROVED
    assert said.head == second
    assert [c.after for c in said.changes or ()] == [first, second]
    assert [r.head for r in said.reviews] in ([first], [])


async def test_who_marked_it_ready_and_who_asked_for_changes_is_told(world: World) -> None:
    world.commit("change", {"net/a.yaml": "a: 2\n"})
    number, forge = world.propose(title="Draft: A change"), world.forge()
    mr = world.mr(number)
    mr.title = "A change"
    mr.save()
    await forge.proposal(number)

    said = await forge.conversation(number)

    assert said.readied is not None
    assert said.readied.person.login == "ann"
    assert said.base_at is None


async def test_comments_are_told_apart_from_events(world: World) -> None:
    """Short-cuts refused: events as comments; an edit of ours that somebody else made unseen."""
    world.commit("change", {"net/a.yaml": "a: 2\n"})
    number, forge = world.propose(), world.forge()
    theirs = world.mr(number).notes.create({"body": "@porchbot check"}).id
    ours = await forge.comment(number, "Here.\n/merge\n\n> quoted")
    world.clock.move(seconds=5)
    other = await forge.comment(number, "There.")
    await forge.edit_comment(number, ours, "Here again.\n/merge")
    note = world.mr(number, "ann").notes.get(other)
    note.body = "Not what we said."
    note.save()

    said = (await forge.conversation(number)).comments

    assert [(c.id, c.ours, c.altered) for c in said] == [
        (theirs, False, False),
        (ours, True, False),
        (other, True, True),
    ]
    assert said[1].body == "Here again.\n/merge"
    assert world.mr(number).state == "opened"


async def test_a_comment_is_acknowledged_and_deleted_once(world: World) -> None:
    """The short-cut takes the 404 of an emoji that is there for a comment that is not."""
    world.commit("change", {"net/a.yaml": "a: 2\n"})
    number, forge = world.propose(), world.forge()
    note = world.mr(number).notes.create({"body": "@porchbot check"})
    ours = await forge.comment(number, "Here.")

    for reaction in (Reaction.DONE, *Reaction):
        await forge.react(number, note.id, reaction)
    for _ in range(2):
        await forge.delete_comment(number, ours)

    names = {each.name for each in world.mr(number).notes.get(note.id).awardemojis.list()}
    assert names == {"eyes", "rocket", "thumbsdown", "confused"}
    with pytest.raises(ForgeMissingError):
        await forge.react(number, 999_999, Reaction.DONE)


async def test_issues_have_numbers_of_their_own(world: World) -> None:
    """The short-cut says 1 for issue #1 and merge request !1: comments of one land on the other."""
    world.commit("change", {"net/a.yaml": "a: 2\n"})
    proposal, forge = world.propose(), world.forge()
    number = await forge.open_issue("Dashboard", "/close\nText")
    said = world.as_("ann").issues.get(1).notes.create({"body": "@porchbot freeze"}).id
    ours = await forge.comment(number, "Frozen.")
    await forge.edit_issue(number, "/close\nNew text")

    found = await forge.issue(number)

    assert (proposal, number) == (1, -1)
    assert (found.ours, found.open, found.body) == (True, True, "/close\nNew text")
    assert await forge.own_issues() == (found,)
    assert [(c.id, c.ours) for c in await forge.issue_comments(number)] == [
        (said, False),
        (ours, True),
    ]
    with pytest.raises(ForgeMissingError):
        await forge.issue(proposal)


async def test_it_is_merged_only_at_its_head(world: World) -> None:
    """Short-cuts refused: no `sha`; a second merge as a failure."""
    first = world.commit("change", {"net/a.yaml": "a: 2\n"})
    number, forge = world.propose(), world.forge()
    head = world.commit("change", {"net/a.yaml": "a: 3\n"})
    world.mr(number)

    moved = await forge.merge(number, first, MergeMethod.MERGE, "T", "M")
    merged = [await forge.merge(number, head, MergeMethod.MERGE, "T", "M") for _ in range(2)]

    assert moved.obstacle is MergeObstacle.HEAD_MOVED
    assert merged == [MERGED, MERGED]
    found = await forge.proposal(number)
    assert found.merge_commit == world.repo.branch("main")
    assert (await forge.merged_proposals("main", found.updated_at)) == (found,)
    assert (await forge.closed_proposals(found.updated_at - timedelta(days=1))) == (found,)


@pytest.mark.parametrize(
    ("settings", "title", "obstacle"),
    [
        ({}, "Draft: A", MergeObstacle.DRAFT),
        ({"only_allow_merge_if_pipeline_succeeds": True}, "A", MergeObstacle.CHECK),
    ],
)
async def test_why_it_is_not_merged(
    world: World, settings: dict[str, bool], title: str, obstacle: MergeObstacle
) -> None:
    head = world.commit("change", {"net/a.yaml": "a: 2\n"})
    number, forge = world.propose(title=title), world.forge()
    world.repo.gitlab.settings.update(settings)
    world.mr(number)

    found = await forge.merge(number, head, MergeMethod.MERGE, "T", "M")

    assert found.obstacle is obstacle
    assert world.mr(number).state == "opened"


@pytest.mark.parametrize("method", ["ff", "rebase_merge"])
async def test_a_project_that_wants_a_rebase_gets_one(world: World, method: str) -> None:
    """The short-cut waits for somebody: on such projects nothing is published after the first."""
    head = world.commit("change", {"net/b.yaml": "b: 2\n"})
    number, forge = world.propose(), world.forge()
    world.commit("main", {"net/c.yaml": "c: 1\n"}, "olga")
    world.repo.gitlab.settings["merge_method"] = method
    world.mr(number)

    asked = await forge.merge(number, head, MergeMethod.MERGE, "T", "M")
    new = world.mr(number).sha
    world.mr(number)
    merged = await forge.merge(number, new, MergeMethod.MERGE, "T", "M")

    assert asked.obstacle is MergeObstacle.UNDER_WAY
    assert new != head
    assert merged == MERGED
    assert (await forge.proposal(number)).merge_commit == world.repo.branch("main")


async def test_roles_are_those_of_members_now(world: World) -> None:
    """Short-cuts refused: a login taken for the account; the bot itself as a person."""
    forge, state = world.forge(), world.sandbox.state
    people = {login: state.user(login).id for login in ("olga", "ann", "ben", "ron")}

    roles = {login: await forge.role(login, number) for login, number in people.items()}

    assert roles == {
        "olga": Role.ADMIN,
        "ann": Role.MAINTAIN,
        "ben": Role.WRITE,
        "ron": Role.READ,
    }
    assert await forge.role("Ann", 0) is Role.MAINTAIN
    assert await forge.role("ben", people["ann"]) is Role.NONE
    assert await forge.role("nobody-of-this-name", 0) is Role.NONE
    assert await forge.role("porch-bot", state.user("porch-bot").id) is Role.NONE


async def test_tags_are_git_s_to_make_and_releases_are_made_once(world: World) -> None:
    forge, repo = world.forge(), world.as_("ann")
    repo.tags.create({"tag_name": "net/v1", "ref": "main", "message": "one"})

    for _ in range(2):
        await forge.make_release("net/v1", "net v1", "Text")

    assert [await forge.has_tag(name) for name in ("net/v1", "net/v2")] == [True, False]
    assert [await forge.has_release(name) for name in ("net/v1", "net/v2")] == [True, False]
    with pytest.raises(ForgeRefusedError):
        await forge.make_release("net/v2", "net v2", "Text")


async def test_what_a_project_requires_is_read_from_its_settings(world: World) -> None:
    head = world.commit("change", {"net/a.yaml": "a: 2\n"})
    number, forge = world.propose(), world.forge()
    before = await forge.rules("main")
    world.repo.gitlab.settings |= {
        "only_allow_merge_if_pipeline_succeeds": True,
        "only_allow_merge_if_all_discussions_are_resolved": True,
    }
    await forge.proposal(number)

    required = await forge.required_checks("main")

    assert [(c.name, c.ours) for c in required] == [
        ("pipeline", False),
        (PUBLISH, True),
        ("threads resolved", False),
    ]
    assert await forge.statuses(head) == {}
    assert forge.standing(number) == {
        "pipeline": CheckState.SUCCESS,
        "threads resolved": CheckState.SUCCESS,
    }
    assert await forge.rules("main") != before


async def test_who_made_commits_and_who_pushed_them_is_told(world: World) -> None:
    """Short-cuts refused: the name in a commit for the account; pushes to other branches."""
    head = world.commit("change", {"net/a.yaml": "a: 2\n"})
    world.commit("other", {"net/a.yaml": "a: 3\n"}, "ben")
    number, forge = world.propose(), world.forge()
    ann = world.sandbox.state.user("ann").id

    (made,) = await forge.commits(number)
    (pushed,) = await forge.pushes("change", world.repo.id)

    assert (made.sha, made.author, made.committer) == (head, "ann", "")
    assert made.accounts == {ann}
    assert (pushed.after, pushed.actor, pushed.account, pushed.forced) == (head, "ann", ann, True)


async def test_moves_of_a_base_branch_are_told_back_to_a_moment(world: World) -> None:
    """The short-cut reads a page of the pushes to all branches."""
    moved = world.commit("main", {"net/b.yaml": "b: 1\n"}, "olga")
    world.commit("other", {"net/a.yaml": "a: 2\n"}, "ben")
    pushed = world.repo.activity[-1]
    world.repo.activity += [replace(pushed, id=pushed.id + at) for at in range(1, 102)]
    since = world.clock()
    world.clock.move(seconds=60)
    last = world.commit("main", {"net/c.yaml": "c: 1\n"}, "olga")

    found = await world.forge().base_moves("main", since)

    assert [m.after for m in found] == [last, moved]
    assert (found[0].before, found[0].actor) == (moved, "olga")


async def test_what_merges_by_itself_is_in_no_queue_where_there_is_none(world: World) -> None:
    """The short-cut takes auto-merge for a merge train: it would cancel what people pressed."""
    head = world.commit("change", {"net/a.yaml": "a: 2\n"})
    number, forge = world.propose(), world.forge()
    statuses = world.as_("ben").commits.get(head).statuses
    statuses.create({"state": "running", "name": "scan", "ref": "change"})
    world.mr(number).merge(merge_when_pipeline_succeeds=True)
    assert world.mr(number).merge_when_pipeline_succeeds
    await forge.proposal(number)
    await forge.required_checks("main")

    assert not (await forge.conversation(number)).in_queue


async def test_what_is_paid_for_is_used_where_it_is_there(world: World) -> None:
    """Short-cuts refused: rules of other branches counted; a check of others taken for a refusal
    that nobody can do anything about; features believed by the edition."""
    world.commit("change", {"net/a.yaml": "a: 2\n"})
    number, forge = world.propose(), world.forge()
    pool = Clients(
        world.sandbox.web_url,
        lambda: world.sandbox.token("ann"),
        session=lambda: session(world._answer),
    )
    assert (await capabilities.ask(pool, world.repo.id)).features == frozenset()
    assert await forge.required_reviews("main") == 0
    world.repo.gitlab.tier = "ultimate"
    project = world.as_("ann")
    project.approvalrules.create({"name": "any", "approvals_required": 2})
    release = project.protectedbranches.create({"name": "release"})
    project.approvalrules.create(
        {"name": "more", "approvals_required": 5, "protected_branch_ids": [release.id]}
    )

    assert await forge.required_reviews("main") == 2
    assert await forge.required_reviews("release") == 5
    found = (await capabilities.ask(pool, world.repo.id)).features
    assert found >= {"approval rules", "external status checks"}
    merge = partial(forge.merge, number, Sha(world.repo.branch("change")))
    world.mr(number)
    refused = await merge(MergeMethod.MERGE, "A change", "")
    assert refused.obstacle is MergeObstacle.REVIEW
    for login in ("olga", "ben"):
        world.as_(login).mergerequests.get(number).approve()
    world.repo.gitlab.settings["only_allow_merge_if_all_status_checks_passed"] = True
    wish = {"name": "scanner", "external_url": "http://scanner.example/"}
    check = project.manager.gitlab.http_post(
        f"/projects/{world.repo.id}/external_status_checks", post_data=wish
    )
    refused = await merge(MergeMethod.MERGE, "A change", "")
    assert (refused.obstacle, "status_checks_must_pass" in refused.reason) == (
        MergeObstacle.CHECK,
        True,
    )
    project.manager.gitlab.http_post(
        f"/projects/{world.repo.id}/merge_requests/{number}/status_check_responses",
        post_data={"sha": world.repo.branch("change"), "external_status_check_id": check["id"]},
    )
    assert await merge(MergeMethod.MERGE, "A change", "") == MERGED
