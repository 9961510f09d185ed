"""One project on GitLab: builds requests, turns answers and errors into our values.

Only fields in use are read. How requests are sent, and what their errors mean, is
`bot.forges.gitlab.http`'s.
"""

from bot.forges.gitlab.branches import Branches
from bot.forges.gitlab.issues import Issues
from bot.forges.gitlab.people import People
from bot.forges.gitlab.pinned import PinnedFiles
from bot.forges.unreadable import reading
from lifecycle.sections import SECTIONS


@reading
class GitLab(Branches, Issues, People, PinnedFiles):
    """One project on GitLab; implements `bot.forges.port.Forge`."""

    owners = SECTIONS
    tells_objections = False

    async def git_credentials(self) -> str:
        """Our login, and the token as its password.

        Source: https://docs.gitlab.com/topics/git/clone/#clone-using-a-token
        """
        return f"{(await self._access.identity()).login}:{self._pool.token()}"
