"""What the consents of other repositories cost, asked for by many looks."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from bot.loop.variant_lending import LENT_KEPT, Lending
from lifecycle.identity import RepositoryId
from tests.memory.clock import ManualClock


async def test_a_consent_is_asked_for_once_by_many_looks_until_something_is_pushed() -> None:
    """Short-cuts refused: each look of a thousand asks the forge; a consent is kept after a push
    that takes it back, or for ever, or after one of the two was renamed or is public no more; a
    refusal is kept after a push that gives it; what is pushed
    while a consent is asked for does not end it.
    """
    clock, asked, fetched = ManualClock(), [0], [0]
    state: dict[str, Any] = {"tip": "1" * 40, "may": True}

    async def offload(call: Any, *arguments: Any) -> Any:
        return call(*arguments)

    async def fetch(_scope: Any, _since: float) -> None:
        fetched[0] += 1

    async def named(_forge: str, names: list[str]) -> tuple[Any, ...]:
        asked[0] += 1
        there = SimpleNamespace(id=2, full_name="acme/other", default_branch="main")
        return (there,) if names == ["acme/inventory"] else ()

    async def may_read(_found: Any, _into: Any, _caller: None) -> bool:
        may = bool(state["may"])
        state.update(state.pop("meanwhile", {}))
        return may

    git = SimpleNamespace(ref=lambda _: state["tip"])
    other: Any = SimpleNamespace(
        id=2,
        repository=SimpleNamespace(default_branch="main"),
        mirror=SimpleNamespace(open=lambda: nullcontext(git)),
        looker=SimpleNamespace(fetcher=SimpleNamespace(fetch=fetch)),
    )

    async def of(_number: int, _called: str = "", _default: str = "") -> Any:
        return state.get("anew", other)

    serving: Any = SimpleNamespace(around=SimpleNamespace(named=named, may_read=may_read), of=of)
    into: Any = SimpleNamespace(
        id=RepositoryId("github", 1), repository=None, clock=clock, offload=offload
    )
    lending = Lending(serving)

    async def lent(looks: int = 1, name: str = "acme/inventory") -> set[bool]:
        return {await lending.to(into, name) is await of(2) for _ in range(looks)}

    assert (await lent(looks=9), asked, fetched) == ({True}, [1], [1])
    state |= {"tip": "2" * 40, "may": False}
    assert (await lent(looks=9), asked) == ({False}, [2])
    state |= {"tip": "3" * 40, "may": True}
    assert (await lent(looks=9), asked) == ({True}, [3])
    state |= {"tip": "4" * 40, "meanwhile": {"tip": "5" * 40, "may": False}}
    assert (await lent(), asked) == ({True}, [4])
    assert (await lent(looks=9), asked) == ({False}, [5])
    state |= {"tip": "6" * 40, "may": True}
    assert (await lent(looks=9), asked) == ({True}, [6])
    await clock.sleep(LENT_KEPT)
    assert (await lent(), asked) == ({True}, [7])
    state |= {"anew": SimpleNamespace(**vars(other)), "may": False}  # it is public no more
    assert (await lent(looks=9), asked) == ({False}, [8])
    into = SimpleNamespace(**vars(into))  # it has another name, which is listed
    state |= {"may": True}
    assert (await lent(looks=9), asked) == ({True}, [9])
    assert await lent(name="acme/nothing") == {False}
