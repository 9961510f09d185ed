"""Webhooks only wake: lost, doubled, late, forged ones change nothing but the time it takes.

Longer than 400 lines: one story for each thing that may happen to a webhook.
"""

import hashlib
import hmac
import json
import time
from collections import Counter
from collections.abc import Callable
from fnmatch import fnmatchcase

import httpx
import pytest

from bot.forges.gitlab.hooks import PROJECT, HookOwner, HookSecrets
from bot.http.webhooks import DEFAULT
from bot.sandbox.faults.calls import LoggedCall
from bot.settings import Settings, SettingsError
from lifecycle import records
from tests.stories.calls import CHECK, COMMENT, EDIT, TALK
from tests.stories.people import wait_for
from tests.stories.real import RealWorld
from tests.stories.world import SECRET, World, package, resized

BRANCH = "drafts/net/core/first"
OTHER = "another secret"

SECRETS = {
    "github": "PORCHBOT_WEBHOOK_SECRETS",
    "gitlab": "PORCHBOT_GITLAB_WEBHOOK_SECRETS",
}
"""The setting that holds what webhooks of each forge are known by."""

TO_DO = {"github": SECRETS["github"], "gitlab": "Run `porchbot setup gitlab` again"}
"""What whoever sends another one is told to do."""


def signature(body: bytes, secret: str = SECRET) -> str:
    """What GitHub writes into X-Hub-Signature-256."""
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


def shown(world: World, body: bytes, secret: str = SECRET) -> str:
    """What a delivery shows to be believed: GitLab shows the project's secret, which is made of it,
    GitHub a signature by it."""
    if world.name == "gitlab":
        made = HookSecrets("gitlab", (secret.encode(),))
        return made.token(HookOwner(PROJECT, world.repository.id))
    return signature(body, secret)


def deliver(world: RealWorld, body: bytes, given: str, *, guid: str = "one") -> httpx.Response:
    """Post a push delivery to the bot, with what it shows to be believed."""
    headers = {
        "github": {
            "X-GitHub-Event": "push",
            "X-GitHub-Delivery": guid,
            "X-Hub-Signature-256": given,
        },
        "gitlab": {
            "X-Gitlab-Event": "Push Hook",
            "Idempotency-Key": guid,
            "X-Gitlab-Token": given,
        },
    }[world.name]
    url = f"http://127.0.0.1:{world.port}/webhooks/{world.name}"
    more = {**headers, "Content-Type": "application/json"}
    return httpx.post(url, content=body, headers=more, timeout=60)


def pushed(world: World, branch: str) -> bytes:
    """The body of a push delivery about a branch."""
    me, after = world.repository.id, world.author.branches()[branch]
    if world.name == "gitlab":
        told: dict[str, object] = {
            "object_kind": "push",
            "before": "0" * 40,
            "user_id": world.forge.state.user("author").id,
            "user_username": "author",
            "project_id": me,
            "project": {
                "id": me,
                "path_with_namespace": "acme/blueprints",
                "default_branch": "main",
            },
        }
    else:
        told = {
            "deleted": False,
            "repository": {"id": me, "full_name": "acme/blueprints", "default_branch": "main"},
            "sender": {"login": "author", "type": "User"},
        }
    return json.dumps({"ref": f"refs/heads/{branch}", "after": after, **told}).encode()


def runs_at(world: World, sha: str) -> Counter[tuple[str, str]]:
    """Every check run at a commit, by name and what it shows."""
    runs = world.author.every_check(sha)
    return Counter((run.name, run.mark) for run in runs)


def nothing_twice(world: World, number: int) -> None:
    """No comment and no check run of the bot says what another has said."""
    bodies = Counter(world.author.answers(number))
    assert all(count == 1 for count in bodies.values()), bodies
    world.author.summary(number)  # asserts that there is one at most
    runs = runs_at(world, world.author.pull(number).head)
    assert all(count == 1 for count in runs.values()), runs


