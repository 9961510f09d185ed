"""Databases of their own on one server, for tests and benchmarks; servers of their own as well."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
from psycopg import conninfo, sql

from bot.store.embedded import place
from bot.store.embedded.server import EmbeddedPostgres


def new_cluster(shared: Path) -> Path:
    """Make the data of a new server, once for all processes that share a folder; return them.

    It takes a third of a second of processor time; a copy takes a tenth of that.
    """
    made = shared / "cluster"
    with (shared / "cluster.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            with EmbeddedPostgres(shared / "first") as server:
                home = server.home
            assert home is not None
            whole = shared / "cluster.new"
            _copy(home / "data", whole)
            whole.rename(made)
            shutil.rmtree(home)
    return made


def copy_cluster(cluster: Path, folder: Path) -> None:
    """Give a folder the data of a new server, so that the next server there finds them."""
    home = place.home(folder, place.system_user() if os.geteuid() == 0 else None)
    _copy(cluster, home / "data")


def _copy(data: Path, to: Path) -> None:
    """Copy data, which belong to the system user, with whom they belong to."""
    subprocess.run(["cp", "-a", data, to], check=True)


async def create_database(url: str, name: str, *, like: str | None = None) -> str:
    """Make an empty database on a server, or a copy of one.

    Args:
        url: Any database of the server.
        name: Of the new one.
        like: The name of one that nobody is connected to; None for an empty one.

    Returns:
        Its address.

    Raises:
        psycopg.errors.DuplicateDatabase: It is there already.
    """
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(
            # Copying files beats writing them through the log for a database this small.
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(name), sql.Identifier(like or "template1")
            )
        )
    parts = conninfo.conninfo_to_dict(url)
    return conninfo.make_conninfo("", **{**parts, "dbname": name})


async def drop_database(url: str, name: str) -> None:
    """Delete a database, whoever is connected; one already gone counts as success."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        )


_EMPTYING = """
SELECT format(
  CASE WHEN relkind = 'S' THEN 'ALTER SEQUENCE %I RESTART'
       WHEN pg_relation_size(oid) > 1000000 THEN 'TRUNCATE %I'
       ELSE 'DELETE FROM %I' END, relname)
FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relname <> 'migration' AND CASE relkind
  WHEN 'r' THEN pg_relation_size(oid) > 0  -- most have never had a row
  WHEN 'S' THEN pg_sequence_last_value(oid) IS NOT NULL
  ELSE false END
"""
"""Statements that empty a database.

A block of PL/pgSQL over the views of tables and sequences would be one statement, but a new
connection has to read what all of these are, which takes twice as long.
"""

_ENDING = """
SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_get_activity(NULL)
WHERE pid <> pg_backend_pid()
  AND datid = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


async def delete_rows(url: str) -> None:
    """Delete all rows of a database and end its connections; its tables stay as they are.

    It takes a hundredth of the time to make the tables again.
    """
    async with _alone(url) as connection:
        emptying = [each for (each,) in await (await connection.execute(_EMPTYING)).fetchall()]
        # Some rows may not be deleted: by triggers.
        script = "; ".join(["SET session_replication_role = replica", *emptying])
        await connection.execute(script.encode())


async def delete_tables(url: str) -> None:
    """Delete all that a database has, and end its connections."""
    async with _alone(url) as connection:
        await connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")


@asynccontextmanager
async def _alone(url: str) -> AsyncIterator[psycopg.AsyncConnection]:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(_ENDING)
        yield connection
