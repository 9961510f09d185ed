"""Label selectors as text."""

import pytest

from fnrunner.builtin.label_selector import LabelSelectorError, selects

LABELS = {"app": "web", "tier": "front", "empty": "", "n": "7", "example.com/a": "b"}

SELECTORS = {
    "": True,
    "app=web": True,
    "app==web": True,
    "app = db": False,
    "app!=db": True,
    "missing!=db": True,
    "app=web,tier=front": True,
    "app=web, tier=back": False,
    "app": True,
    "missing": False,
    "!missing": True,
    "!app": False,
    "app in (db, web)": True,
    "app in (db)": False,
    "app notin (db)": True,
    "missing notin (db)": True,
    "app notin (web),tier": False,
    "missing in (a)": False,
    "empty=": True,
    "n>6": True,
    "n<7": False,
    "app>6": False,
    "example.com/a=b": True,
}


@pytest.mark.parametrize(("selector", "expected"), SELECTORS.items(), ids=SELECTORS)
def test_selects(selector: str, expected: bool) -> None:
    """Short-cut: take a selector for one `key=value`."""
    assert selects(selector, LABELS) is expected


REFUSED = {
    "app=": None,
    "app=web,": "its end",
    "=web": "=web",
    "app in web": "app in web",
    "app in (a": "app in (a",
    "app=a b": "app=a b",
    "n>six": "six",
    "app in (a b)": "a b)",
    "in (a)": "in (a)",
}


@pytest.mark.parametrize(("selector", "rest"), REFUSED.items(), ids=REFUSED)
def test_refuses(selector: str, rest: str | None) -> None:
    if rest is None:
        assert not selects(selector, LABELS)
        return
    with pytest.raises(LabelSelectorError) as caught:
        selects(selector, LABELS)

    text = f"`{selector}` is no label selector: it cannot be read from `{rest}` on"
    assert str(caught.value) == text


def test_a_selector_has_an_end() -> None:
    """Short-cut: let an expression run for as long as it wants."""
    with pytest.raises(LabelSelectorError, match=r"^the label selector has 5000 characters,"):
        selects("a" * 5000, LABELS)
