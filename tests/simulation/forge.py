"""A forge in process: the sandbox's rules over git in memory, for the bot and for people.

`SimulatedForge` holds it together. The bot is given `forges(replica)` and `mirrors(replica)`;
people act by `act(login)`; webhooks that the forge makes lie in `deliveries`, as they would be
sent, until somebody takes them; `faults` is asked what befalls each request of a bot. Nothing here
waits, but that each request lets other tasks run first.
"""

import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any

from bot.clock import Clock, Offload
from bot.forges.port import Forges
from bot.sandbox.api import Links
from bot.sandbox.faults.hooks import OutgoingHook
from bot.sandbox.github.deliveries import DeliveryPublisher, Payload
from bot.sandbox.github.git_access import GitHubGitAccess, GitHubGitCaller
from bot.sandbox.records.accounts import App, User
from bot.sandbox.records.memory import Installation
from bot.sandbox.records.refs import ActivityKind, RefChange
from bot.sandbox.records.repository import Pull, Repository
from bot.sandbox.refnames import is_tag
from bot.sandbox.rules import pushing
from bot.sandbox.rules.accounts import Accounts, Caller
from bot.sandbox.rules.state import ForgeState
from lifecycle.identity import GITHUB
from tests.memory.git import MemoryMirrors
from tests.simulation import forge_calls, forge_hooks
from tests.simulation.forge_calls import Answered, Faults
from tests.simulation.forge_git import MemoryStore
from tests.simulation.forge_past import Past
from tests.simulation.forge_people import Actor
from tests.simulation.forge_port import SimulatedForges
from tests.simulation.forge_read import Reading
from tests.simulation.forge_remote import RemoteRepository
from tests.simulation.forge_values import Talks, check, proposal

WEB = "https://forge.example"

MOST_TAGS_TOLD = 3
"""Tags in one push that the forge tells of; of more it tells nobody."""
LINKS = Links(api=f"{WEB}/api/v3", web=WEB)


class TouchedState(ForgeState):
    """The sandbox's rules, which tell what they have touched.

    Attributes:
        silent_listeners: Are told of tags that moved without a webhook.
    """

    def __init__(self, store: MemoryStore, clock: Callable[[], datetime]) -> None:
        super().__init__(store, clock)
        self.pulls_touched: dict[int, Pull] = {}
        self.commits_touched: dict[tuple[int, str], Repository] = {}
        self.refs_touched: dict[int, Repository] = {}
        self.roles_touched: dict[int, Repository] = {}
        self.silent_listeners: list[Callable[[Repository, RefChange, User], None]] = []

    def emit(
        self, kind: str, action: str | None, repo: Repository | None, sender: User, **extra: Any
    ) -> None:
        for thread in (
            extra.get("pull"),
            extra.get("merge_request"),
            extra["comment"].thread if "comment" in extra else None,
            extra["review"].pull if "review" in extra else None,
        ):
            if isinstance(thread, Pull):
                self.pulls_touched[thread.id] = thread
        if "run" in extra:
            self.touch_commit(extra["run"].suite.repo, extra["run"].head_sha)
        if "status" in extra and repo is not None:
            self.touch_commit(repo, extra["status"].sha)
        super().emit(kind, action, repo, sender, **extra)

    def note(self, pull: Pull, actor: User, kind: str, text: str, **detail: object) -> None:
        self.pulls_touched[pull.id] = pull
        super().note(pull, actor, kind, text, **detail)

    def refs_changed(
        self,
        repo: Repository,
        changes: Sequence[RefChange],
        actor: User,
        kind: ActivityKind | None = None,
    ) -> None:
        self.refs_touched[repo.id] = repo
        super().refs_changed(repo, changes, actor, kind)
        tags = [change for change in changes if is_tag(change.ref)]
        for change in tags if len(tags) > MOST_TAGS_TOLD else ():
            for follow in self.silent_listeners:
                follow(repo, change, actor)

    def touch_commit(self, repo: Repository, sha: str) -> None:
        """Checks at a commit change."""
        self.commits_touched[repo.id, sha] = repo


