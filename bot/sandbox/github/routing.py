"""Finds the handler of a request, and the values it is given; knows no single operation."""

from __future__ import annotations

import base64
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from bot.sandbox import operations
from bot.sandbox.api import ApiResponse, RoutedRequest
from bot.sandbox.errors import RefusedError, not_found, plain
from bot.sandbox.fields import BodyFields
from bot.sandbox.github.deliveries import DeliveryPublisher
from bot.sandbox.records.accounts import App, User
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.accounts import Accounts, Caller
from bot.sandbox.rules.permissions import NEEDS, PermissionRequirement
from bot.sandbox.rules.state import ForgeState

_GREEDY = ("path", "ref", "branch", "basehead", "tag")
"""Parameters that may hold slashes (docs/design.md, "GitHub: answers and errors")."""

_NUMBER = re.compile(r"[0-9]{1,18}")
_MOST_PER_PAGE = 100
_PER_PAGE = 30


@dataclass(frozen=True, kw_only=True)
class ApiRequest(RoutedRequest[Caller, DeliveryPublisher]):
    """One API request, after it found its operation and its caller.

    Attributes:
        accounts: Mints tokens.
        raw: The body's bytes.
    """

    accounts: Accounts
    raw: bytes

    @property
    def repo(self) -> Repository:
        """The repository of the path; 404 when there is none."""
        return self.state.repository(self.params["owner"], self.params["repo"])

    @property
    def user(self) -> User:
        """The account that acts; 401 for nobody."""
        if self.caller.user is None:
            raise RefusedError(401, "Requires authentication")
        return self.caller.user

    @property
    def app(self) -> App:
        """The App that acts; 403 for people."""
        if self.caller.app is None:
            raise RefusedError(403, "You must authenticate via a GitHub App.")
        return self.caller.app

    def number(self, name: str) -> int:
        """A parameter of the path that is a number; 404 for anything else."""
        value = self.params[name]
        if not _NUMBER.fullmatch(value):
            raise not_found()
        return int(value)

    @cached_property
    def fields(self) -> BodyFields:
        """The body's fields; none for no body. 400 for what is no JSON object."""
        return BodyFields.of(self.raw)

    def text(self, name: str) -> str | None:
        """A field of the body that is text, or None where it is missing or null; else 422."""
        return self.fields.text(name)

    def required(self, name: str) -> str:
        """A field of the body that must be there; 422 where it is not."""
        return self.fields.required(name)


Handler = Callable[[ApiRequest], ApiResponse]


Route = operations.Route[Handler, PermissionRequirement]

_ROUTES = operations.Routes[Handler, PermissionRequirement](lambda template: _regex(template))


def route(method: str, template: str) -> Callable[[Handler], Handler]:
    """Make a function the handler of an operation that `NEEDS` knows."""

    def remember(handler: Handler) -> Handler:
        _ROUTES.add(method, template, handler, NEEDS[f"{method} {template}"])
        return handler

    return remember


routes = _ROUTES.listed
find = _ROUTES.find
"""Paths are below `/api/v3`, in the `/repos/{owner}/{repo}` form."""


def named(state: ForgeState, path: str) -> str:
    """The `/repos/{owner}/{repo}` form of a path in the `/repositories/{id}` form."""
    match = re.match(r"/repositories/([0-9]{1,18})(?=/|$)", path)
    if match is None:
        return path
    repo = state.data.repositories.get(int(match[1]))
    if repo is None:
        raise not_found()
    return f"/repos/{repo.full_name}{path[match.end() :]}"


