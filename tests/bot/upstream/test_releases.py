"""How releases of upstreams stand, and from which drafts they were published."""

from collections.abc import Iterator
from typing import cast

import pytest

from bot.git.port import History
from bot.upstream import releases
from bot.upstream.releases import MOST_READ, Knowing
from lifecycle import names
from lifecycle.names import Sha
from lifecycle.policy import Policy
from lifecycle.upstreams.references import RevisionReference
from lifecycle.variants.upstreams import UpstreamState
from tests.bot.upstream.test_served import BLUEPRINTS, Stage


@pytest.mark.parametrize("known", [False, True], ids=["before", "of the rollback itself"])
async def test_the_newest_is_none_that_was_rolled_back_from(known: bool) -> None:
    """Short-cuts refused: whatever has the highest number; no use of what was rolled back to."""
    stage = await Stage().begin()
    stage.publish(BLUEPRINTS, "net/core", 2)
    ledger = b"version: 1\nrevisions: {v1: {state: held, reason: too slow}}\n"
    stage.commit(BLUEPRINTS, {".porchbot/ledger/net/core.yaml": ledger})
    if known:
        stage.publish(BLUEPRINTS, "net/core", 3)

    assert (await stage.get("acme/blueprints/net/core@latest")).revision == (3 if known else 1)
    assert (await stage.get("acme/blueprints/net/core@v2")).state is UpstreamState.HELD


async def test_the_revision_that_a_draft_became() -> None:
    """Short-cuts refused: the number that is newest; a name that a revision has by its number; a
    commit that somebody wrote and tagged past the bot."""
    stage = await Stage().begin()
    said = 'Approving\n\nkpt:{"package":"net/core","workspaceName":"fix","revision":"2"}\n'
    stage.publish(BLUEPRINTS, "net/core", 2, said)
    stage.publish(BLUEPRINTS, "net/core", 3)
    stage.publish(BLUEPRINTS, "net/core", 9, said.replace('"2"', '"9"'))
    del stage.baseline["refs/tags/net/core/v9"]

    async def number(workspace: str, policy: Policy | None = None) -> int | None:
        return await stage.upstreams.published_from(
            RevisionReference("acme/blueprints", "net/core", workspace),
            into=BLUEPRINTS,
            policy=policy or Policy(),
        )

    assert [await number(each) for each in ("fix", "v3", "v2", "main")] == [2, 3, None, None]


class _Held:
    """A repository whose package was rolled back to v3; it counts what is read of it."""

    def __init__(self, revisions: int, knowing: int = 0) -> None:
        self.tags: dict[str, tuple[Sha, Sha]] = {
            names.tag("net/core", n): (Sha("x"), Sha(f"{n:040x}")) for n in range(1, revisions + 1)
        }
        self.knows = {"tip"} | ({f"{knowing:040x}"} if knowing else set())
        self.read: list[str] = []

    def has(self, commit: str) -> bool:
        return bool(commit)

    def refs(self, *_: str) -> dict[str, tuple[Sha, Sha]]:
        return self.tags

    def blob(self, commit: str, path: str, most: int) -> bytes | None:
        assert most
        self.read.append(commit)
        own = path == ".porchbot/ledger/net/core.yaml" and commit in self.knows
        return b"version: 1\nrevisions: {v3: {state: held, reason: x}}\n" if own else None

    def good(self, knowing: Knowing) -> Iterator[int]:
        numbers = names.revisions("net/core", self.tags)
        return releases.good(cast(History, self), "tip", "net/core", self.tags, knowing, numbers)

    def states(self, knowing: Knowing) -> list[int]:
        git, numbers, found = cast(History, self), (1, 3, 1_900, 2_001, 2_990, 3_000), list[int]()
        for number in numbers:
            commit = self.tags[names.tag("net/core", number)][1]
            state = releases.state(git, "tip", "net/core", number, commit, knowing)
            found += [number] if state is UpstreamState.GOOD else []
        return found


def test_revisions_above_a_hold_are_read_from_the_top_once_and_no_more_than_a_bound() -> None:
    """Short-cuts read the ledger at each of 100,000 commits, at each look; or none of them, so that
    the rollback's own revision is not found."""
    git, knowing = _Held(3_000, knowing=2_990), Knowing()

    assert next(git.good(knowing)) == 2_990
    assert set(git.read) == {"tip", *(f"{n:040x}" for n in range(2_990, 3_001))}
    assert [*git.good(knowing)] == [2_990, 3, 2, 1]
    assert len(set(git.read)) == 1 + MOST_READ
    git.read.clear()
    assert [*git.good(knowing)] == [2_990, 3, 2, 1]
    assert set(git.read) == {"tip"}

    assert next(_Held(2 * MOST_READ, knowing=4).good(knowing)) == 3


@pytest.mark.parametrize("knowing", [1_900, 2_000, 2_001, 2_990])
def test_a_release_stands_alone_as_it_stands_among_all(knowing: int) -> None:
    """Short-cut refused: the commit of one release is read wherever it stands, so that it may be
    fetched by its number, and is in no list of what may be used."""
    git, known = _Held(3_000, knowing=knowing), Knowing()

    assert git.states(known) == [n for n in sorted(git.good(known)) if n != 2 and n != 2_000]


def test_what_is_kept_of_commits_is_bounded() -> None:
    """Short-cut refused: what anybody tags stays in memory for ever; a commit that is not there
    yet counts as one that knows nothing."""
    git, knowing = _Held(4), Knowing(most=5)

    assert not knowing.knows(cast(History, git), Sha(""), "net/core", 3)
    for n in range(9):
        knowing.knows(cast(History, git), Sha(f"{n:040x}"), "net/core", 3)

    assert len(knowing) == 5
