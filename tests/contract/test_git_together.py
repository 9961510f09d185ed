"""What several mirrors push at the same time to git, git in memory explains.

Pushes of a round run together, each from a mirror of its own; afterwards there must be an order in
which git in memory gives the same answers and has the same refs (`tests.contract.linear`).
"""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.git.mirror import DiskMirrors
from bot.git.port import GitBusyError, Mirror, Pushed, RefUpdate
from lifecycle.names import Ref
from tests.bot.git.server import TOKEN, Remote, serve
from tests.contract.linear import Explained, Operation
from tests.contract.test_git import Forge
from tests.ids import on_github
from tests.memory.clock import ManualClock
from tests.memory.git import MemoryMirrors, MemoryRemote
from tests.memory.git_objects import MemoryObjects

ROUNDS, TOGETHER = 4, 3
REFS = tuple(
    Ref(f"refs/{name}")
    for name in ("heads/release", "heads/drafts/a", "heads/drafts/a/b", "tags/a/v1")
)


TOO_LATE = (Pushed.MOVED, Pushed.MOVED, "busy")
"""What a push that moves nothing answers: as it must, and where others are in its way."""


def _pushed(mirror: Mirror, updates: Sequence[RefUpdate]) -> str:
    try:
        return mirror.push(TOKEN, updates)
    except GitBusyError:
        return "busy"


def _update(drawn: random.Random, refs: dict[str, str], commits: Sequence[str]) -> RefUpdate:
    """A move of a ref, mostly from where it is now."""
    ref = drawn.choice(REFS)
    here = refs.get(ref, "")
    expected = here if drawn.random() < 0.8 else drawn.choice([*commits, ""])
    wanted = drawn.choice([*commits, *commits, here, ""] if expected else commits)
    return RefUpdate(ref, expected, wanted)


def _push(updates: Sequence[RefUpdate], others: Sequence[RefUpdate]) -> Operation[MemoryRemote]:
    """Where two are at one ref, or at names that git cannot hold together, both may be too late."""
    near = any(_near(one.ref, other.ref) for one in updates for other in others)

    async def answers(remote: MemoryRemote, way: int) -> str:
        return Pushed.DONE if way == 0 and remote.move(updates) else TOO_LATE[way]

    names = ", ".join(f"{u.ref}: {u.expected[:4]} to {u.wanted[:4]}" for u in updates)
    return Operation(names, answers, ways=len(TOO_LATE) if near else 1)


def _near(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _copied(remote: MemoryRemote) -> MemoryRemote:
    other = MemoryRemote()
    other.refs = remote.refs
    return other


@pytest.mark.parametrize("seed", range(2))
async def test_pushes_at_once_went_in_some_order(seed: int, tmp_path: Path) -> None:
    """The short-cut pushes one after the other: a move that is half done is never seen."""
    drawn = random.Random(seed)
    objects = MemoryObjects()
    commits = [objects.commit({"a": b"%d" % number}, at=number + 1) for number in range(4)]
    with serve(tmp_path / "remote" / "a.git") as remote:
        mirrors = _mirrors(remote, objects, commits, tmp_path)
        explained = Explained(
            [MemoryRemote()],
            _copied,
            lambda state: tuple(sorted(state.refs.items())),
            lambda _, __: None,
        )
        for step in range(ROUNDS):
            refs = explained.states[0].refs
            pushes = [
                list(
                    {
                        u.ref: u for u in (_update(drawn, refs, commits) for _ in range(size))
                    }.values()
                )
                for size in (1, 1, 2)
            ]
            asked = [
                asyncio.to_thread(_pushed, mirror, updates)
                for mirror, updates in zip(mirrors, pushes, strict=True)
            ]
            answers = await asyncio.gather(*asked)
            operations = [
                _push(mine, [u for other in pushes if other is not mine for u in other])
                for mine in pushes
            ]
            await explained.explain(operations, answers)
            there = {ref: sha for ref, sha in remote.refs().items() if ref in REFS}
            explained.states = [state for state in explained.states if state.refs == there]
            names = [f"{o.name}: {answer}" for o, answer in zip(operations, answers, strict=True)]
            assert explained.states, f"seed {seed}, round {step}, {refs}: {names}, {there}"


def _mirrors(
    remote: Remote, objects: MemoryObjects, commits: Sequence[str], folder: Path
) -> Sequence[Mirror]:
    """Mirrors on disk that have every commit, of a remote that has them and no branch or tag."""
    known = MemoryRemote()
    known.objects = objects
    Forge(MemoryMirrors({}), "", ManualClock(), known).write(remote.folder)
    made = [
        DiskMirrors(folder / str(n), clock=ManualClock()).of(on_github(1), remote.url)
        for n in range(TOGETHER)
    ]
    for mirror in made:
        mirror.fetch(TOKEN)
        for number, commit in enumerate(commits):
            ref = Ref(f"refs/pull/{number}/head")
            remote.git("update-ref", ref, commit)
            mirror.fetch_proposal(TOKEN, ref)
    return made
