"""Checks as commit statuses and findings as threads, at a forge in GitLab's dialect."""

from dataclasses import replace
from typing import Any

import pytest

from bot.forges.gitlab.threads import MOST_THREADS
from bot.forges.port import ForgeBusyError
from cadlib.diff.patch import Suggestion
from cadlib.errors import Place
from cadlib.findings import Finding, Severity
from lifecycle.actions import SetCheck, Suggest
from lifecycle.facts.checks import PUBLISH, RENDER, VALIDATE, CheckState, Conclusion, Status
from lifecycle.names import Sha
from tests.bot.forges.gitlab.conftest import BOT, World

STATUSES = "POST */statuses/*"


def check(
    head: Sha, conclusion: Conclusion | None, digest: str, *findings: Finding, title: str = "Title"
) -> SetCheck:
    return SetCheck(
        head=head,
        name=VALIDATE,
        status=Status.COMPLETED if conclusion else Status.IN_PROGRESS,
        conclusion=conclusion,
        title=title,
        summary="",
        annotations=findings,
        digest=digest,
        run=None,
    )


def finding(line: int, message: str, severity: Severity = Severity.ERROR) -> Finding:
    place = Place(path="net/a.yaml", line=line)
    return Finding(message=message, severity=severity, place=place)


def said(world: World, head: Sha) -> list[tuple[str, str]]:
    """The statuses that nothing newer replaced: state and text."""
    found = world.as_("ann").commits.get(head).statuses.list(get_all=True)
    return [(each.status, each.description) for each in found]


async def proposed(world: World) -> tuple[int, Sha]:
    head = world.commit("change", {"net/a.yaml": "a: 1\nb: 3\nc: 3\n"})
    return world.propose(), head


async def test_every_change_of_a_check_is_shown_and_read_back(world: World) -> None:
    """Short-cuts refused: a text at the same state is dropped; a repeated one is an error."""
    number, head = await proposed(world)
    steps = [None, None, None, None, Conclusion.FAILURE, Conclusion.FAILURE, None]
    steps += [Conclusion.SUCCESS, Conclusion.SUCCESS, Conclusion.NEUTRAL]
    forge = world.forge()
    for at, conclusion in enumerate(steps):
        await forge.proposal(number)
        for _ in range(2):
            await forge.set_check(check(head, conclusion, f"digest{at}", title=f"Text {at}"))

        (found,) = await forge.checks(head)
        assert (found.name, found.ours, found.digest) == (VALIDATE, True, f"digest{at}")
        assert found.conclusion is conclusion
        assert said(world, head)[0][1] == f"Text {at}"
    assert [p.ref for p in world.as_("ann").pipelines.list()] == ["change"]
    assert world.mr(number).head_pipeline["status"] == "success"


async def test_a_status_of_others_by_our_name_is_none_of_ours(world: World) -> None:
    """The short-cut goes by the name: whoever may push makes a check green."""
    number, head = await proposed(world)
    forge = world.forge()
    await forge.proposal(number)
    await forge.set_check(check(head, Conclusion.FAILURE, "d"))
    forged: dict[str, Any] = {"state": "success", "name": VALIDATE, "ref": "change"}
    world.as_("ben").commits.get(head).statuses.create(forged)

    (theirs,) = await forge.checks(head)
    await forge.set_check(check(head, Conclusion.FAILURE, "d"))
    (ours,) = await forge.checks(head)

    assert (theirs.ours, theirs.conclusion) == (False, Conclusion.SUCCESS)
    assert (ours.ours, ours.conclusion, ours.digest) == (True, Conclusion.FAILURE, "d")


async def test_statuses_of_others_are_told_by_what_they_say(world: World) -> None:
    number, head = await proposed(world)
    forge = world.forge()
    await forge.proposal(number)
    await forge.set_check(check(head, None, "d"))
    statuses = world.as_("ben").commits.get(head).statuses
    for name, state in (("scan", "running"), ("build", "failed"), ("lint", "skipped")):
        statuses.create({"state": state, "name": name, "ref": "change"})

    found = await forge.statuses(head)

    assert found == {
        "scan": CheckState.PENDING,
        "build": CheckState.FAILURE,
        "lint": CheckState.SUCCESS,
    }
    assert forge.standing(number)["pipeline"] is CheckState.FAILURE
    by = await forge.statuses_by(head)
    assert [s for (name, _), s in by.items() if name == "build"] == [CheckState.FAILURE]


