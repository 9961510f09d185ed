"""Function images in a real registry, run in a real sandbox: what works, and what is stopped.

Longer than 400 lines: one registry with images, and what is done with them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from cadlib.stream import resourcelist
from fnrunner.answers import MemoryAnswers
from fnrunner.cached import Cached
from fnrunner.contract.errors import (
    FunctionFailedError,
    FunctionNotFoundError,
    FunctionRefusedError,
    FunctionStoppedError,
    FunctionTimeoutError,
    FunctionUnavailableError,
    SandboxError,
)
from fnrunner.contract.policy import RunnerPolicy
from fnrunner.contract.run import MIB, Granted, ResourceLimits
from fnrunner.fence.sandbox import Sandbox
from fnrunner.images.names import RegistryAccess
from fnrunner.images.registry import Registries
from fnrunner.images.runner import Images, ImageSettings, images, usual_folder
from fnrunner.images.store import ImageStore
from fnrunner.images.unpack import UnpackLimits
from tests.fnrunner.images.test_registry import Liar, lying, say
from tests.fnrunner.registry import (
    ARCHITECTURE,
    DOCKER_INDEX,
    MISSING,
    Image,
    Registry,
    busybox,
    digest,
    entry,
    files,
    index,
    layer,
    program,
    registry,
    shell,
)
from tests.fnrunner.sandboxes import open_folder

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"these programs are not here: {MISSING}")

LIST = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
RESULTS = """apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: made
results:
- message: looked at it
  severity: info
"""
BOUNDS = ResourceLimits(seconds=60.0, memory_bytes=64 * MIB, processes=16, temporary_bytes=4 * MIB)
OTHER = "arm64" if ARCHITECTURE == "amd64" else "amd64"


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    try:
        return Sandbox.here()
    except SandboxError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def hub() -> Iterator[Registry]:
    with registry() as running:
        yield running


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with open_folder() as path:
        yield path


def granting(**granted: object) -> RunnerPolicy:
    return RunnerPolicy(usual=replace(Granted(bounds=BOUNDS), **granted))  # type: ignore[arg-type] # by name


class Made:
    """Makes runners, and closes them."""

    def __init__(self, folder: Path, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.settings = ImageSettings(folder=folder, access=RegistryAccess(private=True))
        self.all: list[Images] = []

    def __call__(self, policy: RunnerPolicy | None = None, **settings: object) -> Images:
        chosen = replace(self.settings, **settings)  # type: ignore[arg-type] # by name
        assert chosen.folder is not None
        made = Images(
            ImageStore(chosen.folder, chosen.size_bytes),
            Registries(chosen.access),
            self._sandbox,
            policy or granting(),
            chosen,
        )
        self.all.append(made)
        return made


@pytest.fixture
async def made(
    folder: Path, sandbox: Sandbox, request: pytest.FixtureRequest
) -> AsyncIterator[Made]:
    """Runners with a folder of images of their own."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name)[:100]
    making = Made(folder / name, sandbox)
    yield making
    for each in making.all:
        each.close()


async def answered(runner: Images, image: str) -> str:
    """What a function that prints words inside a ResourceList's result says."""
    outcome = await runner.run(image, LIST)
    assert not outcome.failed, outcome.log
    return outcome.log


# -- functions that work --------------------------------------------------------------------------


async def test_results_words_and_digest_come_back(hub: Registry, made: Made) -> None:
    """Short-cut: any manifest will do for the digest, and standard error is thrown away."""
    image = shell("cat >/dev/null; echo seen >&2; cat /answer")
    pushed = hub.push("t/f:v1", Image([*image.layers, files({"answer": RESULTS})], image.config))

    outcome = await made().run(f"{hub.host}/t/f:v1", LIST)

    assert (outcome.digest, outcome.log, outcome.failed) == (pushed, "seen\n", False)
    answer = resourcelist.decode(outcome.resources)
    assert [item.value["metadata"] for item in answer.items] == [{"name": "made"}]  # type: ignore[call-overload, index]
    assert list(answer.results) == [{"message": "looked at it", "severity": "info"}]


async def test_what_it_is_sent_it_reads(hub: Registry, made: Made) -> None:
    hub.push("t/cat:v1", shell("exec cat"))
    sent = RESULTS.replace("made", "x" * 1_000_000).encode()

    assert (await made().run(f"{hub.host}/t/cat:v1", sent)).resources == sent


