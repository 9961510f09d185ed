"""Check runs as people meet them: begun at once, told to the end, changed in place."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from traceback import walk_stack
from typing import Any

import pytest

from lifecycle.commands import answers
from lifecycle.commands import parse as commands
from lifecycle.commands.permission import refusal
from tests.simulation.ports import Gate
from tests.stories.github_people import at_github
from tests.stories.people import wait_for
from tests.stories.rendering import Rendering
from tests.stories.simulated import SimulatedWorld, simulated
from tests.stories.world import CONFIG, CONFIGMAP, World, minutes_pass, package, resized

BRANCH = "drafts/net/core/first"


@pytest.fixture
def slow(rendering: Rendering) -> Iterator[SimulatedWorld]:
    """A world with a proposal, whose next renderings take half a minute."""
    with simulated(rendering) as made:
        made.start_bot()
        made.author.pushes(BRANCH, package("net/core"))
        made.author.waits_for_check(
            made.author.pull_of(BRANCH).number, "porchbot/validate", "success"
        )
        made.rests()
        made.renders_slowly(30)
        yield made


def test_a_slow_rendering_is_seen_within_five_seconds(
    slow: SimulatedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails when checks are written with their result only: for half a minute nothing shows.

    Other short-cuts parse a flood of comments, or judge its commands, on the event loop: the push
    waits there for as long.
    """
    number = slow.author.pull_of(BRANCH).number
    parsed: list[bool] = []
    judged: list[bool] = []
    monkeypatch.setattr(commands, "_find_lines", _where(commands._find_lines, parsed))
    monkeypatch.setattr(answers, "refusal", _where(refusal, judged))
    for flood in range(11):
        text = "\n\n".join(f"/hold {flood} *and {n}*" for n in range(84))
        slow.author.says(number, text)
    pushed = slow.forge.state.now()
    head = slow.author.pushes(BRANCH, resized("net/core", 3))

    begun = slow.author.waits_for_check(number, "porchbot/render", None)
    assert begun.head == head
    assert begun.began is not None
    assert (begun.began - pushed).total_seconds() <= 5
    assert begun.title == "Rendering the packages"
    ended = slow.author.waits_for_check(number, "porchbot/render", "success")
    slow.rests()

    assert len(parsed) >= 11
    assert len(judged) >= 220
    assert all(parsed + judged)
    assert ended.began
    assert ended.ended
    assert (ended.ended - ended.began).total_seconds() >= 20  # how long it took
    runs = slow.author.every_check(head)
    assert sorted(run.name for run in runs) == [
        "porchbot/publish",
        "porchbot/render",
        "porchbot/validate",
    ]


def _where(work: Callable[..., Any], offloaded: list[bool]) -> Callable[..., Any]:
    """The same work, which notes each time whether it is done beside the event loop."""

    def noted(*given: Any) -> Any:
        callers = (frame.f_code for frame, _ in walk_stack(None))
        offloaded.append(any(code is Gate.offload.__code__ for code in callers))
        return work(*given)

    return noted


def test_a_slow_re_run_is_seen_and_replaces_every_check(slow: SimulatedWorld) -> None:
    """Fails when who pressed Re-run sees the old result until the new one is there."""
    pull = slow.author.pull_of(BRANCH)
    before = slow.author.checks(pull.head)
    state = slow.forge.state
    with state.lock:
        runs = state.checks.runs_on(slow.repository, pull.head)
        run = next(r for r in runs if r.name == "porchbot/validate")
        state.checks.rerequest(run, state.user("author"))

    slow.author.waits_for_check(pull.number, "porchbot/validate", None)
    after = slow.author.waits_for_check(pull.number, "porchbot/validate", "success")
    slow.rests()

    assert after.id > before["porchbot/validate"].id
    assert slow.author.checks(pull.head)["porchbot/publish"].conclusion is None


def test_the_check_says_that_it_is_published_once_the_tag_stands(play: World) -> None:
    """Fails when a completed run is left as it was before the merge: "Publishing" for ever."""
    number = play.proposes(BRANCH, package("net/core"))
    head = play.author.pull(number).head
    play.approver.says(number, "/approve")
    play.author.waits_for_tag("net/core/v1")
    play.rests()

    run = play.author.checks(head)["porchbot/publish"]

    assert run.title == "Published net/core v1"
    assert "Tagged `net/core/v1` on" in run.text
    runs = play.author.every_check(head)
    if play.author.checks_are_edited:
        assert len([each for each in runs if each.name == "porchbot/publish"]) == 1