async def test_two_bots_of_one_account_have_checks_of_their_own(world: World) -> None:
    number, head = await proposed(world)
    for instance, conclusion in (("", Conclusion.SUCCESS), ("staging", Conclusion.FAILURE)):
        forge = world.forge(instance)
        await forge.proposal(number)
        await forge.set_check(check(head, conclusion, "d"))

    found = [(await world.forge(name).checks(head))[0] for name in ("", "staging")]

    assert [run.conclusion for run in found] == [Conclusion.SUCCESS, Conclusion.FAILURE]


def threads(world: World, number: int) -> list[tuple[str, int, bool]]:
    """First line, line in the file, and whether it is resolved, of each thread."""
    found = [each.attributes["notes"][0] for each in world.discussions(number)]
    return sorted(
        (n["body"].splitlines()[0], n["position"]["new_line"], n["resolved"]) for n in found
    )


async def test_findings_stand_at_their_lines_until_they_are_mended(world: World) -> None:
    """Short-cuts refused: a thread for each run; one for a warning, which would block the merge."""
    number, head = await proposed(world)
    warning = finding(2, "Odd", Severity.WARNING)
    for digest in ("a", "b"):  # by another replica, or after a restart
        forge = world.forge()
        await forge.proposal(number)
        await forge.conversation(number)
        wrong = (finding(2, "Wrong"), finding(3, "Beside"), finding(90, "Far"), warning)
        await forge.set_check(check(head, Conclusion.FAILURE, digest, *wrong))

    assert threads(world, number) == [("Beside", 3, False), ("Wrong", 2, False)]

    await forge.conversation(number)
    await forge.set_check(check(head, Conclusion.FAILURE, "c", finding(3, "Beside")))
    assert threads(world, number) == [("Beside", 3, False), ("Wrong", 2, True)]

    await forge.conversation(number)
    await forge.set_check(check(head, Conclusion.FAILURE, "d", finding(2, "Wrong")))
    assert threads(world, number) == [("Beside", 3, True), ("Wrong", 2, False)]

    await forge.conversation(number)
    await forge.set_check(check(head, Conclusion.SUCCESS, "e"))
    assert threads(world, number) == [("Beside", 3, True), ("Wrong", 2, True)]
    assert (await forge.conversation(number)).comments == ()


async def test_what_waits_for_people_leaves_no_thread_open(world: World) -> None:
    """The short-cut leaves threads until the check passes, which "All threads must be resolved"
    keeps it from; but what is only being tried again says nothing of what was found."""
    number, head = await proposed(world)
    forge = world.forge()
    await forge.proposal(number)
    for name in (PUBLISH, VALIDATE):
        failing = check(head, Conclusion.FAILURE, "d", finding(2, f"of {name}"))
        await forge.set_check(replace(failing, name=name))
    await forge.conversation(number)
    for name in (PUBLISH, VALIDATE):
        await forge.set_check(replace(check(head, None, "e"), name=name))

    resolved = {
        each.attributes["notes"][0]["body"].partition("of ")[2].split()[0]: each.attributes[
            "notes"
        ][0]["resolved"]
        for each in world.discussions(number)
    }
    assert resolved == {PUBLISH: True, VALIDATE: False}


@pytest.mark.parametrize("nth", [1, 2], ids=["nothing was put", "the last was not put"])
async def test_threads_never_differ_for_good_from_a_status_that_stands(
    world: World, nth: int
) -> None:
    """The short-cut opens the thread, fails to put the status, and believes the older one again
    once its rules are back: nobody resolves the thread, which keeps back the merge."""
    number, head = await proposed(world)
    forge = world.forge()
    failing, passing = check(head, Conclusion.FAILURE, "b", finding(2, "Bad")), Conclusion.SUCCESS
    for wanted in (failing, check(head, passing, "a")):
        await forge.proposal(number)
        await forge.conversation(number)
        await forge.set_check(wanted)
    await forge.proposal(number)
    await forge.conversation(number)
    (stood,) = await forge.checks(head)
    world.sandbox.faults.fail(STATUSES, 502, caller=BOT, nth=nth)
    with pytest.raises(ForgeBusyError, match="502"):
        await forge.set_check(replace(failing, after=stood.id))

    await forge.proposal(number)
    await forge.conversation(number)
    (found,) = await forge.checks(head)
    if (found.digest, found.ours) != ("a", True):
        await forge.set_check(replace(check(head, passing, "a"), after=found.id))

    assert [resolved for *_, resolved in threads(world, number)] == [True]
    (found,) = await world.forge().checks(head)
    assert (found.digest, found.ours) == ("a", True)


