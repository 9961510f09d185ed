"""GitLab's operations on protected branches, protected tags and deploy keys.

Source: https://docs.gitlab.com/api/protected_branches/, https://docs.gitlab.com/api/protected_tags/,
https://docs.gitlab.com/api/deploy_keys/
"""

from __future__ import annotations

import base64
import binascii
import hashlib

from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab import commit_json, levels
from bot.sandbox.gitlab.errors import bad_parameter, bad_request, conflict, missing, unprocessable
from bot.sandbox.gitlab.inputs import Inputs
from bot.sandbox.gitlab.json import Json, stamp, stamp_or_none
from bot.sandbox.gitlab.routing import ApiRequest, at_least, page, route
from bot.sandbox.records.gitlab import AccessLevel, Allowance, DeployKey, ProtectedRef

_BRANCHES = "/projects/{id}/protected_branches"
_TAGS = "/projects/{id}/protected_tags"
_KEYS = "/projects/{id}/deploy_keys"
_MAINTAINER = at_least(AccessLevel.MAINTAINER)
_LEVELS = (AccessLevel.NO_ACCESS, AccessLevel.DEVELOPER, AccessLevel.MAINTAINER, AccessLevel.ADMIN)


# Branches.


@route("GET", _BRANCHES, _MAINTAINER)
def list_branches(request: ApiRequest) -> ApiResponse:
    """Protected branches; `search` is a part of the name."""
    found = [r for r in request.project.gitlab.protected_branches.values() if _named(request, r)]
    return page(request, found, lambda rule: _branch(request, rule))


@route("GET", f"{_BRANCHES}/{{name}}", _MAINTAINER)
def get_branch(request: ApiRequest) -> ApiResponse:
    """One protected branch, by the name or pattern it was protected by."""
    return ApiResponse(body=_branch(request, _found_branch(request)))


@route("POST", _BRANCHES, _MAINTAINER)
def protect_branch(request: ApiRequest) -> ApiResponse:
    """Protect a branch or a pattern; Maintainers push and merge unless it is said."""
    kept, name = request.project.gitlab.protected_branches, request.input.filled("name")
    if name in kept:
        raise conflict(f"Protected branch '{name}' already exists")
    made = ProtectedRef(
        id=request.state.next_id(),
        name=name,
        push=_allowances(request, "push_access_level", "allowed_to_push"),
        merge=_allowances(request, "merge_access_level", "allowed_to_merge"),
        unprotect=_allowances(request, "unprotect_access_level", "allowed_to_unprotect"),
    )
    _set(request, made)
    kept[name] = made
    return ApiResponse(status=201, body=_branch(request, made))


@route("PATCH", f"{_BRANCHES}/{{name}}", _MAINTAINER)
def update_branch(request: ApiRequest) -> ApiResponse:
    """Change a protected branch: force pushes, and entries by `id`, `_destroy` or new ones."""
    rule = _found_branch(request)
    rule.push = _changed(request, rule.push, "allowed_to_push")
    rule.merge = _changed(request, rule.merge, "allowed_to_merge")
    rule.unprotect = _changed(request, rule.unprotect, "allowed_to_unprotect")
    _set(request, rule)
    return ApiResponse(body=_branch(request, rule))


@route("DELETE", f"{_BRANCHES}/{{name}}", _MAINTAINER)
def unprotect_branch(request: ApiRequest) -> ApiResponse:
    """Take a protection away."""
    del request.project.gitlab.protected_branches[_found_branch(request).name]
    return ApiResponse(status=204)


