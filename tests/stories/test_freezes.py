"""A repository that is stopped at once, and goes on; and one proposal that may pass."""

import re

import pytest
from prometheus_client import generate_latest

from bot.sandbox.rules.checks import CheckRunFields
from tests.stories.calls import ISSUE_EDIT
from tests.stories.people import wait_for
from tests.stories.test_dashboard import boards, shows
from tests.stories.world import CONFIG, Staging, World, package, resized, seconds_pass


@pytest.mark.both_forges
def test_a_freeze_stops_everything_in_its_folder_until_it_is_thawed(stage: World) -> None:
    """Short-cuts refused: a hold on the one proposal; and others that hear of it by chance."""
    stage.start_bot()
    core = stage.proposes("drafts/net/core/w", package("net/core"))
    shop = stage.proposes("drafts/apps/shop/w", package("apps/shop"))
    stage.approver.says(shop, "/freeze net/ the routers are on fire")
    stage.author.waits_for_answer(shop, "`net` is frozen: the routers are on fire.")
    stage.rests()

    for number in (core, shop):
        stage.approver.says(number, "/approve")
    stage.author.waits_for_tag("apps/shop/v1")
    stage.rests()

    assert "net/core/v1" not in stage.author.tags()
    said = stage.author.summary(core)
    assert (
        "**freeze**: `approver` froze `net`: the routers are on fire. **Needed:** `/thaw`." in said
    )

    stage.author.says(shop, "/thaw")
    refusal = stage.author.waits_for_answer(shop, "@author")
    assert "`/thaw` refused" in refusal
    stage.approver.says(shop, "/thaw net")
    stage.author.waits_for_tag("net/core/v1")


def test_a_freeze_outlives_the_database_and_one_proposal_may_pass(stage: World) -> None:
    """Short-cuts refused: kept in the database alone, or in a conversation that nobody reads; and
    an exception that is counted when it is refused, or at each look that reads it again, or that
    nobody sees any more once its proposal is published.
    """
    before = _counted("freeze")
    stage.repository.has_issues = True
    stage.start_bot()
    shows(stage, "Packages")
    first = stage.proposes("drafts/apps/shop/w", package("apps/shop"))
    stage.approver.says(first, "/approve")
    stage.author.waits_for_tag("apps/shop/v1")
    stage.rests()
    stage.approver.says(first, "/freeze fire")
    wait_for("the dashboard", lambda: "`approver` froze everything: fire" in boards(stage)[0], 30)
    stage.rests()

    stage.stop_bot()
    for comment in stage.owner.comments(first):
        if "freeze" in comment.body or "frozen" in comment.body:
            stage.owner.erases(first, comment.id)  # neither the command nor the answer is left
    stage.loses_database()
    stage.start_bot()
    seconds_pass(stage.forge, 1)
    other = stage.proposes("drafts/net/edge/w", resized("net/edge", 2))
    stage.approver.says(other, "/approve")
    stage.rests()

    assert "net/edge/v1" not in stage.author.tags()
    stage.author.says(other, "/override freeze it puts the fire out")
    assert "refused" in stage.author.waits_for_answer(other, "@author")
    assert _counted("freeze") == before
    stage.owner.says(other, "/override freeze it puts the fire out")
    stage.author.waits_for_tag("net/edge/v1")
    stage.rests()
    tag = stage.author.summary(other)
    assert "Published net/edge v1" in tag
    assert "**Exceptions**\n\n- `freeze`, by `owner`: it puts the fire out" in tag
    stage.sweep()
    stage.rests()
    assert _counted("freeze") == before + 1


def _counted(gate: str) -> float:
    """Exceptions for one kind of gate, as `/metrics` prints them."""
    printed = generate_latest().decode()
    line = rf'(?m)^porchbot_overrides_total{{kind="{gate}"}} (\S+)$'
    found = re.search(line, printed)
    return float(found[1]) if found else 0.0


def test_the_dashboard_soon_tells_what_a_thaw_lets_through(stage: World) -> None:
    """The short-cut lets the write that tells of the thaw set the pace: what is published a moment
    later is shown as frozen for five minutes."""
    stage.repository.has_issues = True
    stage.start_bot()
    number = stage.proposes("drafts/net/core/w", package("net/core"))
    stage.approver.says(number, "/freeze fire")
    stage.author.waits_for_answer(number, "frozen: fire")
    stage.approver.says(number, "/approve")
    stage.rests()
    shows(stage, "**freeze** (")
    stage.approver.says(number, "/thaw")
    stage.author.waits_for_tag("net/core/v1")

    wait_for("the dashboard", lambda: "`net/core`: v1" in boards(stage)[0] or None, 60)
    assert "**freeze** (" not in boards(stage)[0]


def test_a_dashboard_that_could_not_be_written_is_written_soon(stage: World) -> None:
    """The short-cut remembers what was to be told before it is: the next try finds nothing new, and
    whoever stopped a repository reads for five minutes that it goes on."""
    stage.repository.has_issues = True
    stage.start_bot()
    shows(stage, "Packages")
    number = stage.proposes("drafts/net/core/w", package("net/core"))
    stage.forge.faults.fail(stage.call(ISSUE_EDIT), 502, caller=stage.caller, times=3)
    stage.approver.says(number, "/freeze fire")

    wait_for("the dashboard", lambda: "froze everything" in boards(stage)[0] or None, 60)


SCANNED = f"{CONFIG}publish:\n  checks: [{{name: scan, app: my-scanner}}]\n"


@pytest.mark.only_github("checks of other Apps")
def test_a_scanner_of_others_is_waited_for_and_nobody_elses_word_counts(staged: Staging) -> None:
    """Short-cuts refused: a status of that name by whoever can write; and a look by chance."""
    with staged(SCANNED) as play:
        play.start_bot()
        number = play.proposes("drafts/net/core/w", package("net/core"))
        head = play.author.pull(number).head
        play.approver.says(number, "/approve")
        play.author.reports(head, "scan")
        play.rests()

        assert play.author.tags() == {}
        assert (
            "**check `scan`**: not reported yet. **Needed:** success on the head commit, by the App"
            " `my-scanner`." in play.author.summary(number)
        )
        state = play.forge.state
        with state.lock:
            scanner = state.register_app("my-scanner", "key", owner="owner")
            state.install(scanner, play.repository)
            state.checks.create(
                play.repository, scanner, head, CheckRunFields(name="scan", conclusion="success")
            )
        play.author.waits_for_tag("net/core/v1")
