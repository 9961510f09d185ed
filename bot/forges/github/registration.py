"""The App as GitHub has it registered and installed, against what the bot needs. Pure.

A manifest only fills in a form, once: what stands there later is what people made of it, and each
owner has to accept what an App asks for anew.

Source: https://docs.github.com/rest/apps/apps, https://docs.github.com/rest/apps/webhooks
"""

from collections.abc import Iterator, Mapping, Sequence

from bot.forges.github.http import JSONObject
from bot.forges.port import Drift
from fnrunner import urls
from lifecycle.identity import GITHUB

PERMISSIONS: Mapping[str, str] = {
    "metadata": "read",
    "contents": "write",
    "pull_requests": "write",
    "issues": "write",
    "checks": "write",
    "statuses": "read",
    "members": "read",
    "merge_queues": "read",
    "deployments": "write",
}
"""What the bot may do; `app-manifest.yml` says what for, and a test holds the two together."""

WITHOUT: Mapping[str, str] = {
    "contents": "nothing is rendered, merged or tagged there",
    "pull_requests": "proposals are neither opened nor read",
    "issues": "there is no dashboard issue",
    "checks": "no result can be shown, so nothing is published there",
    "statuses": "proposals wait where a required check may be a commit status",
    "members": "team members are unknown, so rules that name teams wait",
    "deployments": "nothing is missing yet (rollouts will be shown with it)",
    "merge_queues": "merge queues are not visible, and proposals there wait",
}
"""What a permission is missing for, in words; all else goes on."""

EVENTS = (
    "push",
    "pull_request",
    "pull_request_review",
    "issue_comment",
    "issues",
    "check_run",
    "check_suite",
    "status",
    "merge_group",
    "repository",
)
"""What the bot hears of, likewise."""

PATH = "/webhooks/github"


def hook(name: str) -> str:
    """Where below `/webhooks/` the bot hears of a GitHub, by the name of that in the settings."""
    return GITHUB if name == GITHUB else f"{GITHUB}/{name}"


def path(name: str) -> str:
    """The path of that address, such as /webhooks/github/corp."""
    return f"/webhooks/{hook(name)}"


SEVERAL = 3
"""Deliveries that have to fail before the way to the bot counts as broken: it may just start."""

_LEVELS = ("", "read", "write", "admin")
_SHOWN = {"": "No access", "read": "Read-only", "write": "Read and write", "admin": "Admin"}


def drift(
    app: JSONObject,
    hook: JSONObject,
    installations: Sequence[JSONObject],
    tried: Sequence[JSONObject],
    url: str = "",
    path: str = PATH,
) -> tuple[Drift, ...]:
    """What differs from what the bot needs, and how to mend each.

    Args:
        app: `GET /app`.
        hook: `GET /app/hook/config`.
        installations: `GET /app/installations`.
        tried: The newest deliveries of `GET /app/hook/deliveries`.
        url: Where webhooks are to go; "" where nobody said.
        path: What their address ends in.
    """
    settings = _settings(app)
    return (
        *_of_app(app, settings),
        *_of_hook(hook, settings, url, path),
        *_of_deliveries(tried, settings, path),
        *(each for one in installations for each in _of_installation(one)),
    )


def _settings(app: JSONObject) -> str:
    """Where the App's owner changes it."""
    owner, slug = app.get("owner") or {}, app.get("slug", "")
    host = str(app.get("html_url", "")).partition("/apps/")[0]
    whose = f"organizations/{owner.get('login')}/" if owner.get("type") == "Organization" else ""
    return f"{host}/{whose}settings/apps/{slug}"


def _of_app(app: JSONObject, settings: str) -> Iterator[Drift]:
    has, page = app.get("permissions") or {}, f"{settings}/permissions"
    for name in sorted({*PERMISSIONS, *has}):
        given, wanted = str(has.get(name, "")), PERMISSIONS.get(name, "")
        if given != wanted:
            less = _less(given, wanted)
            yield Drift(
                place=f"The App's permission {name}",
                found=_SHOWN.get(given, given),
                wanted=_SHOWN[wanted],
                fix=f"Choose {_SHOWN[wanted]!r} for it at {page}; each owner then has to accept it"
                + (f"; until then {WITHOUT[name]}" if less and name in WITHOUT else ""),
                harmful=less,
            )
    heard = {str(event) for event in app.get("events") or ()}
    for event in sorted({*EVENTS} ^ heard):
        missing = event in EVENTS
        yield Drift(
            place=f"The App's event {event}",
            found="not subscribed" if missing else "subscribed",
            wanted="subscribed" if missing else "not subscribed",
            fix=f"{'Select' if missing else 'Deselect'} it at {page}",
            harmful=missing,
        )


