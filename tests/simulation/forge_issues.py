"""Issues of the simulated forge, as the bot has them; answers are always of now."""

from datetime import datetime

from bot.forges.port import ForgeMissingError, ForgeRefusedError, Issue, IssueEdit
from bot.sandbox.errors import not_found
from bot.sandbox.records.repository import Issue as Made
from bot.sandbox.records.repository import Pull, Thread
from bot.sandbox.rules import refs
from bot.sandbox.rules.accounts import Caller
from bot.sayable import sayable
from lifecycle.facts.conversation import Comment
from tests.simulation import forge_values as values
from tests.simulation.forge_asking import REPO, Asking

_ISSUE = f"{REPO}/issues/{{issue_number}}"


class Issues(Asking):
    """Implements what `bot.forges.port.Forge` has about them."""

    async def issue(self, number: int) -> Issue:
        def read(_: Caller) -> Issue:
            return self._issue(self._thread(number))

        return await self._get("issue", f"GET {_ISSUE}", read, number)

    async def own_issues(self) -> tuple[Issue, ...]:
        def read(_: Caller) -> tuple[Issue, ...]:
            threads = self._repo.threads if self._repo.has_issues else []
            found = [self._issue(each) for each in threads if isinstance(each, Made)]
            return tuple(issue for issue in found if issue.ours)

        try:
            return await self._get("own_issues", f"GET {REPO}/issues", read)
        except ForgeMissingError:
            raise
        except ForgeRefusedError:  # as the adapter does without the permission
            installation = self._state.data.installations[self._repository.installation]
            if "issues" in installation.permissions:
                raise
            return ()

    async def open_issue(self, title: str, body: str) -> int:
        def write(caller: Caller) -> int:
            user = refs.acting(caller)
            return self._state.issues.open(self._repo, user, title, sayable(body)).number

        return await self._put("open_issue", f"POST {REPO}/issues", write)

    async def edit_issue(self, number: int, body: str) -> None:
        def write(caller: Caller) -> None:
            user, said = refs.acting(caller), sayable(body)
            self._state.issues.edit(self._thread(number), user, body=said)

        await self._put("edit_issue", f"PATCH {_ISSUE}", write, number)

    async def issue_edits(self, number: int, since: datetime) -> tuple[IssueEdit, ...]:
        def read(_: Caller) -> tuple[IssueEdit, ...]:
            thread = self._thread(number)
            edits = thread.edits if isinstance(thread, Made) else []
            return tuple(IssueEdit(e.editor.id, e.at) for e in edits if e.at >= since)

        return await self._get("issue_edits", f"GET {_ISSUE}", read, number)

    async def issue_comments(
        self, number: int, since: datetime | None = None
    ) -> tuple[Comment, ...]:
        def read(_: Caller) -> tuple[Comment, ...]:
            return tuple(
                Comment(
                    id=said.id,
                    author=values.person(said.user),
                    body=said.body,
                    at=said.created_at,
                    edited=said.updated_at != said.created_at,
                    edited_at=said.updated_at if said.updated_at != said.created_at else None,
                    ours=said.user is self._forge.us,
                )
                for said in self._thread(number).comments
                if since is None or said.updated_at >= since
            )

        return await self._get("issue_comments", f"GET {_ISSUE}/comments", read, number)

    def _thread(self, number: int) -> Thread:
        found = self._state.issues.find(self._repo, number)
        if isinstance(found, Pull):
            raise not_found()
        return found

    def _issue(self, made: Thread) -> Issue:
        return Issue(
            number=made.number,
            title=made.title,
            body=made.body or "",
            ours=made.user is self._forge.us,
            open=made.state == "open",
        )
