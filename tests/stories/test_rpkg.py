"""`porchbot rpkg`: what the bot is asked for from a shell, in the caller's name."""

import pytest
from click.testing import CliRunner, Result

from bot.cli.root import main
from tests.stories.gitlab_people import heard
from tests.stories.real import RealWorld
from tests.stories.test_dashboard import shows
from tests.stories.test_variants import RULES, SHOP, variant
from tests.stories.world import package, resized, seconds_pass

pytestmark = pytest.mark.real_parts


def runs(play: RealWorld, monkeypatch: pytest.MonkeyPatch, login: str, *args: str) -> Result:
    """Run the command with a token of somebody's, and nothing of the bot's."""
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "PORCHBOT_GITLAB_URL"):
        monkeypatch.delenv(name, raising=False)
    if login:
        if play.name == "gitlab":
            monkeypatch.setenv("GITLAB_TOKEN", play.forge.token(login))
        else:
            monkeypatch.setenv("GITHUB_TOKEN", play.forge.state.token(login))
    for name in ("PORCHBOT_GITHUB_API_URL", "PORCHBOT_GITLAB_URL"):
        if name in play.environment:
            monkeypatch.setenv(name, play.environment[name])
    return CliRunner().invoke(main, ["rpkg", *args])


def starts(stage: RealWorld) -> None:
    """Start the bot, and have the dashboard issue written now and not in twenty seconds."""
    stage.start_bot()
    stage.rests()
    stage.wake(f"{stage.name}:{stage.repository.id}:dashboard")
    shows(stage, "Packages")
    stage.rests()


