"""GitHub's operations on webhooks: of Apps, repositories and organizations, and deliveries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from bot.sandbox.api import ApiResponse
from bot.sandbox.errors import custom, not_found, plain
from bot.sandbox.fields import BodyFields
from bot.sandbox.github import json as basic
from bot.sandbox.github.json import Json
from bot.sandbox.github.routing import ApiRequest, page, pages_of, route
from bot.sandbox.records.accounts import Organization, OrgHook
from bot.sandbox.records.repository import RepoHook
from bot.sandbox.sending import SentHook, is_address

H = TypeVar("H", RepoHook, OrgHook)

_HOOKS = "/repos/{owner}/{repo}/hooks"
_HOOK = "/repos/{owner}/{repo}/hooks/{hook_id}"
_ORG_HOOKS = "/orgs/{org}/hooks"


# The App's own webhook.


@route("GET", "/app/hook/config")
def get_app_config(request: ApiRequest) -> ApiResponse:
    """Where the App's webhooks go."""
    app = request.app
    return ApiResponse(body=_config(app.webhook_url or "", app.webhook_secret))


@route("PATCH", "/app/hook/config")
def update_app_config(request: ApiRequest) -> ApiResponse:
    """Change where the App's webhooks go, or their secret."""
    app = request.app
    url, secret = request.text("url"), request.text("secret")
    app.webhook_url = app.webhook_url if url is None else _url(url)
    app.webhook_secret = app.webhook_secret if secret is None else secret
    return ApiResponse(body=_config(app.webhook_url or "", app.webhook_secret))


@route("GET", "/app/hook/deliveries")
def list_app_deliveries(request: ApiRequest) -> ApiResponse:
    """Deliveries of the App's webhooks, newest first."""
    return _list(request, request.app.hook_id)


@route("GET", "/app/hook/deliveries/{delivery_id}")
def get_app_delivery(request: ApiRequest) -> ApiResponse:
    """One delivery, with what was sent and answered."""
    return ApiResponse(body=_whole(_sent(request, request.app.hook_id)))


@route("POST", "/app/hook/deliveries/{delivery_id}/attempts")
def redeliver_app(request: ApiRequest) -> ApiResponse:
    """Send a delivery once more: the same GUID and bytes."""
    request.hooks.redeliver(_sent(request, request.app.hook_id))
    return ApiResponse(status=202, body={})


# Webhooks of a repository.


@route("GET", _HOOKS)
def list_hooks(request: ApiRequest) -> ApiResponse:
    """Webhooks of a repository."""
    return page(request, [_hook(request, hook) for hook in request.repo.hooks.values()])


@route("POST", _HOOKS)
def create_hook(request: ApiRequest) -> ApiResponse:
    """Make a webhook; it is pinged at once."""
    return _made(request, request.repo.hooks, partial(RepoHook, repo=request.repo))


@route("GET", _HOOK)
def get_hook(request: ApiRequest) -> ApiResponse:
    """One webhook."""
    return ApiResponse(body=_hook(request, _found(request)))


@route("PATCH", _HOOK)
def update_hook(request: ApiRequest) -> ApiResponse:
    """Change a webhook."""
    return _changed(request, _found(request))


@route("DELETE", _HOOK)
def delete_hook(request: ApiRequest) -> ApiResponse:
    """Take a webhook away."""
    del request.repo.hooks[_found(request).id]
    return ApiResponse(status=204)


@route("POST", f"{_HOOK}/pings")
def ping_hook(request: ApiRequest) -> ApiResponse:
    """Send a ping."""
    hook = _found(request)
    request.hooks.made.ping(hook, _hook(request, hook), request.user)
    return ApiResponse(status=204)


@route("GET", f"{_HOOK}/deliveries")
def list_deliveries(request: ApiRequest) -> ApiResponse:
    """Deliveries of a webhook, newest first."""
    return _list(request, _found(request).id)


@route("GET", f"{_HOOK}/deliveries/{{delivery_id}}")
def get_delivery(request: ApiRequest) -> ApiResponse:
    """One delivery."""
    return ApiResponse(body=_whole(_sent(request, _found(request).id)))


@route("POST", f"{_HOOK}/deliveries/{{delivery_id}}/attempts")
def redeliver(request: ApiRequest) -> ApiResponse:
    """Send a delivery once more."""
    request.hooks.redeliver(_sent(request, _found(request).id))
    return ApiResponse(status=202, body={})


# Webhooks of an organization.


@route("GET", _ORG_HOOKS)
def list_org_hooks(request: ApiRequest) -> ApiResponse:
    """Webhooks of an organization."""
    return page(request, [_hook(request, hook) for hook in _owned(request).hooks.values()])


@route("POST", _ORG_HOOKS)
def create_org_hook(request: ApiRequest) -> ApiResponse:
    """Make a webhook of an organization; it is pinged at once."""
    owner = _owned(request)
    return _made(request, owner.hooks, partial(OrgHook, account=owner.account))


@route("PATCH", f"{_ORG_HOOKS}/{{hook_id}}")
def update_org_hook(request: ApiRequest) -> ApiResponse:
    """Change a webhook of an organization, whose events are told all at once."""
    found = _owned(request).hooks.get(request.number("hook_id"))
    if found is None:
        raise not_found()
    return _changed(request, found)


def _owned(request: ApiRequest) -> Organization:
    """The organization; 404 for whoever does not own it, as for one that is not there."""
    found = request.state.organizations.find(request.params["org"])
    if found.members.get(request.user.login) != "admin":
        raise not_found()
    return found


