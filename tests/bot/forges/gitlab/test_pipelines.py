"""One commit in several merge requests, and in those of forks: what is whose."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from bot.forges.gitlab import pipelines, statuses
from bot.forges.gitlab.merge_requests import Shown
from bot.forges.gitlab.statuses import PIPELINE, RESOLVED
from bot.forges.port import ForgeBusyError
from bot.sandbox.rules.context import FileChange
from lifecycle.facts.checks import OURS, VALIDATE, CheckState, Conclusion
from lifecycle.names import Sha
from tests.bot.forges.gitlab.conftest import BOT, World
from tests.bot.forges.gitlab.test_checks import check, finding
from tests.bot.sandbox.gitlab.inprocess import client


def _states(world: World, head: str) -> dict[tuple[str, str], str]:
    """Ref and name to the state of the newest status."""
    found = world.as_("ann").commits.get(head).statuses.list(get_all=True)
    return {(each.ref, each.name): each.status for each in found}


async def test_each_merge_request_of_a_commit_has_the_status_in_its_pipeline(world: World) -> None:
    """The short-cut puts it for the one that was read last: "Pipelines must succeed" then holds for
    one, and asks the other for a pipeline that never comes."""
    head = world.commit("one", {"net/a.yaml": "a: 2\n"})
    world.as_("ann").branches.create({"branch": "two", "ref": "one"})
    numbers = [world.propose("one"), world.propose("two")]
    forge = world.forge()
    for number in numbers:
        await forge.proposal(number)

    await forge.set_check(check(head, Conclusion.FAILURE, "d"))

    assert _states(world, head) == {("one", VALIDATE): "failed", ("two", VALIDATE): "failed"}
    (read,) = await forge.checks(head)
    assert (read.ours, read.digest) == (True, "d")


async def test_looks_at_merge_requests_of_one_commit_take_turns(world: World) -> None:
    """Short-cut: all put the status at once. Each moves it from a state that another has changed,
    and GitLab refuses; and each puts again what stands."""
    head = world.commit("one", {"net/a.yaml": "a: 2\n"})
    world.as_("ann").branches.create({"branch": "two", "ref": "one"})
    forge = world.forge()
    for number in (world.propose("one"), world.propose("two")):
        await forge.proposal(number)
    await forge.set_check(check(head, None, "a", title="a"))

    def puts() -> int:
        return sum(
            each == f"POST /projects/{world.repo.id}/statuses/{head}" for each in world.asked
        )

    before, wanted = puts(), check(head, Conclusion.FAILURE, "b")
    await asyncio.gather(*(forge.set_check(wanted) for _ in range(7)))
    (found,) = await forge.checks(head)
    assert (found.ours, found.digest) == (True, "b")
    assert puts() - before == 2, "one for each pipeline"

    await asyncio.gather(*(forge.set_check(check(head, None, text)) for text in "defg"))
    (found,) = await forge.checks(head)
    assert (found.ours, found.digest) == (True, "g")


async def test_checks_of_one_look_do_not_wait_for_one_another(world: World) -> None:
    """Short-cut: everything about a commit takes turns. Each check then reads what stands there."""
    head = world.commit("change", {"net/a.yaml": "a: 2\n"})
    forge = world.forge()
    await forge.proposal(world.propose())
    await forge.checks(head)
    before = len(world.asked)

    every = (replace(check(head, Conclusion.SUCCESS, "d"), name=name) for name in OURS)
    await asyncio.gather(*map(forge.set_check, every))

    put = f"POST /projects/{world.repo.id}/statuses/{head}"
    assert [each for each in world.asked[before:] if "statuses" in each] == [put] * len(OURS)


async def test_a_status_that_another_replica_moves_is_tried_again(world: World) -> None:
    """The short-cut calls for an operator, and tells people of the merge request to check the
    bot's token: a transition that is none any more passes by itself."""
    head = world.commit("change", {"net/a.yaml": "a: 2\n"})
    forge = world.forge()
    await forge.proposal(world.propose())
    for text in "ab":  # pending, then running
        await forge.set_check(check(head, None, text))

    def moves() -> None:
        wanted = {"state": "pending", "name": VALIDATE, "ref": "change"}
        world.as_(BOT).commits.get(head, lazy=True).statuses.create(wanted)

    # Refused as pending and as running, it is canceled, and then begins anew.
    world.sandbox.faults.before("POST */statuses/*", moves, nth=4, caller=BOT)
    with pytest.raises(ForgeBusyError, match="Cannot transition status via :enqueue from :pending"):
        await forge.set_check(check(head, None, "c"))

    await forge.set_check(check(head, None, "c"))
    (found,) = await forge.checks(head)
    assert (found.ours, found.digest) == (True, "c")


