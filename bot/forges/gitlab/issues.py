"""Issues on GitLab: the bot's own, and what is said on them.

GitLab counts issues apart from merge requests: theirs are the forge's own numbers below zero.
"""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from bot.forges.gitlab import notes, speech, talk
from bot.forges.gitlab.calls import Calls, place
from bot.forges.gitlab.fields import is_us, time
from bot.forges.gitlab.http import ASK_OPERATOR, JSONObject
from bot.forges.port import (
    BotIdentity,
    ForgeMissingError,
    ForgeRefusedError,
    Issue,
    IssueEdit,
)
from lifecycle import boxes
from lifecycle.facts.conversation import Comment


class Issues(Calls):
    """Issues of one project."""

    async def issue(self, number: int) -> Issue:
        """One issue."""
        wanted = "read an issue"
        _check(wanted, number)
        return self._issue(await self._get(wanted, place(number)), await self._access.identity())

    async def own_issues(self) -> tuple[Issue, ...]:
        """Every issue that we opened, oldest first."""
        me = await self._access.identity()
        query = {"author_id": me.account, "scope": "all", "state": "all", "sort": "asc"}
        listed = self._list("list its issues", "/issues", query)
        found = [self._issue(data, me) async for data in listed]
        ours = (issue for issue in found if issue.ours)
        return tuple(sorted(ours, key=lambda issue: -issue.number))

    def _issue(self, data: JSONObject, me: BotIdentity) -> Issue:
        called = str(data["references"]["full"]).rpartition("#")[0]
        self._repository.named("read an issue", called)
        return _issue(data, me)

    async def open_issue(self, title: str, body: str) -> int:
        """Open an issue."""
        wanted, request = "open an issue", {"title": title, "description": body}
        try:
            made = await self._send(wanted, "POST", "/issues", request)
        except ForgeRefusedError as error:
            if (await self._get(wanted, "")).get("issues_access_level") == "disabled":
                raise ForgeMissingError(wanted, error.reason, ASK_OPERATOR) from error
            raise
        return -int(made["iid"])

    async def edit_issue(self, number: int, body: str) -> None:
        """Replace the text, of which nobody is notified."""
        wanted = "edit an issue"
        _check(wanted, number)
        await self._send(wanted, "PUT", place(number), {"description": body})

    async def issue_edits(self, number: int, since: datetime) -> tuple[IssueEdit, ...]:
        """Who ticked which box since then, by the notes that GitLab itself writes of that.

        Of another edit it writes "changed the description": that names no box, and confirms none.
        A note has the line of its box and nothing of what stood around it.
        """
        wanted = "read who edited an issue"
        _check(wanted, number)
        listed = self._list(
            wanted,
            f"{place(number)}/notes",
            {"order_by": "updated_at", "activity_filter": "only_activity"},
        )
        edits = [
            IssueEdit(int(note["author"]["id"]), time(note["created_at"]), boxes.shown(found[1]))
            async for note in _changed(listed, since)
            if note["system"] and (found := _TICKED.fullmatch(str(note["body"])))
        ]
        if not edits:
            return ()
        now = str((await self._get(wanted, place(number)))["description"] or "")
        return tuple(replace(each, now=now) for each in edits)

    async def issue_comments(
        self, number: int, since: datetime | None = None
    ) -> tuple[Comment, ...]:
        """What was said on an issue since then, oldest first.

        GitLab takes no such time here: the list is asked for by what changed last, and not read on.
        """
        wanted, me = "read the comments of an issue", await self._access.identity()
        _check(wanted, number)
        order = {"order_by": "updated_at"} if since else {"sort": "asc"}
        listed = self._list(wanted, f"{place(number)}/notes", order)
        if since:
            listed = _changed(listed, since)
        return talk.comments(await notes.read(wanted, listed), me, self._access.seals)


_TICKED = re.compile(r"marked the (?:checklist item|task) \*\*(.*)\*\* as completed", re.DOTALL)
"""GitLab's note of a box that an edit ticked; it writes one for each ("task" before 15.3).

Source: `SystemNotes::IssuablesService#change_task_status`, and notes of such edits as they are read
"""


async def _changed(listed: AsyncIterator[Any], since: datetime) -> AsyncIterator[Any]:
    """Notes of a list that begins with what changed last, up to those that did before."""
    async for note in listed:
        if time(note["updated_at"]) < since:
            return
        yield note


def _check(wanted: str, number: int) -> None:
    if number >= 0:
        raise ForgeMissingError(wanted, f"{number} is no issue", ASK_OPERATOR)


def _issue(data: JSONObject, me: BotIdentity) -> Issue:
    return Issue(
        number=-int(data["iid"]),
        title=str(data["title"]),
        body=speech.incoming(str(data["description"] or "")),
        ours=is_us(data["author"], me),
        open=data["state"] == "opened",
    )
