"""Requests about one repository of the simulated forge, and what it shows at a moment."""

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from bot.forges.github.http import GitHubAnswer, failure
from bot.forges.port import (
    ListedProposal,
)
from bot.forges.port import Repository as Served
from bot.sandbox.errors import not_found
from bot.sandbox.records.repository import Pull, Repository
from bot.sandbox.rules.accounts import Caller
from lifecycle.merges import Move
from tests.simulation import forge_values as values
from tests.simulation.forge_calls import ForgeCall

if TYPE_CHECKING:
    from tests.simulation.forge_port import SimulatedForges

T = TypeVar("T")

REPO = "/repos/{owner}/{repo}"
PULL = f"{REPO}/pulls/{{pull_number}}"
GRAPHQL = "POST /graphql"
"""What is asked by GraphQL, `by` this; its permissions are those of another operation."""

_YEAR = timedelta(days=365)  # the activity log goes no further back


class Asking:
    """Makes requests about one repository, and knows what it shows.

    Args:
        forges: The bot's.
        repository: Which.
    """

    def __init__(self, forges: "SimulatedForges", repository: Served) -> None:
        self._forges = forges
        self._forge = forges.forge
        self._state = forges.forge.state
        self._number = repository.id.number
        self._repository = repository

    @property
    def _repo(self) -> Repository:
        return self._state.data.repositories[self._number]

    async def _get(
        self,
        name: str,
        operation: str,
        effect: Callable[[Caller], T],
        about: object = None,
        *,
        step: int = 0,
        number: int | None = None,
        by: str = "",
    ) -> T:
        call = ForgeCall(self._forges.replica, name, step, False, about, by or operation)
        where, inside = number or self._number, self._repository.installation
        return await self._forges.asked(call, words(name), operation, where, effect, inside)

    async def _put(
        self,
        name: str,
        operation: str,
        effect: Callable[[Caller], T],
        about: object = None,
        *,
        step: int = 0,
        by: str = "",
    ) -> T:
        answer = await self._answer(name, operation, effect, about, step=step, by=by)
        if isinstance(answer, GitHubAnswer):
            raise failure(words(name), answer)
        return answer

    async def _answer(
        self,
        name: str,
        operation: str,
        effect: Callable[[Caller], T],
        about: object,
        *,
        step: int = 0,
        by: str = "",
    ) -> T | GitHubAnswer:
        call = ForgeCall(self._forges.replica, name, step, True, about, by or operation)
        inside = self._repository.installation
        return await self._forges.answered(
            call, words(name), operation, self._number, effect, inside
        )

    def _at(self, key: tuple[object, ...], default: Any = None) -> Any:
        """What is shown, or was at the moment that is answered from."""
        past, moment = self._forge.past, self._forge.moment
        return past.at(key, past.now if moment is None else moment, default)

    def _shown_pull(self, number: int) -> ListedProposal:
        found: ListedProposal | None = self._at(("pull", self._number, number))
        if found is None:
            raise not_found()
        self._repository.named("read a pull request", self._repo.full_name)
        return found

    def _shown_pulls(self) -> list[ListedProposal]:
        """All, newest first."""
        numbers: tuple[int, ...] = self._at(("pulls", self._number), ())
        return [self._shown_pull(number) for number in reversed(numbers)]

    def _of_branch(self, head_ref: str) -> list[ListedProposal]:
        """Those of one branch of the owner's, newest first."""
        owner, pulls = self._repository.owner.lower(), self._repo.pulls
        return [
            p
            for p in self._shown_pulls()
            if p.head_ref == head_ref and pulls[p.number].head_owner.lower() == owner
        ]

    def _pull(self, number: int) -> Pull:
        return self._state.pulls.find(self._repo, number)

    def _moves(self, branch: str, number: int) -> tuple[Move, ...]:
        """Moves of a branch, newest first."""
        repo, since = self._state.data.repositories[number], self._state.now() - _YEAR
        shown: int = self._at(("moves", number), 0)
        last = repo.activity[shown - 1].id if shown else 0
        return tuple(
            values.move(entry)
            for entry in reversed(repo.activity_by_ref.get(f"refs/heads/{branch}", ()))
            if entry.id <= last and entry.timestamp >= since
        )


def words(name: str) -> str:
    return name.replace("_", " ")
