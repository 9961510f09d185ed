"""Histories on the real PostgreSQL and real git: what is in memory elsewhere, here is not.

The database goes by the simulated time: a `now()` of its own stands before PostgreSQL's. The forge
keeps its git in memory; each bot has mirrors on disk, which fetch from a copy of it on disk and
push to both, and the two must answer the same.
"""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from inspect import isasyncgenfunction, iscoroutinefunction
from math import inf
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import psycopg

from bot.clock import Clock
from bot.git.mirror import DiskMirrors
from bot.git.port import EVERYTHING, History, Mirror, Pushed, RefUpdate, Scope
from bot.sayable import sayable
from bot.store.embedded.server import EmbeddedPostgres
from bot.store.migrations import migrate
from bot.store.port import Store
from bot.store.postgres import PostgresStore
from lifecycle.identity import RepositoryId
from lifecycle.names import Ref, Sha
from tests.bot.git.server import TOKEN, serve
from tests.databases import create_database
from tests.memory.git_objects import MemoryObjects, named
from tests.simulation.forge import RemoteRepositories, SimulatedForge
from tests.simulation.forge_remote import RemoteRepository
from tests.simulation.inner_loop import InnerLoop
from tests.simulation.on_disk import OnDisk

T = TypeVar("T")

_CLOCK = """
CREATE SCHEMA simulated;
CREATE FUNCTION simulated.now() RETURNS timestamptz LANGUAGE sql STABLE
  AS $$ SELECT coalesce(current_setting('simulated.at', true)::timestamptz, pg_catalog.now()) $$;
CREATE SCHEMA saved;
"""

LAG = 0.0005
"""Seconds by which the database's time may be behind: less than any wait, a few hundred steps of
tasks. To tell it at every step is half of all statements."""

_NOTIFY = frozenset({"wake", "wake_all", "done", "again", "failed", "give_back", "add"})
"""After these PostgreSQL notifies whoever waits for work; here, also where there is none."""

_SEQUENCES = """
SELECT sequencename, last_value FROM pg_sequences
  WHERE schemaname = 'public' AND last_value IS NOT NULL
"""

_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migration'"