async def test_an_image_without_a_shell(hub: Registry, made: Made) -> None:
    found = program("busybox")
    assert found is not None
    only = Image([layer((entry("cat"), Path(found).read_bytes()))], {"Entrypoint": ["/cat"]})
    hub.push("t/bare:v1", only)

    assert (await made().run(f"{hub.host}/t/bare:v1", LIST)).resources == LIST


async def test_a_function_that_refuses(hub: Registry, made: Made) -> None:
    image = shell("cat /answer; echo 'no good' >&2; exit 3")
    bad = RESULTS.replace("info", "error")
    pushed = hub.push("t/no:v1", Image([*image.layers, files({"answer": bad})], image.config))

    outcome = await made().run(f"{hub.host}/t/no:v1", LIST)

    assert (outcome.failed, outcome.exit_code, outcome.log) == (True, 3, "no good\n")
    assert outcome.results == ({"message": "looked at it", "severity": "error"},)
    assert outcome.digest == pushed


async def test_a_function_that_answers_with_words(hub: Registry, made: Made) -> None:
    hub.push("t/words:v1", shell("echo hello; echo why >&2"))

    with pytest.raises(FunctionFailedError, match=r"its output is not a ResourceList .* why"):
        await made().run(f"{hub.host}/t/words:v1", LIST)


STARTS: dict[str, tuple[dict[str, object], str]] = {
    "entrypoint and arguments": (
        {"Entrypoint": ["/bin/sh", "/say.sh"], "Cmd": ["a", "b c"]},
        "a,b c,\n/\n",
    ),
    "arguments alone": ({"Entrypoint": None, "Cmd": ["/bin/sh", "/say.sh", "x"]}, "x,\n/\n"),
    "an entrypoint alone": ({"Entrypoint": ["/bin/sh", "/say.sh"]}, "\n/\n"),
    "found on its path": (
        {"Entrypoint": ["say"], "Env": ["PATH=/opt:/bin"]},
        "\n/\n",
    ),
    "a working directory": (
        {"Entrypoint": ["/bin/sh", "../say.sh"], "WorkingDir": "/work"},
        "\n/work\n",
    ),
    "a working directory that the image lacks": (
        {"Entrypoint": ["/bin/sh", "/say.sh"], "WorkingDir": "/not/there"},
        "\n/not/there\n",
    ),
    "variables": (
        {"Entrypoint": ["/bin/sh", "/say.sh"], "Env": ["WHO=me=you", "EMPTY=", "bad"]},
        "\n/\nWHO=me=you\nEMPTY=\n",
    ),
}


@pytest.mark.parametrize(("config", "expected"), STARTS.values(), ids=STARTS)
async def test_how_it_is_started(
    hub: Registry, made: Made, config: dict[str, object], expected: str
) -> None:
    """Short-cut: run its entrypoint."""
    script = (
        '#!/bin/sh\n(printf "%s," "$@"; [ $# = 0 ] || echo; [ $# != 0 ] || echo; pwd;'
        " env | grep -E '^(WHO|EMPTY|bad)' | sort -r) >&2; cat\n"
    ).replace('printf "%s," "$@"', '[ $# = 0 ] || printf "%s," "$@"')
    image = Image(
        [
            busybox(*(f"bin/{name}" for name in ("sh", "cat", "env", "grep", "sort"))),
            files({"say.sh": script, "opt/say": script, "work/x": ""}),
        ],
        config,
    )
    hub.push("t/start:v1", image)

    assert await answered(made(), f"{hub.host}/t/start:v1") == expected


async def test_variables_that_are_granted_go_before_those_of_the_image(
    hub: Registry, made: Made
) -> None:
    hub.push("t/env:v1", shell("env | sed -n '/^[ABC]=/p' >&2; cat", Env=["A=image", "B=image"]))
    policy = granting(environment={"B": "granted", "C": "granted"})

    said = await answered(made(policy), f"{hub.host}/t/env:v1")

    assert sorted(said.split()) == ["A=image", "B=granted", "C=granted"]


async def test_layers_hide_what_is_below(hub: Registry, made: Made) -> None:
    base = shell("ls /d >&2; ls /e >&2; cat")
    layers = [
        *base.layers,
        files({"d/a": "1", "d/b": "1", "e/a": "1"}),
        files({"d/.wh.a": "", "e/.wh..wh..opq": "", "e/b": "2"}),
    ]
    hub.push("t/layers:v1", Image(layers, base.config))

    assert await answered(made(), f"{hub.host}/t/layers:v1") == "b\nb\n"


