"""Whose word counts: no stranger, author or forged text publishes anything.

Longer than 400 lines: one story for each way to be believed without a right.
"""

import re
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from lifecycle import records
from tests.stories.calls import TALK
from tests.stories.people import Person, wait_for
from tests.stories.real import RealWorld
from tests.stories.world import CONFIG, CONFIGMAP, KPTFILE, World, package, resized

BRANCH = "drafts/net/core/first"
ME = "porchbot[bot]"


def proposes(world: World, who: Person, author: str = "", message: str = "Change") -> int:
    """Somebody pushes a draft of net/core and proposes it."""
    who.pushes(BRANCH, package("net/core"), author=author, message=message)
    number = who.pull_of(BRANCH).number
    who.waits_for_check(number, "porchbot/validate", "success")
    who.says(number, "/propose")
    wait_for("the proposal", lambda: not who.pull(number).draft or None)
    world.rests()
    return int(number)


def not_published(world: World, number: int) -> None:
    """All is at rest, nothing is merged or tagged."""
    world.rests()
    assert world.author.tags() == {}
    assert not world.author.pull(number).merged


def ours(world: World, number: int) -> list[str]:
    """Everything the bot wrote on a proposal, as stored."""
    return [each.body for each in world.author.ours(number)]


def summary(world: World, number: int) -> str:
    """The bot's summary, whatever others wrote."""
    found = [body for body in ours(world, number) if records.is_summary(body)]
    assert len(found) == 1
    return found[0]


# --- comments that are no commands ---------------------------------------------------------------


@pytest.mark.both_forges
def test_talk_about_approve_is_no_approval(play: World) -> None:
    """Fails when a command is looked for with a regular expression on the whole text."""
    talk = {
        "quote": "> /approve\n\nI would not.",
        "fence": "```\n/approve\n```",
        "HTML comment": "<!--\n/approve\n-->\nHello",
        "code": "    /approve",
        "list": "- /approve",
        "in a sentence": "Please comment /approve when you are done.",
        "folded": "<details>\n\n/approve\n\n</details>",
    }
    number = play.proposes(BRANCH, package("net/core"))
    said = {name: play.approver.says(number, words) for name, words in talk.items()}

    not_published(play, number)
    reactions = {name: play.approver.reactions(number, comment) for name, comment in said.items()}
    assert set().union(*reactions.values()) == set(), reactions
    assert play.author.answers(number) == []


@pytest.mark.both_forges
def test_an_edited_comment_is_no_command(play: World) -> None:
    """Fails when the text of a comment is taken for what its author wrote at first."""
    number = play.proposes(BRANCH, package("net/core"))
    play.forge.faults.hooks.hold()
    said = play.approver.says(number, "Looks good.")
    play.approver.edits(number, said, "/approve")
    with play.forge.state.lock:  # forges tell whole seconds
        play.forge.state.talk.find(play.repository, said).updated_at += timedelta(seconds=5)
    play.forge.faults.hooks.release()

    assert "Commands in edited comments and reviews are ignored" in play.author.waits_for_answer(
        number, "@approver"
    )
    not_published(play, number)
    play.approver.says(number, "/approve")
    assert play.author.waits_for_tag("net/core/v1")


@pytest.mark.both_forges
def test_an_old_command_that_is_edited_does_nothing_again(play: World) -> None:
    """Fails when an edit is a new command: `/why` turned into `/approve` by who may edit it."""
    number = play.proposes(BRANCH, package("net/core"))
    said = play.approver.says(number, "/why")
    play.author.waits_for_answer(number, "@approver")
    play.rests()
    before = play.author.answers(number)

    play.owner.edits(number, said, "/approve")

    not_published(play, number)
    assert play.author.answers(number) == before


