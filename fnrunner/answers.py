"""Stores of a runner's answers: in memory, and in a database that processes share.

Both are bounded; what was used longest ago goes first.
"""

import json
import logging
import sqlite3
import time
import zlib
from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import Any, Final

from fnrunner.contract.run import MIB, FunctionOutcome

_log = logging.getLogger(__name__)

FORM: Final = "1"
"""Of keys and packed answers; another number forgets all that is kept."""

_PUTS_BETWEEN_TRIMS: Final = 16  # adding up the sizes of all answers takes milliseconds
_ENTRY_BYTES: Final = 1024  # what an answer takes in memory besides its texts
_WAIT_SECONDS: Final = 5.0  # for writers of other processes; a lookup is not worth more
_PAUSE: Final = 0.2  # seconds; to make a database takes a twentieth of that
_TOUCH_AFTER: Final = 60.0  # seconds: an entry used again sooner keeps its place in the order


class MemoryAnswers:
    """Answers of this process."""

    def __init__(self, limit_bytes: int = 64 * MIB) -> None:
        """Make an empty one.

        Args:
            limit_bytes: How large the answers may be together.
        """
        self._limit = limit_bytes
        self._kept: OrderedDict[str, FunctionOutcome] = OrderedDict()
        self._lock = Lock()
        self.used_bytes = 0

    def get(self, key: str) -> FunctionOutcome | None:
        """Return what is kept, or None."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key]

    def put(self, key: str, outcome: FunctionOutcome) -> None:
        """Keep an answer, unless it alone is larger than all may be."""
        size = _size(outcome)
        with self._lock:
            if key in self._kept or size > self._limit:
                return
            self._kept[key] = outcome
            self.used_bytes += size
            while self.used_bytes > self._limit:
                self.used_bytes -= _size(self._kept.popitem(last=False)[1])


class DiskAnswers:
    """Answers in a folder, shared between processes: one SQLite database.

    A database that is broken is put aside and begun anew: answers can be made again.
    """

    def __init__(
        self, folder: Path, limit_bytes: int = 1024 * MIB, wait: float = _WAIT_SECONDS
    ) -> None:
        """Open it, or make it.

        Args:
            folder: Where it stands; nobody else may write there.
            limit_bytes: How much the answers may take together, compressed.
            wait: How long to wait for writers of other processes, in seconds.

        Raises:
            OSError: The folder cannot be made or written, or another process holds the database.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise _unusable(folder, f"it cannot be made: {error.strerror}") from error
        self._path = folder / "answers.sqlite"
        self._limit = limit_bytes
        self._wait = wait
        self._lock = Lock()
        self._puts = 0
        self._closed = False
        try:
            self._database = self._opened()
        except sqlite3.OperationalError as error:  # held for long by another process, or not ours
            said = f"{self._path.name} cannot be opened: {error}"
            raise _unusable(folder, said) from error
        except sqlite3.DatabaseError as error:
            _log.warning("the cache of answers in %s is corrupt and is replaced: %s", folder, error)
            try:
                _remove(self._path)
                self._database = self._open()
            except (OSError, sqlite3.Error) as again:
                said = f"{self._path.name} is corrupt, and cannot be replaced: {again}"
                raise _unusable(folder, said) from again

    def close(self) -> None:
        """Close the database; from now on there is nothing in it, and nothing is kept."""
        with self._lock:
            self._closed = True
            self._database.close()

    def get(self, key: str) -> FunctionOutcome | None:
        """Return what is kept, or None."""
        try:
            with self._lock:
                if self._closed:  # a call that was cut asks in a thread of its own
                    return None
                with self._database:
                    return self._get(key)
        except sqlite3.Error as error:
            self._begin_anew(error)
            return None

    def _get(self, key: str) -> FunctionOutcome | None:
        found = self._database.execute(
            "SELECT answer, used FROM answers WHERE key = ?", (key,)
        ).fetchone()
        if found is None:
            return None
        data, used = found
        now = time.time()
        if now - used > _TOUCH_AFTER:
            self._database.execute("UPDATE answers SET used = ? WHERE key = ?", (now, key))
        try:
            return _unpacked(data)
        except (ValueError, zlib.error, KeyError, TypeError) as error:
            _log.warning(
                "an answer in the cache %s cannot be read and is deleted: %s", self._path, error
            )
            self._database.execute("DELETE FROM answers WHERE key = ?", (key,))
            return None

    def put(self, key: str, outcome: FunctionOutcome) -> None:
        """Keep an answer, unless it alone is larger than all may be."""
        data = _packed(outcome)
        if len(data) > self._limit:
            return
        try:
            with self._lock:
                if self._closed:
                    return
                with self._database:
                    self._put(key, data)
        except sqlite3.Error as error:
            self._begin_anew(error)

    def _put(self, key: str, data: bytes) -> None:
        self._database.execute(
            "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?)",
            (key, data, len(data), time.time()),
        )
        self._puts += 1
        if self._puts % _PUTS_BETWEEN_TRIMS == 1:
            self._trim()

    def _trim(self) -> None:
        """Drop what was used longest ago while there is too much, and some room with it."""
        (held,) = self._database.execute("SELECT coalesce(sum(size), 0) FROM answers").fetchone()
        if held <= self._limit:
            return
        rows = self._database.execute(
            "SELECT key, size FROM answers ORDER BY used, rowid"
        ).fetchall()
        for key, size in rows:
            if held <= self._limit * 0.9:  # so that not every answer drops another
                return
            self._database.execute("DELETE FROM answers WHERE key = ?", (key,))
            held -= size

    def _opened(self) -> sqlite3.Connection:
        try:
            return self._open()
        except sqlite3.OperationalError:  # two that make it at once may stand in each other's way
            time.sleep(_PAUSE)
            return self._open()

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, timeout=self._wait, check_same_thread=False)
        try:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = OFF")  # what a crash takes can be made again
            with database:
                database.execute(
                    "CREATE TABLE IF NOT EXISTS answers ("
                    "key TEXT PRIMARY KEY, answer BLOB NOT NULL, size INTEGER NOT NULL,"
                    " used REAL NOT NULL)"
                )
                database.execute("CREATE INDEX IF NOT EXISTS answers_used ON answers (used)")
        except sqlite3.DatabaseError:
            database.close()
            raise
        return database

    def _begin_anew(self, error: Exception) -> None:
        """Go on after an error: without the answer, and without the database if it is broken."""
        if isinstance(error, sqlite3.OperationalError):  # locked for long, or the disk is full
            _log.warning("the cache of answers in %s cannot be used now: %s", self._path, error)
            return
        _log.warning("the cache of answers in %s is corrupt and is replaced: %s", self._path, error)
        with self._lock:
            if self._closed:
                return
            self._database.close()
            try:
                _remove(self._path)
                self._database = self._open()
            except (OSError, sqlite3.Error) as again:
                self._closed = True
                _log.warning("answers are no longer cached in %s: %s", self._path, again)


