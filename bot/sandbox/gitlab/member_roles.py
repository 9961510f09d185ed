"""Roles that an instance makes up; Ultimate.

A member of one has the access level that it is based on, and abilities beyond that, none of which
lets anybody approve, push or merge: the sandbox shows them, and decides by the level.
Source: https://docs.gitlab.com/api/member_roles/
"""

from __future__ import annotations

from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab import levels
from bot.sandbox.gitlab.errors import bad_parameter, bad_request, forbidden, missing
from bot.sandbox.gitlab.json import Json
from bot.sandbox.gitlab.routing import ADMIN, ApiRequest, page, route
from bot.sandbox.records.accounts import User
from bot.sandbox.records.gitlab import ULTIMATE, AccessLevel
from bot.sandbox.records.premium import CustomRole
from bot.sandbox.rules.context import Context

_ROLES = "/member_roles"
_BASES = (AccessLevel.GUEST, AccessLevel.REPORTER, AccessLevel.DEVELOPER, AccessLevel.MAINTAINER)
ABILITIES = ("admin_merge_request", "admin_push_rules", "read_code", "read_vulnerability")
"""Those that the sandbox knows by name."""


@route("GET", _ROLES, ADMIN)
def list_roles(request: ApiRequest) -> ApiResponse:
    """Every role that was made up."""
    return page(request, list(_known(request).values()), _role)


@route("POST", _ROLES, ADMIN)
def add(request: ApiRequest) -> ApiResponse:
    """Make one up."""
    known, given = _known(request), request.input
    base = given.needed_number("base_access_level")
    if base not in _BASES:
        raise bad_parameter("base_access_level does not have a valid value")
    made = CustomRole(
        id=request.state.next_id(),
        name=given.filled("name"),
        base=base,
        abilities=tuple(name for name in ABILITIES if given.flag(name)),
    )
    known[made.id] = made
    return ApiResponse(status=201, body=_role(made))


@route("DELETE", f"{_ROLES}/{{role_id}}", ADMIN)
def remove(request: ApiRequest) -> ApiResponse:
    """Take one away; 400 while somebody has it."""
    known, number = _known(request), request.number("role_id")
    if number not in known:
        raise missing("Member Role")
    if number in request.state.data.gitlab.custom_members.values():
        raise bad_request("Role is assigned to one or more group members")
    del known[number]
    return ApiResponse(status=204)


def give(request: ApiRequest, place: int, user: User, level: AccessLevel) -> None:
    """Give a member the role that is named, or none.

    Args:
        request: Its `member_role_id` names it; 400 for one that is based on another level.
        place: Number of the project or group.
        user: The member.
        level: What they have there.
    """
    held = request.state.data.gitlab.custom_members
    held.pop((place, user.id), None)
    number = request.input.number("member_role_id")
    if number is None:
        return
    role = _known(request).get(number)
    if role is None:
        raise missing("Member Role")
    if role.base != level:
        raise bad_request("The base access level of the role does not match the access level")
    held[place, user.id] = number


def shown(state: Context, place: int, user: User) -> Json:
    """What a member's entity tells of their role; nothing where they have none."""
    number = state.data.gitlab.custom_members.get((place, user.id))
    found = state.data.gitlab.custom_roles.get(number or 0)
    return {} if found is None else {"member_role": _role(found)}


def _known(request: ApiRequest) -> dict[int, CustomRole]:
    if not levels.has_tier(request.state, None, ULTIMATE):
        raise forbidden()
    return request.state.data.gitlab.custom_roles


def _role(role: CustomRole) -> Json:
    """Entity `MemberRole`."""
    abilities = {name: name in role.abilities for name in ABILITIES}
    named = {"id": role.id, "name": role.name, "description": None, "group_id": None}
    return named | {"base_access_level": role.base} | abilities
