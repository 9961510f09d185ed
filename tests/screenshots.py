"""Takes the README's pictures from the demo: `python -m tests.screenshots`. Needs Chromium.

Beside each picture it writes what stands on the page, so that a test
(`tests/cli/test_playground.py`) tells when the demo says something else than its pictures show.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from rich.console import Console

from bot.cli.demo.playground import Playground
from bot.cli.demo.story import Story

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
QUIET = (
    "--headless",
    "--no-sandbox",  # a container has no user namespaces; the pages are our own
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-device-scale-factor=1.5",
)
PATIENCE = 90
"""Seconds that one picture may take, or a page to say what it should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One picture to take.

    Attributes:
        name: File name without its ending.
        moment: When in the demo's story.
        page: Path of its page in the repository; `{number}` is the number that the moment names.
        height: Height of the window, in CSS pixels.
        width: Its width.
        settles: Whether its page says the same in each run, once it is at rest.
    """

    name: str
    moment: str
    page: str
    height: int
    width: int = 1280
    settles: bool = True


PICTURES = (
    Picture(name="checks", moment="objection", page="pull/{number}/checks", height=1160),
    Picture(name="pull-request", moment="refusal", page="pull/{number}", height=1240),
    Picture(name="window", moment="window", page="pull/{number}", height=1500),
    # What a proposal waits for is as fresh as the look before: it is written seldom.
    Picture(name="dashboard", moment="frozen", page="issues/{number}", height=920, settles=False),
    Picture(name="release", moment="published", page="releases/tag/net/core/v2", height=900),
    Picture(name="phone", moment="objection", page="pull/{number}", height=1400, width=390),
)

Look = Callable[[Picture, str], None]
"""Given a picture to take, and the address of its page."""


def looking(info: Mapping[str, Any], look: Look) -> Callable[[str, int], None]:
    """What watches a playground's story, and looks at each picture's page at its moment."""
    forge = info["forges"]["github"]
    repository = f"{forge['web_url']}/{forge['repositories'][0]['full_name']}"

    def watch(moment: str, number: int) -> None:
        for picture in PICTURES:
            if picture.moment == moment:
                look(picture, f"{repository}/{picture.page.format(number=number)}")

    return watch


def page(address: str) -> str:
    """Return what a page says now."""
    with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
        return text_of(answer.read().decode())


def at_rest(address: str) -> str:
    """Return what a page says once it has said the same for two seconds."""
    text, since = page(address), time.monotonic()
    while time.monotonic() < since + 2:
        time.sleep(0.2)
        newer = page(address)
        if newer != text:
            text, since = newer, time.monotonic()
    return text


class _Text(HTMLParser):
    """Collects what stands in the main part of a page, a line for each piece of text."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._skipped = 0
        self._main = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._main = self._main or tag == "main"
        self._skipped += tag in _UNSEEN

    def handle_endtag(self, tag: str) -> None:
        self._skipped -= tag in _UNSEEN

    def handle_data(self, data: str) -> None:
        line = " ".join(data.split())
        if self._main and not self._skipped and line and line not in _TIMES:
            self.lines.append(line)


_UNSEEN = frozenset({"script", "style", "svg", "time"})
_TOOK = re.compile(
    r"Rendering and validation took [^\n]* s\.( Functions:\n(.*\n[^\n]* s[,.]\n)+|\n)"
)
_TIMES = frozenset({"· edited"})  # a comment edited within its second does not show it


def text_of(html: str) -> str:
    """Return what a page says, without what differs from run to run: commits, numbers, times."""
    reader = _Text()
    reader.feed(html)
    said = re.sub(r"\b[0-9a-f]{7,64}\b", "(commit)", "\n".join(reader.lines))
    # The dashboard is written within minutes: it may take a number, and be counted, earlier.
    said = re.sub(r"#\d+", "#(number)", said)
    said = re.sub(r"^Issues\n\d+$", "Issues", said, flags=re.MULTILINE)
    said = _TOOK.sub("", said + "\n").removesuffix("\n")
    return (
        re.sub(r"((Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?\d{4}-\d\d-\d\d( \d\d:\d\d)?", "(date)", said)
        + "\n"
    )


def said(picture: Picture) -> Path:
    """Where the text of a picture's page is kept: the digest of the picture, then the text."""
    return FOLDER / f"{picture.name}.txt"


def digest(picture: Picture) -> str:
    """Digest of a picture, so that its text is kept with no other."""
    return hashlib.sha256((FOLDER / f"{picture.name}.png").read_bytes()).hexdigest()


def take(browser: str, address: str, picture: Picture) -> None:
    """Take one picture.

    Raises:
        SystemExit: The browser made none.
    """
    target = FOLDER / f"{picture.name}.png"
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [
                browser,
                *QUIET,
                f"--user-data-dir={profile}",
                f"--window-size={picture.width},{picture.height}",
                f"--screenshot={target}",
                address,
            ],
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    if done.returncode or not target.is_file():
        raise SystemExit(f"{browser} made no picture of {address}: {done.stderr.decode()[-500:]}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Take all pictures; return the exit status."""
    argparse.ArgumentParser(description=__doc__).parse_args(arguments)
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        print(f"no browser found ({', '.join(BROWSERS)}): install Chromium", file=sys.stderr)
        return 1

    def look(picture: Picture, address: str) -> None:
        text = at_rest(address)
        take(browser, address, picture)
        text = text if picture.settles else ""
        said(picture).write_text(f"{digest(picture)}\n{text}", encoding="utf-8")

    with Playground(None) as playground:
        info = playground.info()
        Story(info, Console(highlight=False, soft_wrap=True), looking(info, look)).tell()
    return 0


if __name__ == "__main__":
    sys.exit(main())
