"""What is read of comments where they come in."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import cast

import pytest

from bot.clock import in_thread
from bot.forges.port import Context, Conversation, Forge, ListedProposal, Repository, RequiredCheck
from bot.look import required
from bot.look.asking import HeadStateReader, MergeLook
from bot.look.reader import Basis
from bot.look.states import HeadBranch
from bot.store.values import MergeRefusal
from lifecycle import records
from lifecycle.access import Person
from lifecycle.facts.checks import CheckRun, CheckState
from lifecycle.facts.conversation import Comment, Written
from lifecycle.facts.merging import MergeObstacle, MergeWait
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha
from lifecycle.policy import Policy
from lifecycle.terms import AS_WRITTEN
from tests.bot.look.test_pulls import OURS
from tests.ids import on_github
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore

KEY = b"k" * 32
AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
HERE = on_github(42)
REPOSITORY = Repository(
    id=HERE,
    full_name="acme/blueprints",
    default_branch="main",
    clone_url="",
    installation=1,
    installed_at=AT,
)
BOT = Person(2, "porchbot[bot]", bot=True)


@dataclass(frozen=True)
class _Talk:
    """A forge with one pull request, under which one comment of ours stands."""

    body: str
    edited: bool = False
    terms = AS_WRITTEN

    async def proposals_of(self, _: str) -> tuple[ListedProposal, ...]:
        return (replace(OURS, number=7, head_repository=HERE.number),)

    async def conversation(self, _: int) -> Conversation:
        return Conversation(
            head=Sha("a" * 40),
            opened_at=AT,
            comments=(
                Comment(id=900, author=BOT, body=self.body, at=AT, ours=True, altered=self.edited),
            ),
            reviews=(),
            review_texts=(),
            review_numbers=frozenset(),
            base_at=None,
            changes=(),
        )

    async def checks(self, _: Sha) -> tuple[CheckRun, ...]:
        return ()

    async def required_checks(self, _: str) -> tuple[RequiredCheck, ...]:
        return ()

    async def proposals_at(self, _: Sha) -> tuple[ListedProposal, ...]:
        return ()

    async def statuses(self, _: Sha) -> dict[Context, CheckState]:
        return {}

    def standing(self, _: int) -> dict[Context, CheckState]:
        return {}

    async def rules(self, _: str) -> str:
        return "rules"


def _record(repository: RepositoryId, number: int) -> dict[str, records.JSON]:
    return {"kind": "answer", "repository": repository.spelled, "number": number, "head": "h"}


async def test_a_record_carried_over_is_dropped_where_comments_are_read() -> None:
    """Fails when a record counts for its MAC alone: ours of another place, put into our comment."""
    other = RepositoryId("gitlab", HERE.number)
    made = [(HERE, 7), (HERE, 8), (on_github(43), 7), (other, 7)]
    body = "\n".join(records.sign(_record(*place), KEY) for place in made)
    forge = cast(Forge, _Talk(body))
    asker = HeadStateReader(REPOSITORY, forge, MemoryStore(), [KEY], "x", in_thread)

    state = await asker.ask(
        HeadBranch(HERE.number, OURS.head_ref), frozenset(), rerun=False, publishing=False
    )

    (pull,) = state.relevant
    assert [c.records for c in pull.comments] == [(_record(HERE, 7),)]


MARKER = records.summary_marker("staging")
THEIRS = records.sign(_record(HERE, 7), records.key_of(KEY, "staging"))
READ: dict[str, tuple[str, bool, bool, bool]] = {
    # text, edited by a person, what the database knows, whether it is ours
    "our record": (records.sign(_record(HERE, 7), KEY), False, False, True),
    "our record, edited": (records.sign(_record(HERE, 7), KEY), True, False, True),
    "our marker": (records.summary_marker("x"), True, False, True),
    "another bot's record": (THEIRS, False, False, False),
    "another bot's marker": (MARKER, False, False, False),
    "neither": ("Hello.", False, False, False),
    "another bot's, edited": (f"{MARKER} and more", True, True, False),
    "another bot's record, edited": (f"{THEIRS} and more", True, True, False),
    # What people did to ours is noticed, whatever they wrote there.
    "nothing left of it": ("All is well.", True, True, True),
    "another bot's marker, and nobody knows what we wrote": (MARKER, True, False, True),
}


@pytest.mark.parametrize("case", READ)
async def test_of_what_our_app_wrote_only_our_own_is_ours(case: str) -> None:
    """Short-cuts refused: the login alone, by which two bots of one App mend each other's comments;
    and the text alone, by which somebody takes an answer of ours out of sight.
    """
    body, edited, known, ours = READ[case]
    store = MemoryStore()
    if known:
        await store.proposals.keep(HERE, 7, written={901: Written()})
    talk = _Talk(body, edited=edited)
    asker = HeadStateReader(REPOSITORY, cast(Forge, talk), store, [KEY], "x", in_thread)

    state = await asker.ask(
        HeadBranch(HERE.number, OURS.head_ref), frozenset(), rerun=False, publishing=False
    )

    (found,) = state.relevant[0].comments
    assert (found.ours, found.altered) == (ours, ours and edited)


async def test_what_was_just_queued_counts_as_in_the_queue_and_later_as_having_left() -> None:
    """The short-cut believes the forge at once: it is late, and the check falls for no reason."""
    clock, head, base = ManualClock(), Sha("a" * 40), Sha("b" * 40)
    store, forge = MemoryStore(clock), cast(Forge, _Talk(""))
    asker = HeadStateReader(REPOSITORY, forge, store, [KEY], "x", in_thread)
    at = HeadBranch(HERE.number, OURS.head_ref)
    asked = await asker.ask(at, frozenset(), rerun=False, publishing=True)
    (state,) = asked.relevant
    said = required.said((), state.kept, (), {})
    left = MergeRefusal("", required.merge_inputs(said, "rules"), MergeObstacle.LEFT_QUEUE)
    await store.proposals.refuse(HERE, 7, state.pull.head, base, left, (15.0,))

    async def look(*, inside: bool) -> MergeLook:
        talk = replace(state.conversation, in_queue=inside)
        basis = Basis(rules=head, base=base)
        return await asker.merging(replace(state, conversation=talk), basis, asked, Policy())

    early = await look(inside=False)
    assert (early.merging.in_queue, early.merging.enqueued, early.merging.wait) == (
        True,
        True,
        None,
    )
    assert early.left is not None
    assert 0 < early.left <= 15
    clock.seconds += 16
    there = await look(inside=True)
    assert (there.merging.in_queue, there.merging.enqueued, there.left) == (True, True, None)
    gone = await look(inside=False)
    assert not gone.merging.in_queue
    assert gone.merging.wait == MergeWait(MergeObstacle.LEFT_QUEUE, "")
    assert gone.left is None  # only another input helps: it is not asked again at once
