"""Variants that select and inject resources of another repository, by its consent."""

import re

import pytest

from tests.stories.people import Person
from tests.stories.test_dashboard import shows
from tests.stories.test_impact import proposes, says
from tests.stories.test_upstreams import publishes
from tests.stories.test_variants_waiting import waiting
from tests.stories.world import CONFIG, ROLES, World, minutes_pass, package, seconds_pass

BY_RULE = CONFIG.replace(
    'from: ["role:maintain"]}', 'from: ["role:maintain"], automatic: {variants: true}}'
)
RULES = f"""{BY_RULE}variants: [variants/*.yaml]
repositories: {{here: {{}}}}
objects: [{{repository: acme/inventory, directory: sites}}]
"""
SET = """apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {name: sites, annotations: {porchbot.dev/propose: asap}}
spec:
  upstream: {repo: here, package: net/base, revision: 1}
  targets:
  - objectSelector: {apiVersion: example.com/v1, kind: Site, matchLabels: {tier: edge}}
    template:
      downstream: {repo: here, packageExpr: "'sites/' + target.name"}
      injectors: [{nameExpr: target.name}]
"""
INJECTED = """apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata: {name: north, annotations: {porchbot.dev/propose: asap}}
spec:
  upstream: {repo: here, package: net/base, revision: 1}
  downstream: {repo: here, package: sites/north}
  injectors: [{name: north}]
"""
POINT = """---
apiVersion: example.com/v1
kind: Site
metadata: {name: site, annotations: {kpt.dev/config-injection: required}}
spec: {zone: none}
"""
CONSENT = f'{CONFIG}upstreams: {{share: ["acme/blueprints"]}}\n'
BRANCH = "drafts/sites/north/packagevariant-1"


def site(zone: str) -> dict[str, str]:
    """A resource of the inventory."""
    text = "apiVersion: example.com/v1\nkind: Site\nmetadata: {name: north, labels: {tier: edge}}\n"
    return {"sites/north.yaml": f"{text}spec: {{zone: {zone}}}\n"}


BY_TOPIC = """apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {name: edges, annotations: {porchbot.dev/propose: asap}}
spec:
  upstream: {repo: here, package: net/base, revision: 1}
  targets:
  - repositorySelector: {matchLabels: {topic.porchbot.dev/edge: "true"}}
    template: {downstream: {package: edge/net}}
"""
TABLE = """variants: [variants/*.yaml]
repositories:
  here: {}
  live: {repository: acme/live}
  shut: {repository: acme/shut}
"""


def begins(stage: World, consent: str, rule: str = SET, *, private: bool = True) -> Person:
    """An inventory in another repository, and a rule over it; who writes there."""
    files = {".porchbot.yaml": consent, **site("a")}
    stage.serves("inventory", files, private=private, people=ROLES)
    stage.repository.has_issues = True
    stage.start_bot()
    base = package("net/base")
    base["net/base/site.yaml"] = POINT.removeprefix("---\n")
    publishes(stage, "net/base", base, 1)
    stage.owner.pushes("main", {".porchbot.yaml": RULES, "variants/sites.yaml": rule})
    stage.rests()
    return stage.owner.at("acme/inventory")


def test_a_push_to_what_is_matched_there_updates_the_pull_request(stage: World) -> None:
    """Short-cuts refused: the resource is copied once; the pull request waits for a push here; a
    rule that approves by itself, of what people elsewhere write.
    """
    there = begins(stage, CONSENT)
    pull = stage.author.pull_of(BRANCH)
    text = stage.author.reads("sites/north/site.yaml", BRANCH)
    assert "zone: a" in text
    assert "porchbot.dev/injected-from: acme/inventory/sites/north.yaml@" in text
    stage.rests()
    assert stage.author.pull(pull.number).open  # nobody approved it

    seconds_pass(stage.forge, 1)
    there.pushes("main", site("b"))
    stage.rests()
    assert "zone: b" in stage.author.reads("sites/north/site.yaml", BRANCH)
    assert [p.head_ref for p in stage.author.pulls()] == [BRANCH]


@pytest.mark.simulated_time("minutes pass")
def test_resources_are_read_at_the_branch_that_is_named(stage: World) -> None:
    """Short-cuts refused: the default branch whatever is named; a push there is seen by a sweep
    alone; a branch that no rules guard; one that is not there takes its packages away.
    """
    bases = "packages:\n  - {directory: ., branch: main}\n  - {directory: ., branch: release}\n"
    there = begins(stage, CONSENT + bases)
    pull = stage.author.pull_of(BRANCH).number
    seconds_pass(stage.forge, 1)
    there.pushes("release", site("c"))
    there.pushes("loose", site("x"))
    stage.rests()
    assert "zone: a" in stage.author.reads("sites/north/site.yaml", BRANCH)
    named = RULES.replace("directory: sites", "branch: release, directory: sites")
    stage.owner.pushes("main", {".porchbot.yaml": named})
    stage.rests()
    assert "zone: c" in stage.author.reads("sites/north/site.yaml", BRANCH)

    seconds_pass(stage.forge, 1)
    there.pushes("release", site("d"))
    stage.rests()
    assert "zone: d" in stage.author.reads("sites/north/site.yaml", BRANCH)

    stage.owner.pushes("release", site("y"))  # of the rules' own repository
    for other, repository in (("loose", "inventory"), ("release", "blueprints")):
        rules = named.replace("release", other).replace("acme/inventory", f"acme/{repository}")
        rules += bases
        stage.owner.pushes("main", {".porchbot.yaml": rules})
        stage.rests()
        minutes_pass(stage, 6)  # the dashboard is written every five
        shows(stage, f"no resources of branch {other} of acme/{repository} can be used")
        assert "zone: d" in stage.author.reads("sites/north/site.yaml", BRANCH)
        assert stage.author.pull(pull).open


