"""Who may see the operator's pages: whoever has the token, shown in a header or kept in a cookie.

A request that changes something must come from a page of ours: from the same origin, and with a
value that only that page had (docs/operate/watching.md, "The page /status").
"""

import asyncio
import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from bot.clock import Clock
from fnrunner import urls

COOKIE = "porchbot_status"

SESSION = 12 * 3600
"""Seconds that a login counts: a working day."""

PENALTY = 0.5
"""Seconds that a wrong token waits for its answer."""

LONGEST_FORM = 8 * 1024
"""Bytes of a form: a key has at most some hundred."""

FORM_SECONDS = 10.0
"""For the whole of a form."""


class Operator:
    """Tells whether a request is the operator's.

    Args:
        token: What the operator knows; "" where there is no such page.
        clock: Since when somebody is logged in.
    """

    def __init__(self, token: str, clock: Clock) -> None:
        self._token = hashlib.sha256(token.encode()).digest()
        self._clock = clock
        self.exists = bool(token)

    def admits(self, request: Request) -> bool:
        """Whether a request shows the token, or the cookie of a login that still counts."""
        return self.exists and (self.shows_token(request) or bool(self._session(request)))

    def shows_token(self, request: Request) -> bool:
        """Whether a request shows the token in its header, as no page of others can make it."""
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and self.is_token(given)

    def is_token(self, given: str) -> bool:
        """Whether a text is the token; it takes the same time for each."""
        return self.exists and hmac.compare_digest(
            hashlib.sha256(given.strip().encode()).digest(), self._token
        )

    def log_in(self, request: Request, response: Response) -> None:
        """Let a browser in for a while; any process of the bot takes the cookie."""
        ends = str(int(self._clock.now().timestamp()) + SESSION)
        response.set_cookie(
            COOKIE,
            f"{ends}.{self._mac('session', ends)}",
            max_age=SESSION,
            path="/",
            secure=_is_secure(request),
            httponly=True,
            samesite="strict",
        )

    def log_out(self, request: Request, response: Response) -> None:
        """Have a browser forget it."""
        response.delete_cookie(
            COOKIE, path="/", secure=_is_secure(request), httponly=True, samesite="strict"
        )

    def form_value(self, request: Request) -> str:
        """What the forms of a page carry that is shown to this browser."""
        return self._mac("form", self._session(request))

    async def change(self, request: Request) -> Mapping[str, str] | None:
        """The form of a request that changes something; None where the operator did not mean it.

        Of who has neither token nor login no body is read.
        """
        shows = self.shows_token(request)
        session = self._session(request)
        if not shows and not (session and is_same_origin(request)):
            return None
        form = await form_of(request)
        if form is None or shows:
            return form
        meant = self._mac("form", session).encode()
        return form if hmac.compare_digest(form.get("form", "").encode(), meant) else None

    def _session(self, request: Request) -> str:
        """When the login ends that a request's cookie shows; "" for none that counts."""
        ends, _, mac = request.cookies.get(COOKIE, "").partition(".")
        if not self.exists or not hmac.compare_digest(
            mac.encode(), self._mac("session", ends).encode()
        ):
            return ""
        return ends if int(ends) > self._clock.now().timestamp() else ""

    def _mac(self, what: str, text: str) -> str:
        return hmac.new(self._token, f"porchbot {what} {text}".encode(), "sha256").hexdigest()


def is_same_origin(request: Request) -> bool:
    """Whether a browser sent a request from a page of this very address."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = urls.parts(request.headers.get("origin", "")).netloc
    return bool(origin) and origin == request.headers.get("host", "")


def _is_secure(request: Request) -> bool:
    """Whether the browser came by HTTPS, as far as whoever stands before us says."""
    return "https" in (request.url.scheme, request.headers.get("x-forwarded-proto", ""))


async def form_of(request: Request) -> Mapping[str, str] | None:
    """The fields of a small form; None where it is larger, slower, broken off or no form."""
    body = b""
    try:
        async with asyncio.timeout(FORM_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > LONGEST_FORM:
                    return None
        fields = parse_qs(body.decode(), max_num_fields=10)
    except (TimeoutError, ValueError, ClientDisconnect):
        return None
    return {name: values[0] for name, values in fields.items()}
