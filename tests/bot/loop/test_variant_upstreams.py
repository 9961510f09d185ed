"""Which revision of an upstream is the newest that was published, whatever others push."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from bot.look.tags import MOST_RECORDS, Tags
from bot.loop.serving import NotServedError
from bot.loop.variant_upstreams import Newest, ServedRecords
from bot.store.values import Revision
from bot.upstream.port import FetchedUpstream
from bot.upstream.releases import Knowing
from cadlib.kptfile.values import GitRef
from lifecycle import names
from lifecycle.messages import variant_waits as texts
from lifecycle.names import Ref, Sha
from lifecycle.upstreams.errors import UpstreamError
from lifecycle.upstreams.references import RevisionReference
from tests.bot.upstream.test_served import at_once, repository

HOME = repository(7, "acme/a")
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
        self.messages = self.read = 0

    def refs(self, *_: str) -> Mapping[Ref, tuple[Sha, Sha]]:
        return self.tags

    def ref(self, _: str) -> str:
        return "tip"

    def has(self, commit: str) -> bool:
        return bool(commit)

    def blob(self, commit: str, path: str, most: int) -> bytes | None:
        self.read += 1
        own = path == ".porchbot/ledger/net/core.yaml" and most
        return self.ledgers.get(commit) if own else None

    def tree(self, *_: str) -> str:
        return "t"

    def tag_message(self, *_: str) -> str:
        self.messages += 1
        return "v1"


def _records(git: _Git, used: dict[int, Revision], baseline: Mapping[str, str]) -> ServedRecords:
    async def nothing(*_: object) -> None:
        """Fetch it."""

    async def revisions(*_: object) -> dict[str, dict[int, Revision]]:
        return {CORE: used} if used else {}

    looker = SimpleNamespace(
        fetcher=SimpleNamespace(fetch=nothing),
        store=SimpleNamespace(revisions=SimpleNamespace(revisions=revisions)),
        reader=lambda *_: SimpleNamespace(tags=Tags(shown, HOME.id, [], {}, baseline)),
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

    async def of(*_: object) -> Any:
        return there

    serving: Any = SimpleNamespace(of=of, around=SimpleNamespace(knowing=Knowing()))
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

    found = await _records(git, used, {}).newest(HOME, CORE)

    assert found.number == expected
    assert git.messages <= MOST_RECORDS
    assert (found.tag, found.commit) == git.tags[names.tag(CORE, expected)]
    if HELD not in ledgers.values():
        assert found.passed_over == tuple(range(3_009, 9, -1))


async def test_what_commits_know_of_a_hold_is_read_once_for_all_passes() -> None:
    """Short-cuts refused: each pass reads a thousand ledgers above a hold; a look at what others
    pushed reads more of them than it names."""
    git = _Git(3_000, {"tip": HELD})
    made = {n: git.tags[names.tag(CORE, n)] for n in range(1, 6)}
    records = _records(git, {n: Revision(at, tag) for n, (tag, at) in made.items()}, {})
    await records.newest(HOME, CORE)
    first = git.read
    await ServedRecords(records._serving).newest(HOME, CORE)

    assert first <= 2 * (MOST_RECORDS + 10)
    assert git.read - first <= 10


@pytest.mark.parametrize(
    ("used", "baseline", "expected", "moved"),
    [
        ({5: Revision(f"{9:039x}c")}, [], None, {5}),
        ({5: Revision(f"{5:039x}c", f"{9:039x}e")}, [], None, {5}),
        ({6: Revision(f"{6:039x}c")}, [3], 3, set()),
        ({}, [2, 1], 2, set()),
        ({}, [2, -4], 2, {4}),
        ({3: Revision(f"{9:039x}c")}, [2, 3, 4], 2, {3}),
    ],
    ids=["moved", "made anew", "gone", "before", "moved since", "the index first, and its order"],
)
async def test_what_is_not_as_it_was_made_was_not_published(
    used: dict[int, Revision], baseline: list[int], expected: int | None, moved: set[int]
) -> None:
    """Short-cuts refused: the index's word for a number, wherever its tag is by now; or the
    baseline's, of one that stood elsewhere then (below zero here), or is above one of ours.
    """
    before = {str(names.tag(CORE, abs(n))): f"{n:039x}e" for n in baseline}
    git = _Git(0, {})
    found = await _records(git, used, before).newest(HOME, CORE)
    over = tuple(range(5, expected or 0, -1))
    at = git.tags[names.tag(CORE, expected)] if expected else ()
    assert found == Newest(expected, over, frozenset(moved), *at)


@pytest.mark.parametrize("tag", ["t", "other"])
@pytest.mark.parametrize("commit", ["c", "other"])
def test_what_was_judged_is_what_is_taken(tag: str, commit: str) -> None:
    """Short-cut refused: the name that was judged, read again once its tag was moved."""
    wanted, fetched = RevisionReference("acme/a", CORE, "v5"), _fetched(tag, commit)
    judged = Newest(5, tag="t", commit="c")

    if (tag, commit) == ("t", "c"):
        assert judged.judged(fetched, wanted) is fetched
    else:
        with pytest.raises(UpstreamError, match=r"net/core@v5 in acme/a was moved while"):
            judged.judged(fetched, wanted)


async def test_an_upstream_out_of_reach_is_not_said_to_have_no_revision() -> None:
    """Short-cut refused: what could not be read has nothing in it."""

    async def of(*_: object) -> Any:
        raise NotServedError("it is archived")

    serving: Any = SimpleNamespace(of=of, around=SimpleNamespace(knowing=Knowing()))
    found = await ServedRecords(serving).newest(HOME, CORE)

    with pytest.raises(UpstreamError, match=r"cannot be told now: it is archived, or out of"):
        found.to_follow(RevisionReference("acme/a", CORE, "latest"))


@pytest.mark.parametrize(
    ("over", "moved", "said"),
    [
        ([9, 8], [], "v8 in acme/a. Somebody pushed these tags, and porchbot did not publish them"),
        ([9], [9], "v9 in acme/a. Its tag was moved since that was published, and nobody publ"),
        ([9, 8], [9, 8], "Their tags were moved since that was published, and nobody published w"),
        ([9, 8], [8], "Somebody moved the tag of v8 and pushed the rest, and porchbot published n"),
        (range(19, 9, -1), range(11, 20), "the tag of v19, v18, v17, v16, v15 and 4 more and pus"),
    ],
)
def test_how_tags_came_to_be_passed_over(
    over: Sequence[int], moved: Collection[int], said: str
) -> None:
    """Short-cut refused: "somebody pushed this tag" is said of a revision that was published."""
    text = texts.passed_over(CORE, over, "acme/a", moved)
    assert said in text
    assert text.count(". ") == 2
    assert text.endswith(
        f"known. {'Put back what was moved, publish' if moved else 'Publish'} the change there with"
        " porchbot, or name the revision in the variant."
    )


def _fetched(tag: str, commit: str) -> FetchedUpstream:
    return FetchedUpstream(
        files={}, ref=GitRef(repo="r"), commit=commit, tree="t", revision=5, tag=tag
    )
