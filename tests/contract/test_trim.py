"""The copies of GitHub's descriptions are what `trim` makes of the whole ones."""

from __future__ import annotations

import json

import pytest

from tests.contract import trim


def test_keeps_a_property_that_is_named_like_a_keyword() -> None:
    """Short-cut: drop every key called `description` at any depth."""
    schema = {
        "type": "object",
        "description": "prose",
        "required": ["description"],
        "properties": {"description": {"type": "string", "title": "prose", "x-note": 1}},
    }
    assert trim.bare_schema(schema) == {
        "type": "object",
        "required": ["description"],
        "properties": {"description": {"type": "string"}},
    }


def test_copies_are_complete() -> None:
    """Short-cut: keep the schemas that operations name, and forget those that schemas name."""
    for name in ("openapi.json", "webhooks.openapi.json"):
        document = json.loads((trim.TARGET / name).read_text(encoding="utf-8"))
        schemas = document["components"]["schemas"]
        assert set(trim._references(document)) <= schemas.keys()
        assert document["info"]["license"]["name"] == "MIT"


def test_licences_stand_beside_the_copies() -> None:
    for copy in trim._LICENCES.values():
        assert "Permission is hereby granted" in (trim.TARGET / copy).read_text(encoding="utf-8")


@pytest.mark.skipif(not trim.SOURCE.is_dir(), reason="the whole descriptions are not beside")
def test_copies_are_up_to_date() -> None:
    expected = trim.trimmed(trim.SOURCE)
    actual = {path.name: path.read_text(encoding="utf-8") for path in trim.TARGET.iterdir()}
    stale = sorted(
        name for name in expected.keys() | actual.keys() if expected.get(name) != actual.get(name)
    )
    assert not stale, f"run `python -m tests.contract.trim`: {', '.join(stale)} differ"