KINDS = {
    "docker's manifest": (replace(shell("cat"), docker=True), None),
    "an index": (shell("cat"), False),
    "docker's list": (replace(shell("cat"), docker=True), True),
    "uncompressed layers": (
        replace(shell("cat"), compress=bytes, kind="application/vnd.oci.image.layer.v1.tar"),
        None,
    ),
}


@pytest.mark.parametrize(("image", "listed"), KINDS.values(), ids=KINDS)
async def test_every_kind_of_manifest(
    hub: Registry, made: Made, image: Image, listed: bool | None
) -> None:
    pushed = hub.push("t/kind:v1", image)
    if listed is not None:
        other = replace(image, architecture=OTHER)
        hub.push("t/kind:other", other)
        both = index(other, image, docker=listed)
        pushed = hub.push("t/kind:v1", both, *([DOCKER_INDEX] if listed else []))

    outcome = await made().run(f"{hub.host}/t/kind:v1", LIST)

    assert (outcome.resources, outcome.digest) == (LIST, pushed)


# -- functions that are stopped -------------------------------------------------------------------

EATER = "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done"
STOPPED: dict[str, tuple[str, str, str]] = {
    "forks for ever": ("f() { f & f; }; f", "processes", r"16 allowed"),
    "writes for ever": ("while :; do cat /bin/busybox; done", "output", r"1 MiB allowed"),
    "eats memory": (EATER, "memory", r"64 MiB allowed"),
    "fills its /tmp": (
        "while :; do cat /bin/busybox; done >/tmp/x; sleep 600",
        "temporary files",
        r"4 MiB allowed",
    ),
}


@pytest.mark.parametrize(("script", "limit", "allowed"), STOPPED.values(), ids=STOPPED)
async def test_who_takes_too_much_is_stopped(
    hub: Registry, made: Made, script: str, limit: str, allowed: str
) -> None:
    """Short-cut: a limit on time is enough."""
    hub.push("t/abuse:v1", shell(script))
    runner = made(granting(bounds=replace(BOUNDS, output_bytes=MIB)))

    with pytest.raises(FunctionStoppedError) as caught:
        await runner.run(f"{hub.host}/t/abuse:v1", LIST)

    print(f"\n{caught.value}")
    assert caught.value.limit == limit, str(caught.value)
    assert re.search(allowed, str(caught.value)), str(caught.value)


async def test_who_sleeps_is_stopped(hub: Registry, made: Made) -> None:
    hub.push("t/sleep:v1", shell("sleep 600"))
    runner = made(granting(bounds=replace(BOUNDS, seconds=0.5)))

    with pytest.raises(FunctionTimeoutError, match=r"within 0\.5 seconds"):
        await runner.run(f"{hub.host}/t/sleep:v1", LIST)


async def test_a_caller_who_waits_less_stops_it_sooner(hub: Registry, made: Made) -> None:
    hub.push("t/sleep:v2", shell("sleep 600"))
    runner = made()
    await runner.identity(f"{hub.host}/t/sleep:v2")

    with pytest.raises((FunctionTimeoutError, FunctionUnavailableError)):
        await runner.run(f"{hub.host}/t/sleep:v2", LIST, seconds=2.0)


async def test_nobody_is_reached_unless_it_is_granted(hub: Registry, made: Made) -> None:
    """Short-cut: no route to elsewhere, but loopback as it is."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        hub.push("t/net:v1", shell(f"echo hi | nc -w 2 127.0.0.1 {port} >&2; echo $? >&2; cat"))
        name = f"{hub.host}/t/net:v1"

        assert "0\n" not in await answered(made(), name)
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()
        server.settimeout(60)

        reached = asyncio.create_task(asyncio.to_thread(_hang_up, server))
        await answered(made(granting(network=True)), name)
        await reached


def _hang_up(server: socket.socket) -> None:
    server.accept()[0].close()


async def test_nothing_of_this_machine_is_seen(
    hub: Registry, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut: clear the variables, and leave /proc and the files of the machine."""
    monkeypatch.setenv("PORCHBOT_TEST_SECRET", "open sesame")
    hub.push(
        "t/look:v1",
        shell(
            "cat /etc/shadow >&2; env >&2; cat /proc/*/environ >&2;"
            f" cat /proc/{os.getpid()}/environ >&2; cat /proc/*/cmdline >&2; echo >&2; ls / >&2;"
            " echo x 2>/dev/null >/new; [ -e /new ] && echo written >&2; id >&2; cat"
        ),
    )

    said = await answered(made(), f"{hub.host}/t/look:v1")

    assert "open sesame" not in said
    assert "root:" not in said
    assert "pytest" not in said
    assert "written" not in said
    assert "uid=0" not in said
    listed = set(re.findall(r"^[a-z.]+$", said, re.MULTILINE))
    assert listed == {"bin", "dev", "function.sh", "proc", "tmp"}


