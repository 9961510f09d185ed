"""What a rendering comes to under guardrails: what blocks, and what no guardrail saw."""

from collections.abc import Mapping

import pytest

from bot.render import verdicts
from cadlib.kptfile.values import Selector
from cadlib.limits import DEFAULT
from cadlib.package.files import Entry, Files
from cadlib.render import pipeline as render
from cadlib.render.calls import Step
from lifecycle.facts.verdicts import ReadinessGate, Verdict
from lifecycle.messages.findings import findings
from lifecycle.policy import GuardrailFunction, Mode, Policy

IMAGE = "registry.example/judge:v1"
BLOCKS = GuardrailFunction(image=IMAGE)
WARNS = GuardrailFunction(image=IMAGE, mode=Mode.WARN, fix="Ask the platform team")
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: core}\n"
ERROR = {"message": "too small", "severity": "error"}


def tree(texts: Mapping[str, str]) -> Files:
    whole = {"Kptfile": KPTFILE, **texts}
    return {path: Entry(text.encode(), "100644") for path, text in whole.items()}


def judged(
    policy: Policy,
    *results: Mapping[str, object],
    more: Mapping[str, str] | None = None,
    before: Mapping[str, str] | None = None,
) -> Verdict:
    files = tree(more or {})
    old = files if before is None else tree(before)
    steps = verdicts.begin(files, policy, DEFAULT)
    outcome: render.CallOutcome | None = None
    while True:
        try:
            call = next(steps) if outcome is None else steps.send(outcome)
        except StopIteration as done:
            return verdicts.of("net/core", files, old, done.value, policy, ())
        resources = call.resources
        outcome = render.CallOutcome(resources=resources, results=results)


@pytest.mark.parametrize(
    ("guardrails", "blocking"),
    [
        ((WARNS,), 0),
        ((BLOCKS,), 1),
        ((WARNS, BLOCKS), 1),
        ((BLOCKS, WARNS), 1),
        ((WARNS, WARNS), 0),
    ],
)
def test_a_guardrail_that_warns_softens_no_other_of_the_same_image(
    guardrails: tuple[GuardrailFunction, ...], blocking: int
) -> None:
    """The short-cut takes the first guardrail of the image that spoke."""
    found = judged(Policy(validators=guardrails), ERROR)

    assert len(found.blocking) == blocking
    assert len(found.findings) == len(guardrails)


@pytest.mark.parametrize("kind", ["mutators", "validators"])
@pytest.mark.parametrize("inside", ["Kptfile", "sub/Kptfile"])
def test_a_guardrail_that_warns_softens_no_function_of_the_packages_own(
    kind: str, inside: str
) -> None:
    """The short-cut goes by the image: the author's own validator fails, and it is published."""
    own = {inside: f"{KPTFILE}pipeline: {{{kind}: [{{image: '{IMAGE}'}}]}}\n"}
    found = judged(Policy(mutators=(WARNS,), validators=(WARNS,)), ERROR, more=own)

    (blocking,) = found.blocking
    assert (blocking.message, blocking.fix) == ("too small", "")
    assert [f.fix for f in found.findings if f not in found.blocking] == [WARNS.fix] * 2


SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: evil}\n"
ONE = "functions and guardrails do not see 1 resource in 1 file excluded here: "