def test_a_comment_older_than_the_installation_is_no_command(stage: World) -> None:
    """Fails when a bot that is installed obeys the whole history."""
    stage.author.pushes("topic", package("net/core"))
    pull = stage.author.opens("topic", "Core")
    said = stage.approver.says(pull.number, "/approve")
    with stage.forge.state.lock:
        comment = stage.forge.state.talk.find(stage.repository, said)
        comment.created_at -= timedelta(days=1)
        comment.updated_at -= timedelta(days=1)

    stage.start_bot()
    stage.sweep()
    stage.author.waits_for_check(pull.number, "porchbot/validate", "success")

    not_published(stage, pull.number)
    assert stage.approver.reactions(pull.number, said) == set()
    stage.approver.says(pull.number, "/approve")
    assert stage.author.waits_for_tag("net/core/v1")


def test_help_why_misspelt_and_later_commands_are_answered(play: World) -> None:
    """Fails when a word that is no command is silently ignored, or taken for the nearest one."""
    number = play.proposes(BRANCH, package("net/core"))
    wanted = {
        "/help": "- `/approve",
        "/why": "**net/core v1** is waiting for 1 gate",
        "/aprove": "`aprove` is not a command; did you mean `/approve`?",
        "/retry": "`/retry` is not a command here; comment `/check` to check again from scratch",
    }
    for words, answer in wanted.items():
        play.approver.says(number, words)
        play.author.waits_for_answer(number, answer)

    not_published(play, number)
    assert len(play.author.answers(number)) == len(wanted)


def test_help_is_given_where_no_package_is_touched(play: World) -> None:
    """Fails when roles are read for packages alone: who may read would be told that he may not."""
    play.author.pushes("topic", {"words.md": "Only words.\n"})
    number = play.author.opens("topic", "t").number
    play.author.waits_for_check(number, "porchbot/publish", "success")

    play.outsider.says(number, "/help")

    assert "refused" not in play.author.waits_for_answer(number, "@outsider")


def test_commands_of_other_bots_are_left_alone(play: World) -> None:
    """Fails when every unknown slash word gets an answer: two bots then talk for ever."""
    number = play.proposes(BRANCH, package("net/core"))
    said = play.approver.writes(number, "/retest\n/lgtm\n/assign_them @author")

    not_published(play, number)
    assert play.author.answers(number) == []
    assert play.approver.reactions(number, said) == set()


# --- one's own work -------------------------------------------------------------------------------


@pytest.mark.both_forges
def test_an_author_does_not_approve_himself(play: World) -> None:
    """Fails when only the pull request's author counts: here the bot itself opened it."""
    number = proposes(play, play.approver)
    play.approver.says(number, "/approve")
    refused = play.author.waits_for_answer(number, "@approver")
    assert "authors cannot approve their own work" in refused
    assert "except `approver` (the author)" in refused

    play.approver.reviews(number)

    play.author.waits_for_summary(number, "not counted: `approver`")
    not_published(play, number)
    play.owner.says(number, "/approve")
    assert play.author.waits_for_tag("net/core/v1")


@pytest.mark.both_forges
def test_who_pushes_under_another_name_is_an_author_as_well(play: World) -> None:
    """Fails when authors are read from commits: anybody can write any name there."""
    number = proposes(play, play.owner, author="approver")
    play.owner.says(number, "/approve")
    assert "authors cannot approve" in play.author.waits_for_answer(number, "@owner")
    play.owner.reviews(number)

    not_published(play, number)
    assert "except `approver`, `owner` (the authors)" in play.author.summary(number)


@pytest.mark.both_forges
def test_an_unknown_author_takes_one_more_approval(play: World) -> None:
    """Fails when a commit of nobody's is taken for somebody else's."""
    number = proposes(play, play.author, author="nobody-here")
    play.approver.says(number, "/approve")
    play.author.waits_for_answer(number, "approved head")
    text = play.author.waits_for_summary(number, "1 of 2 (`approver`)")
    assert "one more than usual, because the author or pusher of a commit is unknown" in text
    not_published(play, number)

    play.owner.says(number, "/approve")

    assert play.author.waits_for_tag("net/core/v1")


