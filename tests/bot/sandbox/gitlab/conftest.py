"""A forge in GitLab's dialect with one project, its people, and the webhooks that it made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gitlab
import pytest
from gitlab.v4.objects import Project, ProjectMergeRequest

from bot.sandbox.records.gitlab import WebHook
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.context import FileChange
from bot.sandbox.serve import SandboxForge
from tests.bot.sandbox.conftest import Clock
from tests.bot.sandbox.gitlab import inprocess
from tests.bot.sandbox.gitlab.lab import PEOPLE, Lab
from tests.contract.watch import watched

EVENTS = {
    f"{name}_events"
    for name in (
        *("push", "tag_push", "merge_requests", "note", "confidential_note", "issues"),
        *("emoji", "pipeline", "releases", "deployment"),
    )
}


@dataclass(kw_only=True)
class Hub:
    """One forge and what a test needs of it."""

    forge: SandboxForge
    repo: Repository
    told: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    _projects: dict[str, Project] = field(default_factory=dict)

    def project(self, login: str) -> Project:
        """The project as somebody's python-gitlab sees it."""
        if login not in self._projects:
            token = self.forge.token(login)
            client = inprocess.client(self.forge, token)
            self._projects[login] = client.projects.get(self.repo.id)
        return self._projects[login]

    def commit(self, branch: str, files: Mapping[str, str], by: str = "ann") -> str:
        """Commit files to a branch, which begins at main where it is new."""
        changes = [FileChange(path=p, content=text.encode()) for p, text in files.items()]
        state = self.forge.state
        with state.lock:
            made = state.commit_files(
                self.repo, branch, changes, f"Change {', '.join(files)}", actor=state.user(by)
            )
        return made.sha

    def merge_request(
        self, branch: str = "change", by: str = "ann", **more: Any
    ) -> ProjectMergeRequest:
        """Open a merge request of a branch, which gets a commit where it is new."""
        if self.repo.branch(branch) is None:
            self.commit(branch, {"a.txt": "one\ntwo\nthree\nfour\n"}, by)
        wish = {"source_branch": branch, "target_branch": "main", "title": "A change"} | more
        made = self.project(by).mergerequests.create(wish)
        assert isinstance(made, ProjectMergeRequest)
        return made

    def settled(self, iid: int, by: str = "ann") -> ProjectMergeRequest:
        """A merge request once GitLab knows whether it can be merged."""
        self.project(by).mergerequests.get(iid)
        return self.project(by).mergerequests.get(iid)

    def set(self, **settings: object) -> None:
        """Change settings of the project."""
        self.repo.gitlab.settings.update(settings)

    def heard(self, kind: str) -> list[Mapping[str, Any]]:
        """Payloads of a kind so far."""
        return [body for event, body in self.told if event == kind]

    def actions(self, kind: str) -> list[str]:
        """What the payloads of a kind say was done."""
        return [body["object_attributes"]["action"] for body in self.heard(kind)]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    """Ann and Ben are Developers, Mia is a Maintainer, Ron a Reporter; Zoe is nobody."""
    forge = SandboxForge(tmp_path / "forge", dialect="gitlab")  # answers inside this process
    with ExitStack() as stack:
        stack.callback(forge.stop)
        state = forge.state
        for login in ("olga", "ann", "ben", "mia", "ron", "zoe"):
            state.add_user(login)
        repo = state.add_repository("olga", "pkg")
        repo.description = "Packages"
        for login, role in (
            ("ann", "write"),
            ("ben", "write"),
            ("mia", "maintain"),
            ("ron", "triage"),
        ):
            state.add_member(repo, login, role)
        made = Hub(forge=forge, repo=repo)
        made.commit("main", {"a.txt": "one\ntwo\nthree\n", "b.txt": "b\n"}, "olga")
        repo.gitlab.hooks[1] = WebHook(
            id=1,
            kind="project",
            owner_id=repo.id,
            url="http://127.0.0.1:9/",
            uuid="8b1c",
            created_at=state.now(),
            events=set(EVENTS),
        )
        forge.hooks.made.auto_disable = False  # type: ignore[union-attr]
        forge.webhook_observers.append(lambda event, _, body: made.told.append((event, body)))
        with watched(forge, "gitlab"):
            yield made


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """One project `owner/catalog` with a file on `main`."""
    clock = Clock()
    forge = SandboxForge(tmp_path / "forge", dialect="gitlab", clock=clock)
    state = forge.state
    for login in ("owner", *PEOPLE, "outsider"):
        state.add_user(login)
    repo = state.add_repository("owner", "catalog")
    for login, role in PEOPLE.items():
        state.add_member(repo, login, role)
    made = Lab(forge, repo, clock)
    made.commit("main", {"net/values.yaml": "a: 1\n", "README.md": "Hello\n"})
    with watched(forge, dialect="gitlab"):
        yield made
    forge.stop()


def refusal(call: Callable[[], object]) -> tuple[int | None, object]:
    """Status and message of a call that is refused."""
    with pytest.raises(gitlab.GitlabError, match=r".") as refused:
        call()
    return refused.value.response_code, refused.value.error_message
