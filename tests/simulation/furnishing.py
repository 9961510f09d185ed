"""What there is before anything happens, at each forge: people, a bot, and packages."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Protocol

from bot.clock import Clock
from bot.forges.gitlab.deliveries import GitLabWebhooks
from bot.forges.gitlab.hooks import PROJECT, HookOwner, HookSecrets
from bot.forges.port import BotIdentity
from bot.forges.webhooks import WebhookReader
from bot.sandbox.faults.calls import Faults as ApiFaults
from bot.sandbox.faults.hooks import OutgoingHook
from bot.sandbox.records.accounts import App
from bot.sandbox.records.gitlab import WebHook
from bot.sandbox.records.memory import Installation
from bot.sandbox.records.repository import Repository
from tests.simulation.forge import WEB, SimulatedForge
from tests.simulation.forge_calls import Faults
from tests.simulation.github_hands import GitHubHands
from tests.simulation.gitlab_forge import BOT as ACCOUNT
from tests.simulation.gitlab_forge import SimulatedGitLab
from tests.simulation.gitlab_hands import GRANTED, GitLabHands
from tests.simulation.gitlab_templates import Templated, templated
from tests.simulation.gitlab_ways import MERGE, make, ways
from tests.simulation.hands import Hands, ImpossibleError
from tests.simulation.setting import (
    ADVERSARY,
    BOT,
    CONFIG,
    HONEST,
    PACKAGES,
    PEOPLE,
    ROLES,
    TEAM,
    RulesText,
    kptfile,
    resource,
)
from tests.simulation.system import READER

OWNER = "acme"
SECRET = "a secret of webhooks"
HEARD = frozenset(
    {
        "push_events",
        "tag_push_events",
        "merge_requests_events",
        "note_events",
        "pipeline_events",
        "job_events",
        "emoji_events",
        "issues_events",
    }
)
"""What the bot's webhook at GitLab is told of."""


class Furnished(Protocol):
    """A forge with all that is there at the beginning.

    Attributes:
        forge: The forge.
        reader: Reads its webhooks.
        me: Who the bot is there.
        roles: What role each person has, as rules name it.
        hands: What people can do there.
        app: What the bot's checks are known by; None where they are statuses.
        rebases: Merged is only what stands on the newest of its base.
        beside: Other repositories that the bot is let into at the same time.
    """

    forge: SimulatedForge
    reader: WebhookReader
    me: BotIdentity
    roles: Mapping[str, str]
    hands: Callable[..., Hands]
    app: App | None
    rebases: bool
    beside: list[Repository]

    def furnish(
        self, rules: RulesText | None, drawn: Random, files: Mapping[str, bytes] | None = None
    ) -> Repository:
        """Make the repository.

        Args:
            rules: Those that it has; None for no file.
            drawn: Where comes from what one repository of this forge has otherwise than another.
            files: What it holds; None for the packages that are there otherwise.
        """

    def templated(self, hook: OutgoingHook, drawn: Random) -> Templated | None:
        """What the adversary says like a webhook that was just made; None for nothing.

        Args:
            hook: What the forge said.
            drawn: A stream of her own.
        """

    def let_in(self) -> None:
        """The bot may work in the repository from now on."""

    def put_out(self) -> None:
        """It may not any more.

        Raises:
            ImpossibleError: It may not now.
        """

    def suspend(self) -> Callable[[], None]:
        """It can do nothing until what this gives is called.

        Raises:
            ImpossibleError: It cannot now.
        """


class AtGitHub:
    """A GitHub whose bot is an App; implements `Furnished`."""

    reader: WebhookReader = READER
    me = BotIdentity(BOT, "")
    roles: Mapping[str, str] = ROLES
    hands: Callable[..., Hands] = GitHubHands
    app: App | None
    rebases = False

    def __init__(self, clock: Clock, drawn: Random, faults: Faults) -> None:
        self.forge = SimulatedForge(clock, drawn, faults=faults)
        self.beside: list[Repository] = []

    def furnish(
        self, rules: RulesText | None, drawn: Random, files: Mapping[str, bytes] | None = None
    ) -> Repository:
        """As `Furnished` has it."""
        state = self.forge.state
        for login in PEOPLE:
            state.add_user(login)
        state.organizations.add(OWNER)
        self.app = self.forge.add_app(OWNER)
        self._repo = _repository(self.forge, rules, ROLES, files)
        state.organizations.add_team(OWNER, TEAM)
        return self._repo

    def templated(self, _hook: OutgoingHook, _drawn: Random) -> None:
        """As `Furnished` has it: nobody writes the bodies of an App's webhook."""

    def let_in(self) -> None:
        """As `Furnished` has it."""
        self.forge.install(self._repo, *self.beside)

    def put_out(self) -> None:
        """As `Furnished` has it: the App is uninstalled."""
        self.forge.state.uninstall(self._installation())

    def suspend(self) -> Callable[[], None]:
        """As `Furnished` has it."""
        state, installation = self.forge.state, self._installation()
        state.suspend(installation)
        return lambda: state.suspend(installation, suspended=False)

    def _installation(self) -> Installation:
        there = list(self.forge.state.data.installations.values())
        if not there or there[0].suspended_at is not None:
            raise ImpossibleError
        return there[0]


