"""What stands before several bots: each connection goes to the next one that takes it.

The forge knows one address for its webhooks, as GitHub does; operators put a load balancer there.
"""

import asyncio
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import cycle
from types import TracebackType

HOST = "127.0.0.1"
PIECE = 64 * 1024


class Balancer:
    """Listens on a port of its own while the block lasts.

    Args:
        ports: Where the bots listen.
    """

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = ports
        self._next = cycle(ports)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.sockets[0].getsockname()[1]) if self._server else 0

    def __enter__(self) -> "Balancer":
        self._thread.start()
        starting = asyncio.start_server(self._serve, HOST, 0)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Join a connection with a bot; with none that takes it, the sender sees it closed."""
        found = await self._accepted()
        if found is not None:
            answers, bot = found
            await asyncio.gather(_pass_on(reader, bot), _pass_on(answers, writer))
        writer.close()

    async def _accepted(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        for _ in self._ports:
            with suppress(OSError):
                return await asyncio.open_connection(HOST, next(self._next))
        return None

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        going = asyncio.all_tasks() - {asyncio.current_task()}
        for task in going:
            task.cancel()
        await asyncio.gather(*going, return_exceptions=True)


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Pass on what comes until it ends, and then its end."""
    with suppress(OSError):
        while piece := await source.read(PIECE):
            target.write(piece)
            await target.drain()
    target.close()
