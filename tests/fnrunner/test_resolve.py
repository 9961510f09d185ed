"""What names of images mean, asked of registries that do as a test tells them."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fnrunner.errors import (
    FunctionNotFoundError,
    FunctionRefusedError,
    FunctionUnavailableError,
)
from fnrunner.policy import Policy
from fnrunner.registry import Registries
from fnrunner.resolve import Resolver
from fnrunner.store import Known
from tests.fnrunner.test_registry import Liar, access, lying, say

OLD = f"sha256:{'a' * 64}"
NEW = f"sha256:{'b' * 64}"


class Kept:
    """What names meant a while ago."""

    def __init__(self, digest: str = "", age: float = 1000.0) -> None:
        self._known = Known(digest, age) if digest else None
        self.told: list[tuple[str, str]] = []

    def known(self, image: str) -> Known | None:
        return self._known

    def remember(self, image: str, digest: str) -> None:
        self.told.append((image, digest))

    def had(self, digest: str, repository: str) -> bool:
        return False


@contextmanager
def resolver(kept: Kept | None = None, policy: Policy = Policy()) -> Iterator[Resolver]:  # noqa: B008 - frozen
    made = Resolver(Registries(access()), policy, 300.0, kept=kept)
    try:
        yield made
    finally:
        made.close()


async def meant(liar: Liar, resolving: Resolver) -> str:
    return await resolving.digest(resolving.name(f"{liar.host}/team/f:v1"))


@pytest.mark.parametrize(("status", "digest"), [(200, NEW), (503, OLD), (429, OLD)])
async def test_what_a_name_meant_counts_while_its_registry_is_away(
    status: int, digest: str
) -> None:
    kept = Kept(OLD)
    with (
        lying(
            lambda _, handler: say(handler, status, Docker_Content_Digest=NEW, Retry_After="999")
        ) as liar,
        resolver(kept) as resolving,
    ):
        assert await meant(liar, resolving) == digest
        asked = len(liar.seen)
        assert await meant(liar, resolving) == digest
        assert len(liar.seen) == asked
    assert kept.told == ([(f"{liar.host}/team/f:v1", NEW)] if status == 200 else [])


@pytest.mark.parametrize(
    ("status", "error"), [(403, FunctionUnavailableError), (404, FunctionNotFoundError)]
)
async def test_what_a_registry_takes_back_means_nothing_any_more(
    status: int, error: type[Exception]
) -> None:
    """Short-cut: go on with what was known, whatever the registry says now."""
    with (
        lying(lambda _, handler: say(handler, status)) as liar,
        resolver(Kept(OLD)) as resolving,
        pytest.raises(error),
    ):
        await meant(liar, resolving)


async def test_a_meaning_that_may_not_run_is_refused_each_time() -> None:
    """Short-cut: ask the policy about the name, and trust what it leads to."""
    with (
        lying(lambda _, handler: say(handler, 200, Docker_Content_Digest=NEW)) as liar,
        resolver(policy=Policy(allow=(OLD, f"{liar.host}/other/*"))) as resolving,
    ):
        for _ in range(2):
            with pytest.raises(FunctionRefusedError, match="not among the functions allowed"):
                await meant(liar, resolving)


async def test_many_who_ask_ask_once() -> None:
    with (
        lying(lambda _, handler: say(handler, 200, Docker_Content_Digest=NEW)) as liar,
        resolver() as resolving,
    ):
        found = await asyncio.gather(*(meant(liar, resolving) for _ in range(20)))
    assert found == [NEW] * 20
    assert len(liar.seen) == 1
