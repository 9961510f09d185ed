"""The wire, held against another implementation of gRPC: Node's, with a proto of its own.

Longer than 400 lines: one other implementation, from both sides.

Node as a client of our service sees what Porch's server would see of it; Node as a server answers
as Porch's runner does (docs/design.md, "Porch: the function runner"), and our client has to
understand it.
"""

import asyncio
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from cadlib.stream import resourcelist
from fnrunner.contract.errors import (
    FunctionFailedError,
    FunctionNotFoundError,
    FunctionRefusedError,
    FunctionStoppedError,
    FunctionTimeoutError,
    FunctionUnavailableError,
    MessageTooLargeError,
    RunnerBrokenError,
    RunnerBusyError,
)
from fnrunner.contract.run import CallLimits, FunctionOutcome, Runner
from fnrunner.wire.client import Client
from fnrunner.wire.server import listening
from fnrunner.wire.tls import ClientTls
from tests.fnrunner.serving import serving
from tests.fnrunner.wire.test_client import POD
from tests.fnrunner.wire.test_service import Fixed, Sleeper, pods
from tests.fnrunner.wire.test_tls import Authority, Signed, shown

HERE = Path(__file__).parent / "node"
MODULES = Path(sys.prefix) / "node"
LIMITS = CallLimits()


class Node:
    """Node, which calls runners and is one; to load gRPC takes longer than what it does.

    Args:
        env: The environment in which Node finds gRPC.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._client = self.start("client.js")
        self._server = self.start("server.js")
        self.port = int(_read(self._server))

    def start(self, script: str, *words: Path, **more: Any) -> "subprocess.Popen[bytes]":
        """Start another process of it."""
        command = ["node", str(HERE / script), *map(str, words)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, env=self._env, **more)

    def ask(self, line: bytes) -> bytes:
        """Have the client carry out what a line says; returns what came of it."""
        assert self._client.stdin
        self._client.stdin.write(line)
        self._client.stdin.flush()
        return _read(self._client)

    def end(self) -> None:
        for process in (self._client, self._server):
            with process:  # ends when its input does
                pass


def _read(process: "subprocess.Popen[bytes]") -> bytes:
    assert process.stdout
    return process.stdout.readline()


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    """Node with gRPC, which is installed once, beside our own packages."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("Node and npm are not here")
    if sys.prefix == sys.base_prefix:
        pytest.skip("there is no virtual environment to install gRPC for Node in")
    MODULES.mkdir(exist_ok=True)
    with locked(MODULES / "lock"):
        install(hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest())
    kept = {key: value for key, value in os.environ.items() if not key.lower().endswith("proxy")}
    started = Node({**kept, "NODE_PATH": str(MODULES / "node_modules")})
    yield started
    started.end()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(wanted: str) -> None:
    stamp = MODULES / "installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, MODULES)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0"]
    # Without network npm says so within seconds.
    done = subprocess.run(command, cwd=MODULES, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"npm could not install gRPC: {done.stderr.strip()[-300:]}")
    stamp.write_text(wanted)


class Caller:
    """Calls a runner from Node."""

    def __init__(self, node: Node, address: str, *certificates: Path) -> None:
        self._node = node
        self._to = {"address": address, "certificates": [*map(str, certificates)]}

    async def __call__(self, *steps: Mapping[str, object]) -> Any:
        """Carry out steps one after the other; returns what came of each."""
        return json.loads(await asyncio.to_thread(self._node.ask, self.line(*steps)))

    def line(self, *steps: Mapping[str, object]) -> bytes:
        """What the client is told."""
        return json.dumps({**self._to, "steps": steps}).encode() + b"\n"


@asynccontextmanager
async def served(
    node: Node, runner: Runner | None = None, limits: CallLimits = LIMITS
) -> AsyncIterator[Caller]:
    """Our service, and Node to call it."""
    async with serving("127.0.0.1:0", limits, runner) as address:
        yield Caller(node, address)


def evaluate(image: str, resources: bytes = b"") -> dict[str, object]:
    return {"do": "evaluate", "image": image, "list": resources.decode()}


