"""What a rendering comes to under guardrails: what blocks, and what no guardrail saw."""

from collections.abc import Mapping

import pytest

from bot import verdicts
from cadlib import render
from cadlib.limits import DEFAULT
from cadlib.package import Entry, Files
from lifecycle.facts import Verdict
from lifecycle.policy import GuardrailFunction, Mode, Policy

IMAGE = "registry.example/judge:v1"
BLOCKS = GuardrailFunction(image=IMAGE)
WARNS = GuardrailFunction(image=IMAGE, mode=Mode.WARN, fix="Ask the platform team")
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: core}\n"
ERROR = {"message": "too small", "severity": "error"}


def judged(policy: Policy, *results: Mapping[str, object], **more: str) -> Verdict:
    files: Files = {
        path: Entry(text.encode(), "100644") for path, text in {"Kptfile": KPTFILE, **more}.items()
    }
    steps = verdicts.begin(files, policy, DEFAULT)
    outcome: render.Outcome | None = None
    while True:
        try:
            call = next(steps) if outcome is None else steps.send(outcome)
        except StopIteration as done:
            return verdicts.of("net/core", files, files, done.value, policy, ())
        resources = call.resources
        outcome = render.Outcome(resources=resources, results=results)


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


HIDDEN = """\
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: evil}}
"""
EMPTY = "apiVersion: v1\nkind: List\nitems: []\n"


def test_resources_that_no_guardrail_saw_are_not_published() -> None:
    """The short-cut believes that what functions do not see does nothing: kubectl applies it."""
    found = judged(Policy(validators=(BLOCKS,)), **{"all.yaml": HIDDEN})

    assert [f.message for f in found.blocking] == [
        "the resources in this list are seen by no function, since the list has no name"
    ]
    assert str(found.blocking[0].place) == "net/core/all.yaml:1"
    named = HIDDEN.replace("items:", "metadata: {name: all}\nitems:")
    assert judged(Policy(validators=(BLOCKS,)), **{"all.yaml": named}).blocking
    assert not judged(Policy(), **{"all.yaml": HIDDEN}).blocking  # nobody wanted to see it
    assert not judged(Policy(validators=(BLOCKS,)), **{"all.yaml": EMPTY}).blocking