def test_what_is_injected_from_there_alone_is_approved_by_no_rule(stage: World) -> None:
    """The short-cut looks at what chose the package alone: this rule names it itself."""
    begins(stage, CONSENT, INJECTED)
    text = stage.author.reads("sites/north/site.yaml", BRANCH)
    assert "zone: a" in text
    pull = stage.author.pull_of(BRANCH).number
    stage.author.waits_for_summary(pull, "resources or topics of another repository")
    stage.rests()
    assert stage.author.pull(pull).open


def test_without_consent_nothing_of_another_repository_is_used(stage: World) -> None:
    """The short-cut reads with the bot's own rights: who may write a rule reads all."""
    begins(stage, CONFIG)
    said = waiting(shows(stage, "### Variants that wait"))
    assert "no resources of acme/inventory can be used" in said[".porchbot.yaml"]
    assert stage.author.pulls() == []


@pytest.mark.simulated_time("minutes pass")
def test_what_resources_chose_is_made_only_where_they_may_be_read(stage: World) -> None:
    """Short-cuts refused: what is injected alone is kept back, and a template carries labels and
    names over; it stays away without a word; it is told where nobody may know of it.
    """
    lets_in = f"{CONFIG}variants_from: [acme/blueprints]\n"
    stage.serves("live", {".porchbot.yaml": lets_in}, people=ROLES)
    there = begins(stage, CONSENT)
    rules = f"{CONFIG}{TABLE}objects: [{{repository: acme/inventory, directory: sites}}]\n"
    rules += 'upstreams: {share: ["acme/live"]}\n'
    elsewhere = SET.replace("downstream: {repo: here,", "downstream: {repo: live,")
    elsewhere = elsewhere.replace("      injectors: [{nameExpr: target.name}]\n", "")
    stage.owner.pushes("main", {".porchbot.yaml": rules, "variants/sites.yaml": elsewhere})
    stage.rests()
    live = stage.author.at("acme/live")
    assert live.pulls() == []
    assert "acme/inventory chose are not made there" in shows(stage, "acme/live")

    shared = CONSENT.replace('"acme/blueprints"', '"acme/blueprints", "acme/live"')
    seconds_pass(stage.forge, 1)
    there.pushes("main", {".porchbot.yaml": shared})
    stage.rests()
    assert [p.head_ref for p in live.pulls()] == [BRANCH]
    minutes_pass(stage, 10)
    assert "are not made there" not in shows(stage, "`net/base`: v1")


@pytest.mark.simulated_time("minutes pass")
def test_repositories_are_chosen_by_their_topics(stage: World) -> None:
    """Short-cuts refused: labels of our own table alone; topics of what lets nobody in; a topic
    that is new counts with the next push alone; a rule that approves what whoever sets it asks for.
    """
    lets_in = f"{BY_RULE}variants_from: [acme/blueprints]\n"
    stage.serves("live", {".porchbot.yaml": lets_in}, private=True, people=ROLES)
    stage.serves("shut", {".porchbot.yaml": CONFIG}, private=True, people=ROLES)
    for each in stage.forge.state.data.repositories.values():
        each.topics = ["edge"] if each.name == "shut" else []
    stage.repository.has_issues = True
    stage.start_bot()
    publishes(stage, "net/base", package("net/base"), 1)
    rules = f'{CONFIG}{TABLE}upstreams: {{share: ["acme/live", "acme/shut"]}}\n'
    stage.owner.pushes("main", {".porchbot.yaml": rules, "variants/edges.yaml": BY_TOPIC})
    stage.rests()
    live = stage.author.at("acme/live")
    assert live.pulls() == []

    for each in stage.forge.state.data.repositories.values():
        each.topics = ["edge"] if each.name != "blueprints" else []
        each.updated_at = stage.forge.state.clock()
    seconds_pass(stage.forge, 60)
    stage.sweep()
    stage.rests()
    minutes_pass(stage, 5)  # topics are kept for so long
    assert [p.head_ref for p in live.pulls()] == ["drafts/edge/net/packagevariant-1"]
    assert stage.author.at("acme/shut").pulls() == []
    minutes_pass(stage, 10)
    assert "acme/shut" not in shows(stage, "`net/base`: v1")


GUESS = SET.replace(
    "'sites/' + target.name", "'sites/' + (target.name.startsWith('GUESS') ? 'right' : target.none)"
)


@pytest.mark.parametrize("private", [True, False])
def test_a_branch_cannot_ask_what_private_resources_are(stage: World, private: bool) -> None:
    """Short-cuts refused: what chose a package is counted by its resource's name, so that whoever
    pushes a branch guesses it letter by letter; what was not read is told as no change."""
    begins(stage, CONSENT, private=private)
    stage.author.pull_of(BRANCH)
    stage.rests()
    told = list[tuple[str, str]]()
    for guess in ("n", "z"):
        changed = {"variants/sites.yaml": GUESS.replace("GUESS", guess)}
        told.append(says(stage, proposes(stage, f"people/{guess}", changed)))
    titles, texts = zip(*told, strict=True)
    assert ("Not read, " in texts[0]) is private
    assert ("1 variant would get a draft" in titles[0]) is not private
    assert (titles[0] == titles[1]) is private
    if private:
        assert titles[0] == "Not compared: variants by what other repositories lend"
        assert re.sub("[0-9a-f]{10}", "", texts[0]) == re.sub("[0-9a-f]{10}", "", texts[1])
