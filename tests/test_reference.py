"""The reference pages say what the code says."""

import pytest

from lifecycle.commands.table import TABLE
from tests.reference import FOLDER, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_reference_is_what_the_code_says(name: str) -> None:
    """Fails when a key, a setting or a command is changed, and its page still tells of the old."""
    written = (FOLDER / name).read_text(encoding="utf-8")

    assert written == PAGES[name](), f"docs/reference/{name} is out of date. Run: make reference"


def test_what_people_look_up_is_on_its_page() -> None:
    """The short-cut compares pages that both forgot a part."""
    pages = {name: (FOLDER / name).read_text(encoding="utf-8") for name in PAGES}

    listed = pages["commands.md"].splitlines()
    for row in TABLE.rows:
        usage = row.usage.replace("|", "\\|")  # a bar would end the cell
        lines = [line for line in listed if line.startswith(f"| `/{usage}`")]
        assert any(f" | {row.help} |" in line for line in lines), row.word
    assert "## `access.approve`" in pages["configuration.md"]
    assert (
        "| `self` | `true`: authors may approve their own work. | `true`, `false` | `false` |"
        in (pages["configuration.md"])
    )
    assert "\n## `porchbot pkg get`\n" in pages["cli.md"]
    assert "$ porchbot pkg get" in pages["cli.md"]
    assert "| `PORCHBOT_STATE` |" in pages["settings.md"]
    assert "| `memory` | Memory of all its processes together" in pages["runner.md"]
