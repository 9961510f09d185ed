"""Databases of their own on one server, for tests and benchmarks."""

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
