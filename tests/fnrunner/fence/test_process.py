"""Executables: which names mean them, what they see, and what they answer."""

import hashlib
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

from fnrunner.contract.errors import (
    FunctionFailedError,
    FunctionNotFoundError,
    FunctionRefusedError,
    FunctionStoppedError,
    FunctionTimeoutError,
    SandboxError,
)
from fnrunner.contract.policy import RunnerPolicy
from fnrunner.contract.run import Granted, ResourceLimits
from fnrunner.fence.process import Executables
from fnrunner.fence.sandbox import Sandbox
from fnrunner.settings import FunctionImages, ProgramFunction
from tests.fnrunner import sandboxes

LIST = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- kind: A\n"
RESULTS = b"results:\n- message: no\n  severity: error\n"
PATIENT = RunnerPolicy(usual=Granted(bounds=sandboxes.PATIENT))


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return sandboxes.sandbox(groups=False)


@pytest.fixture
def folder() -> Iterator[Path]:
    with sandboxes.open_folder() as found:
        yield found


def program(folder: Path, script: str, *args: str, tags: tuple[str, ...] = ()) -> ProgramFunction:
    """A shell script that is the function my-fn."""
    path = folder / "my-fn"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    names = FunctionImages(("my-fn", "registry.corp/team/my-fn"), tags)
    return ProgramFunction(means=names, path=path, args=args)


async def test_an_executable_answers(sandbox: Sandbox, folder: Path) -> None:
    """Short-cut: a shell around it, which splits what it is started with."""
    (folder / "beside").write_text("beside it")
    script = f'echo "$1|$2|$PATH" >&2; cat {folder}/beside >&2; cat'
    found = replace(program(folder, script, "a b", "$HOME"), files=(folder / "beside",))
    outcome = await Executables([found], PATIENT, sandbox).run("my-fn", LIST)

    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    assert (outcome.resources, outcome.failed, outcome.exit_code) == (LIST, False, 0)
    assert outcome.log == f"a b|$HOME|{path}\nbeside it"


async def test_the_digest_is_that_of_the_file_as_it_is_now(sandbox: Sandbox, folder: Path) -> None:
    """Short-cut: remember it by path."""
    runner = Executables([program(folder, "cat")], PATIENT, sandbox)
    first = await runner.identity("my-fn")
    assert first == f"sha256:{hashlib.sha256((folder / 'my-fn').read_bytes()).hexdigest()}"
    assert (await runner.run("my-fn", LIST)).digest == first

    program(folder, "cat #")
    second = await runner.identity("my-fn")
    assert second != first
    assert (await runner.run("my-fn", LIST)).digest == second

    program(folder, "cat")
    assert await runner.identity("my-fn") == first


async def test_what_it_is_started_with_is_part_of_what_it_is(
    sandbox: Sandbox, folder: Path
) -> None:
    """Short-cut: the digest of the file, by which two functions would share their answers."""
    found = program(folder, "cat")
    variants = [(), ("a",), ("a", "b"), ("a b",)]
    runners = [Executables([replace(found, args=args)], PATIENT, sandbox) for args in variants]
    digests = [await runner.identity("my-fn") for runner in runners]
    assert len(set(digests)) == len(variants)
    assert (await runners[2].run("my-fn", LIST)).digest == digests[2]


@pytest.mark.parametrize(
    ("image", "tags", "means"),
    [
        ("my-fn", (), True),
        ("my-fn:v1", (), True),
        ("my-fn:v1", ("v1", "v2"), True),
        ("my-fn:v1.2.3", ("~1.2",), True),
        ("my-fn:v3", ("v1", "v2"), False),
        ("my-fn", ("v1",), False),
        ("my-fn@sha256:" + 64 * "a", (), False),
        ("registry.corp/team/my-fn:v1", ("v1",), True),
        ("registry.corp/my-fn:v1", (), False),
        ("other.corp/team/my-fn", (), False),
        ("ghcr.io/kptdev/krm-functions-catalog/my-fn:v1", ("v1",), True),
        ("ghcr.io/kptdev/krm-functions-catalog/a/my-fn:v1", (), False),
        ("my-fn-2", (), False),
        ("", (), False),
    ],
)
async def test_which_names_mean_it(
    sandbox: Sandbox, folder: Path, image: str, tags: tuple[str, ...], means: bool
) -> None:
    """Short-cut: go by the last part of the name."""
    runner = Executables([program(folder, "cat", tags=tags)], PATIENT, sandbox)
    if means:
        assert (await runner.run(image, LIST)).resources == LIST
    else:
        with pytest.raises(FunctionNotFoundError, match="no runner provides it"):
            await runner.run(image, LIST)


