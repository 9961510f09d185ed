"""Configuration files that cannot be used: what is told of them, and what that takes."""

import json
from unittest.mock import patch

import pytest

from cadlib import forms
from cadlib.forms import MOST_PROBLEMS, FormError, Strict


class Inner(Strict):
    name: str = ""
    """Text of the reference."""


class Inherited(Inner):
    more: str = ""


class Form(Strict):
    inner: Inner = Inner()


def problems(text: str) -> list[str]:
    with pytest.raises(FormError) as caught:
        forms.read(Form, text.encode(), "f.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_a_file_of_many_wrong_keys_is_refused_at_the_cost_of_a_few() -> None:
    """Short-cut refused: words for each key, with a schema made anew for each.

    Anybody may propose such a file: 95,000 keys, which are within every limit, took 24 minutes.
    """
    keys = 2_000
    text = (
        "".join(f"k{n}: 1\n" for n in range(keys))
        + "inner:\n"
        + "".join(f"  i{n}: 1\n" for n in range(keys))
    )
    with (
        patch.object(forms, "_words", wraps=forms._words) as words,
        patch.object(Form, "model_json_schema", wraps=Form.model_json_schema) as schema,
    ):
        found = problems(text)

    assert words.call_count == MOST_PROBLEMS
    assert schema.call_count <= 2
    assert len(found) == MOST_PROBLEMS + 1
    assert f"the file has {2 * keys - MOST_PROBLEMS} more problems" in found[-1]
    assert all("is unknown" in each for each in found[:-1])


def test_few_problems_are_all_told_in_the_order_of_their_lines() -> None:
    found = problems("k1: 1\ninner:\n  nome: a\nk2: 1\n")

    assert [each.split(":")[1].split(",")[0] for each in found] == ["1", "3", "4"]
    assert "Did you mean 'name'?" in found[1]


def test_the_text_of_a_key_is_read_for_the_schema_alone() -> None:
    """Short-cut: pydantic reads the source of each form as it is imported, at every start."""
    assert Inner.model_fields["name"].description is None

    keys = json.loads(forms.schema_text(Inherited, "a form"))["properties"]

    assert keys["name"]["description"] == "Text of the reference."
    assert "description" not in keys["more"]
