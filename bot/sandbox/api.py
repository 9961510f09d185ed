"""Serves an API in a forge's dialect: what GitHub's and GitLab's have in common.

Each call goes the same way: who asks for what, the faults that are planned, the deed under the
forge's lock, the answer's headers, those who observe, the log of calls. What differs between
forges is a `Dialect`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import parse_qsl

from bot.sandbox.asgi import Receive, Scope, Send, headers_of, raw_path, read_body, respond
from bot.sandbox.errors import GitError, RefusedError
from bot.sandbox.faults.calls import FaultPlan, Faults, LoggedCall, OrderedFailure
from bot.sandbox.fields import parsed
from bot.sandbox.rules.state import ForgeState
from bot.sandbox.sending import Hooks


@dataclass(frozen=True, slots=True)
class Links:
    """Where the forge answers: `api` ends in `/api/v3` or `/api/v4`; neither ends in a slash."""

    api: str
    web: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiResponse:
    """What is sent back: a JSON value, or bytes of another type, or nothing (None)."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = "application/json; charset=utf-8"

    def encoded(self) -> bytes:
        """The body in bytes."""
        if self.body is None:
            return b""
        if isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One call and its answer, for those who check them.

    Attributes:
        method: HTTP method.
        path: Path below the API's address, quoted; `/graphql` for GraphQL.
        template: The operation's path as the forge's description spells it; "" where none fits.
        query: Query parameters.
        request_body: The request's JSON; None for no body or one that is not JSON.
        status: HTTP status.
        response_headers: Headers, names in small letters.
        response_body: The answer's JSON; None for no body or one that is not JSON.
        caller: As in `LoggedCall`.
        fault: Whether a fault made the answer, so that it says nothing about the forge.
    """

    method: str
    path: str
    template: str
    query: Mapping[str, str]
    request_body: Any
    status: int
    response_headers: Mapping[str, str]
    response_body: Any
    caller: str
    fault: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request as it came in.

    Attributes:
        path: Below the API's address, quoted.
        pairs: Query parameters as they came; a name may come more than once.
    """

    method: str
    path: str
    pairs: Sequence[tuple[str, str]]
    headers: Mapping[str, str]
    raw: bytes

    @property
    def query(self) -> dict[str, str]:
        """Query parameters; the last of a name counts."""
        return dict(self.pairs)


class NamedCaller(Protocol):
    """Whoever makes a call; `name` is how logs and faults speak of it."""

    @property
    def name(self) -> str:
        """Login, or a word such as `anonymous`."""


RouteT = TypeVar("RouteT")
CallerT = TypeVar("CallerT", bound=NamedCaller)
DeliveriesT = TypeVar("DeliveriesT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered(Generic[RouteT, CallerT]):
    """A call whose caller and operation are known, as far as they are.

    Attributes:
        found: The operation and its parameters; None where none fits.
        caller: Who calls.
        template: The operation's path as the forge's description spells it; "" where none fits.
        refused: Why nothing shall be done: kept, so that faults and the log see the call too.
    """

    found: tuple[RouteT, dict[str, str]] | None
    caller: CallerT
    template: str
    refused: RefusedError | None = None


@dataclass(frozen=True, kw_only=True)
class RoutedRequest(Generic[CallerT, DeliveriesT]):
    """One request, after it found its operation and its caller; each dialect adds its own.

    Attributes:
        state: The forge's memory as this request sees it (an older one under a fault).
        links: Where the forge answers.
        hooks: Webhooks and what went out.
        caller: Who asks.
        method: HTTP method.
        path: Path below the API's address, still quoted.
        template: The path as the forge's descriptions spell it.
        params: Values of the template's parameters, unquoted.
        query: Query parameters; the last of a name counts.
        headers: Request headers, names in small letters.
    """

    state: ForgeState
    links: Links
    hooks: Hooks[DeliveriesT]
    caller: CallerT
    method: str
    path: str
    template: str
    params: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]


