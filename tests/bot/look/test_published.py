"""What was published of packages that others are made from."""

from datetime import UTC, datetime

import pytest

from bot.git.port import GitBusyError
from bot.look.published import IndexedPublications
from lifecycle.identity import GITHUB
from tests.bot.upstream.test_served import BLUEPRINTS
from tests.memory.store import MemoryStore

HOME = BLUEPRINTS.id
TAG = "refs/tags/net/core/v1"


async def test_a_baseline_of_names_alone_says_nothing_until_it_is_completed() -> None:
    """The short-cut compares tags with the ids that an older version did not keep: right after the
    upgrade a command is refused since "its tag was moved"."""
    store = MemoryStore()
    publications = IndexedPublications(store, {GITHUB: [b"key"]})
    at = datetime(2026, 11, 1, tzinfo=UTC)
    await store.repositories.adopt(BLUEPRINTS, at, {}, {TAG: "abc"})
    assert (await publications.of(HOME, ["net/core"])).baseline == {TAG: "abc"}

    store.keep_names_only(HOME)
    with pytest.raises(GitBusyError, match="still to be read"):
        await publications.of(HOME, ["net/core"])
