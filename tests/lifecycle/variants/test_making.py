"""What a variant makes of a package, byte for byte."""

from collections.abc import Generator
from dataclasses import replace

import pytest

from cadlib.errors import PackageError
from cadlib.kptfile.reader import GitRef
from cadlib.package.files import Entry, Files
from cadlib.update.upstream import Answer, Fetch, Fetched, Step
from lifecycle.variants.making import VariantPackage, brought_up, cloned, shaped
from lifecycle.variants.objects import KubeObjectIndex, of_value
from lifecycle.variants.values import Injector, Variant
from tests.lifecycle.variants.samples import VARIANT, variant

REPO = "https://forge.example/acme/base.git"
KPTFILE = """# the core of each site
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: core
info:
  description: core
pipeline:
    mutators:
      - image: set-labels:v0.2 # theirs
"""
SITE = """apiVersion: v1
kind: ConfigMap
metadata:
  name: site
  annotations:
    kpt.dev/config-injection: required
data:
  zone: none # to be injected
"""
UPSTREAM = {
    "1": {"Kptfile": KPTFILE, "site.yaml": SITE, "app.yaml": "a: 1\nkind: A\nb: 1\n"},
    "2": {"Kptfile": KPTFILE, "site.yaml": SITE, "app.yaml": "a: 2\nkind: A\nb: 1\n"},
}
NORTH = of_value(
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "north"},
        "data": {"zone": "north"},
    },
    commit="c" * 40,
    origin="acme/inventory/sites.yaml",
)
RULE = variant(
    injectors=(Injector("north", kind="ConfigMap"),),
    mutators=({"name": "ns", "image": "set-namespace:v0.4", "configMap": {"namespace": "edge"}},),
    labels={"tier": "edge"},
    context={"zone": "n"},
)


def _files(texts: dict[str, str]) -> dict[str, Entry]:
    return {path: Entry(text.encode()) for path, text in texts.items()}


def _made(steps: Generator[Step, Answer, VariantPackage]) -> VariantPackage:
    """Answer what is fetched, from two versions of the upstream."""
    answer: Answer = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as ended:
            made: VariantPackage = ended.value
            return made
        answer = None
        if isinstance(step, Fetch):
            assert (step.repo, step.directory) == (REPO, "/net/core")
            number = "1" if "1" in step.ref else "2"
            answer = Fetched(_files(UPSTREAM[number]), f"{number}a" * 20, f"net/core/v{number}")


def _at(number: int) -> GitRef:
    return GitRef(repo=REPO, directory="/net/core", ref=f"net/core/v{number}")


def _texts(files: Files) -> dict[str, str]:
    return {path: entry.data.decode() for path, entry in files.items()}


def _cloned(rule: Variant = RULE, number: int = 1) -> VariantPackage:
    return _made(cloned(rule, _at(number), KubeObjectIndex([NORTH]), deployed=True))


def test_a_package_is_made_whole_in_one_go() -> None:
    """The short-cut clones first and puts the rest in later, so that half can be approved."""
    made = _cloned()

    assert _texts(made.files) == {
        "Kptfile": """# the core of each site
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: core
  labels:
    tier: edge
  annotations:
    porchbot.dev/variant: edges
upstream:
  type: git
  git:
    repo: https://forge.example/acme/base.git
    directory: /net/core
    ref: net/core/v1
  updateStrategy: resource-merge
upstreamLock:
  type: git
  git:
    repo: https://forge.example/acme/base.git
    directory: /net/core
    ref: net/core/v1
    commit: 1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a
info:
  description: core
  readinessGates:
    - conditionType: config.injection.ConfigMap.site
pipeline:
    mutators:
      - name: PackageVariant.edges.ns.0
        image: set-namespace:v0.4
        configMap:
          namespace: edge
      - image: set-labels:v0.2 # theirs
status:
  conditions:
    - type: config.injection.ConfigMap.site
      status: "True"
      message: injected resource "north" from cluster
      reason: ConfigInjected
""",
        "app.yaml": "a: 1\nkind: A\nb: 1\n",
        "package-context.yaml": """apiVersion: v1
kind: ConfigMap
metadata:
  name: kptfile.kpt.dev
  annotations:
    config.kubernetes.io/local-config: "true"
data:
  name: core
  package-path: edge/core
  zone: "n"
""",
        "site.yaml": """apiVersion: v1
kind: ConfigMap
metadata:
  name: site
  annotations:
    kpt.dev/config-injection: required
    kpt.dev/injected-resource: north
    porchbot.dev/injected-from: acme/inventory/sites.yaml@cccccccccccccccccccccccccccccccccccccccc
data:
  zone: north # to be injected
""",
    }
    assert made.sources == (NORTH,)
    assert [each.injected for each in made.points] == ["north"]


