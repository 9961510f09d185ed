"""Wakes workers, of this process and of other replicas, by LISTEN and NOTIFY."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

import psycopg

from bot.store.database import Database
from bot.store.statements import LISTENER
from bot.store.values import StoreError
from bot.tasks import end

CHANNEL = "porchbot_work"
"""Where replicas tell one another that there is work."""


class Notifications:
    """An event that is set whenever there may be work, from this process or another.

    Args:
        database: Carries the word to other replicas.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._telling: asyncio.Task[None] | None = None
        self._name = uuid4().hex
        self.woken = asyncio.Event()

    async def drain(self) -> None:
        """Wait until what was told is on its way."""
        if self._telling is not None:
            with suppress(StoreError):
                await self._telling

    def tell(self) -> None:
        """Say that there is work: here at once, to other replicas in a moment.

        Not in the transaction of the wake: a NOTIFY there makes commits wait for one another.
        """
        self.woken.set()
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._notify())

    @asynccontextmanager
    async def listening(self, name: str) -> AsyncIterator[asyncio.Event]:
        """An event that is set whenever there may be work, from this process or another.

        A lost connection is made again; meanwhile only this process's own wakes set it.

        Args:
            name: Of the process. The database knows the connection by it, and ends it with the
                process, so that others see at once who died.
        """
        task = asyncio.create_task(self._listen(LISTENER + name))
        try:
            yield self.woken
        finally:
            await end([task])

    async def _notify(self) -> None:
        await asyncio.sleep(0.002)  # one for all wakes of a burst
        with suppress(StoreError):  # the others look by themselves every second
            await self._database.ask(f"NOTIFY {CHANNEL}, '{self._name}'")

    async def _listen(self, connection_name: str) -> None:
        while True:
            with suppress(psycopg.Error):  # whatever it is: else nobody ever listens again
                async with await psycopg.AsyncConnection.connect(
                    self._database.url, autocommit=True, application_name=connection_name
                ) as connection:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    self.woken.set()  # what was said before we listened
                    async for told in connection.notifies():
                        if told.payload != self._name:  # what we told was heard here at once
                            self.woken.set()
            await asyncio.sleep(1)
