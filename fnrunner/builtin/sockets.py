"""Reading from the socket of a worker process."""

import asyncio
import socket


async def exactly(connection: socket.socket, size: int) -> bytes:
    """Receive so many bytes.

    Raises:
        ConnectionResetError: The other side hung up before.
    """
    data = bytearray(size)
    view = memoryview(data)
    loop = asyncio.get_running_loop()
    while view:
        count = await loop.sock_recv_into(connection, view)
        if not count:
            raise ConnectionResetError
        view = view[count:]
    return bytes(data)