async def test_a_status_that_one_of_them_lacks_is_put_again(world: World) -> None:
    """The short-cut believes the newest one: whoever puts a green one into the other pipeline of
    the commit has it stay there."""
    head = world.commit("one", {"net/a.yaml": "a: 2\n"})
    world.as_("ann").branches.create({"branch": "two", "ref": "one"})
    numbers = [world.propose("one"), world.propose("two")]
    forge = world.forge()
    for number in numbers:
        await forge.proposal(number)
    await forge.set_check(check(head, Conclusion.FAILURE, "d"))
    forged: dict[str, Any] = {"state": "success", "name": VALIDATE, "ref": "one"}
    world.as_("ben").commits.get(head).statuses.create(forged)
    last = {"state": "failed", "name": VALIDATE, "ref": "two", "target_url": "x"}
    world.as_(BOT).commits.get(head).statuses.create(last)

    (lacking,) = await forge.checks(head)
    await forge.set_check(check(head, Conclusion.FAILURE, "e"))
    (read,) = await forge.checks(head)

    assert not lacking.ours
    assert _states(world, head) == {("one", VALIDATE): "failed", ("two", VALIDATE): "failed"}
    assert (read.ours, read.digest) == (True, "e")


async def test_a_pipeline_that_somebody_made_does_not_draw_the_status_away(world: World) -> None:
    """The short-cut puts it into the merge request's own pipeline alone, which whoever may put
    statuses can make: the one of the branch, which counts, is theirs then."""
    head = world.commit("one", {"net/a.yaml": "a: 2\n"})
    number = world.propose("one")
    ref = f"refs/merge-requests/{number}/head"
    put = world.as_("ben").commits.get(head).statuses
    for each in (ref, "one"):
        put.create({"state": "success", "name": VALIDATE, "ref": each})
    forge = world.forge()
    await forge.proposal(number)

    await forge.checks(head)
    await forge.set_check(check(head, Conclusion.FAILURE, "d"))

    assert _states(world, head) == {(ref, VALIDATE): "failed", ("one", VALIDATE): "failed"}


async def test_threads_are_each_merge_requests_own(world: World) -> None:
    """Short-cuts refused: findings shown in one of them; the open thread of one holds the other;
    "all are resolved" of one let the other be merged."""
    head = world.commit("one", {"net/a.yaml": "a: 1\nb: 3\nc: 3\n"})
    world.as_("ann").branches.create({"branch": "two", "ref": "one"})
    numbers = [world.propose("one"), world.propose("two")]
    forge = world.forge()
    for number in numbers:
        await forge.proposal(number)
    await forge.set_check(check(head, Conclusion.FAILURE, "d", finding(2, "No")))
    found = [len(world.discussions(number)) for number in numbers]
    (thread,) = world.discussions(numbers[0])
    thread.resolved = True
    thread.save()
    for number in numbers:
        await forge.proposal(number)

    assert found == [1, 1]
    assert [forge.standing(number)[RESOLVED] for number in numbers] == [
        CheckState.SUCCESS,
        CheckState.PENDING,
    ]


def _status(number: int, ref: str, pipeline: int, name: str = "build") -> dict[str, object]:
    return {
        "id": number,
        "name": name,
        "ref": ref,
        "pipeline_id": pipeline,
        "status": "failed",
        "author": {"id": 1, "username": "ben"},
    }


def test_the_names_of_branches_of_forks_are_theirs(world: World) -> None:
    """The short-cut takes a fork's `main` for ours: its pipeline holds the fork's proposal, and
    statuses of the proposal show as those of our branch."""
    shown = _shown(world, fork=True)
    own = "refs/merge-requests/7/head"
    found = [_status(1, "main", 5), _status(2, own, 4)]

    known = pipelines.by_ref(found, ())
    assert pipelines.placed(pipelines.by_ref(found[:1], ()), shown) == (
        pipelines.StatusPipeline(7, own, 0),
    )
    assert pipelines.placed(known, shown) == (pipelines.StatusPipeline(7, own, 4),)
    assert [p.pipeline for p in pipelines.placed(known, _shown(world, fork=False))] == [4, 5]


