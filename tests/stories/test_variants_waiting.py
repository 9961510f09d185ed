"""Why packages of variants are not made is told where people look: on the dashboard issue."""

import re
from dataclasses import replace

import pytest

from bot.sandbox.git.protocol import NewCommit
from cadlib.limits import DEFAULT
from tests.stories.people import wait_for
from tests.stories.simulated import SimulatedWorld
from tests.stories.test_dashboard import LONG, boards, shows
from tests.stories.test_upstreams import publishes
from tests.stories.test_variants import RULES, SHOP, begins, opened, publishes_first, variant
from tests.stories.world import CONFIG, World, package, resized, seconds_pass

MANY = f"""{RULES}  gone: {{repository: acme/gone}}
  lost: {{branch: no-such-branch}}
"""
LIST = "[" + ", ".join(f"'{n}'" for n in range(100)) + "]"
ENDLESS = f"""apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {{name: endless}}
spec:
  upstream: {{repo: here, package: net/base, revision: 1}}
  targets:
  - repositories:
    - {{name: here, packageNames: [apps/endless]}}
    template:
      downstream:
        packageExpr: "{LIST}.map(a, {LIST}.map(b, {LIST}.map(c, a + b))).size() == 1 ? 'a' : 'b'"
"""
LOCK = """upstreamLock:
  type: git
  git: {repo: 'REPO', directory: /net/base, ref: net/base/v9, commit: ''}
"""


def rule(name: str, old: str = "", new: str = "") -> dict[str, str]:
    """A rule of its own name, with some words of it changed."""
    text = variant()["variants/shop.yaml"].replace("shop", name)
    assert old in text
    text = text.replace(old, new) if old else text
    return {f"variants/{name}.yaml": text}


def waiting(text: str) -> dict[str, str]:
    """What the dashboard says of each variant that waits, by package or file."""
    section = text.partition("### Variants that wait")[2].partition("\n\n### ")[0]
    lines = re.findall(r"(?m)^- `([^`]+)`(.*)$", section)
    return {what: said.replace("\\", "") for what, said in lines}


@pytest.mark.simulated_time("minutes pass")
def test_why_packages_are_not_made_stands_on_the_dashboard(stage: World) -> None:
    """Short-cuts refused: the log of the operator, whom nobody asks; one reason for everything;
    the first of them alone; a reason that stays once it is gone.
    """
    stage.repository.has_issues = True
    stage.start_bot()
    publishes(stage, "net/base", package("net/base"), 1)
    theirs = package("apps/theirs")
    unlocked = package("apps/unlocked")
    address = stage.forge.clone_url("acme", "blueprints")
    unlocked["apps/unlocked/Kptfile"] += LOCK.replace("REPO", address)
    upstream, same = "repo: here, package: net/base", "package: net/base"
    rules = {
        **rule("number", "revision: 1", "revision: 7"),
        **rule("draft", "revision: 1", "workspaceName: never"),
        **rule("folder", same, "package: net/none"),
        **rule("away", upstream, "repo: gone, package: net/base"),
        **rule("branch", "repo: here, package: apps", "repo: lost, package: apps"),
        **rule("theirs"),
        **rule("itself", same, "package: apps/itself"),
        **rule("outside", same, "package: ../base"),
        **rule("unknown", upstream, "repo: no, package: net/base"),
        **rule("one", "package: apps/one", "package: apps/two"),
        **rule("two"),
        "variants/endless.yaml": ENDLESS,
        **rule("shop"),
        **{
            path: f"{text}  adoptionPolicy: adoptExisting\n"
            for path, text in rule("unlocked").items()
        },
    }
    stage.owner.pushes("main", {".porchbot.yaml": MANY, **theirs, **unlocked, **rules})
    stage.rests()
    found = waiting(shows(stage, "### Variants that wait"))

    assert {what: said for what, said in found.items() if "since" not in said} == {}
    reasons = {
        "apps/number": "net/base",
        "apps/draft": "no revision of acme/blueprints//net/base was published from the draft",
        "apps/folder": "net/none",
        "apps/away": "acme/gone",
        "apps/branch": "no packages are published from the branch 'no-such-branch'",
        "apps/theirs": "A package is there already",
        "apps/unlocked": "no tag, branch or commit 'net/base/v9'",
        "variants/itself.yaml:8": "the downstream is the upstream itself",
        "variants/outside.yaml:7": "no package can be at '../base'",
        "variants/unknown.yaml:8": 'repository "no" could not be loaded',
        "variants/one.yaml:8": "two variants for one downstream",
        "variants/two.yaml:8": "two variants for one downstream",
        "variants/endless.yaml:11": "cost limit exceeded",
    }
    assert {
        what: words for what, words in reasons.items() if words not in found.get(what, "")
    } == {}
    assert found.keys() == reasons.keys()
    assert [p.head_ref for p in stage.author.pulls()] == [f"{SHOP}-1"]

    stage.author.closes(stage.author.pull_of(f"{SHOP}-1").number)
    stage.owner.pushes("main", {path: None for path in rules if path != "variants/shop.yaml"})
    stage.rests()
    after = waiting(shows(stage, "closed by a person"))
    assert after.keys() == {"apps/shop"}
    assert "Somebody closed the pull request" in after["apps/shop"]

    stage.owner.pushes("main", variant(more="  labels: {tier: edge}\n"))
    wait_for("it to be forgotten", lambda: "that wait" not in boards(stage)[0] or None, LONG)


