"""The forge's own rules and names: what it forbids is said, what it renames is followed."""

import pytest

from bot.sandbox.records.accounts import Role
from bot.sandbox.rules.checks import CheckRunFields
from tests.stories.github_people import at_github
from tests.stories.people import wait_for
from tests.stories.real import RealWorld
from tests.stories.test_upstreams import publishes
from tests.stories.world import ROLES, World, package

BRANCH = "drafts/net/core/w"
BOT = "porchbot[bot]"


@pytest.mark.only_github("rules of a branch that name who may push")
def test_a_push_of_the_rendering_that_is_forbidden_mutes_nothing(play: World) -> None:
    """Fails when a refused push ends the look: no check, no answer, and the same push for ever."""
    rules = play.forge.state.rules
    rule = rules.add(
        play.repository, ["drafts/**"], update=True, required_signatures=True, bypass=[Role.WRITE]
    )
    author = play.author
    files = package(
        "net/core", **{"config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"}
    )
    author.pushes(BRANCH, files)
    pull = author.pull_of(BRANCH)

    run = author.waits_for_check(pull.number, "porchbot/render", "failure")
    assert "kpt fn render" in (run.text)
    asked = author.says(pull.number, "/propose")
    author.waits_for_summary(pull.number, "the bot's push was refused")
    assert "an administrator of the repository" in author.summary(pull.number)
    wait_for("the reaction", lambda: "rocket" in author.reactions(pull.number, asked) or None)
    author.says(pull.number, "/render")
    answer = author.waits_for_answer(pull.number, "`/render` refused")
    assert "Commit the rendering yourself" in answer
    play.rests()
    pushes = [c for c in play.forge.faults.calls(BOT) if c.path.endswith("git-receive-pack")]
    assert len(pushes) <= 3

    rules.remove(play.repository, rule)
    author.says(pull.number, "/render")
    author.waits_for_check(pull.number, "porchbot/render", "success")


@pytest.mark.only_github("commits that the forge signs")
def test_where_commits_have_to_be_signed_the_forge_makes_ours(play: World) -> None:
    """The short-cut pushes: nobody holds a key that the forge knows, and nothing is rendered."""
    play.forge.state.rules.add(
        play.repository, ["drafts/**"], required_signatures=True, bypass=[Role.WRITE]
    )
    author, extra = play.author, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
    author.pushes(BRANCH, {**package("net/core"), "net/core/config.yaml": extra})
    number = author.pull_of(BRANCH).number
    author.waits_for_check(number, "porchbot/render", "success")

    head = at_github(author).get_git_commit(author.pull(number).head)
    assert head.author.name == BOT
    assert play.forge.state.rules.verified(play.repository, head.sha)
    assert "owner: network" in author.reads("net/core/config.yaml", BRANCH)
    author.says(number, "/propose")
    play.approver.says(number, "/approve")
    author.waits_for_tag("net/core/v1")


def test_a_branch_that_may_not_be_deleted_is_left_and_said(play: World) -> None:
    """Fails when the refusal counts as a fault that passes: the bot would try for ever."""
    number = play.proposes(BRANCH, package("net/core"))
    play.forbids_deletion("drafts/")
    play.approver.says(number, "/approve")

    play.author.waits_for_tag("net/core/v1")
    summary = play.author.waits_for_summary(number, f"The branch `{BRANCH}` was not deleted")
    assert "the bot's push was refused" in summary
    play.rests()


@pytest.mark.only_github("required checks by name")
def test_required_checks_of_classic_protection_and_of_rulesets_are_waited_for(play: World) -> None:
    """Fails when one of the two is read: each answer of the forge holds its own only."""
    play.forge.state.protect(play.repository, "main", [("classic-scan", None)])
    play.forge.state.rules.add(
        play.repository, required_checks=[("ruled-scan", None)], bypass=[Role.ADMIN]
    )
    number = play.proposes(BRANCH, package("net/core"))
    play.approver.says(number, "/approve")

    summary = play.author.waits_for_summary(number, "1 of 1 (`approver`)")
    assert "classic-scan" in summary
    assert "ruled-scan" in summary
    play.rests()
    commit = at_github(play.owner).get_commit(play.author.pull(number).head)
    for context in ("classic-scan", "ruled-scan"):
        assert not play.author.pull(number).merged
        commit.create_status("success", context=context)
    play.author.waits_for_tag("net/core/v1")


