"""The runner's configuration: what it means, and what is said when it means nothing."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from cadlib import yaml
from cadlib.forms import FormError
from cadlib.images import CATALOG
from cadlib.stream.resourcelist import Item, ResourceList
from fnrunner import settings, settings_form
from fnrunner.builtin.lookup import get
from fnrunner.builtin.resource import mapping
from fnrunner.contract.errors import FunctionRefusedError
from fnrunner.contract.policy import RunnerPolicy, fits
from fnrunner.contract.run import MIB, Granted

ROOT = Path(__file__).resolve().parents[2]
DIGEST = f"sha256:{'a' * 64}"
OTHER = f"sha256:{'b' * 64}"
WHOLE = f"""
version: 1
prefixes: [registry.corp/fns]
allow: ["ghcr.io/acme/*", "{DIGEST}", "quay.io/x/fn@{OTHER}"]
limits: {{memory: 256Mi, time: 10s}}
functions:
- image: ghcr.io/acme/*
  limits: {{memory: 1Gi, openFiles: 32}}
- image: ghcr.io/acme/fetch:*
  network: true
  pure: false
  environment: {{REGION: eu}}
executables:
- {{name: lint, path: /opt/lint, args: [--strict], tags: ["~1.2", stable]}}
images:
  folder: /var/cache/fns
  size: 5G
  resolve: 1m30s
  registries: {{"localhost:5000": {{insecure: true}}}}
cache: {{memory: 1Mi, disk: 1Gi, folder: /var/cache/answers}}
calls: {{time: 20s, message: 10Mi, running: 3, waiting: 9}}
"""
PORCH = """
apiVersion: config.porch.kpt.dev/v1alpha1
kind: FunctionConfig
metadata: {name: set-labels, namespace: porch-fn-system}
spec:
  image: set-labels
  prefixes: ["", ghcr.io/acme/catalog]
  podExecutor: {tags: ["~0.1", v0.1.5], timeToLive: 5m, maxParallelExecutions: 3}
  binaryExecutor: {tags: ["~0.2 != v0.2.4"], path: set-labels}
  goExecutor: {id: set-labels, tags: [v0.9.0]}
"""


def read(text: str) -> settings.RunnerSettings:
    return settings.read(text.encode(), "runner.yaml")


def test_what_a_whole_file_means() -> None:
    found = read(WHOLE)
    assert (found.limits.seconds, found.limits.message_bytes) == (20, 10 * MIB)
    assert (found.limits.running, found.limits.waiting) == (3, 9)
    assert found.form.images.size == 5_000_000_000
    assert found.form.images.resolve == 90
    usual = found.policy.granted("registry.corp/other:v1")
    assert (usual.bounds.memory_bytes, usual.bounds.seconds, usual.network) == (
        256 * MIB,
        10,
        False,
    )
    acme = found.policy.granted("ghcr.io/acme/sub/fn:v1")
    assert (acme.bounds.memory_bytes, acme.bounds.seconds) == (1024 * MIB, 10)
    assert (acme.bounds.open_files, acme.network, acme.pure) == (32, False, True)
    fetch = found.policy.granted("ghcr.io/acme/fetch:v2")
    assert (fetch.network, fetch.pure, fetch.environment) == (True, False, {"REGION": "eu"})
    assert fetch.bounds == usual.bounds  # the last that fits counts, whole
    (lint,) = found.programs
    assert (lint.path, lint.args) == (Path("/opt/lint"), ("--strict",))
    tags = ("v1.2.9", "stable", "v1.3.0", "")
    assert [lint.means.mean(f"lint:{tag}".rstrip(":")) for tag in tags] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("pattern", ["fn", "fn:latest", f"{CATALOG}/fn", f"{CATALOG}/fn:latest"])
@pytest.mark.parametrize("image", ["fn", "fn:latest", f"{CATALOG}/fn", f"{CATALOG}/fn:latest"])
def test_names_that_mean_the_same_are_granted_the_same(pattern: str, image: str) -> None:
    """Short-cut: compare names as they are written. Answers were kept of a function that is asked
    for as `fn`, run as `fn:latest`, and said to be impure by that name."""
    policy = RunnerPolicy(grants=((pattern, Granted(pure=False)),))
    assert not policy.granted(image).pure
    assert policy.granted("fn:v1").pure == (":" in pattern)
    assert policy.granted("registry.corp/fn").pure


@pytest.mark.parametrize(
    ("image", "digest", "may"),
    [
        ("ghcr.io/acme/a/b:v1", OTHER, True),
        ("ghcr.io/acme2/a:v1", OTHER, False),
        ("evil.io/ghcr.io/acme/a:v1", OTHER, False),
        ("evil.io/x:v1", DIGEST, True),
        ("quay.io/x/fn:v7", OTHER, True),
        ("quay.io/x/fn:v7", f"sha256:{'c' * 64}", False),
        ("quay.io/x/fn2:v7", OTHER, False),
    ],
)
def test_what_may_run(image: str, digest: str, may: bool) -> None:
    policy = read(WHOLE).policy
    if may:
        policy.check(image, digest)
        return
    with pytest.raises(FunctionRefusedError, match="not among the functions allowed"):
        policy.check(image, digest)


def test_a_pattern_with_a_tag_means_that_tag() -> None:
    assert fits("r.io/a:v1", "r.io/a:v1")
    assert not fits("r.io/a:v1", "r.io/a:v2")
    assert fits("r.io/a", "r.io/a:v2")
    assert not fits("r.io:5000/a", "r.io/a:v2")


def test_a_tag_beside_a_digest_opens_no_door() -> None:
    """Short-cut: compare the name up to its "@": any build of the repository calls itself v1."""
    assert not fits("r.io/a:v1", f"r.io/a:v1@{OTHER}", OTHER)
    assert not fits("r.io/a:v*", f"r.io/a:v1@{OTHER}", OTHER)
    assert fits("r.io/a", f"r.io/a:v1@{OTHER}", OTHER)
    assert fits("r.io/*", f"r.io/a@{OTHER}", OTHER)
    assert fits(f"r.io/a:v1@{OTHER}", f"r.io/a:v1@{OTHER}", OTHER)
    assert fits(f"r.io/a@{OTHER}", f"r.io/a:v1@{OTHER}", OTHER)
    assert not fits(f"r.io/a:v1@{DIGEST}", f"r.io/a:v1@{OTHER}", OTHER)


def test_porchs_format_is_read() -> None:
    found = read(PORCH)
    ((names, name),) = found.aliases
    assert name == "set-labels"
    assert names.mean("set-labels:v0.9.0")
    assert names.mean("ghcr.io/acme/catalog/set-labels:v0.9.0")
    assert not names.mean("ghcr.io/acme/set-labels:v0.9.0")
    (program,) = found.programs
    assert program.path == Path("/functions/set-labels")
    assert program.means.mean("set-labels:v0.2.3")
    assert not program.means.mean("set-labels:v0.2.4")
    assert found.warm == ("set-labels:v0.1.5", "ghcr.io/acme/catalog/set-labels:v0.1.5")
    (rule,) = found.pods
    assert (rule.idle, rule.most, rule.queue) == (300, 3, found.form.pods.queue)


def test_the_folder_of_porchs_executables_is_configured() -> None:
    (program,) = read(f"version: 1\nbinaries: /opt/fns\n---{PORCH}").programs
    assert program.path == Path("/opt/fns/set-labels")


def test_both_forms_stand_in_one_file() -> None:
    found = read(f"{WHOLE}---{PORCH}---{PORCH}")
    assert len(found.aliases) == 2
    assert len(found.programs) == 3
    assert found.limits.waiting == 9


def test_an_empty_file_has_the_defaults() -> None:
    found = read("")
    assert found.form.allow == ["*"]
    assert found.form.runtimes == ["builtin", "executable", "image"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("version: 2", "runner.yaml:1, version: 2 is not 1. Write 1"),
        ("{}", "the key 'version' is missing"),
        ("version: 1\nlimit: {}", "line"),
        ("version: 1\nlimits: {memory: lots}", "'lots' is not a size. Write a number with a unit"),
        ("version: 1\nlimits: {time: 0s}", "the duration is 0"),
        ("version: 1\ncalls: {time: .inf}", "inf is not a duration"),
        ("version: 1\ncalls: {time: .nan}", "nan is not a duration"),
        ("version: 1\nlimits: {processes: 0}", "out of range"),
        ("version: 1\nallow: [sha256:12]", "'sha256:12' is not a digest"),
        ("version: 1\nallow: ['a b']", "is not a pattern for images"),
        ("version: 1\nexecutables: [{name: a, path: a}]", "'a' is not an absolute path"),
        ("version: 1\nexecutables: [{name: a, path: ''}]", "'' is not an absolute path"),
        # or a package is filled with images, wherever a command is run
        ("version: 1\nimages: {folder: a}", "images.folder: 'a' is not an absolute path"),
        ("version: 1\nimages: {credentials: a}", "images.credentials: 'a' is not an absolute path"),
        ("version: 1\nimages: {registries: {r.io: {ca: a}}}", "'a' is not an absolute path"),
        ("version: 1\ncache: {folder: a}", "cache.folder: 'a' is not an absolute path"),
        ("version: 1\nbinaries: a", "binaries: 'a' is not an absolute path"),
        ("version: 1\npods: {template: a}", "pods.template: 'a' is not an absolute path"),
        # or nothing ever fits it
        ("version: 1\nimages: {registries: {'http://r.io': {}}}", ":2, images.registries"),
        ("version: 1\nimages: {registries: {'http://r.io': {}}}", "Leave out http://"),
        ("version: 1\nimages: {registries: {r.io/a: {}}}", "'r.io/a' is not a registry"),
        ("version: 1\nprefixes: ['https://r.io']", "prefixes[0]: 'https://r.io' is an address"),
        (
            "version: 1\nfunctions: [{image: a, environment: {A=B: c}}]",
            ":2, functions[0].environment.A=B: 'A=B' is not a valid name for an environment"
            " variable",
        ),
        (
            "version: 1\nexecutables: [{name: a, path: /a, tags: ['!!']}]",
            "neither a tag nor a range",
        ),
        ("version: 1\nallow: ['']", "'' is not a pattern for images"),
        ("version: 1\ncache: {memory: 1Pi}", "units are k, M, G, T, Ki, Mi, Gi, Ti"),
        (
            "version: 1\nexecutables: [{name: a, path: /a, tags: [v1, v2]},"
            " {name: a, path: /b, tags: [v2, v1]}]",
            "two executables are called a",
        ),
        # or it sees what belongs to the runner, or to the machine
        (
            "version: 1\nexecutables: [{name: a, path: /a, files: [/var/cache]}]\n"
            "cache: {folder: /var/cache/porchbot/answers}",
            "/var/cache cannot be given to an executable: it would expose"
            " /var/cache/porchbot/answers",
        ),
        (
            "version: 1\nexecutables: [{name: a, path: /a, files: [/etc/x/../porchbot/r.json]}]\n"
            "images: {credentials: /etc/porchbot/r.json}",
            "it would expose /etc/porchbot/r.json. Name the files that it needs, one by one",
        ),
        ("version: 1\nexecutables: [{name: a, path: /a, files: [/]}]", "it would expose /dev"),
        ("version: 1\nexecutables: [{name: a, path: /a, files: [/proc/1]}]", "would expose /proc"),
        ("version: 1\nexecutables: [{name: a, path: /a, files: [b]}]", "is not an absolute path"),
        ("version: 1\nruntimes: [docker]", "'docker' is not"),
        (
            "version: 1\n---\nversion: 1",
            "runner.yaml:3: there are two configuration documents for the runner",
        ),
        (PORCH.replace("id: set-labels", "id: other"), "no function 'other' is built in"),
        (PORCH.split("  podExecutor")[0], "it has no executor"),
        (PORCH.replace("path: set-labels", "paths: x"), "the key 'paths' is unknown"),
        ("a: [", "runner.yaml:"),
    ],
)
def test_what_is_said_about_a_broken_file(text: str, said: str) -> None:
    with pytest.raises(FormError) as caught:
        read(text)
    if said != "line":
        assert said in str(caught.value)
        return
    assert "runner.yaml:2, limit: the key 'limit' is unknown. Did you mean 'limits'?" in str(
        caught.value
    )


def test_every_problem_is_told_at_once() -> None:
    """Short-cut: stop at the first document that is wrong."""
    broken = PORCH.replace("path: set-labels", "path: 7")
    with pytest.raises(FormError) as caught:
        read(f"version: 1\nlimits: {{memory: x, time: y}}\n---{broken}")
    assert len(caught.value.problems) == 3


def test_the_schema_takes_the_examples_of_the_documentation() -> None:
    """Fails where an editor refuses "512Mi", because the schema tells what is made of it."""
    validator = jsonschema.Draft202012Validator(json.loads(settings_form.schema_text()))
    text = (ROOT / "docs/runner.md").read_text()
    for example in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL):
        for document in yaml.read(example.encode()).documents:
            assert [each.message for each in validator.iter_errors(document.value)] == []
    assert not validator.is_valid({"version": 1, "limits": {"memory": "512 MB"}})
    assert not validator.is_valid({"version": 1, "limits": {"time": "0.5"}})


def test_the_example_of_the_documentation_is_one() -> None:
    example, pods = re.findall(
        r"```yaml\n(.*?)```", (ROOT / "docs/runner.md").read_text(), re.DOTALL
    )
    found = read(example)
    assert found.policy.granted("registry.corp/fns/prices:v3").network
    granted = (*(given for _, given in found.policy.grants), found.policy.usual)
    assert max(each.bounds.seconds for each in granted) <= found.limits.seconds
    assert [program.path for program in found.programs] == [Path("/opt/fns/audit")]
    assert read(pods).form.pods.warm == ["registry.corp/fns/audit:v3"]


async def test_the_deployment_of_the_documentation_is_one() -> None:
    """Short-cut: manifests that nothing reads."""
    documents = yaml.read((ROOT / "docs/kubernetes/runner.yaml").read_bytes()).documents
    items = [
        Item(value=each.value, path="runner.yaml", index=i) for i, each in enumerate(documents)
    ]
    config: yaml.Value = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"strict": "true"}}
    found = get("kubeconform").run(ResourceList(items=tuple(items), config=config))
    assert (found.failed, list(found.results)) == (False, [])

    (made,) = (each.value for each in items if mapping(each.value)["kind"] == "ConfigMap")
    runner = read(str(mapping(mapping(made)["data"])["runner.yaml"]))
    assert runner.form.runtimes == ["builtin", "pod"]
