"""Rules together: what they want, and which of them cannot be kept."""

import hashlib
from collections.abc import Callable
from dataclasses import replace

import pytest

from lifecycle.messages import variants as messages
from lifecycle.variants import expressions, naming, resolution
from lifecycle.variants.objects import KubeObject, KubeObjectIndex
from lifecycle.variants.reading import VariantFile, read
from lifecycle.variants.resolution import Resolution, ResolutionContext, resolve
from lifecycle.variants.values import REPOSITORY, Downstream, Variant, VariantUpstream
from tests.counting import assert_in_proportion, lines
from tests.lifecycle.variants.samples import SPEC, VARIANT

VERSION, KIND = REPOSITORY
UP = KubeObject(api_version="", kind="", name="base.net.core.v2")
SET = """apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {name: all}
spec:
  upstream: {repo: base, package: net/core, revision: 2}
  targets:
"""


def repositories(**labels: dict[str, str]) -> dict[str, KubeObject]:
    """The table `repositories:`, with labels by name."""
    return {
        name: KubeObject(api_version=VERSION, kind=KIND, name=name, labels=each)
        for name, each in {"base": {}, "live": {}, **labels}.items()
    }


def resolved(*files: VariantFile, known: dict[str, KubeObject] | None = None) -> Resolution:
    table = repositories() if known is None else known
    around = ResolutionContext(
        repositories=table, objects=KubeObjectIndex(table.values()), revision=lambda _: UP
    )
    return resolve(files, around)


def resolved_set(targets: str, known: dict[str, KubeObject] | None = None) -> Resolution:
    return resolved(read(f"{SET}{targets}".encode(), "s.yaml"), known=known)


def test_repositories_are_chosen_by_their_labels() -> None:
    known = repositories(north={"tier": "edge"}, south={"tier": "edge"}, mid={"tier": "core"})

    found = resolved_set("  - repositorySelector: {matchLabels: {tier: edge}}\n", known)

    assert [(each.name, str(each.spec.downstream)) for each in found.variants] == [
        ("all-north-net/core", "net/core in north"),
        ("all-south-net/core", "net/core in south"),
    ]
    assert (found.problems, found.complete) == ((), True)


def test_objects_are_those_of_the_namespace() -> None:
    """The short-cut asks for the kind alone, so that one team's objects make another's packages."""
    teams = [
        KubeObject(api_version="hr/v1", kind="Team", name=name, namespace=where)
        for name, where in (("live", "prod"), ("live", "test"), ("other", "test"))
    ]
    file = read(
        f"{SET.replace('name: all', 'name: all, namespace: prod')}"
        "  - objectSelector: {apiVersion: hr/v1, kind: Team}\n".encode(),
        "s.yaml",
    )
    around = ResolutionContext(
        repositories=repositories(), objects=KubeObjectIndex(teams), revision=lambda _: UP
    )

    assert [each.name for each in resolve([file], around).variants] == ["all-live-net/core"]


def test_an_object_is_chosen_by_its_name() -> None:
    """The short-cut is Porch's, which forgets the name and takes all (D165)."""
    teams = [KubeObject(api_version="hr/v1", kind="Team", name=name) for name in ("live", "north")]
    file = read(
        f"{SET}  - objectSelector: {{apiVersion: hr/v1, kind: Team, name: live}}\n".encode(),
        "s.yaml",
    )
    around = ResolutionContext(
        repositories=repositories(), objects=KubeObjectIndex(teams), revision=lambda _: UP
    )

    assert [each.name for each in resolve([file], around).variants] == ["all-live-net/core"]


def test_one_rule_for_each_downstream() -> None:
    """The short-cut lets the last one win, as Porch's map does: both write, in turn, for ever."""
    other = replace(VARIANT, name="others")
    whole = replace(VARIANT, name="whole", spec=replace(SPEC, downstream=Downstream("live", "x")))

    found = resolved(VariantFile(variants=(VARIANT, other, whole)))

    assert [each.name for each in found.variants] == ["whole"]
    assert [each.text for each in found.problems] == [
        "two variants for one downstream, edge/core in live: the other is edges",
        "two variants for one downstream, edge/core in live: the other is others",
    ]
    assert not found.complete


def test_two_targets_of_a_set_that_agree_are_one() -> None:
    both = "  - repositories: [{name: live}]\n" * 2
    differ = both + "    template: {labels: {a: b}}\n"

    assert len(resolved_set(both).variants) == 1
    (problem,) = resolved_set(differ).problems
    assert problem.text == (
        "the set all chooses net/core in live more than once, and its labels or the like differ"
    )


def test_a_downstream_inside_of_another_is_refused() -> None:
    """The short-cut compares whole paths, and two rules write into one folder."""
    inner = replace(VARIANT, name="in", spec=replace(SPEC, downstream=Downstream("live", "a/b/c")))
    outer = replace(VARIANT, name="out", spec=replace(SPEC, downstream=Downstream("live", "a")))
    beside = replace(VARIANT, name="by", spec=replace(SPEC, downstream=Downstream("live", "ab")))

    found = resolved(VariantFile(variants=(inner, outer, beside)))

    assert [each.name for each in found.variants] == ["by"]
    assert {each.text for each in found.problems} == {
        "the downstream a/b/c in live lies inside of another one, a"
    }