def page(
    request: ApiRequest, items: Sequence[Any], wrap: Callable[[list[Any]], Any] | None = None
) -> ApiResponse:
    """One page of a list, with `Link` where there are more.

    Args:
        request: Its `page` and `per_page` count.
        items: The whole list.
        wrap: Makes the body of the page's items, for lists inside an object.
    """
    size = min(_number(request.query.get("per_page"), _PER_PAGE), _MOST_PER_PAGE)
    number = _number(request.query.get("page"), 1)
    last = max(1, -(-len(items) // size))
    part = list(items[(number - 1) * size : number * size])
    headers: dict[str, str] = {}
    if last > 1:
        headers["Link"] = _links(request, number, last)
    return ApiResponse(body=wrap(part) if wrap is not None else part, headers=headers)


def cursor_page(
    request: ApiRequest,
    items: Sequence[Any],
    key: Callable[[Any], int],
    wanted: Callable[[Any], bool] = lambda _item: True,
) -> ApiResponse:
    """One page of a list that is read by cursors: `after` or `before` an item, and `per_page`.

    Args:
        request: Its `after`, `before` and `per_page` count.
        items: The whole list, its keys rising or falling; only what the page needs is read.
        key: The number of an item, which its cursor hides.
        wanted: Whether an item is part of the list; asked once for each that is read.

    Raises:
        RefusedError: 422 for a cursor that is none.
    """
    size = min(_number(request.query.get("per_page"), _PER_PAGE), _MOST_PER_PAGE)
    kept = lru_cache(None)(lambda at: wanted(items[at]))
    after, before = request.query.get("after"), request.query.get("before")
    if before and not after:
        found = _take(range(_place(items, key, before))[::-1], kept, size + 1)
        part, older = found[:size][::-1], len(found) > size
        last = part[-1] + 1 if part else len(items)
        newer = bool(_take(range(last, len(items)), kept, 1))
    else:
        first = _place(items, key, after, past=True) if after else 0
        found = _take(range(first, len(items)), kept, size + 1)
        part, newer = found[:size], len(found) > size
        older = bool(part) and bool(_take(range(part[0])[::-1], kept, 1))
    links = []
    others = {k: v for k, v in request.query.items() if k not in ("after", "before")}
    bare = replace(request, query=others)
    if part and newer:
        links.append(f'<{list_url(bare, after=_cursor(key(items[part[-1]])))}>; rel="next"')
    if part and older:
        links.append(f'<{list_url(bare, before=_cursor(key(items[part[0]])))}>; rel="prev"')
    body = [items[at] for at in part]
    return ApiResponse(body=body, headers={"Link": ", ".join(links)} if links else {})


def _take(places: range, kept: Callable[[int], bool], most: int) -> list[int]:
    return list(islice(filter(kept, places), most))


def pages_of(
    request: ApiRequest, items: Sequence[Any], key: Callable[[Any], int], name: str
) -> ApiResponse:
    """One page of a list that goes one way by a cursor of the given name."""
    query = {k: v for k, v in request.query.items() if k != name}
    if request.query.get(name):
        query["after"] = request.query[name]
    listed = cursor_page(replace(request, query=query), items, key)
    link = listed.headers.get("Link", "").partition(", ")[0]
    if 'rel="next"' not in link:
        return ApiResponse(body=listed.body)
    return ApiResponse(body=listed.body, headers={"Link": link.replace("after=", f"{name}=")})


def _cursor(number: int) -> str:
    return base64.urlsafe_b64encode(f"cursor:{number}".encode()).decode().rstrip("=")


def _place(
    items: Sequence[Any], key: Callable[[Any], int], cursor: str, *, past: bool = False
) -> int:
    """Where the item of a cursor stands, or the one after it; one that is gone left its place."""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        number = int(text.removeprefix("cursor:"))
    except ValueError:
        raise plain("Invalid request.\n\nThe cursor is not valid.") from None
    sign = -1 if items and key(items[0]) > key(items[-1]) else 1
    search = bisect_right if past else bisect_left
    return search(items, sign * number, key=lambda item: sign * key(item))


def _links(request: ApiRequest, number: int, last: int) -> str:
    places = []
    if number > 1:
        places += [("prev", min(number - 1, last)), ("first", 1)]
    if number < last:
        places += [("next", number + 1), ("last", last)]
    return ", ".join(
        f'<{list_url(request, page=str(where))}>; rel="{rel}"' for rel, where in sorted(places)
    )


def list_url(request: ApiRequest, **changed: str) -> str:
    """Address of a list in the `/repositories/{id}` form, its other parameters kept."""
    path = request.path
    if path.startswith("/repos/"):  # a link that was followed has the other form already
        rest = path.split("/", 4)[4:]
        path = "/".join([f"/repositories/{request.repo.id}", *rest])
    return f"{request.links.api}{path}?{urlencode({**request.query, **changed})}"


def _number(text: str | None, default: int) -> int:
    known = text is not None and _NUMBER.fullmatch(text) and int(text) > 0
    return int(text) if text is not None and known else default


def _regex(template: str) -> str:
    def pattern(match: re.Match[str]) -> str:
        name = match[1]
        return f"(?P<{name}>{'.+' if name in _GREEDY else '[^/]+'})"

    whole = re.sub(r"\\{(\w+)\\}", pattern, re.escape(template))
    # The root of a repository's contents has no path at all.
    return whole.replace("/contents/(?P<path>.+)", "/contents(?:/(?P<path>.*))?")
