"""Images from the command line: in a sandbox here, and on a function runner."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cli.fn import elsewhere
from fnrunner.builtin.resource import items, mapping
from fnrunner.contract.errors import SandboxError
from fnrunner.fence.sandbox import Sandbox
from tests.cli.fn_folders import THING, data, make, pipeline, run, texts
from tests.fnrunner.registry import MISSING, Registry, registry, shell
from tests.fnrunner.sandboxes import open_folder

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"these programs are not here: {MISSING}")

RENAME = "sed 's/name: a/name: {}/'; echo renamed >&2"
REFUSE = """cat >/dev/null
echo 'no, thank you' >&2
cat <<EOF
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: []
results:
- message: a name is wrong
  severity: error
EOF
exit 3
"""


@pytest.fixture(scope="module")
def hub() -> Iterator[Registry]:
    try:
        Sandbox.here()
    except SandboxError as error:
        pytest.skip(str(error))
    with registry() as running:
        yield running


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of images of its own."""
    with open_folder() as folder:
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return make(tmp_path / "app", {"Kptfile": pipeline(), "thing.yaml": THING})


def test_an_image_changes_a_package_and_keeps_its_comments(hub: Registry, package: Path) -> None:
    hub.push("fns/rename:v1", shell(RENAME.format("b")))

    result = run("eval", package, "--image", f"{hub.host}/fns/rename:v1")

    assert result.exit_code == 0, result.stderr
    assert texts(package)["thing.yaml"] == THING.replace("name: a #", "name: b #")
    assert "renamed" in result.stderr


def test_results_have_the_digest_and_the_exit_status(
    hub: Registry, package: Path, tmp_path: Path
) -> None:
    """Short-cut: every failure is exit status 1, and a tag stands for what ran."""
    digest = hub.push("fns/refuse:v1", shell(REFUSE))
    image = f"{hub.host}/fns/refuse:v1"

    result = run("eval", package, "--image", image, "--results-dir", tmp_path / "results")

    assert result.exit_code == 1
    assert "[error]: a name is wrong" in result.stderr
    assert "no, thank you" in result.stderr
    assert "Exit code: 3" in result.stderr
    written = data((tmp_path / "results/results.yaml").read_text())
    (item,) = items(written["items"])
    found = mapping(item)
    assert (found["image"], found["digest"], found["exitCode"]) == (image, digest, 3)
    assert texts(package)["thing.yaml"] == THING


def test_a_pipeline_mixes_what_is_built_in_and_images(hub: Registry, package: Path) -> None:
    hub.push("fns/rename:v1", shell(RENAME.format("b")))
    labels = "{image: set-labels:v0.2, configMap: {l: x}}"
    steps = pipeline(labels, f"{{image: '{hub.host}/fns/rename:v1'}}")
    (package / "Kptfile").write_text(steps.replace("  name: app", "  name: app"))

    result = run("render", package)

    assert result.exit_code == 0, result.stderr
    assert "name: b # its name\n  labels:\n    l: x\n" in texts(package)["thing.yaml"]


def test_a_range_of_tags_takes_the_highest_that_the_registry_lists(
    hub: Registry, package: Path
) -> None:
    for tag, name in (("v1.2.0", "old"), ("v1.3.1", "new"), ("v2.0.0", "next")):
        hub.push(f"fns/ranged:{tag}", shell(RENAME.format(name)))
    (package / "Kptfile").write_text(pipeline(f"{{image: '{hub.host}/fns/ranged', tag: '~1'}}"))

    result = run("render", package)

    assert result.exit_code == 0, result.stderr
    assert "name: new #" in texts(package)["thing.yaml"]


def test_a_range_where_images_cannot_be_kept_is_an_error_in_words(
    package: Path, tmp_path: Path
) -> None:
    """Short-cut: let the error of the folder through, as a stack."""
    file = tmp_path / "runner.yaml"
    file.write_text("version: 1\nimages: {folder: /proc/porchbot}\n")
    (package / "Kptfile").write_text(pipeline("{image: localhost:1/fns/ranged, tag: '~1'}"))

    result = run("render", package, "--runner-config", file)

    assert result.exit_code == 1
    assert "the folder of images /proc/porchbot cannot be written" in result.stderr


