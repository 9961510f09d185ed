"""`mode: observe`: somebody tries the bot out; it judges and shows, and writes nothing else."""

from typing import get_args

import pytest

from bot import keys
from tests.stories.calls import TALK
from tests.stories.people import WaitedInVainError, wait_for
from tests.stories.real import RealWorld
from tests.stories.simulated import SimulatedWorld
from tests.stories.test_dashboard import shows
from tests.stories.world import CONFIG, Staging, World, package, resized, seconds_pass

OBSERVING = CONFIG.replace("version: 1\n", "version: 1\nmode: observe\n")
BRANCH, EDGE = "drafts/net/core/w", "drafts/net/edge/w"
BOT = "porchbot[bot]"
CHECKS = {
    "github": {
        "/app/installations/{installation_id}/access_tokens",
        "/repos/{owner}/{repo}/check-runs",
        "/repos/{owner}/{repo}/check-runs/{check_run_id}",
    },
    "gitlab": {"/projects/{id}/statuses/{sha}"},
}
"""What showing checks takes at each forge."""


@pytest.mark.both_forges
def test_a_trial_shows_checks_and_writes_nothing_else(staged: Staging) -> None:
    """The short-cut leaves out merge and tag only: it comments, reacts, renders and opens drafts.

    Another one takes what was tried for an order, once the mode ends: an /approve of the trial
    merges then, and everything merged meanwhile is tagged.
    """
    with staged(OBSERVING) as stage:
        stage.start_bot()
        stage.rests()
        author, approver = stage.author, stage.approver
        author.pushes(BRANCH, {**package("net/core"), **unlabelled("net/core")})
        author.pushes(EDGE, resized("net/edge", 2))
        stage.rests()
        assert len(author.pulls()) == 0
        number = author.opens(BRANCH, "Core").number
        stage.rests()
        runs = author.checks(author.pull(number).head)
        assert {run.conclusion for run in runs.values()} == {"neutral"}
        assert runs["porchbot/render"].title == ("Observing: 1 file of `net/core` not rendered")
        if author.checks_are_edited:  # elsewhere a check holds a line, and no summary is written
            assert "this check would **be a failure**" in runs["porchbot/render"].text
            assert "this check would **still be in progress**" in runs["porchbot/publish"].text
        author.pushes(BRANCH, package("net/core"))
        stage.rests()
        approver.says(number, "/approve\n/render")
        approver.reviews(number)
        stage.rests()
        runs = author.checks(author.pull(number).head)
        assert runs["porchbot/publish"].title == "Observing: Publishing net/core v1"
        edge = author.opens(EDGE, "Edge").number
        author.merges(edge)
        stage.sweep()
        stage.rests()
        assert _written(stage) <= CHECKS[stage.name]

        # The trial ends; what was said and merged in it changes nothing.
        stage.owner.pushes("main", {".porchbot.yaml": CONFIG})
        stage.sweep()
        stage.rests()
        runs = author.checks(author.pull(number).head)
        assert (author.pull(number).merged, author.tags()) == (False, {})
        assert runs["porchbot/publish"].conclusion is None
        approver.says(number, "/approve")
        author.waits_for_tag("net/core/v1")
        stage.rests()
        assert set(author.tags()) == {"net/core/v1"}


