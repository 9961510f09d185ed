"""A project at a forge in GitLab's dialect, called within the process, and the adapter for it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gitlab
import pytest

from bot import logs
from bot.clock import SYSTEM
from bot.forges.gitlab.forge import GitLab
from bot.forges.gitlab.http import Clients
from bot.forges.port import BotIdentity, Repository
from bot.sandbox.rules.context import FileChange
from bot.sandbox.serve import SandboxForge
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha
from tests.bot.sandbox.conftest import Clock
from tests.bot.sandbox.gitlab.inprocess import client
from tests.in_process import session

BOT = "porch-bot"


@pytest.fixture
def own_secrets() -> Iterator[None]:
    """Secrets that a test has told the log are forgotten when it ends."""
    yield
    logs.configure()


@dataclass
class Known:
    """Who the bot is; implements `ForgeCredentials`."""

    me: BotIdentity
    instance: str = ""
    seals: Sequence[bytes] = (b"key",)

    @property
    def login(self) -> str:
        """As the account is called."""
        return "porchbot"

    async def identity(self) -> BotIdentity:
        """Who it is."""
        return self.me


@dataclass
class World:
    """The forge, its project and the adapter.

    Attributes:
        asked: Verb and path of each request of the adapter.
        lost: The answer to each request whose path ends so is lost once, after it was heeded.
    """

    sandbox: SandboxForge
    clock: Clock
    repo: Any
    asked: list[str] = field(default_factory=list)

    def forge(self, instance: str = "") -> GitLab:
        """An adapter with nothing remembered: another replica, or one that was restarted."""
        login = self.sandbox.state.user(BOT)
        me = BotIdentity(BOT, "bot@corp.example", login.id)
        token = self.sandbox.token(BOT)
        pool = Clients(
            self.sandbox.web_url, lambda: token, session=lambda: session(self._answer), clock=SYSTEM
        )
        here = Repository(
            id=RepositoryId("gitlab", self.repo.id),
            full_name=self.repo.full_name,
            default_branch="main",
            clone_url=f"{self.sandbox.web_url}/{self.repo.full_name}.git",
            installation=1,
            installed_at=self.clock(),
        )
        return GitLab(Known(me, instance), here, pool)

    def _answer(self, verb: str, path: str, headers: Any, body: bytes) -> Any:
        self.asked.append(f"{verb.upper()} {path.partition('?')[0].partition('/api/v4')[2]}")
        return self.sandbox.answer(verb.upper(), path, dict(headers), body)

    def as_(self, login: str) -> Any:
        """The project as somebody has it, by python-gitlab."""
        found: gitlab.Gitlab = client(self.sandbox, self.sandbox.token(login))
        return found.projects.get(self.repo.id, lazy=True)

    def commit(self, branch: str, files: dict[str, str], login: str = "ann") -> Sha:
        """Commit files behind the API's back."""
        state = self.sandbox.state
        changes = [FileChange(path=k, content=v.encode()) for k, v in files.items()]
        with state.lock:
            made = state.commit_files(
                self.repo, branch, changes, f"Change {branch}", actor=state.user(login)
            )
        return Sha(made.sha)

    def propose(self, branch: str = "change", login: str = "ann", title: str = "A change") -> int:
        """Open a merge request."""
        wish = {"source_branch": branch, "target_branch": "main", "title": title}
        return int(self.as_(login).mergerequests.create(wish).iid)

    def mr(self, iid: int, login: str = "ann") -> Any:
        """A merge request, once GitLab knows whether it can be merged."""
        for _ in range(3):
            found = self.as_(login).mergerequests.get(iid)
        return found

    def discussions(self, iid: int) -> list[Any]:
        """Threads at lines."""
        every = self.as_("ann").mergerequests.get(iid, lazy=True).discussions.list(get_all=True)
        return [each for each in every if each.attributes["notes"][0].get("position")]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """`acme/pkg`: Ann and the bot are Maintainers, Ben a Developer, Ron a Reporter, Zoe nobody."""
    clock = Clock()
    sandbox = SandboxForge(tmp_path / "forge", dialect="gitlab", clock=clock)
    state = sandbox.state
    for login in ("olga", "ann", "ben", "ron", "zoe", BOT):
        state.add_user(login)
    repo = state.add_repository("olga", "pkg")
    for login, role in (("ann", "maintain"), ("ben", "write"), ("ron", "triage")):
        state.add_member(repo, login, role)
    state.add_member(repo, BOT, "maintain")
    made = World(sandbox, clock, repo)
    made.commit("main", {"net/a.yaml": "a: 1\nb: 2\nc: 3\n"}, "olga")
    yield made
    sandbox.stop()
