"""Databases of their own on one server, for tests and benchmarks; servers of their own as well."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path
from typing import LiteralString

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


_NO_ROWS = """
DO $$
DECLARE name text;
BEGIN
  SET LOCAL session_replication_role = replica;  -- some rows may not be deleted: by triggers
  FOR name IN
    SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migration'
  LOOP
    IF pg_relation_size(quote_ident(name)::regclass) > 1000000 THEN
      EXECUTE format('TRUNCATE %I', name);
    ELSIF pg_relation_size(quote_ident(name)::regclass) > 0 THEN  -- most have never had a row
      EXECUTE format('DELETE FROM %I', name);
    END IF;
  END LOOP;
  FOR name IN SELECT sequencename FROM pg_sequences WHERE last_value IS NOT NULL LOOP
    EXECUTE format('ALTER SEQUENCE %I RESTART', name);
  END LOOP;
END
$$
"""


async def delete_rows(url: str) -> None:
    """Delete all rows of a database and end its connections; its tables stay as they are.

    It takes a hundredth of the time to make the tables again.
    """
    await _alone(url, _NO_ROWS)


async def delete_tables(url: str) -> None:
    """Delete all that a database has, and end its connections."""
    await _alone(url, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")


async def _alone(url: str, script: LiteralString) -> None:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await connection.execute(script)