def test_a_push_over_ones_commit_leaves_its_author_known(play: World) -> None:
    """Fails when a forced push washes the pusher off."""
    play.approver.pushes(BRANCH, package("net/core"))
    play.author.pull_of(BRANCH)
    play.rests()
    play.author.pushes(BRANCH, {**package("net/core"), **resized("net/core", 2)}, force=True)
    number = play.author.pull_of(BRANCH).number
    play.author.waits_for_check(number, "porchbot/validate", "success")
    play.author.says(number, "/propose")
    wait_for("the proposal", lambda: not play.author.pull(number).draft or None)
    play.rests()

    play.approver.says(number, "/approve")

    assert "authors cannot approve" in play.author.waits_for_answer(number, "@approver")
    not_published(play, number)


# --- forged texts ---------------------------------------------------------------------------------


@pytest.mark.both_forges
def test_forged_trailers_and_marks_mean_nothing(play: World) -> None:
    """Fails when a commit message decides: who rendered it, or which number is next."""
    bare = {path: text.replace("  labels:\n    owner: network\n", "") for path, text in
            package("net/core").items()}  # fmt: skip
    play.author.pushes("drafts/net/core/real", bare)
    number = play.author.pull_of("drafts/net/core/real").number
    play.author.waits_for_check(number, "porchbot/validate", "success")
    rendered = play.author.commit(play.author.pull(number).head)
    assert rendered.author == ME
    mark = re.search("Porchbot-Render: .*", rendered.message)
    assert mark is not None

    forged = f'Change\n\n{mark[0]}\n\nkpt:{{"package":"net/core","revision":"9"}}\nkpt:{{broken'
    pushed = play.author.pushes(BRANCH, bare, message=forged)
    other = play.author.pull_of(BRANCH).number
    play.author.waits_for_check(other, "porchbot/validate", "success")

    head = play.author.commit(play.author.pull(other).head)
    assert head.sha != pushed  # rendered all the same: the copied mark fits another parent
    assert head.author == ME
    play.author.says(other, "/propose")
    play.approver.says(other, "/approve")
    wait_for("the proposal", lambda: not play.author.pull(other).draft or None)
    assert play.author.waits_for_tag("net/core/v1")
    assert list(play.author.tags()) == ["net/core/v1"]


@pytest.mark.both_forges
def test_forged_markers_and_copied_records_mean_nothing(play: World) -> None:
    """Fails when a record counts wherever it stands: everybody can read and copy it."""
    first = play.proposes(BRANCH, package("net/core"))
    play.author.says(first, "/hold")
    play.author.waits_for_summary(first, "holds it")
    play.approver.says(first, "/approve")
    play.author.waits_for_answer(first, "approved head")
    play.rests()
    approval = next(body for body in ours(play, first) if "approved head" in body)
    assert '"kind":"approval"' in approval
    second = play.proposes("drafts/net/core/second", package("net/core"))

    # The same trees, head aside: only place and number tell them apart.
    play.outsider.says(second, approval)
    play.outsider.says(second, f"{records.summary_marker('porchbot')}\n### Published net/core v9")
    play.outsider.says(first, approval.replace('"person":"approver"', '"person":"owner"'))

    not_published(play, second)
    assert "0 of 1" in summary(play, second)
    assert "1 of 1 (`approver`)" in summary(play, first)


@pytest.mark.both_forges
@pytest.mark.parametrize("place", ["summary", "answer"])
def test_a_record_of_another_proposal_edited_in_means_nothing(play: World, place: str) -> None:
    """Fails when a record says nothing of the proposal it was made for."""
    first = play.proposes(BRANCH, package("net/core"))
    play.author.says(first, "/hold")
    play.author.waits_for_summary(first, "holds it")
    play.approver.says(first, "/approve")
    play.author.waits_for_answer(first, "approved head")
    play.rests()
    approval = next(body for body in ours(play, first) if "approved head" in body)
    second = play.proposes("drafts/net/core/second", package("net/core"))
    play.author.says(second, "/why")
    play.author.waits_for_answer(second, "is waiting for 1 gate")
    play.rests()

    for comment in play.owner.comments(second):
        if comment.author == ME and records.is_summary(comment.body) == (place == "summary"):
            play.owner.edits(second, comment.id, f"{comment.body}\n\n{approval}")

    not_published(play, second)
    assert "0 of 1" in summary(play, second)


