"""The `access` key of `.porchbot.yaml`: its forms, and the rules that they mean."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from cadlib.forms import Strict, wrong
from lifecycle import policy
from lifecycle.access import (
    VARIANTS,
    WORKFLOWS,
    AccessAction,
    AppSource,
    AuthorSource,
    OwnersSource,
    Role,
    RoleSource,
    Source,
    TeamSource,
    UserSource,
)
from lifecycle.messages import configuration as texts
from lifecycle.policy import AccessRule

_ROLES = tuple(str(role) for role in Role if role > Role.NONE)
_LOGIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_SLUG = re.compile(r"[a-z0-9_][a-z0-9_.-]{0,99}")
_GROUP = re.compile(rf"{_SLUG.pattern}(/{_SLUG.pattern}){{0,20}}")
_NAMED = {"user": _LOGIN, "app": _SLUG, "team": _SLUG, "group": _GROUP}
_SPELLED = (
    rf"role:({'|'.join(_ROLES)})|user:{_LOGIN.pattern}|(app|team):{_SLUG.pattern}"
    rf"|group:{_GROUP.pattern}|codeowners"
)
_SOURCE_SCHEMA: dict[str, Any] = {"pattern": f"^({_SPELLED})$"}
_APP_SCHEMA: dict[str, Any] = {"pattern": f"^app:{_SLUG.pattern}$"}
_KEEPER_SCHEMA: dict[str, Any] = {"pattern": f"^({_SPELLED.removesuffix('|codeowners')})$"}
_ACTOR_SCHEMA: dict[str, Any] = {"pattern": f"^({_SPELLED}|author)$"}


def folder(text: str) -> str:
    """Check a folder of the repository, and return its path; "" for all of it."""
    path = text.removeprefix("./").rstrip("/")
    if path in ("", "."):
        if text.startswith("/"):
            raise wrong(*texts.ROOT)
        return ""
    parts = path.split("/")
    if (
        not all(parts)
        or not {".", ".."}.isdisjoint(parts)
        or "\\" in path
        or not path.isprintable()
    ):
        raise wrong(*texts.folder(text))
    return path


def _source(text: str) -> str:
    kind, _, rest = text.partition(":")
    if text == "codeowners" or (kind == "role" and rest in _ROLES):
        return text
    if kind == "app" and rest == WORKFLOWS:
        raise wrong(*texts.anybodys(text))
    if kind in _NAMED and _NAMED[kind].fullmatch(rest):
        return text
    if text in _ROLES:
        raise wrong(*texts.bare_role(text))
    if kind == "user" and rest.endswith("[bot]"):
        raise wrong(*texts.machine(text))
    if kind == "team" and rest:
        raise wrong(*texts.team(text))
    raise wrong(*texts.source(text, _ROLES))


def _keeper(text: str) -> str:
    if text == "codeowners":
        raise wrong(*texts.OWNERS_OF_NOTHING)
    return _source(text)


def _actor(text: str) -> str:
    return text if text == "author" else _source(text)


def _app(text: str) -> str:
    kind, _, rest = text.partition(":")
    if kind != "app" or not _SLUG.fullmatch(rest):
        raise wrong(*texts.app(text))
    return _source(text)


def upstream_address(text: str) -> str:
    """Check an address without a scheme, with `*` only at its end."""
    if not text or "*" in text[:-1] or any(c.isspace() for c in text):
        raise wrong(*texts.upstream(text))
    return text


_Source = Annotated[str, AfterValidator(_source), Field(json_schema_extra=_SOURCE_SCHEMA)]
_App = Annotated[str, AfterValidator(_app), Field(json_schema_extra=_APP_SCHEMA)]
_Keeper = Annotated[str, AfterValidator(_keeper), Field(json_schema_extra=_KEEPER_SCHEMA)]
_Actor = Annotated[str, AfterValidator(_actor), Field(json_schema_extra=_ACTOR_SCHEMA)]


class Automatic(Strict):
    """Changes that need no approval."""

    by: Annotated[list[_App], Field(max_length=20)] = Field(default=[])
    """GitHub Apps such as `app:renovate`. Everybody who opened, wrote or pushed a part of the
    change must be one of them. `app:porchbot` is this bot, whatever its own App is called."""

    changes: Literal["patch"] = "patch"
    """`patch`: the change only raises the last number of versions such as `1.2.3`, whether the
    version stands alone or is the tag of an image."""

    variants: bool = False
    """Changes that the bot alone made for a PackageVariant, without a conflict, from a revision
    that it published."""

    @model_validator(mode="after")
    def _says_something(self) -> "Automatic":
        if not self.by and not self.variants:
            raise wrong(*texts.AUTOMATIC_OF_NOBODY)
        return self


class Approve(Strict):
    """Who must approve before something is published."""

    require: Annotated[int, Field(ge=0, le=100)] = 1
    """How many people must approve."""

    from_: Annotated[list[_Source], Field(min_length=1, max_length=100)] = Field(
        ["role:write"], alias="from"
    )
    """Whose approval counts, any of: `role:read`, `role:triage`, `role:write`, `role:maintain`,
    `role:admin` (that role or a higher one), `user:<login>` (who has that login now: in a public
    repository prefer teams, since a login that was given up can be taken by others), `team:<name>`
    (of the organization that owns the repository, with its child teams; on GitLab the group of
    that name right below the project's top-level group), `group:<path>` (a group of GitLab by its
    whole path; of a group count its direct members from Developer on, not those of the groups
    above it), `codeowners` (of each changed file, as the base branch has it), `app:<name>` (a
    GitHub App; machines count only where they are named)."""

    self_: bool = Field(False, alias="self")
    """`true`: authors may approve their own work."""

    automatic: Automatic | None = None
    """Changes that need no approval. All other gates still apply."""

    @model_validator(mode="after")
    def _can_be_met(self) -> "Approve":
        _check_count(self.require, self.from_)
        return self


class RequiredApproval(Strict):
    """Who must approve something. Its author never counts."""

    require: Annotated[int, Field(ge=1, le=100)] = 1
    """How many people must approve."""

    from_: Annotated[list[_Source], Field(min_length=1, max_length=100, alias="from")]
    """Whose approval counts: any of these, written as in `approve`."""

    @model_validator(mode="after")
    def _can_be_met(self) -> "RequiredApproval":
        _check_count(self.require, self.from_)
        return self


def _check_count(require: int, sources: list[str]) -> None:
    named = {source.lower() for source in sources if source.startswith(("user:", "app:"))}
    if all(source.lower() in named for source in sources) and require > len(named):
        raise wrong(*texts.too_few(require, len(named)))


class Actors(Strict):
    """Who may give the bot a command."""

    from_: Annotated[list[_Source], Field(min_length=1, max_length=100, alias="from")]
    """Any of these, written as in `approve`."""


class Keepers(Strict):
    """Who may give the bot a command that is not about single files."""

    from_: Annotated[list[_Keeper], Field(min_length=1, max_length=100, alias="from")]
    """Any of these, written as in `approve`. `codeowners` is not possible, because code owners own
    files."""


class AuthorOr(Strict):
    """Who may give the bot a command on a proposal."""

    from_: Annotated[list[_Actor], Field(min_length=1, max_length=100, alias="from")]
    """Any of these, written as in `approve`. `author` stands for everybody who wrote or pushed a
    part of the proposal."""


Given = Approve | RequiredApproval | Actors | Keepers | AuthorOr


class PackageAccess(Strict):
    """Who may do what with packages."""

    approve: Approve | None = None
    """Who must approve its packages. Default: the rule of the folder around it."""
    propose: AuthorOr | None = None
    """Who may propose, with `/propose` or *Ready for review*. Default: authors and `role:write`,
    and *Ready for review* is not checked."""
    reject: AuthorOr | None = None
    """Who may turn a proposal back into a draft with `/reject`. Default: authors and `role:write`.
    """
    draft: Actors | None = None
    """Who may ask the bot to change a draft, for example with `/render` or `/rebase`. Default:
    `role:write`. Who may push is up to the forge."""
    clone: Actors | None = None
    """Who may have packages cloned into this repository. Default: `role:write`."""
    upgrade: Actors | None = None
    """Who may have packages upgraded. Default: `role:write`."""
    rollback: Actors | None = None
    """Who may have packages rolled back. Default: `role:write`."""
    freeze: Keepers | None = None
    """Who may stop publishing and resume it. Default: `role:maintain`."""
    override: RequiredApproval | None = None
    """Who must approve an exception. Default: as `approve`, but at least one person."""
    delete: RequiredApproval | None = None
    """Who must approve a deletion. Default: as `approve`, but at least one person."""
    deprecate: RequiredApproval | None = None
    """Who must approve a deprecation. Default: as `approve`, but at least one person."""
    register_: RequiredApproval | None = Field(None, alias="register")
    """Who must approve the first revision of a package, in addition to `approve`. This covers new
    packages and packages that exist in the repository but were never published by this bot.
    Default: nobody in addition."""

    def given(self) -> Mapping[AccessAction, Given | None]:
        """Return the form of each action; None where the file tells none."""
        return {
            AccessAction.APPROVE: self.approve,
            AccessAction.PROPOSE: self.propose,
            AccessAction.REJECT: self.reject,
            AccessAction.DRAFT: self.draft,
            AccessAction.CLONE: self.clone,
            AccessAction.UPGRADE: self.upgrade,
            AccessAction.ROLLBACK: self.rollback,
            AccessAction.FREEZE: self.freeze,
            AccessAction.OVERRIDE: self.override,
            AccessAction.DELETE: self.delete,
            AccessAction.DEPRECATE: self.deprecate,
            AccessAction.REGISTER: self.register_,
        }


class PathAccess(PackageAccess):
    """Who may do what with the packages in one folder, instead of the rules around it."""

    directory: Annotated[str, AfterValidator(folder)]
    """The folder, relative to the root of the repository. If several contain a package, the
    innermost applies. If the folder lies inside a package, its rules apply in addition to changes
    in that folder."""

    @model_validator(mode="after")
    def _below(self) -> "PathAccess":
        if not self.directory:
            raise wrong(*texts.WHOLE_PATH)
        return self


class UpstreamAccess(Strict):
    """Who may take packages from some upstreams. These rules replace the general ones."""

    upstream: Annotated[str, AfterValidator(upstream_address), Field(max_length=500)]
    """Address without a scheme, such as `github.com/acme/blueprints`; `*` at the end stands for
    anything."""

    clone: Actors | None = None
    """Who may clone from there."""
    upgrade: Actors | None = None
    """Who may upgrade to versions from there."""

    def given(self) -> Mapping[AccessAction, Given | None]:
        """Return the form of each action; None where the file tells none."""
        return {AccessAction.CLONE: self.clone, AccessAction.UPGRADE: self.upgrade}


class Access(PackageAccess):
    """Who may do what."""

    approve: Approve = Field(default_factory=lambda: Approve.model_validate({}))
    """Who must approve before something is published."""
    configure: RequiredApproval | None = None
    """Who must approve a change of this file or of the ledger. Default: the people who approve
    packages, at least one person, and never an author."""
    bulk: Keepers | None = None
    """Who may change many packages with one command. Default: `role:maintain`."""
    paths: Annotated[list[PathAccess], Field(max_length=200)] = Field(default=[])
    """Different rules for single folders."""
    upstreams: Annotated[list[UpstreamAccess], Field(max_length=200)] = Field(default=[])
    """Different rules for single upstreams."""

    def given(self) -> Mapping[AccessAction, Given | None]:
        """Return the form of each action; None where the file tells none."""
        return {
            **super().given(),
            AccessAction.CONFIGURE: self.configure,
            AccessAction.BULK: self.bulk,
        }

    @model_validator(mode="after")
    def _each_once(self) -> "Access":
        for listed in ([p.directory for p in self.paths], [u.upstream for u in self.upstreams]):
            twice = [each for each in listed if listed.count(each) > 1]
            if twice:
                raise wrong(*texts.ruled_twice(twice[0]))
        return self


def rules(form: PackageAccess | UpstreamAccess, *without: AccessAction) -> policy.Rules:
    """Return the rules of a form by action."""
    return {
        action: rule(each)
        for action, each in form.given().items()
        if each is not None and action not in without
    }


def rule(given: Given) -> AccessRule:
    """Return the rule that a form means."""
    alone = given.automatic if isinstance(given, Approve) else None
    apps = [] if alone is None else [AppSource(text.removeprefix("app:")) for text in alone.by]
    return AccessRule(
        getattr(given, "require", 1),
        tuple(_as_source(text) for text in given.from_),
        getattr(given, "self_", False),
        (*apps, *((VARIANTS,) if alone is not None and alone.variants else ())),
    )


def _as_source(text: str) -> Source:
    kind, _, rest = text.partition(":")
    match kind:
        case "codeowners":
            return OwnersSource()
        case "author":
            return AuthorSource()
        case "team" | "group":
            return TeamSource(rest)
        case "app":
            return AppSource(rest)
        case "user":
            return UserSource(rest)
        case _:
            return RoleSource(Role[rest.upper()])
