"""What the bot says at GitLab of a draft and a proposal: its words, and that they settle.

Whatever the stories read is put back into their own words; here counts what the forge was sent.
"""

import re

import pytest

from tests.stories.world import World, package

BRANCH = "drafts/net/core/w"
REASON = "see pull request #12 on GitHub, and `/check`"
QUOTED = "see pull request #<!-- -->12 on GitHub, and \\`/check\\`"

FOREIGN = re.compile(
    r"[Pp]ull request|GitHub|check run|(?<![&\w])#\d|Ready for review|`/[a-z]|^\s*/|\ufdd0",
    re.MULTILINE,
)
"""What nobody is told there."""

pytestmark = pytest.mark.parametrize("forge", ["gitlab"], indirect=True)


def test_every_word_is_gitlabs_and_what_was_said_is_not_said_again(
    play: World, sent: list[str]
) -> None:
    """Short-cuts refused: words of GitHub; a summary that is edited at each look for its words."""
    number = play.proposes(BRANCH, package("net/core"))
    play.author.comments_at_once(number, f"@porchbot hold {REASON}")
    play.author.waits_for_summary(number, "no hold")
    play.author.comments_at_once(number, "@porchbot help")
    play.author.waits_for_answer(number, "You can use these")
    play.author.comments_at_once(number, "@porchbot edit net/none")
    play.author.waits_for_answer(number, "there is no package in this folder")
    play.rests()
    play.sweep()
    play.rests()

    every = "\n".join(sent)
    assert QUOTED in every
    assert "**Needed:** `@porchbot unhold`" in every
    assert "- `@porchbot hold [reason]`: " in every
    wrong = [(text, bad[0]) for text in sent if (bad := FOREIGN.search(text.replace(QUOTED, "")))]
    assert wrong == []

    before = len(sent)
    play.author.comments_at_once(number, "Thanks.")
    play.rests()
    assert sent[before:] == []