def test_answers_that_cannot_be_kept_are_an_error_in_words(package: Path, tmp_path: Path) -> None:
    """Short-cut: tell the system's words. An error of ours has none of these: it said "None"."""
    file = tmp_path / "runner.yaml"
    file.write_text("version: 1\ncache: {folder: /proc/porchbot}\n")

    result = run("eval", package, "--image", "localhost:1/fn:v1", "--runner-config", file)

    assert result.exit_code == 1
    assert "/proc/porchbot" in result.stderr
    assert "it cannot be made: No such file or directory" in result.stderr


def test_a_configuration_without_builtin_functions_has_none(package: Path, tmp_path: Path) -> None:
    """Short-cut: look for builtin functions first, whatever is configured."""
    file = tmp_path / "runner.yaml"
    file.write_text("version: 1\nruntimes: [executable]\n")
    args = ("eval", package, "--image", "set-labels:v0.2")

    result = run(*args, "--runner-config", file, "--", "l=x")
    assert result.exit_code == 1
    assert "no runner provides it" in result.stderr

    file.write_text("version: 1\nruntimes: [builtin]\n")
    assert run(*args, "--runner-config", file, "--", "l=x").exit_code == 0


def test_when_a_registry_is_asked(hub: Registry, package: Path) -> None:
    """Short-cut: accept the option, and ask as ever."""
    image = f"{hub.host}/fns/moving:v1"
    never = run("eval", package, "--image", image, "--image-pull-policy", "Never")
    assert never.exit_code == 1
    assert "pulling is turned off" in never.stderr

    hub.push("fns/moving:v1", shell(RENAME.format("b")))
    assert run("eval", package, "--image", image).exit_code == 0
    hub.push("fns/moving:v1", shell("sed 's/name: b/name: c/'"))
    for policy in ("Never", "IfNotPresent"):
        assert run("eval", package, "--image", image, "--image-pull-policy", policy).exit_code == 0
        assert "name: b #" in texts(package)["thing.yaml"]
    assert run("eval", package, "--image", image, "--image-pull-policy", "Always").exit_code == 0
    assert "name: c #" in texts(package)["thing.yaml"]


def test_variables_reach_the_image_and_nothing_else_does(
    hub: Registry, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSED_ON", "yes")
    monkeypatch.setenv("SECRET", "no")
    hub.push("fns/env:v1", shell("cat; env >&2"))

    result = run(
        *("eval", package, "--image", f"{hub.host}/fns/env:v1", "--truncate-output=false"),
        *("-e", "GIVEN=1", "-e", "PASSED_ON"),
    )

    assert result.exit_code == 0, result.stderr
    assert "GIVEN=1" in result.stderr
    assert "PASSED_ON=yes" in result.stderr
    assert "SECRET" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--mount", "type=bind,src=/,dst=/x"], "--mount is not offered: functions see no files"),
        (["-e", "=x"], "--env '=x': give NAME=VALUE"),
        (["--network", "--runner", "127.0.0.1:1"], "cannot be used with --runner"),
        (["--runner-config", "/nowhere.yaml"], "--runner-config /nowhere.yaml: No such file"),
    ],
)
def test_what_cannot_be_asked_for(package: Path, arguments: list[str], said: str) -> None:
    result = run("eval", package, "--image", "localhost:1/fn:v1", *arguments)
    assert result.exit_code == 1
    assert said in result.stderr