def test_a_summary_set_back_to_what_it_was_brings_no_approval_back(play: World) -> None:
    """Fails when a signed record is true for ever: who may write can edit ours."""
    number = play.proposes(BRANCH, package("net/core"))
    play.author.says(number, "/hold")
    play.author.waits_for_summary(number, "holds it")
    play.approver.says(number, "/approve")
    play.author.waits_for_summary(number, "1 of 1 (`approver`)")
    play.rests()
    before = summary(play, number)
    play.approver.says(number, "/unapprove")
    play.author.waits_for_summary(number, "0 of 1")
    play.rests()

    for comment in play.author.comments(number):
        if comment.author == ME and records.is_summary(comment.body):
            play.owner.edits(number, comment.id, before)
    play.rests()
    play.author.says(number, "/unhold")

    not_published(play, number)  # what was said after the old state is obeyed again
    play.approver.says(number, "/approve")
    assert play.author.waits_for_tag("net/core/v1")


# --- configuration --------------------------------------------------------------------------------


@pytest.mark.both_forges
def test_a_proposal_does_not_change_its_own_rules(play: World) -> None:
    """Fails when `.porchbot.yaml` is read from the proposal: it would approve itself."""
    mine = CONFIG.replace("require: 1", "require: 0").replace("owner: network", "owner: me")
    number = play.proposes(BRANCH, {**package("net/core"), ".porchbot.yaml": mine})
    not_published(play, number)
    assert "0 of 1" in play.author.summary(number)

    play.approver.says(number, "/approve")

    target = play.author.waits_for_tag("net/core/v1")
    assert "owner: network" in play.author.reads("net/core/settings.yaml", target)


@pytest.mark.only_github("methods of one merge")
def test_a_rebase_merge_by_hand_does_not_bring_its_own_rules(play: World) -> None:
    """Fails when the last commit's parent is taken for the base: it is the proposal's own."""
    mine = CONFIG.replace("require: 1", "require: 0")
    play.author.pushes("topic", {".porchbot.yaml": mine})
    play.author.pushes("topic", package("net/core"))
    play.author.pushes("topic", {".porchbot.yaml": f"{mine}# and a word\n"})
    number = play.author.opens("topic", "t").number
    play.author.waits_for_check(number, "porchbot/validate", "success")
    play.rests()

    play.author.merges(number, "rebase")

    assert "0 of 1" in play.author.waits_for_answer(number, "Merged, but not published")
    play.rests()
    assert play.author.tags() == {}


def test_a_branch_does_not_name_itself_a_place_to_publish_from(play: World) -> None:
    """Fails when a base branch's own word is enough: anybody who may push could tag alone."""
    mine = CONFIG.replace("require: 1", "require: 0") + "packages: [{branch: mine}]\n"
    play.author.pushes("mine", {".porchbot.yaml": mine})
    head = play.author.pushes("topic", package("net/core"), base="mine")
    number = play.author.opens("topic", "t", base="mine").number

    # It would need approval on main, where the same commit may be proposed: it is not green here.
    run = play.author.waits_for_check(number, "porchbot/publish", None)
    assert run.title == "Not checked: packages are published from main, not from mine"
    not_published(play, number)
    assert set(play.author.checks(head)) == {"porchbot/publish"}  # no package is touched


