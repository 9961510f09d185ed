"""Finds the handler of a request, and the values it is given; knows no single operation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from bot.sandbox import operations
from bot.sandbox.api import ApiResponse, RoutedRequest
from bot.sandbox.gitlab import levels
from bot.sandbox.gitlab.deliveries import DeliveryPublisher
from bot.sandbox.gitlab.errors import bad_parameter, forbidden, missing, unauthorized
from bot.sandbox.gitlab.inputs import Inputs
from bot.sandbox.gitlab.tokens import GitLabCaller, Tokens
from bot.sandbox.records.accounts import Organization, User
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.repository import Repository

_MOST_PER_PAGE = 100
_PER_PAGE = 20
_MOST_COUNTED = 10_000  # GitLab does not say how many there are of more


@dataclass(frozen=True, slots=True)
class AccessRequirement:
    """What an operation needs of its caller, in the project or group of its path.

    Attributes:
        level: Least access level; NO_ACCESS where seeing the project is enough.
        code: Whether the caller must be able to read the code.
        signed_in: Whether there must be a caller.
        admin: Whether it must be an administrator.
        scopes: Scopes one of which the token must have; None for `api`, and `read_api` to read.
    """

    level: AccessLevel = AccessLevel.NO_ACCESS
    code: bool = False
    signed_in: bool = False
    admin: bool = False
    scopes: tuple[str, ...] | None = None


SEEN = AccessRequirement()
"""Whoever sees the project or group; anybody where there is none."""
CODE = AccessRequirement(code=True)
"""Whoever may read the project's code."""
SIGNED_IN = AccessRequirement(signed_in=True)
"""Whoever has an account and sees the project."""
WITH_CODE = AccessRequirement(signed_in=True, code=True)
"""Whoever has an account and may read the project's code."""
ADMIN = AccessRequirement(signed_in=True, admin=True)
"""Administrators of the instance."""


def at_least(level: AccessLevel) -> AccessRequirement:
    """Members with an access level, or more."""
    return AccessRequirement(level=level, signed_in=True)


@dataclass(frozen=True, kw_only=True)
class ApiRequest(RoutedRequest[GitLabCaller, DeliveryPublisher]):
    """One API request, after it found its operation and its caller.

    Attributes:
        tokens: Makes tokens.
        input: Parameters of query and body, read by type.
    """

    tokens: Tokens
    input: Inputs

    @cached_property
    def project(self) -> Repository:
        """The project of the path; 404 when there is none."""
        return levels.project_at(self.state, self.params["id"])

    @cached_property
    def group(self) -> Organization:
        """The group of the path; 404 when there is none."""
        return levels.group_at(self.state, self.params["id"])

    @property
    def user(self) -> User:
        """The account that acts; 401 for nobody."""
        if self.caller.user is None:
            raise unauthorized()
        return self.caller.user

    @property
    def level(self) -> AccessLevel:
        """What the caller may do in the project as a member."""
        return levels.level(self.state, self.project, self.caller.user)

    def reads_code(self, repo: Repository) -> bool:
        """Whether the caller may read a project's code and merge requests."""
        return levels.reads_code(self.state, repo, self.caller.user)

    def need(self, level: AccessLevel) -> None:
        """Refuse a caller with a lesser level in the project; 403."""
        if self.level < level:
            raise forbidden()

    def number(self, name: str) -> int:
        """A parameter of the path that is a number; 400 for anything else."""
        value = self.params[name]
        if not value.isascii() or not value.isdigit() or len(value) > 18:
            raise bad_parameter(f"{_SPELLED.get(name, name)} is invalid")
        return int(value)

    def person(self, number: int) -> User:
        """An account by its number; 404 when there is none."""
        for user in self.state.data.users.values():
            if user.id == number and user.kind != "Organization":
                return user
        raise missing("User")


_SPELLED = {"iid": "merge_request_iid"}
Handler = Callable[[ApiRequest], ApiResponse]


Route = operations.Route[Handler, AccessRequirement]


def _regex(template: str) -> str:
    """Parameters hold no slash, as GitLab wants those of names quoted."""
    return re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(template))


_ROUTES = operations.Routes[Handler, AccessRequirement](_regex)


def route(
    method: str, template: str, need: AccessRequirement = SEEN
) -> Callable[[Handler], Handler]:
    """Make a function the handler of an operation."""

    def remember(handler: Handler) -> Handler:
        _ROUTES.add(method, template, handler, need)
        return handler

    return remember


