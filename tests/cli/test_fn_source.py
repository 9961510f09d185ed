"""`porchbot fn source` and `sink`, and commands as functions."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bot.cli import halves
from bot.cli.disk import parallel
from bot.cli.fn import command
from tests.cli.fn_folders import KPTFILE, THING, make, run, texts


def test_a_folder_becomes_a_stream_and_a_folder_again(tmp_path: Path) -> None:
    """The short-cut: lose comments, or which file a resource came from."""
    files = {
        "Kptfile": KPTFILE,
        "a.yaml": f"{THING}---\n{THING.replace('name: a', 'name: b')}",
        "s/a.yaml": THING,
    }
    package = make(tmp_path / "app", {**files, "README.md": "no\n"})

    stream = run("source", package)
    result = run("sink", tmp_path / "out", stdin=stream.stdout)

    assert (stream.exit_code, stream.stderr, result.exit_code) == (0, "", 0)
    assert texts(tmp_path / "out") == files


def test_a_large_folder_is_listed_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut: the halves as they come, or each without the other's `.krmignore`."""
    files = {f"{name}/{n}.yaml": THING for name in "abc" for n in range(9)}
    files |= {".krmignore": "8.yaml\n", "c/Kptfile": KPTFILE, "c/.krmignore": "7.yaml\n"}
    package = make(tmp_path / "app", files)

    whole = run("source", package).stdout
    monkeypatch.setattr(parallel, "LEAST", 0)

    assert run("source", package).stdout == whole
    assert whole.count("kind: Thing") == 2 * 8 + 8
    assert run("source", package, "-o", "unwrap").stdout.count("kind: Thing") == 24


def test_what_is_wrong_in_either_half_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut: half a list, when the other process fails."""
    monkeypatch.setattr(parallel, "LEAST", 0)
    for bad in ("a.yaml", "z.yaml"):
        package = make(tmp_path / bad, {"m.yaml": THING, "n.yaml": THING, bad: "a: [\n"})

        result = run("source", package)

        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr == (
            f"error: {package}/{bad}: MalformedYAMLError: yaml: line 1: did not find expected node"
            f" content\n{bad}:1: Correct the syntax there.\n"
        )


@pytest.mark.parametrize("least", [0, parallel.LEAST])
def test_what_is_not_listed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least: int
) -> None:
    """The short-cut: leave templates out without a word, so that they get lost in a pipe."""
    monkeypatch.setattr(parallel, "LEAST", least)
    template = THING.replace("name: a", "name: {{ .Values.name }}")
    files = {"Kptfile": KPTFILE, "a.yaml": template, "m.yaml": THING, "z.yaml": template}
    package = make(tmp_path / "app", files)

    for output in ("stdout", "unwrap"):
        result = run("source", package, "-o", output)

        assert (result.exit_code, result.stdout.count("kind: Thing")) == (0, 1)
        assert [line.partition(":")[0] for line in result.stderr.splitlines()] == [
            "[WARN] a.yaml",
            "[WARN] z.yaml",
        ]


def test_the_other_half_is_done_here_when_its_process_ends() -> None:
    """The short-cut: wait for ever, or take nothing for an answer."""
    here = os.getpid()

    def work(text: str) -> bytes:
        if os.getpid() != here:
            os._exit(9)
        return text.encode()

    assert halves.both(work, "a", "b") == (b"a", b"b")


def test_a_configuration_in_the_stream(tmp_path: Path) -> None:
    """The short-cut: several configurations, or none at all, pass."""
    package = make(tmp_path / "app", {"a.yaml": THING})
    make(tmp_path, {"c.yaml": THING, "two.yaml": f"{THING}---\n{THING}"})

    one = run("source", package, "--fn-config", tmp_path / "c.yaml")
    two = run("source", package, "--fn-config", tmp_path / "two.yaml")

    assert one.stdout.endswith("    name: a # its name\n")
    assert "functionConfig:\n  # a thing\n  apiVersion: v1\n" in one.stdout
    assert two.stderr == "error: expected exactly 1 functionConfig, found 2\n"


def test_a_symlink_is_resolved_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut: list nothing, since symlinks are ignored."""
    make(tmp_path / "app", {"a.yaml": THING})
    (tmp_path / "link").symlink_to("app")
    monkeypatch.chdir(tmp_path)

    result = run("source", "link")

    assert "a.yaml" in result.stdout
    assert result.stderr == (
        '[WARN] resolved symlink "link" to "app", please note that the symlinks within the'
        " package are ignored\n"
    )


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["source", "none"], "lstat none: no such file or directory"),
        (["source", "a", "b"], "accepts at most 1 arg(s), received 2"),
        (
            ["source", "-o", "x"],
            'invalid input for --output flag "x", must be "stdout" or "unwrap"',
        ),
        (["sink"], "requires at least 1 arg(s), only received 0"),
        (["sink", "."], 'directory "." already exists, please delete the directory and retry'),
    ],
)
def test_wrong_use(args: list[str], text: str) -> None:
    result = run(*args)

    assert (result.exit_code, result.stderr) == (1, f"error: {text}\n")


