"""The whole memory of the forge, installations of Apps, and what webhooks may tell of.

Records hold no open file and no git process, so that the whole memory can be copied to answer with
facts of earlier.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bot.sandbox.records.accounts import App, Organization, User
from bot.sandbox.records.gitlab import Instance
from bot.sandbox.records.repository import Repository


@dataclass(slots=True, eq=False, kw_only=True)
class Installation:
    """An App on an account, for chosen repositories."""

    id: int
    app: App
    account: User
    permissions: dict[str, str]
    events: tuple[str, ...]
    created_at: datetime
    repositories: list[Repository] = field(default_factory=list)
    suspended_at: datetime | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class InstallationToken:
    """A token of an installation; worth nothing from `expires_at` on."""

    installation: Installation
    expires_at: datetime
    permissions: dict[str, str]
    repository_ids: tuple[int, ...] | None
    revoked: bool = False


@dataclass(frozen=True, slots=True)
class ManifestCode:
    """A manifest that somebody confirmed, until its code is exchanged."""

    account: User
    name: str
    slug: str
    manifest: Mapping[str, Any]
    created_at: datetime


@dataclass(slots=True)
class Data:
    """The forge's whole memory; one deep copy of it is one moment of the forge."""

    users: dict[str, User] = field(default_factory=dict)
    organizations: dict[str, Organization] = field(default_factory=dict)
    repositories: dict[int, Repository] = field(default_factory=dict)
    apps: dict[int, App] = field(default_factory=dict)
    installations: dict[int, Installation] = field(default_factory=dict)
    moved: dict[str, int] = field(default_factory=dict)
    """Full names that repositories had before, in small letters, to the repository's id."""
    user_tokens: dict[str, User] = field(default_factory=dict)
    installation_tokens: dict[str, InstallationToken] = field(default_factory=dict)
    manifest_codes: dict[str, ManifestCode] = field(default_factory=dict)
    gitlab: Instance = field(default_factory=Instance)
    """What only an instance of GitLab's remembers."""
    last_id: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that webhooks may tell; `extra` holds what the event's payload needs besides.

    Keys of `extra`, by kind: push, create, delete: `change`; pull_request: `pull`, and
    `before`/`after`, `label`, `assignee`, `reviewer`, `changes` or `reason`; merge_group: `group`,
    `base`, and `reason`; issues: `issue`, and `label`,
    `assignee` or `changes`; pull_request_review: `review`; issue_comment: `comment`, `changes`;
    check_run: `run`; check_suite: `suite`; status: `status`; installation: `installation`;
    installation_repositories: `installation`, `added` or `removed`; installation_target:
    `installation`, `changes`; repository: `changes`, `old_owner`.
    """

    kind: str
    action: str | None
    repo: Repository | None
    sender: User
    extra: Mapping[str, Any]