TRICKS: dict[str, tuple[list[bytes], str]] = {
    "a name that climbs": (
        [layer((entry("../../climbed"), b"x"))],
        "a layer has the name '../../climbed', which lies outside of the image. Rebuild it.",
    ),
    "a hard link to a secret": (
        [layer((entry("shadow", b"1", linkname="../../../../etc/shadow"), b""))],
        "a layer has the name '../../../../etc/shadow', which lies outside of the image."
        " Rebuild it.",
    ),
    "a bomb": (
        [files({"zeros": bytes(9_000_000)})],
        "it takes more than the 8 MiB that are allowed, unpacked. Make it smaller, or ask an"
        " operator to raise the limit.",
    ),
}


@pytest.mark.parametrize(("layers", "text"), TRICKS.values(), ids=TRICKS)
async def test_layers_with_tricks_are_refused(
    hub: Registry, made: Made, folder: Path, layers: list[bytes], text: str
) -> None:
    base = shell("cat")
    hub.push("t/trick:v1", Image([*base.layers, *layers], base.config))
    name = f"{hub.host}/t/trick:v1"

    with pytest.raises(FunctionRefusedError) as caught:
        await made(room=UnpackLimits(8 * MIB, 1000)).run(name, LIST)

    assert str(caught.value) == f'function "{name}": {text}'
    assert not list(folder.rglob("climbed"))
    assert not list(folder.rglob("aside/*"))


async def test_a_link_to_a_secret_leads_nowhere(hub: Registry, made: Made) -> None:
    base = shell("cat /passwd /up/etc/passwd >&2; cat")
    links = layer(
        (entry("passwd", b"2", linkname="/etc/passwd"), b""),
        (entry("up", b"2", linkname="../../../../../../../.."), b""),
    )
    hub.push("t/link:v1", Image([*base.layers, links], base.config))

    said = await answered(made(), f"{hub.host}/t/link:v1")

    assert said.count("No such file or directory") == 2
    assert "root:" not in said


# -- layers on their way --------------------------------------------------------------------------


@contextmanager
def serving(image: Image, send: Callable[[int, Callable[[], None]], None]) -> Iterator[str]:
    """A registry with one image, whose layers a test sends: their number, and what sends them."""
    manifest, (config, *layers) = image.manifest(), [data for _, data in image.blobs()]
    numbers = {digest(data): number for number, data in enumerate(layers)}

    def answer(_: Liar, handler: BaseHTTPRequestHandler) -> None:
        number = numbers.get(handler.path.rpartition("/")[2])
        if "/manifests/" in handler.path:
            say(handler, 200, manifest, Docker_Content_Digest=digest(manifest))
        elif number is None:
            say(handler, 200, config)
        else:
            send(number, lambda: say(handler, 200, layers[number]))

    with lying(answer) as liar:
        yield f"{liar.host}/t/f:v1"


async def test_layers_come_side_by_side_and_are_laid_in_order(made: Made) -> None:
    """Short-cut: bring one after the other, or lay each as it comes."""
    lower, upper = files({"list": "lower"}), files({"list": LIST})
    image = Image([busybox("bin/cat"), lower, upper], {"Entrypoint": ["/bin/cat", "/list"]})
    asked, sent = threading.Barrier(3), [threading.Event() for _ in range(4)]
    sent[3].set()

    def send(number: int, now: Callable[[], None]) -> None:
        asked.wait(60)
        sent[number + 1].wait(60)  # the last one first
        now()
        sent[number].set()

    with serving(image, send) as name:
        assert (await made().run(name, b"")).resources == LIST


async def test_a_bad_layer_is_told_before_the_others_are_here(made: Made) -> None:
    """Short-cut: wait for whatever was asked for."""
    climbing = layer((entry("../climbed"), b""))
    image = Image([climbing, files({"large": "x" * 99}), busybox("bin/cat")])
    told = threading.Event()

    def send(number: int, now: Callable[[], None]) -> None:
        if number:
            told.wait(60)
        now()

    with serving(image, send) as name:
        try:
            with pytest.raises(FunctionRefusedError, match=r"\.\./climbed"):
                await asyncio.wait_for(made().run(name, LIST), 60)
        finally:
            told.set()


# -- images that are not run ----------------------------------------------------------------------


