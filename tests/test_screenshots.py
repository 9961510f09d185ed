"""The README's pictures show what the demo says."""

import io
import re
import time

import pytest
from rich.console import Console

from tests.screenshots import PATIENCE, PICTURES, Picture, digest, page, said, story

NEW = "make new pictures: python -m tests.screenshots"


@pytest.mark.long
def test_the_demo_says_what_its_pictures_show() -> None:
    """The short-cut takes a picture once: the demo then goes on, and the README stays behind.

    The page that it links to is the one of the picture.
    """
    output = io.StringIO()
    pages: dict[str, str] = {}
    addresses: dict[str, str] = {}

    def look(picture: Picture, address: str) -> None:
        kept = said(picture).read_text(encoding="utf-8").partition("\n")[2]
        if not picture.settles:
            pages[picture.name] = kept
            return
        until = time.monotonic() + PATIENCE
        while (now := page(address)) != kept and time.monotonic() < until:
            time.sleep(0.2)  # what the bot does next may still be under way
        pages[picture.name], addresses[picture.name] = now, address

    story(Console(file=output, highlight=False, soft_wrap=True, width=1000), look)

    for picture in PICTURES:
        kept, _, text = said(picture).read_text(encoding="utf-8").partition("\n")
        assert kept == digest(picture), f"{picture.name}: {NEW}"
        assert text == pages[picture.name], f"{picture.name}: {NEW}"
    told = [line.strip() for line in output.getvalue().split("\n")]
    found = next(line for line in told if re.match(r"net/core/router\.yaml:\d+: ", line))
    place = found.split(": ")[0]
    assert place in pages["checks"].split("\n")
    assert f"Checks: {addresses['checks']}" in told
    assert told[told.index(found) + 1] == '- containerPort: "http" # a name where a number belongs'
    assert "Tags of net/core: net/core/v1, net/core/v2" in output.getvalue()
    for words in (
        "Label: porchbot: proposed",
        "reason: nobody is on call",  # the window
        "froze everything until",  # the dashboard
        "the exception from `window` is recorded",
        "### Changes since v1",  # the release
    ):
        assert words in output.getvalue()
