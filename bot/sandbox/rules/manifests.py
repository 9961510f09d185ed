"""Making Apps from manifests: what a manifest may say, the code that it gives, what a code gives.

Source: https://docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.sandbox.errors import RefusedError, not_found, plain
from bot.sandbox.records.accounts import App, User
from bot.sandbox.records.memory import ManifestCode
from bot.sandbox.rules.state import ForgeState

CODE_LIFE = timedelta(hours=1)
"""How long a code may be exchanged for the App's secrets; once."""

_LONGEST_NAME = 34
_LEVELS = ("read", "write", "admin")
_EVENT_NEEDS = {
    "check_run": "checks",
    "check_suite": "checks",
    "create": "contents",
    "delete": "contents",
    "deployment": "deployments",
    "deployment_status": "deployments",
    "issue_comment": "issues",
    "issues": "issues",
    "member": "members",
    "membership": "members",
    "merge_group": "merge_queues",
    "organization": "members",
    "pull_request": "pull_requests",
    "pull_request_review": "pull_requests",
    "pull_request_review_comment": "pull_requests",
    "pull_request_review_thread": "pull_requests",
    "push": "contents",
    "release": "contents",
    "repository": "metadata",
    "status": "statuses",
    "team": "members",
}
"""Event to the permission without which an App may not subscribe to it; `issues` and
`pull_requests` both carry comments."""


def owner(state: ForgeState, user: User | None, organization: str) -> User:
    """Whose App it becomes: the user's, or an organization's that the user owns.

    Raises:
        RefusedError: 401 for nobody, 404 for an organization that is not theirs.
    """
    if user is None:
        raise RefusedError(401, "Requires authentication")
    if not organization:
        return user
    found = state.data.organizations.get(organization.lower())
    if found is None or found.members.get(user.login) != "admin":
        raise not_found()
    return found.account


def check(manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest that GitHub refuses, with all of its reasons.

    Raises:
        RefusedError: 422.
    """
    reasons = [*_addresses(manifest), *_grants(manifest)]
    if reasons:
        raise RefusedError(422, "Invalid GitHub App configuration", reasons)


def _addresses(manifest: Mapping[str, Any]) -> list[str]:
    hook = manifest.get("hook_attributes")
    reasons = [] if _is_url(manifest.get("url")) else ["Homepage URL can't be blank"]
    if isinstance(hook, Mapping) and not _is_url(hook.get("url")):
        reasons.append("Hook url can't be blank")
    if not _is_url(manifest.get("redirect_url")):
        reasons.append("Redirect url can't be blank")
    if len(manifest.get("callback_urls") or ()) > 10:
        reasons.append("Callback urls can't be more than 10")
    return reasons


def _grants(manifest: Mapping[str, Any]) -> list[str]:
    permissions = manifest.get("default_permissions") or {}
    reasons = [
        f"Default permission {name}: {level} is not valid"
        for name, level in permissions.items()
        if level not in _LEVELS
    ]
    has = {"metadata", *permissions}
    wrong = [
        event
        for event in manifest.get("default_events") or ()
        if _EVENT_NEEDS.get(event) not in has
    ]
    if wrong:
        reasons.append(f"Default events unsupported: {', '.join(wrong)}")
    return reasons


def _is_url(value: object) -> bool:
    parts = urlsplit(value) if isinstance(value, str) else None
    return parts is not None and parts.scheme in ("http", "https") and bool(parts.netloc)


def confirm(
    state: ForgeState, account: User, manifest: Mapping[str, Any], name: str, asked: str
) -> str:
    """Take a manifest that somebody confirmed; where the browser goes next.

    Args:
        state: The forge.
        account: Whose App it becomes.
        manifest: As it was posted.
        name: As it was confirmed.
        asked: The `state` it was posted with; "" for none.

    Raises:
        RefusedError: 422 for a manifest or a name that cannot be used.
    """
    check(manifest)
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if not slug or len(name) > _LONGEST_NAME:
        raise plain(f"Name is too short or longer than {_LONGEST_NAME} characters")
    taken = (app.slug for app in state.data.apps.values())
    if slug in taken or slug in state.data.users:
        raise plain("Name is already taken")
    code = secrets.token_hex(20)
    state.data.manifest_codes[code] = ManifestCode(account, name, slug, manifest, state.now())
    query = {"code": code, **({"state": asked} if asked else {})}
    redirect = str(manifest["redirect_url"])
    return f"{redirect}{'&' if urlsplit(redirect).query else '?'}{urlencode(query)}"


def convert(state: ForgeState, code: str) -> tuple[App, Mapping[str, str]]:
    """Exchange a code for the App that it stands for, once.

    Returns:
        The App, and its secrets: pem, webhook_secret, client_secret.

    Raises:
        RefusedError: 404 for a code that is unknown, was used, or is too old.
    """
    made = state.data.manifest_codes.pop(code, None)
    if made is None or state.now() > made.created_at + CODE_LIFE:
        raise not_found()
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    hook = made.manifest.get("hook_attributes") or {}
    secret = secrets.token_hex(20)
    app = state.register_app(
        made.slug,
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode(),
        owner=made.account.login,
        permissions=made.manifest.get("default_permissions") or {},
        events=made.manifest.get("default_events") or (),
        webhook_url=hook.get("url"),
        webhook_secret=secret,
    )
    app.name = made.name
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    ).decode()
    return app, {"pem": pem, "webhook_secret": secret, "client_secret": secrets.token_hex(20)}
