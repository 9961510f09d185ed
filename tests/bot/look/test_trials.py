"""When a trial ended is told by the forge's log, and asked only where there was one."""

import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from bot.clock import in_thread
from bot.forges.port import Forge
from bot.git.mirror import DiskMirror
from bot.look.reader import MirrorReader
from bot.look.tags import Tags
from bot.look.trials import Trials
from lifecycle.merges import Move
from tests.bot.git.server import Remote
from tests.bot.look.test_base import NOW, Told, history, move
from tests.ids import on_github

ACTIVE, TRIAL = b"version: 1\n", b"version: 1\nmode: observe\n"
OTHER = b"version: 1\nextends: acme/.porchbot/x.yaml@" + b"a" * 40 + b"\n"
MINUTE = timedelta(minutes=1)


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "1.git")


def at(minutes: int, before: str, after: str) -> Move:
    return replace(move(before, after), at=NOW + minutes * MINUTE)


async def ended(remote: Remote, told: Told) -> float | None:
    """Minutes after the comment; what is asked again is asked of nobody."""
    trials = Trials(cast(Forge, told), in_thread)
    with DiskMirror(remote.folder, "").open() as git:
        tags = Tags(git, on_github(1), [], {}, None)
        reader = MirrorReader(
            git=git, repository_id=on_github(1), default_branch="main", keys=[], tags=tags
        )
        found = await trials.ended(reader, NOW, NOW + 60 * MINUTE)
        asked = told.asked
        assert await trials.ended(reader, NOW, NOW + 60 * MINUTE) == found
        assert told.asked == asked or found == NOW + 60 * MINUTE
    return None if found is None else (found - NOW) / MINUTE


async def test_the_log_tells_when_a_trial_ended(remote: Remote) -> None:
    """Short-cuts: the commit's time, which anybody writes; the newest change of the rules, whatever
    it says; an end that the log does not show yet is none.
    """
    first, trial, active, later = history(remote, [ACTIVE, TRIAL, ACTIVE, OTHER])
    log = [at(9, active, later), at(5, trial, active), at(-5, first, trial)]
    assert await ended(remote, Told(log)) == 5
    assert await ended(remote, Told([at(9, active, later), at(-1, trial, active)])) is None
    assert await ended(remote, Told([at(-5, first, trial)])) == 60
    newer = at(11, later, "f" * 40)  # git was fetched before
    assert await ended(remote, Told([newer, *log])) == 5


async def test_a_log_that_never_shows_the_end_takes_nobody_s_words_for_good(remote: Remote) -> None:
    """Short-cut: now, at each look: a push of many branches at once is no move of one of them, and
    every command after it was passed over until somebody pushed again."""
    first, trial, _ = history(remote, [ACTIVE, TRIAL, ACTIVE])
    trials = Trials(cast(Forge, Told([at(-5, first, trial)])), in_thread)
    with DiskMirror(remote.folder, "").open() as git:
        tags = Tags(git, on_github(1), [], {}, None)
        reader = MirrorReader(
            git=git, repository_id=on_github(1), default_branch="main", keys=[], tags=tags
        )
        found = [await trials.ended(reader, NOW, NOW + n * MINUTE) for n in (60, 90, 120)]

    assert found == [NOW + 60 * MINUTE] * 3


async def test_a_second_trial_may_end_at_the_same_commit(remote: Remote) -> None:
    """The short-cut takes the end that was seen before for that of every trial after it."""
    first, trial, active, again = history(remote, [ACTIVE, TRIAL, ACTIVE, TRIAL])
    told = Told([at(5, trial, active), at(-5, first, trial)])
    asked = standing(remote, told)

    assert await asked(active, 10) == 5
    told.moves = [at(30, active, again), *(told.moves or [])]
    await asked(again, 40)
    told.moves = [at(90, again, active), *told.moves]
    assert await asked(active, 100) == 90


