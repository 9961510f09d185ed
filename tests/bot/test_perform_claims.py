"""What is made once, when looks take long: claims know how old the facts are (ADR 24)."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

from bot.forges.port import CheckFullError, Forge
from bot.freezes import Freezes
from bot.git.port import GitIdentity, Mirror
from bot.look.assemble import Looked
from bot.outcomes import ActionOutcome, Report
from bot.overtaken import LOOK, CurrentLook
from bot.perform import Performer
from bot.store.hints import NOTHING
from bot.store.values import CLAIM
from lifecycle import boxes, records
from lifecycle.actions import DeleteBranch, Reply, SetCheck, Tag
from lifecycle.facts.checks import Status
from lifecycle.identity import RepositoryId
from lifecycle.names import Ref, Sha
from tests.ids import on_github
from tests.memory.claims import MemoryClaims
from tests.memory.clock import ManualClock
from tests.memory.renderer import MemoryRenderer
from tests.memory.statements import Statements
from tests.memory.store import MemoryStore

CHECK = SetCheck(
    head=Sha("a" * 40),
    name="porchbot/render",
    status=Status.IN_PROGRESS,
    conclusion=None,
    title="t",
    summary="s",
    annotations=(),
    digest="d",
    run=None,
)

TAG = Tag(
    ref=Ref("refs/tags/app/v1"),
    target=Sha("a" * 40),
    tree="b" * 40,
    at=datetime(2026, 3, 1, tzinfo=UTC),
    number=7,
    message="m",
)


@dataclass
class Slow:
    """A forge that makes a check run once it is let."""

    let: asyncio.Event = field(default_factory=asyncio.Event)
    made: int = 0
    full: bool = False

    async def set_check(self, _: SetCheck) -> None:
        if self.full:
            raise CheckFullError("put a commit status", "422 the maximum number of statuses")
        await self.let.wait()
        self.made += 1

    async def git_credentials(self) -> None:
        return None

    async def comment(self, _number: int, _text: str) -> int:
        self.made += 1
        return self.made


class Claims(MemoryClaims):
    """Tells when a claim was held."""

    def __init__(self, statements: Statements) -> None:
        super().__init__(statements)
        self.held = asyncio.Semaphore(0)

    async def hold(self, repository_id: RepositoryId, place: str) -> None:
        await super().hold(repository_id, place)
        self.held.release()


@dataclass(frozen=True)
class Read:
    """As much of `Looked` as counts here."""

    read: float


class Two:
    """Two replicas on one database."""

    def __init__(self) -> None:
        self.clock, self.forge = ManualClock(), Slow()
        self.store = store = MemoryStore(self.clock)
        self.claims = store.claims = Claims(store.statements)
        who = GitIdentity("porchbot[bot]", "bot@forge.example")
        forge, mirror = cast(Forge, self.forge), cast(Mirror, None)
        self.one, self.other = (
            Performer(
                *(on_github(1), forge, mirror, MemoryRenderer(), store, b"k" * 32, who, "x"),
                cast(Freezes, None),
                clock=self.clock,
                hold=0.01,
            )
            for _ in range(2)
        )

    async def checks(self, performer: Performer, read: float) -> ActionOutcome:
        looked = cast(Looked, Read(read))
        return await performer.perform([CHECK], looked, Report(), NOTHING)


async def test_a_look_that_took_long_makes_no_second_run() -> None:
    """The short-cut lets claims end after 15 seconds, however old the facts are by then."""
    two = Two()
    two.forge.let.set()
    two.clock.seconds = 100.0
    assert await two.checks(two.one, read=99.0) is ActionOutcome.DONE
    two.clock.seconds = 160.0
    # Its facts are of before that run, and its package took a minute to render.
    assert await two.checks(two.other, read=98.0) is ActionOutcome.WAIT
    assert two.forge.made == 1
    assert await two.checks(two.other, read=159.0) is ActionOutcome.DONE


async def test_a_request_that_takes_long_is_not_made_beside_itself() -> None:
    """Fails where a request that waits for the forge's limits outlives its claim."""
    two = Two()
    slow = asyncio.create_task(two.checks(two.one, read=0.0))
    for _ in range(4):
        two.clock.seconds += CLAIM - 1
        while not two.claims.held.locked():
            await two.claims.held.acquire()
        async with asyncio.timeout(60):
            await two.claims.held.acquire()  # held since the clock has moved
        assert await two.checks(two.other, read=two.clock.seconds) is ActionOutcome.WAIT
    two.forge.let.set()
    assert await slow is ActionOutcome.DONE
    assert two.forge.made == 1


