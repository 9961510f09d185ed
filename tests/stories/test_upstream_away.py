"""While the upstream that one command names cannot be read, that command alone waits."""

from collections.abc import Collection
from typing import Any

import pytest

from bot.git.port import GitBusyError
from bot.look.published import IndexedPublications, PublishedTags
from lifecycle.facts.drafts import MOST_DRAFTS
from lifecycle.identity import RepositoryId
from tests.stories.test_dashboard import shows
from tests.stories.test_drafts import Board
from tests.stories.test_upstreams import publishes
from tests.stories.world import World, minutes_pass, package, resized, seconds_pass

WAITS = pytest.mark.simulated_time("minutes pass while a repository cannot be read")


class _Upstreams:
    """What was published, which cannot be told while `busy`, but of the repository `spared`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, spared: int = 0) -> None:
        self.busy = True
        self.asked = 0
        told = IndexedPublications.of

        async def of(
            known: IndexedPublications, home: RepositoryId, packages: Collection[str]
        ) -> PublishedTags:
            self.asked += 1
            if self.busy and home.number != spared:
                raise GitBusyError("acme/elsewhere is being fetched")
            return await told(known, home, packages)

        monkeypatch.setattr(IndexedPublications, "of", of)


@WAITS
@pytest.mark.both_forges
def test_the_rest_of_a_proposal_is_done_while_a_clone_waits(
    play: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: a look that fails as a whole; a command that is asked for at each wake
    and so never rests; one that is forgotten once its repository can be read again; the reason as
    git has it, which names what not everybody may know."""
    publishes(play, "net/base", package("net/base"), 1)
    away = _Upstreams(monkeypatch)
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.says(number, "/clone net/base@v1 apps/shop")
    minutes_pass(play, 1)
    play.author.says(number, "/why")
    told = play.author.waits_for_answer(number, "is waiting for")
    assert "`/clone` for `apps/shop` waits, since " in told
    assert "`net/base@v1` cannot be read now" in told
    assert "elsewhere" not in told
    assert "**commands**" not in told  # its draft is another one: nothing rests on it
    assert "`/clone` for `apps/shop` waits, since " in play.author.summary(number)
    play.approver.says(number, "/approve")
    play.author.waits_for_tag("net/core/v1")
    assert away.asked < 20

    away.busy = False
    pull = play.author.pull_of("drafts/apps/shop/clone")
    play.rests()
    assert pull.title.removeprefix("Draft: ") == "Clone apps/shop from net/base v1"
    assert "waits, since" not in play.author.summary(number)


