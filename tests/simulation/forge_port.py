"""The bot's port of the simulated forge: calls become the sandbox's rules, its records our values.

What a refusal means is asked of GitHub's adapter, as is what a request holds wherever that takes
more than naming fields.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from bot.forges.github import people
from bot.forges.github.app import RENEW_BEFORE
from bot.forges.github.branches import MOST_MOVES, merge_failure, tag_failure
from bot.forges.github.checks import bodies
from bot.forges.github.conversations import REACTIONS
from bot.forges.github.deliveries import read_verified
from bot.forges.github.events import is_heard
from bot.forges.github.http import GitHubAnswer, failure
from bot.forges.port import (
    AnnotatedTag,
    BotIdentity,
    Conversation,
    FailedDeliveries,
    FailedDelivery,
    ForgeBusyError,
    ForgeMissingError,
    ForgeRefusedError,
    ListedProposal,
    LoggedDelivery,
    MergeOutcome,
    MergeResult,
    RequiredCheck,
    Tagged,
    TagOutcome,
)
from bot.forges.port import Installation as LetIn
from bot.forges.port import Repository as Served
from bot.forges.webhooks import WebhookError
from bot.keys import Key
from bot.sandbox.errors import RefusedError, not_found, plain
from bot.sandbox.faults.hooks import OutgoingHook
from bot.sandbox.git import history
from bot.sandbox.git.objects import Ident, Tag
from bot.sandbox.records.accounts import Role as Level
from bot.sandbox.records.checks import Annotation
from bot.sandbox.records.memory import Installation
from bot.sandbox.records.repository import Pull, Repository
from bot.sandbox.rules import refs, workflows
from bot.sandbox.rules.accounts import Caller
from bot.sandbox.rules.checks import Wish
from bot.sandbox.rules.permissions import NEEDS
from bot.sayable import sayable
from bot.store.hints import Hint
from lifecycle.access import Role
from lifecycle.actions import OpenProposal, Reaction, SetCheck
from lifecycle.authors import MadeBy
from lifecycle.facts.checks import CheckRun, CheckState
from lifecycle.identity import GITHUB, RepositoryId
from lifecycle.merges import Move
from lifecycle.names import Ref, Sha
from lifecycle.policy import MergeMethod
from tests.simulation import forge_values as values
from tests.simulation.forge_calls import Fault, ForgeCall, answer_of

if TYPE_CHECKING:
    from tests.simulation.forge import SimulatedForge

T = TypeVar("T")

_REPO = "/repos/{owner}/{repo}"
_PULL = f"{_REPO}/pulls/{{pull_number}}"
_COMMENT = f"{_REPO}/issues/comments/{{comment_id}}"
_MOST_COMMITS, _MOST_CLOSED, _PAGE = 250, 30, 100
_YEAR = timedelta(days=365)  # the activity log goes no further back


class SimulatedForges:
    """The whole forge for one bot; implements `bot.forges.port.Forges`.

    Args:
        forge: Whose port it is.
        replica: Whose calls these are.
    """

    name = GITHUB

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

    async def is_installed(self, repository_id: RepositoryId) -> bool:
        def read() -> None:
            repo = self.forge.state.data.repositories.get(repository_id.number)
            if repo is None or self.forge.state.installation_of(self.forge.app, repo) is None:
                raise not_found()

        with suppress(ForgeMissingError):
            operation = f"GET {_REPO}/installation"
            await self._by_app("is_installed", "find its installation", operation, read)
            return True
        return False

    async def repositories_of(self, installation: int) -> Sequence[Served]:
        since = (await self._about("repositories_of", installation)).created_at
        call = ForgeCall(self.replica, "repositories_of", 1, False, installation)
        wanted, operation = "list the repositories", "GET /installation/repositories"

        def read(caller: Caller) -> list[Served]:
            found = caller.token.installation.repositories if caller.token else []
            return [self._served(repo, installation, since) for repo in found]

        return await self.asked(call, wanted, operation, None, read, installation)

    async def repository_by_id(self, repository_id: RepositoryId, installation: int) -> Served:
        number = repository_id.number
        call = ForgeCall(self.replica, "repository_by_id", 0, False, number)

        def read(_: Caller) -> Repository:
            return self.forge.state.data.repositories[number]

        found = await self.asked(call, "read it", f"GET {_REPO}", number, read, installation)
        since = (await self._about("repository_by_id", installation)).created_at
        return self._served(found, installation, since)

    def of(self, repository: Served) -> "SimulatedRepository":
        """The forge for one repository."""
        return SimulatedRepository(self, repository)

    def wakes_of(self, headers: Mapping[str, str], body: bytes) -> Mapping[Key, Hint]:
        """As GitHub's adapter reads it."""
        with suppress(WebhookError):
            return read_verified(headers, body).wakes
        return {}

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

    async def logged_delivery(self, number: int) -> LoggedDelivery | None:
        def read() -> OutgoingHook:
            if number > len(self.forge.failed):
                raise not_found()
            return self.forge.failed[number - 1][0]

        operation = "GET /app/hook/deliveries/{delivery_id}"
        hook = await self._by_app("logged_delivery", "read a delivery", operation, read, number)
        headers = {name.lower(): value for name, value in hook.headers.items()}
        try:
            delivery = read_verified(headers, hook.body, self.forge.us.login)
        except WebhookError:
            return None
        return LoggedDelivery(delivery.stored(GITHUB, hook.body), delivery.wakes)

    async def token(self, installation: int) -> str:
        """A token of an installation, minted again before it ends."""
        token, ends = self._tokens.get(installation, ("", datetime.min.replace(tzinfo=UTC)))
        if ends > self.forge.clock.now() + RENEW_BEFORE:
            return token

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
        _operation: str,
        effect: Callable[[], T],
        about: object = None,
    ) -> T:
        """Ask as the App itself, which needs no token of an installation."""
        call = ForgeCall(self.replica, name, 0, False, about)
        answer = await self._request(call, wanted, effect)
        if isinstance(answer, GitHubAnswer):
            raise failure(wanted, answer)
        return answer

    async def _request(
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
        )


