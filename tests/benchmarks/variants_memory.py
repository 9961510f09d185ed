"""Memory of the bot where many packages are kept in step, in a process of its own.

The forge and the database (PostgreSQL) are in processes of theirs, and nobody waits for the pace at
which pull requests are opened; packages are not rendered. Told is what the bot's process holds in
all (`VmRSS`), at most (`VmHWM`), and of that what is left once freed pages are given back to the
system (`malloc_trim`), after a set and a new revision, and the seconds of the processor that it
took by then without its git. `variants_memory=100,1000` names numbers.
"""

import asyncio
import ctypes
import gc
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bot.allocator import gives_back
from bot.clock import in_thread
from bot.forges.github.app import AppClients
from bot.forges.github.forges import GitHubForges
from bot.git.mirror import DiskMirrors
from bot.keys import ProposalKey, PullKey, Sweep, SweepKey, VariantsKey, parse
from bot.loop.controller import Controller
from bot.loop.variants import PACE
from bot.sandbox.rules.context import FileChange
from bot.sandbox.serve import SandboxForge
from bot.store.embedded.server import EmbeddedPostgres
from bot.store.hints import NOTHING
from bot.store.postgres import PostgresStore
from lifecycle.identity import RepositoryId
from tests.app_key import keys
from tests.benchmarks.stage import table
from tests.benchmarks.variants import BRANCH, CONFIG, SET, Hurried, looks
from tests.databases import create_database
from tests.memory import upstreams
from tests.memory.renderer import MemoryRenderer
from tests.stories.world import package, resized


def run(wanted: str = "100,300,1000") -> None:
    """Measure each number in a world of its own, and print a table."""
    rows = []
    with EmbeddedPostgres() as server:
        for number in map(int, wanted.split(",")):
            url = asyncio.run(create_database(server.url, f"variants_{number}"))
            with tempfile.TemporaryDirectory(prefix="porchbot-bench-") as folder:
                rows += _measure(Path(folder), url, number)
    table(["downstreams", "MiB held", "at most", "held once trimmed", "processor s"], rows)


class _Bot:
    """The bot's process, asked line by line."""

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.variants_memory", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def asked(self, *words: str) -> str:
        """Ask for something; returns its answer once it is done."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join(words) + "\n")
        self._process.stdin.flush()
        while line := self._process.stdout.readline():
            if line.startswith("= "):
                return line[2:].strip()
        raise RuntimeError("the bot's process ended")

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def _measure(folder: Path, url: str, number: int) -> list[list[str]]:
    private, public = keys()
    (folder / "key.pem").write_text(private)
    with SandboxForge(folder / "forge") as forge:
        state = forge.state
        state.add_user("owner")
        repo, owner = state.add_repository("owner", "catalog"), state.user("owner")
        app = state.register_app("porchbot", public, owner="owner")
        state.install(app, repo)
        bot = _Bot(forge.api_url, str(app.id), str(folder), url, str(repo.id))

        def commit(files: dict[str, str], tag: str = "", branch: str = "main") -> None:
            changes = [FileChange(path=p, content=t.encode()) for p, t in files.items()]
            with state.lock:
                made = state.commit_files(repo, branch, changes, "Change", actor=owner)
                if tag:
                    state.update_ref(repo, f"refs/tags/{tag}", made.sha, owner)

        names = ", ".join(f"edge/p{n:04}" for n in range(number))
        commit({".porchbot.yaml": CONFIG, **package("net/base")}, "net/base/v1")
        bot.asked("look", str(SweepKey(Sweep.CHANGES, "github")))
        rows = [[f"{number}: before", *bot.asked("memory").split()]]
        commit({"variants/edges.yaml": SET.replace("NAMES", names)})
        bot.asked("variants")
        rows.append([f"{number}: a new set", *bot.asked("memory").split()])
        commit(resized("net/base", 9), branch=BRANCH)
        me = RepositoryId("github", repo.id)
        bot.asked("look", str(ProposalKey(me, repo.id, BRANCH)))
        with state.lock:
            newest = max(repo.pulls)
            state.talk.comment(repo.pulls[newest], owner, "/propose")
        bot.asked("look", str(PullKey(me, newest)))
        bot.asked("variants")
        rows.append([f"{number}: a new revision", *bot.asked("memory").split()])
        assert len(repo.pulls) == number + 1
        bot.close()
    return rows


async def _serve(api: str, app: str, folder: str, url: str, repository: str) -> None:
    """The bot, asked by lines of its input."""
    gives_back()
    clients = AppClients(api, app, (Path(folder) / "key.pem").read_text())
    clock = Hurried()
    forges, mirrors = GitHubForges(clients), DiskMirrors(Path(folder) / "mirrors", clock=clock)
    me = RepositoryId("github", int(repository))
    async with PostgresStore(url) as store:
        controller = Controller(
            forges,
            mirrors,
            MemoryRenderer(),
            store,
            [b"k" * 32],
            "porchbot",
            upstreams=upstreams.served(forges, mirrors, store, clock, in_thread, [b"k" * 32]),
            clock=clock,
        )
        while line := await asyncio.to_thread(sys.stdin.readline):
            match line.split():
                case ["look", key]:
                    await store.queue.wake(parse(key))
                    await looks(controller, store)
                case ["variants"]:
                    while await controller.handle(VariantsKey(me), NOTHING) is not None:
                        clock.passed += PACE
                        await looks(controller, store)
                    await looks(controller, store)
            print("=", _memory() if line.startswith("memory") else "done", flush=True)
    clients.close()


def _memory() -> str:
    """MiB that this process holds, at most, and what is left of it once pages are given back; and
    its seconds of the processor."""
    held = _status("VmRSS"), _status("VmHWM")
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    spent = time.process_time()
    return " ".join(f"{each:.0f}" for each in (*held, _status("VmRSS"), spent))


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:]))
