"""What people merge while something stops publishing is tagged when that ends."""

import pytest

from bot.sandbox.rules.checks import CheckRunFields
from lifecycle.identity import GITHUB
from tests.stories.real import RealWorld
from tests.stories.test_freezes import SCANNED
from tests.stories.world import CONFIG, Staging, World, minutes_pass, package

CORE = "drafts/net/core/w"


def scanned(forge: str) -> str:
    """A configuration that wants a check of somebody else's: of an App, where there are any."""
    return SCANNED if forge == GITHUB else SCANNED.replace(", app: my-scanner", "")


def scans(play: World, head: str) -> None:
    """The check of somebody else's passes."""
    if play.name != GITHUB:
        play.owner.reports(head, "scan")
        return
    state, wish = play.forge.state, CheckRunFields(name="scan", conclusion="success")
    with state.lock:
        app = state.register_app("my-scanner", "key", owner="owner")
        state.install(app, play.repository)
        state.checks.create(play.repository, app, head, wish)


def sweeps(play: World) -> None:
    """The repository is swept, and once more after ten minutes, which no story waits for."""
    if isinstance(play, RealWorld):
        pytest.skip("minutes pass")
    play.wake(f"{play.name}:{play.repository.id}:repository")
    play.rests()
    minutes_pass(play, 11)
    play.wake(f"{play.name}:{play.repository.id}:repository")


@pytest.mark.both_forges
def test_what_was_merged_in_a_freeze_is_tagged_once_that_is_thawed(stage: World) -> None:
    """The short-cut wakes what is open: what is merged has nothing happen on it any more."""
    stage.start_bot()
    shop = stage.proposes("drafts/apps/shop/w", package("apps/shop"))
    core = stage.proposes(CORE, package("net/core"))
    stage.approver.says(shop, "/freeze for 2d fire")
    stage.rests()
    stage.approver.says(core, "/approve")
    stage.rests()
    stage.owner.merges(core)
    stage.owner.deletes(f"heads/{CORE}")
    stage.rests()
    assert stage.author.tags() == {}

    stage.approver.says(shop, "/thaw")
    stage.author.waits_for_tag("net/core/v1")


@pytest.mark.parametrize("waits_for", ["thaw", "check"])
def test_what_was_merged_of_a_fork_that_is_deleted_meanwhile_is_tagged(
    staged: Staging, forge: str, waits_for: str
) -> None:
    """Short-cut: it is looked for by its fork's number; the forge does not tell that any more."""
    with staged(scanned(forge) if waits_for == "check" else CONFIG) as play:
        play.start_bot()
        shop = play.proposes("drafts/apps/shop/w", package("apps/shop"))
        url = play.forks()
        play.outsider.pushes("mine", package("net/core"), url=url)
        core = play.outsider.opens("outsider:mine", "From outside").number
        head = play.author.pull(core).head
        if waits_for == "thaw":
            play.approver.says(shop, "/freeze for 2d fire")
        play.rests()
        play.approver.says(core, "/approve")
        play.owner.says(core, "/approve")
        play.rests()
        play.owner.merges(core)
        play.rests()
        play.deletes_fork()
        if waits_for == "thaw":
            play.sweep()  # looks at what waits
            play.rests()
            assert play.author.tags() == {}
            play.approver.says(shop, "/thaw")
        else:
            scans(play, head)
            if not play.statuses_are_told:
                sweeps(play)
        play.author.waits_for_tag("net/core/v1")


OBSERVING = CONFIG.replace("version: 1\n", "version: 1\nmode: observe\n")


def test_what_waits_is_not_forgotten_while_the_bot_only_observes(stage: World) -> None:
    """Short-cut: a look at which nothing is decided says that nothing waits."""
    stage.start_bot()
    shop = stage.proposes("drafts/apps/shop/w", package("apps/shop"))
    core = stage.proposes(CORE, package("net/core"))
    stage.approver.says(shop, "/freeze for 2d fire")
    stage.rests()
    stage.approver.says(core, "/approve")
    stage.rests()
    stage.owner.merges(core)
    stage.rests()

    for config in (OBSERVING, CONFIG):
        stage.owner.pushes("main", {".porchbot.yaml": config})
        stage.rests()
    assert stage.author.tags() == {}

    fresh = stage.proposes("drafts/apps/cart/w", package("apps/cart"))
    stage.approver.says(fresh, "/thaw")
    stage.author.waits_for_tag("net/core/v1")


