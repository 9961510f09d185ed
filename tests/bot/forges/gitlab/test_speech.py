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


def test_an_edit_by_somebody_else_does_not_fit_any_more() -> None:
    """The short-cut trusts whoever edited a comment of ours: it puts words in our mouth."""
    sent = speech.outgoing(speech.sealed("Published.\n/close"))

    assert speech.opened(sent) == ("Published.\n/close", True)
    assert speech.opened(sent.replace("Published", "Withdrawn"))[1] is False
    assert speech.opened("Withdrawn.") == ("Withdrawn.", False)