def _shown(world: World, *, fork: bool) -> Shown:
    return Shown(
        number=7,
        head=Sha("1" * 40),
        head_ref="main",
        fork=fork,
        open=True,
        opened_at=world.clock(),
        reviewed=False,
        resolved=True,
        queued=False,
        queued_by_us=False,
        draft=False,
    )


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("success", CheckState.SUCCESS),
        ("failed", CheckState.FAILURE),
        ("running", CheckState.PENDING),
        (None, CheckState.PENDING),
    ],
)
async def test_the_pipeline_of_a_fork_is_asked_of_the_merge_request(
    world: World, monkeypatch: pytest.MonkeyPatch, status: str | None, state: CheckState
) -> None:
    """The short-cut looks for it here, where it never is: "Pipelines must succeed" is then tried,
    refused and never tried again."""
    forge_state = world.sandbox.state
    with forge_state.lock:
        fork = forge_state.fork(world.repo, "zoe")
        changes = [FileChange(path="net/a.yaml", content=b"a: 2\n")]
        zoe = forge_state.user("zoe")
        made = forge_state.commit_files(fork, "change", changes, "Change", actor=zoe)
    theirs = client(world.sandbox, world.sandbox.token("zoe")).projects.get(fork.id, lazy=True)
    wish = {"source_branch": "change", "target_branch": "main", "title": "A change"}
    number = theirs.mergerequests.create({**wish, "target_project_id": world.repo.id}).iid
    forge = world.forge()
    (pull,) = await forge.open_proposals()
    told: dict[str, object] = {
        "head_pipeline": None if status is None else {"id": 1, "status": status}
    }

    async def one(asked: int) -> dict[str, object]:
        assert asked == number
        return told

    monkeypatch.setattr(forge, "_one", one)

    await forge.statuses(pull.head)

    assert made.sha == pull.head
    assert forge.standing(number)[PIPELINE] is state
    await forge.set_check(check(pull.head, Conclusion.SUCCESS, "d"))
    assert {ref for ref, _ in _states(world, pull.head)} == {f"refs/merge-requests/{number}/head"}
    assert forge.standing(number)[PIPELINE] is state


async def test_who_put_a_status_is_told(world: World) -> None:
    """The short-cut leaves out who did: whoever may put statuses satisfies a check that the
    configuration wants from somebody."""
    head = world.commit("change", {"net/a.yaml": "a: 2\n"})
    number, forge = world.propose(), world.forge()
    await forge.proposal(number)
    scans = {"name": "scan", "ref": "change"}
    world.as_("ann").commits.get(head).statuses.create({"state": "failed", **scans})
    alone = await forge.statuses_by(head)
    world.as_("ben").commits.get(head).statuses.create({"state": "success", **scans})

    assert alone == {("scan", "ann"): CheckState.FAILURE}
    assert await forge.statuses_by(head) == {("scan", "ben"): CheckState.SUCCESS}


async def test_the_look_at_another_proposal_turns_no_red_pipeline_green(world: World) -> None:
    """The short-cut keeps the reading of one commit alone for the whole project: what another look
    read since leaves a failed build with nothing that was read, and nothing comes to "success"."""
    forge, heads = world.forge(), {}
    for name in ("one", "two"):
        heads[name] = world.commit(name, {f"net/{name}.yaml": "a: 2\n"})
        await forge.proposal(world.propose(name))
    number = min(forge._shown)
    red = {"state": "failed", "name": "build", "ref": "one"}
    world.as_("ben").commits.get(heads["one"]).statuses.create(red)

    before = forge.standing(number)[PIPELINE]
    await forge.statuses(heads["one"])
    await forge.statuses(heads["two"])

    assert before is CheckState.PENDING  # nothing was read: nothing passed
    assert forge.standing(number)[PIPELINE] is CheckState.FAILURE


async def test_a_status_is_put_into_its_pipeline_whatever_was_read_since(world: World) -> None:
    """The short-cut forgets in which pipelines a head is once another one is read: the status goes
    to the branch, and the pipeline that counts goes without."""
    head, other = (world.commit(n, {f"net/{n}.yaml": "a: 2\n"}) for n in ("one", "two"))
    number = world.propose("one")
    ref = f"refs/merge-requests/{number}/head"
    build = {"state": "success", "name": "build", "ref": ref}
    world.as_("ben").commits.get(head).statuses.create(build)
    forge = world.forge()
    await forge.proposal(number)
    await forge.checks(head)
    await forge.checks(other)

    await forge.set_check(check(head, Conclusion.FAILURE, "d"))

    assert _states(world, head)[ref, VALIDATE] == "failed"


async def test_more_statuses_than_are_read_pass_nothing_and_hide_none_of_ours(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut takes the oldest for all: a job that failed later is not seen, and ours, newer,
    is put again at each look."""
    monkeypatch.setattr(statuses, "MOST_STATUSES", 3)
    head = world.commit("one", {"net/a.yaml": "a: 2\n"})
    number = world.propose("one")
    put = world.as_("ben").commits.get(head).statuses
    for name in ("a", "b", "c"):
        put.create({"state": "success", "name": name, "ref": "one"})
    forge = world.forge()
    await forge.proposal(number)
    await forge.set_check(check(head, Conclusion.FAILURE, "d"))
    put.create({"state": "failed", "name": "late", "ref": "one"})

    (ours,) = await world.forge().checks(head)
    await forge.statuses(head)

    assert (ours.ours, ours.digest) == (True, "d")
    assert forge.standing(number)[PIPELINE] is CheckState.UNKNOWN