async def test_what_boxes_came_to_is_one_comment_whichever_of_them_two_looks_know_of() -> None:
    """The short-cut claims the boxes that are answered: two replicas that do not know of the same
    ones write a comment each, and what the older one says was begun counts no more."""
    two, looked = Two(), cast(Looked, Read(0.0))
    box: records.Record = {"kind": boxes.RECORD, "number": 3, "answered": [1], "events": []}
    one = Reply(3, "one", box)
    both = Reply(3, "both", {**box, "answered": [1, 2]})
    assert await two.one.perform([one], looked, Report(), NOTHING) is ActionOutcome.DONE
    assert await two.other.perform([both], looked, Report(), NOTHING) is ActionOutcome.WAIT
    assert two.forge.made == 1


async def test_a_commit_that_others_have_filled_keeps_nothing_back() -> None:
    """The short-cut ends the look with the error: the merge after the check is never made."""
    two = Two()
    two.forge.full = True
    report = Report()

    came = await two.one.perform([CHECK], cast(Looked, Read(0.0)), report, NOTHING)

    assert came is ActionOutcome.DONE
    assert report.of(CHECK).why == "422 the maximum number of statuses"
    known = await two.store.proposals.push_refusal(on_github(1), CHECK.name, CHECK.head)
    assert known is not None  # so that the summary says it, and no look tries it again


async def test_a_look_that_lost_its_key_writes_nothing() -> None:
    """The short-cut leaves it to the forge to refuse what is late: a comment is written all the
    same, and what another replica noted in it is gone."""
    two, kept = Two(), [False, True]
    two.forge.let.set()

    async def pushed(_: str) -> bool:
        return False

    async def holds() -> bool:
        return kept.pop(0)

    LOOK.set(CurrentLook(two.clock, lambda: None, pushed, holds))
    assert await two.checks(two.one, read=0.0) is ActionOutcome.WAIT
    assert two.forge.made == 0
    assert await two.checks(two.one, read=0.0) is ActionOutcome.DONE
    assert two.forge.made == 1


async def test_a_look_that_loses_its_key_while_a_push_is_made_ready_pushes_nothing() -> None:
    """The short-cut asks before a commit is written and a token is asked for, which may take as
    long as others need to merge the draft: its branch comes back without a pull request."""
    two, kept = Two(), [True, False]

    async def pushed(_: str) -> bool:
        return False

    async def holds() -> bool:
        return kept.pop(0)

    LOOK.set(CurrentLook(two.clock, lambda: None, pushed, holds))
    looked, gone = cast(Looked, Read(0.0)), DeleteBranch("drafts/a/x", Sha("a" * 40))
    assert await two.one.perform([gone], looked, Report(), NOTHING) is ActionOutcome.WAIT
    assert kept == []


async def test_a_look_that_lost_its_key_makes_no_tag() -> None:
    """The short-cut asks before single writes alone: a tag that was withdrawn meanwhile is back."""
    two = Two()

    async def no(*_: str) -> bool:
        return False

    LOOK.set(CurrentLook(two.clock, lambda: None, no, no))
    looked = cast(Looked, Read(0.0))
    assert await two.one.perform([TAG], looked, Report(), NOTHING) is ActionOutcome.WAIT
