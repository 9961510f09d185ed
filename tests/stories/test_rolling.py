"""Parts of the bot on one database, and one that is replaced: work is finished, or given back."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from bot.serve import Parts
from tests.ports import free_port
from tests.stories.people import wait_for
from tests.stories.real import RealWorld
from tests.stories.world import package

pytestmark = pytest.mark.real_parts

OWNED = "SELECT key FROM work WHERE owner IS NOT NULL"


@pytest.fixture
def worker(stage: RealWorld) -> Iterator[RealWorld]:
    """A worker beside a bot that only takes webhooks."""
    stage.parts = Parts(work=False)
    port = free_port()
    environment = {**stage.environment, "PORCHBOT_LISTEN": f"127.0.0.1:{port}"}
    other = replace(stage, environment=environment, port=port, parts=Parts(web=False))
    yield other
    other.stop_bot()


def health(play: RealWorld) -> tuple[int, dict[str, str]]:
    """What a bot says of its readiness."""
    answer = httpx.get(f"http://127.0.0.1:{play.port}/readyz", timeout=60)
    return answer.status_code, answer.json()


def test_a_worker_that_ends_finishes_its_look_and_says_so_first(
    stage: RealWorld, worker: RealWorld
) -> None:
    """Fails when the end cuts a look off, or when health is told as good until the very end."""
    stage.start_bot()
    worker.start_bot()
    assert health(stage) == (200, {"database": "ok"})
    assert set(health(worker)[1]) == {"database", "forge", "runner", "worker"}
    assert (
        httpx.post(f"http://127.0.0.1:{worker.port}/webhooks/{worker.name}", timeout=60).status_code
        == 404
    )
    stage.rests()
    number = stage.opens("topic", package("net/core"))
    merging, let_go = threading.Event(), threading.Event()

    def held() -> None:
        merging.set()
        let_go.wait(120)

    stage.forge.faults.before("PUT */merge", held, caller=stage.caller)
    stage.approver.says(number, "/approve")
    assert merging.wait(60)
    told = len(stage.forge.hooks.sent())
    ends = threading.Thread(target=worker.stop_bot)
    ends.start()
    try:
        wait_for("the word", lambda: health(worker) == (503, {"bot": "shutting down"}) or None)
        stage.author.pushes("drafts/net/other/w", package("net/other"))
        stage.forge.hooks.idle()
    finally:
        let_go.set()
        ends.join()

    assert stage.author.pull(number).merged
    assert stage.database(OWNED) == []
    assert {sent.status for sent in stage.forge.hooks.sent()[told:]} == {202}
    worker.start_bot()
    stage.author.waits_for_tag("net/core/v1")
    assert stage.author.pull_of("drafts/net/other/w").draft
