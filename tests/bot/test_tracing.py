"""Traces: nothing while nobody asks; else spans inside one another, over gRPC too, no secret."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from bot import tracing
from bot.git import process
from bot.keys import PullKey
from bot.loop.work import Settled, Worker, WorkItem
from bot.runner_watch import WatchedRunner
from bot.store.hints import BY_SWEEP, NOTHING
from bot.store.values import Delivered
from bot.tasks import end
from bot.traced_runner import TracedRunner
from fnrunner.contract.run import CallLimits, FunctionOutcome
from fnrunner.wire.client import Client
from fnrunner.wire.server import listening
from tests.ids import on_github
from tests.memory.store import MemoryStore

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    found = InMemorySpanExporter()
    with tracing.configured({}, found):
        yield found


def tree(spans: Sequence[ReadableSpan]) -> dict[str, str]:
    """Name of each span to that of the one it is in; "" for none."""
    names = {span.context.span_id: span.name for span in spans if span.context}
    return {s.name: names.get(s.parent.span_id, "elsewhere") if s.parent else "" for s in spans}


WANTED: dict[str, tuple[Mapping[str, str], bool]] = {
    "nothing said": ({}, False),
    "an endpoint": ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
    "one for traces": ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318"}, True),
    "the exporter, at its usual place": ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
    "none": (
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
        False,
    ),
    "switched off": (
        {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
        False,
    ),
}


@pytest.mark.parametrize(("environ", "wanted"), WANTED.values(), ids=WANTED)
def test_who_asks_for_traces(environ: Mapping[str, str], wanted: bool) -> None:
    assert tracing.are_wanted(environ) is wanted


def test_nothing_is_imported_while_nobody_asks() -> None:
    """Short-cut refused: import it at the top; it costs every start a quarter of a second."""
    code = (
        "import gc, sys; gc.disable()\n"
        "import bot.perform, bot.loop.settle, bot.git.process; from bot import tracing\n"
        "with tracing.configured({}), tracing.span('x'): assert tracing.traceparent() == ''\n"
        "print([name for name in sys.modules if 'opentelemetry' in name])"
    )

    said = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert said.stdout == "[]\n"


def test_a_protocol_that_is_not_known_is_said() -> None:
    environ = {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}

    with (
        pytest.raises(tracing.TracingError, match=r"is 'http/json'\. Give http/protobuf or grpc"),
        tracing.configured(environ),
    ):
        raise AssertionError


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_both_protocols_can_be_had(protocol: str) -> None:
    """Short-cut refused: the one that came first; collectors often take the other alone."""
    environ = {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}

    with tracing.configured(environ):
        assert tracing.are_wanted(environ)


def test_what_breaks_a_span_is_told_by_its_kind_alone(exporter: InMemorySpanExporter) -> None:
    """Short-cut refused: OpenTelemetry's own way, which keeps texts of errors, tokens included."""
    token = "ghs_" + "a1B2" * 9
    with pytest.raises(ValueError, match="ghs_"), tracing.span("x", to=f"ask {token}", tries=3):
        raise ValueError(token)

    (span,) = exporter.get_finished_spans()
    assert dict(span.attributes or {}) == {"porchbot.to": "ask [secret]", "porchbot.tries": 3}
    assert (span.status.is_ok, span.status.description, span.events) == (False, "ValueError", ())


class _Runner:
    """Answers with what it is given."""

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        return FunctionOutcome(resources=resources)


async def test_a_function_is_traced_into_the_runner(exporter: InMemorySpanExporter) -> None:
    """Short-cut refused: two traces, one of each process, that nobody can bring together."""
    where = listening("127.0.0.1:0", TracedRunner(_Runner()), CallLimits())
    async with where as address, Client(address) as client:
        with tracing.span("look"):
            outcome = await WatchedRunner(client).run("set-labels:v0.2", b"items: []")

    assert outcome.resources == b"items: []"
    assert tree(exporter.get_finished_spans()) == {
        "function": "run a function",
        "run a function": "look",
        "look": "",
    }
    ids = {span.context.trace_id for span in exporter.get_finished_spans() if span.context}
    assert len(ids) == 1


async def test_git_and_threads_are_inside_the_look(
    exporter: InMemorySpanExporter, tmp_path: Path
) -> None:
    with tracing.span("look"):
        await asyncio.to_thread(process.run, tmp_path, ["--version"])

    git, _ = exporter.get_finished_spans()
    assert tree(exporter.get_finished_spans()) == {"git": "look", "look": ""}
    assert dict(git.attributes or {}) == {"porchbot.command": ""}


async def test_each_look_is_a_trace_of_its_own(exporter: InMemorySpanExporter) -> None:
    """Short-cut refused: looks inside whatever span was open when the worker began."""
    store = MemoryStore()
    looked = asyncio.Semaphore(0)

    async def look(work: WorkItem) -> Settled:
        looked.release()
        return Settled()

    for number in (1, 2):
        await store.queue.wake(PullKey(on_github(number), 7))
    with tracing.span("start"):
        running = asyncio.create_task(Worker(store, look, "test").run(2))
    for _ in range(2):
        await looked.acquire()
    await end([running])

    spans = exporter.get_finished_spans()
    assert [(s.name, s.parent) for s in spans if s.name == "look"] == [("look", None)] * 2


async def test_a_look_links_to_what_woke_it(exporter: InMemorySpanExporter) -> None:
    """Short-cut refused: the webhook as its parent, of which there are two; or no word of them, so
    that nobody finds the look that a webhook caused."""
    store = MemoryStore()
    looked = asyncio.Semaphore(0)
    first, second = PullKey(on_github(1), 7), PullKey(on_github(1), 8)

    async def look(work: WorkItem) -> Settled:
        if work.key == first:
            await store.queue.wake(second)
        looked.release()
        return Settled()

    for number in (1, 2):
        with tracing.span("webhook"):
            told = Delivered(guid=str(number), event="push", action="", headers={}, body=b"")
            await store.deliveries.add(told, {first: NOTHING})
    running = asyncio.create_task(Worker(store, look, "test").run(1))
    for _ in range(2):
        await looked.acquire()
    await store.queue.wake(first)  # in no span
    for _ in range(2):
        await looked.acquire()
    await end([running])

    spans = exporter.get_finished_spans()
    names = {s.context.span_id: s for s in spans if s.context}
    looks = [s for s in spans if s.name == "look"]
    linked = [[names[link.context.span_id].name for link in s.links] for s in looks]
    assert linked == [["webhook"] * 2, ["look"], [], ["look"]]
    assert [s.parent for s in looks] == [None] * 4
    assert names[looks[1].links[0].context.span_id] is looks[0]


def test_what_woke_a_key_is_the_same_with_traces() -> None:
    """Short-cut refused: compared too; a repair is counted where a sweep alone woke the key."""
    with_traces = replace(BY_SWEEP, traces=frozenset({"00-1-2-01"}))

    assert with_traces == BY_SWEEP
    assert (with_traces | NOTHING).traces == {"00-1-2-01"}