async def test_an_image_for_another_machine(hub: Registry, made: Made) -> None:
    hub.push("t/other:v1", replace(shell("cat"), architecture=OTHER))
    hub.push("t/others:arch", replace(shell("cat"), architecture=OTHER))
    hub.push("t/others:v1", index(replace(shell("cat"), architecture=OTHER)))
    runner = made()

    for name in ("other", "others"):
        with pytest.raises(FunctionRefusedError) as caught:
            await runner.run(f"{hub.host}/t/{name}:v1", LIST)
        assert str(caught.value) == (
            f'function "{hub.host}/t/{name}:v1": it is built for linux/{OTHER}, and this machine'
            f" is linux/{ARCHITECTURE}. Build it for linux/{ARCHITECTURE} as well."
        )


async def test_an_image_without_a_program(hub: Registry, made: Made) -> None:
    hub.push("t/none:v1", replace(shell("cat"), config={}))

    with pytest.raises(FunctionRefusedError, match="its image has no entrypoint and no command"):
        await made().run(f"{hub.host}/t/none:v1", LIST)


async def test_a_program_that_is_not_in_it(hub: Registry, made: Made) -> None:
    hub.push("t/gone:v1", replace(shell("cat"), config={"Entrypoint": ["/not/there"]}))

    outcome = await _either(made(), f"{hub.host}/t/gone:v1")
    assert "/not/there" in outcome


async def _either(runner: Images, name: str) -> str:
    try:
        outcome = await runner.run(name, LIST)
    except FunctionFailedError as error:
        return str(error)
    assert outcome.failed
    return outcome.log


MISSED = ["t/never:v1", "t/f:never", f"t/f@sha256:{'0' * 64}"]


@pytest.mark.parametrize("name", MISSED)
async def test_what_the_registry_does_not_have(hub: Registry, made: Made, name: str) -> None:
    hub.push("t/f:v1", shell("cat"))

    with pytest.raises(FunctionNotFoundError):
        await made().run(f"{hub.host}/{name}", LIST)


@pytest.mark.parametrize("name", ["", "UPPER/Case:v1", "a b", "host/f:", "../f"])
async def test_what_is_no_name(made: Made, name: str) -> None:
    with pytest.raises(FunctionNotFoundError):
        await made().run(name, LIST)


async def test_the_policy_is_asked_before_the_registry(hub: Registry, made: Made) -> None:
    """Short-cut: check once the image is here."""
    pushed = hub.push("t/denied:v1", shell("cat"))
    before = hub.asked()
    runner = made(RunnerPolicy(allow=["registry.corp/*"]))
    names = [f"{hub.host}/t/denied:v1", f"{hub.host}/t/denied@{pushed}"]

    for name in names:
        with pytest.raises(FunctionRefusedError, match="it is not among the functions allowed"):
            await runner.run(name, LIST)
        with pytest.raises(FunctionRefusedError, match="it is not among the functions allowed"):
            await runner.identity(name)

    assert hub.asked() == before


async def test_an_allowed_digest_runs_by_its_tag_and_no_other(hub: Registry, made: Made) -> None:
    good = hub.push("t/pinned:v1", shell("cat"))
    hub.push("t/pinned:v2", shell("cat; exit 0"))
    runner = made(RunnerPolicy(allow=[good, f"{hub.host}/other/*"]))

    assert (await runner.run(f"{hub.host}/t/pinned:v1", LIST)).digest == good
    with pytest.raises(FunctionRefusedError, match="it is not among the functions allowed"):
        await runner.run(f"{hub.host}/t/pinned:v2", LIST)
    assert not any("GET" in each and "blobs" in each for each in _since(hub, "pinned/manifests/v2"))


def _since(hub: Registry, text: str) -> list[str]:
    asked = hub.asked()
    first = next(number for number, each in enumerate(asked) if text in each)
    return asked[first:]


async def test_without_a_sandbox_images_are_refused(hub: Registry, folder: Path) -> None:
    """Short-cut: run it without one."""
    settings = ImageSettings(folder=folder / "unfenced", access=RegistryAccess(private=True))
    why = SandboxError("the program bwrap is not installed", "Install bubblewrap")
    assert settings.folder is not None
    runner = Images(
        ImageStore(settings.folder), Registries(settings.access), why, RunnerPolicy(), settings
    )
    try:
        with pytest.raises(FunctionRefusedError) as caught:
            await runner.run("f:v1", LIST)
    finally:
        runner.close()

    assert str(caught.value) == (
        'function "f:v1": images run in a sandbox only, and the program bwrap is not installed.'
        " Install bubblewrap."
    )


