"""What functions say of themselves, and the page made of it."""

import re

import pytest

from fnrunner.builtin import describe
from fnrunner.builtin.lookup import IMAGE_ONLY, get, names
from fnrunner.contract.errors import FunctionNotFoundError
from tests.docs import pages


def test_pages_are_made_from_the_code() -> None:
    """Short-cut: write the page by hand, and let it grow old."""
    for file, text in pages().items():
        assert file.read_text(encoding="utf-8") == text, "make it anew: python -m tests.docs"


def test_the_page_has_every_function_once() -> None:
    """Short-cut: list the functions in the page's own code."""
    headings = re.findall(r"^## ([a-z-]+)$", describe.page(), re.MULTILINE)
    assert headings == list(names())
    for name in IMAGE_ONLY:
        assert f"- `{name}`: it {IMAGE_ONLY[name]}." in describe.page()


def test_one_function_says_how_to_configure_it() -> None:
    text = describe.one("set-labels")
    about = get("set-labels").about
    assert text.startswith(f"# set-labels\n\n{about.summary}\n")
    assert about.doc.strip() in text
    assert f"```yaml\n{about.example}```" in text
    assert "It processes each resource separately." in text


def test_a_function_that_is_an_image_only_says_why() -> None:
    assert describe.one("sops") == (
        "# sops\n\nIt is not built in and runs from its image:"
        " it decrypts with keys that no function inside porchbot should see.\n"
    )


def test_an_unknown_function_is_refused_with_those_there_are() -> None:
    with pytest.raises(FunctionNotFoundError, match=r"set-lables.*set-labels"):
        describe.one("set-lables")


@pytest.mark.parametrize("name", names())
def test_every_function_says_what_a_user_needs(name: str) -> None:
    """Short-cut: leave the description empty."""
    about = get(name).about
    assert re.fullmatch(r"[A-Z].*\.", about.summary)
    assert about.doc.strip()
    assert not re.search("^#", about.doc, re.MULTILINE)
    assert "Tags: ." not in describe.one(name)
