"""People on the stage in simulated time: PyGithub without HTTP, and git in memory."""

from collections.abc import ItemsView, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import github
import requests
from github.Requester import Requester

from bot.sandbox.git.objects import Ident
from bot.sandbox.github.http import GitHubApi
from tests.gitlab_calls import session
from tests.simulation.forge import RemoteRepositories, SimulatedForge
from tests.simulation.gitlab_forge import SimulatedGitLab
from tests.stories.github_people import GitHubPerson
from tests.stories.gitlab_people import GitLabPerson
from tests.stories.people import Link, Person
from tests.stories.simulated_faults import NotSimulatedError


class Answer:
    """An answer of the API, as PyGithub reads it."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self._headers = headers
        self._body = body

    def getheaders(self) -> ItemsView[str, str]:
        """All headers."""
        return self._headers.items()

    def read(self) -> str:
        """The body."""
        return self._body.decode()


class Connection:
    """What PyGithub has in place of a connection: it calls the API's handlers.

    Attributes:
        forge: Whose they are.
        api: They.
    """

    forge: SimulatedForge
    api: GitHubApi

    def __init__(self, host: str, *_: object, **__: object) -> None:
        self.host = host

    def request(
        self, verb: str, url: str, body: Any, headers: dict[str, str], stream: bool = False
    ) -> None:
        """Say what is asked."""
        del stream
        raw = body.encode() if isinstance(body, str) else body or b""
        self._asked = verb, url, headers, raw

    def getresponse(self) -> Answer:
        """Ask it."""
        verb, url, headers, raw = self._asked
        if verb == "GET":
            status, told, body = self.api.answer(verb, url, headers, raw)
        else:
            with self.forge.change():
                status, told, body = self.api.answer(verb, url, headers, raw)
        return Answer(status, dict(told), body)

    def close(self) -> None:
        """Nothing is open."""


@dataclass
class InMemory(Person):
    """Somebody with an account, and git in memory in place of a clone."""

    _: KW_ONLY
    forge: SimulatedForge

    def pushes(
        self,
        branch: str,
        files: Mapping[str, str | bytes | None],
        *,
        base: str = "main",
        message: str = "Change",
        author: str = "",
        force: bool = False,
        url: str = "",
    ) -> str:
        """As `Person` has it."""
        repo = RemoteRepositories(self.forge, self.login).repository(url or self.clone_url)
        anew = force or repo.branch(branch) is None
        raw = {p: c.encode() if isinstance(c, str) else c for p, c in files.items()}
        return self.forge.act(self.login).push(
            branch,
            raw,
            message,
            base=base if anew else branch,
            force=force,
            who=self._as(author or self.login),
            repo=repo,
            links={path for path, content in files.items() if isinstance(content, Link)},
        )

    def points(self, branch: str, commit: str, *, force: bool = False, url: str = "") -> None:
        """As `Person` has it."""
        repo = RemoteRepositories(self.forge, self.login).repository(url or self.clone_url)
        self.forge.act(self.login).push_commit(branch, commit, force=force, repo=repo)

    def merges_base(self, branch: str, base: str = "main", *, takes_nothing: bool = False) -> str:
        """As `Person` has it."""
        words = f"Merge remote-tracking branch 'origin/{base}' into {branch}"
        actor, who = self.forge.act(self.login), self._as(self.login)
        if not takes_nothing:
            return actor.merge_locally(branch, base, words, who=who)
        tips = [str(actor.repo.branch(each)) for each in (branch, base)]
        made = actor.commit({}, *tips, message=words, who=who)
        actor.push_commit(branch, made)
        return made

    def merges_into(
        self, base: str, *branches: str, and_more: Mapping[str, str] | None = None
    ) -> str:
        """As `Person` has it."""
        actor, who = self.forge.act(self.login), self._as(self.login)
        tip = str(actor.repo.branch(base))
        raw = {path: text.encode() for path, text in (and_more or {}).items()}
        for branch in branches:
            more = raw if branch == branches[-1] else {}
            other = str(actor.repo.branch(branch))
            tip = actor.merge_commit(tip, other, f"Merge {branch}", who, more=more)
        actor.push_commit(base, tip)
        return tip

    def _as(self, name: str) -> Ident:
        """What a clone is told to write into commits."""
        return Ident(name, f"{name}@users.example", self.forge.state.now())

    def git(self, folder: object, *arguments: str) -> str:
        """There is no folder to run git in."""
        raise NotSimulatedError(f"git {' '.join(arguments)}: mark `real_parts`")


@dataclass
class SimulatedPerson(InMemory, GitHubPerson):
    """Somebody at a simulated GitHub."""

    _: KW_ONLY
    api: GitHubApi

    def client(self) -> github.Github:
        """As `Person` has it."""
        over: Any = type("Connection", (Connection,), {"forge": self.forge, "api": self.api})
        Requester.injectConnectionClasses(over, over)
        try:
            return super().client()
        finally:
            Requester.resetConnectionClasses()


class SimulatedGitLabPerson(InMemory, GitLabPerson):
    """Somebody at a simulated GitLab."""

    def session(self) -> requests.Session:
        """As `GitLabPerson` has it."""
        assert isinstance(self.forge, SimulatedGitLab)
        return session(self.forge.api.answer, self.forge.change)