# -- names and what they mean ---------------------------------------------------------------------


async def test_a_tag_that_moved_is_noticed_after_a_while(hub: Registry, made: Made) -> None:
    """Short-cut: ask once per name for ever, as Porch does."""
    name = f"{hub.host}/t/moving:v1"
    first = hub.push("t/moving:v1", shell("cat"))
    lasting, brief = made(), made(resolve_seconds=0.05)
    assert [await each.identity(name) for each in (lasting, brief)] == [first, first]
    second = hub.push("t/moving:v1", shell("echo moved >&2; cat"))
    await asyncio.sleep(0.1)

    assert await lasting.identity(name) == first
    outcome = await brief.run(name, LIST)
    assert (outcome.digest, outcome.log) == (second, "moved\n")


async def test_a_digest_is_asked_for_once_and_then_never(hub: Registry, made: Made) -> None:
    pushed = hub.push("t/fixed:v1", shell("cat"))
    name = f"{hub.host}/t/fixed@{pushed}"
    assert (await made().run(name, LIST)).digest == pushed
    before = hub.asked()

    assert (await made().run(name, LIST)).digest == pushed
    assert hub.asked() == before


async def test_the_next_process_asks_nothing(hub: Registry, made: Made) -> None:
    hub.push("t/again:v1", shell("cat"))
    await made().run(f"{hub.host}/t/again:v1", LIST)
    before = hub.asked()

    await made().run(f"{hub.host}/t/again:v1", LIST)
    assert hub.asked() == before


async def test_many_calls_at_once_bring_it_once(hub: Registry, made: Made) -> None:
    """Short-cut: each call looks for itself."""
    hub.push("t/rush:v1", shell("cat"))
    name = f"{hub.host}/t/rush:v1"
    runners = [made(), made()]  # as two processes are: nothing is shared but the folder

    await asyncio.gather(*(runners[number % 2].run(name, LIST) for number in range(6)))

    blobs = [each for each in hub.asked() if "/t/rush/blobs/" in each]
    assert len(blobs) == len(set(blobs)) == 3


async def test_two_processes_bring_it_once(hub: Registry, made: Made) -> None:
    hub.push("t/two:v1", shell("cat"))
    script = (
        "import asyncio, gc, sys; from pathlib import Path; gc.disable();"
        "from fnrunner.images.runner import *;"
        "from fnrunner.contract.policy import RunnerPolicy;"
        "from fnrunner.images.names import RegistryAccess;"
        "runner = images(ImageSettings(folder=Path(sys.argv[1]), "
        " access=RegistryAccess(private=True)),"
        " RunnerPolicy());"
        "print(asyncio.run(runner.run(sys.argv[2], sys.argv[3].encode())).digest);"
        "runner.close()"
    )
    name = f"{hub.host}/t/two:v1"
    words = [sys.executable, "-c", script, str(made.settings.folder), name, LIST.decode()]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [each.communicate(timeout=120)[0] for each in both]

    assert said[0] == said[1] != ""
    blobs = [each for each in hub.asked() if "/t/two/blobs/" in each]
    assert len(blobs) == len(set(blobs)) == 3


async def test_a_registry_that_is_away(made: Made, caplog: pytest.LogCaptureFixture) -> None:
    """Short-cut: what cannot be asked cannot be run."""
    with registry() as hub:
        name = f"{hub.host}/t/f:v1"
        pushed = hub.push("t/f:v1", shell("cat"))
        await made().run(name, LIST)
    brief = made(resolve_seconds=0.001)

    with caplog.at_level(logging.WARNING):
        assert (await brief.run(name, LIST)).digest == pushed
    assert f"{name} still means {pushed}" in caplog.text

    with pytest.raises(FunctionUnavailableError) as caught:
        await brief.run(f"{hub.host}/t/g:v1", LIST)
    assert str(caught.value) == (
        f'function "{hub.host}/t/g:v1": its image cannot be pulled: localhost did not respond as'
        " expected: Connection refused. Try again later, or contact its operator."
    )
    assert caught.value.passing


async def test_no_registry_is_asked_where_that_is_not_wanted(hub: Registry, made: Made) -> None:
    """Short-cut: what a tag means lasts some minutes only, so that nothing runs afterwards."""
    hub.push("t/away:v1", shell("cat"))
    name = f"{hub.host}/t/away:v1"
    await made().run(name, LIST)
    before = hub.asked()
    away = made(offline=True, resolve_seconds=0.0001)

    assert (await away.run(name, LIST)).resources == LIST
    with pytest.raises(FunctionUnavailableError) as caught:
        await away.run(f"{hub.host}/t/away:v2", LIST)
    assert str(caught.value) == (
        f'function "{hub.host}/t/away:v2": its image is not in the local store, and pulling is'
        " turned off. Pull it once with pulling turned on."
    )
    assert hub.asked() == before


