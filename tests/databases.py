"""Databases of their own on one server, for tests and benchmarks."""

from typing import LiteralString

import psycopg
from psycopg import conninfo, sql


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
DECLARE name text; counter regclass;
BEGIN
  SET LOCAL session_replication_role = replica;  -- some rows may not be deleted: by triggers
  FOR name IN
    SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migration'
  LOOP
    IF pg_relation_size(quote_ident(name)::regclass) > 1000000 THEN
      EXECUTE format('TRUNCATE %I', name);
    ELSE
      EXECUTE format('DELETE FROM %I', name);
    END IF;
  END LOOP;
  FOR counter IN SELECT oid FROM pg_class WHERE relkind = 'S' LOOP
    EXECUTE format('ALTER SEQUENCE %s RESTART', counter);
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