async def test_of_two_threads_of_one_finding_one_is_left(world: World) -> None:
    """The short-cut keeps both: two replicas that were there first have both said it."""
    number, head = await proposed(world)
    one = world.forge()
    await one.proposal(number)
    await one.conversation(number)
    await one.set_check(check(head, Conclusion.FAILURE, "a", finding(2, "Wrong")))
    (first,) = [each.attributes["notes"][0] for each in world.discussions(number)]
    position = {k: v for k, v in first["position"].items() if v is not None}
    as_bot = world.as_(BOT).mergerequests.get(number, lazy=True)
    as_bot.discussions.create({"body": first["body"], "position": position})

    await one.set_check(check(head, Conclusion.FAILURE, "a", finding(2, "Wrong")))

    (left,) = [each.attributes["notes"][0] for each in world.discussions(number)]
    assert left["id"] == first["id"]


async def test_a_check_has_no_more_threads_than_people_read(world: World) -> None:
    lines = "".join(f"k{at}: 1\n" for at in range(80))
    head = world.commit("change", {"net/b.yaml": lines})
    number, forge = world.propose(), world.forge()
    await forge.proposal(number)
    await forge.conversation(number)
    wrong = [
        Finding(message="No", severity=Severity.ERROR, place=Place(path="net/b.yaml", line=at + 1))
        for at in range(80)
    ]

    await forge.set_check(check(head, Conclusion.FAILURE, "a", *wrong))

    assert len(threads(world, number)) == MOST_THREADS


async def test_what_a_finding_quotes_does_nothing_in_its_thread(world: World) -> None:
    """The short-cut begins the thread with the plain text of an annotation, in which people are
    mentioned, and what looks like HTML is not shown at all."""
    number, head = await proposed(world)
    forge = world.forge()
    await forge.proposal(number)
    await forge.conversation(number)
    place = Place(path="net/a.yaml", line=2, field="spec.@all")
    what = "<input>:1:1: ask @owner, #1, `got string`"
    wrong = Finding(message=what, severity=Severity.ERROR, place=place, proposed="@all")

    await forge.set_check(check(head, Conclusion.FAILURE, "a", wrong))

    (thread,) = world.discussions(number)
    text = thread.attributes["notes"][0]["body"].partition("\n")[0]
    assert text == (
        r"`spec.@all`: \<input\>:1:1: ask @<!-- -->owner, #<!-- -->1, `got string` Proposed: `@all`"
    )


async def test_changes_are_suggested_at_their_lines(world: World) -> None:
    number, head = await proposed(world)
    forge = world.forge()
    await forge.proposal(number)
    change = Suggestion("net/a.yaml", 1, 2, "a: 1\nb: 2\n")

    await forge.suggest(Suggest(number=number, head=head, body="Render.", suggestions=(change,)))

    (thread,) = world.discussions(number)
    note = thread.attributes["notes"][0]
    assert note["position"]["new_line"] == 2
    assert note["body"].startswith("```suggestion:-1+0\na: 1\nb: 2\n```\n")
    talk = await forge.conversation(number)
    assert (talk.suggested, talk.comments) == (frozenset({head}), ())


RENDERED = "a: 1\nb: 2\nc: 3\n"