@pytest.mark.only_github("annotations by the hundred")
def test_hundreds_of_findings_stand_at_their_lines_and_the_worst_come_first(play: World) -> None:
    """Fails when only the first request of annotations is sent, or a list is cut by place."""
    bad = "".join(
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{n}\n"
        "  labels: {owner: network}\ndata: [not, a, map]\n"
        for n in range(60)
    )
    play.author.pushes(BRANCH, package("net/core", **{"many.yaml": bad}))
    number = play.author.pull_of(BRANCH).number

    run = play.author.waits_for_check(number, "porchbot/validate", "failure")

    notes = wait_for(
        "all annotations", lambda: [*play.author.remarks(number, run.name)][50:] or None
    )
    assert notes
    assert run.text.startswith("- **error**")
    assert f"](/acme/blueprints/pull/{number}/files)" in run.text
    assert "c59" in run.text or "many.yaml" in run.text
    wait_for(
        "the last of them",
        lambda: "." in play.author.checks(run.head)["porchbot/validate"].mark or None,
    )


BARE = CONFIGMAP.replace("NAME", "core").replace("  labels:\n    owner: network\n", "")


@pytest.mark.only_github("reviews that hold remarks")
def test_where_the_bot_does_not_push_the_rendering_can_be_copied_and_clicked(
    play: World, tmp_path: Path
) -> None:
    """Fails when the check names files only, or each look suggests the same once more."""
    play.owner.pushes("main", {".porchbot.yaml": CONFIG + "render: check\n"})
    play.rests()
    files = {**package("net/core"), "net/core/settings.yaml": BARE}
    head = play.author.pushes(BRANCH, files)
    number = play.author.pull_of(BRANCH).number
    run = play.author.waits_for_check(number, "porchbot/render", "failure")
    play.rests()
    patch = run.text.partition("```diff\n")[2].partition("```")[0]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch, text=True, check=True)
    rendered = (tmp_path / "net/core/settings.yaml").read_text()
    assert "owner: network" in rendered

    (remark,) = at_github(play.author).get_pull(number).get_review_comments()
    assert remark.user.login == "porchbot[bot]"
    assert (remark.path, remark.commit_id) == ("net/core/settings.yaml", head)
    text = remark.body.removeprefix("```suggestion\n").removesuffix("```")
    lines = BARE.splitlines(keepends=True)
    first = (remark.start_line or remark.line) - 1
    assert "".join([*lines[:first], text, *lines[remark.line :]]) == rendered

    play.author.says(number, "/check")
    play.rests()
    assert len([*at_github(play.author).get_pull(number).get_reviews()]) == 1
    play.author.pushes(BRANCH, {"net/core/settings.yaml": rendered})
    play.author.waits_for_check(number, "porchbot/render", "success")
    play.rests()
    assert len([*at_github(play.author).get_pull(number).get_reviews()]) == 1


def test_no_value_of_a_secret_stands_in_a_patch_or_suggestion(play: World) -> None:
    """Fails when the difference is shown as text, whatever the files hold."""
    play.owner.pushes("main", {".porchbot.yaml": CONFIG + "render: check\n"})
    play.rests()
    secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  key: hunter2222\n"
    play.author.pushes(BRANCH, package("net/core", **{"secret.yaml": secret}))
    number = play.author.pull_of(BRANCH).number

    run = play.author.waits_for_check(number, "porchbot/render", "failure")
    play.rests()

    text = run.text or play.author.waits_for_summary(number, "net/core/secret.yaml")
    assert "net/core/secret.yaml" in text
    assert "hunter2222" not in text
    assert play.author.suggested(number) == []


# --- buttons --------------------------------------------------------------------------------------


def presses(world: World, number: int, check: str, button: str, who: str = "author") -> None:
    """Press a button of a check. It is one of the pages, no call of the API."""
    state, head = world.forge.state, world.author.pull(number).head
    with state.lock:  # nothing is asked over HTTP meanwhile
        run = next(r for r in state.checks.runs_on(world.repository, head) if r.name == check)
        state.checks.press(run, state.user(who), button)