@route("PUT", "/projects/{id}/repository/branches/{branch}/protect", _MAINTAINER)
def protect_plainly(request: ApiRequest) -> ApiResponse:
    """Protect a branch the old way: whether Developers may push and merge."""
    name, kept = request.params["branch"], request.project.gitlab.protected_branches
    if request.project.branch(name) is None:
        raise missing("Branch")

    def for_word(word: str) -> tuple[Allowance, ...]:
        open_ = bool(request.input.flag(word))
        level = AccessLevel.DEVELOPER if open_ else AccessLevel.MAINTAINER
        return (Allowance(id=request.state.next_id(), level=level),)

    kept[name] = ProtectedRef(
        id=kept[name].id if name in kept else request.state.next_id(),
        name=name,
        push=for_word("developers_can_push"),
        merge=for_word("developers_can_merge"),
    )
    return ApiResponse(body=_plain_branch(request, name))


@route("PUT", "/projects/{id}/repository/branches/{branch}/unprotect", _MAINTAINER)
def unprotect_plainly(request: ApiRequest) -> ApiResponse:
    """Take a branch's protection away the old way."""
    name = request.params["branch"]
    if request.project.branch(name) is None:
        raise missing("Branch")
    request.project.gitlab.protected_branches.pop(name, None)
    return ApiResponse(body=_plain_branch(request, name))


def _plain_branch(request: ApiRequest, name: str) -> object:
    return commit_json.branch(request.state, request.links, request.project, name, request.user)


def _found_branch(request: ApiRequest) -> ProtectedRef:
    found = request.project.gitlab.protected_branches.get(request.params["name"])
    if found is None:
        raise missing()
    return found


def _set(request: ApiRequest, rule: ProtectedRef) -> None:
    force = request.input.flag("allow_force_push")
    owners = request.input.flag("code_owner_approval_required")
    rule.allow_force_push = rule.allow_force_push if force is None else force
    if owners is not None and levels.has_tier(request.state, request.project):
        rule.code_owner_approval_required = owners


def _branch(request: ApiRequest, rule: ProtectedRef) -> Json:
    made: Json = {
        "id": rule.id,
        "name": rule.name,
        "push_access_levels": [_allowance(request, a) for a in rule.push],
        "merge_access_levels": [_allowance(request, a) for a in rule.merge],
        "allow_force_push": rule.allow_force_push,
    }
    if levels.has_tier(request.state, request.project):
        made["unprotect_access_levels"] = [_allowance(request, a) for a in rule.unprotect]
        made["code_owner_approval_required"] = rule.code_owner_approval_required
        made["inherited"] = False
    return made


# Tags.


@route("GET", _TAGS, _MAINTAINER)
def list_tags(request: ApiRequest) -> ApiResponse:
    """Protected tags."""
    kept = request.project.gitlab.protected_tags.values()
    return page(request, list(kept), lambda rule: _tag(request, rule))


@route("GET", f"{_TAGS}/{{name}}", _MAINTAINER)
def get_tag(request: ApiRequest) -> ApiResponse:
    """One protected tag, by the name or pattern it was protected by."""
    return ApiResponse(body=_tag(request, _found_tag(request)))


@route("POST", _TAGS, _MAINTAINER)
def protect_tag(request: ApiRequest) -> ApiResponse:
    """Protect a tag or a pattern; Maintainers create unless it is said."""
    kept, name = request.project.gitlab.protected_tags, request.input.filled("name")
    if name in kept:
        raise unprocessable("Name has already been taken")
    made = ProtectedRef(
        id=request.state.next_id(),
        name=name,
        push=_allowances(request, "create_access_level", "allowed_to_create"),
    )
    kept[name] = made
    return ApiResponse(status=201, body=_tag(request, made))


@route("DELETE", f"{_TAGS}/{{name}}", _MAINTAINER)
def unprotect_tag(request: ApiRequest) -> ApiResponse:
    """Take a protection away."""
    del request.project.gitlab.protected_tags[_found_tag(request).name]
    return ApiResponse(status=204)


def _found_tag(request: ApiRequest) -> ProtectedRef:
    found = request.project.gitlab.protected_tags.get(request.params["name"])
    if found is None:
        raise missing()
    return found


