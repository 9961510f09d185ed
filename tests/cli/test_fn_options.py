"""Options that the commands which run functions have in common."""

import pytest

from bot.cli.dropin import CommandFailure
from bot.cli.fn import options
from cadlib.images import CATALOG


def test_where_short_names_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KPT_IMAGE_PREFIX", raising=False)
    assert options.prefix(None) == CATALOG
    monkeypatch.setenv("KPT_IMAGE_PREFIX", "localhost:5000/functions/")
    assert options.prefix(None) == "localhost:5000/functions/"
    assert options.prefix("example.com/x") == "example.com/x"
    assert options.prefix("") == ""


def test_a_prefix_that_is_an_address_is_refused() -> None:
    """The short-cut is to take any text: the name of every function would be wrong."""
    with pytest.raises(CommandFailure, match=r'^invalid image prefix "http://a\.example/b": give'):
        options.prefix("http://a.example/b")