async def test_functions_run_for_node(node: Node) -> None:
    """Short-cut: our client against our server, where one mistake in the proto hides another."""
    async with served(node) as call:
        [done, failed, *missing] = await call(
            evaluate("set-labels:v0.2", POD),
            evaluate("kubeconform", pods()),
            *(evaluate(image) for image in ("", "nothing", "ghcr.io/a/b:v1", "set-labels:v0.1")),
        )
    listed = resourcelist.decode(done["list"].encode())
    assert (done["code"], done["message"], done["details"]) == ("OK", "", [])
    assert listed.items[0].value["metadata"]["labels"] == {"tier": "web"}  # type: ignore[index,call-overload] # a Pod
    assert (failed["code"], failed["message"]) == (
        "INTERNAL",
        'Failed to execute function "kubeconform": exit status 1 (got number, want array)',
    )
    [detail] = failed["details"]
    results = resourcelist.decode(detail["resource_list"].encode()).results
    assert detail["type"] == "evaluator.EvaluateFunctionResponse"
    assert detail["log"] == "failed to evaluate function: error: function failure"
    assert [result["field"] for result in results] == [{"path": "spec.containers"}]
    assert [(each["code"], each["message"]) for each in missing] == [
        ("NOT_FOUND", 'function "" not found'),
        ("NOT_FOUND", 'function "nothing" not found'),
        ("NOT_FOUND", 'function "ghcr.io/a/b:v1" not found'),
        ("NOT_FOUND", 'function "set-labels:v0.1" not found'),
    ]


async def test_a_failure_with_many_results_arrives_in_node(node: Node) -> None:
    """Short-cut: put the whole list into the status; Node refuses headers of that size."""
    async with served(node) as call:
        [failed] = await call(evaluate("kubeconform", pods(500)))
    assert failed["code"] == "INTERNAL"
    results = resourcelist.decode(failed["details"][0]["resource_list"].encode()).results
    assert (
        results[-1]["message"] == f"{501 - len(results)} more results do not fit into the response"
    )


REFUSALS: Sequence[tuple[Exception, str, Mapping[str, object]]] = [
    (
        FunctionRefusedError("f", "not allowed", "Ask"),
        "PERMISSION_DENIED",
        {
            "reason": "FUNCTION_REFUSED",
            "metadata": {"image": "f", "reason": "not allowed", "fix": "Ask"},
        },
    ),
    (
        FunctionUnavailableError("f", "no answer", "Wait", passing=True),
        "UNAVAILABLE",
        {
            "reason": "FUNCTION_UNAVAILABLE",
            "metadata": {"image": "f", "reason": "no answer", "fix": "Wait", "passing": "true"},
        },
    ),
    (
        FunctionUnavailableError("f", "no such tag", "Look"),
        "FAILED_PRECONDITION",
        {
            "reason": "FUNCTION_UNAVAILABLE",
            "metadata": {"image": "f", "reason": "no such tag", "fix": "Look", "passing": "false"},
        },
    ),
    (
        FunctionStoppedError("f", "memory", "512 MiB", "513 MiB"),
        "ABORTED",
        {
            "reason": "FUNCTION_STOPPED",
            "metadata": {
                "image": "f",
                "limit": "memory",
                "allowed": "512 MiB",
                "taken": "513 MiB",
            },
        },
    ),
    (
        FunctionTimeoutError("f", 2.5),
        "DEADLINE_EXCEEDED",
        {"reason": "FUNCTION_TIMEOUT", "metadata": {"image": "f", "seconds": "2.5", "taken": ""}},
    ),
]


class Refusing:
    """A runner whose functions are the numbers of refusals."""

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        raise REFUSALS[int(image)][0]


async def test_why_a_function_did_not_run_is_told_to_node(node: Node) -> None:
    async with served(node, Refusing()) as call:
        answers = await call(*(evaluate(str(number)) for number in range(len(REFUSALS))))
    assert [(each["code"], each["message"], each["details"]) for each in answers] == [
        (code, str(error), [{"type": "google.rpc.ErrorInfo", "domain": "porchbot", **info}])
        for error, code, info in REFUSALS
    ]


