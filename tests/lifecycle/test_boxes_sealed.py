"""Which boxes of the dashboard count: those of the text that the bot wrote."""

import pytest

from lifecycle import boxes
from tests.ids import on_github

KEY, HERE = b"key", on_github(1)
OFFERED = f"- [ ] `/upgrade a v2`: 1 ahead{boxes.UNSEALED}"


def as_sealed(text: str) -> str:
    return boxes.sealed(text, lambda *line: boxes.seal_of(KEY, HERE, *line))


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        ("", "", True),
        ("[ ]", "[x] ", True),
        ("1 ahead", "1 ahead, no conflicts", False),
        ("a v2", "b v2", False),
        ("`/upgrade a v2`", "Look at this", False),
        (" <!--", " <!-- x --> <!--", False),
    ],
    ids=["as it was", "a blank", "other words", "another package", "no command", "a comment"],
)
def test_a_box_counts_as_we_wrote_it_alone(before: str, after: str, counts: bool) -> None:
    """Short-cuts refused: the command as it stands; a seal of the command and not of its line."""
    text = as_sealed(OFFERED).replace("[ ]", "[x]").replace(before, after)

    (tick,) = boxes.ticked(3, text)

    assert boxes.is_ours(tick, [b"older", KEY], HERE) is counts
    assert not boxes.is_ours(tick, [KEY], on_github(2))
    assert not boxes.is_ours(tick, [b"other"], HERE)


AROUND = f"""# Drafts

Tick what you want.

- [ ] `/upgrade b v1`: x{boxes.UNSEALED}
{OFFERED}

Written by porchbot.
"""

ALTERED: dict[str, tuple[str, str]] = {
    "words below it": ("v2`: 1 ahead", "v2`: 1 ahead\n  is what I do NOT want"),
    "words above it": ("Tick what", "Tick what you do not want, never what"),
    "words after the last list": ("Written", "Boxes say the opposite. Written"),
    "another box": ("`/upgrade b v1`: x", "`/upgrade b v1`: y"),
    "a box of somebody's": ("\n\nWritten", "\n- [ ] or rather not\n\nWritten"),
    "a box that is gone": ("- [ ] `/upgrade b v1`: x", "- `/upgrade b v1`: x"),
    "the lines in another order": (
        "# Drafts\n\nTick what you want.",
        "Tick what you want.\n\n# Drafts",
    ),
}


@pytest.mark.parametrize(("before", "after"), ALTERED.values(), ids=ALTERED)
def test_a_box_counts_in_the_text_that_we_wrote_alone(before: str, after: str) -> None:
    """The short-cut seals each line by itself: what stands around it says something else to people,
    who tick what nobody offered.
    """
    ours = as_sealed(AROUND)
    altered = ours.replace(before, after, 1)
    assert altered != ours
    mine, other = (
        boxes.newly_ticked(3, text, text.replace("- [ ] `/upgrade a", "- [x] `/upgrade a"))[0]
        for text in (ours, altered)
    )

    assert boxes.is_ours(mine, [b"older", KEY], HERE)
    assert not boxes.is_ours(other, [b"older", KEY], HERE)
    assert boxes.stands(ours, [KEY], HERE)
    assert not boxes.stands(altered, [KEY], HERE)


def test_ticks_of_others_and_ends_of_lines_alter_nothing() -> None:
    """Short-cuts refused: two people tick boxes, and the second tick counts as an alteration; a
    forge's page sends other ends of lines."""
    ours = as_sealed(AROUND).replace("- [ ] `/upgrade b", "- [X] `/upgrade b")
    after = ours.replace("- [ ] `/upgrade a", "* [x] `/upgrade a").replace("\n", "\r\n")

    (tick,) = boxes.newly_ticked(3, ours, after)

    assert boxes.is_ours(tick, [KEY], HERE)
    assert boxes.stands(after, [KEY], HERE)
    assert not boxes.stands("# Drafts\n", [KEY], HERE)


def test_only_what_has_a_box_is_sealed_and_an_old_tick_has_no_seal() -> None:
    """The short-cut seals whatever ends in our mark: a title of somebody's that holds one."""
    quoted = f"- somebody's `/upgrade a v2`{boxes.UNSEALED}"
    assert as_sealed(quoted) == quoted
    old = boxes.Tick.of("upgrade net/core v3")
    assert (old.seal, old.command) == ("", "upgrade net/core v3")
