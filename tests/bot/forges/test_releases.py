"""What a mark changes of the title and text of a release, and that all of it comes back."""

import pytest

from bot.forges.releases import is_titled, retold
from lifecycle import limits

MARK, NOTE = "deprecated", "**Deprecated:** it leaks\n\nUse another version."
LONG = "The catalog, <b>all</b> of it, 100 % & ü " * 7
FULL = "x" * (limits.TEXT - len(NOTE) - 2)


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("net/core v1", "notes"),
        ("The catalog", ""),
        ("The catalog", "\r\n\r\nwhat is new\r\n- all"),
        (LONG[:255], "what is new\r\n- all"),
        (LONG[:237], FULL),
        (LONG[:237], FULL + "x"),
        (LONG[:236] + "y", "<!-- title: another -->"),
    ],
    ids=["ours", "no text", "ends of lines", "long", "just room", "no room", "of another"],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_what_people_wrote_comes_back(title: str, body: str, ends: str) -> None:
    """Short-cuts refused: a long title is cut for good; the end of a long text is; ends of lines
    and empty lines of the text are made like ours.
    """
    marked, told = retold(title, body, MARK, NOTE, off=False)

    assert is_titled(marked, MARK)
    assert len(marked) <= 250
    assert len(told) <= limits.TEXT
    assert told.startswith(NOTE) is (len(body) <= len(FULL))
    sent = told.replace(NOTE, NOTE.replace("\n", ends))
    assert retold(marked, sent, MARK, NOTE, off=True) == (title, body)


def test_a_note_that_somebody_changed_stays_below_the_title_that_comes_back() -> None:
    """Short-cut refused: the title is looked for where it was put alone."""
    marked, told = retold(LONG, "new", MARK, NOTE, off=False)

    title, text = retold(marked, told.replace("leaks", "drips"), MARK, NOTE, off=True)

    assert (title, text) == (LONG, f"{NOTE.replace('leaks', 'drips')}\n\nnew")