def standing(remote: Remote, told: Told) -> Callable[[str, int], Awaitable[float]]:
    """Has the default branch stand at a commit; gives the minutes when a process says it ended."""
    trials = Trials(cast(Forge, told), in_thread)

    async def asked(tip: str, now: int) -> float:
        command = ["git", "-C", str(remote.folder), "update-ref", "refs/heads/main", tip]
        subprocess.run(command, check=True)
        with DiskMirror(remote.folder, "").open() as git:
            tags = Tags(git, on_github(1), [], {}, None)
            reader = MirrorReader(
                git=git, repository_id=on_github(1), default_branch="main", keys=[], tags=tags
            )
            found = await trials.ended(reader, NOW, NOW + now * MINUTE)
        return -1 if found is None else (found - NOW) / MINUTE

    return asked


async def test_a_second_trial_ends_not_before_the_log_shows_it_to_begin(remote: Remote) -> None:
    """The short-cut looks for the tip in the log, and goes back from there: a branch that was put
    back to the end of the first trial, while the log is late, has its second trial end then."""
    first, trial, active, again = history(remote, [ACTIVE, TRIAL, ACTIVE, TRIAL])
    log = [at(30, active, again), at(5, trial, active), at(-5, first, trial)]
    asked = standing(remote, Told(log))

    assert await asked(active, 60) == 60
    assert await asked(active, 90) == 60
    told = Told([at(-5, first, trial)])
    asked = standing(remote, told)
    assert await asked(active, 10) == 10
    told.moves = log
    assert [await asked(active, 100), await asked(active, 120)] == [100, 100]


async def test_a_second_trial_ends_not_before_it_was_seen(remote: Remote) -> None:
    """The short-cut knows by the commit when the end was first seen: of a second trial that ends at
    the same one it is when the first one ended, until the log shows more."""
    first, trial, active, again = history(remote, [ACTIVE, TRIAL, ACTIVE, TRIAL])
    asked = standing(remote, Told([at(-5, first, trial)]))

    assert await asked(active, 10) == 10
    for minute in (40, 50):
        await asked(again, minute)
    assert [await asked(active, 100), await asked(active, 120)] == [100, 100]


async def test_without_a_log_the_commit_tells(remote: Remote) -> None:
    """Short-cut: where nobody tells, nothing that was said ever counts again."""
    *_, end = history(remote, [TRIAL, ACTIVE])
    made = int(remote.git("show", "-s", "--format=%ct", end))
    wanted = (made - NOW.timestamp()) / 60
    for told in (Told([]), Told(None)):
        assert await ended(remote, told) == (
            pytest.approx(min(wanted, 60)) if wanted >= 0 else None
        )


async def test_where_there_was_no_trial_no_forge_is_asked(remote: Remote) -> None:
    """Short-cut: a request for each command of each repository."""
    told = Told([])
    history(remote, [ACTIVE, OTHER, b"mode: [observe", ACTIVE])
    assert (await ended(remote, told), told.asked) == (None, 0)


async def test_a_trial_of_the_whole_bot_counts_as_well(remote: Remote) -> None:
    """Short-cuts: the repository's own trial alone; the earlier one of the two; one that ended
    before anything was said.
    """
    first, trial, active = history(remote, [ACTIVE, TRIAL, ACTIVE])
    found = []
    with DiskMirror(remote.folder, "").open() as git:
        tags = Tags(git, on_github(1), [], {}, None)
        reader = MirrorReader(
            git=git, repository_id=on_github(1), default_branch="main", keys=[], tags=tags
        )
        for everywhere, own in ((8, 5), (3, 5), (-3, 5), (-3, -4)):
            told = cast(Forge, Told([at(own, trial, active), at(-5, first, trial)]))
            trials = Trials(told, in_thread, NOW + everywhere * MINUTE)
            ended = await trials.ended(reader, NOW, NOW + 60 * MINUTE)
            found.append(ended and (ended - NOW) / MINUTE)

    assert found == [8, 5, 5, None]
