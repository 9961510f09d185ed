"""Conversations about merge requests on GitLab: read as one, comments, emoji and suggestions."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from bot.forges.gitlab import notes as reading
from bot.forges.gitlab import speech, talk
from bot.forges.gitlab.access import ForgeCredentials
from bot.forges.gitlab.calls import place
from bot.forges.gitlab.fields import is_us, time
from bot.forges.gitlab.http import Clients, JSONObject, call, failure
from bot.forges.gitlab.merge_requests import MOST_SHOWN, MergeRequests
from bot.forges.port import (
    Conversation,
    ForgeBusyError,
    ForgeMissingError,
    ForgeRefusedError,
    Repository,
)
from lifecycle.actions import Reaction
from lifecycle.names import Sha

EMOJI = {
    Reaction.SEEN: "eyes",
    Reaction.DONE: "rocket",
    Reaction.REFUSED: "thumbsdown",
    Reaction.CONFUSED: "confused",
}

_MOST_ASKED = 50
"""Comments of one conversation of which is asked who edited them; older ones count as edited."""

_TAKEN = "already been taken"
"""How GitLab says, with 404, that we gave this emoji before."""


@dataclass(frozen=True, slots=True)
class _Versions:
    """Versions of a merge request, newest first, as of its head and its newest event then."""

    head: Sha
    event: int
    found: tuple[JSONObject, ...]


class Conversations(MergeRequests):
    """Merge requests of one project, and what is said on them."""

    def __init__(self, access: ForgeCredentials, repository: Repository, pool: Clients) -> None:
        super().__init__(access, repository, pool)
        self._kept: dict[int, _Versions] = {}
        self._at_lines: dict[int, str] = {}
        self._unedited: dict[tuple[int, str], bool] = {}
        self._trains = False  # what merges by itself is on one only where the project has them
        self._squashes = False  # every merge, and GitLab refuses who does not ask for it

    async def conversation(self, number: int) -> Conversation:
        """Notes and approvals; reviewers where there are any, versions where they changed."""
        me, shown = await self._access.identity(), await self._last_shown(number)
        notes, approvals, reviewers = await asyncio.gather(
            self._notes(number),
            self._get("read the approvals", f"{place(number)}/approvals"),
            self._reviewers(number) if shown.reviewed else _none(),
        )
        await self._tell_unedited(talk.doubtful(notes, me, self._access.seals))
        versions = await self._versions(number, shown.head, talk.newest_event(notes))
        self._at_lines[number] = "\n".join(
            str(n["body"])
            for n in notes
            if n.get("resolvable") and not n.get("resolved") and is_us(n["author"], me)
        )
        newest = Sha(str(versions[0]["head_commit_sha"] or "")) if versions else shown.head
        said = talk.reviews(approvals, reviewers, versions, notes, me)
        return Conversation(
            head=newest if newest == shown.head else Sha(""),
            opened_at=shown.opened_at,
            comments=talk.comments(notes, me, self._access.seals),
            reviews=said,
            review_texts=(),
            review_numbers=frozenset(review.id for review in said),
            base_at=talk.based_at(notes),
            changes=talk.changes(versions),
            in_queue=shown.queued and self._trains,
            enqueued=shown.queued_by_us and self._trains,
            suggested=talk.suggested(notes, me, self._access.seals),
            decision=talk.decision(approvals),
            readied=None if shown.draft else talk.readied(notes, me),
        )

    async def _notes(self, number: int) -> list[JSONObject]:
        order = {"sort": "asc", "order_by": "created_at"}
        wanted = "read the comments"
        return await reading.read(wanted, self._list(wanted, f"{place(number)}/notes", order))

    async def _tell_unedited(self, doubtful: Sequence[JSONObject]) -> None:
        """Mark the notes that nobody ever edited: only GraphQL tells it, and once for each change.

        It may be answered by a copy of the database that lags behind the one that REST was: what
        that says of a note from before its change says nothing of the change.

        Raises:
            ForgeBusyError: It lags behind, or a part of the answer is an error.

        Source: https://docs.gitlab.com/api/graphql/reference/#note
        """
        last = {int(note["id"]): note for note in doubtful[-_MOST_ASKED:]}
        missing = [n for n, note in last.items() if (n, note["updated_at"]) not in self._unedited]
        if missing:
            asked = " ".join(
                f'n{number}: note(id: "gid://gitlab/Note/{number}") {{ lastEditedAt updatedAt }}'
                for number in missing
            )
            wanted = "read who edited comments"
            told = await self._graphql(wanted, f"query {{ {asked} }}")
            for number in missing:
                found = told.get(f"n{number}")
                said = found if isinstance(found, dict) else {}
                key = number, last[number]["updated_at"]
                if "updatedAt" in said and time(said["updatedAt"]) < _second(time(key[1])):
                    raise ForgeBusyError(wanted, f"what it tells of note {number} is older")
                self._unedited[key] = said.get("lastEditedAt", "not told") is None
            while len(self._unedited) > MOST_SHOWN:
                self._unedited.pop(next(iter(self._unedited)))
        for number, note in last.items():
            note[talk.UNEDITED] = self._unedited.get((number, note["updated_at"]), False)

    async def _graphql(self, wanted: str, query: str) -> JSONObject:
        """What GraphQL tells; nothing where it is not there, or not for us.

        Raises:
            ForgeBusyError: It tells a part: what is missing reads as null, which means something.
        """
        address = f"{self._pool.url}/api/graphql"
        try:
            answer = await call(self._pool, wanted, "POST", address, body={"query": query})
        except ForgeRefusedError:
            return {}
        data = answer.data if isinstance(answer.data, dict) else {}
        told = data.get("data")
        if told and data.get("errors"):
            raise ForgeBusyError(wanted, "a part of its answer is an error")
        return told if isinstance(told, dict) else {}

    async def _reviewers(self, number: int) -> list[JSONObject]:
        path = f"{place(number)}/reviewers"
        return await self._get_list("read the reviews", path)

    async def _versions(self, number: int, head: Sha, event: int) -> tuple[JSONObject, ...]:
        """Versions of a page, newest first; kept until the head or an event is another."""
        kept = self._kept.get(number)
        if kept is None or (kept.head, kept.event) != (head, event):
            wanted, path = "read the versions", f"{place(number)}/versions"
            found = await self._get_list(wanted, path, {"per_page": 100})
            ordered = sorted(found, key=lambda each: int(each["id"]), reverse=True)
            kept = self._kept[number] = _Versions(head, event, tuple(ordered))
        return kept.found

    async def comment(self, number: int, body: str) -> int:
        """Write a comment."""
        text = {"body": speech.sealed(body, self._access.seals)}
        data = await self._send("comment", "POST", f"{place(number)}/notes", text)
        return int(data["id"])

    async def edit_comment(self, number: int, comment: int, body: str) -> None:
        """Replace one of our comments."""
        text = {"body": speech.sealed(body, self._access.seals, comment)}
        await self._send("edit its comment", "PUT", f"{place(number)}/notes/{comment}", text)

    async def delete_comment(self, number: int, comment: int) -> None:
        """Delete one of our comments."""
        with suppress(ForgeMissingError):
            await self._send("delete its comment", "DELETE", f"{place(number)}/notes/{comment}")

    async def react(self, number: int, comment: int, reaction: Reaction) -> None:
        """React to a comment."""
        wanted, path = "react", f"{place(number)}/notes/{comment}/award_emoji"
        answer = await self._ask(wanted, "POST", path, {"name": EMOJI[reaction]})
        if not answer.ok and _TAKEN not in answer.reason:
            raise failure(wanted, answer)


def _second(at: datetime) -> datetime:
    """GraphQL tells times to the second."""
    return at.replace(microsecond=0)


async def _none() -> list[JSONObject]:
    return []
