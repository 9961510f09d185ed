"""Goes the whole way, and takes the pictures of docs/guide: `make walkthrough`. Needs Chromium."""

import sys
import tempfile
from pathlib import Path

from tests.walkthrough.browser import Browser, program
from tests.walkthrough.newcomer import GUIDE, OPERATOR, Newcomer, organisation, quoted


def main() -> int:
    """Go the way; 0 when each page said what the guides name."""
    path = program()
    if path is None:
        print("no browser found: install Chromium", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="porchbot-walkthrough-") as made:
        folder = Path(made)
        folder.chmod(0o711)  # the database's own user has to get through
        with organisation(folder) as forge, Browser(path) as browser:
            newcomer = Newcomer(folder, forge, browser, GUIDE)
            print(newcomer.registers())
            with newcomer.serves():
                try:
                    newcomer.onboards()
                    found = newcomer.doctor()
                    newcomer.publishes()
                    token = forge.state.token("owner")
                    mended = newcomer.doctor("--fix", "acme/blueprints", token=token)
                except BaseException:
                    print((folder / "bot.log").read_text()[-4000:], file=sys.stderr)
                    raise
            for said in (found, mended):
                print(said)
                if not quoted(said, OPERATOR, forge.web_url, folder):
                    print(f"{OPERATOR} does not quote this", file=sys.stderr)
                    return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