UNSEEN: dict[str, tuple[dict[str, str], dict[str, str], list[tuple[str, str]]]] = {
    "nothing is excluded": ({}, {"a.yaml": SECRET}, []),
    "a new .krmignore": (
        {"a.yaml": SECRET},
        {"a.yaml": SECRET, ".krmignore": "a.yaml\n"},
        [("net/core/.krmignore", f"{ONE}net/core/a.yaml")],
    ),
    "a line that excludes more": (
        {"a.yaml": SECRET, "b.yaml": SECRET, ".krmignore": "a.yaml\n"},
        {"a.yaml": SECRET, "b.yaml": SECRET, ".krmignore": "*.yaml\n"},
        [("net/core/.krmignore", f"{ONE}net/core/b.yaml")],
    ),
    "a resource in a folder that is excluded": (
        {".krmignore": "out/\n"},
        {".krmignore": "out/\n", "out/a.yaml": SECRET},
        [("net/core/.krmignore", f"{ONE}net/core/out/a.yaml")],
    ),
    "another content of what was excluded": (
        {".krmignore": "a.yaml\n", "a.yaml": "a: 1\n"},
        {".krmignore": "a.yaml\n", "a.yaml": SECRET},
        [("net/core/.krmignore", f"{ONE}net/core/a.yaml")],
    ),
    "what was excluded before": (
        {".krmignore": "a.yaml\n", "a.yaml": SECRET},
        {".krmignore": "a.yaml\n", "a.yaml": SECRET, "b.yaml": SECRET},
        [],
    ),
    "files that hold no resources": (
        {},
        {".krmignore": "*.yaml\n", "values.yaml": "a: 1\n", "words.md": SECRET},
        [],
    ),
    "lists, several documents, and what cannot be read": (
        {},
        {
            ".krmignore": "*.yaml\n",
            "a.yaml": f"{SECRET}---\n{SECRET}",
            "b.yaml": "apiVersion: v1\nkind: List\nitems: [{kind: A}, {kind: B}]\n",
            "c.yaml": "{{ if .x }}\n",
        },
        [
            (
                "net/core/.krmignore",
                "functions and guardrails do not see 4 resources in 3 files excluded here:"
                " net/core/a.yaml, net/core/b.yaml, net/core/c.yaml",
            )
        ],
    ),
    "a subpackage that is left out whole, and one with a file of its own": (
        {},
        {
            ".krmignore": "out\n",
            "out/Kptfile": KPTFILE,
            "out/a.yaml": SECRET,
            "in/Kptfile": KPTFILE,
            "in/.krmignore": "b.yaml\n",
            "in/b.yaml": SECRET,
        },
        [
            ("net/core/.krmignore", f"{ONE}net/core/out/a.yaml"),
            ("net/core/in/.krmignore", f"{ONE}net/core/in/b.yaml"),
        ],
    ),
}