def test_packages_made_of_one_another_are_named_and_not_made() -> None:
    """The short-cut looks at each rule by itself: each new revision asks for another, for ever."""

    def step(name: str, source: str, made: str) -> Variant:
        spec = replace(
            SPEC, upstream=VariantUpstream("base", source), downstream=Downstream("base", made)
        )
        return replace(VARIANT, name=name, spec=spec)

    rules = (step("x", "a", "b"), step("y", "b", "c"), step("z", "c", "a"), step("w", "a", "d"))
    found = resolved(VariantFile(variants=rules))

    assert [each.name for each in found.variants] == ["w"]
    assert {each.text for each in found.problems} == {
        "a package is made of itself: a in base, b in base, c in base"
    }


def test_two_rules_of_one_name_are_refused() -> None:
    """The short-cut tells them apart by their files: each takes out the other's functions."""
    other = replace(VARIANT, spec=replace(SPEC, downstream=Downstream("live", "other")))

    found = resolved(VariantFile(variants=(VARIANT, other)))

    assert found.variants == ()
    assert {each.text for each in found.problems} == {
        "another variant is named edges (the package)"
    }


@pytest.mark.parametrize(
    ("targets", "expected"),
    {
        "  - repositories: [{name: nowhere}]\n": 'repository "nowhere" could not be loaded',
        "  - repositories: [{name: live}]\n"
        "    template: {downstream: {packageExpr: \"target.repo + '/../x'\"}}\n": (
            "no package can be at 'live/../x': the path has a part '.' or '..'"
        ),
        "  - repositories: [{name: live}]\n"
        "    template: {downstream: {packageExpr: target.labels.a}}\n": (
            "spec.targets[0], for live/net/core: template.downstream.packageExpr:"
            " no such key: labels"
        ),
        "  - repositories: [{name: live}]\n    template: {downstream: {repo: gone}}\n": (
            'spec.targets[0], for live/net/core: repository "gone" could not be loaded'
        ),
    }.items(),
)
def test_what_comes_of_expressions_is_checked_like_what_is_written(
    targets: str, expected: str
) -> None:
    found = resolved_set(targets)

    assert (found.variants, [each.text for each in found.problems]) == ((), [expected])
    assert str(found.problems[0].place) == ("s.yaml:8" if "such key" in expected else "s.yaml:7")


def test_while_a_file_is_broken_nothing_counts_as_removed() -> None:
    """The short-cut takes what is not there any more for removed, and proposes to delete it."""
    broken = read(b"kind: [", "b.yaml")

    found = resolved(VariantFile(variants=(VARIANT,)), broken)

    assert [each.name for each in found.variants] == ["edges"]
    assert not found.complete


def test_a_set_whose_upstream_is_not_there_waits() -> None:
    file = read(f"{SET}  - repositories: [{{name: live}}]\n".encode(), "s.yaml")
    around = ResolutionContext(
        repositories=repositories(), objects=KubeObjectIndex(()), revision=lambda _: None
    )

    found = resolve([file], around)

    assert found.variants == ()
    assert found.problems[0].text == (
        "could not find upstream package revision 'net/core/2' in repo 'base'"
    )


def test_a_hundred_thousand_targets_are_refused_at_once() -> None:
    """The short-cut renders all of them before it counts."""
    known = repositories(**{f"r{number}": {"tier": "edge"} for number in range(100_000)})

    def choosing() -> None:
        found = resolved_set("  - repositorySelector: {matchLabels: {tier: edge}}\n", known)
        assert [each.text for each in found.problems] == [
            "the set all chooses more than 10,000 packages"
        ]

    assert lines(choosing) < 20 * len(known)


def test_ten_thousand_packages_are_resolved() -> None:
    known = repositories(**{f"r{number}": {"tier": "edge"} for number in range(9_998)})

    found = resolved_set(
        "  - repositorySelector: {}\n"
        "    template:\n"
        "      downstream: {packageExpr: \"packageDefault + '/' + target.name\"}\n"
        '      labelExprs: [{key: tier, valueExpr: "repository.name"}]\n',
        known,
    )

    assert (len(found.variants), found.problems) == (10_000, ())


def test_names_are_cut_by_bytes_as_porch_does() -> None:
    """The short-cut cuts by characters, or one that has 63 already."""
    assert naming.variant_name("s", "rep", "p" * 57) == "s-rep-" + "p" * 57
    assert (
        naming.variant_name("s", "rep", "p" * 58)
        == "s-rep-"
        + "p" * 48
        + "-"
        + (hashlib.sha1(("s-rep-" + "p" * 58).encode()).hexdigest()[:8])
    )
    assert len(naming.variant_name("s", "rep", "ü" * 40).encode()) <= 63


