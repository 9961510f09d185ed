"""The package commands beside kpt's: whole processes, cold, in pairs; time and peak memory.

Packages of 50, 500 and 2,500 files with two resources each, with comments in them. The machine's
speed drifts, so the ratio of the pairs counts. kpt can run commands as functions only (there is no
container engine); its best case, `cat`, stands against functions of ours that do something.

Memory is the largest sum, seen every few milliseconds, of what a process and those it started hold
in proportion to who shares it (PSS); it is measured in runs of its own.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.benchmarks.stage import table

PORCHBOT = Path(sys.executable).with_name("porchbot")
SIZES = (50, 500, 2500)
PAIRS = {50: 7, 500: 5, 2500: 3}
FEW = 2  # where kpt takes half a minute
# Python keeps what it has compiled, as for everybody, even where a test run was told not to.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}

KPTFILE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: large
"""
PIPELINE = """\
pipeline:
  mutators:
    - image: set-namespace:v0.4
      configMap:
        namespace: shop
    - image: set-labels:v0.2
      configMap:
        tier: backend
    - image: set-annotations:v0.1
      configMap:
        reviewed: "yes"
"""
CATS = "pipeline:\n  mutators:\n" + 3 * "    - exec: cat\n"

RESOURCES = """\
# What runs service {i}.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{i} # kpt-set: app-${{number}}
  namespace: shop
  labels:
    app: app-{i}
    tier: backend # who owns it
spec:
  replicas: {replicas} # enough for now
  selector:
    matchLabels:
      app: app-{i}
  template:
    metadata:
      labels:
        app: app-{i}
    spec:
      containers:
        # the main one
        - name: main
          image: registry.example/app:1.{i} # pinned
          ports:
            - containerPort: 80
              protocol: TCP
          env:
            - name: LEVEL
              value: "{level}"
            - name: MODE
              value: production
          resources:
            limits:
              cpu: 100m
              memory: 128Mi
---
apiVersion: v1
kind: Service
metadata:
  name: app-{i}
  namespace: shop
spec:
  selector:
    app: app-{i}
  ports:
    - name: http
      port: 80 # as in the handbook
      targetPort: 8080
"""


def package(folder: Path, files: int, kptfile: str = KPTFILE) -> Path:
    """Write a package of so many files with two resources each."""
    folder.mkdir(parents=True)
    (folder / "Kptfile").write_text(kptfile)
    for i in range(files):
        path = folder / f"part-{i % 10}" / f"app-{i:04}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(RESOURCES.format(i=i, replicas=3, level="info"))
    return folder


@dataclass(frozen=True, slots=True)
class Race:
    """One thing that both do.

    Attributes:
        name: What it is.
        size: Files of the package.
        make: Writes the packages into a folder, before each run.
        kpt: Arguments of kpt, run in that folder.
        ours: Arguments of porchbot.
        bar: The most that ours may take of what kpt takes; None for no bar.
        memory: Measure memory too.
        pairs: How often; None for as often as the size allows.
    """

    name: str
    size: int
    make: Callable[[Path, bool], object]
    kpt: Sequence[str]
    ours: Sequence[str]
    bar: float | None = None
    memory: bool = False
    pairs: int | None = None


def _plain(size: int) -> Callable[[Path, bool], object]:
    return lambda folder, _: package(folder / "p", size)


def _pipeline(size: int) -> Callable[[Path, bool], object]:
    return lambda folder, ours: package(folder / "p", size, KPTFILE + (PIPELINE if ours else CATS))


def _upstream(size: int) -> Callable[[Path, bool], object]:
    """A repository whose package changed in every tenth file, and its clone, in every seventh."""

    def make(folder: Path, ours: bool) -> None:
        repo = folder / "repo"
        package(repo / "p", size)
        _git(repo, "init", "-q", "-b", "main")
        _commit(repo, "v1")
        command = [str(PORCHBOT)] if ours else ["kpt"]
        where = f"{repo}/.git/p@v1" if not ours else f"{repo}.git/p@v1"
        (folder / "repo.git").symlink_to(repo / ".git")
        _run([*command, "pkg", "get", where, "clone"], folder)
        _git(folder / "clone", "init", "-q", "-b", "main")
        for i in range(0, size, 10):
            _change(repo / "p", i, "replicas: 3", "replicas: 5")
        _commit(repo, "v2")
        for i in range(0, size, 7):
            _change(folder / "clone", i, "cpu: 100m", "cpu: 250m")
        _commit(folder / "clone", "local")

    return make


def _change(folder: Path, i: int, old: str, new: str) -> None:
    path = folder / f"part-{i % 10}" / f"app-{i:04}.yaml"
    path.write_text(path.read_text().replace(old, new))


def _git(folder: Path, *arguments: str) -> None:
    folder.mkdir(exist_ok=True)
    _run(["git", "-c", "user.name=b", "-c", "user.email=b@example.com", *arguments], folder)


def _commit(folder: Path, tag: str) -> None:
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "-m", tag)
    _git(folder, "tag", tag)


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")