def test_a_draft_whose_push_was_never_told_is_found_by_the_sweep(play: World) -> None:
    """Fails when only webhooks start work."""
    play.forge.faults.hooks.drop("*", None)
    play.author.pushes(BRANCH, package("net/core"))
    play.rests()
    assert len(play.author.pulls()) == 0
    play.forge.faults.hooks.clear()

    play.sweep()

    pull = play.author.pull_of(BRANCH)
    play.author.waits_for_check(pull.number, "porchbot/validate", "success")


def test_a_comment_that_was_never_told_is_answered_after_the_sweep(play: World) -> None:
    """Fails when a command is read from the event instead of the conversation."""
    number = play.proposes(BRANCH, package("net/core"))
    play.forge.faults.hooks.drop("*", None)
    said = play.approver.says(number, "/approve")
    play.rests()
    assert play.author.tags() == {}
    assert play.approver.reactions(number, said) == set()
    play.forge.faults.hooks.clear()

    play.sweep()

    assert play.author.waits_for_tag("net/core/v1")
    play.rests()
    assert play.approver.reactions(number, said) == {"rocket"}


@pytest.mark.both_forges
def test_a_merge_by_hand_that_was_never_told_is_tagged_after_the_sweep(play: World) -> None:
    """Fails when the tag hangs on the `closed` event."""
    number = play.proposes(BRANCH, package("net/core"))
    play.forge.faults.hooks.drop("*", None)
    play.approver.reviews(number)
    merged = play.approver.merges(number)
    play.rests()
    assert play.author.tags() == {}
    play.forge.faults.hooks.clear()

    play.sweep()

    assert play.author.waits_for_tag("net/core/v1") == merged
    play.rests()
    assert list(play.author.tags()) == ["net/core/v1"]


@pytest.mark.real_parts
def test_everything_told_twice_is_done_once(play: RealWorld) -> None:
    """Fails when a delivery is an order to do something."""
    play.forge.faults.hooks.double("*", None)
    number = play.proposes(BRANCH, package("net/core"))
    play.outsider.says(number, "/approve")
    play.approver.says(number, "/approve")
    play.author.waits_for_tag("net/core/v1")
    play.rests()

    nothing_twice(play, number)
    assert len(play.author.answers(number)) == 2
    assert list(play.author.tags()) == ["net/core/v1"]
    told = [guid for (guid,) in play.database("SELECT guid FROM delivery")]
    sent = Counter(s.delivery.guid for s in play.forge.hooks.log if s.status == 202)
    failed = {s.delivery.guid for s in play.forge.hooks.log} - sent.keys()
    assert max(sent.values()) == 2
    assert len(told) == len(set(told))
    assert sent.keys() <= set(told) <= sent.keys() | failed  # those are read from the log


def test_everything_told_late_and_backwards_comes_to_the_same(play: World) -> None:
    """Fails when the last event is taken for the newest."""
    play.forge.faults.hooks.hold()
    play.author.pushes(BRANCH, package("net/core"))
    head = play.author.pushes(BRANCH, resized("net/core", 2))
    opened = play.author.opens(BRANCH, "Core", draft=True)
    play.author.says(opened.number, "/propose")
    assert len(play.forge.faults.hooks.held()) >= 4

    play.forge.faults.hooks.release(lambda deliveries: deliveries[::-1])

    wait_for("the proposal", lambda: not play.author.pull(opened.number).draft or None)
    play.rests()
    assert play.author.pull(opened.number).head == head
    nothing_twice(play, opened.number)
    play.approver.says(opened.number, "/approve")
    assert play.author.waits_for_tag("net/core/v1")


@pytest.mark.real_parts
def test_a_delivery_sent_again_is_stored_once_and_wakes_again(play: RealWorld) -> None:
    """Fails when a known GUID is dropped: Redeliver is what people press to heal."""
    play.author.pushes(BRANCH, package("net/core"))
    pull = play.author.pull_of(BRANCH)
    play.author.waits_for_check(pull.number, "porchbot/validate", "success")
    play.rests()
    body = pushed(play, BRANCH)
    me = play.repository.id
    wanted = f"SELECT wanted FROM work WHERE key = '{play.name}:{me}:proposal:{me}:{BRANCH}'"
    before = play.database(wanted)[0][0]

    for _ in range(2):
        assert deliver(play, body, shown(play, body), guid="again").status_code == 202

    assert play.database("SELECT count(*) FROM delivery WHERE guid = 'again'") == [(1,)]
    assert play.database(wanted)[0][0] == before + 2
    play.rests()
    nothing_twice(play, pull.number)