class Dialect(Protocol[RouteT, CallerT]):
    """What one forge's API does in its own way."""

    def below(self, path: str) -> str:
        """A path of the web address as a path below the API's address."""

    def enter(self, asked: Asked) -> Entered[RouteT, CallerT]:
        """Who asks for what; under the forge's lock."""

    def count(self, asked: Asked, entered: Entered[RouteT, CallerT]) -> None:
        """Count the call against limits, or refuse it."""

    def carry_out(
        self, asked: Asked, entered: Entered[RouteT, CallerT], plan: FaultPlan
    ) -> ApiResponse:
        """Do what is asked; under the forge's lock."""

    def refusal(self, refused: RefusedError) -> ApiResponse:
        """The answer to a request that is refused, as the forge words it."""

    def finish(
        self, asked: Asked, entered: Entered[RouteT, CallerT], answer: ApiResponse
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """Status, headers and bytes, with what every answer of the forge carries."""


class Api(Generic[RouteT, CallerT]):
    """The ASGI app of an API.

    Args:
        dialect: The forge's own way.
        state: The forge.
        faults: What goes wrong, and the log of calls.
    """

    def __init__(
        self, dialect: Dialect[RouteT, CallerT], state: ForgeState, faults: Faults
    ) -> None:
        self._dialect = dialect
        self._state = state
        self._faults = faults
        self.observers: list[Callable[[Exchange], None]] = []
        """Called with every exchange after its answer is made, before it is sent."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request below `/api/`."""
        began = time.monotonic()
        raw = await read_body(receive)
        if raw is None:
            return  # half a request asks for nothing, and nobody is there to be told
        asked = Asked(
            method=scope["method"].replace("HEAD", "GET"),
            path=self._dialect.below(raw_path(scope)),
            pairs=_pairs(scope.get("query_string", b"")),
            headers=headers_of(scope),
            raw=raw,
        )
        entered, plan = self._enter(asked)
        if plan.delay:
            await asyncio.sleep(plan.delay)
        answer, faulty = await asyncio.to_thread(self._act, asked, entered, plan)
        status, headers, body = self._dialect.finish(asked, entered, answer)
        self._observe(asked, entered, answer, status, headers, faulty)
        await respond(send, status, headers, body, bare=scope["method"] == "HEAD")
        self._record(asked, entered, status, began)

    def answer(
        self, method: str, address: str, headers: Mapping[str, str], raw: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """Answer one request of this process: status, headers and body.

        Args:
            method: HTTP method.
            address: Path and query, quoted.
            headers: Of the request.
            raw: Its body.
        """
        began = time.monotonic()
        path, _, query = address.partition("?")
        asked = Asked(
            method=method,
            path=self._dialect.below(path),
            pairs=_pairs(query.encode()),
            headers={name.lower(): value for name, value in headers.items()},
            raw=raw,
        )
        entered, plan = self._enter(asked)
        done, faulty = self._act(asked, entered, plan)
        status, told, body = self._dialect.finish(asked, entered, done)
        self._observe(asked, entered, done, status, told, faulty)
        self._record(asked, entered, status, began)
        return status, told, body

    def _enter(self, asked: Asked) -> tuple[Entered[RouteT, CallerT], FaultPlan]:
        with self._state.lock:
            entered = self._dialect.enter(asked)
        template = entered.template or asked.path
        return entered, self._faults.plan(asked.method, template, asked.path, entered.caller.name)

    def _act(
        self, asked: Asked, entered: Entered[RouteT, CallerT], plan: FaultPlan
    ) -> tuple[ApiResponse, bool]:
        """Do what is asked, with the faults that are planned; runs in a thread of its own."""
        for callback in plan.before:
            callback()
        if plan.failure is not None:
            return _failure(plan.failure), True
        answer = self._refusable(asked, entered, plan)
        for callback in plan.after:
            callback()
        if plan.late_failure is not None:
            return _failure(plan.late_failure), True
        return answer, False

    def _refusable(
        self, asked: Asked, entered: Entered[RouteT, CallerT], plan: FaultPlan
    ) -> ApiResponse:
        try:
            if entered.refused is not None:
                raise entered.refused
            self._dialect.count(asked, entered)
            with self._state.lock:
                answer = self._dialect.carry_out(asked, entered, plan)
                if asked.method != "GET":
                    self._faults.remember()
                return answer
        except RefusedError as no:
            return self._dialect.refusal(no)
        except GitError as error:
            return ApiResponse(status=500, body={"message": f"Server Error: {error}"})

    def _record(
        self, asked: Asked, entered: Entered[RouteT, CallerT], status: int, began: float
    ) -> None:
        self._faults.record(
            LoggedCall(
                caller=entered.caller.name,
                kind="api",
                method=asked.method,
                template=entered.template or asked.path,
                path=asked.path,
                status=status,
                began=began,
                seconds=time.monotonic() - began,
            )
        )

    def _observe(
        self,
        asked: Asked,
        entered: Entered[RouteT, CallerT],
        answer: ApiResponse,
        status: int,
        headers: list[tuple[str, str]],
        faulty: bool,
    ) -> None:
        if not self.observers:
            return
        plain = status == 304 or isinstance(answer.body, bytes | str)
        exchange = Exchange(
            method=asked.method,
            path=asked.path,
            template=entered.template,
            query=asked.query,
            request_body=_decoded(asked.raw),
            status=status,
            response_headers={k.lower(): v for k, v in headers},
            response_body=None if plain else answer.body,
            caller=entered.caller.name,
            fault=faulty,
        )
        for observer in self.observers:
            observer(exchange)


def _pairs(raw: bytes) -> list[tuple[str, str]]:
    return parse_qsl(raw.decode("latin-1"), keep_blank_values=True)


def _failure(ordered: OrderedFailure) -> ApiResponse:
    """The answer that a test ordered in place of the right one."""
    body = ordered.body
    if body is None:
        body = {"message": "Server Error"}
    if isinstance(body, str):
        return ApiResponse(
            status=ordered.status,
            body=body.encode(),
            headers=ordered.headers,
            media_type="text/html; charset=utf-8",
        )
    return ApiResponse(status=ordered.status, body=body, headers=ordered.headers)


def _decoded(raw: bytes) -> Any:
    try:
        return parsed(raw) if raw.strip() else None
    except RefusedError:
        return None
