"""Pages on which people make an App of a manifest, and install it on their repositories."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request

from bot.sandbox.errors import RefusedError, not_found, plain
from bot.sandbox.pages.asked import PageRequest
from bot.sandbox.records.accounts import App, Role, User
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules import manifests
from bot.sandbox.rules.state import ForgeState


@dataclass(frozen=True, slots=True)
class ShownManifest:
    """A manifest to be confirmed: what its page says, and where it may lead."""

    values: Mapping[str, Any]
    leads_to: str


def asked_for(
    state: ForgeState, user: User | None, request: Request, form: Mapping[str, str]
) -> ShownManifest:
    """A manifest that was posted, as a page shows it.

    Raises:
        RefusedError: 401, 404 or 422, as `rules.manifests` has it.
    """
    organization = request.path_params.get("organization", "")
    account = manifests.owner(state, user, organization)
    manifest = _manifest(form)
    manifests.check(manifest)
    parts = urlsplit(str(manifest["redirect_url"]))
    values = {
        "account": account,
        "organization": organization,
        "manifest": manifest,
        "text": json.dumps(manifest),
        "state": request.query_params.get("state", ""),
    }
    return ShownManifest(values, f"{parts.scheme}://{parts.netloc}")


def _manifest(form: Mapping[str, str]) -> Mapping[str, Any]:
    try:
        read = json.loads(form.get("manifest", ""))
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise plain("Invalid GitHub App configuration: the manifest is no JSON object")
    return read


def confirm(asked: PageRequest, form: Mapping[str, str]) -> str:
    """Somebody pressed "Create GitHub App"; gives where the browser goes next."""
    account = manifests.owner(asked.state, asked.user, form.get("organization", ""))
    manifest, name = _manifest(form), form.get("name", "").strip()
    return manifests.confirm(asked.state, account, manifest, name, form.get("state", ""))


def found(state: ForgeState, request: Request) -> App:
    """The App of the address; 404 where there is none."""
    slug = request.path_params["slug"]
    for app in state.data.apps.values():
        if app.slug == slug:
            return app
    raise not_found()


def installable(state: ForgeState, user: User | None, app: App) -> list[tuple[Repository, bool]]:
    """Repositories that a user administers, and whether the App is installed there."""
    repositories = state.data.repositories.values()
    mine = [r for r in repositories if state.role(r, user) >= Role.ADMIN]
    return [(repo, state.installation_of(app, repo) is not None) for repo in mine]


def install(asked: PageRequest, form: Mapping[str, str]) -> str:
    """Install the App on one repository; gives where the browser goes next."""
    app = found(asked.state, asked.request)
    owner, _, name = form.get("repository", "").partition("/")
    repo = asked.state.repository(owner, name)
    if asked.state.role(repo, asked.user) < Role.ADMIN:
        raise RefusedError(403, "Only an administrator of the repository may do this.")
    asked.state.install(app, repo)
    return f"/apps/{app.slug}"