async def test_node_can_tell_a_busy_runner_from_a_large_message(node: Node) -> None:
    async with served(node, Fixed(RunnerBusyError("f", "full", 1.5))) as call:
        [busy] = await call(evaluate("f"))
    limits = CallLimits(message_bytes=10_000)
    async with served(node, limits=limits) as call:
        [large, larger] = await call(
            {**evaluate("f"), "size": 10_001}, {**evaluate("f"), "size": 10**5}
        )
    assert {busy["code"], large["code"], larger["code"]} == {"RESOURCE_EXHAUSTED"}
    assert [detail["type"] for detail in busy["details"]] == [
        "google.rpc.ErrorInfo",
        "google.rpc.RetryInfo",
    ]
    assert busy["details"][1]["retry_delay"] == {"seconds": 1, "nanos": 500_000_000}
    assert [detail["reason"] for detail in large["details"]] == ["MESSAGE_TOO_LARGE"]
    assert larger["details"] == []  # gRPC refuses before anybody reads it


async def test_porchs_largest_message_passes(node: Node) -> None:
    class Echo:
        async def run(
            self, image: str, resources: bytes, *, seconds: float | None = None
        ) -> FunctionOutcome:
            return FunctionOutcome(resources, digest="sha256:1")

    async with served(node, Echo()) as call:
        [answer] = await call({**evaluate("f"), "size": 6 * 1024 * 1024})
    assert (answer["code"], len(answer["list"])) == ("OK", 6 * 1024 * 1024)
    assert answer["digest"] == "sha256:1"


@pytest.mark.parametrize(
    ("how", "code"), [("seconds", "DEADLINE_EXCEEDED"), ("cancel", "CANCELLED")]
)
async def test_node_waits_no_longer_than_it_says(node: Node, how: str, code: str) -> None:
    """Short-cut: leave the deadline to the caller, and let the function run on."""
    sleeper = Sleeper()
    async with served(node, sleeper) as call:
        for seconds in (2, 8, 32):  # on a busy machine it may be over before it begins
            # The first step connects, so that the time is the function's alone.
            steps = {"do": "check", "service": ""}, {**evaluate("f"), how: seconds}
            _, answer = await call(*steps)
            if sleeper.began.is_set():
                break
        await asyncio.wait_for(sleeper.stopped.wait(), 60)
    assert answer["code"] == code


async def test_node_checks_health_and_lists_services(node: Node) -> None:
    async with served(node) as call:
        *health, listed = await call(
            {"do": "check", "service": ""},
            {"do": "check", "service": "anything"},
            {"do": "reflect"},
        )
    assert health == [{"status": "SERVING"}, {"status": "SERVING"}]
    assert "evaluator.FunctionEvaluator" in listed["services"]
    assert listed["files"] > 0


