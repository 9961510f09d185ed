"""The endpoint of a forge's webhooks: a delivery is verified, stored, and wakes its keys."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO

import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from bot import metrics, tracing
from bot.clock import SYSTEM, Clock
from bot.forges.port import BotIdentity, ForgeBusyError, ForgeRefusedError
from bot.forges.webhooks import Delivery, DeliverySignature, WebhookError, WebhookReader
from bot.keys import Sweep, SweepKey
from bot.logs import Seldom
from bot.store.port import Store
from bot.store.values import StoreError
from lifecycle.identity import RepositoryId

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """What bodies on their way in may cost, until their signature is verified.

    Attributes:
        body_bytes: Of one; GitHub sends nothing larger (docs/design.md, "GitHub: webhooks").
        seconds: For the whole of one; GitHub gives up after ten.
        large_bytes: From here on a body waits for its turn.
        large_at_once: How many have a turn.
        turn_seconds: To wait for a turn before the forge is told to send it again.
        memory_bytes: Of one that stay in memory; the rest goes to a file.
        all_bytes: Of all of them, in memory and files.
        group_bytes: Of those of one group while the forge is asked whose they are; one may wait,
            however large.
        asking_bytes: Of those of all groups meanwhile: the rest is left for other bodies.
    """

    body_bytes: int = 25 * 1024 * 1024
    seconds: float = 10.0
    large_bytes: int = 256 * 1024
    large_at_once: int = 2
    turn_seconds: float = 6.0
    memory_bytes: int = 32 * 1024
    all_bytes: int = 96 * 1024 * 1024
    group_bytes: int = 8 * 1024 * 1024
    asking_bytes: int = 48 * 1024 * 1024


DEFAULT = BodyLimits()

LINGER = 0.3
"""Seconds between an answer and the end of a connection on which a body is still coming."""

BUSY = 503
"""Status of an answer after which the forge has to bring the delivery again."""

REPLAY = 2.0
"""Seconds until the forge's log is read for what was refused; by then it shows there."""

LONGEST_REPLAY = 60.0
"""The same for who goes on: twice as long each time, since anybody can have bodies refused."""

COVERED = 3.0
"""Seconds for the forge to say which group a repository is in: it gives up on us after ten."""

BUFFERED = 64 * 1024
"""Bytes that the server reads in any case."""


@dataclass(frozen=True, slots=True)
class WebhookSource:
    """A forge whose webhooks are taken.

    Attributes:
        reader: Reads its deliveries.
        identity: Asks it for our own login.
        places: Where below `/webhooks/`; none for its name alone.
        covers: Asks it whether a repository is in a group, by the group's number.
    """

    reader: WebhookReader
    identity: Callable[[], Awaitable[BotIdentity]]
    places: tuple[str, ...] = ()
    covers: Callable[[int, RepositoryId], Awaitable[bool]] | None = None


