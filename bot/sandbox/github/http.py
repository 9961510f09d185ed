"""GitHub's REST and GraphQL API over HTTP, as an ASGI app.

Longer than 400 lines: what all answers have in common is read as one.

What every answer has in common lives here: who asks, permissions, faults, headers, ETag,
errors in GitHub's shapes, the log of calls. The operations are in the modules beside it.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from bot.sandbox.asgi import Receive, Scope, Send, headers_of, raw_path, read_body, respond
from bot.sandbox.errors import GitError, RefusedError, not_found
from bot.sandbox.faults.calls import Faults, LoggedCall, Plan
from bot.sandbox.fields import parsed
from bot.sandbox.github import (
    activity,
    answers,
    apps,
    branches,
    checks,
    commits,
    forks,
    git,
    hooks,
    issues,
    orgs,
    pulls,
    releases,
    repos,
    review_comments,
    rules,
    timeline,
)
from bot.sandbox.github.graphql import execute as graphql
from bot.sandbox.github.json import Links
from bot.sandbox.github.routing import ApiRequest, ApiResponse, Route, find, named, query_of, route
from bot.sandbox.github.sending import Hooks
from bot.sandbox.rules.accounts import Accounts, Caller
from bot.sandbox.rules.permissions import NEEDS
from bot.sandbox.rules.state import ForgeState

OPERATIONS = (
    activity,
    apps,
    branches,
    checks,
    commits,
    forks,
    git,
    hooks,
    issues,
    orgs,
    pulls,
    releases,
    repos,
    review_comments,
    rules,
    timeline,
)
"""The modules with the operations of the API (reading them makes the operations known)."""

_API, _GRAPHQL = "/api/v3", "/api/graphql"
_LIMIT = 1_000_000  # far more than GitHub's: no test that is not about limits runs into it
_VERSION = "2022-11-28"
_VERSIONS = (_VERSION, "2026-03-10")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One call and its answer, for those who check them.

    Attributes:
        method: HTTP method.
        path: Path below `/api/v3`, quoted; `/graphql` for GraphQL.
        template: The operation's path as GitHub's description spells it; "" where none fits.
        query: Query parameters.
        request_body: The request's JSON; None for no body or one that is not JSON.
        status: HTTP status.
        response_headers: Headers, names in small letters.
        response_body: The answer's JSON; None for no body or one that is not JSON.
        caller: As in `LoggedCall`.
        fault: Whether a fault made the answer, so that it says nothing about the forge.
    """

    method: str
    path: str
    template: str
    query: Mapping[str, str]
    request_body: Any
    status: int
    response_headers: Mapping[str, str]
    response_body: Any
    caller: str
    fault: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A request as it came in."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    raw: bytes


