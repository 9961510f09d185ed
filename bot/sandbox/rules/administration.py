"""Renames, transfers and archives repositories; changes accounts and installations.

An old name leads to the repository until another one takes it (`Data.moved`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.sandbox.errors import custom
from bot.sandbox.records.accounts import User
from bot.sandbox.records.memory import Installation
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.context import Context


class Administration:
    """Set-up that changes while the forge runs; each takes the forge's lock itself."""

    def __init__(self, state: Context) -> None:
        self._state = state

    def rename(self, repo: Repository, name: str, actor: User | None = None) -> None:
        """Give a repository another name; the old one redirects."""
        with self._state.lock:
            self._free(repo.owner, name)
            old, before = repo.name, repo.full_name
            repo.name = name
            self._left(before, repo)
            changes = {"repository": {"name": {"from": old}}}
            self._tell(repo, "renamed", actor, changes=changes)

    def transfer(self, repo: Repository, owner: str, actor: User | None = None) -> None:
        """Give a repository to another account; installations of the old one lose it."""
        with self._state.lock:
            account = self._state.user(owner)
            self._free(account, repo.name)
            old, before = repo.owner, repo.full_name
            repo.owner = account
            self._left(before, repo)
            self._tell(repo, "transferred", actor, old_owner=old)
            for installation in list(self._state.data.installations.values()):
                if repo in installation.repositories:
                    self.remove_from(installation, repo)

    def archive(self, repo: Repository, archived: bool = True, actor: User | None = None) -> None:
        """Make a repository read-only, or let it be written again."""
        with self._state.lock:
            repo.archived = archived
            self._tell(repo, "archived" if archived else "unarchived", actor)

    def set_private(self, repo: Repository, private: bool, actor: User | None = None) -> None:
        """Hide a repository from the public, or show it."""
        with self._state.lock:
            repo.private = private
            self._tell(repo, "privatized" if private else "publicized", actor)

    def edit(
        self,
        repo: Repository,
        *,
        description: str | None = None,
        default_branch: str | None = None,
        has_issues: bool | None = None,
        actor: User | None = None,
    ) -> None:
        """Change the description or the default branch, or turn issues on or off; None leaves it.

        GitHub tells nobody about issues being turned on or off.
        """
        with self._state.lock:
            changes: dict[str, Any] = {}
            if has_issues is not None:
                repo.has_issues = has_issues
            if description is not None and description != repo.description:
                changes["description"] = {"from": repo.description}
                repo.description = description
            if default_branch is not None and default_branch != repo.default_branch:
                if repo.branch(default_branch) is None:
                    raise custom("Repository", f"The branch {default_branch} was not found.")
                changes["default_branch"] = {"from": repo.default_branch}
                repo.default_branch = default_branch
            if changes:
                self._tell(repo, "edited", actor, changes=changes)

    def rename_account(self, user: User, login: str) -> None:
        """Give an account another login; its repositories are found under both names."""
        with self._state.lock:
            data, old = self._state.data, user.login
            if login.lower() in data.users:
                raise custom("User", "login is already taken", "login")
            owned = [r for r in data.repositories.values() if r.owner is user]
            names = [r.full_name for r in owned]
            del data.users[old.lower()]
            user.login = login
            data.users[login.lower()] = user
            for before, repo in zip(names, owned, strict=True):
                self._left(before, repo)
            for repo in data.repositories.values():
                if old in repo.members:
                    repo.members[login] = repo.members.pop(old)
            for installation in data.installations.values():
                if installation.account is user:
                    self._state.emit(
                        "installation_target",
                        "renamed",
                        None,
                        user,
                        installation=installation,
                        changes={"login": {"from": old}},
                    )

    def remove_from(self, installation: Installation, repo: Repository) -> None:
        """Take a repository out of an installation."""
        with self._state.lock:
            installation.repositories.remove(repo)
            self._state.emit(
                "installation_repositories",
                "removed",
                None,
                installation.account,
                installation=installation,
                removed=[repo],
            )

    def accept_permissions(
        self, installation: Installation, permissions: Mapping[str, str]
    ) -> None:
        """Grant an installation other permissions than it has."""
        with self._state.lock:
            installation.permissions = {"metadata": "read", **permissions}
            self._state.emit(
                "installation",
                "new_permissions_accepted",
                None,
                installation.account,
                installation=installation,
            )

    def _free(self, owner: User, name: str) -> None:
        wanted = f"{owner.login}/{name}".lower()
        taken = self._state.data.repositories.values()
        if any(repo.full_name.lower() == wanted for repo in taken):
            raise custom("Repository", "name already exists on this account", "name")

    def _left(self, before: str, repo: Repository) -> None:
        self._state.data.moved[before.lower()] = repo.id
        self._state.data.moved.pop(repo.full_name.lower(), None)

    def _tell(self, repo: Repository, action: str, actor: User | None, **extra: Any) -> None:
        repo.updated_at = self._state.now()
        self._state.emit("repository", action, repo, actor or repo.owner, **extra)
