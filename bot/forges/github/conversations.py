"""Conversations about pull requests on GitHub: read as one, comments and reactions."""

from contextlib import suppress

from bot.forges.github import talk
from bot.forges.github.limits import Cost
from bot.forges.github.proposals import PullRequests
from bot.forges.port import Conversation, ForgeMissingError
from lifecycle.actions import Reaction

REACTIONS = {Reaction.DONE: "rocket", Reaction.REFUSED: "-1", Reaction.CONFUSED: "confused"}


class Conversations(PullRequests):
    """Pull requests of one repository, and what is said on them."""

    async def conversation(self, number: int) -> Conversation:
        """Comments, reviews and changes of the branches."""
        me = await self._app.identity()
        node = await self._node(number)
        return await self._pool.run(Cost.QUERY, "read the conversation", talk.read, node, me.login)

    async def comment(self, number: int, body: str) -> int:
        """Write a comment."""
        path = f"/issues/{number}/comments"
        data = await self._send("comment", "POST", path, {"body": body}, Cost.CREATE)
        return int(data["id"])

    async def edit_comment(self, comment: int, body: str) -> None:
        """Replace one of our comments."""
        path = f"/issues/comments/{comment}"
        await self._send("edit its comment", "PATCH", path, {"body": body})

    async def delete_comment(self, comment: int) -> None:
        """Delete one of our comments."""
        with suppress(ForgeMissingError):
            await self._send("delete its comment", "DELETE", f"/issues/comments/{comment}", None)

    async def react(self, comment: int, reaction: Reaction) -> None:
        """React to a comment."""
        path = f"/issues/comments/{comment}/reactions"
        await self._send("react", "POST", path, {"content": REACTIONS[reaction]})
