"""Which revision of an upstream is the newest that was published, whatever others push."""

from collections.abc import Mapping
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from bot.look.tags import Tags
from bot.loop.variant_upstreams import MOST_PASSED, Newest, ServedRecords
from bot.store.values import Revision
from lifecycle import names
from lifecycle.identity import RepositoryId
from lifecycle.names import Ref, Sha
from tests.bot.upstream.test_served import at_once

HOME = RepositoryId("github", 7)
CORE = "net/core"
WITHDRAWN = b"version: 1\nrevisions: {v5: {state: withdrawn, reason: x}}\n"
HELD = b"version: 1\nrevisions: {v3: {state: held, reason: x}}\n"


class _Git:
    """Tags of one package, published up to v5; it counts what is read of them."""

    def __init__(self, foreign: int, ledgers: Mapping[str, bytes]) -> None:
        self.tags = {
            names.tag(CORE, n): (Sha(f"{n:039x}e"), Sha(f"{n:039x}c"))
            for n in (*range(1, 6), *range(10, 10 + foreign))
        }
        self.ledgers = ledgers
        self.messages = 0

    def refs(self, *_: str) -> Mapping[Ref, tuple[Sha, Sha]]:
        return self.tags

    def ref(self, _: str) -> str:
        return "tip"

    def has(self, commit: str) -> bool:
        return bool(commit)

    def blob(self, commit: str, path: str, most: int) -> bytes | None:
        own = path == ".porchbot/ledger/net/core.yaml" and most
        return self.ledgers.get(commit) if own else None

    def tree(self, *_: str) -> str:
        return "t"

    def tag_message(self, *_: str) -> str:
        self.messages += 1
        return "v1"


def _records(git: _Git, used: dict[int, Revision], baseline: frozenset[str]) -> ServedRecords:
    async def nothing(*_: object) -> None:
        """Fetch it."""

    async def revisions(*_: object) -> dict[str, dict[int, Revision]]:
        return {CORE: used} if used else {}

    looker = SimpleNamespace(
        fetcher=SimpleNamespace(fetch=nothing),
        store=SimpleNamespace(revisions=SimpleNamespace(revisions=revisions)),
        reader=lambda *_: SimpleNamespace(tags=Tags(shown, HOME, [], {}, baseline)),
    )
    shown: Any = git
    there = SimpleNamespace(
        repository=SimpleNamespace(default_branch="main", full_name="acme/a"),
        mirror=SimpleNamespace(open=lambda: nullcontext(git)),
        clock=SimpleNamespace(monotonic=lambda: 0.0),
        looker=looker,
        adoption=None,
        offload=at_once,
    )

    async def of(_: RepositoryId) -> Any:
        return there

    serving: Any = SimpleNamespace(of=of)
    return ServedRecords(serving)


@pytest.mark.parametrize(
    ("ledgers", "expected"),
    [({}, 5), ({"tip": WITHDRAWN}, 4), ({"tip": HELD, f"{5:039x}c": HELD}, 5), ({"tip": HELD}, 3)],
    ids=["published", "withdrawn", "after a hold", "held"],
)
@pytest.mark.parametrize("tagged", [True, False], ids=["with its tag", "by its commit"])
async def test_tags_that_others_push_stop_nobody(
    ledgers: Mapping[str, bytes], expected: int, tagged: bool
) -> None:
    """Short-cuts refused: a hundred tags are passed over and no more, and followers stand still;
    each of them is read; a hold lets what stands above it use up what is read; v5 counts though
    its tag was moved, or is withdrawn.
    """
    git = _Git(3_000, ledgers)
    made = {n: git.tags[names.tag(CORE, n)] for n in range(1, 6)}
    used = {n: Revision(at, tag if tagged else "") for n, (tag, at) in made.items()}

    found = await _records(git, used, frozenset()).newest(HOME, CORE)

    assert found.number == expected
    assert git.messages <= MOST_PASSED
    if HELD not in ledgers.values():
        assert found.passed_over == tuple(range(3_009, 9, -1))


@pytest.mark.parametrize(
    ("used", "baseline", "expected"),
    [
        ({5: Revision(f"{9:039x}c")}, [], None),
        ({5: Revision(f"{5:039x}c", f"{9:039x}e")}, [], None),
        ({6: Revision(f"{6:039x}c")}, [3], 3),
        ({}, [2, 1], 2),
    ],
    ids=["moved", "made anew", "gone", "before the bot"],
)
async def test_what_is_not_as_it_was_made_was_not_published(
    used: dict[int, Revision], baseline: list[int], expected: int | None
) -> None:
    """Short-cut refused: the index's word for a number, wherever its tag is by now."""
    before = frozenset(names.tag(CORE, n) for n in baseline)
    found = await _records(_Git(0, {}), used, before).newest(HOME, CORE)
    over = tuple(range(5, expected or 0, -1))
    assert found == Newest(expected, over)