def test_a_proposal_that_breaks_the_configuration_fails_at_the_line(play: World) -> None:
    """Fails when configuration is only judged once it is on main, where it stops everything."""
    broken = CONFIG.replace("require: 1", "require: many")
    play.author.pushes("topic", {".porchbot.yaml": broken})
    pull = play.author.opens("topic", "Rules")

    run = play.author.waits_for_check(pull.number, "porchbot/publish", "failure")

    assert run.title == "This change would break the configuration"
    line = broken.split("\n").index('  approve: {require: many, from: ["role:maintain"]}') + 1
    rules = play.author.waits_for_check(pull.number, "porchbot/config", "failure")
    (note,) = play.author.remarks(pull.number, rules.name)
    assert play.author.remarks(pull.number, run.name) == []  # it stands at its line once
    assert (note.path, note.line) == (".porchbot.yaml", line)
    assert note.level in ("failure", "")
    assert "'many' is not a whole number" in note.text
    play.author.pushes("topic", {".porchbot.yaml": CONFIG + "render: check\n"})
    play.author.waits_for_check(pull.number, "porchbot/publish", None)
    play.rests()
    play.approver.says(pull.number, "/approve")
    play.author.waits_for_check(pull.number, "porchbot/publish", "success")


@pytest.mark.both_forges
def test_broken_configuration_on_main_fails_closed_and_shows(play: World) -> None:
    """Fails when what cannot be read means "no rules", or is ignored without a word."""
    problems = {
        "access: {approve: {require: many}}\n": "is not a whole number",
        "access: [\n": "the file is not YAML",
    }
    number = play.proposes(BRANCH, package("net/core"))
    for broken, said in problems.items():
        play.owner.pushes("main", {".porchbot.yaml": broken})
        play.author.waits_for_summary(number, said)
        run = play.author.waits_for_check(number, "porchbot/publish", "failure")
        assert run.title == "The configuration of the base branch cannot be read"
        assert said in run.text
    play.approver.says(number, "/approve")
    play.author.waits_for_answer(number, "`.porchbot.yaml` on the base branch has 1 problem")
    play.author.waits_for_summary(number, "`.porchbot.yaml:")
    play.approver.reviews(number)
    not_published(play, number)

    play.owner.pushes("main", {".porchbot.yaml": CONFIG})

    # Nobody could tell by which rules the review judged: it is asked for again.
    play.author.waits_for_summary(
        number, "the rules or functions that check the package changed since"
    )
    not_published(play, number)
    play.approver.says(number, "/approve")
    assert play.author.waits_for_tag("net/core/v1")


# --- forks and other branches ---------------------------------------------------------------------


@pytest.mark.real_parts
def test_a_fork_is_checked_never_pushed_to_and_publishable(play: RealWorld) -> None:
    """Fails when the bot renders into branches of others, or forks cannot contribute at all."""
    url = play.forks()
    bare = CONFIGMAP.replace("NAME", "core").replace("  labels:\n    owner: network\n", "")
    head = play.outsider.pushes(
        "drafts/net/core/mine", {**package("net/core"), "net/core/settings.yaml": bare}, url=url
    )
    pull = play.outsider.opens("outsider:drafts/net/core/mine", "From outside")
    run = play.author.waits_for_check(pull.number, "porchbot/render", "failure")

    assert run.title == "1 file of net/core not rendered".replace("net/core", "`net/core`")
    assert "kpt fn render net/core" in run.text
    assert "kpt fn eval net/core --image set-labels:v0.2 -- owner=network" in run.text
    assert "net/core/settings.yaml" in run.text
    play.author.says(pull.number, "/render")
    assert "fork" in play.author.waits_for_answer(pull.number, "@author")
    play.rests()
    assert play.author.pull(pull.number).head == head

    play.outsider.pushes(
        "drafts/net/core/mine",
        {"net/core/settings.yaml": CONFIGMAP.replace("NAME", "core")},
        url=url,
    )
    play.author.waits_for_check(pull.number, "porchbot/render", "success")
    play.rests()
    play.approver.says(pull.number, "/approve")
    play.author.waits_for_answer(pull.number, "approved head")
    if not play.pushes_to_forks_are_told:
        play.rests()
        assert "one more than usual" in play.author.summary(pull.number)
        assert play.author.tags() == {}
        play.owner.says(pull.number, "/approve")
    target = play.author.waits_for_tag("net/core/v1")
    assert target == play.author.pull(pull.number).merge_commit
    pushes = play.forge.faults.calls(play.caller, kind="git")
    assert not [c for c in pushes if "outsider" in c.path]


