"""What set a field: which changes are about it, and what is said of it."""

from dataclasses import replace

import pytest

from cadlib.diff.values import Change, ChangeKind
from cadlib.findings import ResourceRef
from lifecycle.actions import Reply
from lifecycle.decide import decide
from lifecycle.facts.origins import FieldOrigin, OriginKind, is_about
from lifecycle.facts.verdicts import Verdict
from lifecycle.messages.origins import told
from lifecycle.names import Sha
from tests.lifecycle.samples import APPROVER, AUTHOR, PROPOSAL, changed, facts, said

CART = ResourceRef(api_version="apps/v1", kind="Deployment", name="cart")
SIZE = Change(path="a.yaml", kind=ChangeKind.CHANGED, resource=CART, field="spec.size", new="2")


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({}, True),
        ({"path": "other.yaml"}, True),
        ({"resource": replace(CART, namespace="shop")}, True),
        ({"resource": replace(CART, name="till")}, False),
        ({"resource": None}, False),
        ({"field": "spec"}, True),
        ({"field": "spec.size.x"}, True),
        ({"field": "spec.sizes"}, False),
        ({"field": "spec[0]"}, False),
        ({"field": ""}, False),
        ({"field": "", "kind": ChangeKind.ADDED}, True),
    ],
)
def test_which_changes_are_about_a_field(change: dict[str, object], wanted: bool) -> None:
    """Short-cuts refused: a name that begins alike; where the resource stands in which file."""
    assert is_about(replace(SIZE, **change), SIZE) is wanted  # type: ignore[arg-type] # any field


def test_a_file_as_a_whole() -> None:
    """The short-cut takes any two files for one, since neither is a resource."""
    notes = Change(path="net/core/notes.txt", kind=ChangeKind.CHANGED)
    assert is_about(replace(notes, path="notes.txt"), notes)
    assert not is_about(replace(notes, path="other.txt"), notes)


ORIGIN = FieldOrigin(
    package="net/core", change=SIZE, kind=OriginKind.COMMIT, commit=Sha("a" * 40), by="ann"
)


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        (
            {"by": "@acme `x`", "subject": "see #1 [x](y)"},
            "commit `aaaaaaaaaa` by `` @acme `x` ``: see #<!-- -->1 \\[x\\](y)",
        ),
        (
            {"kind": OriginKind.FUNCTION, "name": "x:v1", "where": "guardrail"},
            "function `x:v1` of the guardrails, rendered in commit `aaaaaaaaaa`",
        ),
        (
            {"kind": OriginKind.FUNCTION},
            "a function of the package or of one inside it, rendered in commit `aaaaaaaaaa`",
        ),
        (
            {"kind": OriginKind.UPGRADE, "name": "x//y@v2", "by": ""},
            "the upgrade to `x//y@v2`, with its rendering, in commit `aaaaaaaaaa`",
        ),
        ({"kind": OriginKind.MERGE}, "a merge of another branch, commit `aaaaaaaaaa`"),
    ],
)
def test_what_is_said_of_it(origin: dict[str, object], wanted: str) -> None:
    """The short-cut puts what commits say into Markdown as it stands."""
    made = replace(ORIGIN, **origin)  # type: ignore[arg-type] # any field
    assert told(made) == f"`a.yaml: spec.size`: {wanted}"


@pytest.mark.parametrize(
    ("origins", "answered"),
    [
        ({}, False),
        ({"spec.size": ()}, True),
        ({"spec.size": (ORIGIN,)}, True),
    ],
)
def test_an_answer_waits_until_it_was_looked_into_and_nothing_else_does(
    origins: dict[str, tuple[FieldOrigin, ...]], answered: bool
) -> None:
    """The short-cut looks into it first: approvals and merges wait for ten seconds."""
    asked = (said(AUTHOR, "/why spec.size", 100), said(APPROVER, "/approve", 101))
    verdict = Verdict(package="net/core", diff=(SIZE,))
    p = changed(PROPOSAL, verdicts=(verdict,), comments=asked, origins=origins)

    texts = [a.body for a in decide(facts(p)) if isinstance(a, Reply)]

    assert any("You approved head" in text for text in texts)
    assert any("**Set by**" in text for text in texts) is answered


def test_fields_beyond_the_first_are_counted() -> None:
    """The short-cut lists three of eight, as if there were no more."""
    diff = tuple(replace(SIZE, field=f"spec.size.x{i}") for i in range(8))
    verdict = Verdict(package="net/core", diff=diff)
    p = changed(PROPOSAL, verdicts=(verdict,), comments=(said(AUTHOR, "/why spec.size"),))
    p = changed(p, origins={"spec.size": (ORIGIN,) * 3})

    (text,) = [a.body for a in decide(facts(p)) if isinstance(a, Reply)]

    assert "- 5 more fields: ask about one by its whole name" in text