@WAITS
@pytest.mark.both_forges
def test_what_changes_the_draft_itself_keeps_it_from_being_merged_and_is_given_up(
    play: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: it is merged without what was asked for; it waits without an end; what
    was given up once is refused at once when it is said again."""
    publishes(play, "net/base", package("net/base"), 1)
    other = play.proposes("drafts/net/other/w", package("net/other"))
    play.author.says(other, "/clone net/base@v1 apps/shop --propose")
    pull = play.author.pull_of("drafts/apps/shop/clone")
    play.rests()
    publishes(play, "net/base", resized("net/base", 9), 2)
    away = _Upstreams(monkeypatch)
    play.author.says(pull.number, "/upgrade")
    minutes_pass(play, 2)
    play.approver.says(pull.number, "/approve")
    play.author.waits_for_answer(pull.number, "You approved")
    minutes_pass(play, 3)
    assert "apps/shop/v1" not in play.author.tags()
    shown = play.author.summary(pull.number)
    assert "⏳ **commands**: `/upgrade` for `apps/shop` waits, since " in shown
    assert "the upstream of `apps/shop` cannot be read now" in shown
    minutes_pass(play, 25)
    refused = play.author.waits_for_answer(pull.number, "`/upgrade` refused")
    assert "the upstream of `apps/shop` could not be read in " in refused
    assert " attempts since " in refused  # "trys" is no word
    assert "comment `/upgrade` again" in refused
    play.author.waits_for_tag("apps/shop/v1")

    away.busy = False
    play.author.says(other, "/upgrade apps/shop")
    play.author.pull_of("drafts/apps/shop/upgrade")


@WAITS
def test_conflicts_of_an_upgrade_are_told_once_its_upstream_can_be_read(
    play: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: the look at the proposal fails as by a bug, as long as that lasts; its
    conflicts count as told for good, though nobody could tell them."""
    publishes(play, "net/base", package("net/base"), 1)
    other = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.says(other, "/clone net/base@v1 net/mine --propose")
    pull = play.author.pull_of("drafts/net/mine/clone")
    play.rests()
    play.approver.says(pull.number, "/approve")
    play.author.waits_for_tag("net/mine/v1")
    play.rests()
    publishes(play, "net/base", resized("net/base", 9), 2)
    seconds_pass(play.forge, 1)
    changed = play.author.reads("net/mine/settings.yaml").replace('"1"', '"4"')
    play.author.pushes("drafts/net/mine/w2", {"net/mine/settings.yaml": changed})
    draft = play.author.pull_of("drafts/net/mine/w2")
    play.rests()
    play.author.says(draft.number, "/upgrade v2")
    play.author.waits_for_summary(draft.number, "upgrade conflict 1 of 1")
    play.rests()

    play.stop_bot()  # what it has worked out is gone with it
    away = _Upstreams(monkeypatch)
    play.start_bot()
    more = package("net/mine")["net/mine/settings.yaml"].replace("name: settings", "name: more")
    play.author.pushes("drafts/net/mine/w2", {"net/mine/more.yaml": more})
    minutes_pass(play, 1)
    assert 1 < away.asked < 10
    play.author.says(draft.number, "/resolve 1 local\n/hold")
    minutes_pass(play, 1)
    summary = play.author.summary(draft.number)
    assert "`author` holds it" in summary
    assert "upgrade conflict" not in summary

    away.busy = False
    minutes_pass(play, 2)
    assert "upgrade conflict 1 of 1" in play.author.summary(draft.number)
    play.rests()


@WAITS
def test_a_command_on_the_dashboard_issue_is_answered_once_its_upstream_can_be_read(
    stage: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut refused: an issue that rests counts as answered, and is not read again."""
    stage.repository.has_issues = True
    stage.start_bot()
    shows(stage, "Packages")
    stage.rests()
    seconds_pass(stage.forge, 1)
    publishes(stage, "net/base", package("net/base"), 1)
    away = _Upstreams(monkeypatch)
    stage.author.says_on_issue(1, "/clone net/base@v1 apps/shop")
    minutes_pass(stage, 2)
    assert away.asked
    assert Board(stage).answers("refused") == []
    away.busy = False
    stage.author.pull_of("drafts/apps/shop/clone")


@WAITS
@pytest.mark.both_forges
def test_as_many_commands_as_there_is_room_for_wait_and_others_are_carried_out(
    play: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut refused: what waits takes the room of one look, so that whatever anybody else asks
    for in that time is refused."""
    publishes(play, "net/base", package("net/base"), 1)
    _Upstreams(monkeypatch)
    number = play.proposes("drafts/net/core/w", package("net/core"))
    for each in range(MOST_DRAFTS):
        play.author.says(number, f"/clone net/base@v1 apps/shop{each}")
    minutes_pass(play, 2)
    play.approver.says(number, "/init net/new")
    play.author.pull_of("drafts/net/new/init")
    play.rests()
    assert play.author.summary(number).count("waits, since ") == MOST_DRAFTS


@WAITS
@pytest.mark.both_forges
def test_a_hold_counts_at_once_beside_a_command_that_waits(
    play: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: nothing of a comment counts before all of it is answered, so that what it
    holds is published meanwhile; the hold comes back at each look, whoever lifts it."""
    publishes(play, "net/base", package("net/base"), 1)
    _Upstreams(monkeypatch)
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.says(number, "/hold not before Monday\n/clone net/base@v1 apps/shop")
    minutes_pass(play, 2)
    play.approver.says(number, "/approve")
    play.author.waits_for_answer(number, "You approved")
    minutes_pass(play, 2)
    assert "net/core/v1" not in play.author.tags()
    assert "not before Monday" in play.author.summary(number)
    assert "`/clone` for `apps/shop` waits, since " in play.author.summary(number)
    play.approver.says(number, "/unhold")
    play.author.waits_for_tag("net/core/v1")


@WAITS
def test_an_approval_is_taken_back_at_once_beside_a_command_that_waits(
    play: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: it counts until all of the comment is answered; that answer says that
    there was nothing to take back."""
    publishes(play, "net/base", package("net/base"), 1)
    away = _Upstreams(monkeypatch)
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.says(number, "/hold")
    play.approver.says(number, "/approve")
    play.author.waits_for_answer(number, "You approved")
    play.approver.says(number, "/unapprove\n/clone net/base@v1 apps/shop")
    minutes_pass(play, 2)
    play.author.says(number, "/unhold")
    minutes_pass(play, 2)
    assert "net/core/v1" not in play.author.tags()
    away.busy = False
    minutes_pass(play, 3)
    assert "Clone apps/shop" in play.author.answers(number)[-1]
    assert "no approval here" not in play.author.answers(number)[-1]
    assert "net/core/v1" not in play.author.tags()


@WAITS
def test_what_waited_sends_nothing_back_again_and_proposes_nothing_that_was_sent_back_since(
    play: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: each look sends back what was proposed since; an older comment proposes
    what a later one sent back, at each look or once its upstream can be read."""
    publishes(play, "net/base", package("net/base"), 1)
    away = _Upstreams(monkeypatch)
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.approver.says(number, "/reject not yet\n/clone net/base@v1 apps/shop")
    minutes_pass(play, 2)
    assert play.author.pull(number).draft
    play.author.says(number, "/propose\n/clone net/base@v1 apps/store")
    minutes_pass(play, 2)
    assert play.author.pull(number).draft  # it counts with its answer
    play.author.says(number, "/propose")
    minutes_pass(play, 2)
    assert not play.author.pull(number).draft
    play.approver.says(number, "/reject")
    minutes_pass(play, 2)
    assert play.author.pull(number).draft
    away.busy = False
    play.author.waits_for_answer(number, "sent this back to draft after you wrote that")
    play.author.pull_of("drafts/apps/store/clone")
    play.rests()
    assert play.author.pull(number).draft


@WAITS
def test_the_last_word_of_a_comment_counts_though_another_command_of_it_waits(
    play: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut refused: what is sent back is so once, and what the same comment proposed before
    that is proposed with its answer."""
    publishes(play, "net/base", package("net/base"), 1)
    away = _Upstreams(monkeypatch)
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.approver.says(number, "/reject")
    minutes_pass(play, 2)
    play.approver.says(number, "/propose\n/reject not yet\n/clone net/base@v1 apps/shop")
    minutes_pass(play, 3)
    assert play.author.pull(number).draft
    away.busy = False
    minutes_pass(play, 3)
    play.author.pull_of("drafts/apps/shop/clone")
    play.rests()
    assert play.author.pull(number).draft


@WAITS
def test_a_freeze_counts_at_once_beside_a_command_that_waits(
    stage: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut refused: what the dashboard issue freezes waits with what else is asked there."""
    stage.repository.has_issues = True
    stage.start_bot()
    shows(stage, "Packages")
    stage.rests()
    seconds_pass(stage.forge, 1)
    publishes(stage, "net/base", package("net/base"), 1)
    _Upstreams(monkeypatch)
    number = stage.proposes("drafts/net/core/w", package("net/core"))
    stage.owner.says_on_issue(1, "/freeze broken\n/clone net/base@v1 apps/shop")
    minutes_pass(stage, 2)
    stage.approver.says(number, "/approve")
    minutes_pass(stage, 2)
    assert "net/core/v1" not in stage.author.tags()
    assert "**freeze**" in stage.author.summary(number)


@WAITS
@pytest.mark.both_forges
@pytest.mark.parametrize("readers_first", [True, False])
def test_each_who_asks_for_the_same_is_asked_for_his_own_right_to_read(
    play: Any, monkeypatch: pytest.MonkeyPatch, readers_first: bool
) -> None:
    """Short-cuts refused: who asks first decides for all: one who may not read the upstream gets
    its files, or one who may is refused."""
    people = {"author": "triage" if play.name == "gitlab" else "read"}
    play.serves("secret", package("net/base"), private=True, people=people)
    play.rests()
    play.sweep()
    play.rests()
    away = _Upstreams(monkeypatch, spared=play.repository.id)
    number = play.proposes("drafts/net/core/w", package("net/core"))
    askers = [play.author, play.approver] if readers_first else [play.approver, play.author]
    for each in askers:
        each.says(number, "/clone acme/secret/net/base@main apps/shop")
    refused = play.author.waits_for_answer(number, "`/clone` refused")
    assert refused.startswith("@approver ")
    assert "secret" not in refused.replace("acme/secret/net/base", "")
    minutes_pass(play, 2)
    assert play.author.summary(number).count("waits, since ") == 1
    away.busy = False
    pull = play.author.pull_of("drafts/apps/shop/clone")
    play.rests()
    assert "`author`" in pull.body
    assert "waits, since" not in play.author.summary(number)