@pytest.mark.both_forges
def test_the_author_of_a_fork_does_not_approve_himself(play: World) -> None:
    """Fails when authors of forks are not looked for."""
    play.forge.state.add_member(play.repository, "outsider", "maintain")
    url = play.forks()
    play.outsider.pushes("mine", package("net/core"), url=url)
    pull = play.outsider.opens("outsider:mine", "From outside")
    play.author.waits_for_check(pull.number, "porchbot/validate", "success")
    play.rests()

    play.outsider.says(pull.number, "/approve")

    assert "authors cannot approve" in play.author.waits_for_answer(pull.number, "@outsider")
    not_published(play, pull.number)


@pytest.mark.both_forges
def test_check_mode_shows_the_difference_and_render_commits(play: World) -> None:
    """Fails when `render: check` still pushes, or `/render` is refused where the bot may push."""
    play.owner.pushes("main", {".porchbot.yaml": CONFIG + "render: check\n"})
    play.rests()
    bare = CONFIGMAP.replace("NAME", "core").replace("  labels:\n    owner: network\n", "")
    head = play.author.pushes(BRANCH, {**package("net/core"), "net/core/settings.yaml": bare})
    number = play.author.pull_of(BRANCH).number
    run = play.author.waits_for_check(number, "porchbot/render", "failure")
    play.rests()
    assert play.author.pull(number).head == head
    assert "metadata.labels" in run.text  # what differs, not only where
    assert "owner: network" in run.text or "network" in run.text

    play.author.says(number, "/render")

    play.author.waits_for_check(number, "porchbot/render", "success")
    rendered = play.author.commit(play.author.pull(number).head)
    assert rendered.author == ME
    assert rendered.parents == (head,)


# --- packages -------------------------------------------------------------------------------------


def test_a_folder_named_like_a_revision_is_refused(play: World) -> None:
    """Fails when its tag `net/v5/v1` is tried: git cannot hold it below the tag `net/v5`."""
    play.author.pushes("drafts/net/v5/first", package("net/v5"))
    number = play.author.pull_of("drafts/net/v5/first").number

    run = play.author.waits_for_check(number, "porchbot/validate", "failure")

    # What is about a file, and no line of it, stands in the summary where checks hold one line.
    text = run.text or play.author.waits_for_summary(number, "Rename the folder")
    assert "Rename the folder" in text
    told = [(n.path, n.level) for n in play.author.remarks(number, run.name)]
    assert ("net/v5/Kptfile", "failure") in told or "`net/v5/Kptfile`" in text
    play.author.says(number, "/propose")
    play.approver.says(number, "/approve")
    not_published(play, number)


def test_an_image_that_the_runner_lacks_blocks_and_is_named(play: World) -> None:
    """Fails when a function that cannot be run is left out."""
    kptfile = KPTFILE.replace("NAME", "core") + (
        "pipeline:\n  mutators:\n    - image: ghcr.io/corp/secret-sauce:v9\n"
    )
    play.author.pushes(BRANCH, {**package("net/core"), "net/core/Kptfile": kptfile})
    number = play.author.pull_of(BRANCH).number

    run = play.author.waits_for_check(number, "porchbot/validate", "failure")

    assert "ghcr.io/corp/secret-sauce:v9" in run.text
    assert "net/core/Kptfile" in [n.path for n in play.author.remarks(number, run.name)]
    play.author.says(number, "/propose")
    wait_for("the proposal", lambda: not play.author.pull(number).draft or None)
    play.rests()
    play.approver.says(number, "/approve")
    play.author.waits_for_answer(number, "approved head")
    not_published(play, number)
    play.author.pushes(BRANCH, {"net/core/Kptfile": KPTFILE.replace("NAME", "core")})
    play.author.waits_for_check(number, "porchbot/validate", "success")


