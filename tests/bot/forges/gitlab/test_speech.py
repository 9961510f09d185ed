"""No line that goes out begins with a slash; what is read back is what was written."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.forges.gitlab import speech

LINES = st.sampled_from(
    (
        *("/approve", "  /close", "> /merge", "a/b", "", "text", "\t/x", "& y", "&amp; z"),
        *("```", "```yaml", "````", "~~~", "```suggestion", "<!-- x", "-->"),
        *("&#47;x", "&amp;#47;x", " &amp;amp;#47;"),
    )
)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
"""What GitLab takes for code: from the first marks to the next ones that begin a line."""


@given(st.lists(LINES).map("\n".join))
def test_what_is_read_back_is_what_was_written(text: str) -> None:
    assert speech.incoming(speech.outgoing(text)) == text


@given(st.lists(LINES).map("\n".join))
def test_nothing_outside_of_code_begins_with_a_slash(text: str) -> None:
    """The short-cut leaves all that looks fenced: a fence within a fence ends it for GitLab."""
    outside = FENCED.sub("", speech.outgoing(text))

    assert not re.search(r"^[ \t]*/", outside, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/approve", "&#47;approve"),
        ("a\r\n/approve", "a\n&#47;approve"),
        ("```suggestion:-0+0\n/path\n```", "```suggestion:-0+0\n/path\n```"),
        ("````\n```\n/merge\n````", "````\n```\n&#47;merge\n````"),
        ("```\n/merge", "```\n&#47;merge"),
        ("both & &amp; stay", "both & &amp; stay"),
    ],
)
def test_how_it_goes_out(text: str, shown: str) -> None:
    assert speech.outgoing(text) == shown


KEYS = (b"new", b"old")
MADE = speech.outgoing(speech.sealed("Published.\n/close", KEYS))
"""A comment as it was made, when it had no number yet."""
MENDED = speech.outgoing(speech.sealed("Published.\n/close", KEYS, 7))
"""Comment 7, as the bot wrote it anew."""


@pytest.mark.parametrize(
    ("text", "comment", "edited", "fits"),
    [
        (MADE, 7, False, True),
        (MENDED, 7, True, True),
        (speech.sealed("Published.", KEYS[1:], 7), 7, True, True),
        (MADE.replace("Published", "Withdrawn"), 7, False, False),
        (MADE, 7, True, False),
        (MENDED, 8, True, False),
        (speech.sealed("Published.", (b"theirs",), 7), 7, True, False),
        ("Published.", 7, False, False),
    ],
    ids=[
        "made",
        "written anew",
        "by an older key",
        "other words",
        "carried from a comment that was never edited",
        "carried from another",
        "sealed by somebody",
        "no seal",
    ],
)
def test_a_seal_fits_one_text_of_one_comment(
    text: str, comment: int, edited: bool, fits: bool
) -> None:
    """The short-cut seals the text alone: whoever may edit carries one comment of ours, record and
    all, into an older one, which is then taken for proof of what we had seen by then."""
    told, found = speech.opened(text, KEYS, comment, edited=edited)

    assert found is fits
    assert "porchbot-text" not in told


def test_who_has_no_key_takes_seals_as_they_stand() -> None:
    """The short-cut finds every comment altered, for an onlooker who cannot tell."""
    assert speech.opened(MADE, (), 7, edited=True) == ("Published.\n/close", True)
    assert speech.opened("Published.", (), 7, edited=False) == ("Published.", False)
