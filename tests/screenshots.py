"""Takes the README's pictures from a running playground or demo.

`make playground INFO=info.json` (or the demo) in one terminal, then
`python -m tests.screenshots info.json docs/images`. Needs Chromium.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
PATIENCE = 60
"""Seconds that one picture may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One picture to take.

    Attributes:
        name: File name without its ending.
        page: Path below the pull request's page.
        height: Height of the window, in CSS pixels.
        dark: Whether to take it in dark colours.
    """

    name: str
    page: str
    height: int
    dark: bool = False


PICTURES = (
    Picture(name="pull-request", page="", height=1500),
    Picture(name="checks", page="/checks", height=1400),
)


def newest_pull(info: Mapping[str, Any], repository: str) -> int:
    """Return the number of the newest pull request, open or closed.

    Raises:
        SystemExit: There is none yet.
    """
    token = info["users"][0]["token"]
    request = urllib.request.Request(
        f"{info['api_url']}/repos/{repository}/pulls?state=all&per_page=1",
        headers={"Authorization": f"token {token}", "User-Agent": "porchbot-screenshots"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        found = json.load(answer)
    if not found:
        raise SystemExit(f"{repository} has no pull request yet: drive the playground first")
    return int(found[0]["number"])


def take(browser: str, address: str, picture: Picture, target: Path) -> None:
    """Take one picture.

    Raises:
        SystemExit: The browser made none.
    """
    dark = ("--blink-settings=preferredColorScheme=0",) if picture.dark else ()
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [
                browser,
                *QUIET,
                *dark,
                f"--user-data-dir={profile}",
                f"--window-size=1280,{picture.height}",
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("info", type=Path, help="the file that the playground wrote")
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("--pull", type=int, help="number of the pull request; the newest if none")
    given = parser.parse_args(arguments)
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        print(f"no browser found ({', '.join(BROWSERS)}): install Chromium", file=sys.stderr)
        return 1
    info = json.loads(given.info.read_text(encoding="utf-8"))
    repository = info["repositories"][0]["full_name"]
    number = given.pull or newest_pull(info, repository)
    given.folder.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        address = f"{info['web_url']}/{repository}/pull/{number}{picture.page}"
        target = given.folder.resolve() / f"{picture.name}.png"
        take(browser, address, picture, target)
        print(f"{target.name}: {address}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