@pytest.mark.real_parts
def test_old_answers_after_a_webhook_make_nothing_twice(play: RealWorld) -> None:
    """Fails when each look writes what its facts lack: forges answer with old facts for seconds."""
    play.author.pushes(BRANCH, package("net/core"))
    number = play.author.pull_of(BRANCH).number
    play.author.waits_for_check(number, "porchbot/validate", "success")
    play.rests()

    play.forge.faults.stale(0.5, caller=play.caller)
    play.author.says(number, "/propose")
    wait_for("the proposal", lambda: not play.author.pull(number).draft or None)
    play.outsider.says(number, "/approve")
    play.approver.says(number, "/approve")
    play.author.waits_for_tag("net/core/v1")
    play.forge.faults.fresh()
    play.rests()

    wait_for("the summary", lambda: "Published" in play.author.summary(number) or None)
    play.rests()
    nothing_twice(play, number)
    assert len(play.author.answers(number)) == 2
    assert list(play.author.tags()) == ["net/core/v1"]


@pytest.mark.only_github("one page of answers by GraphQL")
@pytest.mark.parametrize("calls", ["GET *", "POST /graphql"], ids=["REST", "GraphQL"])
@pytest.mark.real_parts
def test_a_frozen_forge_is_believed_again_once_it_thaws(play: RealWorld, calls: str) -> None:
    """Fails when a look that saw nothing new is the last one: its webhook came before the facts."""
    number = play.opens("topic", package("net/core"))
    play.forge.faults.freeze(calls, caller=play.caller)
    mark = play.forge.faults.mark()
    play.approver.says(number, "/approve")
    wait_for("a look", lambda: play.forge.faults.counts(play.caller, since=mark) or None)
    wait_for(
        "the look's end", lambda: play.database("SELECT 1 FROM work WHERE due > now()") or None
    )
    assert play.author.tags() == {}

    play.forge.faults.fresh()

    assert play.author.waits_for_tag("net/core/v1")  # without a sweep: the look is repeated
    play.rests()
    nothing_twice(play, number)


@pytest.mark.real_parts
def test_a_wrong_signature_stores_and_wakes_nothing(play: RealWorld) -> None:
    """Fails when the body is parsed, stored or acted on before the signature is checked."""
    body = pushed(play, "main")
    stored = play.database("SELECT count(*) FROM delivery")
    work = play.database("SELECT sum(wanted) FROM work")
    wrong = {
        "": "is missing",
        "sha256=" + "0" * 64: "does not match",
        shown(play, body, OTHER): "does not match",
    }
    for given, why in wrong.items():
        answer = deliver(play, body, given)

        assert answer.status_code == 401
        assert why in answer.json()["message"]
        assert TO_DO[play.name] in answer.json()["message"]
        assert SECRET not in answer.text
    assert play.database("SELECT count(*) FROM delivery") == stored
    assert play.database("SELECT sum(wanted) FROM work") == work


@pytest.mark.only_github("signatures that every webhook carries")
@pytest.mark.real_parts
def test_a_signature_holds_for_the_raw_bytes_only(play: RealWorld) -> None:
    """Fails when the signature is checked on JSON that was read and written again."""
    body = pushed(play, "main")
    spaced = json.dumps(json.loads(body), indent=1).encode()

    assert deliver(play, spaced, signature(body)).status_code == 401
    assert deliver(play, spaced, signature(spaced)).status_code == 202


@pytest.mark.real_parts
def test_a_body_over_the_limit_is_refused_unread(play: RealWorld) -> None:
    """Fails when the whole body is taken into memory before anything is asked."""
    body = b" " * (DEFAULT.body_bytes + 1)

    answer = deliver(play, body, shown(play, body))

    assert answer.status_code == 413
    assert str(DEFAULT.body_bytes) in answer.json()["message"]


@pytest.mark.real_parts
def test_without_a_secret_there_is_no_start(stage: RealWorld) -> None:
    """Fails when an empty secret means that signatures are not checked."""
    name = SECRETS[stage.name]
    for empty in ("", " , "):
        with pytest.raises(SettingsError, match=f"{name} is not set"):
            Settings.from_env({**stage.environment, name: empty})