def _let_in(installation: Installation) -> LetIn:
    return LetIn(installation.id, installation.suspended_at is not None)


def _fails(fault: Fault, wanted: str, at: datetime) -> GitHubAnswer:
    if fault.status == 0:
        raise ForgeBusyError(wanted, fault.message)
    return fault.answer(at)


class SimulatedRepository:
    """One repository for one bot; implements `bot.forges.port.Forge`.

    Args:
        forges: The bot's.
        repository: Which.
    """

    def __init__(self, forges: SimulatedForges, repository: Served) -> None:
        self._forges = forges
        self._forge = forges.forge
        self._state = forges.forge.state
        self._number = repository.id.number
        self._repository = repository

    @property
    def _repo(self) -> Repository:
        return self._state.data.repositories[self._number]

    async def git_credentials(self) -> str:
        return f"x-access-token:{await self._forges.token(self._repository.installation)}"

    # Pull requests.

    async def open_proposals_of(self, head_ref: str) -> tuple[ListedProposal, ...]:
        def read(_: Caller) -> tuple[ListedProposal, ...]:
            return tuple(p for p in self._of_branch(head_ref) if p.open)

        return await self._get("open_proposals_of", f"GET {_REPO}/pulls", read, head_ref)

    async def closed_proposals_of(self, head_ref: str) -> tuple[ListedProposal, ...]:
        def read(_: Caller) -> tuple[ListedProposal, ...]:
            return tuple([p for p in self._of_branch(head_ref) if not p.open][:_MOST_CLOSED])

        return await self._get("closed_proposals_of", f"GET {_REPO}/pulls", read, head_ref)

    def proposal_ref(self, number: int) -> Ref:
        """As GitHub keeps it."""
        return Ref(f"refs/pull/{number}/head")

    async def open_proposals_at(self, head: Sha) -> tuple[ListedProposal, ...]:
        def read(_: Caller) -> tuple[ListedProposal, ...]:
            return tuple(p for p in self._shown_pulls() if p.open and p.head == head)

        operation = f"GET {_REPO}/commits/{{commit_sha}}/pulls"
        return await self._get("open_proposals_at", operation, read, head)

    async def proposal(self, number: int) -> ListedProposal:
        def read(_: Caller) -> ListedProposal:
            return self._shown_pull(number)

        return await self._get("proposal", f"GET {_PULL}", read, number)

    async def open_proposals(self) -> tuple[ListedProposal, ...]:
        def read(_: Caller) -> tuple[ListedProposal, ...]:
            return tuple(p for p in self._shown_pulls() if p.open)

        return await self._get("open_proposals", f"GET {_REPO}/pulls", read)

    async def highest_number(self) -> int:
        def read(_: Caller) -> int:
            return max(self._at(("pulls", self._number), ()), default=0)

        return await self._get("highest_number", f"GET {_REPO}/pulls", read)

    async def merged_proposals(self, base_ref: str, since: datetime) -> tuple[ListedProposal, ...]:
        def read(_: Caller) -> tuple[ListedProposal, ...]:
            merged = (p for p in self._shown_pulls() if p.merged and p.base_ref == base_ref)
            found = [p for p in merged if p.updated_at >= since]
            return tuple(sorted(found, key=lambda p: (p.updated_at, p.number), reverse=True))

        return await self._get("merged_proposals", f"GET {_REPO}/pulls", read, base_ref)

    async def commits(self, number: int) -> tuple[MadeBy, ...]:
        def read(_: Caller) -> tuple[MadeBy, ...]:
            shown = self._shown_pull(number)
            pull = self._repo.pulls[number]
            git = self._state.git(pull.repo)
            heads: Mapping[str, str] = self._at(("refs", self._number), {})
            tip = heads.get(f"refs/heads/{shown.base_ref}", pull.base_sha)
            base = pull.base_sha if shown.merged else tip
            listed = history.commits_between(git, base, shown.head)[:_MOST_COMMITS]
            return people.made_by([values.commit(self._state, git.commit(s)) for s in listed])

        return await self._get("commits", f"GET {_PULL}/commits", read, number)

    async def open_proposal(self, wanted: OpenProposal) -> int:
        def open_it(caller: Caller) -> int:
            return self._state.pulls.open(
                self._repo,
                refs.acting(caller),
                title=sayable(wanted.title),
                head=wanted.head_ref,
                base=wanted.base_ref,
                body=sayable(wanted.body),
                draft=True,
            ).number

        try:
            number = await self._put(
                "open_proposal", f"POST {_REPO}/pulls", open_it, wanted.head_ref
            )
        except ForgeRefusedError:
            for pull in await self.open_proposals_of(wanted.head_ref):
                if pull.head_ref == wanted.head_ref:
                    return pull.number
            raise

        def assign(caller: Caller) -> None:
            thread, user = self._pull(number), refs.acting(caller)
            self._state.talk.set_assignees(thread, user, [wanted.assignee])

        if wanted.assignee:
            with suppress(ForgeRefusedError):
                operation = f"PATCH {_REPO}/issues/{{issue_number}}"
                await self._put("open_proposal", operation, assign, wanted.head_ref, step=1)
        return number

    async def set_draft(self, number: int, *, draft: bool) -> None:
        def change(caller: Caller) -> None:
            self._state.pulls.set_draft(self._pull(number), refs.acting(caller), draft)

        # GraphQL's mutation asks for the same as a merge does.
        await self._put("set_draft", f"PUT {_PULL}/merge", change, number)

    # What is said.

    async def conversation(self, number: int) -> Conversation:
        def read(_: Caller) -> Conversation:
            found: Conversation | None = self._at(("talk", self._number, number))
            if found is None:
                raise not_found()
            return found

        return await self._get("conversation", f"GET {_PULL}", read, number)

    async def comment(self, number: int, body: str) -> int:
        def write(caller: Caller) -> int:
            thread, user = self._pull(number), refs.acting(caller)
            return self._state.talk.comment(thread, user, sayable(body)).id

        operation = f"POST {_REPO}/issues/{{issue_number}}/comments"
        return await self._put("comment", operation, write, number)

    async def edit_comment(self, comment: int, body: str) -> None:
        def write(caller: Caller) -> None:
            found = self._state.talk.find(self._repo, comment)
            self._state.talk.edit(found, refs.acting(caller), sayable(body))

        await self._put("edit_comment", f"PATCH {_COMMENT}", write, comment)

    async def delete_comment(self, comment: int) -> None:
        def write(caller: Caller) -> None:
            found = self._state.talk.find(self._repo, comment)
            self._state.talk.delete(found, refs.acting(caller))

        with suppress(ForgeMissingError):
            await self._put("delete_comment", f"DELETE {_COMMENT}", write, comment)

    async def react(self, comment: int, reaction: Reaction) -> None:
        def write(caller: Caller) -> None:
            found = self._state.talk.find(self._repo, comment)
            self._state.talk.react(found, refs.acting(caller), REACTIONS[reaction])

        await self._put("react", f"POST {_COMMENT}/reactions", write, comment)

    # Checks.

    async def checks(self, head: Sha) -> tuple[CheckRun, ...]:
        def read(_: Caller) -> tuple[CheckRun, ...]:
            found: tuple[CheckRun, ...] = self._at(("runs", self._number, head), ())
            return found

        return await self._get("checks", f"GET {_REPO}/commits/{{ref}}/check-runs", read, head)

    async def statuses(self, head: Sha) -> dict[str, CheckState]:
        def read(_: Caller) -> dict[str, CheckState]:
            found: dict[str, str] = self._at(("statuses", self._number, head), {})
            return {
                context: CheckState("failure" if state == "error" else state)
                for context, state in found.items()
            }

        return await self._get("statuses", f"GET {_REPO}/commits/{{ref}}/status", read, head)

    async def set_check(self, check: SetCheck) -> None:
        body, *rest = bodies(check)
        run = check.run
        if run is None:

            def make(_: Caller) -> int:
                app = self._forge.app
                return self._state.checks.create(self._repo, app, check.head, _wish(body)).id

            run = await self._put("set_check", f"POST {_REPO}/check-runs", make, check.head)
        else:
            await self._update_check(run, body, check.head, 0)
        for step, more in enumerate(rest, 1):
            await self._update_check(run, more, check.head, step)

    async def _update_check(
        self, number: int, body: Mapping[str, Any], head: Sha, step: int
    ) -> None:
        def update(_: Caller) -> None:
            found = self._state.checks.find(self._repo, number)
            if found.suite.app is not self._forge.app:
                raise RefusedError(403, "check run can only be modified by its App.")
            self._state.checks.update(found, _wish(body))
            self._state.touch_commit(self._repo, found.head_sha)

        operation = f"PATCH {_REPO}/check-runs/{{check_run_id}}"
        await self._put("set_check", operation, update, head, step=step)

    async def required_checks(self, branch: str) -> tuple[RequiredCheck, ...]:
        rules, us = self._state.rules, self._forge.app.id

        def by_rules(_: Caller) -> set[tuple[str, int | None]]:
            sets = rules.rulesets(self._repo, f"refs/heads/{branch}")
            return {check for ruleset in sets for check in ruleset.required_checks}

        def by_protection(_: Caller) -> set[tuple[str, int | None]]:
            found = rules.protection(self._repo, branch) if self._repo.branch(branch) else None
            return set(found.required_checks) if found else set()

        name, operation = "required_checks", f"GET {_REPO}/rules/branches/{{branch}}"
        found = await self._get(name, operation, by_rules, branch)
        operation = f"GET {_REPO}/branches/{{branch}}"
        with suppress(ForgeMissingError):
            found |= await self._get(name, operation, by_protection, branch, step=1)
        checks = [RequiredCheck(name, app, app in (None, us)) for name, app in found]
        return tuple(sorted(checks, key=lambda check: (check.name, check.source or 0)))

    # People and branches.

    async def role(self, login: str, account: int) -> Role:
        def read(_: Caller) -> Role:
            user = self._state.user(login)
            roles: Mapping[int, Level] = self._at(("roles", self._number), {})
            level = roles.get(user.id)
            if level is None:
                level = self._state.role(self._repo, user)
            return people.role_of(values.permission(level, user), account)

        operation = f"GET {_REPO}/collaborators/{{username}}/permission"
        try:
            return await self._get("role", operation, read, login)
        except ForgeMissingError:
            return Role.NONE

    async def pushes(self, head_ref: str, repository_id: int) -> tuple[Move, ...]:
        def read(_: Caller) -> tuple[Move, ...]:
            return self._moves(head_ref, repository_id)[:_PAGE]

        operation = f"GET {_REPO}/activity"
        return await self._get("pushes", operation, read, head_ref, number=repository_id)

    async def base_moves(self, base_ref: str, since: datetime) -> tuple[Move, ...]:
        def read(_: Caller) -> tuple[Move, ...]:
            return self._moves(base_ref, self._number)[:MOST_MOVES]

        found: list[Move] = []
        for each in await self._get("base_moves", f"GET {_REPO}/activity", read, base_ref):
            found.append(each)
            if each.at < since:
                break
        return tuple(found)

    async def has_tag(self, name: str) -> bool:
        def read(_: Caller) -> bool:
            shown: Mapping[str, str] = self._at(("refs", self._number), {})
            if f"refs/tags/{name}" not in shown:
                raise not_found()
            return True

        try:
            return await self._get("has_tag", f"GET {_REPO}/git/ref/{{ref}}", read, name)
        except ForgeMissingError:
            return False

    async def make_tag(self, tag: AnnotatedTag) -> Tagged:
        def write(_: Caller) -> str:
            git = self._state.git(self._repo)
            if git.kind(tag.target) != "commit":
                there = git.kind(tag.target) is not None
                raise plain("type is wrong" if there else "Object does not exist")
            who = Ident(*tag.tagger, tag.at)
            return git.write_tag(
                Tag(
                    name=tag.name,
                    target=tag.target,
                    kind="commit",
                    tagger=who,
                    message=tag.message,
                )
            )

        def make(caller: Caller) -> None:
            refs.create(self._state, self._repo, f"refs/tags/{tag.name}", tag.object, caller)

        made = await self._put("make_tag", f"POST {_REPO}/git/tags", write, tag.name)
        if made != tag.object:
            return Tagged(TagOutcome.OTHERWISE, f"the object is {made}")
        operation = f"POST {_REPO}/git/refs"
        answer = await self._answer("make_tag", operation, make, tag.name, step=1)
        if isinstance(answer, GitHubAnswer):
            return tag_failure(answer)
        return Tagged(TagOutcome.MADE)

    async def merge(
        self, number: int, head: Sha, method: MergeMethod, title: str, message: str
    ) -> MergeResult:
        def merge(caller: Caller) -> None:
            pull = self._pull(number)
            workflows.check_merge(self._state, pull, caller)
            self._state.pulls.merge(
                pull,
                refs.acting(caller),
                sha=head,
                method=method.value,
                title=sayable(title),
                message=sayable(message),
            )

        answer = await self._answer("merge", f"PUT {_PULL}/merge", merge, number)
        if isinstance(answer, GitHubAnswer):
            return merge_failure(answer)
        return MergeResult(MergeOutcome.MERGED)

    # Below all of them.

    async def _get(
        self,
        name: str,
        operation: str,
        effect: Callable[[Caller], T],
        about: object = None,
        *,
        step: int = 0,
        number: int | None = None,
    ) -> T:
        call = ForgeCall(self._forges.replica, name, step, False, about)
        where, inside = number or self._number, self._repository.installation
        return await self._forges.asked(call, _words(name), operation, where, effect, inside)

    async def _put(
        self,
        name: str,
        operation: str,
        effect: Callable[[Caller], T],
        about: object = None,
        *,
        step: int = 0,
    ) -> T:
        answer = await self._answer(name, operation, effect, about, step=step)
        if isinstance(answer, GitHubAnswer):
            raise failure(_words(name), answer)
        return answer

    async def _answer(
        self,
        name: str,
        operation: str,
        effect: Callable[[Caller], T],
        about: object,
        *,
        step: int = 0,
    ) -> T | GitHubAnswer:
        call = ForgeCall(self._forges.replica, name, step, True, about)
        inside = self._repository.installation
        return await self._forges.answered(
            call, _words(name), operation, self._number, effect, inside
        )

    def _at(self, key: tuple[object, ...], default: Any = None) -> Any:
        """What is shown, or was at the moment that is answered from."""
        past, moment = self._forge.past, self._forge.moment
        return past.at(key, past.now if moment is None else moment, default)

    def _shown_pull(self, number: int) -> ListedProposal:
        found: ListedProposal | None = self._at(("pull", self._number, number))
        if found is None:
            raise not_found()
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


def _words(name: str) -> str:
    return name.replace("_", " ")


def _wish(body: Mapping[str, Any]) -> Wish:
    """What the body of a request asks of a check run."""
    output = body.get("output", {})
    return Wish(
        name=body.get("name"),
        status=body.get("status"),
        conclusion=body.get("conclusion"),
        external_id=body.get("external_id"),
        title=output.get("title"),
        summary=output.get("summary"),
        annotations=[Annotation(**sayable(note)) for note in output.get("annotations", ())],
    )
