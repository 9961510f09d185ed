"""What is read of comments where they come in."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import cast

from bot.clock import in_thread
from bot.forges.port import Conversation, Forge, ListedProposal, Repository, RequiredCheck
from bot.look.asking import Asker
from bot.look.states import HeadBranch
from lifecycle import records
from lifecycle.access import Person
from lifecycle.facts.checks import CheckRun
from lifecycle.facts.conversation import Comment
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha
from tests.bot.look.test_pulls import OURS
from tests.ids import on_github
from tests.memory.store import MemoryStore

KEY = b"k" * 32
AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
HERE = on_github(42)
BOT = Person(2, "porchbot[bot]", bot=True)


@dataclass(frozen=True)
class _Talk:
    """A forge with one pull request, under which one comment of ours stands."""

    body: str

    async def proposals_of(self, _: str) -> tuple[ListedProposal, ...]:
        return (replace(OURS, number=7, head_repository=HERE.number),)

    async def conversation(self, _: int) -> Conversation:
        return Conversation(
            head=Sha("a" * 40),
            opened_at=AT,
            comments=(Comment(id=900, author=BOT, body=self.body, at=AT, ours=True),),
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


def _record(repository: RepositoryId, number: int) -> dict[str, records.JSON]:
    return {"kind": "answer", "repository": repository.spelled, "number": number, "head": "h"}


async def test_a_record_carried_over_is_dropped_where_comments_are_read() -> None:
    """Fails when a record counts for its MAC alone: ours of another place, put into our comment."""
    other = RepositoryId("gitlab", HERE.number)
    made = [(HERE, 7), (HERE, 8), (on_github(43), 7), (other, 7)]
    body = "\n".join(records.sign(_record(*place), KEY) for place in made)
    repository = Repository(
        id=HERE,
        full_name="acme/blueprints",
        default_branch="main",
        clone_url="",
        installation=1,
        installed_at=AT,
    )
    forge = cast(Forge, _Talk(body))
    asker = Asker(repository, forge, MemoryStore(), [KEY], "x", in_thread)

    state = await asker.ask(
        HeadBranch(HERE.number, OURS.head_ref), frozenset(), rerun=False, publishing=False
    )

    (pull,) = state.relevant
    assert [c.records for c in pull.comments] == [(_record(HERE, 7),)]
