"""Goes the whole way, and takes the pictures of docs/guide: `make walkthrough`. Needs Chromium."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.walkthrough.browser import Browser, program
from tests.walkthrough.gitlab import PAGE, GitLabNewcomer
from tests.walkthrough.newcomer import OPERATOR, Newcomer
from tests.walkthrough.walker import GUIDE, organisation, quoted


def main() -> int:
    """Go the way at both forges; 0 when each page said what the guides name."""
    path = program()
    if path is None:
        print("no browser found: install Chromium", file=sys.stderr)
        return 1
    wanted = sys.argv[1:] or ["github", "gitlab"]
    ways = {"github": _at_github, "gitlab": _at_gitlab}
    return max(_goes(ways[each], path) for each in wanted)


def _goes(way: Callable[[Path, Browser], list[str]], path: str) -> int:
    with tempfile.TemporaryDirectory(prefix="porchbot-walkthrough-") as made:
        folder = Path(made)
        folder.chmod(0o711)  # the database's own user has to get through
        try:
            with Browser(path) as browser:
                problems = way(folder, browser)
        except BaseException:
            log = folder / "bot.log"
            print(log.read_text()[-4000:] if log.exists() else "", file=sys.stderr)
            raise
    for each in problems:
        print(each, file=sys.stderr)
    return len(problems)


def _at_github(folder: Path, browser: Browser) -> list[str]:
    with organisation(folder) as forge:
        newcomer = Newcomer(folder, forge, browser, GUIDE)
        print(newcomer.registers())
        with newcomer.serves():
            newcomer.onboards()
            found = newcomer.doctor()
            newcomer.publishes()
            mended = newcomer.doctor("--fix", "acme/blueprints", token=forge.token("owner"))
        for said in (found, mended):
            print(said)
        return [
            f"{OPERATOR} does not quote this: {said}"
            for said in (found, mended)
            if not quoted(said, OPERATOR, forge.web_url, folder)
        ]


def _at_gitlab(folder: Path, browser: Browser) -> list[str]:
    with organisation(folder, "gitlab") as forge:
        newcomer = GitLabNewcomer(folder, forge, browser, GUIDE)
        said = newcomer.sets_up()
        with newcomer.serves():
            newcomer.onboards()
            newcomer.publishes()
        print(said)
        known = quoted(said, PAGE, forge.web_url, folder)
        return [] if known else [f"{PAGE} does not quote this: {said}"]


if __name__ == "__main__":
    sys.exit(main())