def test_a_path_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    """The short-cut: write where the stream says."""
    notes = "  annotations:\n    config.kubernetes.io/path: ../../x.yaml\n"

    result = run("sink", tmp_path / "out", stdin=THING + notes)

    assert result.exit_code == 1
    assert not (tmp_path / "out").exists()


def test_json_stays_json(tmp_path: Path) -> None:
    """The short-cut: YAML in every file."""
    notes = "  annotations:\n    config.kubernetes.io/path: a.json\n"

    run("sink", tmp_path / "out", stdin=THING + notes)

    assert (tmp_path / "out/a.json").read_text() == (
        '{\n  "apiVersion": "v1",\n  "kind": "Thing",\n  "metadata": {\n    "name": "a"\n  }\n}\n'
    )


# --- commands


def test_a_command_is_no_shell_and_has_the_folder_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut: a shell, where `$X` and `;` mean something."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("X", "set")

    assert command.run("echo '$X' ; exit", b"").output == b"$X ; exit\n"
    assert command.run("sh -c 'pwd; echo $X; exit 4'", b"") == command.CommandResult(
        f"{tmp_path}\nset\n".encode(), "", 4
    )


def test_a_command_need_not_read_what_it_is_given() -> None:
    """The short-cut: an error when the pipe breaks."""
    assert command.run("true", b"x" * 1_000_000).status == 0


@pytest.mark.parametrize(
    ("text", "seconds", "problem"),
    [
        ("sleep 60", 0.3, "did not finish within 0.3 seconds"),
        ("sh -c 'sleep 60 & sleep 60'", 0.3, "did not finish within 0.3 seconds"),
        ("yes", 60, "wrote more than 1000 bytes"),
        ("/", 60, "unexpected function error: exec"),
        ("", 60, "it is empty"),
    ],
)
def test_bounds_of_a_command(text: str, seconds: float, problem: str) -> None:
    """The short-cut: wait for it, or end it and leave what it started."""
    with pytest.raises(command.CommandError, match=problem):
        command.run(text, b"", seconds=seconds, output_bytes=1000)


def test_a_command_ends_with_who_ran_it(tmp_path: Path) -> None:
    """The short-cut: die of SIGTERM, and leave the command to run on in its own session."""
    pid = tmp_path / "pid"
    shell = f"sh -c 'echo $$ > {pid}; exec sleep 60'"
    code = f"from bot.cli.fn import command; command.run({shell!r}, b'')"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        while not (pid.exists() and pid.read_text().endswith("\n")):
            time.sleep(0.01)
        process.terminate()

    assert process.returncode == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


