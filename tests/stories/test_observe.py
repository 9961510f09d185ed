"""`mode: observe`: somebody tries the bot out; it judges and shows, and writes nothing else."""

from tests.stories.world import CONFIG, Staging, World, package, resized

OBSERVING = CONFIG.replace("version: 1\n", "version: 1\nmode: observe\n")
BRANCH, EDGE = "drafts/net/core/w", "drafts/net/edge/w"
BOT = "porchbot[bot]"


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
        assert author.repository.get_pulls().totalCount == 0
        number = author.repository.create_pull(base="main", head=BRANCH, title="Core").number
        stage.rests()
        runs = author.checks(author.pull(number).head.sha)
        assert {run.conclusion for run in runs.values()} == {"neutral"}
        assert runs["porchbot/render"].output.title == (
            "Observing: 1 file of `net/core` not rendered"
        )
        assert "this check would **be a failure**" in runs["porchbot/render"].output.summary
        assert "this check would **still be in progress**" in str(
            runs["porchbot/publish"].output.summary
        )
        author.pushes(BRANCH, package("net/core"))
        stage.rests()
        approver.says(number, "/approve\n/render")
        approver.reviews(number)
        stage.rests()
        runs = author.checks(author.pull(number).head.sha)
        assert runs["porchbot/publish"].output.title == "Observing: Publishing net/core v1"
        edge = author.repository.create_pull(base="main", head=EDGE, title="Edge").number
        author.merges(edge)
        stage.sweep()
        stage.rests()
        assert _written(stage) <= {
            "/app/installations/{installation_id}/access_tokens",
            "/repos/{owner}/{repo}/check-runs",
        }

        # The trial ends; what was said and merged in it changes nothing.
        stage.owner.pushes("main", {".porchbot.yaml": CONFIG})
        stage.sweep()
        stage.rests()
        runs = author.checks(author.pull(number).head.sha)
        assert (author.pull(number).merged, author.tags()) == (False, {})
        assert runs["porchbot/publish"].status == "in_progress"
        approver.says(number, "/approve")
        author.waits_for_tag("net/core/v1")
        stage.rests()
        assert set(author.tags()) == {"net/core/v1"}


def unlabelled(path: str) -> dict[str, str]:
    """The package's file as it is before its rendering."""
    return {
        name: text.replace("  labels:\n    owner: network\n", "")
        for name, text in resized(path, 1).items()
    }


def _written(stage: World) -> set[str]:
    """What the bot wrote to, by its operation."""
    calls = [c for c in stage.forge.faults.calls(BOT) if c.method != "GET"]
    git = {c.path for c in calls if c.kind == "git" and c.path.endswith("git-receive-pack")}
    return git | {c.template for c in calls if c.kind == "api" and c.template != "/graphql"}
