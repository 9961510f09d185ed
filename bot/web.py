"""The bot's HTTP door: webhooks in, health and metrics out."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from bot import metrics
from bot.forge import ForgeBusyError, ForgeRefusedError
from bot.github_events import Delivery, WebhookError, read_delivery
from bot.settings import Settings
from bot.store import Delivered, Store, StoreError

log = structlog.get_logger()

BODY_LIMIT = 25 * 1024 * 1024
"""Bytes: GitHub sends nothing larger (bots.md 2.2)."""

Identity = Callable[[], Awaitable[tuple[str, int]]]


class Runner(Protocol):
    """The function runner, as far as this door asks."""

    async def is_ready(self) -> bool:
        """Whether it answers."""


class Door:
    """Takes requests.

    Args:
        settings: For the webhook's secrets.
        store: Where deliveries and wakes go.
        runner: For readiness.
        identity: Asks the forge for our own login.
    """

    def __init__(
        self, settings: Settings, store: Store, runner: Runner, identity: Identity
    ) -> None:
        self._secrets = settings.webhook_secrets
        self._store = store
        self._runner = runner
        self._identity = identity
        self._login = ""
        self._learning: asyncio.Task[None] | None = None

    async def webhook(self, request: Request) -> Response:
        """Verify, store and wake in one transaction, answer; the work is done elsewhere."""
        began = time.perf_counter()
        try:
            body = await _body(request)
            headers = {name.lower(): value for name, value in request.headers.items()}
            delivery = read_delivery(headers, body, self._secrets, self._login)
            await self._store.store_delivery(_delivered(delivery, body), delivery.wakes)
        except WebhookError as error:
            log.warning("webhook refused", status=error.status, reason=str(error))
            metrics.DELIVERIES.labels("refused").inc()
            return JSONResponse({"message": str(error)}, error.status)
        except StoreError as error:
            # A failed delivery is one that the forge's log offers again.
            log.error("webhook not stored", reason=str(error))
            metrics.DELIVERIES.labels("failed").inc()
            return JSONResponse({"message": "The bot has no database now."}, 503)
        except ClientDisconnect:
            return Response(status_code=400)
        self._learn_login()
        metrics.DELIVERIES.labels("accepted").inc()
        metrics.ACCEPT_SECONDS.observe(time.perf_counter() - began)
        return Response(status_code=202)

    async def healthz(self, request: Request) -> Response:  # noqa: ARG002 (starlette's shape)
        """The process lives."""
        return PlainTextResponse("ok\n")

    async def readyz(self, request: Request) -> Response:  # noqa: ARG002 (starlette's shape)
        """Deliveries can be taken and functions run."""
        database, runner = await asyncio.gather(self._store.ready(), self._runner.is_ready())
        return JSONResponse(
            {"database": database, "runner": runner}, 200 if database and runner else 503
        )

    async def metrics(self, request: Request) -> Response:  # noqa: ARG002 (starlette's shape)
        """For Prometheus."""
        try:
            metrics.show(await self._store.queue())
        except StoreError as error:
            log.warning("metrics without the queue", reason=str(error))
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    def _learn_login(self) -> None:
        """Ask who we are, beside the answer and only once somebody has shown the secret.

        Until it is known our own events wake us too, which costs a look and harms nothing.
        """
        if not self._login and (self._learning is None or self._learning.done()):
            self._learning = asyncio.create_task(self._ask_login())

    async def _ask_login(self) -> None:
        try:
            self._login, _ = await self._identity()
        except (ForgeBusyError, ForgeRefusedError) as error:
            log.warning("own login not known", reason=str(error))


def _delivered(delivery: Delivery, body: bytes) -> Delivered:
    return Delivered(
        guid=delivery.id,
        event=delivery.event,
        action=delivery.action,
        headers=delivery.headers,
        body=body,
    )


async def _body(request: Request) -> bytes:
    """The raw body, refused as soon as it is too large."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > BODY_LIMIT:
            raise WebhookError(413, f"The body has more than {BODY_LIMIT} bytes.")
        parts.append(part)
    return b"".join(parts)


def app(settings: Settings, store: Store, runner: Runner, identity: Identity) -> Starlette:
    """The ASGI application."""
    door = Door(settings, store, runner, identity)
    return Starlette(
        routes=[
            Route("/webhooks/github", door.webhook, methods=["POST"]),
            Route("/healthz", door.healthz),
            Route("/readyz", door.readyz),
            Route("/metrics", door.metrics),
        ]
    )
