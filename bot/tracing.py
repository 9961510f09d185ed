"""Traces, where the operator asks for them: spans of OpenTelemetry, and nothing at all otherwise.

OpenTelemetry is an extra, and is imported only when a variable of the environment names where
traces go (docs/operate/watching.md, "Traces"). Without that a span costs a comparison.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_WHERE = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""Variables of OpenTelemetry's own that say where traces go: one of them asks for traces."""

_tracer: Any = None
"""Makes spans; None while nobody wants any."""


class TracingError(Exception):
    """Traces were asked for and cannot be made; an operator must act."""


def are_wanted(environ: Mapping[str, str]) -> bool:
    """Whether the environment asks for traces.

    Args:
        environ: Variables; OpenTelemetry's own.

    Source:
        https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
    """
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    chosen = environ.get("OTEL_TRACES_EXPORTER", "").strip()
    return chosen == "otlp" or (not chosen and any(environ.get(name) for name in _WHERE))


@contextmanager
def configured(
    environ: Mapping[str, str], exporter: Any = None, *, service: str = "porchbot"
) -> Iterator[None]:
    """Make spans inside the block, where the environment asks for them; send all at its end.

    Args:
        environ: OpenTelemetry's own variables.
        exporter: Takes the spans, at once; None for the one that the environment names.
        service: What this process is called where the environment does not say.

    Raises:
        TracingError: The extra is not installed, or the protocol is not known.
    """
    global _tracer
    if exporter is None and not are_wanted(environ):
        yield
        return
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

        named = "OTEL_SERVICE_NAME" in environ or "service.name=" in environ.get(
            "OTEL_RESOURCE_ATTRIBUTES", ""
        )
        resource = Resource.create({} if named else {"service.name": service})
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(
            SimpleSpanProcessor(exporter) if exporter else BatchSpanProcessor(_exporter(environ))
        )
    except ModuleNotFoundError as error:
        raise TracingError(
            f"Traces are asked for, and {error.name} is not installed. Install it (pip install "
            "'porchbot[traces]'), or unset OTEL_EXPORTER_OTLP_ENDPOINT."
        ) from error
    _tracer = provider.get_tracer("porchbot")
    try:
        yield
    finally:
        _tracer = None
        provider.shutdown()


def _exporter(environ: Mapping[str, str]) -> Any:
    """The exporter of the protocol that the environment names; it reads the rest itself."""
    name = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
    protocol = environ.get(name) or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
    match protocol:
        case "http/protobuf":
            from opentelemetry.exporter.otlp.proto.http import trace_exporter as http

            return http.OTLPSpanExporter()
        case "grpc":
            from opentelemetry.exporter.otlp.proto.grpc import trace_exporter as grpc

            return grpc.OTLPSpanExporter()
        case _:
            raise TracingError(f"{name} is {protocol!r}. Give http/protobuf or grpc.")


@contextmanager
def span(
    name: str,
    parent: str = "",
    *,
    root: bool = False,
    links: Collection[str] = (),
    **attributes: str | int | float,
) -> Iterator[None]:
    """A span around the block, inside the one that is open here; nothing where nobody wants it.

    Of what breaks the block its kind is kept, and no text: it may hold a secret.

    Args:
        name: One of few: what differs stands in attributes.
        parent: The other side's, as `traceparent` has it; "" for the one that is open here.
        root: It begins a trace of its own.
        links: Spans that it has to do with and is not inside of, as `traceparent` has them.
        attributes: Told of it, without secrets.
    """
    if _tracer is None:
        yield
        return
    from opentelemetry.trace import Status, StatusCode

    from bot.logs import redacted  # git's reader is used where no library of the bot's is

    told = {f"porchbot.{key}": redacted(value) for key, value in attributes.items()}
    with _tracer.start_as_current_span(
        name,
        context=_context(parent) if parent or root else None,
        links=_links(links),
        attributes=told,
        record_exception=False,
        set_status_on_exception=False,
    ) as made:
        try:
            yield
        except BaseException as error:
            made.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


def traceparent() -> str:
    """The span that is open here, for the other side of a call; "" for none.

    Source:
        https://www.w3.org/TR/trace-context/#traceparent-header
    """
    if _tracer is None:
        return ""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent", "")


def _context(parent: str) -> Any:
    """The context that `traceparent` names; an empty one for none."""
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": parent}, Context())


def _links(spans: Collection[str]) -> list[Any]:
    """Links to spans; what names none is left out."""
    from opentelemetry.trace import Link, get_current_span

    contexts = [get_current_span(_context(each)).get_span_context() for each in sorted(spans)]
    return [Link(context) for context in contexts if context.is_valid]