def _new_config(request: ApiRequest, there: Iterable[RepoHook | OrgHook]) -> BodyFields:
    """What a new webhook is to be like; refused where one sends there already."""
    config = request.fields.inner("config") or BodyFields({})
    if request.text("name") not in (None, "web"):
        raise custom("Hook", "name must be passed as web")
    if any(hook.url == config.text("url") for hook in there):
        raise custom("Hook", "Hook already exists on this repository")
    return config


def _made(request: ApiRequest, there: dict[int, H], make: Callable[..., H]) -> ApiResponse:
    """Add a webhook to those of its repository or organization; it is pinged at once."""
    config = _new_config(request, there.values())
    made = make(
        id=request.state.next_id(),
        url=_url(config.required("url")),
        secret=config.text("secret") or "",
        events=tuple(request.fields.texts("events") or ("push",)),
        active=request.fields.flag("active", default=True),
        created_at=request.state.now(),
        updated_at=request.state.now(),
    )
    there[made.id] = made
    body = _hook(request, made)
    request.hooks.made.ping(made, body, request.user)
    return ApiResponse(status=201, body=body, headers={"Location": body["url"]})


def _changed(request: ApiRequest, hook: RepoHook | OrgHook) -> ApiResponse:
    fields = request.fields
    config, events = fields.inner("config"), fields.texts("events")
    if config is not None:
        url, secret = config.text("url"), config.text("secret")
        hook.url = hook.url if url is None else _url(url)
        hook.secret = hook.secret if secret is None else secret
    kept = list(hook.events) if events is None else events
    if isinstance(hook, RepoHook):
        kept += [event for event in fields.texts("add_events") or () if event not in kept]
        gone = fields.texts("remove_events") or ()
        kept = [event for event in kept if event not in gone]
    hook.events = tuple(kept)
    hook.active = fields.flag("active", default=hook.active)
    hook.updated_at = request.state.now()
    return ApiResponse(body=_hook(request, hook))


def _found(request: ApiRequest) -> RepoHook:
    found = request.repo.hooks.get(request.number("hook_id"))
    if found is None:
        raise not_found()
    return found


def _url(text: str) -> str:
    if not is_address(text):
        raise custom("Hook", "url must be an absolute http or https address", "url")
    return text


def _config(url: str, secret: str) -> Json:
    made: Json = {"url": url, "content_type": "json", "insecure_ssl": "0"}
    return made | {"secret": "********"} if secret else made


def _hook(request: ApiRequest, hook: RepoHook | OrgHook) -> Json:
    one = isinstance(hook, RepoHook)
    above = (
        basic.repo_url(request.links, hook.repo)
        if isinstance(hook, RepoHook)
        else f"{request.links.api}/orgs/{hook.account.login}"
    )
    url = f"{above}/hooks/{hook.id}"
    last = next((s for s in reversed(request.hooks.sent()) if s.delivery.hook_id == hook.id), None)
    response: Json = {"code": None, "status": "unused", "message": None}
    if last is not None:
        response = {"code": last.status, "status": _word(last), "message": _word(last)}
    made: Json = {
        "type": "Repository" if one else "Organization",
        "id": hook.id,
        "name": "web",
        "active": hook.active,
        "events": list(hook.events),
        "config": _config(hook.url, hook.secret),
        "updated_at": basic.stamp(hook.updated_at),
        "created_at": basic.stamp(hook.created_at),
        "url": url,
        "ping_url": f"{url}/pings",
        "deliveries_url": f"{url}/deliveries",
    }
    return made | ({"test_url": f"{url}/test", "last_response": response} if one else {})


def _list(request: ApiRequest, hook_id: int) -> ApiResponse:
    wanted = request.query.get("status")
    found = [
        sent
        for sent in reversed(request.hooks.sent())
        if sent.delivery.hook_id == hook_id
        and wanted in (None, "success" if 200 <= sent.status < 400 else "failure")
    ]
    listed = pages_of(request, found, lambda sent: sent.id, "cursor")
    return ApiResponse(body=[_short(sent) for sent in listed.body], headers=listed.headers)


def _sent(request: ApiRequest, hook_id: int) -> SentHook:
    text = request.params["delivery_id"]
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise plain("Invalid request.\n\nThe delivery id is not a number.")
    for sent in request.hooks.sent():
        if sent.id == int(text) and sent.delivery.hook_id == hook_id:
            return sent
    raise not_found()


def _word(sent: SentHook) -> str:
    if sent.status == 0:
        return "failed to connect to host"
    return "OK" if sent.status < 300 else f"Invalid HTTP Response: {sent.status}"


def _short(sent: SentHook) -> Json:
    delivery = sent.delivery
    return {
        "id": sent.id,
        "guid": delivery.guid,
        "delivered_at": basic.stamp(sent.at),
        "redelivery": sent.again,
        "duration": round(sent.seconds, 2),
        "status": _word(sent),
        "status_code": sent.status or 502,
        "event": delivery.event,
        "action": delivery.action,
        "installation_id": delivery.installation_id,
        "repository_id": delivery.repository_id,
        "throttled_at": None,
    }


def _whole(sent: SentHook) -> Json:
    delivery = sent.delivery
    return _short(sent) | {
        "url": delivery.url,
        "request": {"headers": dict(delivery.headers), "payload": json.loads(delivery.body)},
        "response": {"headers": {}, "payload": sent.answer},
    }
