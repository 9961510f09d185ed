"""The bot's port of the simulated forge: calls become the sandbox's rules, its records our values.

What a refusal means is asked of GitHub's adapter, as is what a request holds wherever that takes
more than naming fields.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from bot.forges.github.app import RENEW_BEFORE
from bot.forges.github.deliveries import read_verified
from bot.forges.github.events import is_heard
from bot.forges.github.http import GitHubAnswer, failure
from bot.forges.port import (
    BotIdentity,
    Drift,
    FailedDeliveries,
    FailedDelivery,
    ForgeBusyError,
    ForgeMissingError,
    LoggedDelivery,
)
from bot.forges.port import Installation as LetIn
from bot.forges.port import Repository as Served
from bot.forges.webhooks import WebhookError
from bot.keys import Key
from bot.sandbox.errors import RefusedError, not_found
from bot.sandbox.faults.hooks import OutgoingHook
from bot.sandbox.records.memory import Installation
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.accounts import Caller
from bot.sandbox.rules.permissions import NEEDS
from bot.store.hints import Hint
from lifecycle.identity import GITHUB, RepositoryId
from lifecycle.owners import PLAIN
from lifecycle.terms import AS_WRITTEN
from tests.simulation.forge_asking import REPO
from tests.simulation.forge_branches import Branches
from tests.simulation.forge_calls import Fault, ForgeCall, answer_of
from tests.simulation.forge_checks import CheckRuns
from tests.simulation.forge_issues import Issues
from tests.simulation.forge_proposals import Proposals

if TYPE_CHECKING:
    from tests.simulation.forge import SimulatedForge

T = TypeVar("T")


class SimulatedForges:
    """The whole forge for one bot; implements `bot.forges.port.Forges`.

    Args:
        forge: Whose port it is.
        replica: Whose calls these are.
    """

    name = GITHUB
    most_parts = 2

    def __init__(self, forge: "SimulatedForge", replica: str) -> None:
        self.forge = forge
        self.replica = replica
        self._tokens: dict[int, tuple[str, datetime]] = {}

    async def identity(self) -> BotIdentity:
        login = self.forge.us.login
        return BotIdentity(login, f"{login}@users.noreply.github.com")

    async def check(self) -> None:
        await self._by_app("check", "read the App", "GET /app", lambda: None)

    async def installations(self) -> Sequence[LetIn]:
        def read() -> list[LetIn]:
            known = self.forge.state.data.installations.values()
            return [_let_in(each) for each in known if each.app is self.forge.app]

        return await self._by_app(
            "installations", "list the installations", "GET /app/installations", read
        )

    async def installation(self, number: int) -> LetIn | None:
        with suppress(ForgeMissingError):
            return _let_in(await self._about("installation", number))
        return None

    async def is_installed(self, repository: RepositoryId | str) -> bool:
        def read() -> None:
            state = self.forge.state
            repo: Repository | None
            if isinstance(repository, str):
                owner, _, name = repository.partition("/")
                repo = state.moved(owner, name) or state.repository(owner, name)
            else:
                repo = state.data.repositories.get(repository.number)
            if repo is None or self.forge.state.installation_of(self.forge.app, repo) is None:
                raise not_found()

        with suppress(ForgeMissingError):
            operation = f"GET {REPO}/installation"
            await self._by_app("is_installed", "find its installation", operation, read)
            return True
        return False

    async def repositories_of(self, installation: int) -> Sequence[Served]:
        since = (await self._about("repositories_of", installation)).created_at
        wanted, operation = "list the repositories", "GET /installation/repositories"
        call = ForgeCall(self.replica, "repositories_of", 1, False, installation, operation)

        def read(caller: Caller) -> list[Served]:
            found = caller.token.installation.repositories if caller.token else []
            return [self._served(repo, installation, since) for repo in found]

        return await self.asked(call, wanted, operation, None, read, installation)

    async def repository_by_id(self, repository_id: RepositoryId, installation: int) -> Served:
        number, operation = repository_id.number, f"GET {REPO}"
        call = ForgeCall(self.replica, "repository_by_id", 0, False, number, operation)

        def read(_: Caller) -> Repository:
            return self.forge.state.data.repositories[number]

        found, about = await asyncio.gather(
            self.asked(call, "read it", operation, number, read, installation),
            self._about("repository_by_id", installation),
        )
        return self._served(found, installation, about.created_at)

    def of(self, repository: Served) -> "SimulatedRepository":
        """The forge for one repository."""
        return SimulatedRepository(self, repository)

    def wakes_of(self, headers: Mapping[str, str], body: bytes) -> Mapping[Key, Hint]:
        """As GitHub's adapter reads it."""
        with suppress(WebhookError):
            return read_verified(headers, body).wakes
        return {}

    async def drift(self, url: str = "") -> Sequence[Drift]:
        """Nobody changes how the App is registered."""
        del url
        await self._by_app("drift", "read the App's registration", "GET /app", lambda: None)
        return ()

    async def failed_deliveries(self, page: str = "") -> FailedDeliveries:
        def read() -> FailedDeliveries:
            last = int(page or len(self.forge.failed))
            first = max(0, last - 100)
            listed = [self._failed(number) for number in range(last, first, -1)]
            return FailedDeliveries(tuple(listed), str(first) if first else "")

        wanted, operation = "list the failed deliveries", "GET /app/hook/deliveries"
        return await self._by_app("failed_deliveries", wanted, operation, read)

    def _failed(self, number: int) -> FailedDelivery:
        hook, at = self.forge.failed[number - 1]
        return FailedDelivery(number=number, guid=hook.guid, at=at, heard=is_heard(hook.event))

    async def delivery(self, guid: str) -> LoggedDelivery | None:
        operation = "GET /app/hook/deliveries"
        wanted, pressed = "list the deliveries", self.forge.pressed
        hook = await self._by_app("delivery", wanted, operation, lambda: pressed.get(guid), guid)
        return None if hook is None else await self._as_logged(hook)

    async def logged_delivery(self, number: int) -> LoggedDelivery | None:
        def read() -> OutgoingHook:
            if number > len(self.forge.failed):
                raise not_found()
            return self.forge.failed[number - 1][0]

        operation = "GET /app/hook/deliveries/{delivery_id}"
        hook = await self._by_app("logged_delivery", "read a delivery", operation, read, number)
        return await self._as_logged(hook)

    async def _as_logged(self, hook: OutgoingHook) -> LoggedDelivery | None:
        """One as the adapter reads it out of the log."""
        headers = {name.lower(): value for name, value in hook.headers.items()}
        try:
            delivery = read_verified(headers, hook.body, await self.identity())
        except WebhookError:
            return None
        return LoggedDelivery(delivery.stored(GITHUB, hook.body), delivery.wakes)

    async def token(self, installation: int) -> str:
        """A token of an installation, minted again before it ends."""
        known = self._tokens.get(installation)
        if known is not None and known[1] > self.forge.clock.now() + RENEW_BEFORE:
            return known[0]

        def mint() -> tuple[str, datetime]:
            made, what = self.forge.accounts.mint(self._installation(installation), None, None)
            return made, what.expires_at

        operation = "POST /app/installations/{installation_id}/access_tokens"
        made = await self._by_app("token", "mint a token", operation, mint, about=installation)
        self._tokens[installation] = made
        return made[0]

    # Requests.

    async def asked(
        self,
        call: ForgeCall,
        wanted: str,
        operation: str,
        number: int | None,
        effect: Callable[[Caller], T],
        installation: int,
    ) -> T:
        """Make a request that must succeed; raises as the port says.

        Args:
            call: What it is.
            wanted: For errors.
            operation: The operation of GitHub's API that it stands for.
            number: The repository's; None for none.
            effect: What is done; given who asks.
            installation: Whose token is used.
        """
        answer = await self.answered(call, wanted, operation, number, effect, installation)
        if isinstance(answer, GitHubAnswer):
            raise failure(wanted, answer)
        return answer

    async def answered(
        self,
        call: ForgeCall,
        wanted: str,
        operation: str,
        number: int | None,
        effect: Callable[[Caller], T],
        installation: int,
    ) -> T | GitHubAnswer:
        """Make a request; gives what was done, or an answer that says why not.

        Raises:
            ForgeBusyError: No answer came.
        """
        token = await self.token(installation)

        def act() -> T:
            forge = self.forge
            caller = forge.accounts.caller(f"token {token}")
            data = forge.state.data
            if number is not None and number not in data.repositories:
                raise not_found()
            repo = None if number is None else data.repositories[number]
            forge.accounts.allow(caller, NEEDS[operation], repo)
            if repo is not None and repo.archived and call.writes:
                raise RefusedError(403, "Repository was archived so is read-only.")
            return effect(caller)

        return await self._request(call, wanted, act)

    async def _by_app(
        self,
        name: str,
        wanted: str,
        operation: str,
        effect: Callable[[], T],
        about: object = None,
    ) -> T:
        """Ask as the App itself, which needs no token of an installation."""
        call = ForgeCall(self.replica, name, 0, False, about, operation)
        answer = await self._request(call, wanted, effect)
        if isinstance(answer, GitHubAnswer):
            raise failure(wanted, answer)
        return answer

    async def _request(
        self, call: ForgeCall, wanted: str, effect: Callable[[], T]
    ) -> T | GitHubAnswer:
        answer = await self._carry_out(call, wanted, effect)
        status = answer.status if isinstance(answer, GitHubAnswer) else 200
        self.forge.answered(call, status)
        return answer

    async def _carry_out(
        self, call: ForgeCall, wanted: str, effect: Callable[[], T]
    ) -> T | GitHubAnswer:
        forge = self.forge
        await forge.clock.sleep(0)
        fault = forge.faults(call)
        if fault is None:
            return self._carried_out(call, effect)
        if fault.late:
            await forge.clock.sleep(fault.late)
        if fault.fails and not fault.done:
            return _fails(fault, wanted, forge.clock.now())
        forge.moment = forge.past.now - fault.stale if fault.stale and not call.writes else None
        done = self._carried_out(call, effect)
        forge.moment = None
        if fault.fails:
            return _fails(fault, wanted, forge.clock.now())
        if fault.lacking and isinstance(done, list):
            return done[:-1]  # type: ignore[return-value]  # a list like the other
        return done

    def _carried_out(self, call: ForgeCall, effect: Callable[[], T]) -> T | GitHubAnswer:
        try:
            if not call.writes:
                return effect()
            with self.forge.change():
                return effect()
        except RefusedError as refused:
            return answer_of(refused, self.forge.clock.now())

    async def _about(self, name: str, installation: int) -> Installation:
        def read() -> Installation:
            return self._installation(installation)

        operation = "GET /app/installations/{installation_id}"
        return await self._by_app(
            name, "read the installation", operation, read, about=installation
        )

    def _installation(self, number: int) -> Installation:
        found = self.forge.state.data.installations.get(number)
        if found is None or found.app is not self.forge.app:
            raise not_found()
        return found

    def _served(self, repo: Repository, installation: int, since: datetime) -> Served:
        return Served(
            id=RepositoryId(GITHUB, repo.id),
            full_name=repo.full_name,
            default_branch=repo.default_branch,
            clone_url=self.forge.url(repo),
            installation=installation,
            installed_at=since,
            changed=f"{repo.pushed_at} {repo.updated_at}",
            has_issues=repo.has_issues,
            public=not repo.private,
            topics=tuple(repo.topics),
            archived=repo.archived,
        )


def _let_in(installation: Installation) -> LetIn:
    return LetIn(installation.id, installation.suspended_at is not None)


def _fails(fault: Fault, wanted: str, at: datetime) -> GitHubAnswer:
    if fault.status == 0:
        raise ForgeBusyError(wanted, fault.message)
    return fault.answer(at)


class SimulatedRepository(Proposals, Issues, CheckRuns, Branches):
    """One repository for one bot; implements `bot.forges.port.Forge`."""

    checks_hold_text = True
    owners = PLAIN
    tells_objections = True
    terms = AS_WRITTEN

    async def git_credentials(self) -> str:
        return f"x-access-token:{await self._forges.token(self._repository.installation)}"
