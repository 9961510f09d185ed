"""GitLab's REST API over HTTP, as an ASGI app.

What every answer has in common lives here: who asks, scopes and levels, headers, ETag, errors in
GitLab's shapes. The operations are in the modules beside it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from urllib.parse import urlencode

from bot.sandbox.api import Api, ApiResponse, Asked, Entered, Links
from bot.sandbox.errors import RefusedError
from bot.sandbox.faults.calls import FaultPlan, Faults
from bot.sandbox.gitlab import (
    access_tokens,
    activity,
    approval_rules,
    approvals,
    branches,
    commits,
    conventions,
    conversation_events,
    draft_notes,
    files,
    graphql,
    hooks,
    issues,
    levels,
    member_roles,
    members,
    merge_request_parts,
    merge_requests,
    notes,
    project_events,
    projects,
    protected,
    release_json,
    releases,
    statuses,
    trains,
    users,
)
from bot.sandbox.gitlab.deliveries import DeliveryPublisher
from bot.sandbox.gitlab.errors import (
    GitLabRefusedError,
    forbidden,
    missing,
    not_allowed,
    unauthorized,
)
from bot.sandbox.gitlab.inputs import Inputs
from bot.sandbox.gitlab.routing import AccessRequirement, ApiRequest, Route, allowed_methods, find
from bot.sandbox.gitlab.tokens import GitLabCaller, Tokens
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.rate_limits import Throttle
from bot.sandbox.rules.state import ForgeState
from bot.sandbox.sending import Hooks

OPERATIONS = (
    access_tokens,
    activity,
    approval_rules,
    approvals,
    branches,
    commits,
    conversation_events,
    draft_notes,
    files,
    graphql,
    hooks,
    issues,
    member_roles,
    members,
    merge_request_parts,
    merge_requests,
    notes,
    project_events,
    projects,
    protected,
    release_json,
    releases,
    statuses,
    trains,
    users,
)
"""Modules with operations of the API and payloads: reading them makes these known."""

_API = "/api/v4"
_READING = ("api", "read_api")
_WRITING = ("api",)


_Entered = Entered[Route, GitLabCaller]


class GitLabApi(Api[Route, GitLabCaller]):
    """The ASGI app of the API."""

    def __init__(
        self,
        state: ForgeState,
        links: Links,
        tokens: Tokens,
        faults: Faults,
        hooks: Hooks[DeliveryPublisher],
    ) -> None:
        super().__init__(self, state, faults)
        self._links = links
        self._tokens = tokens
        self._hooks = hooks
        self._unlimited = Throttle(requests=1_000_000, notes=1_000_000)
        conventions.adopt(state)

    # How GitLab does what `Api` asks for.

    def below(self, path: str) -> str:
        """A path of the web address below `/api/v4`."""
        return path.removeprefix(_API).rstrip("/") or "/"

    def enter(self, asked: Asked) -> _Entered:
        """Who asks for what."""
        caller, refused = GitLabCaller(), None
        found = find(asked.method, asked.path)
        try:
            caller = self._tokens.caller(asked.headers, asked.query)
        except RefusedError as no:
            refused = no
        template = found[0].template if found else ""
        return Entered(found=found, caller=caller, template=template, refused=refused)

    def count(self, asked: Asked, entered: _Entered) -> None:
        """Count the call against what its caller may ask, or refuse it."""
        self._throttle.count(
            entered.caller.name, asked.method, entered.template, self._state.clock()
        )

    def carry_out(self, asked: Asked, entered: _Entered, plan: FaultPlan) -> ApiResponse:
        """Do what is asked, with the facts that the plan names."""
        state, caller = self._state, entered.caller
        if plan.memory is not None:
            state, caller = state.at(plan.memory), caller.at(plan.memory)
        if entered.found is None:
            if allowed_methods(asked.path):
                raise GitLabRefusedError(405, {"error": "405 Not Allowed"})
            raise GitLabRefusedError(404, {"error": "404 Not Found"})
        chosen, params = entered.found
        request = ApiRequest(
            state=state,
            links=self._links,
            tokens=self._tokens,
            hooks=self._hooks,
            caller=caller,
            method=asked.method,
            path=asked.path,
            template=chosen.template,
            params=params,
            query=asked.query,
            headers=asked.headers,
            input=Inputs.of(asked.pairs, asked.headers.get("content-type", ""), asked.raw),
        )
        self._check_caller(request, chosen.need)
        if chosen.template.startswith("/projects/{id}"):
            moved = self._moved(request)
            if moved is not None:
                return moved
            self._check_project(request, request.project, chosen.need)
        elif chosen.template.startswith("/groups/{id}"):
            self._check_group(request, chosen.need)
        return chosen.handler(request)

    def refusal(self, refused: RefusedError) -> ApiResponse:
        """The answer to a request that is refused; those of the shared rules in GitLab's shape."""
        if refused.status == 429:
            body: object = f"{refused.message}\n".encode()
            return ApiResponse(
                status=429, body=body, headers=refused.headers, media_type="text/plain"
            )
        if isinstance(refused, GitLabRefusedError):
            body = refused.body
        elif refused.errors is None:
            body = {"message": refused.message}
        else:
            body = {"message": [_worded(error) for error in refused.errors]}
        return ApiResponse(
            status=refused.status, body=body, headers=refused.headers, media_type=_JSON
        )

    def finish(
        self, asked: Asked, entered: _Entered, answer: ApiResponse
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """Status, headers and bytes, with what every answer of GitLab's carries."""
        body, status = answer.encoded(), answer.status
        key = secrets.token_hex(16)
        headers = {
            "Cache-Control": "no-cache",
            "Vary": "Origin, Accept-Encoding",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "SAMEORIGIN",
            "X-Gitlab-Meta": json.dumps({"correlation_id": key, "version": "1"}),
            "X-Request-Id": key,
            "X-Runtime": "0.010000",
        }
        if answer.body is not None:
            json_type = "application/json" in answer.media_type
            headers["Content-Type"] = _JSON if json_type else answer.media_type
        if asked.method == "GET" and status == 200:
            tag = f'W/"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'
            headers |= {"ETag": tag, "Cache-Control": "max-age=0, private, must-revalidate"}
            if tag in asked.headers.get("if-none-match", ""):
                status, body = 304, b""
                headers.pop("Content-Type", None)
        headers |= self._throttle.headers(entered.caller.name, self._state.clock())
        headers |= answer.headers
        return status, list(headers.items()), body

    @property
    def _throttle(self) -> Throttle:
        return self._faults.throttle or self._unlimited

    def _check_caller(self, request: ApiRequest, need: AccessRequirement) -> None:
        """Refuse nobody, and tokens without the scope."""
        caller = request.caller
        if caller.user is None and (need.signed_in or need.level):
            raise unauthorized()
        reading = request.method == "GET"
        self._tokens.need_scope(caller, *(need.scopes or (_READING if reading else _WRITING)))
        if need.admin and request.user.id not in request.state.data.gitlab.admins:
            raise forbidden()

    def _check_project(
        self, request: ApiRequest, repo: Repository, need: AccessRequirement
    ) -> None:
        state, user, token = request.state, request.caller.user, request.caller.token
        bound = token is not None and token.kind == "project" and token.owner_id != repo.id
        if not levels.sees(state, repo, user) or (bound and repo.private):
            raise missing("Project")
        level = levels.level(state, repo, user)
        if need.code and not levels.reads_code(state, repo, user):
            raise forbidden()
        if level < need.level:
            raise forbidden()
        archived_too = level >= AccessLevel.MAINTAINER and request.template in _OF_ARCHIVED
        if repo.archived and request.method != "GET" and not archived_too:
            raise forbidden()

    def _check_group(self, request: ApiRequest, need: AccessRequirement) -> None:
        level = levels.group_level(request.state, request.group, request.caller.user)
        if level < need.level:
            raise forbidden()

    def _moved(self, request: ApiRequest) -> ApiResponse | None:
        """Where a project is found that had this path before; None where it stands.

        Raises:
            RefusedError: 405 for what is not a reading; 404 for who may not see where it went.
        """
        name = request.params["id"]
        owner, slash, path = name.rpartition("/")
        found = request.state.moved(owner, path) if slash else None
        if found is None:
            return None
        if not levels.sees(request.state, found, request.caller.user):
            raise missing("Project")
        if request.method != "GET":
            raise not_allowed("Non GET methods are not allowed for moved projects")
        rest = request.path.split("/", 3)[3:]
        url = "/".join([f"{self._links.api}/projects/{found.id}", *rest])
        query = f"?{urlencode(request.query)}" if request.query else ""
        return ApiResponse(
            status=301,
            body=b"This resource has been moved.",
            headers={"Location": f"{url}{query}"},
            media_type="text/plain",
        )


_JSON = "application/json"
_OF_ARCHIVED = ("/projects/{id}", "/projects/{id}/archive", "/projects/{id}/unarchive")
"""What may be done to a project that is archived."""


def _worded(error: object) -> str:
    if isinstance(error, dict):
        field, text = error.get("field", "base"), error.get("message") or error.get("code")
        return f"{field} {text}"
    return str(error)
