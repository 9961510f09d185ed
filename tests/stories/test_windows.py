"""Windows of time, as people meet them: what waits says until when, and goes on by itself."""

import pytest

from tests.stories.people import wait_for
from tests.stories.world import CONFIG, Staging, package

# Stories in simulated time begin at 00:00 UTC of Thursday, 1 January 2026.
WORKING = f"""\
{CONFIG}
publish:
  windows:
    - kind: allow
      from: "5 1 * * *"
      until: "0 17 * * *"
      zone: Europe/Berlin
      paths: [net]
      reason: somebody is there
"""


@pytest.mark.both_forges
def test_what_waits_for_a_window_says_until_when_and_is_published_by_itself(
    staged: Staging, is_real: bool
) -> None:
    """Fails when a look has to come by chance; and when a window of one folder stops another."""
    if is_real:
        pytest.skip("waits for a time of day")
    with staged(WORKING) as play:
        play.start_bot()
        shop = play.proposes("drafts/apps/shop/w", package("apps/shop"))
        core = play.proposes("drafts/net/core/w", package("net/core"))
        for number in (shop, core):
            play.approver.says(number, "/approve")

        play.author.waits_for_tag("apps/shop/v1")
        play.rests()

        assert "net/core/v1" not in play.author.tags()
        said = play.author.summary(core)
        assert (
            "**window**: `net` is outside its publishing windows: somebody is there."
            " **Needed:** wait"
            " until Thu 2026-01-01 01:05 Europe/Berlin (Thu 2026-01-01 00:05 UTC)." in said
        )
        wait_for("the tag", lambda: "net/core/v1" in play.author.tags(), 600)
