"""What a story is told of: a repository with its people, and a bot that comes and goes.

There are two stages for it. `RealWorld` (`real.py`) has everything that the bot has in operation,
`SimulatedWorld` (`simulated.py`) the same bot on a forge, git and a database in memory, and time
that passes only when a story waits.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Protocol

from bot.forges.gitlab.hooks import OurHooks
from bot.sandbox.api import Exchange
from bot.sandbox.faults.calls import Faults
from bot.sandbox.rules.context import FileChange
from bot.sandbox.rules.state import ForgeState
from cadlib import yaml
from lifecycle.identity import GITHUB
from tests.stories.calls import CALLS
from tests.stories.gitlab_people import GitLabPerson
from tests.stories.people import Person, wait_for

APP_ID = 1001
MANIFEST: dict[str, Any] = (
    yaml.read(  # type: ignore[assignment] # a mapping, or all fails
        (Path(__file__).resolve().parents[2] / "app-manifest.yml").read_bytes()
    )
    .documents[0]
    .value
)
SECRET = "a secret of the stories"
ROLES = {"author": "write", "approver": "maintain", "outsider": "read", "owner": "admin"}

CONFIG = """\
version: 1
guardrails:
  mutators:
    - image: set-labels:v0.2
      configMap: {owner: network}
  validators:
    - image: kubeconform:v0.1
      configMap: {strict: "true"}
access:
  approve: {require: 1, from: ["role:maintain"]}
"""

KPTFILE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: NAME
  annotations:
    config.kubernetes.io/local-config: "true"
"""

CONFIGMAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: NAME # kept
  labels:
    owner: network
data:
  size: "1"
"""


def package(path: str, **files: str) -> dict[str, str]:
    """The files of a small package that is its own rendering."""
    name = path.rsplit("/", 1)[-1]
    return {
        f"{path}/Kptfile": KPTFILE.replace("NAME", name),
        f"{path}/settings.yaml": CONFIGMAP.replace("NAME", name),
        **{f"{path}/{file}": text for file, text in files.items()},
    }


def resized(path: str, size: int | str) -> dict[str, str]:
    """The package's file with another value."""
    name = path.rsplit("/", 1)[-1]
    text = CONFIGMAP.replace("NAME", name).replace('"1"', f'"{size}"')
    return {f"{path}/settings.yaml": text}


def first_files(config: str | None = CONFIG) -> dict[str, str]:
    """What the main branch begins with: a package, and a configuration where there is one."""
    files = package("net/edge")
    if config is not None:
        files[".porchbot.yaml"] = config
    return files


class Forge(Protocol):
    """What a story may know of the forge, beside what its people see."""

    @property
    def state(self) -> ForgeState:
        """Its rules and memory."""

    @property
    def faults(self) -> Faults:
        """What goes wrong."""

    @property
    def observers(self) -> list[Callable[[Exchange], None]]:
        """Called with every exchange of its API."""

    @property
    def webhook_observers(
        self,
    ) -> list[Callable[[str, Mapping[str, str], Mapping[str, Any]], None]]:
        """Called with event, headers and payload of every webhook."""

    def clone_url(self, owner: str, name: str) -> str:
        """Where git finds a repository."""


