"""Stories in simulated time at GitLab; see `simulated`. The bot asks by its own adapter."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bot.forges.gitlab.deliveries import GitLabWebhooks
from bot.forges.gitlab.hooks import HookSecrets, OurHooks
from bot.forges.port import BotIdentity
from bot.sandbox.faults.calls import Faults
from tests.simulation.forge import LINKS
from tests.simulation.gitlab_forge import BOT, NAME, SimulatedGitLab
from tests.stories.people import Person
from tests.stories.real_gitlab import STATUS_EVENTS
from tests.stories.rendering import Rendering
from tests.stories.simulated import SimulatedWorld, StageForge, StorySystem, told
from tests.stories.simulated_people import SimulatedGitLabPerson
from tests.stories.world import CONFIG, ROLES, SECRET, first_files, seconds_pass


class ApiFaults(Faults):
    """Faults of the API's calls, people's and the bot's."""

    def befalls(self, call: object) -> None:
        """Calls of the bot are the API's, and meet their faults there."""
        del call

    def left(self) -> list[str]:
        """Return the faults that were ordered and never came about."""
        return [rule.call for rule in self._rules if rule.seen < rule.nth]


class StageGitLab(StageForge):
    """A simulated GitLab as stories know it."""

    def __init__(self, forge: SimulatedGitLab) -> None:
        self.state = forge.state
        self.faults: Any = forge.api_faults
        self.api: Any = forge.api
        self.webhook_observers = []


class GitLabSystem(StorySystem):
    """One bot at GitLab."""

    reader = GitLabWebhooks(NAME, [SECRET.encode()])

    def _forge(self) -> tuple[SimulatedGitLab, StageForge]:
        made = SimulatedGitLab(
            self.clock, self.draw, ApiFaults, faults=self._befalls, send=self._made
        )
        return made, StageGitLab(made)


class SimulatedGitLabWorld(SimulatedWorld):
    """A world in simulated time at GitLab; made by `simulated_gitlab`."""

    name = NAME
    caller = BOT
    status_events = STATUS_EVENTS
    statuses_are_told = False
    mark = "!"
    pushes_to_forks_are_told = True
    checks_hold_text = False
    releases_are_drafts = False

    def __init__(self, rendering: Rendering, config: str | None) -> None:
        self._system = system = GitLabSystem(rendering)
        self.forge = system.shown
        state = system.forge.state
        for login in (*ROLES, "acme", BOT):
            state.add_user(login)
        self.app = None
        files = {path: text.encode() for path, text in first_files(config).items()}
        roles = {**ROLES, BOT: "maintain"}
        self.repository = system.forge.add_repository("acme", "blueprints", files, roles)
        system.me = BotIdentity(BOT, "", state.user(BOT).id)
        self.people = {login: self._person(login) for login in ROLES}
        self.webhook = OurHooks(f"{LINKS.web}/hook", HookSecrets(NAME, (SECRET.encode(),)))
        owner = self.people["owner"]
        assert isinstance(owner, SimulatedGitLabPerson)
        owner.makes_webhook(self.webhook)
        system.forge.deliveries.clear()  # nobody was there to hear of it

    def _person(self, login: str) -> Person:
        forge = self._system.forge
        assert isinstance(forge, SimulatedGitLab)
        return SimulatedGitLabPerson(
            login,
            forge.tokens.make(login).value,
            LINKS.web,
            self.forge.clone_url("acme", "blueprints"),
            "acme/blueprints",
            Path("/nowhere"),
            lambda: seconds_pass(self.forge, 1),
            forge=forge,
        )


@contextmanager
def simulated_gitlab(rendering: Rendering, config: str | None = CONFIG) -> Iterator[SimulatedWorld]:
    """As `simulated.simulated`, at GitLab."""
    with told(SimulatedGitLabWorld(rendering, config)) as made:
        yield made
