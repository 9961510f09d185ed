"""What rules for variants cost to be read, by many looks."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from bot.forges.port import ForgeBusyError, ForgeRefusedError
from bot.loop import variant_books
from bot.loop.variant_books import TOPICS_KEPT, Ruling, VariantBooks
from bot.store.values import ServedName
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


async def test_rules_of_a_repository_whose_forge_refuses_stop_no_other_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Short-cuts refused: one that is suspended, or busy, keeps the variants of a repository from
    being looked at; what it wants is taken for not wanted any more."""
    refused, busy = ForgeRefusedError("read it", "suspended", ""), ForgeBusyError("read it", "slow")
    told = {"acme/a": refused, "acme/b": busy, "acme/c": None, "acme/gone": None}
    ids = {name: RepositoryId("github", number) for number, name in enumerate(told, 1)}

    async def known(_: str, names: list[str]) -> list[ServedName]:
        return [ServedName(ids[each], each, 1) for each in names]

    async def reached(name: ServedName) -> Any:
        if error := told[name.full_name]:
            raise error
        gone = name.full_name == "acme/gone"
        found = SimpleNamespace(id=name.id, full_name=name.full_name, default_branch="main")
        return None if gone else found

    async def always(*_: Any) -> Any:
        return True

    async def rules(_: Any) -> tuple[Sha, str]:
        return TIP, "rules"

    async def of(number: RepositoryId, _called: str, _default: str) -> Any:
        fetcher = SimpleNamespace(fetch=always)
        repository = SimpleNamespace(default_branch="main")
        looker = SimpleNamespace(fetcher=fetcher)
        return SimpleNamespace(id=number, repository=repository, looker=looker)

    monkeypatch.setattr(variant_books, "rules_of", rules)
    around = SimpleNamespace(known=known, reached=reached, lets_in=always)
    serving: Any = SimpleNamespace(around=around, of=of)
    store: Any = None
    served: Any = SimpleNamespace(id=RepositoryId("github", 77), clock=ManualClock())

    found = await VariantBooks(serving, store).others(served, list(told))
    assert [each.served.id for each in found.there] == [ids["acme/c"]]
    assert (found.complete, found.busy) == (False, [busy])
    for name, whole in (("acme/c", True), ("acme/a", False), ("acme/gone", False)):
        found = await VariantBooks(serving, store).others(served, [name])
        assert (found.complete, found.busy) == (whole, []), name
