"""Conversations about pull requests on GitHub: read as one, comments and reactions."""

from contextlib import suppress

from bot.forges.github import talk
from bot.forges.github.http import JSONObject
from bot.forges.github.limits import Cost
from bot.forges.github.proposals import PullRequests
from bot.forges.port import Conversation, ForgeMissingError, ForgeRefusedError
from cadlib.diff.patch import Suggestion
from lifecycle.actions import Reaction, Suggest
from lifecycle.messages.markdown import block

REACTIONS = {
    Reaction.SEEN: "eyes",
    Reaction.DONE: "rocket",
    Reaction.REFUSED: "-1",
    Reaction.CONFUSED: "confused",
}


class Conversations(PullRequests):
    """Pull requests of one repository, and what is said on them."""

    async def conversation(self, number: int) -> Conversation:
        """Comments, reviews and changes of the branches."""
        me = await self._app.identity()
        node = await self._node(number)
        return await self._pool.run(Cost.QUERY, "read the conversation", talk.read, node, me)

    async def comment(self, number: int, body: str) -> int:
        """Write a comment."""
        path = f"/issues/{number}/comments"
        data = await self._send("comment", "POST", path, {"body": body}, Cost.CREATE)
        return int(data["id"])

    async def edit_comment(self, number: int, comment: int, body: str) -> None:
        """Replace one of our comments, which GitHub knows by its number alone."""
        del number
        path = f"/issues/comments/{comment}"
        await self._send("edit its comment", "PATCH", path, {"body": body})

    async def delete_comment(self, number: int, comment: int) -> None:
        """Delete one of our comments."""
        del number
        with suppress(ForgeMissingError):
            await self._send("delete its comment", "DELETE", f"/issues/comments/{comment}", None)

    async def suggest(self, suggest: Suggest) -> None:
        """Write a review; where a line is none of the difference, GitHub takes none of them."""
        path = f"/pulls/{suggest.number}/reviews"
        body: JSONObject = {"commit_id": suggest.head, "event": "COMMENT", "body": suggest.body}
        comments = [_suggestion(each) for each in suggest.suggestions]
        try:
            whole = body | {"comments": comments}
            await self._send("suggest changes", "POST", path, whole, Cost.CREATE)
        except ForgeMissingError:
            raise
        except ForgeRefusedError:
            await self._send("suggest changes", "POST", path, body, Cost.CREATE)

    async def react(self, number: int, comment: int, reaction: Reaction) -> None:
        """React to a comment."""
        del number
        path = f"/issues/comments/{comment}/reactions"
        await self._send("react", "POST", path, {"content": REACTIONS[reaction]})


def _suggestion(wanted: Suggestion) -> JSONObject:
    """A remark at lines of the head that GitHub shows with a button which commits it."""
    start = (
        {"start_line": wanted.first, "start_side": "RIGHT"} if wanted.first < wanted.last else {}
    )
    return start | {
        "path": wanted.path,
        "line": wanted.last,
        "side": "RIGHT",
        "body": block(wanted.text, "suggestion"),
    }
