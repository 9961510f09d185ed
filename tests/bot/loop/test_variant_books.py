"""What rules for variants cost to be read, by many looks."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from bot.loop import variant_books
from bot.loop.variant_books import TOPICS_KEPT, Ruling, VariantBooks
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha
from lifecycle.policy import NamedRepository, VariantUse
from tests.memory.clock import ManualClock

TIP, NEXT = Sha("a" * 40), Sha("b" * 40)


async def test_topics_are_asked_for_once_by_many_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short-cuts refused: each look of a thousand asks for all topics before what is kept is
    looked for, or while another one asks; those of an earlier commit; they are kept for ever;
    a look that used kept ones says that nothing is left.
    """
    use = VariantUse(repositories={"live": NamedRepository("acme/live")})
    monkeypatch.setattr(variant_books, "_book", lambda *these: SimpleNamespace(use=use, of=these))
    monkeypatch.setattr(variant_books, "_asks_for_topics", lambda _: True)
    asked, clock = list[list[str]](), ManualClock()

    async def named(_: str, names: list[str]) -> tuple[()]:
        asked.append(names)
        await asyncio.sleep(0)
        return ()

    async def offload(call: Any, *arguments: Any) -> Any:
        return call(*arguments)

    served: Any = SimpleNamespace(
        id=RepositoryId("github", 7),
        repository=SimpleNamespace(full_name="acme/rules"),
        clock=clock,
        offload=offload,
    )
    serving: Any = SimpleNamespace(around=SimpleNamespace(named=named))
    store: Any = None
    policy: Any = SimpleNamespace(variants=use)
    books, ruling = VariantBooks(serving, store), Ruling(served, TIP, policy)

    began = clock.monotonic()
    await asyncio.gather(*(books.book(ruling) for _ in range(5)))
    assert (len(asked), books.stale(ruling, began)) == (1, None)
    await clock.sleep(100)
    await books.book(ruling)
    assert (len(asked), books.stale(ruling, clock.monotonic())) == (1, TOPICS_KEPT - 100)
    await books.book(Ruling(served, NEXT, policy))
    assert len(asked) == 2
    await clock.sleep(TOPICS_KEPT)
    await books.book(Ruling(served, NEXT, policy))
    assert len(asked) == 3
