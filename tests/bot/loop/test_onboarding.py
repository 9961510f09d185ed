"""How often a configuration is proposed, over all repositories."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.config import CONFIG
from bot.git.mirror import DiskMirror
from bot.git.port import GitIdentity
from bot.loop.onboarding import AN_HOUR, Onboarding, _is_left, _see
from lifecycle.messages import onboarding as texts
from lifecycle.onboarding import BRANCH
from tests.bot.git.server import Remote
from tests.ids import on_github
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore


async def test_a_few_an_hour_over_all_repositories_and_replicas() -> None:
    """The short-cut counts in each process, or for each repository: an organisation is flooded."""
    clock = ManualClock()
    store = MemoryStore(clock)
    here, there = (Onboarding(None, store) for _ in range(2))  # type: ignore[arg-type] # not asked

    granted = [await (here, there)[n % 2].granted(on_github(n)) for n in range(AN_HOUR + 2)]
    assert granted == [True] * AN_HOUR + [False] * 2
    await clock.sleep(3600 / AN_HOUR)
    assert await here.granted(on_github(9))
    assert not await here.granted(on_github(10))


@dataclass
class Left:
    """A repository with a package, and the branch of a configuration that was not proposed."""

    remote: Remote

    @property
    def served(self) -> Any:
        """What onboarding asks of a repository that is served."""
        forge = SimpleNamespace(owners=SimpleNamespace(places=("CODEOWNERS",)))
        repository = SimpleNamespace(default_branch="main")
        mirror = DiskMirror(self.remote.folder, "")
        return SimpleNamespace(mirror=mirror, repository=repository, forge=forge)

    def pushes(self, files: dict[str, bytes], below: str = "main") -> None:
        """Push the branch, in the bot's name."""
        who = GitIdentity("porchbot[bot]", "1+porchbot[bot]@users.noreply.github.com")
        with self.served.mirror.open() as git:
            tip = self.remote.git("rev-parse", below)
            now = datetime(2026, 1, 1, tzinfo=UTC)
            made = git.write_commit(tip, files, who, now, lambda _: texts.TITLE)
        self.remote.git("update-ref", f"refs/heads/{BRANCH}", made)

    @property
    def file(self) -> bytes:
        """What the bot writes for it."""
        return texts.file(_see(self.served, ["net/v1"])[1]).encode()


@pytest.fixture
def left(tmp_path: Path) -> Left:
    remote = Remote(tmp_path / "1.git")
    kptfile = b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: net}\n"
    remote.commit({"net/Kptfile": kptfile}, ref="refs/heads/main")
    return Left(remote)


def test_a_branch_that_was_pushed_and_not_proposed_is_known_by_its_file(left: Left) -> None:
    """The short-cut asks who wrote the commit: anybody pushes it in the bot's name, with rules of
    his own, and the bot proposes them under words about its own file."""
    assert not _is_left(left.served, ["net/v1"])
    left.pushes({CONFIG: left.file})
    assert _is_left(left.served, ["net/v1"])

    left.pushes({CONFIG: left.file + b"access: {approve: {self: true}}\n"})
    assert not _is_left(left.served, ["net/v1"])


def test_what_lies_below_it_is_of_the_default_branch(left: Left) -> None:
    """The short-cut compares the last commit alone: what a writer put below it is proposed too."""
    main = left.remote.git("rev-parse", "main")
    left.remote.commit({"net/evil.yaml": b"a: 1\n"}, main, ref="refs/heads/mine")

    left.pushes({CONFIG: left.file}, below="mine")

    assert not _is_left(left.served, ["net/v1"])
