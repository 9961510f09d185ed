"""What a change of rules for variants would do is told before it is merged."""

import pytest

from bot.cli import dryrun
from bot.cli.fn.options import RunnerOptions
from lifecycle.messages import impact as texts
from tests.memory.pipeline import PipelineMaker
from tests.stories.real import RealWorld
from tests.stories.test_dryrun import Command
from tests.stories.test_impact import is_quiet, proposes, says
from tests.stories.test_upstreams import publishes
from tests.stories.world import CONFIG, ROLES, World, package, resized

TABLE = """variants: [variants/*.yaml]
repositories:
  here: {}
  open: {repository: acme/open}
  secret: {repository: acme/secret}
objects: [{directory: teams, namespace: default}]
upstreams: {share: ["acme/open", "acme/secret"]}
"""
TITLE = "; ".join(
    [
        "2 variants would be proposed for deletion, or closed where only a draft exists",
        "3 variants would get a draft",
        "1 variant would be left alone: there already, and the rule adopts none",
        "2 variants would no longer be followed",
    ]
)
TEAM = """apiVersion: v1
kind: ConfigMap
metadata: {name: NAME}
data: {size: "SIZE"}
"""


def rule(*places: str, revision: int = 1, policy: str = "delete") -> dict[str, str]:
    """A set over packages such as "here:edge/a"."""
    by: dict[str, list[str]] = {}
    for each in places:
        by.setdefault(each.partition(":")[0], []).append(each.partition(":")[2])
    targets = "\n".join(
        f"    - {{name: {repo}, packageNames: [{', '.join(packages)}]}}"
        for repo, packages in by.items()
    )
    text = f"""apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {{name: edges}}
spec:
  upstream: {{repo: here, package: net/base, revision: {revision}}}
  targets:
  - repositories:
{targets}
    template:
      deletionPolicy: {policy}
      injectors: [{{name: red}}]
"""
    return {"variants/edges.yaml": text}


def team(name: str, size: int) -> dict[str, str]:
    """A resource that rules may inject."""
    return {f"teams/{name}.yaml": TEAM.replace("NAME", name).replace("SIZE", str(size))}


def begins(play: World) -> None:
    """Rules want three packages here, one of them there already, and one in each of two others."""
    publishes(play, "net/base", package("net/base"), 1)
    wanted = rule("here:edge/a", "here:edge/b", "here:net/edge", "open:one", "secret:one")
    files = {".porchbot.yaml": CONFIG + TABLE, **wanted, **team("red", 1)}
    play.owner.pushes("main", files)
    play.rests()


@pytest.mark.both_forges
def test_a_changed_rule_tells_which_downstreams_would_come_and_go(play: World) -> None:
    """Short-cuts refused: a rule is tried on packages alone, which shows nothing; packages in a
    repository that not everybody can read are named; what is there is called a new draft."""
    for name, private in (("open", False), ("secret", True)):
        play.serves(name, {"README.md": "Hello.\n"}, private=private, people=ROLES)
    play.sweep()
    play.rests()
    begins(play)
    changes = rule("here:edge/a", "here:net/base2", "here:net/core", "open:two", "secret:two")
    play.owner.pushes("main", package("net/core"))
    number = proposes(play, "people/rules", changes)

    title, text = says(play, number)

    assert title == TITLE
    made = text[text.index("would get a draft**") :]
    assert "- `net/base2`, from `here/net/base@v1` (`variants/edges.yaml:" in made
    assert "- `acme/open: two`, from `here/net/base@v1`" in made
    assert "- 1 not named: not everybody here can read the repository" in made
    assert "secret" not in text
    alone = text[text.index("would be left alone") :]
    assert "- `net/core`, from" in alone
    assert "1 package would stay as wanted now." in text
    assert "drafts/net/base2/packagevariant-1" not in play.author.branches()


@pytest.mark.both_forges
def test_another_revision_and_other_resources_are_told_apart(play: World) -> None:
    """Short-cuts refused: any change of a rule counts as the same; a resource that a rule injects
    is no rule; what comes of nothing is told."""
    begins(play)
    number = proposes(play, "people/later", rule("here:edge/a", "here:edge/b", revision=2))
    title, text = says(play, number)
    assert "2 variants would wait for the revision that its rule names, which is not there" in title
    assert "- `edge/a`, from `here/net/base@v1` to `here/net/base@v2` (" in text
    publishes(play, "net/base", resized("net/base", 7), 2)
    number = proposes(play, "people/there", rule("here:edge/a", "here:edge/b", revision=2))
    title, text = says(play, number)
    assert "2 variants would be made from another upstream or revision" in title
    assert "- `edge/a`, from `here/net/base@v1` to `here/net/base@v2` (" in text

    number = proposes(play, "people/team", team("red", 2))
    title, text = says(play, number)
    assert title == "5 variants would have something else injected"
    number = proposes(play, "people/other", team("blue", 2))
    assert is_quiet(play, number)

    table = TABLE.replace("directory: teams", "directory: none")
    number = proposes(play, "people/config", {".porchbot.yaml": CONFIG + table})
    title, text = says(play, number)
    assert title == "5 variants would have something else injected"
    number = proposes(play, "people/none", {".porchbot.yaml": CONFIG})
    title, text = says(play, number)
    deleted = "2 variants would be proposed for deletion, or closed where only a draft exists"
    assert title == f"{deleted}; 3 variants would no longer be followed"
    assert "- `net/edge`, from `here/net/base@v1`" in text

    number = proposes(play, "people/wrong", {"variants/edges.yaml": "kind: Nothing\n"})
    title, text = says(play, number)
    assert title == "1 error in rules for variants"
    assert "While there are any, nothing is removed." in text


@pytest.mark.both_forges
def test_a_package_that_its_rule_would_take_along_is_named(play: World) -> None:
    """Short-cuts refused: what a rule asked for is its own, whoever made it; what the rule leaves
    behind is told as deleted."""
    begins(play)
    pull = play.author.pull_of("drafts/edge/a/packagevariant-1")
    play.rests()
    play.author.says(pull.number, "/propose")
    play.rests()
    play.approver.says(pull.number, "/approve")
    play.author.waits_for_tag("edge/a/v1")
    play.rests()
    for number, policy in enumerate(("delete", "orphan")):
        if number:
            play.owner.pushes("main", rule("here:edge/a", "here:net/edge", policy=policy))
            play.rests()
        other = proposes(play, f"people/{policy}", rule("here:edge/z"))
        title, text = says(play, other)
        assert ("3 variants would be proposed for deletion" in title) is (policy == "delete")
        assert "- `edge/a`, from `here/net/base@v1` (`variants/edges.yaml:" in text


@pytest.mark.real_parts
def test_the_command_line_says_the_same_of_variants(
    stage: RealWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut tells of packages alone there."""
    play = stage
    rules = {".porchbot.yaml": CONFIG + TABLE, **rule("here:edge/a"), **team("red", 1)}
    first = play.owner.pushes("main", {**rules, **package("net/base")})
    play.owner.makes_ref("tags/net/base/v1", first)  # a revision from before the bot came
    play.start_bot()
    play.rests()
    number = proposes(play, "people/rules", {**rule("here:edge/b"), **resized("net/edge", 3)})
    title, text = says(play, number)
    assert title.startswith("1 variant would get a draft")
    Command(play, capsys, monkeypatch)

    found, _ = dryrun.impact(f"acme/blueprints#{number}", RunnerOptions(), maker=PipelineMaker)

    assert found is not None
    assert texts.title(found) == title
    if play.checks_hold_text:
        assert texts.summary(found, most=10) == text