def test_a_wake_while_a_look_runs_causes_another_look(play: World) -> None:
    """Fails when a key that is being looked at swallows wakes."""
    number = play.proposes(BRANCH, package("net/core"))
    play.forge.faults.slow(play.call(TALK), 0.4, caller=play.caller, times=2)
    mark = play.forge.faults.mark()
    play.author.says(number, "/why")
    wait_for("the look", lambda: play.forge.faults.counts(play.caller, since=mark) or None)

    play.approver.says(number, "/approve")

    assert play.author.waits_for_tag("net/core/v1")
    assert "is waiting for 1 gate" in play.author.waits_for_answer(number, "@author")


def test_a_wake_while_looks_fail_is_served_when_they_work_again(play: World) -> None:
    """Fails when a failed look marks its key as done, or a key in trouble is blocked for ever."""
    number = play.proposes(BRANCH, package("net/core"))
    play.forge.faults.fail(play.call(TALK), 502, times=2, caller=play.caller)

    play.author.says(number, "/why")
    play.approver.says(number, "/approve")

    assert play.author.waits_for_tag("net/core/v1")
    play.rests()
    nothing_twice(play, number)


def test_a_write_that_failed_or_whose_answer_was_lost_is_done_once(play: World) -> None:
    """Fails when a 502 means "not done": the forge may have done it, and then it is there twice."""
    # The summary may be edited once only, where several changes come together: the second call is
    # then the repetition of the first.
    for purpose, nth in ((COMMENT, 3), (CHECK, 3), (EDIT, 2)):
        call = play.call(purpose)
        play.forge.faults.fail(call, 502, caller=play.caller)
        play.forge.faults.fail(call, 502, caller=play.caller, nth=nth, carried_out=True)
    number = play.proposes(BRANCH, package("net/core"))
    play.outsider.says(number, "/approve")
    play.approver.says(number, "/approve")

    assert play.author.waits_for_tag("net/core/v1")
    play.author.waits_for_summary(number, "Published")
    play.rests()
    nothing_twice(play, number)


@pytest.mark.real_parts
def test_a_wait_that_the_forge_asked_for_is_kept(play: RealWorld) -> None:
    """Fails when a wake, or impatience, calls the forge before Retry-After is over."""
    number = play.opens("topic", package("net/core"))
    play.forge.faults.fail(
        play.call(TALK),
        429,
        {"message": "You have exceeded a secondary rate limit."},
        headers={"Retry-After": "3"},
        caller=play.caller,
    )
    mark = play.forge.faults.mark()
    play.approver.says(number, "/approve")
    (refusal,) = wait_for(
        "the refusal",
        lambda: (
            [c for c in play.forge.faults.calls(play.caller, since=mark) if c.status == 429] or None
        ),
    )
    seen = time.monotonic()
    play.author.says(number, "/why")  # a wake, which must not shorten the wait

    assert play.author.waits_for_tag("net/core/v1")

    def looks() -> list[LoggedCall] | None:
        method, _, path = play.call(TALK).partition(" ")
        asked = (c for c in play.forge.faults.calls(play.caller, since=mark) if c.method == method)
        found = (c for c in asked if fnmatchcase(c.template, path))
        return [c for c in found if c.began > seen + 0.1] or None

    of_it = wait_for("a look after that", looks)
    assert min(c.began for c in of_it) - refusal.began >= 2.9


def _rerun(world: World, number: int, *, suite: bool) -> None:
    """Press Re-run: of one check, or of all. It is a button of the pages, no call of the API."""
    head = world.author.pull(number).head
    state = world.forge.state
    with state.lock:
        runs = state.checks.runs_on(world.repository, head)
        run = next(r for r in runs if r.name == "porchbot/validate")
        who = state.user("author")
        if suite:
            state.checks.rerequest_suite(run.suite, who)
        else:
            state.checks.rerequest(run, who)