async def test_a_short_name_means_the_first_prefix(sandbox: Sandbox, folder: Path) -> None:
    """Short-cut: compare names as they are written; the short one went on to be an image."""
    full = replace(
        program(folder, "cat"), means=FunctionImages(("registry.corp/fns/audit",), ("v1",))
    )
    policy = replace(PATIENT, prefix="registry.corp/fns/")
    runner = Executables([full], policy, sandbox)

    assert (await runner.run("audit:v1", LIST)).resources == LIST
    for other in ("audit:v2", "fns/audit:v1", "audit"):
        with pytest.raises(FunctionNotFoundError):
            await runner.identity(other)


async def test_a_refusal_keeps_status_results_and_words(sandbox: Sandbox, folder: Path) -> None:
    """Short-cut: drop what a failing function wrote, as Porch does."""
    found = program(folder, "cat; echo because >&2; exit 3")
    outcome = await Executables([found], PATIENT, sandbox).run("my-fn", LIST + RESULTS)

    assert (outcome.failed, outcome.exit_code, outcome.log) == (True, 3, "because\n")
    assert outcome.results == ({"message": "no", "severity": "error"},)
    assert outcome.resources == LIST + RESULTS


@pytest.mark.parametrize("output", ["", "echo Usage: my-fn", "echo 'kind: ['"])
async def test_a_refusal_in_words_is_one_too(sandbox: Sandbox, folder: Path, output: str) -> None:
    """Short-cut: parse what it wrote, whatever it is."""
    found = program(folder, f"{output}\necho because >&2; exit 2")
    outcome = await Executables([found], PATIENT, sandbox).run("my-fn", LIST)

    assert (outcome.failed, outcome.exit_code, outcome.results) == (True, 2, ())
    assert outcome.log == "because\n"
    assert b"kind: ResourceList\nitems: []" in outcome.resources


@pytest.mark.parametrize("output", ["true", "echo done", "echo '{kind: Pod}'", "printf '\\377'"])
async def test_success_without_an_answer_is_none(
    sandbox: Sandbox, folder: Path, output: str
) -> None:
    """Short-cut: take nothing for an empty list, and delete the package."""
    found = program(folder, f"{output}; echo said >&2")
    runner = Executables([found], PATIENT, sandbox)
    with pytest.raises(
        FunctionFailedError, match=r"its output is not a ResourceList \(.*\)\. said"
    ):
        await runner.run("my-fn", LIST)


async def test_an_answer_may_be_json(sandbox: Sandbox, folder: Path) -> None:
    """Short-cut: look for the line of the kind."""
    text = '{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": []}'
    found = program(folder, f"echo '{text}'")
    outcome = await Executables([found], PATIENT, sandbox).run("my-fn", LIST)
    assert outcome.resources.decode() == f"{text}\n"


async def test_it_has_what_it_is_granted(sandbox: Sandbox, folder: Path) -> None:
    """Short-cut: grant by the full name only, which the operator did not write."""
    granted = Granted(bounds=sandboxes.PATIENT, environment={"TOKEN": "t", "PATH": "/bin"})
    policy = RunnerPolicy(allow=("nothing",), grants=(("my-fn", granted),), usual=PATIENT.usual)
    runner = Executables([program(folder, "echo $TOKEN $PATH >&2; cat")], policy, sandbox)
    for image in ("my-fn:v1", "ghcr.io/kptdev/krm-functions-catalog/my-fn:v1"):
        assert (await runner.run(image, LIST)).log == "t /bin\n"
        assert policy.granted(image) is granted  # which says too whether answers are kept