async def test_tags_are_listed(hub: Registry, made: Made) -> None:
    """Short-cut: the first page."""
    for tag in ("v1", "v2", "latest"):
        hub.push(f"t/tags:{tag}", shell("cat"))
    runner = made()

    assert set(await runner.tags(f"{hub.host}/t/tags")) == {"v1", "v2", "latest"}
    with pytest.raises(FunctionNotFoundError):
        await runner.tags(f"{hub.host}/t/no-tags")


async def test_the_same_digest_elsewhere_has_to_be_there(hub: Registry, made: Made) -> None:
    """Short-cut: whoever has the digest in the folder may run it by any name."""
    pushed = hub.push("t/here:v1", shell("cat"))
    runner = made()
    await runner.run(f"{hub.host}/t/here@{pushed}", LIST)

    with pytest.raises(FunctionNotFoundError):
        await runner.run(f"{hub.host}/t/elsewhere@{pushed}", LIST)


async def test_images_are_kept_within_their_size(hub: Registry, made: Made) -> None:
    runner = made(size_bytes=3 * MIB)
    for number in range(3):
        hub.push(f"t/size:v{number}", shell(f"cat # {number}"))
        await runner.run(f"{hub.host}/t/size:v{number}", LIST)

    assert made.settings.folder is not None
    kept = os.listdir(made.settings.folder / "sha256")
    assert kept == [digest(shell("cat # 2").manifest()).removeprefix("sha256:")]