@pytest.mark.only_github("buttons of checks")
@pytest.mark.parametrize("suite", [False, True], ids=["one check", "the suite"])
def test_re_run_makes_new_runs(play: World, suite: bool) -> None:
    """Fails when a completed run is updated: a completed check run cannot go back.

    Short-cut refused: what a click causes is put down to the forge's event, and not to who clicked.
    """
    number = play.proposes(BRANCH, package("net/core"))
    head = play.author.pull(number).head
    before = play.author.checks(head)

    _rerun(play, number, suite=suite)

    for name in ("porchbot/render", "porchbot/validate"):
        wait_for(
            f"a new run of {name}",
            lambda name=name: play.author.checks(head)[name].id > before[name].id or None,  # type: ignore[misc]  # bound now
        )
    play.rests()
    after = play.author.checks(head)
    assert after["porchbot/validate"].conclusion == "success"
    assert after["porchbot/publish"].conclusion is None
    assert sum(runs_at(play, head).values()) <= 6
    clicked = [asked for _, detail in play.trail() for asked in detail.get("asked", ())]
    author = {"forge": play.name, "id": play.forge.state.user("author").id, "login": "author"}
    told = [{k: asked[k] for k in author} for asked in clicked if "rerun" in asked]
    assert told
    assert all(each == author for each in told)


@pytest.mark.both_forges
def test_hold_keeps_and_unhold_publishes(play: World) -> None:
    """Fails when a hold is a label of the bot's own memory that a restart forgets."""
    number = play.proposes(BRANCH, package("net/core"))
    play.author.says(number, "/hold wait for the *change* window")
    play.author.waits_for_summary(number, "holds it")
    play.stop_bot()
    play.start_bot()
    said = play.approver.says(number, "/approve")
    play.author.waits_for_answer(number, "approved head")
    play.rests()
    summary = play.author.waits_for_summary(number, "`author` holds it: wait for the")
    assert r"\*change\*" in summary
    assert play.author.tags() == {}

    play.author.says(number, "/unhold")

    assert play.author.waits_for_tag("net/core/v1")
    assert play.approver.reactions(number, said) == {"rocket"}


@pytest.mark.both_forges
def test_reject_sends_back_with_the_reason_and_propose_again(play: World) -> None:
    """Fails when a rejected proposal keeps its approvals' power or loses the reason."""
    number = play.proposes(BRANCH, package("net/core"))
    play.approver.says(number, "/reject too large @everyone")
    wait_for("the draft", lambda: play.author.pull(number).draft or None)
    play.rests()
    summary = play.author.waits_for_summary(number, "sent it back: too large")
    assert "@everyone" not in summary  # nobody is notified by our comment
    assert "Draft of net/core v1" in summary
    refused = play.approver.says(number, "/approve")
    play.author.waits_for_answer(number, "`/approve` is for proposals, and this is a draft")
    assert play.author.tags() == {}

    play.author.says(number, "/propose")
    wait_for("the proposal", lambda: not play.author.pull(number).draft or None)
    play.rests()
    assert play.author.tags() == {}
    play.approver.says(number, "/approve")

    assert play.author.waits_for_tag("net/core/v1")
    play.rests()
    assert "sent it back" not in records.visible(play.author.summary(number))
    assert play.approver.reactions(number, refused)


@pytest.mark.both_forges
def test_a_native_review_approves(play: World) -> None:
    """Fails when only comments count."""
    number = play.proposes(BRANCH, package("net/core"))

    play.approver.reviews(number)

    target = play.author.waits_for_tag("net/core/v1")
    play.rests()
    assert target == play.author.pull(number).merge_commit
    message = play.author.tag_text("net/core/v1")
    assert "Approved-by: approver" in message


def hears(play: World) -> None:
    """A request for changes is heard of; where the forge tells nobody, by the next sweep."""
    if not play.author.objecting_is_told:
        play.sweep()


@pytest.mark.both_forges
def test_a_request_for_changes_blocks_until_it_is_dismissed(play: World) -> None:
    """Fails when an approval outvotes an objection, or a dismissal wakes nobody."""
    number = play.proposes(BRANCH, package("net/core"))
    review = play.owner.objects(number)
    hears(play)
    play.author.waits_for_summary(number, "`owner` requested changes")
    play.approver.says(number, "/approve")
    play.author.waits_for_answer(number, "approved head")
    play.rests()
    assert play.author.tags() == {}

    play.owner.withdraws_objection(number, review)
    hears(play)

    assert play.author.waits_for_tag("net/core/v1")


