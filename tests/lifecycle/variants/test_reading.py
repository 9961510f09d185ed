"""Files of variants: every problem with its line and column, in Porch's words where it has some."""

import json

import pytest

from cadlib.yaml import Document, FieldPath
from lifecycle.selectors.labels import LabelSelector, Requirement
from lifecycle.variants.problems import MOST
from lifecycle.variants.reading import read
from lifecycle.variants.values import Propose, VariantUpstream

HEAD = "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata:\n  name: edges\n"
SET = "apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata:\n  name: all\n"
UP = "  upstream: {repo: base, package: net/core, revision: 1}\n"
DOWN = "  downstream: {repo: live, package: edge}\n"
GOOD = f"{HEAD}spec:\n{UP}{DOWN}"


def _said(text: str) -> list[str]:
    return [str(each) for each in read(text.encode(), "v.yaml").problems]


def test_all_that_a_variant_says() -> None:
    text = f"""{HEAD}  namespace: prod
  annotations:
    porchbot.dev/follow: latest
    porchbot.dev/propose: asap
spec:
  upstream: {{repo: base, package: net/core, revision: -1, workspaceName: main}}
{DOWN}  adoptionPolicy: adoptExisting
  deletionPolicy: orphan
  labels: {{a: b}}
  annotations: {{c: d}}
  packageContext: {{data: {{k: v}}, removeKeys: [old]}}
  pipeline:
    mutators: [{{name: ns, image: set-namespace:v0.4, configMap: {{namespace: x}}}}]
  injectors: [{{kind: Team, name: north}}]
status: {{conditions: []}}
"""
    found = read(text.encode(), "v.yaml")

    (variant,) = found.variants
    assert found.problems == ()
    assert (variant.follow, variant.propose, variant.namespace) == (True, Propose.ASAP, "prod")
    assert variant.spec.upstream == VariantUpstream("base", "net/core", -1, "main")
    assert (variant.spec.adopts, variant.spec.deletes) == (True, False)
    assert str(variant.origin) == "v.yaml:11"
    assert list(variant.spec.mutators[0]) == ["name", "image", "configMap"]
    value = json.loads(json.dumps(variant.spec.as_value()))
    assert value["packageContext"] == {"data": {"k": "v"}, "removeKeys": ["old"]}
    assert value["injectors"] == [{"kind": "Team", "name": "north"}]


def test_all_that_a_set_says() -> None:
    text = f"""{SET}spec:
{UP}  targets:
  - repositories: [{{name: r, packageNames: [a, b/c]}}]
  - repositorySelector: {{}}
  - objectSelector:
      apiVersion: hr.example.com/v1
      kind: Team
      name: north
      matchExpressions: [{{key: tier, operator: In, values: [edge]}}]
    template:
      downstream: {{packageExpr: target.name}}
      injectors: [{{nameExpr: target.name}}]
"""
    found = read(text.encode(), "v.yaml")

    (variants,) = found.sets
    named, everything, teams = variants.targets
    assert found.problems == ()
    assert named.repositories[0].packages == ("a", "b/c")
    assert everything.selected is not None
    assert everything.selected.selector == LabelSelector()
    assert teams.selected is not None
    assert teams.selected.name == "north"
    assert teams.selected.selector.requirements == (Requirement("tier", "In", ("edge",)),)
    assert teams.template is not None
    assert teams.template.injectors[0].name_expr == "target.name"


