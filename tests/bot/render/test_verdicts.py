"""What a rendering comes to under guardrails: what blocks, and what no guardrail saw."""

from collections.abc import Mapping

import pytest

from bot.render import verdicts
from cadlib.limits import DEFAULT
from cadlib.package.files import Entry, Files
from cadlib.render import pipeline as render
from cadlib.render.calls import Step
from lifecycle.facts.verdicts import Readiness, Verdict
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
        ((WARNS, BLOCKS), 2),
        ((BLOCKS, WARNS), 2),
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


SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: evil}\n"
ONE = "no function and no guardrail sees 1 resource in 1 file that this excludes: "

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
                "no function and no guardrail sees 4 resources in 3 files that this excludes:"
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
        "the resources in this list are seen by no function, since the list has no name"
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
READINESS: dict[str, tuple[str, str, tuple[Readiness, ...]]] = {
    "none": ("", READY, ()),
    "true": (GATE, READY, (Readiness("Ready", "True"),)),
    "missing": (GATE, "{type: Other, status: 'True'}", (Readiness("Ready"),)),
    "false": (GATE, NOT, (Readiness("Ready", "False", "Waits", "hunter2 is away"),)),
    "said in two ways": (
        GATE,
        f"{READY}, {NOT}",
        (Readiness("Ready", "False", "Waits", "hunter2 is away"),),
    ),
    "named twice": (f"{GATE}, {GATE}", READY, (Readiness("Ready", "True"),)),
}


@pytest.mark.parametrize(("gates", "conditions", "expected"), READINESS.values(), ids=READINESS)
def test_readiness_is_read_from_the_kptfile_of_the_tree(
    gates: str, conditions: str, expected: tuple[Readiness, ...]
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
