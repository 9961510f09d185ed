"""Rendering beside kpt's own: the same package, the same programs as functions, in pairs.

kpt runs as a command, which takes 0.04 s of each figure to start; ours renders in a process that
runs already, as the bot does. Both read the package from files, run each function as a process
and write what changed. The speed of machines drifts, so the ratio of the pairs counts.
"""

import gc
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from cadlib.package.files import Entry
from cadlib.render.pipeline import CallOutcome, FunctionCall, PipelineFunction, Rendered, render
from tests.benchmarks.stage import deployment, table
from tests.stories.world import KPTFILE

PAIRS = 5
FILES = (50, 500)
CAT = "cat"
SED = "sed s/INFO/debug/"  # changes a field of every resource

SERVICE = """\
---
apiVersion: v1
kind: Service
metadata:
  name: service-{i}
  labels:
    level: INFO
spec:
  selector:
    app: service-{i} # as the Deployment's
  ports:
    - port: 80
      targetPort: http
"""


def write(folder: Path, files: int, functions: Sequence[str]) -> None:
    """A package of so many files with two resources each, and a pipeline of commands."""
    pipeline = "".join(f"    - exec: {command}\n" for command in functions)
    head = KPTFILE.replace("NAME", "large")
    folder.mkdir()
    (folder / "Kptfile").write_text(head + (f"pipeline:\n  mutators:\n{pipeline}" * bool(pipeline)))
    for i in range(files):
        text = deployment(i, 3).replace("info", "INFO") + SERVICE.format(i=i)
        (folder / f"app-{i:03}.yaml").write_text(text)


def kpt(folder: Path, arguments: Sequence[str]) -> None:
    """Run kpt on a folder."""
    done = subprocess.run(
        ["kpt", "fn", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"kpt fn {' '.join(arguments)}: {done.stderr}")


def ours(folder: Path, functions: Sequence[str]) -> int:
    """Render a folder with these commands as functions; how many files changed."""
    files = {
        path.relative_to(folder).as_posix(): Entry(path.read_bytes(), "100644")
        for path in folder.rglob("*")
        if path.is_file()
    }
    files["Kptfile"] = Entry(KPTFILE.replace("NAME", "large").encode(), "100644")
    commands = {f"function-{i}:v1": command for i, command in enumerate(functions)}
    steps = render(files, mutators=[_function(image) for image in commands])
    outcome: CallOutcome | None = None
    while True:
        try:
            call: FunctionCall = next(steps) if outcome is None else steps.send(outcome)
        except StopIteration as done:
            rendered: Rendered = done.value
            break
        command = commands[call.image.rpartition("/")[2]].split()
        ran = subprocess.run(command, input=call.resources, capture_output=True, check=True)
        outcome = CallOutcome(resources=ran.stdout)
    if rendered.failed:
        raise RuntimeError(f"our rendering failed: {rendered.findings}")
    for path, data in rendered.changes.items():
        (folder / path).write_bytes(data or b"")
    return len(rendered.changes)


def _function(image: str) -> PipelineFunction:
    return PipelineFunction(image=image, config_map={})


def pair(folder: Path, files: int, functions: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """Measure one thing with both; a line of the table."""
    by_kpt, by_us = [], []
    for turn in range(PAIRS + 1):
        write(folder / f"kpt-{turn}", files, () if "eval" in arguments else functions)
        write(folder / f"ours-{turn}", files, ())
        began = time.perf_counter()
        kpt(folder / f"kpt-{turn}", arguments)
        between = time.perf_counter()
        ours(folder / f"ours-{turn}", functions)
        if turn:  # the first warms both up
            by_kpt.append(between - began)
            by_us.append(time.perf_counter() - between)
        shutil.rmtree(folder / f"kpt-{turn}")
        shutil.rmtree(folder / f"ours-{turn}")
    ratios = [theirs / mine for theirs, mine in zip(by_kpt, by_us, strict=True)]
    return [
        f"kpt fn {arguments[0]}, {files} files: {', '.join(functions)}",
        f"{PAIRS}",
        f"{median(by_kpt):.2f}",
        f"{median(by_us):.2f}",
        f"{median(ratios):.1f}",
    ]


def run() -> None:
    """Measure and print the table; without kpt, say so."""
    if shutil.which("kpt") is None:
        print("kpt is not installed, so there is nothing to compare with.\n")
        return
    gc.freeze()  # what is imported, as every process of ours does that renders
    rows = []
    with tempfile.TemporaryDirectory(prefix="porchbot-bench-") as folder:
        for files in FILES:
            for functions, arguments in (
                ([CAT], ["eval", "--exec", CAT]),
                ([CAT, CAT, CAT], ["render", "--allow-exec"]),
                ([SED, CAT], ["render", "--allow-exec"]),
            ):
                rows.append(pair(Path(folder), files, functions, arguments))
    table(["rendering, seconds p50", "pairs", "kpt", "ours", "kpt / ours"], rows)


if __name__ == "__main__":
    run()
