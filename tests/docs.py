"""Pages of the documentation that are made from the code: `python -m tests.docs` writes them."""

from collections.abc import Mapping
from pathlib import Path

from fnrunner.builtin import describe

DOCS = Path(__file__).resolve().parents[1] / "docs"


def pages() -> Mapping[Path, str]:
    """Return the pages by their files."""
    return {DOCS / "functions.md": describe.page()}


if __name__ == "__main__":
    for file, text in pages().items():
        file.write_text(text, encoding="utf-8")