async def test_whoever_gave_up_finds_it_the_next_time(made: Made) -> None:
    """Short-cut: stop bringing it with the caller."""
    let_go = threading.Event()

    def send(_: int, now: Callable[[], None]) -> None:
        let_go.wait(60)
        with suppress(OSError):  # of a call that was given up
            now()

    with serving(shell("cat"), send) as name:
        runner = made()
        await runner.identity(name)
        try:
            call = asyncio.create_task(runner.run(name, LIST))
            await asyncio.sleep(0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            with pytest.raises(
                FunctionUnavailableError, match=r"still being pulled\. Try again"
            ) as caught:
                await runner.run(name, LIST, seconds=0.1)
            assert caught.value.passing
        finally:
            let_go.set()

        assert (await runner.run(name, LIST)).resources == LIST


async def test_closing_ends_what_is_being_brought(made: Made) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        runner = made()
        name = f"localhost:{silent.getsockname()[1]}/t/f:v1"
        call = asyncio.create_task(runner.run(name, LIST))
        reached, _ = await asyncio.to_thread(silent.accept)
        with reached:  # and never an answer
            await asyncio.to_thread(runner.close)
        with pytest.raises(FunctionUnavailableError):
            await call


def test_where_images_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert usual_folder() == Path("/somewhere/porchbot/images")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    ours = Path("/var/cache" if os.geteuid() == 0 else "/home/me/.cache")
    assert usual_folder() == ours / "porchbot" / "images"


async def test_the_constructor_takes_settings_alone(hub: Registry, folder: Path) -> None:
    hub.push("t/easy:v1", shell("cat"))
    runner = images(
        ImageSettings(folder=folder / "easy", access=RegistryAccess(private=True)), RunnerPolicy()
    )
    try:
        assert (await runner.run(f"{hub.host}/t/easy:v1", LIST)).resources == LIST
    finally:
        runner.close()


async def test_kept_answers_are_of_a_repository_that_has_the_image(
    hub: Registry, made: Made
) -> None:
    """Short-cut: keep answers by digest alone; whoever names it elsewhere gets them."""
    pushed = hub.push("t/private:v1", shell("cat"))
    runner = made()
    answers = Cached(runner, RunnerPolicy().granted, MemoryAnswers(), ready=_ready(runner))
    kept = await answers.run(f"{hub.host}/t/private@{pushed}", LIST)
    assert await answers.run(f"{hub.host}/t/private:v1", LIST) is kept

    with pytest.raises(FunctionNotFoundError):
        await answers.run(f"{hub.host}/t/public@{pushed}", LIST)
    hub.push("t/public:v1", shell("cat"))  # the same image: it has it from now on
    assert await answers.run(f"{hub.host}/t/public@{pushed}", LIST) is kept


def _ready(runner: Images) -> Callable[[str, float | None], Awaitable[None]]:
    return lambda image, seconds: runner.ready(image, seconds=seconds)


class Trickle:
    """A registry whose layer comes a little at a time, for ever."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self.begun = 0  # layers that come
        self.broken = threading.Event()  # its client has gone
        self.enough = threading.Event()  # the test ends

    def __call__(self, liar: Liar, handler: BaseHTTPRequestHandler) -> None:
        data = self._image.manifest()
        blobs = {digest(each): each for _, each in self._image.blobs()}
        if "/manifests/" in handler.path:
            say(handler, 200, data, Docker_Content_Digest=digest(data))
            return
        blob = blobs[handler.path.rpartition("/")[2]]
        if len(blob) < 2000:
            say(handler, 200, blob)
            return
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(blob)))
        handler.end_headers()
        self.begun += 1
        try:
            while not self.enough.wait(0.01):
                handler.wfile.write(b"x")
        except OSError:
            self.broken.set()


@contextmanager
def ended(trickle: Trickle) -> Iterator[None]:
    try:
        yield
    finally:
        trickle.enough.set()


async def test_what_is_brought_stops_when_its_caller_has_left(made: Made) -> None:
    """Short-cut: bring it to its end, five minutes later, for nobody."""
    trickle = Trickle(Image([files({"big": os.urandom(50_000)})], {"Entrypoint": ["/big"]}))
    with lying(trickle) as liar, ended(trickle):
        runner = made()
        call = asyncio.create_task(runner.run(f"{liar.host}/t/f:v1", LIST))
        while not trickle.begun:
            await asyncio.sleep(0.01)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert await asyncio.to_thread(trickle.broken.wait, 60)


async def test_slow_images_of_one_host_leave_threads_for_others(hub: Registry, made: Made) -> None:
    """Short-cut: eight threads for all; a package that names eight slow images has them."""
    trickle = Trickle(Image([files({"big": os.urandom(50_000)})], {"Entrypoint": ["/big"]}))
    hub.push("t/quick:v1", shell("cat"))
    with lying(trickle) as liar, ended(trickle):
        runner = made()
        slow = [
            asyncio.create_task(runner.run(f"{liar.host}/t/f{number}:v1", LIST))
            for number in range(20)
        ]
        while not trickle.begun:
            await asyncio.sleep(0.01)
        quick = runner.run(f"{hub.host}/t/quick:v1", LIST)
        assert (await asyncio.wait_for(quick, 60)).resources == LIST
        assert not any(each.done() for each in slow)
        for each in slow:
            each.cancel()
        await asyncio.gather(*slow, return_exceptions=True)


async def test_a_slow_repository_holds_up_no_other_with_the_same_image(
    hub: Registry, made: Made
) -> None:
    """Short-cut: bring each digest once, whoever has it; the slowest of them then brings it."""
    image = Image(
        [busybox("bin/cat"), files({"a": os.urandom(9000)})], {"Entrypoint": ["/bin/cat"]}
    )
    pushed = hub.push("t/both:v1", image)
    trickle = Trickle(image)
    with lying(trickle) as liar, ended(trickle):
        runner = made()
        slow = asyncio.create_task(runner.run(f"{liar.host}/t/f@{pushed}", LIST))
        while not trickle.begun:
            await asyncio.sleep(0.01)
        quick = runner.run(f"{hub.host}/t/both@{pushed}", LIST)
        assert (await asyncio.wait_for(quick, 60)).resources == LIST
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)


async def test_unpacking_stops_when_its_caller_has_left(hub: Registry, made: Made) -> None:
    """Short-cut: stop the requests, and unpack what is here to its end, for nobody."""
    many = layer(*[(entry(f"f{number}"), b"") for number in range(15_000)])
    runner = made()
    folder = made.settings.folder
    assert folder is not None
    for number in range(4):  # on a busy machine all may be unpacked before the caller leaves
        hub.push(f"t/many:v{number}", Image([many], {"Entrypoint": [f"/f{number}"]}))
        before = set(folder.glob("sha256/*"))
        call = asyncio.create_task(runner.run(f"{hub.host}/t/many:v{number}", LIST))
        while not list(folder.glob("aside/*/new/root/f1??")) and not call.done():
            await asyncio.sleep(0.005)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        while list(folder.glob("aside/*")):
            await asyncio.sleep(0.01)
        if set(folder.glob("sha256/*")) == before:
            break
    else:
        pytest.fail("it was unpacked to its end each time")
