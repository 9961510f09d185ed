"""Try the mutations: `python -m tests.mutations [AREA ...] [--list] [--jobs N]`.

Each is made alone, in a copy of the working tree, and its test is run there. A test that fails has
caught it. The tests are run once unchanged before, since one that fails anyway catches nothing.
The last line is the count; the exit status is 1 where any survived or is stale.
"""

from __future__ import annotations

import argparse
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.mutations import ROOT, Mutation, read

SECONDS = 300
"""For the test of one mutation. None here takes a minute; a defence whose loss hangs its test is
one that nobody would see fail."""

LEFT_OUT = shutil.ignore_patterns(
    ".venv", ".git", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis"
)
PACKAGES = ("bot", "cadlib", "fnrunner", "lifecycle", "tests")
CAUGHT, SURVIVED, STALE = "caught", "survived", "stale"


@dataclass(frozen=True)
class Run:
    """What pytest said.

    Attributes:
        status: Its exit status; None where it was stopped for taking too long.
        text: Its output.
    """

    status: int | None
    text: str

    def ids(self, word: str) -> list[str]:
        """The ids in the short summary behind a word such as FAILED."""
        return re.findall(rf"(?m)^{word} (tests/\S+\.py(?:::.+?)?)(?: - |$)", self.text)


def main() -> int:
    """Try those that are asked for, and say what came of each."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument(
        "areas", nargs="*", metavar="AREA", help="folder, such as bot/look; all by default"
    )
    parser.add_argument("--list", action="store_true", help="only say which there are")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (default: 2)")
    given = parser.parse_args()
    try:
        mutations = read(tuple(given.areas))
    except ValueError as error:
        parser.error(str(error))
    if given.list:
        for m in mutations:
            print(f"{m.area}: {m.defence} ({m.threat}): {m.test}")
        return 0
    counts: Counter[str] = Counter()
    with copies(max(1, given.jobs)) as free, ThreadPoolExecutor(free.qsize()) as pool:
        files: dict[str, set[str]] = {}
        for m in mutations:
            files.setdefault(m.test.partition("::")[0], set()).add(m.test)
        broken = set().union(*pool.map(lambda f: unchanged(free, *f), files.items()))
        for line, verdict in pool.map(lambda m: attempt(free, m, broken), mutations):
            print(line, flush=True)
            counts[verdict] += 1
    print(
        f"{len(mutations)} mutations, {counts[CAUGHT]} caught, {counts[SURVIVED]} survived, "
        f"{counts[STALE]} stale"
    )
    return 1 if counts[SURVIVED] or counts[STALE] else 0


@contextmanager
def copies(count: int) -> Iterator[queue.Queue[Path]]:
    """Copies of the working tree, beside what stands beside it, that import themselves."""
    free: queue.Queue[Path] = queue.Queue()
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        for number in range(count):
            root = Path(folder, str(number), "tree")
            shutil.copytree(ROOT, root, symlinks=True, ignore=LEFT_OUT)
            if (shared := ROOT.parent / "shared").is_dir():
                (root.parent / "shared").symlink_to(shared)
            # Checked by content: two texts of one length within a second have one time.
            quick = ["-m", "compileall", "-q", "--invalidation-mode", "checked-hash", *PACKAGES]
            subprocess.run([sys.executable, *quick], cwd=root, env=environment(root), check=True)
            asked = f"import {', '.join(PACKAGES)}; print({'.__file__, '.join(PACKAGES)}.__file__)"
            run = subprocess.run(
                [sys.executable, "-c", asked],
                cwd=folder,
                env=environment(root),
                check=True,
                capture_output=True,
                text=True,
            )
            strange = [file for file in run.stdout.split() if not Path(file).is_relative_to(root)]
            if strange:
                raise SystemExit(f"the copy does not import itself, but {strange}")
            free.put(root)
        yield free


def environment(root: Path) -> dict[str, str]:
    """What a process in the copy is given: its own code goes before an editable installation."""
    return os.environ | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}


def pytest(root: Path, tests: Iterable[str], *options: str, seconds: float = SECONDS) -> Run:
    """Run tests in a copy; those that take too long are ended with all that they started."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    process = subprocess.Popen(
        [*command, "-rfEs", "--tb=no", *options, *tests],
        cwd=root,
        env=environment(root),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        text, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return Run(None, "")
    return Run(process.returncode, text)


def unchanged(free: queue.Queue[Path], file: str, tests: set[str]) -> set[str]:
    """Those of the tests of one file that do not pass in an unchanged copy, or are not there."""
    root = free.get()
    try:
        if not (root / file).is_file():
            return tests
        run = pytest(root, sorted(tests), seconds=SECONDS * len(tests))
    finally:
        free.put(root)
    if run.status == 0:
        return set()
    failed = [*run.ids("FAILED"), *run.ids("ERROR")]
    print(f"fails unchanged: {', '.join(failed) or file}", flush=True)
    hit = {t for t in tests if any(f == t or f.startswith((f"{t}[", f"{t}::")) for f in failed)}
    return hit or tests


def attempt(free: queue.Queue[Path], mutation: Mutation, broken: set[str]) -> tuple[str, str]:
    """Make one mutation and run its test; returns the line to print, and the verdict."""
    began = time.monotonic()
    root = free.get()
    try:
        verdict, why = _attempt(root, mutation, broken)
    finally:
        free.put(root)
    seconds = time.monotonic() - began
    note = f" [{why}]" if why else ""
    line = f"{verdict:8} {seconds:5.1f} s  {mutation.area}: {mutation.defence}{note}"
    return line if verdict == CAUGHT else f"{line}\n         {mutation.test}", verdict


def _attempt(root: Path, mutation: Mutation, broken: set[str]) -> tuple[str, str]:
    if mutation.test in broken:
        return STALE, "its test is not there, or fails unchanged"
    path = root / mutation.file
    try:
        changed = mutation.applied(root)
    except ValueError as error:
        return STALE, str(error)
    original = path.read_bytes()
    path.write_text(changed)
    try:
        run = pytest(root, [mutation.test], "-x")
    finally:
        path.write_bytes(original)
    if run.status is None:
        return SURVIVED, f"no end after {SECONDS} s"
    if run.ids("FAILED"):
        return CAUGHT, ""
    if run.status == 0:
        skipped = re.search(r"(?m)^\d+ skipped", run.text)
        return (STALE, "its test is skipped here") if skipped else (SURVIVED, "")
    return STALE, f"its test does not run: {(run.text.strip().splitlines() or ['?'])[-1]}"


if __name__ == "__main__":
    sys.exit(main())