@pytest.mark.only_github("a check run and a status of one name")
def test_a_status_that_failed_beside_a_check_that_passed_is_seen(play: World) -> None:
    """Short-cuts refused: a passed run answers for a required check that may come from anybody, and
    each look asks to publish what the publishing look holds back: the two never come to rest.
    """
    state, owner = play.forge.state, play.owner
    state.rules.add(play.repository, required_checks=[("scan", None)], bypass=[Role.ADMIN])
    number = play.proposes(BRANCH, package("net/core"))
    head = play.author.pull(number).head
    with state.lock:
        ci = state.register_app("other-ci", play.app.public_key, owner="owner")
        wish = CheckRunFields(name="scan", status="completed", conclusion="success")
        state.checks.create(play.repository, ci, head, wish)
    owner.reports(head, "scan", "failure")
    play.approver.says(number, "/approve")

    play.author.waits_for_summary(number, "1 of 1 (`approver`)")
    play.rests()
    assert "**check `scan`**: failure" in play.author.summary(number)
    assert not play.author.pull(number).merged
    owner.reports(head, "scan")
    play.author.waits_for_tag("net/core/v1")


@pytest.mark.real_parts
def test_a_repository_that_is_renamed_is_followed(play: RealWorld) -> None:
    """Fails when requests and remotes keep the name of the first day: a redirect loses what was
    asked, and git does not follow one."""
    number = play.proposes(BRANCH, package("net/core"))
    state = play.forge.state
    state.admin.rename(play.repository, "platform")
    play.rests()

    play.approver.at("acme/platform").says(number, "/approve")
    wait_for("the merge", lambda: play.repository.pulls[number].merged or None)
    wait_for("the tag", lambda: "refs/tags/net/core/v1" in play.repository.refs or None)
    play.rests()

    calls = [call for call in play.forge.faults.calls(BOT) if call.kind == "api"]
    assert any(call.path.startswith("/repositories/") for call in calls)
    assert [call for call in calls if call.path.startswith("/repos/")] == []
    assert [call for call in calls if call.status in (301, 307)] == []


@pytest.mark.both_forges
def test_a_new_name_is_known_with_the_next_event(play: World) -> None:
    """Fails when only a sweep finds it: GitLab tells the webhook of a project nothing of that, but
    each of its events has the name of now."""
    publishes(play, "net/base", package("net/base"), 1)
    number = play.proposes(BRANCH, package("net/core"))
    play.forge.state.admin.rename(play.repository, "platform")
    author = play.author.at("acme/platform")
    author.says(number, "now it has a better name")
    play.rests()

    author.says(number, "/clone acme/platform//net/base@v1 apps/shop")
    author.pull_of("drafts/apps/shop/clone")


def test_an_archived_repository_is_left_alone_until_it_is_one_no_more(play: World) -> None:
    """Fails when each refused write is tried again, or an operator is called for that."""
    number = play.proposes(BRANCH, package("net/core"))
    play.stop_bot()
    play.approver.says(number, "/approve")
    admin = play.forge.state.admin
    admin.archive(play.repository)
    play.start_bot()
    play.rests()
    play.sweep()
    play.rests()
    assert play.failing() == []
    assert not play.repository.pulls[number].merged

    admin.archive(play.repository, archived=False)
    play.sweep()

    assert play.author.waits_for_tag("net/core/v1")


@pytest.mark.only_github("events of a repository itself")
def test_a_repository_that_is_no_longer_archived_goes_on_at_once(play: World) -> None:
    """The short-cut does not hear of it: who approved waits for a sweep, a quarter of an hour."""
    number = play.proposes(BRANCH, package("net/core"))
    admin = play.forge.state.admin
    play.approver.says(number, "/approve")
    admin.archive(play.repository)
    play.rests()
    assert not play.repository.pulls[number].merged

    admin.archive(play.repository, False)
    play.rests()

    assert play.repository.pulls[number].merged
    assert "refs/tags/net/core/v1" in play.repository.refs


@pytest.mark.only_github("events of a repository itself")
def test_a_repository_that_is_transferred_is_served_where_it_is(play: World) -> None:
    """The short-cut asks the installation that it was in, and believes that it is gone."""
    number = play.proposes(BRANCH, package("net/core"))
    state = play.forge.state
    state.add_user("umbrella")

    state.admin.transfer(play.repository, "umbrella")
    state.install(play.app, play.repository)
    play.rests()
    play.approver.at("umbrella/blueprints").says(number, "/approve")
    play.rests()

    assert play.repository.pulls[number].merged
    assert "refs/tags/net/core/v1" in play.repository.refs
    assert play.failing() == []


@pytest.mark.only_github("events of a repository itself")
def test_a_repository_that_is_added_is_served_at_once(play: World) -> None:
    """The short-cut serves what was there when it started, until it lists everything again."""
    state = play.forge.state
    other = state.add_repository("acme", "more")
    for login, role in ROLES.items():
        state.add_member(other, login, role)
    mark = play.forge.faults.mark()

    state.install(play.app, other)
    play.rests()

    made = play.forge.faults.counts(BOT, since=mark)
    assert "GET /repos/{owner}/{repo}/pulls" in made
    assert play.failing() == []
