"""Rules are changed under the rules that they change."""

import pytest

from bot.sandbox.records.accounts import Organization
from tests.stories.people import Link, wait_for
from tests.stories.world import CONFIG, World, package

CONFIGURE = CONFIG.replace("access:\n", 'access:\n  configure: {from: ["role:admin"]}\n')
OPEN = CONFIG.replace("require: 1", "require: 0")


def publish(play: World, number: int) -> str | None:
    """The conclusion of `porchbot/publish` at a proposal's head."""
    checks = play.author.checks(play.author.pull(number).head)
    run = checks.get("porchbot/publish")
    return run.conclusion if run else "missing"


def proposes(play: World, branch: str, text: str, **more: str) -> int:
    """A pull request that changes the configuration; waits for the bot's summary."""
    author = play.author
    author.pushes(branch, {".porchbot.yaml": text, **more})
    made = author.opens(branch, "Rules")
    return made.number


@pytest.mark.both_forges
def test_a_change_of_the_rules_waits_for_approval_under_the_rules_of_the_base(
    play: World,
) -> None:
    """Fails when only packages are judged: whoever can merge would first weaken the rules."""
    play.owner.pushes("main", {".porchbot.yaml": CONFIGURE})
    play.rests()
    number = proposes(play, "weaker", OPEN)
    summary = play.author.waits_for_summary(number, "rules approved")
    assert "people with admin access, except `author`" in summary
    assert "an administrator can merge past this check" in summary
    play.rests()
    assert publish(play, number) is None

    # Who may approve packages may not approve this; nor may its author.
    asked = play.approver.says(number, "/approve")
    answer = play.author.waits_for_answer(number, "`/approve` refused", after=asked)
    assert "admin access" in answer
    play.rests()
    assert publish(play, number) is None

    play.owner.says(number, "/approve")
    wait_for("the check", lambda: publish(play, number) == "success" or None)
    play.rests()
    assert not play.author.pull(number).merged
    # Nobody waits for the bot then: a change of the rules is merged by people.
    play.author.waits_for_summary(
        number, "### Approved, to be merged by a person: a change of the rules"
    )

    play.owner.merges(number)
    play.rests()
    assert not any("This merge changed the rules" in text for text in play.author.answers(number))


def test_a_push_after_the_approval_of_rules_takes_it_back(play: World) -> None:
    """Fails when an approval of rules binds to the proposal and not to what it says."""
    number = proposes(play, "rules", CONFIG + "render: check\n")
    play.author.waits_for_summary(number, "rules approved")
    play.approver.says(number, "/approve")
    wait_for("the check", lambda: publish(play, number) == "success" or None)

    play.author.pushes("rules", {".porchbot.yaml": OPEN})

    play.author.waits_for_summary(number, "what is merged along with the package changed since")
    play.rests()
    assert publish(play, number) is None

    play.author.merges(number)  # nothing requires the check here
    play.rests()
    told = [text for text in play.author.answers(number) if "This merge changed the rules" in text]
    assert ["not counted: `approver`: what is merged along with" in text for text in told] == [True]
    play.sweep()
    play.rests()
    assert sum("This merge changed the rules" in text for text in play.author.answers(number)) == 1


def test_a_package_beside_a_change_of_the_rules_needs_both(play: World) -> None:
    """Fails when the approval of the package carries the rules along."""
    play.owner.pushes("main", {".porchbot.yaml": CONFIGURE})
    play.rests()
    number = proposes(play, "both", OPEN, **package("net/core"))
    play.author.waits_for_summary(number, "rules approved")
    play.approver.says(number, "/approve")
    play.author.waits_for_summary(number, "1 of 1 (`approver`)")
    play.rests()
    assert publish(play, number) is None

    play.owner.says(number, "/approve")
    play.author.waits_for_tag("net/core/v1")


def test_a_link_in_the_place_of_the_rules_is_broken_and_an_administrator_repairs_it(
    play: World,
) -> None:
    """Fails when a link counts as no file: the rules would then be those of a bare repository."""
    play.owner.pushes("main", {".porchbot.yaml": Link("elsewhere.yaml")})
    play.author.pushes("topic", package("net/core"))
    made = play.author.opens("topic", "x")
    number = made.number
    play.approver.says(number, "/approve")
    play.author.waits_for_summary(number, "it is not a regular file")
    play.rests()
    assert not play.author.pull(number).merged

    play.author.pushes("repair", {".porchbot.yaml": CONFIG})
    repair = play.author.opens("repair", "x")
    play.author.waits_for_summary(repair.number, "rules approved")
    asked = play.approver.says(repair.number, "/approve")
    play.author.waits_for_answer(repair.number, "admin access", after=asked)
    play.owner.says(repair.number, "/approve")
    wait_for("the check", lambda: publish(play, repair.number) == "success" or None)


