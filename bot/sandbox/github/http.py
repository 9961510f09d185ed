"""GitHub's REST and GraphQL API over HTTP, as an ASGI app.

What every answer has in common lives here: who asks, permissions, headers, ETag, errors in GitHub's
shapes. The operations are in the modules beside it; what no forge has for itself is in
`bot.sandbox.api`.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from bot.sandbox.api import Api, ApiResponse, Asked, Entered, Links
from bot.sandbox.errors import RefusedError, not_found
from bot.sandbox.faults.calls import FaultPlan, Faults
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
from bot.sandbox.github.deliveries import DeliveryPublisher
from bot.sandbox.github.graphql import execute as graphql
from bot.sandbox.github.routing import ApiRequest, Route, find, named, route
from bot.sandbox.rules.accounts import Accounts, Caller
from bot.sandbox.rules.permissions import NEEDS
from bot.sandbox.rules.state import ForgeState
from bot.sandbox.sending import Hooks

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


_Entered = Entered[Route, Caller]


class GitHubApi(Api[Route, Caller]):
    """The ASGI app of the API."""

    def __init__(
        self,
        state: ForgeState,
        links: Links,
        accounts: Accounts,
        faults: Faults,
        hooks: Hooks[DeliveryPublisher],
    ) -> None:
        super().__init__(self, state, faults)
        self._hooks = hooks
        self._links = links
        self._accounts = accounts
        self._used: Counter[tuple[str, int]] = Counter()

    # How GitHub does what `Api` asks for.

    def below(self, path: str) -> str:
        """A path of the web address below `/api/v3`; `/graphql` for GraphQL."""
        if path.startswith(_GRAPHQL):
            return "/graphql"
        return path.removeprefix(_API) or "/"

    def enter(self, asked: Asked) -> _Entered:
        """Who asks for what."""
        caller, found, refused = Caller(), None, None
        try:
            found = find(asked.method, named(self._state, asked.path))
            _check_headers(asked)
            caller = self._accounts.caller(asked.headers.get("authorization"))
        except RefusedError as no:
            refused = no
        template = found[0].template if found else _template(asked)
        return Entered(found=found, caller=caller, template=template, refused=refused)

    def count(self, asked: Asked, entered: _Entered) -> None:
        """Count the call against the limits that are ordered, or refuse it."""
        if self._faults.limits is not None and entered.template != "/rate_limit":
            now = self._state.clock()
            self._faults.limits.check(entered.caller.name, asked.method, entered.template, now)

    def refusal(self, refused: RefusedError) -> ApiResponse:
        """The answer to a request that is refused."""
        return answers.refusal(refused)

    def carry_out(self, asked: Asked, entered: _Entered, plan: FaultPlan) -> ApiResponse:
        """Do what is asked, with the facts that the plan names."""
        state, found, caller = self._state, entered.found, entered.caller
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

    def finish(
        self, asked: Asked, entered: _Entered, answer: ApiResponse
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """Status, headers and bytes, with what every answer of GitHub's carries."""
        body, caller, template = answer.encoded(), entered.caller, entered.template
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


@route("GET", "/rate_limit")
def _get_rate_limit(_request: ApiRequest) -> ApiResponse:
    """Made known for its path; `GitHubApi` itself counts and answers."""
    raise NotImplementedError("GitHub answers /rate_limit")


def _template(asked: Asked) -> str:
    return "/graphql" if asked.path == "/graphql" else ""


def _check_headers(asked: Asked) -> None:
    if not asked.headers.get("user-agent"):
        raise RefusedError(403, "Missing or invalid User Agent string.")
    version = asked.headers.get("x-github-api-version")
    if version is not None and version not in _VERSIONS:
        raise RefusedError(400, f"Invalid API version: {version!r}")
