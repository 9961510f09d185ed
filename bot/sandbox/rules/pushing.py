"""Rules of fetches and pushes: who may fetch and push, and whether each pushed ref may move.

What each forge says there is a `GitAccess`; the functions are GitHub's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bot.sandbox.errors import RefusedError
from bot.sandbox.records.accounts import Role, User
from bot.sandbox.records.refs import PushVerdict, RefChange
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules import refs, workflows
from bot.sandbox.rules.accounts import Caller
from bot.sandbox.rules.permissions import granted
from bot.sandbox.rules.protection import Incoming, push_refusal
from bot.sandbox.rules.state import ForgeState


class PushedObjects(Protocol):
    """Objects of a push that are not in the repository yet."""

    def unsigned(self, tip: str) -> Sequence[str]:
        """Commits that are new and carry no signature, newest first."""

    def forced(self, before: str, after: str) -> bool:
        """Whether the new tip leaves the old one behind."""

    def changed(self, before: str | None, after: str, folder: str) -> Sequence[str]:
        """Files below a folder that differ."""


class GitCaller(Protocol):
    """Whoever fetches or pushes, and what the forge says to it; the forge's lock is held."""

    @property
    def name(self) -> str:
        """How logs and faults speak of it."""

    @property
    def user(self) -> User | None:
        """The account that acts; None for nobody."""

    def allow(self, repo: Repository, *, writes: bool) -> None:
        """Refuse who may not fetch, or push.

        Raises:
            RefusedError: 403, or 404 for what the caller may not even see.
        """

    def judge(self, repo: Repository, change: RefChange, received: PushedObjects) -> PushVerdict:
        """Judge one pushed ref."""


class GitAccess(Protocol):
    """Who may use git at a forge."""

    @property
    def realm(self) -> str:
        """What a client is told that it shall sign in to."""

    def git_caller(self, authorization: str | None) -> GitCaller:
        """Who calls, nobody too.

        Raises:
            RefusedError: 401 for a password or token that is none.
        """


def allow(state: ForgeState, caller: Caller, repo: Repository, *, writes: bool) -> None:
    """Refuse who may not fetch from a repository, or push to it.

    Raises:
        RefusedError: 403, or 404 for what the caller may not even see.
    """
    if writes and repo.archived:
        raise RefusedError(403, "This repository was archived so it is read-only.")
    if caller.token is not None:
        ids = caller.token.repository_ids
        covered = repo in caller.token.installation.repositories
        if not covered or (ids is not None and repo.id not in ids):
            raise RefusedError(404 if repo.private else 403, "Repository not found.")
        if not granted(caller.token.permissions, f"contents={'write' if writes else 'read'}"):
            raise RefusedError(403, "Write access to repository not granted.")
        return
    role = state.role(repo, caller.user)
    if role < Role.READ:
        raise RefusedError(404, "Repository not found.")
    if writes and role < Role.WRITE:
        raise RefusedError(403, f"Permission to {repo.full_name}.git denied to {caller.name}.")


def judge(
    state: ForgeState,
    repo: Repository,
    change: RefChange,
    received: PushedObjects,
    *,
    caller: Caller,
    web: str,
) -> PushVerdict:
    """Judge one pushed ref: its name, then workflows, then the rules of the ref.

    Args:
        state: The forge; the caller holds its lock.
        repo: Where it is pushed to.
        change: What is pushed.
        received: What came with it.
        caller: Who pushes.
        web: Address of the forge's pages, which its words name.
    """
    refused = refs.refused_name(change.ref) if change.creates else ""
    if refused:
        name = change.ref.split("/", 2)[2]
        lines = [
            f"error: GH002: Sorry, {refused}",
            f'error: Invalid branch or tag name "{name}"',
        ]
        return PushVerdict(lines, "pre-receive hook declined")
    if not change.deletes and not workflows.free(caller):
        start = workflows.start_of(repo, change)
        for file in received.changed(start, change.after, workflows.FOLDER):
            return PushVerdict([], workflows.refusal(file))
    incoming = Incoming(
        lambda: received.forced(change.before, change.after),
        lambda: received.unsigned(change.after),
    )
    found = state.rules.refusals(repo, change, refs.acting(caller), incoming)
    return PushVerdict(*push_refusal(repo, web, change.ref, found)) if found else PushVerdict()