def test_a_nested_package_is_released_with_the_one_around_it(play: World) -> None:
    """Fails when every Kptfile is a unit of release."""
    inner = package("net/core/inner")
    number = play.proposes(BRANCH, {**package("net/core"), **inner})
    play.approver.says(number, "/approve")

    assert play.author.waits_for_tag("net/core/v1")
    play.rests()
    assert list(play.author.tags()) == ["net/core/v1"]

    second = play.proposes("drafts/net/core/second", resized("net/core/inner", 7))
    play.approver.says(second, "/approve")

    assert play.author.waits_for_tag("net/core/v2")


@pytest.mark.both_forges
def test_a_removed_package_keeps_its_tags_and_its_numbers(play: World) -> None:
    """Fails when numbers are counted from what is there."""
    number = play.proposes(BRANCH, package("net/core"))
    play.approver.says(number, "/approve")
    first = play.author.waits_for_tag("net/core/v1")
    play.rests()

    gone = "drafts/net/core/gone"
    play.author.pushes(gone, dict.fromkeys(package("net/core")))
    pull = play.author.pull_of(gone)
    play.author.waits_for_check(pull.number, "porchbot/validate", "success")
    play.author.says(pull.number, "/propose")
    play.author.waits_for_summary(pull.number, "removed; its revisions and tags stay")
    wait_for("the proposal", lambda: not play.author.pull(pull.number).draft or None)
    play.rests()
    play.approver.says(pull.number, "/approve")
    wait_for("the merge", lambda: play.author.pull(pull.number).merged or None)
    play.rests()
    assert play.author.tags() == {"net/core/v1": first}

    again = play.proposes("drafts/net/core/again", package("net/core"))
    play.approver.says(again, "/approve")
    assert play.author.waits_for_tag("net/core/v2")


def test_a_ledger_counts_for_the_next_number(play: World) -> None:
    """Fails when a withdrawn revision, whose tag is gone, frees its number."""
    ledger = "revisions:\n  net/core:\n    4: {state: withdrawn, reason: it broke the edge}\n"
    play.owner.pushes("main", {".porchbot/ledger.yaml": ledger.replace("4:", '"4":')})
    play.rests()

    number = play.proposes(BRANCH, package("net/core"))
    assert "- `net/core`: v5" in play.author.summary(number)
    play.approver.says(number, "/approve")

    assert play.author.waits_for_tag("net/core/v5")
    assert list(play.author.tags()) == ["net/core/v5"]


# --- secrets --------------------------------------------------------------------------------------

SECRET_FILE = """\
apiVersion: v1
kind: Secret
metadata:
  name: login
  labels: {owner: network}
stringData:
  password: "hunter2-VALUE"
"""


JUDGE = """\
apiVersion: fn.kpt.dev/v1alpha1
kind: StarlarkRun
metadata: {name: judge, annotations: {config.kubernetes.io/local-config: "true"}}
source: |
  for each in ctx.resource_list["items"]:
    word = str(each.get("stringData", {}).get("password", ""))
    if word and not word.startswith("hunter2"):
      fail("no good password: " + word)
"""
"""A validator that quotes what it is about."""

JUDGED = """\
pipeline:
  validators:
    - image: ghcr.io/kptdev/krm-functions-catalog/starlark:v0.5
      configPath: judge.yaml
"""


