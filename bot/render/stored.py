"""Verdicts kept in the database, for all replicas.

A row is a digest of the rest, and what `bot.render.encoded` writes. Its key has everything that a
verdict follows from but the functions; what these were stands in the verdict, and it counts only
while their names mean the same. A row that cannot be read counts for nothing.

What holds a value of a Secret is not kept here.
"""

import asyncio
import hashlib
import json
from functools import cache
from pathlib import Path

import structlog

import bot.render
import lifecycle
from bot.clock import Offload, in_thread
from bot.render import encoded
from bot.render.encoded import EncodedError
from bot.render.rendering import FreshVerdict
from bot.store.port import Renderings
from bot.store.values import StoreError
from fnrunner.builtin.version import digest, version
from fnrunner.contract.errors import FunctionError, RunnerBrokenError, RunnerBusyError
from fnrunner.contract.run import Means
from lifecycle.facts.verdicts import Verdict

log = structlog.get_logger()

_DIGEST = hashlib.sha256().digest_size


class StoredVerdicts:
    """Verdicts in a database that may be away: then there are none.

    Args:
        renderings: The database.
        means: Says what a function's name means now.
        offload: Where rows are read and written.
    """

    def __init__(
        self, renderings: Renderings, means: Means, *, offload: Offload = in_thread
    ) -> None:
        self._renderings = renderings
        self._means = means
        self._offload = offload

    async def find(self, key: str, package: str) -> Verdict | None:
        """The verdict on a package; None for none, or none that still counts."""
        try:
            row = await self._renderings.find(_named(key))
        except StoreError:
            return None
        if row is None:
            return None
        try:
            verdict = await self._offload(_read, row)
        except EncodedError as error:
            log.warning("a kept rendering is ignored", package=package, error=str(error))
            return None
        if verdict.package != package or verdict.broken or not await self._counts(verdict):
            return None
        return verdict

    async def keep(self, key: str, made: FreshVerdict) -> None:
        """Keep a verdict, unless it holds a value of a Secret, or nobody can say what judged."""
        verdict = made.verdict
        unknown = any(not ran.digest for ran in verdict.versions.values())
        if made.private or verdict.broken or unknown:
            return
        try:
            row = await self._offload(_write, made)
            await self._renderings.keep(_named(key), row)
        except StoreError as error:
            log.info("a rendering is not kept", package=verdict.package, error=str(error))

    async def _counts(self, verdict: Verdict) -> bool:
        """Whether each function that ran is what would run now."""
        try:
            found = await asyncio.gather(*map(self._means, verdict.versions))
        except (FunctionError, RunnerBusyError, RunnerBrokenError):
            return False
        return found == [ran.digest for ran in verdict.versions.values()]


def _read(row: bytes) -> Verdict:
    if hashlib.sha256(row[_DIGEST:]).digest() != row[:_DIGEST]:
        raise EncodedError("it is not what was written")
    return encoded.read(row[_DIGEST:])


def _write(made: FreshVerdict) -> bytes:
    data = made.encoded or encoded.write(made.verdict)
    return hashlib.sha256(data).digest() + data


def _named(key: str) -> str:
    """The name of a row: what was asked, and by which program."""
    return hashlib.sha256(json.dumps([key, _program()]).encode()).hexdigest()


@cache
def _program() -> str:
    """A digest of all that works out verdicts: another release may find something else."""
    folders = (Path(bot.render.__path__[0]), Path(lifecycle.__path__[0]))
    return digest(folders, [version()])