class World(ABC):
    """One repository on one forge, with people and a bot that can be started and stopped.

    Attributes:
        name: Which forge: the first part of keys.
        forge: The forge.
        repository: The forge's record of the repository.
        app: The forge's record of the bot's App.
        people: By login.
        caller: How the forge's log calls the bot.
        status_events: Webhooks that tell of checks and statuses of others.
        statuses_are_told: They tell of each; elsewhere of the end of all together.
        mark: What stands before the number of a proposal.
        pushes_to_forks_are_told: The forge tells who pushed to a fork.
        checks_hold_text: A check shows a text of its own, and not a line alone.
        releases_are_drafts: One whose tag goes stays, as a draft.
        signs: The bot signs tags.
        webhook: The webhooks of projects; None where the App has one for all.
    """

    name = GITHUB
    caller = "porchbot[bot]"
    status_events: tuple[str, ...] = ("status", "check_run", "check_suite")
    statuses_are_told = True
    mark = "#"
    pushes_to_forks_are_told = False
    checks_hold_text = True
    releases_are_drafts = True
    signs = False
    webhook: OurHooks | None = None
    forge: Forge
    repository: Any
    app: Any
    people: Mapping[str, Person]

    @property
    def author(self) -> Person:
        """Somebody with write access."""
        return self.people["author"]

    @property
    def approver(self) -> Person:
        """Somebody who maintains."""
        return self.people["approver"]

    @property
    def outsider(self) -> Person:
        """Somebody who can read."""
        return self.people["outsider"]

    @property
    def owner(self) -> Person:
        """The admin."""
        return self.people["owner"]

    def call(self, purpose: str) -> str:
        """How faults name a call of the forge's API; see `calls`."""
        return CALLS[purpose][self.name]

    def statuses_of(self, purpose: str, since: int = 0) -> list[int]:
        """How each call of the bot for something was answered."""
        method, _, path = self.call(purpose).partition(" ")
        calls = self.forge.faults.calls(self.caller, since=since)
        asked = (c for c in calls if c.method == method)
        return [c.status for c in asked if fnmatchcase(c.template, path)]

    def lets_go(self) -> None:
        """The bot is let out of the repository."""
        state = self.forge.state
        if self.name == GITHUB:
            state.uninstall(state.install(self.app, self.repository))
        else:
            with state.lock:
                del self.repository.members[self.caller]

    def lets_in(self) -> None:
        """The bot is let into the repository."""
        if self.name == GITHUB:
            self.forge.state.install(self.app, self.repository)
        else:
            self.forge.state.add_member(self.repository, self.caller, "maintain")

    def serves(
        self,
        name: str,
        files: Mapping[str, str],
        *,
        private: bool = False,
        people: Mapping[str, str] | None = None,
    ) -> None:
        """The bot serves another repository too, which holds some files; roles by login.

        GitLab tells nobody of it: a bot that runs already finds it by its next sweep.
        """
        state = self.forge.state
        other = state.add_repository("acme", name, private=private)
        for login, role in {**(people or {}), "owner": "admin"}.items():
            state.add_member(other, login, role)
        changes = [FileChange(path=p, content=text.encode()) for p, text in files.items()]
        with state.lock:
            state.commit_files(other, "main", changes, "Begin", actor=state.user("owner"))
        if isinstance(self.owner, GitLabPerson):
            state.add_member(other, self.caller, "maintain")
            assert self.webhook is not None
            self.owner.at(f"acme/{name}").makes_webhook(self.webhook)
        else:
            state.install(self.app, other)

    def forbids_creation(self, prefix: str) -> None:
        """The owner sees to it that nobody makes branches whose names begin so."""
        if isinstance(self.owner, GitLabPerson):
            self.owner.protects(f"{prefix}*", level=0)
        else:
            self.forge.state.rules.add(self.repository, [f"{prefix}*"], creation=True)

    def forks(self, login: str = "outsider") -> str:
        """Somebody forks the repository; where to clone and push."""
        self.forge.state.fork(self.repository, login)
        return self.forge.clone_url(login, self.repository.name)

    def deletes_fork(self, login: str = "outsider") -> None:
        """Somebody deletes a fork."""
        state = self.forge.state
        with state.lock:
            repos = state.data.repositories.values()
            state.delete_repository(next(r for r in repos if r.owner.login == login))

    def forbids_deletion(self, prefix: str) -> None:
        """The owner sees to it that nobody deletes branches whose names begin so, by a push."""
        if isinstance(self.owner, GitLabPerson):
            self.owner.protects(f"{prefix}*")
        else:
            self.forge.state.rules.add(self.repository, [f"{prefix}**"], deletion=True)

    @abstractmethod
    def start_bot(self) -> None:
        """Start the bot, as far as its first sweeps."""

    @abstractmethod
    def stop_bot(self) -> None:
        """End the bot in order, if it runs."""

    @abstractmethod
    def rests(self) -> None:
        """Wait until no webhook is under way and no key has work that is due."""

    @abstractmethod
    def sweep(self, which: str = "") -> None:
        """Wake everything, or the sweep that is named, as its timer does."""

    @abstractmethod
    def wake(self, key: str) -> None:
        """Wake one key, as a webhook does."""

    @abstractmethod
    def loses_database(self) -> None:
        """Delete everything that the bot's database holds, while no bot runs."""

    @abstractmethod
    def loses_open_proposals(self) -> None:
        """Delete what the bot's database holds of which proposals are open, and where."""

    @abstractmethod
    def moves_adoption(self, hours: int) -> None:
        """The bot's database says that it came so many hours later than it did."""

    @abstractmethod
    def keeps_database(self) -> Callable[[], None]:
        """Keep what the database holds now, while no bot runs; return what brings it back."""

    @abstractmethod
    def is_adopted(self) -> bool:
        """Whether the bot serves the repository."""

    @abstractmethod
    def failing(self) -> list[str]:
        """Keys that the bot failed at when it last looked at them."""

    @abstractmethod
    def trail(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """What the bot wrote down of what it did: action and details, oldest first."""

    def proposes(self, branch: str, files: Mapping[str, str], **push: Any) -> int:
        """The author pushes a draft, waits for its checks and proposes it; its number."""
        self.author.pushes(branch, files, **push)
        pull = self.author.pull_of(branch)
        self.author.waits_for_check(pull.number, "porchbot/validate", "success")
        self.author.says(pull.number, "/propose")
        wait_for("the proposal", lambda: not self.author.pull(pull.number).draft or None)
        self.rests()
        return int(pull.number)

    def opens(self, branch: str, files: Mapping[str, str]) -> int:
        """The author opens a proposal that was no draft, half the work for the bot; its number."""
        self.author.pushes(branch, files)
        number = self.author.opens(branch, branch.capitalize()).number
        self.author.waits_for_check(number, "porchbot/validate", "success")
        self.rests()
        return int(number)


Staging = Callable[[str], AbstractContextManager[World]]
"""Makes a world, given a configuration, on the stage that a story takes."""


def seconds_pass(forge: Forge, seconds: float) -> None:
    """Let time pass at the forge, at once."""
    with forge.state.lock:
        before = forge.state.clock
        forge.state.clock = lambda: before() + timedelta(seconds=seconds)


def minutes_pass(play: World, minutes: int) -> None:
    """Let time pass, for the bot as well."""
    state = play.forge.state
    until = state.clock() + timedelta(minutes=minutes)
    wait_for("time to pass", lambda: state.clock() > until or None, 60 * minutes + 60)
