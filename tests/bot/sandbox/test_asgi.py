"""Requests that do not arrive as a whole."""

import pytest

from bot.sandbox.asgi import Message, read_body


@pytest.mark.parametrize(
    ("messages", "wanted"),
    [
        pytest.param([(b"ab", True), (b"c", False)], b"abc", id="in parts"),
        pytest.param([(b"", False)], b"", id="none"),
        pytest.param([(b"ab", True), None], None, id="half of it"),
        pytest.param([None], None, id="its head alone"),
    ],
)
async def test_a_body_is_whole_or_there_is_none(
    messages: list[tuple[bytes, bool] | None], wanted: bytes | None
) -> None:
    """The short-cut takes what has come when the client is gone, and does what that asks for."""
    left = iter(messages)

    async def receive() -> Message:
        found = next(left)
        if found is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": found[0], "more_body": found[1]}

    assert await read_body(receive) == wanted
