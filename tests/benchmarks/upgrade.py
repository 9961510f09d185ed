"""An upgrade of a package of 500 files, every tenth changed upstream and every seventh here.

Aim: 1 s. First the merge by itself, in this process and with nothing kept; then all of it, from the
comment to the commit that the bot pushes: fetched, merged, rendered by the guardrails, written. At
last `pkg update` of 500 files, beside kpt's.
"""

import shutil
import tempfile
import time
from pathlib import Path

from cadlib.package.files import Entry
from cadlib.update.upstream import Fetch, Fetched
from lifecycle.drafting.make import DraftInputs, make
from lifecycle.facts.drafts import DraftKind, DraftRequest
from lifecycle.facts.update import PackageMerge
from tests.benchmarks import packages
from tests.benchmarks.stage import Stage, deployment, large, row, stage, table

FILES, RUNS = 500, 5
HERE, UPSTREAM = "apps/shop", "net/base"
BRANCH = f"drafts/{HERE}/upgrade"

ORIGIN = """\
upstream:
  type: git
  git: {repo: REPO, directory: /net/base, ref: main}
  updateStrategy: resource-merge
upstreamLock:
  type: git
  git: {repo: REPO, directory: /net/base, ref: main, commit: COMMIT}
"""


def upstream(round_: int) -> dict[str, str]:
    """The upstream after so many changes of every tenth file."""
    files = large(UPSTREAM, resources=FILES)
    for i in range(0, FILES, 10):
        files[f"{UPSTREAM}/app-{i:02}.yaml"] = deployment(i, 3).replace(
            "1.2.3", f"1.2.{3 + round_}"
        )
    return files


def downstream(repo: str, commit: str) -> dict[str, str]:
    """The package made from it, with every seventh file changed here."""
    files = large(HERE, resources=FILES)
    for i in range(0, FILES, 7):
        files[f"{HERE}/app-{i:02}.yaml"] = deployment(i, 9)
    files[f"{HERE}/Kptfile"] += ORIGIN.replace("REPO", repo).replace("COMMIT", commit)
    return files


def merged() -> float:
    """Seconds that the merge takes by itself."""

    def inside(files: dict[str, str], package: str) -> dict[str, Entry]:
        return {path.removeprefix(f"{package}/"): Entry(t.encode()) for path, t in files.items()}

    old, new = "a" * 40, "b" * 40
    states = {old: inside(upstream(0), UPSTREAM), "main": inside(upstream(1), UPSTREAM)}
    here = inside(downstream("https://x.test/acme/b", old), HERE)
    began = time.perf_counter()
    request = DraftRequest(kind=DraftKind.UPGRADE, package=HERE)
    steps = make(request, DraftInputs(here=here))
    try:
        step = next(steps)
        while True:
            if not isinstance(step, Fetch):
                raise TypeError("an upgrade runs no function")
            step = steps.send(Fetched(states[step.ref], new, step.ref))
    except StopIteration as ended:
        made: PackageMerge = ended.value
    spent = time.perf_counter() - began
    if made.problem or made.conflicts or len(made.files) != FILES // 10 + 1:
        raise ValueError(f"{made.problem} {made.conflicts[:1]} {len(made.files)} files")
    return spent


def asked(at: Stage, number: int, round_: int) -> float:
    """Seconds from the comment to the commit; the upstream has changed before."""
    before = at.world.author.branches().get(BRANCH)
    at.world.owner.pushes("main", upstream(round_))
    at.world.rests()
    comment = at.world.author.says(number, f"/upgrade {HERE}")
    while (head := at.world.author.branches().get(BRANCH)) in (None, before):
        time.sleep(0.02)
    return at.moments.pushed(str(head)) - at.moments.said(comment)


def run() -> None:
    """Measure and print."""
    alone = [merged() for _ in range(RUNS)]
    with stage() as at:
        play = at.world
        commit = play.owner.pushes("main", upstream(0))
        repo = play.forge.clone_url("acme", "blueprints")
        play.owner.pushes("main", downstream(repo, commit))
        number = play.proposes("drafts/net/other/w", large("net/other", resources=2))
        play.rests()
        first, *more = [asked(at, number, round_) for round_ in range(1, RUNS + 2)]
    table(
        [f"an upgrade, {FILES} files", "runs", "p50 ms", "max ms", "aim"],
        [
            row("the merge alone", alone, "1 s"),
            row("/upgrade -> draft, first of the package", [first], "1 s"),
            row("/upgrade -> commit on the open draft", more, "1 s"),
        ],
    )
    if shutil.which("kpt") is None:
        print("kpt is not installed, so there is nothing to compare with.\n")
        return
    with tempfile.TemporaryDirectory(prefix="porchbot-bench-") as folder:
        line = packages.race(packages.update(), Path(folder))
    head = ["seconds p50", "files", "pairs", "kpt", "ours", "ours / kpt", "bar"]
    table(head, [line[: len(head)]])


if __name__ == "__main__":
    run()
