"""Registering the App by its manifest: addresses of a GitHub, the manifest, and its conversion.

Source: https://docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

import bot
from bot import places
from bot.apps import KnownApp
from bot.forges.github.app import AppClients
from bot.forges.github.http import Clients, call
from bot.forges.github.registration import PATH
from bot.forges.port import ForgeBusyError, ForgeMissingError, ForgeRefusedError
from bot.places import GITHUB_WEB
from cadlib import yaml

FILE = "app-manifest.yml"


class AppManifestError(Exception):
    """The App cannot be registered; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where one GitHub answers.

    Attributes:
        web: Its pages, without a slash at the end.
        api: Its REST API.
    """

    web: str
    api: str

    def new_app(self, organization: str, state: str) -> str:
        """Where a browser posts a manifest: for an organization, or for whoever is logged in."""
        whose = f"/organizations/{quote(organization, safe='')}" if organization else ""
        return f"{self.web}{whose}/settings/apps/new?state={quote(state, safe='')}"


def addresses(web: str) -> Addresses:
    """Tell where the API of a GitHub is, from the address that people open.

    Raises:
        ManifestError: It is no address.

    Source: https://docs.github.com/enterprise-server/rest/enterprise-admin and
        https://docs.github.com/enterprise-cloud@latest/admin/data-residency/about-github-enterprise-cloud-with-data-residency
    """
    written = web.strip() if "://" in web else f"https://{web.strip()}"
    parts, found = places.given(written), places.spelled(written)
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or not host or parts.path.strip("/") or parts.query:
        raise AppManifestError(
            f"{places.shown(web)} is not the address of a GitHub server. Give the one for browsers,"
            f" such as {GITHUB_WEB}, https://acme.ghe.com or https://github.corp."
        )
    api = places.github_api(found)
    if places.is_service(api):
        return Addresses(f"https://{places.github_home(api)}", api)
    if parts.scheme == "http" and not places.is_loopback(host):
        raise AppManifestError(
            f"{web!r} is not encrypted, and the App's private key would be sent over it. Use https:"
            f" https://{parts.netloc}."
        )
    return Addresses(found, f"{found}/api/v3")


def read() -> Mapping[str, Any]:
    """The manifest that the bot ships with, as values.

    Raises:
        ManifestError: It is not installed.
    """
    installed = Path(str(resources.files(bot))) / f"_{FILE}"
    for file in (installed, installed.parents[1] / FILE):
        if file.is_file():
            found = yaml.read(file.read_bytes(), path=FILE).documents[0].value
            if isinstance(found, dict):
                return found
    raise AppManifestError(f"{FILE} is not installed, or no mapping. Run from a checkout.")


def filled(name: str, bot_url: str, page_url: str, path: str = PATH) -> Mapping[str, Any]:
    """The manifest for one bot.

    Args:
        name: Of the App; "" for the manifest's own.
        bot_url: Where the forge reaches the bot.
        page_url: Where the browser goes back to, with the code.
        path: Where below the bot's address it hears of this GitHub.

    Raises:
        ManifestError: The bot's address is none, or a browser's page of something else.
    """
    parts = places.given(bot_url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query:
        raise AppManifestError(
            f"{places.shown(bot_url)} is not a usable address. Give the one where GitHub can"
            " reach the bot, such as https://porchbot.example."
        )
    base = bot_url.rstrip("/").removesuffix(path)
    given = read()
    return {
        **given,
        "name": name or given.get("name", "porchbot"),
        "hook_attributes": {"url": base + path, "active": True},
        "redirect_url": page_url,
    }


async def convert(api_url: str, code: str, organization: str = "") -> KnownApp:
    """Exchange the code of a confirmed manifest for the App and its secrets, once.

    An App that came without a secret for its webhook is given one.

    Args:
        api_url: Of the GitHub's API.
        code: As the browser brought it.
        organization: Whose App it must be; "" for whoever made it.

    Raises:
        ManifestError: It is somebody else's App.
        ForgeMissingError: The code is unknown, was used already, or is older than an hour.
        ForgeBusyError, ForgeRefusedError: As of any request.
    """
    clients = Clients(api_url, lambda: None)
    try:
        path = f"/app-manifests/{quote(code, safe='')}/conversions"
        data = (await call(clients, "exchange the code for the App", "POST", path)).data
        owner = str((data.get("owner") or {}).get("login", ""))
        if organization and owner.lower() != organization.lower():
            raise AppManifestError(
                f"The App belongs to {owner or 'nobody'}, and not to {organization}, so it was not"
                f" stored. Delete it there, and start again as an owner of {organization}."
            )
        account = await _account(clients, str(data["slug"]))
    finally:
        clients.close()
    app = KnownApp(
        id=int(data["id"]),
        slug=str(data["slug"]),
        client_id=str(data["client_id"]),
        api_url=api_url,
        web_url=str(data["html_url"]),
        private_key=str(data["pem"]),
        webhook_secret=str(data.get("webhook_secret") or ""),
        client_secret=str(data.get("client_secret") or ""),
        account=account,
    )
    return app if app.webhook_secret else await _with_webhook_secret(app)


async def _account(clients: Clients, slug: str) -> int:
    """The number of an App's account; 0 where GitHub tells nobody who is not logged in."""
    try:
        path = f"/users/{quote(f'{slug}[bot]', safe='')}"
        return int((await call(clients, "read the App's account", "GET", path)).data["id"])
    except (ForgeBusyError, ForgeMissingError, ForgeRefusedError):
        return 0


async def _with_webhook_secret(app: KnownApp) -> KnownApp:
    secret = secrets.token_hex(32)
    signed = AppClients(app.api_url, str(app.id), app.private_key)
    try:
        wanted, body = "set the webhook's secret", {"secret": secret}
        await call(signed.clients, wanted, "PATCH", "/app/hook/config", body=body)
    finally:
        signed.close()
    return replace(app, webhook_secret=secret)