class SimulatedForge:
    """A forge with one App, and with the repositories and people that are set up.

    Args:
        clock: Time of the forge; its `sleep(0)` lets other tasks run.
        drawn: Where ids of deliveries come from.
        secret: What webhooks are signed with; "" for no signatures.
        faults: Asked for each request of a bot what befalls it.
        payload: Makes the bodies of webhooks; by default without what the bot does not read.
        send: Is given each webhook that is made; by default they are put into `deliveries`.

    Attributes:
        state: The sandbox's rules and memory; what is done to it outside of `act` and of the bot
            belongs into a `with change():`.
        past: What was shown before.
        moment: The moment from which the read that is under way is answered; None for now.
        deliveries: Webhooks that nobody has taken yet, oldest first.
        failed: Those that were not accepted, as the log has them, oldest first, and when.
        read: What stands there now, for who judges.
        answered: Told of each request of a bot.
    """

    name = GITHUB

    def __init__(
        self,
        clock: Clock,
        drawn: random.Random,
        *,
        secret: str = "",
        faults: Faults = forge_calls.none,
        payload: Payload = forge_hooks.payload,
        send: Callable[[OutgoingHook], None] | None = None,
    ) -> None:
        self.clock = clock
        self.links = LINKS
        self.faults = faults
        self.answered: Answered = forge_calls.untold
        self.past = Past()
        self.moment: int | None = None
        self.store = MemoryStore()
        self.state = TouchedState(self.store, clock.now)
        self.accounts = Accounts(self.state)
        self.accounts.long_tokens = False
        self.deliveries: deque[OutgoingHook] = deque()
        self.failed: list[tuple[OutgoingHook, datetime]] = []
        self._payload, self._drawn = payload, drawn
        self.pressed: dict[str, OutgoingHook] = {}
        self.git_access = self._speak(partial(self._told, send or self.deliveries.append))
        self._secret = secret
        self._app: App | None = None
        self._talks: Talks | None = None
        self.read = Reading(self)

    # What another forge has in its own way.

    def _speak(self, send: Callable[[OutgoingHook], None]) -> pushing.GitAccess:
        """Begin to tell of what happens; access to git."""
        DeliveryPublisher(self.state, self.links, send, self._guid, self._payload)
        return GitHubGitAccess(self.state, self.accounts, self.links.web)

    def _guid(self) -> str:
        return f"{self._drawn.getrandbits(128):032x}"

    def visit(self, user: User) -> pushing.GitCaller:
        """Somebody who uses git and needs no token."""
        access = GitHubGitAccess(self.state, self.accounts, self.links.web)
        return GitHubGitCaller(access, Caller(user=user))

    # Setting it up.

    def add_app(self, owner: str, *, slug: str = "porchbot", **more: Any) -> App:
        """Register the App that the bot is; see `ForgeState.register_app`."""
        self._app = self.state.register_app(
            slug,
            "",
            owner=owner,
            webhook_url=f"{WEB}/webhook",
            webhook_secret=self._secret,
            **more,
        )
        self._talks = Talks(self.us)
        return self._app

    def install(self, *repositories: Repository) -> Installation:
        """Let the App into repositories of one owner."""
        return self.state.install(self.app, *repositories)

    def add_repository(
        self,
        owner: str,
        name: str,
        files: Mapping[str, bytes],
        roles: Mapping[str, str],
        *,
        private: bool = False,
        issues: bool = False,
    ) -> Repository:
        """Make a repository whose main branch holds some files; roles by login.

        Without issues the bot opens none, whose number would come before those of proposals.
        """
        repo = self.state.add_repository(owner, name, private=private)
        repo.has_issues = issues
        for login, role in roles.items():
            self.state.add_member(repo, login, role)
        self._keep_roles(repo)
        self.act(owner).push("main", files, "Begin", repo=repo, base="")
        return repo

    @property
    def app(self) -> App:
        """The App that the bot is."""
        if self._app is None:
            raise ValueError("add_app was not called")
        return self._app

    @property
    def us(self) -> User:
        """The App's account."""
        return self.state.app_user(self.app)

    # Who uses it.

    def forges(self, replica: str = "bot", offload: Offload | None = None) -> Forges:
        """The port, for one bot; `offload` is where an adapter waits for answers."""
        del offload
        return SimulatedForges(self, replica)

    def mirrors(self, replica: str = "bot", clock: Clock | None = None) -> MemoryMirrors:
        """Mirrors of one bot, which fetch from here; those of a bot begin empty.

        Args:
            replica: Whose calls these are.
            clock: The bot's own, where it is wrong.
        """
        return MemoryMirrors(RemoteRepositories(self, replica), clock or self.clock)

    def act(self, login: str, repo: Repository | None = None) -> Actor:
        """What somebody does by the pages, the API, or git; in the first repository by default."""
        return Actor(self, login, repo)

    def _told(self, send: Callable[[OutgoingHook], None], hook: OutgoingHook) -> None:
        """What was pressed stands in the log, whoever accepts it."""
        if hook.event == "check_run" and b"requested_action" in hook.body:
            self.pressed[hook.guid] = hook
        send(hook)

    def lose(self, hook: OutgoingHook) -> None:
        """A webhook was not accepted: only the log tells of it."""
        self.failed.append((hook, self.clock.now()))

    def url(self, repo: Repository) -> str:
        """Where git reaches a repository."""
        return f"{self.links.web}/{repo.full_name}.git"

    # What changes, and what was shown before.

    @contextmanager
    def change(self) -> Iterator[None]:
        """Around all that changes the forge: afterwards every read shows it."""
        try:
            yield
        finally:
            self._remember()

    def _remember(self) -> None:
        state, past = self.state, self.past
        past.now += 1
        for pull in state.pulls_touched.values():
            state.refs_touched[pull.repo.id] = pull.repo  # a head has a ref of its own
        for repo in state.refs_touched.values():
            past.keep(("refs", repo.id), self.store.open(repo.id).place.refs)
            past.keep(("moves", repo.id), len(repo.activity))
        for pull in state.pulls_touched.values():
            key = (pull.repo.id, pull.number)
            past.keep(("pull", *key), proposal(pull))
            if self._talks is not None:
                past.keep(("talk", *key), self._talks.conversation(pull))
            past.keep(("pulls", pull.repo.id), tuple(pull.repo.pulls))
        for (repo_id, sha), repo in state.commits_touched.items():
            runs = state.checks.runs_on(repo, sha)
            past.keep(("runs", repo_id, sha), tuple([check(run, self.app.id) for run in runs]))
            statuses = state.checks.statuses_on(repo, sha, latest=True)
            past.keep(("statuses", repo_id, sha), {s.context: s.state for s in statuses})
        for repo in state.roles_touched.values():
            self._keep_roles(repo)
        state.roles_touched.clear()
        state.refs_touched.clear()
        state.pulls_touched.clear()
        state.commits_touched.clear()

    def _keep_roles(self, repo: Repository) -> None:
        users = self.state.data.users.values()
        roles = {user.id: self.state.role(repo, user) for user in users}
        self.past.keep(("roles", repo.id), roles)


class RemoteRepositories(Mapping[str, RemoteRepository]):
    """The forge's repositories by their addresses, former ones too."""

    def __init__(self, forge: SimulatedForge, replica: str) -> None:
        self._forge = forge
        self._replica = replica

    def __getitem__(self, url: str) -> RemoteRepository:
        return RemoteRepository(self._forge, self.repository(url), self._replica)

    def repository(self, url: str) -> Repository:
        """The one at an address.

        Raises:
            KeyError: There is none.
        """
        owner, _, name = url.removeprefix(f"{WEB}/").removesuffix(".git").partition("/")
        data, former = self._forge.state.data, self._forge.state.moved(owner, name)
        wanted = f"{owner}/{name}".lower()
        found = (r for r in data.repositories.values() if r.full_name.lower() == wanted)
        repo = former or next(found, None)
        if repo is None:
            raise KeyError(url)
        return repo

    def __iter__(self) -> Iterator[str]:
        return (self._forge.url(repo) for repo in self._forge.state.data.repositories.values())

    def __len__(self) -> int:
        return len(self._forge.state.data.repositories)