@pytest.mark.only_github("buttons of checks")
def test_buttons_do_what_their_commands_do(play: World) -> None:
    """Fails when every button is taken for Re-run, or its answer names nobody."""
    play.owner.pushes("main", {".porchbot.yaml": CONFIG + "render: check\n"})
    play.rests()
    head = play.author.pushes(BRANCH, {**package("net/core"), "net/core/settings.yaml": BARE})
    number = play.author.pull_of(BRANCH).number
    play.author.waits_for_check(number, "porchbot/render", "failure")
    play.rests()

    presses(play, number, "porchbot/render", "render")
    play.author.waits_for_check(number, "porchbot/render", "success")
    rendered = play.author.commit(play.author.pull(number).head)
    assert rendered.parents == (head,)
    play.rests()
    presses(play, number, "porchbot/publish", "propose")
    wait_for("the proposal", lambda: not play.author.pull(number).draft or None)
    play.rests()
    presses(play, number, "porchbot/publish", "why", "owner")
    assert "is waiting for 1 gate" in play.author.waits_for_answer(number, "@owner")
    play.rests()
    assert len(play.author.answers(number)) == 1
    play.approver.says(number, "/approve")
    assert play.author.waits_for_tag("net/core/v1")


@pytest.mark.only_github("buttons of checks")
def test_who_had_the_bot_render_by_a_button_is_an_author(play: World) -> None:
    """Fails when the push is put down to the bot alone: who asked for it approves it as well."""
    play.owner.pushes("main", {".porchbot.yaml": CONFIG + "render: check\n"})
    play.rests()
    play.author.pushes(BRANCH, {**package("net/core"), "net/core/settings.yaml": BARE})
    number = play.author.pull_of(BRANCH).number
    play.author.waits_for_check(number, "porchbot/render", "failure")
    play.rests()
    presses(play, number, "porchbot/render", "render", "approver")
    play.author.waits_for_check(number, "porchbot/render", "success")
    play.rests()
    play.author.says(number, "/propose")
    play.rests()

    play.approver.says(number, "/approve")

    assert "authors cannot approve" in play.author.waits_for_answer(number, "@approver")


@pytest.mark.only_github("buttons of checks")
def test_a_button_takes_the_right_of_who_pressed_it(play: World) -> None:
    """Fails when the bot's own right suffices: whoever sees a check would have its command."""
    play.author.pushes(BRANCH, package("net/core"))
    number = play.author.pull_of(BRANCH).number
    play.author.waits_for_check(number, "porchbot/validate", "success")
    play.rests()
    presses(play, number, "porchbot/publish", "propose", "approver")
    play.forge.state.add_member(play.repository, "approver", "read")

    answer = play.author.waits_for_answer(number, "@approver")

    assert "`/propose` refused: only people with write access or the author can do this" in answer
    play.rests()
    assert play.author.pull(number).draft
    assert len(play.author.answers(number)) == 1


@pytest.mark.only_github("buttons of checks")
@pytest.mark.simulated_time("minutes pass")
def test_a_button_of_which_the_log_tells_nothing_does_nothing(stage: World) -> None:
    """Short-cuts refused: the delivery is believed, and whoever knows its secret proposes in any
    name; or a press is lost of which the log tells a little later."""
    play = stage
    assert isinstance(stage, SimulatedWorld)
    play.start_bot()
    play.author.pushes(BRANCH, package("net/core"))
    number = play.author.pull_of(BRANCH).number
    play.author.waits_for_check(number, "porchbot/validate", "success")
    play.rests()
    presses(play, number, "porchbot/publish", "propose")
    stage.forgets_presses()
    play.rests()
    minutes_pass(play, 5)
    assert play.author.pull(number).draft
    assert play.author.answers(number) == []

    presses(play, number, "porchbot/publish", "propose")
    pressed = stage.forgets_presses()
    play.rests()
    assert play.author.pull(number).draft
    stage.lists_presses(pressed)
    wait_for("the proposal", lambda: not play.author.pull(number).draft or None)


@pytest.mark.only_github("buttons of checks")
def test_a_button_of_a_commit_that_is_proposed_twice_asks_which_is_meant(play: World) -> None:
    """Fails when the first pull request is taken: the button does not say which."""
    play.owner.pushes("release", {})
    number = play.proposes(BRANCH, package("net/core"))
    pull = play.author.pull(number)
    other = play.author.opens(pull.head_ref, "Again", base="release", draft=True)
    play.rests()
    state = play.forge.state
    with state.lock:
        runs = state.checks.runs_on(play.repository, pull.head)
        run = next(r for r in runs if r.name == "porchbot/publish")
        run.actions = [{"identifier": "propose"}]  # from before the second one
        state.checks.press(run, state.user("author"), "propose")

    answer = play.author.waits_for_answer(number, "cannot tell which")

    assert f"#{number}, #{other.number}" in answer
    assert play.author.pull(other.number).draft
