"""One repository on GitHub: builds requests, turns answers and errors into our values.

Only fields in use are read. How requests are sent, and what their errors mean, is
`bot.forges.github.http`'s.
"""

from urllib.parse import quote

from bot.forges.github import people
from bot.forges.github.branches import Branches
from bot.forges.github.checks import CheckRuns
from bot.forges.github.conversations import Conversations
from bot.forges.github.fields import is_us
from bot.forges.github.http import pages
from bot.forges.github.issues import Issues
from bot.forges.github.pinned import PinnedFiles
from bot.forges.github.statuses import StatusChecks
from bot.forges.port import ForgeMissingError
from bot.forges.unreadable import reading
from lifecycle.access import Role


@reading
class GitHub(Conversations, Issues, CheckRuns, Branches, PinnedFiles):
    """One repository on GitHub, for an App; implements `bot.forges.port.Forge`."""

    async def git_credentials(self) -> str:
        """The installation's token, as the password of the user that GitHub has for Apps.

        Source: https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/authenticating-as-a-github-app-installation
        """
        number = self._repository.installation
        return f"x-access-token:{await self._pool.offload(self._app.installation_token, number)}"

    async def role(self, login: str, account: int) -> Role:
        """A person's role; nobody's when the forge knows no such collaborator."""
        path = f"/collaborators/{quote(login, safe='')}/permission"
        try:
            data = await self._get("read a person's role", path)
        except ForgeMissingError:
            return Role.NONE
        if is_us(data.get("user"), self._app.machine):
            return Role.NONE
        return people.role_of(data, account)

    async def team(self, slug: str) -> frozenset[str]:
        """Members of a team and of its child teams, which GitHub's list holds.

        Source: https://docs.github.com/rest/teams/members#list-team-members
        """
        owner = self._repository.full_name.partition("/")[0]
        path = f"/orgs/{quote(owner, safe='')}/teams/{quote(slug, safe='')}/members"
        listed = pages(self._pool, "read who is in a team", path)
        return frozenset([str(each["login"]).lower() async for each in listed])


@reading
class GitHubByUser(StatusChecks, GitHub):
    """One repository on GitHub, for a machine user."""