def test_workspaces_go_on_where_porch_stopped() -> None:
    """The short-cut takes the first free number, whose tag or branch may come back."""
    used = ["packagevariant-3", "packagevariant-10", "packagevariant-x", "other-99"]

    assert naming.next_workspace(used) == "packagevariant-11"
    assert naming.next_workspace([]) == "packagevariant-1"
    assert naming.draft_branch("net/core", "packagevariant-1") == (
        "drafts/net/core/packagevariant-1"
    )


def test_one_repository_by_two_names_is_one_repository() -> None:
    """Short-cut refused: names are compared, so that a package is made of itself without end."""
    rules = """apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata: {name: itself}
spec:
  upstream: {repo: base, package: a}
  downstream: {repo: live, package: a}
---
apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata: {name: inside}
spec:
  upstream: {repo: base, package: net/core}
  downstream: {repo: base, package: a/b}
"""
    table = repositories()
    around = ResolutionContext(
        repositories=table,
        objects=KubeObjectIndex(table.values()),
        revision=lambda _: UP,
        places={"base": "acme/live", "live": "acme/live"},
    )

    found = resolve([read(rules.encode(), "r.yaml")], around)

    assert found.variants == ()
    assert [each.text for each in found.problems] == [
        messages.circle(["a in live"])[0],
        messages.inside_another("a/b in base", "a")[0],
    ]


def test_all_expressions_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short-cut refused: each is cheap by itself, and ten thousand targets have a hundred each."""
    monkeypatch.setattr(expressions, "MOST_EVALUATED", 3)
    known = repositories(**{f"r{number}": {"tier": "edge"} for number in range(4)})
    targets = """  - repositorySelector: {matchLabels: {tier: edge}}
    template: {downstream: {packageExpr: "'net/' + target.name"}}
"""

    found = resolved_set(targets, known)

    assert found.variants == ()
    assert "by all expressions together" in found.problems[0].text


def test_results_of_expressions_take_no_more_memory_than_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Short-cut refused: what each makes is bounded, and what ten thousand of them leave is not."""
    monkeypatch.setattr(expressions, "MOST_KEPT_TOGETHER", 3 * len("net/r0"))
    known = repositories(**{f"r{number}": {"tier": "edge"} for number in range(5)})
    targets = """  - repositorySelector: {matchLabels: {tier: edge}}
    template: {downstream: {packageExpr: "'net/' + target.name"}}
"""

    found = resolved_set(targets, known)

    assert found.variants == ()
    assert "by all expressions together" in found.problems[0].text


def test_all_rules_together_choose_no_more_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short-cut refused: the bound of one set, and a thousand sets beside each other."""
    monkeypatch.setattr(resolution, "MOST_TOGETHER", 3)
    known = repositories(**{f"r{number}": {"tier": "edge"} for number in range(2)})
    targets = "  - repositorySelector: {matchLabels: {tier: edge}}\n"
    files = [
        read(f"{SET}{targets}".replace("name: all", f"name: {name}").encode(), f"{name}.yaml")
        for name in ("a", "b")
    ]

    found = resolved(*files, known=known)

    assert [each.set for each in found.variants] == ["a", "a"]
    assert [each.path for each in found.problems] == ["b.yaml"]


@pytest.mark.parametrize("case", ["name", "downstream", "circle"])
def test_thousands_that_stand_against_one_another_are_told_in_proportion(case: str) -> None:
    """Short-cut refused: each is told with all of the others, of which five are named.

    Whoever may open a pull request brings rules: 50,000 of one name took hours.
    """

    def resolving(count: int) -> Callable[[], object]:
        found = []
        for number in range(count):
            up = replace(SPEC.upstream, repo="live", package=f"p{(number + 1) % count}")
            package = "same" if case == "downstream" else f"p{number}"
            spec = replace(SPEC, downstream=Downstream("live", package))
            spec = replace(spec, upstream=up) if case == "circle" else spec
            name = "same" if case == "name" else f"v{number}"
            found.append(replace(VARIANT, name=name, spec=spec))
        table = repositories()
        around = ResolutionContext(
            repositories=table, objects=KubeObjectIndex(table.values()), revision=lambda _: UP
        )

        def work() -> None:
            refused = resolve([VariantFile(variants=tuple(found))], around)
            assert refused.variants == ()
            told = refused.problems[0].text
            assert f"{count - (5 if case == 'circle' else 6)} more" in told

        return work

    assert_in_proportion(resolving, 40)


def test_two_names_of_one_folder_are_one_place() -> None:
    """Short-cut refused: paths are compared as rules have them, and two rules write to one."""
    whole = replace(VARIANT, name="whole", spec=replace(SPEC, downstream=Downstream("base", "a/b")))
    part = replace(VARIANT, name="part", spec=replace(SPEC, downstream=Downstream("live", "b")))
    table = repositories()
    around = ResolutionContext(
        repositories=table,
        objects=KubeObjectIndex(table.values()),
        revision=lambda _: UP,
        places={"base": "acme/live", "live": "acme/live"},
        directories={"live": "a"},
    )

    found = resolve([VariantFile(variants=(whole, part))], around)

    assert found.variants == ()
    assert around.placed(part).spec.downstream == Downstream("live", "a/b")
    assert around.placed(whole) is whole