@pytest.mark.parametrize(("before", "after", "expected"), UNSEEN.values(), ids=UNSEEN)
def test_what_a_change_hides_from_guardrails_is_said(
    before: dict[str, str], after: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    """The short-cut looks at the `.krmignore` that is changed, and at nothing added below it."""
    found = judged(Policy(validators=(BLOCKS,)), more=after, before=before)

    assert not found.blocking
    shown = [(f.place.path, f.message) for f in found.findings if f.severity == "warning"]
    assert sorted(shown) == sorted(expected)


def test_the_names_of_hidden_files_are_escaped() -> None:
    """The short-cut takes them for words of ours."""
    odd = {".krmignore": "*.yaml\n", "@all <b>#1.yaml": SECRET}
    found = judged(Policy(), before={}, more=odd)

    text = findings(found.findings)
    assert "@all" not in text
    assert "<b>" not in text


HIDDEN = """\
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: evil}}
"""
EMPTY = "apiVersion: v1\nkind: List\nitems: []\n"


def test_resources_that_no_guardrail_saw_are_not_published() -> None:
    """The short-cut believes that what functions do not see does nothing: kubectl applies it."""
    found = judged(Policy(validators=(BLOCKS,)), more={"all.yaml": HIDDEN})

    assert [f.message for f in found.blocking] == [
        "no function sees the resources in this list, because the list has no name"
    ]
    assert str(found.blocking[0].place) == "net/core/all.yaml:1"
    named = HIDDEN.replace("items:", "metadata: {name: all}\nitems:")
    assert judged(Policy(validators=(BLOCKS,)), more={"all.yaml": named}).blocking
    assert not judged(Policy(), more={"all.yaml": HIDDEN}).blocking  # nobody wanted to see it
    assert not judged(Policy(validators=(BLOCKS,)), more={"all.yaml": EMPTY}).blocking


def kptfile(gates: str, conditions: str) -> dict[str, str]:
    info, status = (
        f"info: {{readinessGates: [{gates}]}}\n",
        f"status: {{conditions: [{conditions}]}}\n",
    )
    return {"Kptfile": KPTFILE + info + status}


READY = "{type: Ready, status: 'True'}"
NOT = "{type: Ready, status: 'False', reason: Waits, message: hunter2 is away}"
GATE = "{conditionType: Ready}"
READINESS: dict[str, tuple[str, str, tuple[ReadinessGate, ...]]] = {
    "none": ("", READY, ()),
    "true": (GATE, READY, (ReadinessGate("Ready", "True"),)),
    "missing": (GATE, "{type: Other, status: 'True'}", (ReadinessGate("Ready"),)),
    "false": (GATE, NOT, (ReadinessGate("Ready", "False", "Waits", "hunter2 is away"),)),
    "said in two ways": (
        GATE,
        f"{READY}, {NOT}",
        (ReadinessGate("Ready", "False", "Waits", "hunter2 is away"),),
    ),
    "named twice": (f"{GATE}, {GATE}", READY, (ReadinessGate("Ready", "True"),)),
}


@pytest.mark.parametrize(("gates", "conditions", "expected"), READINESS.values(), ids=READINESS)
def test_readiness_is_read_from_the_kptfile_of_the_tree(
    gates: str, conditions: str, expected: tuple[ReadinessGate, ...]
) -> None:
    """The short-cut takes the first condition of a type: a second one that says no is not seen."""
    found = judged(Policy(), more=kptfile(gates, conditions))

    assert (found.findings, found.readiness) == ((), expected)


DIGESTS: dict[str, tuple[tuple[str, ...], str]] = {
    "the same each time": (("sha256:a", "sha256:a"), "sha256:a"),
    "the tag moved between two calls": (("sha256:a", "sha256:b"), ""),
    "the first could not be run": (("", "sha256:b"), ""),
    "the last could not be run": (("sha256:a", ""), ""),
    "and did not come back": (("sha256:a", "sha256:b", "sha256:b"), ""),
}


@pytest.mark.parametrize(("digests", "expected"), DIGESTS.values(), ids=DIGESTS)
def test_a_function_is_named_where_all_its_calls_were_the_same(
    digests: tuple[str, ...], expected: str
) -> None:
    """Short-cut refused: what the last call was, so that what another one found is kept for all."""
    steps = tuple(
        Step(image=IMAGE, package="", step="validators", source="guardrail", ok=True, digest=each)
        for each in digests
    )
    rendered = render.Rendered(steps=steps)

    found = verdicts.of("net/core", tree({}), tree({}), rendered, Policy(), ())

    assert found.versions[IMAGE].digest == expected


def calls(policy: Policy, more: Mapping[str, str]) -> tuple[list[render.FunctionCall], Verdict]:
    """The calls of a rendering, each answered without a change, and the verdict."""
    files = tree(more)
    made: list[render.FunctionCall] = []
    steps = verdicts.begin(files, policy, DEFAULT)
    outcome: render.CallOutcome | None = None
    while True:
        try:
            call = next(steps) if outcome is None else steps.send(outcome)
        except StopIteration as done:
            return made, verdicts.of("net/core", files, files, done.value, policy, ())
        made.append(call)
        outcome = render.CallOutcome(resources=call.resources)


PODS = {
    f"{name}.yaml": f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}}}\n"
    for name, kind in (("a", "Pod"), ("b", "Pod"), ("c", "ConfigMap"))
}