def _unusable(folder: Path, said: str) -> OSError:
    return OSError(f"cache.folder {folder}: {said}. Make it writable, or choose another folder.")


def _remove(path: Path) -> None:
    for each in (path, *path.parent.glob(f"{path.name}-*")):  # its journals
        each.unlink(missing_ok=True)


def _size(outcome: FunctionOutcome) -> int:
    said = sum(map(len, map(str, outcome.results)))
    return len(outcome.resources) + len(outcome.log) + said + len(outcome.digest) + _ENTRY_BYTES


def _packed(outcome: FunctionOutcome) -> bytes:
    head = {
        "log": outcome.log,
        "failed": outcome.failed,
        "results": outcome.results,
        "digest": outcome.digest,
        "exit_code": outcome.exit_code,
    }
    line = json.dumps(head, default=dict).encode()
    return zlib.compress(b"%b\n%b" % (line, outcome.resources), level=1)


def _unpacked(data: bytes) -> FunctionOutcome:
    line, _, resources = zlib.decompress(data).partition(b"\n")
    head: Any = json.loads(line)
    return FunctionOutcome(
        resources=resources,
        log=head["log"],
        failed=head["failed"],
        results=tuple(head["results"]),
        digest=head["digest"],
        exit_code=head["exit_code"],
    )
