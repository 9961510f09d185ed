"""GitLab's operations on webhooks of projects, groups and the instance, and on their log.

Source: https://docs.gitlab.com/api/project_webhooks/, https://docs.gitlab.com/api/group_webhooks/,
https://docs.gitlab.com/api/system_hooks/
"""

from __future__ import annotations

import base64
import binascii
import json
import uuid
from collections.abc import MutableMapping

from bot.sandbox import refnames
from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab import levels, push_events
from bot.sandbox.gitlab.deliveries import HookEvent
from bot.sandbox.gitlab.errors import forbidden, missing, refused, unprocessable
from bot.sandbox.gitlab.json import Json, stamp, stamp_or_none
from bot.sandbox.gitlab.routing import ADMIN, ApiRequest, at_least, page, route
from bot.sandbox.records.gitlab import AccessLevel, WebHook
from bot.sandbox.records.refs import ZERO, RefChange
from bot.sandbox.records.repository import Repository
from bot.sandbox.sending import SentHook, is_address

EVENTS = (
    "push_events",
    "issues_events",
    "confidential_issues_events",
    "merge_requests_events",
    "tag_push_events",
    "note_events",
    "confidential_note_events",
    "job_events",
    "pipeline_events",
    "wiki_page_events",
    "deployment_events",
    "feature_flag_events",
    "releases_events",
    "milestone_events",
    "emoji_events",
    "resource_access_token_events",
    "resource_deploy_token_events",
    "vulnerability_events",
)
"""What webhooks of projects and groups may hear."""
GROUP_EVENTS = ("member_events", "subgroup_events", "project_events")
"""What webhooks of groups may hear besides."""
SYSTEM_EVENTS = (
    "push_events",
    "tag_push_events",
    "merge_requests_events",
    "repository_update_events",
)
"""What system hooks may be told to hear; notes are not among it."""

_MAINTAINER = at_least(AccessLevel.MAINTAINER)
_OWNER = at_least(AccessLevel.OWNER)
_KNOWN = {"project": EVENTS, "group": (*EVENTS, *GROUP_EVENTS), "system": SYSTEM_EVENTS}
_AT_FIRST = {"project": ("push_events",), "group": ("push_events",), "system": ()}
_BODY_SHOWN = 25_000  # characters of an answer that the log keeps


def _list(request: ApiRequest) -> ApiResponse:
    hooks = [h for h in _place(request).values() if _belongs(request, h)]
    return page(request, hooks, lambda hook: _shown(request, hook))


def _get(request: ApiRequest) -> ApiResponse:
    return ApiResponse(body=_shown(request, _found(request)))


def _create(request: ApiRequest) -> ApiResponse:
    kind = _kind(request)
    owner = {"project": lambda: request.project.id, "group": lambda: request.group.account.id}
    made = WebHook(
        id=request.state.next_id(),
        kind=kind,
        owner_id=owner[kind]() if kind in owner else None,
        url=_url(request.input.required("url")),
        uuid=str(uuid.uuid4()),
        created_at=request.state.now(),
        events=set(_AT_FIRST[kind]),
    )
    _set(request, made)
    _place(request)[made.id] = made
    return ApiResponse(status=201, body=_shown(request, made))


def _edit(request: ApiRequest) -> ApiResponse:
    hook, url = _found(request), request.input.text("url")
    if url is not None and url != hook.url:
        # Who changes the address gets no secret that was set for another one.
        hook.url, hook.token, hook.signing_token = _url(url), "", ""
        hook.custom_headers.clear()
    _set(request, hook)
    return ApiResponse(body=_shown(request, hook))


def _delete(request: ApiRequest) -> ApiResponse:
    del _place(request)[_found(request).id]
    return ApiResponse(status=204)


def _test(request: ApiRequest) -> ApiResponse:
    hook, repo = _found(request), request.project
    trigger = request.params["trigger"]
    if trigger not in EVENTS:
        raise refused(400, "trigger does not have a valid value")
    told = _sample(request, repo, trigger)
    made = request.hooks.made
    sent = request.hooks.send_now(made.delivery(hook, told, str(uuid.uuid4()), repo))
    if not 200 <= sent.status < 400:
        raise unprocessable(sent.answer or "Hook execution failed: no answer")
    return ApiResponse(status=201, body={"message": "201 Created"})


def _sample(request: ApiRequest, repo: Repository, trigger: str) -> HookEvent:
    """A payload about the newest commit or tag; other kinds are not tried here."""
    if trigger == "push_events":
        ref, sha = refnames.branch_ref(repo.default_branch), repo.branch(repo.default_branch)
        if sha is None:
            raise unprocessable("Ensure the project has at least one commit.")
        parents = request.state.git(repo).commit(sha).parents
        change = RefChange(ref=ref, before=parents[0] if parents else ZERO, after=sha)
    elif trigger == "tag_push_events":
        tags = repo.refs.below(refnames.tag_ref(""))
        if not tags:
            raise unprocessable("Ensure the project has tags.")
        change = RefChange(ref=tags[-1], before=ZERO, after=repo.refs[tags[-1]])
    else:
        raise unprocessable("Testing not supported for this hook")
    return push_events.told(request.state, request.links, repo, change, request.user)


def _events(request: ApiRequest) -> ApiResponse:
    hook, wanted = _found(request), request.input.text("status")
    sent = [s for s in reversed(request.hooks.sent()) if s.delivery.hook_id == hook.id]
    if wanted is not None:
        sent = [s for s in sent if wanted in (str(s.status), _class(s))]
    return page(request, sent, _logged)