def test_done_again_it_changes_nothing() -> None:
    """The short-cut puts its functions in front once more, or writes the newest commit."""
    files = _cloned().files
    later = KubeObjectIndex([replace(NORTH, commit="e" * 40)])

    assert shaped(files, RULE, later).files == files


def test_a_newer_upstream_is_merged_and_what_people_changed_stays() -> None:
    files = _cloned().files
    files["app.yaml"] = Entry(b"a: 1\nkind: A\nb: 7 # ours\n")

    made = _made(brought_up(files, RULE, _at(2), KubeObjectIndex([NORTH])))

    texts = _texts(made.files)
    assert texts["app.yaml"] == "a: 2\nkind: A\nb: 7 # ours\n"
    assert texts["Kptfile"] == _texts(files)["Kptfile"].replace("core/v1", "core/v2").replace(
        "1a" * 20, "2a" * 20
    )
    assert texts["site.yaml"] == _texts(files)["site.yaml"]
    assert made.conflicts == ()
    assert shaped(made.files, RULE, KubeObjectIndex([NORTH])).files == made.files


def test_what_both_changed_is_told() -> None:
    files = _cloned().files
    files["app.yaml"] = Entry(b"a: 9\nkind: A\nb: 1\n")

    made = _made(brought_up(files, RULE, _at(2), KubeObjectIndex([NORTH])))

    (conflict,) = made.conflicts
    assert "app.yaml" in f"{conflict}"


def test_what_the_rule_wants_no_more_goes() -> None:
    files = _cloned().files

    made = shaped(files, VARIANT, KubeObjectIndex([]))

    text = _texts(made.files)["Kptfile"]
    assert "PackageVariant" not in text
    assert "- image: set-labels:v0.2 # theirs" in text
    assert "message: no injectors defined" in text


@pytest.mark.parametrize(
    ("rule", "files", "expected"),
    [
        (RULE, {}, "the package has no Kptfile"),
        (RULE, {"Kptfile": KPTFILE}, '"package-context.yaml" not found'),
        (
            RULE,
            {"Kptfile": KPTFILE, "package-context.yaml": "kind: A\n"},
            'does not contain resource named "kptfile.kpt.dev"',
        ),
        (VARIANT, {"Kptfile": KPTFILE, "a.yaml": "a: [\n"}, "a.yaml: failed to extract objects"),
        (VARIANT, {"Kptfile": KPTFILE, "a.yaml": "- 1\n"}, "unhandled node kind 2"),
        (VARIANT, {"Kptfile": KPTFILE, "a.yaml": SITE, "b.yaml": SITE}, "duplicate injection"),
        (
            VARIANT,
            {"Kptfile": KPTFILE, "a.yaml": SITE.replace("required", "yes")},
            'a.yaml: ConfigMap/site has invalid "kpt.dev/config-injection" annotation value of',
        ),
    ],
)
def test_a_rule_that_does_not_fit_changes_nothing_and_says_why(
    rule: Variant, files: dict[str, str], expected: str
) -> None:
    with pytest.raises(PackageError) as caught:
        shaped(_files(files), rule, KubeObjectIndex([]))

    assert expected in caught.value.problem


def test_binary_files_and_modes_stay() -> None:
    files = {**_files({"Kptfile": KPTFILE}), "run": Entry(b"\x00\xff", "100755")}

    assert shaped(files, VARIANT, KubeObjectIndex([])).files["run"] == Entry(b"\x00\xff", "100755")
