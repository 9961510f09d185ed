"""The pages of `porchbot setup`: a browser takes the App's manifest to the forge and its code back.

Whoever first presses the button of the page at the one-time address is let in, by a cookie, and
nobody else: chats and mail programs open an address to show a preview, and press no button. The
code counts only with the `state` that this browser was given, once. No page holds a secret.
"""

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.apps import KnownApp
from bot.http.login import form_of
from bot.http.status import html, to
from bot.logs import redacted
from fnrunner import urls

PAGE: Final = "/setup"
ENTER: Final = "/setup/enter"
CREATED: Final = "/setup/created"
COOKIE: Final = "porchbot_setup"

NOT_YOURS: Final = (
    "This page opens once, at the address with the token that `porchbot setup` printed, in the"
    " browser where somebody first pressed Continue. Run `porchbot setup` again for a new token.\n"
)

log = structlog.get_logger()


class RegistrationError(Exception):
    """The App was not registered or could not be kept; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupPlan:
    """What is to be registered, as the page shows it.

    Attributes:
        forge: The forge's web address.
        owner: Whose App it becomes; "" for whoever is logged in there.
        action: Gives where the manifest is posted, for a `state`.
        manifest: It, as JSON.
        hears_at: Where the bot will hear.
        permissions: Names and levels, with what each is for.
        events: Their names.
    """

    forge: str
    owner: str
    action: Callable[[str], str]
    manifest: str
    hears_at: str
    permissions: Sequence[tuple[str, str]]
    events: Sequence[str]


class SetupPages:
    """Answers the browser of whoever registers the App.

    Args:
        plan: What is registered.
        token: Lets one browser in, once.
        register: Exchanges a code and keeps what comes of it.
        secure: Browsers reach it by https, whatever comes here behind a proxy.

    Attributes:
        registered: Set once the App is kept.
        seen: Set once the browser saw that.
        app: The App then.
    """

    def __init__(
        self,
        plan: SetupPlan,
        token: str,
        register: Callable[[str], Awaitable[KnownApp]],
        *,
        secure: bool = False,
    ) -> None:
        self._plan = plan
        self._token: str | None = token
        self._register = register
        self._secure = secure
        self._session = ""
        self._state = secrets.token_urlsafe(32)
        self._one = asyncio.Lock()
        self.registered = asyncio.Event()
        self.seen = asyncio.Event()
        self.app: KnownApp | None = None

    def application(self) -> Starlette:
        """The ASGI application."""
        return Starlette(
            routes=[
                Route(PAGE, self.page),
                Route(ENTER, self.enter, methods=["POST"]),
                Route(CREATED, self.created),
            ]
        )

    async def page(self, request: Request) -> Response:
        """Show what will be registered; the button that lets a browser in, where none is yet."""
        if not self._admits(request):
            token = request.query_params.get("token", "")
            return html("setup-enter.html", token=token) if self._opens(token) else _refused()
        if self.app is not None:
            self.seen.set()
            return self._html("setup-done.html", app=self.app)
        return self._shown()

    async def enter(self, request: Request) -> Response:
        """Let in the browser that brings the token from the button; the token is used up."""
        form = await form_of(request)
        if form is None or not self._opens(form.get("token", "")):
            return _refused()
        self._token, self._session = None, secrets.token_urlsafe(32)
        response = to(PAGE)  # away from the address that a history would keep
        response.set_cookie(
            COOKIE,
            self._session,
            path=PAGE,
            secure=self._secure,
            httponly=True,
            samesite="lax",  # it comes back from the forge, which is another site
        )
        return response

    async def created(self, request: Request) -> Response:
        """Take the code that the forge sent the browser back with."""
        if not self._admits(request):
            return _refused()
        async with self._one:
            if self.app is not None:
                return to(PAGE)
            query = request.query_params
            expected, self._state = self._state, secrets.token_urlsafe(32)
            if not _same(query.get("state", ""), expected) or not query.get("code"):
                log.warning("setup: an answer without a request from this page")
                problem = (
                    "GitHub's answer does not belong to a request from this page, so it was not"
                    " used. Start again below."
                )
                return self._shown(problem, 403)
            try:
                self.app = await self._register(query["code"])
            except RegistrationError as error:
                return self._shown(redacted(str(error)), 502)
        self.registered.set()
        return to(PAGE)

    def _opens(self, given: str) -> bool:
        return self._token is not None and _same(given, self._token)

    def _admits(self, request: Request) -> bool:
        given = request.cookies.get(COOKIE, "")
        return bool(self._session) and _same(given, self._session)

    def _shown(self, problem: str = "", status: int = 200) -> Response:
        plan, action = self._plan, self._plan.action(self._state)
        return self._html("setup.html", status, plan=plan, action=action, problem=problem)

    def _html(self, name: str, status: int = 200, **shown: object) -> Response:
        parts = urls.parts(self._plan.forge)
        return html(name, status, forms=f"{parts.scheme}://{parts.netloc}", **shown)


def _refused() -> Response:
    return PlainTextResponse(NOT_YOURS, 403)


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


def plan_of(
    manifest: Mapping[str, object], text: str, forge: str, owner: str, action: Callable[[str], str]
) -> SetupPlan:
    """What a filled-in manifest comes to, for people."""
    hook, events = manifest["hook_attributes"], manifest["default_events"]
    permissions = manifest["default_permissions"]
    if not (isinstance(hook, dict) and isinstance(permissions, dict) and isinstance(events, list)):
        raise RegistrationError("app-manifest.yml does not have the expected form. Restore it.")
    return SetupPlan(
        forge=forge,
        owner=owner,
        action=action,
        manifest=text,
        hears_at=str(hook["url"]),
        permissions=[(str(name), str(level)) for name, level in permissions.items()],
        events=[str(each) for each in events],
    )
