"""The bot's HTTP endpoints: webhooks in (`webhooks` beside this), health and metrics out."""

import hmac
from collections.abc import Sequence

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from bot import logs, metrics
from bot.clock import SYSTEM, Clock
from bot.http.ready import OK, Readiness
from bot.http.webhooks import DEFAULT, Bodies, BodyLimits, WebhookEndpoint, WebhookSource
from bot.settings import Settings
from bot.store.port import Store
from bot.store.values import StoreError

log = structlog.get_logger()


class Endpoints:
    """Answers what is no webhook.

    Args:
        settings: For the token of `/status`.
        store: For the queue.
        readiness: What the bot needs, and what of it is missing.
    """

    def __init__(self, settings: Settings, store: Store, readiness: Readiness) -> None:
        self._status_token = settings.status_token
        self._store = store
        self._readiness = readiness

    async def healthz(self, request: Request) -> Response:  # noqa: ARG002 (starlette's shape)
        """The process lives."""
        return PlainTextResponse("ok\n")

    async def readyz(self, request: Request) -> Response:  # noqa: ARG002 (starlette's shape)
        """What the bot needs, each "ok" or what is wrong with it; 503 when something is missing."""
        said = await self._readiness.read()
        return JSONResponse(said, 200 if all(each == OK for each in said.values()) else 503)

    async def metrics(self, request: Request) -> Response:  # noqa: ARG002 (starlette's shape)
        """For Prometheus."""
        try:
            metrics.show(await self._store.queue.backlog())
            metrics.show_waits(await self._store.waits.counts())
            metrics.DATABASE_UP.set(1)
        except StoreError as error:
            metrics.DATABASE_UP.set(0)
            log.warning("metrics without the queue", reason=str(error))
        metrics.show_budgets()
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    async def status(self, request: Request) -> Response:
        """For the operator: what is missing, and what keeps failing and why."""
        given = request.headers.get("authorization", "")
        wanted = f"Bearer {self._status_token}"
        if not self._status_token:
            return Response(status_code=404)
        if not hmac.compare_digest(given.encode(), wanted.encode()):
            return Response(status_code=401, headers={"www-authenticate": "Bearer"})
        try:
            queue, failing = await self._store.queue.backlog(), await self._store.queue.failing()
        except StoreError as error:
            return JSONResponse({"message": str(error)}, 503)
        said = await self._readiness.read()
        return JSONResponse(logs.plain({"needs": said, "queue": queue, "failing": failing}))


def app(
    settings: Settings,
    store: Store,
    readiness: Readiness,
    sources: Sequence[WebhookSource],
    limits: BodyLimits = DEFAULT,
    *,
    clock: Clock = SYSTEM,
) -> Starlette:
    """The ASGI application.

    Args:
        settings: For the token of `/status`.
        store: Where deliveries and wakes go.
        readiness: What the bot needs, and what of it is missing.
        sources: The forges whose webhooks are taken; a worker takes none.
        limits: For bodies, of all forges together.
        clock: For what is measured, and for lingering.
    """
    bodies, other = Bodies(limits), Endpoints(settings, store, readiness)
    hooks = [
        (each.reader.forge, WebhookEndpoint(each, store, bodies, clock=clock)) for each in sources
    ]
    return Starlette(
        routes=[
            *(Route(f"/webhooks/{forge}", hook.take, methods=["POST"]) for forge, hook in hooks),
            Route("/healthz", other.healthz),
            Route("/readyz", other.readyz),
            Route("/metrics", other.metrics),
            Route("/status", other.status),
        ]
    )