def _less(given: str, wanted: str) -> bool:
    level = _LEVELS.index(given) if given in _LEVELS else len(_LEVELS)
    return level < _LEVELS.index(wanted)


def _of_hook(hook: JSONObject, settings: str, url: str, path: str) -> Iterator[Drift]:
    found = str(hook.get("url") or "")
    if url and found != url:
        yield Drift("The webhook's address", found or "empty", url, f"Set it at {settings}")
    elif not url and not _is_ours(found, path):
        wanted = f"the bot's https address, ending in {path}"
        yield Drift("The webhook's address", found or "empty", wanted, f"Set it at {settings}")
    if not hook.get("secret"):
        fix = f"Set one of PORCHBOT_WEBHOOK_SECRETS at {settings}"
        yield Drift("The webhook's secret", "empty", "a secret that the bot knows", fix)
    if str(hook.get("insecure_ssl", "0")) != "0" and urls.parts(found).scheme == "https":
        fix = f"Choose 'Enable SSL verification' at {settings}"
        yield Drift("The webhook's SSL verification", "off", "on", fix)


def _is_ours(url: str, path: str) -> bool:
    parts = urls.parts(url)
    local = parts.hostname in {"127.0.0.1", "::1", "localhost"}
    return parts.path == path and (parts.scheme == "https" or (parts.scheme == "http" and local))


_WHY: Mapping[int, tuple[str, str]] = {
    401: (
        "refused because of a wrong signature",
        "Set one of PORCHBOT_WEBHOOK_SECRETS as the secret at",
    ),
    404: ("sent to an address without a bot", "Make the address end in {path} at"),
    503: ("refused because the bot had no database or was overloaded", "See the bot's log, then"),
}


def _of_deliveries(tried: Sequence[JSONObject], settings: str, path: str) -> Iterator[Drift]:
    """All of the newest deliveries failed: the way to the bot is broken."""
    codes = [int(each.get("status_code") or 0) for each in tried]
    if not codes:
        yield Drift(
            place="The webhook's delivery log",
            found="empty, so nothing was sent for three days",
            wanted="an entry for each event",
            fix=f"If there were events, select 'Active' below 'Webhook' at {settings}",
            harmful=False,
        )
    elif len(codes) >= SEVERAL and all(not 200 <= code < 400 for code in codes):
        unreached = (
            f"failed ({tried[0].get('status')})",
            "Check the bot's address, and that GitHub can reach it, at",
        )
        found, fix = _WHY.get(codes[0], unreached)
        yield Drift(
            place=f"The last {len(codes)} webhook deliveries",
            found=found,
            wanted="the answer 202",
            fix=f"{fix.format(path=path)} {settings}/advanced",
        )


def _of_installation(one: JSONObject) -> Iterator[Drift]:
    whose = (one.get("account") or {}).get("login", "")
    place, page = f"The installation at {whose}", one.get("html_url", "")
    if one.get("suspended_at"):
        yield Drift(place, "suspended", "active", f"Its owner can unsuspend it at {page}")
        return
    has = one.get("permissions") or {}
    lacking = sorted(n for n, wanted in PERMISSIONS.items() if _less(str(has.get(n, "")), wanted))
    heard = {str(event) for event in one.get("events") or ()}
    silent = sorted({*EVENTS} - heard)
    if lacking or silent:
        without = ", ".join([*(f"{n}: {PERMISSIONS[n]}" for n in lacking), *silent])
        lost = [WITHOUT[n] for n in lacking if n in WITHOUT]
        told = f"; until then {', and '.join(lost)}" if lost else ""
        fix = f"Its owner has to accept the App's request at {page}{told}"
        yield Drift(place, f"missing {without}", "everything that the App requests", fix)
