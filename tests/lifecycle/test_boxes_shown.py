"""The line of a box, as GitLab tells it: what differs, or is seen beside it, is another one."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from lifecycle import boxes
from lifecycle.messages.markdown import quote

SEAL = "porchbot-box " + "5" * 32
LINE = r"`@porchbot upgrade a_b v2`: is \<b\> in [#12](https://forge/a_b/12?x=1): \\é *now*"
SEALED = f"{LINE} <!-- {SEAL} -->"


def escaped(line: str) -> str:
    """As newer versions of GitLab write it in their note of a box."""
    bare = re.sub("<!--|-->", "", line).strip()
    return re.sub(r"([!-.;-@\[-`{-~])", r"\\\1", bare)


OTHERS = {
    "another revision": SEALED.replace("v2", "v3"),
    "without its seal": LINE,
    "with another's seal": SEALED.replace("5" * 32, "6" * 32),
    "the seal alone": f"<!-- {SEAL} -->",
    "a mark before it": f"✔ {SEALED}",
    "words that look like a tag": f"< not yet: remind me about > {SEALED}",
    "words that look like one, in it": SEALED.replace("é", "< not yet > é"),
    "a tag in it": SEALED.replace("é", "<b>NOT</b> é"),
    "struck out": f"~~{LINE}~~ <!-- {SEAL} -->",
    "words as a link's address": SEALED.replace("](https", "](not-yet)[](https"),
    "another address": SEALED.replace("12?x=1", "13?x=1"),
    "words behind many blanks": f"{SEALED}{' ' * 20_000}is what I do not want",
    "a mark more": SEALED.replace("*now*", "*now*!"),
    "spelled in HTML": SEALED.replace("now", "n&#111;w"),
    "a word more in the comment": SEALED.replace(" -->", " x -->"),
    "the line in a comment before another text": f"<!-- {SEALED} -->no harm",
}


@pytest.mark.parametrize("as_told", [str, escaped], ids=["older", "newer"])
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_note_with_anything_else_is_of_another_box(
    other: str, as_told: Callable[[str], str]
) -> None:
    """Short-cuts refused: marks, tags and addresses are left out of what is compared, and people
    see words in them; its seal alone, which whoever may edit the issue puts beside a box of
    theirs."""
    (tick,) = boxes.newly_ticked(3, "", f"- [x] {SEALED}", shows=True)

    assert boxes.shown(as_told(SEALED)) == tick.shown
    assert boxes.shown(as_told(other)) != tick.shown
    assert boxes.Tick.of(str(tick)) == tick
    assert boxes.Tick.of(str(replace(tick, shown=""))) == replace(tick, shown="")


def test_a_comment_around_the_command_is_no_line_of_ours() -> None:
    """The short-cut leaves out "<!--" wherever it stands: people see what is behind it alone."""
    assert boxes.shown(f"<!--{LINE}--> <!-- {SEAL} -->") != boxes.shown(SEALED)


PAIRS = [
    ("`@porchbot upgrade net/a-b v2`: x", "`@porchbot upgrade net/ab v2`: x"),
    ("`@porchbot upgrade net/v1.2 v2`: x", "`@porchbot upgrade net/v12 v2`: x"),
    ("`@porchbot upgrade net/a v2`: x", "`@porchbot upgrade neta v2`: x"),
    ("`@porchbot approve c` in [!1](u/1) 2 net", "`@porchbot approve c` in [!12](u/12) net"),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_boxes_are_two_though_somebody_copied_the_seal(one: str, other: str) -> None:
    """The short-cut compares letters and digits: a tick of one box confirms another's."""
    end = f" <!-- {SEAL} -->"
    assert boxes.shown(escaped(one + end)) != boxes.shown(other + end)


TITLES = [
    "<!-- x -->",
    "<!--x-->",
    "a <!-- b",
    "x --> y",
    "<<!--!-- x",
    "a < b & c",
    "&amp; &#97;",
    "[x](y) `c` ~~d~~",
    "x\\y \\_",
    "@porchbot #12 GH-3",
    "é ✔",
]


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize("as_told", [str, escaped], ids=["older", "newer"])
def test_no_title_keeps_a_box_from_working(title: str, as_told: Callable[[str], str]) -> None:
    """The short-cut leaves a comment out of the line, and GitLab's note has what stood in it."""
    said = f"`@porchbot approve {'c' * 40}` in [!1](https://forge/1) {quote(title)}"
    line = f"{said} <!-- {SEAL} -->"
    (tick,) = boxes.newly_ticked(3, "", f"- [x] {line}", shows=True)

    assert boxes.shown(as_told(line)) == tick.shown