class GitHubApi:
    """The ASGI app of the API."""

    def __init__(
        self, state: ForgeState, links: Links, accounts: Accounts, faults: Faults, hooks: Hooks
    ) -> None:
        self._state = state
        self._hooks = hooks
        self._links = links
        self._accounts = accounts
        self._faults = faults
        self._used: Counter[tuple[str, int]] = Counter()
        self.observers: list[Callable[[Exchange], None]] = []
        """Called with every exchange after its answer is made, before it is sent."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request below `/api/`."""
        began = time.monotonic()
        asked = _Asked(
            method=scope["method"].replace("HEAD", "GET"),
            path=_below(raw_path(scope)),
            query=query_of(scope.get("query_string", b"")),
            headers=headers_of(scope),
            raw=await read_body(receive),
        )
        found, caller, refused = self._enter(asked)
        template = found[0].template if found else _template(asked)
        plan = self._faults.plan(asked.method, template or asked.path, asked.path, caller.name)
        if plan.delay:
            await asyncio.sleep(plan.delay)
        answer, faulty = await asyncio.to_thread(self._act, asked, found, caller, refused, plan)
        status, headers, body = self._finish(asked, caller, template, answer)
        self._observe(asked, template, caller, answer, status, headers, faulty)
        await respond(send, status, headers, body, bare=scope["method"] == "HEAD")
        self._record(asked, template, caller, status, began)

    def answer(
        self, method: str, address: str, headers: Mapping[str, str], raw: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """Answer one request of this process: status, headers and body.

        Args:
            method: HTTP method.
            address: Path and query, quoted.
            headers: Of the request.
            raw: Its body.
        """
        began = time.monotonic()
        path, _, query = address.partition("?")
        small = {name.lower(): value for name, value in headers.items()}
        asked = _Asked(
            method=method, path=_below(path), query=query_of(query.encode()), headers=small, raw=raw
        )
        found, caller, refused = self._enter(asked)
        template = found[0].template if found else _template(asked)
        plan = self._faults.plan(asked.method, template or asked.path, asked.path, caller.name)
        done, faulty = self._act(asked, found, caller, refused, plan)
        status, told, body = self._finish(asked, caller, template, done)
        self._observe(asked, template, caller, done, status, told, faulty)
        self._record(asked, template, caller, status, began)
        return status, told, body

    def _record(
        self, asked: _Asked, template: str, caller: Caller, status: int, began: float
    ) -> None:
        self._faults.record(
            LoggedCall(
                caller=caller.name,
                kind="api",
                method=asked.method,
                template=template or asked.path,
                path=asked.path,
                status=status,
                began=began,
                seconds=time.monotonic() - began,
            )
        )

    def _enter(
        self, asked: _Asked
    ) -> tuple[tuple[Route, dict[str, str]] | None, Caller, RefusedError | None]:
        """Who asks for what; a refusal is kept, so that faults and the log see the call too."""
        caller, found = Caller(), None
        with self._state.lock:
            try:
                path = named(self._state, asked.path)
                found = find(asked.method, path)
                _check_headers(asked)
                caller = self._accounts.caller(asked.headers.get("authorization"))
            except RefusedError as refused:
                return found, caller, refused
        return found, caller, None

    def _act(
        self,
        asked: _Asked,
        found: tuple[Route, dict[str, str]] | None,
        caller: Caller,
        refused: RefusedError | None,
        plan: Plan,
    ) -> tuple[ApiResponse, bool]:
        """Do what is asked, with the faults that are planned; runs in a thread of its own."""
        for callback in plan.before:
            callback()
        if plan.failure is not None:
            return answers.failure(plan.failure), True
        answer = self._refusable(asked, found, caller, refused, plan)
        for callback in plan.after:
            callback()
        if plan.late_failure is not None:
            return answers.failure(plan.late_failure), True
        return answer, False

    def _refusable(
        self,
        asked: _Asked,
        found: tuple[Route, dict[str, str]] | None,
        caller: Caller,
        refused: RefusedError | None,
        plan: Plan,
    ) -> ApiResponse:
        try:
            if refused is not None:
                raise refused
            template = found[0].template if found else _template(asked)
            if self._faults.limits is not None and template != "/rate_limit":
                now = self._state.clock()
                self._faults.limits.check(caller.name, asked.method, template, now)
            with self._state.lock:
                answer = self._carry_out(asked, found, caller, plan)
                if asked.method != "GET":
                    self._faults.remember()
                return answer
        except RefusedError as no:
            return answers.refusal(no)
        except GitError as error:
            return ApiResponse(status=500, body={"message": f"Server Error: {error}"})

    def _carry_out(
        self,
        asked: _Asked,
        found: tuple[Route, dict[str, str]] | None,
        caller: Caller,
        plan: Plan,
    ) -> ApiResponse:
        state = self._state
        if plan.memory is not None:
            state = self._state.at(plan.memory)
            caller = caller.at(plan.memory)
        graphql_call = asked.path == "/graphql" and asked.method == "POST"
        if found is None and not graphql_call:
            raise RefusedError(404, "Not Found")
        chosen, params = found if found is not None else (None, {})
        request = ApiRequest(
            state=state,
            links=self._links,
            accounts=self._accounts,
            hooks=self._hooks,
            caller=caller,
            method=asked.method,
            path=asked.path,
            template=chosen.template if chosen else "",
            params=params,
            query=asked.query,
            headers=asked.headers,
            raw=asked.raw,
        )
        if chosen is None:
            return graphql.answer(request)
        try:
            repo = request.repo if "repo" in params else None
        except RefusedError:
            return self._moved(request)
        self._accounts.allow(caller, chosen.need, repo)
        if repo is not None and repo.archived and asked.method != "GET":
            raise RefusedError(403, "Repository was archived so is read-only.")
        if chosen.template == "/rate_limit":
            return ApiResponse(body=self._rate_limit(caller))
        return chosen.handler(request)

    def _moved(self, request: ApiRequest) -> ApiResponse:
        """Where a repository is found that had this name before; 404 where there is none.

        Raises:
            RefusedError: 404, also for who may not see where it went.
        """
        params = request.params
        found = request.state.moved(params["owner"], params["repo"])
        if found is None or not self._accounts.sees(request.caller, found):
            raise not_found()
        rest = "".join(f"/{part}" for part in request.path.split("/")[4:])
        query = f"?{urlencode(request.query)}" if request.query else ""
        url = f"{self._links.api}/repositories/{found.id}{rest}{query}"
        status = 301 if request.method == "GET" else 307
        message = "Moved Permanently" if status == 301 else "Temporary Redirect"
        body = {"message": message, "url": url, "documentation_url": answers.DOCS}
        return ApiResponse(status=status, body=body, headers={"Location": url})

    def _finish(
        self, asked: _Asked, caller: Caller, template: str, answer: ApiResponse
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """Status, headers and bytes, with what every answer of GitHub's carries."""
        body = answers.encoded(answer)
        headers = {
            "Server": "sandbox",
            "X-GitHub-Request-Id": secrets.token_hex(8).upper(),
            "X-GitHub-Media-Type": "github.v3; format=json",
            "X-GitHub-Api-Version-Selected": _VERSION,
            "Access-Control-Allow-Origin": "*",
        }
        if answer.body is not None:
            headers["Content-Type"] = answer.media_type
        status = answer.status
        if asked.method == "GET" and status == 200:
            # `Vary: Authorization`: what another token was given says nothing about this answer.
            varied = asked.headers.get("authorization", "").encode() + b"\n" + body
            tag = f'W/"{hashlib.blake2b(varied, digest_size=32).hexdigest()}"'
            headers |= {
                "ETag": tag,
                "Cache-Control": "private, max-age=60, s-maxage=60",
                "Vary": "Accept, Authorization, Cookie, X-GitHub-OTP, Accept-Encoding",
            }
            if tag in asked.headers.get("if-none-match", ""):
                status, body = 304, b""
                headers.pop("Content-Type", None)
        headers |= self._rate_headers(caller, counts=status != 304 and template != "/rate_limit")
        if caller.expires_at is not None:
            until = caller.expires_at.strftime("%Y-%m-%d %H:%M:%S UTC")
            headers["GitHub-Authentication-Token-Expiration"] = until
        need = NEEDS.get(f"{asked.method} {template}")
        if caller.token is not None and need is not None and "=" in need.app:
            headers["X-Accepted-GitHub-Permissions"] = need.app
        headers |= answer.headers
        return status, list(headers.items()), body

    def _rate_headers(self, caller: Caller, *, counts: bool) -> dict[str, str]:
        limits = self._limits(caller, counts=counts)
        names = ("limit", "remaining", "used", "reset")
        made = {f"X-RateLimit-{name.capitalize()}": str(limits[name]) for name in names}
        return made | {"X-RateLimit-Resource": "core"}

    def _limits(self, caller: Caller, *, counts: bool) -> dict[str, int]:
        """Counts by the hour; what is refused is for whoever orders limits to say."""
        now = self._state.clock()
        hour = now.replace(minute=0, second=0, microsecond=0)
        key = (caller.name, int(hour.timestamp()))
        if counts:
            self._used[key] += 1
        reset = int((hour + timedelta(hours=1)).timestamp())
        limit, used, ordered = _LIMIT, self._used[key], self._faults.limits
        if ordered is not None:
            limit, used = ordered.hour, ordered.used(caller.name, now)
        left = max(0 if ordered else 1, limit - used)
        return {"limit": limit, "remaining": left, "used": limit - left, "reset": reset}

    def _rate_limit(self, caller: Caller) -> dict[str, Any]:
        core = self._limits(caller, counts=False)
        names = ("core", "search", "graphql")
        return {"resources": {name: dict(core) for name in names}, "rate": core}

    def _observe(
        self,
        asked: _Asked,
        template: str,
        caller: Caller,
        answer: ApiResponse,
        status: int,
        headers: list[tuple[str, str]],
        faulty: bool,
    ) -> None:
        if not self.observers:
            return
        plain = status == 304 or isinstance(answer.body, bytes | str)
        exchange = Exchange(
            method=asked.method,
            path=asked.path,
            template=template,
            query=asked.query,
            request_body=_decoded(asked.raw),
            status=status,
            response_headers={k.lower(): v for k, v in headers},
            response_body=None if plain else answer.body,
            caller=caller.name,
            fault=faulty,
        )
        for observer in self.observers:
            observer(exchange)


@route("GET", "/rate_limit")
def _get_rate_limit(_request: ApiRequest) -> ApiResponse:
    """Made known for its path; `GitHubApi` itself counts and answers."""
    raise NotImplementedError("GitHub answers /rate_limit")


def _below(path: str) -> str:
    if path.startswith(_GRAPHQL):
        return "/graphql"
    return path.removeprefix(_API) or "/"


def _template(asked: _Asked) -> str:
    return "/graphql" if asked.path == "/graphql" else ""


def _check_headers(asked: _Asked) -> None:
    if not asked.headers.get("user-agent"):
        raise RefusedError(403, "Missing or invalid User Agent string.")
    version = asked.headers.get("x-github-api-version")
    if version is not None and version not in _VERSIONS:
        raise RefusedError(400, f"Invalid API version: {version!r}")


def _decoded(raw: bytes) -> Any:
    try:
        return parsed(raw) if raw.strip() else None
    except RefusedError:
        return None
