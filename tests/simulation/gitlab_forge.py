"""The simulated forge in GitLab's dialect: the bot's own adapter asks its API, in process."""

from collections.abc import Callable
from random import Random
from typing import Any, ParamSpec, TypeVar

from bot.clock import Clock, Offload
from bot.forges.gitlab.forge import GitLab
from bot.forges.gitlab.forges import GitLabForges
from bot.forges.gitlab.user import GitLabUser
from bot.forges.port import Forges
from bot.sandbox.api import Links
from bot.sandbox.faults.calls import Faults
from bot.sandbox.faults.hooks import OutgoingHook
from bot.sandbox.gitlab.deliveries import DeliveryPublisher, sending
from bot.sandbox.gitlab.git_access import GitLabGitAccess, GitLabGitCaller
from bot.sandbox.gitlab.http import GitLabApi
from bot.sandbox.gitlab.tokens import GitLabCaller, Tokens
from bot.sandbox.records.accounts import User
from bot.sandbox.rules.pushing import GitAccess, GitCaller
from bot.sandbox.rules.state import ForgeState
from bot.sandbox.sending import SentHook
from tests.gitlab_calls import session
from tests.simulation.forge import WEB, SimulatedForge
from tests.simulation.gitlab_asking import Answered, Asking, Shown

P = ParamSpec("P")
T = TypeVar("T")

NAME = "gitlab"


async def at_once(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Implements `bot.clock.Offload`, where nobody comes between."""
    return work(*args, **kwargs)


BOT = "porchbot"


class SimulatedGitLab(SimulatedForge):
    """A GitLab with one bot, which is a plain account with a token.

    What its API was asked and answered is kept for a few changes: an answer that is stale is one of
    these.

    Args:
        clock: Time of the forge.
        drawn: As `SimulatedForge` has it.
        going_wrong: What goes wrong with calls of its API.
        more: As `SimulatedForge` has it.
    """

    name = NAME

    def __init__(
        self, clock: Clock, drawn: Random, going_wrong: Callable[[ForgeState], Faults], **more: Any
    ) -> None:
        super().__init__(clock, drawn, **more)
        self.links = Links(api=f"{WEB}/api/v4", web=WEB)
        # The API's own operations on webhooks see a forge on which nothing happens.
        deaf = ForgeState(self.store, clock.now)
        hooks = sending(deaf, self.links, Faults(deaf).hooks)
        self.api_faults = going_wrong(self.state)
        self.api = GitLabApi(self.state, self.links, self.tokens, self.api_faults, hooks)
        self._log = hooks.log
        self._token = ""
        self.shown = Shown()

    def _speak(self, send: Callable[[OutgoingHook], None]) -> GitAccess:
        self.tokens = Tokens(self.state)
        links = Links(api=f"{WEB}/api/v4", web=WEB)
        DeliveryPublisher(self.state, links, send, self._guid)
        return GitLabGitAccess(self.state, self.tokens)

    def lose(self, hook: OutgoingHook) -> None:
        """As `SimulatedForge` has it: the log of the webhook says that nobody answered."""
        super().lose(hook)
        at, number = self.state.now(), self.state.next_id()
        self._log.append(SentHook(id=number, delivery=hook, status=0, seconds=10.0, at=at))

    def visit(self, user: User) -> GitCaller:
        """Somebody who uses git and needs no token."""
        return GitLabGitCaller(self.state, GitLabCaller(user=user))

    @property
    def us(self) -> User:
        """The bot's account."""
        return self.state.user(BOT)

    def token(self) -> str:
        """The bot's token."""
        if not self._token:
            self._token = self.tokens.make(BOT).value
        return self._token

    def forges(self, replica: str = "bot", offload: Offload | None = None) -> Forges:
        """The adapter, for one bot."""
        asking = Asking(self, replica, offload or at_once)
        over = lambda: session(asking.answer)  # noqa: E731 (short)
        user = GitLabUser(
            NAME, WEB, self.token, clock=self.clock, session=over, offload=asking.offload
        )
        return GitLabForges(user, project=GitLab)

    def asked(self, *request: Any) -> Answered:
        """Answer a request of the bot: reading may end what GitLab does behind the scenes."""
        if request[0] != "GET":
            with self.change():
                return self.api.answer(*request)
        answer = self.api.answer(*request)
        if self.state.refs_touched or self.state.pulls_touched:
            with self.change():
                pass
        return answer