def test_the_check_of_the_rules_says_whose_verdict_they_would_change(play: World) -> None:
    """Fails when people find out after the merge: every open proposal asks for another approval."""
    waiting = play.proposes("drafts/net/core/first", package("net/core"))
    same = play.author.opens(_elsewhere(play), "Words")
    play.rests()
    stricter = CONFIG.replace("require: 1", "require: 2")
    play.author.pushes("stricter", {".porchbot.yaml": stricter})
    pull = play.author.opens("stricter", "Two")

    run = play.author.waits_for_check(pull.number, "porchbot/config", "success")

    assert run.title == "Valid; 1 open proposal would be affected"
    line = f"- #{waiting} (net/core v1): waiting: approved by 0 of 1 → waiting: approved by 0 of 2"
    assert line in run.text
    assert f"#{same.number}" not in run.text
    assert "1 open proposal would not be affected" in run.text
    play.rests()
    names = {run.name for run in play.author.checks(play.author.pull(waiting).head).values()}
    assert "porchbot/config" not in names


def test_no_function_runs_by_rules_that_nobody_approved(play: World) -> None:
    """Short-cut: all of the changed file is tried out, and its guardrails run on others' packages.

    The mutator would leave every package unrendered; the trial's `allow` would let anything run.
    """
    waiting = play.proposes("drafts/net/core/first", package("net/core"))
    changed = CONFIG.replace("owner: network", "owner: mine").replace("require: 1", "require: 2")
    play.author.pushes("theirs", {".porchbot.yaml": changed + "functions: {allow: [evil/*]}\n"})
    pull = play.author.opens("theirs", "Mine")

    play.author.waits_for_check(pull.number, "porchbot/config", "success")
    play.rests()  # the text may stand in the summary, which is written afterwards
    run = play.author.checks(pull.head, pull.number)["porchbot/config"]

    line = f"- #{waiting} (net/core v1): waiting: approved by 0 of 1 →"
    assert f"{line} waiting: approved by 0 of 2\n" in run.text
    assert "It would also run `set-labels:v0.2`, no longer run `set-labels:v0.2`" in (run.text)
    assert "porchbot check --rules" in run.text


def test_a_change_of_the_rules_tells_nobody_who_is_in_a_team(play: World) -> None:
    """Short-cut: whoever is named in the file is asked for: one push tells who is in any team."""
    state = play.forge.state
    with state.lock:
        account = state.user("acme")
        account.kind = "Organization"
        state.data.organizations["acme"] = Organization(account=account)
    state.organizations.add_team("acme", "Incidents", ("approver",))
    waiting = play.proposes("drafts/net/core/first", package("net/core"))
    play.approver.says(waiting, "/hold later")
    play.approver.says(waiting, "/approve")
    play.rests()
    theirs = CONFIG.replace("role:maintain", "team:incidents")
    play.author.pushes("theirs", {".porchbot.yaml": theirs})
    pull = play.author.opens("theirs", "Who?")

    run = play.author.waits_for_check(pull.number, "porchbot/config", "success")

    assert "approved by 0 of 1" in run.text
    assert "(members of `team:incidents` are not counted: the rules in force do not name it)" in (
        run.text
    )
    asked = play.forge.faults.calls("porchbot[bot]")
    assert not [call for call in asked if "/teams/" in call.path]


def _elsewhere(play: World) -> str:
    play.author.pushes("words", {"README.md": "Words."})
    return "words"


def test_the_check_of_the_rules_fails_at_the_line(play: World) -> None:
    """Fails when broken rules show in the check of a package, or at no line."""
    broken = CONFIG.replace("require: 1", "require: many")
    play.author.pushes("broken", {".porchbot.yaml": broken})
    pull = play.author.opens("broken", "Bad")

    run = play.author.waits_for_check(pull.number, "porchbot/config", "failure")

    (note,) = play.author.remarks(pull.number, run.name)
    assert note.path == ".porchbot.yaml"
    assert "require: many" in broken.splitlines()[note.line - 1]


def test_the_rules_of_a_stranger_judge_nobody_elses_proposal(play: World) -> None:
    """Short-cut: every change of the rules is tried out, so a stranger's guardrails run on others.

    His file could name any function, with no list of those that are allowed.
    """
    play.proposes("drafts/net/core/first", package("net/core"))
    url = play.forks()
    stricter = CONFIG.replace("require: 1", "require: 2")
    play.outsider.pushes("stricter", {".porchbot.yaml": stricter}, url=url)
    pull = play.outsider.opens("outsider:stricter", "Two")

    run = play.author.waits_for_check(pull.number, "porchbot/config", "success")

    assert run.title == "The configuration is valid"
    if play.checks_hold_text:
        assert run.text == "The configuration can be read."
    else:  # only what goes beyond the line stands within the summary
        assert "would" not in run.text.partition("**Configuration**")[2]