def _secrets(play: RealWorld) -> list[str]:
    """What the operator gave the bot, and what it got for that."""
    words = ("PRIVATE_KEY", "SECRETS", "TOKEN", "MASTER_KEY")
    given = [v for name, v in play.environment.items() if name.endswith(words)]
    lines = (value.strip().split("\n") for value in given)  # of a key one line in its middle
    return [each[len(each) // 2] for each in lines] + list(
        play.forge.state.data.installation_tokens
    )


@pytest.mark.real_parts
def test_no_secret_is_said_or_logged(stage: RealWorld, caplog: pytest.LogCaptureFixture) -> None:
    """Fails when a finding or a difference quotes the value it is about.

    What is logged is read as it is before anything is blacked out there.
    """
    with capture_logs() as lines:
        said = _says_all_of_a_secret(stage)
        stage.stop_bot()

    assert "looked, settled" in {each["event"] for each in lines}
    hidden = ["hunter2", "918273645", *_secrets(stage)]
    for text in [*said, str(lines), caplog.text]:
        for secret in hidden:
            assert secret not in text


def _says_all_of_a_secret(play: RealWorld) -> list[str]:
    """All that the bot says of a package whose secret is wrong, mended and published."""
    play.start_bot()
    play.rests()
    files = {**package("net/core"), "net/core/login.yaml": SECRET_FILE}
    files |= {"net/core/Kptfile": files["net/core/Kptfile"] + JUDGED, "net/core/judge.yaml": JUDGE}
    number = play.proposes(BRANCH, files)
    play.author.pushes(
        BRANCH, {"net/core/login.yaml": SECRET_FILE.replace('"hunter2-VALUE"', "918273645")}
    )
    wrong = play.author.waits_for_check(number, "porchbot/validate", "failure")
    remarks = play.author.remarks(number, wrong.name)
    notes = [(n.path, n.line) for n in remarks]
    assert {("net/core/login.yaml", 7), ("net/core/Kptfile", 9)} <= set(notes)
    said = [n.text for n in remarks] + [wrong.text]
    said += ours(play, number)
    play.author.pushes(BRANCH, {"net/core/login.yaml": SECRET_FILE.replace("VALUE", "OTHER")})
    play.author.waits_for_check(number, "porchbot/validate", "success")
    play.rests()
    said += ours(play, number)
    for run in play.author.checks(play.author.pull(number).head).values():
        said += [run.title, run.text]
    play.forge.faults.fail(play.call(TALK), 502, caller=play.caller)
    play.approver.says(number, "/approve")
    play.author.waits_for_tag("net/core/v1")
    play.rests()
    return said + ours(play, number)


# --- words for commands ---------------------------------------------------------------------------


def test_words_of_the_base_stand_for_commands_and_those_of_the_head_do_not(play: World) -> None:
    """Fails when a proposal brings the words by which it is approved."""
    number = play.proposes(BRANCH, package("net/core"))
    play.author.pushes(
        BRANCH, {".porchbot.yaml": CONFIG + "commands: {aliases: {lgtm: approve}}\n"}
    )
    play.rests()
    play.approver.says(number, "/lgtm")
    play.rests()
    assert not any("pproved" in answer for answer in play.author.answers(number))
    play.owner.pushes("main", {".porchbot.yaml": CONFIG + "commands: {aliases: {ok: approve}}\n"})
    play.rests()
    other = play.proposes("drafts/net/other/first", package("net/other"))

    play.approver.looks()  # forges tell whole seconds: in that of the push the word was none yet
    play.approver.says(other, "/ok")

    assert play.author.waits_for_tag("net/other/v1")


def test_diff_tells_what_changed_since_a_revision(play: World) -> None:
    """Fails when the merge base is shown whatever is asked for."""
    first = play.proposes(BRANCH, package("net/core"))
    play.approver.says(first, "/approve")
    play.author.waits_for_tag("net/core/v1")
    play.rests()
    second = play.proposes("drafts/net/core/second", resized("net/core", 2))
    play.approver.says(second, "/approve")
    play.author.waits_for_tag("net/core/v2")
    play.rests()
    number = play.proposes("drafts/net/core/third", resized("net/core", 3))

    play.outsider.says(number, "/diff v1")
    since = play.author.waits_for_answer(number, "since v1")
    play.outsider.says(number, "/diff")
    here = play.author.waits_for_answer(number, "against the merge base")
    play.outsider.says(number, "/diff v7")

    assert 'data.size: "1" -> "3"' in since
    assert 'data.size: "2" -> "3"' in here
    assert "There is no v7 of `net/core`" in play.author.waits_for_answer(number, "v7")