SOON = """
import os, signal, subprocess

class Popen(subprocess.Popen):
    def _execute_child(self, *args):
        super()._execute_child(*args)
        print(self.pid, flush=True)
        os.kill(os.getpid(), int(os.environ["SIGNAL"]))

subprocess.Popen = Popen
# Whoever runs the tests in the background may have told every process to ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
from bot.cli.fn import command
command.run("sleep 60", b"")
"""


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGINT, -signal.SIGINT)]
)
def test_a_command_that_is_being_started_ends_with_who_ran_it(number: int, status: int) -> None:
    """The short-cut: end as soon as the signal comes, when nobody knows the command yet."""
    done = subprocess.run(
        [sys.executable, "-c", SOON],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "SIGNAL": str(int(number))},
        check=False,
    )

    assert done.returncode == status
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


SCALARS = ("just text\n", "5\n", '"a"\n', "|\n  a\n", f"{THING}---\ntext\n", "--- text\n")


@pytest.mark.parametrize("text", SCALARS)
@pytest.mark.parametrize(
    "args",
    [("source",), ("source", "-o", "unwrap"), ("eval", "--exec", "cat"), ("render",)],
    ids=str,
)
def test_a_file_that_is_a_plain_scalar_is_refused(
    tmp_path: Path, args: tuple[str, ...], text: str
) -> None:
    """The short-cut: pass over what is no mapping, in silence."""
    package = make(tmp_path / "app", {"Kptfile": KPTFILE, "x.yaml": text})

    result = run(args[0], package, *args[1:])

    assert (result.exit_code, result.stdout) == (1, "")
    line = 1 + text.count("\n", 0, text.rfind("t"))
    assert "wrong node kind: expected MappingNode but got ScalarNode" in result.stderr
    assert f"x.yaml:{line if text.startswith('#') else 1}" in result.stderr
    assert texts(package)["x.yaml"] == text


@pytest.mark.parametrize("text", ["null\n", "~\n", "# nothing\n", "--- \n"])
def test_a_file_with_nothing_in_it_is_passed_over(tmp_path: Path, text: str) -> None:
    """The short-cut: null is a scalar like any other."""
    package = make(tmp_path / "app", {"Kptfile": KPTFILE, "a.yaml": THING, "x.yaml": text})

    for args in (("source", package), ("eval", "--exec", "cat", package), ("render", package)):
        result = run(*args)
        assert (result.exit_code, "x.yaml" in result.output) == (0, False)


def test_an_empty_configmap_hands_on_no_configuration(tmp_path: Path) -> None:
    """The short-cut: what is written is handed on, be it nothing."""
    for config in ("{}", "{a: b}"):
        calls = f"pipeline:\n  mutators:\n  - {{exec: tee {tmp_path}/given, configMap: {config}}}\n"
        package = make(tmp_path / "app", {"Kptfile": KPTFILE + calls})

        assert run("render", package, "--allow-exec").exit_code == 0
        given = (tmp_path / "given").read_text()
        assert ("functionConfig" in given) == (config != "{}")


ANCHORED = """\
apiVersion: v1
kind: Thing
metadata:
  name: a
  labels: &l
    app: x # why
spec:
  selector: *l
  more:
    <<: *l
    b: &v 1
    c: *v
"""


def test_anchors_survive_streams(tmp_path: Path) -> None:
    """The short-cut: write out every anchor of a list before it is taken apart."""
    package = make(tmp_path / "app", {"a.yaml": ANCHORED, "b.yaml": THING})
    stream = run("source", package).stdout

    labelled = run(
        "eval", "-", "-i", "set-annotations", "--match-name", "a", "--", "note=x", stdin=stream
    ).stdout
    run("sink", tmp_path / "out", stdin=run("eval", "-", "--exec", "cat", stdin=stream).stdout)
    run("sink", tmp_path / "new", stdin=labelled)

    assert texts(tmp_path / "out") == {"a.yaml": ANCHORED, "b.yaml": THING}
    added = ANCHORED.replace("spec:", "  annotations:\n    note: x\nspec:")
    assert texts(tmp_path / "new")["a.yaml"] == added