def test_a_request_for_changes_ends_with_that_persons_approval(play: World) -> None:
    """Fails when each review counts for itself instead of each person's last."""
    number = play.proposes(BRANCH, package("net/core"))
    play.approver.objects(number)
    hears(play)
    play.author.waits_for_summary(number, "`approver` requested changes")

    play.approver.reviews(number)

    assert play.author.waits_for_tag("net/core/v1")


@pytest.mark.only_github("approvals that others dismiss")
def test_a_dismissed_approval_counts_no_more(play: World) -> None:
    """Fails when an approval is remembered from its event."""
    number = play.proposes(BRANCH, package("net/core"))
    play.author.says(number, "/hold")
    play.author.waits_for_summary(number, "holds it")
    play.approver.reviews(number)
    play.author.waits_for_summary(number, "1 of 1 (`approver`)")
    play.owner.dismisses_approval(number)
    play.author.waits_for_summary(number, "0 of 1")

    play.author.says(number, "/unhold")
    play.rests()

    assert play.author.tags() == {}
    assert "0 of 1" in play.author.summary(number)


def test_a_comment_from_before_is_no_command_after_a_restart_with_an_empty_database(
    play: World,
) -> None:
    """Fails when what was answered is known to the database alone."""
    number = play.proposes(BRANCH, package("net/core"))
    play.author.says(number, "/why")
    play.author.waits_for_answer(number, "is waiting for 1 gate")
    play.outsider.says(number, "/approve")
    play.author.waits_for_answer(number, "refused")
    play.rests()
    before = play.author.answers(number)
    play.stop_bot()
    play.loses_database()

    play.start_bot()
    play.rests()

    assert play.author.answers(number) == before
    play.approver.says(number, "/approve")
    assert play.author.waits_for_tag("net/core/v1")


def hook_of(play: RealWorld) -> Callable[[str], str]:
    """Lets the bot's webhook go to another address; that gives the one before."""
    owned = play.app if play.app is not None else next(iter(play.repository.gitlab.hooks.values()))
    field = "webhook_url" if play.app is not None else "url"

    def moves(url: str) -> str:
        before = str(getattr(owned, field))
        setattr(owned, field, url)
        return before

    return moves


@pytest.mark.real_parts
def test_what_could_not_be_delivered_is_taken_from_the_forges_log(play: RealWorld) -> None:
    """Fails when a delivery that was refused is left to the sweep of all that is open.

    The comment is on a proposal that is published, and so on no list of what is open.
    """
    number = play.opens("topic", package("net/core"))
    play.approver.says(number, "/approve")
    play.author.waits_for_tag("net/core/v1")
    play.rests()
    moves = hook_of(play)
    address = moves("http://127.0.0.1:9/webhooks")
    said = play.outsider.says(number, "/why")
    play.rests()
    moves(address)
    assert play.outsider.reactions(number, said) == set()

    play.sweep("deliveries")

    wait_for("an answer", lambda: play.outsider.reactions(number, said) or None)
    play.rests()
    told = play.author.answers(number)
    play.sweep("deliveries")
    play.rests()
    assert play.author.answers(number) == told
    event = {"github": "issue_comment", "gitlab": "note"}[play.name]
    stored = play.database(f"SELECT times FROM delivery WHERE event = '{event}'")
    assert set(stored) == {(1,)}


def test_a_command_on_a_published_proposal_that_was_never_told_is_answered(play: World) -> None:
    """Fails when sweeps look at what is open, and at merges that want something, and no further."""
    number = play.proposes(BRANCH, package("net/core"))
    play.approver.says(number, "/approve")
    play.author.waits_for_tag("net/core/v1")
    play.rests()
    play.sweep()
    play.rests()
    play.forge.faults.hooks.drop("*", None)
    said = play.outsider.says(number, "/why")
    play.rests()
    play.forge.faults.hooks.clear()

    play.sweep("changes")

    wait_for("an answer", lambda: play.outsider.reactions(number, said) or None)