def _tag(request: ApiRequest, rule: ProtectedRef) -> Json:
    return {"name": rule.name, "create_access_levels": [_allowance(request, a) for a in rule.push]}


# Who may.


def _allowances(request: ApiRequest, one: str, many: str) -> tuple[Allowance, ...]:
    """What a request says of who may: a level, and entries; Maintainers where it says nothing."""
    level = request.input.number(one)
    if level is not None and level not in _LEVELS:
        raise bad_parameter(f"{one} does not have a valid value")
    made = [_entry(request, entry, many) for entry in _entries(request, many)]
    if level is not None or not made:
        chosen = AccessLevel.MAINTAINER if level is None else AccessLevel(level)
        made.insert(0, Allowance(id=request.state.next_id(), level=chosen))
    return tuple(made)


def _changed(request: ApiRequest, old: tuple[Allowance, ...], many: str) -> tuple[Allowance, ...]:
    kept = {allowance.id: allowance for allowance in old}
    for entry in _entries(request, many):
        number = entry.number("id")
        if number is not None and number not in kept:
            raise missing()
        if number is not None and entry.flag("_destroy"):
            del kept[number]
            continue
        made = _entry(request, entry, many)
        kept.pop(number or 0, None)
        kept[made.id] = made
    return tuple(kept.values())


def _entries(request: ApiRequest, many: str) -> list[Inputs]:
    """The entries that count: Free passes over deploy keys before 18.10, which pages always take.

    Source: https://docs.gitlab.com/api/protected_branches/#example-with-deploy-key-access
    """
    version = tuple(map(int, request.state.data.gitlab.version.split(".")[:2]))
    keys = version >= (18, 10) or levels.has_tier(request.state, request.project)
    entries = request.input.objects(many) or []
    return [each for each in entries if keys or each.number("deploy_key_id") is None]


def _entry(request: ApiRequest, entry: Inputs, many: str) -> Allowance:
    """One entry; people and groups can be named with Premium only."""
    named = {name: entry.number(name) for name in ("user_id", "group_id", "deploy_key_id")}
    level = entry.number("access_level")
    given = [name for name, value in named.items() if value is not None]
    if len(given) + (level is not None) != 1:
        raise bad_parameter(f"{many}[access_level], {many}[user_id] are mutually exclusive")
    premium = levels.has_tier(request.state, request.project)
    if given and given[0] != "deploy_key_id" and not premium:
        raise unprocessable(
            f"{many.replace('allowed_to_', '').capitalize()} access levels"
            f" {given[0].removesuffix('_id')} is not available on this tier"
        )
    if named["user_id"] is not None:
        user = request.person(named["user_id"])
        if levels.level(request.state, request.project, user) < AccessLevel.DEVELOPER:
            raise unprocessable("Push access levels user is not a member of the project")
    key = named["deploy_key_id"]
    if key is not None and not request.project.gitlab.deploy_keys.get(key):
        raise unprocessable("Push access levels deploy key is not enabled for this project")
    if level is not None and level not in _LEVELS:
        raise bad_parameter(f"{many}[access_level] does not have a valid value")
    return Allowance(
        id=request.state.next_id(), level=None if level is None else AccessLevel(level), **named
    )


def _allowance(request: ApiRequest, allowance: Allowance) -> Json:
    level = allowance.level
    words = level.word if level is not None else ""
    if allowance.user_id is not None:
        words = request.person(allowance.user_id).name
    elif allowance.group_id is not None:
        words = levels.group_at(request.state, str(allowance.group_id)).account.name
    elif allowance.deploy_key_id is not None:
        words = request.state.data.gitlab.deploy_keys[allowance.deploy_key_id].title
    made: Json = {
        "id": allowance.id,
        "access_level": AccessLevel.MAINTAINER if level is None else int(level),
        "access_level_description": words,
        "deploy_key_id": allowance.deploy_key_id,
    }
    if levels.has_tier(request.state, request.project):
        made |= {"user_id": allowance.user_id, "group_id": allowance.group_id}
    return made


