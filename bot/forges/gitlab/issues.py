"""Issues on GitLab: the bot's own, and what is said on them.

GitLab counts issues apart from merge requests: theirs are the forge's own numbers below zero.
"""

from bot.forges.gitlab import speech, talk
from bot.forges.gitlab.calls import Calls, place
from bot.forges.gitlab.fields import is_us
from bot.forges.gitlab.http import JSONObject
from bot.forges.port import BotIdentity, ForgeMissingError, Issue
from lifecycle.facts.conversation import Comment


class Issues(Calls):
    """Issues of one project."""

    async def issue(self, number: int) -> Issue:
        """One issue."""
        wanted = "read an issue"
        if number >= 0:
            raise ForgeMissingError(wanted, f"{number} is no issue")
        return _issue(await self._get(wanted, place(number)), await self._access.identity())

    async def own_issues(self) -> tuple[Issue, ...]:
        """Every issue that we opened, oldest first."""
        me = await self._access.identity()
        query = {"author_id": me.account, "scope": "all", "state": "all", "sort": "asc"}
        listed = self._list("list its issues", "/issues", query)
        found = [_issue(data, me) async for data in listed]
        ours = (issue for issue in found if issue.ours)
        return tuple(sorted(ours, key=lambda issue: -issue.number))

    async def open_issue(self, title: str, body: str) -> int:
        """Open an issue."""
        request = {"title": title, "description": body}
        return -int((await self._send("open an issue", "POST", "/issues", request))["iid"])

    async def edit_issue(self, number: int, body: str) -> None:
        """Replace the text, of which nobody is notified."""
        wanted = "edit an issue"
        if number >= 0:
            raise ForgeMissingError(wanted, f"{number} is no issue")
        await self._send(wanted, "PUT", place(number), {"description": body})

    async def issue_comments(self, number: int) -> tuple[Comment, ...]:
        """What was said on an issue, oldest first."""
        wanted, me = "read the comments of an issue", await self._access.identity()
        if number >= 0:
            raise ForgeMissingError(wanted, f"{number} is no issue")
        listed = self._list(wanted, f"{place(number)}/notes", {"sort": "asc"})
        return talk.comments([data async for data in listed], me)


def _issue(data: JSONObject, me: BotIdentity) -> Issue:
    return Issue(
        number=-int(data["iid"]),
        title=str(data["title"]),
        body=speech.incoming(str(data["description"] or "")),
        ours=is_us(data["author"], me),
        open=data["state"] == "opened",
    )
