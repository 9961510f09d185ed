"""What only GitLab keeps: access levels, tokens, protected refs, webhooks, settings of projects.

People, groups, repositories and their talk are shared with GitHub's dialect (`accounts`,
`repository`); these records hang on them: `Repository.gitlab` and `Data.gitlab`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from enum import IntEnum

from bot.sandbox.records.accounts import Role, User
from bot.sandbox.records.pipelines import Deployment, Environment, Pipeline
from bot.sandbox.records.premium import ApprovalRule, CustomRole, StatusCheck

FREE, PREMIUM, ULTIMATE = "free", "premium", "ultimate"
TIERS = (FREE, PREMIUM, ULTIMATE)
"""Editions, each with what the ones before have."""


class AccessLevel(IntEnum):
    """What a member may do, as GitLab numbers it; each is one of the forge's roles.

    Source: https://docs.gitlab.com/api/access_requests/#valid-access-levels
    """

    NO_ACCESS = 0
    GUEST = 10
    REPORTER = 20
    DEVELOPER = 30
    MAINTAINER = 40
    OWNER = 50
    ADMIN = 60

    @property
    def role(self) -> Role:
        """The role of the shared rules; that of an owner for an administrator."""
        return Role(min(self // 10, int(Role.ADMIN)))

    @property
    def word(self) -> str:
        """How protected refs describe it: `Maintainers`, `No one`."""
        if self is AccessLevel.NO_ACCESS:
            return "No one"
        if self is AccessLevel.DEVELOPER:
            return "Developers + Maintainers"
        return f"{self.name.capitalize()}s"


def level_of(role: Role) -> AccessLevel:
    """The access level that a role is."""
    return AccessLevel(role * 10)


@dataclass(slots=True, eq=False, kw_only=True)
class AccessToken:
    """A token; `value` is the secret itself.

    Attributes:
        kind: `personal`, `project` or `group`.
        user: The account it acts as; a bot's own one for projects and groups.
        scopes: `api`, `read_api`, `read_repository`, `write_repository`, ….
        expires_at: The day from which it is worth nothing; None for never.
        owner_id: Number of the project or group; None for a personal one.
    """

    id: int
    value: str
    name: str
    kind: str
    user: User
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: date | None = None
    revoked: bool = False
    last_used_at: datetime | None = None
    description: str = ""
    owner_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """Who may do something with a protected ref: one of these, the others None."""

    id: int
    level: AccessLevel | None = None
    user_id: int | None = None
    group_id: int | None = None
    deploy_key_id: int | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class ProtectedRef:
    """A protected branch or tag; the name may hold `*` for any text.

    Attributes:
        push: Who may push to a branch, or create a tag.
        merge: Who may merge into a branch.
        unprotect: Who may take the protection away; empty for every Maintainer.
    """

    id: int
    name: str
    push: tuple[Allowance, ...]
    merge: tuple[Allowance, ...] = ()
    unprotect: tuple[Allowance, ...] = ()
    allow_force_push: bool = False
    code_owner_approval_required: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class DeployKey:
    """An SSH key of the instance; projects that it is enabled in say whether it may push.

    Attributes:
        user_id: Who added it, and acts by it.
    """

    id: int
    title: str
    key: str
    user_id: int
    created_at: datetime
    expires_at: datetime | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class WebHook:
    """A webhook of a project, of a group or of the instance (a system hook).

    Attributes:
        kind: `project`, `group` or `system`.
        owner_id: Number of the project or group; None for a system hook.
        token: What `X-Gitlab-Token` says; "" for no such header.
        signing_token: Key of the signature; "" for none. `whsec_` and Base64 of it.
        events: What it hears, by the names of the API: `push_events`, ….
        template: The body that it sends, with `{{name.name}}` for values of the event; "" for the
            event.
        failures: Deliveries in a row that failed.
        disabled_until: No delivery before; None where it is not disabled for a time.
        uuid: What `X-Gitlab-Webhook-UUID` says.
    """

    id: int
    kind: str
    owner_id: int | None
    url: str
    uuid: str
    created_at: datetime
    events: set[str]
    token: str = ""
    signing_token: str = ""
    name: str | None = None
    description: str | None = None
    enable_ssl_verification: bool = True
    branch_filter: str = ""
    branch_filter_strategy: str = "wildcard"
    custom_headers: dict[str, str] = field(default_factory=dict)
    template: str = ""
    failures: int = 0
    disabled_until: datetime | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Project:
    """What a project has besides a repository.

    Attributes:
        settings: What `PUT /projects/:id` changed, by the names of the API.
        approvals: What `POST /projects/:id/approvals` changed.
        deploy_keys: Keys that are enabled, by number, and whether each may push.
        last_merge_request: The newest number of a merge request; issues have their own.
        tier: Edition; None for the instance's.
    """

    settings: dict[str, object] = field(default_factory=dict)
    approvals: dict[str, object] = field(default_factory=dict)
    protected_branches: dict[str, ProtectedRef] = field(default_factory=dict)
    protected_tags: dict[str, ProtectedRef] = field(default_factory=dict)
    deploy_keys: dict[int, bool] = field(default_factory=dict)
    hooks: dict[int, WebHook] = field(default_factory=dict)
    pipelines: dict[int, Pipeline] = field(default_factory=dict)
    deployments: dict[int, Deployment] = field(default_factory=dict)
    environments: dict[int, Environment] = field(default_factory=dict)
    approval_rules: dict[int, ApprovalRule] = field(default_factory=dict)
    status_checks: dict[int, StatusCheck] = field(default_factory=dict)
    last_merge_request: int = 0
    tier: str | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Instance:
    """What the instance has besides its people and projects.

    Attributes:
        version: What `/version` says.
        tier: Edition of all projects that have none of their own.
        admins: Numbers of the users who administer it.
        blocked: Numbers of the users who may do nothing.
        service_accounts: Numbers of the accounts that no person has, and of the group (None: the
            instance) that made each.
        tokens: Tokens by their values.
        custom_roles: Roles that were made up, by number.
        custom_members: Number of a project or group and of a member to the number of their role.
    """

    version: str = "18.10.0"
    tier: str = FREE
    admins: set[int] = field(default_factory=set)
    blocked: set[int] = field(default_factory=set)
    service_accounts: dict[int, int | None] = field(default_factory=dict)
    tokens: dict[str, AccessToken] = field(default_factory=dict)
    custom_roles: dict[int, CustomRole] = field(default_factory=dict)
    custom_members: dict[tuple[int, int], int] = field(default_factory=dict)
    deploy_keys: dict[int, DeployKey] = field(default_factory=dict)
    system_hooks: dict[int, WebHook] = field(default_factory=dict)
    group_hooks: dict[int, WebHook] = field(default_factory=dict)