def test_a_configuration_limits_what_an_image_may_take(
    hub: Registry, package: Path, tmp_path: Path
) -> None:
    hub.push("fns/slow:v1", shell("cat; sleep 60"))
    file = tmp_path / "runner.yaml"
    file.write_text(
        "version: 1\nimages: {private: true}\n"
        f"functions: [{{image: '{hub.host}/fns/*', limits: {{time: 1s}}}}]\n"
    )

    result = run("eval", package, "--image", f"{hub.host}/fns/slow:v1", "--runner-config", file)

    assert result.exit_code == 1
    assert "1 second" in result.stderr
    file.write_text("version: 1\nlimits: {memory: much}\n")
    result = run("eval", package, "--image", "localhost:1/fn:v1", "--runner-config", file)
    assert f"{file}:2, limits.memory: 'much' is not a size" in result.stderr


def test_an_executable_that_is_configured_is_a_function(
    hub: Registry,  # where there is a sandbox
    package: Path,
    tmp_path: Path,
) -> None:
    with open_folder() as folder:
        program = folder / "rename"
        program.write_text(f"#!/bin/sh\n{RENAME.format('b')}\n")
        program.chmod(0o755)
        file = tmp_path / "runner.yaml"
        file.write_text(
            f"version: 1\nexecutables: [{{name: rename, path: {program}, tags: ['~1.2']}}]\n"
        )

        result = run("eval", package, "--image", "rename:v1.2.7", "--runner-config", file)

    assert result.exit_code == 0, result.stderr
    assert "name: b #" in texts(package)["thing.yaml"]


def until_it_listens(path: Path, process: "subprocess.Popen[bytes]") -> None:
    """Wait for a runner: a command gives up sooner than one starts on a busy machine."""
    until = time.monotonic() + 60
    while not path.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)


def test_a_runner_runs_what_is_built_in_and_images(
    hub: Registry, package: Path, tmp_path: Path
) -> None:
    """Short-cut: run builtin functions here although a runner is named."""
    digest = hub.push("fns/rename:v1", shell(RENAME.format("b")))
    (tmp_path / "runner.yaml").write_text(
        f"version: 1\nimages: {{registries: {{'{hub.host}': {{insecure: true}}}}}}\n"
    )
    socket = f"unix:{tmp_path}/s"
    command = [sys.executable, "-m", "bot.cli", "runner", "--listen", socket]
    running = subprocess.Popen([*command, "--config", str(tmp_path / "runner.yaml")])
    try:
        until_it_listens(tmp_path / "s", running)
        given: list[str | Path] = [
            package,
            "--runner",
            socket,
            "--results-dir",
            tmp_path / "results",
        ]
        first = run("eval", "--image", f"{hub.host}/fns/rename:v1", *given)
        assert first.exit_code == 0, first.stderr
        assert digest in (tmp_path / "results/results.yaml").read_text()
        assert "name: b #" in texts(package)["thing.yaml"]
        second = run("eval", "--image", "set-labels:v0.2", *given, "--", "l=x")
        assert second.exit_code == 0, second.stderr
        assert "digest: builtin:set-labels/" in (tmp_path / "results/results.yaml").read_text()
    finally:
        running.terminate()
        running.wait()
    gone = run("eval", "--image", "set-labels:v0.2", package, "--runner", socket, "--", "l=y")
    assert gone.exit_code == 1
    assert "runner" in gone.stderr


def test_what_is_built_in_needs_nothing_else(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut: begin what runs images with every command, which takes a second."""
    monkeypatch.setattr(elsewhere.ImageFunctionRunner, "__init__", None)
    assert run("eval", package, "--image", "set-labels:v0.2", "--", "l=x").exit_code == 0
    assert not os.listdir(os.environ["XDG_CACHE_HOME"])


def test_certificates_that_cannot_be_used_are_named(package: Path, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    given: list[str | Path] = [package, "--image", "no-op", "--runner", "localhost:1"]

    result = run("eval", *given, "--runner-ca", tmp_path / "ca.pem")
    assert result.exit_code == 1
    assert "ca.pem" in result.stderr

    result = run("eval", *given, "--runner-cert", tmp_path / "ca.pem")
    assert "--runner-cert and --runner-key belong together" in result.stderr