def test_a_guardrail_sees_what_its_selectors_choose_and_is_configured_from_outside() -> None:
    """Short-cut refused: a file of the package, whose author then chooses how he is judged."""
    mine = {"apiVersion": "v1", "kind": "Rules", "metadata": {"name": "mine"}, "strict": True}
    guardrail = GuardrailFunction(
        image=IMAGE,
        config_path=".porchbot/rules.yaml",
        config=mine,
        selectors=(Selector(kind="Pod"),),
        exclude=(Selector(name="b"),),
    )
    evil = {".porchbot/rules.yaml": "apiVersion: v1\nkind: Rules\nmetadata: {name: evil}\n"}

    (call,), found = calls(Policy(validators=(guardrail,)), {**PODS, **evil})

    assert [item.path for item in call.items] == ["a.yaml"]
    assert call.config == mine
    assert found.complete


PIPELINE = KPTFILE + "pipeline:\n  validators:\n  - image: {image}\n"
ALLOWED: dict[str, tuple[str, tuple[tuple[str, ...], ...], bool]] = {
    "anything where nothing is said": (IMAGE, (), True),
    "a folder of images": (IMAGE, (("registry.example/*",),), True),
    "all tags of one": (IMAGE, (("registry.example/judge",),), True),
    "another tag": (IMAGE, (("registry.example/judge:v2",),), False),
    "a tag that takes the place of the allowed one": (f"{IMAGE}\n    tag: v9", ((IMAGE,),), False),
    "a host that only ends alike": ("x.registry.example/judge:v1", ((IMAGE,),), False),
    "a host within a path": (
        "evil.example/registry.example/judge:v1", (("*.example/judge",),), False
    ),
    "a short name means the catalog's": ("set-labels:v0.2", (("set-labels",),), True),
    "the catalog by its full name": (
        "set-labels:v0.2", (("ghcr.io/kptdev/krm-functions-catalog/*",),), True
    ),
    "both of two configurations": (IMAGE, (("*",), ("set-labels",)), False),
    "none at all": (IMAGE, ((),), False),
}  # fmt: skip


@pytest.mark.parametrize(("image", "allow", "expected"), ALLOWED.values(), ids=ALLOWED)
def test_a_function_of_a_package_that_is_not_allowed_does_not_run(
    image: str, allow: tuple[tuple[str, ...], ...], expected: bool
) -> None:
    """Short-cut refused: it is told afterwards; or guardrails of the repository are held to it."""
    guardrail = GuardrailFunction(image="registry.other/mine:v1")
    policy = Policy(validators=(guardrail,), allow=allow)

    made, found = calls(policy, {"Kptfile": PIPELINE.replace("{image}", image)})

    assert (len(made), found.complete) == ((2, True) if expected else (0, False))
    said = [(f.message, f.place.line) for f in found.blocking]
    named = image.replace("\n    tag:", " with `tag`")
    refused = f"the function {named} is not among those that this repository allows"
    assert said == ([] if expected else [(refused, 6)])


@pytest.mark.parametrize("guardrails", [(), (WARNS,)])
def test_an_upstream_that_nobody_can_read_blocks(guardrails: tuple[GuardrailFunction, ...]) -> None:
    """The short-cut waits for the first upgrade to tell, once the package is published."""
    git = "{repo: https://git.corp/x, directory: ../net, ref: v1}"
    text = f"{KPTFILE}upstream: {{git: {git}}}\n"

    verdict = judged(Policy(validators=guardrails), more={"Kptfile": text})

    assert [(each.place.path, each.place.line) for each in verdict.blocking] == [
        ("net/core/Kptfile", 4)
    ]


@pytest.mark.parametrize("guardrails", [(), (WARNS,)])
def test_a_resource_whose_name_is_none_is_not_published(
    guardrails: tuple[GuardrailFunction, ...],
) -> None:
    """Short-cut refused: no function sees it, so that nothing is wrong with it; then nobody can
    apply the package."""
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: 5\n"

    verdict = judged(Policy(validators=guardrails), more={"a.yaml": text})

    assert [str(each) for each in verdict.blocking] == [
        "net/core/a.yaml:4, metadata.name: the name of this ConfigMap is a number, and not a text:"
        " no function sees it, and `kubectl apply` refuses it. Put it in quotes."
    ]
