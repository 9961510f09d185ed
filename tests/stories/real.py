"""The stage with everything that the bot has in operation, joined by real HTTP.

Longer than 400 lines: one stage, and each part that it starts and ends.
"""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from bot.sandbox.api import Exchange
from bot.sandbox.serve import SandboxForge
from bot.serve import ALL, Parts, running
from bot.settings import Settings
from cadlib.limits import DEFAULT, PackageLimits
from lifecycle.identity import GITHUB
from tests.app_key import keys
from tests.bot.signing.signed import key_text
from tests.databases import create_database, delete_rows
from tests.memory.pipeline import PipelineMaker
from tests.ports import free_port
from tests.stories import people
from tests.stories.forked import Forked
from tests.stories.github_people import GitHubPerson
from tests.stories.people import PATIENCE, Person, T, polled
from tests.stories.world import (
    APP_ID,
    CONFIG,
    MANIFEST,
    ROLES,
    SECRET,
    World,
    first_files,
    seconds_pass,
)

if TYPE_CHECKING:
    import psycopg


@dataclass
class RealWorld(World):
    """The sandbox forge over HTTP, PostgreSQL and git on disk; the bot in a thread or a process."""

    forge: SandboxForge
    repository: Any
    app: Any
    people: Mapping[str, Person]
    environment: dict[str, str]
    port: int
    name: str = GITHUB
    signs: bool = True
    patience: float = PATIENCE
    """Seconds that the bot may take to come to rest."""
    parts: Parts = ALL
    """What of the bot runs in a thread of this process."""
    render_workers: bool = False
    """Render in worker processes, as the bot's own process does; they take a second to start."""
    limits: PackageLimits = DEFAULT
    """For packages, where they are rendered in this process."""
    _loop: asyncio.AbstractEventLoop | None = None
    _stop: asyncio.Event | None = None
    _thread: threading.Thread | None = None
    _failed: list[BaseException] = field(default_factory=list)
    _process: "subprocess.Popen[bytes] | Forked | None" = None
    _change: threading.Condition = field(default_factory=threading.Condition)
    _changes: int = 0
    _asked: "psycopg.Connection | None" = field(default=None, init=False)

    # --- the bot ---

    def start_bot(self) -> None:
        """As `World` has it; it runs in a thread of this process."""
        ready = threading.Event()
        settings = Settings.from_env(self.environment)
        before = self._sweeps_begun()

        async def live() -> None:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            here = partial(PipelineMaker, limits=self.limits)
            maker = None if self.render_workers else here
            async with running(settings, self.parts, maker=maker):
                ready.set()
                await self._stop.wait()

        def run() -> None:
            try:
                asyncio.run(live())
            except BaseException as error:  # shown by the story that needed it
                self._failed.append(error)
            finally:
                ready.set()

        self._thread = threading.Thread(target=run, name="bot", daemon=True)
        self._thread.start()
        assert ready.wait(PATIENCE)
        assert not self._failed, self._failed
        self._wait_for_sweeps(before)

    def stop_bot(self) -> None:
        """End the bot in order, if it runs."""
        if self._loop and self._stop and self._thread and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(PATIENCE)
        self._thread = None
        if self._process is not None:
            self.kill_bot()
        if self._asked is not None:
            self._asked.close()
        assert not self._failed, self._failed

    def start_bot_process(
        self,
        log: Path = Path(os.devnull),
        *,
        forked: bool = False,
        unless: Callable[[], bool] = lambda: False,
    ) -> None:
        """Run the bot as a process of its own, that can be killed.

        Args:
            log: Gets what it says.
            forked: From a process that has imported it, for stories that start many.
            unless: It need not come to its sweeps.
        """
        before = self._sweeps_begun()
        arguments = ["serve", "--until-stdin-closes"]
        if forked:
            self._process = Forked(arguments, self.environment, log)
        else:
            with log.open("ab") as said:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "bot.cli", *arguments],
                    env=self.environment,
                    stdin=subprocess.PIPE,
                    stdout=said,
                    stderr=said,
                )
        polled("the bot to be ready", lambda: unless() or self._ready())
        self._wait_for_sweeps(before, unless)

    def end_bot(self) -> None:
        """End the bot's process in order, with what it started."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)
            self.kill_bot()

    def kill_bot(self) -> None:
        """End the bot's process as `kill -9` does."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()
        self._process = None

    @property
    def bot_pid(self) -> int:
        """The number of the bot's process; 0 when it has none of its own."""
        return self._process.pid if self._process else 0

    def _sweeps_begun(self) -> int:
        """How often sweeps were asked for."""
        import psycopg

        try:
            rows = self.database("SELECT sum(wanted) FROM work WHERE key LIKE '%:sweep:%'")
        except psycopg.errors.UndefinedTable:
            return 0
        return int(rows[0][0] or 0)

    def _wait_for_sweeps(self, before: int, unless: Callable[[], bool] = lambda: False) -> None:
        """A bot that has not begun its sweeps seems to be at rest."""
        if self.parts.work:
            begun = lambda: unless() or self._sweeps_begun() > before or None  # noqa: E731 (short)
            polled("the first sweeps", begun)

    def _ready(self) -> bool | None:
        asking = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            asking.request("GET", "/readyz")
            return asking.getresponse().status == 200 or None
        except (OSError, HTTPException):
            return None
        finally:
            asking.close()

    # --- waiting and rest ---

    def wait_for(self, what: str, ready: Callable[[], T | None], seconds: float) -> T:
        """As the function of this name; asks when the forge has changed, and seldom besides."""
        asked = 0

        def asks() -> T | None:
            nonlocal asked
            asked = self._changes  # before what is seen now
            return ready()

        def pauses(longest: float) -> None:
            with self._change:
                changed = self._change.wait_for(lambda: self._changes != asked, longest)
            if changed:
                time.sleep(0.03)  # one change seldom comes alone

        return polled(what, asks, seconds, pauses=pauses, longest=1)

    @contextmanager
    def waits(self) -> Iterator[None]:
        """Who waits for something within the block waits for the forge to change."""
        self.forge.observers.append(self._answered)
        self.forge.state.listeners.append(lambda _: self._changed())
        people.waiters.append(self)
        try:
            yield
        finally:
            people.waiters.remove(self)

    def _answered(self, exchange: Exchange) -> None:
        # Reactions and checks are told by no webhook; GraphQL is asked, or tells of what it does.
        if exchange.method != "GET" and "graphql" not in exchange.template:
            self._changed()

    def _changed(self) -> None:
        with self._change:
            self._changes += 1
            self._change.notify_all()

    def rests(self, unless: Callable[[], bool] = lambda: False) -> None:
        """Wait until no webhook is under way and no key has work that is due.

        Args:
            unless: Something else happened, after which it will not rest.
        """

        def quiet() -> bool | None:
            if unless():
                return True
            # A look that ends while we ask may have written what is told a moment later.
            before = self.forge.hooks.queued
            if not self.forge.hooks.idle():
                return None
            ((due,),) = self.database(
                "SELECT count(*) FROM work WHERE wanted > seen"
                " AND (due < now() + interval '1 second' OR owner IS NOT NULL)"
            )
            told = self.forge.hooks.queued > before
            return (due == 0 and not told) or None

        polled("the bot to rest", quiet, self.patience)

    def sweep(self, which: str = "") -> None:
        """Wake everything, or the sweep that is named, as its timer does."""
        key = f"{self.name}:app:{'sweep:' + which if which else 'installations'}"
        self.database(
            f"INSERT INTO work (key) VALUES ('{key}')"
            " ON CONFLICT (key) DO UPDATE SET wanted = work.wanted + 1, due = now()"
        )
        self.database("NOTIFY porchbot_work")

    def loses_database(self) -> None:
        """As `World` has it."""
        asyncio.run(delete_rows(self.environment["DATABASE_URL"]))

    def loses_open_proposals(self) -> None:
        """As `World` has it."""
        self.database("DELETE FROM open_proposal")

    def moves_adoption(self, hours: int) -> None:
        """As `World` has it."""
        self.database(f"UPDATE adoption SET adopted = adopted + interval '{hours} hour'")

    def keeps_database(self) -> Callable[[], None]:
        """As `World` has it; the copy lasts as long as its server."""
        from psycopg.conninfo import conninfo_to_dict, make_conninfo

        url = self.environment["DATABASE_URL"]
        kept, present = f"kept_{uuid4().hex}", str(conninfo_to_dict(url)["dbname"])
        elsewhere = make_conninfo(url, dbname="postgres")  # nobody may be in what is copied
        copied = asyncio.run(create_database(elsewhere, kept, like=present))
        return lambda: self.environment.update(DATABASE_URL=copied)

    def is_adopted(self) -> bool:
        """As `World` has it."""
        return bool(self.database("SELECT 1 FROM adoption"))

    def failing(self) -> list[str]:
        """As `World` has it."""
        return [key for (key,) in self.database("SELECT key FROM work WHERE tries > 0")]

    def trail(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """As `World` has it."""
        rows = self.database("SELECT action, detail FROM audit ORDER BY id")
        return [(action, detail) for action, detail in rows]

    def database(self, query: str) -> list[tuple[Any, ...]]:
        """Ask the bot's database, over one connection until the bot ends or somebody ends it."""
        import psycopg

        url = self.environment["DATABASE_URL"]
        if self._asked is None or self._asked.closed:
            self._asked = psycopg.connect(url, autocommit=True)
        try:
            cursor = self._asked.execute(query.encode())
        except psycopg.OperationalError:
            self._asked.close()
            self._asked = psycopg.connect(url, autocommit=True)
            cursor = self._asked.execute(query.encode())
        return list(cursor) if cursor.description else []

    def leases_end(self) -> None:
        """Let the leases of a killed bot end now, as they do after some seconds."""
        self.database("UPDATE work SET lease = now() WHERE lease IS NOT NULL")

    def take_away(self, key: str) -> None:
        """Let somebody else have a key whose look still goes on, as after a lease that ended.

        In one statement: a bot renews the leases of its looks whenever it likes.
        """
        self.database(
            "UPDATE work SET owner = NULL, lease = NULL, held = NULL, wanted = wanted + 1,"
            f" due = now() WHERE key = '{key}'"
        )
        self.database("NOTIFY porchbot_work")

    def asks_to_publish(self, number: int) -> None:
        """Put a proposal into the line of the main branch, as a look does whose gates hold."""
        row = self.repository.id  # GitHub's number is the row's; others are given one
        if self.name != GITHUB:
            given = f"SELECT id FROM repository WHERE forge = '{self.name}' AND number = {row}"
            ((row,),) = self.database(given)
        self.database(
            f"INSERT INTO candidate (repository, base, proposal) VALUES ({row}, 'main', {number})"
        )

    def wake(self, key: str) -> None:
        """Wake one key, as a webhook does."""
        self.database(f"UPDATE work SET wanted = wanted + 1, due = now() WHERE key = '{key}'")
        self.database("NOTIFY porchbot_work")


@contextmanager
def world(
    folder: Path,
    database_url: str,
    runner: str,
    *,
    config: str | None = CONFIG,
    source: Path | None = None,
) -> Iterator[RealWorld]:
    """A repository with one published-to-be package on main, and no bot yet.

    Args:
        folder: For everything on disk.
        database_url: An empty database.
        runner: Address of a function runner.
        config: `.porchbot.yaml`; None for none.
        source: A repository or bundle to start from instead.
    """
    private, public = keys()
    source = source or beginning(config)
    with SandboxForge(folder / "forge") as forge:
        for login in ROLES:
            forge.state.add_user(login)
        forge.state.add_user("acme")
        repository = forge.state.add_repository("acme", "blueprints", source)
        repository.has_issues = False  # else a dashboard's number comes before those of proposals
        for login, role in ROLES.items():
            forge.state.add_member(repository, login, role)
        port = free_port()
        app = forge.state.register_app(
            "porchbot",
            public,
            owner="acme",
            app_id=APP_ID,
            # Least permissions: a story fails where the manifest grants too little.
            permissions=MANIFEST["default_permissions"],
            events=MANIFEST["default_events"],
            webhook_url=f"http://127.0.0.1:{port}/webhooks/github",
            webhook_secret=SECRET,
        )
        # Nobody is there yet to hear of it: with it in the forge's log, each bot would begin twice.
        forge.faults.hooks.drop(times=None)
        forge.state.install(app, repository)
        forge.hooks.idle()
        forge.faults.hooks.clear()
        people: Mapping[str, Person] = {
            login: GitHubPerson(
                login,
                forge.state.token(login),
                forge.api_url,
                forge.clone_url("acme", "blueprints"),
                "acme/blueprints",
                folder / "people" / login,
                lambda: seconds_pass(forge, 1),
            )
            for login in ROLES
        }
        environment = surroundings(folder, database_url, runner, port) | {
            "PORCHBOT_GITHUB_APP_ID": str(APP_ID),
            "PORCHBOT_GITHUB_PRIVATE_KEY": private,
            "PORCHBOT_WEBHOOK_SECRETS": SECRET,
            "PORCHBOT_GITHUB_API_URL": forge.api_url,
        }
        made = RealWorld(forge, repository, app, people, environment, port)
        try:
            yield made
        finally:
            made.stop_bot()


def surroundings(folder: Path, database_url: str, runner: str, port: int) -> dict[str, str]:
    """The environment of a bot, but for what it is at its forge."""
    signing = folder / "signing"
    signing.write_text(key_text())
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "DATABASE_URL": database_url,
        "PORCHBOT_LISTEN": f"127.0.0.1:{port}",
        "PORCHBOT_RUNNER_ADDRESS": runner,
        "PORCHBOT_SIGNING_KEY_FILES": str(signing),
        "PORCHBOT_STATE": str(folder / "state"),
        "PORCHBOT_ONBOARDING": "off",
    }


@cache  # no story writes to it
def beginning(config: str | None) -> Path:
    """A repository whose main branch has a package and a configuration."""
    folder = Path(_sources().name) / str(hash(config))
    folder.mkdir()
    for path, text in first_files(config).items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    who = ["-c", "user.name=owner", "-c", "user.email=owner@users.example"]
    for arguments in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "--all"],
        [*who, "commit", "--quiet", "--message", "Begin"],
    ):
        subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)
    return folder


@cache
def _sources() -> "TemporaryDirectory[str]":
    return TemporaryDirectory(prefix="porchbot-stories-")
