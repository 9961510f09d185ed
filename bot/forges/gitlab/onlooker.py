"""A person who looks at a project with a token of their own, and sees what the bot's account wrote.

Only the login of the bot has to be told: whose comments and statuses are its own follows from it.
Their seals are taken as they stand: whoever looks on has no key.
"""

from collections.abc import Callable

from bot.forges.gitlab.http import call
from bot.forges.gitlab.user import GitLabUser
from bot.forges.port import BotIdentity, ForgeMissingError
from fnrunner import urls


class GitLabOnlooker(GitLabUser):
    """A person with a token of their own; implements `bot.forges.gitlab.access.ForgeCredentials`.

    Args:
        name: As `GitLabUser` has it.
        url: Likewise.
        token: Gives the person's; one with `read_api` and `read_repository` will do.
        bot: Login of the bot there.
        ca: As `GitLabUser` has it.
        instance: Likewise.
    """

    def __init__(
        self,
        name: str,
        url: str,
        token: Callable[[], str],
        *,
        bot: str,
        ca: str = "",
        instance: str = "",
    ) -> None:
        super().__init__(name, url, token, ca=ca, instance=instance, seals=())
        self._bot = bot

    async def identity(self) -> BotIdentity:
        """The bot's account, whose comments are its own; asked for once.

        Raises:
            ForgeMissingError: Nobody there has its login.
        """
        if self._me is None:
            query, wanted = {"username": self._bot}, "find the bot's account"
            found = (await call(self.clients, wanted, "GET", "/users", query=query)).data
            if not found:
                raise ForgeMissingError(
                    wanted,
                    f"nobody there is called {self._bot}",
                    "Set PORCHBOT_GITLAB_LOGIN to the bot's login",
                )
            login, number = str(found[0]["username"]), int(found[0]["id"])
            host = urls.parts(self.clients.url).hostname
            address = found[0].get("public_email") or f"{number}-{login}@users.noreply.{host}"
            self._me = BotIdentity(login, str(address), number)
        return self._me