def _resend(request: ApiRequest) -> ApiResponse:
    hook, number = _found(request), request.number("hook_log_id")
    for sent in request.hooks.sent():
        if sent.id == number and sent.delivery.hook_id == hook.id:
            again = request.hooks.send_now(sent.delivery, again=True)
            return ApiResponse(status=201, body={"response_status": again.status})
    raise missing("Hook Log")


for _path, _need in (
    ("/projects/{id}/hooks", _MAINTAINER),
    ("/groups/{id}/hooks", _OWNER),
    ("/hooks", ADMIN),
):
    route("GET", _path, _need)(_list)
    route("POST", _path, _need)(_create)
    route("GET", f"{_path}/{{hook_id}}", _need)(_get)
    route("PUT", f"{_path}/{{hook_id}}", _need)(_edit)
    route("DELETE", f"{_path}/{{hook_id}}", _need)(_delete)
route("POST", "/projects/{id}/hooks/{hook_id}/test/{trigger}", _MAINTAINER)(_test)
for _path, _need in (("/projects/{id}/hooks", _MAINTAINER), ("/groups/{id}/hooks", _OWNER)):
    route("GET", f"{_path}/{{hook_id}}/events", _need)(_events)
    route("POST", f"{_path}/{{hook_id}}/events/{{hook_log_id}}/resend", _need)(_resend)


def _kind(request: ApiRequest) -> str:
    return {"/projects": "project", "/groups/": "group"}.get(
        request.template[:9].rstrip("{"), "system"
    )


def _place(request: ApiRequest) -> MutableMapping[int, WebHook]:
    """Where webhooks of the path's kind are kept; those of groups need Premium."""
    instance, kind = request.state.data.gitlab, _kind(request)
    if kind == "project":
        return request.project.gitlab.hooks
    if kind == "system":
        return instance.system_hooks
    if not levels.has_tier(request.state, None):
        raise forbidden()
    return instance.group_hooks


def _belongs(request: ApiRequest, hook: WebHook) -> bool:
    return hook.kind != "group" or hook.owner_id == request.group.account.id


def _found(request: ApiRequest) -> WebHook:
    hook = _place(request).get(request.number("hook_id"))
    if hook is None or not _belongs(request, hook):
        raise missing()
    return hook


def _set(request: ApiRequest, hook: WebHook) -> None:
    """Take over what the request says of a webhook."""
    given = request.input
    for event in _KNOWN[hook.kind]:
        wanted = given.flag(event)
        if wanted is not None:
            (hook.events.add if wanted else hook.events.discard)(event)
    for name in ("token", "name", "description"):
        if name in given:
            setattr(hook, name, given.text(name) or ("" if name == "token" else None))
    if "signing_token" in given:
        hook.signing_token = _signing(given.text("signing_token") or "")
    verification = given.flag("enable_ssl_verification")
    hook.enable_ssl_verification = (
        hook.enable_ssl_verification if verification is None else verification
    )
    if "push_events_branch_filter" in given:
        hook.branch_filter = given.text("push_events_branch_filter") or ""
    if "custom_webhook_template" in given:
        hook.template = given.text("custom_webhook_template") or ""
    for header in given.objects("custom_headers") or ():
        hook.custom_headers[header.required("key")] = header.required("value")


def _signing(text: str) -> str:
    """A signing token: `whsec_` and Base64 of 24 to 64 bytes."""
    try:
        secret = base64.b64decode(text.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        secret = b""
    if text and (not text.startswith("whsec_") or not 24 <= len(secret) <= 64):
        raise unprocessable("Signing token is invalid")
    return text


def _url(text: str) -> str:
    if not is_address(text):
        raise unprocessable("Invalid url given")
    return text


def _shown(request: ApiRequest, hook: WebHook) -> Json:
    made: Json = {
        "id": hook.id,
        "url": hook.url,
        "name": hook.name,
        "description": hook.description,
        "created_at": stamp(hook.created_at),
        **{event: event in hook.events for event in _KNOWN[hook.kind]},
        "enable_ssl_verification": hook.enable_ssl_verification,
        "alert_status": request.hooks.made.alert_status(hook),
        "disabled_until": stamp_or_none(hook.disabled_until),
        "url_variables": [],
        "push_events_branch_filter": hook.branch_filter,
        "branch_filter_strategy": hook.branch_filter_strategy,
        "custom_webhook_template": hook.template,
        "custom_headers": [{"key": key} for key in hook.custom_headers],
        "token_present": bool(hook.token),
        "signing_token_set": bool(hook.signing_token),
    }
    if hook.kind == "project":
        made |= {"project_id": hook.owner_id, "repository_update_events": False}
    elif hook.kind == "group":
        made |= {"group_id": hook.owner_id}
    return made


def _class(sent: SentHook) -> str:
    """The words that `status` may name besides a number."""
    if 200 <= sent.status < 300:
        return "successful"
    if 400 <= sent.status < 500:
        return "client_failure"
    return "server_failure"


def _logged(sent: SentHook) -> Json:
    delivery = sent.delivery
    headers = {**delivery.headers}
    if "X-Gitlab-Token" in headers:
        headers["X-Gitlab-Token"] = "[REDACTED]"
    return {
        "id": sent.id,
        "url": delivery.url,
        "trigger": f"{json.loads(delivery.body).get('object_kind', 'push')}_hooks",
        "request_headers": headers,
        "request_data": json.loads(delivery.body),
        "response_headers": {},
        "response_body": sent.answer[:_BODY_SHOWN],
        "execution_duration": round(sent.seconds, 3),
        "response_status": str(sent.status) if sent.status else "internal error",
        "created_at": stamp(sent.at),
    }
