"""Pull requests of the simulated forge, and what is said on them, as the bot has them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from bot.forges.github import people
from bot.forges.github.conversations import REACTIONS
from bot.forges.port import (
    Conversation,
    ForgeMissingError,
    ForgeRefusedError,
    ListedProposal,
    NewestChange,
)
from bot.sandbox.errors import not_found
from bot.sandbox.git import history
from bot.sandbox.rules import refs
from bot.sandbox.rules.accounts import Caller
from bot.sandbox.rules.reviews import DraftReviewComment
from bot.sayable import sayable
from lifecycle.actions import OpenProposal, Reaction, Suggest
from lifecycle.facts.commits import MadeBy
from lifecycle.facts.conversation import ReviewDecision
from lifecycle.names import Ref, Sha
from tests.simulation import forge_values as values
from tests.simulation.forge_asking import GRAPHQL, PULL, REPO, Asking

_COMMENT = f"{REPO}/issues/comments/{{comment_id}}"
_MOST_COMMITS, _MOST_CLOSED = 250, 30


class Proposals(Asking):
    """Implements what `bot.forges.port.Forge` has about them."""

    async def open_proposals_of(self, head_ref: str) -> tuple[ListedProposal, ...]:
        def read(_: Caller) -> tuple[ListedProposal, ...]:
            return tuple(p for p in self._of_branch(head_ref) if p.open)

        return await self._get("open_proposals_of", f"GET {REPO}/pulls", read, head_ref)

    async def proposals_of(self, head_ref: str) -> tuple[ListedProposal, ...]:
        def read(_: Caller) -> tuple[ListedProposal, ...]:
            found = self._of_branch(head_ref)
            closed = [p for p in found if not p.open][:_MOST_CLOSED]
            return (*(p for p in found if p.open), *closed)

        return await self._get("proposals_of", f"GET {REPO}/pulls", read, head_ref)

    async def unproposed(self, head_refs: Collection[str]) -> frozenset[str]:
        def read(_: Caller) -> frozenset[str]:
            return frozenset(head_refs) - {p.head_ref for p in self._shown_pulls()}

        return await self._get("unproposed", f"GET {REPO}/pulls", read, by=GRAPHQL)

    def proposal_ref(self, number: int) -> Ref:
        """As GitHub keeps it."""
        return Ref(f"refs/pull/{number}/head")

    async def proposals_at(self, head: Sha) -> tuple[ListedProposal, ...]:
        def read(_: Caller) -> tuple[ListedProposal, ...]:
            return tuple(p for p in self._shown_pulls() if p.head == head and (p.open or p.merged))

        operation = f"GET {REPO}/commits/{{commit_sha}}/pulls"
        return await self._get("proposals_at", operation, read, head)

    async def proposal(self, number: int) -> ListedProposal:
        def read(_: Caller) -> ListedProposal:
            return self._shown_pull(number)

        return await self._get("proposal", f"GET {PULL}", read, number)

    async def open_proposals(self) -> tuple[ListedProposal, ...]:
        def read(_: Caller) -> tuple[ListedProposal, ...]:
            return tuple(p for p in self._shown_pulls() if p.open)

        return await self._get("open_proposals", f"GET {REPO}/pulls", read)

    async def newest_change(self, shown: str = "", validator: str = "") -> NewestChange:
        def read(_: Caller) -> NewestChange:
            newest = max(self._shown_pulls(), key=lambda p: (p.updated_at, p.number), default=None)
            if newest is None:
                return NewestChange()
            return NewestChange(f"{newest.number} {newest.updated_at}", newest.updated_at)

        return await self._get("newest_change", f"GET {REPO}/pulls", read)

    async def highest_number(self) -> int:
        def read(_: Caller) -> int:
            return max(self._at(("pulls", self._number), ()), default=0)

        return await self._get("highest_number", f"GET {REPO}/pulls", read)

    async def merged_proposals(self, base_ref: str, since: datetime) -> tuple[ListedProposal, ...]:
        def read(_: Caller) -> tuple[ListedProposal, ...]:
            merged = (p for p in self._shown_pulls() if p.merged and p.base_ref == base_ref)
            found = [p for p in merged if p.updated_at >= since]
            return tuple(sorted(found, key=lambda p: (p.updated_at, p.number), reverse=True))

        return await self._get("merged_proposals", f"GET {REPO}/pulls", read, base_ref)

    async def closed_proposals(self, since: datetime) -> tuple[ListedProposal, ...]:
        def read(_: Caller) -> tuple[ListedProposal, ...]:
            closed = (p for p in self._shown_pulls() if not p.open and p.updated_at >= since)
            return tuple(sorted(closed, key=lambda p: (p.updated_at, p.number), reverse=True))

        return await self._get("closed_proposals", f"GET {REPO}/pulls", read)

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

        return await self._get("commits", f"GET {PULL}/commits", read, number)

    async def open_proposal(self, wanted: OpenProposal) -> int:
        def open_it(caller: Caller) -> int:
            return self._state.pulls.open(
                self._repo,
                refs.acting(caller),
                title=sayable(wanted.title),
                head=wanted.head_ref,
                base=wanted.base_ref,
                body=sayable(wanted.body),
                draft=wanted.draft,
            ).number

        try:
            number = await self._put(
                "open_proposal", f"POST {REPO}/pulls", open_it, wanted.head_ref
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
                operation = f"PATCH {REPO}/issues/{{issue_number}}"
                await self._put("open_proposal", operation, assign, wanted.head_ref, step=1)
        return number

    async def set_draft(self, number: int, *, draft: bool) -> None:
        def change(caller: Caller) -> None:
            self._state.pulls.set_draft(self._pull(number), refs.acting(caller), draft)

        # GraphQL's mutation asks for the same as a merge does.
        await self._put("set_draft", f"PUT {PULL}/merge", change, number, by=GRAPHQL)

    async def close_proposal(self, number: int) -> None:
        def change(caller: Caller) -> None:
            self._state.pulls.edit(self._pull(number), refs.acting(caller), state="closed")

        await self._put("close_proposal", f"PATCH {PULL}", change, number)

    async def set_title(self, number: int, title: str) -> None:
        def change(caller: Caller) -> None:
            self._state.pulls.edit(self._pull(number), refs.acting(caller), title=title)

        await self._put("set_title", f"PATCH {PULL}", change, number)

    async def set_labels(
        self, number: int, *, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> None:
        def put(caller: Caller) -> None:
            user = refs.acting(caller)
            self._state.talk.add_labels(self._pull(number), user, list(add))

        def take_off(name: str) -> Callable[[Caller], None]:
            return lambda caller: self._state.talk.remove_label(
                self._pull(number), refs.acting(caller), name
            )

        operation = f"{REPO}/issues/{{issue_number}}/labels"
        if add:
            await self._put("set_labels", f"POST {operation}", put, number)
        for step, name in enumerate(remove, start=1):
            with suppress(ForgeMissingError):
                gone = f"DELETE {operation}/{{name}}"
                await self._put("set_labels", gone, take_off(name), number, step=step)

    async def conversation(self, number: int) -> Conversation:
        def read(_: Caller) -> Conversation:
            found: Conversation | None = self._at(("talk", self._number, number))
            if found is None:
                raise not_found()
            # By the rules as they are now: those that changed leave the conversation as it was.
            told = self._state.rules.review_decision(self._state.pulls.find(self._repo, number))
            return replace(found, decision=ReviewDecision(told) if told else None)

        return await self._get("conversation", f"GET {PULL}", read, number, by=GRAPHQL)

    async def comment(self, number: int, body: str) -> int:
        def write(caller: Caller) -> int:
            thread = self._state.issues.find(self._repo, number)
            user = refs.acting(caller)
            return self._state.talk.comment(thread, user, sayable(body)).id

        operation = f"POST {REPO}/issues/{{issue_number}}/comments"
        return await self._put("comment", operation, write, number)

    async def edit_comment(self, number: int, comment: int, body: str) -> None:
        del number

        def write(caller: Caller) -> None:
            found = self._state.talk.find(self._repo, comment)
            self._state.talk.edit(found, refs.acting(caller), sayable(body))

        await self._put("edit_comment", f"PATCH {_COMMENT}", write, comment)

    async def delete_comment(self, number: int, comment: int) -> None:
        del number

        def write(caller: Caller) -> None:
            found = self._state.talk.find(self._repo, comment)
            self._state.talk.delete(found, refs.acting(caller))

        with suppress(ForgeMissingError):
            await self._put("delete_comment", f"DELETE {_COMMENT}", write, comment)

    async def suggest(self, suggest: Suggest) -> None:
        remarks = [
            DraftReviewComment(s.path, s.first, s.last, sayable(s.text))
            for s in suggest.suggestions
        ]
        try:
            await self._suggest(suggest, remarks)
        except ForgeMissingError:
            raise
        except ForgeRefusedError:
            await self._suggest(suggest, [], step=1)

    async def _suggest(
        self, suggest: Suggest, found: list[DraftReviewComment], step: int = 0
    ) -> None:
        def write(caller: Caller) -> None:
            pull, user = self._pull(suggest.number), refs.acting(caller)
            self._state.reviews.check_lines(self._state.pulls.files(pull), found)
            body = sayable(suggest.body)
            made = self._state.reviews.submit(pull, user, "COMMENT", body, suggest.head)
            self._state.reviews.remark(made, found)

        await self._put("suggest", f"POST {PULL}/reviews", write, suggest.number, step=step)

    async def react(self, number: int, comment: int, reaction: Reaction) -> None:
        del number

        def write(caller: Caller) -> None:
            found = self._state.talk.find(self._repo, comment)
            self._state.talk.react(found, refs.acting(caller), REACTIONS[reaction])

        await self._put("react", f"POST {_COMMENT}/reactions", write, comment)
