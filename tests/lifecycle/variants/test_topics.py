"""What topics of other repositories have a part in."""

import pytest

from lifecycle.variants.objects import KubeObject, KubeObjectIndex
from lifecycle.variants.reading import read
from lifecycle.variants.resolution import ResolutionContext, resolve
from tests.lifecycle.variants.test_resolution import KIND, SET, UP, VERSION, repositories

BY_TOPIC = "  - repositorySelector: {matchLabels: {topic.porchbot.dev/edge: 'true'}}\n"
EXPRESSIONS = "  - repositorySelector: {}\n    template: {labelExprs: [{key: a, valueExpr: %s}]}\n"
INTO = "    template: {downstream: {repo: %s}, labelExprs: [{key: a, valueExpr: %s}]}\n"
TOPICAL: dict[str, tuple[str, dict[str, bool]]] = {
    "by a topic": (BY_TOPIC, {"here": False, "live": True}),
    "by any value of a topic": (
        "  - repositorySelector: {matchExpressions: [{key: topic.porchbot.dev/x, "
        "operator: DoesNotExist}]}\n",
        {"here": False, "live": True},
    ),
    "by a label of the table": (
        "  - repositorySelector: {matchLabels: {tier: edge}}\n",
        {"here": False, "live": False},
    ),
    "a name is no label": (EXPRESSIONS % "target.name", {"here": False, "live": False}),
    "labels in an expression": (
        EXPRESSIONS % "\"target.labels['tier']\"",
        {"here": False, "live": True},
    ),
    "labels by another way": (
        EXPRESSIONS % "\"[repository][0]['lab' + 'els']['tier']\"",
        {"here": False, "live": True},
    ),
    "labels of a repository that is named": (
        "  - repositories: [{name: here}]\n" + INTO % ("live", "\"repository.labels['tier']\""),
        {"live": True},
    ),
    "a name of a repository that is named": (
        "  - repositories: [{name: here}]\n" + INTO % ("live", "repository.name"),
        {"live": False},
    ),
}


@pytest.mark.parametrize(("targets", "outside"), TOPICAL.values(), ids=TOPICAL)
def test_what_topics_of_another_repository_have_a_part_in(
    targets: str, outside: dict[str, bool]
) -> None:
    """Short-cuts refused: only resources have an origin; only what a selector names is a topic."""
    labels = {"topic.porchbot.dev/edge": "true", "tier": "edge"}
    table = {
        name: KubeObject(api_version=VERSION, kind=KIND, name=name, labels=labels)
        for name in ("here", "live")
    }
    around = ResolutionContext(
        repositories={**repositories(), **table},
        objects=KubeObjectIndex(table.values()),
        revision=lambda _: UP,
        own="Acme/rules",
        places={"here": "acme/rules", "live": "acme/live"},
        topics=True,
    )

    found = resolve([read(f"{SET}{targets}".encode(), "s.yaml")], around)

    assert {each.spec.downstream.repo: each.outside for each in found.variants} == outside


def test_where_no_rule_names_a_topic_labels_are_those_of_the_table() -> None:
    """The short-cut waits for people wherever an expression takes a label."""
    targets = EXPRESSIONS.replace("{}", "{matchLabels: {tier: edge}}") % "\"target.labels['tier']\""
    table = repositories(live={"tier": "edge"})
    around = ResolutionContext(
        repositories=table, objects=KubeObjectIndex(table.values()), revision=lambda _: UP
    )

    found = resolve([read(f"{SET}{targets}".encode(), "s.yaml")], around)

    assert [(each.spec.labels, each.outside) for each in found.variants] == [({"a": "edge"}, False)]