@pytest.mark.both_forges
@pytest.mark.simulated_time("two trials that end")
@pytest.mark.parametrize("how", ["pushed", "closed"])
def test_what_was_said_in_a_trial_never_counts(staged: Staging, how: str) -> None:
    """Short-cut: check runs at the head tell; a push takes them away, and what is closed has none.

    Both times the repository was frozen by what somebody only tried.
    """
    with staged(OBSERVING) as stage:
        stage.start_bot()
        stage.rests()
        author, approver = stage.author, stage.owner
        author.pushes(BRANCH, package("net/core"))
        stage.rests()
        number = author.opens(BRANCH, "Core").number
        stage.rests()
        approver.says(number, "/freeze trying this out")
        stage.rests()
        if how == "closed":
            author.closes(number)
            stage.rests()
        stage.owner.pushes("main", {".porchbot.yaml": CONFIG})
        if how == "pushed":
            author.pushes(BRANCH, {"net/core/README.md": "x\n"})
        stage.sweep()
        stage.rests()
        author.says(number, "hi")
        stage.rests()
        said = [c.body for c in author.comments(number)]
        assert not [body for body in said if "frozen" in body.lower()], said
        assert [body for body in said if "commands from that time are not carried out" in body]

        # What is said from now on is carried out; forges tell whole seconds.
        passes(5)
        approver.says(number, "/freeze in earnest")
        author.waits_for_answer(number, "frozen")


@pytest.mark.real_parts
def test_what_was_said_while_the_whole_bot_observed_never_counts(stage: RealWorld) -> None:
    """Short-cuts: git tells, and it knows nothing of the operator's variable; check runs at the
    head do, and a push takes them away; each start of the bot ends a trial.
    """
    stage.environment["PORCHBOT_MODE"] = "observe"
    stage.start_bot()
    stage.rests()
    author, owner = stage.author, stage.owner
    author.pushes(BRANCH, package("net/core"))
    stage.rests()
    number = author.opens(BRANCH, "Core").number
    stage.rests()
    owner.says(number, "/freeze trying this out")
    stage.rests()
    stage.stop_bot()
    del stage.environment["PORCHBOT_MODE"]
    author.pushes(BRANCH, {"net/core/README.md": "x\n"})
    seconds_pass(stage.forge, 2)
    stage.start_bot()
    author.waits_for_summary(number, "net/core")
    stage.rests()

    assert not [c.body for c in author.comments(number) if "frozen" in c.body.lower()]
    seconds_pass(stage.forge, 5)
    stage.stop_bot()
    owner.says(number, "/freeze in earnest")
    seconds_pass(stage.forge, 2)
    stage.start_bot()
    author.waits_for_answer(number, "frozen")


@pytest.mark.simulated_time("a trial that ends")
def test_what_was_said_on_the_dashboard_in_a_trial_never_counts(staged: Staging) -> None:
    """Short-cut: the database alone knows, and it may be lost."""
    with staged(CONFIG) as stage:
        assert isinstance(stage, SimulatedWorld)
        stage.repository.has_issues = True
        stage.start_bot()
        shows(stage, "Packages")
        (issue,) = (each.number for each in stage.owner.issues())
        stage.owner.pushes("main", {".porchbot.yaml": OBSERVING})
        stage.rests()
        stage.approver.says_on_issue(issue, "/freeze trying this out")
        stage.rests()
        stage.stop_bot()
        passes(5)
        stage.owner.pushes("main", {".porchbot.yaml": CONFIG})
        passes(5)
        stage.loses_database()
        stage.start_bot()
        stage.sweep()
        stage.rests()
        stage.wake(f"{stage.name}:{stage.repository.id}:dashboard")
        stage.rests()
        said = [c.body for c in stage.owner.comments_on_issue(issue)]
        assert not [body for body in said if "frozen" in body], said

        stage.approver.says_on_issue(issue, "/freeze in earnest")
        stage.rests()
        said = [c.body for c in stage.owner.comments_on_issue(issue)]
        assert [body for body in said if "is frozen: in earnest" in body], said


ACTIVE = CONFIG + 'publish: {release: true}\nvariants: ["variants/*.yaml"]\n'
WATCHING = ACTIVE.replace("version: 1\n", "version: 1\nmode: observe\n")


def passes(seconds: float) -> None:
    """Let simulated time pass."""
    with pytest.raises(WaitedInVainError):
        wait_for("nothing", lambda: None, seconds)