@pytest.mark.simulated_time("minutes pass")
@pytest.mark.both_forges
def test_rules_that_are_not_let_in_are_told_where_they_stand(stage: World) -> None:
    """Short-cuts refused: silence on both sides; a reason that says whether a repository exists."""
    table = (
        "variants: [variants/*.yaml]\nrepositories:\n"
        "  here: {}\n  live: {repository: acme/live}\n  gone: {repository: acme/gone}\n"
    )
    stage.repository.has_issues = True
    stage.serves("live", {".porchbot.yaml": CONFIG})
    stage.start_bot()
    publishes(stage, "net/base", package("net/base"), 1)
    to_live = rule("shop", "repo: here, package: apps", "repo: live, package: apps")
    to_gone = rule("gone", "repo: here, package: apps", "repo: gone, package: apps")
    stage.owner.pushes("main", {".porchbot.yaml": CONFIG + table, **to_live, **to_gone})
    found = waiting(shows(stage, "### Variants that wait"))

    assert found.keys() == {"acme/gone", "acme/live"}
    said = {each.replace("acme/gone", "X").replace("acme/live", "X") for each in found.values()}
    assert len(said) == 1
    assert "`variants_from`" in said.pop().replace("<!-- -->", "")
    rules = f"{CONFIG}variants_from: [acme/blueprints]\n"
    stage.owner.at("acme/live").pushes("main", {".porchbot.yaml": rules})
    stage.sweep()

    def forgotten() -> bool | None:
        return waiting(boards(stage)[0]).keys() == {"acme/gone"} or None

    wait_for("it to be let in", forgotten, LONG)


def test_an_upstream_whose_history_was_rewritten_is_told(stage: World) -> None:
    """Short-cuts refused: the upgrade is merged without the base that nobody has any more; the
    commit is taken from wherever a mirror still has it.
    """
    stage.repository.has_issues = True
    stage.start_bot()
    begins(stage)
    publishes_first(stage)
    stage.author.deletes("tags/net/base/v1")
    rewrites_main(stage)
    seconds_pass(stage.forge, 1)
    publishes(stage, "net/base", resized("net/base", 9), 2)
    stage.owner.pushes("main", variant(revision=2))

    found = waiting(shows(stage, "### Variants that wait"))
    assert "its branch was rewritten, or is gone" in found["apps/shop"]
    assert opened(stage) == [f"{SHOP}-1"]


def rewrites_main(stage: World) -> None:
    """All that was committed to the default branch becomes one commit."""
    state, repo = stage.forge.state, stage.repository
    with state.lock:
        git = state.git(repo)
        last = git.commit(repo.refs["refs/heads/main"])
        whole = NewCommit(
            tree=last.tree,
            parents=(),
            message="All\n",
            author=last.author,
            committer=last.committer,
        )
        state.update_ref(repo, "refs/heads/main", git.write_commit(whole), state.user("owner"))