class AtGitLab:
    """A GitLab whose bot is a Maintainer with a token; implements `Furnished`.

    Whoever may edit and delete what others wrote is a Maintainer there: the adversary is one.
    """

    reader: WebhookReader
    roles: Mapping[str, str] = {**ROLES, ADVERSARY: "maintain"}
    hands: Callable[..., Hands] = GitLabHands
    app: App | None = None

    def __init__(self, clock: Clock, drawn: Random, faults: Faults) -> None:
        made = SimulatedGitLab(clock, drawn, ApiFaults, faults=faults)
        self.beside: list[Repository] = []
        self.forge: SimulatedForge = made
        self.reader = GitLabWebhooks(made.name, [SECRET.encode()])
        self._secrets = HookSecrets(made.name, (SECRET.encode(),))

    def furnish(
        self, rules: RulesText | None, drawn: Random, files: Mapping[str, bytes] | None = None
    ) -> Repository:
        """As `Furnished` has it."""
        state = self.forge.state
        for login in (*PEOPLE, ACCOUNT):
            state.add_user(login)
        state.organizations.add(OWNER)
        self.me = BotIdentity(BOT, "", state.user(ACCOUNT).id)
        roles = {who: GRANTED.get(role, role) for who, role in self.roles.items()}
        self._repo = _repository(self.forge, rules, roles, files)
        self.ways = ways(drawn)
        self.rebases = self.ways.method != MERGE
        make(state, self._repo, self.ways)
        hook = WebHook(
            id=state.next_id(),
            kind="project",
            owner_id=self._repo.id,
            url=f"{WEB}/hook",
            uuid="hook",
            created_at=state.now(),
            events=set(HEARD),
            token=self._secrets.token(HookOwner(PROJECT, self._repo.id)),
        )
        self._repo.gitlab.hooks[hook.id] = hook
        return self._repo

    def templated(self, hook: OutgoingHook, drawn: Random) -> Templated | None:
        """As `Furnished` has it: by a custom template."""
        people = [self.forge.state.user(login) for login in (*HONEST, ACCOUNT)]
        group = self.forge.state.organizations.find(OWNER).account.id
        return templated(hook, self._secrets, people, group, drawn)

    def let_in(self) -> None:
        """As `Furnished` has it: it becomes a member."""
        self.forge.state.add_member(self._repo, ACCOUNT, "maintain")

    def put_out(self) -> None:
        """As `Furnished` has it."""
        if ACCOUNT not in self._repo.members:
            raise ImpossibleError
        del self._repo.members[ACCOUNT]

    def suspend(self) -> Callable[[], None]:
        """As `Furnished` has it: the account is blocked."""
        blocked, number = self.forge.state.data.gitlab.blocked, self.forge.us.id
        if number in blocked or ACCOUNT not in self._repo.members:
            raise ImpossibleError
        blocked.add(number)
        return lambda: blocked.discard(number)


FORGES: Mapping[str, Callable[..., Furnished]] = {"github": AtGitHub, "gitlab": AtGitLab}
"""Where histories may happen."""

GITHUB = "github"


def _repository(
    forge: SimulatedForge,
    rules: RulesText | None,
    roles: Mapping[str, str],
    given: Mapping[str, bytes] | None,
) -> Repository:
    files = dict(given or {})
    for package in PACKAGES if given is None else ():
        files[f"{package}/Kptfile"] = kptfile(package)
        for name in "ab":
            files[f"{package}/{name}.yaml"] = resource(name, "v0")
    if rules is not None:
        files[CONFIG] = rules.text
    return forge.add_repository(OWNER, "blueprints", files, roles)
