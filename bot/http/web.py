"""The bot's HTTP endpoints: webhooks in (`webhooks` beside this), health, metrics, `status` out."""

import asyncio
from collections.abc import Sequence

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from bot import metrics
from bot.clock import SYSTEM, Clock
from bot.http.ready import Readiness
from bot.http.status import StatusPages
from bot.http.webhooks import DEFAULT, Bodies, BodyLimits, WebhookEndpoint, WebhookSource
from bot.keys import Sweep
from bot.logs import Seldom
from bot.settings import Settings
from bot.signing import allowed
from bot.store.port import Store
from bot.store.values import StoreError

log = structlog.get_logger()


class Endpoints:
    """Answers what is no webhook.

    Args:
        store: For the queue.
        readiness: What the bot needs, and what of it is missing.
        signers: The file of allowed signers that verifies our tags.
    """

    def __init__(self, store: Store, readiness: Readiness, signers: str = "") -> None:
        self._signers = signers
        self._store = store
        self._readiness = readiness
        self._no_database = Seldom()
        self._asking: asyncio.Task[None] | None = None

    async def healthz(self, request: Request) -> Response:  # noqa: ARG002 (starlette's shape)
        """The process lives: its loop answers. Nobody else is asked."""
        return PlainTextResponse("ok\n")

    async def readyz(self, request: Request) -> Response:  # noqa: ARG002 (starlette's shape)
        """What the bot needs, each "ok" or missing; 503 when something is. Anybody may ask."""
        said = await self._readiness.read()
        status = 200 if self._readiness.suffices(said) else 503
        return JSONResponse(self._readiness.public(said), status)

    async def metrics(self, request: Request) -> Response:  # noqa: ARG002 (starlette's shape)
        """For Prometheus. Scrapes at a time share one look at the database: anybody may ask."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
        await asyncio.shield(self._asking)
        metrics.show_budgets()
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    async def allowed_signers(self, request: Request) -> Response:  # noqa: ARG002 (its shape)
        """The keys that sign tags, as git and `porchbot verify` read them. Anybody may ask."""
        if not self._signers:
            return PlainTextResponse("This bot does not sign tags.\n", 404)
        return PlainTextResponse(self._signers)

    async def _ask(self) -> None:
        try:
            metrics.show(await self._store.queue.backlog())
            metrics.show_drift(await self._store.sweeps.marks(Sweep.HEALTH))
            metrics.show_waits(await self._store.waits.counts())
            metrics.DATABASE_UP.set(1)
        except StoreError as error:
            metrics.DATABASE_UP.set(0)
            if times := self._no_database.times():
                log.warning("metrics without the queue", reason=str(error), times=times)


def signers_of(settings: Settings) -> str:
    """The file of allowed signers of a bot's own keys; "" where it does not sign."""
    return allowed.write(settings.instance, settings.public_keys)


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
    bodies, other = Bodies(limits), Endpoints(store, readiness, signers_of(settings))
    status = StatusPages(
        settings.status_token, store, readiness, clock, [each.name for each in settings.gitlabs]
    )
    hooks = [
        (each.places or (each.reader.forge,), WebhookEndpoint(each, store, bodies, clock=clock))
        for each in sources
    ]
    return Starlette(
        routes=[
            *(
                Route(f"/webhooks/{place}", hook.take, methods=["POST"])
                for places, hook in hooks
                for place in places
            ),
            Route("/healthz", other.healthz),
            Route("/readyz", other.readyz),
            Route("/metrics", other.metrics),
            Route("/allowed_signers", other.allowed_signers),
            *status.routes(),
        ]
    )