PROBLEMS: dict[str, tuple[str, list[str]]] = {
    "an unknown field": (
        GOOD + "  dwonstream: {}\n",
        ["v.yaml:8:3: unknown field \"spec.dwonstream\". Did you mean 'downstream'?"],
    ),
    "an unknown field of metadata": (
        GOOD.replace("metadata:\n", "metadata:\n  lables: {}\n"),
        ["v.yaml:4:3: unknown field \"metadata.lables\". Did you mean 'labels'?"],
    ),
    "a text for a number, as Porch had it before": (
        GOOD.replace("revision: 1", "revision: v1"),
        [
            'v.yaml:6:45: spec.upstream.revision: Invalid value: "string": spec.upstream.revision'
            ' in body must be of type integer: "string". Write the number alone: 1.'
        ],
    ),
    "a number for a text": (
        GOOD + "  labels: {a: 1}\n",
        ['v.yaml:8:12: spec.labels.a: Invalid value: "integer": spec.labels.a in body must be'],
    ),
    "true for a number": (
        GOOD.replace("revision: 1", "revision: true"),
        ['v.yaml:6:45: spec.upstream.revision: Invalid value: "boolean"'],
    ),
    "a mapping for a list": (
        GOOD + "  injectors: {}\n",
        ['v.yaml:8:3: spec.injectors: Invalid value: "object": spec.injectors in body must be of'],
    ),
    "what Porch's controller refuses, all of it": (
        HEAD + "spec:\n  upstream: {repo: base}\n  downstream: {}\n  deletionPolicy: keep\n",
        [
            "v.yaml:6:3: missing required field spec.upstream.package",
            "v.yaml:7:3: missing required field spec.downstream.repo",
            "v.yaml:7:3: missing required field spec.downstream.package",
            'v.yaml:8:3: spec.deletionPolicy can only be "orphan" or "delete"',
        ],
    ),
    "no spec": (
        HEAD,
        [
            "v.yaml:1:1: missing required field spec.upstream",
            "v.yaml:1:1: missing required field spec.downstream",
        ],
    ),
    "the version of something else": (
        GOOD.replace("v1alpha1", "v1"),
        ["v.yaml:1:1: the version is not known. Write `apiVersion: config.porch.kpt.dev/v1"],
    ),
    "another kind": (
        "apiVersion: v1\nkind: Pod\n",
        ["v.yaml:2:1: the document is of kind Pod (v1). Files of `variants` hold"],
    ),
    "a list": ("- a\n", ["v.yaml:1:1: the document is not a mapping."]),
    "no YAML": ("a: [\n", ["v.yaml:"]),
    "a variant of itself": (
        HEAD + f"spec:\n{UP}  downstream: {{repo: base, package: net/core}}\n",
        ["v.yaml:7:3: the downstream is the upstream itself: net/core in base."],
    ),
    "a path out of the repository": (
        GOOD.replace("package: edge", "package: ../edge"),
        ["v.yaml:7:28: no package can be at '../edge': the path has a part '.' or '..'."],
    ),
    "a path with a revision in it": (
        GOOD.replace("package: edge", "package: edge/v3"),
        ["v.yaml:7:28: no package can be at 'edge/v3': a part of it looks like a revision."],
    ),
    "a path that no branch can have": (
        GOOD.replace("package: edge", "package: 'edge~1'"),
        ["v.yaml:7:28: no package can be at 'edge~1': git does not allow a branch of that name"],
    ),
    "a revision that nothing has": (
        GOOD.replace("revision: 1", "revision: -2"),
        ["v.yaml:6:45: spec.upstream.revision: Invalid value: -2."],
    ),
    "an annotation of ours that is misspelt": (
        GOOD.replace("name: edges\n", "name: edges\n  annotations: {porchbot.dev/folow: x}\n"),
        ["v.yaml:5:17: the annotation porchbot.dev/folow is unknown. The known ones are porchbot."],
    ),
    "a value of it that is not known": (
        GOOD.replace("name: edges\n", "name: edges\n  annotations: {porchbot.dev/propose: now}\n"),
        ["v.yaml:5:17: porchbot.dev/propose cannot be 'now'. Write manual or asap."],
    ),
    "a name that Kubernetes refuses": (
        GOOD.replace("name: edges", "name: Edges_"),
        ['v.yaml:4:3: metadata.name: Invalid value: "Edges_".'],
    ),
    "a function without an image": (
        GOOD + "  pipeline: {mutators: [{name: a.b}]}\n",
        [
            "v.yaml:8:25: spec.pipeline.mutators[0].image must not be empty",
            "v.yaml:8:26: spec.pipeline.mutators[0].name must not contain '.'",
        ],
    ),
    "operators of selectors": (
        f"""{SET}spec:
{UP}  targets:
  - repositorySelector:
      matchExpressions:
      - {{key: a, operator: Is}}
      - {{key: b, operator: In}}
      - {{key: c, operator: Exists, values: [x]}}
""",
        [
            'v.yaml:10:18: "Is" is not a valid label selector operator. Write In, NotIn, Exists,',
            "v.yaml:11:9: for 'in', 'notin' operators, values set can't be empty.",
            "v.yaml:12:36: values set must be empty for exists and does not exist.",
        ],
    ),
    "an expression, at its place in the file": (
        f"""{SET}spec:
{UP}  targets:
  - repositories: [{{name: r}}]
    template:
      labelExprs: [{{key: a, valueExpr: "target.name + nope"}}]
      packageContext:
        removeKeyExprs: ['1 + 1']
""",
        [
            "v.yaml:10:55: spec.targets[0].template.labelExprs[0].valueExpr: ERROR: <input>:1:15:"
            " undeclared reference to 'nope'",
            "v.yaml:12:26: spec.targets[0].template.packageContext.removeKeyExprs[0]: unsupported"
            " type conversion from 'int' to string",
        ],
    ),
}


@pytest.mark.parametrize(("text", "expected"), PROBLEMS.values(), ids=PROBLEMS)
def test_problems(text: str, expected: list[str]) -> None:
    """The short-cut stops at the first problem, or tells the line of the document."""
    found = _said(text)

    assert len(found) == len(expected), found
    for said, wanted in zip(found, expected, strict=True):
        assert said.startswith(wanted), said


def test_a_broken_document_does_not_hide_the_others() -> None:
    found = read(f"{GOOD}---\n{HEAD}---\n# nothing\n---\n{SET}spec:\n".encode(), "v.yaml")

    assert [each.name for each in found.variants] == ["edges"]
    assert [each.line for each in found.problems] == [9, 9, 20, 20]


def test_of_very_many_problems_the_first_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut finds the place of each of them: 14 s for 9,000, by anybody's file."""
    places: list[FieldPath] = []
    mark = Document.mark

    def counted(document: Document, at: FieldPath) -> tuple[int, int] | None:
        places.append(at)
        return mark(document, at)

    monkeypatch.setattr(Document, "mark", counted)
    keys = "".join(f"  k{number}: 1\n" for number in range(9000))

    found = read(f"{GOOD}{keys}".encode(), "v.yaml").problems

    assert len(found) == MOST + 1
    assert str(found[-1]) == "v.yaml: the file has 8950 more problems. Fix those above first."
    assert len(places) <= MOST


@pytest.mark.parametrize(
    "text",
    [
        f"{GOOD}  labels: {{a: {'x' * 10_000_000}}}\n",
        f"{GOOD}  labels: {'[' * 5000}{']' * 5000}\n",
        f"{GOOD}  labels: &a [*a]\n",
        GOOD
        + "x: &a [1,1,1,1,1,1,1,1]\n"
        + "".join(
            f"y{n}: &b{n} [{','.join([f'*b{n - 1}' if n else '*a'] * 9)}]\n" for n in range(9)
        ),
    ],
    ids=["ten megabytes", "deep", "circle", "bomb"],
)
def test_hostile_files_are_refused_in_words(text: str) -> None:
    (said,) = _said(text)

    assert said.startswith("v.yaml")