async def test_node_watches_the_runner_end(node: Node) -> None:
    with node.start("client.js", stderr=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stderr
        async with served(node) as call:
            process.stdin.write(call.line({"do": "watch", "service": ""}))
            process.stdin.close()
            told = asyncio.to_thread(process.stderr.readline)
            assert await asyncio.wait_for(told, 60) == b"SERVING\n"
        out = await asyncio.wait_for(asyncio.to_thread(_read, process), 60)
    assert json.loads(out) == [{"seen": ["SERVING", "NOT_SERVING"], "code": "OK"}]


@asynccontextmanager
async def porch(
    port: int, *, patience: float = 0, tls: ClientTls | None = None
) -> AsyncIterator[Client]:
    """Our client, and Node as a server that answers as Porch's runner."""
    limits = CallLimits(seconds=30, message_bytes=LIMITS.message_bytes)
    async with Client(f"127.0.0.1:{port}", limits, patience=patience, tls=tls) as client:
        yield client


async def test_what_porch_answers_is_understood(node: Node) -> None:
    async with porch(node.port) as client:
        assert await client.is_ready(30)
        done = await client.run("echo", b"kind: ResourceList")
        complained = await client.run("complains", b"")
        large = await client.run("large", b"#" * (LIMITS.message_bytes - 100))
    assert done == FunctionOutcome(b"kind: ResourceList", log="said\n")
    # As in Porch's, a function that ends with status 0 did not fail; its results are in the list.
    assert not complained.failed
    assert resourcelist.decode(complained.resources).results == (
        {"message": "the label is missing", "severity": "error"},
    )
    assert len(large.resources) == LIMITS.message_bytes - 100


WORDS = 'failed to evaluate function "{}" with structured results: [error]: the label is missing'
FAILURES = {
    "fails": 'Failed to execute function "fails": exit status 1 (bad label)',
    "fails-in-a-pod": f"{WORDS.format('fails-in-a-pod')} and stderr: bad",
    "fails-behind": "unable to evaluate fails-behind with pod evaluator: rpc error:"
    f" code = Internal desc = {WORDS.format('fails-behind')} and stderr: bad",
    "garbles": "failed to parse the output of function \"garbles\" with stderr 'oops':"
    " expected exactly one object, got 0",
}


async def test_failures_in_words_only_are_understood(node: Node) -> None:
    """Short-cut: know our own details, and take what has none for a broken runner."""
    said = {}
    async with porch(node.port) as client:
        for image in FAILURES:
            with pytest.raises(FunctionFailedError) as caught:
                await client.run(image, b"")
            said[image] = caught.value.log
    assert said == FAILURES


async def test_other_answers_in_words_only_are_understood(node: Node) -> None:
    async with porch(node.port) as client:
        for image in ("", "unknown:v1"):
            with pytest.raises(FunctionNotFoundError):
                await client.run(image, b"")
        with pytest.raises(FunctionUnavailableError, match="client to the pod for has-no-pod"):
            await client.run("has-no-pod", b"")
        with pytest.raises(RunnerBrokenError, match="index out of range"):
            await client.run("panics", b"")
        with pytest.raises(RunnerBusyError, match="connection refused"):
            await client.run("is-down", b"")
        with pytest.raises(MessageTooLargeError):
            await client.run("echo", b"#" * LIMITS.message_bytes)
        with pytest.raises(FunctionTimeoutError, match=r"within 0\.2 seconds"):
            await client.run("sleeps", b"", seconds=0.2)


async def test_a_pod_that_comes_back_is_waited_for(node: Node) -> None:
    async with porch(node.port, patience=30) as client:
        assert (await client.run("comes-back", b"x")).resources == b"x"


async def test_node_and_the_runner_show_each_other_certificates(node: Node, tmp_path: Path) -> None:
    """Short-cut: hold TLS against our own client alone, whose library is the server's."""
    ours, other = Authority(tmp_path, "ours"), Authority(tmp_path, "other")
    tls = shown(ours.sign("runner"), client_ca=ours.path)
    codes = []
    async with listening(
        "127.0.0.1:0", Fixed(FunctionOutcome(b"done")), LIMITS, tls=tls
    ) as address:
        for signed in (ours.sign("caller"), other.sign("stranger")):
            call = Caller(node, address, ours.path, signed.certificate, signed.key)
            [answer] = await call({**evaluate("f"), "seconds": 20})
            codes.append((answer["code"], answer.get("list")))
    assert codes == [("OK", "done"), ("UNAVAILABLE", None)]


async def test_our_client_and_node_show_each_other_certificates(node: Node, tmp_path: Path) -> None:
    ours, other = Authority(tmp_path, "ours"), Authority(tmp_path, "other")
    theirs, known, unknown = ours.sign("porch"), ours.sign("caller"), other.sign("stranger")

    async def logs(signed: Signed) -> str:
        tls = ClientTls(ca=ours.path, certificate=signed.certificate, key=signed.key)
        async with porch(int(port), tls=tls) as client:
            return (await client.run("echo", b"kind: ResourceList")).log

    files = (ours.path, theirs.certificate, theirs.key)
    with node.start("server.js", *files) as server:
        port = await asyncio.to_thread(_read, server)
        assert await logs(known) == "said\n"
        with pytest.raises(RunnerBusyError):
            await logs(unknown)
