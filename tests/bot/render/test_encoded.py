"""Verdicts as bytes: what is written is read again as it was, and anything else is refused."""

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.render import encoded
from bot.render.encoded import EncodedError
from cadlib.diff.patch import Suggestion
from cadlib.diff.values import Change
from cadlib.findings import Finding
from lifecycle.facts.verdicts import ReadinessGate, Verdict

TEXT = st.text(max_size=8)
VERDICTS = st.builds(
    Verdict,
    package=TEXT,
    changes=st.dictionaries(TEXT, st.none() | st.binary(max_size=20), max_size=3),
    # Which guardrail of all spoke is said by what it made of the finding.
    findings=st.lists(st.builds(Finding, guardrail=st.just("")), max_size=2).map(tuple),
    functions=st.integers(0, 9),
    diff=st.lists(st.from_type(Change), max_size=3).map(tuple),
    rendering=st.lists(st.from_type(Change), max_size=3).map(tuple),
    readiness=st.lists(st.builds(ReadinessGate, TEXT, TEXT, TEXT, TEXT), max_size=2).map(tuple),
    patch=st.dictionaries(TEXT, TEXT, max_size=3),
    suggestions=st.lists(
        st.builds(Suggestion, TEXT, st.integers(1, 9), st.integers(1, 9), TEXT), max_size=2
    ).map(tuple),
)


@given(VERDICTS)
def test_a_verdict_is_read_as_it_was_written(verdict: Verdict) -> None:
    """Fails when a field is left out, or a file that is deleted reads as an empty one."""
    assert encoded.read(encoded.write(verdict)) == verdict
    assert encoded.read_changes(encoded.write_changes(verdict.diff)) == verdict.diff


def test_every_field_of_a_verdict_is_written() -> None:
    """Fails when `Verdict` gets a field, and what is kept forgets it.

    How long it took is not kept: what comes out of the store took no time.
    """
    one: dict[str, Any] = {"package": "a", "functions": 3, "broken": "so", "complete": False}
    written = encoded.write(Verdict(**one)).decode()

    assert encoded.read(written.encode()) == Verdict(**one)
    assert len([each for each in fields(Verdict) if each.compare]) == 12


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data[1:],
        lambda _: b"",
        lambda _: b"[]\n",
        lambda _: b"[" * 100_000,
        lambda data: data.replace(b'"a"', b"7"),
        lambda data: data.replace(b"true", b'"yes"'),
        lambda data: data.replace(b",4]", b",-4]"),
        lambda data: b"\xff" + data,
    ],
)
def test_what_is_broken_is_refused(change: Any) -> None:
    """The short-cut believes rows: a cut one would be pushed as a rendering."""
    data = encoded.write(Verdict(package="a", changes={"a.yaml": b"a: 1"}))

    with pytest.raises(EncodedError):
        encoded.read(change(data))