def test_an_applications_ci_bumps_a_field_and_reads_where(
    stage: RealWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: a push with a token that may write code; an answer to somebody else."""
    stage.repository.has_issues = True
    starts(stage)
    seconds_pass(stage.forge, 1)
    wanted = ("--repository", "acme/blueprints", "--package", "net/edge", "--propose")

    done = runs(stage, monkeypatch, "author", "set", *wanted, "data.size=7")
    assert done.exit_code == 0, done.output
    pull = stage.author.pull_of("drafts/net/edge/set")
    assert f"{stage.mark}{pull.number}: Set data.size to 7 in net/edge." in done.output
    assert not pull.draft

    again = runs(stage, monkeypatch, "author", "set", *wanted, "data.size=8")
    assert f"{stage.mark}{pull.number}: Set data.size to 8 in net/edge." in again.output
    assert 'size: "8"' in stage.author.reads("net/edge/settings.yaml", "drafts/net/edge/set")

    upgraded = runs(stage, monkeypatch, "author", "upgrade", *wanted[:2], "net/edge")
    assert "has no upstream" in upgraded.output
    refused = runs(stage, monkeypatch, "outsider", "set", *wanted, "data.size=9")
    assert refused.exit_code == 1
    assert "only people with write access" in heard(refused.output)


@pytest.mark.both_forges
def test_on_a_pull_request_of_either_forge(
    play: RealWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: a slash at GitLab, which takes it for a command of its own; what only
    machines read, behind the answer, which at GitLab has a seal as well; writing the comment first:
    a mistake stands in the conversation.
    """
    number = play.opens("topic", package("net/core"))
    repo = ("--repository", "acme/blueprints")
    on = (*repo, "--on", str(number))
    done = runs(play, monkeypatch, "author", "set", *on, "data.size=5")
    assert done.exit_code == 0, done.output
    assert "Committed to this branch: Set data.size to 5 in net/core." in done.output
    assert 'size: "5"' in play.author.reads("net/core/settings.yaml", "topic")
    assert "<!--" not in done.output
    moved = runs(play, monkeypatch, "author", "rebase", *on, "onto", "net/edge@v1")
    assert "rebase refused: " in moved.output
    play.rests()
    before = len(play.author.comments(number))

    for login, args, said in (
        ("author", ("set", *on, "no assignment"), "takes a field and a value"),
        ("author", ("clone", *on, "acme/x@v1"), "takes a path after it"),
        ("author", ("init", *on, "net/new\n/approve"), "not one command"),
        (
            "author",
            ("init", "--repository", "acme/nothing", "a"),
            "there is no repository acme/nothing",
        ),
        ("author", ("init", *repo, "a"), "no dashboard issue"),
        ("author", ("rebase", *repo), "Name the package, or give the number"),
        ("", ("init", *repo, "a"), "no token to comment with"),
    ):
        done = runs(play, monkeypatch, login, *args)
        assert done.exit_code == 1, args
        assert said in done.output
    assert len(play.author.comments(number)) == before


MADE = """\
upstream:
  type: git
  git: {repo: REPO, directory: /net/base, ref: net/base/v1}
upstreamLock:
  type: git
  git: {repo: REPO, directory: /net/base, ref: net/base/v1, commit: COMMIT}
"""


@pytest.mark.both_forges
def test_many_packages_are_upgraded_and_approved_by_a_selector(
    stage: RealWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: more than was chosen; a second pull request; a head nobody was shown."""
    stage.repository.has_issues = True
    owner, repo = stage.owner, ("--repository", "acme/blueprints")
    first = owner.pushes("main", package("net/base"))
    made = MADE.replace("REPO", owner.clone_url).replace("COMMIT", first)
    files: dict[str, str] = {}
    for each in ("net/a", "net/b", "net/c"):
        files |= package(each)
        files[f"{each}/Kptfile"] += made
    files["net/c/Kptfile"] = files["net/c/Kptfile"].replace(
        "  name: c", "  name: c\n  labels: {team: c}"
    )
    second = owner.pushes("main", {**files, **resized("net/base", 9)})
    for number, sha in enumerate((first, second), start=1):
        owner.makes_ref(f"tags/net/base/v{number}", sha)
    starts(stage)
    seconds_pass(stage.forge, 90)  # GitLab stops a hook for a minute that nobody answered

    upgrade = ("upgrade", *repo, "--selector", "upstream=base@v1,team!=c", "--propose")
    shown = runs(stage, monkeypatch, "author", *upgrade, "--dry-run")
    assert shown.output == (
        "WAVE   CHOSEN   CHANGE     STATE\n"
        "1      net/a    v1 -> v2   ready\n"
        "1      net/b    v1 -> v2   ready\n"
        "2 are chosen, and nothing was done. Give the command again with --yes to go ahead, 5 at a"
        " time.\n"
    )
    done = runs(stage, monkeypatch, "author", *upgrade)
    assert done.exit_code == 0, done.output
    assert "0 of 2 done, 2 open. Give the command again once they are published" in done.output
    again = runs(stage, monkeypatch, "author", *upgrade)
    assert "asked in" not in again.output
    pulls = [stage.author.pull_of(f"drafts/net/{each}/upgrade") for each in "ab"]
    stage.rests()
    assert len(stage.author.pulls(every=True)) == 2

    files = {"net/a/more.yaml": package("x")["x/settings.yaml"], **package("net/new")}
    stage.author.pushes("drafts/net/b/upgrade", files, base="drafts/net/b/upgrade")
    stage.rests()
    approve = ("approve", *repo, "--selector", "path in (net/a,net/b)")
    approved = runs(stage, monkeypatch, "approver", *approve)
    assert approved.exit_code == 0, approved.output
    head = stage.author.pull(pulls[0].number).head
    assert f"approve {head}" in " ".join(c.body for c in stage.author.comments(pulls[0].number))
    assert "1 of 1 done." in approved.output
    assert "also touches net/new, not chosen." in approved.output
    stage.author.waits_for_tag("net/a/v1")
    assert not stage.author.pull(pulls[1].number).merged


@pytest.mark.both_forges
def test_what_a_variant_upgrades_already_is_not_upgraded_beside_it(
    stage: RealWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut knows its own drafts alone: of two pull requests for one upgrade the second one
    takes back what was decided in the first.
    """
    stage.repository.has_issues = True
    owner = stage.owner
    first = owner.pushes("main", package("net/base"))
    made = package("apps/shop")
    made["apps/shop/Kptfile"] += "    porchbot.dev/variant: shop\n" + MADE.replace(
        "REPO", owner.clone_url
    ).replace("COMMIT", first)
    rule = variant(annotations="porchbot.dev/follow: latest")
    second = owner.pushes(
        "main", {".porchbot.yaml": RULES, **rule, **made, **resized("net/base", 9)}
    )
    for number, sha in enumerate((first, second), start=1):
        owner.makes_ref(f"tags/net/base/v{number}", sha)
    owner.makes_ref("tags/apps/shop/v1", second)
    starts(stage)
    pull = stage.author.pull_of(f"{SHOP}-1")
    stage.rests()
    seconds_pass(stage.forge, 90)  # GitLab stops a hook for a minute that nobody answered

    asked = ("upgrade", "--repository", "acme/blueprints", "--selector", "path=apps/shop")
    done = runs(stage, monkeypatch, "author", *asked)
    assert done.exit_code == 0, done.output
    assert f"v1 -> v2   open: {stage.mark}{pull.number}\n" in done.output
    assert "asked in" not in done.output
    alone = runs(stage, monkeypatch, "author", *asked[:3], "apps/shop")
    assert alone.exit_code == 1
    said = f"a variant's draft brings it to v2 already: {SHOP}-1. Go on there"
    assert said in heard(alone.output)
    assert [p.head_ref for p in stage.author.pulls()] == [f"{SHOP}-1"]