def _named(request: ApiRequest, rule: ProtectedRef) -> bool:
    return (request.input.text("search") or "") in rule.name


# Deploy keys.


@route("GET", _KEYS, _MAINTAINER)
def list_keys(request: ApiRequest) -> ApiResponse:
    """Deploy keys that are enabled in a project."""
    return page(request, list(request.project.gitlab.deploy_keys), lambda n: _key(request, n))


@route("GET", f"{_KEYS}/{{key_id}}", _MAINTAINER)
def get_key(request: ApiRequest) -> ApiResponse:
    """One deploy key."""
    return ApiResponse(body=_key(request, _found_key(request)))


@route("POST", _KEYS, _MAINTAINER)
def add_key(request: ApiRequest) -> ApiResponse:
    """Add a deploy key; the same key may be enabled in several projects."""
    title, text = request.input.filled("title"), request.input.filled("key").strip()
    _fingerprint(text)
    kept, project = request.state.data.gitlab.deploy_keys, request.project.gitlab
    found = next((k for k in kept.values() if k.key.split()[:2] == text.split()[:2]), None)
    if found is not None and found.id in project.deploy_keys:
        raise bad_request("Fingerprint sha256 has already been taken")
    if found is None:
        found = DeployKey(
            id=request.state.next_id(),
            title=title,
            key=text,
            user_id=request.user.id,
            created_at=request.state.now(),
            expires_at=request.input.when("expires_at"),
        )
        kept[found.id] = found
    project.deploy_keys[found.id] = bool(request.input.flag("can_push"))
    return ApiResponse(status=201, body=_key(request, found.id))


@route("PUT", f"{_KEYS}/{{key_id}}", _MAINTAINER)
def update_key(request: ApiRequest) -> ApiResponse:
    """Change a deploy key's title, or whether it may push."""
    number = _found_key(request)
    title, can = request.input.text("title"), request.input.flag("can_push")
    if title:
        request.state.data.gitlab.deploy_keys[number].title = title
    if can is not None:
        request.project.gitlab.deploy_keys[number] = can
    return ApiResponse(body=_key(request, number))


@route("DELETE", f"{_KEYS}/{{key_id}}", _MAINTAINER)
def remove_key(request: ApiRequest) -> ApiResponse:
    """Take a deploy key out of a project."""
    number, project = _found_key(request), request.project.gitlab
    del project.deploy_keys[number]
    for rule in (*project.protected_branches.values(), *project.protected_tags.values()):
        rule.push = tuple(a for a in rule.push if a.deploy_key_id != number)
    return ApiResponse(status=204)


def _found_key(request: ApiRequest) -> int:
    number = request.number("key_id")
    if number not in request.project.gitlab.deploy_keys:
        raise missing("Deploy Key")
    return number


def _key(request: ApiRequest, number: int) -> Json:
    key = request.state.data.gitlab.deploy_keys[number]
    return {
        "id": key.id,
        "title": key.title,
        "key": key.key,
        "fingerprint": None,
        "fingerprint_sha256": _fingerprint(key.key),
        "created_at": stamp(key.created_at),
        "expires_at": stamp_or_none(key.expires_at),
        "can_push": request.project.gitlab.deploy_keys[number],
    }


def _fingerprint(text: str) -> str:
    """`SHA256:…` of a public key; 400 for what is none."""
    parts = text.split()
    try:
        raw = base64.b64decode(parts[1], validate=True) if len(parts) > 1 else b""
    except (binascii.Error, ValueError):
        raw = b""
    if not raw or not parts[0].startswith(("ssh-", "ecdsa-", "sk-")):
        raise bad_request("Key is invalid")
    return "SHA256:" + base64.b64encode(hashlib.sha256(raw).digest()).decode().rstrip("=")
