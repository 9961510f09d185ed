"""What people wrote is read in parts, and of too much nothing is decided."""

import json

import pytest

from bot.forges.gitlab import http, notes
from bot.forges.gitlab import pages as paging
from bot.forges.gitlab.http import TooLargeError
from bot.forges.gitlab.merge_requests import without_draft
from bot.forges.gitlab.pages import pages
from lifecycle import limits
from tests.bot.forges.gitlab.conftest import World
from tests.bot.forges.gitlab.wire import Wire


class Listed(Wire):
    """A list of items of a size each, paged as GitLab does."""

    def __init__(self, items: list[str]) -> None:
        super().__init__()
        self.items = items
        self.sent: list[int] = []

    def answer(self, verb: str, path: str, headers: object, body: bytes) -> object:  # type: ignore[override]
        query = dict(each.split("=") for each in path.partition("?")[2].split("&"))
        size, number = int(query["per_page"]), int(query.get("page", "1"))
        found = self.items[(number - 1) * size : number * size]
        text = json.dumps(found).encode()
        self.sent.append(size)
        more = {"x-next-page": str(number + 1)} if number * size < len(self.items) else {}
        return 200, more, text


async def _read(wire: Listed) -> list[str]:
    return [each async for each in pages(wire.clients(), "list", "/x", {"a": "b"})]


async def test_a_page_that_is_too_large_comes_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short-cuts refused: the whole page in memory, whatever its size; items lost or told twice
    where the size of pages changes; small pages for all that comes later."""
    monkeypatch.setattr(http, "MOST_ANSWER", 4_000)
    items = [f"{n} {'x' * (900 if 130 <= n < 140 else 1)}" for n in range(450)]
    wire = Listed(items)

    assert await _read(wire) == items

    assert wire.sent.count(100) == 5
    assert max(wire.sent[-2:]) == 100
    assert len(wire.sent) < 40


async def test_one_item_that_is_too_large_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut goes on asking for the same page for ever."""
    monkeypatch.setattr(http, "MOST_ANSWER", 4_000)
    wire = Listed(["a", "x" * 5_000])

    with pytest.raises(TooLargeError, match=r"There is too much to list: an answer has more than"):
        await _read(wire)

    assert wire.sent == [*paging.SIZES, 1]


async def test_comments_are_cut_where_no_command_is_read(world: World) -> None:
    """Short-cuts refused: a million characters of each comment kept; a cut that hides that the
    comment is too long to be read for commands."""
    world.commit("change", {"net/a.yaml": "a: 2\n"})
    number, forge = world.propose(), world.forge()
    mr = world.mr(number)
    mr.notes.create({"body": "x" * 900_000})
    mr.notes.create({"body": "@porchbot approve"})
    ours = await forge.comment(number, "Here.")

    said = (await forge.conversation(number)).comments

    assert [len(c.body) for c in said] == [limits.COMMENT + 1, 17, 5]
    assert [(c.id == ours, c.ours, c.altered) for c in said][-1] == (True, True, False)


@pytest.mark.parametrize("bound", ["MOST_READ", "MOST_KEPT"])
async def test_a_conversation_that_is_too_long_is_not_half_read(
    world: World, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    """The short-cut decides by the first comments: a hold or a withdrawal may be in the others."""
    monkeypatch.setattr(notes, bound, 5_000)
    world.commit("change", {"net/a.yaml": "a: 2\n"})
    number, forge = world.propose(), world.forge()
    for _ in range(6):
        world.mr(number).notes.create({"body": "x" * 1_000})

    with pytest.raises(TooLargeError, match=r"more than 5000 characters\. Delete the long ones"):
        await forge.conversation(number)


async def test_a_page_of_a_log_comes_in_parts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short-cuts refused: a log with a few large deliveries is never read; a page that is full in
    parts taken for the last one."""
    monkeypatch.setattr(http, "MOST_ANSWER", 4_000)
    items = [f"{n} {'x' * (900 if 30 <= n < 40 else 1)}" for n in range(150)]
    wire = Listed(items)

    first = await paging.page(wire.clients(), "read a log", "/x", 1)
    second = await paging.page(wire.clients(), "read a log", "/x", 2)

    assert first == (items[:100], True)
    assert second == (items[100:], False)


@pytest.mark.parametrize(
    ("title", "bare"),
    [
        ("Draft: net", "net"),
        (" [draft] (Draft)draft - net", "net"),
        ("Draft:", "Draft:"),
        ("Drafting: net", "Drafting: net"),
        ("draft:" * 100_000 + "net", "net"),
    ],
)
def test_a_title_without_what_makes_a_draft(title: str, bare: str) -> None:
    """The short-cut takes one word off after the other: of 100,000 in a row it copies the rest each
    time, for minutes in which the event loop stands still."""
    assert without_draft(title) == bare