async def test_it_is_stopped_before_its_caller_leaves(sandbox: Sandbox, folder: Path) -> None:
    """Short-cut: take as long as the limits say."""
    runner = Executables([program(folder, "sleep 60")], PATIENT, sandbox)
    with pytest.raises(FunctionTimeoutError, match=r"within 0\.9 seconds, it took .* of output"):
        await runner.run("my-fn", LIST, seconds=1.0)

    bounds = ResourceLimits(seconds=60.0, output_bytes=5)
    policy = RunnerPolicy(usual=Granted(bounds=bounds))
    runner = Executables([program(folder, "cat")], policy, sandbox)
    with pytest.raises(FunctionStoppedError, match="limit of output: 5 bytes allowed"):
        await runner.run("my-fn", LIST)


async def test_what_cannot_be_read_is_refused(sandbox: Sandbox, folder: Path) -> None:
    found = program(folder, "cat")
    found.path.unlink()
    runner = Executables([found], PATIENT, sandbox)
    with pytest.raises(FunctionRefusedError, match="cannot be read"):
        await runner.identity("my-fn")
    with pytest.raises(FunctionRefusedError) as caught:
        await runner.run("my-fn", LIST)
    assert str(caught.value) == (
        f'function "my-fn": its executable {found.path} cannot be read: No such file or directory.'
        " Correct its path in the runner's configuration, or the mode of the file."
    )


async def test_what_cannot_be_executed_is_said(sandbox: Sandbox, folder: Path) -> None:
    found = program(folder, "cat")
    found.path.chmod(0o644)
    with pytest.raises(FunctionFailedError, match=r"not be started: bwrap: execvp .*denied"):
        await Executables([found], PATIENT, sandbox).run("my-fn", LIST)


async def test_without_a_sandbox_nothing_is_run(folder: Path) -> None:
    """Short-cut: run it unfenced."""
    reason = SandboxError("the program bwrap is not installed", "Install bubblewrap")
    runner = Executables([program(folder, "cat")], PATIENT, reason)
    with pytest.raises(FunctionRefusedError) as caught:
        await runner.run("my-fn", LIST)
    assert str(caught.value) == (
        'function "my-fn": it cannot be sandboxed here: the program bwrap is not installed.'
        " Install bubblewrap."
    )
    with pytest.raises(FunctionNotFoundError):
        await runner.run("other", LIST)


async def test_a_link_to_an_executable_works(sandbox: Sandbox, folder: Path) -> None:
    """Short-cut: show the folder of the link alone."""
    (folder / "real").mkdir()
    found = program(folder / "real", 'echo "$0" >&2; cat')
    (folder / "links").mkdir()
    link = folder / "links/my-fn"
    link.symlink_to(found.path)
    runner = Executables([replace(found, path=link)], PATIENT, sandbox)
    assert (await runner.run("my-fn", LIST)).log == f"{link}\n"


async def test_an_executable_sees_its_file_and_not_its_folder(
    sandbox: Sandbox, folder: Path
) -> None:
    """Short-cut: show the folder, and with it the runner's socket and answers beside it."""
    (folder / "state").mkdir()
    (folder / "state/answers.sqlite").write_text("of others")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "runner.sock"))
        found = program(folder, f"ls -A {folder} >&2; cat")
        outcome = await Executables([found], PATIENT, sandbox).run("my-fn", LIST)

    assert outcome.log == "my-fn\n"


async def test_an_executable_among_temporary_files_runs_and_sees_none_of_them(
    sandbox: Sandbox,
) -> None:
    """Short-cut: show the folder that it lies in. It hid the sandbox's own, and nothing ran."""
    with NamedTemporaryFile(dir="/tmp", delete=False) as file:
        file.write(b"#!/bin/sh\nls /tmp >&2; touch /tmp/mine || exit 1; cat\n")
    path = Path(file.name)
    try:
        path.chmod(0o755)
        program = ProgramFunction(means=FunctionImages(("temporary",)), path=path)
        outcome = await Executables([program], PATIENT, sandbox).run("temporary", LIST)
    finally:
        path.unlink()

    assert (outcome.failed, outcome.log) == (False, f"{path.name}\n")
