"""The operator's page `/status`, the same as JSON, and the button that tries a key again."""

import base64
import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import structlog
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from bot import gitlabs, keys, logs
from bot.clock import Clock
from bot.http import board, login
from bot.http.login import Operator, form_of, is_same_origin
from bot.http.ready import Readiness
from bot.store.hints import OPERATOR, Hint
from bot.store.port import Store
from bot.store.values import TRY_AGAIN, StoreError
from lifecycle import spelling

if TYPE_CHECKING:
    from jinja2 import Environment

log = structlog.get_logger()

OFF = (
    "This page is turned off. Set PORCHBOT_STATUS_TOKEN or PORCHBOT_STATUS_TOKEN_FILE to a long"
    " random token, and restart the bot.\n"
)
FOREIGN = (
    "This request did not come from the bot's own page, so nothing was done. Open /status and try"
    " again; a proxy in front of the bot must pass on the Host header.\n"
)


class StatusPages:
    """Answers requests for the operator's pages.

    Args:
        token: Opens them; "" where there are none.
        store: The database.
        readiness: What the bot needs, and what of it is missing.
        clock: The time.
        served: Names of the GitLabs that are served.
    """

    def __init__(
        self,
        token: str,
        store: Store,
        readiness: Readiness,
        clock: Clock,
        served: Collection[str] = (),
    ) -> None:
        self._gitlabs = served
        self._operator = Operator(token, clock)
        self._store = store
        self._readiness = readiness
        self._clock = clock
        self._wrong = logs.Seldom()

    def routes(self) -> list[Route]:
        """Where they are."""
        return [
            Route("/status", self.page),
            Route("/status.json", self.json),
            Route("/status/login", self.log_in, methods=["POST"]),
            Route("/status/logout", self.log_out, methods=["POST"]),
            Route("/status/again", self.again, methods=["POST"]),
        ]

    async def page(self, request: Request) -> Response:
        """For people."""
        if not self._operator.exists:
            return PlainTextResponse(OFF, 404)
        if not self._operator.admits(request):
            return html("login.html", 401, wrong=False)
        try:
            shown = await board.read(self._store, self._readiness, self._clock, _after(request))
        except StoreError as error:
            needs = await self._readiness.read()
            return html("away.html", 503, error=logs.redacted(str(error)), needs=needs)
        more = urlencode({"after": ":".join(map(str, shown.more))}) if shown.more else ""
        return html(
            "status.html",
            board=shown,
            more=more,
            gitlabs=self._gitlabs,
            first="after" not in request.query_params,
            form=self._operator.form_value(request),
            asked=request.query_params.get("again", ""),
        )

    async def json(self, request: Request) -> Response:
        """For programs; `?after=` takes what the page before gave as `more`."""
        if not self._operator.exists:
            return JSONResponse({"message": OFF.strip()}, 404)
        if not self._operator.admits(request):
            told = {"message": "Send the operator's token as Authorization: Bearer."}
            return JSONResponse(told, 401, {"www-authenticate": "Bearer"})
        try:
            shown = await board.read(self._store, self._readiness, self._clock, _after(request))
        except StoreError as error:
            return JSONResponse({"message": logs.redacted(str(error))}, 503)
        return JSONResponse(logs.redacted(shown), headers={"cache-control": "no-store"})

    async def log_in(self, request: Request) -> Response:
        """Take the token from the form."""
        if not self._operator.exists:
            return PlainTextResponse(OFF, 404)
        form = await form_of(request) if is_same_origin(request) else None
        if form is None:
            return PlainTextResponse(FOREIGN, 403)
        if not self._operator.is_token(form.get("token", "")):
            if times := self._wrong.times():
                log.warning("wrong token for /status", times=times)
            await self._clock.sleep(login.PENALTY)
            return html("login.html", 401, wrong=True)
        response = to("/status")
        self._operator.log_in(request, response)
        return response

    async def log_out(self, request: Request) -> Response:
        """Forget a login."""
        if await self._operator.change(request) is None:
            return PlainTextResponse(FOREIGN, 403)
        response = to("/status")
        self._operator.log_out(request, response)
        return response

    async def again(self, request: Request) -> Response:
        """Have a key looked at once more, at once."""
        form = await self._operator.change(request)
        if form is None:
            return PlainTextResponse(FOREIGN, 403)
        try:
            key = keys.parse(form.get("key", ""))
        except ValueError as error:
            return PlainTextResponse(f"{error}\n", 400)
        asked = {"asked": [{"by": OPERATOR}], "values": {}, "outcome": "DONE"}
        try:
            await self._store.audit.add(str(key), [(TRY_AGAIN, asked)], actor=OPERATOR)
            await self._store.queue.wake(key, Hint(by=frozenset({OPERATOR})))
        except StoreError as error:
            return PlainTextResponse(f"{logs.redacted(str(error))}\n", 503)
        log.info("the operator asked to process a key again", key=str(key))
        return to(f"/status?{urlencode({'again': str(key)})}")


def _after(request: Request) -> tuple[int, int] | None:
    """Where a page begins; None for the first, and for what is no place."""
    repository, _, number = request.query_params.get("after", "").partition(":")
    try:
        place = int(repository), int(number)
    except ValueError:
        return None
    return place if all(-(2**63) <= each < 2**63 for each in place) else None


def to(path: str) -> Response:
    """Send a browser on, with a request that changes nothing."""
    return Response(status_code=303, headers={"location": path, "cache-control": "no-store"})


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # 4 MB, for this page alone

    made = Environment(
        loader=PackageLoader("bot.http"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "ago": ago,
        "clean": logs.redacted,
        "branch": _branch,
        "numbered": gitlabs.numbered,
    }
    made.globals["style"] = _style()
    return made


@cache
def _style() -> str:
    return (resources.files("bot.http") / "templates" / "status.css").read_text(encoding="utf-8")


def html(name: str, status: int = 200, *, forms: str = "'self'", **shown: object) -> Response:
    """A page, with all that browsers are told to keep away from it.

    Args:
        name: Of its template.
        status: Of HTTP.
        forms: Where its forms may lead: an origin, or 'self' for here.
        shown: What stands on it.
    """
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; form-action {forms};"
        " base-uri 'none'; frame-ancestors 'none'"
    )
    headers: Mapping[str, str] = {
        "content-security-policy": policy,
        "cache-control": "no-store",
        "referrer-policy": "same-origin",
        "x-content-type-options": "nosniff",
        **({"www-authenticate": "Bearer"} if status == 401 else {}),
    }
    return HTMLResponse(_templates().get_template(name).render(**shown), status, headers)


_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def ago(then: "datetime | float", now: datetime | None = None) -> str:
    """A length of time in its two largest units; since a moment, where one is given."""
    seconds = int((now - then).total_seconds() if isinstance(then, datetime) and now else then)  # type: ignore[arg-type] # a moment comes with now
    for place, (unit, size) in enumerate(_UNITS):
        if seconds >= size:
            rest = _UNITS[place + 1 : place + 2]
            small = [f"{seconds % size // s} {u}" for u, s in rest if seconds % size // s]
            return " ".join([f"{seconds // size} {unit}", *small])
    return "0 s"


def _shown(value: object) -> object:
    """A value as it is put into a page: what others named shows all that it holds."""
    return spelling.shown(value) if type(value) is str else value


def _branch(key: str) -> str:
    """The head branch of a key; its text where it is of another kind."""
    try:
        read = keys.parse(key)
    except ValueError:
        return key
    return read.branch if isinstance(read, keys.ProposalKey) else key