class WebhookEndpoint:
    """Takes the deliveries of one forge.

    Args:
        source: The forge.
        store: Where deliveries and wakes go.
        bodies: Bodies on their way in, of all forges.
        clock: For what is measured, and for lingering.
    """

    def __init__(
        self, source: WebhookSource, store: Store, bodies: "Bodies", *, clock: Clock = SYSTEM
    ) -> None:
        self._reader = source.reader
        self._identity = source.identity
        self._covers = source.covers
        self._store = store
        self._bodies = bodies
        self._clock = clock
        self._me: BotIdentity | None = None
        self._not_stored = Seldom()
        self._refusals = defaultdict[int, Seldom](Seldom)
        self._refused = False
        self._asked_log = float("-inf")
        self._pause = REPLAY
        self._replaying: asyncio.Task[None] | None = None
        self._learning: asyncio.Task[None] | None = None

    async def _taken_in(self, request: Request) -> str:
        """Store a delivery; returns why it wakes nothing, "" where it does."""
        signature = self._reader.read_headers(request.headers)
        async with self._bodies.received(request, signature) as body:
            read = self._reader.read_verified(request.headers, body, self._me)
            delivery = await self._of_group(read, len(body))
            await self._store.deliveries.add(
                delivery.stored(self._reader.forge, body), delivery.wakes
            )
        return delivery.ignored

    async def _of_group(self, delivery: Delivery, size: int) -> Delivery:
        """What counts of a delivery that may be of a group's webhook.

        Where the forge does not say in time whether the repository is in that group, or too many
        bytes wait for that already, it is looked at, and nothing else counts.

        Raises:
            WebhookError: The repository is not in the group (403).
        """
        about = delivery.repository_id
        if not delivery.group or about is None or self._covers is None:
            return delivery
        whose = (self._reader.forge, delivery.group)
        try:
            with self._bodies.waiting(whose, size):
                covered = await asyncio.wait_for(self._covers(delivery.group, about), COVERED)
        except (TimeoutError, ForgeBusyError, NoRoomError):
            return delivery.unproved()
        except ForgeRefusedError:  # the bot sees one of them no more
            covered = False
        if not covered:
            raise WebhookError(
                403,
                f"This webhook is of group {delivery.group}, and its delivery of project"
                f" {about.number}, which is not in it. Remove its custom template.",
            )
        return delivery

    async def take(self, request: Request) -> Response:
        """Verify, store and wake in one transaction, answer; the work is done elsewhere."""
        began = self._clock.monotonic()
        try:
            with tracing.span("webhook", forge=self._reader.forge):
                ignored = await self._taken_in(request)
        except WebhookError as error:
            # Anybody who reaches the port can send what is not signed.
            if times := self._refusals[error.status].times():
                log.warning("webhook refused", status=error.status, reason=str(error), times=times)
            metrics.DELIVERIES.labels("refused").inc()
            if error.status == BUSY:
                self._have_log_read()
            return _Refusal(request, error.status, str(error), self._clock)
        except StoreError as error:
            self._have_log_read()
            if times := self._not_stored.times():
                log.error("webhook not stored", reason=str(error), times=times)
            metrics.DELIVERIES.labels("failed").inc()
            return _Refusal(request, BUSY, "The bot has no database now.", self._clock)
        except ClientDisconnect:
            return Response(status_code=400)
        self._learn_login()
        metrics.DELIVERIES.labels("accepted").inc()
        metrics.ACCEPT_SECONDS.observe(self._clock.monotonic() - began)
        # GitHub shows the answer beside each delivery: who looks there learns why nothing follows.
        return JSONResponse({"ignored": ignored}, 202) if ignored else Response(status_code=202)

    def _have_log_read(self) -> None:
        """Have the forge's log read once we take deliveries again: nobody else brings this one."""
        self._refused = True
        if self._replaying is None or self._replaying.done():
            self._replaying = asyncio.create_task(self._ask_for_log())

    async def _ask_for_log(self) -> None:
        while self._refused:
            self._refused = False
            if self._clock.monotonic() - self._asked_log > LONGEST_REPLAY:
                self._pause = REPLAY
            await self._clock.sleep(self._pause)
            try:
                await self._store.queue.wake(SweepKey(Sweep.DELIVERIES, self._reader.forge))
            except StoreError:  # told by now
                self._refused = True
            else:
                self._asked_log = self._clock.monotonic()
                self._pause = min(2 * self._pause, LONGEST_REPLAY)

    def _learn_login(self) -> None:
        """Ask who we are, beside the answer and only once somebody has shown the secret.

        Until it is known our own events wake us too, which costs a look and harms nothing.
        """
        if self._me is None and (self._learning is None or self._learning.done()):
            self._learning = asyncio.create_task(self._ask_login())

    async def _ask_login(self) -> None:
        try:
            self._me = await self._identity()
        except (ForgeBusyError, ForgeRefusedError) as error:
            log.warning("own login not known", reason=str(error))


