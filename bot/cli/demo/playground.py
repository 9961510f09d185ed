"""The playground: starts sandbox forges, bots, their runners and PostgreSQL as processes.

What it starts it also ends: every child ends when its standard input closes, so that nothing is
left behind even when the playground itself is killed. A bot or a database that ends is started
again; a forge has everything in its memory, and the playground ends with it.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any
from urllib.request import urlopen

import bot
from bot.cli.demo.balancer import Balancer
from bot.cli.demo.kept import NotStartedError, RestartedProcess, stop
from bot.cli.demo.sandboxes import DemoForgeError, sandboxes
from bot.store.embedded.place import PostgresError
from bot.store.embedded.server import EmbeddedPostgres

START_LIMIT = 300
"""Seconds for a process to be ready; it takes about two, and over a minute on a busy machine."""


class PlaygroundError(Exception):
    """The playground could not be started or kept up."""


def run(repo: Path | None, info: Path | None, replicas: int = 1, dialect: str = "github") -> int:
    """Start a playground and keep it up until it is ended.

    Args:
        repo: A repository, folder or bundle; None for the examples.
        info: File to write addresses, users and tokens to.
        replicas: How many bots, on one database.
        dialect: Which forge it is: github, gitlab, or both.

    Returns:
        0 when ended by a signal, 1 when it could not be started.
    """
    try:
        with Playground(repo, info, replicas, dialect) as playground:
            _print(playground.info(), info)
            playground.stay()
    except PlaygroundError as error:
        print(f"porchbot playground: {error}", file=sys.stderr)  # noqa: T201 (a command line)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


def _print(info: Mapping[str, Any], file: Path | None) -> None:
    lines = [""]
    for forge in info["forges"].values():
        repository = forge["repositories"][0]
        lines += [
            f"  repository   {forge['web_url']}/{repository['full_name']}",
            f"  clone        {repository['clone_url']}",
            f"  API          {forge['api_url']}",
            *(f"  {u['login']:<12} {u['role']:<9} {u['token']}" for u in forge["users"]),
            f"  git clone http://author:TOKEN@{repository['clone_url'].removeprefix('http://')}",
            "",
        ]
    lines += [
        *(f"  bot          {each['url']}/healthz" for each in info["bots"]),
        f"  log          {info['log']}",
        "",
        "  The forge attributes commits by e-mail address: author@users.example is author.",
        "  A commit with an unknown address needs one more approval.",
        *([f"  The same as JSON: {file}"] if file else []),
        "",
        "Press Ctrl-C to stop.",
    ]
    print("\n".join(lines), flush=True)  # noqa: T201 (a command line)


class _Bot:
    """One bot: where it listens, and its process once it was started."""

    def __init__(self, number: int) -> None:
        self.name = f"bot {number}"
        self.port = _free_port()
        self.child: subprocess.Popen[str] | None = None
        self.pid = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def ended(self) -> bool:
        return self.child is None or self.child.poll() is not None


class Playground:
    """The processes of the playground: started on entry, ended on exit.

    Args:
        repo: A repository, folder or bundle to start from; None for the examples.
        info_file: Kept up to date with `info()`.
        replicas: How many bots; webhooks go to them in turn.
        dialect: Which forge it is: github, gitlab, or both.
    """

    def __init__(
        self,
        repo: Path | None,
        info_file: Path | None = None,
        replicas: int = 1,
        dialect: str = "github",
    ) -> None:
        self._repo = repo
        self._info_file = info_file
        self._replicas = replicas
        self._folder = Path(tempfile.mkdtemp(prefix="porchbot-playground-"))
        self._folder.chmod(0o711)  # the database's own user must get through to its folder
        self._log = self._folder / "log"
        self._postgres = EmbeddedPostgres()
        name = _name(repo) if repo else "blueprints"
        self._sandboxes = sandboxes(dialect, self._folder, name, self._spawn)
        self._bots: list[_Bot] = []
        self._environment: dict[str, str] = {}
        self._info: dict[str, Any] = {}
        self._writing = threading.Lock()
        self._stack = ExitStack()
        self._ending = threading.Event()
        self._kept: list[RestartedProcess] = []

    def __enter__(self) -> "Playground":
        for name in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(name, _interrupt)
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def info(self) -> dict[str, Any]:
        """Addresses, users and tokens, as the file has them."""
        return dict(self._info)

    def stay(self) -> None:
        """Wait until a signal ends it."""
        while not self._ending.wait(0.5):
            for each in self._sandboxes:
                if each.child is not None and each.child.poll() is not None:
                    status = each.child.returncode
                    raise PlaygroundError(f"the forge exited ({status}): {self._last_words()}")

    def _start(self) -> None:
        url = self._stack.enter_context(self._postgres).url
        state = str(self._folder / "state")
        self._environment = {**os.environ, "DATABASE_URL": url, "PORCHBOT_STATE": state}
        self._bots = [_Bot(number) for number in range(1, self._replicas + 1)]
        port = self._bots[0].port
        if self._replicas > 1:
            port = self._stack.enter_context(Balancer([b.port for b in self._bots])).port
        bot_url, source, known = f"http://127.0.0.1:{port}", self._source(), self._environment
        try:
            with ThreadPoolExecutor(len(self._sandboxes)) as pool:
                found = pool.map(lambda each: each.start(bot_url, source, known), self._sandboxes)
                for settings in found:
                    self._environment = {**self._environment, **settings}
        except DemoForgeError as error:
            raise PlaygroundError(f"{error} ({self._last_words()})") from error
        forges = {each.dialect: each.info() for each in self._sandboxes}
        self._info = {
            **(next(iter(forges.values())) if len(forges) == 1 else {}),
            "forges": forges,
            "bot_url": bot_url,
            "bot_pid": 0,
            "bots": [],
            "database_url": url,
            "database_pid": self._postgres.pid,
            "log": str(self._log),
        }
        try:
            with ThreadPoolExecutor(len(self._bots)) as pool:
                list(pool.map(self._start_bot, self._bots))
        except NotStartedError as error:
            raise PlaygroundError(str(error)) from error
        self._keep()

    def _keep(self) -> None:
        """Start again what ends from now on."""

        def keep(name: str, start: Callable[[], None], ended: Callable[[], bool]) -> None:
            self._kept.append(RestartedProcess(name, start, ended, self._ending))
            self._kept[-1].begin()

        for each in self._bots:
            keep(each.name, partial(self._start_bot, each), partial(_has_ended, each))
        keep("the database", self._start_database, lambda: self._postgres.ended)

    def _source(self) -> Path:
        if self._repo is not None:
            return self._as_repository(self._repo.resolve())
        beside = Path(bot.__file__).resolve().parent
        for folder in (beside / "_examples", beside.parent / "examples"):
            if folder.is_dir():
                return self._as_repository(folder)
        raise PlaygroundError("the examples are not installed. Name a repository with --repo")

    def _as_repository(self, source: Path) -> Path:
        """A bundle or repository as it is; a plain folder as the first commit of a new one."""
        if source.is_file() or (source / ".git").exists() or (source / "HEAD").is_file():
            return source
        work = self._folder / "source"
        shutil.copytree(source, work, symlinks=True)
        who = ["-c", "user.name=owner", "-c", "user.email=owner@users.example"]
        for arguments in (
            ["init", "--quiet", "--initial-branch=main"],
            ["add", "--all", "--force"],
            [*who, "commit", "--quiet", "--message", "Begin"],
        ):
            done = subprocess.run(  # noqa: S603 (our own arguments)
                ["git", *arguments],  # noqa: S607 (the user's git, by PATH)
                cwd=work,
                env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull},
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise PlaygroundError(f"git {arguments[0]} of {source}: {done.stderr.strip()}")
        return work

    def _start_bot(self, each: _Bot) -> None:
        """Start a bot, wait until it is ready, and tell its number.

        Raises:
            NotStartedError: It ended, or is not ready in time; it does not run then.
        """
        command = [sys.executable, "-m", "bot.cli", "serve", "--until-stdin-closes"]
        if each.child is not None:
            stop(each.child)
        listen = {"PORCHBOT_LISTEN": f"127.0.0.1:{each.port}"}
        each.child = self._spawn(command, {**self._environment, **listen})
        until = time.monotonic() + START_LIMIT
        while time.monotonic() < until and not self._ending.is_set():
            if each.ended:
                raise NotStartedError(f"{each.name} did not start: {self._last_words()}")
            if _answers(f"{each.url}/readyz"):
                each.pid = each.child.pid
                self._write_info()
                return
            time.sleep(0.05)
        stop(each.child)
        raise NotStartedError(
            f"{each.name} was not ready within {START_LIMIT} s ({self._last_words()}). Try again"
            " when the machine has less to do"
        )

    def _start_database(self) -> None:
        try:
            self._postgres.revive()
        except PostgresError as error:
            raise NotStartedError(str(error)) from error
        self._write_info()

    def _spawn(
        self, command: list[str], environment: Mapping[str, str], stdout: int | None = None
    ) -> subprocess.Popen[str]:
        with self._log.open("a") as log:
            return subprocess.Popen(  # noqa: S603 (our own commands)
                command,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=log if stdout is None else stdout,
                stderr=log,
                text=True,
                # Ctrl-C is for the playground; it ends the others in order.
                start_new_session=True,
            )

    def _write_info(self) -> None:
        """Bring what is told up to date, in the file too."""
        with self._writing:
            self._info["bots"] = [{"pid": each.pid, "url": each.url} for each in self._bots]
            self._info["bot_pid"] = self._bots[0].pid
            with suppress(OSError, ValueError):  # it starts at this moment: told in another
                self._info["database_pid"] = self._postgres.pid
            if self._info_file is None or not all(each.pid for each in self._bots):
                return
            # A reader never sees half a file.
            part = self._info_file.with_name(self._info_file.name + ".part")
            part.write_text(json.dumps(self._info, indent=2) + "\n")
            part.chmod(0o600)
            part.replace(self._info_file)

    def _last_words(self) -> str:
        """The end of the log, which is removed with the folder."""
        lines = self._log.read_text().strip().splitlines() if self._log.exists() else []
        return " / ".join(lines[-3:]) or "nothing was logged"

    def _end(self) -> None:
        self._ending.set()
        for each in self._kept:
            each.join()
        children = [b.child for b in self._bots if b.child is not None]
        with ThreadPoolExecutor(max(1, len(children))) as pool:
            list(pool.map(stop, children))
        for sandbox in self._sandboxes:
            if sandbox.child is not None:
                stop(sandbox.child)
        self._stack.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _has_ended(each: _Bot) -> bool:
    return each.ended


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 (the handler's shape)
    raise KeyboardInterrupt


def _name(source: Path) -> str:
    """A repository's name from a path: letters, digits, dots and dashes, as forges allow."""
    stem = source.name.removesuffix(".bundle").removesuffix(".git")
    return "".join(c if c.isalnum() or c in ".-_" else "-" for c in stem) or "repository"


def _answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=1) as answer:  # noqa: S310 (our own address)
            return bool(answer.status == 200)
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