class RealDatabase:
    """One database, for one history after the other; a context manager.

    Args:
        server: Address of the server that it is made in; "" for one of its own.
    """

    def __init__(self, server: str = "") -> None:
        self._server = server
        self._stack = ExitStack()
        self._loop = InnerLoop()
        self._clock: Clock | None = None
        self._told = -inf
        self._stores: list[PostgresStore] = []
        self._admin: psycopg.Connection[Any] | None = None
        self._asked: psycopg.Cursor[Any] | None = None
        self._numbered: list[Any] = []
        self._url = ""

    def __enter__(self) -> Self:
        server = self._server or self._stack.enter_context(EmbeddedPostgres()).url
        self._loop.__enter__()
        self._url = self.wait(create_database(server, "simulated"))
        self._prepare()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.wait(self._end_stores())
        for connection in (self._admin, self._asked and self._asked.connection):
            if connection is not None:
                connection.close()
        self._loop.__exit__(kind, error, trace)
        self._stack.close()

    def begins(self, clock: Clock) -> None:
        """A history begins, with a clock of its own."""
        self._clock, self._told = clock, -inf
        self.wait(self._end_stores())

    def empty(self) -> Store:
        """The database, with nothing in it."""
        self._truncate()
        return self._store()

    def snapshot(self, store: object) -> "Saved":
        """Save what is in the database."""
        self._save()
        return Saved()

    def restore(self, saved: object) -> Store:
        """The database as it was saved."""
        self._restore()
        return self._store()

    def end_leases(self, store: object, name: str) -> None:
        """Implements `Stores`."""
        del store
        self._do("UPDATE work SET lease = '-infinity' WHERE owner LIKE %s", f"{name}/%")

    def ask(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something to the database, at the time that it is now."""
        if self._clock is not None and self._clock.monotonic() - self._told >= LAG:
            self._told = self._clock.monotonic()
            self._tell(self._clock)
        return self.wait(work)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something on a loop of its own."""
        return self._loop.wait(work)

    def _store(self) -> Store:
        async def opened() -> PostgresStore:
            return await PostgresStore(self._url).__aenter__()

        self._stores.append(self.ask(opened()))
        # Of a pool and its waiting, statement after statement, there are tests enough: here it is
        # most of what a statement takes.
        setattr(self._stores[-1]._database, "ask", self._statement)  # noqa: B010
        return cast(Store, RealStore(self._stores[-1], self))

    async def _statement(
        self, query: str, values: Mapping[str, Any] | None = None, **_: object
    ) -> list[Any]:
        """The rows of a statement, on a connection that keeps its thread waiting.

        One cursor asks them all: to make one, and to describe columns, takes as long as to ask.
        """
        assert self._asked is not None
        self._asked.execute(query.encode(), sayable(values))
        result = self._asked.pgresult
        return self._asked.fetchall() if result is not None and result.nfields else []

    def _prepare(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as first:
            first.execute(_CLOCK)
            first.execute(
                "ALTER DATABASE simulated SET search_path = public, simulated, pg_catalog"
            )
        self._admin = psycopg.connect(self._url, autocommit=True)
        self._asked = psycopg.connect(self._url, autocommit=True).cursor()
        # What guards the audit trail does not guard it from us, and tables come in no order.
        self._do("SET session_replication_role = replica")
        self.wait(migrate(self._url))

    def _tell(self, clock: Clock) -> None:
        assert self._asked is not None
        self._asked.execute("SELECT set_config('simulated.at', %s, false)", [str(clock.now())])

    def _do(self, query: str, *values: object) -> list[Any]:
        assert self._admin is not None
        cursor = self._admin.execute(query.encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def _truncate(self) -> None:
        tables = [name for (name,) in self._do(_TABLES)]
        self._do(f"TRUNCATE {', '.join(tables)} RESTART IDENTITY CASCADE")

    def _save(self) -> None:
        for (name,) in self._do(_TABLES):
            self._do(f"DROP TABLE IF EXISTS saved.{name}")
            self._do(f"CREATE TABLE saved.{name} AS TABLE public.{name}")
        self._numbered = self._do(_SEQUENCES)

    def _restore(self) -> None:
        self._truncate()
        for (name,) in self._do(_TABLES):
            self._do(f"INSERT INTO public.{name} OVERRIDING SYSTEM VALUE TABLE saved.{name}")
        for sequence, last in self._numbered:  # as pg_dump and pg_restore do
            self._do(f"SELECT setval('public.{sequence}', {last})")

    async def _end_stores(self) -> None:
        for store in self._stores:
            await store.__aexit__(None, None, None)
        self._stores.clear()


class Saved:
    """What was saved of the database; there is one."""


class RealStore:
    """PostgreSQL as a history has it; implements `bot.store.port.Store`."""

    def __init__(self, store: PostgresStore, database: RealDatabase) -> None:
        listeners: list[asyncio.Event] = []
        for name in Store.__annotations__:
            part = _Part(getattr(store, name), database, listeners)
            setattr(self, name, part)


class _Part:
    """A part of a store that goes on on another thread, while this one waits."""

    def __init__(self, part: Any, database: RealDatabase, listeners: list[asyncio.Event]) -> None:
        self._part = part
        self._database = database
        self._listeners = listeners

    def __getattr__(self, name: str) -> Any:
        found, database, listeners = getattr(self._part, name), self._database, self._listeners
        if isasyncgenfunction(found):

            async def each(*args: Any) -> AsyncIterator[Any]:
                for one in database.ask(_all(found(*args))):
                    yield one

            return each
        if not iscoroutinefunction(found):
            return found

        async def call(*args: Any, **kwargs: Any) -> Any:
            answer = database.ask(found(*args, **kwargs))
            for event in listeners if name in _NOTIFY else ():
                event.set()
            return answer

        return call

    def listening(self, name: str) -> AbstractAsyncContextManager[asyncio.Event]:
        """An event of the loop of the history."""
        return self._listening()

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[asyncio.Event]:
        event = asyncio.Event()
        event.set()
        self._listeners.append(event)
        try:
            yield event
        finally:
            self._listeners.remove(event)


async def _all(given: AsyncIterator[T]) -> list[T]:
    return [each async for each in given]


class RealMirrors:
    """Mirrors on disk of one bot; implements `bot.git.port.Mirrors`."""

    def __init__(
        self,
        remotes: RemoteRepositories,
        copied: Callable[[int], OnDisk],
        folder: Path,
        clock: Clock,
    ) -> None:
        self._remotes = remotes
        self._copied = copied
        self._disk = DiskMirrors(folder, clock=clock)

    def of(self, repository_id: RepositoryId, url: str) -> "RealMirror":
        """The mirror of one repository."""
        copied = self._copied(repository_id.number)
        return RealMirror(self._disk.of(repository_id, copied.url), copied, self._remotes[url])

    def trim(self) -> Sequence[str]:
        """As `Mirrors` has it."""
        return self._disk.trim()


class RealMirror:
    """A mirror on disk, let in by the simulated forge's remote; implements `Mirror`."""

    def __init__(self, mirror: Mirror, copy: OnDisk, remote: RemoteRepository) -> None:
        self._mirror = mirror
        self._copy = copy
        self._remote = remote

    def fetch(
        self,
        credentials: str,
        since: float | None = None,
        scope: Scope = EVERYTHING,
        heads: Collection[str] = (),
    ) -> None:
        self._copy.sync(self._remote.objects, self._remote.shown(credentials, ("refs",)))
        self._mirror.fetch(TOKEN, since, scope, heads)

    def fetch_proposal(self, credentials: str, ref: Ref) -> None:
        self._copy.sync(self._remote.objects, self._remote.shown(credentials))
        self._mirror.fetch_proposal(TOKEN, ref)

    def tagged(self, credentials: str, names: Collection[str]) -> frozenset[str] | None:
        """As `Mirror` has it."""
        return self._mirror.tagged(TOKEN, names)

    def tags(self, credentials: str) -> Mapping[str, Sha]:
        self._copy.sync(self._remote.objects, self._remote.shown(credentials))
        return self._mirror.tags(TOKEN)

    def open(self, credentials: str = "", since: float | None = None) -> History:
        if since is not None:
            self._copy.sync(self._remote.objects, self._remote.refs)
        return self._mirror.open(TOKEN, since)

    def push(self, credentials: str, updates: Sequence[RefUpdate]) -> Pushed:
        """Push to the forge, and to its copy on disk; they must answer the same."""
        self._copy.sync(self._remote.objects, self._remote.refs)
        done = self._remote.receive(credentials, self._brought(updates), updates)
        if done is not Pushed.DONE:  # somebody may have been faster, after the copy was made
            self._copy.sync(self._remote.objects, self._remote.refs)
        on_disk = self._mirror.push(TOKEN, updates)
        if on_disk is not done:
            raise AssertionError(f"git says {on_disk} to {updates}, git in memory {done}")
        return done

    def take_over(self, updates: Sequence[RefUpdate]) -> None:
        self._mirror.take_over(updates)

    def _brought(self, updates: Sequence[RefUpdate]) -> MemoryObjects:
        """Objects of a push that the forge has not."""
        there, found = self._remote.objects.known, MemoryObjects()
        left = [u.wanted for u in updates if u.wanted and u.wanted not in there]
        with self._mirror.open() as history:
            reader = cast(Any, history)
            while left:
                sha = left.pop()
                if sha not in there and sha not in found.known:
                    read = reader.object(sha, 1 << 30)
                    found.known[sha] = read.kind, read.data
                    left += named(read.kind, read.data)
        found.known = {**there, **found.known}
        return found


class RealSetting:
    """What histories on real things have: the database, and a folder for mirrors; a context.

    Args:
        server: As `RealDatabase` has it.
    """

    def __init__(self, server: str = "") -> None:
        self.database = RealDatabase(server)
        self._folder = Path(tempfile.mkdtemp(prefix="simulation-"))
        self._served = ExitStack()
        self._copies: dict[int, OnDisk] = {}

    def __enter__(self) -> Self:
        self.database.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._served.close()
        self.database.__exit__(kind, error, trace)
        shutil.rmtree(self._folder, ignore_errors=True)

    def begins(self, forge: SimulatedForge) -> None:
        """A history begins: nothing of the last one is left."""
        self._served.close()
        self._copies.clear()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        self.database.begins(forge.clock)

    def mirrors(self, forge: SimulatedForge, replica: str, clock: Clock) -> RealMirrors:
        """The mirrors of one bot."""
        return RealMirrors(
            RemoteRepositories(forge, replica), self._copied, self._folder / replica, clock
        )

    def _copied(self, number: int) -> OnDisk:
        if number not in self._copies:
            served = serve(self._folder / "forge" / f"{number}.git")
            self._copies[number] = OnDisk(self._served.enter_context(served))
        return self._copies[number]
