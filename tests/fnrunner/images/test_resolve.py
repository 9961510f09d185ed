"""What names of images mean, asked of registries that do as a test tells them."""

import asyncio
import hashlib
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler

import pytest

from fnrunner.contract.errors import (
    FunctionNotFoundError,
    FunctionRefusedError,
    FunctionUnavailableError,
)
from fnrunner.contract.policy import RunnerPolicy
from fnrunner.images.folders import ResolvedName
from fnrunner.images.registry import Registries
from fnrunner.images.resolve import Resolver
from tests.fnrunner.images.test_registry import Liar, access, lying, say

OLD = f"sha256:{'a' * 64}"
NEW = f"sha256:{'b' * 64}"


class Kept:
    """What names meant a while ago."""

    def __init__(self, digest: str = "", age: float = 1000.0) -> None:
        self._known = ResolvedName(digest, age) if digest else None
        self.told: list[tuple[str, str]] = []

    def known(self, image: str) -> ResolvedName | None:
        return self._known

    def remember(self, image: str, digest: str) -> None:
        self.told.append((image, digest))

    def had(self, digest: str, repository: str) -> bool:
        return False


@contextmanager
def resolver(kept: Kept | None = None, policy: RunnerPolicy = RunnerPolicy()) -> Iterator[Resolver]:  # noqa: B008 - frozen
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
        resolver(policy=RunnerPolicy(allow=(OLD, f"{liar.host}/other/*"))) as resolving,
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


class Silent:
    """A registry that does not answer for some repositories, until it is let go."""

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def __call__(self, _: Liar, handler: BaseHTTPRequestHandler) -> None:
        if "/slow" in handler.path:
            self.let_go.wait(120)
        say(handler, 200, Docker_Content_Digest=NEW)


@contextmanager
def silent(count: int) -> Iterator[list[Liar]]:
    """Such registries, on ports of one host."""
    answer = Silent()
    with ExitStack() as opened:
        many = [opened.enter_context(lying(answer)) for _ in range(count)]
        opened.callback(answer.let_go.set)
        yield many


async def test_a_slow_host_keeps_nobody_elses_names_waiting() -> None:
    """Short-cut: so many threads for all; a package that names a hundred images takes them."""
    with resolver() as resolving, silent(2) as (slow, quick):
        names = [resolving.name(f"{slow.host}/slow{number}:v1") for number in range(100)]
        waiting = [asyncio.ensure_future(resolving.digest(name)) for name in names]
        other = resolving.name(f"{quick.host.replace('127.0.0.1', 'localhost')}/team/f:v1")
        assert await asyncio.wait_for(resolving.digest(other), 60) == NEW
        assert not any(each.done() for each in waiting)

        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        # Short-cut: ask on for those that nobody waits for, or sit out those that are asked.
        assert await asyncio.wait_for(meant(slow, resolving), 60) == NEW
        assert len(slow.seen) <= 5


async def test_ports_of_a_host_are_one_host() -> None:
    """Short-cut: bound each address; a package names a thousand ports."""
    with resolver() as resolving, silent(6) as many:
        names = [resolving.name(f"{each.host}/slow:v1") for each in many]
        waiting = [asyncio.ensure_future(resolving.digest(name)) for name in names]
        while sum(len(each.seen) for each in many) < 4:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        assert sum(len(each.seen) for each in many) == 4
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_no_host_is_asked_that_no_pattern_means() -> None:
    """Short-cut: ask whoever is named once a digest is listed, since the name may mean that."""
    with lying(lambda _, handler: say(handler, 200, Docker_Content_Digest=NEW)) as liar:
        for allow in ((NEW,), (NEW, "registry.corp/*"), (f"registry.corp/*@{NEW}",)):
            with resolver(policy=RunnerPolicy(allow=allow)) as resolving:
                for name in ("team/f:v1", f"team/f@{NEW}", "registry.corp/f:v1"):
                    with pytest.raises(FunctionRefusedError):
                        await resolving.shown(resolving.name(f"{liar.host}/{name}"))
                    with pytest.raises(FunctionRefusedError):
                        await resolving.tags(resolving.name(f"{liar.host}/{name}"))
    assert liar.seen == []


MANIFEST = b'{"schemaVersion": 2}'
SHOWN = f"sha256:{hashlib.sha256(MANIFEST).hexdigest()}"


def _has(repository: str, handler: BaseHTTPRequestHandler, *, claims: bool) -> None:
    """Answer as a registry where one repository has a manifest; others may claim to."""
    if f"/v2/{repository}/" in handler.path:
        say(handler, 200, MANIFEST, Docker_Content_Digest=SHOWN)
    elif claims:
        say(handler, 200, b"{}", Docker_Content_Digest=SHOWN)
    else:
        say(handler, 404)


@pytest.mark.parametrize("name", [f"team/b@{SHOWN}", "team/b:v1"])
@pytest.mark.parametrize(
    ("claims", "error"), [(False, FunctionNotFoundError), (True, FunctionUnavailableError)]
)
async def test_a_repository_shows_what_it_says_that_it_has(
    name: str, claims: bool, error: type[Exception]
) -> None:
    """Short-cut: a digest is a digest; or believe the header that names it."""
    with (
        lying(lambda _, handler: _has("team/a", handler, claims=claims)) as liar,
        resolver() as resolving,
    ):
        own = resolving.name(f"{liar.host}/team/a:v1")
        assert await resolving.shown(own) == await resolving.shown(own) == SHOWN
        assert [method for method, _, _ in liar.seen] == ["HEAD", "GET"]
        with pytest.raises(error):
            await resolving.shown(resolving.name(f"{liar.host}/{name}"))


async def test_what_one_repository_answers_is_not_anothers() -> None:
    """Short-cut: keep how an image is started by its digest alone, errors of others included."""
    with (
        lying(lambda _, handler: _has("team/a", handler, claims=False)) as liar,
        resolver() as resolving,
    ):
        both = [
            resolving.config(resolving.name(f"{liar.host}/team/{each}:v1"), SHOWN) for each in "ba"
        ]
        found = await asyncio.gather(*both, return_exceptions=True)
        assert isinstance(found[0], FunctionNotFoundError)
        assert isinstance(found[1], FunctionRefusedError)  # it has one, and it is no image
