"""The audit trail as people read it: entries that fit what was asked for, a page at a time.

It reads with a connection of its own, one page a statement, so that a trail of any length costs the
memory of a page; it changes nothing, and works on the database of a bot that runs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import dict_row

from bot.store.migrations import unreachable
from bot.store.values import BEGAN, StoreError

PAGE = 1_000
"""Entries that are read at once: about a megabyte."""

PATIENCE = 10
"""Seconds to connect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailFilter:
    """Which entries; what is None or empty lets all through.

    Attributes:
        repositories: Beginnings of keys, such as "github:42:".
        proposal: Number of a pull request.
        person: A login, in any case; or "webhook", "sweep" and the like.
        actions: Names of actions.
        since: From this moment on.
        until: Before this moment.
    """

    repositories: tuple[str, ...] | None = None
    proposal: int | None = None
    person: str = ""
    actions: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None


_KEYS = "EXISTS (SELECT FROM unnest(%(keys)s::text[]) AS k WHERE starts_with(key, k))"

_ACTIONS = """(action = ANY (%(actions)s) OR EXISTS (
  SELECT FROM jsonb_array_elements(detail -> 'actions') AS one
  WHERE one ->> 'action' = ANY (%(actions)s)))"""

_TELLING = f"""(action <> '{BEGAN}' OR NOT EXISTS (
  SELECT FROM audit AS later WHERE later.key = audit.key AND later.id > audit.id
  AND later.detail ->> 'began' = audit.id::text))"""
"""Of what was begun, what tells how it ended; the entry from before only where nothing does."""

_PERSON = """(lower(actor) = lower(%(person)s) OR EXISTS (
  SELECT FROM jsonb_array_elements(detail -> 'asked') AS one
  WHERE lower(%(person)s) IN (lower(one ->> 'login'), one ->> 'by')))"""


def entries(
    url: str, wanted: TrailFilter, limit: int | None = None, page: int = PAGE
) -> Iterator[Mapping[str, Any]]:
    """Entries in the order in which they were written.

    Args:
        url: The database, for libpq.
        wanted: Which of them.
        limit: Only the newest so many.
        page: How many are read at once.

    Returns:
        Each with id, at, key, actor, action, detail, and full_name: the repository's name, "" where
        it is not known.

    Raises:
        StoreError: The database cannot be reached, or holds no trail.
    """
    where, given = _where(wanted)
    try:
        with psycopg.connect(
            url, autocommit=True, connect_timeout=PATIENCE, row_factory=dict_row
        ) as connection:
            connection.read_only = True
            after = _start(connection, where, given, limit)
            while True:
                query = f"{_ENTRIES} WHERE {where} AND id > %(after)s ORDER BY id LIMIT %(page)s"
                rows = connection.execute(
                    query.encode(), {**given, "after": after, "page": page}
                ).fetchall()
                yield from rows
                if len(rows) < page:
                    return
                after = rows[-1]["id"]
    except psycopg.OperationalError as error:
        raise unreachable(error) from error
    except psycopg.errors.UndefinedTable as error:
        raise StoreError(
            "The database holds no audit trail: no porchbot has used it. Name the bot's own in "
            "DATABASE_URL, or its folder in PORCHBOT_STATE."
        ) from error


_ENTRIES = """
SELECT id, at, key, actor, action, detail, coalesce((
  SELECT a.full_name FROM served s JOIN adoption a USING (repository)
  WHERE s.forge = split_part(key, ':', 1) AND s.number::text = split_part(key, ':', 2)
), '') AS full_name
FROM audit
"""


def keys_of(url: str, name: str) -> tuple[str, ...]:
    """Beginnings of the keys of a repository: several where others had its name before.

    Args:
        url: The database, for libpq.
        name: Such as "acme/blueprints", in any case.

    Raises:
        StoreError: The database cannot be reached.
    """
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=PATIENCE) as connection:
            rows = connection.execute(
                "SELECT s.forge, s.number FROM served s JOIN adoption a USING (repository)"
                " WHERE lower(a.full_name) = lower(%s) ORDER BY 1, 2",
                [name],
            ).fetchall()
            return tuple(f"{forge}:{number}:" for forge, number in rows)
    except psycopg.OperationalError as error:
        raise unreachable(error) from error
    except psycopg.errors.UndefinedTable:
        return ()


def holds(url: str, action: str) -> bool:
    """Tell whether any entry is of an action, whichever release wrote it.

    Args:
        url: The database, for libpq.
        action: Its name.

    Raises:
        StoreError: The database cannot be reached, or holds no trail.
    """
    return next(entries(url, TrailFilter(actions=(action,)), limit=1), None) is not None


def _where(wanted: TrailFilter) -> tuple[str, dict[str, Any]]:
    """The condition that entries fulfil, of our own words alone, and its values."""
    parts = {
        _KEYS: wanted.repositories is not None,
        "detail -> 'proposals' @> %(proposal)s::jsonb": wanted.proposal is not None,
        _PERSON: bool(wanted.person),
        _ACTIONS: bool(wanted.actions),
        "at >= %(since)s": wanted.since is not None,
        "at < %(until)s": wanted.until is not None,
    }
    asked = [part for part, is_asked in parts.items() if is_asked]
    return " AND ".join([*asked, _TELLING]), {
        "keys": list(wanted.repositories or ()),
        "proposal": f'[{{"number": {wanted.proposal or 0}}}]',
        "person": wanted.person,
        "actions": list(wanted.actions),
        "since": wanted.since,
        "until": wanted.until,
    }


def _start(
    connection: psycopg.Connection[dict[str, Any]],
    where: str,
    given: Mapping[str, Any],
    limit: int | None,
) -> int:
    """The id after which the newest so many begin; 0 for all."""
    if limit is None:
        return 0
    query = f"SELECT id FROM audit WHERE {where} ORDER BY id DESC OFFSET %(limit)s LIMIT 1"  # noqa: S608 (our own words)
    row = connection.execute(query.encode(), {**given, "limit": limit}).fetchone()
    return int(row["id"]) if row else 0
