"""How releases of upstreams stand, and from which drafts they were published."""

import pytest

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
    """Short-cuts refused: the number that is newest; a name that a revision has by its number."""
    stage = await Stage().begin()
    said = 'Approving\n\nkpt:{"package":"net/core","workspaceName":"fix","revision":"2"}\n'
    stage.publish(BLUEPRINTS, "net/core", 2, said)
    stage.publish(BLUEPRINTS, "net/core", 3)

    async def number(workspace: str, policy: Policy | None = None) -> int | None:
        return await stage.upstreams.published_from(
            RevisionReference("acme/blueprints", "net/core", workspace),
            into=BLUEPRINTS,
            policy=policy or Policy(),
        )

    assert [await number(each) for each in ("fix", "v3", "v2", "main")] == [2, 3, None, None]
