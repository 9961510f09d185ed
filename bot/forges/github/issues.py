"""Issues on GitHub: the bot's own, and what is said on them."""

from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime

from bot.forges.github.calls import Calls
from bot.forges.github.fields import is_us, person, time
from bot.forges.github.http import JSONObject, graphql, pages
from bot.forges.github.limits import Cost
from bot.forges.port import (
    BotIdentity,
    ForgeMissingError,
    ForgeRefusedError,
    ForgeRenamedError,
    Issue,
    IssueEdit,
)
from lifecycle.facts.conversation import Comment


class Issues(Calls):
    """Issues of one repository."""

    async def issue(self, number: int) -> Issue:
        """One issue; a pull request is none, and one that was transferred is another repository's.

        GitHub leads on to where that is now, with the number that it has there.
        """
        wanted = "read an issue"
        data = await self._get(wanted, f"/issues/{number}")
        if "pull_request" in data:
            raise ForgeMissingError(wanted, f"#{number} is a pull request")
        try:
            return self._issue(wanted, data, await self._app.identity())
        except ForgeRenamedError as error:
            raise ForgeMissingError(wanted, error.reason) from error

    async def own_issues(self) -> tuple[Issue, ...]:
        """Every issue that we opened, or an App that we replace, oldest first.

        GitHub lists pull requests with them, and takes the filter for a hint at best: what came
        back is checked. An App that is known to lack the permission has none: it could not have
        opened one. What a token may do nobody is told: what it may not read is not known.
        """
        me = await self._app.identity()
        try:
            found = await self._issues_of(me.login, me)
        except ForgeMissingError:
            raise
        except ForgeRefusedError:
            granted = await self._app.permissions(self._repository.installation)
            if granted is None or "issues" in granted:
                raise
            return ()
        for login in me.earlier:
            with suppress(ForgeRefusedError):  # nobody is called so any more
                found |= await self._issues_of(login, me)
        ours = (found[number] for number in sorted(found))
        return tuple(issue for issue in ours if issue.ours)

    async def _issues_of(self, login: str, me: BotIdentity) -> dict[int, Issue]:
        order = {"state": "all", "sort": "created", "direction": "asc", "creator": login}
        wanted = "list its issues"
        listed = pages(self._pool, wanted, f"{self._path}/issues", **order)
        issues = [data async for data in listed if "pull_request" not in data]
        found = [self._issue(wanted, data, me) for data in issues]
        return {issue.number: issue for issue in found}

    def _issue(self, wanted: str, data: JSONObject, me: BotIdentity) -> Issue:
        self._repository.named(wanted, str(data["repository_url"]).partition("/repos/")[2])
        return _issue(data, me)

    async def open_issue(self, title: str, body: str) -> int:
        """Open an issue."""
        request = {"title": title, "body": body}
        data = await self._send("open an issue", "POST", "/issues", request, Cost.CREATE)
        return int(data["number"])

    async def edit_issue(self, number: int, body: str) -> None:
        """Replace the text, of which nobody is notified."""
        await self._send("edit an issue", "PATCH", f"/issues/{number}", {"body": body})

    async def issue_edits(self, number: int, since: datetime) -> tuple[IssueEdit, ...]:
        """Who edited the text since then; of very many edits the first and the last.

        GitHub does not say in which order it lists them, so both ends are asked for. Several of one
        person in one second are alike; an end tells of each once.
        """
        owner, _, name = self._repository.full_name.partition("/")
        asked = {"owner": owner, "name": name, "number": number}
        wanted = "read who edited an issue"
        told = await self._pool.run(Cost.QUERY, wanted, graphql, wanted, _EDITS, asked)
        there = told["repository"] or {"databaseId": self._repository.id.number}
        self._repository.meant(wanted, int(there["databaseId"]))
        issue = there.get("issue") or {}
        first, last = (
            Counter(_edit(node) for node in (issue.get(end) or {"nodes": ()})["nodes"] if node)
            for end in ("first", "last")
        )
        found = (first | last).elements()  # the ends overlap
        return tuple(each for each in found if each.person and each.at >= since)

    async def issue_comments(
        self, number: int, since: datetime | None = None
    ) -> tuple[Comment, ...]:
        """What was said on an issue since then, oldest first."""
        me = await self._app.identity()
        path = f"{self._path}/issues/{number}/comments"
        query = {"since": f"{since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"} if since else {}
        listed = pages(self._pool, "read the comments of an issue", path, **query)
        found = [_comment(data, me) async for data in listed]
        return tuple(sorted(found, key=lambda comment: comment.id))


_EDITS = """
query Edits($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    databaseId
    issue(number: $number) {
      first: userContentEdits(first: 50) { nodes { ...edit } }
      last: userContentEdits(last: 50) { nodes { ...edit } }
    }
  }
}
fragment edit on UserContentEdit { editedAt editor { ... on User { databaseId } } }
"""


def _edit(node: JSONObject) -> IssueEdit:
    return IssueEdit(int((node["editor"] or {}).get("databaseId") or 0), time(node["editedAt"]))


def _issue(data: JSONObject, me: BotIdentity) -> Issue:
    return Issue(
        number=int(data["number"]),
        title=str(data["title"]),
        body=str(data["body"] or ""),
        ours=is_us(data["user"], me),
        open=data["state"] == "open",
    )


def _comment(data: JSONObject, me: BotIdentity) -> Comment:
    at, changed = time(data["created_at"]), time(data["updated_at"])
    return Comment(
        id=int(data["id"]),
        author=person(data["user"], me),
        body=str(data["body"] or ""),
        at=at,
        edited=changed != at,
        edited_at=changed if changed != at else None,
        ours=is_us(data["user"], me),
    )