class _Refusal(JSONResponse):
    """An answer that ends the connection: nobody wants the rest of that body.

    It is held open for a moment without reading: what is closed with unread bytes is reset, and
    then many senders never see the answer.
    """

    def __init__(self, request: Request, status: int, message: str, clock: Clock) -> None:
        later = {"retry-after": "10"} if status == BUSY else {}
        super().__init__({"message": message}, status, {"connection": "close", **later})
        size = _declared(request)
        self._clock = clock
        self._linger = LINGER if size is None or size > BUFFERED else 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 (starlette's shape)
        """Send it."""
        headers = {"type": "http.response.start", "status": self.status_code}
        await send({**headers, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        await self._clock.sleep(self._linger)
        await send({"type": "http.response.body", "body": b""})


def _declared(request: Request) -> int | None:
    """Bytes that a body is said to have; None when nothing is said."""
    said = request.headers.get("content-length", "")
    return int(said) if said.isascii() and said.isdigit() else None


class NoRoomError(Exception):
    """A body cannot wait while it is asked whose it is."""


class Bodies:
    """Bodies on their way in: bounded one by one, all together, and in time.

    What is large goes to a file until its signature is verified, few at a time: whoever has no
    secret can make the bot hash, and no more.
    """

    def __init__(self, limits: BodyLimits) -> None:
        self._limits = limits
        self._turns = asyncio.Semaphore(limits.large_at_once)
        self._bytes = 0
        self._waiting = Counter[tuple[str, int]]()

    @contextmanager
    def waiting(self, whose: tuple[str, int], size: int) -> Iterator[None]:
        """Count a body of a group while it is asked whose it is.

        Args:
            whose: The forge, and the number of the group there.
            size: Bytes.

        Raises:
            NoRoomError: Too many bytes of it, or of all groups, wait already.
        """
        before, limits = self._waiting[whose], self._limits
        over = before and before + size > limits.group_bytes
        if over or self._waiting.total() + size > limits.asking_bytes:
            raise NoRoomError
        self._waiting[whose] += size
        try:
            yield
        finally:
            self._waiting[whose] -= size
            self._waiting += Counter()  # without those of which none waits

    @asynccontextmanager
    async def received(
        self, request: Request, signature: DeliverySignature
    ) -> AsyncIterator[bytes]:
        """Read and verify a body, and count it until the block ends.

        The turn of a large one is over once it is read: in the block others are waited for.

        Raises:
            WebhookError: It is too large (413), too slow (408), one too many (503), or wrongly
                signed (401).
        """
        size = _declared(request)
        if size is not None and size > self._limits.body_bytes:
            raise self._too_large()
        large = size is None or size > self._limits.large_bytes
        with ExitStack() as counted:
            async with self._turn() if large else nullcontext():
                with SpooledTemporaryFile(max_size=self._limits.memory_bytes) as kept:
                    counted.callback(self._count, -await self._read(request, signature, kept))
                    signature.verify()
                    kept.seek(0)
                    body = kept.read()
            yield body

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        try:
            await asyncio.wait_for(self._turns.acquire(), self._limits.turn_seconds)
        except TimeoutError as error:
            raise _busy() from error
        try:
            yield
        finally:
            self._turns.release()

    async def _read(self, request: Request, signature: DeliverySignature, kept: IO[bytes]) -> int:
        """Read a body into a file; returns its size, which stays counted."""
        size = 0
        try:
            async with asyncio.timeout(self._limits.seconds):
                async for part in request.stream():
                    size += len(part)
                    self._count(len(part))
                    if size > self._limits.body_bytes:
                        raise self._too_large()
                    if self._bytes > self._limits.all_bytes:
                        raise _busy()
                    signature.update(part)
                    kept.write(part)
        except TimeoutError as error:
            self._count(-size)
            raise WebhookError(408, f"The body took over {self._limits.seconds:g} s.") from error
        except BaseException:
            self._count(-size)
            raise
        return size

    def _too_large(self) -> WebhookError:
        return WebhookError(413, f"The body has more than {self._limits.body_bytes} bytes.")

    def _count(self, size: int) -> None:
        self._bytes += size


def _busy() -> WebhookError:
    return WebhookError(BUSY, "Too many deliveries at once. Send it again later.")
