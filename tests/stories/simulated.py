"""Stories in simulated time: the real bot on a forge, git and a database in memory.

Nothing goes wrong by itself: one bot, webhooks delivered at once and in order, and the same order
of tasks every time. What people do takes no time; the bot runs, and time passes, while a story
waits (`wait_for`, `rests`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from bot import keys
from bot.sandbox.api import Exchange
from bot.sandbox.faults.calls import Faults
from bot.sandbox.faults.hooks import OutgoingHook
from bot.sandbox.github.deliveries import sending
from bot.sandbox.github.http import GitHubApi
from bot.sandbox.rules.state import ForgeState
from bot.store.hints import NOTHING
from bot.store.port import Store
from bot.variables import WORKERS
from lifecycle.identity import RepositoryId
from tests.memory.store import MemoryStore
from tests.simulation.forge import LINKS, SimulatedForge
from tests.simulation.forge_calls import Fault, ForgeCall
from tests.simulation.ports import Gate
from tests.simulation.scheduler import SimulatedClock
from tests.simulation.system import System
from tests.stories import people
from tests.stories.people import PATIENCE, Person, WaitedInVainError
from tests.stories.rendering import Rendering
from tests.stories.simulated_faults import StageFaults
from tests.stories.simulated_people import SimulatedPerson
from tests.stories.world import (
    APP_ID,
    CONFIG,
    MANIFEST,
    ROLES,
    World,
    first_files,
    seconds_pass,
)

T = TypeVar("T")

SOON = 1.0
"""Seconds: what is due later than that is not waited for."""


class StageForge:
    """A simulated forge as stories know it, with its API for people; implements `world.Forge`.

    Args:
        forge: The forge.
    """

    def __init__(self, forge: SimulatedForge) -> None:
        self.state = forge.state
        self.faults = StageFaults(forge)
        # The API's own operations on webhooks see a forge on which nothing happens.
        deaf = sending(ForgeState(forge.store, forge.clock.now), LINKS, Faults(forge.state).hooks)
        self.api = GitHubApi(forge.state, LINKS, forge.accounts, self.faults, deaf)
        self.webhook_observers: list[
            Callable[[str, Mapping[str, str], Mapping[str, Any]], None]
        ] = []

    @property
    def observers(self) -> list[Callable[[Exchange], None]]:
        """Called with every exchange of its API."""
        return self.api.observers

    def clone_url(self, owner: str, name: str) -> str:
        """Where git finds a repository."""
        return f"{LINKS.web}/{owner}/{name}.git"


class StorySystem(System):
    """One bot, the real renderer, and webhooks that come as a story says.

    Args:
        rendering: Renders packages.
    """

    workers = WORKERS

    def __init__(self, rendering: Rendering) -> None:
        super().__init__(Random("a story"))
        self._rendering = rendering
        self.rendering_takes = 0.0
        self.store = MemoryStore(self.clock)
        self.forge, self.shown = self._forge()
        self.shown.faults.hooks.send = self.forge.deliveries.append

    def _forge(self) -> tuple[SimulatedForge, StageForge]:
        """The forge, and what stories see of it."""
        made = SimulatedForge(self.clock, self.draw, faults=self._befalls, send=self._made)
        shown = StageForge(made)
        made.answered = shown.faults.answered
        return made, shown

    def notice(self) -> None:
        """Make the forge show whatever was done to its state directly."""
        state = self.forge.state
        with self.forge.change():
            for repo in state.data.repositories.values():
                state.refs_touched[repo.id] = state.roles_touched[repo.id] = repo
                state.pulls_touched.update({pull.id: pull for pull in repo.pulls.values()})

    def end(self) -> None:
        """End the bot in order."""
        for replica in list(self.replicas):
            ended = replica.end()
            while not ended.done():
                self.pass_to_next(self.loop.now + PATIENCE)
            self.replicas.remove(replica)
            replica.kill()  # so that nothing of it goes on, as when a process has ended

    def _renderer(self, store: Store, clock: SimulatedClock, gate: Gate) -> Any:
        takes = lambda: self.rendering_takes  # noqa: E731 (short)
        return self._rendering.renderer(store, clock, gate.offload, takes)

    def _befalls(self, call: ForgeCall) -> Fault | None:
        return self.weather.befalls_request(call) or self.shown.faults.befalls(call)

    def _made(self, hook: OutgoingHook) -> None:
        """Queue a webhook as the faults say, at the moment it is made."""
        copies, late = self.shown.faults.hooks.fate(hook)
        for _ in range(copies):
            if late:
                self.later(late, lambda: self._arrive(hook))
            else:
                self.forge.deliveries.append(hook)

    def _arrive(self, hook: OutgoingHook) -> None:
        if self.replicas:
            super()._arrive(hook)
        else:
            self.forge.lose(hook)


class SimulatedWorld(World):
    """A world in simulated time; made by `simulated`."""

    forge: StageForge

    def __init__(self, rendering: Rendering, config: str | None) -> None:
        self._system = system = StorySystem(rendering)
        self.forge = system.shown
        state = system.forge.state
        for login in (*ROLES, "acme"):
            state.add_user(login)
        permissions, events = MANIFEST["default_permissions"], MANIFEST["default_events"]
        self.app = system.forge.add_app(
            "acme", app_id=APP_ID, permissions=permissions, events=events
        )
        files = {path: text.encode() for path, text in first_files(config).items()}
        self.repository = system.forge.add_repository("acme", "blueprints", files, ROLES)
        with system.forge.change():
            system.forge.install(self.repository)
        system.forge.deliveries.clear()  # nobody was there to hear of it
        self.people: Mapping[str, Person] = {login: self._person(login) for login in ROLES}

    def _person(self, login: str) -> Person:
        return SimulatedPerson(
            login,
            self.forge.state.token(login),
            LINKS.api,
            self.forge.clone_url("acme", "blueprints"),
            "acme/blueprints",
            Path("/nowhere"),
            lambda: seconds_pass(self.forge, 1),
            forge=self._system.forge,
            api=self.forge.api,
        )

    # --- the bot ---

    def start_bot(self) -> None:
        """As `World` has it."""
        self._system.notice()
        with self._system.loop.current():
            self._system.send()  # before it came, nobody was there
            self._system.start()
            self._system.go_on()

    def stop_bot(self) -> None:
        """As `World` has it."""
        self._system.notice()
        with self._system.loop.current():
            self._system.send()
            self._system.end()

    def sweep(self, which: str = "") -> None:
        """As `World` has it."""
        self.wake(f"{self.name}:app:{'sweep:' + which if which else 'installations'}")

    def wake(self, key: str) -> None:
        """As `World` has it."""
        self._system.now(self._system.store.queue.wake(keys.parse(key), NOTHING))

    def loses_database(self) -> None:
        """As `World` has it."""
        self._system.store = MemoryStore(self._system.clock)

    @property
    def _ours(self) -> RepositoryId:
        return RepositoryId(self.name, self.repository.id)

    def loses_open_proposals(self) -> None:
        """As `World` has it."""
        vars(self._system.store)["lose_open"](self._ours)

    def moves_adoption(self, hours: int) -> None:
        """As `World` has it."""
        vars(self._system.store)["move_adoption"](self._ours, timedelta(hours=hours))

    def keeps_database(self) -> Callable[[], None]:
        """As `World` has it."""
        store = self._system.store
        assert isinstance(store, MemoryStore)
        kept = store.copied()

        def bring_back() -> None:
            self._system.store = kept

        return bring_back

    def keeps_names_of_tags_only(self) -> None:
        """What the database keeps of the repository is as an older version of the bot kept it."""
        vars(self._system.store)["keep_names_only"](self._ours)

    def is_adopted(self) -> bool:
        """As `World` has it."""
        return self._system.now(self._system.store.repositories.adoption(self._ours)) is not None

    def woken(self) -> list[keys.Key]:
        """All keys that were ever asked for."""
        return [keys.parse(key) for key in vars(self._system.store.queue)["rows"]]

    def failing(self) -> list[str]:
        """As `World` has it."""
        return [each.key for each in self._system.now(self._system.store.queue.failing())]

    def trail(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """As `World` has it."""
        kept = vars(self._system.store.audit)["_entries"]
        return [(action, detail) for _, _, _, action, detail in kept]

    def forgets_presses(self) -> Mapping[str, OutgoingHook]:
        """The forge's log tells of no button that was pressed so far; return what it told of."""
        known, self._system.forge.pressed = self._system.forge.pressed, {}
        return known

    def lists_presses(self, pressed: Mapping[str, OutgoingHook]) -> None:
        """The forge's log tells of these buttons as well."""
        self._system.forge.pressed.update(pressed)

    def failed_webhooks(self) -> list[OutgoingHook]:
        """Return the webhooks that no bot accepted, oldest first."""
        return [hook for hook, _ in self._system.forge.failed]

    # --- time ---

    def renders_slowly(self, seconds: float) -> None:
        """Let each rendering take so long from now on."""
        self._system.rendering_takes = seconds

    def rests(self) -> None:
        """As `World` has it."""
        system = self._system
        system.notice()
        end = system.loop.now + PATIENCE
        with system.loop.current():
            system.go_on()
            while not self._is_at_rest():
                if system.loop.now > end:
                    raise WaitedInVainError(f"waited {PATIENCE} s for the bot to rest")
                system.pass_to_next(end)

    def _is_at_rest(self) -> bool:
        system = self._system
        due = system.now(system.store.queue.next_due())
        return system.is_idle and (due is None or due >= SOON or not system.replicas)

    def wait_for(self, what: str, ready: Callable[[], T | None], seconds: float) -> T:
        """As the function of this name; asks whenever the forge has changed."""
        system = self._system
        end = system.loop.now + seconds
        system.notice()
        with system.loop.current():
            system.go_on()
        while True:
            found = ready()
            if found is not None and found is not False:
                return found
            if system.loop.now >= end:
                raise WaitedInVainError(f"waited {seconds} s for {what}")
            before = system.forge.past.now
            with system.loop.current():
                while system.forge.past.now == before and system.loop.now < end:
                    system.pass_to_next(end)

    # --- the end ---

    def kill(self) -> None:
        """End whatever still runs."""
        with self._system.happening():
            pass

    def check(self) -> None:
        """Fail where a look broke, where a fault was never met, and where only git can merge."""
        system = self._system
        assert not system.beyond, system.beyond
        assert not system.broke + system.loop.broken, system.broke + system.loop.broken
        assert not self.forge.faults.left(), self.forge.faults.left()


@contextmanager
def simulated(rendering: Rendering, config: str | None = CONFIG) -> Iterator[SimulatedWorld]:
    """A repository with one published-to-be package on main, and no bot yet.

    Args:
        rendering: Renders packages.
        config: `.porchbot.yaml`; None for none.
    """
    with told(SimulatedWorld(rendering, config)) as made:
        yield made


@contextmanager
def told(made: SimulatedWorld) -> Iterator[SimulatedWorld]:
    """A world whose time passes while its story waits, and which is looked over at its end."""
    people.waiters.append(made)
    try:
        yield made
    finally:
        people.waiters.remove(made)
        made.kill()
    made.check()