@pytest.mark.simulated_time("minutes pass")
def test_a_repository_that_is_only_watched_from_now_on_is_left_as_it_is(staged: Staging) -> None:
    """Short-cut: the mode is asked where proposals are decided; other keys write on.

    Everything that each kind of key is there for happens while the bot watches: dashboards, labels,
    releases, comments of ours that were edited, buttons, queues, lost tags, looks that break.
    """
    with staged(ACTIVE) as stage:
        assert isinstance(stage, SimulatedWorld)
        author, owner = stage.author, stage.owner
        stage.repository.has_issues = True
        stage.start_bot()
        stage.rests()
        edge = stage.proposes(EDGE, resized("net/edge", 2))
        stage.approver.says(edge, "/approve")
        author.waits_for_tag("net/edge/v1")
        number = stage.proposes(BRANCH, package("net/core"))
        stage.approver.says(number, "/why")
        author.waits_for_answer(number, "net/core")
        passes(700)
        owner.pushes("main", {".porchbot.yaml": WATCHING})
        stage.sweep()
        passes(700)
        before = len(stage.forge.faults.calls(stage.caller))

        _happens(stage, number)
        passes(700)
        stage.sweep()
        passes(700)

        for key in get_args(keys.InRepository):
            assert any(isinstance(each, key) for each in stage.woken()), key
        assert _written(stage, before) <= CHECKS[stage.name]
        for each in _heads(stage):
            runs = author.checks(each).values()
            assert {run.conclusion for run in runs if "Observing" in run.title} <= {"neutral"}
            titles = [run.title for run in runs]
            assert not [title for title in titles if "cannot" in title], titles


def _happens(stage: World, number: int) -> None:
    """Whatever the bot would do something about."""
    author, owner, approver = stage.author, stage.owner, stage.approver
    for comment in owner.comments(number):
        if comment.author == BOT:
            owner.edits(number, comment.id, "Everything was approved.")
    owner.takes_label(number, "porchbot: proposed")
    for issue in owner.issues():
        owner.rewrites_issue(issue.number, body="Nothing is proposed.")
    for words in ("/freeze fire", "/hold it", "/render", "/rebase", "/nonsense", "/propose"):
        approver.says(number, words)
        stage.rests()
    author.pushes(BRANCH, unlabelled("net/core"))
    stage.rests()
    stage.wake(f"{stage.name}:{stage.repository.id}:commit:{author.pull(number).head}")
    stage.wake(f"{stage.name}:{stage.repository.id}:impact:{BRANCH}")
    author.pushes("drafts/net/other/w", package("net/other"))
    owner.deletes("tags/net/edge/v1")
    tip = stage.repository.branch("main")
    author.pushes(f"gh-readonly-queue/main/pr-{number}-{tip}", resized("net/edge", 3))
    author.pushes("topic", package("net/more"))
    more = author.opens("topic", "More").number
    stage.rests()
    approver.reviews(more)
    stage.rests()
    author.merges(more)
    stage.rests()
    # The forge lets nobody read a conversation for a while: looks break, one after another.
    stage.forge.faults.fail(stage.call(TALK), 403, {"message": "no"}, times=30, caller=stage.caller)
    for _ in range(4):
        approver.says(number, "/why")
        stage.wake(f"{stage.name}:{stage.repository.id}:proposal:{stage.repository.id}:{BRANCH}")
        stage.rests()


def _heads(stage: World) -> list[str]:
    return [pull.head for pull in stage.author.pulls(every=True)]


def unlabelled(path: str) -> dict[str, str]:
    """The package's file as it is before its rendering."""
    return {
        name: text.replace("  labels:\n    owner: network\n", "")
        for name, text in resized(path, 1).items()
    }


def _written(stage: World, since: int = 0) -> set[str]:
    """What the bot wrote to, by its operation."""
    calls = [c for c in stage.forge.faults.calls(stage.caller)[since:] if c.method != "GET"]
    git = {c.path for c in calls if c.kind == "git" and c.path.endswith("git-receive-pack")}
    return git | {c.template for c in calls if c.kind == "api" and "/graphql" not in c.path}