@pytest.mark.parametrize("told", [True, False])
def test_what_was_merged_before_a_check_ended_is_tagged_then(
    staged: Staging, forge: str, told: bool
) -> None:
    """The short-cut wakes the open proposals of the commit; and believes that no event is lost."""
    with staged(scanned(forge)) as play:
        play.start_bot()
        number = play.proposes(CORE, package("net/core"))
        head = play.author.pull(number).head
        play.approver.says(number, "/approve")
        play.rests()
        play.owner.merges(number)
        play.rests()
        assert play.author.tags() == {}

        if not told:
            for event in play.status_events:
                play.forge.faults.hooks.drop(event, None)
        scans(play, head)
        if not told or not play.statuses_are_told:
            sweeps(play)
        play.author.waits_for_tag("net/core/v1")


def test_a_check_of_a_forks_head_that_ends_after_the_merge_is_heard(
    staged: Staging, forge: str
) -> None:
    """The short-cut asks for the open proposals of a commit: of a fork no event names more."""
    with staged(scanned(forge)) as play:
        play.start_bot()
        number = play.proposes(CORE, package("net/core"))
        head = play.author.pull(number).head
        play.approver.says(number, "/approve")
        play.rests()
        play.owner.merges(number)
        play.owner.deletes(f"heads/{CORE}")
        play.rests()

        for event in play.status_events:
            play.forge.faults.hooks.drop(event, None)
        scans(play, head)
        play.rests()
        assert play.author.tags() == {}
        play.wake(f"{play.name}:{play.repository.id}:commit:{head}")
        play.author.waits_for_tag("net/core/v1")


def test_a_draft_that_was_pushed_into_the_base_waits_for_its_checks(
    staged: Staging, forge: str
) -> None:
    """The short-cut leaves drafts out: one that is in the base is still called a draft."""
    with staged(scanned(forge)) as play:
        play.start_bot()
        play.author.pushes(CORE, package("net/core"))
        made = play.author.pull_of(CORE)
        play.author.waits_for_check(made.number, "porchbot/validate", "success")
        head = made.head
        play.owner.points("main", head)
        play.rests()
        assert play.author.pull(made.number).merged
        assert play.author.pull(made.number).draft
        play.approver.says(made.number, "/approve")
        play.rests()

        assert play.author.tags() == {}
        assert "check `scan`" in play.author.summary(made.number)
        scans(play, head)
        if not play.statuses_are_told:
            sweeps(play)
        play.author.waits_for_tag("net/core/v1")


WINDOW = """\
  windows:
    - {kind: freeze, from: "2026-01-01", until: "2099-01-01", paths: [net], reason: stock}
"""


@pytest.mark.parametrize("closes", [True, False])
def test_windows_of_now_decide_when_what_was_merged_is_tagged(
    staged: Staging, closes: bool
) -> None:
    """The short-cut reads them as they were before the merge: a freeze of later is none for it.

    And who mends a window that never opens mends nothing for what waits for it.
    """
    open_, closed = CONFIG, f"{CONFIG}publish:\n{WINDOW}"
    with staged(open_ if closes else closed) as play:
        play.start_bot()
        core = play.proposes(CORE, package("net/core"))
        if not closes:
            play.approver.says(core, "/approve")
            play.rests()
        play.owner.merges(core)
        play.owner.deletes(f"heads/{CORE}")
        play.rests()
        play.owner.pushes("main", {".porchbot.yaml": closed if closes else open_})
        play.rests()
        if not closes:
            play.author.waits_for_tag("net/core/v1")
            return
        play.approver.says(core, "/approve")
        play.rests()
        assert play.author.tags() == {}
        assert "stock" in play.author.summary(core)