routes = _ROUTES.listed
find = _ROUTES.find
"""Paths are below `/api/v4`."""
allowed_methods = _ROUTES.methods


def page(
    request: ApiRequest,
    items: Sequence[Any],
    shown: Callable[[Any], Any] = lambda item: item,
    defaults: Mapping[str, str] | None = None,
    *,
    counted: bool = True,
) -> ApiResponse:
    """One page of a list by numbers, with the headers that GitLab sends even for one page.

    Args:
        request: Its `page` and `per_page` count.
        items: The whole list; only what the page needs is read.
        shown: Makes the JSON of an item.
        defaults: Parameters that the links repeat although nobody named them.
        counted: Whether the headers say how many there are; GitLab does up to 10,000.

    Source: https://docs.gitlab.com/api/rest/#pagination
    """
    size, number = _size(request), _positive(request, "page", 1)
    last = max(1, -(-len(items) // size))
    part = [shown(item) for item in items[(number - 1) * size : number * size]]
    counted = counted and len(items) <= _MOST_COUNTED
    places = [("next", number + 1)] if number < last else []
    places += [("prev", number - 1)] if 1 < number <= last else []
    places += [("first", 1)]
    places += [("last", last)] if counted else []
    headers = {
        "Link": ", ".join(
            f'<{_url(request, defaults, page=str(at), per_page=str(size))}>; rel="{rel}"'
            for rel, at in places
        ),
        "X-Next-Page": str(number + 1) if number < last else "",
        "X-Page": str(number),
        "X-Per-Page": str(size),
        "X-Prev-Page": str(number - 1) if number > 1 else "",
    }
    if counted:
        headers |= {"X-Total": str(len(items)), "X-Total-Pages": str(last)}
    return ApiResponse(body=part, headers=headers)


def last_shown(request: ApiRequest) -> int:
    """How many items there are up to the end of the page that is asked for."""
    return _size(request) * _positive(request, "page", 1)


def keyset(
    request: ApiRequest,
    items: Sequence[Any],
    key: Callable[[Any], str],
    shown: Callable[[Any], Any] = lambda item: item,
    cursor: str = "cursor",
) -> ApiResponse:
    """One page of a list that is read by a cursor; `Link` names the next one only.

    Args:
        request: Its `per_page` and cursor count.
        items: The list, its keys in any order.
        key: What names an item.
        shown: Makes the JSON of an item.
        cursor: The parameter that names the last item of the page before.
    """
    size, after, start = _size(request), request.query.get(cursor), 0
    if after:
        start = next((n + 1 for n, item in enumerate(items) if key(item) == after), len(items))
    part = items[start : start + size]
    headers = {"X-Per-Page": str(size), "X-Next-Page": ""}
    if start + size < len(items):
        # The number is no part of where to go on.
        told = {cursor: key(part[-1]), "per_page": str(size)}
        headers["Link"] = f'<{_url(request, None, **told)}>; rel="next"'
    return ApiResponse(body=[shown(item) for item in part], headers=headers)


def listed(
    request: ApiRequest,
    items: Sequence[Any],
    key: Callable[[Any], str],
    shown: Callable[[Any], Any],
    cursor: str = "cursor",
) -> ApiResponse:
    """One page, by a cursor where `pagination=keyset` asks for it, by numbers elsewhere."""
    if request.query.get("pagination") == "keyset":
        return keyset(request, items, key, shown, cursor)
    return page(request, items, shown)


def _url(request: ApiRequest, defaults: Mapping[str, str] | None, **changed: str) -> str:
    told = {**(defaults or {}), **request.query, **changed}
    if "id" in request.params:
        told["id"] = request.params["id"]
    told.pop("private_token", None)
    return f"{request.links.api}{request.path}?{urlencode(sorted(told.items()))}"


def _size(request: ApiRequest) -> int:
    return min(_positive(request, "per_page", _PER_PAGE), _MOST_PER_PAGE)


def _positive(request: ApiRequest, name: str, default: int) -> int:
    text = request.query.get(name)
    if text is None or text == "":
        return default
    if not text.isascii() or not text.lstrip("-").isdigit() or len(text) > 9:
        raise bad_parameter(f"{name} is invalid")
    if int(text) < 1:
        raise bad_parameter(f"{name} does not have a valid value")
    return int(text)
