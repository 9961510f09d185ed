"""Lists that are sent again: what differs travels, and what comes back is the same as without."""

from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fnrunner.contract.run import CALL, CallContext, CallLimits, FunctionOutcome
from fnrunner.wire import client as client_module
from fnrunner.wire import lists as module
from fnrunner.wire import shared as wire
from fnrunner.wire.client import Client
from fnrunner.wire.lists import KeptLists, SentLists, alike
from fnrunner.wire.proto import evaluator_pb2, evaluator_pb2_grpc
from fnrunner.wire.server import listening

LIMITS = CallLimits()
LONG = b"".join(b"- item %d\n" % i for i in range(module.LEAST // 8))
LIMIT = 3 * len(LONG) - 10  # two of them, and a rest
CHANGED = LONG.replace(b"- item 77\n", b"- item changed\n")


class Recording:
    """A runner that returns what it was given, and more where it is asked to; it notes what."""

    def __init__(self, more: bytes = b"", failed: bool = False) -> None:
        self.more, self.failed = more, failed
        self.given: list[bytes] = []

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        self.given.append(resources)
        return FunctionOutcome(resources + self.more, failed=self.failed, exit_code=1)


class Wire:
    """Counts the bytes of lists that travel, by listening in on the messages."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent: list[int] = []
        self.came: list[int] = []

        def request(**fields: Any) -> evaluator_pb2.EvaluateFunctionRequest:
            self.sent.append(len(fields["resource_list"]))
            return evaluator_pb2.EvaluateFunctionRequest(**fields)

        def response(
            answer: evaluator_pb2.EvaluateFunctionResponse, *rest: Any, **more: Any
        ) -> Any:
            self.came.append(len(answer.resource_list))
            return outcome(answer, *rest, **more)

        outcome = client_module._outcome
        monkeypatch.setattr(client_module, "EvaluateFunctionRequest", request)
        monkeypatch.setattr(client_module, "_outcome", response)


@given(st.binary(max_size=9), st.binary(max_size=9))
def test_two_texts_are_alike_at_both_ends(one: bytes, other: bytes) -> None:
    """The short-cut counts a byte for both ends: then the rest is too short."""
    for a, b in ((one, other), (one + other, one + b"x" + other), (one, one)):
        begin, end = alike(a, b)
        assert a[:begin] == b[:begin]
        assert a[len(a) - end :] == b[len(b) - end :]
        assert begin + end <= min(len(a), len(b))
        assert begin == len(a) or begin == len(b) or a[begin] != b[begin]
        rest = min(len(a), len(b)) - begin
        assert end == rest or a[len(a) - end - 1] != b[len(b) - end - 1]


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.binary(max_size=3)), max_size=9)
)
def test_any_row_of_lists_arrives(rows: list[tuple[str, int, bytes]]) -> None:
    """The short-cuts: a list taken for a part of another caller's, or of one that went."""
    sender, keeper = SentLists(LIMIT), KeptLists(LIMIT, 10 * LIMIT)
    for caller, at, text in rows:
        data = LONG[: at * 9] + text + LONG[at * 9 :]
        sent = sender.of(caller, data)
        whole = keeper.whole(sent.data, sent.metadata)
        if whole is None:
            sender.forget(caller)
            continue
        assert whole == data
        assert keeper.keep(whole, sent.metadata) == ((wire.LIST_KEY, sent.name),)
        sender.told(caller, sent, data)


@pytest.mark.parametrize(
    "said",
    [
        "0 0 0",
        "f" * 32 + " 0 0",
        "NAME 9 9999999",
        "NAME 3 3",
        "NAME -1 0",
        "NAME 1",
        "NAME 0 0 0",
        "NAME",
    ],
)
def test_a_part_of_nothing_is_no_list(said: str) -> None:
    """The short-cut joins what there is; then a function judges other resources than were meant."""
    keeper, name = KeptLists(100, 100_000_000), "0" * 32
    keeper.keep(b"- a\n", ((wire.LIST_KEY, name),))
    assert keeper.whole(b"- b\n", ((wire.FROM_KEY, said.replace("NAME", name)),)) is None


def test_a_runner_keeps_no_more_than_it_may() -> None:
    """The short-cut lets whoever calls fill its memory, or double a list with each call."""
    keeper, names = KeptLists(10, 12), [f"{i:032x}" for i in range(3)]
    for name in names:
        assert keeper.keep(b"abcd", ((wire.LIST_KEY, name),))
    assert keeper.whole(b"", ((wire.FROM_KEY, f"{names[0]} 4 0"),)) is None
    assert keeper.whole(b"-", ((wire.FROM_KEY, f"{names[2]} 2 2"),)) == b"ab-cd"
    assert keeper.whole(b"-" * 9, ((wire.FROM_KEY, f"{names[2]} 2 2"),)) is None
    assert keeper.keep(b"x" * 11, ((wire.LIST_KEY, names[0]),)) == ()
    assert keeper.keep(b"x", ((wire.LIST_KEY, "mine"),)) == ()


def test_a_list_takes_the_place_of_the_one_that_it_is_sent_as_a_part_of() -> None:
    """The short-cut keeps each until the memory is full: a list that each function of a package is
    sent, and each look at it, is kept as often, where the caller can name the last one alone.
    """
    sender, keeper = SentLists(), KeptLists(100 * len(LONG), 10 * len(LONG))
    names = []
    for data in (LONG, LONG, CHANGED, CHANGED):
        sent = sender.of("net/one", data)
        names.append(sent.name)
        assert keeper.whole(sent.data, sent.metadata) == data
        assert keeper.keep(data, sent.metadata) == ((wire.LIST_KEY, sent.name),)
        sender.told("net/one", sent, data)

    there = [name for name in names if keeper.whole(b"", ((wire.FROM_KEY, f"{name} 1 0"),))]

    assert there == names[-1:]


def test_a_list_that_is_not_kept_takes_no_place() -> None:
    """The short-cut drops what the caller still names, where the new list is too long to keep."""
    keeper, old, new = KeptLists(10, 100), "0" * 32, "1" * 32
    keeper.keep(b"abcd", ((wire.LIST_KEY, old),))

    said = keeper.keep(b"abcd" * 9, ((wire.LIST_KEY, new), (wire.FROM_KEY, f"{old} 4 0")))

    assert said == ()
    assert keeper.whole(b"-", ((wire.FROM_KEY, f"{old} 4 0"),)) == b"abcd-"


async def run(client: Client, data: bytes) -> bytes:
    return (await client.run("f", data)).resources


async def test_what_did_not_change_travels_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut sends everything each time, there and back."""
    runner, seen = Recording(b"results:\n- x\n"), Wire(monkeypatch)
    where = f"unix:{tmp_path}/s"
    async with (
        listening(where, runner, LIMITS, lists_bytes=module.KEPT_BYTES) as address,
        Client(address, patience=60) as client,
    ):
        CALL.set(CallContext("net/one"))
        for data in (LONG, CHANGED, CHANGED):
            assert await run(client, data) == data + runner.more
        CALL.set(CallContext("net/other"))
        assert await run(client, LONG) == LONG + runner.more
    assert runner.given == [LONG, CHANGED, CHANGED, LONG]
    assert seen.sent[0] == seen.sent[3] == len(LONG)
    assert max(seen.sent[1:3]) < 20
    assert max(seen.came) == len(runner.more)


async def test_a_runner_that_began_anew_is_sent_the_whole_list(tmp_path: Path) -> None:
    """The short-cut says that the function failed: the runner has forgotten what the rest is of."""
    where = f"unix:{tmp_path}/s"
    async with Client(where, patience=60) as client:
        for data in (LONG, CHANGED):
            runner = Recording()
            async with listening(where, runner, LIMITS, lists_bytes=module.KEPT_BYTES):
                assert await run(client, data) == data
            assert runner.given == [data]


class Other(evaluator_pb2_grpc.FunctionEvaluatorServicer):
    """Another program's runner, which knows nothing of names."""

    def __init__(self) -> None:
        self.given: list[bytes] = []

    async def EvaluateFunction(self, request: Any, context: Any) -> Any:  # noqa: N802 - its name
        self.given.append(request.resource_list)
        if b"- item 0\n" not in request.resource_list:
            await context.abort(grpc.StatusCode.INTERNAL, "no list")
        return evaluator_pb2.EvaluateFunctionResponse(resource_list=b"!" + request.resource_list)


async def test_a_runner_that_knows_nothing_of_it_is_sent_whole_lists(tmp_path: Path) -> None:
    """The short-cuts: send parts to whoever listens; or believe what was made of one."""
    other, where = Other(), f"unix:{tmp_path}/s"
    async with Client(where, patience=60) as client:
        async with listening(where, Recording(), LIMITS, lists_bytes=module.KEPT_BYTES):
            await run(client, LONG)
        server = grpc.aio.server()
        add: Any = evaluator_pb2_grpc.add_FunctionEvaluatorServicer_to_server
        add(other, server)
        server.add_insecure_port(where)
        await server.start()
        assert await run(client, CHANGED) == b"!" + CHANGED
        assert await run(client, LONG) == b"!" + LONG
        await server.stop(None)
    assert [len(data) for data in other.given[1:]] == [len(CHANGED), len(LONG)]


async def test_a_function_that_fails_leaves_its_list_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut sends a part twice where the function fails, which then runs twice."""
    seen, runner = Wire(monkeypatch), Recording(failed=True)
    where = f"unix:{tmp_path}/s"
    async with (
        listening(where, runner, LIMITS, lists_bytes=module.KEPT_BYTES) as address,
        Client(address, patience=60) as client,
    ):
        for data in (LONG, CHANGED, LONG):
            assert (await client.run("f", data)).failed
    assert runner.given == [LONG, CHANGED, LONG]
    assert len(seen.sent) == 3
    assert max(seen.sent[1:]) < 20


async def test_a_runner_that_keeps_nothing_says_so(tmp_path: Path) -> None:
    """The short-cut tells every caller that its list is kept."""
    runner = Recording()
    async with (
        listening(f"unix:{tmp_path}/s", runner, LIMITS) as address,
        Client(address, patience=60) as client,
    ):
        for data in (LONG, CHANGED):
            assert await run(client, data) == data


def test_a_short_list_has_no_name() -> None:
    """The short-cut keeps each list of three lines."""
    assert SentLists().of("", b"- a\n").metadata == ()