def races() -> list[Race]:
    """Everything that is compared."""
    found = []
    for size in SIZES:
        eval_bar = {500: 0.25, 2500: 0.2}.get(size)
        found += [
            Race(
                "fn source", size, _plain(size),
                ["fn", "source", "p"], ["fn", "source", "p"], 0.8 if size == 500 else None,
            ),
            Race(
                "fn eval", size, _plain(size),
                ["fn", "eval", "p", "--exec", "cat"],
                ["fn", "eval", "p", "-i", "set-annotations:v0.1", "--", "reviewed=yes"],
                eval_bar, memory=size == 2500,
            ),
        ]  # fmt: skip
        found.append(
            Race(
                "fn render, 3 functions", size, _pipeline(size),
                ["fn", "render", "p", "--allow-exec"], ["fn", "render", "p"],
                0.1 if size == 500 else None, pairs=FEW if size == 2500 else None,
            )
        )  # fmt: skip
    return [*found, update()]


def update() -> Race:
    """An upgrade of 500 files from one tag to the next, fetched and merged."""
    command = ["pkg", "update", "clone@v2"]
    return Race("pkg update", 500, _upstream(500), command, command, 0.03, pairs=FEW)


def seconds(command: Sequence[str], folder: Path) -> float:
    """Run a command; how long it took."""
    began = time.perf_counter()
    with open(os.devnull, "w") as nowhere:
        done = subprocess.run(
            command, cwd=folder, stdout=nowhere, stderr=subprocess.PIPE, text=True, check=False,
            env=ENVIRONMENT,
        )  # fmt: skip
    took = time.perf_counter() - began
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return took


def peak(command: Sequence[str], folder: Path) -> float:
    """Run a command; the most MiB that it and what it started held at once."""
    most = 0
    with open(os.devnull, "w") as nowhere:
        process = subprocess.Popen(
            command, cwd=folder, stdout=nowhere, stderr=nowhere, start_new_session=True,
            env=ENVIRONMENT,
        )  # fmt: skip
        while process.poll() is None:
            most = max(most, sum(map(_held, _family(process.pid))))
            time.sleep(0.004)
    return most / 1024


def _family(pid: int) -> list[int]:
    found, left = [], [pid]
    while left:
        each = left.pop()
        found.append(each)
        try:
            for task in os.listdir(f"/proc/{each}/task"):
                children = Path(f"/proc/{each}/task/{task}/children").read_text()
                left += map(int, children.split())
        except OSError:
            continue  # it has ended
    return found


def _held(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0  # it has ended
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def race(each: Race, folder: Path) -> list[str]:
    """Measure one thing with both; a line of the table."""
    took: dict[bool, list[float]] = {False: [], True: []}
    held: dict[bool, float] = {}
    pairs = each.pairs or PAIRS[each.size]
    for turn in range(pairs + 1):
        for ours in (False, True):
            here = folder / f"{turn}-{ours}"
            here.mkdir()
            each.make(here, ours)
            arguments = each.ours if ours else each.kpt
            command = [str(PORCHBOT) if ours else "kpt", *arguments]
            if turn:
                took[ours].append(seconds(command, here))
            elif each.memory:  # the first run warms the files up, and is not timed
                held[ours] = peak(command, here)
            else:
                seconds(command, here)
            shutil.rmtree(here)
    ratio = median(mine / theirs for theirs, mine in zip(took[False], took[True], strict=True))
    memory = f"{held[False]:.0f} / {held[True]:.0f}" if held else ""
    bar = "" if each.bar is None else f"≤ {each.bar}"
    line = [
        each.name, f"{each.size}", f"{pairs}", f"{median(took[False]):.2f}",
        f"{median(took[True]):.2f}", f"{ratio:.3f}", bar, memory,
        f"{held[True] / held[False]:.2f}" if held else "",
    ]  # fmt: skip
    print("  " + " | ".join(line), file=sys.stderr, flush=True)
    return line


def run() -> None:
    """Measure and print the tables; without kpt, ours alone."""
    with tempfile.TemporaryDirectory(prefix="porchbot-bench-") as name:
        folder = Path(name)
        empty = folder / "empty"
        empty.mkdir()
        starts = [seconds([str(PORCHBOT), "--version"], empty) for _ in range(12)][1:]
        table(["start-up", "runs", "ms p50", "bar"],
              [["porchbot --version", "11", f"{median(starts) * 1000:.0f}", "≤ 150"]])  # fmt: skip
        if shutil.which("kpt") is None:
            print("kpt is not installed, so there is nothing to compare with.\n")
            return
        table(
            ["seconds p50", "files", "pairs", "kpt", "ours", "ours / kpt", "bar",
             "MiB kpt / ours", "ratio"],
            [race(each, folder) for each in races()],
        )  # fmt: skip
        table(["growth", "files", "ms a resource, without start-up"], growth(folder))


def growth(folder: Path) -> list[list[str]]:
    """How long each resource takes in packages small and large; start-up is taken off."""
    command = [str(PORCHBOT), "fn", "eval", "p", "-i", "set-annotations:v0.1", "--", "a=b"]
    times: dict[int, float] = {}
    for size in (0, 50, 2500):
        runs = []
        for turn in range(4):
            here = folder / f"growth-{size}-{turn}"
            package(here / "p", size)
            runs.append(seconds(command, here))
            shutil.rmtree(here)
        times[size] = median(runs[1:])
    each = {size: (times[size] - times[0]) / (2 * size) * 1000 for size in (50, 2500)}
    return [
        *([f"fn eval, {size} files", f"{size}", f"{each[size]:.3f}"] for size in each),
        ["2,500 to 50", "", f"{each[2500] / each[50]:.2f} (bar ≤ 1.3)"],
    ]


if __name__ == "__main__":
    run()