@pytest.mark.parametrize(
    ("pushed", "conclusion", "left"),
    [
        ("", Conclusion.FAILURE, 1),
        ("", None, 1),
        ("", Conclusion.SUCCESS, 0),
        (RENDERED, Conclusion.SUCCESS, 0),
        (RENDERED, Conclusion.FAILURE, 0),
    ],
)
async def test_a_suggestion_keeps_nothing_back_once_it_is_over(
    world: World, pushed: str, conclusion: Conclusion | None, left: int
) -> None:
    """The short-cut leaves it to whoever applies it: who renders on a machine of theirs never does,
    and where all threads have to be resolved nothing is merged any more."""
    number, head = await proposed(world)
    forge = world.forge()
    await forge.proposal(number)
    change = Suggestion("net/a.yaml", 1, 2, "a: 1\nb: 2\n")
    await forge.suggest(Suggest(number=number, head=head, body="Render.", suggestions=(change,)))
    if pushed:
        head = world.commit("change", {"net/a.yaml": pushed})
    await forge.proposal(number)
    await forge.conversation(number)

    await forge.set_check(replace(check(head, conclusion, "x"), name=RENDER))

    (thread,) = world.discussions(number)
    assert [n["resolved"] for n in thread.attributes["notes"]].count(False) == left


async def test_an_idle_look_asks_little(world: World) -> None:
    """The short-cut reads versions and reviewers each time: a look would cost ten requests."""
    number, head = await proposed(world)
    forge = world.forge()

    async def look() -> None:
        await forge.proposals_of("change")
        await forge.checks(head)
        await forge.conversation(number)
        await forge.required_checks("main")
        await forge.role("ben", world.sandbox.state.user("ben").id)

    await look()
    world.asked.clear()
    await look()

    assert len(world.asked) <= 6, world.asked
    assert not [each for each in world.asked if "versions" in each or "reviewers" in each]


@pytest.mark.parametrize("conclusion", [None, Conclusion.SUCCESS, Conclusion.FAILURE])
async def test_a_check_is_put_twice_as_once(world: World, conclusion: Conclusion | None) -> None:
    """The short-cut takes GitLab's "Cannot transition" for a failure, or for a success always."""
    number, head = await proposed(world)
    for forge in (world.forge(), world.forge()):
        await forge.proposal(number)
        await forge.set_check(check(head, conclusion, "same"))

    (found,) = await world.forge().checks(head)
    assert (found.digest, found.conclusion, found.ours) == ("same", conclusion, True)


@pytest.mark.parametrize("done", [False, True], ids=["not done", "answer lost"])
@pytest.mark.parametrize("conclusion", [None, Conclusion.SUCCESS, Conclusion.FAILURE])
async def test_a_status_that_failed_or_whose_answer_was_lost_is_put_once(
    world: World, conclusion: Conclusion | None, done: bool
) -> None:
    """The short-cut takes every failure for a transition that there is not, and puts it anew."""
    number, head = await proposed(world)
    world.sandbox.faults.fail(STATUSES, 502, caller=BOT, carried_out=done)
    forge, wanted = world.forge(), check(head, conclusion, "d")
    await forge.proposal(number)
    with pytest.raises(ForgeBusyError, match="502"):
        await forge.set_check(wanted)

    stood = await forge.checks(head)  # as the next look has it
    if not stood:
        await forge.set_check(wanted)

    assert bool(stood) == done
    every = world.as_("ann").commits.get(head).statuses.list(get_all=True, all=True)
    assert len(every) == 1
    (found,) = await world.forge().checks(head)
    assert (found.digest, found.conclusion, found.ours) == ("d", conclusion, True)


@pytest.mark.parametrize("instance", ["", "staging"])
async def test_a_status_on_its_way_is_not_taken_for_the_last(world: World, instance: str) -> None:
    """The short-cut marks what is put in passing with what is to come: it is left as "canceled"."""
    number, head = await proposed(world)
    forge = world.forge(instance)
    await forge.proposal(number)
    for text in ("pending", "running"):
        await forge.set_check(check(head, None, text, title=text))
    wanted = check(head, None, "d", title="Text")
    world.sandbox.faults.fail(STATUSES, 502, caller=BOT, nth=4)
    with pytest.raises(ForgeBusyError, match="502"):
        await forge.set_check(wanted)

    (between,) = await forge.checks(head)
    await forge.set_check(wanted)
    (found,) = await forge.checks(head)

    assert between.digest == ""
    assert (found.digest, found.ours) == ("d", True)
    assert said(world, head) == [("pending", "Text")]
