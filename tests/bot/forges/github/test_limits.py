"""GitHub counts bytes: what the adapter sends stays within them, whatever the alphabet."""

from dataclasses import replace

import pytest

from bot.forges.github.checks import (
    MESSAGE_BYTES,
    SUMMARY_BYTES,
    TITLE_BYTES,
    UNFINISHED,
    _annotation,
    _output,
    bodies,
)
from cadlib.errors import Place
from cadlib.findings import Finding, Severity
from lifecycle.actions import SetCheck
from lifecycle.facts.checks import Conclusion, Status
from lifecycle.messages.markdown import CUT
from lifecycle.names import Sha


@pytest.mark.parametrize("letter", ["a", "ä", "字", "🙂"])
def test_texts_of_a_check_are_cut_by_bytes(letter: str) -> None:
    """Fails when characters are counted: 60,000 of them can be 240,000 bytes."""
    found = Finding(
        message=letter * 70_000,
        severity=Severity.ERROR,
        place=Place("a.yaml", 3),
        function=letter * 300,
    )
    check = SetCheck(
        head=Sha("1" * 40),
        name="porchbot/validate",
        status=Status.COMPLETED,
        conclusion=Conclusion.FAILURE,
        title=letter * 300,
        summary=letter * 70_000,
        annotations=(found,),
        digest="x",
        run=None,
    )
    annotation = _annotation(found)
    output = _output(check, [annotation])

    for text, most in (
        (output["title"], TITLE_BYTES),
        (output["summary"], SUMMARY_BYTES),
        (annotation["message"], MESSAGE_BYTES),
        (annotation["title"], TITLE_BYTES),
    ):
        size = len(text.encode())
        assert most - 8 < size <= most
        assert text.endswith(CUT)


def test_what_fits_is_sent_as_it_is() -> None:
    found = Finding(message="m" * 100, severity=Severity.INFO, place=Place("a.yaml", 3))

    assert _annotation(found)["message"] == "m" * 100


def test_a_run_that_lacks_annotations_is_unfinished() -> None:
    """Fails when the digest comes first: whoever dies in between leaves a run that lacks some."""
    found = tuple(
        Finding(message=f"m{n}", severity=Severity.ERROR, place=Place("a.yaml", n))
        for n in range(120)
    )
    check = SetCheck(
        head=Sha("1" * 40),
        name="porchbot/validate",
        status=Status.COMPLETED,
        conclusion=Conclusion.FAILURE,
        title="T",
        summary="S",
        annotations=found,
        digest="x",
        run=None,
    )

    first, second, last = bodies(check)

    assert [len(each["output"]["annotations"]) for each in (first, second, last)] == [50, 50, 20]
    assert (first["external_id"], last["external_id"]) == (UNFINISHED, "x")
    assert "external_id" not in second
    (whole,) = bodies(replace(check, annotations=found[:50]))
    assert whole["external_id"] == "x"
