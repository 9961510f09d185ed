"""What is asked of the bot from a shell: refused there, in the words of a shell."""

import pytest

from bot.cli.dropin import CommandFailure
from bot.cli.rpkg.asking import written


@pytest.mark.parametrize(
    ("word", "args", "told"),
    [
        ("clone", (), "clone takes an upstream after it. See `porchbot rpkg clone --help`"),
        ("clone", ("a//b@v1",), "clone takes a path after it. See `porchbot rpkg clone --help`"),
        ("init", (), "init takes a path after it. See `porchbot rpkg init --help`"),
    ],
)
def test_what_a_command_lacks_is_told_as_it_was_typed(
    word: str, args: tuple[str, ...], told: str
) -> None:
    """The short-cut passes on the bot's words for comments, `/clone takes …`, and no way on."""
    with pytest.raises(CommandFailure) as refused:
        written(word, args)

    assert refused.value.message == told