def test_an_upstream_that_is_too_large_is_told(
    stage: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut reads all of it, however large, and the bot dies of it."""
    stage.repository.has_issues = True
    stage.start_bot()
    base = package("net/base")
    base["net/base/large.txt"] = "x" * 50_000
    publishes(stage, "net/base", base, 1)
    monkeypatch.setattr("bot.upstream.served.DEFAULT", replace(DEFAULT, package_bytes=20_000))
    stage.owner.pushes("main", {".porchbot.yaml": RULES, **variant()})

    found = waiting(shows(stage, "### Variants that wait"))
    assert "net/base" in found["apps/shop"]
    assert stage.author.pulls() == []


def test_a_tag_that_somebody_pushed_is_not_followed_and_told(stage: World) -> None:
    """Short-cuts refused: whatever has the highest number; nothing that the bot did not publish,
    where it came later than its packages; what is tagged is fetched before anybody asks whether it
    was published, so that one tag on a commit without the package stops all who follow it."""
    stage.repository.has_issues = True
    first = stage.author.pushes("main", package("net/base"))
    stage.author.makes_ref("tags/net/base/v1", first)
    stage.start_bot()
    rules = variant(annotations="porchbot.dev/follow: latest", revision=-1)
    stage.owner.pushes("main", {".porchbot.yaml": RULES, **rules})
    stage.author.pull_of(f"{SHOP}-1")

    mine = stage.author.pushes("mine", resized("net/base", 9))
    stage.author.makes_ref("tags/net/base/v98", mine)
    gone = stage.author.pushes("mine", dict.fromkeys(package("net/base")))
    stage.author.makes_ref("tags/net/base/v99", gone)
    stage.sweep()
    found = waiting(shows(stage, "### Variants that wait"))

    said = found["apps/shop"].replace("<!-- -->", "")
    assert "**newer tags** since" in said
    assert (
        "Not followed: net/base@v99, net/base@v98 in acme/blueprints. Somebody pushed these" in said
    )
    assert "ref: net/base/v1" in stage.author.reads("apps/shop/Kptfile", f"{SHOP}-1")
    assert opened(stage) == [f"{SHOP}-1"]


@pytest.mark.simulated_time("the database is an older version's")
def test_a_tag_of_before_the_bot_that_somebody_moved_is_not_followed_and_told(
    stage: SimulatedWorld,
) -> None:
    """Short-cuts refused: what was tagged before the bot came is published wherever its tag points
    now; a baseline that an older version kept is completed at each start, with what stands then;
    somebody is said to have pushed it, and its proposals hear nothing.
    """
    stage.repository.has_issues = True
    first = stage.author.pushes("main", package("net/base"))
    stage.author.makes_ref("tags/net/base/v1", first)
    stage.author.makes_ref("tags/net/base/v2", first)
    stage.start_bot()
    stage.rests()
    stage.stop_bot()
    stage.keeps_names_of_tags_only()
    stage.start_bot()
    stage.sweep()
    stage.rests()
    stage.stop_bot()

    mine = stage.author.pushes("mine", resized("net/base", 9))
    state = stage.forge.state
    with state.lock:
        state.update_ref(stage.repository, "refs/tags/net/base/v2", mine, state.user("author"))
    stage.start_bot()
    rules = variant(annotations="porchbot.dev/follow: latest", revision=-1)
    stage.owner.pushes("main", {".porchbot.yaml": RULES, **rules})
    stage.author.pull_of(f"{SHOP}-1")
    found = waiting(shows(stage, "### Variants that wait"))
    number = stage.proposes("drafts/net/base/w", resized("net/base", 2))

    said = found["apps/shop"].replace("<!-- -->", "")
    assert (
        "Not followed: net/base@v2 in acme/blueprints. Its tag was moved since that was published"
        in said
    )
    assert "ref: net/base/v1" in stage.author.reads("apps/shop/Kptfile", f"{SHOP}-1")
    lost = "`net/base/v2` was published, and its tag is gone or was replaced since."
    assert stage.author.waits_for_summary(number, lost)
