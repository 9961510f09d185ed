"""One project of a forge in GitLab's dialect and its people, called within the process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gitlab

from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.context import FileChange
from bot.sandbox.serve import SandboxForge
from tests.bot.sandbox.conftest import Clock
from tests.bot.sandbox.gitlab.inprocess import client

PEOPLE = {
    "guest": "read",
    "reporter": "triage",
    "author": "write",
    "maintainer": "maintain",
}
"""Members of the project and their roles; `owner` owns it, `outsider` is nobody there."""


@dataclass(frozen=True)
class Lab:
    """The forge, its project, and clients of its people."""

    forge: SandboxForge
    repo: Repository
    clock: Clock

    def as_(self, login: str) -> gitlab.Gitlab:
        """python-gitlab for somebody."""
        return client(self.forge, self.forge.token(login))

    def project(self, login: str) -> Any:
        """The project as somebody has it."""
        return self.as_(login).projects.get(self.repo.id, lazy=True)

    def commit(self, branch: str, files: dict[str, str], login: str = "owner") -> str:
        """Commit files behind the API's back."""
        state = self.forge.state
        changes = [FileChange(path=k, content=v.encode()) for k, v in files.items()]
        with state.lock:
            return state.commit_files(
                self.repo, branch, changes, f"Change {branch}", actor=state.user(login)
            ).sha
